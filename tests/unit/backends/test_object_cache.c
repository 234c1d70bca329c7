/* SPDX-License-Identifier: Apache-2.0
 * The object cache alone: what it keeps, what it gives up, several writers at one folder. */
#include <check.h>
#include <ftw.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "backends/shared/object_cache.h"
#include "proto/base/alloc.h"
#include "tests/unit/backends/scratch_folder.h"
#include "tests/unit/expect.h"

enum { OBJECT_BYTES = 1000, SHARES = 256 };

static char folder[SCRATCH_FOLDER_BYTES];
static uint64_t bytes_kept, files_kept;

static void setup(void)
{
    scratch_folder_make(folder);
}

static void teardown(void)
{
    scratch_folder_remove(folder);
}

static int add_bytes(const char *path, const struct stat *status, int kind)
{
    (void)path;
    if (kind == FTW_F) {
        bytes_kept += (uint64_t)status->st_size;
        files_kept++;
    }
    return 0;
}

static void count_kept(void)
{
    bytes_kept = 0;
    files_kept = 0;
    ck_assert_int_eq(ftw(folder, add_bytes, 16), 0);
}

static void put(bd_object_cache *cache, uint32_t number)
{
    uint8_t object[OBJECT_BYTES];
    memset(object, (int)(number & 0xff), sizeof object);
    bd_object_cache_put(cache, (const uint8_t *)&number, sizeof number, object, sizeof object);
}

static bool has(bd_object_cache *cache, uint32_t number)
{
    size_t size = 0;
    uint8_t *object = bd_object_cache_get(cache, (const uint8_t *)&number, sizeof number, &size);
    if (!object)
        return false;
    ck_assert_uint_eq(size, OBJECT_BYTES);
    for (size_t i = 0; i < size; i++)
        expect(object[i] == (number & 0xff), "byte %zu of object %u: %u", i, number, object[i]);
    bd_free(object);
    return true;
}

START_TEST(the_oldest_go_first)
{
    const uint64_t most = (uint64_t)SHARES * 8 * 1100; /* eight of each folder */
    bd_object_cache *cache = bd_object_cache_open(folder, most, "one build");
    ck_assert_ptr_nonnull(cache);
    for (uint32_t i = 0; i < 6000; i++)
        put(cache, i);
    count_kept();
    ck_assert_uint_le(bytes_kept, most);
    ck_assert_uint_gt(files_kept, SHARES * 5);
    ck_assert(!has(cache, 0) && !has(cache, 1));
    for (uint32_t i = 5990; i < 6000; i++)
        ck_assert(has(cache, i));
    bd_object_cache_close(cache);
}
END_TEST

START_TEST(what_is_used_stays)
{
    bd_object_cache *cache = bd_object_cache_open(folder, (uint64_t)SHARES * 4400, "one build");
    put(cache, 7);
    for (uint32_t i = 1000; i < 5000; i++) {
        put(cache, i);
        if (i % 50 == 0)
            ck_assert(has(cache, 7));
    }
    bd_object_cache_close(cache);
}
END_TEST

/* An object larger than its folder's share is kept until the next one comes there. */
START_TEST(a_small_room_still_serves)
{
    bd_object_cache *cache = bd_object_cache_open(folder, 4096, "one build");
    put(cache, 1);
    ck_assert(has(cache, 1));
    for (uint32_t i = 2; i < 1500; i++)
        put(cache, i);
    ck_assert(has(cache, 1499));
    count_kept();
    ck_assert_uint_le(files_kept, SHARES);
    bd_object_cache_close(cache);
}
END_TEST

static void *write_many(void *user)
{
    bd_object_cache *cache = bd_object_cache_open(folder, (uint64_t)SHARES * 2200, "one build");
    uint32_t first = *(const uint32_t *)user;
    for (uint32_t i = first; i < first + 2000; i++) {
        put(cache, i);
        has(cache, i - 100); /* there, whole; or gone */
    }
    bd_object_cache_close(cache);
    return NULL;
}

START_TEST(several_writers)
{
    pthread_t threads[3];
    uint32_t firsts[3] = {1000, 1000, 10000};
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, write_many, &firsts[i]), 0);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    count_kept();
    ck_assert_uint_le(bytes_kept, (uint64_t)SHARES * (2200 + 3 * 1100));
    char path[128];
    ck_assert_uint_eq(scratch_folder_count(folder, ".obj", path, sizeof path), files_kept);
}
END_TEST

START_TEST(another_build_sees_nothing)
{
    bd_object_cache *one = bd_object_cache_open(folder, 0, "one build");
    bd_object_cache *other = bd_object_cache_open(folder, 0, "another");
    put(one, 1);
    ck_assert(has(one, 1) && !has(other, 1));
    bd_object_cache_close(one);
    bd_object_cache_close(other);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("object cache");
    TCase *cases = tcase_create("cache");
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_set_timeout(cases, 300);
    tcase_add_test(cases, the_oldest_go_first);
    tcase_add_test(cases, what_is_used_stays);
    tcase_add_test(cases, a_small_room_still_serves);
    tcase_add_test(cases, several_writers);
    tcase_add_test(cases, another_build_sees_nothing);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
