/* SPDX-License-Identifier: Apache-2.0 */
#include "loopback.h"

#include <check.h>
#include <string.h>

#include "proto/base/alloc.h"

void loopback_init(loopback *loop, bd_client *client)
{
    *loop = (loopback){.client = client, .op_revision = burn_op_table_revision};
    loop->payload = bd_alloc(BURN_CHUNK_BYTES_MAX);
    bd_frame_parser_init(&loop->parser, BURN_MESSAGE_BYTES_MAX, BURN_CHUNK_BYTES_MAX);
    bd_arena_init(&loop->arena);
}

void loopback_deinit(loopback *loop)
{
    bd_frame_parser_deinit(&loop->parser);
    bd_arena_deinit(&loop->arena);
    bd_vec_deinit(&loop->records);
    bd_vec_deinit(&loop->messages);
    bd_free(loop->payload);
}

static void take_records(loopback *loop, const bd_message *message, size_t size)
{
    const uint8_t *at = loop->payload, *end = loop->payload + size;
    uint64_t next = message->ops.first_output;
    while (at < end) {
        burn_op_record record;
        ck_assert_ptr_null(burn_record_decode(&at, end, next, &loop->arena, &record));
        record.output_count =
            record.output_count ? record.output_count : burn_op_output_count(&record);
        next += record.output_count;
        *bd_vec_push(&loop->records) = record;
    }
}

void loopback_take(loopback *loop, const uint8_t *bytes, size_t size)
{
    bd_message message;
    for (;;) {
        size_t taken = 0;
        bd_frame_event event;
        ck_assert_ptr_null(bd_frame_parser_feed(&loop->parser, bytes, size, &taken, &event));
        bytes += taken;
        size -= taken;
        if (event == BD_FRAME_MORE)
            return;
        if (event == BD_FRAME_MESSAGE) {
            ck_assert_ptr_null(bd_message_decode(&loop->parser.frame, loop->parser.message,
                                                 BD_MESSAGE_FROM_CLIENT, &message));
            bd_frame_parser_set_payload(&loop->parser, loop->payload);
            if (message.type != BD_MESSAGE_OPS)
                *bd_vec_push(&loop->messages) = message;
        } else if (message.type == BD_MESSAGE_OPS) {
            take_records(loop, &message, (size_t)loop->parser.frame.payload_bytes);
        }
    }
}

void loopback_drain(loopback *loop)
{
    const uint8_t *bytes = NULL;
    size_t size = 0;
    while ((size = bd_client_output(loop->client, &bytes)) > 0) {
        size_t skip = BURN_PREFACE_BYTES - loop->preface_bytes;
        skip = skip < size ? skip : size;
        loop->preface_bytes += skip;
        loopback_take(loop, bytes + skip, size - skip);
        bd_client_sent(loop->client, size);
    }
}

void loopback_drain_all(loopback *loop)
{
    bd_client_flush(loop->client);
    loopback_drain(loop);
}

void loopback_send(loopback *loop, const bd_message *message, const void *payload,
                   size_t payload_bytes)
{
    uint8_t *frame = bd_alloc(4096 + payload_bytes);
    size_t head = bd_message_encode(message, payload_bytes, frame, 4096);
    if (payload_bytes > 0)
        memcpy(frame + head, payload, payload_bytes);
    /* Byte by byte: any split must do. */
    for (size_t i = 0; i < head + payload_bytes; i++)
        ck_assert_ptr_null(bd_client_feed(loop->client, frame + i, 1));
    bd_free(frame);
}

void loopback_open(loopback *loop, uint64_t credit_bytes)
{
    uint8_t preface[BURN_PREFACE_BYTES];
    bd_preface ours = {.version_min = BURN_PROTOCOL_VERSION, .version_max = BURN_PROTOCOL_VERSION};
    bd_preface_encode(&ours, preface);
    loopback_drain(loop);
    ck_assert_ptr_null(bd_client_feed(loop->client, preface, sizeof preface));
    bd_message welcome = {.type = BD_MESSAGE_WELCOME,
                          .welcome = {.session = 7,
                                      .server = bd_text_of("loopback"),
                                      .batch_bytes_max = BURN_BATCH_BYTES_MAX,
                                      .chunk_bytes_max = BURN_CHUNK_BYTES_MAX,
                                      .message_bytes_max = BURN_MESSAGE_BYTES_MAX,
                                      .credit_bytes = credit_bytes,
                                      .rank_max = BURN_RANK_MAX,
                                      .op_revision = loop->op_revision,
                                      .device = bd_text_of("cpu")}};
    loopback_send(loop, &welcome, NULL, 0);
    ck_assert_int_eq(bd_client_get_phase(loop->client), BD_CLIENT_OPEN);
}

const burn_op_record *loopback_last(loopback *loop, const char *op)
{
    loopback_drain_all(loop);
    for (size_t i = loop->records.count; i-- > 0;) {
        const burn_op_record *record = &loop->records.items[i];
        if (record->info->number == BURN_OP_FREE)
            continue;
        ck_assert_str_eq(record->info->name, op);
        return record;
    }
    ck_abort_msg("no record was sent");
    return NULL;
}

size_t loopback_count(loopback *loop, const char *op)
{
    size_t count = 0;
    loopback_drain_all(loop);
    for (size_t i = 0; i < loop->records.count; i++)
        count += strcmp(loop->records.items[i].info->name, op) == 0;
    return count;
}

const bd_message *loopback_message(loopback *loop, bd_message_type type)
{
    loopback_drain(loop);
    for (size_t i = loop->messages.count; i-- > 0;)
        if (loop->messages.items[i].type == type)
            return &loop->messages.items[i];
    return NULL;
}
