/* SPDX-License-Identifier: Apache-2.0
 * Loads, stores, gathers and scatters. A load whose guard is false reads a block of zeros
 * instead; a store is masked. */
#include <string.h>

#include "backends/cpu/constants.h"
#include "backends/cpu/emit_parts.h"
#include "proto/base/assert.h"

LLVMValueRef bd_part_load_lanes(bd_emit *emit, LLVMValueRef place, burn_dtype dtype,
                                LLVMValueRef mask)
{
    LLVMTypeRef type = bd_emit_lanes_of(emit, bd_emit_storage(emit, dtype));
    unsigned align = (unsigned)burn_dtype_size(dtype);
    LLVMValueRef stored;
    if (mask) {
        LLVMValueRef arguments[] = {place, LLVMConstInt(emit->module->i32, align, 0), mask,
                                    LLVMConstNull(type)};
        LLVMTypeRef overloads[] = {type, emit->module->pointer};
        stored = bd_module_intrinsic(emit->module, emit->builder, "llvm.masked.load", overloads, 2,
                                     arguments, 4);
    } else {
        stored = LLVMBuildLoad2(emit->builder, type, place, "");
        LLVMSetAlignment(stored, align);
    }
    return bd_emit_from_storage(emit, stored, dtype);
}

void bd_part_store_lanes(bd_emit *emit, LLVMValueRef place, LLVMValueRef value, burn_dtype dtype,
                         LLVMValueRef mask)
{
    unsigned align = (unsigned)burn_dtype_size(dtype);
    LLVMValueRef stored = bd_emit_to_storage(emit, value, dtype);
    if (!mask) {
        LLVMSetAlignment(LLVMBuildStore(emit->builder, stored, place), align);
        return;
    }
    LLVMValueRef arguments[] = {stored, place, LLVMConstInt(emit->module->i32, align, 0), mask};
    LLVMTypeRef overloads[] = {LLVMTypeOf(stored), emit->module->pointer};
    bd_module_intrinsic(emit->module, emit->builder, "llvm.masked.store", overloads, 2, arguments,
                        4);
}

/* As bd_part_store_lanes of a value in its memory form, past the cache where the pass says so and
 * all lanes are there, on whole registers. */
static void stream_lanes(bd_emit *emit, LLVMValueRef place, LLVMValueRef value, burn_dtype dtype,
                         LLVMValueRef mask)
{
    LLVMBuilderRef b = emit->builder;
    bd_module *module = emit->module;
    unsigned bytes = emit->lanes * (unsigned)burn_dtype_size(dtype);
    unsigned align = bytes < module->target->vector_bytes ? bytes : module->target->vector_bytes;
    LLVMValueRef zero = bd_emit_i64(emit, 0);
    LLVMValueRef asked =
        bd_emit_call_field(emit, offsetof(bd_call, nontemporal), module->i64);
    LLVMValueRef odd = LLVMBuildPtrToInt(b, place, module->i64, "");
    odd = LLVMBuildAnd(b, odd, bd_emit_i64(emit, (int64_t)align - 1), "");
    LLVMValueRef past = LLVMBuildAnd(b, LLVMBuildICmp(b, LLVMIntNE, asked, zero, ""),
                                     LLVMBuildICmp(b, LLVMIntEQ, odd, zero, ""), "");
    if (mask) {
        LLVMValueRef lanes = bd_emit_i64(emit, emit->lanes);
        past = LLVMBuildAnd(b, past, LLVMBuildICmp(b, LLVMIntEQ, emit->active, lanes, ""), "");
    }
    LLVMBasicBlockRef streamed = bd_part_block(emit), plain = bd_part_block(emit);
    LLVMBasicBlockRef after = bd_part_block(emit);
    LLVMBuildCondBr(b, past, streamed, plain);
    LLVMPositionBuilderAtEnd(b, streamed);
    LLVMValueRef store = LLVMBuildStore(b, bd_emit_to_storage(emit, value, dtype), place);
    LLVMSetAlignment(store, align);
    LLVMValueRef one = LLVMConstInt(module->i32, 1, 0);
    LLVMMetadataRef node = LLVMValueAsMetadata(one);
    node = LLVMMDNodeInContext2(module->context, &node, 1);
    unsigned kind = LLVMGetMDKindIDInContext(module->context, "nontemporal", 11);
    LLVMSetMetadata(store, kind, LLVMMetadataAsValue(module->context, node));
    LLVMBuildBr(b, after);
    LLVMPositionBuilderAtEnd(b, plain);
    bd_part_store_lanes(emit, place, value, dtype, mask);
    LLVMBuildBr(b, after);
    LLVMPositionBuilderAtEnd(b, after);
    emit->streamed = true;
}

