/* SPDX-License-Identifier: Apache-2.0
 * Submissions that come again, the same to the last argument, as CUDA graphs: captured when they
 * come for the third time, then one call. */
#include "backends/cuda/graph.h"

#include <string.h>

#include "backends/cuda/device.h"
#include "backends/cuda/kernel.h"
#include "proto/base/alloc.h"
#include "proto/base/hash.h"
#include "proto/base/log.h"
#include "proto/base/map.h"

enum {
    LAUNCHES_LEAST = 4, /* fewer gain nothing */
    /* Where a launch lasts so long, the next ones are made behind it; a graph of hundreds begins
     * milliseconds late. */
    HIDDEN_NS = 25000,
    ARRIVALS = 3,
    GRAPHS_MOST = 64,
    KNOWN_MOST = 4096, /* submissions counted */
    TABLE_ROOM = 34,   /* words beside a table's arguments, at most */
    RELAXED = 2,       /* CUstreamCaptureMode: other threads may allocate and load meanwhile */
};

/* All that a graph of a submission holds, one after another. */
typedef struct trait {
    int64_t *words;
    size_t count, room;
} trait;

typedef struct known {
    int arrivals;
    bool refused;
    void *graph;     /* CUgraphExec; NULL: not yet */
    uint64_t tables; /* arguments that its kernels read there, on the GPU */
    trait of;        /* of the graph */
} known;

struct bd_cuda_graphs {
    bd_map by_hash; /* of traits: those counted, and those with a graph */
    int graphs;
    trait now; /* of the submission at hand, and the most bytes that its tables take */
    size_t table_bytes;
};

static void add(trait *t, const void *words, size_t count)
{
    if (t->count + count > t->room) {
        t->room = (t->count + count) * 2;
        t->words = bd_realloc(t->words, t->room * sizeof *t->words);
    }
    memcpy(t->words + t->count, words, count * sizeof *t->words);
    t->count += count;
}

static void add_block(trait *t, const bd_kir *program, const bd_block *block)
{
    add(t, block->ints, program->int_count);
    add(t, block->buffers, program->buffer_count);
    if (program->scalar_count)
        add(t, block->scalars, program->scalar_count);
}

static void describe(bd_cuda_graphs *graphs, const bd_submission *submission,
                     const bd_fault *faults)
{
    trait *t = &graphs->now;
    t->count = graphs->table_bytes = 0;
    const int64_t end = (int64_t)(uintptr_t)faults;
    add(t, &end, 1);
    for (uint32_t i = 0; i < submission->launch_count; i++) {
        const bd_launch *launch = &submission->launches[i];
        const int64_t head[] = {(int64_t)(uintptr_t)launch->kernel, launch->block_count,
                                (int64_t)(uintptr_t)launch->scratch};
        add(t, head, 3);
        for (uint32_t k = 0; k < launch->block_count; k++)
            add_block(t, launch->kernel->program, &launch->blocks[k]);
        if (!launch->kernel->by_value || launch->block_count > 1)
            graphs->table_bytes +=
                launch->block_count * ((size_t)launch->kernel->words + 2 + TABLE_ROOM) * 8;
    }
}

static void forget_all(bd_device *device)
{
    bd_cuda_graphs *graphs = device->graphs;
    uint64_t hash;
    void *found;
    if (graphs->graphs > 0)
        (void)device->cuda->cuStreamSynchronize(device->stream);
    for (size_t cursor = 0; bd_map_next(&graphs->by_hash, &cursor, &hash, &found);) {
        known *gone = found;
        if (gone->graph)
            (void)device->cuda->cuGraphExecDestroy(gone->graph);
        if (gone->tables)
            (void)device->cuda->cuMemFree(gone->tables);
        bd_free(gone->of.words);
        bd_free(gone);
    }
    bd_map_deinit(&graphs->by_hash);
    memset(&graphs->by_hash, 0, sizeof graphs->by_hash);
    graphs->graphs = 0;
}

void bd_cuda_graphs_close(bd_device *device)
{
    if (!device->graphs)
        return;
    forget_all(device);
    bd_free(device->graphs->now.words);
    bd_free(device->graphs);
    device->graphs = NULL;
}

