/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/program.h"

#include <inttypes.h>
#include <string.h>

#include "proto/base/alloc.h"
#include "proto/base/vec.h"

enum { RECORDS_MAX = 65536, TENSORS_MAX = 1 << 20 };

typedef BD_VEC(burn_op_record) record_list;
typedef BD_VEC(uint8_t) freed_list;

static bool size_is_input(const burn_op_info *info, uint32_t attr, int64_t value, uint32_t *out)
{
    if (info->attrs[attr].kind != BURN_ATTR_SIZE || value >= BURN_PROGRAM_SIZE(TENSORS_MAX))
        return false;
    *out = (uint32_t)(value - BURN_PROGRAM_SIZE(0));
    return true;
}

static bd_error *check_inputs(const bd_program *program, const burn_op_record *record,
                              freed_list *freed)
{
    bool frees = record->info->number == BURN_OP_FREE;
    for (uint32_t i = 0; i < record->input_count; i++) {
        if (record->inputs[i].kind != BURN_OPERAND_TENSOR)
            continue;
        uint64_t id = record->inputs[i].id;
        uint64_t tensor = id - program->first_id;
        if (id < program->first_id || tensor >= freed->count || freed->items[tensor])
            BD_FAIL(NOT_FOUND, "%s: the program has no tensor %" PRIu64, record->info->name, id);
        if (frees && tensor < program->input_count)
            BD_FAIL(INVALID, "free: input %" PRIu64 " belongs to the caller", tensor);
        if (frees)
            freed->items[tensor] = 1;
    }
    for (uint32_t i = 0; i < record->info->attr_count; i++) {
        uint32_t input = 0;
        if (size_is_input(record->info, i, record->attrs[i].value, &input) &&
            input >= program->input_count)
            BD_FAIL(INVALID, "%s: %s is taken from input %" PRIu32 " of %" PRIu32,
                    record->info->name, record->info->attrs[i].name, input, program->input_count);
    }
    return NULL;
}

static bd_error *read_record(bd_program *program, const uint8_t **at, const uint8_t *end,
                             record_list *records, freed_list *freed)
{
    if (records->count >= RECORDS_MAX)
        BD_FAIL(LIMIT, "a program has at most %d records", RECORDS_MAX);
    burn_op_record record;
    BD_TRY(burn_record_decode(at, end, program->first_id + freed->count, &program->arena, &record));
    if (record.info->number == BURN_OP_CALL)
        BD_FAIL(INVALID, "call: a program cannot call a program");
    BD_TRY(check_inputs(program, &record, freed));
    if (freed->count + record.output_count > TENSORS_MAX)
        BD_FAIL(LIMIT, "a program has at most %d tensors", TENSORS_MAX);
    for (uint32_t i = 0; i < record.output_count; i++)
        *bd_vec_push(freed) = 0;
    *bd_vec_push(records) = record;
    return NULL;
}

static bd_error *read_records(bd_program *program, const bd_request *request, record_list *records,
                              freed_list *freed)
{
    const uint8_t *at = request->payload;
    const uint8_t *end = at + request->payload_bytes;
    for (uint32_t i = 0; i < request->program_inputs; i++)
        *bd_vec_push(freed) = 0;
    while (at < end)
        BD_TRY_NOTE(read_record(program, &at, end, records, freed), "program \"%s\", record %zu",
                    program->name, records->count + 1);
    return NULL;
}

bd_error *bd_program_create(const bd_request *request, bd_program **out)
{
    if (request->program_inputs > TENSORS_MAX || request->program_inputs >= request->first_output)
        BD_FAIL(INVALID,
                "a program whose first output is %" PRIu64 " cannot have %" PRIu32 " inputs",
                request->first_output, request->program_inputs);
    bd_program *program = bd_alloc_zeroed(sizeof *program);
    program->count = 1;
    program->number = request->program;
    memcpy(program->name, request->name, sizeof program->name);
    program->name[sizeof program->name - 1] = 0;
    program->first_id = request->first_output - request->program_inputs;
    program->input_count = request->program_inputs;
    bd_arena_init(&program->arena);
    record_list records = {0};
    freed_list freed = {0};
    bd_error *error = read_records(program, request, &records, &freed);
    if (!error) {
        program->tensor_count = (uint32_t)freed.count;
        program->record_count = (uint32_t)records.count;
        program->records =
            bd_arena_copy(&program->arena, records.items, records.count * sizeof *records.items);
        program->output_of = BD_ARENA_ARRAY(&program->arena, uint32_t, freed.count);
        for (uint32_t i = 0; i < freed.count; i++)
            program->output_of[i] =
                i < program->input_count || freed.items[i] ? UINT32_MAX : program->output_count++;
    }
    bd_vec_deinit(&records);
    bd_vec_deinit(&freed);
    if (error) {
        bd_program_release(program);
        return error;
    }
    *out = program;
    return NULL;
}

