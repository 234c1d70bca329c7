/* SPDX-License-Identifier: Apache-2.0
 * The programs of a session: defined, dropped, published with the tensors that belong to them, and
 * imported. Thread: device. */
#include <inttypes.h>
#include <string.h>

#include "engine/core.h"
#include "engine/names.h"
#include "engine/session.h"
#include "proto/base/alloc.h"
#include "proto/signature.h"

static bd_error *check_new(bd_session *session, const bd_request *request)
{
    if (bd_map_get(&session->programs, request->program))
        BD_FAIL(CONFLICT, "program %" PRIu64 " exists already", request->program);
    if (session->programs.count >= BD_PROGRAMS_MAX)
        BD_FAIL(LIMIT, "a session has at most %d programs", BD_PROGRAMS_MAX);
    return NULL;
}

bd_error *bd_programs_define(bd_session *session, const bd_request *request)
{
    bd_program *program = NULL;
    BD_TRY(check_new(session, request));
    BD_TRY(bd_program_create(request, &program));
    bd_map_put(&session->programs, request->program, program);
    return NULL;
}

bd_error *bd_programs_drop(bd_session *session, const bd_request *request)
{
    bd_program *program = bd_map_remove(&session->programs, request->program);
    if (!program)
        BD_FAIL(NOT_FOUND, "program %" PRIu64 " is unknown", request->program);
    for (uint32_t i = 0; program->bound && i < program->input_count; i++) {
        if (program->bound[i].kind == BURN_OPERAND_ABSENT)
            continue;
        uint64_t id = program->bound[i].id;
        bd_stream_free(session, bd_tensors_find(&session->tensors, id), id);
    }
    bd_program_release(program);
    return NULL;
}

/* ---- publishing ------------------------------------------------------------------------------ */

/* Bound inputs become parts; the others stay in the signature. *out_cut: a value is not planned
 * yet. */
static bd_error *take_inputs(bd_session *session, bd_publication *publication, bd_unpack *unpack,
                             uint32_t count, bd_pack *signature, uint32_t *out_left, bool *out_cut)
{
    *out_left = 0;
    for (uint32_t i = 0; i < count; i++) {
        bd_signature_input input;
        bd_stored *stored = NULL;
        BD_TRY_NOTE(bd_signature_unpack_input(unpack, &input), "input %" PRIu32, i);
        if (input.kind != BD_SIGNATURE_BOUND) {
            bd_signature_pack_input(signature, &input);
            ++*out_left;
            continue;
        }
        BD_TRY(bd_naming_find(session, input.number, &stored));
        if (!stored) {
            *out_cut = true;
            return NULL;
        }
        bd_publication_add_bound(publication, i, stored);
    }
    return NULL;
}

static bd_error *take_outputs(bd_unpack *unpack, uint32_t count, bd_pack *signature)
{
    for (uint32_t i = 0; i < count; i++) {
        burn_tensor_type type;
        BD_TRY_NOTE(bd_signature_unpack_output(unpack, &type), "output %" PRIu32, i);
        bd_signature_pack_output(signature, &type);
    }
    return bd_unpack_finish(unpack);
}

/* The head stands in front of the rest. */
static bd_pack join(const bd_signature_head *head, const bd_pack *rest)
{
    uint8_t bytes[4 * BD_PACK_SCALAR_BYTES_MAX];
    bd_pack pack = {.bytes = bytes, .capacity = sizeof bytes};
    bd_signature_pack_head(&pack, head);
    bd_pack whole = {.bytes = bd_alloc(pack.used + rest->used + 1),
                     .capacity = pack.used + rest->used,
                     .used = pack.used + rest->used};
    memcpy(whole.bytes, bytes, pack.used);
    if (rest->used)
        memcpy(whole.bytes + pack.used, rest->bytes, rest->used);
    return whole;
}

