/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/base/error.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "proto/base/alloc.h"
#include "proto/base/utf8.h"

struct bd_error {
    atomic_int count;
    bd_code code;
    const char *file;
    int line;
    uint64_t op_index;
    const char *text; /* behind the struct: a client can make many errors last */
};

/* Shared, never freed: what is returned when an error cannot be made. */
static bd_error out_of_memory = {.count = 1,
                                 .code = BD_CODE_NO_MEMORY,
                                 .file = __FILE__,
                                 .text = "out of host memory"};

static const struct {
    const char *name;
    int retry;
} codes[BD_CODE_COUNT] = {
#define CODE(name, number, retry, meaning) [number] = {#name, retry},
#include "proto/base/codes.def"
};

const char *bd_code_name(bd_code code)
{
    return (unsigned)code < BD_CODE_COUNT ? codes[code].name : "UNKNOWN";
}

int bd_code_retryable(bd_code code)
{
    return (unsigned)code < BD_CODE_COUNT ? codes[code].retry : 0;
}

bd_error *bd_error_make(bd_code code, const char *file, int line, const char *format, ...)
{
    char text[BD_ERROR_TEXT_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    bd_utf8_mend(text);
    size_t text_bytes = strlen(text) + 1;
    bd_error *error = bd_try_alloc(sizeof *error + text_bytes);
    if (!error)
        return &out_of_memory;
    atomic_init(&error->count, 1);
    error->code = code;
    error->file = file;
    error->line = line;
    error->op_index = 0;
    error->text = memcpy(error + 1, text, text_bytes);
    return error;
}

bd_error *bd_error_note(bd_error *own_error, const char *format, ...)
{
    if (!own_error || own_error == &out_of_memory)
        return own_error;
    char note[BD_ERROR_TEXT_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(note, sizeof note, format, arguments);
    va_end(arguments);
    bd_error *error = bd_error_make(own_error->code, own_error->file, own_error->line, "%s: %s",
                                    note, own_error->text);
    if (error != &out_of_memory)
        error->op_index = own_error->op_index;
    bd_error_free(own_error);
    return error;
}

bd_error *bd_error_retain(bd_error *error)
{
    if (error && error != &out_of_memory)
        atomic_fetch_add_explicit(&error->count, 1, memory_order_relaxed);
    return error;
}

void bd_error_free(bd_error *error)
{
    if (!error || error == &out_of_memory)
        return;
    if (atomic_fetch_sub_explicit(&error->count, 1, memory_order_acq_rel) == 1)
        bd_free(error);
}

bd_code bd_error_code(const bd_error *error)
{
    return error ? error->code : BD_CODE_OK;
}

const char *bd_error_text(const bd_error *error)
{
    return error ? error->text : "";
}

const char *bd_error_file(const bd_error *error)
{
    return error ? error->file : "";
}

int bd_error_line(const bd_error *error)
{
    return error ? error->line : 0;
}

uint64_t bd_error_op_index(const bd_error *error)
{
    return error ? error->op_index : 0;
}

void bd_error_set_op_index(bd_error *error, uint64_t op_index)
{
    if (error && error != &out_of_memory)
        error->op_index = op_index;
}
