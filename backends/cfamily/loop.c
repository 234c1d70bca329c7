/* SPDX-License-Identifier: Apache-2.0
 * The LOOP family: what entries a program has, and the one of a thread a row. */
#include "backends/cfamily/parts.h"

enum {
    WIDE_MOST = 8,
    HELD_POINTS = 32,  /* of a row, in registers of a thread */
    HELD_INSTRS = 96,  /* longer phases are not written out so often */
};

static bool touches(int code)
{
    return code == BD_KIR_LOAD || code == BD_KIR_LOAD_AT || code == BD_KIR_STORE ||
           code == BD_KIR_STORE_AT;
}

static bool stores(int code)
{
    return code == BD_KIR_STORE || code == BD_KIR_STORE_AT;
}

static int buffer_of(const bd_kir *program, const bd_kir_instr *instr)
{
    return program->accesses[instr->index].buffer;
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
                buffer_of(program, b) == buffer_of(program, a))
                return true;
    }
    return false;
}

bool bd_print_scans(const bd_kir *program, const bd_kir_phase *phase)
{
    for (int i = phase->first; i < phase->first + phase->count; i++)
        if (bd_kir_is_scan((bd_kir_code)program->instrs[i].code))
            return true;
    return false;
}

/* Whether a row's points have an order that matters. */
static bool keeps_order(const bd_kir *program)
{
    for (int p = 0; p < program->phase_count; p++)
        if (bd_print_scans(program, &program->phases[p]))
            return true;
    for (int i = 0; i < program->instr_count; i++)
        if (program->instrs[i].code == BD_KIR_SORT)
            return true;
    return false;
}

static bool shares_rows(const bd_kir *program)
{
    bool each = false;
    for (int p = 0; p < program->phase_count; p++) {
        const bd_kir_phase *phase = &program->phases[p];
        if (phase->kind != BD_KIR_EACH)
            continue;
        each = true;
        if (points_depend(program, phase))
            return false;
    }
    return each;
}

bool bd_cfamily_is_wide(const bd_kir *program, int along, const bd_kir_instr *instr)
{
    bool store = instr->code == BD_KIR_STORE && instr->flags == BD_KIR_SET;
    return (store || instr->code == BD_KIR_LOAD) && instr->guard < 0 && along >= 0 &&
           bd_kir_int_is(program->accesses[instr->index].strides[along], 1);
}

/* A load behind a store to its buffer, in one phase: no wide entry would see what was stored. */
static bool loads_own_stores(const bd_kir *program, const bd_kir_phase *phase)
{
    for (int i = phase->first; i < phase->first + phase->count; i++)
        for (int k = i + 1; stores(program->instrs[i].code) && k < phase->first + phase->count; k++)
            if (touches(program->instrs[k].code) && !stores(program->instrs[k].code) &&
                buffer_of(program, &program->instrs[k]) == buffer_of(program, &program->instrs[i]))
                return true;
    return false;
}

/* Neighbours that wide loads and stores take at once; 0: there are none. */
static int wide_of(const bd_kir *program, int along)
{
    int least = 0;
    for (int i = 0; i < program->instr_count; i++) {
        const bd_kir_instr *instr = &program->instrs[i];
        if (!bd_cfamily_is_wide(program, along, instr))
            continue;
        burn_dtype dtype = (burn_dtype)program->buffers[buffer_of(program, instr)].dtype;
        int bytes = (int)burn_dtype_size(dtype);
        least = least == 0 || bytes < least ? bytes : least;
    }
    for (int p = 0; p < program->phase_count; p++)
        if (loads_own_stores(program, &program->phases[p]))
            return 0;
    return least == 0 ? 0 : 16 / least < WIDE_MOST ? 16 / least : WIDE_MOST;
}

