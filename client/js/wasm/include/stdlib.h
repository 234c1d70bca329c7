/* SPDX-License-Identifier: Apache-2.0
 * <stdlib.h> as far as client/core and proto need it (memory.c). */
#pragma once

#include <stddef.h>

void *malloc(size_t size_bytes);
void *calloc(size_t count, size_t size_bytes);
void *realloc(void *block, size_t size_bytes);
void free(void *block);
