/* SPDX-License-Identifier: Apache-2.0
 * Configuration: units, choices, precedence, suggestions, files, and printing that reads back. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/base/alloc.h"
#include "server/config.h"

static void expect(bd_error *error, bd_code code, const char *part)
{
    ck_assert_int_eq(bd_error_code(error), code);
    ck_assert_msg(strstr(bd_error_text(error), part), "%s", bd_error_text(error));
    bd_error_free(error);
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

START_TEST(defaults)
{
    bd_config config;
    bd_config_init(&config);
    ck_assert_str_eq(config.device, "cpu");
    ck_assert_int_eq(config.credit, 16 << 20);
    ck_assert_int_eq(config.hello_timeout, 5000);
    ck_assert_int_eq(config.memory, 0);
    ck_assert_uint_eq(config.listen.count, 0);
    ck_assert_str_eq(config.cache_dir, "");
    bd_config_deinit(&config);
}
END_TEST

START_TEST(units_and_limits)
{
    static const struct {
        const char *key, *text;
        long long wanted; /* -1: refused */
    } cases[] = {
        {"memory", "0", 0},         {"memory", "1", 1},         {"memory", "3KiB", 3072},
        {"memory", "3 K", 3072},    {"memory", "2GiB", 2LL << 30}, {"memory", "1T", 1LL << 40},
        {"memory", "1kb", -1},      {"memory", "-1", -1},       {"memory", "", -1},
        {"memory", "1.5G", -1},     {"memory", "99999999999999999999", -1},
        {"memory", "9000000T", -1}, {"credit", "1MiB", -1},     {"idle_timeout", "2min", 120000},
        {"idle_timeout", "250ms", 250}, {"idle_timeout", "30", -1}, {"idle_timeout", "0", -1},
        {"threads", "8", 8},        {"threads", "8x", -1},      {"threads", "1025", -1},
        {"drain_timeout", "0", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bd_config config;
        bd_config_init(&config);
        bd_error *error = bd_config_set(&config, cases[i].key, cases[i].text, BD_CONFIG_FROM_FLAG);
        long long value = strcmp(cases[i].key, "memory") == 0         ? config.memory
                          : strcmp(cases[i].key, "idle_timeout") == 0 ? config.idle_timeout
                          : strcmp(cases[i].key, "drain_timeout") == 0 ? config.drain_timeout
                                                                       : config.threads;
        if (cases[i].wanted < 0)
            ck_assert_msg(bd_error_code(error) == BD_CODE_INVALID, "%s = %s", cases[i].key,
                          cases[i].text);
        else
            ck_assert_msg(!error && value == cases[i].wanted, "%s = %s: %s", cases[i].key,
                          cases[i].text, bd_error_text(error));
        bd_error_free(error);
        bd_config_deinit(&config);
    }
}
END_TEST

START_TEST(unknown_keys_get_a_suggestion)
{
    bd_config config;
    bd_config_init(&config);
    expect(bd_config_set(&config, "sesions", "1", BD_CONFIG_FROM_FILE), BD_CODE_NOT_FOUND,
           "did you mean \"sessions\"?");
    expect(bd_config_set(&config, "cache-dir", "1", BD_CONFIG_FROM_FILE), BD_CODE_NOT_FOUND,
           "did you mean \"cache_dir\"?");
    expect(bd_config_set(&config, "x", "1", BD_CONFIG_FROM_FILE), BD_CODE_NOT_FOUND, "--help");
    expect(bd_config_set(&config, "compile", "neve", BD_CONFIG_FROM_FILE), BD_CODE_INVALID,
           "auto|never");
    expect(bd_config_set(&config, "compile", "", BD_CONFIG_FROM_FILE), BD_CODE_INVALID,
           "auto|never");
    expect(bd_config_set(&config, "compile", "auto|never", BD_CONFIG_FROM_FILE), BD_CODE_INVALID,
           "one of");
    bd_config_deinit(&config);
}
END_TEST