/* Whether loads may all come first, and points beyond the row be computed in vain. */
static bool may_be_held(const bd_kir *program)
{
    int count = 0, phases = 0;
    for (int p = 0; p < program->phase_count; p++) {
        const bd_kir_phase *phase = &program->phases[p];
        if (phase->kind != BD_KIR_EACH)
            continue;
        phases++;
        for (int i = phase->first; i < phase->first + phase->count; i++, count++) {
            const bd_kir_instr *instr = &program->instrs[i];
            int code = instr->code;
            if (code == BD_KIR_LOAD_AT || code == BD_KIR_STORE_AT || code == BD_KIR_CHECK ||
                (code == BD_KIR_LOAD &&
                 program->buffers[buffer_of(program, instr)].use != BD_KIR_READ))
                return false;
        }
    }
    return phases > 1 && count <= HELD_INSTRS;
}

/* Whether the phase loads what the EACH phase stored: of other blocks, perhaps. */
static bool loads_stores_of(const bd_kir *program, const bd_kir_phase *phase,
                            const bd_kir_phase *each)
{
    for (int i = each->first; i < each->first + each->count; i++)
        for (int k = phase->first; stores(program->instrs[i].code) &&
                                   k < phase->first + phase->count; k++)
            if (touches(program->instrs[k].code) && !stores(program->instrs[k].code) &&
                buffer_of(program, &program->instrs[k]) == buffer_of(program, &program->instrs[i]))
                return true;
    return false;
}

/* The reductions of the one EACH phase of a program whose row may be divided among blocks. */
static int split_reductions(const bd_kir *program)
{
    const bd_kir_phase *each = NULL;
    int count = 0;
    for (int p = 0; p < program->phase_count; p++) {
        const bd_kir_phase *phase = &program->phases[p];
        bool row = phase->kind == BD_KIR_ROW;
        if ((phase->kind == BD_KIR_EACH && each) || (row && each &&
                                                      loads_stores_of(program, phase, each)))
            return 0;
        for (int i = phase->first; !each && i < phase->first + phase->count; i++) {
            int code = program->instrs[i].code;
            if ((row && stores(code)) || code == BD_KIR_SAVE)
                return 0;
            count += bd_kir_is_reduce((bd_kir_code)code);
        }
        if (phase->kind == BD_KIR_EACH)
            each = phase;
    }
    return count;
}

/* Whether what is summed lies along the last axis of the rows. Numbers that all rows share may lie
 * as they like. */
static bool runs_down(const bd_kir *program)
{
    int across = bd_kir_axis_of(program, BD_KIR_PARALLEL);
    bool found = false;
    for (int i = 0; across >= 0 && i < program->instr_count; i++) {
        const bd_kir_instr *instr = &program->instrs[i];
        if (instr->code != BD_KIR_LOAD)
            continue;
        const bd_kir_int *strides = program->accesses[instr->index].strides;
        bool shared = true;
        for (int axis = 0; axis <= across; axis++)
            shared &= bd_kir_int_is(strides[axis], 0);
        if (!shared && bd_kir_int_is(strides[program->axis_count - 1], 1))
            return false;
        found |= bd_kir_int_is(strides[across], 1) &&
                 !bd_kir_int_is(strides[program->axis_count - 1], 0);
    }
    return found;
}

/* Whether what a row does before an EACH phase may as well be done behind it. */
static bool may_wait(const bd_kir *program, const bd_kir_phase *each)
{
    bool early[BD_KIR_INSTRS_MAX + 1] = {false};
    for (const bd_kir_phase *phase = program->phases; phase < each; phase++)
        for (int i = phase->first; i < phase->first + phase->count; i++) {
            early[i + 1] = phase->kind == BD_KIR_ROW;
            if (stores(program->instrs[i].code))
                return false;
        }
    for (int i = each->first; i < each->first + each->count; i++)
        for (int k = 0; k < 3; k++)
            if (early[program->instrs[i].operands[k]] || stores(program->instrs[i].code))
                return false;
    return true;
}

/* Columns that a thread sums at once: all that they have seen is in registers, and nothing else. */
static int wide_down(const bd_kir *program, const bd_cfamily_loop *loop)
{
    enum { COLUMNS_MOST = 4, SEEN_MOST = 16 };
    const bd_kir_phase *each = bd_print_find(program, BD_KIR_EACH);
    for (const bd_kir_phase *phase = program->phases; phase < each; phase++)
        if (phase->kind == BD_KIR_ROW && !may_wait(program, each))
            return 0;
    int wide = loop->wide < COLUMNS_MOST ? loop->wide : COLUMNS_MOST;
    while (wide > 1 && wide * loop->reductions > SEEN_MOST)
        wide /= 2;
    return wide > 1 ? wide : 0;
}

