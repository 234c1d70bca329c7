/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/cpu/cpu.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backends/shared/checks.h"
#include "backends/cpu/attention.h"
#include "backends/cpu/gemm.h"
#include "backends/cpu/jit.h"
#include "backends/cpu/loop.h"
#include "backends/cpu/pool.h"
#include "backends/shared/object_cache.h"
#include "proto/base/alloc.h"

enum { COMPILERS_MAX = 16, HUGE_BYTES = 2 << 20 };
/* Elements of contractions. */
enum { MICRO_F32, MICRO_F64, MICRO_BF16, MICRO_KINDS };

struct bd_device {
    bd_target target;
    bd_pool *pool;
    bd_code_arena *code;
    bd_object_cache *cache; /* NULL: none */
    bool compile_never;
    /* Compilers that no thread uses at the moment. */
    pthread_mutex_t lock;
    bd_compiler *idle[COMPILERS_MAX];
    int idle_count;
    struct micro {
        pthread_mutex_t lock;
        bd_loaded *code; /* NULL until it is needed */
    } micro[MICRO_KINDS][2]; /* also tabled */
    atomic_int prepared; /* parts that have been begun */
    _Atomic uint64_t compiles, cache_hits;
};

static bool cpu_probe(char *reason, size_t reason_bytes)
{
    if (reason && reason_bytes)
        reason[0] = 0;
    return true;
}

static void cpu_close(bd_device *device)
{
    if (!device)
        return;
    bd_pool_destroy(device->pool);
    for (int i = 0; i < device->idle_count; i++)
        bd_compiler_destroy(device->idle[i]);
    bd_object_cache_close(device->cache);
    for (int i = 0; i < 2 * MICRO_KINDS; i++) {
        bd_code_free(device->micro[i / 2][i % 2].code);
        pthread_mutex_destroy(&device->micro[i / 2][i % 2].lock);
    }
    bd_code_arena_destroy(device->code);
    pthread_mutex_destroy(&device->lock);
    bd_free(device);
}

static bd_object_cache *open_cache(const bd_target *target, const bd_device_options *options)
{
    char build[sizeof target->features + 256];
    bd_jit_build_text(target, build, sizeof build);
    return bd_object_cache_open(options->cache_path, options->cache_bytes_max, build);
}

static bd_error *cpu_open(const bd_device_options *options, bd_device **out)
{
    bd_device *device = bd_alloc_zeroed(sizeof *device);
    pthread_mutex_init(&device->lock, NULL);
    for (int i = 0; i < 2 * MICRO_KINDS; i++)
        pthread_mutex_init(&device->micro[i / 2][i % 2].lock, NULL);
    device->compile_never = options->compile_never;
    const char *wanted = options->target ? options->target : getenv("BURN_CPU_TARGET");
    bd_error *err = bd_target_init(&device->target, wanted);
    if (!err)
        err = bd_code_arena_create(&device->code);
    if (!err)
        err = bd_pool_create(options->threads, &device->pool);
    if (err) {
        cpu_close(device);
        return err;
    }
    if (options->cache_path)
        device->cache = open_cache(&device->target, options);
    *out = device;
    return NULL;
}

static void cpu_describe(bd_device *device, bd_device_facts *out)
{
    memset(out, 0, sizeof *out);
    snprintf(out->name, sizeof out->name, "cpu");
    out->threads = bd_pool_threads(device->pool);
    snprintf(out->detail, sizeof out->detail, "%s, %s, %d threads, %s", device->target.name,
             device->target.cpu, out->threads, device->cache ? "object cache" : "no object cache");
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (pages > 0 && page > 0)
        out->memory_bytes = (uint64_t)pages * (uint64_t)page;
}

static void cpu_counters(bd_device *device, bd_device_counters *out)
{
    memset(out, 0, sizeof *out);
    out->compiles = atomic_load(&device->compiles);
    out->cache_hits = atomic_load(&device->cache_hits);
    out->code_bytes = bd_code_arena_bytes(device->code);
    out->lent_us = bd_pool_lent_us(device->pool);
}

/* ---- memory ---- */

static size_t page_rounded(size_t size)
{
    return (size + 4095) & ~(size_t)4095;
}

/* All blocks are mapped; large ones begin at 2 MiB and ask for huge pages. */
static bd_error *cpu_alloc(bd_device *device, size_t size_bytes, void **out)
{
    (void)device;
    size_t size = page_rounded(size_bytes ? size_bytes : 1);
    size_t extra = size >= HUGE_BYTES ? HUGE_BYTES : 0;
    if (size < size_bytes || size + extra < size)
        BD_FAIL(NO_MEMORY, "%zu bytes are more than an address space holds", size_bytes);
    char *mapped = mmap(NULL, size + extra, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED)
        BD_FAIL(NO_MEMORY, "no memory for %zu bytes: %s", size_bytes, strerror(errno));
    if (extra) {
        size_t skip = (HUGE_BYTES - (uintptr_t)mapped % HUGE_BYTES) % HUGE_BYTES;
        if (skip)
            munmap(mapped, skip);
        if (skip < extra)
            munmap(mapped + skip + size, extra - skip);
        mapped += skip;
        madvise(mapped, size, MADV_HUGEPAGE);
    }
    *out = mapped;
    return NULL;
}

