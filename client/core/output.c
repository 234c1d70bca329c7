/* SPDX-License-Identifier: Apache-2.0
 * What a client sends: frames, batches of records, requests, uploads. */
#include <string.h>

#include "client/core/client_state.h"
#include "proto/base/alloc.h"
#include "proto/base/assert.h"

/* Small uploads are copied behind the other frames instead of going around them. */
enum { PUT_COPY_BYTES_MAX = 64 * 1024 };

static bd_frame frame_at(const uint8_t *bytes)
{
    bd_frame frame;
    bd_error *error = bd_frame_decode(bytes, &frame);
    BD_ASSERT(!error);
    return frame;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

size_t bd_client_output(bd_client *client, const uint8_t **out_bytes)
{
    if (client->phase == BD_CLIENT_FAILED)
        return 0;
    size_t control_bytes = bd_fifo_count(&client->control);
    client->output_is_control = control_bytes > 0 && client->frame_left_bytes == 0;
    if (client->output_is_control) {
        *out_bytes = client->control.bytes + client->control.head;
        return control_bytes;
    }
    if (client->phase != BD_CLIENT_OPEN)
        return 0;
    *out_bytes = client->queue.bytes + client->queue.head;
    size_t bytes = control_bytes > 0 ? client->frame_left_bytes : client->released_bytes;
    if (client->outside_first == client->outside.count)
        return bytes;
    uint64_t most = client->outside.items[client->outside_first].position - client->taken_bytes;
    return bytes < most ? bytes : (size_t)most;
}

void bd_client_sent(bd_client *client, size_t size_bytes)
{
    client->bytes_sent += size_bytes;
    if (client->output_is_control) {
        bd_fifo_consume(&client->control, size_bytes);
        return;
    }
    client->released_bytes -= size_bytes;
    client->taken_bytes += size_bytes;
    while (size_bytes > 0) {
        if (client->frame_left_bytes == 0) {
            bd_frame frame = frame_at(client->queue.bytes + client->queue.head);
            client->frame_left_bytes = (size_t)bd_frame_bytes(&frame);
        }
        size_t step = size_bytes < client->frame_left_bytes ? size_bytes : client->frame_left_bytes;
        client->frame_left_bytes -= step;
        size_bytes -= step;
        bd_fifo_consume(&client->queue, step);
    }
}

size_t bd_client_backlog(const bd_client *client)
{
    return bd_fifo_count(&client->control) + bd_fifo_count(&client->queue);
}

uint64_t bd_client_bytes_sent(const bd_client *client)
{
    return client->bytes_sent;
}

/* Whether the payload at this position is the transport's. */
static bool is_outside(const bd_client *client, uint64_t position)
{
    return client->outside_released < client->outside.count &&
           client->outside.items[client->outside_released].position == position;
}

void bd_client_release_credit(bd_client *client)
{
    const bd_fifo *queue = &client->queue;
    while (client->released_bytes < bd_fifo_count(queue)) {
        bd_frame frame = frame_at(queue->bytes + queue->head + client->released_bytes);
        uint64_t cost = bd_frame_cost(&frame);
        if (cost > client->credit_bytes)
            return;
        client->credit_bytes -= cost;
        uint64_t head_bytes = bd_frame_bytes(&frame) - frame.payload_bytes;
        if (is_outside(client, client->taken_bytes + client->released_bytes + head_bytes)) {
            client->outside_released++;
            client->released_bytes += (size_t)head_bytes;
        } else {
            client->released_bytes += (size_t)bd_frame_bytes(&frame);
        }
    }
}

void bd_client_send_control(bd_client *client, const bd_message *message)
{
    size_t bytes = bd_message_encode(message, 0, NULL, 0);
    uint8_t *room = bd_fifo_reserve(&client->control, bytes);
    bd_message_encode(message, 0, room, bytes);
    bd_fifo_commit(&client->control, bytes);
}

void bd_client_bye(bd_client *client)
{
    if (client->phase == BD_CLIENT_OPEN && client->facts.resume_key[0])
        bd_client_send_control(client, &(bd_message){.type = BD_MESSAGE_BYE});
}

static void enqueue(bd_client *client, const bd_message *message, const void *payload,
                    size_t payload_bytes)
{
    uint8_t *room = bd_fifo_reserve(&client->queue, BD_MESSAGE_FRAME_BYTES_MAX + payload_bytes);
    size_t head_bytes = bd_message_encode(message, payload_bytes, room, BD_MESSAGE_FRAME_BYTES_MAX);
    BD_ASSERT(head_bytes <= BD_MESSAGE_FRAME_BYTES_MAX);
    if (payload_bytes > 0)
        memcpy(room + head_bytes, payload, payload_bytes);
    bd_fifo_commit(&client->queue, head_bytes + payload_bytes);
    bd_client_release_credit(client);
}

/* ---- records --------------------------------------------------------------------------------- */

size_t bd_client_batched(const bd_client *client)
{
    return client->batch_bytes;
}

static void send_batch(bd_client *client)
{
    if (client->batch_bytes == 0)
        return;
    bd_message message = {.type = BD_MESSAGE_OPS,
                          .ops = {.first_output = client->batch_first_output,
                                  .first_op_index = client->batch_first_op}};
    enqueue(client, &message, client->batch, client->batch_bytes);
    client->batch_bytes = 0;
}

/* Never less than burn_record_bound, and found without encoding. */
size_t bd_client_record_bound(const burn_op_record *record)
{
    enum { NUMBER_BYTES = 10, HEADS_BYTES = 16 };
    size_t bound = HEADS_BYTES + NUMBER_BYTES * (size_t)record->input_count;
    for (int i = 0; i < record->info->attr_count; i++)
        bound += NUMBER_BYTES * ((size_t)record->attrs[i].count + 1);
    return bound;
}

static uint64_t append(bd_client *client, burn_op_record *record)
{
    size_t bound = bd_client_record_bound(record);
    BD_ASSERT(bound <= BURN_BATCH_BYTES_MAX);
    if (client->batch_bytes + bound > BURN_BATCH_BYTES_MAX)
        send_batch(client);
    if (client->batch_bytes == 0) {
        client->batch_first_output = client->next_id;
        client->batch_first_op = client->op_count + 1;
    }
    record->first_output = client->next_id;
    client->batch_bytes += burn_record_encode(record, client->batch + client->batch_bytes);
    client->next_id += record->output_count;
    client->op_count++;
    if (client->batch_bytes >= BD_BATCH_FLUSH_BYTES)
        send_batch(client);
    return client->op_count;
}

static void append_frees(bd_client *client)
{
    const uint64_t *ids = client->frees.items;
    size_t left = client->frees.count;
    while (left > 0) {
        BD_UNSET burn_operand inputs[BD_FREE_BATCH_COUNT];
        uint32_t count = left < BD_FREE_BATCH_COUNT ? (uint32_t)left : BD_FREE_BATCH_COUNT;
        for (uint32_t i = 0; i < count; i++)
            inputs[i] = (burn_operand){.kind = BURN_OPERAND_TENSOR, .id = ids[i]};
        burn_op_record record = {
            .info = burn_op_lookup(BURN_OP_FREE), .input_count = count, .inputs = inputs};
        append(client, &record);
        ids += count;
        left -= count;
    }
    bd_vec_clear(&client->frees);
}

uint64_t bd_client_record(bd_client *client, burn_op_record *record)
{
    if (client->frees.count >= BD_FREE_BATCH_COUNT)
        append_frees(client);
    return append(client, record);
}

void bd_client_flush(bd_client *client)
{
    append_frees(client);
    send_batch(client);
}

uint64_t bd_client_mint(bd_client *client)
{
    bd_client_flush(client);
    return client->next_id++;
}

void bd_client_free_id(bd_client *client, uint64_t id)
{
    if (client->phase != BD_CLIENT_FAILED)
        *bd_vec_push(&client->frees) = id;
}

void bd_client_mark(bd_client *client)
{
    append_frees(client);
    burn_op_record record = {.info = burn_op_lookup(BURN_OP_MARK)};
    append(client, &record);
    send_batch(client);
}

uint64_t bd_client_op_count(const bd_client *client)
{
    return client->op_count;
}

/* ---- requests -------------------------------------------------------------------------------- */

/* Begins the request; false if the connection has failed already and the request with it. */
static bool begin(bd_client *client, bd_pending *pending)
{
    pending->request = client->next_request++;
    pending->done = false;
    pending->error = NULL;
    pending->received_bytes = 0;
    pending->report = NULL;
    pending->report_bytes = 0;
    pending->slots = NULL;
    pending->first = pending->program = 0;
    pending->abandoned = false;
    pending->next = NULL;
    if (client->failure) {
        pending->done = true;
        pending->error = bd_error_retain(client->failure);
        return false;
    }
    bd_pending **link = &client->pending;
    while (*link)
        link = &(*link)->next;
    *link = pending;
    bd_client_flush(client);
    return true;
}

void bd_client_get(bd_client *client, uint64_t id, uint8_t *place, size_t place_bytes,
                   bd_pending *pending)
{
    pending->place = place;
    pending->place_bytes = place_bytes;
    if (!begin(client, pending))
        return;
    bd_message message = {.type = BD_MESSAGE_GET, .get = {.request = pending->request, .id = id}};
    enqueue(client, &message, NULL, 0);
}

void bd_client_sync(bd_client *client, bd_pending *pending)
{
    bd_client_ask(client, BD_MESSAGE_SYNC, pending);
}

void bd_client_ping(bd_client *client, bd_pending *pending)
{
    if (!begin(client, pending))
        return;
    pending->token = (int64_t)pending->request;
    bd_message message = {.type = BD_MESSAGE_PING, .ping = {.token = pending->token}};
    bd_client_send_control(client, &message);
}

void bd_client_ask(bd_client *client, bd_message_type type, bd_pending *pending)
{
    if (!begin(client, pending))
        return;
    /* Each of these messages is one request number: they share a layout. */
    bd_message message = {.type = type, .stats = {.request = pending->request}};
    enqueue(client, &message, NULL, 0);
}

/* Each of these messages is a request number and a text. */
static void ask_about(bd_client *client, bd_message_type type, const char *text,
                      bd_pending *pending)
{
    if (!begin(client, pending))
        return;
    bd_message message = {.type = type,
                          .unexport = {.request = pending->request, .name = bd_text_of(text)}};
    enqueue(client, &message, NULL, 0);
}

void bd_client_cancel_work(bd_client *client, uint64_t session, bd_pending *pending)
{
    if (!begin(client, pending))
        return;
    bd_message message = {.type = BD_MESSAGE_CANCEL_WORK,
                          .cancel_work = {.request = pending->request, .session = session}};
    bd_client_send_control(client, &message);
}

void bd_client_close_session(bd_client *client, uint64_t session, bd_pending *pending)
{
    if (!begin(client, pending))
        return;
    bd_message message = {.type = BD_MESSAGE_CLOSE_SESSION,
                          .close_session = {.request = pending->request, .session = session}};
    enqueue(client, &message, NULL, 0);
}

void bd_client_ask_token(bd_client *client, bd_message_type type, const bd_token_wish *wish,
                         bd_pending *pending)
{
    if (!begin(client, pending))
        return;
    if (type == BD_MESSAGE_TOKEN_MINT && !client->facts.mints) {
        bd_client_end_pending(client, pending,
                              BD_ERROR(UNSUPPORTED, "this daemon is too old to mint tokens"));
        return;
    }
    /* Both messages have the same layout. */
    bd_message message = {.type = type,
                          .token_create = {.request = pending->request,
                                           .name = bd_text_of(wish->name),
                                           .scopes = bd_text_of(wish->scopes),
                                           .seconds = wish->seconds,
                                           .origins = bd_text_of(wish->origins)}};
    enqueue(client, &message, NULL, 0);
}

void bd_client_rotate_token(bd_client *client, const char *name, uint64_t seconds,
                            uint64_t grace_seconds, bd_pending *pending)
{
    if (!begin(client, pending))
        return;
    bd_message message = {.type = BD_MESSAGE_TOKEN_ROTATE,
                          .token_rotate = {.request = pending->request, .name = bd_text_of(name),
                                           .seconds = seconds, .grace = grace_seconds}};
    enqueue(client, &message, NULL, 0);
}

void bd_client_revoke_token(bd_client *client, const char *name, bd_pending *pending)
{
    ask_about(client, BD_MESSAGE_TOKEN_REVOKE, name, pending);
}

void bd_client_define(bd_client *client, uint64_t program, const char *name, uint32_t input_count,
                      const uint8_t *records, size_t records_bytes, bd_pending *pending)
{
    if (!begin(client, pending))
        return;
    bd_message message = {.type = BD_MESSAGE_PROGRAM_DEFINE,
                          .program_define = {.request = pending->request, .program = program,
                                             .name = bd_text_of(name), .inputs = input_count,
                                             .first_output = (uint64_t)input_count + 1}};
    enqueue(client, &message, records, records_bytes);
}

void bd_client_drop(bd_client *client, uint64_t program)
{
    if (client->failure)
        return;
    bd_client_flush(client); /* calls that were recorded come first */
    bd_message message = {.type = BD_MESSAGE_PROGRAM_DROP,
                          .program_drop = {.request = client->next_request++, .program = program}};
    enqueue(client, &message, NULL, 0);
}

void bd_client_export(bd_client *client, const char *name, const uint8_t *payload,
                      size_t payload_bytes, bd_pending *pending)
{
    if (pending ? !begin(client, pending) : client->failure != NULL)
        return;
    bd_client_flush(client);
    bd_message message = {
        .type = BD_MESSAGE_EXPORT,
        .export = {.request = pending ? pending->request : 0, .name = bd_text_of(name)}};
    enqueue(client, &message, payload, payload_bytes);
}

void bd_client_import(bd_client *client, const char *name, uint64_t count, uint64_t *out_first,
                      bd_pending *pending)
{
    if (!begin(client, pending))
        return;
    *out_first = pending->first = client->next_id;
    client->next_id += count;
    bd_message message = {.type = BD_MESSAGE_IMPORT,
                          .import = {.request = pending->request, .name = bd_text_of(name),
                                     .first = *out_first, .count = count}};
    enqueue(client, &message, NULL, 0);
}

void bd_client_return_ids(bd_client *client, uint64_t first, uint64_t count, uint64_t used)
{
    if (client->next_id == first + count && client->batch_bytes == 0)
        client->next_id = first + used;
}

void bd_client_export_program(bd_client *client, const char *name, uint64_t program,
                              const uint8_t *payload, size_t payload_bytes, bd_pending *pending)
{
    if (!begin(client, pending))
        return;
    bd_message message = {.type = BD_MESSAGE_EXPORT_PROGRAM,
                          .export_program = {.request = pending->request, .program = program,
                                             .name = bd_text_of(name)}};
    enqueue(client, &message, payload, payload_bytes);
}

void bd_client_import_program(bd_client *client, const char *name, uint64_t program,
                              bd_pending *pending)
{
    if (!begin(client, pending))
        return;
    pending->program = program;
    bd_message message = {.type = BD_MESSAGE_IMPORT_PROGRAM,
                          .import_program = {.request = pending->request, .program = program,
                                             .name = bd_text_of(name)}};
    enqueue(client, &message, NULL, 0);
}

void bd_client_unexport(bd_client *client, const char *name, bd_pending *pending)
{
    ask_about(client, BD_MESSAGE_UNEXPORT, name, pending);
}

void bd_client_list_names(bd_client *client, const char *prefix, bd_pending *pending)
{
    ask_about(client, BD_MESSAGE_LIST_NAMES, prefix, pending);
}

/* ---- uploads --------------------------------------------------------------------------------- */

static bd_message put_message(uint64_t id, const burn_tensor_type *type, uint64_t offset)
{
    if (offset > 0)
        return (bd_message){.type = BD_MESSAGE_PUT_DATA, .put_data = {.id = id, .offset = offset}};
    return (bd_message){.type = BD_MESSAGE_PUT_BEGIN,
                        .put_begin = {.id = id, .dtype = type->dtype, .shape = type->shape}};
}

bool bd_client_put_fits(const bd_client *client, size_t size_bytes)
{
    (void)client;
    return size_bytes <= PUT_COPY_BYTES_MAX;
}

void bd_client_put(bd_client *client, uint64_t id, const burn_tensor_type *type, const void *bytes,
                   size_t size_bytes)
{
    BD_ASSERT(bd_client_put_fits(client, size_bytes));
    bd_message message = put_message(id, type, 0);
    enqueue(client, &message, bytes, size_bytes);
}

size_t bd_client_put_head(bd_client *client, uint64_t id, const burn_tensor_type *type,
                          uint64_t offset, size_t chunk_bytes,
                          uint8_t head[BD_MESSAGE_FRAME_BYTES_MAX])
{
    BD_ASSERT(bd_client_backlog(client) == 0);
    bd_message message = put_message(id, type, offset);
    size_t head_bytes = bd_message_encode(&message, chunk_bytes, head, BD_MESSAGE_FRAME_BYTES_MAX);
    BD_ASSERT(head_bytes <= BD_MESSAGE_FRAME_BYTES_MAX);
    bd_frame frame = frame_at(head);
    if (client->phase != BD_CLIENT_OPEN || bd_frame_cost(&frame) > client->credit_bytes)
        return 0;
    client->credit_bytes -= bd_frame_cost(&frame);
    client->bytes_sent += head_bytes + chunk_bytes;
    return head_bytes;
}

void bd_client_put_outside(bd_client *client, uint64_t id, const burn_tensor_type *type,
                           uint64_t offset, size_t chunk_bytes, uint64_t token)
{
    bd_message message = put_message(id, type, offset);
    uint8_t *room = bd_fifo_reserve(&client->queue, BD_MESSAGE_FRAME_BYTES_MAX);
    size_t head_bytes = bd_message_encode(&message, chunk_bytes, room, BD_MESSAGE_FRAME_BYTES_MAX);
    BD_ASSERT(head_bytes <= BD_MESSAGE_FRAME_BYTES_MAX);
    bd_fifo_commit(&client->queue, head_bytes);
    if (chunk_bytes > 0)
        *bd_vec_push(&client->outside) =
            (bd_outside){.position = client->taken_bytes + bd_fifo_count(&client->queue),
                         .token = token};
    bd_client_release_credit(client);
}

size_t bd_client_outside(const bd_client *client, uint64_t *out_token)
{
    if (client->failure || client->outside_first == client->outside.count)
        return 0;
    const bd_outside *next = &client->outside.items[client->outside_first];
    if (next->position != client->taken_bytes || client->frame_left_bytes == 0)
        return 0;
    *out_token = next->token;
    return client->frame_left_bytes;
}

void bd_client_outside_sent(bd_client *client, size_t size_bytes)
{
    BD_ASSERT(size_bytes <= client->frame_left_bytes);
    client->bytes_sent += size_bytes;
    client->frame_left_bytes -= size_bytes;
    if (client->frame_left_bytes > 0 || ++client->outside_first < client->outside.count)
        return;
    bd_vec_clear(&client->outside);
    client->outside_first = client->outside_released = 0;
}

/* ---- regions --------------------------------------------------------------------------------- */

/* The head of a frame without payload that costs so many bytes more; 0: the credit does not suffice
 * yet. */
static size_t head_of(bd_client *client, bd_message *message, uint64_t more, bd_pending *pending,
                      uint64_t *request, uint8_t head[BD_MESSAGE_FRAME_BYTES_MAX])
{
    BD_ASSERT(bd_client_backlog(client) == 0 && client->batch_bytes == 0);
    if (client->phase != BD_CLIENT_OPEN || more + BD_MESSAGE_FRAME_BYTES_MAX > client->credit_bytes)
        return 0;
    if (pending) {
        if (!begin(client, pending))
            return 0;
        *request = pending->request;
    }
    size_t bytes = bd_message_encode(message, 0, head, BD_MESSAGE_FRAME_BYTES_MAX);
    client->credit_bytes -= more + (bytes < BURN_FRAME_COST_MIN ? BURN_FRAME_COST_MIN : bytes);
    client->bytes_sent += bytes;
    return bytes;
}

size_t bd_client_region_head(bd_client *client, uint64_t region, uint64_t bytes,
                             bd_pending *pending, uint8_t head[BD_MESSAGE_FRAME_BYTES_MAX])
{
    bd_message message = {.type = BD_MESSAGE_REGION_ADD,
                          .region_add = {.region = region, .bytes = bytes}};
    return head_of(client, &message, 0, pending, &message.region_add.request, head);
}

void bd_client_region_drop(bd_client *client, uint64_t region)
{
    if (client->failure)
        return;
    bd_client_flush(client);
    bd_message message = {.type = BD_MESSAGE_REGION_DROP, .region_drop.region = region};
    enqueue(client, &message, NULL, 0);
}

void bd_client_put_begin(bd_client *client, uint64_t id, const burn_tensor_type *type)
{
    bd_message message = put_message(id, type, 0);
    enqueue(client, &message, NULL, 0);
}

size_t bd_client_put_region_head(bd_client *client, uint64_t id, uint64_t offset,
                                 const bd_region_span *span, bd_pending *pending,
                                 uint8_t head[BD_MESSAGE_FRAME_BYTES_MAX])
{
    bd_message message = {.type = BD_MESSAGE_PUT_REGION,
                          .put_region = {.id = id,
                                         .offset = offset,
                                         .region = span->region,
                                         .place = span->place,
                                         .bytes = span->bytes}};
    return head_of(client, &message, span->bytes, pending, &message.put_region.request, head);
}

void bd_client_get_region(bd_client *client, uint64_t id, const bd_region_span *span,
                          uint64_t slot_bytes, uint8_t *place, size_t place_bytes,
                          bd_pending *pending)
{
    const uint8_t *slots = pending->slots;
    if (!begin(client, pending))
        return;
    pending->place = place;
    pending->place_bytes = place_bytes;
    pending->slots = slots;
    pending->slots_place = span->place;
    pending->slots_bytes = span->bytes;
    bd_message message = {.type = BD_MESSAGE_GET_REGION,
                          .get_region = {.request = pending->request,
                                         .id = id,
                                         .region = span->region,
                                         .place = span->place,
                                         .slot_bytes = slot_bytes,
                                         .slots = span->bytes / slot_bytes}};
    enqueue(client, &message, NULL, 0);
}
