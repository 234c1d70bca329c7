/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/run.h"

#include <inttypes.h>
#include <string.h>

#include "proto/base/alloc.h"
#include "proto/base/assert.h"

enum { IDLE_MAX = 4 };

/* ---- histories reached from the trace ---- */

static const bd_history *history_at(const bd_binding *binding, uint32_t path)
{
    uint32_t count = 0;
    const bd_graph *graph = binding->graph;
    const bd_history_path *paths = bd_graph_paths(graph, &count);
    BD_ASSERT(path < count);
    const bd_history *history = binding->trace->externals[paths[path].slot].history;
    for (uint32_t i = 0; i < paths[path].step_count; i++)
        history = history->saved[paths[path].steps[i]].history;
    BD_ASSERT(history != NULL);
    return history;
}

static int64_t history_int(const void *user, uint32_t path, uint32_t number)
{
    return history_at(user, path)->ints[number];
}

/* The saved tensor that an external names; NULL for a slot's own. */
static const bd_history_saved *saved_at(const bd_trace *trace, const bd_graph_external *external)
{
    const bd_history *history = trace->externals[external->slot].history;
    const bd_history_saved *saved = NULL;
    for (uint32_t i = 0; i < external->step_count; i++) {
        BD_ASSERT(history && external->steps[i] < history->saved_count);
        saved = &history->saved[external->steps[i]];
        history = saved->history;
    }
    return saved;
}

/* ---- a run and its arrays ---- */

static bd_run *create(bd_known *known)
{
    const bd_plan *plan = known->plan;
    bd_run *run = bd_alloc_zeroed(sizeof *run);
    run->kind = BD_LETTER_RUN;
    run->known = known;
    bd_arena *arena = &run->memory;
    bd_arena_init(arena);
    bd_arena_init(&run->size_memory);
    uint32_t external_count = 0;
    bd_graph_externals(plan->graph, &external_count);
    run->ints = BD_ARENA_ARRAY(arena, int64_t, bd_int_count(bd_graph_ints(plan->graph)));
    run->new_ints = BD_ARENA_ARRAY(arena, int64_t, bd_int_count(bd_graph_ints(plan->graph)));
    run->group_bytes = BD_ARENA_ARRAY(arena, size_t, known->group_count);
    run->group_offsets = BD_ARENA_ARRAY(arena, size_t, known->group_count);
    run->scratch_bytes = BD_ARENA_ARRAY(arena, size_t, plan->launch_count);
    run->scratch_offsets = BD_ARENA_ARRAY(arena, size_t, plan->launch_count);
    run->arguments = BD_ARENA_ARRAY(arena, int64_t, known->argument_count);
    run->blocks = BD_ARENA_ARRAY(arena, bd_block, known->block_count);
    run->sizes = BD_ARENA_ARRAY(arena, const bd_sized *, known->block_count);
    run->launches = BD_ARENA_ARRAY(arena, bd_launch, plan->launch_count);
    run->launch_numbers = BD_ARENA_ARRAY(arena, uint32_t, plan->launch_count);
    run->pointers = BD_ARENA_ARRAY(arena, void *, known->pointer_count);
    run->scalars = BD_ARENA_ARRAY(arena, bd_scalar, known->scalar_count);
    run->externals = BD_ARENA_ARRAY(arena, bd_buffer *, external_count);
    run->places = BD_ARENA_ARRAY(arena, void *, plan->buffer_count);
    run->group_buffers = BD_ARENA_ARRAY(arena, bd_buffer *, known->group_count);
    run->outputs = BD_ARENA_ARRAY(arena, bd_buffer *, plan->output_count);
    run->slot_errors = BD_ARENA_ARRAY(arena, bd_error *, known->slot_count);
    run->external_serials = BD_ARENA_ARRAY(arena, uint64_t, external_count);
    run->slot_serials = BD_ARENA_ARRAY(arena, uint64_t, known->slot_count);
    run->output_serials = BD_ARENA_ARRAY(arena, uint64_t, plan->output_count);
    run->saved_serials = BD_ARENA_ARRAY(arena, uint64_t, plan->saved_count);
    if (known->fault_count) {
        run->faults = BD_ARENA_ARRAY(arena, bd_fault, known->fault_count);
        run->op_indices = BD_ARENA_ARRAY(arena, uint64_t, known->record_count);
    }

    bd_block *block = run->blocks;
    int64_t *argument = run->arguments;
    void **pointer = run->pointers;
    bd_scalar *scalar = run->scalars;
    for (uint32_t i = 0; i < plan->launch_count; i++) {
        const bd_kir *program = plan->programs[plan->launches[i].kernel];
        for (uint32_t b = 0; b < plan->launches[i].block_count; b++) {
            *block++ = (bd_block){.ints = argument, .buffers = pointer, .scalars = scalar};
            argument += program->int_count;
            pointer += program->buffer_count;
            scalar += program->scalar_count;
        }
    }
    return run;
}

