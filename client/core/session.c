/* SPDX-License-Identifier: Apache-2.0
 * The life of a connection: handshake, what the daemon sends, failure. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "client/core/client_state.h"
#include "proto/base/alloc.h"
#include "proto/base/assert.h"

/* A blocking client reads only while it waits, so it asks not to be pinged; the end of the
 * stream tells the daemon when it is gone. */
enum { IDLE_MS = 24 * 3600 * 1000, ACKNOWLEDGE_BYTES = 256 * 1024 };
enum { TLS_ALERT = 0x15 }; /* the first byte of who awaited a TLS handshake */

bd_client *bd_client_create(const char *library, const char *device, const char *token,
                            unsigned wishes)
{
    bd_client *client = bd_alloc_zeroed(sizeof *client);
    client->batch = bd_alloc(BURN_BATCH_BYTES_MAX);
    client->next_id = client->next_request = 1;
    bd_frame_parser_init(&client->parser, BURN_MESSAGE_BYTES_MAX, BURN_REPORT_BYTES_MAX);
    uint8_t *room = bd_fifo_reserve(&client->control, BURN_PREFACE_BYTES);
    bd_preface_encode(&bd_preface_own, room);
    bd_fifo_commit(&client->control, BURN_PREFACE_BYTES);
    bd_message hello = {.type = BD_MESSAGE_HELLO,
                        .hello = {.client = bd_text_of(library),
                                  .version = BURN_PROTOCOL_VERSION,
                                  .op_revision = burn_op_table_revision,
                                  .device = bd_text_of(device),
                                  .features = {.count = 5,
                                               .items = {bd_text_of("regions"),
                                                         bd_text_of("mint"),
                                                         bd_text_of("rotate"),
                                                         bd_text_of("cancel_work"),
                                                         bd_text_of("close_session")}},
                                  .idle_ms = IDLE_MS,
                                  .token = bd_text_of(token)}};
    if (wishes & BD_CLIENT_RESUMES)
        hello.hello.features.items[hello.hello.features.count++] = bd_text_of("resume");
    if (wishes & BD_CLIENT_OBSERVES)
        hello.hello.features.items[hello.hello.features.count++] = bd_text_of("observe");
    bd_client_send_control(client, &hello);
    return client;
}

void bd_client_destroy(bd_client *client)
{
    if (!client)
        return;
    bd_client_drop_abandoned(client);
    BD_ASSERT(!client->pending);
    bd_fifo_deinit(&client->control);
    bd_fifo_deinit(&client->queue);
    bd_frame_parser_deinit(&client->parser);
    bd_vec_deinit(&client->frees);
    bd_vec_deinit(&client->outside);
    bd_error_free(client->failure);
    bd_free(client->batch);
    bd_free(client);
}

bd_client_phase bd_client_get_phase(const bd_client *client)
{
    return client->phase;
}

bd_error *bd_client_failure(const bd_client *client)
{
    return client->failure ? bd_error_retain(client->failure) : NULL;
}

const bd_client_facts *bd_client_get_facts(const bd_client *client)
{
    return &client->facts;
}

void bd_client_end_pending(bd_client *client, bd_pending *pending, bd_error *own_error)
{
    for (bd_pending **link = &client->pending; *link; link = &(*link)->next)
        if (*link == pending) {
            *link = pending->next;
            break;
        }
    if (client->target == pending)
        client->target = NULL;
    pending->error = own_error;
    pending->done = true;
    if (pending->abandoned)
        bd_client_end_abandoned(client, pending);
}

void bd_client_fail(bd_client *client, bd_error *own_error)
{
    if (client->failure) {
        bd_error_free(own_error);
        return;
    }
    client->failure = own_error;
    client->phase = BD_CLIENT_FAILED;
    while (client->pending)
        bd_client_end_pending(client, client->pending, bd_error_retain(own_error));
    client->batch_bytes = 0;
    bd_vec_clear(&client->frees);
}

/* ---- messages -------------------------------------------------------------------------------- */

static bd_pending *find(bd_client *client, uint64_t request)
{
    for (bd_pending *p = client->pending; p; p = p->next)
        if (p->request == request)
            return p;
    return NULL; /* it was forgotten */
}

