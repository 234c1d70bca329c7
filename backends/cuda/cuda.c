/* SPDX-License-Identifier: Apache-2.0
 * The driver of NVIDIA GPUs: devices, memory, kernels. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cfamily/print.h"
#include "backends/cuda/blas.h"
#include "backends/cuda/crew.h"
#include "backends/cuda/device.h"
#include "backends/cuda/dnn.h"
#include "backends/cuda/graph.h"
#include "backends/cuda/image.h"
#include "backends/cuda/kernel.h"
#include "proto/base/alloc.h"

/* CUdevice_attribute, CUstream_flags and CUevent_flags of the driver API. */
enum { PROCESSORS = 16, MAJOR = 75, MINOR = 76, NON_BLOCKING = 1, NO_TIMING = 2 };
enum { SHARED_BYTES = 8 }; /* CUfunction_attribute: at most so much dynamic shared memory */

static bool cuda_probe(char *reason, size_t reason_bytes)
{
    const bd_cuda_symbols *cuda = NULL;
    int count = 0;
    bd_error *err = bd_cuda_open_driver(&cuda);
    if (!err)
        err = bd_cuda_check(cuda->cuDeviceGetCount(&count), "count the GPUs");
    if (!err && count == 0)
        err = BD_ERROR(UNAVAILABLE, "the CUDA driver sees no GPU");
    if (reason && reason_bytes)
        snprintf(reason, reason_bytes, "%s", bd_error_text(err));
    bool there = err == NULL;
    bd_error_free(err);
    return there;
}

/* Every thread that calls the driver needs the context. */
static void enter(const bd_device *device)
{
    (void)device->cuda->cuCtxSetCurrent(device->context);
}

/* Gives back all that lives in the context, then the context. */
static void stop(bd_device *device)
{
    const bd_cuda_symbols *cuda = device->cuda;
    if (!device->context)
        return;
    enter(device);
    bd_cuda_flights_close(device);
    bd_cuda_graphs_close(device);
    bd_cuda_blas_close(device);
    bd_cuda_dnn_close(device);
    bd_cuda_dnn_open(device); /* holds nothing yet */
    if (device->stream)
        (void)cuda->cuStreamDestroy(device->stream);
    if (device->out_stream)
        (void)cuda->cuStreamDestroy(device->out_stream);
    if (device->uploaded)
        (void)cuda->cuEventDestroy(device->uploaded);
    if (device->ring_device)
        (void)cuda->cuMemFree(device->ring_device);
    if (device->ring)
        (void)cuda->cuMemFreeHost(device->ring);
    if (device->counters)
        (void)cuda->cuMemFree(device->counters);
    (void)cuda->cuDevicePrimaryCtxRelease(device->number);
    device->context = device->stream = device->out_stream = device->uploaded = NULL;
    device->ring = NULL;
    device->ring_device = device->counters = 0;
    device->ring_at = 0;
    device->blas_refused = false;
}

static void cuda_close(bd_device *device)
{
    if (!device)
        return;
    stop(device);
    bd_cuda_dnn_close(device);
    bd_object_cache_close(device->cache);
    bd_cuda_crew_destroy(device->crew);
    pthread_mutex_destroy(&device->hosts_lock);
    bd_free(device);
}

static bd_error *read_facts(bd_device *device)
{
    const bd_cuda_symbols *cuda = device->cuda;
    int major = 0, minor = 0;
    size_t bytes = 0;
    BD_TRY(bd_cuda_check(cuda->cuDeviceGet(&device->number, 0), "find a GPU"));
    BD_TRY(bd_cuda_check(cuda->cuDeviceGetName(device->name, sizeof device->name, device->number),
                         "name the GPU"));
    BD_TRY(bd_cuda_check(cuda->cuDeviceTotalMem(&bytes, device->number), "size the GPU"));
    BD_TRY(bd_cuda_check(cuda->cuDeviceGetAttribute(&major, MAJOR, device->number),
                         "ask the GPU for its architecture"));
    BD_TRY(bd_cuda_check(cuda->cuDeviceGetAttribute(&minor, MINOR, device->number),
                         "ask the GPU for its architecture"));
    BD_TRY(bd_cuda_check(
        cuda->cuDeviceGetAttribute(&device->processors, PROCESSORS, device->number),
        "count the GPU's processors"));
    device->architecture = major * 10 + minor;
    device->memory_bytes = bytes;
    return NULL;
}