/* ---- sizes: again only if an integer changed ---- */

static bd_error *size_groups(bd_run *run)
{
    const bd_known *known = run->known;
    const bd_plan *plan = known->plan;
    memset(run->group_bytes, 0, known->group_count * sizeof *run->group_bytes);
    for (uint32_t i = 0; i < plan->buffer_count; i++) {
        const bd_plan_buffer *buffer = &plan->buffers[i];
        if (buffer->kind == BD_BUFFER_EXTERNAL)
            continue;
        int64_t elements = run->ints[buffer->elements];
        size_t bytes = 0;
        if (elements < 0 || elements > BURN_ELEMENTS_MAX ||
            !bd_size_mul((size_t)elements, burn_dtype_size((burn_dtype)buffer->dtype), &bytes))
            BD_FAIL(LIMIT,
                    "an intermediate result of %" PRId64 " elements is above the limit of %" PRId64,
                    elements, (int64_t)BURN_ELEMENTS_MAX);
        size_t *group = &run->group_bytes[known->group_of[i]];
        if (bytes > *group)
            *group = bytes;
    }
    return NULL;
}

static bd_error *size_run(bd_run *run, const bd_binding *binding)
{
    const bd_plan *plan = run->known->plan;
    run->sized = false;
    BD_TRY(size_groups(run));
    bd_arena_reset(&run->size_memory);
    int64_t *argument = run->arguments;
    const bd_sized **sized = run->sizes;
    for (uint32_t i = 0; i < plan->launch_count; i++) {
        const bd_plan_launch *launch = &plan->launches[i];
        const bd_kir *program = plan->programs[launch->kernel];
        run->scratch_bytes[i] = 0;
        for (uint32_t b = 0; b < launch->block_count; b++) {
            for (uint16_t k = 0; k < program->int_count; k++)
                argument[k] = run->ints[launch->blocks[b].ints[k]];
            size_t scratch = binding->ops->size(binding->device, plan->kernels[launch->kernel],
                                                argument, &run->size_memory, sized++);
            if (scratch > run->scratch_bytes[i])
                run->scratch_bytes[i] = scratch;
            argument += program->int_count;
        }
    }
    run->arena_bytes = bd_known_place(run->known, run->group_bytes, run->group_offsets,
                                      run->scratch_bytes, run->scratch_offsets);
    run->sized = true;
    return NULL;
}

/* ---- memory ---- */

static bd_error *find_externals(bd_run *run, const bd_binding *binding)
{
    uint32_t count = 0;
    const bd_graph_external *externals = bd_graph_externals(run->known->plan->graph, &count);
    for (uint32_t i = 0; i < count; i++) {
        const bd_history_saved *saved = saved_at(binding->trace, &externals[i]);
        run->externals[i] = saved ? saved->buffer : binding->buffers[externals[i].slot];
        if (!run->externals[i]->bytes && run->externals[i]->error)
            return bd_error_retain(run->externals[i]->error); /* lost with the device */
        BD_TRY(bd_buffer_to_device(run->externals[i]));
        run->external_serials[i] = run->externals[i]->serial;
        uint32_t slot = externals[i].slot;
        if (saved && saved->buffer->error && !run->slot_errors[slot]) {
            run->slot_errors[slot] = bd_error_retain(saved->buffer->error);
            run->slot_spoiled = true;
        }
    }
    return NULL;
}

/* Before any memory changes its contents. */
static void note_slots(bd_run *run, const bd_binding *binding)
{
    for (uint32_t i = 0; i < run->known->slot_count; i++) {
        run->slot_serials[i] = binding->buffers[i]->serial;
        if (!binding->buffers[i]->error)
            continue;
        run->slot_errors[i] = bd_error_retain(binding->buffers[i]->error);
        run->slot_spoiled = true;
    }
}

static void forget_slot_errors(bd_run *run)
{
    for (uint32_t i = 0; run->slot_spoiled && i < run->known->slot_count; i++) {
        bd_error_free(run->slot_errors[i]);
        run->slot_errors[i] = NULL;
    }
    run->slot_spoiled = false;
}

