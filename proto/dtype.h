/* SPDX-License-Identifier: Apache-2.0
 * Element types: numbers, sizes, names, promotion. Pure functions; thread: any. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum burn_dtype {
    BURN_DTYPE_NONE = 0,
#define DTYPE(name, number, text, ctype, size, kind, numpy) BURN_##name = number,
#include "proto/dtypes.def"
    BURN_DTYPE_END = 14
} burn_dtype;

typedef enum burn_dtype_kind {
    BURN_KIND_BOOL,
    BURN_KIND_UNSIGNED,
    BURN_KIND_SIGNED,
    BURN_KIND_FLOAT
} burn_dtype_kind;

bool burn_dtype_valid(int number);
const char *burn_dtype_name(burn_dtype dtype); /* "float32"; "none" for BURN_DTYPE_NONE */
size_t burn_dtype_size(burn_dtype dtype);      /* bytes */
burn_dtype_kind burn_dtype_kind_of(burn_dtype dtype);
bool burn_dtype_is_float(burn_dtype dtype);
bool burn_dtype_is_integer(burn_dtype dtype); /* not bool */
burn_dtype burn_dtype_parse(const char *name); /* NONE if unknown */

/* One operand as promotion sees it: PyTorch's three priorities (tensors with dims, 0-d tensors,
 * Python scalars). Source: torch.result_type. */
typedef struct burn_promotion {
    burn_dtype dims_dtype, zero_dim_dtype, scalar_dtype; /* NONE when no such operand was seen */
} burn_promotion;
void burn_promotion_add(burn_promotion *promotion, burn_dtype dtype, int rank, bool weak_scalar);
burn_dtype burn_promotion_result(const burn_promotion *promotion);
/* The least type that holds both (torch.promote_types). */
burn_dtype burn_dtype_promote(burn_dtype a, burn_dtype b);
