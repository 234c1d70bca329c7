/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/cpu/emit_parts.h"
#include "backends/cpu/gemm_parts.h"
#include "proto/base/alloc.h"

/* A function over a block: rows outside, vectors of columns inside (gemm_parts.h). */
typedef struct block_writer {
    bd_emit *emit;
    const bd_kir_phase *phase;
    int outer_axis, inner_axis; /* -1: missing in the program */
    burn_dtype element;
    LLVMTypeRef scalar;
    LLVMValueRef outer_first, outer_count, inner_first, inner_count, memory, step;
} block_writer;

static LLVMValueRef param(bd_emit *emit, int number)
{
    size_t offset = offsetof(bd_call, params) + sizeof(int64_t) * (size_t)number;
    return bd_emit_call_field(emit, offset, emit->module->i64);
}

/* The batch point's number, taken apart into positions. */
static void set_batch(bd_emit *emit)
{
    const bd_kir *program = emit->program;
    LLVMValueRef rest = param(emit, BD_GEMM_BATCH);
    for (int axis = program->axis_count - 1; axis >= 0; axis--) {
        emit->positions[axis] = bd_emit_i64(emit, 0);
        if (program->axes[axis].role != BD_KIR_BATCH)
            continue;
        LLVMValueRef extent = bd_emit_int(emit, program->axes[axis].extent);
        emit->positions[axis] = LLVMBuildURem(emit->builder, rest, extent, "");
        rest = LLVMBuildUDiv(emit->builder, rest, extent, "");
    }
}

/* Columns first .. last of one row, `lanes` at a time. Returns where it stopped. */
static LLVMValueRef columns(block_writer *w, LLVMValueRef row, LLVMValueRef first, bool masked)
{
    bd_emit *emit = w->emit;
    LLVMBuilderRef b = emit->builder;
    LLVMValueRef stop = w->inner_count;
    if (!masked && emit->lanes > 1)
        stop = LLVMBuildAnd(b, stop, bd_emit_i64(emit, -(int64_t)emit->lanes), "");
    bd_emit_frame frame;
    LLVMValueRef index = bd_emit_for(emit, &frame, first, stop, bd_emit_i64(emit, emit->lanes));
    if (w->inner_axis >= 0)
        emit->positions[w->inner_axis] = LLVMBuildAdd(b, w->inner_first, index, "");
    if (masked)
        bd_emit_set_tail(emit, LLVMBuildSub(b, w->inner_count, index, ""));
    LLVMValueRef place = LLVMBuildGEP2(b, w->scalar, row, &index, 1, "");
    bool pack = w->phase->kind != BD_KIR_EPILOGUE;
    if (!pack)
        emit->acc = bd_part_load_lanes(emit, place, w->element, emit->mask);
    bd_emit_phase(emit, w->phase);
    if (pack) {
        LLVMValueRef value = emit->yielded;
        if (!emit->yielded_varies && emit->lanes > 1)
            value = bd_emit_splat(emit, value);
        bd_part_store_lanes(emit, place, value, w->element, emit->mask);
    }
    bd_emit_clear_tail(emit);
    bd_emit_for_end(emit, &frame);
    return stop;
}

static void row_of_columns(block_writer *w, LLVMValueRef row)
{
    bd_emit *emit = w->emit;
    unsigned lanes = emit->lanes;
    LLVMValueRef rest = columns(w, row, bd_emit_i64(emit, 0), false);
    if (lanes == 1)
        return;
    if (emit->module->target->masked) {
        columns(w, row, rest, true);
        return;
    }
    bd_emit_lanes(emit, w->inner_axis, 1);
    columns(w, row, rest, false);
    bd_emit_lanes(emit, w->inner_axis, lanes);
}

