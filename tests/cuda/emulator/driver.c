/* SPDX-License-Identifier: Apache-2.0
 * libcuda.so.1 and libnvrtc.so.13 for hosts without a GPU: kernels become functions of the host
 * (compile.py) and run at once. Only what backends/cuda/symbols.def names, and one device.
 *   EMULATOR_FAIL=launch:3    the third launch gives CUDA error 701 (too many resources),
 *   EMULATOR_FAIL=memory:3    or 2 (out of memory); lost:3 and all that follows: 700, until a
 *                             reset; gone:3 likewise, and no reset helps;
 *   EMULATOR_FAIL=graph       no graph can be made */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/cuda/emulator/threads.h"

enum { NO_MEMORY = 2, NO_IMAGE = 200, NOT_FOUND = 500, LOST = 700, NO_RESOURCES = 701 };
enum { PROCESSORS = 16, MAJOR = 75, COMPILE_ERROR = 6, LOG_BYTES = 4096 };
#define API __attribute__((visibility("default"))) int

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int launches, lost;

/* ---- the device, its memory and its one stream ---- */

API cuInit(unsigned flags)
{
    return flags ? 1 : 0;
}

API cuGetErrorString(int code, const char **out)
{
    *out = code == LOST ? "an illegal memory access (emulated)" : "emulated";
    return 0;
}

API cuDriverGetVersion(int *out)
{
    *out = 13000;
    return 0;
}

API cuDeviceGetCount(int *out)
{
    *out = 1;
    return 0;
}

API cuDeviceGet(int *out, int number)
{
    *out = number;
    return 0;
}

API cuDeviceGetName(char *out, int size, int device)
{
    snprintf(out, (size_t)size, "emulator %d", device);
    return 0;
}

API cuDeviceTotalMem_v2(size_t *out, int device)
{
    (void)device;
    *out = (size_t)8 << 30;
    return 0;
}

API cuDeviceGetAttribute(int *out, int which, int device)
{
    (void)device;
    *out = which == PROCESSORS ? 2 : which == MAJOR ? 8 : 0;
    return 0;
}

API cuDevicePrimaryCtxRetain(void **out, int device)
{
    (void)device;
    *out = &lock;
    return 0;
}

API cuDevicePrimaryCtxRelease_v2(int device)
{
    (void)device;
    return 0;
}

API cuDevicePrimaryCtxReset_v2(int device)
{
    (void)device;
    const char *how = getenv("EMULATOR_FAIL");
    lost = how && strncmp(how, "gone", 4) == 0 ? LOST : 0;
    return lost;
}

API cuCtxSetCurrent(void *context)
{
    (void)context;
    return 0;
}

API cuMemAlloc_v2(uint64_t *out, size_t size)
{
    void *memory = NULL;
    if (posix_memalign(&memory, 256, size))
        return NO_MEMORY;
    memset(memory, 0xa5, size); /* nobody may count on zeros */
    *out = (uint64_t)(uintptr_t)memory;
    return lost;
}

API cuMemFree_v2(uint64_t memory)
{
    free((void *)(uintptr_t)memory);
    return 0;
}

API cuMemHostAlloc(void **out, size_t size, unsigned flags)
{
    (void)flags;
    return posix_memalign(out, 4096, size) ? NO_MEMORY : lost;
}

API cuMemFreeHost(void *memory)
{
    free(memory);
    return 0;
}

API cuMemHostRegister_v2(void *memory, size_t size, unsigned flags)
{
    (void)memory;
    (void)size;
    (void)flags;
    return lost;
}

API cuMemHostUnregister(void *memory)
{
    (void)memory;
    return 0;
}

API cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t size, void *stream)
{
    (void)stream;
    memcpy((void *)(uintptr_t)to, from, size);
    return lost;
}

API cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t size, void *stream)
{
    (void)stream;
    memcpy(to, (void *)(uintptr_t)from, size);
    return lost;
}

API cuMemsetD8Async(uint64_t memory, unsigned char value, size_t size, void *stream)
{
    (void)stream;
    memset((void *)(uintptr_t)memory, value, size);
    return lost;
}

API cuStreamCreate(void **out, unsigned flags)
{
    (void)flags;
    *out = &lock;
    return 0;
}

API cuStreamDestroy_v2(void *stream)
{
    (void)stream;
    return 0;
}

API cuStreamSynchronize(void *stream)
{
    (void)stream;
    return lost;
}

API cuEventCreate(void **out, unsigned flags)
{
    (void)flags;
    *out = &lock;
    return lost;
}

API cuEventDestroy_v2(void *event)
{
    (void)event;
    return 0;
}

