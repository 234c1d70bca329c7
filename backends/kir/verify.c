/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/kir/kir.h"

#include "proto/dtype.h"

/* The rules that a program must keep before a backend sees it. Programs also come from the object
 * cache and from fuzzers, so nothing is taken for granted but the array lengths. */

static bd_error *check_counts(const bd_kir *program)
{
    if ((int)program->family < 0 || program->family > BD_KIR_ATTENTION)
        BD_FAIL(INTERNAL, "kernel program: unknown family %d", (int)program->family);
    if (program->axis_count > BD_KIR_AXES_MAX || program->buffer_count > BD_KIR_BUFFERS_MAX ||
        program->access_count > BD_KIR_ACCESSES_MAX || program->guard_count > BD_KIR_GUARDS_MAX ||
        program->phase_count > BD_KIR_PHASES_MAX || program->instr_count > BD_KIR_INSTRS_MAX ||
        program->int_count > BD_KIR_INTS_MAX || program->scalar_count > BD_KIR_SCALARS_MAX ||
        program->slot_count > BD_KIR_SLOTS_MAX)
        BD_FAIL(INTERNAL, "kernel program: a count is beyond its limit");
    return NULL;
}

static bd_error *check_int(const bd_kir *program, bd_kir_int integer, const char *where)
{
    if (integer.argument >= (int32_t)program->int_count)
        BD_FAIL(INTERNAL, "kernel program: %s: integer argument %d of %d", where,
                (int)integer.argument, (int)program->int_count);
    return NULL;
}

static bd_error *check_axes(const bd_kir *program)
{
    int counts[BD_KIR_E + 1] = {0};
    bd_kir_role last = BD_KIR_PARALLEL;
    bool contraction = program->family == BD_KIR_CONTRACTION;
    bool loop = program->family == BD_KIR_LOOP;
    for (unsigned i = 0; i < program->axis_count; i++) {
        bd_kir_role role = program->axes[i].role;
        if ((int)role < 0 || role > BD_KIR_E || (role < BD_KIR_BATCH) != loop ||
            (contraction && role == BD_KIR_E))
            BD_FAIL(INTERNAL, "kernel program: axis %u has a role of another family", i);
        if (role < last)
            BD_FAIL(INTERNAL, "kernel program: axis %u stands out of order", i);
        bd_kir_int extent = program->axes[i].extent;
        BD_TRY(check_int(program, extent, "axis"));
        if (extent.argument < 0 && extent.value < 0)
            BD_FAIL(INTERNAL, "kernel program: axis %u has a negative extent", i);
        last = role;
        counts[role]++;
    }
    if (contraction && counts[BD_KIR_K] == 0)
        BD_FAIL(INTERNAL, "kernel program: a contraction has an axis K");
    if (program->family == BD_KIR_ATTENTION &&
        (counts[BD_KIR_M] > 1 || counts[BD_KIR_N] != 1 || counts[BD_KIR_K] > 1 ||
         counts[BD_KIR_E] > 1))
        BD_FAIL(INTERNAL, "kernel program: an attention has one axis N, at most one M, K and E");
    return NULL;
}

