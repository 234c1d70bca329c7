/* SPDX-License-Identifier: Apache-2.0
 * Guards as masks of lanes, or as scalars where all lanes agree. */
#include "backends/cpu/emit_parts.h"

LLVMValueRef bd_part_both(bd_emit *emit, LLVMValueRef a, LLVMValueRef b)
{
    if (!a || !b)
        return a ? a : b;
    if (bd_part_is_vector(a) || bd_part_is_vector(b)) {
        a = bd_part_is_vector(a) ? a : bd_emit_splat(emit, a);
        b = bd_part_is_vector(b) ? b : bd_emit_splat(emit, b);
    }
    return LLVMBuildAnd(emit->builder, a, b, "");
}

/* 0 <= base + lane < extent for a guard that moves by one: compares in 32 bits. */
static LLVMValueRef unit_guard(bd_emit *emit, LLVMValueRef base, LLVMValueRef extent)
{
    LLVMBuilderRef b = emit->builder;
    LLVMValueRef zero = bd_emit_i64(emit, 0), lanes = bd_emit_i64(emit, emit->lanes);
    LLVMValueRef bounds[2] = {LLVMBuildSub(b, zero, base, ""), LLVMBuildSub(b, extent, base, "")};
    LLVMValueRef iota = bd_emit_iota(emit, emit->module->i32);
    for (int i = 0; i < 2; i++) {
        LLVMValueRef low = LLVMBuildICmp(b, LLVMIntSLT, bounds[i], zero, "");
        bounds[i] = LLVMBuildSelect(b, low, zero, bounds[i], "");
        LLVMValueRef high = LLVMBuildICmp(b, LLVMIntSGT, bounds[i], lanes, "");
        bounds[i] = LLVMBuildSelect(b, high, lanes, bounds[i], "");
        bounds[i] = bd_emit_splat(emit, LLVMBuildTrunc(b, bounds[i], emit->module->i32, ""));
    }
    LLVMValueRef from = LLVMBuildICmp(b, LLVMIntUGE, iota, bounds[0], "");
    LLVMValueRef until = LLVMBuildICmp(b, LLVMIntULT, iota, bounds[1], "");
    return LLVMBuildAnd(b, from, until, "");
}

LLVMValueRef bd_part_own_guard(bd_emit *emit, int number)
{
    LLVMBuilderRef b = emit->builder;
    const bd_kir_guard *guard = &emit->program->guards[number];
    bd_kir_int stride = bd_kir_const(0);
    if (emit->vector_axis >= 0)
        stride = guard->strides[emit->vector_axis];
    if (emit->guards[number])
        return emit->guards[number];
    if (emit->inside && bd_kir_int_is(stride, 0))
        return NULL;
    LLVMValueRef place = bd_emit_int(emit, guard->offset),
                 extent = bd_emit_int(emit, guard->extent);
    for (int axis = 0; axis < emit->program->axis_count; axis++)
        place = bd_part_add_scaled(emit, place, guard->strides[axis], emit->positions[axis]);
    if (bd_kir_int_is(stride, 1))
        return unit_guard(emit, place, extent);
    if (!bd_kir_int_is(stride, 0)) {
        LLVMValueRef steps = LLVMBuildMul(b, bd_emit_iota(emit, emit->module->i64),
                                          bd_emit_splat(emit, bd_emit_int(emit, stride)), "");
        place = LLVMBuildAdd(b, bd_emit_splat(emit, place), steps, "");
        extent = bd_emit_splat(emit, extent);
    }
    /* One unsigned comparison: a negative place is a huge one; extents are never negative. */
    return LLVMBuildICmp(b, LLVMIntULT, place, extent, "");
}

LLVMValueRef bd_part_guard(bd_emit *emit, int number)
{
    LLVMValueRef all = NULL;
    for (number++; number > 0; number = emit->program->guards[number - 1].also)
        all = bd_part_both(emit, all, bd_part_own_guard(emit, number - 1));
    return all;
}

LLVMValueRef bd_part_wanted(bd_emit *emit, LLVMValueRef guard, int number)
{
    bool masked = false;
    for (number++; number > 0; number = emit->program->guards[number - 1].also) {
        LLVMValueRef own = emit->guards[number - 1];
        masked = masked || (own && bd_part_is_vector(own) && emit->guards_mask == emit->mask);
    }
    return masked ? guard : bd_part_both(emit, emit->mask, guard);
}
