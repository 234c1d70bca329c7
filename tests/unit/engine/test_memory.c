/* SPDX-License-Identifier: Apache-2.0
 * Device memory: limits, accounts, order of reuse, trimming, threads. */
#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "backends/backend.h"
#include "engine/memory.h"
#include "tests/unit/expect.h"

static const bd_driver *driver;
static bd_device *device;

static void setup(void)
{
    driver = bd_driver_find("ref");
    ck_assert_ptr_null(driver->open(&(bd_device_options){0}, &device));
}

static void teardown(void)
{
    driver->ops->close(device);
}

static bd_memory *create(uint64_t bytes_max, uint64_t session_bytes_max)
{
    bd_memory *memory = bd_memory_create(driver->ops, device, bytes_max, session_bytes_max);
    bd_memory_open(memory, 1, "uid:1", NULL);
    return memory;
}

static bd_buffer *alloc(bd_memory *memory, size_t size_bytes, bd_memory_user user)
{
    bd_buffer *buffer = NULL;
    ck_assert_ptr_null(bd_memory_alloc_for(memory, 1, size_bytes, user, &buffer));
    return buffer;
}

START_TEST(buffers_are_aligned_and_apart)
{
    bd_memory *memory = create(0, 0);
    enum { COUNT = 200 };
    bd_buffer *buffers[COUNT];
    for (int i = 0; i < COUNT; i++) {
        buffers[i] = alloc(memory, (size_t)i * 97, BD_MEMORY_HOST);
        ck_assert_uint_eq((uintptr_t)bd_buffer_bytes(buffers[i]) % 64, 0);
        memset(bd_buffer_bytes(buffers[i]), i, (size_t)i * 97);
    }
    uint64_t used, pool, tensors;
    bd_memory_gauges(memory, &used, &pool, &tensors);
    ck_assert_uint_eq(used, 97u * COUNT * (COUNT - 1) / 2);
    ck_assert_uint_ge(pool, used);
    for (int i = 0; i < COUNT; i++) {
        const unsigned char *bytes = bd_buffer_bytes(buffers[i]);
        for (int k = 0; k < i * 97; k++)
            expect(bytes[k] == i, "byte %d of buffer %d: %d", k, i, bytes[k]);
        bd_buffer_release(buffers[i]);
    }
    bd_memory_gauges(memory, &used, &pool, &tensors);
    ck_assert_uint_eq(used, 0);
    ck_assert_uint_gt(pool, 0);
    bd_memory_trim(memory);
    bd_memory_gauges(memory, &used, &pool, &tensors);
    ck_assert_uint_eq(pool, 0);
    ck_assert(bd_memory_destroy(memory));
}
END_TEST

START_TEST(limits_name_both_numbers)
{
    bd_memory *memory = create(10000, 1000);
    bd_buffer *held = alloc(memory, 900, BD_MEMORY_HOST);
    bd_buffer *buffer = NULL;
    bd_error *error = bd_memory_alloc_for(memory, 1, 200, BD_MEMORY_HOST, &buffer);
    ck_assert_int_eq(bd_error_code(error), BD_CODE_LIMIT);
    ck_assert_str_eq(bd_error_text(error),
                     "memory limit of the session: 200 bytes wanted, 900 of 1000 in use");
    bd_error_free(error);
    ck_assert_ptr_null(buffer);
    bd_memory_open(memory, 2, "uid:1", NULL);
    bd_buffer *others[9];
    for (int i = 0; i < 9; i++) {
        bd_memory_open(memory, (uint64_t)i + 3, "uid:1", NULL);
        ck_assert_ptr_null(
            bd_memory_alloc_for(memory, (uint64_t)i + 3, 1000, BD_MEMORY_HOST, &others[i]));
    }
    error = bd_memory_alloc_for(memory, 2, 101, BD_MEMORY_HOST, &buffer);
    ck_assert_int_eq(bd_error_code(error), BD_CODE_NO_MEMORY);
    ck_assert_str_eq(bd_error_text(error),
                     "memory limit of the device: 101 bytes wanted, 9900 of 10000 in use");
    bd_error_free(error);
    error = bd_memory_alloc_for(memory, 99, 1, BD_MEMORY_HOST, &buffer);
    ck_assert_int_eq(bd_error_code(error), BD_CODE_NOT_FOUND);
    bd_error_free(error);
    error = bd_memory_alloc_for(memory, 2, SIZE_MAX - 5, BD_MEMORY_HOST, &buffer);
    ck_assert_int_eq(bd_error_code(error), BD_CODE_LIMIT);
    bd_error_free(error);
    bd_buffer_release(held);
    for (int i = 0; i < 9; i++)
        bd_buffer_release(others[i]);
    ck_assert(bd_memory_destroy(memory));
}
END_TEST