static bd_error *take_signature(bd_session *session, const bd_request *request,
                                bd_publication *publication, bd_pack *rest, bool *out_cut)
{
    bd_program *program = bd_map_get(&session->programs, request->program);
    bd_unpack unpack = {.cursor = request->payload,
                        .end = request->payload + request->payload_bytes};
    bd_signature_head head;
    if (!program)
        BD_FAIL(NOT_FOUND, "program %" PRIu64 " is unknown", request->program);
    if (program->source)
        BD_FAIL(INVALID, "program %" PRIu64 " was imported: who made it can publish it",
                request->program);
    BD_TRY(bd_signature_unpack_head(&unpack, &head));
    if (head.inputs != program->input_count || head.outputs != program->output_count)
        BD_FAIL(INVALID,
                "the program has %" PRIu32 " inputs and %" PRIu32 " outputs, the signature %" PRIu32
                " and %" PRIu32,
                program->input_count, program->output_count, head.inputs, head.outputs);
    uint32_t left = 0;
    BD_TRY(take_inputs(session, publication, &unpack, head.inputs, rest, &left, out_cut));
    if (*out_cut)
        return NULL;
    BD_TRY(take_outputs(&unpack, head.outputs, rest));
    head.inputs = left;
    bd_publication_add_program(publication, program, join(&head, rest));
    return NULL;
}

bool bd_programs_export(bd_session *session, const bd_request *request)
{
    /* What is kept of a signature is never longer than it was. */
    bd_pack rest = {.bytes = bd_alloc(request->payload_bytes + 1),
                    .capacity = request->payload_bytes};
    bd_publication *publication = bd_publication_create(request->name);
    bool cut = false;
    bd_error *error = request->error
                          ? bd_error_retain(request->error)
                          : take_signature(session, request, publication, &rest, &cut);
    bd_free(rest.bytes);
    return bd_naming_finish(session, request, publication, error, cut);
}

/* ---- importing ------------------------------------------------------------------------------- */

/* The tensors that belong to it become hidden ones of this session. */
static bd_program *bind(bd_session *session, const bd_named *named, size_t count)
{
    bd_program *source = named->program;
    burn_operand *bound = bd_alloc_zeroed((source->input_count + 1) * sizeof *bound);
    for (size_t i = 1; i < count; i++) {
        uint64_t id = session->next_hidden++;
        bd_tensor_store(bd_tensors_add(&session->tensors, id), &named[i].type,
                        bd_buffer_lend(named[i].buffer, session->account),
                        ++session->core->next_tensor);
        bound[named[i].input] = (burn_operand){.kind = BURN_OPERAND_TENSOR, .id = id};
    }
    bd_program *program = bd_program_bind(source, bound);
    bd_free(bound);
    return program;
}

static bd_error *check_import(bd_session *session, const bd_request *request,
                              const bd_named *named, size_t count)
{
    BD_TRY(check_new(session, request));
    if (!named)
        return bd_names_missing(session->holder, request->name);
    if (!named->program || strcmp(named->name, request->name) != 0)
        BD_FAIL(INVALID, "\"%s\" is no program", request->name);
    if (count + session->tensors.live > BD_TENSORS_MAX)
        BD_FAIL(LIMIT, "the session has %" PRIu64 " tensors, %d are the limit",
                session->tensors.live, BD_TENSORS_MAX);
    return NULL;
}

bool bd_programs_import(bd_session *session, const bd_request *request)
{
    if (bd_naming_must_wait(session))
        return false;
    size_t count = 0;
    const bd_named *named =
        bd_names_find(session->core->names, session->holder, request->name, &count);
    bd_error *error = check_import(session, request, named, count);
    if (error) {
        bd_session_tell(session, BD_REPLY_IMPORTED, request->request, error);
        return true;
    }
    bd_program *program = bind(session, named, count);
    bd_map_put(&session->programs, request->program, program);
    bd_pack signature = named->signature;
    signature.bytes = bd_alloc(signature.used);
    memcpy(signature.bytes, named->signature.bytes, signature.used);
    bd_naming_answer(session, request->request, signature);
    return true;
}
