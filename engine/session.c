/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/session.h"

#include <inttypes.h>
#include <stddef.h>

#include "engine/core.h"
#include "engine/throttle.h"
#include "proto/base/alloc.h"
#include "proto/base/clock.h"
#include "proto/base/assert.h"
#include "proto/limits.h"

#define FIRST_HIDDEN_ID ((uint64_t)1 << 62)

bd_session *bd_session_create(bd_core *core, uint64_t number, bd_account *account,
                              bd_holder *holder)
{
    bd_session *session = bd_alloc_zeroed(sizeof *session);
    session->core = core;
    session->number = number;
    session->account = account;
    session->holder = holder;
    session->next_hidden = FIRST_HIDDEN_ID;
    session->tensors_max = BD_TENSORS_MAX;
    bd_tensors_init(&session->tensors);
    bd_tracer_init(&session->tracer);
    return session;
}

static void destroy_waiters(bd_session *session)
{
    while (session->waiters) {
        bd_waiter *next = session->waiters->next;
        bd_buffer_release(session->waiters->buffer);
        bd_publication_destroy(session->waiters->publication);
        bd_free(session->waiters);
        session->waiters = next;
    }
}

void bd_session_destroy(bd_session *session)
{
    while (session->first) {
        bd_posted *next = (bd_posted *)session->first->letter.next;
        bd_request_destroy(&session->first->request);
        session->first = next;
    }
    destroy_waiters(session);
    bd_call_end(session->call);
    bd_known_release(session->waiting);
    bd_tracer_deinit(&session->tracer);
    bd_tensors_deinit(&session->tensors);
    uint64_t number;
    void *program;
    for (size_t cursor = 0; bd_map_next(&session->programs, &cursor, &number, &program);)
        bd_program_release(program);
    bd_map_deinit(&session->programs);
    bd_error_free(session->first_error);
    bd_vec_deinit(&session->inputs);
    bd_vec_deinit(&session->types);
    bd_vec_deinit(&session->outputs);
    bd_vec_deinit(&session->ids);
    bd_free(session);
}

void bd_session_note_error(bd_session *session, bd_error *error)
{
    if (session->first_error && bd_error_op_index(session->first_error) <= bd_error_op_index(error))
        return;
    bd_error_free(session->first_error);
    session->first_error = bd_error_retain(error);
}

/* ---- replies ---- */

void bd_session_flush_credit(bd_session *session)
{
    if (!session->credit_bytes)
        return;
    bd_core_reply(session->core, bd_core_new_reply(BD_REPLY_CREDIT, session, 0));
}

static void answer_waiter(bd_session *session, bd_waiter *waiter)
{
    bd_reply *reply;
    if (waiter->kind == BD_REQUEST_EXPORT) {
        session->publishing--;
        bd_naming_publish(session, waiter);
        bd_free(waiter);
        return;
    }
    if (waiter->kind == BD_REQUEST_GET) {
        reply = bd_core_new_reply(BD_REPLY_DATA, session, waiter->request);
        if (waiter->buffer->error) {
            reply->error = bd_error_retain(waiter->buffer->error);
            bd_buffer_release(waiter->buffer);
        } else {
            reply->error = bd_buffer_for_host(waiter->buffer, &reply->buffer);
            bd_buffer_release(waiter->buffer);
            bd_type_copy(&reply->type, &waiter->type);
        }
    } else {
        reply = bd_core_new_reply(BD_REPLY_SYNCED, session, waiter->request);
        reply->error = session->first_error;
        session->first_error = NULL;
    }
    bd_core_reply(session->core, reply);
    bd_free(waiter);
}

void bd_session_answer(bd_session *session)
{
    while (session->waiters && session->waiters->order <= session->core->completed) {
        bd_waiter *waiter = session->waiters;
        session->waiters = waiter->next;
        answer_waiter(session, waiter);
    }
}

/* Waiters stand in order of their submissions; a later one never overtakes an equal one. */
void bd_session_wait_for(bd_session *session, bd_waiter *own_waiter)
{
    bd_waiter *waiter = own_waiter;
    bd_waiter **link = &session->waiters;
    while (*link && (*link)->order <= waiter->order)
        link = &(*link)->next;
    waiter->next = *link;
    *link = waiter;
    bd_session_answer(session);
}

void bd_session_tell(bd_session *session, bd_reply_kind kind, uint64_t request,
                      bd_error *own_error)
{
    bd_reply *reply = bd_core_new_reply(kind, session, request);
    reply->error = own_error;
    bd_core_reply(session->core, reply);
}