static bd_error *check_tables(const bd_kir *program)
{
    for (unsigned i = 0; i < program->buffer_count; i++) {
        const bd_kir_buffer *buffer = &program->buffers[i];
        if (!burn_dtype_valid((int)buffer->dtype) || (int)buffer->use < BD_KIR_READ ||
            buffer->use > BD_KIR_READ_WRITE)
            BD_FAIL(INTERNAL, "kernel program: buffer %u is malformed", i);
    }
    for (unsigned i = 0; i < program->scalar_count; i++)
        if (program->scalar_dtypes[i] != BURN_F64 && program->scalar_dtypes[i] != BURN_I64)
            BD_FAIL(INTERNAL, "kernel program: scalar %u is stored as neither f64 nor i64", i);
    for (unsigned i = 0; i < program->slot_count; i++)
        if (!burn_dtype_valid(program->slot_dtypes[i]))
            BD_FAIL(INTERNAL, "kernel program: slot %u has no type", i);
    for (unsigned i = 0; i < program->access_count; i++) {
        const bd_kir_access *access = &program->accesses[i];
        if (access->buffer >= program->buffer_count)
            BD_FAIL(INTERNAL, "kernel program: access %u of buffer %u", i,
                    (unsigned)access->buffer);
        BD_TRY(check_int(program, access->offset, "access"));
        for (int axis = 0; axis < BD_KIR_AXES_MAX; axis++)
            BD_TRY(check_int(program, access->strides[axis], "access"));
    }
    for (unsigned i = 0; i < program->guard_count; i++) {
        const bd_kir_guard *guard = &program->guards[i];
        BD_TRY(check_int(program, guard->offset, "guard"));
        BD_TRY(check_int(program, guard->extent, "guard"));
        if (guard->also > i)
            BD_FAIL(INTERNAL, "kernel program: guard %u and a later one", i);
        for (int axis = 0; axis < BD_KIR_AXES_MAX; axis++)
            BD_TRY(check_int(program, guard->strides[axis], "guard"));
    }
    return NULL;
}

static bool phase_fits(const bd_kir *program, bd_kir_phase_kind kind)
{
    if (kind == BD_KIR_UNIFORM)
        return true;
    bool loop = kind == BD_KIR_ROW || kind == BD_KIR_EACH;
    bool attention = kind == BD_KIR_SCORE || kind == BD_KIR_OPERAND_C;
    return loop == (program->family == BD_KIR_LOOP) &&
           (!attention || program->family == BD_KIR_ATTENTION);
}

static bd_error *check_phases(const bd_kir *program)
{
    unsigned first = 0;
    int counts[BD_KIR_EPILOGUE + 1] = {0};
    bd_kir_phase_kind last = BD_KIR_UNIFORM;
    bool contraction = program->family == BD_KIR_CONTRACTION;
    for (unsigned i = 0; i < program->phase_count; i++) {
        const bd_kir_phase *phase = &program->phases[i];
        if ((int)phase->kind < 0 || phase->kind > BD_KIR_EPILOGUE ||
            !phase_fits(program, phase->kind))
            BD_FAIL(INTERNAL, "kernel program: phase %u is of another family", i);
        if (phase->first != first || phase->count > program->instr_count - first)
            BD_FAIL(INTERNAL, "kernel program: phase %u leaves or doubles instructions", i);
        bool back = program->family != BD_KIR_LOOP ? phase->kind < last
                                : phase->kind == BD_KIR_UNIFORM && last != BD_KIR_UNIFORM;
        if (back)
            BD_FAIL(INTERNAL, "kernel program: phase %u stands out of order", i);
        last = phase->kind;
        first += phase->count;
        counts[phase->kind]++;
    }
    if (first != program->instr_count)
        BD_FAIL(INTERNAL, "kernel program: instructions after the last phase");
    if (contraction && (counts[BD_KIR_OPERAND_A] != 1 || counts[BD_KIR_OPERAND_B] != 1 ||
                        counts[BD_KIR_EPILOGUE] != 1))
        BD_FAIL(INTERNAL, "kernel program: a contraction has one phase of each kind");
    if (program->family == BD_KIR_ATTENTION &&
        (counts[BD_KIR_OPERAND_A] > 1 || counts[BD_KIR_OPERAND_A] != counts[BD_KIR_OPERAND_B] ||
         counts[BD_KIR_SCORE] != 1 || counts[BD_KIR_OPERAND_C] != 1 ||
         counts[BD_KIR_EPILOGUE] != 1))
        BD_FAIL(INTERNAL, "kernel program: an attention has one phase of each kind");
    return NULL;
}

