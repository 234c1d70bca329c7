/* SPDX-License-Identifier: Apache-2.0 */
#include "client/core/fifo.h"

#include <string.h>

#include "proto/base/alloc.h"
#include "proto/base/assert.h"

enum { KEEP_BYTES = 1024 * 1024 }; /* more than this is given back when the queue runs empty */

void bd_fifo_deinit(bd_fifo *fifo)
{
    bd_free(fifo->bytes);
    *fifo = (bd_fifo){0};
}

uint8_t *bd_fifo_reserve(bd_fifo *fifo, size_t size_bytes)
{
    if (fifo->capacity - fifo->used >= size_bytes)
        return fifo->bytes + fifo->used;
    size_t count = bd_fifo_count(fifo);
    if (fifo->capacity >= count + size_bytes && fifo->head >= count) {
        memcpy(fifo->bytes, fifo->bytes + fifo->head, count);
    } else {
        size_t capacity = fifo->capacity ? fifo->capacity : 4096;
        while (capacity < count + size_bytes)
            capacity *= 2;
        uint8_t *bytes = bd_alloc(capacity);
        if (count > 0)
            memcpy(bytes, fifo->bytes + fifo->head, count);
        bd_free(fifo->bytes);
        fifo->bytes = bytes;
        fifo->capacity = capacity;
    }
    fifo->head = 0;
    fifo->used = count;
    return fifo->bytes + fifo->used;
}

void bd_fifo_commit(bd_fifo *fifo, size_t size_bytes)
{
    BD_ASSERT(fifo->capacity - fifo->used >= size_bytes);
    fifo->used += size_bytes;
}

void bd_fifo_consume(bd_fifo *fifo, size_t size_bytes)
{
    BD_ASSERT(bd_fifo_count(fifo) >= size_bytes);
    fifo->head += size_bytes;
    if (fifo->head < fifo->used)
        return;
    fifo->head = fifo->used = 0;
    if (fifo->capacity > KEEP_BYTES)
        bd_fifo_deinit(fifo);
}