/* The dynamic part of LOAD_AT and STORE_AT in elements: scalar or vector; NULL if there is none. */
static LLVMValueRef moved_by(bd_emit *emit, const bd_kir_instr *instr)
{
    LLVMValueRef position = NULL;
    if (instr->code == BD_KIR_LOAD_AT)
        position = emit->values[instr->operands[0]];
    else if (instr->code == BD_KIR_STORE_AT)
        position = emit->values[instr->operands[1]];
    if (!position || bd_kir_int_is(instr->integer, 1))
        return position;
    LLVMValueRef stride = bd_emit_int(emit, instr->integer);
    return LLVMBuildMul(emit->builder, position, bd_part_match(emit, stride, position), "");
}

static bd_kir_int lane_stride(const bd_emit *emit, const bd_kir_access *access)
{
    return emit->vector_axis < 0 ? bd_kir_const(0) : access->strides[emit->vector_axis];
}

/* Element offsets of the lanes from the address of lane 0. */
static LLVMValueRef lane_offsets(bd_emit *emit, bd_kir_int stride, LLVMValueRef moved)
{
    LLVMValueRef offsets = bd_emit_iota(emit, emit->module->i64);
    if (bd_kir_int_is(stride, 0))
        return bd_part_is_vector(moved) ? moved : bd_emit_splat(emit, moved);
    if (!bd_kir_int_is(stride, 1))
        offsets = LLVMBuildMul(emit->builder, offsets,
                               bd_emit_splat(emit, bd_emit_int(emit, stride)), "");
    if (!moved)
        return offsets;
    moved = bd_part_is_vector(moved) ? moved : bd_emit_splat(emit, moved);
    return LLVMBuildAdd(emit->builder, offsets, moved, "");
}

static LLVMValueRef element(bd_emit *emit, LLVMValueRef vector, unsigned lane)
{
    return LLVMBuildExtractElement(emit->builder, vector, LLVMConstInt(emit->module->i32, lane, 0),
                                   "");
}

static LLVMValueRef gather(bd_emit *emit, LLVMValueRef base, LLVMValueRef offsets, burn_dtype dtype,
                           LLVMValueRef wanted)
{
    LLVMBuilderRef b = emit->builder;
    LLVMTypeRef scalar = bd_emit_storage(emit, dtype), type = bd_emit_lanes_of(emit, scalar);
    LLVMValueRef places = bd_part_offset(emit, base, scalar, offsets);
    unsigned align = (unsigned)burn_dtype_size(dtype);
    if (wanted) {
        wanted = bd_part_is_vector(wanted) ? wanted : bd_emit_splat(emit, wanted);
        LLVMValueRef zeros = bd_emit_splat(emit, bd_constant_zeros(emit->module));
        places = LLVMBuildSelect(b, wanted, places, zeros, "");
    }
    LLVMValueRef stored;
    if (emit->module->target->masked && align >= 4) {
        LLVMValueRef all = LLVMConstAllOnes(LLVMVectorType(emit->module->i1, emit->lanes));
        LLVMValueRef arguments[] = {places, LLVMConstInt(emit->module->i32, align, 0), all,
                                    LLVMGetPoison(type)};
        LLVMTypeRef overloads[] = {type, LLVMTypeOf(places)};
        stored =
            bd_module_intrinsic(emit->module, b, "llvm.masked.gather", overloads, 2, arguments, 4);
    } else {
        stored = LLVMGetPoison(type);
        for (unsigned lane = 0; lane < emit->lanes; lane++) {
            LLVMValueRef one = LLVMBuildLoad2(b, scalar, element(emit, places, lane), "");
            LLVMSetAlignment(one, align);
            stored = LLVMBuildInsertElement(b, stored, one,
                                            LLVMConstInt(emit->module->i32, lane, 0), "");
        }
    }
    return bd_emit_from_storage(emit, stored, dtype);
}

