/* SPDX-License-Identifier: Apache-2.0
 * Addresses that showed a wrong identity of late, and how long the next refusal waits: a bounded
 * table, so that many addresses cost no memory. Owned by the daemon; thread: loop. */
#pragma once

#include <stdint.h>

enum { BD_FAILURES_ADDRESSES = 256, BD_FAILURES_FREE = 5, BD_FAILURES_DELAY_MS_MAX = 5000 };

typedef struct bd_failures {
    struct {
        uint64_t address; /* hash of its text; 0: free */
        int64_t last_ms;
        int count;
    } entries[BD_FAILURES_ADDRESSES];
} bd_failures;

/* Counts one more and says how long its answer waits. A minute without failures halves the count.
 * "" is no address: never delayed. */
int64_t bd_failures_note(bd_failures *failures, const char *address, int64_t now_ms);
