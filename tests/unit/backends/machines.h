/* SPDX-License-Identifier: Apache-2.0
 * Devices that run the same program, which is compiled once for all sizes that they are given. */
#pragma once

#include "tests/unit/backends/program.h"

typedef struct machine {
    const bd_driver *driver;
    bd_device *device;
    bd_kernel *kernel; /* of the program compiled last, or NULL */
    const char *name;
} machine;

enum { MACHINE_TARGETS = 5, MACHINES_MAX = 1 + MACHINE_TARGETS };
typedef struct machines {
    machine all[MACHINES_MAX];
    int count;
} machines;

/* The interpreter, then the cpu backend for each target that the host has. */
void machines_of_targets(machines *out, int threads);
/* One target with 1, 2 and 3 workers; false and none if the host lacks it. */
bool machines_of_threads(machines *out, int target);
void machines_compile(machines *on, const bd_kir *program);
void machine_run(const machine *m, const bd_block *block);
void machines_close(machines *done);
