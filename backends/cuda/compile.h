/* SPDX-License-Identifier: Apache-2.0
 * Kernel IR to machine code of one architecture, by NVRTC. Needs no device. Thread: any. */
#pragma once

#include <stddef.h>

#include "backends/kir/kir.h"

/* architecture: 90 for sm_90. DEVICE with the compiler's words if it refuses the text. Heap; the
 * caller frees with bd_free. */
bd_error *bd_cuda_compile(const bd_kir *program, int architecture, char **out_bytes,
                          size_t *out_size) BD_MUST_USE;