static bd_error *start(bd_device *device)
{
    const bd_cuda_symbols *cuda = device->cuda;
    BD_TRY(bd_cuda_check(cuda->cuDevicePrimaryCtxRetain(&device->context, device->number),
                         "open the GPU"));
    enter(device);
    BD_TRY(bd_cuda_check(cuda->cuStreamCreate(&device->stream, NON_BLOCKING), "make a stream"));
    BD_TRY(bd_cuda_check(cuda->cuStreamCreate(&device->out_stream, NON_BLOCKING),
                         "make a stream"));
    BD_TRY(bd_cuda_check(cuda->cuEventCreate(&device->uploaded, NO_TIMING), "make an event"));
    BD_TRY(bd_cuda_check(cuda->cuMemAlloc(&device->ring_device, BD_CUDA_RING_BYTES),
                         "allocate room for arguments"));
    void *ring = NULL;
    BD_TRY(bd_cuda_check(cuda->cuMemHostAlloc(&ring, BD_CUDA_RING_BYTES, 0),
                         "allocate room for arguments"));
    device->ring = ring;
    size_t bytes = BD_CFAMILY_COUNTERS * sizeof(uint32_t);
    BD_TRY(bd_cuda_check(cuda->cuMemAlloc(&device->counters, bytes), "allocate counters"));
    BD_TRY(bd_cuda_check(cuda->cuMemsetD8Async(device->counters, 0, bytes, device->stream),
                         "clear counters"));
    return bd_cuda_flights_open(device);
}

static void open_cache(bd_device *device, const bd_device_options *options)
{
    const bd_cuda_symbols *compiler = NULL;
    int major = 0, minor = 0;
    bd_error *err = bd_cuda_open_compiler(&compiler);
    if (!err)
        (void)compiler->nvrtcVersion(&major, &minor);
    bd_error_free(err); /* cached kernels need no compiler */
    char build[128];
    snprintf(build, sizeof build, "burn cuda 1 %s nvrtc %d sm_%d", BD_CUDA_SOURCES, major,
             device->architecture);
    device->cache = bd_object_cache_open(options->cache_path, options->cache_bytes_max, build);
}

static bd_error *cuda_open(const bd_device_options *options, bd_device **out)
{
    const bd_cuda_symbols *cuda = NULL;
    bd_cuda_look_in(options->libraries);
    BD_TRY(bd_cuda_open_driver(&cuda));
    bd_device *device = bd_alloc_zeroed(sizeof *device);
    device->cuda = cuda;
    device->compile_never = options->compile_never;
    device->tf32_convolutions = options->tf32 != BD_TF32_OFF;
    device->tf32_products = options->tf32 == BD_TF32_ALL;
    device->crew = bd_cuda_crew_create();
    bd_cuda_dnn_open(device);
    pthread_mutex_init(&device->hosts_lock, NULL);
    bd_error *err = read_facts(device);
    if (!err)
        err = start(device);
    if (err) {
        cuda_close(device);
        return err;
    }
    if (options->cache_path)
        open_cache(device, options);
    *out = device;
    return NULL;
}

static bd_error *cuda_reopen(bd_device *device)
{
    stop(device);
    BD_TRY(bd_cuda_check(device->cuda->cuDevicePrimaryCtxReset(device->number), "reset the GPU"));
    bd_error *error = start(device);
    if (!error)
        error = bd_cuda_host_pin_all(device);
    if (error)
        stop(device);
    return error;
}

static void cuda_describe(bd_device *device, bd_device_facts *out)
{
    memset(out, 0, sizeof *out);
    snprintf(out->name, sizeof out->name, "%s", device->name);
    char libraries[96];
    bd_cuda_describe_dnn(libraries, sizeof libraries);
    snprintf(out->detail, sizeof out->detail, "sm_%d, %d processors, %.80s", device->architecture,
             device->processors, libraries);
    out->memory_bytes = device->memory_bytes;
    out->threads = device->processors;
}

static void cuda_counters(bd_device *device, bd_device_counters *out)
{
    *out = (bd_device_counters){.compiles = atomic_load(&device->compiles),
                                .cache_hits = atomic_load(&device->cache_hits),
                                .code_bytes = atomic_load(&device->code_bytes),
                                .library_plans = atomic_load(&device->library_plans)};
}

