/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "backends/cpu/attention.h"
#include "backends/cpu/emit_parts.h"
#include "backends/cpu/gemm_parts.h"
#include "backends/cpu/loop.h"

/* A function over a block: rows outside, vectors of columns inside. */
typedef struct block {
    bd_emit *emit;
    const bd_kir_phase *phase;
    int row_axis, column_axis; /* -1: missing in the program */
    burn_dtype element;        /* of the block in memory */
    bool reads, writes;        /* ACC from the block, what is yielded to it */
    LLVMTypeRef scalar;
    LLVMValueRef column_first, column_count;
} block;

/* The batch point's number, taken apart into positions. */
static void set_batch(bd_emit *emit)
{
    const bd_kir *program = emit->program;
    LLVMValueRef rest = bd_emit_param(emit, BD_ATTENTION_BATCH);
    for (int axis = program->axis_count - 1; axis >= 0; axis--) {
        emit->positions[axis] = bd_emit_i64(emit, 0);
        if (program->axes[axis].role != BD_KIR_BATCH)
            continue;
        LLVMValueRef extent = bd_emit_int(emit, program->axes[axis].extent);
        emit->positions[axis] = LLVMBuildURem(emit->builder, rest, extent, "");
        rest = LLVMBuildUDiv(emit->builder, rest, extent, "");
    }
}

/* Columns from `first` on, `lanes` at a time. Returns where it stopped. */
static LLVMValueRef columns(block *w, LLVMValueRef row, LLVMValueRef first, bool masked)
{
    bd_emit *emit = w->emit;
    LLVMBuilderRef b = emit->builder;
    LLVMValueRef stop = w->column_count;
    if (!masked && emit->lanes > 1)
        stop = LLVMBuildAnd(b, stop, bd_emit_i64(emit, -(int64_t)emit->lanes), "");
    bd_emit_frame frame;
    LLVMValueRef index = bd_emit_for(emit, &frame, first, stop, bd_emit_i64(emit, emit->lanes));
    if (w->column_axis >= 0)
        emit->positions[w->column_axis] = LLVMBuildAdd(b, w->column_first, index, "");
    if (masked)
        bd_emit_set_tail(emit, LLVMBuildSub(b, w->column_count, index, ""));
    LLVMValueRef place = LLVMBuildGEP2(b, w->scalar, row, &index, 1, "");
    if (w->reads)
        emit->acc = bd_part_load_lanes(emit, place, w->element, emit->mask);
    bd_emit_phase(emit, w->phase);
    if (w->writes) {
        bool splat = !emit->yielded_varies && emit->lanes > 1;
        LLVMValueRef value = splat ? bd_emit_splat(emit, emit->yielded) : emit->yielded;
        bd_part_store_lanes(emit, place, value, w->element, emit->mask);
    }
    bd_emit_clear_tail(emit);
    bd_emit_for_end(emit, &frame);
    return stop;
}

static void row_of_columns(block *w, LLVMValueRef row)
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
    bd_emit_lanes(emit, w->column_axis, 1);
    columns(w, row, rest, false);
    bd_emit_lanes(emit, w->column_axis, lanes);
}

static void write_block(block *w, const char *name, bd_module *module, const bd_kir *program)
{
    bd_emit *emit = w->emit = bd_emit_create(module, program, name);
    LLVMBuilderRef b = emit->builder;
    bool wide = w->element == BURN_F64;
    w->scalar = wide ? module->f64 : module->f32;
    set_batch(emit);
    for (int p = 0; p < program->phase_count; p++)
        if (program->phases[p].kind == BD_KIR_UNIFORM)
            bd_emit_phase(emit, &program->phases[p]);
    w->column_first = bd_emit_param(emit, BD_ATTENTION_COLUMN);
    w->column_count = bd_emit_param(emit, BD_ATTENTION_COLUMNS);
    LLVMValueRef memory =
        LLVMBuildIntToPtr(b, bd_emit_param(emit, BD_ATTENTION_MEMORY), module->pointer, "");
    LLVMValueRef step = bd_emit_param(emit, BD_ATTENTION_STEP),
                 first = bd_emit_param(emit, BD_ATTENTION_ROW);
    unsigned lanes = w->column_axis < 0 ? 1 : module->target->vector_bytes / (wide ? 8 : 4);
    bd_emit_frame frame;
    LLVMValueRef index = bd_emit_for(emit, &frame, bd_emit_i64(emit, 0),
                                     bd_emit_param(emit, BD_ATTENTION_ROWS), bd_emit_i64(emit, 1));
    if (w->row_axis >= 0)
        emit->positions[w->row_axis] = LLVMBuildAdd(b, first, index, "");
    LLVMValueRef offset = LLVMBuildMul(b, index, step, "");
    LLVMValueRef row = LLVMBuildGEP2(b, w->scalar, memory, &offset, 1, "");
    bd_emit_lanes(emit, w->column_axis, lanes);
    if (w->column_axis >= 0)
        bd_emit_hoist(emit, w->phase, 1u << w->column_axis);
    row_of_columns(w, row);
    if (w->column_axis >= 0)
        bd_emit_unhoist(emit);
    bd_emit_lanes(emit, -1, 1);
    bd_emit_for_end(emit, &frame);
    bd_emit_finish(emit);
}

