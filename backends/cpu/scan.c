/* SPDX-License-Identifier: Apache-2.0
 * SCAN_*: what has been seen of the row lies in memory between points. In columns every lane has a
 * row of its own; in rows the lanes are points, and are first scanned among themselves, each step
 * reaching twice as far. Sums and products of f32 are carried as f64. */
#include <math.h>

#include "backends/cpu/loop_parts.h"
#include "proto/base/assert.h"

static bool is_wide(const bd_emit *emit, const bd_scan *scan)
{
    return (scan->code == BD_KIR_SCAN_SUM || scan->code == BD_KIR_SCAN_PROD) &&
           bd_emit_type(emit, scan->dtype) == emit->module->f32;
}

/* The scalar that changes nothing. */
static LLVMValueRef identity(bd_emit *emit, const bd_scan *scan)
{
    LLVMTypeRef type = bd_emit_type(emit, scan->dtype);
    bool most = scan->code == BD_KIR_SCAN_MAX || scan->code == BD_KIR_SCAN_LOGSUM;
    if (scan->code == BD_KIR_SCAN_SUM)
        return LLVMConstNull(type);
    if (burn_dtype_is_float(scan->dtype))
        return LLVMConstReal(type, scan->code == BD_KIR_SCAN_PROD ? 1
                                   : most                         ? -INFINITY
                                                                  : INFINITY);
    if (scan->code == BD_KIR_SCAN_PROD)
        return LLVMConstInt(type, 1, 0);
    if (burn_dtype_kind_of(scan->dtype) != BURN_KIND_SIGNED)
        return most ? LLVMConstNull(type) : LLVMConstAllOnes(type);
    uint64_t lowest = (uint64_t)1 << (burn_dtype_size(scan->dtype) * 8 - 1);
    return LLVMConstInt(type, most ? lowest : lowest - 1, 0);
}

/* The larger one and what the smaller one adds to it. */
static LLVMValueRef log_sum(bd_emit *emit, burn_dtype dtype, LLVMValueRef a, LLVMValueRef b)
{
    LLVMValueRef most = bd_part_binary(emit, BD_KIR_MAX, dtype, a, b);
    LLVMValueRef least = bd_part_binary(emit, BD_KIR_MIN, dtype, a, b);
    LLVMValueRef apart = bd_part_binary(emit, BD_KIR_SUB, dtype, least, most);
    LLVMValueRef part = bd_part_unary(emit, BD_KIR_EXP, dtype, apart);
    part = bd_part_unary(emit, BD_KIR_LOG1P, dtype, part);
    LLVMValueRef sum = bd_part_binary(emit, BD_KIR_ADD, dtype, most, part);
    LLVMValueRef infinite = bd_part_unary(emit, BD_KIR_ISINF, dtype, most);
    return LLVMBuildSelect(emit->builder, infinite, most, sum, "");
}

/* a of earlier points, b of later ones. */
static LLVMValueRef joined(bd_emit *emit, const bd_scan *scan, burn_dtype dtype, LLVMValueRef a,
                           LLVMValueRef b)
{
    static const int codes[] = {BD_KIR_ADD, BD_KIR_MUL, BD_KIR_MAX, BD_KIR_MIN};
    if (scan->code == BD_KIR_SCAN_LOGSUM)
        return log_sum(emit, dtype, a, b);
    return bd_part_binary(emit, codes[scan->code - BD_KIR_SCAN_SUM], dtype, a, b);
}

static LLVMTypeRef carried_type(const bd_emit *emit, const bd_scan *scan)
{
    if (scan->dtype == BURN_BOOL)
        return emit->module->i8;
    return is_wide(emit, scan) ? emit->module->f64 : bd_emit_type(emit, scan->dtype);
}

/* One carried value for all lanes if they are points of one row. */
static LLVMTypeRef carried_shape(const bd_emit *emit, const bd_scan *scan)
{
    LLVMTypeRef type = carried_type(emit, scan);
    bool row = emit->loop->shape->form == BD_LOOP_ROW;
    return row ? type : bd_emit_lanes_of(emit, type);
}

