/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/dtype.h"

#include <string.h>

typedef struct dtype_row {
    const char *name;
    size_t size_bytes;
    burn_dtype_kind kind;
} dtype_row;

static const dtype_row rows[BURN_DTYPE_END] = {
    [BURN_DTYPE_NONE] = {"none", 0, BURN_KIND_BOOL},
#define DTYPE(name, number, text, ctype, size, kind, numpy)                                        \
    [number] = {text, size, BURN_KIND_##kind},
#include "proto/dtypes.def"
};

static burn_dtype promote_or_other(burn_dtype a, burn_dtype b);
static burn_dtype combine(burn_dtype higher, burn_dtype lower);

bool burn_dtype_valid(int number)
{
    return number > BURN_DTYPE_NONE && number < BURN_DTYPE_END;
}

const char *burn_dtype_name(burn_dtype dtype)
{
    return rows[dtype].name;
}

size_t burn_dtype_size(burn_dtype dtype)
{
    return rows[dtype].size_bytes;
}

burn_dtype_kind burn_dtype_kind_of(burn_dtype dtype)
{
    return rows[dtype].kind;
}

bool burn_dtype_is_float(burn_dtype dtype)
{
    return rows[dtype].kind == BURN_KIND_FLOAT;
}

bool burn_dtype_is_integer(burn_dtype dtype)
{
    return rows[dtype].kind == BURN_KIND_SIGNED || rows[dtype].kind == BURN_KIND_UNSIGNED;
}

burn_dtype burn_dtype_parse(const char *name)
{
    for (int number = 1; number < BURN_DTYPE_END; number++)
        if (strcmp(rows[number].name, name) == 0)
            return (burn_dtype)number;
    return BURN_DTYPE_NONE;
}

void burn_promotion_add(burn_promotion *promotion, burn_dtype dtype, int rank, bool weak_scalar)
{
    burn_dtype *category = weak_scalar ? &promotion->scalar_dtype
                           : rank > 0  ? &promotion->dims_dtype
                                       : &promotion->zero_dim_dtype;
    *category = promote_or_other(*category, dtype);
}

burn_dtype burn_promotion_result(const burn_promotion *promotion)
{
    return combine(promotion->dims_dtype,
                   combine(promotion->zero_dim_dtype, promotion->scalar_dtype));
}

/* torch.promote_types; where PyTorch refuses (unsigned types above 8 bits with other integers), the
 * least type that holds both, and float64 where no integer type does, as NumPy has it. */
burn_dtype burn_dtype_promote(burn_dtype a, burn_dtype b)
{
    if (a == b)
        return a;
    burn_dtype_kind a_kind = rows[a].kind, b_kind = rows[b].kind;
    if (a_kind == BURN_KIND_FLOAT || b_kind == BURN_KIND_FLOAT) {
        if (a_kind != b_kind)
            return a_kind == BURN_KIND_FLOAT ? a : b;
        if (rows[a].size_bytes == rows[b].size_bytes)
            return BURN_F32; /* float16 with bfloat16 */
        return rows[a].size_bytes > rows[b].size_bytes ? a : b;
    }
    if (a_kind == BURN_KIND_BOOL || b_kind == BURN_KIND_BOOL)
        return a_kind == BURN_KIND_BOOL ? b : a;
    if (a_kind == b_kind)
        return rows[a].size_bytes > rows[b].size_bytes ? a : b;
    burn_dtype is_signed = a_kind == BURN_KIND_SIGNED ? a : b;
    size_t unsigned_bytes = a_kind == BURN_KIND_SIGNED ? rows[b].size_bytes : rows[a].size_bytes;
    if (rows[is_signed].size_bytes > unsigned_bytes)
        return is_signed;
    switch (unsigned_bytes) {
    case 1:
        return BURN_I16;
    case 2:
        return BURN_I32;
    case 4:
        return BURN_I64;
    default:
        return BURN_F64;
    }
}

/* NONE stands for "no such operand". */
static burn_dtype promote_or_other(burn_dtype a, burn_dtype b)
{
    if (a == BURN_DTYPE_NONE || b == BURN_DTYPE_NONE)
        return a == BURN_DTYPE_NONE ? b : a;
    return burn_dtype_promote(a, b);
}

/* A lower category only decides the kind: bool < integer < float. Source: combine_categories in
 * PyTorch's aten/src/ATen/native/TypeProperties.cpp. */
static burn_dtype combine(burn_dtype higher, burn_dtype lower)
{
    if (burn_dtype_is_float(higher))
        return higher;
    if (higher == BURN_BOOL || burn_dtype_is_float(lower))
        return promote_or_other(higher, lower);
    return higher != BURN_DTYPE_NONE ? higher : lower;
}
