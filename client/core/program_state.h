/* SPDX-License-Identifier: Apache-2.0
 * The body of bd_program, for the files of client/core only. */
#pragma once

#include "client/core/recording.h"
#include "client/core/tensor_state.h"
#include "proto/base/vec.h"

/* An input that is a number: the seed, or the offset of a random op relative to the call's. */
typedef struct bd_number_input {
    uint64_t id;
    bool is_seed;
    uint64_t offset;
} bd_number_input;

/* What a call does to a tensor from outside. */
typedef struct bd_effect {
    burn_tensor *tensor; /* retained */
    bool is_grad;
    bool clears; /* the gradient becomes none, no output belongs to it */
} bd_effect;

typedef struct bd_capture {
    burn_tensor *tensor; /* retained */
    uint64_t id;
} bd_capture;

struct bd_program {
    bd_session *session;
    uint64_t number;
    uint32_t argument_count, output_count;
    burn_tensor_type *argument_types;
    uint32_t input_count;
    BD_VEC(bd_capture) captures; /* their present values are passed */
    BD_VEC(bd_number_input) numbers;
    uint64_t random_count; /* numbers that a call uses up */
    BD_VEC(bd_effect) effects;
    BD_VEC(burn_tensor_type) types; /* of all outputs: the user's, then those of effects */
};

/* The value that a call passes: that of a storage's base if there is one. */
bd_error *bd_program_capture(burn_tensor *tensor, bd_value **out_value) BD_MUST_USE;
