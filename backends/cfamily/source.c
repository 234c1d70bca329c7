/* SPDX-License-Identifier: Apache-2.0
 * The frame of every entry: parameters, arguments as variables, positions on axes. */
#include <string.h>

#include "backends/cfamily/parts.h"
#include "proto/base/alloc.h"

const char bd_cfamily_parameters[] =
    "const __grid_constant__ given passed, const i64 *table, fault *faults, char *scratch, "
    "i64 lanes, u32 block, u32 team, u32 splits, u32 *counters";

void bd_print_arguments(bd_printer *p)
{
    const bd_kir *program = p->program;
    int at = 0;
    for (int i = 0; i < program->int_count; i++)
        bd_text_add(&p->text, "const i64 n%d = arguments[%d];\n", i, at++);
    for (int i = 0; i < program->buffer_count; i++) {
        const char *type = bd_print_memory_type(program->buffers[i].dtype);
        bd_text_add(&p->text,
                    "%s *const b%d = (%s *)arguments[%d];\nIN_DEVICE_MEMORY(b%d);\n",
                    type, i, type, at++, i);
    }
    for (int i = 0; i < program->scalar_count; i++, at++) {
        if (program->scalar_dtypes[i] == BURN_F64)
            bd_text_add(&p->text, "const double s%d = __longlong_as_double(arguments[%d]);\n", i,
                        at);
        else
            bd_text_add(&p->text, "const i64 s%d = arguments[%d];\n", i, at);
    }
}

static int words_of(const bd_kir *program)
{
    return program->int_count + program->buffer_count + program->scalar_count;
}

void bd_print_entry(bd_printer *p, const char *name)
{
    bd_text_add(&p->text, "extern \"C\" __global__ void __launch_bounds__(%d",
                p->threads ? p->threads : BD_CFAMILY_THREADS);
    if (p->at_once)
        bd_text_add(&p->text, ", %d", p->at_once);
    bd_text_add(&p->text, ") %s(%s)\n{\n", name, bd_cfamily_parameters);
    if (p->many)
        bd_text_add(&p->text,
                    "block = place_in(table, splits, blockIdx.x);\n"
                    "const u32 number = blockIdx.x - (u32)table[block];\n"
                    "lanes = (table[block + 1] - table[block]) * blockDim.x;\n"
                    "const i64 *const arguments = table + splits + 2 + (i64)block * %d;\n"
                    "block = (u32)arguments[-1];\n",
                    words_of(p->program) + 1);
    else
        bd_text_add(&p->text,
                    "const u32 number = blockIdx.x;\nconst i64 *const arguments = %s;\n",
                    bd_cfamily_words(p->program) ? "passed.w" : "table");
    bd_print_arguments(p);
    for (int i = 0; i < p->program->phase_count; i++)
        if (p->program->phases[i].kind == BD_KIR_UNIFORM)
            bd_print_phase(p, &p->program->phases[i]);
}

void bd_print_exit(bd_printer *p)
{
    bd_text_add(&p->text, "}\n");
}

void bd_print_extent(bd_printer *p, const char *name, bd_kir_role role)
{
    bd_text_add(&p->text, "const i64 %s = 1", name);
    for (int axis = 0; axis < p->program->axis_count; axis++)
        if (p->program->axes[axis].role == role)
            bd_text_add(&p->text, " * %s", bd_print_int(p->program->axes[axis].extent));
    bd_text_add(&p->text, ";\n");
}

void bd_print_positions(bd_printer *p, bd_kir_role role, const char *from)
{
    const bd_kir *program = p->program;
    int outermost = -1;
    for (int axis = program->axis_count - 1; axis >= 0; axis--)
        if (program->axes[axis].role == role)
            outermost = axis;
    for (int axis = program->axis_count - 1; axis >= 0; axis--) {
        if (program->axes[axis].role != role)
            continue;
        const char *extent = bd_print_int(program->axes[axis].extent);
        if (axis == outermost)
            bd_text_add(&p->text, "const i64 p%d = %s;\n", axis, from);
        else
            bd_text_add(&p->text,
                        "const i64 q%d = over(%s, %s), p%d = %s - q%d * %s;\n%s = q%d;\n", axis,
                        from, extent, axis, from, axis, extent, from, axis);
    }
}

int bd_cfamily_words(const bd_kir *program)
{
    int words = words_of(program);
    return words <= BD_CFAMILY_WORDS_MOST ? words : 0;
}

/* Entries that have a module of their own, or share it; all others are in module 0. Costs are tens
 * of milliseconds, roughly. */
static const struct {
    const char *entry;
    bd_kir_family family;
    int module, cost;
} apart[] = {{"large", BD_KIR_CONTRACTION, 1, 30},   {"small", BD_KIR_CONTRACTION, 2, 20},
             {"copy_a", BD_KIR_CONTRACTION, 2, 10},  {"copy_b", BD_KIR_CONTRACTION, 2, 10},
             {"join", BD_KIR_CONTRACTION, 3, 25},    {"joins", BD_KIR_CONTRACTION, 3, 10},
             {"huge", BD_KIR_CONTRACTION, 4, 35},
             {"attend_64", BD_KIR_ATTENTION, 1, 70}, {"attend_128", BD_KIR_ATTENTION, 2, 110},
             {"groups_64", BD_KIR_ATTENTION, 3, 80}, {"groups_128", BD_KIR_ATTENTION, 4, 120}};
enum { APART = sizeof apart / sizeof *apart, COST = 20 /* of module 0 */ };

int bd_cfamily_modules(const bd_kir *program, bool sm_90)
{
    if (program->family == BD_KIR_CONTRACTION) {
        if (bd_cfamily_tiles_of(program) == BD_CFAMILY_NO_TILES)
            return 1;
        return sm_90 && bd_cfamily_has_huge_tiles(program) ? 5 : 4;
    }
    if (program->family != BD_KIR_ATTENTION || !bd_cfamily_attends_by_tiles(program))
        return 1;
    return sm_90 && bd_cfamily_attends_by_groups(program) ? 5 : 3;
}

int bd_cfamily_module_of(const char *entry)
{
    for (int i = 0; i < APART; i++)
        if (strcmp(apart[i].entry, entry) == 0)
            return apart[i].module;
    return 0;
}

int bd_cfamily_cost(const bd_kir *program, int module)
{
    int cost = module ? 0 : COST;
    for (int i = 0; i < APART; i++)
        if (apart[i].family == program->family && apart[i].module == module)
            cost += apart[i].cost;
    return cost;
}

bool bd_print_wants(const bd_printer *p, const char *entry)
{
    return bd_cfamily_module_of(entry) == p->module;
}

char *bd_cfamily_print(const bd_kir *program, int module)
{
    bd_kir folded = *program;
    bd_cfamily_fold(&folded);
    bd_printer printer = {.program = &folded, .module = module};
    bd_text_add(&printer.text, "%sstruct given { i64 w[%d]; };\n", bd_cfamily_prelude,
                bd_cfamily_words(program) + 1);
    if (program->family == BD_KIR_CONTRACTION)
        bd_print_contraction(&printer);
    else if (program->family == BD_KIR_ATTENTION)
        bd_print_attention(&printer);
    else
        bd_print_loop(&printer);
    return printer.text.bytes;
}
