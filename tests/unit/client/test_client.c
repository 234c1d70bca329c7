/* SPDX-License-Identifier: Apache-2.0
 * client/core without tensors: handshake, credit, requests, uploads, failure. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "loopback.h"
#include "proto/base/alloc.h"
#include "proto/name.h"

static bd_client *client;
static loopback loop;

static void begin(void)
{
    client = bd_client_create("test 1", NULL, "burn_secret", 0);
    loopback_init(&loop, client);
}

static void end(void)
{
    loopback_deinit(&loop);
    bd_client_destroy(client);
}

START_TEST(hello_and_welcome)
{
    ck_assert_int_eq(bd_client_get_phase(client), BD_CLIENT_PREFACE);
    loopback_open(&loop, 1 << 20);
    const bd_message *hello = loopback_message(&loop, BD_MESSAGE_HELLO);
    ck_assert_ptr_nonnull(hello);
    ck_assert_uint_eq(hello->hello.op_revision, burn_op_table_revision);
    ck_assert(bd_text_equal(hello->hello.token, "burn_secret"));
    ck_assert_str_eq(bd_client_get_facts(client)->server, "loopback");
    ck_assert_uint_eq(bd_client_get_facts(client)->session, 7);
}
END_TEST

START_TEST(refused_version)
{
    uint8_t preface[BURN_PREFACE_BYTES];
    bd_preface_encode(
        &(bd_preface){.version_min = 3, .version_max = 4, .status = BD_CODE_UNSUPPORTED}, preface);
    bd_error *error = bd_client_feed(client, preface, sizeof preface);
    ck_assert_int_eq(bd_error_code(error), BD_CODE_UNSUPPORTED);
    ck_assert_int_eq(bd_client_get_phase(client), BD_CLIENT_FAILED);
    bd_error_free(error);
}
END_TEST

START_TEST(garbage_fails_the_connection)
{
    static const char page[] = "HTTP/1.1 400 Bad Request\r\n\r\n";
    bd_error *error = bd_client_feed(client, (const uint8_t *)page, sizeof page);
    ck_assert_int_eq(bd_error_code(error), BD_CODE_PROTOCOL);
    bd_error_free(error);
    bd_pending pending = {0};
    bd_client_sync(client, &pending); /* ends at once with the same error */
    ck_assert(pending.done);
    ck_assert_int_eq(bd_error_code(pending.error), BD_CODE_PROTOCOL);
    bd_error_free(pending.error);
}
END_TEST

START_TEST(nothing_is_sent_without_credit)
{
    loopback_open(&loop, 1100);
    bd_pending first = {0}, second = {0};
    bd_client_sync(client, &first);
    bd_client_sync(client, &second); /* a SYNC costs 512: the credit is for two */
    bd_pending third = {0};
    bd_client_sync(client, &third);
    loopback_drain(&loop);
    ck_assert_uint_gt(bd_client_backlog(client), 0);
    size_t before = loop.messages.count;
    bd_pending ping = {0};
    bd_client_ping(client, &ping); /* control frames need none */
    loopback_drain(&loop);
    ck_assert_uint_eq(loop.messages.count, before + 1);
    loopback_send(&loop, &(bd_message){.type = BD_MESSAGE_CREDIT, .credit = {.bytes = 1000}}, NULL,
                  0);
    loopback_drain(&loop);
    ck_assert_uint_eq(bd_client_backlog(client), 0);
    bd_client_fail(client, BD_ERROR(UNAVAILABLE, "over"));
    bd_error_free(first.error), bd_error_free(second.error), bd_error_free(third.error),
        bd_error_free(ping.error);
}
END_TEST

START_TEST(get_in_chunks)
{
    loopback_open(&loop, 1 << 20);
    uint8_t place[8] = {0};
    bd_pending pending = {0};
    bd_client_get(client, 5, place, sizeof place, &pending);
    const bd_message *get = loopback_message(&loop, BD_MESSAGE_GET);
    ck_assert_uint_eq(get->get.id, 5);
    bd_message data = {.type = BD_MESSAGE_DATA,
                       .data = {.request = pending.request,
                                .dtype = BURN_F32,
                                .shape = {.rank = 1, .dims = {2}},
                                .total = 8}};
    loopback_send(&loop, &data, "abcd", 4);
    ck_assert(!pending.done);
    data.data.offset = 4;
    loopback_send(&loop, &data, "efgh", 4);
    ck_assert(pending.done);
    ck_assert_ptr_null(pending.error);
    ck_assert_mem_eq(place, "abcdefgh", 8);
}
END_TEST

