/* SPDX-License-Identifier: Apache-2.0
 * One connection as JavaScript drives it: an instance of this module is one session. JavaScript
 * writes arguments into `area`, calls an export, and reads further results from `results`.
 * Exports are listed with their types in src/core.ts. Owner: the instance, which has one thread. */
#pragma once

#include <stdint.h>

#include "client/core/tensor.h"

#define JS_EXPORT(name) __attribute__((export_name(#name))) js_##name

typedef struct js_words {
    uint32_t words[4];
    double number;
} js_words;

typedef struct js_instance {
    bd_session *session;
    bd_client *client;
    uint8_t *area;
    uint32_t area_bytes;
    js_words results;
} js_instance;

extern js_instance instance; /* connection.c */

/* tensors.c: room for the tensors that a call gives; words[0] is where, words[1] how many. */
burn_tensor **js_outputs_for(uint32_t count);