/* Outputs that are somebody's tensor already. They are retained first, so that nothing takes their
 * memory away. */
static void share_outputs(bd_run *run)
{
    const bd_plan *plan = run->known->plan;
    for (uint32_t i = 0; i < plan->output_count; i++) {
        const bd_plan_buffer *buffer = &plan->buffers[plan->outputs[i].buffer];
        run->outputs[i] = buffer->kind == BD_BUFFER_EXTERNAL
                              ? bd_buffer_retain(run->externals[buffer->number])
                              : NULL;
    }
}

/* The buffer whose memory a group takes over, or NULL. */
static bd_buffer *steal(bd_run *run, const bd_binding *binding, const bd_known_group *group,
                        size_t bytes)
{
    const bd_plan *plan = run->known->plan;
    if (group->external == BD_PLAN_NONE)
        return NULL;
    uint32_t number = plan->buffers[group->external].number;
    uint32_t count = 0;
    const bd_graph_external *external = &bd_graph_externals(plan->graph, &count)[number];
    bd_buffer *buffer = run->externals[number];
    if (external->step_count || !binding->trace->externals[external->slot].dies ||
        bd_buffer_is_shared(buffer) || buffer->size_bytes != bytes ||
        buffer->account != binding->account)
        return NULL;
    return bd_buffer_retain(buffer); /* shared from now on: nobody else takes it */
}

static bd_error *allocate_groups(bd_run *run, const bd_binding *binding)
{
    const bd_known *known = run->known;
    for (uint32_t i = 0; i < known->group_count; i++) {
        const bd_known_group *group = &known->groups[i];
        run->group_buffers[i] = steal(run, binding, group, run->group_bytes[i]);
        if (!run->group_buffers[i] && group->result != BD_PLAN_NONE)
            BD_TRY(bd_memory_alloc(binding->memory, binding->account, run->group_bytes[i],
                                   BD_MEMORY_SUBMISSIONS, &run->group_buffers[i]));
    }
    if (run->arena_bytes)
        BD_TRY_NOTE(bd_memory_alloc(binding->memory, binding->account, run->arena_bytes,
                                    BD_MEMORY_ARENA, &run->arena),
                    "intermediate results");
    return NULL;
}

static void drop_memory(bd_run *run)
{
    const bd_known *known = run->known;
    for (uint32_t i = 0; i < known->group_count; i++) {
        bd_buffer_release(run->group_buffers[i]);
        run->group_buffers[i] = NULL;
    }
    for (uint32_t i = 0; i < known->plan->output_count; i++) {
        bd_buffer_release(run->outputs[i]);
        run->outputs[i] = NULL;
    }
    bd_buffer_release(run->arena);
    run->arena = NULL;
}

static void find_places(bd_run *run)
{
    const bd_known *known = run->known;
    const bd_plan *plan = known->plan;
    for (uint32_t i = 0; i < plan->buffer_count; i++) {
        uint32_t group = known->group_of[i];
        if (group == BD_PLAN_NONE)
            run->places[i] = bd_buffer_bytes(run->externals[plan->buffers[i].number]);
        else if (run->group_buffers[group])
            run->places[i] = run->group_buffers[group]->bytes;
        else if (run->arena)
            run->places[i] = (char *)run->arena->bytes + run->group_offsets[group];
        else
            run->places[i] = NULL; /* no elements */
    }
}

/* ---- arguments ---- */

static bd_scalar scalar_value(const bd_binding *binding, const bd_plan_scalar *scalar)
{
    uint32_t count = 0;
    const bd_graph_scalar *source = &bd_graph_scalars(binding->graph, &count)[scalar->number];
    const double *floats = binding->trace->scalars_as_double;
    const int64_t *integers = binding->trace->scalars_as_int;
    if (source->path != UINT32_MAX) {
        const bd_history *history = history_at(binding, source->path);
        floats = history->scalars_as_double;
        integers = history->scalars_as_int;
    }
    bd_scalar value;
    if (scalar->stored_as == BURN_F64)
        value.f = floats[source->slot];
    else
        value.i = integers[source->slot];
    return value;
}

