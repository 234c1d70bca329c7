/* SPDX-License-Identifier: Apache-2.0
 * What tests of backends share: short ways to build kernel programs and to run one on a device. */
#pragma once

#include "backends/backend.h"
#include "backends/kir/kir.h"

/* An access with offset 0 and all strides 0. */
bd_kir_access kir_access(int buffer);
bd_kir_value kir_load(bd_kir_builder *builder, const bd_kir_access *access, int guard);
void kir_store(bd_kir_builder *builder, const bd_kir_access *access, bd_kir_value value);
bd_kir *kir_finish(bd_kir_builder *own_builder, bd_arena *arena);
enum { KIR_TAGS_MAX = 64 };
/* What the first of a launch's tags that has something to tell says. */
typedef struct kir_fault {
    int32_t happened, tag;
    int64_t position, extent;
} kir_fault;
/* One launch of one block, to its end. */
kir_fault kir_launch(const bd_driver *driver, bd_device *device, bd_kernel *kernel,
                    const bd_block *block);
/* Compiles first; buffers are host memory that the device may use as it is. */
kir_fault kir_run(const bd_driver *driver, bd_device *device, const bd_kir *program,
                 const bd_block *block);
