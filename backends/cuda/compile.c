/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/compile.h"

#include <stdio.h>

#include "backends/cfamily/print.h"
#include "backends/cuda/symbols.h"
#include "proto/base/alloc.h"

/* The first lines of what the compiler said. */
static bd_error *refusal(const bd_cuda_symbols *cuda, void *program, int code)
{
    size_t size = 0;
    if (cuda->nvrtcGetProgramLogSize(program, &size) != 0 || size == 0)
        BD_FAIL(DEVICE, "NVRTC error %d", code);
    char *log = bd_alloc_zeroed(size + 1);
    (void)cuda->nvrtcGetProgramLog(program, log);
    bd_error *err = BD_ERROR(DEVICE, "NVRTC refuses a kernel: %.300s", log);
    bd_free(log);
    return err;
}

static bd_error *take_cubin(const bd_cuda_symbols *cuda, void *program, char **out_bytes,
                            size_t *out_size)
{
    size_t size = 0;
    int code = cuda->nvrtcGetCUBINSize(program, &size);
    if (code != 0 || size == 0)
        BD_FAIL(DEVICE, "NVRTC gave no code (error %d)", code);
    char *bytes = bd_alloc(size);
    code = cuda->nvrtcGetCUBIN(program, bytes);
    if (code != 0) {
        bd_free(bytes);
        BD_FAIL(DEVICE, "NVRTC gave no code (error %d)", code);
    }
    *out_bytes = bytes;
    *out_size = size;
    return NULL;
}

int bd_cuda_modules(const bd_kir *program, int architecture)
{
    return bd_cfamily_modules(program, architecture == 90);
}

static bd_error *compile_text(const char *source, int architecture, char **out_bytes,
                              size_t *out_size)
{
    const bd_cuda_symbols *cuda = NULL;
    BD_TRY(bd_cuda_open_compiler(&cuda));
    char option[40];
    /* sm_90a has the matrix instructions of product_sm90.cuh. */
    snprintf(option, sizeof option, "--gpu-architecture=sm_%d%s", architecture,
             architecture == 90 ? "a" : "");
    /* A product and a sum stay two roundings, as on every backend. */
    const char *options[] = {option, "--fmad=false", "--std=c++17", "-default-device",
                             "--disable-warnings"};
    void *made = NULL;
    int code = cuda->nvrtcCreateProgram(&made, source, "kernel.cu", 0, NULL, NULL);
    if (code != 0)
        BD_FAIL(DEVICE, "NVRTC does not start (error %d)", code);
    code = cuda->nvrtcCompileProgram(made, (int)(sizeof options / sizeof *options), options);
    bd_error *err = code ? refusal(cuda, made, code) : take_cubin(cuda, made, out_bytes, out_size);
    (void)cuda->nvrtcDestroyProgram(&made);
    return err;
}

bd_error *bd_cuda_warm_compiler(int architecture)
{
    char *bytes = NULL;
    size_t size = 0;
    BD_TRY(compile_text("extern \"C\" __global__ void __launch_bounds__(256)"
                        " nothing(int unused) {}\n",
                        architecture, &bytes, &size));
    bd_free(bytes);
    return NULL;
}

bd_error *bd_cuda_compile(const bd_kir *program, int module, int architecture, char **out_bytes,
                          size_t *out_size)
{
    char *source = bd_cfamily_print(program, module);
    bd_error *err = compile_text(source, architecture, out_bytes, out_size);
    bd_free(source);
    return err;
}
