/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "backends/ref/half.h"
#include "backends/ref/interp.h"

bd_ref_class bd_ref_class_of(burn_dtype dtype)
{
    if (dtype == BURN_F64)
        return BD_REF_DOUBLE;
    return burn_dtype_is_float(dtype) ? BD_REF_FLOAT : BD_REF_INT;
}

static int64_t wrapped(int64_t value, burn_dtype dtype)
{
    switch ((int)dtype) {
    case BURN_I32:
        return (int32_t)(uint32_t)value;
    case BURN_I16:
        return (int16_t)(uint16_t)value;
    case BURN_I8:
        return (int8_t)(uint8_t)value;
    case BURN_U32:
        return (uint32_t)value;
    case BURN_U16:
        return (uint16_t)value;
    case BURN_U8:
        return (uint8_t)value;
    case BURN_BOOL:
        return value & 1;
    }
    return value;
}

void bd_ref_round(bd_ref_cells cells, burn_dtype dtype, int count)
{
    if (dtype == BURN_F16)
        for (int i = 0; i < count; i++)
            cells.f[i] = bd_f16_to_float(bd_f16_from_float(cells.f[i]));
    else if (dtype == BURN_BF16)
        for (int i = 0; i < count; i++)
            cells.f[i] = bd_bf16_to_float(bd_bf16_from_float(cells.f[i]));
    else if (bd_ref_class_of(dtype) == BD_REF_INT && burn_dtype_size(dtype) < 8)
        for (int i = 0; i < count; i++)
            cells.i[i] = wrapped(cells.i[i], dtype);
}

void bd_ref_load(const void *buffer, burn_dtype dtype, int64_t at, bd_ref_cells cells, int cell)
{
    switch (dtype) {
    case BURN_F64:
        cells.d[cell] = ((const double *)buffer)[at];
        break;
    case BURN_F32:
        cells.f[cell] = ((const float *)buffer)[at];
        break;
    case BURN_F16:
        cells.f[cell] = bd_f16_to_float(((const uint16_t *)buffer)[at]);
        break;
    case BURN_BF16:
        cells.f[cell] = bd_bf16_to_float(((const uint16_t *)buffer)[at]);
        break;
    case BURN_I64:
    case BURN_U64:
        cells.i[cell] = ((const int64_t *)buffer)[at];
        break;
    case BURN_I32:
        cells.i[cell] = ((const int32_t *)buffer)[at];
        break;
    case BURN_I16:
        cells.i[cell] = ((const int16_t *)buffer)[at];
        break;
    case BURN_I8:
        cells.i[cell] = ((const int8_t *)buffer)[at];
        break;
    case BURN_U32:
        cells.i[cell] = ((const uint32_t *)buffer)[at];
        break;
    case BURN_U16:
        cells.i[cell] = ((const uint16_t *)buffer)[at];
        break;
    case BURN_U8:
        cells.i[cell] = ((const uint8_t *)buffer)[at];
        break;
    case BURN_BOOL:
        cells.i[cell] = ((const uint8_t *)buffer)[at] != 0;
        break;
    case BURN_DTYPE_NONE:
    case BURN_DTYPE_END:
        break;
    }
}

void bd_ref_store(void *buffer, burn_dtype dtype, int64_t at, bd_ref_cells cells, int cell)
{
    switch (dtype) {
    case BURN_F64:
        ((double *)buffer)[at] = cells.d[cell];
        break;
    case BURN_F32:
        ((float *)buffer)[at] = cells.f[cell];
        break;
    case BURN_F16:
        ((uint16_t *)buffer)[at] = bd_f16_from_float(cells.f[cell]);
        break;
    case BURN_BF16:
        ((uint16_t *)buffer)[at] = bd_bf16_from_float(cells.f[cell]);
        break;
    case BURN_I64:
    case BURN_U64:
        ((int64_t *)buffer)[at] = cells.i[cell];
        break;
    case BURN_I32:
    case BURN_U32:
        ((uint32_t *)buffer)[at] = (uint32_t)cells.i[cell];
        break;
    case BURN_I16:
    case BURN_U16:
        ((uint16_t *)buffer)[at] = (uint16_t)cells.i[cell];
        break;
    case BURN_I8:
    case BURN_U8:
    case BURN_BOOL:
        ((uint8_t *)buffer)[at] = (uint8_t)cells.i[cell];
        break;
    case BURN_DTYPE_NONE:
    case BURN_DTYPE_END:
        break;
    }
}

/* Truncates; out of range saturates; NaN gives 0. */
static int64_t int_from_double(double value, burn_dtype dtype)
{
    int bits = (int)burn_dtype_size(dtype) * 8;
    bool is_unsigned = burn_dtype_kind_of(dtype) == BURN_KIND_UNSIGNED;
    if (isnan(value))
        return 0;
    double limit = ldexp(1.0, is_unsigned ? bits : bits - 1); /* the first value too large */
    if (value >= limit)
        return is_unsigned ? (int64_t)(UINT64_MAX >> (64 - bits)) : INT64_MAX >> (64 - bits);
    if (is_unsigned)
        return value <= 0.0 ? 0 : (int64_t)(uint64_t)value;
    return value <= -limit ? INT64_MIN >> (64 - bits) : (int64_t)value;
}

static void cast_to_int(bd_ref_cells from, burn_dtype from_dtype, bd_ref_cells to,
                        burn_dtype to_dtype, int count)
{
    bd_ref_class kind = bd_ref_class_of(from_dtype);
    for (int i = 0; i < count; i++) {
        if (kind == BD_REF_INT) {
            int64_t value = from.i[i];
            to.i[i] = to_dtype == BURN_BOOL ? value != 0 : wrapped(value, to_dtype);
        } else {
            double value = kind == BD_REF_DOUBLE ? from.d[i] : (double)from.f[i];
            to.i[i] = to_dtype == BURN_BOOL ? value != 0.0 : int_from_double(value, to_dtype);
        }
    }
}

void bd_ref_cast(bd_ref_cells from, burn_dtype from_dtype, bd_ref_cells to, burn_dtype to_dtype,
                 int count)
{
    bd_ref_class from_class = bd_ref_class_of(from_dtype), to_class = bd_ref_class_of(to_dtype);
    if (to_class == BD_REF_INT) {
        cast_to_int(from, from_dtype, to, to_dtype, count);
        return;
    }
    for (int i = 0; i < count; i++) {
        if (from_class == BD_REF_INT) {
            bool is_u64 = from_dtype == BURN_U64;
            int64_t value = from.i[i];
            if (to_class == BD_REF_DOUBLE)
                to.d[i] = is_u64 ? (double)(uint64_t)value : (double)value;
            else
                to.f[i] = is_u64 ? (float)(uint64_t)value : (float)value;
        } else {
            double value = from_class == BD_REF_DOUBLE ? from.d[i] : (double)from.f[i];
            if (to_class == BD_REF_DOUBLE)
                to.d[i] = value;
            else
                to.f[i] = (float)value;
        }
    }
    bd_ref_round(to, to_dtype, count);
}
