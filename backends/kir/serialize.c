/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/kir/kir.h"

#include <string.h>

#include "proto/base/alloc.h"
#include "proto/base/vec.h"

/* Layout: little-endian, one version byte, the counts, then each table in the order of struct
 * bd_kir. Integers of the program are 1 byte (0: constant, 1: argument) and 8 bytes. */
enum { VERSION = 1 };

typedef struct writer {
    BD_VEC(uint8_t) bytes;
} writer;

static void put(writer *to, uint64_t value, int size_bytes)
{
    for (int i = 0; i < size_bytes; i++)
        *bd_vec_push(&to->bytes) = (uint8_t)(value >> (8 * i));
}

static void put_int(writer *to, bd_kir_int integer)
{
    put(to, integer.argument >= 0, 1);
    put(to, integer.argument >= 0 ? (uint64_t)integer.argument : (uint64_t)integer.value, 8);
}

static void put_strides(writer *to, const bd_kir *program, const bd_kir_int *strides)
{
    for (unsigned axis = 0; axis < program->axis_count; axis++)
        put_int(to, strides[axis]);
}

static void put_instr(writer *to, const bd_kir_instr *instr)
{
    put(to, instr->code, 2);
    put(to, instr->dtype, 1);
    put(to, instr->flags, 1);
    for (int i = 0; i < 3; i++)
        put(to, instr->operands[i], 2);
    put(to, instr->index, 2);
    put(to, (uint16_t)instr->guard, 2);
    put_int(to, instr->integer);
    if (instr->code == BD_KIR_CONST)
        put(to, (uint64_t)instr->i, 8);
}

uint8_t *bd_kir_serialize(const bd_kir *program, size_t *out_bytes)
{
    writer to = {0};
    put(&to, VERSION, 1);
    put(&to, program->family, 1);
    const uint16_t counts[] = {program->axis_count,  program->buffer_count, program->access_count,
                               program->guard_count, program->phase_count,  program->instr_count,
                               program->int_count,   program->scalar_count, program->slot_count};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        put(&to, counts[i], 2);
    for (unsigned i = 0; i < program->axis_count; i++) {
        put(&to, program->axes[i].role, 1);
        put_int(&to, program->axes[i].extent);
    }
    for (unsigned i = 0; i < program->buffer_count; i++) {
        put(&to, program->buffers[i].dtype, 1);
        put(&to, program->buffers[i].use, 1);
    }
    for (unsigned i = 0; i < program->scalar_count; i++)
        put(&to, program->scalar_dtypes[i], 1);
    for (unsigned i = 0; i < program->access_count; i++) {
        put(&to, program->accesses[i].buffer, 2);
        put_int(&to, program->accesses[i].offset);
        put_strides(&to, program, program->accesses[i].strides);
    }
    for (unsigned i = 0; i < program->guard_count; i++) {
        put_int(&to, program->guards[i].offset);
        put_int(&to, program->guards[i].extent);
        put_strides(&to, program, program->guards[i].strides);
        put(&to, program->guards[i].also, 2);
    }
    for (unsigned i = 0; i < program->phase_count; i++) {
        put(&to, program->phases[i].kind, 1);
        put(&to, program->phases[i].count, 2);
    }
    for (unsigned i = 0; i < program->instr_count; i++)
        put_instr(&to, &program->instrs[i]);
    for (unsigned i = 0; i < program->slot_count; i++)
        put(&to, program->slot_dtypes[i], 1);
    *out_bytes = to.bytes.count;
    return to.bytes.items;
}

typedef struct reader {
    const uint8_t *next;
    size_t left_bytes;
    bool malformed;
} reader;

static uint64_t get(reader *from, size_t size_bytes)
{
    if (from->left_bytes < size_bytes) {
        from->malformed = true;
        return 0;
    }
    uint64_t value = 0;
    for (size_t i = 0; i < size_bytes; i++)
        value |= (uint64_t)from->next[i] << (8 * i);
    from->next += size_bytes;
    from->left_bytes -= size_bytes;
    return value;
}

static bd_kir_int get_int(reader *from)
{
    bool argument = get(from, 1) != 0;
    uint64_t value = get(from, 8);
    if (argument && value > BD_KIR_INTS_MAX)
        from->malformed = true;
    return argument ? bd_kir_arg((int32_t)(value & 0xFFFF)) : bd_kir_const((int64_t)value);
}

static void get_strides(reader *from, const bd_kir *program, bd_kir_int *out)
{
    for (unsigned axis = 0; axis < BD_KIR_AXES_MAX; axis++)
        out[axis] = axis < program->axis_count ? get_int(from) : bd_kir_const(0);
}

