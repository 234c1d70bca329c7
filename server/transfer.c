/* SPDX-License-Identifier: Apache-2.0 */
#include "server/transfer.h"

#include <inttypes.h>
#include <string.h>

#include "proto/base/alloc.h"
#include "proto/base/copy.h"
#include "server/connection.h"

enum {
    INLINE_BYTES = 2048,               /* smaller chunks are copied beside their header */
    OUTBOX_AHEAD_BYTES = 2 * 1024 * 1024, /* downloads are queued up to here */
    COPY_BYTES_MAX = 4 * 1024 * 1024,     /* into regions, then the others have a turn */
};

/* An upload that is not complete. */
typedef struct bd_upload {
    uint64_t id;
    burn_tensor_type type;
    bd_buffer *buffer; /* NULL: refused, the tensor is poisoned already, the bytes are dropped */
    size_t size_bytes, received_bytes;
} bd_upload;

/* Where the answer to a GET_REGION goes. */
typedef struct bd_region_read {
    bd_region *region; /* retained; NULL: not to a region */
    uint64_t place, slot_bytes, slots;
    uint64_t free_slots, next_slot;
} bd_region_read;

/* An answer to GET that is not queued to its end. */
struct bd_download {
    bd_download *next;
    uint64_t request;
    burn_tensor_type type;
    bd_buffer *buffer;
    const uint8_t *bytes;
    size_t size_bytes, sent_bytes;
    bd_region_read read;
};

static void answer(bd_connection *connection, bd_error *own_error)
{
    bd_session_answer_failure(connection, 0, own_error);
}

/* Consumes the error. */
static void answer_done(bd_connection *connection, uint64_t request, bd_error *own_error)
{
    if (own_error)
        bd_session_answer_failure(connection, request, own_error);
    else
        bd_connection_send(connection,
                           &(bd_message){.type = BD_MESSAGE_DONE, .done.request = request});
}

/* ---- op batches and programs ----------------------------------------------------------------- */

bd_error *bd_transfer_await(bd_connection *connection, bd_request *own_request,
                            const bd_frame *frame, uint8_t **out_payload)
{
    size_t size = (size_t)frame->payload_bytes;
    own_request->credit_bytes = connection->session.frame_cost;
    own_request->payload = bd_alloc_keep_reserve() ? bd_try_alloc(size ? size : 1) : NULL;
    own_request->payload_bytes = size;
    if (!own_request->payload) {
        bd_request_destroy(own_request);
        BD_FAIL(NO_MEMORY, "no memory for a payload of %zu bytes", size);
    }
    if (size == 0) {
        bd_engine_post(connection->daemon->engine, own_request);
        return NULL;
    }
    connection->session.request = own_request;
    *out_payload = own_request->payload;
    return NULL;
}

bd_error *bd_transfer_ops(bd_connection *connection, const struct bd_message_ops *ops,
                          const bd_frame *frame, uint8_t **out_payload)
{
    bd_request *request = bd_request_create(BD_REQUEST_OPS, connection->session.number);
    request->first_output = ops->first_output;
    request->first_op_index = ops->first_op_index;
    return bd_transfer_await(connection, request, frame, out_payload);
}

bd_error *bd_transfer_program(bd_connection *connection,
                              const struct bd_message_program_define *define, const bd_frame *frame,
                              uint8_t **out_payload)
{
    bd_session *session = &connection->session;
    bool fits = define->inputs < define->first_output && define->inputs <= UINT32_MAX;
    if (!fits)
        bd_session_answer_failure(connection, define->request,
                                  BD_ERROR(INVALID,
                                           "%" PRIu64 " inputs do not fit before id %" PRIu64,
                                           define->inputs, define->first_output));
    if (!fits || !bd_session_expect(connection, define->request))
        return frame->payload_bytes ? NULL : bd_session_payload_done(connection);
    bd_request *request = bd_request_create(BD_REQUEST_PROGRAM_DEFINE, session->number);
    request->request = define->request;
    request->program = define->program;
    request->program_inputs = (uint32_t)define->inputs;
    request->first_output = define->first_output;
    bd_text_copy(define->name, request->name, sizeof request->name);
    return bd_transfer_await(connection, request, frame, out_payload);
}