/* Rows [n0] of [n1] elements, n2 apart, in place: the largest, exponentials and their sum,
 * quotients. The largest of a row that is all -inf counts as 0, and a sum of 0 as 1. */
static bd_error *softmax_program(burn_dtype dtype, bd_arena *arena, bd_kir **out)
{
    bd_kir_builder *b = bd_kir_builder_create(BD_KIR_LOOP);
    for (int i = 0; i < BD_SOFTMAX_INTS; i++)
        bd_kir_add_int(b);
    int rows = bd_kir_add_axis(b, BD_KIR_PARALLEL, bd_kir_arg(BD_SOFTMAX_ROWS));
    int keys = bd_kir_add_axis(b, BD_KIR_SERIAL, bd_kir_arg(BD_SOFTMAX_COLUMNS));
    bd_kir_access access = {.buffer = (uint16_t)bd_kir_add_buffer(b, dtype, BD_KIR_READ_WRITE)};
    for (int axis = 0; axis < BD_KIR_AXES_MAX; axis++)
        access.strides[axis] = bd_kir_const(0);
    access.offset = bd_kir_const(0);
    access.strides[rows] = bd_kir_arg(BD_SOFTMAX_STEP);
    access.strides[keys] = bd_kir_const(1);
    uint16_t place = (uint16_t)bd_kir_add_access(b, &access);
    bd_kir_instr load = {.code = BD_KIR_LOAD, .index = place, .guard = -1};
    bd_kir_begin_phase(b, BD_KIR_EACH);
    bd_kir_value most = bd_kir_unary(b, BD_KIR_REDUCE_MAX, bd_kir_emit(b, &load));
    bd_kir_begin_phase(b, BD_KIR_ROW);
    bd_kir_value lowest = bd_kir_const_float(b, dtype, -INFINITY);
    bd_kir_value zero = bd_kir_const_float(b, dtype, 0), one = bd_kir_const_float(b, dtype, 1);
    most = bd_kir_select(b, bd_kir_binary(b, BD_KIR_EQ, most, lowest), zero, most);
    bd_kir_begin_phase(b, BD_KIR_EACH);
    bd_kir_value power = bd_kir_binary(b, BD_KIR_SUB, bd_kir_emit(b, &load), most);
    power = bd_kir_unary(b, BD_KIR_EXP, power);
    bd_kir_instr keep = {.code = BD_KIR_STORE, .operands = {power}, .index = place, .guard = -1};
    bd_kir_value sum = bd_kir_unary(b, BD_KIR_REDUCE_SUM, power);
    bd_kir_emit(b, &keep);
    bd_kir_begin_phase(b, BD_KIR_ROW);
    sum = bd_kir_select(b, bd_kir_binary(b, BD_KIR_EQ, sum, zero), one, sum);
    bd_kir_begin_phase(b, BD_KIR_EACH);
    bd_kir_value weight = bd_kir_binary(b, BD_KIR_DIV, bd_kir_emit(b, &load), sum);
    bd_kir_instr store = {.code = BD_KIR_STORE, .operands = {weight}, .index = place, .guard = -1};
    bd_kir_emit(b, &store);
    bd_error *err = bd_kir_finish(b, arena, out);
    bd_kir_builder_destroy(b);
    return err;
}

bd_error *bd_attention_emit(bd_module *module, const bd_kir *program)
{
    burn_dtype element;
    BD_TRY(bd_attention_element(program, &element));
    const struct {
        const char *name;
        bd_kir_phase_kind kind;
        bd_kir_role rows, columns;
        bool reads, writes;
    } functions[] = {
        {"qa", BD_KIR_OPERAND_A, BD_KIR_M, BD_KIR_K, false, true},
        {"kb", BD_KIR_OPERAND_B, BD_KIR_N, BD_KIR_K, false, true},
        {"sc", BD_KIR_SCORE, BD_KIR_M, BD_KIR_N, true, true},
        {"vc", BD_KIR_OPERAND_C, BD_KIR_N, BD_KIR_E, false, true},
        {"ep", BD_KIR_EPILOGUE, BD_KIR_M, BD_KIR_E, true, false},
    };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        block w = {.phase = bd_gemm_phase(program, functions[i].kind),
                   .row_axis = bd_kir_axis_of(program, functions[i].rows),
                   .column_axis = bd_kir_axis_of(program, functions[i].columns),
                   .element = element,
                   .reads = functions[i].reads,
                   .writes = functions[i].writes};
        if (w.phase)
            write_block(&w, functions[i].name, module, program);
    }
    bd_arena arena;
    bd_arena_init(&arena);
    bd_kir *softmax = NULL;
    bd_error *err = softmax_program(element, &arena, &softmax);
    if (!err)
        err = bd_loop_emit(module, softmax);
    bd_arena_deinit(&arena);
    return err;
}
