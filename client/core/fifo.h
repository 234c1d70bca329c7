/* SPDX-License-Identifier: Apache-2.0
 * A growing byte queue: written at the end, consumed at the front. Owned by one thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct bd_fifo {
    uint8_t *bytes;
    size_t head, used, capacity; /* the content is bytes[head .. used) */
} bd_fifo;

void bd_fifo_deinit(bd_fifo *fifo);
/* Room of at least `size_bytes` at the end; valid until the next call. */
uint8_t *bd_fifo_reserve(bd_fifo *fifo, size_t size_bytes);
void bd_fifo_commit(bd_fifo *fifo, size_t size_bytes);
void bd_fifo_consume(bd_fifo *fifo, size_t size_bytes);

static inline size_t bd_fifo_count(const bd_fifo *fifo)
{
    return fifo->used - fifo->head;
}
