/* SPDX-License-Identifier: Apache-2.0
 * The LOOP family: a thread a row, or a block of threads a row. */
#include "backends/cfamily/parts.h"

static bool touches(int code)
{
    return code == BD_KIR_LOAD || code == BD_KIR_LOAD_AT || code == BD_KIR_STORE ||
           code == BD_KIR_STORE_AT;
}

static bool stores(int code)
{
    return code == BD_KIR_STORE || code == BD_KIR_STORE_AT;
}

/* Whether one point of a phase may see another's store. */
static bool points_depend(const bd_kir *program, const bd_kir_phase *phase)
{
    const bd_kir_instr *first = &program->instrs[phase->first], *end = first + phase->count;
    for (const bd_kir_instr *a = first; a < end; a++) {
        if (!stores(a->code))
            continue;
        if (a->code == BD_KIR_STORE_AT || a->flags != BD_KIR_SET)
            return true; /* they run in order, and may meet in one place */
        for (const bd_kir_instr *b = first; b < end; b++)
            if (b != a && touches(b->code) && b->index != a->index &&
                program->accesses[a->index].buffer == program->accesses[b->index].buffer)
                return true;
    }
    return false;
}

bool bd_cfamily_shares_rows(const bd_kir *program)
{
    bool each = false;
    for (int p = 0; p < program->phase_count; p++) {
        const bd_kir_phase *phase = &program->phases[p];
        for (int i = phase->first; i < phase->first + phase->count; i++)
            if (program->instrs[i].code == BD_KIR_SORT ||
                bd_kir_is_scan((bd_kir_code)program->instrs[i].code))
                return false;
        if (phase->kind != BD_KIR_EACH)
            continue;
        each = true;
        if (points_depend(program, phase))
            return false;
    }
    return each;
}

static void print_slots(bd_printer *p)
{
    for (int slot = 0; slot < p->program->slot_count; slot++) {
        const char *type = bd_print_type((burn_dtype)p->program->slot_dtypes[slot]);
        bd_text_add(&p->text, "const slot<%s> w%d = {scratch + ", type, slot);
        if (p->by_block)
            bd_text_add(&p->text, "(%d * lanes + lane) * serial * 8, 1};\n", slot);
        else
            bd_text_add(&p->text, "(%d * serial * lanes + lane) * 8, lanes};\n", slot);
    }
}

/* What reductions and scans of a phase have seen: nothing yet. */
static void print_nothing(bd_printer *p, const bd_kir_phase *phase)
{
    for (int i = phase->first; i < phase->first + phase->count; i++) {
        const bd_kir_instr *instr = &p->program->instrs[i];
        int kind = -1;
        if (bd_kir_is_reduce((bd_kir_code)instr->code))
            kind = instr->code - BD_KIR_REDUCE_SUM;
        else if (instr->code == BD_KIR_SCAN_LOGSUM)
            bd_text_add(&p->text, "double r%d = -inf_d();\n", i + 1);
        else if (bd_kir_is_scan((bd_kir_code)instr->code))
            kind = instr->code - BD_KIR_SCAN_SUM;
        if (kind < 0)
            continue;
        const bd_kir_instr *operand = &p->program->instrs[instr->operands[0] - 1];
        const char *type = bd_print_type((burn_dtype)operand->dtype);
        if (kind < 2)
            bd_text_add(&p->text, "auto r%d = red_%s<%s>::none();\n", i + 1,
                        kind == 0 ? "sum" : "prod", type);
        else
            bd_text_add(&p->text, "auto r%d = red_most<%s, %s>::none();\n", i + 1, type,
                        kind % 2 == 0 ? "true" : "false");
    }
}

static void print_results(bd_printer *p, const bd_kir_phase *phase)
{
    for (int i = phase->first; i < phase->first + phase->count; i++) {
        const bd_kir_instr *instr = &p->program->instrs[i];
        if (!bd_kir_is_reduce((bd_kir_code)instr->code))
            continue;
        if (p->by_block)
            bd_text_add(&p->text, "r%d = block_join(r%d);\n", i + 1, i + 1);
        bool where = instr->code == BD_KIR_REDUCE_ARGMAX || instr->code == BD_KIR_REDUCE_ARGMIN;
        burn_dtype dtype = (burn_dtype)instr->dtype;
        bd_text_add(&p->text, "const %s v%d = %s(r%d.%s());\n", bd_print_type(dtype), i + 1,
                    bd_print_round(dtype), i + 1, where ? "where" : "get");
    }
}

static void print_each(bd_printer *p, const bd_kir_phase *phase)
{
    print_nothing(p, phase);
    bd_text_add(&p->text, "for (i64 at = %s; at < serial; at += %s) {\ni64 rest = at;\n",
                p->by_block ? "threadIdx.x" : "0", p->by_block ? "blockDim.x" : "1");
    bd_print_positions(p, BD_KIR_SERIAL, "rest");
    bd_print_phase(p, phase);
    bd_text_add(&p->text, "}\n");
    print_results(p, phase);
}

static void print_rows(bd_printer *p, bool by_block)
{
    p->by_block = by_block;
    bd_print_entry(p, by_block ? "blocks" : "rows");
    bd_print_extent(p, "count", BD_KIR_PARALLEL);
    bd_print_extent(p, "serial", BD_KIR_SERIAL);
    if (by_block)
        bd_text_add(&p->text, "const i64 lane = blockIdx.x;\n");
    else
        bd_text_add(&p->text, "const i64 lane = (i64)blockIdx.x * blockDim.x + threadIdx.x;\n"
                              "if (lane >= lanes) return;\n");
    print_slots(p);
    bd_text_add(&p->text, "for (i64 row = lane; row < count; row += lanes) {\ni64 left = row;\n");
    bd_print_positions(p, BD_KIR_PARALLEL, "left");
    for (int i = 0; i < p->program->phase_count; i++) {
        const bd_kir_phase *phase = &p->program->phases[i];
        if (phase->kind == BD_KIR_EACH)
            print_each(p, phase);
        else if (phase->kind == BD_KIR_ROW)
            bd_print_phase(p, phase);
        if (by_block && phase->kind != BD_KIR_UNIFORM)
            bd_text_add(&p->text, "__syncthreads();\n");
    }
    bd_text_add(&p->text, "}\n");
    bd_print_exit(p);
}

void bd_print_loop(bd_printer *p)
{
    print_rows(p, false);
    if (bd_cfamily_shares_rows(p->program))
        print_rows(p, true);
}
