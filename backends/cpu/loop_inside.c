/* SPDX-License-Identifier: Apache-2.0
 * Whether a whole row lies where guards hold, so that its elements need not ask. */
#include "backends/cpu/loop_parts.h"

static bool uses_guard(const bd_kir *program, const bd_kir_phase *phase, int guard)
{
    for (int i = phase->first; i < phase->first + phase->count; i++) {
        const bd_kir_instr *instr = &program->instrs[i];
        int number = instr->code == BD_KIR_GUARD         ? instr->index + 1
                     : bd_part_has_access(instr->code) ? instr->guard + 1
                                                        : 0;
        for (; number > 0; number = program->guards[number - 1].also)
            if (number - 1 == guard)
                return true;
    }
    return false;
}

/* Whether a guard that is alike for all lanes holds everywhere on the SERIAL axes. */
static LLVMValueRef holds_inside(bd_emit *emit, const bd_kir_guard *guard)
{
    const bd_loop_shape *shape = emit->loop->shape;
    LLVMBuilderRef b = emit->builder;
    LLVMValueRef zero = bd_emit_i64(emit, 0), first = bd_emit_int(emit, guard->offset);
    for (int axis = 0; axis < emit->program->axis_count; axis++)
        if (emit->program->axes[axis].role != BD_KIR_SERIAL)
            first = bd_part_add_scaled(emit, first, guard->strides[axis], emit->positions[axis]);
    LLVMValueRef last = first;
    for (int i = 0; i < shape->serial_count; i++) {
        int axis = shape->serial[i];
        if (bd_kir_int_is(guard->strides[axis], 0))
            continue;
        LLVMValueRef reach = LLVMBuildSub(b, emit->loop->extents[axis], bd_emit_i64(emit, 1), "");
        reach = bd_part_add_scaled(emit, NULL, guard->strides[axis], reach);
        LLVMValueRef down = LLVMBuildICmp(b, LLVMIntSLT, reach, zero, "");
        first = LLVMBuildAdd(b, first, LLVMBuildSelect(b, down, reach, zero, ""), "");
        last = LLVMBuildAdd(b, last, LLVMBuildSelect(b, down, zero, reach, ""), "");
    }
    LLVMValueRef low = LLVMBuildICmp(b, LLVMIntSGE, first, zero, "");
    LLVMValueRef high = LLVMBuildICmp(b, LLVMIntSLT, last, bd_emit_int(emit, guard->extent), "");
    return LLVMBuildAnd(b, low, high, "");
}

LLVMValueRef bd_loop_inside(bd_emit *emit, const bd_kir_phase *phase)
{
    const bd_kir *program = emit->program;
    LLVMValueRef all = NULL;
    for (int i = 0; i < program->guard_count; i++) {
        const bd_kir_guard *guard = &program->guards[i];
        if (!bd_kir_int_is(guard->strides[emit->loop->shape->vector_axis], 0) ||
            !uses_guard(program, phase, i))
            continue;
        LLVMValueRef holds = holds_inside(emit, guard);
        all = all ? LLVMBuildAnd(emit->builder, all, holds, "") : holds;
    }
    return all;
}
