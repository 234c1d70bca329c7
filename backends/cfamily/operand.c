/* SPDX-License-Identifier: Apache-2.0
 * Functions of product.cuh's operands and epilogue, as text. */
#include "backends/cfamily/parts.h"

static void need(bd_parts *parts, bd_part_kind kind, int number)
{
    for (int i = 0; i < parts->count; i++)
        if (parts->each[i].kind == kind && parts->each[i].number == number)
            return;
    if (parts->count < BD_PARTS_MAX)
        parts->each[parts->count] = (bd_part){kind, number};
    parts->count++; /* above the limit: too many */
}

void bd_parts_of(const bd_kir *program, const bd_kir_phase *phase, bd_parts *out)
{
    out->count = 0;
    for (int i = phase->first; i < phase->first + phase->count; i++) {
        const bd_kir_instr *instr = &program->instrs[i];
        int guard = -1;
        if (instr->code == BD_KIR_LOAD || instr->code == BD_KIR_LOAD_AT) {
            need(out, BD_PART_ACCESS, instr->index);
            guard = instr->guard;
        } else if (instr->code == BD_KIR_GUARD) {
            guard = instr->index;
        } else if (instr->code == BD_KIR_INDEX) {
            need(out, BD_PART_AXIS, instr->index);
        }
        for (; guard >= 0; guard = program->guards[guard].also - 1)
            need(out, BD_PART_GUARD, guard);
    }
}

void bd_print_part(bd_printer *p, bd_part_kind kind, int number)
{
    for (int i = 0; i < p->parts->count; i++)
        if (p->parts->each[i].kind == kind && p->parts->each[i].number == number)
            bd_text_add(&p->text, "r[%d] + d[%d]", i, i);
}

void bd_print_places(bd_printer *p, bd_kir_role role, const char *from)
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
            bd_text_add(&p->text, "const u32 p%d = %s;\n", axis, from);
        else
            bd_text_add(&p->text, "const u32 p%d = %s %% (u32)%s;\n%s /= (u32)%s;\n", axis, from,
                        extent, from, extent);
    }
}

/* What the depth axes, or all others, add to part number i. */
static void print_share(bd_printer *p, int i, bd_kir_role depth, bool of_depth)
{
    const bd_kir *program = p->program;
    bd_part part = p->parts->each[i];
    const bd_kir_int *strides = NULL;
    bd_kir_int offset = bd_kir_const(0);
    if (part.kind == BD_PART_ACCESS) {
        strides = program->accesses[part.number].strides;
        offset = program->accesses[part.number].offset;
    } else if (part.kind == BD_PART_GUARD) {
        strides = program->guards[part.number].strides;
        offset = program->guards[part.number].offset;
    }
    bd_text_add(&p->text, "to[%d] = (int)(%s", i,
                of_depth ? "0" : bd_print_int(offset));
    for (int axis = 0; axis < program->axis_count; axis++) {
        if ((program->axes[axis].role == depth) != of_depth)
            continue;
        if (strides && !bd_kir_int_is(strides[axis], 0))
            bd_text_add(&p->text, " + %s * p%d", bd_print_int(strides[axis]), axis);
        else if (!strides && axis == part.number)
            bd_text_add(&p->text, " + p%d", axis);
    }
    bd_text_add(&p->text, ");\n");
}

static bool is_plain(const bd_kir *program, const bd_kir_phase *phase)
{
    const bd_kir_instr *load = &program->instrs[phase->first];
    if (phase->count != 2 || load->code != BD_KIR_LOAD || load->guard >= 0)
        return false;
    return load->dtype == BURN_F32 || load->dtype == BURN_F16 || load->dtype == BURN_BF16;
}

/* Whether a phase makes a 16-bit float of one in memory. */
static bool has_one_load(const bd_kir *program, const bd_kir_phase *phase)
{
    bd_parts parts;
    bd_parts_of(program, phase, &parts);
    int loads = 0;
    uint8_t made = program->instrs[phase->first + phase->count - 1].dtype;
    for (int i = phase->first; i < phase->first + phase->count; i++) {
        const bd_kir_instr *instr = &program->instrs[i];
        loads += instr->code == BD_KIR_LOAD;
        if (instr->code == BD_KIR_LOAD_AT || instr->code == BD_KIR_CHECK ||
            (instr->code == BD_KIR_LOAD && instr->dtype != made))
            return false;
    }
    return loads == 1 && parts.count == 1 && (made == BURN_F16 || made == BURN_BF16);
}

