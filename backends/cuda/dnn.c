/* SPDX-License-Identifier: Apache-2.0
 * Plans of cuDNN: an engine is chosen once for each form and kept. Only those that give the same
 * bits each time; without TF32, none that rounds or transforms what it multiplies. */
#include "backends/cuda/dnn.h"

#include <pthread.h>
#include <string.h>

#include "backends/cuda/device.h"
#include "proto/base/alloc.h"
#include "proto/base/hash.h"
#include "proto/base/log.h"
#include "proto/base/map.h"

enum { PLANS_MOST = 4096, CONFIGS_MOST = 16, NOTES_MOST = 16, PARTS_MOST = 8, ALIGNMENT = 256 };
static const int64_t WORKSPACE_MOST = (int64_t)1 << 30;
/* Values of cudnnDataType_t, cudnnConvolutionMode_t, cudnnBackendHeurMode_t and
 * cudnnBackendNumericalNote_t, */
enum { D_FLOAT = 0, D_HALF = 2, D_BFLOAT16 = 9, CROSS_CORRELATION = 1 };
enum { HEURISTIC_FALLBACK = 2, HEURISTIC_A = 3 };
enum { TENSOR_CORE = 0, DOWN_CONVERT, REDUCED_SUMS, FFT, NONDETERMINISTIC, WINOGRAD };
/* cudnnBackendAttributeType_t, */
enum { HANDLE = 0, DATA_TYPE = 1, INT64 = 3, FLOAT = 4, POINTER = 6, MODE = 7, HEURISTIC = 8,
       NOTE = 11, DESCRIPTOR = 15 };
/* cudnnBackendDescriptorType_t, */
enum { CONVOLUTION = 1, ENGINE = 2, CONFIG = 3, ENGINES = 4, PLAN = 5, FORWARD_OP = 10,
       FILTER_OP = 11, DATA_OP = 12, GRAPH = 15, VARIANT_PACK = 16, TENSOR = 17 };
/* and cudnnBackendAttributeName_t. */
enum { COMPUTE_TYPE = 100, CONVOLUTION_MODE = 101, DILATIONS = 102, STEPS = 103, AFTER = 104,
       BEFORE = 105, PLACES = 106, ENGINES_MODE = 200, ENGINES_GRAPH = 201, ENGINES_RESULTS = 202,
       CONFIG_ENGINE = 300, PLAN_CONFIG = 401, PLAN_WORKSPACE = 402, GRAPH_HANDLE = 800,
       GRAPH_OPS = 801, TENSOR_ALIGNMENT = 900, TENSOR_TYPE = 901, TENSOR_DIMS = 902,
       TENSOR_STRIDES = 903, TENSOR_ID = 906, PACK_IDS = 1000, PACK_POINTERS = 1001,
       PACK_WORKSPACE = 1003, ENGINE_NOTES = 1303 };

typedef struct plan {
    bd_cuda_dnn_key key;
    void *parts[PARTS_MOST]; /* descriptors that the one that runs stands on */
    int part_count;
    void *config, *runs; /* NULL: the library has no engine */
    int64_t workspace_bytes;
} plan;

struct bd_cuda_dnn {
    pthread_mutex_t lock; /* of plans, and of the handle while one is made */
    void *handle;         /* NULL: not begun, or it does not start */
    bool refused;
    bd_map plans; /* by hash of the key */
};

/* ---- making a plan ---- */

/* Makes plans; nothing is done after the first error. */
typedef struct maker {
    const bd_cuda_symbols *cuda;
    void *handle;
    plan *made;
    bool tf32;
    int code;
} maker;

static void *begin(maker *m, int type)
{
    void *descriptor = NULL;
    if (m->code == 0)
        m->code = m->cuda->cudnnBackendCreateDescriptor(type, &descriptor);
    return descriptor;
}

static void set(maker *m, void *descriptor, int name, int type, int64_t count, const void *values)
{
    if (m->code == 0)
        m->code = m->cuda->cudnnBackendSetAttribute(descriptor, name, type, count, values);
}

static void *finish(maker *m, void *descriptor)
{
    if (m->code == 0)
        m->code = m->cuda->cudnnBackendFinalize(descriptor);
    if (descriptor)
        m->made->parts[m->made->part_count++] = descriptor;
    return descriptor;
}

