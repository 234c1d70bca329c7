/* SPDX-License-Identifier: Apache-2.0 */
#include "server/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void put(bd_json *json, const char *text, size_t size)
{
    bd_text_put(&json->out, text, size);
}

static void put_string(bd_json *json, const char *text)
{
    put(json, "\"", 1);
    for (; *text; text++) {
        unsigned char byte = (unsigned char)*text;
        char escaped[8];
        if (byte == '"' || byte == '\\') {
            put(json, (char[]){'\\', (char)byte}, 2);
        } else if (byte < 0x20) {
            snprintf(escaped, sizeof escaped, "\\u%04x", byte);
            put(json, escaped, 6);
        } else {
            put(json, text, 1);
        }
    }
    put(json, "\"", 1);
}

static void begin(bd_json *json, const char *key)
{
    if (json->comma)
        put(json, ",", 1);
    json->comma = true;
    if (key) {
        put_string(json, key);
        put(json, ":", 1);
    }
}

void bd_json_begin_object(bd_json *json, const char *key)
{
    begin(json, key);
    put(json, "{", 1);
    json->comma = false;
}

void bd_json_end_object(bd_json *json)
{
    put(json, "}", 1);
    json->comma = true;
}

void bd_json_begin_array(bd_json *json, const char *key)
{
    begin(json, key);
    put(json, "[", 1);
    json->comma = false;
}

void bd_json_end_array(bd_json *json)
{
    put(json, "]", 1);
    json->comma = true;
}

void bd_json_uint(bd_json *json, const char *key, uint64_t value)
{
    char text[24];
    begin(json, key);
    put(json, text, (size_t)snprintf(text, sizeof text, "%" PRIu64, value));
}

void bd_json_bool(bd_json *json, const char *key, bool value)
{
    begin(json, key);
    put(json, value ? "true" : "false", value ? 4 : 5);
}

void bd_json_text(bd_json *json, const char *key, const char *value)
{
    begin(json, key);
    put_string(json, value);
}

void bd_json_raw(bd_json *json, const char *key, const char *value)
{
    begin(json, key);
    put(json, value, strlen(value));
}

char *bd_json_take(bd_json *json, size_t *out_bytes)
{
    return bd_text_take(&json->out, out_bytes);
}
