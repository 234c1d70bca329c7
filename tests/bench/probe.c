/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/probe.h"

#include <immintrin.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { THREADS_MAX = 64, RUNS_MIN = 5, RUNS_MAX = 2000, LANES = 16, STREAMS_MAX = 8 };

#define INLINE static inline __attribute__((always_inline))
#define AVX2 __attribute__((target("avx2,fma")))
#define AVX512 __attribute__((target("avx512f,avx512vl,avx2,fma,prefer-vector-width=512")))

typedef float vec __attribute__((vector_size(LANES * sizeof(float)), may_alias));

/* What the threads of one figure share. */
typedef struct probe_job {
    void (*part)(struct probe_job *job, int thread); /* a thread's part of a run */
    int threads;
    double seconds;
    pthread_barrier_t barrier;
    bool over;
    double times[RUNS_MAX];
    int runs;
    bool wide;
    /* streams, gather and scatter */
    float *memory[STREAMS_MAX], *arrays[STREAMS_MAX];
    int reads, updates, writes;
    bool past_cache;
    size_t count, rows, width;
    const int64_t *ids;
    float sink[THREADS_MAX];
} probe_job;

static double now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

typedef struct worker {
    probe_job *job;
    int number;
} worker;

static void *work(void *argument)
{
    worker *self = argument;
    probe_job *job = self->job;
    clockid_t clock = job->threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
    double start = now(clock);
    for (;;) {
        pthread_barrier_wait(&job->barrier);
        if (job->over)
            return NULL;
        double begin = now(clock);
        job->part(job, self->number);
        pthread_barrier_wait(&job->barrier);
        if (self->number != 0)
            continue;
        double end = now(clock);
        job->times[job->runs++] = end - begin;
        job->over = job->runs == RUNS_MAX ||
                    (job->runs >= RUNS_MIN && end - start > job->seconds);
    }
}

/* Seconds that a tenth of the runs keep within, or -1. */
static double measure(probe_job *job)
{
    pthread_t threads[THREADS_MAX];
    worker workers[THREADS_MAX];
    if (job->threads < 1 || job->threads > THREADS_MAX)
        return -1;
    job->over = false;
    job->runs = 0;
    pthread_barrier_init(&job->barrier, NULL, (unsigned)job->threads);
    for (int i = 0; i < job->threads; i++) {
        workers[i] = (worker){job, i};
        if (i > 0 && pthread_create(&threads[i], NULL, work, &workers[i]))
            abort(); /* the others wait at the barrier */
    }
    work(&workers[0]);
    for (int i = 1; i < job->threads; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&job->barrier);
    qsort(job->times, (size_t)job->runs, sizeof *job->times, by_value);
    return job->times[job->runs / 10];
}

static bool is_wide(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl");
}

/* ---- multiply-adds ---- */

enum { FMA_STEPS = 1 << 18, FMA_CHAINS = 12 };

AVX512 static float fma_wide(void)
{
    __m512 sums[FMA_CHAINS], a = _mm512_set1_ps(0.999f), b = _mm512_set1_ps(0.001f);
    for (int i = 0; i < FMA_CHAINS; i++)
        sums[i] = _mm512_set1_ps((float)i);
    for (int step = 0; step < FMA_STEPS; step++) {
#pragma GCC unroll 12
        for (int i = 0; i < FMA_CHAINS; i++)
            sums[i] = _mm512_fmadd_ps(sums[i], a, b);
    }
    __m512 sum = sums[0];
    for (int i = 1; i < FMA_CHAINS; i++)
        sum = _mm512_add_ps(sum, sums[i]);
    return _mm512_cvtss_f32(sum);
}

AVX2 static float fma_narrow(void)
{
    __m256 sums[FMA_CHAINS], a = _mm256_set1_ps(0.999f), b = _mm256_set1_ps(0.001f);
    for (int i = 0; i < FMA_CHAINS; i++)
        sums[i] = _mm256_set1_ps((float)i);
    for (int step = 0; step < FMA_STEPS; step++) {
#pragma GCC unroll 12
        for (int i = 0; i < FMA_CHAINS; i++)
            sums[i] = _mm256_fmadd_ps(sums[i], a, b);
    }
    __m256 sum = sums[0];
    for (int i = 1; i < FMA_CHAINS; i++)
        sum = _mm256_add_ps(sum, sums[i]);
    return _mm256_cvtss_f32(sum);
}