/* What is known of the submission at hand; NULL: it has a graph of its own that is not this one. */
static known *find(bd_cuda_graphs *graphs)
{
    const trait *now = &graphs->now;
    uint64_t hash = bd_hash_bytes(now->words, now->count * sizeof *now->words, 0);
    known *found = bd_map_get(&graphs->by_hash, hash);
    if (!found) {
        found = bd_alloc_zeroed(sizeof *found);
        bd_map_put(&graphs->by_hash, hash, found);
    }
    bool same = found->graph && found->of.count == now->count &&
                memcmp(found->of.words, now->words, now->count * sizeof *now->words) == 0;
    return same || !found->graph ? found : NULL;
}

bd_cuda_graph_step bd_cuda_graph_begin(bd_device *device, const bd_submission *submission,
                                       const bd_fault *faults, int64_t lasted_ns)
{
    if (submission->launch_count < LAUNCHES_LEAST ||
        lasted_ns > (int64_t)submission->launch_count * HIDDEN_NS)
        return BD_CUDA_GRAPH_NONE;
    if (!device->graphs)
        device->graphs = bd_alloc_zeroed(sizeof *device->graphs);
    bd_cuda_graphs *graphs = device->graphs;
    if (atomic_exchange(&device->graphs_stale, false) || graphs->graphs == GRAPHS_MOST ||
        graphs->by_hash.count >= KNOWN_MOST)
        forget_all(device);
    describe(graphs, submission, faults);
    known *here = find(graphs);
    if (!here || here->refused)
        return BD_CUDA_GRAPH_NONE;
    if (here->graph) {
        if (device->cuda->cuGraphLaunch(here->graph, device->stream) == 0)
            return BD_CUDA_GRAPH_RUNS;
        here->refused = true;
        return BD_CUDA_GRAPH_NONE;
    }
    if (++here->arrivals < ARRIVALS)
        return BD_CUDA_GRAPH_NONE;
    size_t bytes = graphs->table_bytes;
    here->refused = (bytes > 0 && device->cuda->cuMemAlloc(&here->tables, bytes) != 0) ||
                    device->cuda->cuStreamBeginCapture(device->stream, RELAXED) != 0;
    if (here->refused)
        return BD_CUDA_GRAPH_NONE;
    device->tables.host = bd_alloc(bytes + 1);
    device->tables.device = here->tables;
    device->tables.at = 0;
    return BD_CUDA_GRAPH_CAPTURES;
}

/* The arguments that the captured launches read, to the GPU. */
static int send_tables(bd_device *device)
{
    const bd_cuda_symbols *cuda = device->cuda;
    int code = 0;
    if (device->tables.at > 0)
        code = cuda->cuMemcpyHtoDAsync(device->tables.device, device->tables.host,
                                       device->tables.at, device->out_stream);
    if (code == 0 && device->tables.at > 0)
        code = cuda->cuStreamSynchronize(device->out_stream);
    bd_free(device->tables.host);
    device->tables.host = NULL;
    return code;
}

bool bd_cuda_graph_end(bd_device *device, bool whole)
{
    const bd_cuda_symbols *cuda = device->cuda;
    bd_cuda_graphs *graphs = device->graphs;
    known *here = find(graphs);
    void *graph = NULL;
    int code = cuda->cuStreamEndCapture(device->stream, &graph);
    int sent = send_tables(device);
    code = code ? code : sent;
    if (code == 0 && whole)
        code = cuda->cuGraphInstantiateWithFlags(&here->graph, graph, 0);
    if (graph)
        (void)cuda->cuGraphDestroy(graph);
    if (code == 0 && whole)
        code = cuda->cuGraphLaunch(here->graph, device->stream);
    if (code == 0 && whole) {
        add(&here->of, graphs->now.words, graphs->now.count);
        graphs->graphs++;
        return true;
    }
    if (here->graph)
        (void)cuda->cuGraphExecDestroy(here->graph);
    here->graph = NULL;
    here->refused = true;
    bd_log(BD_LOG_WARN, "cuda",
           "a submission has no graph (CUDA error %d); its launches go one by one", code);
    return false;
}