/* The value that says where the one store of a program goes, if points that store to different
 * places do not depend on each other; 0: there is no such value. */
static bd_kir_value place_of_stores(const bd_kir *program)
{
    const bd_kir_phase *each = NULL;
    const bd_kir_instr *store = NULL;
    for (int p = 0; p < program->phase_count; p++) {
        const bd_kir_phase *phase = &program->phases[p];
        if (phase->kind == BD_KIR_EACH && each)
            return 0;
        each = phase->kind == BD_KIR_EACH ? phase : each;
    }
    for (int i = 0; i < program->instr_count; i++) {
        const bd_kir_instr *instr = &program->instrs[i];
        int code = instr->code;
        if (bd_kir_is_reduce((bd_kir_code)code) || bd_kir_is_scan((bd_kir_code)code) ||
            code == BD_KIR_SAVE || (stores(code) && store))
            return 0;
        store = stores(code) ? instr : store;
    }
    if (!each || !store || store->code != BD_KIR_STORE_AT || store < &program->instrs[each->first])
        return 0;
    for (int i = 0; i < program->instr_count; i++)
        if (touches(program->instrs[i].code) && &program->instrs[i] != store &&
            buffer_of(program, &program->instrs[i]) == buffer_of(program, store))
            return 0;
    for (int axis = 0; axis < program->axis_count; axis++)
        if (program->axes[axis].role == BD_KIR_SERIAL &&
            !bd_kir_int_is(program->accesses[store->index].strides[axis], 0))
            return 0;
    return store->operands[1] > each->first ? store->operands[1] : 0;
}

/* Whether an epilogue loads and stores, along an axis, only what lies side by side. */
static bool ends_wide(const bd_kir *program, const bd_kir_phase *end, int along)
{
    for (int i = end->first; i < end->first + end->count; i++) {
        const bd_kir_instr *instr = &program->instrs[i];
        if (!touches(instr->code) || bd_cfamily_is_wide(program, along, instr))
            continue;
        bool near = instr->code == BD_KIR_LOAD &&
                    bd_kir_int_is(program->accesses[instr->index].strides[along], 0);
        if (!near || instr->guard >= 0)
            return false;
    }
    return !loads_own_stores(program, end);
}

/* Neighbours in a row of sums: as many as 16 bytes have of the longest type that rows have of their
 * own. */
static void describe_joins(const bd_kir *program, bd_cfamily_loop *loop)
{
    const bd_kir_phase *end = bd_print_find(program, BD_KIR_EPILOGUE);
    int along = bd_kir_axis_of(program, BD_KIR_N), longest = 2;
    if (bd_cfamily_tiles_of(program) == BD_CFAMILY_NO_TILES || along < 0 ||
        !ends_wide(program, end, along))
        return;
    for (int i = end->first; i < end->first + end->count; i++) {
        const bd_kir_instr *instr = &program->instrs[i];
        if (!bd_cfamily_is_wide(program, along, instr))
            continue;
        const bd_kir_access *access = &program->accesses[instr->index];
        int bytes = (int)burn_dtype_size((burn_dtype)program->buffers[access->buffer].dtype);
        bool own = bytes > 4;
        for (int axis = 0; axis < program->axis_count; axis++)
            own |= axis != along && !bd_kir_int_is(access->strides[axis], 0);
        longest = own && bytes > longest ? bytes : longest;
    }
    loop->along = along;
    loop->wide = longest > 4 ? 0 : 16 / longest;
}