/* ---- requests ---- */

static bd_error *put_tensor(bd_session *session, bd_request *request)
{
    if (request->id <= session->last_id)
        BD_FAIL(CONFLICT, "ids must increase: tensor %" PRIu64 " comes after %" PRIu64, request->id,
                session->last_id);
    if (request->id > BURN_ID_MAX)
        BD_FAIL(INVALID, "tensor ids end at %" PRIu64, (uint64_t)BURN_ID_MAX);
    session->last_id = request->id;
    if (session->tensors.live >= BD_TENSORS_MAX)
        BD_FAIL(LIMIT, "upload of tensor %" PRIu64 ": the session has %d tensors, the limit",
                request->id, BD_TENSORS_MAX);
    bd_tensor *tensor = bd_tensors_add(&session->tensors, request->id);
    size_t size_bytes = 0;
    bd_error *error =
        request->error ? bd_error_retain(request->error)
                       : burn_shape_check(&request->type.shape, request->type.dtype, &size_bytes);
    if (!error && (!request->buffer || request->buffer->size_bytes != size_bytes))
        error =
            BD_ERROR(INVALID, "upload of tensor %" PRIu64 ": %zu bytes came, %zu are its size",
                     request->id, request->buffer ? request->buffer->size_bytes : 0, size_bytes);
    if (error) {
        tensor->state = BD_TENSOR_POISON;
        tensor->error = bd_error_retain(error);
        return error;
    }
    bd_tensor_store(tensor, &request->type, request->buffer, ++session->core->next_tensor);
    request->buffer = NULL;
    return NULL;
}

static void put(bd_session *session, bd_request *request)
{
    bd_error *error = put_tensor(session, request);
    if (!error)
        return;
    bd_session_note_error(session, error);
    bd_error_free(error);
}

/* False if a cut must come first. */
static bool get(bd_session *session, const bd_request *request)
{
    bd_tensor *tensor = bd_tensors_find(&session->tensors, request->id);
    if (!tensor) {
        bd_session_tell(session, BD_REPLY_DATA, request->request,
                    BD_ERROR(NOT_FOUND, "tensor %" PRIu64 " is unknown or was freed", request->id));
        return true;
    }
    if (tensor->state == BD_TENSOR_VALUE) {
        bd_session_cut(session);
        return false;
    }
    if (tensor->state == BD_TENSOR_POISON) {
        bd_session_tell(session, BD_REPLY_DATA, request->request, bd_error_retain(tensor->error));
        return true;
    }
    bd_waiter *waiter = bd_alloc_zeroed(sizeof *waiter);
    waiter->kind = BD_REQUEST_GET;
    waiter->request = request->request;
    waiter->order = tensor->stored->buffer->ready;
    waiter->buffer = bd_buffer_retain(tensor->stored->buffer);
    bd_type_copy(&waiter->type, &tensor->stored->type);
    bd_session_wait_for(session, waiter);
    return true;
}

static bool sync(bd_session *session, const bd_request *request)
{
    if (session->tracer.records.count) {
        bd_session_cut(session);
        return false;
    }
    bd_waiter *waiter = bd_alloc_zeroed(sizeof *waiter);
    waiter->kind = BD_REQUEST_SYNC;
    waiter->request = request->request;
    waiter->order = session->last_order;
    bd_session_wait_for(session, waiter);
    return true;
}

/* True if the request is done. */
static bool take_up(bd_session *session, bd_request *request)
{
    switch (request->kind) {
    case BD_REQUEST_OPS:
        return bd_throttle_go_on(session, request);
    case BD_REQUEST_PUT:
        put(session, request);
        return true;
    case BD_REQUEST_GET:
        return get(session, request);
    case BD_REQUEST_SYNC:
        return sync(session, request);
    case BD_REQUEST_PROGRAM_DEFINE:
        bd_session_tell(session, BD_REPLY_DONE, request->request,
                        bd_programs_define(session, request));
        return true;
    case BD_REQUEST_PROGRAM_DROP:
        bd_session_tell(session, BD_REPLY_DONE, request->request,
                        bd_programs_drop(session, request));
        return true;
    case BD_REQUEST_EXPORT:
        return bd_naming_export(session, request);
    case BD_REQUEST_IMPORT:
        return bd_naming_import(session, request);
    case BD_REQUEST_UNEXPORT:
        return bd_naming_unexport(session, request);
    case BD_REQUEST_LIST_NAMES:
        return bd_naming_list(session, request);
    case BD_REQUEST_EXPORT_PROGRAM:
        return bd_programs_export(session, request);
    case BD_REQUEST_IMPORT_PROGRAM:
        return bd_programs_import(session, request);
    case BD_REQUEST_SESSION_OPEN:
    case BD_REQUEST_SESSION_CLOSE:
    case BD_REQUEST_PROBE:
    case BD_REQUEST_CANCEL:
    case BD_REQUEST_CANCEL_WORK:
        break; /* not in turn: bd_session_accept and the core see to them */
    }
    return true;
}