START_TEST(the_host_waits_for_submissions)
{
    bd_memory *memory = create(0, 0);
    bd_buffer *first = alloc(memory, 4 << 20, BD_MEMORY_HOST);
    void *place = bd_buffer_bytes(first);
    bd_memory_set_submitted(memory, 7);
    bd_buffer_release(first);
    bd_buffer *host = alloc(memory, 4 << 20, BD_MEMORY_HOST);
    ck_assert_ptr_ne(bd_buffer_bytes(host), place); /* submission 7 may still use it */
    bd_memory_set_completed(memory, 7);
    bd_buffer *free_now = alloc(memory, 4 << 20, BD_MEMORY_HOST);
    ck_assert_ptr_eq(bd_buffer_bytes(free_now), place);
    bd_buffer_release(free_now);
    bd_buffer_release(host);
    ck_assert(bd_memory_destroy(memory));
}
END_TEST

START_TEST(submissions_do_not_wait)
{
    bd_memory *memory = create(0, 0);
    bd_buffer *first = alloc(memory, 4 << 20, BD_MEMORY_SUBMISSIONS);
    void *place = bd_buffer_bytes(first);
    bd_memory_set_submitted(memory, 7);
    bd_buffer_release(first);
    bd_buffer *later = alloc(memory, 4 << 20, BD_MEMORY_SUBMISSIONS);
    ck_assert_ptr_eq(bd_buffer_bytes(later), place);
    bd_buffer_release(later);
    ck_assert(bd_memory_destroy(memory));
}
END_TEST

START_TEST(equal_sizes_do_not_grow_the_pool)
{
    bd_memory *memory = create(0, 0);
    bd_buffer_release(alloc(memory, 401408, BD_MEMORY_SUBMISSIONS));
    uint64_t used, pool, after, tensors;
    bd_memory_gauges(memory, &used, &pool, &tensors);
    for (int i = 0; i < 10000; i++) {
        bd_buffer *a = alloc(memory, 401408, BD_MEMORY_SUBMISSIONS);
        bd_buffer *b = alloc(memory, (size_t)(i * 7919 % 100000), BD_MEMORY_SUBMISSIONS);
        bd_buffer_release(a);
        bd_buffer_release(b);
    }
    bd_memory_gauges(memory, &used, &after, &tensors);
    ck_assert_uint_eq(after, pool);
    ck_assert(bd_memory_destroy(memory));
}
END_TEST

START_TEST(a_slab_that_is_too_small_goes)
{
    bd_memory *memory = create(0, 0);
    uint64_t used, pool, tensors;
    bd_memory_set_submitted(memory, 3);
    bd_buffer_release(alloc(memory, 16 << 20, BD_MEMORY_ARENA));
    /* Submission 3 may use the other one. */
    bd_buffer *waits = alloc(memory, 20 << 20, BD_MEMORY_ARENA);
    bd_memory_gauges(memory, &used, &pool, &tensors);
    ck_assert_uint_eq(pool, 36u << 20);
    bd_buffer_release(waits);
    bd_memory_set_completed(memory, 3);
    bd_buffer *larger = alloc(memory, 24 << 20, BD_MEMORY_ARENA);
    bd_memory_gauges(memory, &used, &pool, &tensors);
    ck_assert_uint_eq(pool, 24u << 20);
    bd_buffer_release(larger);
    ck_assert(bd_memory_destroy(memory));
}
END_TEST

START_TEST(results_lie_apart_from_arenas)
{
    bd_memory *memory = create(0, 0);
    bd_buffer *arena = alloc(memory, 5 << 20, BD_MEMORY_ARENA);
    void *place = bd_buffer_bytes(arena);
    bd_buffer_release(arena);
    bd_buffer *result = alloc(memory, 1000, BD_MEMORY_SUBMISSIONS);
    arena = alloc(memory, 6 << 20, BD_MEMORY_ARENA); /* all of that slab */
    ck_assert_ptr_eq(bd_buffer_bytes(arena), place);
    bd_buffer_release(arena);
    bd_buffer_release(result);
    ck_assert(bd_memory_destroy(memory));
}
END_TEST

START_TEST(closed_sessions_keep_what_is_held)
{
    bd_memory *memory = create(0, 0);
    bd_buffer *buffer = alloc(memory, 100, BD_MEMORY_HOST);
    bd_memory_close(memory, 1);
    ck_assert_ptr_null(bd_memory_account(memory, 1));
    memset(bd_buffer_bytes(buffer), 1, 100);
    ck_assert(!bd_memory_destroy(memory));
    bd_buffer_release(buffer);
    ck_assert(bd_memory_destroy(memory));
}
END_TEST