static void *make_tensor(maker *m, int number)
{
    const bd_cuda_dnn_tensor *tensor = &m->made->key.each[number];
    int64_t rank = m->made->key.places + 2, id = number;
    int type = tensor->dtype == BURN_BF16  ? D_BFLOAT16
               : tensor->dtype == BURN_F16 ? D_HALF
                                           : D_FLOAT;
    void *made = begin(m, TENSOR);
    set(m, made, TENSOR_TYPE, DATA_TYPE, 1, &type);
    set(m, made, TENSOR_DIMS, INT64, rank, tensor->dims);
    set(m, made, TENSOR_STRIDES, INT64, rank, tensor->strides);
    set(m, made, TENSOR_ID, INT64, 1, &id);
    set(m, made, TENSOR_ALIGNMENT, INT64, 1, &tensor->alignment);
    return finish(m, made);
}

static void *make_convolution(maker *m)
{
    const bd_cuda_dnn_key *key = &m->made->key;
    int type = D_FLOAT, mode = CROSS_CORRELATION;
    void *made = begin(m, CONVOLUTION);
    set(m, made, COMPUTE_TYPE, DATA_TYPE, 1, &type);
    set(m, made, CONVOLUTION_MODE, MODE, 1, &mode);
    set(m, made, PLACES, INT64, 1, &key->places);
    set(m, made, BEFORE, INT64, key->places, key->before);
    set(m, made, AFTER, INT64, key->places, key->after);
    set(m, made, STEPS, INT64, key->places, key->steps);
    set(m, made, DILATIONS, INT64, key->places, key->dilations);
    return finish(m, made);
}

/* The convolution with its tensors, and the graph of nothing else. */
static void *make_graph(maker *m)
{
    /* By kind: the operation, and its attributes for x, w, y, what to do, factors. */
    static const struct {
        int type, x, w, y, convolution, alpha, beta;
    } kinds[] = {[BD_CUDA_DNN_FORWARD] = {FORWARD_OP, 704, 703, 705, 702, 700, 701},
                 [BD_CUDA_DNN_DATA] = {DATA_OP, 710, 709, 711, 708, 706, 707},
                 [BD_CUDA_DNN_FILTER] = {FILTER_OP, 716, 715, 717, 714, 712, 713}};
    int64_t kind = m->made->key.kind;
    const int names[] = {kinds[kind].x, kinds[kind].w, kinds[kind].y};
    const float one = 1, zero = 0;
    void *convolution = make_convolution(m);
    void *tensors[BD_CUDA_DNN_TENSORS];
    for (int i = 0; i < BD_CUDA_DNN_TENSORS; i++)
        tensors[i] = make_tensor(m, i);
    void *made = begin(m, kinds[kind].type);
    set(m, made, kinds[kind].convolution, DESCRIPTOR, 1, &convolution);
    for (int i = 0; i < BD_CUDA_DNN_TENSORS; i++)
        set(m, made, names[i], DESCRIPTOR, 1, &tensors[i]);
    set(m, made, kinds[kind].alpha, FLOAT, 1, &one);
    set(m, made, kinds[kind].beta, FLOAT, 1, &zero);
    made = finish(m, made);
    void *graph = begin(m, GRAPH);
    set(m, graph, GRAPH_HANDLE, HANDLE, 1, &m->handle);
    set(m, graph, GRAPH_OPS, DESCRIPTOR, 1, &made);
    return finish(m, graph);
}

static void forget(const bd_cuda_symbols *cuda, void *descriptor)
{
    if (descriptor)
        (void)cuda->cudnnBackendDestroyDescriptor(descriptor);
}

/* Whether an engine may be taken. */
static bool may_run(const maker *m, void *config)
{
    void *engine = NULL;
    int notes[NOTES_MOST] = {0};
    int64_t found = 0;
    int code = m->cuda->cudnnBackendCreateDescriptor(ENGINE, &engine);
    if (code == 0)
        code = m->cuda->cudnnBackendGetAttribute(config, CONFIG_ENGINE, DESCRIPTOR, 1, &found,
                                                 &engine);
    if (code == 0)
        code = m->cuda->cudnnBackendGetAttribute(engine, ENGINE_NOTES, NOTE, NOTES_MOST, &found,
                                                 notes);
    forget(m->cuda, engine);
    bool exact = m->made->key.each[BD_CUDA_DNN_X].dtype == BURN_F32 && !m->tf32;
    for (int64_t i = 0; i < found && code == 0; i++)
        if (notes[i] == NONDETERMINISTIC || notes[i] == REDUCED_SUMS ||
            (exact && (notes[i] == TENSOR_CORE || notes[i] == DOWN_CONVERT || notes[i] == FFT ||
                       notes[i] >= WINOGRAD)))
            return false;
    return code == 0;
}

