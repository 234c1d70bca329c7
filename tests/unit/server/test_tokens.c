/* SPDX-License-Identifier: Apache-2.0
 * Tokens: what a file may hold, hostile files, making and finding; scopes and rights; the delays
 * after failures. Digests and times are those of sha256sum and date. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/alloc.h"
#include "server/failures.h"
#include "server/principal.h"
#include "server/tokens.h"

/* printf %s burn_test | sha256sum */
#define DIGEST "3a3f9d62e21954d45b6e0d4327fe24118a6935f78e0e364a09edf62ec5c99d54"
#define OTHER "00000000000000000000000000000000000000000000000000000000000000ff"
#define GOOD "alice " DIGEST " infer,compute 2027-01-31T12:00:00Z -\n"

START_TEST(a_file)
{
    bd_tokens tokens = {0};
    const char *text = "# comment\n\n" GOOD "  b.o-b_2\t" OTHER
                       "  admin - https://a.org,https://b.org:8443";
    ck_assert_ptr_null(bd_tokens_parse(text, strlen(text), &tokens));
    ck_assert_uint_eq(tokens.list.count, 2);
    const bd_token *alice = bd_tokens_find(&tokens, bd_text_of("burn_test"));
    ck_assert_ptr_nonnull(alice);
    ck_assert_str_eq(alice->name, "alice");
    ck_assert_uint_eq(alice->scopes, BD_SCOPE_INFER | BD_SCOPE_COMPUTE);
    ck_assert_int_eq(alice->expires_s, 1801396800);
    ck_assert_ptr_null(bd_tokens_find(&tokens, bd_text_of("burn_tesT")));
    ck_assert_ptr_null(bd_tokens_find(&tokens, bd_text_of("")));
    ck_assert(bd_token_allows_origin(alice, ""));
    ck_assert(bd_token_allows_origin(alice, "https://anywhere.org"));
    const bd_token *bob = &tokens.list.items[1];
    ck_assert_str_eq(bob->name, "b.o-b_2");
    ck_assert(bd_token_allows_origin(bob, "https://a.org"));
    ck_assert(bd_token_allows_origin(bob, "https://b.org:8443"));
    ck_assert(!bd_token_allows_origin(bob, "https://b.org"));
    ck_assert(!bd_token_allows_origin(bob, "https://a.org,https://b.org:8443"));
    ck_assert(!bd_token_allows_origin(bob, ""));
    bd_tokens_deinit(&tokens);
}
END_TEST

START_TEST(hostile_files)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"alice\n", "line 1: the line lacks"},
        {GOOD "bob " OTHER " infer -\n", "line 2: the line lacks"},
        {"alice " OTHER " infer - - more\n", "more than name"},
        {"al/ice " OTHER " infer - -\n", "a name is"},
        {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa " OTHER " infer - -",
         "a name is"},
        {"alice 0ff infer - -\n", "the digest"},
        {"alice " OTHER "0 infer - -\n", "the digest"},
        {"alice 3A3f9d62e21954d45b6e0d4327fe24118a6935f78e0e364a09edf62ec5c99d54 infer - -",
         "the digest"},
        {"alice " OTHER " root - -\n", "no scope \"root\"; there are infer,compute,kernel,admin"},
        {"alice " OTHER " , - -\n", "needs a scope"},
        {"alice " OTHER " infer soon -\n", "the expiry"},
        {"alice " OTHER " infer 2027-02-29T00:00:00Z -\n", "the expiry"},
        {"alice " OTHER " infer 2027-01-31T24:00:00Z -\n", "the expiry"},
        {"alice " OTHER " infer 2027-01-31T12:00:00+00:00 -\n", "the expiry"},
        {"alice " OTHER " infer - a.org\n", "the origins"},
        {"alice " OTHER " infer - https://a.org/page\n", "the origins"},
        {"alice " OTHER " infer - https://a.org,\n", "the origins"},
        {GOOD GOOD, "line 2: there is a token \"alice\" already"},
        {"\xFF\xFE", "line 1:"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bd_tokens tokens = {0};
        bd_error *error = bd_tokens_parse(cases[i].text, strlen(cases[i].text), &tokens);
        ck_assert_msg(strstr(bd_error_text(error), cases[i].says), "%s: %s", cases[i].text,
                      bd_error_text(error));
        ck_assert_uint_eq(tokens.list.count, 0);
        bd_error_free(error);
    }
    bd_tokens tokens = {0};
    bd_error *error = bd_tokens_parse("a\0b", 3, &tokens);
    ck_assert_ptr_nonnull(error);
    bd_error_free(error);
    char *long_line = bd_alloc(4000);
    memset(long_line, 'a', 4000);
    error = bd_tokens_parse(long_line, 4000, &tokens);
    ck_assert_int_eq(bd_error_code(error), BD_CODE_LIMIT);
    bd_error_free(error);
    bd_free(long_line);
}
END_TEST

