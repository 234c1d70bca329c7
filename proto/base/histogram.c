/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/base/histogram.h"

const int64_t bd_histogram_bounds_ns[BD_HISTOGRAM_BUCKETS] = {
    10000,     25000,     50000,      100000,     250000,     500000,     1000000,
    2500000,   5000000,   10000000,   25000000,   50000000,   100000000,  250000000,
    500000000, 1000000000, 2500000000, 5000000000, 10000000000,
};

static void grow(atomic_uint_fast64_t *counter, uint64_t more)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + more,
                          memory_order_relaxed);
}

void bd_histogram_add(bd_histogram *histogram, int64_t duration_ns)
{
    int bucket = 0;
    while (bucket < BD_HISTOGRAM_BUCKETS && duration_ns > bd_histogram_bounds_ns[bucket])
        bucket++;
    grow(&histogram->counts[bucket], 1);
    grow(&histogram->sum_ns, (uint64_t)duration_ns);
}

void bd_histogram_read(const bd_histogram *histogram, bd_histogram_view *out)
{
    for (int i = 0; i <= BD_HISTOGRAM_BUCKETS; i++)
        out->counts[i] = atomic_load_explicit(&histogram->counts[i], memory_order_relaxed);
    out->sum_ns = atomic_load_explicit(&histogram->sum_ns, memory_order_relaxed);
}