bd_program *bd_program_retain(bd_program *program)
{
    program->count++;
    return program;
}

void bd_program_release(bd_program *program)
{
    if (!program || --program->count > 0)
        return;
    bd_program_release(program->source);
    bd_arena_deinit(&program->arena);
    bd_free(program);
}

bd_program *bd_program_bind(bd_program *source, const burn_operand *bound)
{
    bd_program *program = bd_alloc(sizeof *program);
    *program = *source;
    program->count = 1;
    program->source = bd_program_retain(source);
    bd_arena_init(&program->arena);
    program->bound = bd_arena_copy(&program->arena, bound, source->input_count * sizeof *bound);
    for (uint32_t i = 0; i < source->input_count; i++)
        program->bound_count += bound[i].kind != BURN_OPERAND_ABSENT;
    return program;
}

/* ---- calls ---- */

bd_error *bd_call_begin(bd_program *program, const burn_op_record *record, uint64_t op_index,
                        bd_call **out)
{
    uint32_t given = program->input_count - program->bound_count;
    if (record->input_count != given)
        BD_FAIL(INVALID, "call: program \"%s\" has %" PRIu32 " inputs, not %" PRIu32, program->name,
                given, record->input_count);
    if (record->output_count != program->output_count)
        BD_FAIL(INVALID, "call: program \"%s\" has %" PRIu32 " outputs, not %" PRIu32,
                program->name, program->output_count, record->output_count);
    bd_call *call = bd_alloc_zeroed(sizeof *call);
    bd_arena_init(&call->arena);
    call->program = bd_program_retain(program);
    call->operands = BD_ARENA_ARRAY(&call->arena, burn_operand, program->tensor_count);
    for (uint32_t i = 0, next = 0; i < program->input_count; i++)
        call->operands[i] = program->bound && program->bound[i].kind != BURN_OPERAND_ABSENT
                                ? program->bound[i]
                                : record->inputs[next++];
    call->first_output = record->first_output;
    call->op_index = op_index;
    *out = call;
    return NULL;
}

void bd_call_end(bd_call *call)
{
    if (!call)
        return;
    bd_program_release(call->program);
    bd_arena_deinit(&call->arena);
    bd_free(call);
}

static int64_t size_from(const burn_operand *operand)
{
    if (operand->kind == BURN_OPERAND_INT || operand->kind == BURN_OPERAND_BOOL)
        return operand->i;
    return 0;
}

bool bd_call_next(bd_call *call, bd_arena *scratch, uint64_t *next_hidden, burn_op_record *out,
                  uint64_t **out_ids)
{
    const bd_program *program = call->program;
    if (call->at >= program->record_count)
        return false;
    const burn_op_record *record = &program->records[call->at++];
    *out = *record;
    burn_operand *inputs = bd_arena_alloc(scratch, record->input_count * sizeof *inputs);
    for (uint32_t i = 0; i < record->input_count; i++) {
        inputs[i] = record->inputs[i];
        if (inputs[i].kind == BURN_OPERAND_TENSOR)
            inputs[i] = call->operands[inputs[i].id - program->first_id];
    }
    out->inputs = inputs;
    for (uint32_t i = 0; i < record->info->attr_count; i++) {
        uint32_t input = 0;
        if (size_is_input(record->info, i, record->attrs[i].value, &input))
            out->attrs[i].value = size_from(&call->operands[input]);
    }
    *out_ids = bd_arena_alloc(scratch, record->output_count * sizeof **out_ids);
    for (uint32_t i = 0; i < record->output_count; i++) {
        uint64_t tensor = record->first_output - program->first_id + i;
        uint32_t output = program->output_of[tensor];
        uint64_t id = output == UINT32_MAX ? (*next_hidden)++ : call->first_output + output;
        call->operands[tensor] = (burn_operand){.kind = BURN_OPERAND_TENSOR, .id = id};
        (*out_ids)[i] = id;
    }
    return true;
}
