/* SPDX-License-Identifier: Apache-2.0
 * Which phase computes which value, and what later phases keep or compute again. */
#include "engine/lower/emit.h"
#include "proto/base/alloc.h"

enum {
    KEEP_COST = 10, /* computing this much again costs more than a store and a load in cache */
    LOAD_COST = 1,
    GATHER_COST = 8,
    SLOTS_MAX = 12,
};

void bd_visit_affine(bd_emitter *emitter, const bd_affine *index, bd_visit_value visit, void *user)
{
    for (uint32_t i = 0; i < index->count; i++) {
        uint8_t axis = index->terms[i].axis;
        if (axis >= BD_VIRTUAL_AXIS)
            visit(emitter, emitter->region->virtuals[axis - BD_VIRTUAL_AXIS].value, user);
    }
}

void bd_visit_needs(bd_emitter *emitter, uint32_t value, bd_visit_value visit, void *user)
{
    const bd_region_value *self = &emitter->region->values.items[value];
    if (self->index)
        bd_visit_affine(emitter, self->index, visit, user);
    for (uint32_t i = 0; i < self->operand_count; i++)
        visit(emitter, self->operands[i], user);
}

/* ---- order ---- */

typedef struct pending {
    BD_VEC(uint32_t) stack;
    uint8_t *state; /* 0 new, 1 waiting for what it needs, 2 placed */
} pending;

static void push_new(bd_emitter *emitter, uint32_t value, void *user)
{
    (void)emitter;
    pending *work = user;
    if (work->state[value] == 0)
        *bd_vec_push(&work->stack) = value;
}

static void place_pending(bd_emitter *emitter, pending *work)
{
    while (work->stack.count > 0) {
        uint32_t value = work->stack.items[work->stack.count - 1];
        if (work->state[value] == 0) {
            work->state[value] = 1;
            bd_visit_needs(emitter, value, push_new, work);
            continue;
        }
        work->stack.count--;
        if (work->state[value] == 1) {
            work->state[value] = 2;
            emitter->order[emitter->order_count++] = value;
        }
    }
}

static void order_values(bd_emitter *emitter)
{
    bd_region *region = emitter->region;
    emitter->order = BD_ARENA_ARRAY(emitter->arena, uint32_t, region->values.count + 1);
    pending work = {.state = bd_arena_zeroed(emitter->arena, region->values.count + 1)};
    for (size_t i = 0; i < region->roots.count; i++) {
        const bd_region_root *root = &region->roots.items[i];
        push_new(emitter, root->value, &work);
        bd_visit_affine(emitter, &root->address, push_new, &work);
        place_pending(emitter, &work);
    }
    for (uint32_t i = 0; i < region->virtual_count; i++) {
        if (region->checked >> i & 1)
            push_new(emitter, region->virtuals[i].value, &work);
        place_pending(emitter, &work);
    }
    bd_vec_deinit(&work.stack);
}

static uint32_t virtuals_of(const bd_affine *index)
{
    uint32_t virtuals = 0;
    for (uint32_t i = 0; index && i < index->count; i++) {
        if (index->terms[i].axis >= BD_VIRTUAL_AXIS)
            virtuals |= 1u << (index->terms[i].axis - BD_VIRTUAL_AXIS);
    }
    return virtuals;
}

/* A place that no address depends on (every element there is the same) has to be right all the
 * same. */
static void find_lone_checks(bd_emitter *emitter)
{
    bd_region *region = emitter->region;
    emitter->lone_checks = region->checked;
    for (uint32_t i = 0; i < emitter->order_count; i++)
        emitter->lone_checks &= ~virtuals_of(region->values.items[emitter->order[i]].index);
    for (size_t i = 0; i < region->roots.count; i++)
        emitter->lone_checks &= ~virtuals_of(&region->roots.items[i].address);
}

/* ---- stages ---- */

static void join_stage(bd_stage *into, const bd_stage *from)
{
    if (from->level > into->level)
        into->level = from->level;
    if (from->sweep > into->sweep)
        into->sweep = from->sweep;
}

static bd_stage stage_of_axes(const bd_emitter *emitter, uint32_t axes)
{
    bd_stage stage = {.first = -1, .slot = -1};
    if (axes != 0)
        stage.level = axes & emitter->serial ? BD_LEVEL_EACH : BD_LEVEL_ROW;
    return stage;
}