/* ---- uploads --------------------------------------------------------------------------------- */

/* The engine learns of the tensor: its bytes, or why it is poisoned. The frame's credit comes back
 * when it has: what waits for a busy engine stays bounded. */
static void post_put(bd_connection *connection, const bd_upload *upload, bd_error *own_error)
{
    bd_request *request = bd_request_create(BD_REQUEST_PUT, connection->session.number);
    request->credit_bytes = connection->session.frame_cost;
    connection->session.frame_cost = 0;
    request->id = upload->id;
    request->type = upload->type;
    if (own_error) {
        bd_error *noted = bd_error_note(own_error, "upload of tensor %" PRIu64, upload->id);
        request->error = noted;
    } else {
        request->buffer = upload->buffer;
    }
    bd_engine_post(connection->daemon->engine, request);
}

static void forget(bd_session *session, bd_upload *upload)
{
    bd_map_remove(&session->uploads, upload->id);
    bd_free(upload);
}

/* The tensor is poisoned; the rest of its bytes is dropped. */
static void refuse(bd_connection *connection, bd_upload *upload, bd_error *own_error)
{
    if (upload->buffer)
        bd_buffer_release(upload->buffer);
    upload->buffer = NULL;
    post_put(connection, upload, own_error);
}

static void accept_bytes(bd_connection *connection, bd_upload *upload, size_t size)
{
    bd_session *session = &connection->session;
    upload->received_bytes += size;
    if (upload->received_bytes < upload->size_bytes)
        return;
    if (upload->buffer)
        post_put(connection, upload, NULL);
    forget(session, upload);
}

bd_error *bd_transfer_put_begin(bd_connection *connection, const struct bd_message_put_begin *put,
                                const bd_frame *frame, uint8_t **out_payload)
{
    bd_session *session = &connection->session;
    bd_upload begun = {.id = put->id, .type = {.dtype = put->dtype, .shape = put->shape}};
    bd_error *error = NULL;
    if (bd_map_get(&session->uploads, put->id)) {
        answer(connection,
               BD_ERROR(CONFLICT, "tensor %" PRIu64 " is being uploaded already", put->id));
        session->upload = 0;
    } else if ((error = burn_shape_check(&put->shape, put->dtype, &begun.size_bytes)) != NULL) {
        post_put(connection, &begun, error);
        session->upload = 0;
    } else if (session->uploads.count >= BURN_IN_FLIGHT_MAX) {
        post_put(
            connection, &begun,
            BD_ERROR(LIMIT, "%d uploads are under way, more are not allowed", BURN_IN_FLIGHT_MAX));
        session->upload = 0;
    } else {
        bd_upload *upload = bd_alloc(sizeof *upload);
        *upload = begun;
        bd_map_put(&session->uploads, upload->id, upload);
        error = bd_engine_upload_buffer(connection->daemon->engine, session->number,
                                        upload->size_bytes, &upload->buffer);
        if (!error && frame->payload_bytes > upload->size_bytes)
            error = BD_ERROR(INVALID, "%" PRIu64 " bytes came for a tensor of %zu",
                             frame->payload_bytes, upload->size_bytes);
        if (error)
            refuse(connection, upload, error);
        session->upload = upload->id;
        *out_payload = upload->buffer ? bd_buffer_bytes(upload->buffer) : NULL;
    }
    if (frame->payload_bytes == 0)
        return bd_session_payload_done(connection);
    return NULL;
}

