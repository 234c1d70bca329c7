/* SPDX-License-Identifier: Apache-2.0
 * Bounded queue of pointers between two threads. A message moves with all that it owns: after a
 * push the pusher no longer touches it. Thread: push and pop from any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct bd_queue bd_queue;

bd_queue *bd_queue_create(size_t capacity);
void bd_queue_destroy(bd_queue *queue); /* what is left inside is not freed */
/* False when full or closed. */
bool bd_queue_push(bd_queue *queue, void *own_item);
/* NULL when empty. */
void *bd_queue_try_pop(bd_queue *queue);
/* Waits; timeout_us < 0 is for ever. NULL on time-out, or when closed and empty. */
void *bd_queue_pop(bd_queue *queue, int64_t timeout_us);
void bd_queue_close(bd_queue *queue);
bool bd_queue_closed(bd_queue *queue);
/* Wakes a waiting bd_queue_pop, which then returns NULL. */
void bd_queue_wake(bd_queue *queue);
size_t bd_queue_count(bd_queue *queue);
