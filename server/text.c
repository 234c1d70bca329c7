/* SPDX-License-Identifier: Apache-2.0 */
#include "server/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "proto/base/alloc.h"

void bd_text_put(bd_text_buffer *buffer, const char *text, size_t size)
{
    if (buffer->capacity - buffer->used < size + 1) {
        buffer->capacity = (buffer->used + size + 1) * 2;
        buffer->text = bd_realloc(buffer->text, buffer->capacity);
    }
    memcpy(buffer->text + buffer->used, text, size);
    buffer->used += size;
    buffer->text[buffer->used] = '\0';
}

void bd_text_print(bd_text_buffer *buffer, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    bd_text_put(buffer, text, (size_t)size < sizeof text ? (size_t)size : sizeof text - 1);
}

char *bd_text_take(bd_text_buffer *buffer, size_t *out_bytes)
{
    bd_text_put(buffer, "", 0);
    char *text = buffer->text;
    *out_bytes = buffer->used;
    *buffer = (bd_text_buffer){0};
    return text;
}