/* ---- memory ---- */

static bd_error *cuda_alloc(bd_device *device, size_t size_bytes, void **out)
{
    uint64_t memory = 0;
    enter(device);
    BD_TRY(bd_cuda_check(device->cuda->cuMemAlloc(&memory, size_bytes ? size_bytes : 1),
                         "allocate memory of the GPU"));
    *out = (void *)(uintptr_t)memory;
    return NULL;
}

static void cuda_free(bd_device *device, void *memory, size_t size_bytes)
{
    (void)size_bytes;
    enter(device);
    if (memory)
        (void)device->cuda->cuMemFree((uint64_t)(uintptr_t)memory);
}

static bd_error *cuda_host_alloc(bd_device *device, size_t size_bytes, void **out)
{
    enter(device);
    return bd_cuda_host_alloc(device, size_bytes, out);
}

static void cuda_host_free(bd_device *device, void *memory, size_t size_bytes)
{
    enter(device);
    bd_cuda_host_free(device, memory, size_bytes);
}

static bd_error *cuda_copy_in(bd_device *device, void *to, const void *from, size_t size_bytes)
{
    enter(device);
    BD_TRY(bd_cuda_check(device->cuda->cuMemcpyHtoDAsync((uint64_t)(uintptr_t)to, from, size_bytes,
                                                         device->stream),
                         "copy to the GPU"));
    return bd_cuda_check(device->cuda->cuEventRecord(device->uploaded, device->stream),
                         "copy to the GPU");
}

static bd_error *cuda_copy_out(bd_device *device, void *to, const void *from, size_t size_bytes)
{
    enter(device);
    BD_TRY(bd_cuda_check(
        device->cuda->cuStreamWaitEvent(device->out_stream, device->uploaded, 0),
        "copy from the GPU"));
    BD_TRY(bd_cuda_check(device->cuda->cuMemcpyDtoHAsync(to, (uint64_t)(uintptr_t)from, size_bytes,
                                                         device->out_stream),
                         "copy from the GPU"));
    return bd_cuda_check(device->cuda->cuStreamSynchronize(device->out_stream),
                         "copy from the GPU");
}

static bd_error *cuda_clear(bd_device *device, void *memory, size_t size_bytes)
{
    enter(device);
    return bd_cuda_check(device->cuda->cuMemsetD8Async((uint64_t)(uintptr_t)memory, 0, size_bytes,
                                                       device->stream),
                         "clearing memory of the GPU");
}

/* ---- kernels ---- */

static void cuda_kernel_free(bd_device *device, bd_kernel *kernel)
{
    if (!kernel)
        return;
    enter(device);
    atomic_store(&device->graphs_stale, true);
    for (int i = 0; i < kernel->module_count; i++)
        if (kernel->modules[i])
            (void)device->cuda->cuModuleUnload(kernel->modules[i]);
    bd_checks_destroy(kernel->checks);
    bd_arena_deinit(&kernel->arena);
    bd_free(kernel);
}

/* Functions with more shared memory than is given unasked. What a GPU has too little for is left
 * out: each has another that does its work. */
static void give_room(const bd_device *device, bd_kernel *kernel)
{
    const struct {
        void **function;
        size_t bytes;
    } roomy[] = {{&kernel->huge, bd_cuda_product_room(kernel->tiles, true)},
                 {&kernel->large, bd_cuda_product_room(kernel->tiles, false)},
                 {&kernel->attend_64, bd_cuda_attention_room(kernel->program, 64)},
                 {&kernel->attend_128, bd_cuda_attention_room(kernel->program, 128)},
                 {&kernel->groups_64, bd_cuda_groups_room(64)},
                 {&kernel->groups_128, bd_cuda_groups_room(128)}};
    for (size_t i = 0; i < sizeof roomy / sizeof *roomy; i++)
        if (*roomy[i].function &&
            device->cuda->cuFuncSetAttribute(*roomy[i].function, SHARED_BYTES,
                                             (int)roomy[i].bytes) != 0)
            *roomy[i].function = NULL;
}