START_TEST(answer_of_another_size_is_refused)
{
    loopback_open(&loop, 1 << 20);
    uint8_t place[8] = {0};
    bd_pending pending = {0};
    bd_client_get(client, 5, place, sizeof place, &pending);
    bd_message data = {.type = BD_MESSAGE_DATA,
                       .data = {.request = pending.request, .dtype = BURN_F32, .total = 800}};
    uint8_t frame[1024];
    size_t head = bd_message_encode(&data, 400, frame, sizeof frame);
    bd_error *error = bd_client_feed(client, frame, head + 400);
    ck_assert_int_eq(bd_error_code(error), BD_CODE_PROTOCOL);
    ck_assert(pending.done);
    bd_error_free(pending.error);
    bd_error_free(error);
}
END_TEST

START_TEST(errors_reach_their_request)
{
    loopback_open(&loop, 1 << 20);
    bd_pending get = {0}, sync = {0};
    uint8_t place[4];
    bd_client_get(client, 5, place, sizeof place, &get);
    bd_client_sync(client, &sync);
    loopback_send(&loop,
                  &(bd_message){.type = BD_MESSAGE_ERROR,
                                .error = {.request = get.request,
                                          .code = BD_CODE_NOT_FOUND,
                                          .text = bd_text_of("no tensor 5"),
                                          .op_index = 0}},
                  NULL, 0);
    loopback_send(&loop,
                  &(bd_message){.type = BD_MESSAGE_SYNCED,
                                .synced = {.request = sync.request,
                                           .code = BD_CODE_NO_MEMORY,
                                           .text = bd_text_of("full"),
                                           .op_index = 9}},
                  NULL, 0);
    ck_assert_int_eq(bd_error_code(get.error), BD_CODE_NOT_FOUND);
    ck_assert_str_eq(bd_error_text(get.error), "no tensor 5");
    ck_assert_int_eq(bd_error_code(sync.error), BD_CODE_NO_MEMORY);
    ck_assert_uint_eq(bd_error_op_index(sync.error), 9);
    bd_error_free(get.error);
    bd_error_free(sync.error);
}
END_TEST

START_TEST(forgotten_request)
{
    loopback_open(&loop, 1 << 20);
    uint8_t *place = bd_alloc(8);
    bd_pending pending = {0};
    bd_client_get(client, 5, place, 8, &pending);
    bd_message data = {.type = BD_MESSAGE_DATA,
                       .data = {.request = pending.request,
                                .dtype = BURN_F32,
                                .shape = {.rank = 1, .dims = {2}},
                                .total = 8}};
    uint8_t frame[1024];
    size_t head = bd_message_encode(&data, 8, frame, sizeof frame);
    memset(frame + head, 'x', 8);
    ck_assert_ptr_null(bd_client_feed(client, frame, head + 3)); /* in the middle of its bytes */
    bd_client_forget(client, &pending);
    bd_free(place);
    ck_assert_ptr_null(bd_client_feed(client, frame + head + 3, 5));
    const bd_message *cancel = loopback_message(&loop, BD_MESSAGE_CANCEL);
    ck_assert_uint_eq(cancel->cancel.request, pending.request);
}
END_TEST

/* The answer to an import of two tensors; its size. */
static size_t imported(const bd_pending *pending, uint8_t *frame, size_t room, size_t *out_head)
{
    uint8_t payload[256];
    bd_pack pack = {.bytes = payload, .capacity = sizeof payload};
    burn_tensor_type type = {.dtype = BURN_F32, .shape = {.rank = 1, .dims = {2}}};
    bd_name_pack_import(&pack, "a", &type);
    bd_name_pack_import(&pack, "b", &type);
    bd_message answer = {.type = BD_MESSAGE_IMPORTED, .imported.request = pending->request};
    *out_head = bd_message_encode(&answer, pack.used, frame, room);
    memcpy(frame + *out_head, payload, pack.used);
    return *out_head + pack.used;
}

static void expect_freed(uint64_t first)
{
    loopback_drain_all(&loop);
    ck_assert_uint_gt(loop.records.count, 0);
    const burn_op_record *record = &loop.records.items[loop.records.count - 1];
    ck_assert_uint_eq(record->info->number, BURN_OP_FREE);
    ck_assert_uint_eq(record->input_count, 2);
    ck_assert_uint_eq(record->inputs[0].id, first);
    ck_assert_uint_eq(record->inputs[1].id, first + 1);
}