bd_error *bd_transfer_put_data(bd_connection *connection, const struct bd_message_put_data *put,
                               const bd_frame *frame, uint8_t **out_payload)
{
    bd_session *session = &connection->session;
    bd_upload *upload = bd_map_get(&session->uploads, put->id);
    session->upload = upload ? upload->id : 0;
    if (!upload) {
        answer(connection,
               BD_ERROR(NOT_FOUND, "tensor %" PRIu64 " is not being uploaded", put->id));
    } else if (upload->buffer &&
               (put->offset != upload->received_bytes ||
                frame->payload_bytes > upload->size_bytes - upload->received_bytes)) {
        refuse(connection, upload,
               BD_ERROR(
                   INVALID, "%" PRIu64 " bytes at %" PRIu64 " do not continue %zu of %zu bytes",
                   frame->payload_bytes, put->offset, upload->received_bytes, upload->size_bytes));
    } else if (upload->buffer) {
        *out_payload = (uint8_t *)bd_buffer_bytes(upload->buffer) + upload->received_bytes;
    }
    if (frame->payload_bytes == 0)
        return bd_session_payload_done(connection);
    return NULL;
}

bd_error *bd_session_payload_done(bd_connection *connection)
{
    bd_session *session = &connection->session;
    if (session->request) {
        bd_request *request = session->request;
        session->request = NULL;
        bd_engine_post(connection->daemon->engine, request);
        return NULL;
    }
    bd_upload *upload = session->upload ? bd_map_get(&session->uploads, session->upload) : NULL;
    session->upload = 0;
    if (upload)
        accept_bytes(connection, upload, (size_t)connection->parser.frame.payload_bytes);
    if (session->frame_cost)
        bd_session_return_credit(connection, session->frame_cost);
    session->frame_cost = 0;
    return NULL;
}

/* ---- regions --------------------------------------------------------------------------------- */

/* Of a tensor of so many bytes. A slot that is used again stays in the cache. */
static void copy_part(void *to, const void *from, size_t size, size_t tensor_bytes)
{
    if (tensor_bytes >= BD_COPY_PAST_BYTES_MIN)
        bd_copy_past_cache(to, from, size);
    else if (size)
        memcpy(to, from, size);
}

static bd_error *copy_from_region(bd_session *session, bd_upload *upload,
                                  const struct bd_message_put_region *put)
{
    bd_region *region = NULL;
    if (put->offset != upload->received_bytes ||
        put->bytes > upload->size_bytes - upload->received_bytes)
        BD_FAIL(INVALID, "%" PRIu64 " bytes at %" PRIu64 " do not continue %zu of %zu bytes",
                put->bytes, put->offset, upload->received_bytes, upload->size_bytes);
    BD_TRY(bd_regions_find(&session->regions, put->region, put->place, put->bytes, &region));
    copy_part((uint8_t *)bd_buffer_bytes(upload->buffer) + upload->received_bytes,
              region->bytes + put->place, (size_t)put->bytes, upload->size_bytes);
    return NULL;
}

/* Also a refused upload is gone through to its end. */
static void put_region(bd_connection *connection, const struct bd_message_put_region *put)
{
    bd_session *session = &connection->session;
    bd_upload *upload = bd_map_get(&session->uploads, put->id);
    bd_error *error = NULL;
    if (!upload)
        error = BD_ERROR(NOT_FOUND, "tensor %" PRIu64 " is not being uploaded", put->id);
    else if (upload->buffer && (error = copy_from_region(session, upload, put)))
        refuse(connection, upload, bd_error_retain(error));
    if (upload)
        accept_bytes(connection, upload, (size_t)put->bytes);
    if (error || put->request)
        answer_done(connection, put->request, error);
}

static bd_error *get_region(bd_connection *connection, const struct bd_message_get_region *get)
{
    bd_session *session = &connection->session;
    bd_region *region = NULL;
    if (get->slot_bytes > BURN_CHUNK_BYTES_MAX)
        BD_FAIL(INVALID, "slots of %" PRIu64 " bytes, at most %d are allowed", get->slot_bytes,
                BURN_CHUNK_BYTES_MAX);
    if (get->slots > INT64_MAX / BURN_CHUNK_BYTES_MAX)
        BD_FAIL(INVALID, "%" PRIu64 " slots", get->slots);
    BD_TRY(bd_regions_find(&session->regions, get->region, get->place,
                           get->slots * get->slot_bytes, &region));
    bd_request *request = bd_request_create(BD_REQUEST_GET, session->number);
    request->request = get->request;
    request->id = get->id;
    if (!bd_map_get(&session->requests, get->request)) {
        bd_region_read *read = bd_alloc(sizeof *read);
        *read = (bd_region_read){.region = bd_region_retain(region),
                                 .place = get->place,
                                 .slot_bytes = get->slot_bytes,
                                 .slots = get->slots,
                                 .free_slots = get->slots};
        bd_map_put(&session->region_reads, get->request, read);
    }
    bd_session_ask(connection, request);
    if (!bd_map_get(&session->requests, get->request))
        bd_transfer_refuse_download(connection, get->request);
    return NULL;
}

