/* SPDX-License-Identifier: Apache-2.0
 * LOOP programs by many threads: `wide` neighbours at once, a team of threads a row, or many blocks
 * for few rows. */
#include "backends/cfamily/parts.h"

/* ---- neighbours at once ---- */

/* Whether an earlier instruction, from `first` on, does the same with this access. */
static bool seen_before(const bd_printer *p, int first, int number)
{
    const bd_kir_instr *instrs = p->program->instrs, *instr = &instrs[number];
    for (int i = first; i < number; i++)
        if (instrs[i].code == instr->code && instrs[i].index == instr->index &&
            bd_cfamily_is_wide(p->program, p->along, &instrs[i]))
            return true;
    return false;
}

/* Whether an access reaches the same for every row: it is in a near cache, and need not be held. */
static bool same_for_rows(const bd_kir *program, const bd_kir_instr *instr)
{
    const bd_kir_int *strides = program->accesses[instr->index].strides;
    for (int axis = 0; axis < program->axis_count; axis++)
        if (program->axes[axis].role == BD_KIR_PARALLEL && !bd_kir_int_is(strides[axis], 0))
            return false;
    return true;
}

typedef enum wide_choice { ALL, ROWS_OWN, SAME_FOR_ROWS } wide_choice;

static void print_wide(bd_printer *p, int first, int count, int chunks, bd_wide_job job,
                       wide_choice choice)
{
    int code = job == BD_DECLARE_LOADS || job == BD_LOAD ? BD_KIR_LOAD : BD_KIR_STORE;
    for (int i = first; i < first + count; i++) {
        const bd_kir_instr *instr = &p->program->instrs[i];
        if (instr->code != code || !bd_cfamily_is_wide(p->program, p->along, instr) ||
            seen_before(p, first, i) ||
            (choice != ALL && same_for_rows(p->program, instr) != (choice == SAME_FOR_ROWS)))
            continue;
        const bd_kir_access *access = &p->program->accesses[instr->index];
        const char *type =
            bd_print_memory_type((burn_dtype)p->program->buffers[access->buffer].dtype);
        if (job == BD_DECLARE_LOADS)
            bd_text_add(&p->text, "pack<%s, %d> g%d[%d] = {};\n", type, p->wide, instr->index,
                        chunks);
        else if (job == BD_DECLARE_STORES)
            bd_text_add(&p->text, "pack<%s, %d> o%d;\n", type, p->wide, instr->index);
        if (job == BD_DECLARE_LOADS || job == BD_DECLARE_STORES)
            continue;
        if (job == BD_LOAD)
            bd_text_add(&p->text, "g%d[c] = take<pack<%s, %d>>(&", instr->index, type, p->wide);
        else
            bd_text_add(&p->text, "give(&");
        bd_print_place(p, access);
        if (job == BD_STORE)
            bd_text_add(&p->text, ", o%d", instr->index);
        bd_text_add(&p->text, ");\n");
    }
}

void bd_print_wide(bd_printer *p, const bd_kir_phase *phase, int chunks, bd_wide_job job)
{
    print_wide(p, phase->first, phase->count, chunks, job, ALL);
}

/* "for (c ...) {" with the first neighbour's number in `chunk`, and whether it exists in `here`. */
static void begin_chunks(bd_printer *p, int chunks)
{
    bd_text_add(&p->text,
                "#pragma unroll\nfor (int c = 0; c < %d; c++) {\n"
                "const i64 chunk = first + c * step;\nconst bool here = chunk < total;\n",
                chunks);
}

static void print_chunk_positions(bd_printer *p)
{
    int inner = p->program->axis_count - 1;
    bd_text_add(&p->text, "i64 rest = chunk;\n");
    bd_print_positions(p, p->program->axes[inner].role, "rest");
}

static void print_loads(bd_printer *p, int first, int count, int chunks, wide_choice choice)
{
    print_wide(p, first, count, chunks, BD_DECLARE_LOADS, choice);
    begin_chunks(p, chunks);
    bd_text_add(&p->text, "if (here) {\n");
    print_chunk_positions(p);
    print_wide(p, first, count, chunks, BD_LOAD, choice);
    bd_text_add(&p->text, "}\n}\n");
}

