/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "backends/ref/interp.h"

/* The reduction whose running value a scan is; the sum of exponentials starts as a maximum does. */
static bd_kir_code reduction_of(bd_kir_code code)
{
    if (code == BD_KIR_SCAN_LOGSUM)
        return BD_KIR_REDUCE_MAX;
    if (bd_kir_is_scan(code))
        return (bd_kir_code)(code - BD_KIR_SCAN_SUM + BD_KIR_REDUCE_SUM);
    return code;
}

/* The value of a reduction over nothing. */
static bd_ref_sum nothing(bd_kir_code code, burn_dtype dtype)
{
    bd_ref_sum sum = {0};
    bool product = code == BD_KIR_REDUCE_PROD;
    bool lowest = code == BD_KIR_REDUCE_MAX, highest = code == BD_KIR_REDUCE_MIN;
    sum.f = product ? 1.0 : lowest ? -INFINITY : highest ? INFINITY : 0.0;
    int bits = (int)burn_dtype_size(dtype) * 8;
    bool is_signed = burn_dtype_kind_of(dtype) == BURN_KIND_SIGNED;
    if (product)
        sum.i = 1;
    else if (dtype == BURN_BOOL)
        sum.i = highest;
    else if (lowest)
        sum.i = is_signed ? INT64_MIN >> (64 - bits) : 0;
    else if (highest)
        sum.i = is_signed ? INT64_MAX >> (64 - bits) : (int64_t)(UINT64_MAX >> (64 - bits));
    return sum;
}

static burn_dtype operand_dtype(const bd_ref_run *run, const bd_kir_instr *instr)
{
    return (burn_dtype)run->program->instrs[instr->operands[0] - 1].dtype;
}

void bd_ref_reduce_begin(bd_ref_run *run, const bd_kir_phase *phase)
{
    for (unsigned i = phase->first; i < (unsigned)phase->first + phase->count; i++) {
        const bd_kir_instr *instr = &run->program->instrs[i];
        if (bd_kir_is_reduce((bd_kir_code)instr->code) || bd_kir_is_scan((bd_kir_code)instr->code))
            run->sums[i] =
                nothing(reduction_of((bd_kir_code)instr->code), operand_dtype(run, instr));
    }
}

static void step_double(bd_kir_code code, bd_ref_sum *sum, double value, int64_t position)
{
    bool better = false;
    switch ((int)code) {
    case BD_KIR_REDUCE_SUM:
        sum->f += value;
        return;
    case BD_KIR_REDUCE_PROD:
        sum->f *= value;
        return;
    case BD_KIR_REDUCE_MAX:
    case BD_KIR_REDUCE_ARGMAX:
        better = !sum->any || value > sum->f;
        break;
    case BD_KIR_REDUCE_MIN:
    case BD_KIR_REDUCE_ARGMIN:
        better = !sum->any || value < sum->f;
        break;
    }
    if (better || (isnan(value) && !isnan(sum->f))) {
        sum->f = value;
        sum->position = position;
    }
    sum->any = true;
}

static void step_int(bd_kir_code code, bd_ref_sum *sum, int64_t value, int64_t position,
                     burn_dtype dtype)
{
    bool is_u64 = dtype == BURN_U64;
    bool above = is_u64 ? (uint64_t)value > (uint64_t)sum->i : value > sum->i;
    bool better = false;
    switch ((int)code) {
    case BD_KIR_REDUCE_SUM:
        sum->i =
            dtype == BURN_BOOL ? (sum->i | value) : (int64_t)((uint64_t)sum->i + (uint64_t)value);
        return;
    case BD_KIR_REDUCE_PROD:
        sum->i = (int64_t)((uint64_t)sum->i * (uint64_t)value);
        return;
    case BD_KIR_REDUCE_MAX:
    case BD_KIR_REDUCE_ARGMAX:
        better = above;
        break;
    case BD_KIR_REDUCE_MIN:
    case BD_KIR_REDUCE_ARGMIN:
        better = !above && value != sum->i;
        break;
    }
    if (!sum->any || better) {
        sum->i = value;
        sum->position = position;
    }
    sum->any = true;
}

void bd_ref_reduce_step(bd_ref_run *run, const bd_kir_instr *instr, bd_ref_sum *sum)
{
    burn_dtype dtype = operand_dtype(run, instr);
    bd_ref_cells from = bd_ref_value(run, instr->operands[0]);
    bd_kir_code code = (bd_kir_code)instr->code;
    for (int i = 0; i < run->count; i++) {
        int64_t position = run->serial + i;
        switch (bd_ref_class_of(dtype)) {
        case BD_REF_FLOAT:
            step_double(code, sum, (double)from.f[i], position);
            break;
        case BD_REF_DOUBLE:
            step_double(code, sum, from.d[i], position);
            break;
        case BD_REF_INT:
            step_int(code, sum, from.i[i], position, dtype);
            break;
        }
    }
}

static double log_sum(double a, double b)
{
    double most = fmax(a, b), least = fmin(a, b);
    if (isnan(a) || isnan(b))
        return NAN;
    return isinf(most) ? most : most + log1p(exp(least - most));
}

void bd_ref_scan_step(bd_ref_run *run, const bd_kir_instr *instr, bd_ref_sum *sum,
                      bd_ref_cells out)
{
    burn_dtype dtype = (burn_dtype)instr->dtype;
    bd_ref_class kind = bd_ref_class_of(dtype);
    bd_ref_cells from = bd_ref_value(run, instr->operands[0]);
    bool exponents = instr->code == BD_KIR_SCAN_LOGSUM;
    bd_kir_code code = reduction_of((bd_kir_code)instr->code);
    for (int i = 0; i < run->count; i++) {
        if (kind == BD_REF_INT) {
            step_int(code, sum, from.i[i], 0, dtype);
            out.i[i] = sum->i;
            continue;
        }
        double value = kind == BD_REF_DOUBLE ? from.d[i] : (double)from.f[i];
        if (exponents)
            sum->f = log_sum(sum->f, value);
        else
            step_double(code, sum, value, 0);
        if (kind == BD_REF_DOUBLE)
            out.d[i] = sum->f;
        else
            out.f[i] = (float)sum->f;
    }
    bd_ref_round(out, dtype, run->count);
}

void bd_ref_reduce_end(bd_ref_run *run, const bd_kir_phase *phase)
{
    for (unsigned i = phase->first; i < (unsigned)phase->first + phase->count; i++) {
        const bd_kir_instr *instr = &run->program->instrs[i];
        bd_kir_code code = (bd_kir_code)instr->code;
        if (!bd_kir_is_reduce(code))
            continue;
        bool position = code == BD_KIR_REDUCE_ARGMAX || code == BD_KIR_REDUCE_ARGMIN;
        burn_dtype dtype = (burn_dtype)instr->dtype;
        bd_ref_cells out = bd_ref_value(run, (bd_kir_value)(i + 1));
        for (int cell = 0; cell < run->width; cell++) {
            if (position)
                out.i[cell] = run->sums[i].position;
            else if (dtype == BURN_F64)
                out.d[cell] = run->sums[i].f;
            else if (bd_ref_class_of(dtype) == BD_REF_FLOAT)
                out.f[cell] = (float)run->sums[i].f;
            else
                out.i[cell] = run->sums[i].i;
        }
        bd_ref_round(out, dtype, run->width);
    }
}