static bd_error *find_functions(bd_device *device, bd_kernel *kernel)
{
    const bd_cuda_symbols *cuda = device->cuda;
    bd_kir_family family = kernel->program->family;
    const struct {
        const char *name;
        void **place;
    } entries[] = {{"rows", &kernel->rows},
                   {"rows_many", &kernel->rows_many},
                   {"parts", &kernel->parts},
                   {"teams", &kernel->teams},
                   {"vectors", &kernel->vectors},
                   {"vectors_many", &kernel->vectors_many},
                   {"wides", &kernel->wides},
                   {"held", &kernel->held},
                   {"down", &kernel->down},
                   {"downs", &kernel->downs},
                   {"product", &kernel->product},
                   {"attend", &kernel->attend},
                   {"copy_a", &kernel->copy_a},
                   {"copy_b", &kernel->copy_b},
                   {"huge", &kernel->huge},
                   {"large", &kernel->large},
                   {"small", &kernel->small},
                   {"join", &kernel->join},
                   {"joins", &kernel->joins},
                   {"columns", &kernel->columns},
                   {"attend_64", &kernel->attend_64},
                   {"attend_128", &kernel->attend_128},
                   {"groups_64", &kernel->groups_64},
                   {"groups_128", &kernel->groups_128}};
    bool tiled = kernel->tiles != BD_CFAMILY_NO_TILES;
    bool huge = tiled && device->architecture == 90 && bd_cfamily_has_huge_tiles(kernel->program);
    bool columns = tiled && bd_cfamily_has_columns(kernel->program);
    bool attends = family == BD_KIR_ATTENTION && bd_cfamily_attends_by_tiles(kernel->program);
    bool groups = attends && device->architecture == 90 &&
                  bd_cfamily_attends_by_groups(kernel->program);
    const bd_cfamily_loop *loop = &kernel->loop;
    const bool there[] = {family == BD_KIR_LOOP,
                          loop->map,
                          loop->parts,
                          loop->teams,
                          loop->map && loop->wide,
                          loop->map && loop->wide,
                          loop->wide && loop->teams && !loop->down,
                          loop->held > 0,
                          loop->down,
                          loop->wide && loop->down,
                          family == BD_KIR_CONTRACTION,
                          family == BD_KIR_ATTENTION,
                          tiled && bd_cfamily_copies(kernel->program, BD_KIR_OPERAND_A),
                          tiled && bd_cfamily_copies(kernel->program, BD_KIR_OPERAND_B),
                          huge, tiled, tiled, tiled, tiled && loop->wide, columns, attends, attends,
                          groups, groups};
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        if (there[i])
            BD_TRY(bd_cuda_check(
                cuda->cuModuleGetFunction(
                    entries[i].place, kernel->modules[bd_cfamily_module_of(entries[i].name)],
                    entries[i].name),
                "find a kernel's function"));
    give_room(device, kernel);
    return NULL;
}

/* What is asked of the program once, not at each launch. */
static void describe_tiles(bd_kernel *kernel, bd_kir *program)
{
    if (program->family == BD_KIR_CONTRACTION) {
        bd_cfamily_fold(program);
        kernel->tiles = bd_cfamily_tiles_of(program);
    } else {
        kernel->c = bd_cfamily_side_of(program, BD_KIR_OPERAND_C);
        if (!bd_cfamily_has_product(program))
            return;
    }
    kernel->a = bd_cfamily_side_of(program, BD_KIR_OPERAND_A);
    kernel->b = bd_cfamily_side_of(program, BD_KIR_OPERAND_B);
}

/* What the sizes decide is asked of the program once. */
static void describe_loop(bd_kernel *kernel)
{
    const bd_kir *program = kernel->program;
    kernel->loop = bd_cfamily_loop_of(program);
    if (!kernel->loop.wide)
        return;
    uint16_t *accesses = BD_ARENA_ARRAY(&kernel->arena, uint16_t, program->instr_count);
    bool all = program->family == BD_KIR_LOOP; /* else an epilogue, which stands last */
    for (int i = all ? 0 : program->phases[program->phase_count - 1].first;
         i < program->instr_count; i++)
        if (bd_cfamily_is_wide(program, kernel->loop.along, &program->instrs[i]))
            accesses[kernel->wide_count++] = program->instrs[i].index;
    kernel->wide_accesses = accesses;
}

