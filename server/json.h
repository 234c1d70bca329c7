/* SPDX-License-Identifier: Apache-2.0
 * Writes JSON text. Zero-initialise it; take the text with bd_json_take. Thread: any one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/text.h"

typedef struct bd_json {
    bd_text_buffer out;
    bool comma;
} bd_json;

/* key is NULL for the outermost value and within an array. */
void bd_json_begin_object(bd_json *json, const char *key);
void bd_json_end_object(bd_json *json);
void bd_json_begin_array(bd_json *json, const char *key);
void bd_json_end_array(bd_json *json);
void bd_json_uint(bd_json *json, const char *key, uint64_t value);
void bd_json_bool(bd_json *json, const char *key, bool value);
void bd_json_text(bd_json *json, const char *key, const char *value);
/* Text that is JSON already. */
void bd_json_raw(bd_json *json, const char *key, const char *value);
/* Terminated; heap, bd_free. */
char *bd_json_take(bd_json *json, size_t *out_bytes);
