/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/mailbox.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "proto/base/alloc.h"
#include "proto/base/clock.h"
#include "proto/base/spare.h"

struct bd_mailbox {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bd_letter *first, *last;
    atomic_bool filled; /* a hint, so that an empty box costs no lock */
    uint32_t waiting;
    bool closed, roused;
    atomic_bool away; /* the reader is elsewhere and comes when called */
    void (*call)(void *user); /* set before anyone pushes: pushers read it without the lock */
    void *user;
};

bd_mailbox *bd_mailbox_create(void)
{
    bd_mailbox *box = bd_alloc_zeroed(sizeof *box);
    pthread_mutex_init(&box->lock, NULL);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&box->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    return box;
}

void bd_mailbox_destroy(bd_mailbox *box)
{
    if (!box)
        return;
    pthread_mutex_destroy(&box->lock);
    pthread_cond_destroy(&box->changed);
    bd_free(box);
}

bool bd_mailbox_push(bd_mailbox *box, bd_letter *own_letter)
{
    own_letter->next = NULL;
    pthread_mutex_lock(&box->lock);
    bool was_empty = !box->first;
    if (was_empty)
        box->first = own_letter;
    else
        box->last->next = own_letter;
    box->last = own_letter;
    atomic_store(&box->filled, true);
    bool waiting = box->waiting > 0;
    pthread_mutex_unlock(&box->lock);
    if (waiting)
        pthread_cond_signal(&box->changed); /* who wakes finds the lock free */
    if (atomic_load(&box->away))
        box->call(box->user);
    return was_empty;
}

void bd_mailbox_set_call(bd_mailbox *box, void (*call)(void *user), void *user)
{
    box->call = call;
    box->user = user;
}

const atomic_bool *bd_mailbox_leave(bd_mailbox *box)
{
    atomic_store(&box->away, true);
    return &box->filled;
}

void bd_mailbox_return(bd_mailbox *box)
{
    atomic_store(&box->away, false);
}

static bd_letter *take_one(bd_mailbox *box)
{
    bd_letter *letter = box->first;
    if (!letter)
        return NULL;
    box->first = letter->next;
    letter->next = NULL;
    if (!box->first)
        atomic_store_explicit(&box->filled, false, memory_order_release);
    return letter;
}

bd_letter *bd_mailbox_take(bd_mailbox *box)
{
    if (!atomic_load_explicit(&box->filled, memory_order_acquire))
        return NULL;
    pthread_mutex_lock(&box->lock);
    bd_letter *letter = take_one(box);
    pthread_mutex_unlock(&box->lock);
    return letter;
}

static bool is_filled(void *user)
{
    const bd_mailbox *box = user;
    return atomic_load_explicit(&box->filled, memory_order_acquire);
}

bd_letter *bd_mailbox_take_all(bd_mailbox *box, int64_t timeout_us)
{
    if (timeout_us == 0 && !atomic_load_explicit(&box->filled, memory_order_acquire))
        return NULL;
    if (timeout_us != 0)
        bd_spare_await(is_filled, box);
    struct timespec end = {0};
    if (timeout_us > 0) {
        clock_gettime(CLOCK_MONOTONIC, &end);
        int64_t nanoseconds = end.tv_nsec + timeout_us % 1000000 * 1000;
        end.tv_sec += timeout_us / 1000000 + nanoseconds / 1000000000;
        end.tv_nsec = nanoseconds % 1000000000;
    }
    pthread_mutex_lock(&box->lock);
    bool expired = timeout_us == 0;
    while (!box->first && !box->closed && !box->roused && !expired) {
        box->waiting++;
        if (timeout_us < 0)
            pthread_cond_wait(&box->changed, &box->lock);
        else
            expired = pthread_cond_timedwait(&box->changed, &box->lock, &end) != 0;
        box->waiting--;
    }
    bd_letter *letters = box->first;
    box->first = box->last = NULL;
    box->roused = false;
    atomic_store_explicit(&box->filled, false, memory_order_release);
    pthread_mutex_unlock(&box->lock);
    return letters;
}

bd_letter *bd_mailbox_wait(bd_mailbox *box)
{
    pthread_mutex_lock(&box->lock);
    while (!box->first && !box->closed) {
        box->waiting++;
        pthread_cond_wait(&box->changed, &box->lock);
        box->waiting--;
    }
    bd_letter *letter = take_one(box);
    pthread_mutex_unlock(&box->lock);
    return letter;
}

void bd_mailbox_rouse(bd_mailbox *box)
{
    pthread_mutex_lock(&box->lock);
    box->roused = box->waiting > 0;
    if (box->roused)
        pthread_cond_signal(&box->changed);
    pthread_mutex_unlock(&box->lock);
}

void bd_mailbox_close(bd_mailbox *box)
{
    pthread_mutex_lock(&box->lock);
    box->closed = true;
    pthread_cond_broadcast(&box->changed);
    pthread_mutex_unlock(&box->lock);
}