static void fma_part(probe_job *job, int thread)
{
    job->sink[thread] = job->wide ? fma_wide() : fma_narrow();
}

double probe_fma(int threads, double seconds)
{
    static probe_job job;
    job.part = fma_part;
    job.threads = threads;
    job.seconds = seconds;
    job.wide = is_wide();
    double lanes = job.wide ? 16 : 8, taken = measure(&job);
    return 2.0 * lanes * FMA_CHAINS * FMA_STEPS * threads / taken * 1e-9;
}

/* ---- streams ---- */

/* reads, updates, writes of all loops that are made */
#define LOOPS(X) X(1, 0, 0) X(1, 0, 1) X(2, 0, 1) X(4, 0, 1) X(5, 0, 1) X(1, 3, 0)

enum { UNROLLED = 4, STEP = UNROLLED * LANES };

INLINE void loop(probe_job *job, int thread, size_t begin, size_t end, int reads, int updates,
                 int writes, bool past_cache)
{
    float *const *arrays = job->arrays;
    vec totals[UNROLLED] = {{0}};
    for (size_t i = begin; i < end; i += STEP) {
#pragma GCC unroll 4
        for (int k = 0; k < UNROLLED; k++) {
            size_t at = i + (size_t)k * LANES;
            vec sum = *(const vec *)(arrays[0] + at);
#pragma GCC unroll 8
            for (int r = 1; r < reads; r++)
                sum += *(const vec *)(arrays[r] + at);
#pragma GCC unroll 8
            for (int u = reads; u < reads + updates; u++) {
                vec *place = (vec *)(arrays[u] + at);
                *place = *place * 0.5f + sum;
            }
#pragma GCC unroll 8
            for (int w = reads + updates; w < reads + updates + writes; w++) {
                __m128 quarters[LANES / 4];
                memcpy(quarters, &sum, sizeof sum);
                if (!past_cache)
                    *(vec *)(arrays[w] + at) = sum;
                for (int q = 0; past_cache && q < LANES / 4; q++)
                    _mm_stream_ps(arrays[w] + at + 4 * q, quarters[q]);
            }
            if (updates + writes == 0)
                totals[k] += sum;
        }
    }
    _mm_sfence();
    for (int k = 0; k < UNROLLED; k++)
        job->sink[thread] += totals[k][0];
}

INLINE void loop_of(probe_job *job, int thread, size_t begin, size_t end)
{
#define LOOP(r, u, w)                                                                              \
    if (job->reads == (r) && job->updates == (u) && job->writes == (w)) {                          \
        if (job->past_cache)                                                                       \
            loop(job, thread, begin, end, r, u, w, true);                                          \
        else                                                                                       \
            loop(job, thread, begin, end, r, u, w, false);                                         \
    }
    LOOPS(LOOP)
#undef LOOP
}

AVX512 static void loop_wide(probe_job *job, int thread, size_t begin, size_t end)
{
    loop_of(job, thread, begin, end);
}

AVX2 static void loop_narrow(probe_job *job, int thread, size_t begin, size_t end)
{
    loop_of(job, thread, begin, end);
}

static void streams_part(probe_job *job, int thread)
{
    size_t steps = job->count / STEP, threads = (size_t)job->threads, number = (size_t)thread;
    size_t begin = steps * number / threads * STEP, end = steps * (number + 1) / threads * STEP;
    (job->wide ? loop_wide : loop_narrow)(job, thread, begin, end);
}

enum { HUGE_PAGE = 1 << 21, APART = 1088 };

/* Array i of a job: touched memory, in huge pages where the system has them, whose address differs
 * from the others' modulo a page. False if there is none. */
