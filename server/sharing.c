/* SPDX-License-Identifier: Apache-2.0 */
#include "server/sharing.h"

#include <string.h>

#include "proto/base/alloc.h"
#include "proto/name.h"
#include "server/connection.h"
#include "server/json.h"
#include "server/transfer.h"

/* NULL if the name is none, or not this client's to write: that was answered. An EXPORT without a
 * number has no answer, and takes the error along, for the next SYNC. */
static bd_request *begin(bd_connection *connection, bd_request_kind kind, uint64_t number,
                         bd_text name)
{
    bd_error *error = NULL;
    if (kind != BD_REQUEST_LIST_NAMES ||
        (name.size_bytes && !bd_text_equal(name, "public")))
        error = bd_name_check(name.bytes, name.size_bytes);
    bool writes = kind == BD_REQUEST_EXPORT || kind == BD_REQUEST_EXPORT_PROGRAM ||
                  kind == BD_REQUEST_UNEXPORT;
    bool shared = name.size_bytes > 7 && memcmp(name.bytes, "public/", 7) == 0;
    const bd_principal *principal = &connection->session.principal;
    if (!error && writes && shared && !(principal->scopes & BD_SCOPE_ADMIN))
        error = BD_ERROR(DENIED, "names of public/ are written with the scope admin, which %.100s "
                                 "has not", principal->name);
    if (error && number) {
        bd_session_answer_failure(connection, number, error);
        return NULL;
    }
    bd_request *request = bd_request_create(kind, connection->session.number);
    request->request = number;
    request->error = error;
    bd_text_copy(name, request->name, sizeof request->name);
    return request;
}

/* A request with a payload, or NULL. */
static bd_error *publish(bd_connection *connection, bd_request *own_request, const bd_frame *frame,
                         uint8_t **out_payload)
{
    bd_request *request = own_request;
    if (request && request->request && !bd_session_expect(connection, request->request)) {
        bd_request_destroy(request);
        request = NULL;
    }
    if (!request)
        return frame->payload_bytes ? NULL : bd_session_payload_done(connection);
    return bd_transfer_await(connection, request, frame, out_payload);
}

bd_error *bd_sharing_message(bd_connection *connection, const bd_message *message,
                             const bd_frame *frame, uint8_t **out_payload)
{
    bd_request *request = NULL;
    if (message->type == BD_MESSAGE_EXPORT) {
        request =
            begin(connection, BD_REQUEST_EXPORT, message->export.request, message->export.name);
        return publish(connection, request, frame, out_payload);
    } else if (message->type == BD_MESSAGE_EXPORT_PROGRAM) {
        request = begin(connection, BD_REQUEST_EXPORT_PROGRAM, message->export_program.request,
                        message->export_program.name);
        if (request)
            request->program = message->export_program.program;
        return publish(connection, request, frame, out_payload);
    } else if (message->type == BD_MESSAGE_IMPORT) {
        request =
            begin(connection, BD_REQUEST_IMPORT, message->import.request, message->import.name);
        if (request) {
            request->id = message->import.first;
            request->id_count = message->import.count;
        }
    } else if (message->type == BD_MESSAGE_IMPORT_PROGRAM) {
        request = begin(connection, BD_REQUEST_IMPORT_PROGRAM, message->import_program.request,
                        message->import_program.name);
        if (request)
            request->program = message->import_program.program;
    } else if (message->type == BD_MESSAGE_UNEXPORT) {
        request = begin(connection, BD_REQUEST_UNEXPORT, message->unexport.request,
                        message->unexport.name);
    } else {
        request = begin(connection, BD_REQUEST_LIST_NAMES, message->list_names.request,
                        message->list_names.prefix);
    }
    if (request)
        bd_session_ask(connection, request);
    else
        bd_session_return_credit(connection, connection->session.frame_cost);
    return NULL;
}

/* ---- answers --------------------------------------------------------------------------------- */

static bd_error *write_name(bd_unpack *unpack, bd_json *json)
{
    bd_text name;
    char text[BURN_NAME_BYTES_MAX + 1];
    int64_t bytes = 0, version = 0, dtype = 0, dim = 0;
    uint32_t rank = 0;
    BD_TRY(bd_unpack_array_of(unpack, 5));
    BD_TRY(bd_unpack_str(unpack, &name.bytes, &name.size_bytes));
    BD_TRY(bd_unpack_int(unpack, &bytes));
    BD_TRY(bd_unpack_int(unpack, &version));
    BD_TRY(bd_unpack_int(unpack, &dtype));
    BD_TRY(bd_unpack_array(unpack, &rank));
    bd_json_begin_object(json, NULL);
    bd_json_text(json, "name", bd_text_copy(name, text, sizeof text));
    bd_json_text(json, "kind", dtype ? "tensor" : "program");
    if (dtype)
        bd_json_text(json, "dtype", burn_dtype_name((burn_dtype)dtype));
    if (dtype)
        bd_json_begin_array(json, "shape");
    for (uint32_t i = 0; i < rank; i++) {
        BD_TRY(bd_unpack_int(unpack, &dim));
        bd_json_uint(json, NULL, (uint64_t)dim);
    }
    if (dtype)
        bd_json_end_array(json);
    bd_json_uint(json, "bytes", (uint64_t)bytes);
    bd_json_uint(json, "version", (uint64_t)version);
    bd_json_end_object(json);
    return NULL;
}

static void send_list(bd_connection *connection, const bd_reply *reply)
{
    bd_unpack unpack = {.cursor = reply->payload, .end = reply->payload + reply->payload_bytes};
    bd_json json = {0};
    bd_error *error = NULL;
    bd_json_begin_array(&json, NULL);
    while (!error && unpack.cursor < unpack.end)
        error = write_name(&unpack, &json);
    bd_json_end_array(&json);
    size_t size = 0;
    char *text = bd_json_take(&json, &size);
    if (!error && size > BURN_REPORT_BYTES_MAX)
        error = BD_ERROR(LIMIT,
                         "the list has %zu bytes, %d are the limit; a longer prefix gives a "
                         "shorter one",
                         size, BURN_REPORT_BYTES_MAX);
    if (error)
        bd_session_answer_failure(connection, reply->request, error);
    else
        bd_connection_send_payload(
            connection,
            &(bd_message){.type = BD_MESSAGE_REPORT, .report.request = reply->request}, text, size);
    bd_free(text);
}

void bd_sharing_reply(bd_connection *connection, const bd_reply *reply)
{
    if (reply->kind == BD_REPLY_NAMES) {
        send_list(connection, reply);
        return;
    }
    bd_message message = {.type = BD_MESSAGE_IMPORTED, .imported.request = reply->request};
    bd_connection_send_payload(connection, &message, reply->payload, reply->payload_bytes);
}
