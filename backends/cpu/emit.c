/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/cpu/emit.h"

#include <string.h>

#include "backends/cpu/constants.h"
#include "backends/cpu/emit_parts.h"
#include "proto/base/alloc.h"
#include "proto/base/assert.h"

static void add_attribute(bd_emit *emit, const char *name, const char *value)
{
    LLVMContextRef context = emit->module->context;
    LLVMAttributeRef attribute = LLVMCreateStringAttribute(context, name, (unsigned)strlen(name),
                                                           value, (unsigned)strlen(value));
    LLVMAddAttributeAtIndex(emit->function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                            attribute);
}

static unsigned axes_of_strides(const bd_kir *program, const bd_kir_int *strides)
{
    unsigned axes = 0;
    for (unsigned axis = 0; axis < program->axis_count; axis++)
        if (!bd_kir_int_is(strides[axis], 0))
            axes |= 1u << axis;
    return axes;
}

static unsigned axes_of_instr(const bd_emit *emit, const bd_kir_instr *instr)
{
    const bd_kir *program = emit->program;
    unsigned axes = 0, parallel = 0, all = (1u << program->axis_count) - 1;
    for (unsigned axis = 0; axis < program->axis_count; axis++)
        if (program->axes[axis].role == BD_KIR_PARALLEL)
            parallel |= 1u << axis;
    if (bd_kir_is_reduce((bd_kir_code)instr->code))
        return parallel;
    if (instr->code == BD_KIR_RESTORE || instr->code == BD_KIR_ACC ||
        bd_kir_is_scan((bd_kir_code)instr->code))
        return all;
    if (instr->code == BD_KIR_INDEX)
        axes |= 1u << instr->index;
    if (instr->code == BD_KIR_GUARD)
        axes |= bd_kir_guard_axes(program, instr->index);
    if (bd_part_has_access(instr->code)) {
        axes |= axes_of_strides(program, program->accesses[instr->index].strides);
        if (instr->guard >= 0)
            axes |= bd_kir_guard_axes(program, instr->guard);
    }
    for (int i = 0; i < 3; i++)
        if (instr->operands[i])
            axes |= emit->axes[instr->operands[i]];
    return axes;
}

static void mark(bd_emit *emit, LLVMValueRef load, const char *kind, int64_t value)
{
    LLVMContextRef context = emit->module->context;
    LLVMMetadataRef number = LLVMValueAsMetadata(bd_emit_i64(emit, value));
    LLVMMetadataRef node = LLVMMDNodeInContext2(context, &number, 1);
    LLVMSetMetadata(load, LLVMGetMDKindIDInContext(context, kind, (unsigned)strlen(kind)),
                    LLVMMetadataAsValue(context, node));
}

/* What lies at this pointer may be loaded in front of a loop that might not run. */
static void mark_readable(bd_emit *emit, LLVMValueRef pointer, size_t count)
{
    if (count == 0)
        return;
    mark(emit, pointer, "dereferenceable", (int64_t)(count * sizeof(int64_t)));
    mark(emit, pointer, "align", _Alignof(int64_t));
}