bd_error *bd_client_remote_error(uint64_t code, bd_text text, uint64_t op_index)
{
    char words[BD_ERROR_TEXT_MAX];
    bd_text_copy(text, words, sizeof words);
    bd_code known = code > 0 && code < BD_CODE_COUNT ? (bd_code)code : BD_CODE_INTERNAL;
    bd_error *error = bd_error_make(known, __FILE__, __LINE__, "%s", words);
    bd_error_set_op_index(error, op_index);
    return error;
}

static uint32_t at_most(uint64_t value, uint32_t limit)
{
    return value > 0 && value < limit ? (uint32_t)value : limit;
}

static void welcome(bd_client *client, const struct bd_message_welcome *message)
{
    bd_client_facts *facts = &client->facts;
    facts->session = message->session;
    facts->credit_bytes = message->credit_bytes;
    facts->batch_bytes_max = at_most(message->batch_bytes_max, BURN_BATCH_BYTES_MAX);
    facts->chunk_bytes_max = at_most(message->chunk_bytes_max, BURN_CHUNK_BYTES_MAX);
    bd_text_copy(message->server, facts->server, sizeof facts->server);
    bd_text_copy(message->device, facts->device, sizeof facts->device);
    size_t used = 0;
    for (uint32_t i = 0; i < message->devices.count; i++) {
        bd_text name = message->devices.items[i];
        if (used + name.size_bytes + 2 > sizeof facts->devices)
            break;
        memcpy(facts->devices + used, name.bytes, name.size_bytes);
        used += name.size_bytes;
        facts->devices[used++] = '\n';
    }
    facts->devices[used] = '\0';
    bd_text_copy(message->resume_key, facts->resume_key, sizeof facts->resume_key);
    facts->resume_ms = message->resume_ms;
    facts->op_revision = (uint32_t)message->op_revision;
    for (uint32_t i = 0; i < message->features.count; i++) {
        facts->regions |= bd_text_equal(message->features.items[i], "regions");
        facts->mints |= bd_text_equal(message->features.items[i], "mint");
        facts->rotates |= bd_text_equal(message->features.items[i], "rotate");
        facts->closes_sessions |= bd_text_equal(message->features.items[i], "close_session");
        facts->cancels_work |= bd_text_equal(message->features.items[i], "cancel_work");
    }
    client->credit_bytes = message->credit_bytes;
    client->phase = BD_CLIENT_OPEN;
    bd_client_release_credit(client);
}

static bd_error *begin_data(bd_client *client, const struct bd_message_data *data, uint64_t bytes)
{
    bd_pending *pending = find(client, data->request);
    client->target = pending;
    bd_frame_parser_set_payload(&client->parser, NULL);
    if (!pending)
        return NULL;
    if (data->total != pending->place_bytes || data->offset != pending->received_bytes ||
        bytes > pending->place_bytes - pending->received_bytes)
        BD_FAIL(PROTOCOL, "the answer to request %" PRIu64 " has other bounds than the tensor",
                data->request);
    if (pending->place)
        bd_frame_parser_set_payload(&client->parser, pending->place + data->offset);
    return NULL;
}

static void begin_report(bd_client *client, uint64_t request, uint64_t bytes)
{
    bd_pending *pending = find(client, request);
    client->target = pending;
    bd_frame_parser_set_payload(&client->parser, NULL);
    if (!pending)
        return;
    bd_free(pending->report);
    pending->report = bd_alloc_zeroed((size_t)bytes + 1);
    pending->report_bytes = (size_t)bytes;
    bd_frame_parser_set_payload(&client->parser, (uint8_t *)pending->report);
}

/* The next slot is filled. */
static bd_error *take_slot(bd_client *client, const struct bd_message_data_region *data)
{
    bd_pending *pending = find(client, data->request);
    if (!pending)
        return NULL;
    if (data->total != pending->place_bytes || data->offset != pending->received_bytes ||
        data->bytes > pending->place_bytes - pending->received_bytes)
        BD_FAIL(PROTOCOL, "the answer to request %" PRIu64 " has other bounds than the tensor",
                data->request);
    if (pending->slots) {
        uint64_t place = data->place - pending->slots_place;
        if (data->place < pending->slots_place || place > pending->slots_bytes ||
            data->bytes > pending->slots_bytes - place)
            BD_FAIL(PROTOCOL, "the answer to request %" PRIu64 " lies outside of its slots",
                    data->request);
        if (data->bytes)
            memcpy(pending->place + data->offset, pending->slots + place, data->bytes);
    }
    pending->received_bytes += data->bytes;
    if (pending->received_bytes == pending->place_bytes) {
        bd_client_end_pending(client, pending, NULL);
        return NULL;
    }
    bd_message taken = {.type = BD_MESSAGE_REGION_TAKEN,
                        .region_taken = {.request = data->request}};
    if (pending->slots)
        bd_client_send_control(client, &taken);
    return NULL;
}

