/* SPDX-License-Identifier: Apache-2.0
 * The text form of plans, for logs and tests. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "engine/plan.h"
#include "proto/base/alloc.h"
#include "proto/base/attr.h"
#include "proto/base/vec.h"

typedef BD_VEC(char) text;

static void add(text *into, const char *format, ...) BD_PRINTF(2, 3);

static void add(text *into, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0)
        return;
    bd_vec_reserve(into, into->count + (size_t)length + 1);
    va_start(arguments, format);
    vsnprintf(into->items + into->count, (size_t)length + 1, format, arguments);
    va_end(arguments);
    into->count += (size_t)length;
}

static void add_buffer(text *into, const bd_plan *plan, uint32_t number)
{
    static const char *const kinds[] = {"external", "result", "temp"};
    const bd_plan_buffer *buffer = &plan->buffers[number];
    add(into, "b%" PRIu32 ": %s %s", number, kinds[buffer->kind],
        burn_dtype_name((burn_dtype)buffer->dtype));
    if (buffer->kind == BD_BUFFER_EXTERNAL)
        add(into, " %" PRIu32, buffer->number);
    if (buffer->first_launch != BD_PLAN_NONE)
        add(into, ", launches %" PRIu32 " to %" PRIu32, buffer->first_launch, buffer->last_launch);
    if (buffer->reuses != BD_PLAN_NONE)
        add(into, ", over b%" PRIu32, buffer->reuses);
    add(into, "\n");
}

static void add_launch(text *into, const bd_plan *plan, uint32_t number)
{
    const bd_plan_launch *launch = &plan->launches[number];
    const bd_kir *program = plan->programs[launch->kernel];
    add(into, "launch %" PRIu32 ": program %" PRIu32 "%s\n", number, launch->kernel,
        launch->skip_if_same ? ", skipped in place" : "");
    for (uint32_t b = 0; b < launch->block_count; b++) {
        add(into, "  block");
        for (uint32_t k = 0; k < program->buffer_count; k++)
            add(into, " b%" PRIu32, launch->blocks[b].buffers[k]);
        add(into, "\n");
    }
}

char *bd_plan_print(const bd_plan *plan)
{
    text out = {0};
    for (uint32_t i = 0; i < plan->buffer_count; i++)
        add_buffer(&out, plan, i);
    for (uint32_t i = 0; i < plan->launch_count; i++)
        add_launch(&out, plan, i);
    for (uint32_t i = 0; i < plan->output_count; i++)
        add(&out, "value %" PRIu32 ": b%" PRIu32 "\n", plan->outputs[i].value,
            plan->outputs[i].buffer);
    for (uint32_t i = 0; i < plan->saved_count; i++)
        add(&out, "saved %%%" PRIu32 ": b%" PRIu32 "\n", plan->saved[i].node,
            plan->saved[i].buffer);
    for (uint32_t i = 0; i < plan->program_count; i++) {
        char *program = bd_kir_print(plan->programs[i]);
        add(&out, "program %" PRIu32 ":\n%s", i, program);
        bd_free(program);
    }
    add(&out, "\n");
    return out.items;
}