static bool make_array(probe_job *job, int i, size_t count)
{
    size_t bytes = ((count + APART * STREAMS_MAX) * sizeof(float) + HUGE_PAGE) & -(size_t)HUGE_PAGE;
    job->memory[i] = aligned_alloc(HUGE_PAGE, bytes);
    if (!job->memory[i])
        return false;
    madvise(job->memory[i], bytes, MADV_HUGEPAGE);
    for (size_t k = 0; k < bytes / sizeof(float); k++)
        job->memory[i][k] = 1;
    job->arrays[i] = job->memory[i] + i * APART;
    return true;
}

static void free_arrays(probe_job *job)
{
    for (int i = 0; i < STREAMS_MAX; i++) {
        free(job->memory[i]);
        job->memory[i] = NULL;
    }
}

static bool is_made(int reads, int updates, int writes)
{
#define LOOP(r, u, w)                                                                              \
    if (reads == (r) && updates == (u) && writes == (w))                                           \
        return true;
    LOOPS(LOOP)
#undef LOOP
    return false;
}

double probe_streams(int reads, int updates, int writes, size_t count, int threads, double seconds)
{
    static probe_job job;
    job.part = streams_part;
    job.reads = reads;
    job.updates = updates;
    job.writes = writes;
    job.count = count;
    job.threads = threads;
    job.wide = is_wide();
    double taken = is_made(reads, updates, writes) ? 0 : -1;
    int arrays = taken < 0 ? 0 : reads + updates + writes;
    for (int i = 0; i < arrays; i++) {
        if (!make_array(&job, i, count))
            taken = -1;
    }
    int ways = writes > 0 ? 2 : 1;
    for (int way = 0; way < ways && taken >= 0; way++) {
        job.past_cache = way == 1;
        job.seconds = seconds / ways;
        double this_way = measure(&job);
        if (way == 0 || this_way < taken)
            taken = this_way;
    }
    free_arrays(&job);
    return taken * 1e3;
}

/* ---- rows by number ---- */

static void gather_part(probe_job *job, int thread)
{
    size_t threads = (size_t)job->threads, number = (size_t)thread, width = job->width;
    size_t end = job->count * (number + 1) / threads;
    for (size_t i = job->count * number / threads; i < end; i++)
        memcpy(job->arrays[1] + i * width, job->arrays[0] + (size_t)job->ids[i] * width,
               width * sizeof(float));
}

/* Each thread owns a range of the table's rows. */
static void scatter_part(probe_job *job, int thread)
{
    size_t threads = (size_t)job->threads, number = (size_t)thread, width = job->width;
    size_t begin = job->rows * number / threads, end = job->rows * (number + 1) / threads;
    memset(job->arrays[0] + begin * width, 0, (end - begin) * width * sizeof(float));
    for (size_t i = 0; i < job->count; i++) {
        size_t row = (size_t)job->ids[i];
        if (row < begin || row >= end)
            continue;
        for (size_t k = 0; k < width; k++)
            job->arrays[0][row * width + k] += job->arrays[1][i * width + k];
    }
}

static double by_number(void (*part)(probe_job *, int), const int64_t *ids, size_t id_count,
                        size_t row_count, size_t width, int threads, double seconds)
{
    static probe_job job;
    job.part = part;
    job.ids = ids;
    job.count = id_count;
    job.rows = row_count;
    job.width = width;
    job.threads = threads;
    job.seconds = seconds;
    bool made = make_array(&job, 0, row_count * width) && make_array(&job, 1, id_count * width);
    double taken = made ? measure(&job) : -1;
    free_arrays(&job);
    return taken * 1e3;
}

double probe_gather(const int64_t *ids, size_t id_count, size_t row_count, size_t width,
                    int threads, double seconds)
{
    return by_number(gather_part, ids, id_count, row_count, width, threads, seconds);
}

double probe_scatter(const int64_t *ids, size_t id_count, size_t row_count, size_t width,
                     int threads, double seconds)
{
    return by_number(scatter_part, ids, id_count, row_count, width, threads, seconds);
}