/* Neighbours are summed in float, then they join a sum in double: `tN` of the reduction rN. */
static void print_totals(bd_printer *p, const bd_kir_phase *phase, bool begin)
{
    for (int i = phase->first; i < phase->first + phase->count; i++)
        if (!bd_print_sums_neighbours(p, &p->program->instrs[i]))
            continue;
        else if (begin)
            bd_text_add(&p->text, "float t%d = 0.0f;\n", i + 1);
        else
            bd_text_add(&p->text, "r%d.see(t%d, 0);\n", i + 1, i + 1);
}

/* What many points are divided by; `known`, by value, are those that stand already. */
static void print_divisors(bd_printer *p, const bd_kir_phase *phase, bool *known)
{
    for (int i = phase->first; i < phase->first + phase->count; i++) {
        const bd_kir_instr *instr = &p->program->instrs[i];
        if (!bd_print_divides_by_known(p, phase, instr) || known[instr->operands[1]])
            continue;
        known[instr->operands[1]] = true;
        bd_text_add(&p->text, "const divisor d%d = divisor_of(v%d);\n", instr->operands[1],
                    instr->operands[1]);
    }
}

/* The phase at all neighbours of all chunks, what they load being there. */
static void print_points(bd_printer *p, const bd_kir_phase *phase, int chunks)
{
    int inner = p->program->axis_count - 1;
    begin_chunks(p, chunks);
    if (!p->held)
        bd_text_add(&p->text, "if (here) {\n");
    print_chunk_positions(p);
    bd_text_add(&p->text, "const i64 base = p%d;\n", inner);
    if (p->held) {
        print_wide(p, phase->first, phase->count, chunks, BD_DECLARE_LOADS, SAME_FOR_ROWS);
        bd_text_add(&p->text, "if (here) {\n");
        print_wide(p, phase->first, phase->count, chunks, BD_LOAD, SAME_FOR_ROWS);
        bd_text_add(&p->text, "}\n");
    }
    print_totals(p, phase, true);
    print_wide(p, phase->first, phase->count, chunks, BD_DECLARE_STORES, ALL);
    bd_text_add(&p->text,
                "#pragma unroll\nfor (int j = 0; j < %d; j++) {\n"
                "const i64 at = chunk + j, p%d = base + j;\n",
                p->wide, inner);
    bd_print_phase(p, phase);
    bd_text_add(&p->text, "}\n");
    print_totals(p, phase, false);
    if (p->held)
        bd_text_add(&p->text, "if (here) {\n");
    print_wide(p, phase->first, phase->count, chunks, BD_STORE, ALL);
    bd_text_add(&p->text, "}\n}\n");
}

void bd_print_vectors(bd_printer *p, const char *name, int wide)
{
    p->wide = wide;
    bd_print_entry(p, name);
    bd_print_extent(p, "total", BD_KIR_PARALLEL);
    bd_text_add(&p->text,
                "const i64 step = lanes * %d;\n"
                "for (i64 first = ((i64)number * blockDim.x + threadIdx.x) * %d; "
                "first < total; first += step) {\n",
                wide, wide);
    const bd_kir_phase *phase = bd_print_find(p->program, BD_KIR_ROW);
    print_loads(p, phase->first, phase->count, 1, ALL);
    print_points(p, phase, 1);
    bd_text_add(&p->text, "}\n");
    bd_print_exit(p);
    p->wide = 0;
}

/* ---- reductions ---- */

static int count_reductions(const bd_kir *program)
{
    int count = 0;
    for (int i = 0; i < program->instr_count; i++)
        count += bd_kir_is_reduce((bd_kir_code)program->instrs[i].code);
    return count;
}

static void print_join(bd_printer *p, int value)
{
    bd_text_add(&p->text, "r%d = team_join<%d, %d>(r%d, team);\n", value, value,
                count_reductions(p->program), value);
}

/* The parts that the blocks of a row saw: each puts its own, the last of them joins all. */
static void print_parts(bd_printer *p, const bd_kir_phase *phase, bool put)
{
    int number = 0;
    for (int i = phase->first; i < phase->first + phase->count; i++) {
        if (!bd_kir_is_reduce((bd_kir_code)p->program->instrs[i].code))
            continue;
        if (put) {
            bd_text_add(&p->text,
                        "put_part(scratch, (%d * (i64)splits + piece) * count + row, r%d);\n",
                        number, i + 1);
        } else {
            bd_text_add(&p->text,
                        "r%d = R%d::none();\n"
                        "for (u32 k = member; k < splits; k += team)\n"
                        "r%d.join(get_part<R%d>(scratch, (%d * (i64)splits + k) * count"
                        " + row));\n",
                        i + 1, i + 1, i + 1, i + 1, number);
            print_join(p, i + 1);
        }
        number++;
    }
}