static bd_error *begin_message(bd_client *client)
{
    const bd_frame *frame = &client->parser.frame;
    bd_message *message = &client->message;
    message->type = BD_MESSAGE_NONE;
    bd_frame_parser_set_payload(&client->parser, NULL);
    if (!bd_message_lookup(frame->type) && frame->flags & BURN_FRAME_IGNORABLE)
        return NULL;
    BD_TRY(bd_message_decode(frame, client->parser.message, BD_MESSAGE_FROM_DAEMON, message));
    bool opens = message->type == BD_MESSAGE_WELCOME;
    if (client->phase == BD_CLIENT_HELLO && !opens && message->type != BD_MESSAGE_ERROR)
        BD_FAIL(PROTOCOL, "the daemon answered HELLO by message %d", message->type);
    if (client->phase == BD_CLIENT_OPEN && opens)
        BD_FAIL(PROTOCOL, "a second WELCOME");
    if (message->type == BD_MESSAGE_DATA)
        return begin_data(client, &message->data, frame->payload_bytes);
    if (message->type == BD_MESSAGE_REPORT)
        begin_report(client, message->report.request, frame->payload_bytes);
    if (message->type == BD_MESSAGE_IMPORTED)
        begin_report(client, message->imported.request, frame->payload_bytes);
    return NULL;
}

static void end_request(bd_client *client, uint64_t request, bd_error *own_error)
{
    bd_pending *pending = find(client, request);
    if (pending)
        bd_client_end_pending(client, pending, own_error);
    else
        bd_error_free(own_error);
}

static void pong(bd_client *client, int64_t token)
{
    for (bd_pending *p = client->pending; p; p = p->next)
        if (p->token == token && p->token == (int64_t)p->request) {
            bd_client_end_pending(client, p, NULL);
            return;
        }
}

static void part(bd_client *client, const struct bd_message_goaway *goaway)
{
    if (goaway->code == BD_CODE_OK)
        snprintf(client->farewell, sizeof client->farewell, "it was shut down");
    else
        snprintf(client->farewell, sizeof client->farewell, "%.*s", (int)goaway->text.size_bytes,
                 goaway->text.bytes);
}

/* Texts of the message point into the parser's bytes, which are gone once a payload was read; only
 * messages without payload have texts. */
