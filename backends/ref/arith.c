/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "backends/ref/half.h"
#include "backends/ref/interp.h"

static int64_t plus(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t times(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

static int64_t minus(int64_t a)
{
    return (int64_t)(0 - (uint64_t)a);
}

static bool less(int64_t a, int64_t b, bool is_u64)
{
    return is_u64 ? (uint64_t)a < (uint64_t)b : a < b;
}

/* Truncating quotient and rest; by 0 both are 0; the least value by -1 wraps. */
static int64_t quotient_of(int64_t a, int64_t b, bool is_u64, int64_t *out_rest)
{
    if (b == 0) {
        *out_rest = 0;
        return 0;
    }
    if (is_u64) {
        *out_rest = (int64_t)((uint64_t)a % (uint64_t)b);
        return (int64_t)((uint64_t)a / (uint64_t)b);
    }
    if (b == -1) {
        *out_rest = 0;
        return minus(a);
    }
    *out_rest = a % b;
    return a / b;
}

static int64_t int_division(bd_kir_code code, int64_t a, int64_t b, bool is_u64)
{
    int64_t rest = 0;
    int64_t quotient = quotient_of(a, b, is_u64, &rest);
    bool down = !is_u64 && rest != 0 && (rest < 0) != (b < 0);
    if (code == BD_KIR_DIV)
        return quotient;
    if (code == BD_KIR_FLOORDIV)
        return down ? quotient - 1 : quotient;
    if (code == BD_KIR_MOD)
        return down ? rest + b : rest;
    return rest; /* FMOD */
}

/* A negative exponent gives 0 but for 1 and -1. Source: PyTorch's powi. */
static int64_t int_power(int64_t base, int64_t exponent, bool is_unsigned)
{
    if (!is_unsigned && exponent < 0) {
        if (base == 1)
            return 1;
        if (base == -1)
            return exponent & 1 ? -1 : 1;
        return 0;
    }
    int64_t result = 1;
    for (uint64_t left = (uint64_t)exponent; left; left >>= 1) {
        if (left & 1)
            result = times(result, base);
        base = times(base, base);
    }
    return result;
}

static int64_t shift_right(int64_t a, int64_t count, burn_dtype dtype)
{
    int64_t bits = (int64_t)burn_dtype_size(dtype) * 8;
    bool outside = (uint64_t)count >= (uint64_t)bits;
    if (burn_dtype_kind_of(dtype) == BURN_KIND_UNSIGNED)
        return outside ? 0 : (int64_t)((uint64_t)a >> count);
    return outside ? -(a < 0) : a >> count;
}

static int64_t int_binary(bd_kir_code code, int64_t a, int64_t b, burn_dtype dtype)
{
    bool is_u64 = dtype == BURN_U64, is_bool = dtype == BURN_BOOL;
    bool is_unsigned = burn_dtype_kind_of(dtype) == BURN_KIND_UNSIGNED;
    switch ((int)code) {
    case BD_KIR_ADD:
        return is_bool ? (a | b) : plus(a, b);
    case BD_KIR_SUB:
        return plus(a, minus(b));
    case BD_KIR_MUL:
        return times(a, b);
    case BD_KIR_DIV:
    case BD_KIR_FLOORDIV:
    case BD_KIR_MOD:
    case BD_KIR_FMOD:
        return int_division(code, a, b, is_u64);
    case BD_KIR_POW:
        return int_power(a, b, is_unsigned);
    case BD_KIR_MAX:
    case BD_KIR_FMAX:
        return less(a, b, is_u64) ? b : a;
    case BD_KIR_MIN:
    case BD_KIR_FMIN:
        return less(b, a, is_u64) ? b : a;
    case BD_KIR_AND:
        return a & b;
    case BD_KIR_OR:
        return a | b;
    case BD_KIR_XOR:
        return a ^ b;
    case BD_KIR_SHL:
        return (uint64_t)b < burn_dtype_size(dtype) * 8 ? (int64_t)((uint64_t)a << b) : 0;
    case BD_KIR_SHR:
        return shift_right(a, b, dtype);
    }
    return 0;
}

static int64_t int_unary(bd_kir_code code, int64_t a, burn_dtype dtype)
{
    bool is_signed = burn_dtype_kind_of(dtype) == BURN_KIND_SIGNED;
    switch ((int)code) {
    case BD_KIR_NEG:
        return minus(a);
    case BD_KIR_ABS:
        return is_signed && a < 0 ? minus(a) : a;
    case BD_KIR_SIGN:
        return is_signed && a < 0 ? -1 : a != 0;
    case BD_KIR_NOT:
        return ~a;
    }
    return a; /* FLOOR to ROUND */
}

static bool compare(bd_kir_code code, bool below, bool equal, bool above)
{
    switch ((int)code) {
    case BD_KIR_EQ:
        return equal;
    case BD_KIR_NE:
        return !equal;
    case BD_KIR_LT:
        return below;
    case BD_KIR_LE:
        return below || equal;
    case BD_KIR_GT:
        return above;
    case BD_KIR_GE:
        return above || equal;
    }
    return false;
}

static double cell_double(bd_ref_cells cells, bd_ref_class kind, int i)
{
    return kind == BD_REF_DOUBLE ? cells.d[i] : (double)cells.f[i];
}

static void put_double(bd_ref_cells cells, bd_ref_class kind, int i, double value)
{
    if (kind == BD_REF_DOUBLE)
        cells.d[i] = value;
    else
        cells.f[i] = (float)value;
}

/* Neighbouring 16-bit floats are neighbouring integers of the same sign. */
static uint16_t next_bits(uint16_t from, bool up)
{
    if ((from & 0x7FFFu) == 0)
        return up ? 0x0001u : 0x8001u;
    bool outward = up == ((from & 0x8000u) == 0);
    return (uint16_t)(outward ? from + 1u : from - 1u);
}

static float next_after(float a, float b, burn_dtype dtype)
{
    if (isnan(a) || isnan(b))
        return a + b;
    if (a == b)
        return b;
    if (dtype == BURN_F16)
        return bd_f16_to_float(next_bits(bd_f16_from_float(a), a < b));
    if (dtype == BURN_BF16)
        return bd_bf16_to_float(next_bits(bd_bf16_from_float(a), a < b));
    return nextafterf(a, b);
}

/* The commonest operations without a call for each cell. Rounding once to float is the same as
 * rounding first to double. */
#define EACH_CELL(type, operation)                                                                 \
    for (int i = 0; i < count; i++)                                                                \
    out.type[i] = a.type[i] operation b.type[i]

static bool common_binary(bd_kir_code code, bd_ref_class kind, bd_ref_cells a, bd_ref_cells b,
                          bd_ref_cells out, int count)
{
    bool wide = kind == BD_REF_DOUBLE;
    if (code == BD_KIR_ADD && wide) {
        EACH_CELL(d, +);
    } else if (code == BD_KIR_SUB && wide) {
        EACH_CELL(d, -);
    } else if (code == BD_KIR_MUL && wide) {
        EACH_CELL(d, *);
    } else if (code == BD_KIR_DIV && wide) {
        EACH_CELL(d, /);
    } else if (code == BD_KIR_ADD) {
        EACH_CELL(f, +);
    } else if (code == BD_KIR_SUB) {
        EACH_CELL(f, -);
    } else if (code == BD_KIR_MUL) {
        EACH_CELL(f, *);
    } else if (code == BD_KIR_DIV) {
        EACH_CELL(f, /);
    } else {
        return false;
    }
    return true;
}
#undef EACH_CELL

static void float_binary(const bd_kir_instr *instr, burn_dtype dtype, bd_ref_cells a,
                         bd_ref_cells b, bd_ref_cells out, int count)
{
    bd_ref_class kind = bd_ref_class_of(dtype);
    bd_kir_code code = (bd_kir_code)instr->code;
    if (code == BD_KIR_NEXTAFTER) {
        for (int i = 0; i < count; i++)
            if (kind == BD_REF_DOUBLE)
                out.d[i] = nextafter(a.d[i], b.d[i]);
            else
                out.f[i] = next_after(a.f[i], b.f[i], dtype);
        return;
    }
    if (common_binary(code, kind, a, b, out, count))
        return;
    bd_ref_binary function = bd_ref_binary_of(code);
    if (!function)
        return;
    for (int i = 0; i < count; i++)
        put_double(out, kind, i, function(cell_double(a, kind, i), cell_double(b, kind, i)));
}

static void compare_cells(bd_kir_code code, burn_dtype dtype, bd_ref_cells a, bd_ref_cells b,
                          bd_ref_cells out, int count)
{
    bd_ref_class kind = bd_ref_class_of(dtype);
    bool is_u64 = dtype == BURN_U64;
    for (int i = 0; i < count; i++) {
        if (kind == BD_REF_INT) {
            bool below = less(a.i[i], b.i[i], is_u64);
            bool equal = a.i[i] == b.i[i];
            out.i[i] = compare(code, below, equal, !below && !equal);
        } else {
            double x = cell_double(a, kind, i), y = cell_double(b, kind, i);
            out.i[i] = compare(code, x < y, x == y, x > y);
        }
    }
}

static void unary_cells(bd_kir_code code, burn_dtype dtype, bd_ref_cells a, bd_ref_cells out,
                        int count)
{
    bd_ref_class kind = bd_ref_class_of(dtype);
    if (code == BD_KIR_ISNAN || code == BD_KIR_ISINF) {
        for (int i = 0; i < count; i++) {
            double x = cell_double(a, kind, i);
            out.i[i] = code == BD_KIR_ISNAN ? isnan(x) != 0 : isinf(x) != 0;
        }
        return;
    }
    if (kind == BD_REF_INT) {
        for (int i = 0; i < count; i++)
            out.i[i] = int_unary(code, a.i[i], dtype);
        return;
    }
    bd_ref_unary function = bd_ref_unary_of(code);
    if (!function)
        return;
    for (int i = 0; i < count; i++)
        put_double(out, kind, i, function(cell_double(a, kind, i)));
}

static void fma_cells(burn_dtype dtype, bd_ref_cells a, bd_ref_cells b, bd_ref_cells c,
                      bd_ref_cells out, int count)
{
    bd_ref_class kind = bd_ref_class_of(dtype);
    for (int i = 0; i < count; i++) {
        if (kind == BD_REF_DOUBLE)
            out.d[i] = fma(a.d[i], b.d[i], c.d[i]);
        else if (kind == BD_REF_FLOAT)
            out.f[i] = fmaf(a.f[i], b.f[i], c.f[i]);
        else
            out.i[i] = plus(times(a.i[i], b.i[i]), c.i[i]);
    }
}

static void select_cells(burn_dtype dtype, bd_ref_cells c, bd_ref_cells a, bd_ref_cells b,
                         bd_ref_cells out, int count)
{
    bool narrow = bd_ref_class_of(dtype) == BD_REF_FLOAT;
    for (int i = 0; i < count; i++) {
        if (narrow)
            out.f[i] = c.i[i] ? a.f[i] : b.f[i];
        else
            out.i[i] = c.i[i] ? a.i[i] : b.i[i]; /* the 8 bytes, whatever they are */
    }
}

void bd_ref_arith(const bd_ref_run *run, const bd_kir_instr *instr, bd_ref_cells out)
{
    bd_kir_code code = (bd_kir_code)instr->code;
    bd_ref_cells operands[3] = {0};
    for (int i = 0; i < bd_kir_operand_count(code); i++)
        operands[i] = bd_ref_value(run, instr->operands[i]);
    burn_dtype dtype = (burn_dtype)run->program->instrs[instr->operands[0] - 1].dtype;
    burn_dtype result = (burn_dtype)instr->dtype;
    bd_ref_cells a = operands[0], b = operands[1], c = operands[2];
    if (code == BD_KIR_CAST)
        bd_ref_cast(a, dtype, out, result, run->count);
    else if (code == BD_KIR_SELECT)
        select_cells(result, a, b, c, out, run->count);
    else if (code == BD_KIR_FMA)
        fma_cells(dtype, a, b, c, out, run->count);
    else if (code >= BD_KIR_EQ && code <= BD_KIR_GE)
        compare_cells(code, dtype, a, b, out, run->count);
    else if (bd_kir_operand_count(code) == 1)
        unary_cells(code, dtype, a, out, run->count);
    else if (bd_ref_class_of(dtype) != BD_REF_INT)
        float_binary(instr, dtype, a, b, out, run->count);
    else
        for (int i = 0; i < run->count; i++)
            out.i[i] = int_binary(code, a.i[i], b.i[i], dtype);
    bd_ref_round(out, result, run->count);
}