/* The plan of an engine, if it supports what is asked for. */
static void take(maker *m, void *config)
{
    const bd_cuda_symbols *cuda = m->cuda;
    int64_t found = 0, bytes = 0;
    void *made = NULL;
    int code = cuda->cudnnBackendCreateDescriptor(PLAN, &made);
    if (code == 0)
        code = cuda->cudnnBackendSetAttribute(made, PLAN_CONFIG, DESCRIPTOR, 1, &config);
    if (code == 0)
        code = cuda->cudnnBackendFinalize(made);
    if (code == 0)
        code = cuda->cudnnBackendGetAttribute(made, PLAN_WORKSPACE, INT64, 1, &found, &bytes);
    if (code != 0 || bytes > WORKSPACE_MOST) {
        forget(cuda, made);
        return;
    }
    m->made->config = config;
    m->made->runs = made;
    m->made->workspace_bytes = bytes;
}

/* The first of what a heuristic proposes that may run and does. */
static void choose(maker *m, void *graph, int heuristic)
{
    void *configs[CONFIGS_MOST] = {NULL};
    int64_t count = 0;
    void *engines = begin(m, ENGINES);
    set(m, engines, ENGINES_GRAPH, DESCRIPTOR, 1, &graph);
    set(m, engines, ENGINES_MODE, HEURISTIC, 1, &heuristic);
    if (m->code == 0)
        m->code = m->cuda->cudnnBackendFinalize(engines);
    for (int i = 0; i < CONFIGS_MOST; i++)
        configs[i] = begin(m, CONFIG);
    if (m->code == 0)
        m->code = m->cuda->cudnnBackendGetAttribute(engines, ENGINES_RESULTS, DESCRIPTOR,
                                                    CONFIGS_MOST, &count, configs);
    for (int64_t i = 0; i < count && i < CONFIGS_MOST && m->code == 0 && !m->made->runs; i++)
        if (may_run(m, configs[i]))
            take(m, configs[i]);
    for (int i = 0; i < CONFIGS_MOST; i++)
        if (configs[i] != m->made->config)
            forget(m->cuda, configs[i]);
    forget(m->cuda, engines);
}

static plan *make_plan(const bd_device *device, const bd_cuda_dnn_key *key)
{
    plan *made = bd_alloc_zeroed(sizeof *made);
    made->key = *key;
    maker m = {.cuda = device->cuda,
               .handle = device->dnn->handle,
               .made = made,
               .tf32 = device->tf32_convolutions};
    void *graph = make_graph(&m);
    int graph_code = m.code;
    if (graph_code == 0)
        choose(&m, graph, HEURISTIC_A);
    m.code = graph_code;
    if (graph_code == 0 && !made->runs)
        choose(&m, graph, HEURISTIC_FALLBACK);
    bd_log(BD_LOG_DEBUG, "cuda", "cuDNN plan: kind %d, %s, workspace %lld", (int)key->kind,
           made->runs ? "runs" : "no engine", (long long)made->workspace_bytes);
    return made;
}

static void free_plan(const bd_cuda_symbols *cuda, plan *gone)
{
    forget(cuda, gone->runs);
    forget(cuda, gone->config);
    while (gone->part_count > 0)
        forget(cuda, gone->parts[--gone->part_count]);
    bd_free(gone);
}

static void forget_plans(bd_cuda_dnn *dnn, const bd_cuda_symbols *cuda)
{
    uint64_t hash;
    void *found;
    for (size_t cursor = 0; bd_map_next(&dnn->plans, &cursor, &hash, &found);)
        free_plan(cuda, found);
    bd_map_deinit(&dnn->plans);
    memset(&dnn->plans, 0, sizeof dnn->plans);
}

/* ---- the library on a device ---- */

void bd_cuda_dnn_open(bd_device *device)
{
    device->dnn = bd_alloc_zeroed(sizeof *device->dnn);
    pthread_mutex_init(&device->dnn->lock, NULL);
}

void bd_cuda_dnn_close(bd_device *device)
{
    bd_cuda_dnn *dnn = device->dnn;
    if (!dnn)
        return;
    forget_plans(dnn, device->cuda);
    if (dnn->handle)
        (void)device->cuda->cudnnDestroy(dnn->handle);
    pthread_mutex_destroy(&dnn->lock);
    bd_free(dnn);
    device->dnn = NULL;
}