bd_cfamily_loop bd_cfamily_loop_of(const bd_kir *program)
{
    bd_cfamily_loop loop = {0};
    bool map = !bd_print_find(program, BD_KIR_EACH);
    if (program->family == BD_KIR_CONTRACTION)
        describe_joins(program, &loop);
    if (program->family != BD_KIR_LOOP)
        return loop;
    loop.teams = shares_rows(program);
    loop.parts = place_of_stores(program) != 0;
    loop.map = map;
    bool down = loop.teams && runs_down(program);
    loop.along = down ? bd_kir_axis_of(program, BD_KIR_PARALLEL) : program->axis_count - 1;
    if (loop.teams && keeps_order(program))
        return loop;
    if (map || loop.teams)
        loop.wide = wide_of(program, loop.along);
    if (!loop.teams)
        return loop;
    loop.reductions = split_reductions(program);
    loop.down = loop.reductions && down;
    if (down)
        loop.wide = loop.down ? wide_down(program, &loop) : 0;
    else
        loop.held = loop.wide && may_be_held(program) ? HELD_POINTS : 0;
    return loop;
}

static void print_slots(bd_printer *p)
{
    for (int slot = 0; slot < p->program->slot_count; slot++)
        bd_text_add(&p->text,
                    "const slot<%s> w%d = {scratch + (%d * serial * lanes + lane) * 8, lanes};\n",
                    bd_print_type((burn_dtype)p->program->slot_dtypes[slot]), slot, slot);
}

void bd_print_nothing(bd_printer *p, const bd_kir_phase *phase)
{
    for (int i = phase->first; i < phase->first + phase->count; i++) {
        const bd_kir_instr *instr = &p->program->instrs[i];
        static const char *const kinds[] = {"sum<%s>", "prod<%s>", "end<%s, true>",
                                            "end<%s, false>", "most<%s, true>", "most<%s, false>"};
        int kind = -1;
        if (bd_kir_is_reduce((bd_kir_code)instr->code))
            kind = instr->code - BD_KIR_REDUCE_SUM;
        else if (instr->code == BD_KIR_SCAN_LOGSUM)
            bd_text_add(&p->text, "auto r%d = red_logsum::none();\n", i + 1);
        else if (bd_kir_is_scan((bd_kir_code)instr->code))
            kind = instr->code - BD_KIR_SCAN_SUM;
        if (kind < 0)
            continue;
        const bd_kir_instr *operand = &p->program->instrs[instr->operands[0] - 1];
        bd_text_add(&p->text, "typedef red_");
        bd_text_add(&p->text, kinds[kind], bd_print_type((burn_dtype)operand->dtype));
        bd_text_add(&p->text, " R%d;\n", i + 1);
        if (p->columns)
            bd_text_add(&p->text, "R%d r%d[%d];\nfor (R%d &r : r%d) r = R%d::none();\n", i + 1,
                        i + 1, p->columns, i + 1, i + 1, i + 1);
        else
            bd_text_add(&p->text, "R%d r%d = R%d::none();\n", i + 1, i + 1, i + 1);
    }
}

void bd_print_results(bd_printer *p, const bd_kir_phase *phase)
{
    for (int i = phase->first; i < phase->first + phase->count; i++) {
        const bd_kir_instr *instr = &p->program->instrs[i];
        if (!bd_kir_is_reduce((bd_kir_code)instr->code))
            continue;
        bool where = instr->code == BD_KIR_REDUCE_ARGMAX || instr->code == BD_KIR_REDUCE_ARGMIN;
        burn_dtype dtype = (burn_dtype)instr->dtype;
        bd_text_add(&p->text, "const %s v%d = %s(r%d%s.%s());\n", bd_print_type(dtype), i + 1,
                    bd_print_round(dtype), i + 1, p->columns ? "[j]" : "", where ? "where" : "get");
    }
}

/* The loops over all SERIAL axes but the innermost, which is returned; -1: there is none. */
static int print_serial_loops(bd_printer *p)
{
    int innermost = bd_kir_axis_of(p->program, BD_KIR_SERIAL);
    for (int axis = 0; axis < innermost; axis++) /* counted: divisions would cost more */
        if (p->program->axes[axis].role == BD_KIR_SERIAL)
            bd_text_add(&p->text, "for (i64 p%d = 0; p%d < %s; p%d++)\n", axis, axis,
                        bd_print_int(p->program->axes[axis].extent), axis);
    return innermost;
}