/* Whether the innermost axis of a role has stride 1 in what a phase loads first. */
static bool runs_along(const bd_kir *program, const bd_kir_phase *phase, bd_kir_role role)
{
    int axis = bd_kir_axis_of(program, role);
    for (int i = phase->first; axis >= 0 && i < phase->first + phase->count; i++)
        if (program->instrs[i].code == BD_KIR_LOAD)
            return bd_kir_int_is(program->accesses[program->instrs[i].index].strides[axis], 1);
    return false;
}

bd_cfamily_side bd_cfamily_side_of(const bd_kir *program, bd_kir_phase_kind kind)
{
    const bd_kir_phase *phase = bd_print_find(program, kind);
    bd_cfamily_side side = {.rows = kind == BD_KIR_OPERAND_A ? BD_KIR_M : BD_KIR_N,
                            .depth = kind == BD_KIR_OPERAND_C ? BD_KIR_E : BD_KIR_K,
                            .plain = is_plain(program, phase)};
    bool depth = runs_along(program, phase, side.depth);
    bool rows = runs_along(program, phase, side.rows);
    side.along = side.plain && depth && !rows;
    side.single = has_one_load(program, phase) && depth && !rows;
    if (depth != rows)
        side.order = depth ? BD_CFAMILY_BY_DEPTH : BD_CFAMILY_BY_ROWS;
    return side;
}

void bd_print_operand(bd_printer *p, const char *name, bd_kir_phase_kind kind)
{
    const bd_kir_phase *phase = bd_print_find(p->program, kind);
    bd_cfamily_side side = bd_cfamily_side_of(p->program, kind);
    const char *capital = kind == BD_KIR_OPERAND_A ? "A" : kind == BD_KIR_OPERAND_B ? "B" : "C";
    bd_parts parts;
    bd_parts_of(p->program, phase, &parts);
    p->parts = &parts;
    bd_text_add(&p->text, "const auto %s_row = [&](u32 batch, u32 row, int *to) INLINED {\n", name);
    bd_print_places(p, BD_KIR_BATCH, "batch");
    bd_print_places(p, side.rows, "row");
    for (int i = 0; i < parts.count; i++)
        print_share(p, i, side.depth, false);
    bd_text_add(&p->text, "};\nconst auto %s_depth = [&](u32 k, int *to) INLINED {\n", name);
    bd_print_arguments(p);
    bd_print_places(p, side.depth, "k");
    for (int i = 0; i < parts.count; i++)
        print_share(p, i, side.depth, true);
    bd_text_add(&p->text,
                "};\nconst auto %s_value = [&](const int *r, const int *d) INLINED -> float {\n"
                "float out;\n",
                name);
    p->yield = "out";
    bd_print_phase(p, phase);
    bd_text_add(&p->text,
                "return out;\n};\n"
                "const auto %s_place = [&](const int *r, const int *d) INLINED -> const void * {\n",
                name);
    const bd_kir_instr *load = &p->program->instrs[phase->first];
    while (load->code != BD_KIR_LOAD && load < &p->program->instrs[phase->first + phase->count - 1])
        load++;
    if (side.plain || side.single)
        bd_text_add(&p->text, "return b%d + (r[0] + d[0]);\n};\n",
                    p->program->accesses[load->index].buffer);
    else
        bd_text_add(&p->text, "return nullptr;\n};\n");
    p->parts = NULL;
    bd_text_add(&p->text,
                "auto %s = operand_of<%d, %s, %s>(%s_row, %s_depth, %s_value, %s_place,"
                " lanes & %s_WIDE, ",
                name, parts.count, side.along ? "true" : "false", side.plain ? "true" : "false",
                name, name, name, name, capital);
    if (side.order == BD_CFAMILY_ANY_ORDER)
        bd_text_add(&p->text, "lanes & %s_BY_DEPTH);\n", capital);
    else
        bd_text_add(&p->text, "%s);\n", side.order == BD_CFAMILY_BY_DEPTH ? "true" : "false");
}

/* Axes on which a phase depends. */
static uint32_t axes_of(const bd_kir *program, const bd_kir_phase *phase)
{
    bd_parts parts;
    uint32_t axes = 0;
    bd_parts_of(program, phase, &parts);
    if (parts.count > BD_PARTS_MAX)
        return UINT32_MAX;
    for (int i = 0; i < parts.count; i++) {
        int number = parts.each[i].number;
        if (parts.each[i].kind == BD_PART_AXIS)
            axes |= 1u << number;
        else if (parts.each[i].kind == BD_PART_GUARD)
            axes |= bd_kir_guard_axes(program, number);
        for (unsigned axis = 0; parts.each[i].kind == BD_PART_ACCESS && axis < program->axis_count;
             axis++)
            if (!bd_kir_int_is(program->accesses[number].strides[axis], 0))
                axes |= 1u << axis;
    }
    return axes;
}