static void get_instr(reader *from, bd_kir_instr *out)
{
    out->code = (uint16_t)get(from, 2);
    out->dtype = (uint8_t)get(from, 1);
    out->flags = (uint8_t)get(from, 1);
    for (int i = 0; i < 3; i++)
        out->operands[i] = (bd_kir_value)get(from, 2);
    out->index = (uint16_t)get(from, 2);
    out->guard = (int16_t)get(from, 2);
    out->integer = get_int(from);
    out->i = out->code == BD_KIR_CONST ? (int64_t)get(from, 8) : 0;
}

static bd_error *get_head(reader *from, bd_kir *out)
{
    if (get(from, 1) != VERSION)
        BD_FAIL(INVALID, "serialized kernel program of another version");
    out->family = (bd_kir_family)get(from, 1);
    uint16_t *const counts[] = {&out->axis_count,  &out->buffer_count, &out->access_count,
                                &out->guard_count, &out->phase_count,  &out->instr_count,
                                &out->int_count,   &out->scalar_count, &out->slot_count};
    static const unsigned maxima[] = {BD_KIR_AXES_MAX,   BD_KIR_BUFFERS_MAX, BD_KIR_ACCESSES_MAX,
                                      BD_KIR_GUARDS_MAX, BD_KIR_PHASES_MAX,  BD_KIR_INSTRS_MAX,
                                      BD_KIR_INTS_MAX,   BD_KIR_SCALARS_MAX, BD_KIR_SLOTS_MAX};
    for (size_t i = 0; i < sizeof maxima / sizeof *maxima; i++) {
        *counts[i] = (uint16_t)get(from, 2);
        if (*counts[i] > maxima[i])
            BD_FAIL(INVALID, "serialized kernel program: a count is beyond its limit");
    }
    return NULL;
}

static void get_tables(reader *from, bd_kir *out, bd_arena *arena)
{
    for (unsigned i = 0; i < out->axis_count; i++) {
        out->axes[i].role = (bd_kir_role)get(from, 1);
        out->axes[i].extent = get_int(from);
    }
    out->buffers = BD_ARENA_ARRAY(arena, bd_kir_buffer, out->buffer_count);
    for (unsigned i = 0; i < out->buffer_count; i++) {
        out->buffers[i].dtype = (burn_dtype)get(from, 1);
        out->buffers[i].use = (bd_kir_use)get(from, 1);
    }
    out->scalar_dtypes = BD_ARENA_ARRAY(arena, uint8_t, out->scalar_count);
    for (unsigned i = 0; i < out->scalar_count; i++)
        out->scalar_dtypes[i] = (uint8_t)get(from, 1);
    out->accesses = BD_ARENA_ARRAY(arena, bd_kir_access, out->access_count);
    for (unsigned i = 0; i < out->access_count; i++) {
        out->accesses[i].buffer = (uint16_t)get(from, 2);
        out->accesses[i].offset = get_int(from);
        get_strides(from, out, out->accesses[i].strides);
    }
    out->guards = BD_ARENA_ARRAY(arena, bd_kir_guard, out->guard_count);
    for (unsigned i = 0; i < out->guard_count; i++) {
        out->guards[i].offset = get_int(from);
        out->guards[i].extent = get_int(from);
        get_strides(from, out, out->guards[i].strides);
        out->guards[i].also = (uint16_t)get(from, 2);
    }
}

bd_error *bd_kir_deserialize(const uint8_t *bytes, size_t size_bytes, bd_arena *arena, bd_kir **out)
{
    reader from = {.next = bytes, .left_bytes = size_bytes};
    bd_kir *program = bd_arena_zeroed(arena, sizeof *program);
    BD_TRY(get_head(&from, program));
    get_tables(&from, program, arena);
    unsigned first = 0;
    for (unsigned i = 0; i < program->phase_count; i++) {
        bd_kir_phase_kind kind = (bd_kir_phase_kind)get(&from, 1);
        uint16_t count = (uint16_t)get(&from, 2);
        program->phases[i] = (bd_kir_phase){kind, (uint16_t)first, count};
        first += count;
    }
    program->instrs = BD_ARENA_ARRAY(arena, bd_kir_instr, program->instr_count);
    for (unsigned i = 0; i < program->instr_count; i++)
        get_instr(&from, &program->instrs[i]);
    program->slot_dtypes = BD_ARENA_ARRAY(arena, uint8_t, program->slot_count);
    for (unsigned i = 0; i < program->slot_count; i++)
        program->slot_dtypes[i] = (uint8_t)get(&from, 1);
    if (from.malformed || from.left_bytes)
        BD_FAIL(INVALID, "serialized kernel program: cut short or too long");
    BD_TRY(bd_kir_verify(program));
    *out = program;
    return NULL;
}