static bd_error *load_kernel(bd_device *device, const bd_kir *program,
                             const bd_cuda_images *images, bd_kernel **out)
{
    bd_kernel *kernel = bd_alloc_zeroed(sizeof *kernel);
    bd_arena_init(&kernel->arena);
    bd_kir *own = bd_kir_clone(program, &kernel->arena);
    if (program->family != BD_KIR_LOOP)
        describe_tiles(kernel, own);
    kernel->program = own;
    kernel->checks = bd_checks_create(program);
    kernel->words = program->int_count + program->buffer_count + program->scalar_count;
    kernel->by_value = bd_cfamily_words(program) > 0;
    describe_loop(kernel);
    enter(device);
    bd_error *err = NULL;
    for (; kernel->module_count < images->count && !err; kernel->module_count++)
        err = bd_cuda_check(
            device->cuda->cuModuleLoadData(&kernel->modules[kernel->module_count],
                                           images->each[kernel->module_count].bytes),
            "load a kernel");
    if (!err)
        err = find_functions(device, kernel);
    kernel->blas = bd_cuda_blas_end_of(kernel);
    if (err) {
        cuda_kernel_free(device, kernel);
        return err;
    }
    *out = kernel;
    return NULL;
}

/* The kernel from the cache if it is there, whole, and loads; else *out stays NULL. */
static bd_error *from_cache(bd_device *device, const bd_kir *program, bd_cuda_images *images,
                            bd_kernel **out)
{
    if (!bd_cuda_images_find(device, program, images))
        return NULL;
    bd_error *err = load_kernel(device, program, images, out);
    if (!err) {
        atomic_fetch_add(&device->cache_hits, 1);
        return NULL;
    }
    if (bd_error_code(err) == BD_CODE_DEVICE_LOST)
        return err; /* other images would not load either */
    bd_error_free(err);
    bd_cuda_images_free(images);
    return NULL;
}

static bd_error *compile_fresh(bd_device *device, const bd_kir *program, bd_cuda_images *images,
                               bd_kernel **out)
{
    BD_TRY(bd_cuda_images_make(device, program, images));
    BD_TRY(load_kernel(device, program, images, out));
    atomic_fetch_add(&device->compiles, 1);
    bd_cuda_images_keep(device, program, images);
    return NULL;
}

/* Libraries of 100 and more MB each, which take long from disk. */
static bool cuda_prepare(bd_device *device)
{
    int part = atomic_fetch_add(&device->prepared, 1);
    if (part == 0)
        bd_cuda_images_prepare(device);
    else if (part == 1)
        (void)bd_cuda_open_blas(NULL);
    return part < 1;
}

static bd_error *cuda_compile(bd_device *device, const bd_kir *program, bd_kernel **out)
{
    bd_cuda_images images;
    bd_kernel *kernel = NULL;
    bd_error *err = from_cache(device, program, &images, &kernel);
    if (!kernel && !err)
        err = compile_fresh(device, program, &images, &kernel);
    if (!err) {
        atomic_fetch_add(&device->code_bytes, bd_cuda_images_bytes(&images));
        *out = kernel;
    }
    bd_cuda_images_free(&images);
    return err;
}

static size_t cuda_size(bd_device *device, const bd_kernel *kernel, const int64_t *ints,
                        bd_arena *arena, const bd_sized **out)
{
    (void)arena;
    *out = NULL;
    bd_cuda_grid grid = bd_cuda_grid_of(kernel, ints, device->processors);
    size_t bytes = 0;
    enter(device);
    if (grid.convolves)
        bytes = bd_cuda_dnn_scratch(device, &grid.dnn);
    return bytes > grid.scratch_bytes ? bytes : grid.scratch_bytes;
}

static const bd_device_ops OPS = {
    .close = cuda_close,
    .describe = cuda_describe,
    .counters = cuda_counters,
    .alloc = cuda_alloc,
    .free = cuda_free,
    .host_alloc = cuda_host_alloc,
    .host_free = cuda_host_free,
    .copy_in = cuda_copy_in,
    .copy_out = cuda_copy_out,
    .clear = cuda_clear,
    .reopen = cuda_reopen,
    .prepare = cuda_prepare,
    .compile = cuda_compile,
    .lent_ns = bd_cuda_crew_lent_ns,
    .kernel_free = cuda_kernel_free,
    .spares_reads = true,
    .size = cuda_size,
    .submit = bd_cuda_submit,
};

const bd_driver bd_cuda_driver = {
    .name = "cuda",
    .probe = cuda_probe,
    .open = cuda_open,
    .ops = &OPS,
};
