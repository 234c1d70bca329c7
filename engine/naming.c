/* SPDX-License-Identifier: Apache-2.0
 * What sessions do with names: EXPORT waits for its values and publishes them in one step, the
 * others come after the EXPORTs before them. Thread: device. */
#include <inttypes.h>
#include <string.h>

#include "engine/core.h"
#include "engine/names.h"
#include "engine/session.h"
#include "proto/base/alloc.h"
#include "proto/limits.h"
#include "proto/name.h"
#include "proto/signature.h"

/* ---- publishing ------------------------------------------------------------------------------ */

/* An error that no one waits for is told by the next SYNC. */
static void answer_export(bd_session *session, uint64_t request, const char *name,
                          bd_error *own_error)
{
    bd_error *error = own_error;
    if (error)
        error = bd_error_note(error, "name \"%s\"", name);
    if (request) {
        bd_session_tell(session, BD_REPLY_DONE, request, error);
        return;
    }
    if (error)
        bd_session_note_error(session, error);
    bd_error_free(error);
}

bd_error *bd_naming_find(bd_session *session, uint64_t id, bd_stored **out)
{
    bd_tensor *tensor = bd_tensors_find(&session->tensors, id);
    if (!tensor)
        BD_FAIL(NOT_FOUND, "tensor %" PRIu64 " is unknown or was freed", id);
    bd_error *spoilt = bd_stream_spoiled(tensor);
    if (spoilt)
        return bd_error_retain(spoilt);
    *out = tensor->state == BD_TENSOR_STORED ? tensor->stored : NULL;
    return NULL;
}

bool bd_naming_finish(bd_session *session, const bd_request *request,
                      bd_publication *own_publication, bd_error *own_error, bool cut)
{
    if (own_error || cut) {
        bd_publication_destroy(own_publication);
        if (own_error)
            answer_export(session, request->request, request->name, own_error);
        else
            bd_session_cut(session);
        return !cut || own_error;
    }
    bd_waiter *waiter = bd_alloc_zeroed(sizeof *waiter);
    waiter->kind = BD_REQUEST_EXPORT;
    waiter->request = request->request;
    waiter->order = bd_publication_order(own_publication);
    waiter->publication = own_publication;
    session->publishing++;
    bd_session_wait_for(session, waiter);
    return true;
}

/* *out_cut: a value is not planned yet. */
static bd_error *add_part(bd_session *session, bd_publication *publication, bd_unpack *unpack,
                          bool *out_cut)
{
    bd_text part;
    uint64_t id = 0;
    bd_stored *stored = NULL;
    BD_TRY(bd_name_unpack_export(unpack, &part, &id));
    BD_TRY(bd_naming_find(session, id, &stored));
    *out_cut = !stored;
    return stored ? bd_publication_add(publication, part.bytes, part.size_bytes, stored) : NULL;
}

bool bd_naming_export(bd_session *session, const bd_request *request)
{
    bd_unpack unpack = {.cursor = request->payload,
                        .end = request->payload + request->payload_bytes};
    bd_publication *publication = bd_publication_create(request->name);
    bool cut = false;
    bd_error *error = request->error ? bd_error_retain(request->error) : NULL;
    while (!error && !cut && unpack.cursor < unpack.end)
        error = add_part(session, publication, &unpack, &cut);
    return bd_naming_finish(session, request, publication, error, cut);
}

static bd_error *fault_of(const bd_publication *publication)
{
    for (size_t i = 0; i < publication->parts.count; i++)
        if (publication->parts.items[i].buffer && publication->parts.items[i].buffer->error)
            return bd_error_retain(publication->parts.items[i].buffer->error);
    return NULL;
}

static void count_names(bd_core *core)
{
    atomic_store_explicit(&core->counters.names, bd_names_count(core->names), memory_order_relaxed);
}

void bd_naming_publish(bd_session *session, bd_waiter *waiter)
{
    bd_core *core = session->core;
    bd_publication *publication = waiter->publication;
    char name[sizeof publication->name];
    memcpy(name, publication->name, sizeof name);
    bd_error *error = fault_of(publication);
    if (error)
        bd_publication_destroy(publication);
    else
        error = bd_names_publish(core->names, session->holder, publication);
    count_names(core);
    answer_export(session, waiter->request, name, error);
}

/* ---- reading --------------------------------------------------------------------------------- */

bool bd_naming_must_wait(bd_session *session)
{
    session->awaits_names = session->publishing > 0;
    return session->awaits_names;
}

static void answer_payload(bd_session *session, bd_reply_kind kind, uint64_t request,
                           bd_pack own_payload)
{
    bd_reply *reply = bd_core_new_reply(kind, session, request);
    reply->payload = own_payload.bytes;
    reply->payload_bytes = own_payload.used;
    bd_core_reply(session->core, reply);
}

