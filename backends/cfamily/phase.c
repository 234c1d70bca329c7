/* SPDX-License-Identifier: Apache-2.0
 * Straight-line phases as statements: value number n is the variable vn. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backends/cfamily/parts.h"
#include "proto/base/assert.h"

const char *bd_print_type(burn_dtype dtype)
{
    static const char *const names[BURN_DTYPE_END] = {
        [BURN_F64] = "double", [BURN_F32] = "float", [BURN_F16] = "float", [BURN_BF16] = "float",
        [BURN_I64] = "i64",    [BURN_I32] = "i32",   [BURN_I16] = "i16",   [BURN_I8] = "i8",
        [BURN_U64] = "u64",    [BURN_U32] = "u32",   [BURN_U16] = "u16",   [BURN_U8] = "u8",
        [BURN_BOOL] = "bool"};
    return names[dtype];
}

const char *bd_print_memory_type(burn_dtype dtype)
{
    if (dtype == BURN_F16 || dtype == BURN_BF16)
        return "u16";
    return dtype == BURN_BOOL ? "u8" : bd_print_type(dtype);
}

const char *bd_print_round(burn_dtype dtype)
{
    return dtype == BURN_F16 ? "to_f16" : dtype == BURN_BF16 ? "to_bf16" : "";
}

/* The same, where the phase's values are rounded at all. */
static const char *round_of(const bd_printer *p, burn_dtype dtype)
{
    return p->exact ? "" : bd_print_round(dtype);
}

const char *bd_print_int(bd_kir_int integer)
{
    enum { TEXTS = 16 };
    static _Thread_local char texts[TEXTS][32];
    static _Thread_local int next;
    char *text = texts[next++ % TEXTS];
    if (integer.argument < 0)
        snprintf(text, sizeof texts[0], "%" PRId64 "ll", integer.value);
    else
        snprintf(text, sizeof texts[0], "n%d", (int)integer.argument);
    return text;
}

const bd_kir_phase *bd_print_find(const bd_kir *program, bd_kir_phase_kind kind)
{
    for (int p = 0; p < program->phase_count; p++)
        if (program->phases[p].kind == kind)
            return &program->phases[p];
    return NULL;
}

/* offset + sum of strides * positions */
static void print_line(bd_printer *p, bd_kir_int offset, const bd_kir_int *strides)
{
    bd_text_add(&p->text, "%s", bd_print_int(offset));
    for (int axis = 0; axis < p->program->axis_count; axis++) {
        if (bd_kir_int_is(strides[axis], 0))
            continue;
        bd_text_add(&p->text, " + ");
        if (!bd_kir_int_is(strides[axis], 1))
            bd_text_add(&p->text, "%s * ", bd_print_int(strides[axis]));
        bd_text_add(&p->text, "p%d", axis);
    }
}

static void print_guard(bd_printer *p, int number)
{
    const bd_kir_guard *guard = &p->program->guards[number];
    if (p->parts) {
        bd_text_add(&p->text, "((u32)(");
        bd_print_part(p, BD_PART_GUARD, number);
        bd_text_add(&p->text, ") < (u32)%s)", bd_print_int(guard->extent));
    } else {
        bd_text_add(&p->text, "inside(");
        print_line(p, guard->offset, guard->strides);
        bd_text_add(&p->text, ", %s)", bd_print_int(guard->extent));
    }
    if (guard->also) {
        bd_text_add(&p->text, p->parts ? " & " : " && ");
        print_guard(p, guard->also - 1);
    }
}

void bd_print_place(bd_printer *p, const bd_kir_access *access)
{
    bd_text_add(&p->text, "b%d[", access->buffer);
    print_line(p, access->offset, access->strides);
    bd_text_add(&p->text, "]");
}

/* "bN[...]" of an access, moved by a position if the instruction has one. */
static void print_element(bd_printer *p, const bd_kir_instr *instr)
{
    const bd_kir_access *access = &p->program->accesses[instr->index];
    bd_text_add(&p->text, "b%d[", access->buffer);
    if (p->parts)
        bd_print_part(p, BD_PART_ACCESS, instr->index);
    else
        print_line(p, access->offset, access->strides);
    if (instr->code == BD_KIR_LOAD_AT || instr->code == BD_KIR_STORE_AT)
        bd_text_add(&p->text, " + v%d * %s",
                    instr->operands[instr->code == BD_KIR_STORE_AT ? 1 : 0],
                    bd_print_int(instr->integer));
    bd_text_add(&p->text, "]");
}

