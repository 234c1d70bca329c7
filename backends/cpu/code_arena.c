/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/cpu/code_arena.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "proto/base/alloc.h"
#include "proto/base/vec.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

enum { CHUNK_BYTES = 16 << 20, GRAIN = 64 };

struct range {
    size_t offset, size;
};

struct chunk {
    uint8_t *write, *run;
    size_t size;
    BD_VEC(struct range) free; /* by offset */
    struct chunk *next;
};

struct bd_code_arena {
    pthread_mutex_t lock;
    struct chunk *chunks;
    uint64_t used_bytes;
};

bd_error *bd_code_arena_create(bd_code_arena **out)
{
    bd_code_arena *arena = bd_alloc_zeroed(sizeof *arena);
    pthread_mutex_init(&arena->lock, NULL);
    *out = arena;
    return NULL;
}

void bd_code_arena_destroy(bd_code_arena *arena)
{
    if (!arena)
        return;
    for (struct chunk *chunk = arena->chunks, *next; chunk; chunk = next) {
        next = chunk->next;
        munmap(chunk->write, chunk->size);
        munmap(chunk->run, chunk->size);
        bd_vec_deinit(&chunk->free);
        bd_free(chunk);
    }
    pthread_mutex_destroy(&arena->lock);
    bd_free(arena);
}

uint64_t bd_code_arena_bytes(bd_code_arena *arena)
{
    pthread_mutex_lock(&arena->lock);
    uint64_t bytes = arena->used_bytes;
    pthread_mutex_unlock(&arena->lock);
    return bytes;
}

static bd_error *map_chunk(size_t size, struct chunk **out)
{
    int fd = memfd_create("burn-code", MFD_CLOEXEC | MFD_EXEC);
    if (fd < 0)
        fd = memfd_create("burn-code", MFD_CLOEXEC);
    if (fd < 0)
        BD_FAIL(DEVICE, "memory for code: memfd_create: %s", strerror(errno));
    void *write = MAP_FAILED, *run = MAP_FAILED;
    if (ftruncate(fd, (off_t)size) == 0) {
        write = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        run = mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
    }
    int reason = errno;
    close(fd);
    if (write == MAP_FAILED || run == MAP_FAILED) {
        if (write != MAP_FAILED)
            munmap(write, size);
        if (run != MAP_FAILED)
            munmap(run, size);
        BD_FAIL(DEVICE, "memory for code: %s", strerror(reason));
    }
    struct chunk *chunk = bd_alloc_zeroed(sizeof *chunk);
    chunk->write = write;
    chunk->run = run;
    chunk->size = size;
    *bd_vec_push(&chunk->free) = (struct range){0, size};
    *out = chunk;
    return NULL;
}

static bool take_from(struct chunk *chunk, size_t size, bd_code_block *out)
{
    for (size_t i = 0; i < chunk->free.count; i++) {
        struct range *range = &chunk->free.items[i];
        if (range->size < size)
            continue;
        out->write = chunk->write + range->offset;
        out->run = chunk->run + range->offset;
        range->offset += size;
        range->size -= size;
        if (range->size == 0) {
            memmove(range, range + 1, (chunk->free.count - i - 1) * sizeof *range);
            chunk->free.count--;
        }
        return true;
    }
    return false;
}

bd_error *bd_code_arena_take(bd_code_arena *arena, size_t size, bd_code_block *out)
{
    size = (size + GRAIN - 1) & ~(size_t)(GRAIN - 1);
    bd_code_block block = {.arena = arena, .size = size};
    pthread_mutex_lock(&arena->lock);
    struct chunk *chunk = arena->chunks;
    while (chunk && !take_from(chunk, size, &block))
        chunk = chunk->next;
    bd_error *err = NULL;
    if (!chunk) {
        err = map_chunk(size > CHUNK_BYTES ? size : CHUNK_BYTES, &chunk);
        if (!err) {
            chunk->next = arena->chunks;
            arena->chunks = chunk;
            take_from(chunk, size, &block);
        }
    }
    if (!err)
        arena->used_bytes += size;
    pthread_mutex_unlock(&arena->lock);
    if (!err)
        *out = block;
    return err;
}

static void give_to(struct chunk *chunk, struct range given)
{
    size_t at = 0;
    while (at < chunk->free.count && chunk->free.items[at].offset < given.offset)
        at++;
    (void)bd_vec_push(&chunk->free);
    struct range *ranges = chunk->free.items;
    memmove(ranges + at + 1, ranges + at, (chunk->free.count - 1 - at) * sizeof *ranges);
    ranges[at] = given;
    if (at + 1 < chunk->free.count && given.offset + given.size == ranges[at + 1].offset) {
        ranges[at].size += ranges[at + 1].size;
        memmove(ranges + at + 1, ranges + at + 2, (chunk->free.count - at - 2) * sizeof *ranges);
        chunk->free.count--;
    }
    if (at > 0 && ranges[at - 1].offset + ranges[at - 1].size == given.offset) {
        ranges[at - 1].size += ranges[at].size;
        memmove(ranges + at, ranges + at + 1, (chunk->free.count - at - 1) * sizeof *ranges);
        chunk->free.count--;
    }
}

void bd_code_arena_give(const bd_code_block *block)
{
    bd_code_arena *arena = block->arena;
    pthread_mutex_lock(&arena->lock);
    for (struct chunk *chunk = arena->chunks; chunk; chunk = chunk->next) {
        if (block->run < chunk->run || block->run >= chunk->run + chunk->size)
            continue;
        give_to(chunk, (struct range){(size_t)(block->run - chunk->run), block->size});
        arena->used_bytes -= block->size;
        break;
    }
    pthread_mutex_unlock(&arena->lock);
}
