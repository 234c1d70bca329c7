/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/span.h"

#include <string.h>

#include "proto/base/alloc.h"
#include "proto/base/assert.h"

enum {
    CLASS_BITS = 3, /* 8 classes a doubling */
    CLASSES = 1 << CLASS_BITS,
    LEVELS = 48,
    LOOKS_MAX = 16, /* spans of a class that are tried before a larger class is */
    SLAB_BYTES_MIN = 4 << 20,
    SLAB_BYTES_MAX = 32 << 20,
    SLAB_GRAIN = 2 << 20,
    HEADROOM_BYTES = 128 << 20, /* left to bookkeeping and to the compiler */
    PAGE = 4096,
};

struct bd_slab {
    bd_slab *next, *previous;
    void *memory;
    size_t size_bytes;
    bd_span *first;
};

struct bd_spans {
    bd_error *(*alloc)(bd_device *device, size_t size_bytes, void **out);
    bd_error *(*clear)(bd_device *device, void *memory, size_t size_bytes); /* NULL: the host */
    void (*free_slab)(bd_device *device, void *memory, size_t size_bytes);
    bd_device *device;
    bool zeroed; /* new slabs are */
    bd_slab *slabs;
    size_t slab_bytes;
    uint64_t levels;         /* bit: a class of the level has a span */
    uint8_t classes[LEVELS]; /* bit: the class has a span */
    bd_span *free[LEVELS][CLASSES];
    bd_span *unused; /* descriptors, linked by next_free */
};

bd_spans *bd_spans_create(const bd_device_ops *ops, bd_device *device, bool for_host)
{
    bd_spans *spans = bd_alloc_zeroed(sizeof *spans);
    bool two_kinds = for_host && ops->host_alloc;
    spans->alloc = two_kinds ? ops->host_alloc : ops->alloc;
    spans->clear = two_kinds ? NULL : ops->clear;
    spans->free_slab = two_kinds ? ops->host_free : ops->free;
    spans->device = device;
    spans->zeroed = !ops->clear;
    return spans;
}

static void drop_slab(bd_spans *spans, bd_slab *slab)
{
    spans->free_slab(spans->device, slab->memory, slab->size_bytes);
    spans->slab_bytes -= slab->size_bytes;
    if (slab->previous)
        slab->previous->next = slab->next;
    else
        spans->slabs = slab->next;
    if (slab->next)
        slab->next->previous = slab->previous;
    bd_free(slab);
}

void bd_spans_destroy(bd_spans *spans)
{
    if (!spans)
        return;
    while (spans->slabs) {
        for (bd_span *span = spans->slabs->first; span;) {
            bd_span *after = span->after;
            bd_free(span);
            span = after;
        }
        drop_slab(spans, spans->slabs);
    }
    for (bd_span *span = spans->unused; span;) {
        bd_span *next = span->next_free;
        bd_free(span);
        span = next;
    }
    bd_free(spans);
}

/* The class that a span of this size lies in. */
static void class_of(size_t size_bytes, unsigned *out_level, unsigned *out_class)
{
    uint64_t units = size_bytes / BD_SPAN_ALIGNMENT;
    if (units < CLASSES) {
        *out_level = 0;
        *out_class = (unsigned)units;
        return;
    }
    unsigned top = 63u - (unsigned)__builtin_clzll(units);
    *out_level = top - CLASS_BITS + 1;
    *out_class = (unsigned)(units >> (top - CLASS_BITS)) & (CLASSES - 1);
    BD_ASSERT(*out_level < LEVELS);
}

static void link_free(bd_spans *spans, bd_span *span)
{
    unsigned level, class;
    class_of(span->size_bytes, &level, &class);
    bd_span *head = spans->free[level][class];
    span->is_free = true;
    span->previous_free = NULL;
    span->next_free = head;
    if (head)
        head->previous_free = span;
    spans->free[level][class] = span;
    spans->levels |= 1ull << level;
    spans->classes[level] = (uint8_t)(spans->classes[level] | 1u << class);
}

