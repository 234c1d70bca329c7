/* SPDX-License-Identifier: Apache-2.0
 * Signatures of programs: what a published program takes and gives. On the wire an array
 * [inputs, outputs, random], then one array an input, then one [dtype, [dim, …]] an output.
 * Pure functions; thread: any. */
#pragma once

#include <stdint.h>

#include "proto/base/error.h"
#include "proto/ops.h"
#include "proto/pack.h"

typedef enum bd_signature_kind {
    BD_SIGNATURE_ARGUMENT, /* [0, dtype, [dim, …]]: the caller's tensor */
    BD_SIGNATURE_BOUND,    /* [1, id]: a value that belongs to the program; EXPORT_PROGRAM only */
    BD_SIGNATURE_SEED,     /* [2]: the seed of the caller's random numbers */
    BD_SIGNATURE_OFFSET,   /* [3, offset]: how many of them come before */
} bd_signature_kind;

typedef struct bd_signature_input {
    bd_signature_kind kind;
    burn_tensor_type type; /* ARGUMENT */
    uint64_t number;       /* BOUND: the id; OFFSET: the offset */
} bd_signature_input;

typedef struct bd_signature_head {
    uint32_t inputs, outputs;
    uint64_t random; /* numbers that a call uses up */
} bd_signature_head;

void bd_signature_pack_head(bd_pack *pack, const bd_signature_head *head);
void bd_signature_pack_input(bd_pack *pack, const bd_signature_input *input);
void bd_signature_pack_output(bd_pack *pack, const burn_tensor_type *type);
bd_error *bd_signature_unpack_head(bd_unpack *unpack, bd_signature_head *out) BD_MUST_USE;
bd_error *bd_signature_unpack_input(bd_unpack *unpack, bd_signature_input *out) BD_MUST_USE;
bd_error *bd_signature_unpack_output(bd_unpack *unpack, burn_tensor_type *out) BD_MUST_USE;

/* dtype, [dim, …]: two elements of the array that the caller has begun. */
void bd_signature_pack_type(bd_pack *pack, const burn_tensor_type *type);
bd_error *bd_signature_unpack_type(bd_unpack *unpack, burn_tensor_type *out) BD_MUST_USE;