static bd_error *end_message(bd_client *client)
{
    bd_message *message = &client->message;
    switch ((int)message->type) {
    case BD_MESSAGE_WELCOME:
        welcome(client, &message->welcome);
        break;
    case BD_MESSAGE_PING: {
        bd_message answer = {.type = BD_MESSAGE_PONG, .pong = {.token = message->ping.token}};
        bd_client_send_control(client, &answer);
        break;
    }
    case BD_MESSAGE_PONG:
        pong(client, message->pong.token);
        break;
    case BD_MESSAGE_RECEIVED:
        if (message->received.bytes > client->peer_received)
            client->peer_received = message->received.bytes;
        break;
    case BD_MESSAGE_CREDIT:
        client->credit_bytes += message->credit.bytes;
        bd_client_release_credit(client);
        break;
    case BD_MESSAGE_ERROR: {
        bd_error *error =
            bd_client_remote_error(message->error.code, message->error.text,
                                   message->error.op_index);
        if (message->error.request == 0 && client->phase == BD_CLIENT_OPEN)
            return bd_error_note(error, "the daemon ended the connection");
        if (message->error.request == 0)
            return error;
        end_request(client, message->error.request, error);
        break;
    }
    case BD_MESSAGE_DONE:
        end_request(client, message->done.request, NULL);
        break;
    case BD_MESSAGE_DATA:
        if (client->target) {
            client->target->received_bytes += client->parser.frame.payload_bytes;
            if (client->target->received_bytes == client->target->place_bytes)
                bd_client_end_pending(client, client->target, NULL);
            client->target = NULL;
        }
        break;
    case BD_MESSAGE_DATA_REGION:
        return take_slot(client, &message->data_region);
    case BD_MESSAGE_SYNCED:
        end_request(client, message->synced.request,
                    message->synced.code == BD_CODE_OK
                        ? NULL
                        : bd_client_remote_error(message->synced.code, message->synced.text,
                                       message->synced.op_index));
        break;
    case BD_MESSAGE_IMPORTED:
    case BD_MESSAGE_REPORT:
        if (client->target)
            bd_client_end_pending(client, client->target, NULL);
        break;
    case BD_MESSAGE_GOAWAY: /* requests under way still end */
        part(client, &message->goaway);
        break;
    default: /* frames to ignore */
        break;
    }
    return NULL;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

bd_error *bd_client_check_preface(const uint8_t bytes[BURN_PREFACE_BYTES])
{
    bd_preface preface;
    BD_TRY(bd_preface_decode(bytes, &preface));
    if (preface.status != 0 || preface.version_min != BURN_PROTOCOL_VERSION)
        BD_FAIL(UNSUPPORTED, "the daemon speaks protocol versions %u to %u, this client %d",
                preface.version_min, preface.version_max, BURN_PROTOCOL_VERSION);
    return NULL;
}

static bd_error *take(bd_client *client, const uint8_t *bytes, size_t size_bytes)
{
    if (client->phase == BD_CLIENT_PREFACE) {
        size_t wanted = BURN_PREFACE_BYTES - client->preface_bytes;
        size_t step = size_bytes < wanted ? size_bytes : wanted;
        memcpy(client->preface + client->preface_bytes, bytes, step);
        client->preface_bytes += step;
        bytes += step;
        size_bytes -= step;
        if (client->preface[0] == TLS_ALERT)
            BD_FAIL(PROTOCOL, "what listens there speaks TLS: write tls:// in the URL");
        if (!bd_preface_begins(client->preface, client->preface_bytes))
            BD_FAIL(PROTOCOL, "what listens there does not speak the burnd protocol");
        if (client->preface_bytes < BURN_PREFACE_BYTES)
            return NULL;
        BD_TRY(bd_client_check_preface(client->preface));
        client->phase = BD_CLIENT_HELLO;
    }
    for (;;) {
        size_t taken = 0;
        bd_frame_event event = BD_FRAME_MORE;
        bool opened = client->phase == BD_CLIENT_OPEN;
        BD_TRY(bd_frame_parser_feed(&client->parser, bytes, size_bytes, &taken, &event));
        client->received += opened ? taken : 0;
        bytes += taken;
        size_bytes -= taken;
        if (event == BD_FRAME_MORE)
            return NULL;
        if (event == BD_FRAME_MESSAGE) {
            BD_TRY(begin_message(client));
            if (client->parser.frame.payload_bytes == 0)
                BD_TRY(end_message(client));
        } else if (client->parser.frame.payload_bytes > 0) {
            BD_TRY(end_message(client));
        }
    }
}

static void acknowledge(bd_client *client)
{
    if (!client->facts.resume_key[0] ||
        client->received - client->acknowledged < ACKNOWLEDGE_BYTES)
        return;
    client->acknowledged = client->received;
    bd_message message = {.type = BD_MESSAGE_RECEIVED, .received.bytes = client->received};
    bd_client_send_control(client, &message);
}

const char *bd_client_farewell(const bd_client *client)
{
    return client->farewell;
}

uint64_t bd_client_peer_received(const bd_client *client)
{
    return client->peer_received;
}

bd_error *bd_client_feed(bd_client *client, const uint8_t *bytes, size_t size_bytes)
{
    if (client->failure)
        return bd_error_retain(client->failure);
    bd_error *error = take(client, bytes, size_bytes);
    if (error)
        bd_client_fail(client, bd_error_retain(error));
    else
        acknowledge(client);
    return error;
}

size_t bd_client_room(const bd_client *client, uint8_t **out_place)
{
    return client->failure ? 0 : bd_frame_parser_room(&client->parser, out_place);
}

size_t bd_client_incoming(const bd_client *client, bd_pending **out_pending, size_t *out_offset)
{
    const bd_pending *target = client->target;
    if (client->failure || !target || target->place || target->report)
        return 0;
    size_t left_bytes = (size_t)bd_frame_parser_left(&client->parser);
    *out_pending = client->target;
    *out_offset =
        target->received_bytes + (size_t)client->parser.frame.payload_bytes - left_bytes;
    return left_bytes;
}

bd_error *bd_client_filled(bd_client *client, size_t size_bytes)
{
    bd_frame_parser_filled(&client->parser, size_bytes);
    client->received += size_bytes;
    return bd_client_feed(client, NULL, 0);
}
