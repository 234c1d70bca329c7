/* SPDX-License-Identifier: Apache-2.0
 * What a fault in a kernel spoils. A kernel that meets an index out of range goes on with harmless
 * values and reports it; when the submission is done, everything that depends on the record to
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

/* What went wrong in a finished run: the device's error, or what a kernel's fault means, with the
 * number of the op; NULL if nothing did. */
bd_error *bd_fault_error(const bd_run *run);

/* Of a run that was just bound: poisons outputs that depend on slots spoiled before. */
void bd_fault_poison_bound(bd_run *run);
/* Of a finished run: adds what its fault (own; may be NULL) and earlier spoils spoil, and poisons
 * the account's buffers. */
void bd_fault_poison_done(bd_spoils *spoils, bd_run *run, bd_error *fault, bd_memory *memory,
                          bd_account *account);
