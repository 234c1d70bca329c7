/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/backends/program.h"

#include <check.h>
#include <sched.h>
#include <stdatomic.h>

bd_kir_access kir_access(int buffer)
{
    bd_kir_access access = {.buffer = (uint16_t)buffer, .offset = bd_kir_const(0)};
    for (int i = 0; i < BD_KIR_AXES_MAX; i++)
        access.strides[i] = bd_kir_const(0);
    return access;
}

bd_kir_value kir_load(bd_kir_builder *builder, const bd_kir_access *access, int guard)
{
    bd_kir_instr instr = {.code = BD_KIR_LOAD,
                          .index = (uint16_t)bd_kir_add_access(builder, access),
                          .guard = (int16_t)guard};
    return bd_kir_emit(builder, &instr);
}

void kir_store(bd_kir_builder *builder, const bd_kir_access *access, bd_kir_value value)
{
    bd_kir_instr instr = {.code = BD_KIR_STORE,
                          .index = (uint16_t)bd_kir_add_access(builder, access),
                          .guard = -1,
                          .operands = {value}};
    bd_kir_emit(builder, &instr);
}

bd_kir *kir_finish(bd_kir_builder *own_builder, bd_arena *arena)
{
    bd_kir *program = NULL;
    bd_error *err = bd_kir_finish(own_builder, arena, &program);
    ck_assert_msg(err == NULL, "%s", bd_error_text(err));
    bd_kir_builder_destroy(own_builder);
    return program;
}

static void finished(bd_submission *submission)
{
    atomic_store((atomic_int *)submission->user, 1);
}

kir_fault kir_launch(const bd_driver *driver, bd_device *device, bd_kernel *kernel,
                    const bd_block *block)
{
    bd_arena arena;
    bd_arena_init(&arena);
    const bd_sized *sized = NULL;
    size_t bytes = driver->ops->size(device, kernel, block->ints, &arena, &sized);
    void *scratch = NULL;
    ck_assert_ptr_null(driver->ops->alloc(device, bytes + 1, &scratch));
    bd_fault faults[KIR_TAGS_MAX] = {0};
    atomic_int done = 0;
    bd_launch launch = {.kernel = kernel,
                        .blocks = block,
                        .sized = &sized,
                        .block_count = 1,
                        .scratch = scratch};
    bd_submission submission = {.launches = &launch,
                                .launch_count = 1,
                                .faults = faults,
                                .fault_count = KIR_TAGS_MAX,
                                .done = finished,
                                .user = &done};
    driver->ops->submit(device, &submission);
    while (!atomic_load(&done))
        sched_yield();
    driver->ops->free(device, scratch, bytes + 1);
    bd_arena_deinit(&arena);
    kir_fault found = {.tag = -1};
    for (int tag = KIR_TAGS_MAX - 1; tag >= 0; tag--)
        if (faults[tag].happened)
            found = (kir_fault){faults[tag].happened, tag, faults[tag].position,
                                faults[tag].extent};
    return found;
}

kir_fault kir_run(const bd_driver *driver, bd_device *device, const bd_kir *program,
                 const bd_block *block)
{
    bd_kernel *kernel = NULL;
    bd_error *err = driver->ops->compile(device, program, &kernel);
    ck_assert_msg(err == NULL, "%s", bd_error_text(err));
    kir_fault fault = kir_launch(driver, device, kernel, block);
    driver->ops->kernel_free(device, kernel);
    return fault;
}