/* What dtypes the first operand of a code may have. */
typedef enum domain_kind { ANY, NUMBER, FLOAT, INTEGER, BITS } domain_kind;

static domain_kind operand_domain(bd_kir_code code)
{
    if ((code >= BD_KIR_SQRT && code <= BD_KIR_SIGMOID) || code == BD_KIR_ISNAN ||
        code == BD_KIR_ISINF || code == BD_KIR_ATAN2 || code == BD_KIR_NEXTAFTER ||
        code == BD_KIR_SCAN_LOGSUM)
        return FLOAT;
    if (code == BD_KIR_SHL || code == BD_KIR_SHR)
        return INTEGER;
    if (code == BD_KIR_NOT || code == BD_KIR_AND || code == BD_KIR_OR || code == BD_KIR_XOR)
        return BITS;
    if ((code >= BD_KIR_NEG && code <= BD_KIR_ROUND) || code == BD_KIR_FMA || code == BD_KIR_FMAX ||
        code == BD_KIR_FMIN || code == BD_KIR_SUB || (code >= BD_KIR_DIV && code <= BD_KIR_POW))
        return NUMBER;
    return ANY;
}

static bool in_domain(domain_kind domain, burn_dtype dtype)
{
    switch (domain) {
    case ANY:
        return true;
    case NUMBER:
        return dtype != BURN_BOOL;
    case FLOAT:
        return burn_dtype_is_float(dtype);
    case INTEGER:
        return burn_dtype_is_integer(dtype);
    case BITS:
        return !burn_dtype_is_float(dtype);
    }
    return false;
}

typedef struct cursor {
    const bd_kir *program;
    unsigned phase, instr;           /* where we are */
    uint32_t domain;                 /* axes of the phase */
    uint8_t home[BD_KIR_INSTRS_MAX]; /* the phase of each instruction seen */
    uint64_t saved;                  /* slots saved by earlier phases */
} cursor;

static bd_error *wrong(const cursor *at, const char *reason)
{
    const bd_kir_instr *instr = &at->program->instrs[at->instr];
    return BD_ERROR(INTERNAL, "kernel program: %%%u %s: %s", at->instr + 1,
                    bd_kir_code_text((bd_kir_code)instr->code), reason);
}

static bd_kir_phase_kind kind_of(const cursor *at)
{
    return at->program->phases[at->phase].kind;
}

static bool visible(const cursor *at, bd_kir_value value)
{
    unsigned home = at->home[value - 1];
    bool reduce = bd_kir_is_reduce((bd_kir_code)at->program->instrs[value - 1].code);
    if (home == at->phase)
        return !reduce;
    bd_kir_phase_kind kind = at->program->phases[home].kind;
    return reduce || kind == BD_KIR_UNIFORM || kind == BD_KIR_ROW;
}

static bd_error *check_operands(const cursor *at)
{
    const bd_kir_instr *instr = &at->program->instrs[at->instr];
    bd_kir_code code = (bd_kir_code)instr->code;
    int count = bd_kir_operand_count(code);
    for (int i = 0; i < 3; i++) {
        bd_kir_value value = instr->operands[i];
        if (i >= count ? value != 0 : value == 0 || value > at->instr)
            return wrong(at, "an operand is missing, surplus or not yet defined");
        if (i < count && !visible(at, value))
            return wrong(at, "an operand is not visible here");
        if (i < count && bd_kir_result_of((bd_kir_code)at->program->instrs[value - 1].code) ==
                             BD_KIR_RESULT_NONE)
            return wrong(at, "an operand has no value");
    }
    return NULL;
}

static burn_dtype operand_dtype(const cursor *at, int i)
{
    const bd_kir_instr *instr = &at->program->instrs[at->instr];
    return (burn_dtype)at->program->instrs[instr->operands[i] - 1].dtype;
}