static void unlink_free(bd_spans *spans, bd_span *span)
{
    unsigned level, class;
    class_of(span->size_bytes, &level, &class);
    if (span->previous_free)
        span->previous_free->next_free = span->next_free;
    else
        spans->free[level][class] = span->next_free;
    if (span->next_free)
        span->next_free->previous_free = span->previous_free;
    if (!spans->free[level][class]) {
        spans->classes[level] = (uint8_t)(spans->classes[level] & ~(1u << class));
        if (!spans->classes[level])
            spans->levels &= ~(1ull << level);
    }
    span->is_free = false;
    span->previous_free = span->next_free = NULL;
}

static bd_span *new_span(bd_spans *spans)
{
    bd_span *span = spans->unused;
    if (span)
        spans->unused = span->next_free;
    else
        span = bd_alloc(sizeof *span);
    *span = (bd_span){0};
    return span;
}

static void forget_span(bd_spans *spans, bd_span *span)
{
    span->next_free = spans->unused;
    spans->unused = span;
}

bool bd_span_is_foreign(const bd_span *span, uint64_t principal)
{
    return span->principal != BD_SPAN_NOBODYS && span->principal != principal;
}

static bd_span *look(bd_span *list, const bd_span_wish *wish)
{
    int looks = LOOKS_MAX;
    for (bd_span *span = list; span && looks > 0; span = span->next_free, looks--) {
        bool foreign = bd_span_is_foreign(span, wish->principal);
        if (span->size_bytes >= wish->size_bytes &&
            span->last_use <= (foreign ? wish->completed : wish->own_completed))
            return span;
    }
    return NULL;
}

static bd_span *find(bd_spans *spans, const bd_span_wish *wish)
{
    unsigned level, class;
    class_of(wish->size_bytes, &level, &class);
    for (; level < LEVELS; level++, class = 0) {
        uint64_t higher = spans->levels >> level;
        if (!higher)
            return NULL;
        unsigned skip = (unsigned)__builtin_ctzll(higher);
        if (skip) {
            level += skip;
            class = 0;
        }
        for (unsigned left = (unsigned)spans->classes[level] >> class << class; left;
             left &= left - 1) {
            bd_span *span = look(spans->free[level][__builtin_ctz(left)], wish);
            if (span)
                return span;
        }
    }
    return NULL;
}

/* Once and whole: a piece left as it was would make what it joins later another's. */
static bd_error *make_nobodys(const bd_spans *spans, void *memory, size_t size_bytes)
{
    if (spans->zeroed)
        return NULL;
    if (spans->clear)
        return spans->clear(spans->device, memory, size_bytes);
    memset(memory, 0, size_bytes);
    return NULL;
}

static bd_error *add_slab(bd_spans *spans, size_t size_bytes, bd_span **out)
{
    size_t slab_bytes = spans->slab_bytes / 4;
    if (slab_bytes > SLAB_BYTES_MAX)
        slab_bytes = SLAB_BYTES_MAX;
    if (slab_bytes < SLAB_BYTES_MIN)
        slab_bytes = SLAB_BYTES_MIN;
    if (slab_bytes < size_bytes)
        slab_bytes = size_bytes;
    slab_bytes = (slab_bytes + SLAB_GRAIN - 1) / SLAB_GRAIN * SLAB_GRAIN;
    void *memory = NULL;
    BD_TRY(spans->alloc(spans->device, slab_bytes, &memory));
    bd_error *error = NULL;
    if (!bd_alloc_keep_reserve() || !bd_alloc_is_left(HEADROOM_BYTES))
        error = BD_ERROR(NO_MEMORY, "the process has no memory left for %zu bytes", slab_bytes);
    else
        error = make_nobodys(spans, memory, slab_bytes);
    if (error) {
        spans->free_slab(spans->device, memory, slab_bytes);
        return error;
    }
    bd_slab *slab = bd_alloc(sizeof *slab);
    *slab = (bd_slab){.next = spans->slabs, .memory = memory, .size_bytes = slab_bytes};
    if (spans->slabs)
        spans->slabs->previous = slab;
    spans->slabs = slab;
    spans->slab_bytes += slab_bytes;
    bd_span *span = new_span(spans);
    span->slab = slab;
    span->size_bytes = slab_bytes;
    span->principal = BD_SPAN_NOBODYS;
    slab->first = span;
    link_free(spans, span);
    *out = span;
    return NULL;
}

