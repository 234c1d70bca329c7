/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/backends/machines.h"

#include <check.h>

#include "backends/cpu/cpu.h"
#include "backends/ref/ref.h"

static const char *const targets[MACHINE_TARGETS] = {"generic", "avx2", "avx512", "avx512_bf16",
                                                     "amx"};

static bool add(machines *to, const bd_driver *driver, bd_device_options options)
{
    machine *m = &to->all[to->count];
    *m = (machine){.driver = driver, .name = options.target ? options.target : "ref"};
    bd_error *err = driver->open(&options, &m->device);
    if (err) {
        ck_assert_int_eq(bd_error_code(err), BD_CODE_UNSUPPORTED);
        bd_error_free(err);
        return false;
    }
    to->count++;
    return true;
}

void machines_of_targets(machines *out, int threads)
{
    out->count = 0;
    ck_assert(add(out, &bd_ref_driver, (bd_device_options){0}));
    for (int i = 0; i < MACHINE_TARGETS; i++)
        add(out, &bd_cpu_driver, (bd_device_options){.threads = threads, .target = targets[i]});
    ck_assert_int_gt(out->count, 1);
}

bool machines_of_threads(machines *out, int target)
{
    out->count = 0;
    for (int i = 1; i <= 3; i++)
        if (!add(out, &bd_cpu_driver, (bd_device_options){.threads = i, .target = targets[target]}))
            return false;
    return true;
}

static void forget(machine *m)
{
    if (m->kernel)
        m->driver->ops->kernel_free(m->device, m->kernel);
    m->kernel = NULL;
}

void machines_compile(machines *on, const bd_kir *program)
{
    for (machine *m = on->all; m < on->all + on->count; m++) {
        forget(m);
        bd_error *err = m->driver->ops->compile(m->device, program, &m->kernel);
        ck_assert_msg(err == NULL, "%s: %s", m->name, bd_error_text(err));
    }
}

void machine_run(const machine *m, const bd_block *block)
{
    kir_launch(m->driver, m->device, m->kernel, block);
}

void machines_close(machines *done)
{
    while (done->count > 0) {
        machine *m = &done->all[--done->count];
        forget(m);
        m->driver->ops->close(m->device);
    }
}
