/* SPDX-License-Identifier: Apache-2.0
 * Memory of the host that the GPU copies fast. It is the process's own and only pinned by the
 * driver: what a socket writes there must not go when the GPU's context does. */
#include <sys/mman.h>

#include "backends/cuda/device.h"
#include "proto/base/alloc.h"

enum { PAGE_BYTES = 4096 };

typedef struct bd_cuda_host {
    struct bd_cuda_host *next;
    void *memory;
    size_t size_bytes;
} bd_cuda_host;

static bd_error *pin(bd_device *device, const bd_cuda_host *host)
{
    return bd_cuda_check(device->cuda->cuMemHostRegister(host->memory, host->size_bytes, 0),
                         "pin memory");
}

bd_error *bd_cuda_host_alloc(bd_device *device, size_t size_bytes, void **out)
{
    size_t rounded = (size_bytes + PAGE_BYTES) / PAGE_BYTES * PAGE_BYTES;
    void *memory =
        mmap(NULL, rounded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        BD_FAIL(NO_MEMORY, "cannot allocate %zu bytes of the host", rounded);
    bd_cuda_host *host = bd_alloc(sizeof *host);
    *host = (bd_cuda_host){.memory = memory, .size_bytes = rounded};
    bd_error *error = pin(device, host);
    if (error) {
        munmap(memory, rounded);
        bd_free(host);
        return error;
    }
    pthread_mutex_lock(&device->hosts_lock);
    host->next = device->hosts;
    device->hosts = host;
    pthread_mutex_unlock(&device->hosts_lock);
    *out = memory;
    return NULL;
}

void bd_cuda_host_free(bd_device *device, void *memory, size_t size_bytes)
{
    (void)size_bytes;
    if (!memory)
        return;
    pthread_mutex_lock(&device->hosts_lock);
    bd_cuda_host **place = &device->hosts;
    while ((*place)->memory != memory)
        place = &(*place)->next;
    bd_cuda_host *host = *place;
    *place = host->next;
    pthread_mutex_unlock(&device->hosts_lock);
    (void)device->cuda->cuMemHostUnregister(memory);
    munmap(memory, host->size_bytes);
    bd_free(host);
}

bd_error *bd_cuda_host_pin_all(bd_device *device)
{
    bd_error *error = NULL;
    pthread_mutex_lock(&device->hosts_lock);
    for (const bd_cuda_host *host = device->hosts; host && !error; host = host->next)
        error = pin(device, host);
    pthread_mutex_unlock(&device->hosts_lock);
    return error;
}
