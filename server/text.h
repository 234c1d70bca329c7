/* SPDX-License-Identifier: Apache-2.0
 * Text that grows. Zero-initialise it; take it with bd_text_take. Thread: any one. */
#pragma once

#include <stddef.h>

#include "proto/base/attr.h"

typedef struct bd_text_buffer {
    char *text;
    size_t used, capacity;
} bd_text_buffer;

void bd_text_put(bd_text_buffer *buffer, const char *text, size_t size);
void bd_text_print(bd_text_buffer *buffer, const char *format, ...) BD_PRINTF(2, 3);
/* Terminated; heap, bd_free. */
char *bd_text_take(bd_text_buffer *buffer, size_t *out_bytes);
