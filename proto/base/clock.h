/* SPDX-License-Identifier: Apache-2.0
 * Monotonic time. Thread: any. */
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
