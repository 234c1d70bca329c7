/* SPDX-License-Identifier: Apache-2.0
 * Buffers of a plan: what lies where, from which launch to which, and what may be written over. */
#include <string.h>

#include "engine/plan_parts.h"
#include "proto/base/assert.h"

/* ---- numbers and lifetimes ---- */

static uint32_t buffer_of(bd_plan_build_state *state, bd_node node)
{
    if (state->buffer_of[node] != 0)
        return state->buffer_of[node] - 1;
    bd_plan *plan = state->plan;
    const bd_graph_node *stored = bd_graph_at(plan->graph, node);
    bd_plan_buffer *buffer = &plan->buffers[plan->buffer_count++];
    bool external = stored->kind == BD_NODE_EXTERNAL;
    *buffer = (bd_plan_buffer){
        .kind = external ? BD_BUFFER_EXTERNAL : BD_BUFFER_TEMP,
        .dtype = stored->dtype,
        .number = external ? stored->number : 0,
        .elements = bd_dims_product(bd_graph_ints(plan->graph), stored->dims, stored->rank),
        .first_launch = BD_PLAN_NONE,
        .reuses = BD_PLAN_NONE,
    };
    state->buffer_of[node] = plan->buffer_count;
    return plan->buffer_count - 1;
}

static void extend_life(bd_plan_buffer *buffer, uint32_t launch)
{
    if (buffer->first_launch == BD_PLAN_NONE)
        buffer->first_launch = launch;
    buffer->last_launch = launch;
}

static void number_buffers(bd_plan_build_state *state)
{
    bd_plan *plan = state->plan;
    const uint32_t *region = state->launch_regions;
    for (uint32_t i = 0; i < plan->launch_count; i++) {
        bd_plan_launch *launch = &plan->launches[i];
        bd_plan_block *blocks = (bd_plan_block *)launch->blocks;
        for (uint32_t b = 0; b < launch->block_count; b++, region++) {
            const bd_lowered *lowered = &state->lowered[*region];
            uint32_t count = lowered->program->buffer_count;
            uint32_t *numbers = BD_ARENA_ARRAY(&plan->arena, uint32_t, count + 1);
            for (uint32_t k = 0; k < count; k++) {
                numbers[k] = buffer_of(state, lowered->buffers[k]);
                extend_life(&plan->buffers[numbers[k]], i);
            }
            blocks[b].buffers = numbers;
        }
    }
}

static void assign_outputs(bd_plan_build_state *state)
{
    bd_plan *plan = state->plan;
    for (uint32_t i = 0; i < state->root_count; i++) {
        bd_plan_output *output = i < plan->output_count ? &plan->outputs[i]
                                                        : &plan->saved[i - plan->output_count];
        output->buffer = buffer_of(state, bd_fuse_storage(plan->graph, state->roots[i]));
        bd_plan_buffer *buffer = &plan->buffers[output->buffer];
        if (buffer->kind == BD_BUFFER_TEMP)
            buffer->kind = BD_BUFFER_RESULT;
    }
}

/* ---- in-place ---- */

static bool is_store(bd_kir_code code)
{
    return code == BD_KIR_STORE || code == BD_KIR_STORE_AT;
}

static bool same_access(const bd_kir_access *a, const bd_kir_access *b)
{
    if (a->offset.argument != b->offset.argument || a->offset.value != b->offset.value)
        return false;
    for (uint32_t axis = 0; axis < BD_KIR_AXES_MAX; axis++) {
        if (a->strides[axis].argument != b->strides[axis].argument ||
            a->strides[axis].value != b->strides[axis].value)
            return false;
    }
    return true;
}

/* The first instruction after which an element is no longer needed once its place is stored. What
 * the operands of a product read may be read again for other elements. */
static uint32_t first_in_place(const bd_kir *program)
{
    const bd_kir_phase *last = &program->phases[program->phase_count - 1];
    return program->family == BD_KIR_LOOP          ? 0
           : program->family == BD_KIR_CONTRACTION ? last->first /* the epilogue */
                                                   : program->instr_count;
}

/* Whether `written` is stored once, and `read` is read at no other element than the one about to be
 * stored, and not afterwards. */
static bool reads_same_element(const bd_kir *program, uint32_t read, uint32_t written)
{
    const bd_kir_access *target = NULL;
    uint32_t first = first_in_place(program);
    for (uint32_t i = first; i < program->instr_count; i++) {
        const bd_kir_instr *instr = &program->instrs[i];
        bd_kir_code code = (bd_kir_code)instr->code;
        if (!is_store(code) || program->accesses[instr->index].buffer != written)
            continue;
        if (target || code != BD_KIR_STORE || instr->guard >= 0 || instr->flags != BD_KIR_SET)
            return false;
        target = &program->accesses[instr->index];
    }
    bool stored = false;
    for (uint32_t i = 0; target && i < program->instr_count; i++) {
        const bd_kir_instr *instr = &program->instrs[i];
        bd_kir_code code = (bd_kir_code)instr->code;
        if (is_store(code) && program->accesses[instr->index].buffer == written)
            stored = true;
        if ((code != BD_KIR_LOAD && code != BD_KIR_LOAD_AT) ||
            program->accesses[instr->index].buffer != read)
            continue;
        if (i < first || stored || code != BD_KIR_LOAD ||
            !same_access(&program->accesses[instr->index], target))
            return false;
    }
    return target != NULL;
}