bd_emit *bd_emit_create(bd_module *module, const bd_kir *program, const char *name)
{
    bd_emit *emit = bd_alloc_zeroed(sizeof *emit);
    size_t value_count = (size_t)program->instr_count + 1;
    emit->module = module;
    emit->program = program;
    emit->values = bd_alloc_zeroed(value_count * sizeof *emit->values);
    emit->varies = bd_alloc_zeroed(value_count * sizeof *emit->varies);
    emit->hoisted = bd_alloc_zeroed(value_count * sizeof *emit->hoisted);
    emit->axes = bd_alloc_zeroed(value_count * sizeof *emit->axes);
    emit->bases = bd_alloc_zeroed((program->access_count + 1u) * sizeof *emit->bases);
    emit->guards = bd_alloc_zeroed((program->guard_count + 1u) * sizeof(LLVMValueRef));
    for (unsigned i = 0; i < program->instr_count; i++)
        emit->axes[i + 1] = (uint16_t)axes_of_instr(emit, &program->instrs[i]);
    emit->function = LLVMAddFunction(module->llvm, name, module->pass_type);
    unsigned nounwind = LLVMGetEnumAttributeKindForName("nounwind", 8);
    LLVMAddAttributeAtIndex(emit->function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                            LLVMCreateEnumAttribute(module->context, nounwind, 0));
    add_attribute(emit, "prefer-vector-width", module->target->vector_bytes == 64 ? "512" : "256");
    add_attribute(emit, "min-legal-vector-width",
                  module->target->vector_bytes == 64 ? "512" : "256");
    emit->call = LLVMGetParam(emit->function, 0);
    emit->begin = LLVMGetParam(emit->function, 1);
    emit->end = LLVMGetParam(emit->function, 2);
    emit->builder = LLVMCreateBuilderInContext(module->context);
    emit->entry = LLVMAppendBasicBlockInContext(module->context, emit->function, "");
    LLVMPositionBuilderAtEnd(emit->builder, bd_part_block(emit));
    emit->ints = bd_emit_call_field(emit, offsetof(bd_call, ints), module->pointer);
    emit->buffers = bd_emit_call_field(emit, offsetof(bd_call, buffers), module->pointer);
    emit->scalars = bd_emit_call_field(emit, offsetof(bd_call, scalars), module->pointer);
    emit->math = bd_emit_call_field(emit, offsetof(bd_call, math), module->pointer);
    mark_readable(emit, emit->ints, program->int_count);
    mark_readable(emit, emit->buffers, program->buffer_count);
    mark_readable(emit, emit->scalars, program->scalar_count);
    for (unsigned axis = 0; axis < BD_KIR_AXES_MAX; axis++)
        emit->positions[axis] = bd_emit_i64(emit, 0);
    bd_emit_lanes(emit, -1, 1);
    return emit;
}

void bd_emit_finish(bd_emit *emit)
{
    if (emit->streamed)
        bd_part_intrinsic(emit, "llvm.x86.sse.sfence", NULL, NULL, 0);
    LLVMBuildRetVoid(emit->builder);
    LLVMPositionBuilderAtEnd(emit->builder, emit->entry);
    LLVMBuildBr(emit->builder, LLVMGetNextBasicBlock(emit->entry));
    LLVMDisposeBuilder(emit->builder);
    bd_free(emit->guards);
    bd_free(emit->values);
    bd_free(emit->varies);
    bd_free(emit->hoisted);
    bd_free(emit->axes);
    bd_free(emit->bases);
    bd_free(emit);
}

static bool instr_varies(const bd_emit *emit, const bd_kir_instr *instr)
{
    const bd_kir *program = emit->program;
    int axis = emit->vector_axis;
    if (axis < 0)
        return false;
    if (instr->code == BD_KIR_RESTORE || instr->code == BD_KIR_ACC ||
        bd_kir_is_scan((bd_kir_code)instr->code))
        return true;
    if (bd_kir_is_reduce((bd_kir_code)instr->code))
        return program->axes[axis].role != BD_KIR_SERIAL;
    if (instr->code == BD_KIR_INDEX)
        return instr->index == axis;
    if (instr->code == BD_KIR_GUARD)
        return bd_kir_guard_axes(program, instr->index) >> axis & 1;
    if (bd_part_has_access(instr->code)) {
        if (!bd_kir_int_is(program->accesses[instr->index].strides[axis], 0))
            return true;
        if (instr->guard >= 0 && (bd_kir_guard_axes(program, instr->guard) >> axis & 1))
            return true;
    }
    for (int i = 0; i < 3; i++)
        if (instr->operands[i] && emit->varies[instr->operands[i]])
            return true;
    return false;
}

static void forget_guards(bd_emit *emit)
{
    memset(emit->guards, 0, (emit->program->guard_count + 1u) * sizeof(LLVMValueRef));
    emit->guards_mask = NULL;
}

void bd_emit_lanes(bd_emit *emit, int vector_axis, unsigned lanes)
{
    forget_guards(emit);
    emit->vector_axis = lanes == 1 ? -1 : vector_axis;
    emit->lanes = lanes;
    for (unsigned i = 0; i < emit->program->instr_count; i++)
        emit->varies[i + 1] = instr_varies(emit, &emit->program->instrs[i]);
}

void bd_emit_phase(bd_emit *emit, const bd_kir_phase *phase)
{
    for (int i = 0; i < phase->count; i++)
        if (!emit->hoisted[phase->first + i + 1])
            bd_emit_instr(emit, phase->first + i);
}

