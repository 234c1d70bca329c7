/* SPDX-License-Identifier: Apache-2.0
 * Memory shared with the daemon: regions that users allocate, and one of slots through which other
 * large memory goes. Regions are pooled: a fresh one costs page faults on both sides.
 * The list is the process's, under a lock of its own, a leaf; the rest is the context's. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client/c/context.h"
#include "proto/base/alloc.h"
#include "proto/limits.h"

enum {
    SHARED_BYTES_MIN = 256 * 1024, /* less goes through the socket */
    SLOT_BYTES = BURN_CHUNK_BYTES_MAX,
    SLOTS = 8,
    ROUND_BYTES = 1 << 20,
    POOL_BYTES_MAX = 256 << 20, /* unused ones of a context */
};

struct bd_host_region {
    bd_host_region *next;
    burn_context *context; /* NULL: it was closed */
    uint64_t number;       /* at the daemon, once that has it; 0: it has not */
    int fd;                /* until then; -1: it is not shared */
    uint8_t *bytes;
    size_t size_bytes;
    bool in_use;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bd_host_region *regions;

/* ---- the list -------------------------------------------------------------------------------- */

static void destroy(bd_host_region *region)
{
    munmap(region->bytes, region->size_bytes);
    if (region->fd >= 0)
        close(region->fd);
    bd_free(region);
}

static void unlink_region(bd_host_region *region)
{
    bd_host_region **link = &regions;
    while (*link != region)
        link = &(*link)->next;
    *link = region->next;
}

/* A memfd sealed against everything but writing; without one the memory is the process's own. */
static int shared_memory(size_t size_bytes)
{
    int fd = memfd_create("burn-region", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -1;
    if (ftruncate(fd, (off_t)size_bytes) == 0 &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
        return fd;
    close(fd);
    return -1;
}

/* Whether the daemon takes regions and this is its own socket, which can pass descriptors: what it
 * says may have come through a proxy. */
static bool shares_memory(const burn_context *context)
{
    struct sockaddr_storage own;
    socklen_t size = sizeof own;
    return bd_client_get_facts(context->client)->regions &&
           getsockname(context->fd, (struct sockaddr *)&own, &size) == 0 &&
           own.ss_family == AF_UNIX;
}

static bd_host_region *create(burn_context *context, size_t size_bytes)
{
    bool shares = shares_memory(context);
    size_t rounded = (size_bytes + ROUND_BYTES - 1) / ROUND_BYTES * ROUND_BYTES;
    if (rounded < size_bytes)
        return NULL;
    int fd = shares ? shared_memory(rounded) : -1;
    void *bytes = mmap(NULL, rounded, PROT_READ | PROT_WRITE,
                       fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, fd, 0);
    if (bytes == MAP_FAILED) {
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    bd_host_region *region = bd_alloc(sizeof *region);
    *region = (bd_host_region){.context = context,
                               .fd = fd,
                               .bytes = bytes,
                               .size_bytes = rounded,
                               .in_use = true};
    pthread_mutex_lock(&lock);
    region->next = regions;
    regions = region;
    pthread_mutex_unlock(&lock);
    return region;
}

/* The region of the context that the bytes lie in, or NULL. */
static bd_host_region *around(const burn_context *context, const void *bytes, size_t size_bytes)
{
    uintptr_t begin = (uintptr_t)bytes;
    pthread_mutex_lock(&lock);
    bd_host_region *region = regions;
    while (region && (region->context != context || begin < (uintptr_t)region->bytes ||
                      begin - (uintptr_t)region->bytes > region->size_bytes ||
                      size_bytes > region->size_bytes - (begin - (uintptr_t)region->bytes)))
        region = region->next;
    pthread_mutex_unlock(&lock);
    return region;
}

/* An unused one that is not much too large; those beyond the pool's bound go. */
static bd_host_region *take_unused(burn_context *context, size_t size_bytes)
{
    bd_host_region *found = NULL, *excess = NULL;
    size_t unused_bytes = 0;
    pthread_mutex_lock(&lock);
    for (bd_host_region *region = regions, *next; region; region = next) {
        next = region->next;
        if (region->context != context || region->in_use)
            continue;
        if (!found && region->size_bytes >= size_bytes &&
            region->size_bytes / 2 <= size_bytes + ROUND_BYTES) {
            found = region;
            region->in_use = true;
        } else if ((unused_bytes += region->size_bytes) > POOL_BYTES_MAX) {
            unlink_region(region);
            region->next = excess;
            excess = region;
        }
    }
    pthread_mutex_unlock(&lock);
    while (excess) {
        bd_host_region *next = excess->next;
        if (excess->number)
            bd_client_region_drop(context->client, excess->number);
        destroy(excess);
        excess = next;
    }
    return found;
}

burn_status burn_alloc(burn_context *context, size_t size_bytes, void **out_memory)
{
    BD_ENTER(context, out_memory);
    bd_host_region *region = take_unused(context, size_bytes);
    if (!region)
        region = create(context, size_bytes ? size_bytes : 1);
    bd_leave(context);
    if (!region)
        return bd_finish(BD_ERROR(NO_MEMORY, "no memory for %zu bytes", size_bytes));
    *out_memory = region->bytes;
    return BURN_STATUS_OK;
}

void burn_dealloc(void *memory)
{
    if (!memory)
        return;
    pthread_mutex_lock(&lock);
    bd_host_region *region = regions;
    while (region && region->bytes != memory)
        region = region->next;
    bool orphaned = region && !region->context;
    if (orphaned)
        unlink_region(region);
    else if (region)
        region->in_use = false;
    pthread_mutex_unlock(&lock);
    if (orphaned)
        destroy(region);
}

void bd_region_close(burn_context *context)
{
    bd_host_region *unused = NULL;
    pthread_mutex_lock(&lock);
    for (bd_host_region *region = regions, *next; region; region = next) {
        next = region->next;
        if (region->context != context)
            continue;
        region->context = NULL;
        region->number = 0;
        if (region->in_use && region != context->slots)
            continue;
        unlink_region(region);
        region->next = unused;
        unused = region;
    }
    pthread_mutex_unlock(&lock);
    context->slots = NULL;
    while (unused) {
        bd_host_region *next = unused->next;
        destroy(unused);
        unused = next;
    }
}

/* ---- transfers ------------------------------------------------------------------------------- */

static bd_error *await_done(burn_context *context, bd_pending *pending)
{
    while (!pending->done)
        BD_TRY(bd_turn_whole(context));
    return NULL;
}

/* The daemon gets the region, if it has not got it. A refusal makes it unshared: *out_there. */
static bd_error *introduce(burn_context *context, bd_host_region *region, bool *out_there)
{
    *out_there = region->number != 0;
    if (region->number || region->fd < 0)
        return NULL;
    uint8_t head[BD_MESSAGE_FRAME_BYTES_MAX];
    bd_pending pending = {0};
    uint64_t number = ++context->next_region;
    size_t head_bytes = 0;
    while (!head_bytes) {
        BD_TRY(bd_client_failure(context->client));
        bd_client_flush(context->client);
        if (bd_client_backlog(context->client) == 0)
            head_bytes = bd_client_region_head(context->client, number, region->size_bytes,
                                               &pending, head);
        if (!head_bytes)
            BD_TRY(bd_turn_whole(context));
    }
    bd_error *error = bd_write_head(context, head, head_bytes, region->fd);
    if (!error)
        error = await_done(context, &pending);
    close(region->fd);
    region->fd = -1;
    *out_there = !error && !pending.error;
    if (*out_there)
        region->number = number;
    bd_error_free(pending.error);
    return error;
}

/* Slots for memory that lies elsewhere; NULL if there are none to be had. */
static bd_host_region *take_slots(burn_context *context)
{
    if (context->slots_busy)
        return NULL;
    if (!context->slots)
        context->slots = create(context, (size_t)SLOTS * SLOT_BYTES);
    if (context->slots)
        context->slots_busy = true;
    return context->slots;
}

static bd_error *send_span(burn_context *context, uint64_t id, uint64_t offset,
                           const bd_region_span *span, bd_pending *pending)
{
    uint8_t head[BD_MESSAGE_FRAME_BYTES_MAX];
    size_t head_bytes = 0;
    while (!head_bytes) {
        BD_TRY(bd_client_failure(context->client));
        if (bd_client_backlog(context->client) == 0)
            head_bytes =
                bd_client_put_region_head(context->client, id, offset, span, pending, head);
        if (!head_bytes)
            BD_TRY(bd_turn_whole(context));
    }
    return bd_write_head(context, head, head_bytes, -1);
}

/* `direct`: the bytes lie in the region; else each slot is filled again when it was copied. */
static bd_error *send_all(burn_context *context, bd_host_region *region, uint64_t id,
                          const uint8_t *bytes, size_t size_bytes, bool direct,
                          bd_pending pending[SLOTS])
{
    for (size_t offset = 0, i = 0; offset < size_bytes; offset += SLOT_BYTES, i++) {
        size_t left = size_bytes - offset, size = left < SLOT_BYTES ? left : SLOT_BYTES;
        bd_region_span span = {.region = region->number, .bytes = size};
        bd_pending *answer = left <= SLOT_BYTES ? &pending[0] : NULL;
        if (direct) {
            span.place = (uint64_t)(bytes - region->bytes) + offset;
        } else {
            answer = &pending[i % SLOTS];
            span.place = i % SLOTS * SLOT_BYTES;
            if (i >= SLOTS)
                BD_TRY(await_done(context, answer));
            bd_error_free(answer->error);
            memcpy(region->bytes + span.place, bytes + offset, size);
        }
        BD_TRY(send_span(context, id, offset, &span, answer));
    }
    for (int i = 0; i < SLOTS; i++)
        if (pending[i].request)
            BD_TRY(await_done(context, &pending[i]));
    return NULL;
}

bd_error *bd_region_put(burn_context *context, uint64_t id, const burn_tensor_type *type,
                        const void *bytes, size_t size_bytes, bool *out_done)
{
    *out_done = false;
    if (size_bytes < SHARED_BYTES_MIN || !shares_memory(context))
        return NULL;
    bd_host_region *region = around(context, bytes, size_bytes);
    bool direct = region != NULL, there = false;
    if (region)
        BD_TRY(introduce(context, region, &there));
    if (!there) {
        direct = false;
        region = take_slots(context);
        bd_error *error = region ? introduce(context, region, &there) : NULL;
        if (error || !there) {
            context->slots_busy &= !region;
            return error;
        }
    }
    bd_pending pending[SLOTS] = {{0}};
    bd_client_put_begin(context->client, id, type);
    bd_error *error = send_all(context, region, id, bytes, size_bytes, direct, pending);
    for (int i = 0; i < SLOTS; i++)
        bd_error_free(pending[i].error); /* the tensor is poisoned: a read or sync says why */
    if (!direct)
        context->slots_busy = false;
    *out_done = true;
    return error;
}

static bd_error *introduce_alone(burn_context *context, bd_host_region *region, bool *out_there)
{
    context->uploading = true;
    context->interrupted_us = 0;
    bd_error *error = introduce(context, region, out_there);
    context->uploading = false;
    pthread_cond_broadcast(&context->fed);
    return error;
}

/* What an interrupted answer still fills must not be used again. */
static void give_up_slots(burn_context *context)
{
    bd_host_region *slots = context->slots;
    if (!slots || context->closed)
        return;
    bd_client_region_drop(context->client, slots->number);
    pthread_mutex_lock(&lock);
    unlink_region(slots);
    pthread_mutex_unlock(&lock);
    destroy(slots);
    context->slots = NULL;
}

bd_error *bd_region_get(burn_context *context, uint64_t id, void *place, size_t size_bytes,
                        bool *out_done)
{
    *out_done = false;
    if (size_bytes < SHARED_BYTES_MIN || !shares_memory(context))
        return NULL;
    bd_pending pending = {0};
    size_t rounded = (size_bytes + SLOT_BYTES - 1) / SLOT_BYTES * SLOT_BYTES;
    bd_host_region *region = around(context, place, rounded);
    bool direct = region != NULL, there = false;
    if (region)
        BD_TRY(introduce_alone(context, region, &there));
    if (!there) {
        direct = false;
        region = take_slots(context);
        bd_error *error = region ? introduce_alone(context, region, &there) : NULL;
        if (error || !there) {
            context->slots_busy &= !region;
            return error;
        }
        pending.slots = region->bytes;
    }
    bd_region_span span = {
        .region = region->number,
        .place = direct ? (uint64_t)((uint8_t *)place - region->bytes) : 0,
        .bytes = direct ? rounded : (uint64_t)SLOTS * SLOT_BYTES};
    bd_client_get_region(context->client, id, &span, SLOT_BYTES, place, size_bytes, &pending);
    bd_error *error = bd_wait(context, &pending);
    if (!direct) {
        if (error)
            give_up_slots(context);
        context->slots_busy = false;
    }
    *out_done = true;
    return error;
}