START_TEST(what_a_forgotten_import_made_is_freed)
{
    loopback_open(&loop, 1 << 20);
    uint8_t frame[1024];
    uint64_t first = 0;
    size_t head, parts[] = {0, 3}; /* how much of the payload comes before */
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        bd_pending *pending = bd_alloc_zeroed(sizeof *pending);
        bd_client_import(client, "model", 100, &first, pending);
        size_t size = imported(pending, frame, sizeof frame, &head);
        size_t before = parts[i] ? head + parts[i] : 0;
        ck_assert_ptr_null(bd_client_feed(client, frame, before));
        bd_client_forget(client, pending);
        bd_free(pending->report);
        bd_free(pending);
        ck_assert_uint_eq(loopback_count(&loop, "free"), i);
        ck_assert_ptr_null(bd_client_feed(client, frame + before, size - before));
        expect_freed(first);
    }
    bd_pending done = {0}; /* an interrupt came after the answer */
    bd_client_import(client, "model", 100, &first, &done);
    ck_assert_ptr_null(bd_client_feed(client, frame, imported(&done, frame, sizeof frame, &head)));
    ck_assert(done.done);
    bd_client_free_imported(client, &done);
    bd_free(done.report);
    expect_freed(first);
    ck_assert_ptr_null(loopback_message(&loop, BD_MESSAGE_CANCEL)); /* the answer is needed */
}
END_TEST

START_TEST(a_forgotten_import_that_made_nothing)
{
    loopback_open(&loop, 1 << 20);
    uint64_t first = 0;
    bd_pending refused = {0}, program = {0}, never = {0};
    bd_client_import(client, "model", 100, &first, &refused);
    bd_client_import_program(client, "next", 5, &program);
    bd_client_import(client, "model", 100, &first, &never);
    uint64_t number = program.request;
    bd_client_forget(client, &refused);
    bd_client_forget(client, &program);
    bd_client_forget(client, &never);
    loopback_send(&loop, &(bd_message){.type = BD_MESSAGE_ERROR,
                                       .error = {.request = refused.request,
                                                 .code = BD_CODE_NOT_FOUND,
                                                 .text = bd_text_of("no such name")}}, NULL, 0);
    loopback_drain_all(&loop);
    ck_assert_uint_eq(loopback_count(&loop, "free"), 0);
    loopback_send(&loop, &(bd_message){.type = BD_MESSAGE_IMPORTED, .imported.request = number},
                  "\x93\0\0\0", 4);
    loopback_drain_all(&loop);
    ck_assert_uint_eq(loopback_message(&loop, BD_MESSAGE_PROGRAM_DROP)->program_drop.program, 5);
    ck_assert_int_eq(bd_client_get_phase(client), BD_CLIENT_OPEN);
}
END_TEST

START_TEST(pings_are_answered)
{
    loopback_open(&loop, 1 << 20);
    loopback_send(&loop, &(bd_message){.type = BD_MESSAGE_PING, .ping = {.token = -12}}, NULL, 0);
    ck_assert_int_eq(loopback_message(&loop, BD_MESSAGE_PONG)->pong.token, -12);
}
END_TEST

/* Sends what the transport keeps itself, at the place where it belongs. */
static size_t send_outside(uint64_t want_token, const uint8_t *bytes)
{
    uint64_t token = 0;
    size_t size = bd_client_outside(client, &token);
    if (size > 0) {
        ck_assert_uint_eq(token, want_token);
        loopback_take(&loop, bytes, size);
        bd_client_outside_sent(client, size);
    }
    return size;
}

START_TEST(uploads_from_outside_keep_their_place)
{
    static const uint8_t bytes[1000] = {[0] = 7, [999] = 9};
    burn_tensor_type type = {.dtype = BURN_U8, .shape = {.rank = 1, .dims = {1000}}};
    loopback_open(&loop, 3300);
    uint64_t id = bd_client_mint(client);
    bd_client_put_outside(client, id, &type, 0, 600, 5);
    bd_client_put_outside(client, id, &type, 600, 400, 5);
    bd_client_put_outside(client, bd_client_mint(client), &type, 0, 1000, 6);
    bd_client_put_outside(client, bd_client_mint(client), &type, 0, 1000, 7);
    bd_pending sync = {0};
    bd_client_sync(client, &sync);
    loopback_drain(&loop);
    ck_assert_ptr_null(loopback_message(&loop, BD_MESSAGE_PUT_DATA));
    ck_assert_uint_eq(send_outside(5, bytes), 600);
    ck_assert_uint_eq(send_outside(5, bytes), 0); /* the next head comes first */
    loopback_drain(&loop);
    ck_assert_int_eq(loop.payload[0], 7);
    ck_assert_uint_eq(loopback_message(&loop, BD_MESSAGE_PUT_DATA)->put_data.offset, 600);
    bd_pending ping = {0};
    bd_client_ping(client, &ping); /* not within a frame */
    loopback_drain(&loop);
    ck_assert_ptr_null(loopback_message(&loop, BD_MESSAGE_PING));
    ck_assert_uint_eq(send_outside(5, bytes + 600), 400);
    ck_assert_ptr_nonnull(loopback_message(&loop, BD_MESSAGE_PING));
    ck_assert_int_eq(loop.payload[399], 9);
    ck_assert_uint_eq(send_outside(6, bytes), 1000);
    loopback_drain(&loop);
    ck_assert_uint_eq(send_outside(7, bytes), 0); /* 664 + 512 + 1064 of 3300 are spent */
    bd_message credit = {.type = BD_MESSAGE_CREDIT, .credit = {.bytes = 4096}};
    ck_assert_ptr_null(loopback_message(&loop, BD_MESSAGE_SYNC));
    loopback_send(&loop, &credit, NULL, 0);
    loopback_drain(&loop);
    ck_assert_uint_eq(send_outside(7, bytes), 1000);
    ck_assert_ptr_nonnull(loopback_message(&loop, BD_MESSAGE_SYNC));
    ck_assert_uint_eq(bd_client_backlog(client), 0);
    bd_client_forget(client, &sync);
    bd_client_forget(client, &ping);
}
END_TEST

