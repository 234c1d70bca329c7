/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/symbols.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

/* CUresult. After a lost one the context is of no use any more. */
enum { OUT_OF_MEMORY = 2 };
static const int lost[] = {46, 214, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721, 999};

static bd_cuda_symbols symbols;
static pthread_once_t driver_once = PTHREAD_ONCE_INIT, compiler_once = PTHREAD_ONCE_INIT,
                      blas_once = PTHREAD_ONCE_INIT;
static bool driver_found, compiler_found, blas_found;
static int driver_code; /* of cuInit */

static void *open_first(const char *const *names)
{
    void *library = NULL;
    for (; *names && !library; names++)
        library = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
    return library;
}

/* Fills in the functions of one library; false if one is missing. */
static bool find_all(void *library, const char *which)
{
    static const struct {
        const char *library, *symbol;
        size_t offset;
    } table[] = {
#define SYMBOL(library, name, symbol, parameters)                                                  \
    {#library, symbol, offsetof(bd_cuda_symbols, name)},
#include "backends/cuda/symbols.def"
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (strcmp(table[i].library, which) != 0)
            continue;
        void *found = dlsym(library, table[i].symbol);
        if (!found)
            return false;
        memcpy((char *)&symbols + table[i].offset, &found, sizeof found);
    }
    return true;
}

static void load_driver(void)
{
    static const char *const names[] = {"libcuda.so.1", "libcuda.so", NULL};
    void *library = open_first(names);
    driver_found = library && find_all(library, "driver");
    if (driver_found)
        driver_code = symbols.cuInit(0);
}

static void load_compiler(void)
{
    static const char *const names[] = {"libnvrtc.so.13",
                                        "libnvrtc.so.12",
                                        "libnvrtc.so",
                                        "/usr/local/cuda/lib64/libnvrtc.so",
                                        NULL};
    void *library = open_first(names);
    compiler_found = library && find_all(library, "compiler");
}

static void load_blas(void)
{
    static const char *const names[] = {"libcublasLt.so.13", "libcublasLt.so.12",
                                        "/usr/local/cuda/lib64/libcublasLt.so", NULL};
    void *library = open_first(names);
    blas_found = library && find_all(library, "blas");
}

bd_error *bd_cuda_open_driver(const bd_cuda_symbols **out)
{
    pthread_once(&driver_once, load_driver);
    if (!driver_found)
        BD_FAIL(UNAVAILABLE, "no CUDA driver: libcuda.so.1 is not here, or is too old");
    BD_TRY(bd_cuda_check(driver_code, "start the CUDA driver"));
    *out = &symbols;
    return NULL;
}

bd_error *bd_cuda_open_compiler(const bd_cuda_symbols **out)
{
    pthread_once(&compiler_once, load_compiler);
    if (!compiler_found)
        BD_FAIL(UNAVAILABLE, "no CUDA compiler: libnvrtc.so.13 (or 12) is not here; it comes with "
                             "the CUDA toolkit");
    *out = &symbols;
    return NULL;
}

bool bd_cuda_open_blas(const bd_cuda_symbols **out)
{
    pthread_once(&blas_once, load_blas);
    if (blas_found && out)
        *out = &symbols;
    return blas_found;
}

bd_error *bd_cuda_check(int code, const char *doing)
{
    if (code == 0)
        return NULL;
    const char *text = NULL;
    symbols.cuGetErrorString(code, &text);
    if (code == OUT_OF_MEMORY)
        BD_FAIL(NO_MEMORY, "cannot %s: %s", doing, text ? text : "out of memory");
    for (size_t i = 0; i < sizeof lost / sizeof *lost; i++)
        if (code == lost[i])
            BD_FAIL(DEVICE_LOST, "cannot %s: %s (CUDA error %d)", doing, text ? text : "unknown",
                    code);
    BD_FAIL(DEVICE, "cannot %s: %s (CUDA error %d)", doing, text ? text : "unknown", code);
}