static bool may_hoist(const bd_kir *program, const bd_kir_instr *instr)
{
    if (bd_part_is_effect(instr->code) || bd_kir_is_reduce((bd_kir_code)instr->code) ||
        instr->code == BD_KIR_RESTORE || instr->code == BD_KIR_ACC)
        return false;
    return !bd_part_has_access(instr->code) ||
           program->buffers[program->accesses[instr->index].buffer].use == BD_KIR_READ;
}

static void hoist_address(bd_emit *emit, int access, unsigned axes)
{
    struct bd_emit_base *base = &emit->bases[access];
    unsigned used = axes_of_strides(emit->program, emit->program->accesses[access].strides);
    if (base->pointer && (base->missing & ~axes) == 0)
        return;
    base->pointer = bd_part_address_without(emit, access, axes);
    base->missing = (uint16_t)(used & axes);
}

static void hoist_guards(bd_emit *emit, const bd_kir_instr *instr, unsigned axes)
{
    const bd_kir_guard *guards = emit->program->guards;
    int number = instr->code == BD_KIR_GUARD        ? instr->index + 1
                 : bd_part_has_access(instr->code) ? instr->guard + 1
                                                    : 0;
    for (; number > 0; number = guards[number - 1].also) {
        if (axes_of_strides(emit->program, guards[number - 1].strides) & axes)
            continue;
        LLVMValueRef holds = bd_part_own_guard(emit, number - 1);
        bool masks = emit->loop && emit->mask && holds && bd_part_is_vector(holds) &&
                     !emit->guards[number - 1];
        emit->guards[number - 1] =
            masks ? LLVMBuildAnd(emit->builder, holds, emit->mask, "") : holds;
        emit->guards_mask = emit->loop ? emit->mask : NULL;
    }
}

void bd_emit_hoist(bd_emit *emit, const bd_kir_phase *phase, unsigned axes)
{
    for (int i = phase->first; i < phase->first + phase->count; i++) {
        const bd_kir_instr *instr = &emit->program->instrs[i];
        hoist_guards(emit, instr, axes);
        bool movable = may_hoist(emit->program, instr) && !(emit->axes[i + 1] & axes);
        for (int k = 0; k < 3 && movable; k++) {
            int operand = instr->operands[k];
            if (operand > phase->first && !emit->hoisted[operand])
                movable = false;
        }
        if (movable && !emit->hoisted[i + 1]) {
            bd_emit_instr(emit, i);
            emit->hoisted[i + 1] = true;
        } else if (bd_part_has_access(instr->code)) {
            hoist_address(emit, instr->index, axes);
        }
    }
}

void bd_emit_unhoist(bd_emit *emit)
{
    memset(emit->hoisted, 0, (emit->program->instr_count + 1u) * sizeof *emit->hoisted);
    memset(emit->bases, 0, (emit->program->access_count + 1u) * sizeof *emit->bases);
    forget_guards(emit);
}

/* ---- control flow ---- */

LLVMBasicBlockRef bd_part_block(bd_emit *emit)
{
    return LLVMAppendBasicBlockInContext(emit->module->context, emit->function, "");
}

LLVMValueRef bd_emit_for(bd_emit *emit, bd_emit_frame *frame, LLVMValueRef first, LLVMValueRef last,
                         LLVMValueRef step)
{
    memset(frame, 0, sizeof *frame);
    frame->before = LLVMGetInsertBlock(emit->builder);
    frame->head = bd_part_block(emit);
    frame->body = bd_part_block(emit);
    frame->exit = bd_part_block(emit);
    frame->step = step;
    frame->last = last;
    LLVMBuildBr(emit->builder, frame->head);
    LLVMPositionBuilderAtEnd(emit->builder, frame->head);
    frame->index = LLVMBuildPhi(emit->builder, emit->module->i64, "");
    LLVMAddIncoming(frame->index, &first, &frame->before, 1);
    LLVMValueRef more = LLVMBuildICmp(emit->builder, LLVMIntSLT, frame->index, last, "");
    LLVMBuildCondBr(emit->builder, more, frame->body, frame->exit);
    LLVMPositionBuilderAtEnd(emit->builder, frame->body);
    return frame->index;
}

LLVMValueRef bd_emit_carry(bd_emit *emit, bd_emit_frame *frame, LLVMValueRef initial)
{
    BD_ASSERT(frame->carry_count < BD_EMIT_CARRY_MAX);
    LLVMBasicBlockRef here = LLVMGetInsertBlock(emit->builder);
    LLVMPositionBuilderBefore(emit->builder, LLVMGetFirstInstruction(frame->head));
    LLVMValueRef phi = LLVMBuildPhi(emit->builder, LLVMTypeOf(initial), "");
    LLVMAddIncoming(phi, &initial, &frame->before, 1);
    LLVMPositionBuilderAtEnd(emit->builder, here);
    frame->phis[frame->carry_count] = phi;
    frame->nexts[frame->carry_count++] = phi;
    return phi;
}