static bd_error *check_dtypes(const cursor *at)
{
    const bd_kir_instr *instr = &at->program->instrs[at->instr];
    bd_kir_code code = (bd_kir_code)instr->code;
    int count = bd_kir_operand_count(code);
    if (!burn_dtype_valid(instr->dtype))
        return wrong(at, "no type");
    burn_dtype dtype = (burn_dtype)instr->dtype;
    burn_dtype first = count ? operand_dtype(at, 0) : dtype;
    if (code == BD_KIR_LOAD_AT || code == BD_KIR_CHECK || code == BD_KIR_RANDOM_BITS ||
        code == BD_KIR_RANDOM_UNIFORM) {
        for (int i = 0; i < count; i++)
            if (operand_dtype(at, i) != BURN_I64)
                return wrong(at, "an operand is not i64");
    } else if (code == BD_KIR_STORE_AT) {
        if (operand_dtype(at, 1) != BURN_I64)
            return wrong(at, "the position is not i64");
    } else if (code == BD_KIR_SELECT) {
        if (first != BURN_BOOL || operand_dtype(at, 1) != dtype || operand_dtype(at, 2) != dtype)
            return wrong(at, "operands of wrong types");
    } else {
        for (int i = 1; i < count; i++)
            if (operand_dtype(at, i) != first)
                return wrong(at, "operands of different types");
        if (count && !in_domain(operand_domain(code), first))
            return wrong(at, "not for this type");
    }
    switch (bd_kir_result_of(code)) {
    case BD_KIR_RESULT_SAME:
    case BD_KIR_RESULT_NONE:
        return dtype == first ? NULL : wrong(at, "its type is not the operand's");
    case BD_KIR_RESULT_BOOL:
        return dtype == BURN_BOOL ? NULL : wrong(at, "its type is not bool");
    case BD_KIR_RESULT_I64:
        return dtype == BURN_I64 ? NULL : wrong(at, "its type is not i64");
    case BD_KIR_RESULT_INSTR:
        break;
    }
    return NULL;
}

static bd_error *check_strides(const cursor *at, const bd_kir_int *strides)
{
    for (int axis = 0; axis < BD_KIR_AXES_MAX; axis++)
        if (!(at->domain >> axis & 1) && !bd_kir_int_is(strides[axis], 0))
            return wrong(at, "a stride on an axis that this phase does not run over");
    return NULL;
}

static bd_error *check_guard(const cursor *at, int guard)
{
    if (guard >= (int)at->program->guard_count)
        return wrong(at, "no such guard");
    for (int number = guard + 1; number > 0; number = at->program->guards[number - 1].also)
        BD_TRY(check_strides(at, at->program->guards[number - 1].strides));
    return NULL;
}

static bd_error *check_memory(const cursor *at)
{
    const bd_kir *program = at->program;
    const bd_kir_instr *instr = &program->instrs[at->instr];
    if (instr->index >= program->access_count)
        return wrong(at, "no such access");
    const bd_kir_access *access = &program->accesses[instr->index];
    const bd_kir_buffer *buffer = &program->buffers[access->buffer];
    if (buffer->dtype != (burn_dtype)instr->dtype)
        return wrong(at, "its type is not the buffer's");
    BD_TRY(check_strides(at, access->strides));
    if (instr->guard < -1)
        return wrong(at, "no such guard");
    if (instr->guard >= 0)
        BD_TRY(check_guard(at, instr->guard));
    BD_TRY(check_int(program, instr->integer, "stride"));
    if (instr->code == BD_KIR_LOAD || instr->code == BD_KIR_LOAD_AT)
        return buffer->use & BD_KIR_READ ? NULL : wrong(at, "the buffer is not for reading");
    if (instr->flags > BD_KIR_ACCUMULATE_PROD)
        return wrong(at, "unknown mode");
    return buffer->use & BD_KIR_WRITE ? NULL : wrong(at, "the buffer is not for writing");
}

