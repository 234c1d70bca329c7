/* SPDX-License-Identifier: Apache-2.0 */
#include "server/config.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ini.h>

#include "proto/base/alloc.h"
#include "server/input_file.h"

enum kind { KIND_COUNT, KIND_BYTES, KIND_MILLIS, KIND_CHOICE, KIND_TEXT, KIND_LIST };
enum when { WHEN_LIVE, WHEN_START };

typedef struct config_key {
    enum kind kind;
    enum when when;
    const char *name, *initial;
    int64_t least, most;
    const char *choices, *says;
    size_t offset, source_offset;
} config_key;

static const config_key keys[] = {
#define KEY(kind, when, key, initial, least, most, choices, says)                                  \
    {KIND_##kind, WHEN_##when, #key, initial, least, most, choices, says,                          \
     offsetof(bd_config, key), offsetof(bd_config, source.key)},
#include "server/config.def"
};
enum { KEY_COUNT = (int)(sizeof keys / sizeof *keys), VALUE_TEXT_MAX = 64 };

typedef struct value_unit {
    const char *name;
    int64_t factor;
} value_unit;

static const value_unit byte_units[] = {
    {"", 1},          {"B", 1},           {"K", 1LL << 10}, {"KiB", 1LL << 10},
    {"M", 1LL << 20}, {"MiB", 1LL << 20}, {"G", 1LL << 30}, {"GiB", 1LL << 30},
    {"T", 1LL << 40}, {"TiB", 1LL << 40}, {NULL, 0},
};
static const value_unit time_units[] = {
    {"ms", 1}, {"s", 1000}, {"min", 60000}, {"h", 3600000}, {NULL, 0},
};
static const value_unit no_units[] = {{"", 1}, {NULL, 0}};

/* Of a key that holds a number. */
static const value_unit *units_of(const config_key *key)
{
    if (key->kind == KIND_COUNT)
        return no_units;
    return key->kind == KIND_BYTES ? byte_units : time_units;
}

static void *value_of(const bd_config *config, const config_key *key)
{
    return (char *)(uintptr_t)config + key->offset;
}

/* ---- setting --------------------------------------------------------------------------------- */

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Levenshtein's distance of two short names; some number from limit on, where it is no less. */
static size_t distance(const char *a, const char *b, size_t limit)
{
    size_t row[VALUE_TEXT_MAX + 1], a_size = strlen(a), b_size = strlen(b);
    if (a_size > VALUE_TEXT_MAX || b_size > VALUE_TEXT_MAX || a_size + limit <= b_size ||
        b_size + limit <= a_size)
        return limit;
    for (size_t j = 0; j <= b_size; j++)
        row[j] = j;
    for (size_t i = 1; i <= a_size; i++) {
        size_t diagonal = row[0], least = i; /* of the row: a later one has none below */
        row[0] = i;
        for (size_t j = 1; j <= b_size; j++) {
            size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] = smaller(replaced, smaller(row[j], row[j - 1]) + 1);
            least = smaller(least, row[j]);
        }
        if (least >= limit)
            return limit;
    }
    return row[b_size];
}

/* NULL if there is none. */
static const config_key *key_named(const char *name)
{
    for (int i = 0; i < KEY_COUNT; i++) {
        if (strcmp(name, keys[i].name) == 0)
            return &keys[i];
    }
    return NULL;
}

static bd_error *find_key(const char *name, const config_key **out)
{
    *out = key_named(name);
    if (*out)
        return NULL;
    const config_key *nearest = NULL;
    size_t least = smaller(2 + strlen(name) / 2, VALUE_TEXT_MAX); /* farther is no help */
    for (int i = 0; i < KEY_COUNT; i++) {
        size_t steps = distance(name, keys[i].name, least);
        if (steps < least) {
            least = steps;
            nearest = &keys[i];
        }
    }
    if (nearest)
        BD_FAIL(NOT_FOUND, "there is no key \"%.64s\"; did you mean \"%s\"?", name, nearest->name);
    BD_FAIL(NOT_FOUND, "there is no key \"%.64s\"; burnd --help lists them", name);
}

/* In the largest unit that divides. */
static void print_number(char *text, int64_t number, const value_unit *units)
{
    const value_unit *best = units;
    for (const value_unit *unit = units; unit->name; unit++) {
        if (number && number % unit->factor == 0 && unit->factor >= best->factor)
            best = unit;
    }
    snprintf(text, VALUE_TEXT_MAX, "%" PRId64 "%s", number / best->factor, best->name);
}

/* A value that is right, to show how one is written: a default that means "none" shows nothing. */
static const char *example_of(const config_key *key)
{
    if (strcmp(key->initial, "0") != 0)
        return key->initial;
    return key->kind == KIND_BYTES ? "512MiB" : "4";
}

