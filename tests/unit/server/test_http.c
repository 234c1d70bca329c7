/* SPDX-License-Identifier: Apache-2.0
 * Heads of HTTP requests at every split, and the names that web pages may use. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/http.h"
#include "server/web_names.h"

static const char full[] =
    "GET /livez?x=1 HTTP/1.1\r\nHost: localhost:1\r\nConnection: keep-alive, Upgrade\r\n"
    "UPGRADE:  websocket \r\nX-List: a, b ,c\r\nX-List:,d\r\nEmpty:\r\n\r\n";

static bd_code feed(bd_http_head *head, const char *bytes, size_t size, size_t piece)
{
    bd_http_begin(head);
    for (size_t at = 0; at < size && !head->complete;) {
        size_t part = size - at < piece ? size - at : piece, taken;
        uint8_t *copy = malloc(part);
        memcpy(copy, bytes + at, part);
        bd_error *error = bd_http_feed(head, copy, part, &taken);
        free(copy);
        bd_code code = bd_error_code(error);
        bd_error_free(error);
        if (error)
            return code;
        at += taken;
        ck_assert(head->complete || taken == part);
    }
    return BD_CODE_OK;
}

START_TEST(a_head_at_every_split)
{
    static bd_http_head head;
    size_t count, size = sizeof full - 1;
    for (size_t piece = 1; piece <= size; piece++) {
        ck_assert_int_eq(feed(&head, full, size, piece), BD_CODE_OK);
        ck_assert(head.complete && head.upgrade && head.keep_alive && !head.is_head);
        ck_assert_str_eq(head.target, "/livez?x=1");
        ck_assert_str_eq(bd_http_header(&head, "host", &count), "localhost:1");
        ck_assert_str_eq(bd_http_header(&head, "empty", &count), "");
        ck_assert_ptr_null(bd_http_header(&head, "x-list", &count));
        ck_assert_uint_eq(count, 2);
        ck_assert_ptr_null(bd_http_header(&head, "none", &count));
        ck_assert_uint_eq(count, 0);
        ck_assert(bd_http_header_has(&head, "upgrade", "WebSocket"));
        ck_assert(bd_http_header_has(&head, "x-list", "b"));
        ck_assert(bd_http_header_has(&head, "x-list", "d"));
        ck_assert(!bd_http_header_has(&head, "x-list", "e"));
        const char *word;
        bd_http_words words = {0};
        for (char letter = 'a'; letter <= 'd'; letter++) {
            ck_assert_uint_eq(bd_http_header_word(&head, "x-list", &words, &word), 1);
            ck_assert_int_eq(*word, letter);
        }
        ck_assert_uint_eq(bd_http_header_word(&head, "x-list", &words, &word), 0);
        ck_assert_uint_eq(bd_http_header_word(&head, "x-list", &words, &word), 0);
    }
}
END_TEST

START_TEST(what_follows_is_left)
{
    static bd_http_head head;
    size_t taken;
    char bytes[sizeof full + 4];
    memcpy(bytes, full, sizeof full - 1);
    memcpy(bytes + sizeof full - 1, "\x82\x85xx", 5);
    bd_http_begin(&head);
    ck_assert_ptr_null(bd_http_feed(&head, (const uint8_t *)bytes, sizeof bytes, &taken));
    ck_assert(head.complete);
    ck_assert_uint_eq(taken, sizeof full - 1);
}
END_TEST

START_TEST(limits)
{
    static bd_http_head head;
    static char bytes[3 * BD_HTTP_HEAD_BYTES_MAX];
    memset(bytes, 'a', sizeof bytes);
    memcpy(bytes, "GET /", 5);
    ck_assert_int_eq(feed(&head, bytes, sizeof bytes, 1000), BD_CODE_LIMIT);
    ck_assert_int_eq(feed(&head, bytes, sizeof bytes, sizeof bytes), BD_CODE_LIMIT);
    for (int headers = 64; headers <= 65; headers++) {
        size_t used = (size_t)snprintf(bytes, sizeof bytes, "HEAD / HTTP/1.0\r\n");
        for (int i = 0; i < headers; i++)
            used += (size_t)snprintf(bytes + used, sizeof bytes - used, "A:b\r\n");
        used += (size_t)snprintf(bytes + used, sizeof bytes - used, "\r\n");
        ck_assert_int_eq(feed(&head, bytes, used, 7), headers > 64 ? BD_CODE_LIMIT : BD_CODE_OK);
    }
}
END_TEST

START_TEST(names)
{
    char *host_names[] = {"gpu.example", "192.0.2.9", "2001:DB8:0::1"};
    char *origin_names[] = {"https://app.example"};
    const bd_text_list hosts = {host_names, 3, 3}, origins = {origin_names, 1, 1}, none = {0};
    ck_assert(bd_host_allowed("localhost", "", &none));
    ck_assert(bd_host_allowed("LocalHost.:80", "", &none));
    ck_assert(bd_host_allowed("127.1.2.3:9", "", &none));
    ck_assert(bd_host_allowed("[::1]", "", &none));
    ck_assert(bd_host_allowed("10.0.0.7:7867", "10.0.0.7", &none));
    ck_assert(bd_host_allowed("[fe80::1]:7867", "fe80::1", &none));
    ck_assert(bd_host_allowed("GPU.example:1", "", &hosts));
    ck_assert(bd_host_allowed("192.0.2.9", "", &hosts));
    ck_assert(bd_host_allowed("[2001:db8::1]:7867", "", &hosts));
    ck_assert(!bd_host_allowed("[2001:db8::2]:7867", "", &hosts));
    ck_assert(bd_host_allowed("[FE80:0::1]", "fe80::1", &none));
    static const char *const foreign[] = {"",       "gpu.example.evil", "evil.gpu.example", "[::1",
                                          "[::1]x", "10.0.0.8",         "128.0.0.1",        ":80"};
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        ck_assert_msg(!bd_host_allowed(foreign[i], "10.0.0.7", &hosts), "%s", foreign[i]);
    ck_assert(bd_origin_allowed("https://app.example", &origins, NULL));
    ck_assert(!bd_origin_allowed("https://app.example:443", &origins, NULL));
    ck_assert(!bd_origin_allowed("https://app.example.evil", &origins, NULL));
    ck_assert(!bd_origin_allowed("http://localhost:1", &origins, NULL));
    ck_assert(bd_origin_allowed("http://localhost:1", &origins, "localhost:1"));
    ck_assert(bd_origin_allowed("https://localhost:1", &origins, "localhost:1"));
    ck_assert(!bd_origin_allowed("http://localhost:2", &origins, "localhost:1"));
    ck_assert(!bd_origin_allowed("ftp://localhost:1", &origins, "localhost:1"));
    ck_assert(!bd_origin_allowed("null", &origins, "null"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("http");
    TCase *group = tcase_create("heads");
    tcase_add_test(group, a_head_at_every_split);
    tcase_add_test(group, what_follows_is_left);
    tcase_add_test(group, limits);
    tcase_add_test(group, names);
    suite_add_tcase(suite, group);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
