/* SPDX-License-Identifier: Apache-2.0
 * The tensors of one session by id. Ids strictly increase and are never reused; a freed id is
 * forgotten. Thread: device.
 * Invariant: a tensor is a value of the session's current trace, or a buffer with its type, or the
 * error that poisoned it. */
#pragma once

#include <stdint.h>

#include "engine/memory.h"
#include "proto/base/map.h"
#include "proto/ops.h"

typedef struct bd_history bd_history;

typedef enum bd_tensor_state {
    BD_TENSOR_NONE,   /* unknown or freed */
    BD_TENSOR_VALUE,  /* value: of the current trace */
    BD_TENSOR_STORED, /* stored */
    BD_TENSOR_POISON, /* error */
} bd_tensor_state;

/* A tensor that has memory. */
typedef struct bd_stored {
    burn_tensor_type type;
    bd_buffer *buffer;   /* retained */
    bd_history *history; /* retained; NULL: a leaf */
    uint32_t history_node;
    uint64_t tensor; /* identity within the engine */
} bd_stored;

typedef struct bd_tensor {
    uint8_t state;
    uint32_t value; /* VALUE: number in the trace; STORED: slot + 1 in the trace numbered `epoch` */
    uint64_t epoch;
    union {
        bd_stored *stored;
        bd_error *error; /* retained */
    };
} bd_tensor;

enum { BD_TENSOR_RUN = 32, BD_TENSOR_RUNS_NEAR = 16 };

/* Tensors of consecutive ids. */
typedef struct bd_tensor_run {
    uint64_t number; /* id / BD_TENSOR_RUN */
    uint32_t live;
    struct bd_tensor_run *next; /* unused ones */
    bd_tensor tensors[BD_TENSOR_RUN];
} bd_tensor_run;

typedef struct bd_tensors {
    bd_map runs; /* those with live tensors, and the newest */
    bd_tensor_run *newest;
    bd_tensor_run *near[BD_TENSOR_RUNS_NEAR]; /* found lately, by the low bits of the number */
    bd_tensor_run *unused;
    uint64_t live;
    uint64_t secret;
} bd_tensors;

void bd_tensors_init(bd_tensors *tensors);
/* Releases what the tensors hold. */
void bd_tensors_deinit(bd_tensors *tensors);
/* NULL if the id is unknown or freed. Valid until the tensor is freed. */
bd_tensor *bd_tensors_find(bd_tensors *tensors, uint64_t id);
/* A place for an id that was never used; the caller fills in state and what it holds. */
bd_tensor *bd_tensors_add(bd_tensors *tensors, uint64_t id);
/* Releases what it holds and forgets the id. */
void bd_tensors_free(bd_tensors *tensors, uint64_t id);
/* Gives a tensor memory with its contents; a leaf. Consumes the caller's reference to the buffer.
 */
void bd_tensor_store(bd_tensor *tensor, const burn_tensor_type *type, bd_buffer *own_buffer,
                     uint64_t identity);
/* Drops what it holds and makes it poison. */
void bd_tensor_poison(bd_tensor *tensor, bd_error *error);

/* Copies dtype, rank and the dims in use. */
static inline void bd_type_copy(burn_tensor_type *to, const burn_tensor_type *from)
{
    to->dtype = from->dtype;
    to->shape.rank = from->shape.rank;
    for (int32_t i = 0; i < from->shape.rank; i++)
        to->shape.dims[i] = from->shape.dims[i];
}