static LLVMValueRef every_lane(bd_emit *emit, LLVMValueRef mask)
{
    if (!bd_part_is_vector(mask))
        return mask;
    LLVMTypeRef bits = LLVMIntTypeInContext(emit->module->context, emit->lanes);
    LLVMValueRef word = LLVMBuildBitCast(emit->builder, mask, bits, "");
    return LLVMBuildICmp(emit->builder, LLVMIntEQ, word, LLVMConstAllOnes(bits), "");
}

/* The elements that the lanes of one half want of one of two loads: bits at the even places, or at
 * the odd ones. */
static LLVMValueRef second_mask(bd_emit *emit, LLVMValueRef wanted, bool upper)
{
    LLVMBuilderRef b = emit->builder;
    LLVMTypeRef i64 = emit->module->i64, mask_type = LLVMTypeOf(wanted);
    LLVMTypeRef bits = LLVMIntTypeInContext(emit->module->context, emit->lanes);
    LLVMValueRef word = LLVMBuildBitCast(b, wanted, bits, "");
    word = LLVMBuildZExtOrBitCast(b, word, i64, "");
    if (upper)
        word = LLVMBuildLShr(b, word, bd_emit_i64(emit, emit->lanes / 2), "");
    uint64_t places = upper ? 0xaaaaaaaaaaaaaaaa : 0x5555555555555555;
    LLVMValueRef arguments[] = {word, LLVMConstInt(i64, places, 0)};
    word = bd_module_intrinsic(emit->module, b, "llvm.x86.bmi.pdep.64", NULL, 0, arguments, 2);
    return LLVMBuildBitCast(b, LLVMBuildIntCast2(b, word, bits, 0, ""), mask_type, "");
}

/* Every second element: of two loads, which begin and end with the first and the last lane. */
static LLVMValueRef load_second(bd_emit *emit, LLVMValueRef place, burn_dtype dtype,
                                LLVMValueRef wanted)
{
    LLVMValueRef masks[2] = {NULL, NULL};
    LLVMValueRef from[64];
    LLVMTypeRef i32 = emit->module->i32, scalar = bd_emit_storage(emit, dtype);
    LLVMValueRef skip = bd_emit_i64(emit, (int64_t)emit->lanes - 1);
    for (int half = 0; half < 2 && wanted; half++)
        masks[half] = second_mask(emit, wanted, half == 1);
    LLVMValueRef low = bd_part_load_lanes(emit, place, dtype, masks[0]);
    LLVMValueRef high =
        bd_part_load_lanes(emit, bd_part_offset(emit, place, scalar, skip), dtype, masks[1]);
    for (unsigned lane = 0; lane < emit->lanes; lane++)
        from[lane] = LLVMConstInt(i32, 2 * lane + (2 * lane >= emit->lanes), 0);
    return LLVMBuildShuffleVector(emit->builder, low, high, LLVMConstVector(from, emit->lanes), "");
}

/* A branch with a value: the builder stands in the block that is taken if the condition holds. */
typedef struct choice {
    LLVMBasicBlockRef other, after, ends[3];
    LLVMValueRef values[3];
    unsigned count;
} choice;

static void choose(bd_emit *emit, choice *of, LLVMValueRef condition)
{
    LLVMBasicBlockRef taken = bd_part_block(emit);
    of->other = bd_part_block(emit);
    LLVMBuildCondBr(emit->builder, condition, taken, of->other);
    LLVMPositionBuilderAtEnd(emit->builder, taken);
}

static void chosen(bd_emit *emit, choice *of, LLVMValueRef value)
{
    of->ends[of->count] = LLVMGetInsertBlock(emit->builder);
    of->values[of->count++] = value;
    LLVMBuildBr(emit->builder, of->after);
    LLVMPositionBuilderAtEnd(emit->builder, of->other);
}