static bd_error *parse_number(const config_key *key, const value_unit *units, const char *text,
                              int64_t *out)
{
    char *end, least[VALUE_TEXT_MAX], most[VALUE_TEXT_MAX];
    errno = 0;
    long long number = strtoll(text, &end, 10);
    const value_unit *unit = units;
    if (end == text || !isdigit((unsigned char)text[0]))
        BD_FAIL(INVALID, "%s: \"%.64s\" is not a number; %s would be right", key->name, text,
                example_of(key));
    while (isspace((unsigned char)*end))
        end++;
    while (unit->name && strcmp(unit->name, end) != 0 && !(number == 0 && !*end))
        unit++;
    if (!unit->name)
        BD_FAIL(INVALID, "%s: \"%.64s\" has %s; %s would be right", key->name, text,
                key->kind == KIND_COUNT ? "more than digits"
                : *end                  ? "no known unit"
                                        : "no unit",
                example_of(key));
    print_number(least, key->least, units);
    print_number(most, key->most, units);
    if (errno || number > key->most / unit->factor || number * unit->factor < key->least)
        BD_FAIL(INVALID, "%s: \"%.64s\" is not within %s and %s; %s would be right", key->name,
                text, least, most, example_of(key));
    *out = number * unit->factor;
    return NULL;
}

static bd_error *check_choice(const config_key *key, const char *text)
{
    size_t size = strlen(text);
    for (const char *at = key->choices; size && *at; at += strcspn(at, "|"), at += *at == '|') {
        if (strcspn(at, "|") == size && memcmp(at, text, size) == 0)
            return NULL;
    }
    BD_FAIL(INVALID, "%s: \"%.64s\" is not one of %s; %s would be right", key->name, text,
            key->choices, key->initial);
}

static void drop_value(bd_config *config, const config_key *key)
{
    if (key->kind == KIND_LIST) {
        bd_text_list *list = value_of(config, key);
        for (size_t i = 0; i < list->count; i++)
            bd_free(list->items[i]);
        bd_vec_clear(list);
    } else if (key->kind == KIND_CHOICE || key->kind == KIND_TEXT) {
        char **text = value_of(config, key);
        bd_free(*text);
        *text = NULL;
    }
}

static void clear(bd_config *config, const config_key *key)
{
    size_t kept = 0;
    for (size_t i = 0; i < config->places.count; i++) {
        bd_config_place *place = &config->places.items[i];
        if (place->key == key->name)
            bd_free(place->own_text);
        else
            config->places.items[kept++] = *place;
    }
    config->places.count = kept;
    drop_value(config, key);
}

static void put_text(char **place, const char *text)
{
    *place = bd_strdup(text);
}

/* Defaults have none. */
static void put_place(bd_config *config, const config_key *key)
{
    if (config->place[0])
        *bd_vec_push(&config->places) =
            (bd_config_place){.key = key->name, .own_text = bd_strdup(config->place)};
}

/* Words of a list, separated by blanks. */
static void put_list(bd_config *config, const config_key *key, const char *text)
{
    bd_text_list *list = value_of(config, key);
    for (text += strspn(text, " \t"); *text; text += strspn(text, " \t")) {
        size_t size = strcspn(text, " \t");
        char *item = bd_alloc(size + 1);
        memcpy(item, text, size);
        item[size] = '\0';
        *bd_vec_push(list) = item;
        put_place(config, key);
        text += size;
    }
}

static bd_error *set(bd_config *config, const config_key *key, const char *text,
                     bd_config_source source)
{
    uint8_t *known = (uint8_t *)config + key->source_offset;
    int64_t number = 0;
    switch (key->kind) {
    case KIND_COUNT:
    case KIND_BYTES:
    case KIND_MILLIS:
        BD_TRY(parse_number(key, units_of(key), text, &number));
        break;
    case KIND_CHOICE:
        BD_TRY(check_choice(key, text));
        break;
    case KIND_TEXT:
    case KIND_LIST:
        break;
    }
    if (source < *known)
        return NULL;
    if (key->kind != KIND_LIST || source > *known)
        clear(config, key);
    if (key->kind == KIND_LIST)
        put_list(config, key, text);
    else if (key->kind == KIND_CHOICE || key->kind == KIND_TEXT)
        put_text(value_of(config, key), text);
    else
        *(int64_t *)value_of(config, key) = number;
    if (key->kind != KIND_LIST)
        put_place(config, key);
    *known = (uint8_t)source;
    return NULL;
}

bd_error *bd_config_check_key(const char *name)
{
    const config_key *key;
    return find_key(name, &key);
}

bool bd_config_needs_restart(const char *name)
{
    const config_key *key = key_named(name);
    return key && key->when == WHEN_START;
}