static void print_each(bd_printer *p, const bd_kir_phase *phase)
{
    bd_print_nothing(p, phase);
    bd_text_add(&p->text, "for (i64 at = 0; at < serial;)\n"); /* once, if there is anything */
    int axis = print_serial_loops(p);
    if (axis >= 0)
        bd_text_add(&p->text, "for (i64 p%d = 0; p%d < %s; p%d++, at++) {\n", axis, axis,
                    bd_print_int(p->program->axes[axis].extent), axis);
    else
        bd_text_add(&p->text, "for (; at < 1; at++) {\n");
    bd_print_phase(p, phase);
    bd_text_add(&p->text, "}\n");
    bd_print_results(p, phase);
}

static void print_row_loop(bd_printer *p)
{
    bd_print_extent(p, "count", BD_KIR_PARALLEL);
    bd_print_extent(p, "serial", BD_KIR_SERIAL);
    bd_text_add(&p->text, "const i64 lane = (i64)number * blockDim.x + threadIdx.x;\n"
                          "if (lane >= lanes) return;\n");
    print_slots(p);
    bd_text_add(&p->text, "for (i64 row = lane; row < count; row += lanes) {\ni64 left = row;\n");
    bd_print_positions(p, BD_KIR_PARALLEL, "left");
}

static void print_rows(bd_printer *p, const char *name)
{
    bd_print_entry(p, name);
    print_row_loop(p);
    for (int i = 0; i < p->program->phase_count; i++) {
        const bd_kir_phase *phase = &p->program->phases[i];
        if (phase->kind == BD_KIR_EACH)
            print_each(p, phase);
        else if (phase->kind == BD_KIR_ROW)
            bd_print_phase(p, phase);
    }
    bd_text_add(&p->text, "}\n");
    bd_print_exit(p);
}

/* `splits` threads a row look where each point stores, several points at a time; each of them does
 * those of its share of places. */
static void print_divided(bd_printer *p)
{
    bd_print_entry(p, "parts");
    bd_text_add(&p->text, "const u32 part = blockIdx.x %% splits;\n");
    bd_print_extent(p, "count", BD_KIR_PARALLEL);
    bd_text_add(&p->text, "const i64 row = (i64)(number / splits) * blockDim.x + threadIdx.x;\n"
                          "if (row >= count) return;\ni64 left = row;\n");
    bd_print_positions(p, BD_KIR_PARALLEL, "left");
    for (int i = 0; i < p->program->phase_count; i++)
        if (p->program->phases[i].kind == BD_KIR_ROW)
            bd_print_phase(p, &p->program->phases[i]);
    const bd_kir_phase *each = bd_print_find(p->program, BD_KIR_EACH);
    bd_kir_value place = place_of_stores(p->program);
    int axis = print_serial_loops(p);
    const char *extent = bd_print_int(p->program->axes[axis].extent);
    bd_text_add(&p->text,
                "for (i64 first = 0; first < %s; first += 8) {\nu32 mine = 0;\n"
                "#pragma unroll\nfor (int i = 0; i < 8; i++) {\n"
                "const i64 p%d = first + i < %s ? first + i : first;\n",
                extent, axis, extent);
    bd_print_until(p, each, place);
    bd_text_add(&p->text,
                "if (((u32)v%d & (splits - 1)) == part && first + i < %s) mine |= 1u << i;\n}\n"
                "for (; mine; mine &= mine - 1) {\nconst i64 p%d = first + __ffs(mine) - 1;\n",
                place, extent, axis);
    bd_print_phase(p, each);
    bd_text_add(&p->text, "}\n}\n");
    bd_print_exit(p);
}

void bd_print_loop(bd_printer *p)
{
    bd_cfamily_loop loop = bd_cfamily_loop_of(p->program);
    p->along = loop.along;
    print_rows(p, "rows");
    if (loop.parts)
        print_divided(p);
    if (loop.teams)
        bd_print_teams(p, &loop);
    else if (loop.wide)
        bd_print_vectors(p, "vectors", loop.wide);
    p->many = loop.map;
    if (loop.map)
        print_rows(p, "rows_many");
    if (loop.map && loop.wide)
        bd_print_vectors(p, "vectors_many", loop.wide);
    p->many = false;
    if (loop.down)
        bd_print_down(p, "down", 0);
    if (loop.down && loop.wide)
        bd_print_down(p, "downs", loop.wide);
}