/* False if it does not start: told once, and convolutions go without. */
static bool start(bd_device *device)
{
    bd_cuda_dnn *dnn = device->dnn;
    const bd_cuda_symbols *cuda = device->cuda;
    if (dnn->handle || dnn->refused)
        return dnn->handle != NULL;
    int code = cuda->cudnnCreate(&dnn->handle);
    if (code == 0)
        code = cuda->cudnnSetStream(dnn->handle, device->stream);
    if (code == 0)
        return true;
    bd_log(BD_LOG_WARN, "cuda", "cuDNN does not start (error %d); convolutions go without", code);
    if (dnn->handle)
        (void)cuda->cudnnDestroy(dnn->handle);
    dnn->handle = NULL;
    dnn->refused = true;
    return false;
}

static plan *find_plan(bd_device *device, const bd_cuda_dnn_key *key)
{
    bd_cuda_dnn *dnn = device->dnn;
    uint64_t hash = bd_hash_bytes(key, sizeof *key, 0);
    plan *found = bd_map_get(&dnn->plans, hash);
    if (found && memcmp(&found->key, key, sizeof *key) == 0)
        return found;
    if (dnn->plans.count == PLANS_MOST)
        forget_plans(dnn, device->cuda);
    plan *made = make_plan(device, key);
    atomic_fetch_add(&device->library_plans, 1);
    plan *other = bd_map_put(&dnn->plans, hash, made);
    if (other)
        free_plan(device->cuda, other);
    return made;
}

static size_t scratch_of(const bd_cuda_dnn_form *form, const plan *chosen)
{
    return form->scratch_bytes + (size_t)chosen->workspace_bytes + ALIGNMENT;
}

size_t bd_cuda_dnn_scratch(bd_device *device, const bd_cuda_dnn_form *form)
{
    bd_cuda_dnn *dnn = device->dnn;
    pthread_mutex_lock(&dnn->lock);
    plan *chosen = start(device) ? find_plan(device, &form->key) : NULL;
    size_t bytes = chosen && chosen->runs ? scratch_of(form, chosen) : 0;
    pthread_mutex_unlock(&dnn->lock);
    return bytes;
}

static int execute(bd_device *device, const plan *chosen, void *const *memory, void *workspace)
{
    const bd_cuda_symbols *cuda = device->cuda;
    static const int64_t ids[] = {BD_CUDA_DNN_X, BD_CUDA_DNN_W, BD_CUDA_DNN_Y};
    void *pack = NULL;
    int code = cuda->cudnnBackendCreateDescriptor(VARIANT_PACK, &pack);
    if (code == 0)
        code = cuda->cudnnBackendSetAttribute(pack, PACK_POINTERS, POINTER, BD_CUDA_DNN_TENSORS,
                                              memory);
    if (code == 0)
        code = cuda->cudnnBackendSetAttribute(pack, PACK_IDS, INT64, BD_CUDA_DNN_TENSORS, ids);
    if (code == 0)
        code = cuda->cudnnBackendSetAttribute(pack, PACK_WORKSPACE, POINTER, 1, &workspace);
    if (code == 0)
        code = cuda->cudnnBackendFinalize(pack);
    if (code == 0)
        code = cuda->cudnnBackendExecute(device->dnn->handle, chosen->runs, pack);
    forget(cuda, pack);
    return code;
}

bool bd_cuda_dnn_run(bd_device *device, const bd_cuda_dnn_form *form, void *const *buffers,
                     void *scratch)
{
    bd_cuda_dnn *dnn = device->dnn;
    void *memory[BD_CUDA_DNN_TENSORS];
    for (int i = 0; i < BD_CUDA_DNN_TENSORS; i++)
        memory[i] = bd_cuda_blas_memory(&form->at[i], buffers, scratch,
                                        burn_dtype_size((burn_dtype)form->key.each[i].dtype));
    uintptr_t end = (uintptr_t)scratch + form->scratch_bytes;
    void *workspace = (void *)((end + ALIGNMENT - 1) & ~(uintptr_t)(ALIGNMENT - 1));
    pthread_mutex_lock(&dnn->lock);
    plan *chosen = start(device) ? find_plan(device, &form->key) : NULL;
    int code = -1;
    if (chosen && chosen->runs) {
        code = execute(device, chosen, memory, workspace);
        if (code != 0) {
            bd_log(BD_LOG_WARN, "cuda", "cuDNN refuses a convolution (error %d)", code);
            forget(device->cuda, chosen->runs);
            chosen->runs = NULL;
        }
    }
    pthread_mutex_unlock(&dnn->lock);
    return code == 0;
}