static bd_code refusal(bd_tokens *tokens, const bd_token *wanted)
{
    char secret[BD_TOKEN_SECRET_BYTES];
    bd_error *error = bd_tokens_add(tokens, wanted, secret);
    bd_code code = bd_error_code(error);
    bd_error_free(error);
    return code;
}

START_TEST(made_tokens_are_found_and_print_back)
{
    bd_tokens tokens = {0}, back = {0};
    char first[BD_TOKEN_SECRET_BYTES], second[BD_TOKEN_SECRET_BYTES];
    bd_token wanted = {.name = "one", .scopes = BD_SCOPE_METRICS, .expires_s = 1835481599};
    ck_assert_ptr_null(bd_tokens_add(&tokens, &wanted, first));
    ck_assert_int_eq(refusal(&tokens, &wanted), BD_CODE_CONFLICT);
    wanted = (bd_token){.name = "two", .scopes = BD_SCOPE_EVERY, .origins = "https://a.org"};
    ck_assert_ptr_null(bd_tokens_add(&tokens, &wanted, second));
    wanted = (bd_token){.name = "three"}; /* a line of the file that could not be read */
    ck_assert_int_eq(refusal(&tokens, &wanted), BD_CODE_INVALID);
    wanted = (bd_token){.scopes = BD_SCOPE_INFER, .origins = "a org"};
    snprintf(wanted.name, sizeof wanted.name, "three");
    ck_assert_int_eq(refusal(&tokens, &wanted), BD_CODE_INVALID);
    ck_assert_uint_eq(strlen(first), 48);
    ck_assert_int_eq(strncmp(first, "burn_", 5), 0);
    ck_assert_uint_eq(strspn(first + 5, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                        "0123456789-_"), 43);
    ck_assert_str_ne(first, second);
    size_t size;
    char *text = bd_tokens_print(&tokens, &size);
    ck_assert_ptr_null(strstr(text, first + 5));
    ck_assert_ptr_nonnull(strstr(text, " metrics 2028-02-29T23:59:59Z -\n"));
    ck_assert_ptr_null(bd_tokens_parse(text, size, &back));
    bd_free(text);
    ck_assert_str_eq(bd_tokens_find(&back, bd_text_of(first))->name, "one");
    ck_assert_str_eq(bd_tokens_find(&back, bd_text_of(second))->name, "two");
    ck_assert(bd_tokens_remove(&back, "one"));
    ck_assert(!bd_tokens_remove(&back, "one"));
    ck_assert_ptr_null(bd_tokens_find(&back, bd_text_of(first)));
    ck_assert_ptr_nonnull(bd_tokens_find(&back, bd_text_of(second)));
    bd_tokens_deinit(&tokens);
    bd_tokens_deinit(&back);
}
END_TEST

