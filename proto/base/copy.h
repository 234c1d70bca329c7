/* SPDX-License-Identifier: Apache-2.0
 * Copies of large memory that bypass the cache. Thread: any. */
#pragma once

#include <stddef.h>

enum { BD_COPY_PAST_BYTES_MIN = 8 << 20 }; /* what is copied at once stays in no cache anyway */

/* As memcpy, but what is written is not in the cache afterwards: half as long where source and
 * target lie in memory, and what others have in the cache stays there. Complete, as seen by any
 * thread or process, when it returns. */
void bd_copy_past_cache(void *to, const void *from, size_t size_bytes);