API cuEventRecord(void *event, void *stream)
{
    (void)event;
    (void)stream;
    return lost;
}

API cuEventQuery(void *event)
{
    (void)event;
    return lost;
}

API cuEventElapsedTime(float *out, void *begin, void *end)
{
    (void)begin;
    (void)end;
    *out = 0.001F;
    return lost;
}

API cuStreamWaitEvent(void *stream, void *event, unsigned flags)
{
    (void)stream;
    (void)event;
    (void)flags;
    return lost;
}

/* ---- modules: the size, then a shared object ---- */

static int write_all(const char *path, const char *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    if (!file)
        return NO_IMAGE;
    size_t written = fwrite(bytes, 1, size, file);
    return fclose(file) == 0 && written == size ? 0 : NO_IMAGE;
}

API cuModuleLoadData(void **out, const void *image)
{
    size_t size = 0;
    memcpy(&size, image, sizeof size);
    Dl_info self;
    if (dladdr((void *)(uintptr_t)cuInit, &self)) /* kernels find their threads here */
        (void)dlopen(self.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
    char path[] = "/tmp/burn-emulator-XXXXXX";
    int file = mkstemp(path);
    if (file < 0)
        return NO_IMAGE;
    close(file);
    int code = write_all(path, (const char *)image + sizeof size, size - sizeof size);
    *out = code ? NULL : dlopen(path, RTLD_NOW | RTLD_LOCAL);
    unlink(path);
    return *out ? lost : NO_IMAGE;
}

API cuModuleUnload(void *module)
{
    dlclose(module);
    return 0;
}

API cuModuleGetFunction(void **out, void *module, const char *name)
{
    char symbol[64];
    snprintf(symbol, sizeof symbol, "emulated_launch_%s", name);
    *out = dlsym(module, symbol);
    return *out ? 0 : NOT_FOUND;
}

API cuFuncSetAttribute(void *function, int which, int value)
{
    (void)function;
    (void)which;
    (void)value;
    return 0;
}

/* Whether this launch is the one that EMULATOR_FAIL says. */
static int fails(const char *how)
{
    const char *wanted = getenv("EMULATOR_FAIL");
    size_t length = strlen(how);
    return wanted && strncmp(wanted, how, length) == 0 && wanted[length] == ':' &&
           atoi(wanted + length + 1) == launches;
}

/* ---- graphs: launches with their parameters ---- */

/* Bytes of each parameter of bd_cfamily_parameters; the first is as long as it may be. */
static const size_t parameter_bytes[] = {481 * 8, 8, 8, 8, 8, 4, 4, 4, 8};
enum { PARAMETERS = sizeof parameter_bytes / sizeof *parameter_bytes, ROOM = 481 * 8 };
typedef struct node {
    struct node *next;
    void *function;
    unsigned grid, block;
    char parameters[PARAMETERS][ROOM];
} node;
typedef struct graph {
    node *first, **last;
} graph;
static graph *captured;

static void capture(void *function, unsigned grid, unsigned block, void **parameters)
{
    node *made = calloc(1, sizeof *made);
    if (!made)
        abort();
    made->function = function;
    made->grid = grid;
    made->block = block;
    for (int i = 0; i < PARAMETERS; i++)
        memcpy(made->parameters[i], parameters[i], parameter_bytes[i]);
    *captured->last = made;
    captured->last = &made->next;
}

API cuStreamBeginCapture_v2(void *stream, int mode)
{
    (void)stream, (void)mode;
    captured = calloc(1, sizeof *captured);
    if (!captured)
        return NO_MEMORY;
    captured->last = &captured->first;
    return lost;
}

API cuStreamEndCapture(void *stream, void **out)
{
    (void)stream;
    *out = captured;
    captured = NULL;
    return lost;
}

API cuGraphInstantiateWithFlags(void **out, void *from, unsigned long long flags)
{
    (void)flags;
    graph *made = calloc(1, sizeof *made);
    const char *failing = getenv("EMULATOR_FAIL");
    if (!made || (failing && strcmp(failing, "graph") == 0))
        return NO_RESOURCES;
    *made = *(graph *)from; /* the launches are its own now */
    ((graph *)from)->first = NULL;
    *out = made;
    return lost;
}

API cuGraphDestroy(void *from)
{
    node *next = from ? ((graph *)from)->first : NULL;
    for (node *gone = next; gone; gone = next) {
        next = gone->next;
        free(gone);
    }
    free(from);
    return 0;
}

API cuGraphExecDestroy(void *from)
{
    return cuGraphDestroy(from);
}

API cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                   void *stream, void **parameters, void **extra)
{
    (void)grid_y, (void)grid_z, (void)block_y, (void)block_z, (void)shared, (void)stream,
        (void)extra;
    if (captured) {
        capture(function, grid_x, block_x, parameters);
        return 0;
    }
    void (*run)(void **) = NULL;
    memcpy(&run, &function, sizeof run);
    launches++;
    if (fails("lost") || fails("gone"))
        lost = LOST;
    int code = lost ? lost : fails("memory") ? NO_MEMORY : fails("launch") ? NO_RESOURCES : 0;
    if (code || block_x > 256 || block_x % 32)
        return code ? code : NO_RESOURCES;
    pthread_mutex_lock(&lock);
    emulated_run(run, parameters, grid_x, block_x);
    pthread_mutex_unlock(&lock);
    return 0;
}