/* Lanes that lie apart: pools and slices often have every second element. */
static LLVMValueRef load_apart(bd_emit *emit, LLVMValueRef place, bd_kir_int stride,
                               burn_dtype dtype, LLVMValueRef wanted)
{
    LLVMBuilderRef b = emit->builder;
    LLVMValueRef offsets = lane_offsets(emit, stride, NULL);
    bool never = stride.argument < 0 && stride.value != 2;
    if (emit->lanes == 1 || never || (emit->loop && !bd_loop_is_light(emit->loop)))
        return gather(emit, place, offsets, dtype, wanted);
    LLVMValueRef is_two = LLVMBuildICmp(b, LLVMIntEQ, bd_emit_int(emit, stride),
                                        bd_emit_i64(emit, 2), "");
    LLVMValueRef full = wanted ? LLVMBuildAnd(b, is_two, every_lane(emit, wanted), "") : is_two;
    choice loads = {.after = bd_part_block(emit)};
    choose(emit, &loads, full);
    chosen(emit, &loads, load_second(emit, place, dtype, NULL));
    if (wanted && bd_part_is_vector(wanted) && emit->module->target->masked && emit->lanes <= 64) {
        choose(emit, &loads, is_two);
        chosen(emit, &loads, load_second(emit, place, dtype, wanted));
    }
    loads.other = loads.after;
    chosen(emit, &loads, gather(emit, place, offsets, dtype, wanted));
    LLVMValueRef any = LLVMBuildPhi(b, LLVMTypeOf(loads.values[0]), "");
    LLVMAddIncoming(any, loads.values, loads.ends, loads.count);
    return any;
}

static LLVMValueRef load_scalar(bd_emit *emit, LLVMValueRef place, burn_dtype dtype)
{
    LLVMValueRef stored = LLVMBuildLoad2(emit->builder, bd_emit_storage(emit, dtype), place, "");
    LLVMSetAlignment(stored, (unsigned)burn_dtype_size(dtype));
    return bd_emit_from_storage(emit, stored, dtype);
}

/* The scalar condition under which a uniform address may be touched, for a guard that varies. */
static LLVMValueRef any_lane(bd_emit *emit, LLVMValueRef mask)
{
    LLVMTypeRef bits = LLVMIntTypeInContext(emit->module->context, emit->lanes);
    LLVMValueRef word = LLVMBuildBitCast(emit->builder, mask, bits, "");
    return LLVMBuildICmp(emit->builder, LLVMIntNE, word, LLVMConstInt(bits, 0, 0), "");
}

void bd_part_prefetch(bd_emit *emit, LLVMValueRef place, burn_dtype dtype, LLVMValueRef distance,
                      size_t bytes)
{
    enum { LINE_BYTES = 64 };
    bd_module *module = emit->module;
    LLVMValueRef ahead = bd_part_offset(emit, place, bd_emit_storage(emit, dtype), distance);
    for (size_t at = 0; at < bytes; at += LINE_BYTES) {
        LLVMValueRef line = bd_part_offset(emit, ahead, module->i8, bd_emit_i64(emit, (int64_t)at));
        LLVMValueRef arguments[] = {line, LLVMConstInt(module->i32, 0, 0),
                                    LLVMConstInt(module->i32, 3, 0),
                                    LLVMConstInt(module->i32, 1, 0)};
        bd_part_intrinsic(emit, "llvm.prefetch", module->pointer, arguments, 4);
    }
}

/* A column walks memory in large steps, which the hardware's prefetchers do not follow; what lies
 * side by side they follow up to the end of a page, and not too many of them. */
static void prefetch(bd_emit *emit, const bd_kir_access *access, LLVMValueRef place,
                     burn_dtype dtype)
{
    enum { ROWS_AHEAD = 16, BYTES_AHEAD = 2048 };
    size_t size = burn_dtype_size(dtype);
    int axis = emit->loop ? bd_loop_column_axis(emit->loop) : -1;
    LLVMValueRef distance;
    if (axis >= 0 && access->strides[axis].argument >= 0)
        distance = LLVMBuildMul(emit->builder, bd_emit_int(emit, access->strides[axis]),
                                bd_emit_i64(emit, ROWS_AHEAD), "");
    else if (emit->lanes > 1 && emit->loop && bd_loop_is_cold(emit->loop))
        distance = bd_emit_i64(emit, (int64_t)(BYTES_AHEAD / size));
    else
        return;
    bd_part_prefetch(emit, place, dtype, distance, emit->lanes * size);
}

