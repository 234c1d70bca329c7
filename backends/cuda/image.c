/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/image.h"

#include "backends/cuda/compile.h"
#include "backends/cuda/crew.h"
#include "proto/base/alloc.h"

typedef struct task {
    bd_cuda_task task;
    const bd_kir *program;
    int module, architecture;
    bd_cuda_image *image;
    bd_error *error;
} task;

/* The program, and behind it a module's number, if that is not 0. */
static uint8_t *key_of(const bd_kir *program, size_t *out_bytes)
{
    uint8_t *key = bd_kir_serialize(program, out_bytes);
    return bd_realloc(key, *out_bytes + 1);
}

bool bd_cuda_images_find(const bd_device *device, const bd_kir *program, bd_cuda_images *out)
{
    *out = (bd_cuda_images){.count = bd_cuda_modules(program, device->architecture)};
    if (!device->cache)
        return false;
    size_t key_bytes = 0;
    uint8_t *key = key_of(program, &key_bytes);
    bool all = true;
    for (int i = 0; i < out->count; i++) {
        key[key_bytes] = (uint8_t)i;
        out->each[i].bytes = (char *)bd_object_cache_get(device->cache, key, key_bytes + (i > 0),
                                                         &out->each[i].size);
        all = all && out->each[i].bytes;
    }
    bd_free(key);
    return all;
}

void bd_cuda_images_prepare(const bd_device *device)
{
    static const uint8_t mark[] = "the compiler was ready";
    size_t size = 0;
    if (device->compile_never)
        return;
    uint8_t *found =
        device->cache ? bd_object_cache_get(device->cache, mark, sizeof mark, &size) : NULL;
    if (!found) {
        bd_error *err = bd_cuda_warm_compiler(device->architecture);
        if (!err && device->cache)
            bd_object_cache_put(device->cache, mark, sizeof mark, mark, sizeof mark);
        bd_error_free(err); /* who compiles will be told */
    }
    bd_free(found);
}

static void make(bd_cuda_task *which)
{
    task *wanted = (task *)which;
    bd_cuda_image *image = wanted->image;
    wanted->error = bd_cuda_compile(wanted->program, wanted->module, wanted->architecture,
                                    &image->bytes, &image->size);
    image->fresh = true;
}

bd_error *bd_cuda_images_make(const bd_device *device, const bd_kir *program,
                              bd_cuda_images *images)
{
    if (device->compile_never)
        BD_FAIL(UNAVAILABLE, "compiling is off (compile=never) and this kernel is not cached");
    task tasks[BD_CFAMILY_MODULES_MOST];
    bd_cuda_task *wanted[BD_CFAMILY_MODULES_MOST] = {NULL};
    int count = 0;
    for (int i = 0; i < images->count; i++) {
        if (images->each[i].bytes)
            continue;
        tasks[count] = (task){.task = {.make = make, .cost = bd_cfamily_cost(program, i)},
                              .program = program,
                              .module = i,
                              .architecture = device->architecture,
                              .image = &images->each[i]};
        wanted[count] = &tasks[count].task;
        count++;
    }
    bd_cuda_crew_run(device->crew, wanted, count);
    bd_error *first = NULL;
    for (int i = 0; i < count; i++) {
        if (!first)
            first = tasks[i].error;
        else
            bd_error_free(tasks[i].error);
    }
    return first;
}

void bd_cuda_images_keep(const bd_device *device, const bd_kir *program,
                         const bd_cuda_images *images)
{
    if (!device->cache)
        return;
    size_t key_bytes = 0;
    uint8_t *key = key_of(program, &key_bytes);
    for (int i = 0; i < images->count; i++) {
        const bd_cuda_image *image = &images->each[i];
        key[key_bytes] = (uint8_t)i;
        if (image->fresh)
            bd_object_cache_put(device->cache, key, key_bytes + (i > 0),
                                (const uint8_t *)image->bytes, image->size);
    }
    bd_free(key);
}

size_t bd_cuda_images_bytes(const bd_cuda_images *images)
{
    size_t bytes = 0;
    for (int i = 0; i < images->count; i++)
        bytes += images->each[i].size;
    return bytes;
}

void bd_cuda_images_free(bd_cuda_images *images)
{
    for (int i = 0; i < images->count; i++)
        bd_free(images->each[i].bytes);
    *images = (bd_cuda_images){.count = images->count};
}