bd_stage bd_stage_of_affine(const bd_emitter *emitter, const bd_affine *index)
{
    bd_stage stage = stage_of_axes(emitter, bd_affine_axes(index));
    for (uint32_t i = 0; i < index->count; i++) {
        uint8_t axis = index->terms[i].axis;
        if (axis < BD_VIRTUAL_AXIS)
            continue;
        bd_stage row = {.level = BD_LEVEL_ROW};
        join_stage(&stage, &row);
        join_stage(&stage,
                   &emitter->stages[emitter->region->virtuals[axis - BD_VIRTUAL_AXIS].value]);
    }
    return stage;
}

bd_stage bd_stage_of_check(const bd_emitter *emitter, uint32_t number)
{
    bd_affine place = bd_affine_axis((uint8_t)(BD_VIRTUAL_AXIS + number));
    return bd_stage_of_affine(emitter, &place);
}

bd_stage bd_stage_of_root(const bd_emitter *emitter, const bd_region_root *root)
{
    bd_stage stage = bd_stage_of_affine(emitter, &root->address);
    join_stage(&stage, &emitter->stages[root->value]);
    if (root->each && emitter->serial != 0)
        stage.level = BD_LEVEL_EACH;
    return stage;
}

static void join_context(const bd_emitter *emitter, bd_stage *stage, uint32_t context)
{
    const bd_region_context *guards = &emitter->region->contexts.items[context];
    for (uint32_t i = 0; i < guards->guard_count; i++) {
        const bd_region_guard *guard = &emitter->region->guards.items[guards->guards[i]];
        bd_stage own = stage_of_axes(emitter, bd_affine_axes(&guard->index));
        if (own.level < BD_LEVEL_ROW)
            own.level = BD_LEVEL_ROW;
        join_stage(stage, &own);
    }
}

bool bd_computes_reduce(const bd_emitter *emitter, uint32_t value)
{
    const bd_region_value *self = &emitter->region->values.items[value];
    return self->state == BD_VALUE_COMPUTE &&
           bd_class_of(bd_graph_at(emitter->region->graph, self->node)) == BD_CLASS_REDUCE;
}

bool bd_is_sort(const bd_emitter *emitter, uint32_t value)
{
    const bd_region_value *self = &emitter->region->values.items[value];
    return self->state == BD_VALUE_COMPUTE &&
           bd_class_of(bd_graph_at(emitter->region->graph, self->node)) == BD_CLASS_SORT;
}

static bd_stage stage_of(bd_emitter *emitter, uint32_t value)
{
    const bd_region_value *self = &emitter->region->values.items[value];
    const bd_graph_node *node = bd_graph_at(emitter->region->graph, self->node);
    bd_stage stage = {.first = -1, .slot = -1};
    if (self->state == BD_VALUE_LEAF)
        return stage;
    bd_stage row = {.level = BD_LEVEL_ROW};
    uint32_t cost = bd_lower_cost(node);
    if (self->index) {
        bd_stage place = bd_stage_of_affine(emitter, self->index);
        join_stage(&stage, &place);
    }
    if (self->state == BD_VALUE_LOAD) {
        join_stage(&stage, &row);
        join_context(emitter, &stage, self->context);
        cost = bd_affine_has_virtual(self->index) ? GATHER_COST : LOAD_COST;
    }
    bool checks = bd_class_of(node) == BD_CLASS_MAP && bd_lower_code(node) == BD_KIR_CHECK;
    /* A product of uniform operands is no uniform value. */
    if (checks || bd_class_of(node) == BD_CLASS_DOT || bd_class_of(node) == BD_CLASS_ATTEND)
        join_stage(&stage, &row);
    for (uint32_t i = 0; i < self->operand_count; i++) {
        const bd_stage *operand = &emitter->stages[self->operands[i]];
        join_stage(&stage, operand);
        if (operand->level == BD_LEVEL_EACH)
            cost += operand->again;
    }
    if (self->operand_guards) {
        join_stage(&stage, &row);
        uint32_t guarded = bd_class_of(node) == BD_CLASS_PAD ? 1 : self->operand_count;
        for (uint32_t i = 0; i < guarded; i++)
            join_context(emitter, &stage, self->operand_guards[i]);
    }
    stage.again = cost;
    if (bd_computes_reduce(emitter, value)) {
        stage.level = BD_LEVEL_ROW;
        stage.sweep++;
    }
    if (self->state == BD_VALUE_COMPUTE && bd_class_of(node) == BD_CLASS_SCAN)
        stage.level = BD_LEVEL_EACH;
    if (bd_is_sort(emitter, value)) {
        stage.level = BD_LEVEL_EACH;
        stage.sweep++;
        stage.again = LOAD_COST; /* the positions lie in a slot */
    }
    return stage;
}