static void region_taken(bd_connection *connection, uint64_t request)
{
    bd_download *download = connection->session.downloads_first;
    while (download && download->request != request)
        download = download->next;
    if (!download || download->read.free_slots >= download->read.slots)
        return;
    download->read.free_slots++;
    bd_connection_touch(connection);
}

bd_error *bd_transfer_region_message(bd_connection *connection, const bd_message *message)
{
    bd_session *session = &connection->session;
    bd_error *error = NULL;
    if (!connection->stream.takes_fds)
        BD_FAIL(PROTOCOL, "regions were not negotiated");
    switch ((int)message->type) {
    case BD_MESSAGE_REGION_ADD:
        error = bd_regions_add(&session->regions, &message->region_add,
                               bd_stream_take_fd(&connection->stream));
        answer_done(connection, message->region_add.request, error);
        break;
    case BD_MESSAGE_REGION_DROP:
        error = bd_regions_drop(&session->regions, message->region_drop.region);
        if (error)
            answer(connection, error);
        break;
    case BD_MESSAGE_PUT_REGION:
        put_region(connection, &message->put_region);
        break;
    case BD_MESSAGE_GET_REGION:
        error = get_region(connection, &message->get_region);
        if (!error)
            return NULL; /* the engine gives the credit back */
        bd_session_answer_failure(connection, message->get_region.request, error);
        break;
    case BD_MESSAGE_REGION_TAKEN:
        region_taken(connection, message->region_taken.request);
        return NULL;
    }
    if (session->frame_cost)
        bd_session_return_credit(connection, session->frame_cost);
    session->frame_cost = 0;
    return NULL;
}

/* ---- downloads ------------------------------------------------------------------------------- */

static void take_region_read(bd_session *session, uint64_t request, bd_region_read *out)
{
    bd_region_read *read = bd_map_remove(&session->region_reads, request);
    *out = read ? *read : (bd_region_read){0};
    bd_free(read);
}

void bd_transfer_refuse_download(bd_connection *connection, uint64_t request)
{
    bd_region_read read;
    take_region_read(&connection->session, request, &read);
    bd_region_release(read.region);
}

void bd_transfer_download(bd_connection *connection, const bd_reply *reply)
{
    bd_session *session = &connection->session;
    bd_download *download = bd_alloc_zeroed(sizeof *download);
    download->request = reply->request;
    download->type = reply->type;
    take_region_read(session, reply->request, &download->read);
    bd_error *error =
        burn_shape_check(&reply->type.shape, reply->type.dtype, &download->size_bytes);
    if (error) {
        bd_session_answer_failure(connection, reply->request, error);
        bd_region_release(download->read.region);
        bd_free(download);
        return;
    }
    if (reply->buffer) {
        download->buffer = bd_buffer_retain(reply->buffer);
        download->bytes = (const uint8_t *)bd_buffer_bytes(reply->buffer) + reply->offset_bytes;
    }
    if (session->downloads_last)
        session->downloads_last->next = download;
    else
        session->downloads_first = download;
    session->downloads_last = download;
    bd_connection_touch(connection);
}

static void release_buffer(void *owner)
{
    bd_buffer_release(owner);
}