static void cpu_free(bd_device *device, void *memory, size_t size_bytes)
{
    (void)device;
    if (memory)
        munmap(memory, page_rounded(size_bytes ? size_bytes : 1));
}

/* ---- compiling ---- */

static bd_error *take_compiler(bd_device *device, bd_compiler **out)
{
    bd_compiler *compiler = NULL;
    pthread_mutex_lock(&device->lock);
    if (device->idle_count > 0)
        compiler = device->idle[--device->idle_count];
    pthread_mutex_unlock(&device->lock);
    if (compiler) {
        *out = compiler;
        return NULL;
    }
    return bd_compiler_create(&device->target, out);
}

static void give_compiler(bd_device *device, bd_compiler *compiler)
{
    pthread_mutex_lock(&device->lock);
    bool kept = device->idle_count < COMPILERS_MAX;
    if (kept)
        device->idle[device->idle_count++] = compiler;
    pthread_mutex_unlock(&device->lock);
    if (!kept)
        bd_compiler_destroy(compiler);
}

static bool by_gemm(const bd_kir *program)
{
    return program->family == BD_KIR_CONTRACTION && bd_gemm_fits(program);
}

static bd_error *emit_program(bd_module *module, const bd_kir *program)
{
    if (by_gemm(program))
        return bd_gemm_emit(module, program);
    if (program->family == BD_KIR_LOOP)
        return bd_loop_emit(module, program);
    if (program->family == BD_KIR_ATTENTION)
        return bd_attention_emit(module, program);
    bd_arena arena;
    bd_arena_init(&arena);
    bd_kir *loops = NULL;
    bd_error *err = bd_contraction_as_loop(program, &arena, &loops);
    if (!err)
        err = bd_loop_emit(module, loops);
    bd_arena_deinit(&arena);
    return err;
}

/* program NULL: the micro-kernels of an element type. */
static bd_error *make_object(bd_device *device, const bd_kir *program, burn_dtype element,
                             bool tabled, uint8_t **out_bytes, size_t *out_size)
{
    bd_compiler *compiler = NULL;
    bd_error *err = NULL;
    BD_TRY(take_compiler(device, &compiler));
    bd_module *module = bd_module_create(compiler);
    if (program)
        err = emit_program(module, program);
    else if (tabled)
        bd_micro_emit_tabled(module, element);
    else
        bd_micro_emit(module, element);
    if (err)
        bd_module_destroy(module);
    else
        err = bd_module_finish(module, out_bytes, out_size);
    give_compiler(device, compiler);
    if (!err && program)
        atomic_fetch_add(&device->compiles, 1);
    return err;
}

static bd_error *load_micro(bd_device *device, burn_dtype element, bool tabled, bd_loaded **out)
{
    char key[32];
    int key_bytes = snprintf(key, sizeof key, "%s %d %s", tabled ? "tabled" : "micro",
                             BD_GEMM_VERSION, burn_dtype_name(element));
    size_t size = 0;
    uint8_t *object = NULL;
    if (device->cache)
        object = bd_object_cache_get(device->cache, (uint8_t *)key, (size_t)key_bytes, &size);
    if (object) {
        bd_error *err = bd_code_load(device->code, object, size, out);
        bd_free(object);
        if (!err)
            return NULL;
        bd_error_free(err);
    }
    if (device->compile_never)
        BD_FAIL(UNAVAILABLE,
                "compiling is off (compile=never) and the %s micro-kernels are not "
                "cached",
                burn_dtype_name(element));
    BD_TRY(make_object(device, NULL, element, tabled, &object, &size));
    bd_error *err = bd_code_load(device->code, object, size, out);
    if (!err && device->cache)
        bd_object_cache_put(device->cache, (uint8_t *)key, (size_t)key_bytes, object, size);
    bd_free(object);
    return err;
}

/* The micro-kernels of an element type: made once a device. */
static bd_error *take_micro(bd_device *device, burn_dtype element, bool tabled,
                            const bd_loaded **out)
{
    int kind = element == BURN_F64 ? MICRO_F64 : element == BURN_BF16 ? MICRO_BF16 : MICRO_F32;
    struct micro *micro = &device->micro[kind][tabled];
    bd_error *err = NULL;
    pthread_mutex_lock(&micro->lock);
    if (!micro->code)
        err = load_micro(device, element, tabled, &micro->code);
    *out = micro->code;
    pthread_mutex_unlock(&micro->lock);
    return err;
}

/* Most programs have products of f32, many have convolutions: a part each, so that two threads make
 * them side by side, before the first kernel. */
static bool cpu_prepare(bd_device *device)
{
    const bd_loaded *micro = NULL;
    int part = device->compile_never ? 2 : atomic_fetch_add(&device->prepared, 1);
    if (part < 2)
        bd_error_free(take_micro(device, BURN_F32, part == 1, &micro));
    return part < 1;
}

