/* SPDX-License-Identifier: Apache-2.0
 * <string.h> as far as client/core and proto need it (libc.c). */
#pragma once

#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t size_bytes);
void *memmove(void *to, const void *from, size_t size_bytes);
void *memset(void *to, int byte, size_t size_bytes);
int memcmp(const void *a, const void *b, size_t size_bytes);
void *memchr(const void *bytes, int byte, size_t size_bytes);
size_t strlen(const char *text);
int strcmp(const char *a, const char *b);