static void fill_arguments(bd_run *run, const bd_binding *binding)
{
    const bd_plan *plan = run->known->plan;
    void **pointer = run->pointers;
    bd_scalar *scalar = run->scalars;
    const bd_block *block = run->blocks;
    const bd_sized *const *sized = run->sizes;
    uint32_t launch_count = 0, first_fault = 0;
    for (uint32_t i = 0; i < plan->launch_count; i++) {
        const bd_plan_launch *launch = &plan->launches[i];
        const bd_kir *program = plan->programs[launch->kernel];
        bool same = launch->skip_if_same && program->buffer_count == 2;
        for (uint32_t b = 0; b < launch->block_count; b++) {
            const bd_plan_block *recipe = &launch->blocks[b];
            for (uint16_t k = 0; k < program->buffer_count; k++)
                pointer[k] = run->places[recipe->buffers[k]];
            for (uint16_t k = 0; k < program->scalar_count; k++)
                scalar[k] = scalar_value(binding, &recipe->scalars[k]);
            same = same && pointer[0] == pointer[1];
            pointer += program->buffer_count;
            scalar += program->scalar_count;
        }
        if (!same) {
            run->launch_numbers[launch_count] = i;
            run->launches[launch_count++] = (bd_launch){
                .kernel = plan->kernels[launch->kernel],
                .blocks = block,
                .sized = sized,
                .block_count = launch->block_count,
                .scratch = run->scratch_bytes[i]
                               ? (char *)run->arena->bytes + run->scratch_offsets[i]
                               : NULL,
                .first_fault = first_fault,
            };
        }
        first_fault += launch->fault_count;
        block += launch->block_count;
        sized += launch->block_count;
    }
    run->submission.launches = run->launches;
    run->submission.launch_count = launch_count;
    run->submission.faults = run->faults;
    run->submission.fault_count = first_fault;
    atomic_store(&run->submission.cancelled, false);
}

/* ---- results ---- */

static void take_outputs(bd_run *run)
{
    const bd_known *known = run->known;
    const bd_plan *plan = known->plan;
    for (uint32_t i = 0; i < known->group_count; i++) {
        if (!run->group_buffers[i])
            continue;
        /* Stolen memory is held by the trace too, until it is reset. */
        if (known->groups[i].result != BD_PLAN_NONE && known->groups[i].external != BD_PLAN_NONE)
            bd_buffer_renew(run->group_buffers[i]);
    }
    for (uint32_t i = 0; i < plan->output_count; i++) {
        uint32_t group = known->group_of[plan->outputs[i].buffer];
        if (group != BD_PLAN_NONE)
            run->outputs[i] = bd_buffer_retain(run->group_buffers[group]);
        run->output_serials[i] = run->outputs[i]->serial;
    }
}

static bool needs_history(const bd_plan *plan)
{
    for (uint32_t i = 0; i < plan->output_count; i++)
        if (plan->outputs[i].tracked)
            return true;
    return false;
}

/* How a kept external was made: its own history, or, for what an older plan kept of its inside,
 * that plan's. */
static void keep_origin(const bd_trace *trace, const bd_graph_external *external,
                        bd_history_saved *saved)
{
    const bd_trace_external *slot = &trace->externals[external->slot];
    bd_history *history = slot->history;
    uint32_t node = slot->history_node;
    saved->tensor = slot->tensor;
    for (uint32_t i = 0; i < external->step_count; i++) {
        const bd_history_saved *older = &history->saved[external->steps[i]];
        uint32_t inner = history->plan->saved[external->steps[i]].node;
        const bd_graph_node *at = bd_graph_at(history->plan->graph, inner);
        saved->tensor = older->tensor;
        if (older->history || at->kind != BD_NODE_OP || !at->tracked) {
            history = older->history;
            node = older->history_node;
        } else {
            node = inner;
        }
    }
    saved->history = bd_history_retain(history);
    saved->history_node = node;
}

static void keep_saved(bd_run *run, const bd_binding *binding, const bd_plan_output *output,
                       bd_history_saved *saved)
{
    const bd_known *known = run->known;
    uint32_t group = known->group_of[output->buffer];
    saved->type.dtype = (burn_dtype)output->dtype;
    saved->type.shape.rank = output->rank;
    for (uint8_t d = 0; d < output->rank; d++)
        saved->type.shape.dims[d] = run->ints[output->dims[d]];
    saved->tensor = 0;
    if (group != BD_PLAN_NONE) {
        saved->buffer = bd_buffer_retain(run->group_buffers[group]);
    } else {
        uint32_t number = known->plan->buffers[output->buffer].number;
        saved->buffer = bd_buffer_retain(run->externals[number]);
        if (bd_graph_at(known->plan->graph, output->node)->kind == BD_NODE_EXTERNAL) {
            uint32_t count = 0;
            const bd_graph_external *external =
                &bd_graph_externals(known->plan->graph, &count)[number];
            keep_origin(binding->trace, external, saved);
        }
    }
    if (!saved->tensor)
        saved->tensor = ++*binding->next_tensor;
}