static const char *from_memory(burn_dtype dtype)
{
    return dtype == BURN_F16 ? "from_f16" : dtype == BURN_BF16 ? "from_bf16" : "";
}

static const char *to_memory(burn_dtype dtype)
{
    return dtype == BURN_F16 ? "as_f16" : dtype == BURN_BF16 ? "as_bf16" : "";
}

static void print_load(bd_printer *p, const bd_kir_instr *instr)
{
    burn_dtype dtype = (burn_dtype)instr->dtype;
    if (p->wide && bd_cfamily_is_wide(p->program, p->along, instr)) {
        if (dtype == BURN_BF16)
            bd_text_add(&p->text, "g%d[c].get_bf16(j)", instr->index);
        else
            bd_text_add(&p->text, "(%s)%s(g%d[c].get(j)%s)", bd_print_type(dtype),
                        from_memory(dtype), instr->index, dtype == BURN_BOOL ? " != 0" : "");
        return;
    }
    if (p->masked)
        bd_text_add(&p->text, instr->guard >= 0 ? "here && " : "here ? ");
    if (instr->guard >= 0) {
        print_guard(p, instr->guard);
        bd_text_add(&p->text, " ? ");
    }
    bd_text_add(&p->text, "(%s)%s(", bd_print_type(dtype), from_memory(dtype));
    print_element(p, instr);
    bd_text_add(&p->text, "%s)", dtype == BURN_BOOL ? " != 0" : "");
    if (p->masked || instr->guard >= 0)
        bd_text_add(&p->text, " : (%s)0", bd_print_type(dtype));
}

static void print_store(bd_printer *p, const bd_kir_instr *instr)
{
    static const char *const combine[] = {[BD_KIR_ACCUMULATE] = "k_add",
                                          [BD_KIR_ACCUMULATE_MAX] = "k_max",
                                          [BD_KIR_ACCUMULATE_MIN] = "k_min",
                                          [BD_KIR_ACCUMULATE_PROD] = "k_mul"};
    burn_dtype dtype = (burn_dtype)instr->dtype;
    bool sets = instr->flags == BD_KIR_SET;
    const char *convert = sets && dtype == BURN_BF16 ? "bits_bf16" : to_memory(dtype);
    if (p->wide && bd_cfamily_is_wide(p->program, p->along, instr)) {
        bd_text_add(&p->text, "o%d.put(j, (%s)%s(v%d));\n", instr->index,
                    bd_print_memory_type(dtype), convert, instr->operands[0]);
        return;
    }
    if (p->masked)
        bd_text_add(&p->text, "if (here) ");
    if (instr->guard >= 0) {
        bd_text_add(&p->text, "if (");
        print_guard(p, instr->guard);
        bd_text_add(&p->text, ") ");
    }
    print_element(p, instr);
    bd_text_add(&p->text, " = (%s)%s(", bd_print_memory_type(dtype), convert);
    if (sets) {
        bd_text_add(&p->text, "v%d);\n", instr->operands[0]);
        return;
    }
    bd_text_add(&p->text, "%s((%s)%s(", combine[instr->flags], bd_print_type(dtype),
                from_memory(dtype));
    print_element(p, instr);
    bd_text_add(&p->text, "%s), v%d));\n", dtype == BURN_BOOL ? " != 0" : "",
                instr->operands[0]);
}

/* A value of one type as another: `from` is its text. */
static void print_cast(bd_printer *p, const char *from, burn_dtype from_dtype, burn_dtype dtype)
{
    const char *type = bd_print_type(dtype);
    if (dtype == BURN_BOOL)
        bd_text_add(&p->text, "%s != 0", from);
    else if (burn_dtype_is_float(dtype))
        bd_text_add(&p->text, "%s((%s)%s)", round_of(p, dtype), type, from);
    else if (burn_dtype_is_float(from_dtype))
        bd_text_add(&p->text, "int_from<%s>((double)%s)", type, from);
    else
        bd_text_add(&p->text, "(%s)%s", type, from);
}

