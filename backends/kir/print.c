/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/kir/kir.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "proto/base/attr.h"
#include "proto/base/vec.h"

typedef struct text {
    BD_VEC(char) chars;
} text;

static void add(text *to, const char *format, ...) BD_PRINTF(2, 3);
static void add(text *to, const char *format, ...)
{
    char line[160];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (length > (int)sizeof line - 1)
        length = (int)sizeof line - 1;
    for (int i = 0; i < length; i++)
        *bd_vec_push(&to->chars) = line[i];
}

static void add_int(text *to, bd_kir_int integer)
{
    if (integer.argument >= 0)
        add(to, "n%d", (int)integer.argument);
    else
        add(to, "%" PRId64, integer.value);
}

static void add_affine(text *to, const bd_kir *program, bd_kir_int offset,
                       const bd_kir_int *strides)
{
    bool any = !bd_kir_int_is(offset, 0);
    if (any)
        add_int(to, offset);
    for (unsigned axis = 0; axis < program->axis_count; axis++) {
        if (bd_kir_int_is(strides[axis], 0))
            continue;
        add(to, any ? " + i%u" : "i%u", axis);
        if (!bd_kir_int_is(strides[axis], 1)) {
            add(to, "*");
            add_int(to, strides[axis]);
        }
        any = true;
    }
    if (!any)
        add(to, "0");
}

static const char *store_text(unsigned mode)
{
    static const char *const texts[] = {"", " sum", " max", " min", " prod"};
    return mode < sizeof texts / sizeof *texts ? texts[mode] : " unknown";
}

static void add_access(text *to, const bd_kir *program, const bd_kir_instr *instr)
{
    const bd_kir_access *access = &program->accesses[instr->index];
    add(to, " b%u[", (unsigned)access->buffer);
    add_affine(to, program, access->offset, access->strides);
    bool at = instr->code == BD_KIR_LOAD_AT || instr->code == BD_KIR_STORE_AT;
    if (at) {
        add(to, " + %%%u*", (unsigned)instr->operands[instr->code == BD_KIR_STORE_AT]);
        add_int(to, instr->integer);
    }
    add(to, "]");
    if (instr->guard >= 0)
        add(to, " if g%d", (int)instr->guard);
}

static void add_fields(text *to, const bd_kir *program, const bd_kir_instr *instr)
{
    switch ((int)instr->code) {
    case BD_KIR_CONST:
        if (burn_dtype_is_float((burn_dtype)instr->dtype))
            add(to, " %.17g", instr->f);
        else
            add(to, " %" PRId64, instr->i);
        break;
    case BD_KIR_SCALAR:
        add(to, " s%u", (unsigned)instr->index);
        break;
    case BD_KIR_INTEGER:
        add(to, " ");
        add_int(to, instr->integer);
        break;
    case BD_KIR_INDEX:
        add(to, " i%u", (unsigned)instr->index);
        break;
    case BD_KIR_GUARD:
        add(to, " g%u", (unsigned)instr->index);
        break;
    case BD_KIR_CHECK:
        add(to, " in ");
        add_int(to, instr->integer);
        add(to, "%s tag %u", instr->flags & 1 ? " wrap" : "", (unsigned)instr->index);
        break;
    case BD_KIR_RANDOM_BITS:
    case BD_KIR_RANDOM_UNIFORM:
        add(to, " word %u", (unsigned)instr->index);
        break;
    case BD_KIR_SAVE:
    case BD_KIR_RESTORE:
        add(to, " slot %u", (unsigned)instr->index);
        break;
    case BD_KIR_SORT:
        add(to, " slot %u%s", (unsigned)instr->index, instr->flags & 1 ? " descending" : "");
        break;
    case BD_KIR_LOAD:
    case BD_KIR_LOAD_AT:
    case BD_KIR_STORE:
    case BD_KIR_STORE_AT:
        add_access(to, program, instr);
        break;
    }
}

static void add_instr(text *to, const bd_kir *program, unsigned number)
{
    const bd_kir_instr *instr = &program->instrs[number];
    bd_kir_code code = (bd_kir_code)instr->code;
    add(to, "  ");
    if (bd_kir_result_of(code) != BD_KIR_RESULT_NONE)
        add(to, "%%%u = ", number + 1);
    add(to, "%s %s", bd_kir_code_text(code), burn_dtype_name((burn_dtype)instr->dtype));
    for (int i = 0; i < bd_kir_operand_count(code); i++)
        if (code != BD_KIR_LOAD_AT && !(code == BD_KIR_STORE_AT && i == 1))
            add(to, " %%%u", (unsigned)instr->operands[i]);
    add_fields(to, program, instr);
    if (code == BD_KIR_STORE || code == BD_KIR_STORE_AT)
        add(to, "%s", store_text(instr->flags));
    add(to, "\n");
}

static void add_head(text *to, const bd_kir *program)
{
    static const char *const roles[] = {"parallel", "serial", "batch", "m",
                                        "n",        "k",      "e"};
    static const char *const uses[] = {"none", "read", "write", "read write"};
    add(to, "%s ints %u\n", bd_kir_family_text(program->family), (unsigned)program->int_count);
    for (unsigned i = 0; i < program->axis_count; i++) {
        add(to, "axis i%u %s ", i, roles[program->axes[i].role]);
        add_int(to, program->axes[i].extent);
        add(to, "\n");
    }
    for (unsigned i = 0; i < program->buffer_count; i++)
        add(to, "buffer b%u %s %s\n", i, burn_dtype_name(program->buffers[i].dtype),
            uses[program->buffers[i].use & 3]);
    for (unsigned i = 0; i < program->scalar_count; i++)
        add(to, "scalar s%u %s\n", i, burn_dtype_name((burn_dtype)program->scalar_dtypes[i]));
    for (unsigned i = 0; i < program->guard_count; i++) {
        add(to, "guard g%u 0 <= ", i);
        add_affine(to, program, program->guards[i].offset, program->guards[i].strides);
        add(to, " < ");
        add_int(to, program->guards[i].extent);
        if (program->guards[i].also)
            add(to, " and g%d", program->guards[i].also - 1);
        add(to, "\n");
    }
}

char *bd_kir_print(const bd_kir *program)
{
    static const char *const kinds[] = {"uniform", "row", "each",    "a",
                                        "b",       "score", "c", "epilogue"};
    text to = {0};
    add_head(&to, program);
    for (unsigned i = 0; i < program->phase_count; i++) {
        const bd_kir_phase *phase = &program->phases[i];
        add(&to, "phase %s\n", kinds[phase->kind]);
        for (unsigned j = phase->first; j < (unsigned)phase->first + phase->count; j++)
            add_instr(&to, program, j);
    }
    *bd_vec_push(&to.chars) = '\0';
    return to.chars.items;
}
