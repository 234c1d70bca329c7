/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/crew.h"

#include <pthread.h>
#include <stddef.h>

#include "proto/base/alloc.h"
#include "proto/base/clock.h"

enum { HELPS_MOST = 4 }; /* tasks of others in a row, while one's own wait */

struct bd_cuda_crew {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a task has come, or is done */
    bd_cuda_task *first;    /* that nobody makes yet, the oldest first */
    bd_cuda_task **end;
};

static _Thread_local int64_t lent_ns;

int64_t bd_cuda_crew_lent_ns(void)
{
    return lent_ns;
}

bd_cuda_crew *bd_cuda_crew_create(void)
{
    bd_cuda_crew *crew = bd_alloc_zeroed(sizeof *crew);
    pthread_mutex_init(&crew->lock, NULL);
    pthread_cond_init(&crew->changed, NULL);
    crew->end = &crew->first;
    return crew;
}

void bd_cuda_crew_destroy(bd_cuda_crew *crew)
{
    if (!crew)
        return;
    pthread_cond_destroy(&crew->changed);
    pthread_mutex_destroy(&crew->lock);
    bd_free(crew);
}

/* The longest, of an owner's or (NULL) of all; NULL if there is none. */
static bd_cuda_task *take(bd_cuda_crew *crew, const void *owner)
{
    bd_cuda_task **best = NULL;
    for (bd_cuda_task **at = &crew->first; *at; at = &(*at)->next)
        if ((!owner || (*at)->owner == owner) && (!best || (*at)->cost > (*best)->cost))
            best = at;
    if (!best)
        return NULL;
    bd_cuda_task *task = *best;
    *best = task->next;
    if (!*best)
        crew->end = best;
    return task;
}

static bool all_done(bd_cuda_task *const *tasks, int count)
{
    for (int i = 0; i < count; i++)
        if (!tasks[i]->done)
            return false;
    return true;
}

void bd_cuda_crew_run(bd_cuda_crew *crew, bd_cuda_task *const *tasks, int count)
{
    int helped = 0;
    pthread_mutex_lock(&crew->lock);
    for (int i = 0; i < count; i++) {
        tasks[i]->owner = tasks;
        tasks[i]->next = NULL;
        tasks[i]->done = false;
        *crew->end = tasks[i];
        crew->end = &tasks[i]->next;
    }
    pthread_cond_broadcast(&crew->changed);
    while (!all_done(tasks, count)) {
        bd_cuda_task *task = NULL;
        if (helped >= HELPS_MOST)
            task = take(crew, tasks);
        if (!task)
            task = take(crew, NULL);
        if (!task) {
            pthread_cond_wait(&crew->changed, &crew->lock);
            continue;
        }
        pthread_mutex_unlock(&crew->lock);
        int64_t before_ns = bd_worked_ns();
        task->make(task);
        int64_t took_ns = bd_worked_ns() - before_ns;
        pthread_mutex_lock(&crew->lock);
        bool own = task->owner == tasks;
        helped = own ? 0 : helped + 1;
        lent_ns += own ? 0 : took_ns;
        task->took_ns = own ? 0 : took_ns;
        task->done = true; /* its owner may be gone from here on */
        pthread_cond_broadcast(&crew->changed);
    }
    for (int i = 0; i < count; i++)
        lent_ns -= tasks[i]->took_ns;
    pthread_mutex_unlock(&crew->lock);
}
