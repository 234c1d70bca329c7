/* SPDX-License-Identifier: Apache-2.0
 * A contraction written as loops. The GEMM takes those that it has a form for; the others, such as
 * integers, run this way. */
#include <string.h>

#include "backends/cpu/loop.h"
#include "proto/base/alloc.h"

typedef struct rewrite {
    const bd_kir *from;
    bd_kir *to;
    int axes[BD_KIR_AXES_MAX]; /* old number to new */
    bd_kir_value *values;      /* old value to new */
    bd_kir_value acc;          /* the new sum */
} rewrite;

static void move_strides(const rewrite *r, const bd_kir_int *from, bd_kir_int *to)
{
    bd_kir_int moved[BD_KIR_AXES_MAX];
    for (int i = 0; i < BD_KIR_AXES_MAX; i++)
        moved[i] = bd_kir_const(0);
    for (int i = 0; i < r->from->axis_count; i++)
        moved[r->axes[i]] = from[i];
    memcpy(to, moved, sizeof moved);
}

static void move_axes(rewrite *r, bd_arena *arena)
{
    const bd_kir *from = r->from;
    bd_kir *to = r->to;
    int next = 0;
    for (int serial = 0; serial < 2; serial++)
        for (int i = 0; i < from->axis_count; i++) {
            if ((from->axes[i].role == BD_KIR_K) != (serial == 1))
                continue;
            r->axes[i] = next;
            to->axes[next++] =
                (bd_kir_axis){from->axes[i].extent, serial ? BD_KIR_SERIAL : BD_KIR_PARALLEL};
        }
    to->accesses = bd_arena_copy(arena, from->accesses, from->access_count * sizeof *to->accesses);
    to->guards = bd_arena_copy(arena, from->guards, from->guard_count * sizeof *to->guards);
    for (int i = 0; i < from->access_count; i++)
        move_strides(r, from->accesses[i].strides, to->accesses[i].strides);
    for (int i = 0; i < from->guard_count; i++)
        move_strides(r, from->guards[i].strides, to->guards[i].strides);
}

static bd_kir_value append(rewrite *r, bd_kir_instr instr)
{
    r->to->instrs[r->to->instr_count++] = instr;
    return (bd_kir_value)r->to->instr_count;
}

static bd_kir_value converted(rewrite *r, bd_kir_value value, uint8_t dtype)
{
    if (r->to->instrs[value - 1].dtype == dtype)
        return value;
    return append(
        r, (bd_kir_instr){.code = BD_KIR_CAST, .dtype = dtype, .operands = {value}, .guard = -1});
}

/* Copies a phase; returns what its YIELD gave. */
static bd_kir_value copy_phase(rewrite *r, const bd_kir_phase *phase)
{
    bd_kir_value yielded = 0;
    for (int i = phase->first; i < phase->first + phase->count; i++) {
        bd_kir_instr instr = r->from->instrs[i];
        for (int k = 0; k < 3; k++)
            instr.operands[k] = instr.operands[k] ? r->values[instr.operands[k]] : 0;
        if (instr.code == BD_KIR_YIELD) {
            yielded = instr.operands[0];
            continue;
        }
        if (instr.code == BD_KIR_ACC) {
            r->values[i + 1] = converted(r, r->acc, instr.dtype);
            continue;
        }
        if (instr.code == BD_KIR_INDEX)
            instr.index = (uint16_t)r->axes[instr.index];
        r->values[i + 1] = append(r, instr);
    }
    return yielded;
}

static void begin_phase(rewrite *r, bd_kir_phase_kind kind)
{
    r->to->phases[r->to->phase_count++] = (bd_kir_phase){kind, r->to->instr_count, 0};
}

static void end_phase(rewrite *r)
{
    bd_kir_phase *phase = &r->to->phases[r->to->phase_count - 1];
    phase->count = (uint16_t)(r->to->instr_count - phase->first);
}

static void copy_phases_of(rewrite *r, bd_kir_phase_kind kind, bd_kir_value *out_yielded)
{
    for (int p = 0; p < r->from->phase_count; p++)
        if (r->from->phases[p].kind == kind) {
            bd_kir_value yielded = copy_phase(r, &r->from->phases[p]);
            if (yielded)
                *out_yielded = yielded;
        }
}

bd_error *bd_contraction_as_loop(const bd_kir *program, bd_arena *arena, bd_kir **out)
{
    bd_kir *to = bd_arena_copy(arena, program, sizeof *program);
    size_t instr_max = (size_t)program->instr_count + program->phase_count + 8u;
    rewrite r = {.from = program, .to = to};
    r.values = BD_ARENA_ARRAY(arena, bd_kir_value, program->instr_count + 1u);
    to->family = BD_KIR_LOOP;
    to->instrs = BD_ARENA_ARRAY(arena, bd_kir_instr, instr_max);
    to->instr_count = 0;
    to->phase_count = 0;
    move_axes(&r, arena);
    bd_kir_value a = 0, b = 0, none = 0;
    begin_phase(&r, BD_KIR_UNIFORM);
    copy_phases_of(&r, BD_KIR_UNIFORM, &none);
    end_phase(&r);
    begin_phase(&r, BD_KIR_EACH);
    copy_phases_of(&r, BD_KIR_OPERAND_A, &a);
    copy_phases_of(&r, BD_KIR_OPERAND_B, &b);
    if (!a || !b)
        BD_FAIL(INTERNAL, "a contraction without both operands");
    uint8_t dtype = to->instrs[a - 1].dtype;
    if (dtype == BURN_F16 || dtype == BURN_BF16)
        dtype = BURN_F32;
    a = converted(&r, a, dtype);
    b = converted(&r, b, dtype);
    bd_kir_value product = append(
        &r, (bd_kir_instr){.code = BD_KIR_MUL, .dtype = dtype, .operands = {a, b}, .guard = -1});
    r.acc = append(
        &r, (bd_kir_instr){
                .code = BD_KIR_REDUCE_SUM, .dtype = dtype, .operands = {product}, .guard = -1});
    end_phase(&r);
    begin_phase(&r, BD_KIR_ROW);
    copy_phases_of(&r, BD_KIR_EPILOGUE, &none);
    end_phase(&r);
    *out = to;
    return NULL;
}
