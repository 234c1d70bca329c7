/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/base/spare.h"

#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

enum {
    AWAKE_NS = 50000,
    LOOK_NS = 10000000,
    PROCESSORS_LEAST = 8, /* a client and a daemon keep three threads awake */
    LEFT_LEAST = 4,
};

bool bd_spare_of(int processors, int runnable)
{
    return processors >= PROCESSORS_LEAST && runnable + LEFT_LEAST <= processors;
}

/* Threads of the host that run or want to; a number above all processors where it is not told. */
static int count_runnable(void)
{
    char text[128] = {0};
    int runnable = 0, file = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return INT32_MAX / 2;
    ssize_t size = read(file, text, sizeof text - 1);
    close(file);
    bool told = size > 0 && sscanf(text, "%*s %*s %*s %d/", &runnable) == 1;
    return told ? runnable : INT32_MAX / 2;
}

static bool look(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0 || CPU_COUNT(&set) < PROCESSORS_LEAST)
        return false;
    return bd_spare_of(CPU_COUNT(&set), count_runnable());
}

int64_t bd_spare_ns(void)
{
    static atomic_int_fast64_t looked_ns;
    static atomic_bool spare;
    int64_t now = bd_now_ns();
    if (now - atomic_load_explicit(&looked_ns, memory_order_relaxed) > LOOK_NS) {
        atomic_store_explicit(&looked_ns, now, memory_order_relaxed);
        atomic_store_explicit(&spare, look(), memory_order_relaxed);
    }
    return atomic_load_explicit(&spare, memory_order_relaxed) ? AWAKE_NS : 0;
}
