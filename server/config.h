/* SPDX-License-Identifier: Apache-2.0
 * The configuration: one struct, one row a key in config.def. Filled before threads start and
 * immutable afterwards, so any thread may read it.
 * Precedence: flag, then environment, then files (conf.d after burnd.conf), then default. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "proto/base/error.h"
#include "proto/base/vec.h"

typedef BD_VEC(char *) bd_text_list;

/* The C type of each kind of key. */
#define BD_CONFIG_COUNT int64_t
#define BD_CONFIG_BYTES int64_t
#define BD_CONFIG_MILLIS int64_t
#define BD_CONFIG_CHOICE char *
#define BD_CONFIG_TEXT char *
#define BD_CONFIG_LIST bd_text_list

enum { BD_CONFIG_PLACE_BYTES = 256 };

typedef enum bd_config_source {
    BD_CONFIG_FROM_DEFAULT,
    BD_CONFIG_FROM_FILE,
    BD_CONFIG_FROM_ENVIRONMENT,
    BD_CONFIG_FROM_FLAG,
} bd_config_source;

/* Where a value, or an item of a LIST, was set: "/etc/burnd/burnd.conf:7", "--listen"; "" by us. */
typedef struct bd_config_place {
    const char *key;
    char *own_text;
} bd_config_place;

typedef struct bd_config {
#define KEY(kind, when, key, initial, least, most, choices, says) BD_CONFIG_##kind key;
#include "server/config.def"
    struct {
#define KEY(kind, when, key, initial, least, most, choices, says) uint8_t key;
#include "server/config.def"
    } source; /* bd_config_source of each key */
    BD_VEC(bd_config_place) places;
    char place[BD_CONFIG_PLACE_BYTES]; /* of what is read now */
} bd_config;

void bd_config_init(bd_config *config); /* defaults */
void bd_config_deinit(bd_config *config);

/* NOT_FOUND, with the nearest known key. */
bd_error *bd_config_check_key(const char *key) BD_MUST_USE;
/* Sets a key from text, which stands at config->place. A value from a stronger source replaces;
 * from the same source it replaces too, but a LIST grows; from a weaker one it is checked and
 * dropped.
 * Errors: NOT_FOUND for an unknown key, with the nearest known one; INVALID for a value. */
bd_error *bd_config_set(bd_config *config, const char *key, const char *text,
                        bd_config_source source) BD_MUST_USE;

/* An error of a value (of a LIST: of that item) that was found wrong later says where it stands. */
bd_error *bd_config_blame(const bd_config *config, const char *key, size_t index,
                          bd_error *own_error) BD_MUST_USE;
/* The same for that of the keys, separated by blanks, whose name begins the error; NULL is fine. */
bd_error *bd_config_blame_one(const bd_config *config, const char *names,
                              bd_error *own_error) BD_MUST_USE;

/* Text as the value of a key that holds a number, in its unit. NOT_FOUND, INVALID. */
bd_error *bd_config_number(const char *key, const char *text, int64_t *out) BD_MUST_USE;

/* Whether a new value counts from the next start on only, not from a reload. */
bool bd_config_needs_restart(const char *key);
/* The key's value becomes that of from. True if it was another one. */
bool bd_config_keep(bd_config *config, const bd_config *from, const char *key);

/* A file of "key = value" lines. Errors: NOT_FOUND if it cannot be read; "file:line: …"

 * otherwise. */
bd_error *bd_config_read_file(bd_config *config, const char *path) BD_MUST_USE;
/* burnd.conf and conf.d/ *.conf of a folder, in alphabetical order; what is missing, or in a folder
 * that this user may not look into, is skipped. */
bd_error *bd_config_read_folder(bd_config *config, const char *folder) BD_MUST_USE;
/* BURND_<KEY>; those of a LIST are separated by blanks. An unknown BURND_ name is an error. */
bd_error *bd_config_read_environment(bd_config *config, char *const *environment) BD_MUST_USE;

/* As a file that bd_config_read_file takes, with the meaning of each key as a comment. */
void bd_config_print(const bd_config *config, FILE *file);
/* One line a key, for --help. */
void bd_config_print_flags(FILE *file);

/* Text of one key's value; index counts the keys. False past the last. Heap; bd_free. */
int bd_config_at(const bd_config *config, int index, const char **out_key, char **out_text);