/* How often each buffer stands in a launch; `change` is 1 before, -1 after it is looked at. */
static void count_uses(const bd_plan *plan, const bd_plan_launch *launch, int32_t change,
                       int32_t *uses)
{
    for (uint32_t b = 0; b < launch->block_count; b++) {
        for (uint32_t k = 0; k < plan->programs[launch->kernel]->buffer_count; k++)
            uses[launch->blocks[b].buffers[k]] += change;
    }
}

static bool may_die(const bd_plan_build_state *state, const bd_plan_buffer *source)
{
    if (source->kind != BD_BUFFER_EXTERNAL)
        return source->kind == BD_BUFFER_TEMP;
    uint32_t count;
    const bd_graph_external *external =
        &bd_graph_externals(state->plan->graph, &count)[source->number];
    return external->step_count == 0 && state->trace->externals[external->slot].dies;
}

/* What is known while launches are looked at in their order. */
typedef struct reuse_state {
    bd_plan_build_state *state;
    uint32_t launch_number;
    const int32_t *uses;  /* of each buffer in this launch */
    uint8_t *taken;       /* by buffer: its memory is promised already, or shown by a value */
} reuse_state;

static bool may_reuse(const reuse_state *at, const bd_plan_block *block, uint32_t read,
                      uint32_t written)
{
    bd_plan *plan = at->state->plan;
    const bd_kir *program = plan->programs[plan->launches[at->launch_number].kernel];
    const bd_plan_buffer *source = &plan->buffers[block->buffers[read]];
    const bd_plan_buffer *target = &plan->buffers[block->buffers[written]];
    return program->buffers[read].use == BD_KIR_READ && !at->taken[block->buffers[read]] &&
           may_die(at->state, source) && source->last_launch == at->launch_number &&
           target->first_launch == at->launch_number &&
           burn_dtype_size((burn_dtype)source->dtype) ==
               burn_dtype_size((burn_dtype)target->dtype) &&
           at->uses[block->buffers[read]] == 1 && at->uses[block->buffers[written]] == 1 &&
           bd_product_equal(bd_graph_ints(plan->graph), source->elements, target->elements) &&
           reads_same_element(program, read, written);
}

static void choose_reuse(const reuse_state *at, const bd_plan_block *block, uint8_t kind)
{
    bd_plan *plan = at->state->plan;
    const bd_kir *program = plan->programs[plan->launches[at->launch_number].kernel];
    for (uint32_t written = 0; written < program->buffer_count; written++) {
        bd_plan_buffer *target = &plan->buffers[block->buffers[written]];
        if (program->buffers[written].use != BD_KIR_WRITE || target->reuses != BD_PLAN_NONE)
            continue;
        for (uint32_t read = 0; read < program->buffer_count; read++) {
            uint32_t source = block->buffers[read];
            if (plan->buffers[source].kind != kind || !may_reuse(at, block, read, written))
                continue;
            target->reuses = source;
            at->taken[source] = 1;
            break;
        }
    }
}

/* Memory of tensors that die goes first: then an updated parameter stays where it is. */
static void choose_in_launch(reuse_state *at, int32_t *uses)
{
    const bd_plan *plan = at->state->plan;
    const bd_plan_launch *launch = &plan->launches[at->launch_number];
    count_uses(plan, launch, 1, uses);
    for (uint32_t b = 0; b < launch->block_count; b++) {
        choose_reuse(at, &launch->blocks[b], BD_BUFFER_EXTERNAL);
        choose_reuse(at, &launch->blocks[b], BD_BUFFER_TEMP);
    }
    count_uses(plan, launch, -1, uses);
}

void bd_plan_assign_buffers(bd_plan_build_state *state)
{
    bd_plan *plan = state->plan;
    uint32_t node_count = bd_graph_count(plan->graph);
    state->buffer_of = BD_ARENA_ARRAY(&state->scratch, uint32_t, node_count + 1);
    size_t most = 1 + state->root_count;
    for (size_t i = 0; i < state->fusion.regions.count; i++)
        most += state->lowered[i].program->buffer_count;
    plan->buffers = BD_ARENA_ARRAY(&plan->arena, bd_plan_buffer, most);
    number_buffers(state);
    assign_outputs(state);
    int32_t *uses = BD_ARENA_ARRAY(&state->scratch, int32_t, plan->buffer_count + 1);
    reuse_state at = {.state = state,
                      .uses = uses,
                      .taken = BD_ARENA_ARRAY(&state->scratch, uint8_t, plan->buffer_count + 1)};
    /* What a surviving value shows of an external stays as it is. */
    for (uint32_t i = 0; i < state->root_count; i++) {
        const bd_plan_output *output = i < plan->output_count
                                           ? &plan->outputs[i]
                                           : &plan->saved[i - plan->output_count];
        if (plan->buffers[output->buffer].kind == BD_BUFFER_EXTERNAL)
            at.taken[output->buffer] = 1;
    }
    for (; at.launch_number < plan->launch_count; at.launch_number++)
        choose_in_launch(&at, uses);
}