static void print_joins(bd_printer *p, const bd_kir_phase *phase, bool splits)
{
    for (int i = phase->first; i < phase->first + phase->count; i++)
        if (bd_kir_is_reduce((bd_kir_code)p->program->instrs[i].code))
            print_join(p, i + 1);
    if (!splits)
        return;
    bd_text_add(&p->text, "if (splits > 1) {\nif (member == 0) {\n");
    print_parts(p, phase, true);
    bd_text_add(&p->text, "}\nif (!is_last(counters + row, splits)) return;\n");
    print_parts(p, phase, false);
    bd_text_add(&p->text, "}\n");
}

/* ---- rows of teams ---- */

typedef struct team_entry {
    const char *name;
    int wide, chunks; /* 0: a point at a time */
    bool held;
} team_entry;

static void print_slots(bd_printer *p, const team_entry *entry)
{
    for (int i = 0; p->held && i < p->program->instr_count; i++)
        if (p->held->kept[i])
            bd_text_add(&p->text, "%s k%d[%d][%d];\n",
                        bd_print_type((burn_dtype)p->program->instrs[i].dtype), i + 1,
                        entry->chunks, entry->wide);
    for (int slot = 0; slot < p->program->slot_count; slot++) {
        const char *type = bd_print_type((burn_dtype)p->program->slot_dtypes[slot]);
        if (entry->held)
            bd_text_add(&p->text, "%s h%d[%d][%d];\n", type, slot, entry->chunks, entry->wide);
        else
            bd_text_add(&p->text,
                        "const slot<%s> w%d = {scratch + (%d * lanes + lane) * serial * 8, 1};\n",
                        type, slot, slot);
    }
}

static void print_each(bd_printer *p, const bd_kir_phase *phase, const team_entry *entry)
{
    if (bd_print_scans(p->program, phase)) { /* all threads take part, also beyond the end */
        bd_text_add(&p->text, "for (i64 tile = 0; tile < serial; tile += team) {\n"
                              "const bool here = tile + member < serial;\n"
                              "const i64 at = here ? tile + member : serial - 1;\n"
                              "i64 rest = at;\n");
        bd_print_positions(p, BD_KIR_SERIAL, "rest");
        p->masked = true;
        bd_print_phase(p, phase);
        p->masked = false;
        bd_text_add(&p->text, "}\n");
    } else if (!entry->wide) {
        bd_text_add(&p->text, "for (i64 at = (i64)piece * team + member; at < serial;"
                              " at += (i64)team * splits) {\ni64 rest = at;\n");
        bd_print_positions(p, BD_KIR_SERIAL, "rest");
        bd_print_phase(p, phase);
        bd_text_add(&p->text, "}\n");
    } else if (entry->held) {
        p->masked = true;
        print_points(p, phase, entry->chunks);
        p->masked = false;
    } else {
        bd_text_add(&p->text,
                    "for (i64 first = ((i64)piece * team + member) * %d; first < total;"
                    " first += step * %d) {\n",
                    entry->wide, entry->chunks);
        print_loads(p, phase->first, phase->count, entry->chunks, ALL);
        print_points(p, phase, entry->chunks);
        bd_text_add(&p->text, "}\n");
    }
}

/* Blocks that a processor should hold, as the registers for what a row has in them allow. */
static int held_at_once(const bd_printer *p, const team_entry *entry)
{
    enum { REGISTERS = 65536, OTHERS = 16, ENOUGH = 4 };
    const bd_kir *program = p->program;
    int bytes = 0;
    for (int i = 0; i < program->instr_count; i++) {
        const bd_kir_instr *instr = &program->instrs[i];
        if (instr->code != BD_KIR_LOAD || !bd_cfamily_is_wide(program, p->along, instr) ||
            seen_before(p, 0, i) || same_for_rows(program, instr))
            continue;
        int buffer = program->accesses[instr->index].buffer;
        bytes += (int)burn_dtype_size((burn_dtype)program->buffers[buffer].dtype);
    }
    int points = entry->chunks * entry->wide;
    int most = REGISTERS / BD_CFAMILY_THREADS / (points + points * bytes / 4 + OTHERS);
    return most < 1 ? 1 : most < ENOUGH ? most : ENOUGH;
}

