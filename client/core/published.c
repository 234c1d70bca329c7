/* SPDX-License-Identifier: Apache-2.0
 * Programs by name: a program as others call it, and what others have published as a program. */
#include "client/core/program_state.h"
#include "client/core/recording.h"
#include "proto/base/alloc.h"
#include "proto/signature.h"

static bd_error *describe_inputs(bd_program *program, bd_signature_input *inputs)
{
    for (uint32_t i = 0; i < program->argument_count; i++)
        inputs[i] = (bd_signature_input){.kind = BD_SIGNATURE_ARGUMENT,
                                         .type = program->argument_types[i]};
    for (size_t i = 0; i < program->captures.count; i++) {
        const bd_capture *c = &program->captures.items[i];
        bd_value *value = NULL;
        BD_TRY(bd_program_capture(c->tensor, &value));
        inputs[c->id - 1] = (bd_signature_input){.kind = BD_SIGNATURE_BOUND, .number = value->id};
    }
    for (size_t i = 0; i < program->numbers.count; i++) {
        const bd_number_input *n = &program->numbers.items[i];
        inputs[n->id - 1] =
            (bd_signature_input){.kind = n->is_seed ? BD_SIGNATURE_SEED : BD_SIGNATURE_OFFSET,
                                 .number = n->offset};
    }
    return NULL;
}

bd_error *bd_program_export(bd_program *program, const char *name, bd_pending *pending)
{
    bd_session *session = program->session;
    if (program->effects.count)
        BD_FAIL(INVALID,
                "a program that changes %zu tensors from outside cannot be published: only what "
                "it returns leaves it",
                program->effects.count);
    bd_signature_input *inputs = bd_alloc_zeroed((program->input_count + 1) * sizeof *inputs);
    bd_pack pack = {.bytes = bd_alloc(BURN_BATCH_BYTES_MAX), .capacity = BURN_BATCH_BYTES_MAX};
    bd_signature_head head = {program->input_count, program->output_count, program->random_count};
    bd_error *error = describe_inputs(program, inputs);
    bd_signature_pack_head(&pack, &head);
    for (uint32_t i = 0; i < program->input_count; i++)
        bd_signature_pack_input(&pack, &inputs[i]);
    for (uint32_t i = 0; i < program->output_count; i++)
        bd_signature_pack_output(&pack, &program->types.items[i]);
    if (!error && !bd_pack_fits(&pack))
        error = BD_ERROR(LIMIT, "the signature takes %zu bytes, at most %d are allowed", pack.used,
                         BURN_BATCH_BYTES_MAX);
    if (!error)
        bd_client_export_program(session->client, name, program->number, pack.bytes, pack.used,
                                 pending);
    bd_free(pack.bytes);
    bd_free(inputs);
    return error;
}

uint64_t bd_program_import(bd_session *session, const char *name, bd_pending *pending)
{
    uint64_t number = session->next_program++;
    bd_client_import_program(session->client, name, number, pending);
    return number;
}

static bd_error *read_signature(bd_program *program, bd_unpack *unpack)
{
    bd_signature_head head;
    BD_TRY(bd_signature_unpack_head(unpack, &head));
    program->argument_types = bd_alloc_zeroed((head.inputs + 1) * sizeof(burn_tensor_type));
    program->input_count = head.inputs;
    program->output_count = head.outputs;
    program->random_count = head.random;
    for (uint32_t i = 0; i < head.inputs; i++) {
        bd_signature_input input;
        BD_TRY(bd_signature_unpack_input(unpack, &input));
        bool is_argument = input.kind == BD_SIGNATURE_ARGUMENT;
        if (input.kind == BD_SIGNATURE_BOUND || (is_argument && program->numbers.count))
            BD_FAIL(PROTOCOL, "input %u of the program is out of place", i);
        if (is_argument)
            program->argument_types[program->argument_count++] = input.type;
        else
            *bd_vec_push(&program->numbers) = (bd_number_input){
                .id = i + 1, .is_seed = input.kind == BD_SIGNATURE_SEED, .offset = input.number};
    }
    for (uint32_t i = 0; i < head.outputs; i++) {
        burn_tensor_type type;
        BD_TRY(bd_signature_unpack_output(unpack, &type));
        *bd_vec_push(&program->types) = type;
    }
    return bd_unpack_finish(unpack);
}

bd_error *bd_program_of(bd_session *session, uint64_t number, const uint8_t *signature,
                        size_t signature_bytes, bd_program **out)
{
    bd_unpack unpack = {.cursor = signature, .end = signature + signature_bytes};
    bd_program *program = bd_alloc_zeroed(sizeof *program);
    program->session = session;
    session->program_count++;
    program->number = number;
    bd_error *error = read_signature(program, &unpack);
    if (error) {
        bd_program_drop(program);
        return error;
    }
    *out = program;
    return NULL;
}