LLVMValueRef bd_part_load(bd_emit *emit, const bd_kir_instr *instr)
{
    LLVMBuilderRef b = emit->builder;
    const bd_kir_access *access = &emit->program->accesses[instr->index];
    burn_dtype dtype = (burn_dtype)emit->program->buffers[access->buffer].dtype;
    LLVMTypeRef scalar = bd_emit_storage(emit, dtype);
    bd_kir_int stride = lane_stride(emit, access);
    LLVMValueRef place = bd_emit_address(emit, instr->index);
    LLVMValueRef moved = moved_by(emit, instr);
    LLVMValueRef guard = instr->guard >= 0 ? bd_part_guard(emit, instr->guard) : NULL;
    bool guard_varies = guard && bd_part_is_vector(guard);
    bool moved_varies = moved && bd_part_is_vector(moved);
    bool contiguous = bd_kir_int_is(stride, 1), still = bd_kir_int_is(stride, 0);
    if (moved && !moved_varies) {
        place = bd_part_offset(emit, place, scalar, moved);
        moved = NULL;
    }
    if (!moved && still) {
        LLVMValueRef condition = guard_varies ? any_lane(emit, guard) : guard;
        if (condition)
            place = LLVMBuildSelect(b, condition, place, bd_constant_zeros(emit->module), "");
        LLVMValueRef value = load_scalar(emit, place, dtype);
        if (!guard_varies)
            return value;
        LLVMValueRef vector = bd_emit_splat(emit, value);
        return LLVMBuildSelect(b, guard, vector, LLVMConstNull(LLVMTypeOf(vector)), "");
    }
    if (!moved && contiguous && !guard && instr->code == BD_KIR_LOAD)
        prefetch(emit, access, place, dtype);
    if (!moved && contiguous && (!guard || !guard_varies)) {
        if (guard)
            place = LLVMBuildSelect(b, guard, place, bd_constant_zeros(emit->module), "");
        return bd_part_load_lanes(emit, place, dtype, emit->mask);
    }
    LLVMValueRef wanted = bd_part_wanted(emit, guard, instr->guard);
    if (!moved && contiguous)
        return bd_part_load_lanes(emit, place, dtype, wanted);
    if (!moved)
        return load_apart(emit, place, stride, dtype, wanted);
    return gather(emit, place, lane_offsets(emit, stride, moved), dtype, wanted);
}

/* ---- stores ---- */

static LLVMValueRef combine(bd_emit *emit, int mode, burn_dtype dtype, LLVMValueRef old,
                            LLVMValueRef value)
{
    switch (mode) {
    case BD_KIR_ACCUMULATE:
        return bd_part_binary(emit, BD_KIR_ADD, dtype, old, value);
    case BD_KIR_ACCUMULATE_MAX:
        return bd_part_binary(emit, BD_KIR_MAX, dtype, old, value);
    case BD_KIR_ACCUMULATE_MIN:
        return bd_part_binary(emit, BD_KIR_MIN, dtype, old, value);
    case BD_KIR_ACCUMULATE_PROD:
        return bd_part_binary(emit, BD_KIR_MUL, dtype, old, value);
    default:
        return value;
    }
}

static void store_scalar(bd_emit *emit, LLVMValueRef place, LLVMValueRef value, burn_dtype dtype,
                         int mode)
{
    if (mode != BD_KIR_SET)
        value = combine(emit, mode, dtype, load_scalar(emit, place, dtype), value);
    LLVMValueRef stored = bd_emit_to_storage(emit, value, dtype);
    LLVMSetAlignment(LLVMBuildStore(emit->builder, stored, place),
                     (unsigned)burn_dtype_size(dtype));
}