bd_error *bd_config_set(bd_config *config, const char *name, const char *text,
                        bd_config_source source)
{
    const config_key *key;
    BD_TRY(find_key(name, &key));
    return set(config, key, text, source);
}

bd_error *bd_config_number(const char *name, const char *text, int64_t *out)
{
    const config_key *key;
    BD_TRY(find_key(name, &key));
    return parse_number(key, units_of(key), text, out);
}

void bd_config_init(bd_config *config)
{
    memset(config, 0, sizeof *config);
    for (int i = 0; i < KEY_COUNT; i++)
        bd_error_free(set(config, &keys[i], keys[i].initial, BD_CONFIG_FROM_DEFAULT));
}

void bd_config_deinit(bd_config *config)
{
    for (size_t i = 0; i < config->places.count; i++)
        bd_free(config->places.items[i].own_text);
    for (int i = 0; i < KEY_COUNT; i++) {
        drop_value(config, &keys[i]);
        if (keys[i].kind == KIND_LIST) {
            bd_text_list *list = value_of(config, &keys[i]);
            bd_vec_deinit(list);
        }
    }
    bd_vec_deinit(&config->places);
}

bd_error *bd_config_blame(const bd_config *config, const char *key, size_t index,
                          bd_error *own_error)
{
    const char *place = "", *text = bd_error_text(own_error);
    size_t size = strlen(key);
    for (size_t i = 0; i < config->places.count; i++) {
        const bd_config_place *at = &config->places.items[i];
        if (strcmp(at->key, key) == 0 && index-- == 0)
            place = at->own_text;
    }
    bool named = strncmp(text, key, size) == 0 && strchr(": ", text[size]);
    bd_error *error = named ? own_error : bd_error_note(own_error, "%s", key);
    return *place ? bd_error_note(error, "%s", place) : error;
}

bd_error *bd_config_blame_one(const bd_config *config, const char *names, bd_error *own_error)
{
    const char *text = bd_error_text(own_error); /* "" if there is none */
    for (size_t size; (size = strcspn(names, " ")); names += size + (names[size] == ' ')) {
        char key[VALUE_TEXT_MAX];
        snprintf(key, sizeof key, "%.*s", (int)size, names);
        if (strncmp(text, key, size) == 0 && strchr(": ", text[size]))
            return bd_config_blame(config, key, 0, own_error);
    }
    return own_error;
}

static char *text_of(const bd_config *config, const char *name)
{
    const char *key;
    char *text;
    for (int i = 0; bd_config_at(config, i, &key, &text); i++) {
        if (strcmp(key, name) == 0)
            return text;
        bd_free(text);
    }
    return bd_strdup("");
}

bool bd_config_keep(bd_config *config, const bd_config *from, const char *name)
{
    const config_key *key;
    char *now = text_of(config, name), *before = text_of(from, name);
    bool differs = strcmp(now, before) != 0;
    bd_error *error = differs ? find_key(name, &key) : NULL;
    if (differs && !error) {
        clear(config, key);
        error = set(config, key, before, BD_CONFIG_FROM_FLAG);
    }
    bd_error_free(error); /* both were valid once */
    bd_free(now);
    bd_free(before);
    return differs;
}

/* ---- files and environment ------------------------------------------------------------------- */

typedef struct file_reader {
    bd_config *config;
    FILE *file;
    const char *path;
    int line; /* that was read last: the one of the error */
    bd_error *error;
} file_reader;

/* Of the character behind it, too: a line may end with CR and LF. */
static bool is_text(FILE *file, int c)
{
    if (c != '\r')
        return c == '\t' || !iscntrl(c);
    int next = getc_unlocked(file);
    ungetc(next, file);
    return next == '\n';
}

/* One line for inih, which would take the rest of a long line for the next one, what follows a NUL
 * byte for nothing, and an indented line for more of the value above it. */
static char *next_line(char *text, int size, void *user)
{
    file_reader *reader = user;
    bool comment = false;
    int used = 0, c;
    if (reader->error)
        return NULL;
    reader->line++;
    while (!reader->error && (c = getc_unlocked(reader->file)) != EOF && c != '\n') {
        if (used == 0 && isblank(c))
            continue;
        comment = comment || (used == 0 && (c == '#' || c == ';'));
        if (!is_text(reader->file, c))
            reader->error = BD_ERROR(INVALID, "a control character, 0x%02x", (unsigned)c);
        else if (used < size - 2)
            text[used++] = (char)c;
        else if (!comment)
            reader->error = BD_ERROR(LIMIT, "a line has at most %d bytes", size - 2);
    }
    if (reader->error || (used == 0 && feof_unlocked(reader->file)))
        return NULL;
    text[used] = '\n';
    text[used + 1] = '\0';
    return text;
}

