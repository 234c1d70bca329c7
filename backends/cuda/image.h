/* SPDX-License-Identifier: Apache-2.0
 * The machine code of a program, by module: from the object cache, or compiled. Thread: any. */
#pragma once

#include "backends/cfamily/print.h"
#include "backends/cuda/device.h"

typedef struct bd_cuda_image {
    char *bytes; /* NULL: not there yet */
    size_t size;
    bool fresh; /* compiled, so it is not in the cache */
} bd_cuda_image;

typedef struct bd_cuda_images {
    int count;
    bd_cuda_image each[BD_CFAMILY_MODULES_MOST];
} bd_cuda_images;

/* Makes the compiler ready, unless the cache has been filled before. */
void bd_cuda_images_prepare(const bd_device *device);
/* Those that the cache has; true if these are all. */
bool bd_cuda_images_find(const bd_device *device, const bd_kir *program, bd_cuda_images *out);
/* Compiles those that are missing, with the help of other threads that do. */
bd_error *bd_cuda_images_make(const bd_device *device, const bd_kir *program,
                              bd_cuda_images *images) BD_MUST_USE;
/* Into the cache, what is not there yet. */
void bd_cuda_images_keep(const bd_device *device, const bd_kir *program,
                         const bd_cuda_images *images);
size_t bd_cuda_images_bytes(const bd_cuda_images *images);
void bd_cuda_images_free(bd_cuda_images *images);