void bd_loop_scans_begin(bd_emit *emit, const bd_kir_phase *phase)
{
    bd_emit_loop *loop = emit->loop;
    loop->scan_count = 0;
    for (int i = phase->first; i < phase->first + phase->count; i++) {
        const bd_kir_instr *instr = &emit->program->instrs[i];
        if (!bd_kir_is_scan((bd_kir_code)instr->code))
            continue;
        BD_ASSERT(loop->scan_count < BD_LOOP_SCANS_MAX);
        bd_scan *scan = &loop->scans[loop->scan_count++];
        *scan = (bd_scan){.instr = i, .code = instr->code, .dtype = (burn_dtype)instr->dtype};
        LLVMTypeRef type = carried_shape(emit, scan);
        LLVMValueRef none = identity(emit, scan);
        if (is_wide(emit, scan))
            none = LLVMConstReal(emit->module->f64, scan->code == BD_KIR_SCAN_PROD ? 1 : 0);
        if (scan->dtype == BURN_BOOL)
            none = bd_emit_to_storage(emit, none, BURN_BOOL);
        if (loop->shape->form != BD_LOOP_ROW)
            none = bd_emit_splat(emit, none);
        scan->carried = bd_emit_alloca(emit, type, 64);
        LLVMBuildStore(emit->builder, none, scan->carried);
    }
}

/* The lanes moved up by `step`; the first ones get the identity. */
static LLVMValueRef moved_up(bd_emit *emit, LLVMValueRef value, LLVMValueRef none, unsigned step)
{
    LLVMValueRef places[256];
    LLVMTypeRef i32 = emit->module->i32;
    BD_ASSERT(emit->lanes <= 256);
    for (unsigned i = 0; i < emit->lanes; i++)
        places[i] = LLVMConstInt(i32, i < step ? emit->lanes + i : i - step, 0);
    return LLVMBuildShuffleVector(emit->builder, value, none, LLVMConstVector(places, emit->lanes),
                                  "");
}

static LLVMValueRef scan_lanes(bd_emit *emit, const bd_scan *scan, LLVMValueRef value)
{
    LLVMValueRef none = bd_emit_splat(emit, identity(emit, scan));
    if (emit->mask)
        value = LLVMBuildSelect(emit->builder, emit->mask, value, none, "");
    for (unsigned step = 1; step < emit->lanes; step *= 2)
        value = joined(emit, scan, scan->dtype, moved_up(emit, value, none, step), value);
    return value;
}

static LLVMValueRef last_lane(bd_emit *emit, LLVMValueRef value)
{
    LLVMTypeRef i32 = emit->module->i32;
    if (emit->lanes == 1)
        return value;
    return LLVMBuildExtractElement(emit->builder, value, LLVMConstInt(i32, emit->lanes - 1, 0), "");
}

void bd_part_scan(bd_emit *emit, int instr)
{
    bd_emit_loop *loop = emit->loop;
    LLVMBuilderRef b = emit->builder;
    const bd_scan *scan = NULL;
    for (int i = 0; i < loop->scan_count; i++)
        if (loop->scans[i].instr == instr)
            scan = &loop->scans[i];
    BD_ASSERT(scan);
    bool row = loop->shape->form == BD_LOOP_ROW, wide = is_wide(emit, scan);
    LLVMValueRef value = bd_emit_vector(emit, emit->program->instrs[instr].operands[0]);
    LLVMTypeRef narrow = LLVMTypeOf(value);
    if (row && emit->lanes > 1)
        value = scan_lanes(emit, scan, value);
    LLVMValueRef before =
        LLVMBuildLoad2(b, carried_shape(emit, scan), scan->carried, "");
    if (scan->dtype == BURN_BOOL)
        before = bd_emit_from_storage(emit, before, BURN_BOOL);
    if (row && emit->lanes > 1)
        before = bd_emit_splat(emit, before);
    burn_dtype dtype = wide ? BURN_F64 : scan->dtype;
    if (wide)
        value = LLVMBuildFPExt(b, value, LLVMTypeOf(before), "");
    value = joined(emit, scan, dtype, before, value);
    LLVMValueRef after = row ? last_lane(emit, value) : value;
    if (scan->dtype == BURN_BOOL)
        after = bd_emit_to_storage(emit, after, BURN_BOOL);
    LLVMBuildStore(b, after, scan->carried);
    value = wide ? LLVMBuildFPTrunc(b, value, narrow, "") : value;
    emit->values[instr + 1] = bd_part_round(emit, value, scan->dtype);
}