static int read_line(void *user, const char *section, const char *name, const char *value)
{
    file_reader *reader = user;
    bd_error *error = NULL;
    snprintf(reader->config->place, BD_CONFIG_PLACE_BYTES, "%.240s:%d", reader->path,
             reader->line);
    if (*section)
        error = BD_ERROR(INVALID, "section [%.64s]: the file has no sections", section);
    else
        error = bd_config_set(reader->config, name, value ? value : "", BD_CONFIG_FROM_FILE);
    reader->error = error;
    return error == NULL;
}

bd_error *bd_config_read_file(bd_config *config, const char *path)
{
    struct stat status;
    int fd;
    BD_TRY(bd_input_file_open(path, &fd, &status));
    FILE *file = fdopen(fd, "r");
    if (!file) {
        close(fd);
        BD_FAIL(NO_MEMORY, "%s: no memory to read it", path);
    }
    file_reader reader = {.config = config, .file = file, .path = path};
    int line = ini_parse_stream(next_line, &reader, read_line, &reader);
    config->place[0] = '\0';
    fclose(file);
    if (reader.error && (!line || line == reader.line))
        return bd_error_note(reader.error, "%s:%d", path, reader.line);
    bd_error_free(reader.error);
    if (line != 0)
        BD_FAIL(INVALID, "%s:%d: not a \"key = value\" line", path, line > 0 ? line : 0);
    return NULL;
}

bd_error *bd_config_read_environment(bd_config *config, char *const *environment)
{
    for (; *environment; environment++) {
        const char *equals = strchr(*environment, '=');
        if (strncmp(*environment, "BURND_", 6) != 0 || !equals)
            continue;
        char name[VALUE_TEXT_MAX] = "";
        for (size_t i = 0; i < sizeof name - 1 && *environment + 6 + i < equals; i++)
            name[i] = (char)tolower((unsigned char)(*environment)[6 + i]);
        snprintf(config->place, sizeof config->place, "%.*s", (int)(equals - *environment),
                 *environment);
        BD_TRY_NOTE(bd_config_set(config, name, equals + 1, BD_CONFIG_FROM_ENVIRONMENT), "%.*s",
                    (int)(equals - *environment), *environment);
    }
    config->place[0] = '\0';
    return NULL;
}

/* ---- printing -------------------------------------------------------------------------------- */

static char *join(const bd_text_list *list)
{
    size_t size = 1;
    for (size_t i = 0; i < list->count; i++)
        size += strlen(list->items[i]) + 1;
    char *text = bd_alloc_zeroed(size);
    for (size_t i = 0, used = 0; i < list->count; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", i ? " " : "", list->items[i]);
    return text;
}

int bd_config_at(const bd_config *config, int index, const char **out_key, char **out_text)
{
    if (index < 0 || index >= KEY_COUNT)
        return 0;
    const config_key *key = &keys[index];
    const void *value = value_of(config, key);
    char number[VALUE_TEXT_MAX];
    *out_key = key->name;
    switch (key->kind) {
    case KIND_COUNT:
    case KIND_BYTES:
    case KIND_MILLIS:
        print_number(number, *(const int64_t *)value, units_of(key));
        *out_text = bd_strdup(number);
        break;
    case KIND_CHOICE:
    case KIND_TEXT:
        *out_text = bd_strdup(*(char *const *)value);
        break;
    case KIND_LIST:
        *out_text = join(value);
        break;
    }
    return 1;
}

static const char *restart_note(const config_key *key)
{
    return key->when == WHEN_START ? "; a new value needs a restart" : "";
}

void bd_config_print(const bd_config *config, FILE *file)
{
    const char *name;
    char *text;
    for (int i = 0; bd_config_at(config, i, &name, &text); i++) {
        fprintf(file, "%s# %s%s\n", i ? "\n" : "", keys[i].says, restart_note(&keys[i]));
        if (keys[i].kind != KIND_LIST) {
            fprintf(file, "%s = %s\n", name, text);
        } else {
            const bd_text_list *list = value_of(config, &keys[i]);
            for (size_t j = 0; j < list->count; j++)
                fprintf(file, "%s = %s\n", name, list->items[j]);
        }
        bd_free(text);
    }
}

void bd_config_print_flags(FILE *file)
{
    for (int i = 0; i < KEY_COUNT; i++) {
        char flag[VALUE_TEXT_MAX];
        snprintf(flag, sizeof flag, "%s", keys[i].name);
        for (char *at = flag; *at; at++)
            *at = *at == '_' ? '-' : *at;
        const char *choices = keys[i].choices;
        fprintf(file, "  --%s=%s\n        %s%s%s%s%s\n", flag, *choices ? choices : "VALUE",
                keys[i].says, restart_note(&keys[i]), *keys[i].initial ? " (default " : "",
                keys[i].initial, *keys[i].initial ? ")" : "");
    }
}
