/* SPDX-License-Identifier: Apache-2.0
 * The one error type, from a driver call to a client's exception.
 * A function that can fail returns bd_error *: NULL is success, anything else is owned by the
 * caller, who passes it up, turns it into a reply or frees it. Results go through out_ parameters,
 * which are untouched on failure. Errors are counted and immutable once shared: bd_error_retain
 * lets a poisoned tensor keep the original. Thread: any (the count is atomic).
 * Making an error cannot fail: without memory a static NO_MEMORY error is returned. */
#pragma once

#include <stdint.h>

#include "proto/base/attr.h"

typedef struct bd_error bd_error;

typedef enum bd_code {
#define CODE(name, number, retry, meaning) BD_CODE_##name = number,
#include "proto/base/codes.def"
} bd_code;

enum { BD_CODE_COUNT = 16, BD_ERROR_TEXT_MAX = 512 };

/* "INVALID" and so on; "UNKNOWN" outside the list. */
const char *bd_code_name(bd_code code);
int bd_code_retryable(bd_code code);

bd_error *bd_error_make(bd_code code, const char *file, int line, const char *format, ...)
    BD_PRINTF(4, 5) BD_MUST_USE;
/* Puts "note: " in front of the text. Consumes own_error and returns the error to pass on. */
bd_error *bd_error_note(bd_error *own_error, const char *format, ...) BD_PRINTF(2, 3) BD_MUST_USE;
bd_error *bd_error_retain(bd_error *error) BD_MUST_USE;
void bd_error_free(bd_error *error);

bd_code bd_error_code(const bd_error *error);     /* BD_CODE_OK for NULL */
const char *bd_error_text(const bd_error *error); /* "" for NULL */
const char *bd_error_file(const bd_error *error);
int bd_error_line(const bd_error *error);
/* Number of the op within its session that failed, counted from 1; 0 if it was no op. */
uint64_t bd_error_op_index(const bd_error *error);
void bd_error_set_op_index(bd_error *error, uint64_t op_index);

#define BD_ERROR(code, ...) bd_error_make(BD_CODE_##code, __FILE__, __LINE__, __VA_ARGS__)
#define BD_FAIL(code, ...) return BD_ERROR(code, __VA_ARGS__)
#define BD_TRY(expression)                                                                         \
    do {                                                                                           \
        bd_error *bd_try_error_ = (expression);                                                    \
        if (bd_try_error_)                                                                         \
            return bd_try_error_;                                                                  \
    } while (0)
#define BD_TRY_NOTE(expression, ...)                                                               \
    do {                                                                                           \
        bd_error *bd_try_error_ = (expression);                                                    \
        if (bd_try_error_)                                                                         \
            return bd_error_note(bd_try_error_, __VA_ARGS__);                                      \
    } while (0)
