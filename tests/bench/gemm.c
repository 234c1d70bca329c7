/* SPDX-License-Identifier: Apache-2.0
 * The cpu backend's matrix product of f32, the kernel in a loop on one pinned thread, beside
 * multiply-adds in registers and other libraries' products; they take turns. One JSON object.
 *
 *     gemm M N K [LIBRARY:SYMBOL ...]     SYMBOL: sgemm by Fortran's convention, or dnnl_sgemm
 *
 * Time is processor time of this process, for a neighbour on the same core must not count; burn's
 * is that of a launch within a submission of many. */
#include <dlfcn.h>
#include <math.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backends/backend.h"
#include "proto/base/arena.h"
#include "tests/bench/probe.h"

enum { ROUNDS = 7, LIBRARIES_MAX = 4, CHECKED = 200, PAGE_BYTES = 1 << 21 };
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

typedef struct product {
    const bd_driver *driver;
    bd_device *device;
    bd_kernel *kernel;
    void *scratch;
    size_t scratch_bytes;
    int64_t ints[3];
    sem_t finished;
} product;

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "gemm: %s: %s\n", what, why);
    exit(1);
}

static void check(bd_error *error)
{
    if (error)
        fail("cpu", bd_error_text(error));
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, by_value);
    return values[count / 2];
}

/* ---- burn ---- */

static bd_kir_access access_to(bd_kir_builder *builder, bd_kir_use use)
{
    bd_kir_access access = {.buffer = (uint16_t)bd_kir_add_buffer(builder, BURN_F32, use),
                            .offset = bd_kir_const(0)};
    for (int i = 0; i < BD_KIR_AXES_MAX; i++)
        access.strides[i] = bd_kir_const(0);
    return access;
}

static void yield_load(bd_kir_builder *builder, bd_kir_phase_kind phase,
                       const bd_kir_access *access)
{
    bd_kir_begin_phase(builder, phase);
    bd_kir_value value = bd_kir_emit(
        builder, &(bd_kir_instr){.code = BD_KIR_LOAD,
                                 .index = (uint16_t)bd_kir_add_access(builder, access),
                                 .guard = -1});
    bd_kir_unary(builder, BD_KIR_YIELD, value);
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
    bd_kir_access a = access_to(builder, BD_KIR_READ), b = access_to(builder, BD_KIR_READ);
    bd_kir_access out = access_to(builder, BD_KIR_WRITE);
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
    bd_kir_emit(builder, &(bd_kir_instr){.code = BD_KIR_STORE,
                                         .index = (uint16_t)bd_kir_add_access(builder, &out),
                                         .guard = -1,
                                         .operands = {sum}});
    bd_kir *program = NULL;
    check(bd_kir_finish(builder, arena, &program));
    bd_kir_builder_destroy(builder);
    return program;
}

static void product_open(product *ours, const problem *sizes)
{
    bd_arena arena;
    bd_arena_init(&arena);
    ours->driver = bd_driver_find("cpu");
    if (!ours->driver)
        fail("cpu", "this build has no such backend");
    check(ours->driver->open(&(bd_device_options){.threads = 1}, &ours->device));
    const bd_device_ops *ops = ours->driver->ops;
    check(ops->compile(ours->device, product_program(sizes->m == 1, &arena), &ours->kernel));
    bd_arena_deinit(&arena);
    memcpy(ours->ints, (int64_t[]){sizes->m, sizes->n, sizes->k}, sizeof ours->ints);
    ours->scratch_bytes = ops->scratch_bytes(ours->device, ours->kernel, ours->ints);
    if (ours->scratch_bytes > 0)
        check(ops->alloc(ours->device, ours->scratch_bytes, &ours->scratch));
    sem_init(&ours->finished, 0, 0);
}

static void product_close(product *ours)
{
    const bd_device_ops *ops = ours->driver->ops;
    ops->kernel_free(ours->device, ours->kernel);
    if (ours->scratch)
        ops->free(ours->device, ours->scratch, ours->scratch_bytes);
    ops->close(ours->device);
    sem_destroy(&ours->finished);
}

static void finished(bd_submission *submission)
{
    sem_post(&((product *)submission->user)->finished);
}

/* Seconds that so many launches take in all. */
static double product_run(product *ours, const problem *sizes, uint32_t count)
{
    void *buffers[] = {sizes->a, sizes->b, sizes->c};
    bd_block block = {.ints = ours->ints, .buffers = buffers};
    bd_fault fault = {0};
    bd_launch *launches = calloc(count, sizeof *launches);
    if (!launches)
        fail("launches", "no memory");
    for (uint32_t i = 0; i < count; i++)
        launches[i] = (bd_launch){.kernel = ours->kernel, .blocks = &block, .block_count = 1};
    bd_submission submission = {.launches = launches,
                                .launch_count = count,
                                .scratch = ours->scratch,
                                .fault = &fault,
                                .done = finished,
                                .user = ours};
    double begin = now();
    ours->driver->ops->submit(ours->device, &submission);
    sem_wait(&ours->finished);
    double taken = now() - begin;
    free(launches);
    return taken;
}