void bd_naming_answer(bd_session *session, uint64_t request, bd_pack own_payload)
{
    answer_payload(session, BD_REPLY_IMPORTED, request, own_payload);
}

static bd_error *check_ids(bd_session *session, const bd_request *request, size_t count,
                           bool of_programs)
{
    if (request->id <= session->last_id)
        BD_FAIL(CONFLICT, "ids must increase: tensor %" PRIu64 " comes after %" PRIu64, request->id,
                session->last_id);
    if (request->id_count > BURN_ID_MAX || request->id > BURN_ID_MAX - request->id_count)
        BD_FAIL(INVALID, "tensor ids end at %" PRIu64, (uint64_t)BURN_ID_MAX);
    if (!count && of_programs)
        BD_FAIL(INVALID, "\"%s\" is a program: tensors have other names", request->name);
    if (!count)
        return bd_names_missing(session->holder, request->name);
    if (count > request->id_count)
        BD_FAIL(LIMIT, "%zu names stand below \"%s\", ids are set aside for %" PRIu64, count,
                request->name, request->id_count);
    if (count + session->tensors.live > BD_TENSORS_MAX)
        BD_FAIL(LIMIT, "the session has %" PRIu64 " tensors, %d are the limit",
                session->tensors.live, BD_TENSORS_MAX);
    return NULL;
}

/* Tensors among the names. Returns how many there are. */
static size_t pack_parts(bd_pack *pack, const bd_named *named, size_t count, const char *name)
{
    const char *part = NULL;
    size_t tensors = 0;
    for (size_t i = 0; i < count; i++)
        if (bd_named_is_tensor(&named[i]) && bd_name_is_within(named[i].name, name, &part)) {
            bd_name_pack_import(pack, part, &named[i].type);
            tensors++;
        }
    return tensors;
}

static void make_tensors(bd_session *session, uint64_t id, const bd_named *named, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (bd_named_is_tensor(&named[i]))
            bd_tensor_store(bd_tensors_add(&session->tensors, id++), &named[i].type,
                            bd_buffer_lend(named[i].buffer, session->account),
                            ++session->core->next_tensor);
    session->last_id = id - 1;
}

bool bd_naming_import(bd_session *session, const bd_request *request)
{
    if (bd_naming_must_wait(session))
        return false;
    size_t count = 0;
    const bd_named *named =
        bd_names_find(session->core->names, session->holder, request->name, &count);
    bd_pack pack = {0};
    size_t tensors = pack_parts(&pack, named, count, request->name);
    bd_error *error = check_ids(session, request, tensors, count > 0);
    if (!error && pack.used > BURN_REPORT_BYTES_MAX)
        error = BD_ERROR(LIMIT, "%zu names below \"%s\" do not fit one answer", tensors,
                         request->name);
    if (error) {
        bd_session_tell(session, BD_REPLY_IMPORTED, request->request, error);
        return true;
    }
    pack = (bd_pack){.bytes = bd_alloc(pack.used), .capacity = pack.used};
    pack_parts(&pack, named, count, request->name);
    make_tensors(session, request->id, named, count);
    bd_naming_answer(session, request->request, pack);
    return true;
}

bool bd_naming_unexport(bd_session *session, const bd_request *request)
{
    if (bd_naming_must_wait(session))
        return false;
    bd_error *error = bd_names_remove(session->core->names, session->holder, request->name);
    count_names(session->core);
    bd_session_tell(session, BD_REPLY_DONE, request->request, error);
    return true;
}

static void pack_list(bd_pack *pack, const bd_named *named, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!named[i].program && !bd_named_is_tensor(&named[i]))
            continue;
        bd_pack_array(pack, 5);
        bd_pack_str_bytes(pack, named[i].name, strlen(named[i].name));
        bd_pack_int(pack, (int64_t)bd_named_bytes(&named[i], count - i));
        bd_pack_int(pack, (int64_t)named[i].version);
        bd_signature_pack_type(pack, &named[i].type);
    }
}

bool bd_naming_list(bd_session *session, const bd_request *request)
{
    if (bd_naming_must_wait(session))
        return false;
    bd_names *names = session->core->names;
    size_t count = 0, shared_count = 0;
    const bd_named *named, *shared = NULL;
    if (*request->name) {
        named = bd_names_find(names, session->holder, request->name, &count);
    } else {
        named = bd_names_all(names, session->holder, false, &count);
        shared = bd_names_all(names, session->holder, true, &shared_count);
    }
    bd_pack pack = {0};
    pack_list(&pack, named, count);
    pack_list(&pack, shared, shared_count);
    pack = (bd_pack){.bytes = bd_alloc(pack.used + 1), .capacity = pack.used};
    pack_list(&pack, named, count);
    pack_list(&pack, shared, shared_count);
    answer_payload(session, BD_REPLY_NAMES, request->request, pack);
    return true;
}