/* Whether threads of the team may read what others wrote in the phase. */
static bool leaves_memory(const bd_kir *program, const bd_kir_phase *phase,
                          const team_entry *entry)
{
    for (int i = phase->first; i < phase->first + phase->count; i++) {
        int code = program->instrs[i].code;
        if (code == BD_KIR_STORE || code == BD_KIR_STORE_AT || code == BD_KIR_SORT ||
            (code == BD_KIR_SAVE && !entry->held))
            return true;
    }
    return false;
}

static void print_team_rows(bd_printer *p, const team_entry *entry, bool splits)
{
    bool known[BD_KIR_INSTRS_MAX + 1] = {false};
    bd_again again;
    bd_again_of(p->program, &again);
    p->by_team = true;
    p->wide = entry->wide;
    p->held = entry->held ? &again : NULL;
    p->at_once = entry->held ? held_at_once(p, entry) : 0;
    bd_print_entry(p, entry->name);
    p->at_once = 0;
    bd_print_extent(p, "count", BD_KIR_PARALLEL);
    bd_print_extent(p, "serial", BD_KIR_SERIAL);
    bd_text_add(&p->text,
                "const i64 total = serial, step = (i64)team * splits * %d;\n"
                "const u32 member = threadIdx.x %% team, piece = blockIdx.x %% splits;\n"
                "const i64 lane = "
                "((i64)(blockIdx.x / splits) * blockDim.x + threadIdx.x) / team;\n",
                entry->wide);
    print_slots(p, entry);
    bd_text_add(&p->text, "for (i64 row = lane; row < count; row += lanes) {\ni64 left = row;\n");
    bd_print_positions(p, BD_KIR_PARALLEL, "left");
    if (entry->held) {
        bd_text_add(&p->text, "const i64 first = (i64)member * %d;\n", entry->wide);
        print_loads(p, 0, p->program->instr_count, entry->chunks, ROWS_OWN);
    }
    for (int i = 0; i < p->program->phase_count; i++) {
        const bd_kir_phase *phase = &p->program->phases[i];
        if (phase->kind == BD_KIR_UNIFORM)
            continue;
        if (phase->kind == BD_KIR_EACH) {
            bd_print_nothing(p, phase);
            print_divisors(p, phase, known);
            print_each(p, phase, entry);
            print_joins(p, phase, splits);
            bd_print_results(p, phase);
        } else {
            p->wide = 0; /* what a row itself touches */
            p->held = NULL;
            bd_print_phase(p, phase);
            p->wide = entry->wide;
            p->held = entry->held ? &again : NULL;
        }
        if (leaves_memory(p->program, phase, entry))
            bd_text_add(&p->text, "team_sync(team);\n");
    }
    bd_text_add(&p->text, "}\n");
    bd_print_exit(p);
    p->by_team = false;
    p->held = NULL;
    p->wide = 0;
}

/* Chunks that a long row has at once: as many loads as are good, as little text as is. */
static int chunks_of(const bd_kir *program, int wide)
{
    enum { POINTS = 16, WEIGHT_MOST = 320, FUNCTION = 10 };
    int weight = 1;
    for (int i = 0; i < program->instr_count; i++) {
        int code = program->instrs[i].code;
        bool function = (code >= BD_KIR_EXP && code <= BD_KIR_SIGMOID) || code == BD_KIR_POW ||
                        code == BD_KIR_RANDOM_BITS || code == BD_KIR_RANDOM_UNIFORM;
        weight += function ? FUNCTION : 1;
    }
    int chunks = POINTS / wide;
    while (chunks > 1 && chunks * wide * weight > WEIGHT_MOST)
        chunks /= 2;
    return chunks;
}

void bd_print_teams(bd_printer *p, const bd_cfamily_loop *loop)
{
    bool splits = loop->reductions > 0;
    print_team_rows(p, &(team_entry){.name = "teams"}, splits);
    if (!loop->wide || loop->down)
        return;
    print_team_rows(p, &(team_entry){"wides", loop->wide,
                                      chunks_of(p->program, loop->wide), false}, splits);
    if (loop->held)
        print_team_rows(p, &(team_entry){"held", loop->wide, loop->held / loop->wide, true}, false);
}