START_TEST(small_frames_cost_as_much_as_the_daemon_says)
{
    bd_pending syncs[5] = {0};
    loopback_open(&loop, 4 * BURN_FRAME_COST_MIN);
    for (int i = 0; i < 5; i++)
        bd_client_sync(client, &syncs[i]);
    loopback_drain(&loop);
    size_t sent = 0;
    for (size_t i = 0; i < loop.messages.count; i++)
        sent += loop.messages.items[i].type == BD_MESSAGE_SYNC;
    ck_assert_uint_eq(sent, 4);
    for (int i = 0; i < 5; i++)
        bd_client_forget(client, &syncs[i]);
}
END_TEST

START_TEST(tensor_bytes_that_the_transport_takes)
{
    uint8_t head[BD_MESSAGE_FRAME_BYTES_MAX];
    loopback_open(&loop, 1 << 20);
    bd_pending get = {0}, *found = NULL;
    size_t offset = 1;
    bd_client_get(client, 1, NULL, 10, &get);
    for (size_t at = 0; at < 10; at += 5) {
        bd_message data = {.type = BD_MESSAGE_DATA,
                           .data = {.request = get.request,
                                    .dtype = BURN_U8,
                                    .shape = {.rank = 1, .dims = {10}},
                                    .offset = at,
                                    .total = 10}};
        size_t size = bd_message_encode(&data, 5, head, sizeof head);
        ck_assert_ptr_null(bd_client_feed(client, head, size));
        ck_assert_uint_eq(bd_client_incoming(client, &found, &offset), 5);
        ck_assert_ptr_eq(found, &get);
        ck_assert_uint_eq(offset, at);
        ck_assert_ptr_null(bd_client_filled(client, 2));
        ck_assert_uint_eq(bd_client_incoming(client, &found, &offset), 3);
        ck_assert_uint_eq(offset, at + 2);
        ck_assert(!get.done);
        ck_assert_ptr_null(bd_client_filled(client, 3));
    }
    ck_assert(get.done);
    ck_assert_ptr_null(get.error);
    ck_assert_uint_eq(bd_client_incoming(client, &found, &offset), 0);
}
END_TEST

START_TEST(upload_small_and_in_chunks)
{
    loopback_open(&loop, 4096);
    burn_tensor_type type = {.dtype = BURN_U8, .shape = {.rank = 1, .dims = {3}}};
    uint64_t id = bd_client_mint(client);
    bd_client_put(client, id, &type, "abc", 3);
    ck_assert_uint_eq(loopback_message(&loop, BD_MESSAGE_PUT_BEGIN)->put_begin.id, id);
    uint8_t head[BD_MESSAGE_FRAME_BYTES_MAX];
    type.shape.dims[0] = 1 << 20;
    uint64_t large = bd_client_mint(client);
    ck_assert_uint_eq(bd_client_put_head(client, large, &type, 0, 1 << 20, head),
                      0); /* no credit for it */
    ck_assert_uint_gt(bd_client_put_head(client, large, &type, 0, 1024, head), 0);
    ck_assert_uint_eq(large, id + 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("client");
    TCase *cases = tcase_create("core");
    tcase_add_checked_fixture(cases, begin, end);
    tcase_add_test(cases, hello_and_welcome);
    tcase_add_test(cases, refused_version);
    tcase_add_test(cases, garbage_fails_the_connection);
    tcase_add_test(cases, nothing_is_sent_without_credit);
    tcase_add_test(cases, get_in_chunks);
    tcase_add_test(cases, answer_of_another_size_is_refused);
    tcase_add_test(cases, errors_reach_their_request);
    tcase_add_test(cases, forgotten_request);
    tcase_add_test(cases, what_a_forgotten_import_made_is_freed);
    tcase_add_test(cases, a_forgotten_import_that_made_nothing);
    tcase_add_test(cases, pings_are_answered);
    tcase_add_test(cases, upload_small_and_in_chunks);
    tcase_add_test(cases, uploads_from_outside_keep_their_place);
    tcase_add_test(cases, small_frames_cost_as_much_as_the_daemon_says);
    tcase_add_test(cases, tensor_bytes_that_the_transport_takes);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