static bd_error *make_kernel(bd_device *device, const bd_kir *program, bd_loaded *code,
                             bd_kernel **out)
{
    if (program->family == BD_KIR_LOOP)
        return bd_loop_create(&device->target, program, code, out);
    if (by_gemm(program)) {
        const bd_loaded *micro = NULL, *tabled = NULL;
        burn_dtype element = bd_gemm_element(&device->target, program);
        if (bd_gemm_has_windows(&device->target, program))
            BD_TRY(take_micro(device, element, true, &tabled));
        BD_TRY(take_micro(device, element, false, &micro));
        return bd_gemm_create(&device->target, program, code, micro, tabled, out);
    }
    if (program->family == BD_KIR_ATTENTION) {
        const bd_loaded *micro = NULL;
        burn_dtype element;
        BD_TRY(bd_attention_element(&device->target, program, &element));
        BD_TRY(take_micro(device, element, false, &micro));
        return bd_attention_create(&device->target, program, code, micro, out);
    }
    bd_arena arena;
    bd_arena_init(&arena);
    bd_kir *loops = NULL;
    bd_error *err = bd_contraction_as_loop(program, &arena, &loops);
    if (!err)
        err = bd_loop_create(&device->target, loops, code, out);
    bd_arena_deinit(&arena);
    return err;
}

static bd_error *load_kernel(bd_device *device, const bd_kir *program, const uint8_t *bytes,
                             size_t size, bd_kernel **out)
{
    bd_loaded *code = NULL;
    BD_TRY(bd_code_load(device->code, bytes, size, &code));
    bd_error *err = make_kernel(device, program, code, out);
    if (err)
        bd_code_free(code);
    else
        (*out)->checks = bd_checks_create(program);
    return err;
}

/* The object from the cache if it is there and loads; else *out stays NULL. */
static void from_cache(bd_device *device, const bd_kir *program, const uint8_t *key,
                       size_t key_bytes, bd_kernel **out)
{
    size_t size = 0;
    uint8_t *object = bd_object_cache_get(device->cache, key, key_bytes, &size);
    if (!object)
        return;
    bd_error *err = load_kernel(device, program, object, size, out);
    bd_free(object);
    if (err)
        bd_error_free(err);
    else
        atomic_fetch_add(&device->cache_hits, 1);
}

static bd_error *compile_fresh(bd_device *device, const bd_kir *program, const uint8_t *key,
                               size_t key_bytes, bd_kernel **out)
{
    if (device->compile_never) {
        char *text = bd_kir_print(program);
        bd_error *err = BD_ERROR(UNAVAILABLE,
                                 "compiling is off (compile=never) and this kernel is not cached: "
                                 "%.300s",
                                 text);
        bd_free(text);
        return err;
    }
    uint8_t *object = NULL;
    size_t size = 0;
    BD_TRY(make_object(device, program, BURN_DTYPE_NONE, false, &object, &size));
    bd_error *err = load_kernel(device, program, object, size, out);
    if (!err && device->cache)
        bd_object_cache_put(device->cache, key, key_bytes, object, size);
    bd_free(object);
    return err;
}

static bd_error *cpu_compile(bd_device *device, const bd_kir *program, bd_kernel **out)
{
    bd_kernel *kernel = NULL;
    uint8_t *key = NULL;
    size_t key_bytes = 0;
    if (device->cache) {
        key = bd_kir_serialize(program, &key_bytes);
        from_cache(device, program, key, key_bytes, &kernel);
    }
    bd_error *err = NULL;
    if (!kernel)
        err = compile_fresh(device, program, key, key_bytes, &kernel);
    bd_free(key);
    if (!err)
        *out = kernel;
    return err;
}

static void cpu_kernel_free(bd_device *device, bd_kernel *kernel)
{
    (void)device;
    if (!kernel)
        return;
    bd_loaded *code = kernel->code;
    bd_checks_destroy(kernel->checks);
    kernel->ops->destroy(kernel);
    bd_code_free(code);
}

static size_t cpu_size(bd_device *device, const bd_kernel *kernel, const int64_t *ints,
                       bd_arena *arena, const bd_sized **out)
{
    return bd_pool_size(device->pool, kernel, ints, arena, out);
}

static void cpu_lend(bd_device *device, const atomic_bool *wanted)
{
    bd_pool_lend(device->pool, wanted);
}

static void cpu_call(bd_device *device)
{
    bd_pool_call(device->pool);
}

static void cpu_submit(bd_device *device, bd_submission *submission)
{
    bd_pool_submit(device->pool, submission);
}

static const bd_device_ops OPS = {
    .close = cpu_close,
    .describe = cpu_describe,
    .counters = cpu_counters,
    .alloc = cpu_alloc,
    .free = cpu_free,
    .prepare = cpu_prepare,
    .compile = cpu_compile,
    .kernel_free = cpu_kernel_free,
    .size = cpu_size,
    .submit = cpu_submit,
    .lend = cpu_lend,
    .call = cpu_call,
};

const bd_driver bd_cpu_driver = {
    .name = "cpu",
    .probe = cpu_probe,
    .open = cpu_open,
    .ops = &OPS,
};
