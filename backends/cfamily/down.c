/* SPDX-License-Identifier: Apache-2.0
 * LOOP programs that sum down columns: the 8 warps of a block share a column's points, neighbouring
 * lanes have neighbouring columns, and `splits` blocks may share these. */
#include "backends/cfamily/parts.h"

/* "for (j ...) {" over a thread's columns. */
static void begin_columns(bd_printer *p)
{
    bd_text_add(&p->text, "#pragma unroll\nfor (int j = 0; j < %d; j++) {\n", p->columns);
}

static void begin_column_points(bd_printer *p)
{
    begin_columns(p);
    bd_text_add(&p->text, "const i64 p%d = base + j;\n", p->along);
}

static void print_row_phases(bd_printer *p, const bd_kir_phase *each, bool behind)
{
    for (int i = 0; i < p->program->phase_count; i++) {
        const bd_kir_phase *phase = &p->program->phases[i];
        if (phase->kind == BD_KIR_ROW && (phase > each) == behind)
            bd_print_phase(p, phase);
    }
}

/* Points of a column that a thread loads before it looks at the first. */
static int chunks_of(const bd_printer *p, const bd_kir_phase *each)
{
    enum { BYTES = 192, MOST = 8 };
    int bytes = 0, chunks = MOST;
    for (int i = each->first; i < each->first + each->count; i++) {
        const bd_kir_instr *instr = &p->program->instrs[i];
        if (instr->code != BD_KIR_LOAD || !bd_cfamily_is_wide(p->program, p->along, instr))
            continue;
        int buffer = p->program->accesses[instr->index].buffer;
        bytes += p->columns * (int)burn_dtype_size((burn_dtype)p->program->buffers[buffer].dtype);
    }
    while (chunks > 1 && chunks * bytes > BYTES)
        chunks /= 2;
    return chunks;
}

/* "for (c ...) { if it is there {" with the positions of a point. */
static void begin_points(bd_printer *p, int chunks)
{
    bd_text_add(&p->text,
                "#pragma unroll\nfor (int c = 0; c < %d; c++) {\n"
                "const i64 at = first + c * step;\nif (at < serial) {\ni64 rest = at;\n",
                chunks);
    bd_print_positions(p, BD_KIR_SERIAL, "rest");
}

/* Some points of a column are summed in float, then they join a sum in double. */
static void print_totals(bd_printer *p, const bd_kir_phase *each, bool begin)
{
    for (int i = each->first; i < each->first + each->count; i++) {
        if (!bd_print_sums_neighbours(p, &p->program->instrs[i]))
            continue;
        if (begin) {
            bd_text_add(&p->text, "float t%d[%d] = {};\n", i + 1, p->columns);
            continue;
        }
        begin_columns(p);
        bd_text_add(&p->text, "r%d[j].see(t%d[j], 0);\n}\n", i + 1, i + 1);
    }
}

static void print_sums(bd_printer *p, const bd_kir_phase *each)
{
    int chunks = chunks_of(p, each);
    bd_text_add(&p->text,
                "const i64 step = (i64)splits * 8;\n#pragma unroll 1\n"
                "for (i64 first = piece * 8 + member; here && first < serial;"
                " first += step * %d) {\n",
                chunks);
    if (p->wide) {
        bd_print_wide(p, each, chunks, BD_DECLARE_LOADS);
        begin_points(p, chunks);
        bd_print_wide(p, each, chunks, BD_LOAD);
        bd_text_add(&p->text, "}\n}\n");
    }
    print_totals(p, each, true);
    begin_points(p, chunks);
    if (p->wide)
        bd_print_wide(p, each, chunks, BD_DECLARE_STORES);
    begin_column_points(p);
    bd_print_phase(p, each);
    bd_text_add(&p->text, "}\n");
    if (p->wide)
        bd_print_wide(p, each, chunks, BD_STORE);
    bd_text_add(&p->text, "}\n}\n");
    print_totals(p, each, false);
    bd_text_add(&p->text, "}\n");
}

/* "FUNCTION(rN);" for each reduction; where `rest` is, with its first part in scratch and that. */
static void print_calls(bd_printer *p, const bd_kir_phase *each, const char *function,
                        const char *rest)
{
    int number = 0;
    for (int i = each->first; i < each->first + each->count; i++) {
        if (!bd_kir_is_reduce((bd_kir_code)p->program->instrs[i].code))
            continue;
        bd_text_add(&p->text, "%s(r%d", function, i + 1);
        if (rest)
            bd_text_add(&p->text, ", scratch, %d * (i64)splits%s", number++, rest);
        bd_text_add(&p->text, ");\n");
    }
}

/* What a block saw of its columns, in its first warp; then what all blocks did, in the last one. */
static void print_joins(bd_printer *p, const bd_kir_phase *each)
{
    print_calls(p, each, "columns_join", NULL);
    bd_text_add(&p->text, "if (splits > 1) {\n");
    print_calls(p, each, "columns_put", " + piece, row, count");
    bd_text_add(&p->text, "if (!is_last(counters + group, splits)) return;\n");
    print_calls(p, each, "columns_get", ", splits, row, count");
    bd_text_add(&p->text, "}\nif (member > 0 || !here) return;\n");
}

void bd_print_down(bd_printer *p, const char *name, int wide)
{
    const bd_kir_phase *each = bd_print_find(p->program, BD_KIR_EACH);
    p->wide = wide;
    p->columns = wide ? wide : 1;
    bd_print_entry(p, name);
    bd_print_extent(p, "count", BD_KIR_PARALLEL);
    bd_print_extent(p, "serial", BD_KIR_SERIAL);
    bd_text_add(&p->text,
                "const u32 member = threadIdx.x / 32, piece = blockIdx.x %% splits;\n"
                "const i64 group = blockIdx.x / splits;\n"
                "const i64 row = (group * 32 + threadIdx.x %% 32) * %d;\n"
                "const bool here = row < count;\ni64 left = here ? row : 0;\n",
                p->columns);
    bd_print_positions(p, BD_KIR_PARALLEL, "left");
    bd_text_add(&p->text, "const i64 base = p%d;\n", p->along);
    if (!wide)
        print_row_phases(p, each, false);
    bd_print_nothing(p, each);
    print_sums(p, each);
    print_joins(p, each);
    begin_column_points(p);
    p->wide = 0; /* what a column itself touches */
    if (wide)
        print_row_phases(p, each, false); /* which may wait till here */
    bd_print_results(p, each);
    print_row_phases(p, each, true);
    bd_text_add(&p->text, "}\n");
    bd_print_exit(p);
    p->columns = 0;
}