static void print_const(bd_printer *p, const bd_kir_instr *instr)
{
    burn_dtype dtype = (burn_dtype)instr->dtype;
    if (dtype == BURN_F64) {
        bd_text_add(&p->text, "__longlong_as_double(%" PRId64 "ll)", instr->i);
    } else if (burn_dtype_is_float(dtype)) {
        float value = (float)instr->f;
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        bd_text_add(&p->text, "%s(__uint_as_float(%" PRIu32 "u))", round_of(p, dtype), bits);
    } else if (dtype == BURN_BOOL) {
        bd_text_add(&p->text, instr->i ? "true" : "false");
    } else {
        bd_text_add(&p->text, "(%s)%" PRIu64 "ull", bd_print_type(dtype), (uint64_t)instr->i);
    }
}

static void print_random(bd_printer *p, const bd_kir_instr *instr)
{
    bool bits = instr->code == BD_KIR_RANDOM_BITS;
    const char *uniform = instr->dtype == BURN_F64 ? "random_f64" : "random_f32";
    const char *name = bits ? "random_bits" : uniform;
    bd_text_add(&p->text, "%s(philox(v%d, v%d, v%d), %d)", name, instr->operands[0],
                instr->operands[1], instr->operands[2], instr->index);
}

static const char *comparison(bd_kir_code code)
{
    static const char *const signs[] = {"==", "!=", "<", "<=", ">", ">="};
    return signs[code - BD_KIR_EQ];
}

bool bd_print_divides_by_known(const bd_printer *p, const bd_kir_phase *phase,
                               const bd_kir_instr *instr)
{
    burn_dtype dtype = (burn_dtype)instr->dtype;
    return p->by_team && phase->kind == BD_KIR_EACH && instr->code == BD_KIR_DIV &&
           dtype != BURN_F64 && burn_dtype_is_float(dtype) && instr->operands[1] <= phase->first;
}

/* Functions of the prelude are named after the instruction's text. */
static void print_function(bd_printer *p, const bd_kir_instr *instr)
{
    bd_kir_code code = (bd_kir_code)instr->code;
    burn_dtype dtype = (burn_dtype)instr->dtype;
    bool rounds = code >= BD_KIR_FLOOR && code <= BD_KIR_ROUND;
    if (rounds && !burn_dtype_is_float(dtype)) {
        bd_text_add(&p->text, "v%d", instr->operands[0]);
        return;
    }
    bool next = code == BD_KIR_NEXTAFTER;
    if (next && (dtype == BURN_F16 || dtype == BURN_BF16)) {
        bd_text_add(&p->text, "next_%s(v%d, v%d)", dtype == BURN_F16 ? "f16" : "bf16",
                    instr->operands[0], instr->operands[1]);
        return;
    }
    if (bd_print_divides_by_known(p, p->phase, instr)) {
        bd_text_add(&p->text, "%s(divide(v%d, d%d))", round_of(p, dtype), instr->operands[0],
                    instr->operands[1]);
        return;
    }
    bd_text_add(&p->text, "%s(k_%s(", round_of(p, dtype), bd_kir_code_text(code));
    for (int i = 0; i < bd_kir_operand_count(code); i++)
        bd_text_add(&p->text, "%sv%d", i ? ", " : "", instr->operands[i]);
    bd_text_add(&p->text, "))");
}

static void print_scalar(bd_printer *p, const bd_kir_instr *instr)
{
    char name[16];
    snprintf(name, sizeof name, "s%d", instr->index);
    print_cast(p, name, (burn_dtype)p->program->scalar_dtypes[instr->index],
               (burn_dtype)instr->dtype);
}

static void print_check(bd_printer *p, const bd_kir_instr *instr)
{
    bd_text_add(&p->text, "check(v%d, %s, %s, faults, %d, block)", instr->operands[0],
                bd_print_int(instr->integer), instr->flags & 1 ? "true" : "false", instr->index);
}

