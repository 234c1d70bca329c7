/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/kir/kir.h"

#include <string.h>

#include "proto/base/alloc.h"
#include "proto/base/vec.h"

struct bd_kir_builder {
    bd_kir head; /* counts of what is not in a vector, axes, phases */
    BD_VEC(bd_kir_buffer) buffers;
    BD_VEC(bd_kir_access) accesses;
    BD_VEC(bd_kir_guard) guards;
    BD_VEC(bd_kir_instr) instrs;
    BD_VEC(uint8_t) scalar_dtypes;
    BD_VEC(uint8_t) slot_dtypes;
    const char *failure; /* the first thing that went wrong */
};

static int fail(bd_kir_builder *builder, const char *reason)
{
    if (!builder->failure)
        builder->failure = reason;
    return 0;
}

static bd_kir_value fail_value(bd_kir_builder *builder, const char *reason)
{
    return (bd_kir_value)fail(builder, reason);
}

static bool is_float(burn_dtype dtype)
{
    return burn_dtype_valid(dtype) && burn_dtype_is_float(dtype);
}

bd_kir_builder *bd_kir_builder_create(bd_kir_family family)
{
    bd_kir_builder *builder = bd_alloc_zeroed(sizeof *builder);
    builder->head.family = family;
    return builder;
}

void bd_kir_builder_destroy(bd_kir_builder *builder)
{
    if (!builder)
        return;
    bd_vec_deinit(&builder->buffers);
    bd_vec_deinit(&builder->accesses);
    bd_vec_deinit(&builder->guards);
    bd_vec_deinit(&builder->instrs);
    bd_vec_deinit(&builder->scalar_dtypes);
    bd_vec_deinit(&builder->slot_dtypes);
    bd_free(builder);
}

static bd_kir_int normal(bd_kir_int integer)
{
    return integer.argument < 0 ? bd_kir_const(integer.value) : bd_kir_arg(integer.argument);
}

static bool int_equal(bd_kir_int a, bd_kir_int b)
{
    return a.argument == b.argument && a.value == b.value;
}

static bool strides_equal(const bd_kir_int *a, const bd_kir_int *b)
{
    for (int i = 0; i < BD_KIR_AXES_MAX; i++)
        if (!int_equal(a[i], b[i]))
            return false;
    return true;
}

static void normal_strides(const bd_kir_builder *builder, const bd_kir_int *strides,
                           bd_kir_int *out)
{
    for (int i = 0; i < BD_KIR_AXES_MAX; i++)
        out[i] = i < builder->head.axis_count ? normal(strides[i]) : bd_kir_const(0);
}

int bd_kir_add_axis(bd_kir_builder *builder, bd_kir_role role, bd_kir_int extent)
{
    if (builder->head.axis_count == BD_KIR_AXES_MAX)
        return fail(builder, "too many axes");
    if (builder->accesses.count || builder->guards.count)
        return fail(builder, "an axis after an access or guard");
    builder->head.axes[builder->head.axis_count] = (bd_kir_axis){normal(extent), role};
    return builder->head.axis_count++;
}

int bd_kir_add_buffer(bd_kir_builder *builder, burn_dtype dtype, bd_kir_use use)
{
    if (builder->buffers.count == BD_KIR_BUFFERS_MAX)
        return fail(builder, "too many buffers");
    *bd_vec_push(&builder->buffers) = (bd_kir_buffer){dtype, use};
    return (int)builder->buffers.count - 1;
}

int bd_kir_add_access(bd_kir_builder *builder, const bd_kir_access *access)
{
    bd_kir_access made = {.buffer = access->buffer, .offset = normal(access->offset)};
    normal_strides(builder, access->strides, made.strides);
    for (size_t i = 0; i < builder->accesses.count; i++) {
        const bd_kir_access *other = &builder->accesses.items[i];
        if (other->buffer == made.buffer && int_equal(other->offset, made.offset) &&
            strides_equal(other->strides, made.strides))
            return (int)i;
    }
    if (builder->accesses.count == BD_KIR_ACCESSES_MAX)
        return fail(builder, "too many accesses");
    *bd_vec_push(&builder->accesses) = made;
    return (int)builder->accesses.count - 1;
}

int bd_kir_add_guard(bd_kir_builder *builder, const bd_kir_guard *guard)
{
    bd_kir_guard made = {.offset = normal(guard->offset),
                         .extent = normal(guard->extent),
                         .also = guard->also};
    normal_strides(builder, guard->strides, made.strides);
    for (size_t i = 0; i < builder->guards.count; i++) {
        const bd_kir_guard *other = &builder->guards.items[i];
        if (int_equal(other->offset, made.offset) && int_equal(other->extent, made.extent) &&
            other->also == made.also && strides_equal(other->strides, made.strides))
            return (int)i;
    }
    if (builder->guards.count == BD_KIR_GUARDS_MAX)
        return fail(builder, "too many guards");
    *bd_vec_push(&builder->guards) = made;
    return (int)builder->guards.count - 1;
}