/* The span keeps the first size_bytes, the rest becomes a free span. */
static void split(bd_spans *spans, bd_span *span, size_t size_bytes)
{
    if (span->size_bytes - size_bytes < BD_SPAN_ALIGNMENT)
        return;
    bd_span *rest = new_span(spans);
    rest->slab = span->slab;
    rest->offset_bytes = span->offset_bytes + size_bytes;
    rest->size_bytes = span->size_bytes - size_bytes;
    rest->last_use = span->last_use;
    rest->principal = span->principal;
    rest->before = span;
    rest->after = span->after;
    if (rest->after)
        rest->after->before = rest;
    span->after = rest;
    span->size_bytes = size_bytes;
    link_free(spans, rest);
}

/* Neither is in a list; right is what follows left. */
static void merge(bd_spans *spans, bd_span *left, bd_span *right)
{
    left->size_bytes += right->size_bytes;
    left->after = right->after;
    if (left->after)
        left->after->before = left;
    if (right->last_use > left->last_use)
        left->last_use = right->last_use;
    if (left->principal == BD_SPAN_NOBODYS)
        left->principal = right->principal;
    else if (bd_span_is_foreign(right, left->principal))
        left->principal = BD_SPAN_MIXED;
    forget_span(spans, right);
}

void bd_spans_give(bd_spans *spans, bd_span *own_span, uint64_t last_use)
{
    BD_ASSERT(!own_span->is_free);
    bd_span *span = own_span;
    span->last_use = last_use;
    if (span->after && span->after->is_free) {
        unlink_free(spans, span->after);
        merge(spans, span, span->after);
    }
    if (span->before && span->before->is_free) {
        bd_span *before = span->before;
        unlink_free(spans, before);
        merge(spans, before, span);
        span = before;
    }
    link_free(spans, span);
}

void *bd_span_bytes(const bd_span *span)
{
    return (char *)span->slab->memory + span->offset_bytes;
}

void bd_spans_trim(bd_spans *spans, uint64_t completed)
{
    for (bd_slab *slab = spans->slabs; slab;) {
        bd_slab *next = slab->next;
        bd_span *span = slab->first;
        if (span->is_free && !span->after && span->last_use <= completed) {
            unlink_free(spans, span);
            forget_span(spans, span);
            drop_slab(spans, slab);
        }
        slab = next;
    }
}

bd_error *bd_spans_take(bd_spans *spans, const bd_span_wish *wish, bd_span **out)
{
    size_t size_bytes = wish->size_bytes;
    size_t grain = size_bytes >= SLAB_GRAIN / 2 ? PAGE : BD_SPAN_ALIGNMENT;
    if (!bd_size_add(size_bytes ? size_bytes : 1, grain - 1, &size_bytes) || size_bytes >> 48)
        BD_FAIL(NO_MEMORY, "no device has this much memory");
    size_bytes = size_bytes / grain * grain;
    bd_span_wish rounded = *wish;
    rounded.size_bytes = size_bytes;
    bd_span *span = find(spans, &rounded);
    if (!span) { /* slabs that are free and too small have had their time */
        bd_spans_trim(spans, wish->all_completed);
        BD_TRY(add_slab(spans, size_bytes, &span));
    }
    unlink_free(spans, span);
    split(spans, span, size_bytes);
    *out = span;
    return NULL;
}

size_t bd_spans_slab_bytes(const bd_spans *spans)
{
    return spans->slab_bytes;
}
