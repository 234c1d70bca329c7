/* SPDX-License-Identifier: Apache-2.0
 * Whether a thread may stay awake for a while before it sleeps: waking it costs more than that,
 * where no other thread wants the processor. Thread: any. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "proto/base/clock.h"

/* So long; 0 where processors are few or busy. Looked up once in some milliseconds. */
int64_t bd_spare_ns(void);
/* Whether so many runnable threads leave some of these processors to spare. */
bool bd_spare_of(int processors, int runnable);

/* Tells the processor that its thread looks for something again and again. */
static inline void bd_spare_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/* Looks again and again, as long as a thread may stay awake, until it is there. */
static inline void bd_spare_await(bool (*is_there)(void *user), void *user)
{
    int64_t awake_ns = bd_spare_ns(), end_ns = awake_ns ? bd_now_ns() + awake_ns : 0;
    while (awake_ns && !is_there(user) && bd_now_ns() < end_ns)
        bd_spare_pause();
}
