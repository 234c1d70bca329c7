/* SPDX-License-Identifier: Apache-2.0
 * What the kernel says of this process. Thread: any. */
#pragma once

#include <stdint.h>

typedef struct bd_process {
    double cpu_seconds;
    double started_seconds; /* since 1970 */
    uint64_t resident_bytes, virtual_bytes, open_files, files_max, threads;
} bd_process;

/* What cannot be read stays 0. */
void bd_process_read(bd_process *out);
