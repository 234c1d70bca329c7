/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/base/copy.h"

#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>

/* Several pages are copied side by side: the processor fetches ahead within each. */
enum { LINE_BYTES = 64, PAGE_BYTES = 4096, PAGES = 4, BLOCK_BYTES = PAGES * PAGE_BYTES };

static void copy_line(uint8_t *to, const uint8_t *from)
{
    enum { PARTS = LINE_BYTES / sizeof(__m128i) };
    __m128i line[PARTS];
    memcpy(line, from, sizeof line);
    for (size_t i = 0; i < PARTS; i++)
        _mm_stream_si128((__m128i *)(void *)(to + i * sizeof *line), line[i]);
}

void bd_copy_past_cache(void *to, const void *from, size_t size_bytes)
{
    uint8_t *target = to;
    const uint8_t *source = from;
    size_t head = -(uintptr_t)target % LINE_BYTES;
    size_t blocks = size_bytes > head ? (size_bytes - head) / BLOCK_BYTES : 0;
    if (blocks) {
        memcpy(target, source, head);
        target += head, source += head, size_bytes -= head + blocks * BLOCK_BYTES;
    }
    for (; blocks; blocks--, target += BLOCK_BYTES, source += BLOCK_BYTES)
        for (size_t line = 0; line < PAGE_BYTES; line += LINE_BYTES)
            for (size_t page = 0; page < BLOCK_BYTES; page += PAGE_BYTES)
                copy_line(target + page + line, source + page + line);
    _mm_sfence();
    if (size_bytes)
        memcpy(target, source, size_bytes);
}

#else

void bd_copy_past_cache(void *to, const void *from, size_t size_bytes)
{
    if (size_bytes)
        memcpy(to, from, size_bytes);
}

#endif
