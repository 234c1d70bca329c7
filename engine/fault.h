/* SPDX-License-Identifier: Apache-2.0
 * What a fault in a kernel spoils. A kernel that meets an index out of range goes on with harmless
 * values and reports it; when the submission is done, everything that depends on a record to
 * blame becomes poison: buffers of that run, and of later runs that have read them meanwhile.
 * Thread: device. */
#pragma once

#include "engine/run.h"
#include "proto/base/map.h"

/* Contents that are known to be spoiled, by serial, while runs that may have read them are in
 * flight. */
typedef struct bd_spoils {
    bd_map errors; /* serial → bd_error, retained */
} bd_spoils;

void bd_spoils_clear(bd_spoils *spoils);

/* Of a run that was just bound: poisons outputs that depend on slots spoiled before. */
void bd_fault_poison_bound(bd_run *run);
/* Of a finished run: what the device's error, its kernels' faults and earlier spoils spoil is added
 * and poisons the account's buffers. Returns what went wrong (the device's error, or the first
 * record's with the number of its op), or NULL. */
bd_error *bd_fault_settle(bd_spoils *spoils, bd_run *run, bd_memory *memory, bd_account *account);