static bd_error *check_place(const cursor *at)
{
    bd_kir_phase_kind kind = kind_of(at);
    bd_kir_code code = (bd_kir_code)at->program->instrs[at->instr].code;
    bool operand = bd_kir_yields(kind);
    bool store = code == BD_KIR_STORE || code == BD_KIR_STORE_AT;
    bool load = code == BD_KIR_LOAD || code == BD_KIR_LOAD_AT || code == BD_KIR_CHECK ||
                code == BD_KIR_INDEX || code == BD_KIR_GUARD;
    bool last = at->instr + 1 == (unsigned)at->program->phases[at->phase].first +
                                     at->program->phases[at->phase].count;
    if ((kind == BD_KIR_UNIFORM && (load || store)) || (operand && store))
        return wrong(at, "not in this phase");
    if ((bd_kir_is_reduce(code) || bd_kir_is_scan(code) || code == BD_KIR_SAVE ||
         code == BD_KIR_RESTORE) &&
        kind != BD_KIR_EACH)
        return wrong(at, "not in this phase");
    if (code == BD_KIR_SORT && (kind != BD_KIR_ROW || at->program->family != BD_KIR_LOOP))
        return wrong(at, "not in this phase");
    if ((code == BD_KIR_YIELD) != (operand && last))
        return wrong(at, "operand phases end in the one yield");
    if (code == BD_KIR_ACC && kind != BD_KIR_EPILOGUE && kind != BD_KIR_SCORE)
        return wrong(at, "not in this phase");
    return NULL;
}

static bd_error *check_slot(const cursor *at)
{
    const bd_kir_instr *instr = &at->program->instrs[at->instr];
    if (instr->index >= at->program->slot_count)
        return wrong(at, "no such slot");
    if (at->program->slot_dtypes[instr->index] != instr->dtype)
        return wrong(at, "its type is not the slot's");
    if (instr->code == BD_KIR_RESTORE && !(at->saved >> instr->index & 1))
        return wrong(at, "no earlier phase saved this slot");
    return NULL;
}

static bd_error *check_sort(const cursor *at)
{
    const bd_kir_instr *instr = &at->program->instrs[at->instr];
    const uint8_t *dtypes = at->program->slot_dtypes + instr->index;
    if (instr->index + 4u > at->program->slot_count)
        return wrong(at, "no such slots");
    if (!(at->saved >> instr->index & 1))
        return wrong(at, "no earlier phase saved the keys");
    if (dtypes[0] != instr->dtype || dtypes[1] != BURN_I64 || dtypes[2] != BURN_I64 ||
        dtypes[3] != BURN_I64)
        return wrong(at, "slots of other types");
    if (dtypes[0] != BURN_F32 && dtypes[0] != BURN_F64 && dtypes[0] != BURN_I64 &&
        dtypes[0] != BURN_U64)
        return wrong(at, "not for this type");
    return instr->flags > 1 ? wrong(at, "unknown order") : NULL;
}

static bd_error *check_fields(const cursor *at)
{
    const bd_kir *program = at->program;
    const bd_kir_instr *instr = &program->instrs[at->instr];
    switch ((int)instr->code) {
    case BD_KIR_SCALAR:
        return instr->index < program->scalar_count ? NULL : wrong(at, "no such scalar");
    case BD_KIR_INTEGER:
        return check_int(program, instr->integer, "integer");
    case BD_KIR_CHECK:
        return check_int(program, instr->integer, "check");
    case BD_KIR_INDEX:
        if (instr->index >= program->axis_count || !(at->domain >> instr->index & 1))
            return wrong(at, "no such axis here");
        return NULL;
    case BD_KIR_GUARD:
        return check_guard(at, instr->index);
    case BD_KIR_RANDOM_UNIFORM:
        if (instr->dtype != BURN_F32 && instr->dtype != BURN_F64)
            return wrong(at, "for f32 and f64 only");
        return instr->index < 2 ? NULL : wrong(at, "no such word");
    case BD_KIR_RANDOM_BITS:
        return instr->index < 2 ? NULL : wrong(at, "no such word");
    case BD_KIR_LOAD:
    case BD_KIR_LOAD_AT:
    case BD_KIR_STORE:
    case BD_KIR_STORE_AT:
        return check_memory(at);
    case BD_KIR_SAVE:
    case BD_KIR_RESTORE:
        return check_slot(at);
    case BD_KIR_SORT:
        return check_sort(at);
    }
    return NULL;
}