API cuGraphLaunch(void *from, void *stream)
{
    fprintf(stderr, "emulator: a graph runs\n");
    for (node *at = ((graph *)from)->first; at; at = at->next) {
        void *parameters[PARAMETERS];
        for (int i = 0; i < PARAMETERS; i++)
            parameters[i] = at->parameters[i];
        int code = cuLaunchKernel(at->function, at->grid, 1, 1, at->block, 1, 1, 0, stream,
                                  parameters, NULL);
        if (code)
            return code;
    }
    return lost;
}

/* ---- the compiler ---- */

static const char BUILTINS[] = "libnvrtc-builtins.so.13.0";

typedef struct program {
    char *source, *image, log[LOG_BYTES];
    size_t size;
} program;

API nvrtcVersion(int *major, int *minor)
{
    *major = 13;
    *minor = 0;
    return 0;
}

API nvrtcCreateProgram(void **out, const char *source, const char *name, int headers,
                       const char *const *texts, const char *const *names)
{
    (void)name, (void)headers, (void)texts, (void)names;
    program *made = calloc(1, sizeof *made);
    if (!made)
        return 1;
    made->source = strdup(source);
    *out = made;
    return 0;
}

API nvrtcDestroyProgram(void **made)
{
    program *gone = *made;
    free(gone->source);
    free(gone->image);
    free(gone);
    return 0;
}

/* The file, behind its size. */
static int take_image(program *made, const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return COMPILE_ERROR;
    fseek(file, 0, SEEK_END);
    made->size = (size_t)ftell(file) + sizeof made->size;
    rewind(file);
    made->image = malloc(made->size);
    size_t wanted = made->size - sizeof made->size;
    size_t read = made->image ? fread(made->image + sizeof made->size, 1, wanted, file) : 0;
    fclose(file);
    if (read != wanted)
        return COMPILE_ERROR;
    memcpy(made->image, &made->size, sizeof made->size);
    return 0;
}

API nvrtcCompileProgram(void *which, int count, const char *const *options)
{
    (void)count, (void)options;
    program *made = which;
    char folder[] = "/tmp/burn-emulator-XXXXXX", source[64], object[64], command[1024];
    if (!dlopen(BUILTINS, RTLD_NOW | RTLD_NOLOAD)) {
        snprintf(made->log, LOG_BYTES, "nvrtc: error: failed to open %s.", BUILTINS);
        return COMPILE_ERROR;
    }
    if (!mkdtemp(folder))
        return COMPILE_ERROR;
    snprintf(source, sizeof source, "%s/kernel.cu", folder);
    snprintf(object, sizeof object, "%s/kernel.so", folder);
    snprintf(command, sizeof command, "%s -IS %s/compile.py %s %s 2>&1", EMULATOR_PYTHON,
             EMULATOR_FOLDER, source, object);
    int code = write_all(source, made->source, strlen(made->source));
    FILE *said = code ? NULL : popen(command, "r");
    if (said) {
        made->log[fread(made->log, 1, LOG_BYTES - 1, said)] = 0;
        code = pclose(said) ? COMPILE_ERROR : take_image(made, object);
    }
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) || code ? COMPILE_ERROR : 0;
}

API nvrtcGetCUBINSize(void *made, size_t *out)
{
    *out = ((program *)made)->size;
    return 0;
}

API nvrtcGetCUBIN(void *made, char *out)
{
    memcpy(out, ((program *)made)->image, ((program *)made)->size);
    return 0;
}

API nvrtcGetProgramLogSize(void *made, size_t *out)
{
    *out = strlen(((program *)made)->log) + 1;
    return 0;
}

API nvrtcGetProgramLog(void *made, char *out)
{
    strcpy(out, ((program *)made)->log);
    return 0;
}