void bd_emit_carried(bd_emit_frame *frame, unsigned number, LLVMValueRef next)
{
    frame->nexts[number] = next;
}

void bd_emit_for_end(bd_emit *emit, bd_emit_frame *frame)
{
    LLVMBasicBlockRef latch = LLVMGetInsertBlock(emit->builder);
    LLVMValueRef next = LLVMBuildNSWAdd(emit->builder, frame->index, frame->step, "");
    LLVMAddIncoming(frame->index, &next, &latch, 1);
    for (unsigned i = 0; i < frame->carry_count; i++)
        LLVMAddIncoming(frame->phis[i], &frame->nexts[i], &latch, 1);
    LLVMBuildBr(emit->builder, frame->head);
    LLVMPositionBuilderAtEnd(emit->builder, frame->exit);
}

void bd_emit_if(bd_emit *emit, bd_emit_branch *branch, LLVMValueRef condition)
{
    branch->then = bd_part_block(emit);
    branch->after = bd_part_block(emit);
    LLVMBuildCondBr(emit->builder, condition, branch->then, branch->after);
    LLVMPositionBuilderAtEnd(emit->builder, branch->then);
}

void bd_emit_end_if(bd_emit *emit, bd_emit_branch *branch)
{
    LLVMBuildBr(emit->builder, branch->after);
    LLVMPositionBuilderAtEnd(emit->builder, branch->after);
}

/* ---- pieces ---- */

LLVMValueRef bd_emit_i64(const bd_emit *emit, int64_t value)
{
    return LLVMConstInt(emit->module->i64, (unsigned long long)value, 1);
}

LLVMValueRef bd_part_offset(bd_emit *emit, LLVMValueRef base, LLVMTypeRef type, LLVMValueRef index)
{
    return LLVMBuildGEP2(emit->builder, type, base, &index, 1, "");
}

LLVMValueRef bd_emit_call_field(bd_emit *emit, size_t offset, LLVMTypeRef type)
{
    LLVMValueRef place =
        bd_part_offset(emit, emit->call, emit->module->i8, bd_emit_i64(emit, (int64_t)offset));
    LLVMValueRef value = LLVMBuildLoad2(emit->builder, type, place, "");
    bd_part_mark_invariant(emit, value);
    return value;
}

LLVMValueRef bd_emit_param(bd_emit *emit, int number)
{
    size_t offset = offsetof(bd_call, params) + sizeof(int64_t) * (size_t)number;
    return bd_emit_call_field(emit, offset, emit->module->i64);
}

void bd_part_mark_invariant(bd_emit *emit, LLVMValueRef load)
{
    LLVMContextRef context = emit->module->context;
    unsigned kind = LLVMGetMDKindIDInContext(context, "invariant.load", 14);
    LLVMMetadataRef empty = LLVMMDNodeInContext2(context, NULL, 0);
    LLVMSetMetadata(load, kind, LLVMMetadataAsValue(context, empty));
}

LLVMValueRef bd_emit_int(bd_emit *emit, bd_kir_int integer)
{
    if (integer.argument < 0)
        return bd_emit_i64(emit, integer.value);
    LLVMValueRef place =
        bd_part_offset(emit, emit->ints, emit->module->i64, bd_emit_i64(emit, integer.argument));
    LLVMValueRef value = LLVMBuildLoad2(emit->builder, emit->module->i64, place, "");
    bd_part_mark_invariant(emit, value);
    return value;
}

LLVMValueRef bd_emit_buffer(bd_emit *emit, int buffer)
{
    LLVMValueRef place =
        bd_part_offset(emit, emit->buffers, emit->module->pointer, bd_emit_i64(emit, buffer));
    LLVMValueRef base = LLVMBuildLoad2(emit->builder, emit->module->pointer, place, "");
    bd_part_mark_invariant(emit, base);
    return base;
}

