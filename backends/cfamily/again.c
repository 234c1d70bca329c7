/* SPDX-License-Identifier: Apache-2.0
 * What a later EACH phase computes again. A held row keeps such values in registers instead. */
#include <string.h>

#include "backends/cfamily/parts.h"

static bool is_pure(const bd_kir_instr *instr)
{
    int code = instr->code;
    return code < BD_KIR_STORE && code != BD_KIR_LOAD_AT && code != BD_KIR_CHECK;
}

/* The first that computes the same as a value; a value itself if none does. */
static bd_kir_value first_of(const bd_again *again, bd_kir_value value)
{
    return value && again->same[value - 1] ? again->same[value - 1] : value;
}

static bool do_same(const bd_kir *program, const bd_again *again, int a, int b)
{
    bd_kir_instr one = program->instrs[a], other = program->instrs[b];
    for (int i = 0; i < 3; i++) {
        if (first_of(again, one.operands[i]) != first_of(again, other.operands[i]))
            return false;
        one.operands[i] = other.operands[i] = 0;
    }
    return one.code == other.code && one.dtype == other.dtype && one.flags == other.flags &&
           one.index == other.index && one.guard == other.guard && one.i == other.i &&
           one.integer.argument == other.integer.argument &&
           one.integer.value == other.integer.value;
}

/* A load, an index or a constant, cast or not: nothing that is worth a register. */
static bool is_cheap(const bd_kir *program, int number)
{
    const bd_kir_instr *instr = &program->instrs[number];
    while (instr->code == BD_KIR_CAST)
        instr = &program->instrs[instr->operands[0] - 1];
    return instr->code <= BD_KIR_LOAD;
}

static void find_same(const bd_kir *program, bd_again *again)
{
    int each = 0; /* instructions of earlier EACH phases */
    bool inside[BD_KIR_INSTRS_MAX] = {false};
    for (int p = 0; p < program->phase_count; p++) {
        const bd_kir_phase *phase = &program->phases[p];
        if (phase->kind != BD_KIR_EACH)
            continue;
        for (int i = phase->first; i < phase->first + phase->count; i++)
            for (int k = 0; is_pure(&program->instrs[i]) && k < each && !again->same[i]; k++)
                if (inside[k] && is_pure(&program->instrs[k]) && do_same(program, again, k, i))
                    again->same[i] = (bd_kir_value)(first_of(again, (bd_kir_value)(k + 1)));
        each = phase->first + phase->count;
        memset(inside + phase->first, true, phase->count);
    }
}

void bd_again_of(const bd_kir *program, bd_again *out)
{
    memset(out, 0, sizeof *out);
    find_same(program, out);
    /* Those count that something new is made of. */
    for (int i = 0; i < program->instr_count; i++)
        for (int k = 0; k < 3 && !out->same[i]; k++) {
            bd_kir_value operand = program->instrs[i].operands[k];
            bd_kir_value same = operand ? out->same[operand - 1] : 0;
            if (!same || is_cheap(program, same - 1))
                continue;
            out->taken[operand - 1] = true;
            out->kept[same - 1] = true;
        }
}
