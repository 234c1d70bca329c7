/* SPDX-License-Identifier: Apache-2.0
 * The CUDA driver, NVRTC, cuBLASLt and cuDNN, opened at run time: nothing of CUDA is needed to
 * build or to start. Loaded once a process and never unloaded. Thread: any. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/base/error.h"

typedef struct bd_cuda_symbols {
#define SYMBOL(library, name, symbol, parameters) int (*name) parameters;
#include "backends/cuda/symbols.def"
} bd_cuda_symbols;

/* Folders, "a:b", where libraries are looked for first; NULL: none. Before the first is opened. */
void bd_cuda_look_in(const char *folders);
/* UNAVAILABLE, saying which library is missing, or why the driver does not start. */
bd_error *bd_cuda_open_driver(const bd_cuda_symbols **out) BD_MUST_USE;
/* The same for NVRTC, whose functions are NULL before. */
bd_error *bd_cuda_open_compiler(const bd_cuda_symbols **out) BD_MUST_USE;
/* The same for cuBLASLt, which may be missing: false. */
bool bd_cuda_open_blas(const bd_cuda_symbols **out);
/* The same for cuDNN; of another version than 9 it counts as missing. */
bool bd_cuda_open_dnn(const bd_cuda_symbols **out);
/* "cuDNN 9.15.0", or why there is none. */
void bd_cuda_describe_dnn(char *out, size_t out_bytes);
/* DEVICE with the driver's words unless code is 0; NO_MEMORY for its out-of-memory code,
 * DEVICE_LOST for those after which nothing runs any more. */
bd_error *bd_cuda_check(int code, const char *doing) BD_MUST_USE;
