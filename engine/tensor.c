/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/tensor.h"

#include <string.h>
#include <sys/random.h>

#include "engine/history.h"
#include "proto/base/alloc.h"
#include "proto/base/assert.h"
#include "proto/base/clock.h"
#include "proto/base/hash.h"

enum { PLACES_MIN = 1024, RUN_BITS = 6 };

void bd_tensors_init(bd_tensors *tensors)
{
    *tensors = (bd_tensors){0};
    if (getrandom(&tensors->secret, sizeof tensors->secret, GRND_NONBLOCK) < 0)
        tensors->secret = (uint64_t)bd_now_us();
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
}

void bd_tensors_deinit(bd_tensors *tensors)
{
    for (uint64_t i = 0; tensors->places && i <= tensors->mask; i++)
        drop(&tensors->places[i]);
    bd_free(tensors->places);
    *tensors = (bd_tensors){0};
}

/* Runs of consecutive ids lie side by side; where a run begins is not for the client to choose. */
static uint64_t home(const bd_tensors *tensors, uint64_t id)
{
    uint64_t run = bd_hash_mix(tensors->secret, id >> RUN_BITS);
    return (run << RUN_BITS | (id & ((1u << RUN_BITS) - 1))) & tensors->mask;
}

bd_tensor *bd_tensors_find(const bd_tensors *tensors, uint64_t id)
{
    if (!tensors->places || id == 0)
        return NULL;
    for (uint64_t i = home(tensors, id);; i = (i + 1) & tensors->mask) {
        bd_tensor *tensor = &tensors->places[i];
        if (tensor->id == id)
            return tensor->state == BD_TENSOR_FREED ? NULL : tensor;
        if (tensor->state == BD_TENSOR_NONE)
            return NULL;
    }
}

static bd_tensor *place(const bd_tensors *tensors, uint64_t id)
{
    uint64_t i = home(tensors, id);
    while (tensors->places[i].state != BD_TENSOR_NONE)
        i = (i + 1) & tensors->mask;
    return &tensors->places[i];
}

/* Makes room for one more: freed places are swept out, and the table grows if it must. */
static void rehash(bd_tensors *tensors)
{
    bd_tensor *old = tensors->places;
    uint64_t old_count = old ? tensors->mask + 1 : 0;
    uint64_t count = PLACES_MIN;
    while (count < (tensors->live + 1) * 4)
        count *= 2;
    tensors->places = bd_alloc_zeroed(count * sizeof *tensors->places);
    tensors->mask = count - 1;
    tensors->used = tensors->live;
    for (uint64_t i = 0; i < old_count; i++)
        if (old[i].state > BD_TENSOR_FREED)
            *place(tensors, old[i].id) = old[i];
    bd_free(old);
}

bd_tensor *bd_tensors_add(bd_tensors *tensors, uint64_t id)
{
    BD_DASSERT(!bd_tensors_find(tensors, id));
    if (!tensors->places || (tensors->used + 1) * 4 > (tensors->mask + 1) * 3)
        rehash(tensors);
    bd_tensor *tensor = place(tensors, id);
    tensor->id = id;
    tensor->state = BD_TENSOR_FREED; /* until the caller says otherwise */
    tensor->epoch = 0;
    tensor->value = 0;
    tensors->used++;
    tensors->live++;
    return tensor;
}

void bd_tensors_free(bd_tensors *tensors, bd_tensor *tensor)
{
    drop(tensor);
    tensor->state = BD_TENSOR_FREED;
    tensors->live--;
}

void bd_tensor_poison(bd_tensor *tensor, bd_error *error)
{
    drop(tensor);
    tensor->state = BD_TENSOR_POISON;
    tensor->error = bd_error_retain(error);
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