static bool holds(const bd_buffer *buffer, int value)
{
    const unsigned char *bytes = buffer->bytes;
    for (size_t i = 0; i < buffer->size_bytes; i++)
        if (bytes[i] != value)
            return false;
    return true;
}

START_TEST(memory_is_cleared_between_principals)
{
    bd_memory *memory = create(0, 0);
    bd_memory_open(memory, 2, "token:other", NULL);
    bd_memory_open(memory, 3, "uid:1", NULL);
    bd_memory_user user = _i ? BD_MEMORY_SUBMISSIONS : BD_MEMORY_HOST;
    for (size_t size = 64; size < 20 << 20; size *= 5) {
        uint64_t before = bd_memory_cleared_bytes(memory);
        bd_buffer *mine = alloc(memory, size, user), *theirs = NULL, *again = NULL;
        memset(mine->bytes, 7, size);
        void *place = mine->bytes;
        bd_buffer_release(mine);
        ck_assert_ptr_null(bd_memory_alloc_for(memory, 3, size, user, &again));
        ck_assert_ptr_eq(again->bytes, place); /* of the same principal: as it was */
        ck_assert(holds(again, 7));
        ck_assert_uint_eq(bd_memory_cleared_bytes(memory), before);
        bd_buffer_release(again);
        ck_assert_ptr_null(bd_memory_alloc_for(memory, 2, size, user, &theirs));
        ck_assert_ptr_eq(theirs->bytes, place);
        ck_assert(holds(theirs, 0));
        ck_assert_uint_ge(bd_memory_cleared_bytes(memory), before + size);
        bd_buffer_release(theirs);
        bd_memory_trim(memory);
    }
    ck_assert(bd_memory_destroy(memory));
}
END_TEST

static size_t cleared_by_device;

static bd_error *clear_and_count(bd_device *of, void *memory, size_t size_bytes)
{
    (void)of;
    memset(memory, 0, size_bytes);
    cleared_by_device += size_bytes;
    return NULL;
}

/* Memory that a device gives as it was is cleared once, to the last byte of what the device gave:
 * who takes and gives it back time and again waits for no more. */
START_TEST(memory_of_a_device_is_cleared_once)
{
    bd_device_ops ops = *driver->ops;
    ops.clear = clear_and_count;
    bd_memory *memory = bd_memory_create(&ops, device, 0, 0);
    bd_memory_open(memory, 1, "uid:1", NULL);
    cleared_by_device = 0;
    for (int turn = 0; turn < 3; turn++) {
        bd_buffer *large = alloc(memory, (40 << 20) + 100, BD_MEMORY_SUBMISSIONS);
        ck_assert(holds(large, turn ? 7 : 0));
        memset(large->bytes, 7, large->size_bytes);
        bd_buffer_release(large);
        ck_assert_uint_eq(cleared_by_device, 42 << 20); /* a slab of whole 2 MiB */
    }
    ck_assert_uint_eq(bd_memory_cleared_bytes(memory), 0); /* none was another's */
    ck_assert(bd_memory_destroy(memory));
}
END_TEST

START_TEST(pieces_of_several_principals_are_cleared)
{
    bd_memory *memory = create(0, 0);
    bd_memory_open(memory, 2, "token:other", NULL);
    bd_memory_open(memory, 3, "cert:third", NULL);
    enum { PIECE = 1 << 20 };
    bd_buffer *pieces[3], *whole = NULL;
    for (uint64_t i = 0; i < 3; i++) {
        uint64_t session = 1 + i % 2;
        ck_assert_ptr_null(
            bd_memory_alloc_for(memory, session, PIECE, BD_MEMORY_HOST, &pieces[i]));
        memset(pieces[i]->bytes, 9, PIECE);
    }
    void *first = pieces[0]->bytes;
    for (int i = 0; i < 3; i++)
        bd_buffer_release(pieces[i]);
    uint64_t taker = 1 + (uint64_t)_i;
    ck_assert_ptr_null(bd_memory_alloc_for(memory, taker, 3 * PIECE, BD_MEMORY_HOST, &whole));
    ck_assert_ptr_eq(whole->bytes, first);
    ck_assert(holds(whole, 0));
    bd_buffer_release(whole);
    ck_assert(bd_memory_destroy(memory));
}
END_TEST

