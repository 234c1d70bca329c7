/* SPDX-License-Identifier: Apache-2.0
 * Monotonic time, and time of the processor. Thread: any. */
#pragma once

#include <stdint.h>
#include <time.h>

static inline int64_t bd_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline int64_t bd_now_us(void)
{
    return bd_now_ns() / 1000;
}

/* Processor time of the calling thread. */
static inline int64_t bd_worked_ns(void)
{
    struct timespec worked;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &worked);
    return (int64_t)worked.tv_sec * 1000000000 + worked.tv_nsec;
}
