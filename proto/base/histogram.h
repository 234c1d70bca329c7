/* SPDX-License-Identifier: Apache-2.0
 * Durations counted in fixed buckets. Thread: one adds, any may read. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

enum { BD_HISTOGRAM_BUCKETS = 19 };

/* Upper bounds, 10 us to 10 s; what is longer counts in one bucket more. */
extern const int64_t bd_histogram_bounds_ns[BD_HISTOGRAM_BUCKETS];

typedef struct bd_histogram {
    atomic_uint_fast64_t counts[BD_HISTOGRAM_BUCKETS + 1], sum_ns;
} bd_histogram;

/* What a histogram holds at one moment. */
typedef struct bd_histogram_view {
    uint64_t counts[BD_HISTOGRAM_BUCKETS + 1], sum_ns;
} bd_histogram_view;

void bd_histogram_add(bd_histogram *histogram, int64_t duration_ns);
void bd_histogram_read(const bd_histogram *histogram, bd_histogram_view *out);