/* One token takes another's place: both are the same identity until the first one ends. */
START_TEST(rotated_tokens)
{
    bd_tokens tokens = {0}, back = {0};
    char first[BD_TOKEN_SECRET_BYTES], second[BD_TOKEN_SECRET_BYTES], id[BD_TOKEN_ID_BYTES];
    bd_token wanted = {.name = "one", .scopes = BD_SCOPE_METRICS, .origins = "https://a.org"};
    ck_assert_ptr_null(bd_tokens_add(&tokens, &wanted, first));
    wanted = (bd_token){.name = "one-more", .scopes = BD_SCOPE_INFER};
    ck_assert_ptr_null(bd_tokens_add(&tokens, &wanted, second));
    bd_token made = {.name = "on", .expires_s = 4102444800};
    bd_error *error = bd_tokens_rotate(&tokens, &made, 4102444700, second);
    ck_assert_int_eq(bd_error_code(error), BD_CODE_NOT_FOUND);
    bd_error_free(error);
    made = (bd_token){.name = "one", .expires_s = 4102444800};
    ck_assert_ptr_null(bd_tokens_rotate(&tokens, &made, 4102444700, second));
    ck_assert_uint_eq(made.scopes, BD_SCOPE_METRICS);
    ck_assert_int_eq(bd_tokens_others_end(&tokens, &made), 4102444700);
    ck_assert_int_eq(bd_tokens_others_end(&tokens, &tokens.list.items[1]), 0); /* of one-more */
    size_t size;
    char *text = bd_tokens_print(&tokens, &size);
    ck_assert_ptr_null(bd_tokens_parse(text, size, &back)); /* as 2100-01-01T00:00:00Z is */
    bd_free(text);
    const bd_token *old = bd_tokens_find(&back, bd_text_of(first));
    const bd_token *new = bd_tokens_find(&back, bd_text_of(second));
    ck_assert_int_eq(old->expires_s, 4102444700);
    ck_assert_int_eq(new->expires_s, 4102444800);
    ck_assert_str_eq(new->name, "one");
    ck_assert(bd_token_allows_origin(new, "https://a.org") && !bd_token_allows_origin(new, ""));
    char which[80];
    snprintf(which, sizeof which, "one/%s", bd_token_id(old, id));
    ck_assert_uint_eq(strspn(id, "0123456789abcdef"), 8);
    ck_assert(!bd_tokens_remove(&back, "one/00000000") && !bd_tokens_remove(&back, "one/"));
    ck_assert(bd_tokens_remove(&back, which) && !bd_tokens_remove(&back, which));
    ck_assert_ptr_null(bd_tokens_find(&back, bd_text_of(first)));
    ck_assert_ptr_nonnull(bd_tokens_find(&back, bd_text_of(second)));
    made = (bd_token){.name = "one"}; /* what has expired goes, what ends sooner stays so */
    ck_assert_ptr_null(bd_tokens_rotate(&tokens, &made, 1, second));
    ck_assert_int_eq(bd_tokens_others_end(&tokens, &made), 1);
    ck_assert_int_eq(bd_tokens_others_end(&tokens, &tokens.list.items[0]), 0); /* made has no end */
    ck_assert_ptr_null(bd_tokens_rotate(&tokens, &made, 4102444900, second));
    ck_assert_int_eq(bd_tokens_others_end(&tokens, &made), 4102444900);
    ck_assert_uint_eq(tokens.list.count, 3);
    ck_assert(bd_tokens_remove(&tokens, "one"));
    ck_assert_uint_eq(tokens.list.count, 1);
    ck_assert_str_eq(tokens.list.items[0].name, "one-more");
    bd_tokens_deinit(&tokens);
    bd_tokens_deinit(&back);
}
END_TEST