/* sum + stride * position, without the multiplication where it can be spared; sum may be NULL. */
LLVMValueRef bd_part_add_scaled(bd_emit *emit, LLVMValueRef sum, bd_kir_int stride,
                                LLVMValueRef position)
{
    if (bd_kir_int_is(stride, 0))
        return sum;
    LLVMValueRef term = position;
    if (!bd_kir_int_is(stride, 1))
        term = LLVMBuildMul(emit->builder, position, bd_emit_int(emit, stride), "");
    return sum ? LLVMBuildAdd(emit->builder, sum, term, "") : term;
}

LLVMValueRef bd_part_address_without(bd_emit *emit, int number, unsigned without)
{
    const bd_kir *program = emit->program;
    const bd_kir_access *access = &program->accesses[number];
    const struct bd_emit_base *base = &emit->bases[number];
    LLVMTypeRef type = bd_emit_storage(emit, program->buffers[access->buffer].dtype);
    LLVMValueRef pointer = base->pointer, sum = NULL;
    unsigned wanted = base->pointer ? base->missing : (1u << program->axis_count) - 1;
    if (!pointer) {
        pointer = bd_emit_buffer(emit, access->buffer);
        if (!bd_kir_int_is(access->offset, 0))
            sum = bd_emit_int(emit, access->offset);
    }
    for (unsigned axis = 0; axis < program->axis_count; axis++)
        if (wanted & ~without & (1u << axis))
            sum = bd_part_add_scaled(emit, sum, access->strides[axis], emit->positions[axis]);
    return sum ? bd_part_offset(emit, pointer, type, sum) : pointer;
}

LLVMValueRef bd_emit_address(bd_emit *emit, int access)
{
    return bd_part_address_without(emit, access, 0);
}

LLVMValueRef bd_emit_splat(bd_emit *emit, LLVMValueRef scalar)
{
    if (emit->lanes == 1)
        return scalar;
    LLVMTypeRef vector = LLVMVectorType(LLVMTypeOf(scalar), emit->lanes);
    LLVMTypeRef zeros = LLVMVectorType(emit->module->i32, emit->lanes);
    LLVMValueRef undefined = LLVMGetPoison(vector);
    LLVMValueRef first = LLVMBuildInsertElement(emit->builder, undefined, scalar,
                                                LLVMConstInt(emit->module->i32, 0, 0), "");
    return LLVMBuildShuffleVector(emit->builder, first, undefined, LLVMConstNull(zeros), "");
}

LLVMValueRef bd_emit_vector(bd_emit *emit, bd_kir_value value)
{
    LLVMValueRef it = emit->values[value];
    BD_ASSERT(it);
    bool vector = LLVMGetTypeKind(LLVMTypeOf(it)) == LLVMVectorTypeKind;
    return vector ? it : bd_emit_splat(emit, it);
}

LLVMValueRef bd_emit_iota(bd_emit *emit, LLVMTypeRef type)
{
    if (emit->lanes == 1)
        return LLVMConstInt(type, 0, 0);
    LLVMValueRef items[256];
    BD_ASSERT(emit->lanes <= 256);
    for (unsigned i = 0; i < emit->lanes; i++)
        items[i] = LLVMConstInt(type, i, 0);
    return LLVMConstVector(items, emit->lanes);
}

void bd_emit_set_tail(bd_emit *emit, LLVMValueRef remaining)
{
    BD_ASSERT(emit->lanes > 1);
    LLVMBuilderRef b = emit->builder;
    LLVMValueRef lanes = bd_emit_i64(emit, emit->lanes);
    LLVMValueRef fits = LLVMBuildICmp(b, LLVMIntSLT, remaining, lanes, "");
    emit->active = LLVMBuildSelect(b, fits, remaining, lanes, "");
    LLVMValueRef narrow = LLVMBuildTrunc(b, emit->active, emit->module->i32, "");
    emit->mask = LLVMBuildICmp(b, LLVMIntULT, bd_emit_iota(emit, emit->module->i32),
                               bd_emit_splat(emit, narrow), "");
}

void bd_emit_clear_tail(bd_emit *emit)
{
    emit->mask = emit->active = NULL;
}

LLVMValueRef bd_emit_alloca(bd_emit *emit, LLVMTypeRef type, unsigned align)
{
    LLVMBasicBlockRef here = LLVMGetInsertBlock(emit->builder);
    LLVMPositionBuilderAtEnd(emit->builder, emit->entry);
    LLVMValueRef place = LLVMBuildAlloca(emit->builder, type, "");
    LLVMSetAlignment(place, align);
    LLVMPositionBuilderAtEnd(emit->builder, here);
    return place;
}