/* Whether a float is one of a shorter type already. */
static bool is_rounded(const bd_kir *program, bd_kir_value value, burn_dtype dtype, int depth)
{
    const bd_kir_instr *instr = &program->instrs[value - 1];
    if (instr->dtype == dtype)
        return true;
    if (depth == 0)
        return false;
    if (instr->code == BD_KIR_CAST && burn_dtype_is_float((burn_dtype)instr->dtype))
        return is_rounded(program, instr->operands[0], dtype, depth - 1);
    if (instr->code == BD_KIR_SELECT)
        return is_rounded(program, instr->operands[1], dtype, depth - 1) &&
               is_rounded(program, instr->operands[2], dtype, depth - 1);
    return instr->code == BD_KIR_CONST && burn_dtype_is_float((burn_dtype)instr->dtype) &&
           (instr->f == 0 || isinf(instr->f));
}

static void print_value(bd_printer *p, const bd_kir_instr *instr)
{
    char name[16];
    burn_dtype operand = instr->operands[0]
                             ? (burn_dtype)p->program->instrs[instr->operands[0] - 1].dtype
                             : BURN_DTYPE_NONE;
    switch ((int)instr->code) {
    case BD_KIR_CONST:
        print_const(p, instr);
        break;
    case BD_KIR_SCALAR:
        print_scalar(p, instr);
        break;
    case BD_KIR_INTEGER:
        bd_text_add(&p->text, "%s", bd_print_int(instr->integer));
        break;
    case BD_KIR_INDEX:
        if (p->parts)
            bd_print_part(p, BD_PART_AXIS, instr->index);
        else
            bd_text_add(&p->text, "p%d", instr->index);
        break;
    case BD_KIR_GUARD:
        print_guard(p, instr->index);
        break;
    case BD_KIR_LOAD:
    case BD_KIR_LOAD_AT:
        print_load(p, instr);
        break;
    case BD_KIR_CHECK:
        print_check(p, instr);
        break;
    case BD_KIR_RANDOM_BITS:
    case BD_KIR_RANDOM_UNIFORM:
        print_random(p, instr);
        break;
    case BD_KIR_CAST:
        snprintf(name, sizeof name, "v%d", instr->operands[0]);
        if ((instr->dtype == BURN_F16 || instr->dtype == BURN_BF16) &&
            is_rounded(p->program, instr->operands[0], (burn_dtype)instr->dtype, 3))
            bd_text_add(&p->text, "(%s)%s", bd_print_type((burn_dtype)instr->dtype), name);
        else
            print_cast(p, name, operand, (burn_dtype)instr->dtype);
        break;
    case BD_KIR_SELECT:
        bd_text_add(&p->text, "v%d ? v%d : v%d", instr->operands[0], instr->operands[1],
                    instr->operands[2]);
        break;
    case BD_KIR_RESTORE:
        bd_text_add(&p->text, p->held ? "h%d[c][j]" : "w%d[at]", instr->index);
        break;
    case BD_KIR_ACC:
        bd_text_add(&p->text, "acc");
        break;
    default:
        if (instr->code >= BD_KIR_EQ && instr->code <= BD_KIR_GE)
            bd_text_add(&p->text, "v%d %s v%d", instr->operands[0],
                        comparison((bd_kir_code)instr->code), instr->operands[1]);
        else
            print_function(p, instr);
    }
}

bool bd_print_sums_neighbours(const bd_printer *p, const bd_kir_instr *instr)
{
    burn_dtype dtype = (burn_dtype)instr->dtype;
    return p->wide && instr->code == BD_KIR_REDUCE_SUM && dtype != BURN_F64 &&
           burn_dtype_is_float(dtype);
}

static void print_scan(bd_printer *p, int number)
{
    const bd_kir_instr *instr = &p->program->instrs[number];
    const char *type = bd_print_type((burn_dtype)instr->dtype);
    char seen = 'r';
    if (p->by_team) {
        bd_text_add(&p->text,
                    "auto u%d = decltype(r%d)::none();\nif (here) u%d.see(v%d, 0);\n"
                    "u%d = team_scan(r%d, u%d, team);\n",
                    number + 1, number + 1, number + 1, instr->operands[0], number + 1,
                    number + 1, number + 1);
        seen = 'u';
    } else {
        bd_text_add(&p->text, "r%d.see(v%d, 0);\n", number + 1, instr->operands[0]);
    }
    bd_text_add(&p->text, "const %s v%d = %s((%s)%c%d.get());\n", type, number + 1,
                bd_print_round((burn_dtype)instr->dtype), type, seen, number + 1);
}