/* The type that a phase of this kind yields; NONE if there is none. */
static burn_dtype yielded(const bd_kir *program, bd_kir_phase_kind kind)
{
    for (unsigned i = 0; i < program->phase_count; i++) {
        const bd_kir_phase *phase = &program->phases[i];
        if (phase->kind == kind && phase->count > 0)
            return (burn_dtype)program->instrs[phase->first + phase->count - 1].dtype;
    }
    return BURN_DTYPE_NONE;
}

/* The types of the YIELDs and of every ACC belong together. */
static bd_error *check_yields(const bd_kir *program)
{
    burn_dtype a = yielded(program, BD_KIR_OPERAND_A), c = yielded(program, BD_KIR_OPERAND_C);
    bool attention = program->family == BD_KIR_ATTENTION;
    if (a != yielded(program, BD_KIR_OPERAND_B))
        BD_FAIL(INTERNAL, "kernel program: the operands have different types");
    if (attention && (!burn_dtype_is_float(c) ||
                      yielded(program, BD_KIR_SCORE) != bd_kir_accumulator(c)))
        BD_FAIL(INTERNAL, "kernel program: the scores do not have the type of the sum");
    for (unsigned p = 0; p < program->phase_count; p++) {
        const bd_kir_phase *phase = &program->phases[p];
        bool of_weights = attention && phase->kind == BD_KIR_EPILOGUE;
        burn_dtype sum = of_weights ? c : a;
        for (unsigned i = phase->first; i < (unsigned)phase->first + phase->count; i++) {
            const bd_kir_instr *instr = &program->instrs[i];
            if (instr->code == BD_KIR_ACC &&
                (sum == BURN_DTYPE_NONE || instr->dtype != bd_kir_accumulator(sum)))
                BD_FAIL(INTERNAL, "kernel program: %%%u acc: not the type of the sum", i + 1);
        }
    }
    return NULL;
}

static bd_error *check_instrs(const bd_kir *program)
{
    cursor at = {.program = program};
    for (at.phase = 0; at.phase < program->phase_count; at.phase++) {
        const bd_kir_phase *phase = &program->phases[at.phase];
        uint64_t saved = 0;
        at.domain = bd_kir_domain(program, phase->kind);
        for (at.instr = phase->first; at.instr < (unsigned)phase->first + phase->count;
             at.instr++) {
            const bd_kir_instr *instr = &program->instrs[at.instr];
            if (instr->code >= BD_KIR_CODE_COUNT)
                return wrong(&at, "unknown code");
            at.home[at.instr] = (uint8_t)at.phase;
            BD_TRY(check_operands(&at));
            BD_TRY(check_dtypes(&at));
            BD_TRY(check_place(&at));
            BD_TRY(check_fields(&at));
            if (instr->code == BD_KIR_SORT)
                saved |= (uint64_t)2 << instr->index;
            if (instr->code == BD_KIR_SAVE)
                saved |= (uint64_t)1 << instr->index;
        }
        at.saved |= saved;
        if (bd_kir_yields(phase->kind) && phase->count == 0)
            BD_FAIL(INTERNAL, "kernel program: phase %u yields nothing", at.phase);
    }
    return check_yields(program);
}

bd_error *bd_kir_verify(const bd_kir *program)
{
    BD_TRY(check_counts(program));
    BD_TRY(check_axes(program));
    BD_TRY(check_tables(program));
    BD_TRY(check_phases(program));
    return check_instrs(program);
}
