/* SPDX-License-Identifier: Apache-2.0
 * The cpu backend's matrix product of f32, the kernel in a loop on one pinned thread, beside
 * multiply-adds in registers and other libraries' products; they take turns. One JSON object.
 *
 *     gemm M N K [LIBRARY:SYMBOL ...]     SYMBOL: sgemm by Fortran's convention, or dnnl_sgemm
 *
 * burn's time is that of a launch within a submission of many. */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/arena.h"
#include "tests/bench/kernel_loop.h"
#include "tests/bench/probe.h"

enum { ROUNDS = 7, LIBRARIES_MAX = 4, CHECKED = 200 };
static const double TURN_SECONDS = 0.1;

typedef struct problem {
    int64_t m, n, k;
    float *a, *b, *c;
} problem;

/* By pointer, so that 32 and 64 bit integers are passed alike. */
typedef void fortran_sgemm(const char *ta, const char *tb, const int64_t *m, const int64_t *n,
                           const int64_t *k, const float *alpha, const float *a, const int64_t *lda,
                           const float *b, const int64_t *ldb, const float *beta, float *c,
                           const int64_t *ldc);
typedef int dnnl_sgemm(char ta, char tb, int64_t m, int64_t n, int64_t k, float alpha,
                       const float *a, int64_t lda, const float *b, int64_t ldb, float beta,
                       float *c, int64_t ldc);

typedef struct library {
    const char *name;
    fortran_sgemm *fortran;
    dnnl_sgemm *dnnl;
} library;

/* ---- burn ---- */

static void yield_load(bd_kir_builder *builder, bd_kir_phase_kind phase,
                       const bd_kir_access *access)
{
    bd_kir_begin_phase(builder, phase);
    bd_kir_unary(builder, BD_KIR_YIELD, loop_load(builder, access));
}

/* out[m, n] = sum over k of a[m, k] * b[k, n]; a row has no M axis. */
static bd_kir *product_program(bool is_row, bd_arena *arena)
{
    enum { M, N, K };
    bd_kir_builder *builder = bd_kir_builder_create(BD_KIR_CONTRACTION);
    for (int i = 0; i < 3; i++)
        bd_kir_add_int(builder);
    int m = is_row ? -1 : bd_kir_add_axis(builder, BD_KIR_M, bd_kir_arg(M));
    int n = bd_kir_add_axis(builder, BD_KIR_N, bd_kir_arg(N));
    int k = bd_kir_add_axis(builder, BD_KIR_K, bd_kir_arg(K));
    bd_kir_access a = loop_access(builder, BD_KIR_READ), b = loop_access(builder, BD_KIR_READ);
    bd_kir_access out = loop_access(builder, BD_KIR_WRITE);
    a.strides[k] = b.strides[n] = out.strides[n] = bd_kir_const(1);
    b.strides[k] = bd_kir_arg(N);
    if (!is_row) {
        a.strides[m] = bd_kir_arg(K);
        out.strides[m] = bd_kir_arg(N);
    }
    yield_load(builder, BD_KIR_OPERAND_A, &a);
    yield_load(builder, BD_KIR_OPERAND_B, &b);
    bd_kir_begin_phase(builder, BD_KIR_EPILOGUE);
    bd_kir_value sum =
        bd_kir_emit(builder, &(bd_kir_instr){.code = BD_KIR_ACC, .dtype = BURN_F32});
    loop_store(builder, &out, sum);
    return loop_finish(builder, arena);
}

static double product_run(kernel_loop *ours, const problem *p, uint32_t count)
{
    return loop_run(ours, (void *[]){p->a, p->b, p->c}, count);
}

/* ---- others ---- */

static library open_library(char *argument)
{
    char *colon = strrchr(argument, ':');
    if (!colon)
        loop_fail(argument, "LIBRARY:SYMBOL is meant");
    *colon = '\0';
    void *handle = dlopen(argument, RTLD_NOW);
    if (!handle)
        loop_fail(argument, dlerror());
    void *symbol = dlsym(handle, colon + 1);
    if (!symbol)
        loop_fail(colon + 1, "the library has no such symbol");
    library opened = {.name = colon + 1};
    if (strcmp(opened.name, "dnnl_sgemm") == 0)
        memcpy(&opened.dnnl, &symbol, sizeof symbol);
    else
        memcpy(&opened.fortran, &symbol, sizeof symbol);
    return opened;
}

/* Fortran's matrices lie by columns: there the product is b * a. */
static void library_run(const library *other, const problem *p)
{
    const float one = 1, zero = 0;
    if (other->dnnl)
        other->dnnl('N', 'N', p->m, p->n, p->k, 1, p->a, p->k, p->b, p->n, 0, p->c, p->n);
    else
        other->fortran("N", "N", &p->n, &p->m, &p->k, &one, p->b, &p->n, p->a, &p->k, &zero, p->c,
                       &p->n);
}

static double library_runs(const library *other, const problem *sizes, uint32_t count)
{
    double begin = loop_now();
    for (uint32_t i = 0; i < count; i++)
        library_run(other, sizes);
    return loop_now() - begin;
}

