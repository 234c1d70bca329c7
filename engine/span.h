/* SPDX-License-Identifier: Apache-2.0
 * Spans: pieces of large slabs of device memory, found by size class and joined with their free
 * neighbours when given back (two-level segregated fit, with its books outside the device memory).
 * Slabs stay mapped when spans are freed; bd_spans_trim returns those that are wholly free.
 *
 * Reuse is ordered by submissions: a span freed after submission n was handed to the device may be
 * written at once by submissions after n, but by the host only when n has completed.
 * Not locked: engine/memory.c holds the lock. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/backend.h"
#include "proto/base/error.h"

typedef struct bd_slab bd_slab;

typedef struct bd_span {
    bd_slab *slab;
    size_t offset_bytes, size_bytes;
    struct bd_span *before, *after; /* neighbours within the slab */
    struct bd_span *previous_free, *next_free;
    uint64_t last_use; /* free ones: submissions up to this one may still touch it */
    uint64_t principal; /* whose bytes it holds; NOBODYS: zeros, MIXED: of several or unknown */
    bool is_free;
} bd_span;

typedef struct bd_spans bd_spans;

enum { BD_SPAN_ALIGNMENT = 64 };
#define BD_SPAN_NOBODYS ((uint64_t)0)
#define BD_SPAN_MIXED UINT64_MAX

/* for_host: of memory that the host touches, where the device has two kinds. */
bd_spans *bd_spans_create(const bd_device_ops *ops, bd_device *device, bool for_host);
void bd_spans_destroy(bd_spans *spans); /* frees all slabs, whoever still uses them */
/* What a span must be: its last use is at most `completed`, or `own_completed` if it needs no
 * clearing for this principal (UINT64_MAX: any). Submissions up to all_completed are done. */
typedef struct bd_span_wish {
    size_t size_bytes; /* at least */
    uint64_t principal, completed, own_completed, all_completed;
} bd_span_wish;
/* NO_MEMORY if the device has none. Before the pool grows it is trimmed. The span's principal is
 * still that of before. */
bd_error *bd_spans_take(bd_spans *spans, const bd_span_wish *wish, bd_span **out) BD_MUST_USE;
/* Whether a span has bytes that another principal must not see. */
bool bd_span_is_foreign(const bd_span *span, uint64_t principal);
void bd_spans_give(bd_spans *spans, bd_span *own_span, uint64_t last_use);
void *bd_span_bytes(const bd_span *span);
/* Gives slabs back to the device that are free and used by no submission after `completed`. */
void bd_spans_trim(bd_spans *spans, uint64_t completed);
size_t bd_spans_slab_bytes(const bd_spans *spans); /* held from the device */