START_TEST(stronger_sources_win)
{
    bd_config config;
    bd_config_init(&config);
    ck_assert_ptr_null(bd_config_set(&config, "threads", "3", BD_CONFIG_FROM_FLAG));
    ck_assert_ptr_null(bd_config_set(&config, "threads", "5", BD_CONFIG_FROM_FILE));
    ck_assert_int_eq(config.threads, 3);
    ck_assert_ptr_null(bd_config_set(&config, "listen", "unix:///a", BD_CONFIG_FROM_FILE));
    ck_assert_ptr_null(bd_config_set(&config, "listen", "unix:///b", BD_CONFIG_FROM_FILE));
    ck_assert_uint_eq(config.listen.count, 2);
    char *environment[] = {"HOME=/", "BURND_LISTEN= unix:///c  unix:///d ", "BURND_FUSION=off",
                           NULL};
    ck_assert_ptr_null(bd_config_read_environment(&config, environment));
    ck_assert_uint_eq(config.listen.count, 2);
    ck_assert_str_eq(config.listen.items[1], "unix:///d");
    ck_assert_str_eq(config.fusion, "off");
    char *wrong[] = {"BURND_LISTENN=x", NULL};
    expect(bd_config_read_environment(&config, wrong), BD_CODE_NOT_FOUND,
           "BURND_LISTENN: there is no key");
    bd_config_deinit(&config);
}
END_TEST

/* What is not there is skipped; what cannot be read because of a link is not. */
START_TEST(links_to_nothing)
{
    char folder[] = "/tmp/burnd-config-XXXXXX", path[128];
    const char *const names[] = {"burnd.conf", "conf.d"};
    bd_config config;
    bd_config_init(&config);
    ck_assert_ptr_nonnull(mkdtemp(folder));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        ck_assert_int_eq(symlink("nowhere", path), 0);
        expect(bd_config_read_folder(&config, folder), BD_CODE_NOT_FOUND,
               "a symbolic link to what is not there");
        ck_assert_int_eq(unlink(path) | symlink(path, path), 0);
        expect(bd_config_read_folder(&config, folder), BD_CODE_UNAVAILABLE, "symbolic links");
        ck_assert_int_eq(unlink(path), 0);
    }
    ck_assert_ptr_null(bd_config_read_folder(&config, folder));
    write_file(path, "");
    expect(bd_config_read_folder(&config, folder), BD_CODE_NOT_FOUND, "conf.d: Not a directory");
    ck_assert_int_eq(unlink(path) | rmdir(folder), 0);
    bd_config_deinit(&config);
}
END_TEST

START_TEST(files)
{
    char folder[] = "/tmp/burnd-config-XXXXXX", path[128], more[128];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/burnd.conf", folder);
    snprintf(more, sizeof more, "%s/conf.d", folder);
    bd_config config;
    bd_config_init(&config);
    ck_assert_ptr_null(bd_config_read_folder(&config, folder)); /* nothing there */
    write_file(path, "# comment\nthreads = 2\nlisten = unix:///a\n");
    ck_assert_int_eq(mkdir(more, 0700), 0);
    snprintf(more, sizeof more, "%s/conf.d/10-a.conf", folder);
    write_file(more, "threads = 4\n");
    snprintf(more, sizeof more, "%s/conf.d/05-b.conf", folder);
    write_file(more, "threads = 6\nlisten=unix:///b\n");
    ck_assert_ptr_null(bd_config_read_folder(&config, folder));
    ck_assert_int_eq(config.threads, 4);
    ck_assert_uint_eq(config.listen.count, 2);
    write_file(path, "threads = 2\n\nthread = 3\n");
    expect(bd_config_read_file(&config, path), BD_CODE_NOT_FOUND,
           "burnd.conf:3: there is no key \"thread\"");
    write_file(path, "threads\n");
    expect(bd_config_read_file(&config, path), BD_CODE_INVALID, "burnd.conf:1:");
    write_file(path, "[server]\nthreads = 1\n");
    expect(bd_config_read_file(&config, path), BD_CODE_INVALID, "no sections");
    write_file(path, "no value\nthread = 3\n");
    expect(bd_config_read_file(&config, path), BD_CODE_INVALID, "burnd.conf:1: not a");
    write_file(path, "listen = unix:///c\n  threads = 3\n");
    ck_assert_ptr_null(bd_config_read_file(&config, path));
    ck_assert_int_eq(config.threads, 3);
    ck_assert_uint_eq(config.listen.count, 3);
    expect(bd_config_read_file(&config, folder), BD_CODE_NOT_FOUND, "a folder, not a file");
    ck_assert_int_eq(unlink(path) | mkfifo(path, 0600), 0); /* nobody writes: it must not wait */
    expect(bd_config_read_file(&config, path), BD_CODE_NOT_FOUND, "not a file");
    expect(bd_config_read_file(&config, "/nowhere"), BD_CODE_NOT_FOUND, "No such file");
    bd_config_deinit(&config);
    snprintf(path, sizeof path, "rm -r %s", folder);
    ck_assert_int_eq(system(path), 0);
}
END_TEST