START_TEST(scopes_and_rights)
{
    unsigned scopes = 0;
    char room[BD_SCOPES_TEXT_BYTES];
    ck_assert_ptr_null(bd_scopes_parse(" compute,  admin ", 17, &scopes));
    ck_assert_uint_eq(scopes, BD_SCOPE_COMPUTE | BD_SCOPE_ADMIN);
    ck_assert_str_eq(bd_scopes_print(BD_SCOPE_EVERY, room),
                     "infer,compute,kernel,admin,metrics,peer,mint");
    static const struct {
        bd_message_type type;
        unsigned enough; /* 0: no one may */
    } cases[] = {
        {BD_MESSAGE_OPS, BD_SCOPE_COMPUTE},      {BD_MESSAGE_GET, BD_SCOPE_INFER},
        {BD_MESSAGE_SHUTDOWN, BD_SCOPE_ADMIN},   {BD_MESSAGE_SESSIONS, BD_SCOPE_METRICS},
        {BD_MESSAGE_STATS, BD_SCOPE_METRICS},    {BD_MESSAGE_CONFIG, BD_SCOPE_ADMIN},
        {BD_MESSAGE_WELCOME, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bd_message message = {.type = cases[i].type, .get.request = 7};
        bd_principal principal = {.name = "token:x"};
        uint64_t request;
        bd_error *error = bd_principal_may(&principal, &message, &request);
        ck_assert_int_eq(bd_error_code(error), BD_CODE_DENIED);
        ck_assert_uint_eq(request, cases[i].type == BD_MESSAGE_OPS || !cases[i].enough ? 0 : 7);
        bd_error_free(error);
        principal.scopes = cases[i].enough;
        error = bd_principal_may(&principal, &message, &request);
        ck_assert_int_eq(bd_error_code(error), cases[i].enough ? BD_CODE_OK : BD_CODE_DENIED);
        bd_error_free(error);
        principal.scopes = BD_SCOPE_PEER | BD_SCOPE_KERNEL;
        error = bd_principal_may(&principal, &message, &request);
        ck_assert_int_eq(bd_error_code(error), BD_CODE_DENIED);
        bd_error_free(error);
    }
    bd_principal nobody = {0};
    uint64_t request;
    ck_assert_ptr_null(
        bd_principal_may(&nobody, &(bd_message){.type = BD_MESSAGE_PING}, &request));
}
END_TEST

START_TEST(failures_wait_longer_and_are_forgiven)
{
    bd_failures *failures = bd_alloc_zeroed(sizeof *failures);
    for (int i = 0; i < BD_FAILURES_FREE; i++)
        ck_assert_int_eq(bd_failures_note(failures, "10.0.0.1", 1000), 0);
    ck_assert_int_eq(bd_failures_note(failures, "10.0.0.1", 1000), 250);
    ck_assert_int_eq(bd_failures_note(failures, "10.0.0.1", 1000), 500);
    ck_assert_int_eq(bd_failures_note(failures, "10.0.0.2", 1000), 0);
    for (int i = 0; i < 2000; i++)
        ck_assert_int_eq(bd_failures_note(failures, "", 1000), 0);
    for (int i = 0; i < 2000; i++)
        ck_assert_int_le(bd_failures_note(failures, "10.0.0.1", 1000), BD_FAILURES_DELAY_MS_MAX);
    ck_assert_int_eq(bd_failures_note(failures, "10.0.0.1", 1000), BD_FAILURES_DELAY_MS_MAX);
    ck_assert_int_eq(bd_failures_note(failures, "10.0.0.1", 1000 + 60000 * 12), 0);
    for (int i = 0; i < 10000; i++) { /* many addresses push out old ones, and no more */
        char address[32];
        snprintf(address, sizeof address, "10.1.%d.%d", i / 256, i % 256);
        ck_assert_int_eq(bd_failures_note(failures, address, 800000 + i), 0);
    }
    bd_free(failures);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tokens");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, a_file);
    tcase_add_test(tests, hostile_files);
    tcase_add_test(tests, made_tokens_are_found_and_print_back);
    tcase_add_test(tests, rotated_tokens);
    tcase_add_test(tests, scopes_and_rights);
    tcase_add_test(tests, failures_wait_longer_and_are_forgiven);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
