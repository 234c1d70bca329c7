/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/cfamily/text.h"

#include <stdarg.h>
#include <stdio.h>

#include "proto/base/alloc.h"

void bd_text_add(bd_text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    size_t needed = text->count + (size_t)size + 1;
    if (needed > text->room) {
        text->room = needed * 2;
        text->bytes = bd_realloc(text->bytes, text->room);
    }
    va_start(arguments, format);
    vsnprintf(text->bytes + text->count, (size_t)size + 1, format, arguments);
    va_end(arguments);
    text->count += (size_t)size;
}