START_TEST(long_lines)
{
    char path[] = "/tmp/burnd-config-XXXXXX", text[1000];
    close(mkstemp(path));
    bd_config config;
    bd_config_init(&config);
    snprintf(text, sizeof text, "# %0500d\nthreads = 2\n", 0);
    write_file(path, text);
    ck_assert_ptr_null(bd_config_read_file(&config, path));
    ck_assert_int_eq(config.threads, 2);
    snprintf(text, sizeof text, "threads = 3\nwww = /%0180d threads = 5\n", 0);
    write_file(path, text);
    expect(bd_config_read_file(&config, path), BD_CODE_LIMIT, ":2: a line has at most 198 bytes");
    ck_assert_int_eq(config.threads, 3);
    snprintf(text, sizeof text, "www = /%0191d", 0);
    write_file(path, text);
    ck_assert_ptr_null(bd_config_read_file(&config, path));
    ck_assert_uint_eq(strlen(config.www), 192);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite("threads = 4\r\n\0 5\n", 1, 17, file), 17);
    fclose(file);
    expect(bd_config_read_file(&config, path), BD_CODE_INVALID, ":2: a control character, 0x00");
    ck_assert_int_eq(config.threads, 4);
    unlink(path);
    bd_config_deinit(&config);
}
END_TEST

START_TEST(what_is_printed_reads_back)
{
    char path[] = "/tmp/burnd-config-XXXXXX";
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    bd_config config, back;
    bd_config_init(&config);
    bd_config_init(&back);
    ck_assert_ptr_null(bd_config_set(&config, "memory", "1536MiB", BD_CONFIG_FROM_FLAG));
    ck_assert_ptr_null(bd_config_set(&config, "idle_timeout", "1500ms", BD_CONFIG_FROM_FLAG));
    ck_assert_ptr_null(bd_config_set(&config, "listen", "unix:///x", BD_CONFIG_FROM_FLAG));
    ck_assert_ptr_null(
        bd_config_set(&config, "listen", "tcp://127.0.0.1:1?insecure", BD_CONFIG_FROM_FLAG));
    FILE *file = fdopen(fd, "w");
    bd_config_print(&config, file);
    fclose(file);
    ck_assert_ptr_null(bd_config_read_file(&back, path));
    const char *key, *again;
    char *text, *other;
    int count = 0;
    for (; bd_config_at(&config, count, &key, &text); count++) {
        ck_assert_int_eq(bd_config_at(&back, count, &again, &other), 1);
        ck_assert_msg(strcmp(text, other) == 0, "%s: %s, %s", key, text, other);
        bd_free(text);
        bd_free(other);
    }
    ck_assert_int_ge(count, 19);
    unlink(path);
    bd_config_deinit(&config);
    bd_config_deinit(&back);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("config");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, defaults);
    tcase_add_test(tests, units_and_limits);
    tcase_add_test(tests, unknown_keys_get_a_suggestion);
    tcase_add_test(tests, stronger_sources_win);
    tcase_add_test(tests, links_to_nothing);
    tcase_add_test(tests, files);
    tcase_add_test(tests, long_lines);
    tcase_add_test(tests, what_is_printed_reads_back);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