static void send_chunk(bd_connection *connection, bd_download *download, size_t size)
{
    bd_message message = {.type = BD_MESSAGE_DATA,
                          .data = {.request = download->request,
                                   .dtype = download->type.dtype,
                                   .shape = download->type.shape,
                                   .offset = download->sent_bytes,
                                   .total = download->size_bytes}};
    const uint8_t *bytes = download->bytes + download->sent_bytes;
    if (size <= INLINE_BYTES) {
        bd_connection_send_payload(connection, &message, bytes, size);
    } else {
        bd_connection_send_borrowed(connection, &message, bytes, size, release_buffer,
                                    bd_buffer_retain(download->buffer));
    }
    download->sent_bytes += size;
}

static void unlink_download(bd_session *session, bd_download *previous, bd_download *download)
{
    if (previous)
        previous->next = download->next;
    else
        session->downloads_first = download->next;
    if (session->downloads_last == download)
        session->downloads_last = previous;
    if (download->buffer)
        bd_buffer_release(download->buffer);
    bd_region_release(download->read.region);
    bd_free(download);
}

/* Fills the next slot of a region. */
static void fill_slot(bd_connection *connection, bd_download *download, size_t size)
{
    bd_region_read *read = &download->read;
    uint64_t place = read->place + read->next_slot * read->slot_bytes;
    bool again = read->slots * read->slot_bytes < download->size_bytes;
    copy_part(read->region->bytes + place, download->bytes + download->sent_bytes, size,
              again ? 0 : download->size_bytes);
    bd_connection_send(connection, &(bd_message){.type = BD_MESSAGE_DATA_REGION,
                                                 .data_region = {.request = download->request,
                                                                 .offset = download->sent_bytes,
                                                                 .place = place,
                                                                 .bytes = size,
                                                                 .total = download->size_bytes}});
    download->sent_bytes += size;
    read->free_slots--;
    read->next_slot = (read->next_slot + 1) % read->slots;
}

void bd_session_pump(bd_connection *connection)
{
    bd_session *session = &connection->session;
    const bd_outbox *outbox = &connection->outbox;
    size_t copied = 0, most_kept = (size_t)connection->daemon->config->outbound / 2;
    /* What is kept for a resumption waits for the client, too, and costs it no connection. */
    while (session->downloads_first && outbox->bytes < OUTBOX_AHEAD_BYTES &&
           outbox->bytes + outbox->kept_bytes < most_kept && copied < COPY_BYTES_MAX) {
        bd_download *download = session->downloads_first;
        bool to_region = download->read.region != NULL;
        if (to_region && !download->read.free_slots)
            break;
        size_t left = download->size_bytes - download->sent_bytes;
        size_t most = to_region ? (size_t)download->read.slot_bytes : BURN_CHUNK_BYTES_MAX;
        size_t size = left < most ? left : most;
        if (to_region)
            fill_slot(connection, download, size);
        else
            send_chunk(connection, download, size);
        copied += to_region ? size : 0;
        if (size == left)
            unlink_download(session, NULL, download);
    }
}

bool bd_transfer_cancel_download(bd_connection *connection, uint64_t request)
{
    bd_session *session = &connection->session;
    bd_download *previous = NULL, *download = session->downloads_first;
    while (download && download->request != request) {
        previous = download;
        download = download->next;
    }
    if (!download)
        return false;
    unlink_download(session, previous, download);
    bd_session_answer_failure(connection, request, BD_ERROR(CANCELLED, "cancelled by the client"));
    return true;
}

void bd_transfer_drop_all(bd_connection *connection)
{
    bd_session *session = &connection->session;
    size_t cursor = 0;
    uint64_t id;
    void *value;
    while (bd_map_next(&session->uploads, &cursor, &id, &value)) {
        bd_upload *upload = value;
        if (upload->buffer)
            bd_buffer_release(upload->buffer);
        bd_free(upload);
    }
    bd_map_deinit(&session->uploads);
    for (cursor = 0; bd_map_next(&session->region_reads, &cursor, &id, &value);) {
        bd_region_release(((bd_region_read *)value)->region);
        bd_free(value);
    }
    bd_map_deinit(&session->region_reads);
    bd_regions_deinit(&session->regions);
    if (session->request)
        bd_request_destroy(session->request);
    session->request = NULL;
    session->upload = 0;
    while (session->downloads_first)
        unlink_download(session, NULL, session->downloads_first);
}