int bd_kir_add_scalar(bd_kir_builder *builder, burn_dtype stored_as)
{
    if (builder->scalar_dtypes.count == BD_KIR_SCALARS_MAX)
        return fail(builder, "too many scalars");
    *bd_vec_push(&builder->scalar_dtypes) = (uint8_t)stored_as;
    return (int)builder->scalar_dtypes.count - 1;
}

int bd_kir_add_int(bd_kir_builder *builder)
{
    if (builder->head.int_count == BD_KIR_INTS_MAX)
        return fail(builder, "too many integer arguments");
    return builder->head.int_count++;
}

int bd_kir_add_slot(bd_kir_builder *builder, burn_dtype dtype)
{
    if (builder->slot_dtypes.count == BD_KIR_SLOTS_MAX)
        return fail(builder, "too many slots");
    *bd_vec_push(&builder->slot_dtypes) = (uint8_t)dtype;
    return (int)builder->slot_dtypes.count - 1;
}

static void end_phase(bd_kir_builder *builder)
{
    if (builder->head.phase_count == 0)
        return;
    bd_kir_phase *phase = &builder->head.phases[builder->head.phase_count - 1];
    phase->count = (uint16_t)(builder->instrs.count - phase->first);
}

void bd_kir_begin_phase(bd_kir_builder *builder, bd_kir_phase_kind kind)
{
    if (builder->head.phase_count == BD_KIR_PHASES_MAX) {
        fail(builder, "too many phases");
        return;
    }
    end_phase(builder);
    builder->head.phases[builder->head.phase_count++] =
        (bd_kir_phase){kind, (uint16_t)builder->instrs.count, 0};
}

burn_dtype bd_kir_dtype_of(const bd_kir_builder *builder, bd_kir_value value)
{
    if (value == 0 || value > builder->instrs.count)
        return BURN_DTYPE_NONE;
    return (burn_dtype)builder->instrs.items[value - 1].dtype;
}

static uint8_t dtype_for(const bd_kir_builder *builder, const bd_kir_instr *instr)
{
    switch ((int)instr->code) {
    case BD_KIR_SELECT:
        return (uint8_t)bd_kir_dtype_of(builder, instr->operands[1]);
    case BD_KIR_LOAD:
    case BD_KIR_LOAD_AT:
        if (instr->index < builder->accesses.count) {
            uint16_t buffer = builder->accesses.items[instr->index].buffer;
            if (buffer < builder->buffers.count)
                return (uint8_t)builder->buffers.items[buffer].dtype;
        }
        return BURN_DTYPE_NONE;
    case BD_KIR_RESTORE:
    case BD_KIR_SORT:
        return instr->index < builder->slot_dtypes.count ? builder->slot_dtypes.items[instr->index]
                                                         : (uint8_t)BURN_DTYPE_NONE;
    }
    switch (bd_kir_result_of((bd_kir_code)instr->code)) {
    case BD_KIR_RESULT_SAME:
    case BD_KIR_RESULT_NONE:
        return (uint8_t)bd_kir_dtype_of(builder, instr->operands[0]);
    case BD_KIR_RESULT_BOOL:
        return BURN_BOOL;
    case BD_KIR_RESULT_I64:
        return BURN_I64;
    case BD_KIR_RESULT_INSTR:
        break;
    }
    return instr->dtype;
}

/* Fields that the code does not use get one fixed value, so that equal programs are equal bytes. */
static bd_kir_instr canonical(const bd_kir_builder *builder, const bd_kir_instr *instr)
{
    bd_kir_code code = (bd_kir_code)instr->code;
    bd_kir_instr made = {.code = instr->code, .guard = -1, .integer = bd_kir_const(0)};
    for (int i = 0; i < bd_kir_operand_count(code); i++)
        made.operands[i] = instr->operands[i];
    made.dtype = dtype_for(builder, instr);
    bool memory = code == BD_KIR_LOAD || code == BD_KIR_LOAD_AT || code == BD_KIR_STORE ||
                  code == BD_KIR_STORE_AT;
    bool indexed = memory || code == BD_KIR_SCALAR || code == BD_KIR_INDEX ||
                   code == BD_KIR_GUARD || code == BD_KIR_CHECK || code == BD_KIR_RANDOM_BITS ||
                   code == BD_KIR_RANDOM_UNIFORM || code == BD_KIR_SAVE || code == BD_KIR_RESTORE ||
                   code == BD_KIR_SORT;
    if (memory)
        made.guard = instr->guard;
    if (indexed)
        made.index = instr->index;
    if (code == BD_KIR_CHECK || code == BD_KIR_SORT || code == BD_KIR_STORE ||
        code == BD_KIR_STORE_AT)
        made.flags = instr->flags;
    if (code == BD_KIR_INTEGER || code == BD_KIR_CHECK || code == BD_KIR_LOAD_AT ||
        code == BD_KIR_STORE_AT)
        made.integer = normal(instr->integer);
    if (code == BD_KIR_CONST) {
        if (is_float((burn_dtype)made.dtype))
            made.f = instr->f;
        else
            made.i = instr->i;
    }
    return made;
}

static bool source_equal(const bd_kir_instr *a, const bd_kir_instr *b)
{
    return a->code == b->code && a->dtype == b->dtype && a->index == b->index &&
           int_equal(a->integer, b->integer) && a->i == b->i;
}