bool bd_session_can_step(const bd_session *session)
{
    if (session->waiting || (session->awaits_names && session->publishing))
        return false;
    return session->first && session->in_flight < BD_SESSION_IN_FLIGHT_MAX;
}

bool bd_session_can_resume(const bd_session *session)
{
    bd_error *ignored = NULL;
    return session->waiting && bd_known_ready(session->waiting, &ignored);
}

void bd_session_step(bd_session *session)
{
    bd_posted *posted = session->first;
    if (!posted)
        return; /* it was cancelled meanwhile */
    if (posted->posted_ns)
        bd_histogram_add(&session->core->counters.queued, bd_now_ns() - posted->posted_ns);
    posted->posted_ns = 0;
    session->dropped = posted->dropped;
    bool done = take_up(session, &posted->request);
    atomic_store_explicit(&session->account->tensors, session->tensors.live, memory_order_relaxed);
    if (!done)
        return;
    session->first = (bd_posted *)posted->letter.next;
    if (!session->first)
        session->last = NULL;
    session->credit_bytes += posted->request.credit_bytes;
    bd_request_destroy(&posted->request);
    if (session->credit_bytes >= BD_CREDIT_BYTES_MIN)
        bd_session_flush_credit(session);
}

/* ---- arrival ---- */

static bool cancel_waiter(bd_session *session, uint64_t request)
{
    for (bd_waiter **link = &session->waiters; *link; link = &(*link)->next) {
        bd_waiter *waiter = *link;
        if (waiter->request != request || waiter->kind == BD_REQUEST_EXPORT)
            continue;
        *link = waiter->next;
        bd_session_tell(session, waiter->kind == BD_REQUEST_GET ? BD_REPLY_DATA : BD_REPLY_SYNCED,
                    request, BD_ERROR(CANCELLED, "the request was cancelled"));
        bd_buffer_release(waiter->buffer);
        bd_free(waiter);
        return true;
    }
    return false;
}

static void cancel(bd_session *session, uint64_t request)
{
    if (cancel_waiter(session, request))
        return;
    bd_posted *before = NULL;
    for (bd_posted *posted = session->first; posted;
         before = posted, posted = (bd_posted *)posted->letter.next) {
        bd_request_kind kind = posted->request.kind;
        if ((kind != BD_REQUEST_GET && kind != BD_REQUEST_SYNC) ||
            posted->request.request != request)
            continue;
        if (before)
            before->letter.next = posted->letter.next;
        else
            session->first = (bd_posted *)posted->letter.next;
        if (session->last == posted)
            session->last = before;
        session->credit_bytes += posted->request.credit_bytes;
        bd_session_tell(session, kind == BD_REQUEST_GET ? BD_REPLY_DATA : BD_REPLY_SYNCED, request,
                    BD_ERROR(CANCELLED, "the request was cancelled"));
        bd_request_destroy(&posted->request);
        return;
    }
}

static void cancel_work(bd_session *session)
{
    bd_error *error = BD_ERROR(CANCELLED, "the work of the session was cancelled");
    for (bd_run *run = session->core->flight_first; run; run = run->next)
        if (run->session == session) {
            run->dropped = true;
            atomic_store(&run->submission.cancelled, true);
        }
    bd_session_abandon(session, error);
    for (bd_posted *posted = session->first; posted; posted = (bd_posted *)posted->letter.next)
        posted->dropped = true;
    bd_error_free(error);
}

void bd_session_accept(bd_session *session, bd_posted *own_posted)
{
    bd_request_kind kind = own_posted->request.kind;
    if (kind == BD_REQUEST_CANCEL || kind == BD_REQUEST_CANCEL_WORK) {
        if (kind == BD_REQUEST_CANCEL)
            cancel(session, own_posted->request.request);
        else
            cancel_work(session);
        bd_request_destroy(&own_posted->request);
        return;
    }
    own_posted->letter.next = NULL;
    if (session->last)
        session->last->letter.next = &own_posted->letter;
    else
        session->first = own_posted;
    session->last = own_posted;
}