/* One lane after another, in order; so equal addresses are well defined. */
static void store_in_order(bd_emit *emit, LLVMValueRef base, LLVMValueRef offsets,
                           LLVMValueRef value, burn_dtype dtype, int mode, LLVMValueRef wanted)
{
    LLVMBuilderRef b = emit->builder;
    LLVMTypeRef i8 = emit->module->i8, element_type = LLVMGetElementType(LLVMTypeOf(value));
    bool is_bit = element_type == emit->module->i1;
    if (is_bit) {
        value = LLVMBuildZExt(b, value, LLVMVectorType(i8, emit->lanes), "");
        element_type = i8;
    }
    LLVMValueRef values = bd_emit_alloca(emit, LLVMTypeOf(value), 64), flags = NULL;
    LLVMValueRef places = bd_emit_alloca(emit, LLVMTypeOf(offsets), 64);
    LLVMBuildStore(b, value, values);
    LLVMBuildStore(b, offsets, places);
    if (wanted) {
        wanted = bd_part_is_vector(wanted) ? wanted : bd_emit_splat(emit, wanted);
        LLVMValueRef bytes = LLVMBuildZExt(b, wanted, LLVMVectorType(i8, emit->lanes), "");
        flags = bd_emit_alloca(emit, LLVMTypeOf(bytes), 64);
        LLVMBuildStore(b, bytes, flags);
    }
    bd_emit_frame frame;
    bd_emit_branch branch;
    LLVMValueRef lane = bd_emit_for(emit, &frame, bd_emit_i64(emit, 0),
                                    bd_emit_i64(emit, emit->lanes), bd_emit_i64(emit, 1));
    if (flags) {
        LLVMValueRef flag = LLVMBuildLoad2(b, i8, bd_part_offset(emit, flags, i8, lane), "");
        bd_emit_if(emit, &branch, LLVMBuildICmp(b, LLVMIntNE, flag, LLVMConstInt(i8, 0, 0), ""));
    }
    LLVMValueRef one =
        LLVMBuildLoad2(b, element_type, bd_part_offset(emit, values, element_type, lane), "");
    if (is_bit)
        one = LLVMBuildTrunc(b, one, emit->module->i1, "");
    LLVMValueRef offset = LLVMBuildLoad2(b, emit->module->i64,
                                         bd_part_offset(emit, places, emit->module->i64, lane), "");
    LLVMValueRef place = bd_part_offset(emit, base, bd_emit_storage(emit, dtype), offset);
    unsigned lanes = emit->lanes;
    emit->lanes = 1;
    store_scalar(emit, place, one, dtype, mode);
    emit->lanes = lanes;
    if (flags)
        bd_emit_end_if(emit, &branch);
    bd_emit_for_end(emit, &frame);
}

static void scatter(bd_emit *emit, LLVMValueRef base, LLVMValueRef offsets, LLVMValueRef value,
                    burn_dtype dtype, LLVMValueRef wanted)
{
    LLVMTypeRef scalar = bd_emit_storage(emit, dtype);
    LLVMValueRef stored = bd_emit_to_storage(emit, value, dtype);
    LLVMValueRef places = bd_part_offset(emit, base, scalar, offsets);
    if (!wanted)
        wanted = LLVMConstAllOnes(LLVMVectorType(emit->module->i1, emit->lanes));
    LLVMValueRef arguments[] = {stored, places,
                                LLVMConstInt(emit->module->i32, burn_dtype_size(dtype), 0), wanted};
    LLVMTypeRef overloads[] = {LLVMTypeOf(stored), LLVMTypeOf(places)};
    bd_module_intrinsic(emit->module, emit->builder, "llvm.masked.scatter", overloads, 2, arguments,
                        4);
}

static void store_guarded_scalar(bd_emit *emit, LLVMValueRef place, LLVMValueRef value,
                                 burn_dtype dtype, int mode, LLVMValueRef guard)
{
    bd_emit_branch branch;
    if (guard)
        bd_emit_if(emit, &branch, guard);
    unsigned lanes = emit->lanes;
    emit->lanes = 1;
    store_scalar(emit, place, value, dtype, mode);
    emit->lanes = lanes;
    if (guard)
        bd_emit_end_if(emit, &branch);
}

