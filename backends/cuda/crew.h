/* SPDX-License-Identifier: Apache-2.0
 * Threads that compile help one another: each brings the tasks of its program, and makes what any
 * of them lacks, what takes longest first, until its own are done. Thread: any. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct bd_cuda_crew bd_cuda_crew;
typedef struct bd_cuda_task bd_cuda_task;

struct bd_cuda_task {
    void (*make)(bd_cuda_task *task); /* called once, on any of the threads */
    int cost;                         /* beside others */
    /* The crew's: */
    bd_cuda_task *next;
    const void *owner;
    bool done;
    int64_t took_ns; /* of another's processor */
};

bd_cuda_crew *bd_cuda_crew_create(void);
void bd_cuda_crew_destroy(bd_cuda_crew *crew); /* nobody may be in it */
/* Returns when all tasks are done. */
void bd_cuda_crew_run(bd_cuda_crew *crew, bd_cuda_task *const *tasks, int count);
/* Processor time that the calling thread has given to others' tasks, less what other threads gave
 * to its own. */
int64_t bd_cuda_crew_lent_ns(void);