static bd_history *make_history(bd_run *run, const bd_binding *binding)
{
    bd_plan *plan = run->known->plan;
    uint32_t int_count = bd_int_count(bd_graph_ints(plan->graph));
    uint32_t scalar_count = 0;
    bd_graph_scalars(plan->graph, &scalar_count);
    size_t int_bytes = int_count * sizeof(int64_t);
    size_t saved_bytes = plan->saved_count * sizeof(bd_history_saved);
    char *memory = bd_alloc_zeroed(sizeof(bd_history) + saved_bytes + int_bytes +
                                   scalar_count * 2 * sizeof(int64_t));
    bd_history *history = (bd_history *)(void *)memory;
    bd_history_saved *saved = (bd_history_saved *)(void *)(memory + sizeof *history);
    int64_t *ints = (int64_t *)(void *)(memory + sizeof *history + saved_bytes);
    double *floats = (double *)(void *)(ints + int_count);
    int64_t *integers = ints + int_count + scalar_count;
    memcpy(ints, run->ints, int_bytes);
    for (uint32_t i = 0; i < scalar_count; i++) {
        floats[i] = scalar_value(binding, &(bd_plan_scalar){i, BURN_F64}).f;
        integers[i] = scalar_value(binding, &(bd_plan_scalar){i, BURN_I64}).i;
    }
    for (uint32_t i = 0; i < plan->saved_count; i++) {
        keep_saved(run, binding, &plan->saved[i], &saved[i]);
        run->saved_serials[i] = saved[i].buffer->serial;
    }
    *history = (bd_history){.count = 1,
                            .plan = bd_plan_retain(plan),
                            .ints = ints,
                            .scalars_as_double = floats,
                            .scalars_as_int = integers,
                            .saved_count = plan->saved_count,
                            .saved = saved};
    return history;
}

static void release_groups(bd_run *run)
{
    for (uint32_t i = 0; i < run->known->group_count; i++) {
        bd_buffer_release(run->group_buffers[i]);
        run->group_buffers[i] = NULL;
    }
}

void bd_run_destroy(bd_run *run)
{
    if (!run)
        return;
    bd_arena_deinit(&run->size_memory);
    bd_arena_deinit(&run->memory);
    bd_free(run);
}

void bd_run_retire(bd_run *run)
{
    bd_known *known = run->known;
    forget_slot_errors(run);
    bd_error_free(run->submission.error);
    run->submission.error = NULL;
    if (known->idle_count < IDLE_MAX) {
        run->next = known->idle;
        known->idle = run;
        known->idle_count++;
    } else {
        bd_run_destroy(run);
    }
    bd_known_release(known); /* what the run held */
}

static bd_error *bind(bd_run *run, const bd_binding *binding)
{
    const bd_plan *plan = run->known->plan;
    bd_ints *table = bd_graph_ints(plan->graph);
    size_t int_bytes = bd_int_count(table) * sizeof(int64_t);
    bd_ints_evaluate(table, binding->trace, history_int, binding, run->new_ints);
    if (!run->sized || memcmp(run->new_ints, run->ints, int_bytes) != 0) {
        memcpy(run->ints, run->new_ints, int_bytes);
        BD_TRY(size_run(run, binding));
    }
    BD_TRY(find_externals(run, binding));
    share_outputs(run);
    bd_error *error = allocate_groups(run, binding);
    if (error) {
        drop_memory(run);
        return error;
    }
    find_places(run);
    fill_arguments(run, binding);
    take_outputs(run);
    run->history = needs_history(plan) ? make_history(run, binding) : NULL;
    release_groups(run);
    return NULL;
}

bd_error *bd_run_bind(bd_known *known, const bd_binding *outer, bd_run **out)
{
    bd_binding binding = *outer;
    binding.graph = known->plan->graph;
    bd_run *run = known->idle;
    if (run) {
        known->idle = run->next;
        known->idle_count--;
    } else {
        run = create(known);
    }
    run->next = NULL;
    if (known->fault_count)
        memset(run->faults, 0, known->fault_count * sizeof *run->faults);
    run->submission.run_ns = 0;
    run->done = run->dropped = false;
    bd_known_retain(known);
    note_slots(run, &binding);
    bd_error *error = bind(run, &binding);
    if (error) {
        bd_run_retire(run);
        return error;
    }
    for (uint32_t i = 0; known->fault_count && i < known->record_count; i++)
        run->op_indices[i] = binding.trace->records[i].op_index;
    *out = run;
    return NULL;
}