static void store(bd_emit *emit, const bd_kir_instr *instr, int mode)
{
    const bd_kir_access *access = &emit->program->accesses[instr->index];
    burn_dtype dtype = (burn_dtype)emit->program->buffers[access->buffer].dtype;
    bd_kir_int stride = lane_stride(emit, access);
    LLVMValueRef value = emit->values[instr->operands[0]];
    LLVMValueRef place = bd_emit_address(emit, instr->index);
    LLVMValueRef moved = moved_by(emit, instr);
    LLVMValueRef guard = instr->guard >= 0 ? bd_part_guard(emit, instr->guard) : NULL;
    if (moved && !bd_part_is_vector(moved)) {
        place = bd_part_offset(emit, place, bd_emit_storage(emit, dtype), moved);
        moved = NULL;
    }
    bool still = bd_kir_int_is(stride, 0) && !moved;
    if (still && !bd_part_is_vector(value) && !(guard && bd_part_is_vector(guard)) &&
        (mode == BD_KIR_SET || emit->vector_axis < 0)) {
        store_guarded_scalar(emit, place, value, dtype, mode, guard);
        return;
    }
    value = bd_part_is_vector(value) ? value : bd_emit_splat(emit, value);
    LLVMValueRef wanted = bd_part_both(emit, emit->mask, guard);
    if (wanted && !bd_part_is_vector(wanted))
        wanted = bd_emit_splat(emit, wanted);
    if (!moved && bd_kir_int_is(stride, 1)) {
        if (mode != BD_KIR_SET)
            value =
                combine(emit, mode, dtype, bd_part_load_lanes(emit, place, dtype, wanted), value);
        if (bd_loop_may_stream(emit, instr))
            stream_lanes(emit, place, value, dtype, wanted);
        else
            bd_part_store_lanes(emit, place, value, dtype, wanted);
        return;
    }
    LLVMValueRef none = still ? bd_emit_i64(emit, 0) : moved;
    LLVMValueRef offsets = lane_offsets(emit, stride, none);
    if (mode == BD_KIR_SET && instr->code == BD_KIR_STORE && !still)
        scatter(emit, place, offsets, value, dtype, wanted);
    else
        store_in_order(emit, place, offsets, value, dtype, mode, wanted);
}

void bd_part_store(bd_emit *emit, const bd_kir_instr *instr)
{
    store(emit, instr, instr->flags);
}

void bd_part_store_at(bd_emit *emit, const bd_kir_instr *instr)
{
    store(emit, instr, instr->flags);
}

/* ---- checks ---- */

static void report(bd_emit *emit, const bd_kir_instr *instr, LLVMValueRef position,
                   LLVMValueRef extent)
{
    bd_module *module = emit->module;
    LLVMTypeRef parameters[] = {module->pointer, module->i32, module->i64, module->i64};
    LLVMTypeRef type = LLVMFunctionType(module->none, parameters, 4, 0);
    LLVMValueRef function = bd_emit_call_field(emit, offsetof(bd_call, report), module->pointer);
    LLVMValueRef arguments[] = {emit->call, LLVMConstInt(module->i32, instr->index, 0), position,
                                extent};
    LLVMBuildCall2(emit->builder, type, function, arguments, 4, "");
}

LLVMValueRef bd_part_check(bd_emit *emit, const bd_kir_instr *instr)
{
    LLVMBuilderRef b = emit->builder;
    LLVMValueRef given = emit->values[instr->operands[0]], position = given;
    LLVMValueRef extent_scalar = bd_emit_int(emit, instr->integer);
    LLVMValueRef extent = bd_part_match(emit, extent_scalar, position);
    LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(position));
    if (instr->flags & 1) {
        LLVMValueRef negative = LLVMBuildICmp(b, LLVMIntSLT, position, zero, "");
        LLVMValueRef wrapped = LLVMBuildAdd(b, position, extent, "");
        position = LLVMBuildSelect(b, negative, wrapped, position, "");
    }
    LLVMValueRef bad = LLVMBuildICmp(b, LLVMIntUGE, position, extent, "");
    LLVMValueRef result = LLVMBuildSelect(b, bad, zero, position, "");
    bool vector = bd_part_is_vector(bad);
    if (vector && emit->mask)
        bad = LLVMBuildAnd(b, bad, emit->mask, "");
    bd_emit_branch branch;
    bd_emit_if(emit, &branch, vector ? any_lane(emit, bad) : bad);
    if (vector) {
        LLVMTypeRef bits = LLVMIntTypeInContext(emit->module->context, emit->lanes);
        LLVMValueRef word = LLVMBuildBitCast(b, bad, bits, "");
        LLVMValueRef arguments[] = {word, LLVMConstInt(emit->module->i1, 1, 0)};
        LLVMValueRef lane = bd_part_intrinsic(emit, "llvm.cttz", bits, arguments, 2);
        lane = LLVMBuildZExtOrBitCast(b, LLVMBuildIntCast2(b, lane, emit->module->i32, 0, ""),
                                      emit->module->i32, "");
        given = LLVMBuildExtractElement(b, given, lane, "");
    }
    report(emit, instr, given, extent_scalar);
    bd_emit_end_if(emit, &branch);
    return result;
}