static void write_block(block_writer *w, const char *name, bd_module *module, const bd_kir *program)
{
    bd_emit *emit = w->emit = bd_emit_create(module, program, name);
    bool wide = w->element == BURN_F64;
    w->scalar = wide ? module->f64 : module->f32;
    set_batch(emit);
    for (int p = 0; p < program->phase_count; p++)
        if (program->phases[p].kind == BD_KIR_UNIFORM)
            bd_emit_phase(emit, &program->phases[p]);
    bool swapped = w->outer_axis >= 0 && w->phase->kind != BD_KIR_EPILOGUE &&
                   program->axes[w->outer_axis].role == BD_KIR_K;
    swapped = swapped || (w->phase->kind == BD_KIR_EPILOGUE && bd_gemm_epilogue_down(program));
    w->outer_first = param(emit, swapped ? BD_GEMM_COLUMN : BD_GEMM_ROW);
    w->outer_count = param(emit, swapped ? BD_GEMM_COLUMNS : BD_GEMM_ROWS);
    w->inner_first = param(emit, swapped ? BD_GEMM_ROW : BD_GEMM_COLUMN);
    w->inner_count = param(emit, swapped ? BD_GEMM_ROWS : BD_GEMM_COLUMNS);
    w->memory = LLVMBuildIntToPtr(emit->builder, param(emit, BD_GEMM_MEMORY), module->pointer, "");
    w->step = param(emit, BD_GEMM_STEP);
    unsigned lanes = w->inner_axis < 0 ? 1 : module->target->vector_bytes / (wide ? 8 : 4);
    bd_emit_frame frame;
    LLVMValueRef index =
        bd_emit_for(emit, &frame, bd_emit_i64(emit, 0), w->outer_count, bd_emit_i64(emit, 1));
    if (w->outer_axis >= 0)
        emit->positions[w->outer_axis] = LLVMBuildAdd(emit->builder, w->outer_first, index, "");
    LLVMValueRef offset = LLVMBuildMul(emit->builder, index, w->step, "");
    LLVMValueRef row = LLVMBuildGEP2(emit->builder, w->scalar, w->memory, &offset, 1, "");
    bd_emit_lanes(emit, w->inner_axis, lanes);
    if (w->inner_axis >= 0)
        bd_emit_hoist(emit, w->phase, 1u << w->inner_axis);
    row_of_columns(w, row);
    if (w->inner_axis >= 0)
        bd_emit_unhoist(emit);
    bd_emit_lanes(emit, -1, 1);
    bd_emit_for_end(emit, &frame);
    bd_emit_finish(emit);
}

static void write_pack(bd_module *module, const bd_kir *program, bd_kir_phase_kind kind,
                       const char *name)
{
    bool along_k = bd_gemm_along_k(program, kind);
    int rows = bd_gemm_axis(program, kind == BD_KIR_OPERAND_A ? BD_KIR_M : BD_KIR_N);
    int k = bd_gemm_axis(program, BD_KIR_K);
    block_writer w = {.phase = bd_gemm_phase(program, kind), .element = bd_gemm_element(program)};
    w.outer_axis = along_k ? rows : k;
    w.inner_axis = along_k ? k : rows;
    write_block(&w, name, module, program);
}

bd_error *bd_gemm_emit(bd_module *module, const bd_kir *program)
{
    if (!bd_gemm_fits(program))
        BD_FAIL(UNSUPPORTED, "no micro-kernels sum this contraction's type");
    if (!bd_gemm_plain(program, BD_KIR_OPERAND_A))
        write_pack(module, program, BD_KIR_OPERAND_A, "pa");
    if (!bd_gemm_plain(program, BD_KIR_OPERAND_B))
        write_pack(module, program, BD_KIR_OPERAND_B, "pb");
    block_writer w = {.phase = bd_gemm_phase(program, BD_KIR_EPILOGUE),
                      .element = bd_gemm_element(program)};
    bool down = bd_gemm_epilogue_down(program);
    w.outer_axis = down ? -1 : bd_gemm_axis(program, BD_KIR_M);
    w.inner_axis = bd_gemm_axis(program, down ? BD_KIR_M : BD_KIR_N);
    write_block(&w, "ep", module, program);
    return NULL;
}