/* A source without side effects is kept once a phase. */
static bd_kir_value standing_source(const bd_kir_builder *builder, const bd_kir_instr *instr)
{
    if (instr->code > BD_KIR_GUARD)
        return 0;
    size_t first = builder->head.phases[builder->head.phase_count - 1].first;
    for (size_t i = first; i < builder->instrs.count; i++)
        if (source_equal(&builder->instrs.items[i], instr))
            return (bd_kir_value)(i + 1);
    return 0;
}

bd_kir_value bd_kir_emit(bd_kir_builder *builder, const bd_kir_instr *instr)
{
    if (builder->head.phase_count == 0)
        return fail_value(builder, "an instruction before the first phase");
    if (builder->instrs.count == BD_KIR_INSTRS_MAX)
        return fail_value(builder, "too many instructions");
    bd_kir_instr made = canonical(builder, instr);
    bd_kir_value standing = standing_source(builder, &made);
    if (standing)
        return standing;
    *bd_vec_push(&builder->instrs) = made;
    return (bd_kir_value)builder->instrs.count;
}

bd_kir_value bd_kir_unary(bd_kir_builder *builder, bd_kir_code code, bd_kir_value a)
{
    return bd_kir_emit(builder, &(bd_kir_instr){.code = (uint16_t)code, .operands = {a}});
}

bd_kir_value bd_kir_binary(bd_kir_builder *builder, bd_kir_code code, bd_kir_value a,
                           bd_kir_value b)
{
    return bd_kir_emit(builder, &(bd_kir_instr){.code = (uint16_t)code, .operands = {a, b}});
}

bd_kir_value bd_kir_cast(bd_kir_builder *builder, bd_kir_value a, burn_dtype dtype)
{
    if (bd_kir_dtype_of(builder, a) == dtype)
        return a;
    bd_kir_instr cast = {.code = BD_KIR_CAST, .dtype = (uint8_t)dtype, .operands = {a}};
    return bd_kir_emit(builder, &cast);
}

bd_kir_value bd_kir_select(bd_kir_builder *builder, bd_kir_value c, bd_kir_value a, bd_kir_value b)
{
    return bd_kir_emit(builder, &(bd_kir_instr){.code = BD_KIR_SELECT, .operands = {c, a, b}});
}

bd_kir_value bd_kir_const_float(bd_kir_builder *builder, burn_dtype dtype, double value)
{
    bd_kir_instr made = {.code = BD_KIR_CONST, .dtype = (uint8_t)dtype, .f = value};
    if (!is_float(dtype))
        return fail_value(builder, "a float constant of an integer type");
    return bd_kir_emit(builder, &made);
}

bd_kir_value bd_kir_const_int(bd_kir_builder *builder, burn_dtype dtype, int64_t value)
{
    bd_kir_instr made = {.code = BD_KIR_CONST, .dtype = (uint8_t)dtype, .i = value};
    if (is_float(dtype))
        made.f = (double)value;
    return bd_kir_emit(builder, &made);
}

static void *moved(bd_arena *arena, const void *items, size_t count, size_t item_bytes)
{
    return count ? bd_arena_copy(arena, items, count * item_bytes) : NULL;
}

bd_error *bd_kir_finish(bd_kir_builder *builder, bd_arena *arena, bd_kir **out)
{
    if (builder->failure)
        BD_FAIL(INTERNAL, "kernel program: %s", builder->failure);
    end_phase(builder);
    bd_kir view = builder->head;
    view.buffer_count = (uint16_t)builder->buffers.count;
    view.buffers = builder->buffers.items;
    view.access_count = (uint16_t)builder->accesses.count;
    view.accesses = builder->accesses.items;
    view.guard_count = (uint16_t)builder->guards.count;
    view.guards = builder->guards.items;
    view.instr_count = (uint16_t)builder->instrs.count;
    view.instrs = builder->instrs.items;
    view.scalar_count = (uint16_t)builder->scalar_dtypes.count;
    view.scalar_dtypes = builder->scalar_dtypes.items;
    view.slot_count = (uint16_t)builder->slot_dtypes.count;
    view.slot_dtypes = builder->slot_dtypes.items;
    BD_TRY(bd_kir_verify(&view));
    *out = bd_kir_clone(&view, arena);
    return NULL;
}

bd_kir *bd_kir_clone(const bd_kir *program, bd_arena *arena)
{
    bd_kir *made = bd_arena_copy(arena, program, sizeof *program);
    made->buffers = moved(arena, program->buffers, program->buffer_count, sizeof(bd_kir_buffer));
    made->accesses = moved(arena, program->accesses, program->access_count, sizeof(bd_kir_access));
    made->guards = moved(arena, program->guards, program->guard_count, sizeof(bd_kir_guard));
    made->instrs = moved(arena, program->instrs, program->instr_count, sizeof(bd_kir_instr));
    made->scalar_dtypes = moved(arena, program->scalar_dtypes, program->scalar_count, 1);
    made->slot_dtypes = moved(arena, program->slot_dtypes, program->slot_count, 1);
    return made;
}