/* ---- others ---- */

static library open_library(char *argument)
{
    char *colon = strrchr(argument, ':');
    if (!colon)
        fail(argument, "LIBRARY:SYMBOL is meant");
    *colon = '\0';
    void *handle = dlopen(argument, RTLD_NOW);
    if (!handle)
        fail(argument, dlerror());
    void *symbol = dlsym(handle, colon + 1);
    if (!symbol)
        fail(colon + 1, "the library has no such symbol");
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
    double begin = now();
    for (uint32_t i = 0; i < count; i++)
        library_run(other, sizes);
    return now() - begin;
}

/* ---- a problem, its judge, the rounds ---- */

static float *make_matrix(int64_t rows, int64_t columns)
{
    size_t bytes = ((size_t)(rows * columns) * sizeof(float) + PAGE_BYTES) & -(size_t)PAGE_BYTES;
    float *matrix = aligned_alloc(PAGE_BYTES, bytes);
    if (!matrix)
        fail("matrix", "no memory");
    for (size_t i = 0; i < bytes / sizeof(float); i++)
        matrix[i] = (float)(rand() % 2001 - 1000) / 1000;
    return matrix;
}

/* Some elements of c against sums in double. */
static void judge(const problem *p, const char *name)
{
    for (int i = 0; i < CHECKED; i++) {
        int64_t row = rand() % p->m, column = rand() % p->n;
        double want = 0;
        for (int64_t k = 0; k < p->k; k++)
            want += (double)p->a[row * p->k + k] * (double)p->b[k * p->n + column];
        if (!(fabs((double)p->c[row * p->n + column] - want) <= 1e-5 * (double)p->k))
            fail(name, "wrong result");
    }
    memset(p->c, 0, (size_t)(p->m * p->n) * sizeof(float));
}

/* So many calls that a turn takes its time. */
static uint32_t calls_of_a_turn(double seconds_of_ten)
{
    double calls = TURN_SECONDS / (seconds_of_ten / 10);
    return calls < 1 ? 1 : calls > 1e6 ? 1000000 : (uint32_t)calls;
}

static void pin(void)
{
    cpu_set_t all, one;
    CPU_ZERO(&one);
    if (sched_getaffinity(0, sizeof all, &all))
        return;
    for (unsigned i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &all))
            CPU_SET(i, &one);
    sched_setaffinity(0, sizeof one, &one);
}

static void print_library(const library *other, double flops, double *seconds, const double *ours)
{
    double ratios[ROUNDS];
    for (int i = 0; i < ROUNDS; i++)
        ratios[i] = seconds[i] / ours[i];
    printf(", \"%s_gflops\": %.1f, \"%s_ratio\": %.3f", other->name,
           flops / median(seconds, ROUNDS) * 1e-9, other->name, median(ratios, ROUNDS));
}

int main(int argc, char **argv)
{
    static const char *const settings[] = {"OMP_NUM_THREADS", "MKL_NUM_THREADS",
                                           "OPENBLAS_NUM_THREADS"};
    problem p = {0};
    product ours = {0};
    library others[LIBRARIES_MAX];
    int other_count = argc - 4;
    for (int i = 0; argc > 3 && i < 3; i++)
        (&p.m)[i] = atoll(argv[i + 1]);
    if (p.m < 1 || p.n < 1 || p.k < 1 || other_count > LIBRARIES_MAX) {
        fprintf(stderr, "usage: gemm M N K [LIBRARY:SYMBOL ...]\n");
        return 2;
    }
    pin();
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        setenv(settings[i], "1", 1);
    p.a = make_matrix(p.m, p.k);
    p.b = make_matrix(p.k, p.n);
    p.c = make_matrix(p.m, p.n);
    for (int i = 0; i < other_count; i++)
        others[i] = open_library(argv[i + 4]);
    product_open(&ours, &p);
    product_run(&ours, &p, 1);
    judge(&p, "burn");
    uint32_t calls = calls_of_a_turn(product_run(&ours, &p, 10)), other_calls[LIBRARIES_MAX];
    for (int i = 0; i < other_count; i++) {
        library_run(&others[i], &p);
        judge(&p, others[i].name);
        other_calls[i] = calls_of_a_turn(library_runs(&others[i], &p, 10));
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
        print_library(&others[i], flops, theirs[i], mine);
    printf(", \"burn_gflops\": %.1f, \"peak_gflops\": %.1f, \"share\": %.3f",
           flops / median(mine, ROUNDS) * 1e-9, median(peak, ROUNDS), median(share, ROUNDS));
    if (p.m == 1)
        printf(", \"burn_gb_s\": %.1f, \"loop_gb_s\": %.1f, \"loop_share\": %.3f",
               weights / median(mine, ROUNDS) * 1e-9, median(loop, ROUNDS), median(read, ROUNDS));
    printf("}\n");
    product_close(&ours);
    free(p.a);
    free(p.b);
    free(p.c);
    return 0;
}
