/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/symbols.h"

#include <dlfcn.h>
#include <glob.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* CUresult. After a lost one the context is of no use any more. */
enum { OUT_OF_MEMORY = 2 };
static const int lost[] = {46,  201, 214, 700, 702, 709, 710, 714,
                           715, 716, 717, 718, 719, 721, 999};

static bd_cuda_symbols symbols;
static pthread_once_t driver_once = PTHREAD_ONCE_INIT, compiler_once = PTHREAD_ONCE_INIT,
                      blas_once = PTHREAD_ONCE_INIT, dnn_once = PTHREAD_ONCE_INIT;
static bool driver_found, compiler_found, blas_found, dnn_found;
static char searched[4096];
static char dnn_text[80];
static int driver_code; /* of cuInit */

void bd_cuda_look_in(const char *folders)
{
    snprintf(searched, sizeof searched, "%s", folders ? folders : "");
}

/* The first file of a pattern that is a library. */
static void *open_matching(const char *pattern)
{
    glob_t files;
    void *library = NULL;
    if (glob(pattern, 0, NULL, &files) == 0) {
        for (size_t i = 0; i < files.gl_pathc && !library; i++)
            library = dlopen(files.gl_pathv[i], RTLD_NOW | RTLD_LOCAL);
        globfree(&files);
    }
    return library;
}

static void *open_in_folders(const char *name)
{
    char pattern[4096];
    void *library = NULL;
    for (const char *at = searched; *at && !library;) {
        int size = (int)strcspn(at, ":");
        snprintf(pattern, sizeof pattern, "%.*s/%s", size, at, name);
        library = dlopen(pattern, RTLD_NOW | RTLD_LOCAL);
        at += size + (at[size] == ':');
    }
    return library;
}

/* Where Python's packages bring libraries along. */
static void *open_in_packages(const char *name)
{
    const char *const homes[] = {getenv("VIRTUAL_ENV"), getenv("CONDA_PREFIX"), getenv("HOME"),
                                 "/usr/local", "/usr"};
    char pattern[4096];
    void *library = NULL;
    for (size_t i = 0; i < sizeof homes / sizeof *homes && !library; i++) {
        if (!homes[i])
            continue;
        snprintf(pattern, sizeof pattern, "%s%s/lib/python3*/*-packages/nvidia/*/lib/%s", homes[i],
                 i == 2 ? "/.local" : "", name);
        library = open_matching(pattern);
    }
    return library;
}

/* By the loader's rules, after the folders of the configuration and before Python's packages. */
static void *open_first(const char *const *names)
{
    void *library = NULL;
    for (int i = 0; names[i] && !library; i++)
        library = open_in_folders(names[i]);
    for (int i = 0; names[i] && !library; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    for (int i = 0; names[i] && !library; i++)
        library = open_in_packages(names[i]);
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

/* NVRTC looks for its second library by the loader's rules alone, not where it lies itself. */
static void open_builtins(void)
{
    Dl_info self;
    void *function = NULL;
    char path[4096];
    int major = 0, minor = 0;
    memcpy(&function, &symbols.nvrtcVersion, sizeof function);
    if (symbols.nvrtcVersion(&major, &minor) != 0 || !dladdr(function, &self))
        return;
    const char *end = strrchr(self.dli_fname, '/');
    if (!end)
        return;
    snprintf(path, sizeof path, "%.*s/libnvrtc-builtins.so.%d.%d", (int)(end - self.dli_fname),
             self.dli_fname, major, minor);
    (void)dlopen(path, RTLD_NOW | RTLD_LOCAL); /* then the loader knows its name */
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
    if (compiler_found)
        open_builtins();
}

static void load_blas(void)
{
    static const char *const names[] = {"libcublasLt.so.13", "libcublasLt.so.12",
                                        "/usr/local/cuda/lib64/libcublasLt.so", NULL};
    void *library = open_first(names);
    blas_found = library && find_all(library, "blas");
}

static void load_dnn(void)
{
    static const char *const names[] = {"libcudnn.so.9", NULL};
    int version[3] = {0};
    void *library = open_first(names);
    bool whole = library && find_all(library, "dnn");
    for (int i = 0; i < 3 && whole; i++)
        whole = symbols.cudnnGetProperty(i, &version[i]) == 0;
    dnn_found = whole && version[0] == 9;
    if (dnn_found)
        snprintf(dnn_text, sizeof dnn_text, "cuDNN %d.%d.%d", version[0], version[1], version[2]);
    else
        snprintf(dnn_text, sizeof dnn_text, "no cuDNN: libcudnn.so.9 is not here%s",
                 library ? " whole, or is another version" : "");
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

bool bd_cuda_open_dnn(const bd_cuda_symbols **out)
{
    pthread_once(&dnn_once, load_dnn);
    if (dnn_found && out)
        *out = &symbols;
    return dnn_found;
}

void bd_cuda_describe_dnn(char *out, size_t out_bytes)
{
    pthread_once(&dnn_once, load_dnn);
    snprintf(out, out_bytes, "%s", dnn_text);
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
