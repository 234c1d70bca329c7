/* SPDX-License-Identifier: Apache-2.0
 * <pthread.h> for the one thread that an instance has. */
#pragma once

typedef int pthread_t;

static inline pthread_t pthread_self(void)
{
    return 1;
}

static inline int pthread_equal(pthread_t a, pthread_t b)
{
    return a == b;
}
