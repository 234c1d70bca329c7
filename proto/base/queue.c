/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/base/queue.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "proto/base/alloc.h"
#include "proto/base/assert.h"

struct bd_queue {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t capacity, first, waiting;
    atomic_size_t count;
    bool closed, woken;
    void *items[];
};

bd_queue *bd_queue_create(size_t capacity)
{
    BD_ASSERT(capacity > 0);
    bd_queue *queue = bd_alloc_zeroed(sizeof *queue + capacity * sizeof(void *));
    queue->capacity = capacity;
    pthread_mutex_init(&queue->lock, NULL);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&queue->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    return queue;
}

void bd_queue_destroy(bd_queue *queue)
{
    if (!queue)
        return;
    pthread_mutex_destroy(&queue->lock);
    pthread_cond_destroy(&queue->changed);
    bd_free(queue);
}

bool bd_queue_push(bd_queue *queue, void *own_item)
{
    BD_ASSERT(own_item != NULL);
    pthread_mutex_lock(&queue->lock);
    size_t count = atomic_load_explicit(&queue->count, memory_order_relaxed);
    bool room = !queue->closed && count < queue->capacity;
    if (room) {
        queue->items[(queue->first + count) % queue->capacity] = own_item;
        atomic_store_explicit(&queue->count, count + 1, memory_order_release);
        if (queue->waiting)
            pthread_cond_signal(&queue->changed);
    }
    pthread_mutex_unlock(&queue->lock);
    return room;
}

static void *take(bd_queue *queue)
{
    size_t count = atomic_load_explicit(&queue->count, memory_order_relaxed);
    if (!count)
        return NULL;
    void *item = queue->items[queue->first];
    queue->first = (queue->first + 1) % queue->capacity;
    atomic_store_explicit(&queue->count, count - 1, memory_order_release);
    return item;
}

void *bd_queue_try_pop(bd_queue *queue)
{
    if (!atomic_load_explicit(&queue->count, memory_order_acquire))
        return NULL;
    pthread_mutex_lock(&queue->lock);
    void *item = take(queue);
    pthread_mutex_unlock(&queue->lock);
    return item;
}

void *bd_queue_pop(bd_queue *queue, int64_t timeout_us)
{
    struct timespec end;
    if (timeout_us >= 0) {
        clock_gettime(CLOCK_MONOTONIC, &end);
        int64_t nanoseconds = end.tv_nsec + timeout_us % 1000000 * 1000;
        end.tv_sec += timeout_us / 1000000 + nanoseconds / 1000000000;
        end.tv_nsec = nanoseconds % 1000000000;
    }
    pthread_mutex_lock(&queue->lock);
    void *item = take(queue);
    bool expired = false;
    while (!item && !queue->closed && !queue->woken && !expired) {
        queue->waiting++;
        if (timeout_us < 0)
            pthread_cond_wait(&queue->changed, &queue->lock);
        else
            expired = pthread_cond_timedwait(&queue->changed, &queue->lock, &end) != 0;
        queue->waiting--;
        item = take(queue);
    }
    queue->woken = false;
    pthread_mutex_unlock(&queue->lock);
    return item;
}

void bd_queue_close(bd_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->closed = true;
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
}

bool bd_queue_closed(bd_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    bool closed = queue->closed;
    pthread_mutex_unlock(&queue->lock);
    return closed;
}

void bd_queue_wake(bd_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->woken = true;
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
}

size_t bd_queue_count(bd_queue *queue)
{
    return atomic_load_explicit(&queue->count, memory_order_acquire);
}
