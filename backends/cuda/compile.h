/* SPDX-License-Identifier: Apache-2.0
 * Kernel IR to machine code of one architecture, by NVRTC. Needs no device. Thread: any. */
#pragma once

#include <stddef.h>

#include "backends/kir/kir.h"

/* How many modules a program has; each is compiled apart. */
int bd_cuda_modules(const bd_kir *program, int architecture);
/* What the compiler does when it is first used: reads its libraries from disk, makes its tables. */
bd_error *bd_cuda_warm_compiler(int architecture) BD_MUST_USE;
/* architecture: 90 for sm_90. DEVICE with the compiler's words if it refuses the text. Heap; the
 * caller frees with bd_free. */
bd_error *bd_cuda_compile(const bd_kir *program, int module, int architecture, char **out_bytes,
                          size_t *out_size) BD_MUST_USE;