void bd_cfamily_fold(bd_kir *program)
{
    if (program->family != BD_KIR_CONTRACTION)
        return;
    uint32_t a = axes_of(program, bd_print_find(program, BD_KIR_OPERAND_A));
    uint32_t b = axes_of(program, bd_print_find(program, BD_KIR_OPERAND_B));
    for (unsigned axis = 0; axis < program->axis_count; axis++) {
        if (program->axes[axis].role != BD_KIR_BATCH)
            continue;
        if (!(a >> axis & 1))
            program->axes[axis].role = BD_KIR_N;
        else if (!(b >> axis & 1))
            program->axes[axis].role = BD_KIR_M;
    }
}

burn_dtype bd_cfamily_element(const bd_kir *program, bd_kir_phase_kind kind)
{
    const bd_kir_phase *phase = bd_print_find(program, kind);
    return (burn_dtype)program->instrs[phase->first + phase->count - 1].dtype;
}

static bool few_parts(const bd_kir *program, bd_kir_phase_kind kind)
{
    bd_parts parts;
    bd_parts_of(program, bd_print_find(program, kind), &parts);
    return parts.count > 0 && parts.count <= BD_PARTS_MAX;
}

bd_cfamily_tiles bd_cfamily_tiles_of(const bd_kir *program)
{
    burn_dtype a = bd_cfamily_element(program, BD_KIR_OPERAND_A);
    burn_dtype b = bd_cfamily_element(program, BD_KIR_OPERAND_B);
    if (!few_parts(program, BD_KIR_OPERAND_A) || !few_parts(program, BD_KIR_OPERAND_B) || a != b)
        return BD_CFAMILY_NO_TILES;
    if (a == BURN_F16 || a == BURN_BF16)
        return BD_CFAMILY_HALF_TILES;
    return a == BURN_F32 ? BD_CFAMILY_FLOAT_TILES : BD_CFAMILY_NO_TILES;
}

bool bd_cfamily_copies(const bd_kir *program, bd_kir_phase_kind kind)
{
    bd_cfamily_side side = bd_cfamily_side_of(program, kind);
    int axes = 0;
    for (int axis = 0; axis < program->axis_count; axis++)
        axes += program->axes[axis].role == side.rows || program->axes[axis].role == side.depth;
    return bd_cfamily_tiles_of(program) != BD_CFAMILY_NO_TILES && (!side.plain || axes > 2);
}

bool bd_cfamily_has_huge_tiles(const bd_kir *program)
{
    return bd_cfamily_tiles_of(program) == BD_CFAMILY_HALF_TILES &&
           bd_cfamily_side_of(program, BD_KIR_OPERAND_A).plain &&
           bd_cfamily_side_of(program, BD_KIR_OPERAND_B).plain;
}

bool bd_cfamily_has_columns(const bd_kir *program)
{
    return bd_cfamily_tiles_of(program) != BD_CFAMILY_NO_TILES &&
           bd_cfamily_side_of(program, BD_KIR_OPERAND_A).along &&
           bd_cfamily_side_of(program, BD_KIR_OPERAND_B).along;
}

void bd_print_extents(bd_printer *p)
{
    bd_print_extent(p, "batch_count", BD_KIR_BATCH);
    bd_print_extent(p, "m_count", BD_KIR_M);
    bd_print_extent(p, "n_count", BD_KIR_N);
    bd_print_extent(p, "k_count", BD_KIR_K);
}

void bd_print_epilogue(bd_printer *p, bd_kir_role rows, bd_kir_role columns)
{
    const bd_kir_phase *phase = bd_print_find(p->program, BD_KIR_EPILOGUE);
    bd_text_add(&p->text, "struct element {\n");
    bd_print_seen(p, phase, true);
    bd_text_add(&p->text, "};\nconst auto with_epilogue = [&](u32 batch, u32 column,"
                          " const auto &body) INLINED {\n");
    bd_print_arguments(p);
    bd_print_places(p, BD_KIR_BATCH, "batch");
    bd_print_places(p, columns, "column");
    bd_text_add(&p->text, "const auto look = [&](u32 row, element &to) INLINED {\n");
    bd_print_places(p, rows, "row");
    bd_print_seen(p, phase, false);
    bd_text_add(&p->text, "};\nconst auto epilogue = [&](u32 row, float acc, const element &seen)"
                          " INLINED {\n");
    bd_print_places(p, rows, "row");
    p->ahead = true;
    bd_print_phase(p, phase);
    p->ahead = false;
    bd_text_add(&p->text, "};\nbody(epilogue, look, element());\n};\n");
}