/* ---- a problem, its judge, the rounds ---- */

/* Some elements of c against sums in double. */
static void judge(const problem *p, const char *name)
{
    for (int i = 0; i < CHECKED; i++) {
        int64_t row = rand() % p->m, column = rand() % p->n;
        double want = 0;
        for (int64_t k = 0; k < p->k; k++)
            want += (double)p->a[row * p->k + k] * (double)p->b[k * p->n + column];
        if (!(fabs((double)p->c[row * p->n + column] - want) <= 1e-5 * (double)p->k))
            loop_fail(name, "wrong result");
    }
    memset(p->c, 0, (size_t)(p->m * p->n) * sizeof(float));
}

static void print_library(const library *other, double flops, double *seconds, const double *ours,
                          const double *peak)
{
    double ratios[ROUNDS], share[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        ratios[i] = seconds[i] / ours[i];
        share[i] = flops / seconds[i] * 1e-9 / peak[i];
    }
    printf(", \"%s_gflops\": %.1f, \"%s_ratio\": %.3f, \"%s_share\": %.3f", other->name,
           flops / loop_median(seconds, ROUNDS) * 1e-9, other->name, loop_median(ratios, ROUNDS),
           other->name, loop_median(share, ROUNDS));
}

int main(int argc, char **argv)
{
    static const char *const settings[] = {"OMP_NUM_THREADS", "MKL_NUM_THREADS",
                                           "OPENBLAS_NUM_THREADS"};
    problem p = {0};
    kernel_loop ours;
    bd_arena arena;
    library others[LIBRARIES_MAX];
    int other_count = argc - 4;
    for (int i = 0; argc > 3 && i < 3; i++)
        (&p.m)[i] = atoll(argv[i + 1]);
    if (p.m < 1 || p.n < 1 || p.k < 1 || other_count > LIBRARIES_MAX) {
        fprintf(stderr, "usage: gemm M N K [LIBRARY:SYMBOL ...]\n");
        return 2;
    }
    loop_pin();
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        setenv(settings[i], "1", 1);
    p.a = loop_floats(p.m * p.k);
    p.b = loop_floats(p.k * p.n);
    p.c = loop_floats(p.m * p.n);
    for (int i = 0; i < other_count; i++)
        others[i] = open_library(argv[i + 4]);
    bd_arena_init(&arena);
    loop_open(&ours, product_program(p.m == 1, &arena), (int64_t[]){p.m, p.n, p.k}, 3);
    product_run(&ours, &p, 1);
    judge(&p, "burn");
    uint32_t calls = loop_calls(TURN_SECONDS, product_run(&ours, &p, 10));
    uint32_t other_calls[LIBRARIES_MAX];
    for (int i = 0; i < other_count; i++) {
        library_run(&others[i], &p);
        judge(&p, others[i].name);
        other_calls[i] = loop_calls(TURN_SECONDS, library_runs(&others[i], &p, 10));
    }
    double mine[ROUNDS], peak[ROUNDS], share[ROUNDS], read[ROUNDS], loop[ROUNDS];
    double theirs[LIBRARIES_MAX][ROUNDS], flops = 2.0 * (double)p.m * (double)p.n * (double)p.k;
    double weights = (double)p.k * (double)p.n * sizeof(float);
    for (int round = 0; round < ROUNDS; round++) {
        peak[round] = probe_fma(1, TURN_SECONDS / 2);
        mine[round] = product_run(&ours, &p, calls) / calls;
        for (int i = 0; i < other_count; i++)
            theirs[i][round] = library_runs(&others[i], &p, other_calls[i]) / other_calls[i];
        double again = probe_fma(1, TURN_SECONDS / 2);
        peak[round] = again > peak[round] ? again : peak[round];
        share[round] = flops / mine[round] * 1e-9 / peak[round];
        if (p.m == 1) {
            loop[round] = weights / probe_streams(1, 0, 0, (size_t)(p.k * p.n), 1, 0.2) * 1e-6;
            read[round] = weights / mine[round] * 1e-9 / loop[round];
        }
    }
    printf("{\"kernel\": \"gemm\", \"m\": %lld, \"n\": %lld, \"k\": %lld", (long long)p.m,
           (long long)p.n, (long long)p.k);
    for (int i = 0; i < other_count; i++)
        print_library(&others[i], flops, theirs[i], mine, peak);
    printf(", \"burn_gflops\": %.1f, \"peak_gflops\": %.1f, \"share\": %.3f",
           flops / loop_median(mine, ROUNDS) * 1e-9, loop_median(peak, ROUNDS),
           loop_median(share, ROUNDS));
    if (p.m == 1)
        printf(", \"burn_gb_s\": %.1f, \"loop_gb_s\": %.1f, \"loop_share\": %.3f",
               weights / loop_median(mine, ROUNDS) * 1e-9, loop_median(loop, ROUNDS),
               loop_median(read, ROUNDS));
    printf("}\n");
    loop_close(&ours);
    bd_arena_deinit(&arena);
    free(p.a);
    free(p.b);
    free(p.c);
    return 0;
}
