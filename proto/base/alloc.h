/* SPDX-License-Identifier: Apache-2.0
 * The only callers of malloc. Thread: any.
 * bd_alloc and bd_realloc never return NULL for a size that fits: when the host has no memory for
 * small bookkeeping they take the reserve, and abort only when that is spent; bd_try_* return
 * NULL and are meant for sizes that a client chose. Sizes that come from outside are computed with
 * bd_size_mul / bd_size_add. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "proto/base/attr.h"

void *bd_alloc(size_t size_bytes);
void *bd_alloc_zeroed(size_t size_bytes);
void *bd_realloc(void *block, size_t size_bytes);
void *bd_try_alloc(size_t size_bytes);
void *bd_try_alloc_zeroed(size_t size_bytes);
void bd_free(void *block);
/* Sets a reserve aside for what must not fail, if there is none. False: it is spent and cannot be
 * had back now; then begin nothing new. */
bool bd_alloc_keep_reserve(void);
/* True if so much could be had now. Who hands out much memory asks whether enough is left for
 * what must not fail. */
bool bd_alloc_is_left(size_t size_bytes);
char *bd_strdup(const char *text);
/* Gives free memory back to the system, as far as the C library can. Takes milliseconds. */
void bd_alloc_trim(void);

/* False on overflow; out untouched then. */
BD_MUST_USE bool bd_size_mul(size_t a, size_t b, size_t *out);
BD_MUST_USE bool bd_size_add(size_t a, size_t b, size_t *out);
