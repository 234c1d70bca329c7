/* SPDX-License-Identifier: Apache-2.0
 * What the machine can do: multiply-adds in registers, and plain loops over memory with the streams
 * of a workload. All run on so many threads, with the widest vectors that the CPU has, for about
 * `seconds`. Neighbours must not count: a figure is what a tenth of the runs keep within, in
 * processor time if one thread runs. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* GFLOP/s of f32 multiply-adds whose operands stay in registers, all threads together. */
double probe_fma(int threads, double seconds);

/* Milliseconds of a loop over so many streams of `count` floats: of each place the `reads` are
 * added; the sum changes the `updates` in place and becomes the `writes`. Stores of writes go past
 * the cache if that is faster. Negative if no loop is made for these numbers or memory is short. */
double probe_streams(int reads, int updates, int writes, size_t count, int threads, double seconds);

/* Milliseconds of out[i] = table[ids[i]], rows of `width` floats. */
double probe_gather(const int64_t *ids, size_t id_count, size_t row_count, size_t width,
                    int threads, double seconds);
/* Of a table of zeros to which rows are added: table[ids[i]] += rows[i]. */
double probe_scatter(const int64_t *ids, size_t id_count, size_t row_count, size_t width,
                     int threads, double seconds);