START_TEST(another_principal_waits_for_submissions)
{
    bd_memory *memory = create(0, 0);
    bd_memory_open(memory, 2, "token:other", NULL);
    bd_memory_set_submitted(memory, 5);
    bd_buffer *mine = alloc(memory, 4096, BD_MEMORY_SUBMISSIONS), *theirs = NULL;
    void *place = mine->bytes;
    bd_buffer_release(mine);
    ck_assert_ptr_null(bd_memory_alloc_for(memory, 2, 4096, BD_MEMORY_SUBMISSIONS, &theirs));
    ck_assert_ptr_ne(theirs->bytes, place); /* submission 5 may still write there */
    bd_buffer_release(theirs);
    bd_memory_set_completed(memory, 5);
    ck_assert_ptr_null(bd_memory_alloc_for(memory, 2, 4096, BD_MEMORY_SUBMISSIONS, &theirs));
    bd_buffer_release(theirs);
    ck_assert(bd_memory_destroy(memory));
}
END_TEST

static uint64_t used_by(bd_memory *memory, uint64_t session)
{
    return bd_memory_account(memory, session)->used_bytes;
}

START_TEST(who_still_holds_it_pays)
{
    bd_memory *memory = create(0, 1000);
    for (uint64_t i = 2; i <= 4; i++)
        bd_memory_open(memory, i, "uid:2", NULL);
    bd_buffer *buffer = alloc(memory, 600, BD_MEMORY_HOST), *loans[3], *more = NULL;
    memset(bd_buffer_bytes(buffer), 7, 600);
    ck_assert(!bd_buffer_is_shared(buffer));
    for (uint64_t i = 0; i < 3; i++) {
        loans[i] = bd_buffer_lend(i ? loans[i - 1] : buffer, bd_memory_account(memory, i + 2));
        ck_assert(bd_buffer_is_shared(loans[i]));
        ck_assert_ptr_eq(bd_buffer_bytes(loans[i]), bd_buffer_bytes(buffer));
        ck_assert_uint_eq(used_by(memory, i + 2), 0);
    }
    ck_assert_uint_eq(used_by(memory, 1), 600);
    /* Its owner has it twice, then once, then no more: the oldest loan pays, whatever it has. */
    ck_assert_ptr_null(bd_memory_alloc_for(memory, 2, 900, BD_MEMORY_HOST, &more));
    bd_buffer_release(bd_buffer_retain(buffer));
    ck_assert_uint_eq(used_by(memory, 1), 600);
    bd_buffer_release(buffer);
    ck_assert_uint_eq(used_by(memory, 1), 0);
    ck_assert_uint_eq(used_by(memory, 2), 1500);
    bd_buffer *none = NULL;
    bd_error *error = bd_memory_alloc_for(memory, 2, 1, BD_MEMORY_HOST, &none);
    ck_assert_str_eq(bd_error_text(error),
                     "memory limit of the session: 1 bytes wanted, 1500 of 1000 in use");
    bd_error_free(error);
    /* One that does not pay goes, then the one that does. */
    bd_buffer_release(loans[1]);
    ck_assert_uint_eq(used_by(memory, 2), 1500);
    bd_buffer_release(bd_buffer_retain(loans[0]));
    bd_buffer_release(loans[0]);
    ck_assert_uint_eq(used_by(memory, 2), 900);
    ck_assert_uint_eq(used_by(memory, 4), 600);
    /* An account that is closed pays on for what it holds. */
    bd_memory_close(memory, 4);
    const unsigned char *bytes = bd_buffer_bytes(loans[2]);
    ck_assert(bytes[0] == 7 && bytes[599] == 7);
    uint64_t used, pool, tensors;
    bd_memory_gauges(memory, &used, &pool, &tensors);
    ck_assert_uint_eq(used, 1500);
    bd_buffer_release(loans[2]);
    bd_buffer_release(more);
    bd_memory_gauges(memory, &used, &pool, &tensors);
    ck_assert_uint_eq(used, 0);
    ck_assert(bd_memory_destroy(memory));
}
END_TEST