/* ---- what each sweep computes ---- */

typedef struct marking {
    uint8_t *needed;
} marking;

static void mark(bd_emitter *emitter, uint32_t value, void *user)
{
    if (emitter->stages[value].level == BD_LEVEL_EACH)
        ((marking *)user)->needed[value] = 1;
}

static void mark_sinks(bd_emitter *emitter, uint32_t sweep, marking *marks)
{
    bd_region *region = emitter->region;
    for (uint32_t i = 0; i < emitter->order_count; i++) {
        uint32_t value = emitter->order[i];
        bool ends = bd_computes_reduce(emitter, value) || bd_is_sort(emitter, value);
        if (ends && emitter->stages[value].sweep == sweep + 1)
            mark(emitter, region->values.items[value].operands[0], marks);
    }
    for (size_t i = 0; i < region->roots.count; i++) {
        const bd_region_root *root = &region->roots.items[i];
        bd_stage place = bd_stage_of_root(emitter, root);
        if (place.level == BD_LEVEL_EACH && place.sweep == sweep) {
            mark(emitter, root->value, marks);
            bd_visit_affine(emitter, &root->address, mark, marks);
        }
    }
    for (uint32_t i = 0; i < region->virtual_count; i++) {
        if (emitter->lone_checks >> i & 1 && bd_stage_of_check(emitter, i).sweep == sweep)
            mark(emitter, region->virtuals[i].value, marks);
    }
}

static void plan_sweep(bd_emitter *emitter, uint32_t sweep, uint32_t *slot_count)
{
    marking marks = {bd_arena_zeroed(emitter->arena, emitter->region->values.count + 1)};
    emitter->needed[sweep] = marks.needed;
    mark_sinks(emitter, sweep, &marks);
    for (uint32_t i = emitter->order_count; i-- > 0;) {
        uint32_t value = emitter->order[i];
        bd_stage *stage = &emitter->stages[value];
        if (!marks.needed[value])
            continue;
        bool again = stage->first >= 0;
        if (again && stage->slot < 0 && stage->again >= KEEP_COST && *slot_count < SLOTS_MAX)
            stage->slot = (int16_t)(*slot_count)++;
        if (!again)
            stage->first = (int8_t)sweep;
        if ((!again || stage->slot < 0) && !bd_is_sort(emitter, value))
            bd_visit_needs(emitter, value, mark, &marks);
    }
}

/* Whether a store or check of each element waits for the last reduction. */
static bool stores_last(const bd_emitter *emitter)
{
    for (size_t i = 0; i < emitter->region->roots.count; i++) {
        const bd_region_root *root = &emitter->region->roots.items[i];
        bd_stage place = bd_stage_of_root(emitter, root);
        if (place.level == BD_LEVEL_EACH && place.sweep == emitter->sweep_count)
            return true;
    }
    for (uint32_t i = 0; i < emitter->region->virtual_count; i++) {
        bd_stage check = bd_stage_of_check(emitter, i);
        if (emitter->lone_checks >> i & 1 && check.level == BD_LEVEL_EACH &&
            check.sweep == emitter->sweep_count)
            return true;
    }
    return false;
}

bd_error *bd_schedule(bd_emitter *emitter)
{
    bd_region *region = emitter->region;
    emitter->serial = bd_region_axes_of_role(region, BD_KIR_SERIAL);
    emitter->stages = BD_ARENA_ARRAY(emitter->arena, bd_stage, region->values.count + 1);
    order_values(emitter);
    find_lone_checks(emitter);
    for (uint32_t i = 0; i < emitter->order_count; i++) {
        uint32_t value = emitter->order[i];
        emitter->stages[value] = stage_of(emitter, value);
        emitter->stages[value].reached = 1;
        if (emitter->stages[value].sweep > emitter->sweep_count)
            emitter->sweep_count = emitter->stages[value].sweep;
    }
    if (emitter->serial != 0 && (emitter->sweep_count < BD_SWEEPS_MAX || stores_last(emitter)))
        emitter->sweep_count++; /* stores after the last reduction */
    if (emitter->sweep_count > BD_SWEEPS_MAX)
        BD_FAIL(LIMIT, "a kernel needs more than %d sweeps over its rows", (int)BD_SWEEPS_MAX);
    uint32_t slot_count = 0;
    for (uint32_t sweep = 0; sweep < emitter->sweep_count; sweep++)
        plan_sweep(emitter, sweep, &slot_count);
    return NULL;
}