static void print_statement(bd_printer *p, int number)
{
    const bd_kir_instr *instr = &p->program->instrs[number];
    bd_kir_code code = (bd_kir_code)instr->code;
    switch ((int)code) {
    case BD_KIR_STORE:
    case BD_KIR_STORE_AT:
        print_store(p, instr);
        return;
    case BD_KIR_SAVE:
        if (p->masked && !p->held)
            bd_text_add(&p->text, "if (here) ");
        bd_text_add(&p->text, p->held ? "h%d[c][j] = v%d;\n" : "w%d[at] = v%d;\n",
                    instr->index, instr->operands[0]);
        return;
    case BD_KIR_SORT:
        bd_text_add(&p->text, "%s<%s>(w%d, w%d, w%d, serial, %s%s);\n",
                    p->by_team ? "team_sort" : "sort_row",
                    bd_print_type((burn_dtype)instr->dtype), instr->index, instr->index + 1,
                    instr->index + 2, instr->flags & 1 ? "true" : "false",
                    p->by_team ? ", member, team" : "");
        return;
    case BD_KIR_YIELD:
        bd_text_add(&p->text, "%s = v%d;\n", p->yield, instr->operands[0]);
        return;
    }
    if (bd_print_sums_neighbours(p, instr)) {
        bd_text_add(&p->text, "%st%d%s += v%d;\n", p->masked ? "if (here) " : "", number + 1,
                    p->columns ? "[j]" : "", instr->operands[0]);
    } else if (bd_kir_is_reduce(code)) {
        bd_text_add(&p->text, "%sr%d%s.see(v%d, at);\n", p->masked ? "if (here) " : "", number + 1,
                    p->columns ? "[j]" : "", instr->operands[0]);
    } else if (bd_kir_is_scan(code)) {
        print_scan(p, number);
    } else {
        bd_text_add(&p->text, "const %s v%d = ", bd_print_type((burn_dtype)instr->dtype),
                    number + 1);
        if (p->spared == number + 1)
            bd_text_add(&p->text, "whole || (int)n - (int)m <= spans.reach");
        else if (p->held && p->held->taken[number])
            bd_text_add(&p->text, "k%d[c][j]", p->held->same[number]);
        else if (p->ahead && code == BD_KIR_LOAD)
            bd_text_add(&p->text, "seen.v%d", number + 1);
        else
            print_value(p, instr);
        bd_text_add(&p->text, ";\n");
        if (p->held && p->held->kept[number])
            bd_text_add(&p->text, "k%d[c][j] = v%d;\n", number + 1, number + 1);
    }
}

void bd_print_seen(bd_printer *p, const bd_kir_phase *phase, bool fields)
{
    p->phase = phase;
    for (int i = phase->first; i < phase->first + phase->count; i++) {
        const bd_kir_instr *instr = &p->program->instrs[i];
        if (instr->code != BD_KIR_LOAD)
            continue;
        if (fields) {
            bd_text_add(&p->text, "%s v%d;\n", bd_print_type((burn_dtype)instr->dtype), i + 1);
            continue;
        }
        bd_text_add(&p->text, "to.v%d = ", i + 1);
        print_value(p, instr);
        bd_text_add(&p->text, ";\n");
    }
}

void bd_print_until(bd_printer *p, const bd_kir_phase *phase, bd_kir_value last)
{
    p->phase = phase;
    for (int i = phase->first; i < last; i++)
        print_statement(p, i);
}

void bd_print_phase(bd_printer *p, const bd_kir_phase *phase)
{
    p->phase = phase;
    for (int i = phase->first; i < phase->first + phase->count; i++) {
        bool effect = p->program->instrs[i].code == BD_KIR_STORE ||
                      p->program->instrs[i].code == BD_KIR_STORE_AT;
        if (effect && p->by_team && phase->kind == BD_KIR_ROW)
            bd_text_add(&p->text, "if (member == 0) ");
        print_statement(p, i);
    }
}
