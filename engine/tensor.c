/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/tensor.h"

#include <assert.h>
#include <sys/random.h>

#include "engine/history.h"
#include "proto/base/alloc.h"
#include "proto/base/assert.h"
#include "proto/base/clock.h"
#include "proto/base/hash.h"

static_assert((BD_TENSOR_RUN & (BD_TENSOR_RUN - 1)) == 0, "ids are split by shifts");

void bd_tensors_init(bd_tensors *tensors)
{
    *tensors = (bd_tensors){0};
    if (getrandom(&tensors->secret, sizeof tensors->secret, GRND_NONBLOCK) < 0)
        tensors->secret = (uint64_t)bd_now_us();
}

/* The client chooses ids, but not which of them collide. One-to-one. */
static uint64_t key_of(const bd_tensors *tensors, uint64_t number)
{
    return bd_hash_mix(tensors->secret, number);
}

static void drop(bd_tensor *tensor)
{
    if (tensor->state == BD_TENSOR_POISON) {
        bd_error_free(tensor->error);
    } else if (tensor->state == BD_TENSOR_STORED) {
        bd_buffer_release(tensor->stored->buffer);
        bd_history_release(tensor->stored->history);
        bd_free(tensor->stored);
    }
    tensor->stored = NULL;
    tensor->state = BD_TENSOR_NONE;
}

void bd_tensors_deinit(bd_tensors *tensors)
{
    uint64_t number;
    void *value;
    for (size_t cursor = 0; bd_map_next(&tensors->runs, &cursor, &number, &value);) {
        bd_tensor_run *run = value;
        for (int i = 0; i < BD_TENSOR_RUN; i++)
            drop(&run->tensors[i]);
        bd_free(run);
    }
    bd_map_deinit(&tensors->runs);
    while (tensors->unused) {
        bd_tensor_run *next = tensors->unused->next;
        bd_free(tensors->unused);
        tensors->unused = next;
    }
    *tensors = (bd_tensors){0};
}

static bd_tensor_run *find_run(bd_tensors *tensors, uint64_t number)
{
    bd_tensor_run **near = &tensors->near[number % BD_TENSOR_RUNS_NEAR];
    if (!*near || (*near)->number != number)
        *near = bd_map_get(&tensors->runs, key_of(tensors, number));
    return *near;
}

bd_tensor *bd_tensors_find(bd_tensors *tensors, uint64_t id)
{
    bd_tensor_run *run = find_run(tensors, id / BD_TENSOR_RUN);
    bd_tensor *tensor = run ? &run->tensors[id % BD_TENSOR_RUN] : NULL;
    return tensor && tensor->state != BD_TENSOR_NONE ? tensor : NULL;
}

static void retire_run(bd_tensors *tensors, bd_tensor_run *run)
{
    bd_map_remove(&tensors->runs, key_of(tensors, run->number));
    bd_tensor_run **near = &tensors->near[run->number % BD_TENSOR_RUNS_NEAR];
    if (*near == run)
        *near = NULL;
    run->next = tensors->unused;
    tensors->unused = run;
}

static bd_tensor_run *add_run(bd_tensors *tensors, uint64_t number)
{
    bd_tensor_run *before = tensors->newest;
    bd_tensor_run *run = tensors->unused;
    if (run)
        tensors->unused = run->next;
    else
        run = bd_alloc_zeroed(sizeof *run);
    run->number = number;
    run->live = 0;
    tensors->newest = run;
    bd_map_put(&tensors->runs, key_of(tensors, number), run);
    if (before && !before->live)
        retire_run(tensors, before);
    return run;
}

bd_tensor *bd_tensors_add(bd_tensors *tensors, uint64_t id)
{
    bd_tensor_run *run = find_run(tensors, id / BD_TENSOR_RUN);
    if (!run)
        run = add_run(tensors, id / BD_TENSOR_RUN);
    bd_tensor *tensor = &run->tensors[id % BD_TENSOR_RUN];
    BD_DASSERT(tensor->state == BD_TENSOR_NONE);
    tensor->epoch = 0;
    tensor->value = 0;
    run->live++;
    tensors->live++;
    return tensor;
}

void bd_tensors_free(bd_tensors *tensors, uint64_t id)
{
    bd_tensor_run *run = find_run(tensors, id / BD_TENSOR_RUN);
    drop(&run->tensors[id % BD_TENSOR_RUN]);
    tensors->live--;
    if (--run->live == 0 && run != tensors->newest)
        retire_run(tensors, run);
}

void bd_tensor_poison(bd_tensor *tensor, bd_error *error)
{
    bd_error *kept = bd_error_retain(error); /* what is dropped may hold the last reference */
    drop(tensor);
    tensor->state = BD_TENSOR_POISON;
    tensor->error = kept;
}

void bd_tensor_store(bd_tensor *tensor, const burn_tensor_type *type, bd_buffer *own_buffer,
                     uint64_t identity)
{
    bd_stored *stored = bd_alloc(sizeof *stored);
    bd_type_copy(&stored->type, type);
    stored->buffer = own_buffer;
    stored->history = NULL;
    stored->history_node = 0;
    stored->tensor = identity;
    tensor->stored = stored;
    tensor->state = BD_TENSOR_STORED;
    tensor->epoch = 0;
}
