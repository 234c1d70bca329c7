/* SPDX-License-Identifier: Apache-2.0
 * <stdio.h> as far as client/core and proto need it (format.c). */
#pragma once

#include <stdarg.h>
#include <stddef.h>

/* Knows %s, %.*s, %c, %d, %u, %x and %%, with the lengths l, ll and z, and widths. */
int vsnprintf(char *text, size_t capacity, const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));
int snprintf(char *text, size_t capacity, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