START_TEST(its_owner_pays_while_it_has_it)
{
    bd_memory *memory = create(0, 0);
    bd_memory_open(memory, 2, "uid:2", NULL);
    bd_buffer *buffer = alloc(memory, 600, BD_MEMORY_HOST);
    bd_buffer *loan = bd_buffer_lend(buffer, bd_memory_account(memory, 2));
    bd_buffer_release(loan);
    ck_assert_uint_eq(used_by(memory, 1), 600);
    ck_assert(!bd_buffer_is_shared(buffer));
    loan = bd_buffer_lend(buffer, bd_memory_account(memory, 2));
    /* It counts elsewhere: what a loan does not pay for is moved for nothing. */
    bd_account *before = NULL;
    bd_memory_open(memory, 3, "uid:3", NULL);
    ck_assert_ptr_null(bd_buffer_charge(loan, bd_memory_account(memory, 3), 0, &before));
    ck_assert_uint_eq(used_by(memory, 3), 0);
    ck_assert_ptr_null(bd_buffer_charge(buffer, bd_memory_account(memory, 2), 0, &before));
    ck_assert_uint_eq(used_by(memory, 2), 600);
    bd_memory_close(memory, 1);
    bd_buffer_release(buffer);
    ck_assert_uint_eq(used_by(memory, 2), 0);
    ck_assert_uint_eq(used_by(memory, 3), 600);
    ck_assert_uint_eq(bd_buffer_charged_bytes(loan), 600);
    bd_buffer_return(loan, bd_memory_account(memory, 2));
    ck_assert_uint_eq(used_by(memory, 2), 600);
    bd_buffer_release(loan);
    ck_assert_uint_eq(used_by(memory, 2), 0);
    ck_assert(bd_memory_destroy(memory));
}
END_TEST

static void *hold_and_drop(void *buffer)
{
    for (int i = 0; i < 2000; i++)
        bd_buffer_release(bd_buffer_retain(buffer));
    bd_buffer_release(buffer);
    return NULL;
}

START_TEST(threads_drop_what_is_lent)
{
    bd_memory *memory = create(0, 0);
    bd_memory_open(memory, 2, "uid:2", NULL);
    for (int round = 0; round < 20; round++) {
        bd_buffer *buffer = alloc(memory, 600, BD_MEMORY_HOST), *loans[50];
        pthread_t thread;
        pthread_create(&thread, NULL, hold_and_drop, bd_buffer_retain(buffer));
        for (int i = 0; i < 50; i++)
            loans[i] = bd_buffer_lend(buffer, bd_memory_account(memory, 2));
        bd_buffer_release(buffer);
        pthread_join(thread, NULL);
        ck_assert_uint_eq(used_by(memory, 1), 0);
        ck_assert_uint_eq(used_by(memory, 2), 600);
        for (int i = 0; i < 50; i++)
            bd_buffer_release(loans[i]);
        ck_assert_uint_eq(used_by(memory, 2), 0);
    }
    ck_assert(bd_memory_destroy(memory));
}
END_TEST

static void *churn(void *user)
{
    bd_memory *memory = user;
    unsigned seed = 7;
    bd_buffer *held[16] = {0};
    for (int i = 0; i < 2000; i++) {
        int k = rand_r(&seed) % 16;
        bd_buffer_release(held[k]);
        held[k] = NULL;
        size_t size = (size_t)(rand_r(&seed) % 300000);
        bd_error *error = bd_memory_alloc_for(
            memory, 1 + (uint64_t)(i % 2), size,
            k % 2 ? BD_MEMORY_HOST : BD_MEMORY_SUBMISSIONS, &held[k]);
        if (error)
            bd_error_free(error);
        else if (size)
            *(char *)bd_buffer_bytes(held[k]) = (char)k;
    }
    for (int k = 0; k < 16; k++)
        bd_buffer_release(held[k]);
    return NULL;
}

START_TEST(threads_share_the_pool)
{
    bd_memory *memory = create(0, 3 << 20);
    bd_memory_open(memory, 2, "token:other", NULL);
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, churn, memory);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    ck_assert(bd_memory_destroy(memory));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("memory");
    TCase *tests = tcase_create("memory");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, buffers_are_aligned_and_apart);
    tcase_add_test(tests, limits_name_both_numbers);
    tcase_add_test(tests, the_host_waits_for_submissions);
    tcase_add_test(tests, submissions_do_not_wait);
    tcase_add_test(tests, equal_sizes_do_not_grow_the_pool);
    tcase_add_test(tests, a_slab_that_is_too_small_goes);
    tcase_add_test(tests, results_lie_apart_from_arenas);
    tcase_add_test(tests, closed_sessions_keep_what_is_held);
    tcase_add_loop_test(tests, memory_is_cleared_between_principals, 0, 2);
    tcase_add_test(tests, memory_of_a_device_is_cleared_once);
    tcase_add_loop_test(tests, pieces_of_several_principals_are_cleared, 0, 3);
    tcase_add_test(tests, another_principal_waits_for_submissions);
    tcase_add_test(tests, who_still_holds_it_pays);
    tcase_add_test(tests, its_owner_pays_while_it_has_it);
    tcase_add_test(tests, threads_drop_what_is_lent);
    tcase_add_test(tests, threads_share_the_pool);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
