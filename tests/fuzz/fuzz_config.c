/* SPDX-License-Identifier: Apache-2.0
 * Fuzz target of the configuration: parts behind a byte 1 each; the first byte of a part says
 * where it stands: in burnd.conf (F), a drop-in (D), the environment (E), the command line (A).
 * What is taken from files prints to a file that says the same. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/base/alloc.h"
#include "server/address.h"
#include "server/config.h"
#include "server/options.h"
#include "server/quotas.h"

enum { PART = 1, PARTS_MAX = 16 };

static struct {
    char folder[64], main_file[96], drop_in[96], printed[96];
} at;

typedef struct words {
    char *items[PARTS_MAX + 2];
    int count;
} words;

/* Of both files of burnd. Most inputs leave one empty: it is not written again. */
static void write_file(const char *path, const void *bytes, size_t size)
{
    static bool filled[2] = {true, true};
    bool *now = &filled[path == at.drop_in];
    if (!size && !*now)
        return;
    *now = size > 0;
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
        abort();
    close(fd);
}

/* A folder in memory for the files, removed at the end. */
static void clean_up(void)
{
    unlink(at.main_file);
    unlink(at.drop_in);
    unlink(at.printed);
    char more[80];
    snprintf(more, sizeof more, "%s/conf.d", at.folder);
    rmdir(more);
    rmdir(at.folder);
}

static void set_up(void)
{
    if (*at.folder)
        return;
    snprintf(at.folder, sizeof at.folder, "%s/burnd-fuzz-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (!mkdtemp(at.folder))
        abort();
    snprintf(at.main_file, sizeof at.main_file, "%s/conf.d", at.folder);
    if (mkdir(at.main_file, 0700) != 0)
        abort();
    snprintf(at.main_file, sizeof at.main_file, "%s/burnd.conf", at.folder);
    snprintf(at.drop_in, sizeof at.drop_in, "%s/conf.d/10-more.conf", at.folder);
    snprintf(at.printed, sizeof at.printed, "%s/printed", at.folder);
    atexit(clean_up);
}

static void add(words *words, const char *prefix, const uint8_t *bytes, size_t size)
{
    size_t before = strlen(prefix);
    char *word = bd_alloc(before + size + 1);
    memcpy(word, prefix, before);
    memcpy(word + before, bytes, size);
    word[before + size] = '\0';
    words->items[words->count++] = word;
}

/* What burnd asks of a configuration that was read. */
static void look(const bd_config *config)
{
    bd_error *error = NULL;
    for (size_t i = 0; i < config->listen.count && !error; i++) {
        bd_address address;
        error = bd_address_parse(config->listen.items[i], &address);
        bool is_key = bd_config_needs_restart(config->listen.items[i]); /* no address is one */
        if (!error && (is_key || !address.size_bytes ||
                       address.size_bytes > sizeof address.storage))
            abort();
        error = error ? bd_config_blame(config, "listen", i, error) : NULL;
    }
    bd_error_free(error);
    bd_error_free(bd_config_blame_one(config, "quota principal_queue", bd_quotas_check(config)));
}

/* Paths that are no files of a configuration. */
static void read_no_file(bd_config *config)
{
    bd_error *folder = bd_config_read_file(config, at.folder);
    bd_error *missing = bd_config_read_file(config, "/nonexistent/burnd.conf");
    if (bd_error_code(folder) != BD_CODE_NOT_FOUND || bd_error_code(missing) != BD_CODE_NOT_FOUND)
        abort();
    bd_error_free(folder);
    bd_error_free(missing);
}

/* The text of --help goes to a file, too. */
static void print_flags(void)
{
    FILE *file = fopen(at.printed, "we");
    if (!file)
        abort();
    bd_config_print_flags(file);
    fclose(file);
}

static void print_and_read(const bd_config *config, size_t turn)
{
    bd_config back;
    bd_config_init(&back);
    FILE *file = fopen(at.printed, "we");
    if (!file)
        abort();
    bd_config_print(config, file);
    fclose(file);
    bd_error *error = bd_config_read_file(&back, at.printed);
    const char *key, *again;
    char *text, *other;
    /* "key=value" of the greatest length prints as "key = value", which is longer. */
    if (error && bd_error_code(error) != BD_CODE_LIMIT)
        abort();
    for (int i = 0; !error && bd_config_at(config, i, &key, &text); i++) {
        bool comment = text[0] == ';' || strstr(text, " ;"); /* for who reads "key = ;text" */
        if (!bd_config_at(&back, i, &again, &other) || (!comment && strcmp(text, other) != 0) ||
            (!comment && turn % 32 == (size_t)i && bd_config_keep(&back, config, key)))
            abort();
        bd_free(text);
        bd_free(other);
    }
    bd_error_free(error);
    bd_config_deinit(&back);
}

/* The parts in the order in which burnd reads them. */
static bd_error *read_all(bd_config *config, const words *arguments, const words *environment)
{
    bd_options options;
    BD_TRY(bd_options_parse(&options, config, arguments->count, arguments->items));
    if (options.command == BD_COMMAND_HELP)
        print_flags();
    if (options.command == BD_COMMAND_CHECK_CONFIG)
        read_no_file(config);
    BD_TRY(bd_config_read_folder(config, at.folder));
    return bd_config_read_environment(config, environment->items);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    words arguments = {0}, environment = {0};
    set_up();
    add(&arguments, "burnd", bytes, 0);
    write_file(at.main_file, "", 0);
    write_file(at.drop_in, "", 0);
    for (size_t begin = 0, end, parts = 0; begin < size && parts < PARTS_MAX; begin = end + 1) {
        const uint8_t *found = memchr(bytes + begin, PART, size - begin);
        end = found ? (size_t)(found - bytes) : size;
        parts++;
        if (end == begin)
            continue;
        const uint8_t *text = bytes + begin + 1;
        size_t text_size = end - begin - 1;
        if (bytes[begin] == 'E')
            add(&environment, "BURND_", text, text_size);
        else if (bytes[begin] == 'A')
            add(&arguments, "", text, text_size);
        else
            write_file(bytes[begin] == 'D' ? at.drop_in : at.main_file, text, text_size);
    }
    bd_config config;
    bd_config_init(&config);
    bd_error *error = read_all(&config, &arguments, &environment);
    if (!error) {
        look(&config);
        if (arguments.count == 1 && environment.count == 0 && size % 4 == 0) /* half of a run */
            print_and_read(&config, size / 4);
    }
    bd_error_free(error);
    bd_config_deinit(&config);
    for (int i = 0; i <= PARTS_MAX; i++) {
        bd_free(arguments.items[i]);
        bd_free(environment.items[i]);
    }
    return 0;
}
