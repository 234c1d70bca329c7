/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/lower/lower.h"

#include <string.h>

#include "engine/lower/emit.h"
#include "proto/base/alloc.h"
#include "proto/base/assert.h"

/* ---- addresses ---- */

static void set_addresses(bd_region *region)
{
    for (size_t i = 0; i < region->values.count; i++) {
        bd_region_value *value = &region->values.items[i];
        if (value->state == BD_VALUE_LOAD)
            value->index = value->element;
    }
}

typedef bool (*visit_affine)(bd_region *region, bd_affine *index, const void *user);

/* All functions that the program will contain. */
static bool for_all(bd_region *region, visit_affine visit, const void *user)
{
    for (size_t i = 0; i < region->values.count; i++) {
        if (region->values.items[i].index && !visit(region, region->values.items[i].index, user))
            return false;
    }
    for (size_t i = 0; i < region->guards.count; i++) {
        if (!visit(region, &region->guards.items[i].index, user))
            return false;
    }
    for (size_t i = 0; i < region->roots.count; i++) {
        if (!visit(region, &region->roots.items[i].address, user))
            return false;
    }
    return true;
}

typedef struct axis_pair {
    uint8_t outer, inner;
} axis_pair;

static bd_int factor_of(const bd_affine *index, uint8_t axis)
{
    for (uint32_t i = 0; i < index->count; i++) {
        if (index->terms[i].axis == axis)
            return index->terms[i].factor;
    }
    return BD_INT_0;
}

static bool counts_on(bd_region *region, bd_affine *index, const void *user)
{
    const axis_pair *pair = user;
    bd_int both[2] = {factor_of(index, pair->inner), region->extents[pair->inner]};
    bd_int outer = factor_of(index, pair->outer);
    if (both[0] == BD_INT_0 || outer == BD_INT_0)
        return both[0] == outer;
    return bd_product_equal(region->ints, outer, bd_dims_product(region->ints, both, 2));
}

static bool drop_term(bd_region *region, bd_affine *index, const void *user)
{
    (void)region;
    uint8_t axis = *(const uint8_t *)user;
    for (uint32_t i = 0; i < index->count; i++) {
        if (index->terms[i].axis != axis)
            continue;
        index->count--;
        memmove(index->terms + i, index->terms + i + 1,
                (index->count - i) * sizeof index->terms[0]);
        return true;
    }
    return true;
}

/* The axis keeps its number, so that others stay valid, but leaves the order. */
static void remove_axis(bd_region *region, uint8_t axis)
{
    for_all(region, drop_term, &axis);
    uint32_t kept = 0;
    for (uint32_t place = 0; place < region->axis_count; place++) {
        if (region->order[place] != axis)
            region->order[kept++] = region->order[place];
    }
    region->order[kept] = axis;
    region->extents[axis] = BD_INT_1;
    region->roles[axis] = UINT8_MAX;
}

/* A softmax runs over the keys of one batch point. */
static bool may_join(const bd_region *region, uint8_t outer, uint8_t inner)
{
    if (outer == inner)
        return true;
    bool columns = inner == BD_KIR_N && region->family == BD_REGION_CONTRACTION;
    return outer == BD_KIR_BATCH && (inner == BD_KIR_M || columns);
}

/* Tries to join the axis with the next one inside; a batch axis also with M or N. */
static bool join_axis(bd_region *region, uint32_t place)
{
    uint8_t outer = region->order[place];
    for (uint32_t next = place + 1; next < region->axis_count; next++) {
        uint8_t inner = region->order[next];
        if (region->roles[inner] == UINT8_MAX)
            continue;
        axis_pair pair = {outer, inner};
        if (may_join(region, region->roles[outer], region->roles[inner]) &&
            for_all(region, counts_on, &pair)) {
            bd_int both[2] = {region->extents[outer], region->extents[inner]};
            bd_int product = bd_dims_product(region->ints, both, 2);
            remove_axis(region, outer);
            region->extents[inner] = product;
            return true;
        }
        if (region->roles[outer] != BD_KIR_BATCH && region->roles[inner] == region->roles[outer])
            return false; /* the next one of its role is the only one it can count on with */
    }
    return false;
}

void bd_region_merge_axes(bd_region *region)
{
    uint32_t serial = bd_region_axes_of_role(region, BD_KIR_SERIAL);
    uint32_t last_k = bd_region_axes_of_role(region, BD_KIR_K);
    for (uint32_t axis = 0; axis < region->axis_count; axis++) {
        bool last_serial = serial == 1u << axis;
        bool keys = region->family == BD_REGION_ATTENTION && region->roles[axis] == BD_KIR_N;
        if (region->extents[axis] == BD_INT_1 && region->roles[axis] != UINT8_MAX && !keys &&
            !last_serial && last_k != 1u << axis) {
            remove_axis(region, (uint8_t)axis);
            serial &= ~(1u << axis);
            last_k &= ~(1u << axis);
        }
    }
    for (uint32_t place = 0; place < region->axis_count;) {
        if (region->roles[region->order[place]] == UINT8_MAX || !join_axis(region, place))
            place++;
    }
}

/* ---- phases ---- */

static void add_axes(bd_emitter *emitter)
{
    bd_region *region = emitter->region;
    int count = 0;
    for (int role = BD_KIR_PARALLEL; role <= BD_KIR_E; role++) {
        for (uint32_t place = 0; place < region->axis_count; place++) {
            uint8_t axis = region->order[place];
            if (region->roles[axis] != role)
                continue;
            bd_kir_int extent = bd_emit_integer(emitter, region->extents[axis]);
            emitter->axis_of[axis] = (uint8_t)count++;
            bd_kir_add_axis(emitter->builder, (bd_kir_role)role, extent);
        }
    }
}

/* Whether what it comes to is known only when all points have been seen. */
static bool ends_sweep(const bd_emitter *emitter, uint32_t value)
{
    return bd_computes_reduce(emitter, value) || bd_is_sort(emitter, value);
}

static void emit_uniform(bd_emitter *emitter)
{
    bool begun = false;
    for (uint32_t i = 0; i < emitter->order_count; i++) {
        uint32_t value = emitter->order[i];
        if (emitter->stages[value].level != BD_LEVEL_UNIFORM)
            continue;
        if (!begun)
            bd_kir_begin_phase(emitter->builder, BD_KIR_UNIFORM);
        begun = true;
        bd_emit_value(emitter, value);
    }
}

static bool root_is_at(const bd_emitter *emitter, const bd_region_root *root, bd_level level,
                       uint32_t sweep)
{
    bd_stage stage = bd_stage_of_root(emitter, root);
    return (stage.level == BD_LEVEL_EACH) == (level == BD_LEVEL_EACH) && stage.sweep == sweep;
}

static bool check_is_at(const bd_emitter *emitter, uint32_t number, bd_level level, uint32_t sweep)
{
    bd_stage stage = bd_stage_of_check(emitter, number);
    return (emitter->lone_checks >> number & 1) && stage.level == level && stage.sweep == sweep;
}

static void emit_row(bd_emitter *emitter, uint32_t sweep)
{
    bool begun = false;
    emitter->sweep = -1;
    for (uint32_t i = 0; i < emitter->order_count; i++) {
        uint32_t value = emitter->order[i];
        if (!bd_is_sort(emitter, value) || emitter->stages[value].sweep != sweep)
            continue;
        if (!begun)
            bd_kir_begin_phase(emitter->builder, BD_KIR_ROW);
        begun = true;
        bd_emit_sort(emitter, value);
    }
    for (uint32_t i = 0; i < emitter->order_count; i++) {
        uint32_t value = emitter->order[i];
        const bd_stage *stage = &emitter->stages[value];
        if (stage->level != BD_LEVEL_ROW || stage->sweep != sweep ||
            bd_computes_reduce(emitter, value))
            continue;
        if (!begun)
            bd_kir_begin_phase(emitter->builder, BD_KIR_ROW);
        begun = true;
        bd_emit_value(emitter, value);
    }
    for (uint32_t i = 0; i < emitter->region->virtual_count; i++) {
        if (!check_is_at(emitter, i, BD_LEVEL_ROW, sweep))
            continue;
        if (!begun)
            bd_kir_begin_phase(emitter->builder, BD_KIR_ROW);
        begun = true;
        bd_emit_check(emitter, i);
    }
    for (size_t i = 0; i < emitter->region->roots.count; i++) {
        const bd_region_root *root = &emitter->region->roots.items[i];
        if (!root_is_at(emitter, root, BD_LEVEL_ROW, sweep))
            continue;
        if (!begun)
            bd_kir_begin_phase(emitter->builder, BD_KIR_ROW);
        begun = true;
        bd_emit_store(emitter, root);
    }
}

static void emit_each_value(bd_emitter *emitter, uint32_t value, uint32_t sweep, int *slots)
{
    const bd_stage *stage = &emitter->stages[value];
    bool restores = stage->slot >= 0 && stage->first < (int)sweep;
    if (!restores) {
        bd_emit_value(emitter, value);
        if (stage->slot < 0)
            return;
        bd_kir_value made = bd_emitted(emitter, value);
        slots[stage->slot] = bd_kir_add_slot(emitter->builder,
                                             bd_kir_dtype_of(emitter->builder, made));
        bd_kir_instr save = {.code = BD_KIR_SAVE,
                             .operands = {made},
                             .index = (uint16_t)slots[stage->slot],
                             .guard = -1};
        bd_kir_emit(emitter->builder, &save);
        return;
    }
    bd_kir_instr restore = {
        .code = BD_KIR_RESTORE, .index = (uint16_t)slots[stage->slot], .guard = -1};
    emitter->memo[value] = bd_kir_emit(emitter->builder, &restore);
    emitter->memo_sweep[value] = (int8_t)sweep;
}

static void emit_each(bd_emitter *emitter, uint32_t sweep, int *slots)
{
    bd_region *region = emitter->region;
    bool has_sinks = false;
    for (uint32_t i = 0; i < emitter->order_count; i++)
        has_sinks |= ends_sweep(emitter, emitter->order[i]) &&
                     emitter->stages[emitter->order[i]].sweep == sweep + 1;
    for (size_t i = 0; i < region->roots.count; i++)
        has_sinks |= root_is_at(emitter, &region->roots.items[i], BD_LEVEL_EACH, sweep);
    for (uint32_t i = 0; i < region->virtual_count; i++)
        has_sinks |= check_is_at(emitter, i, BD_LEVEL_EACH, sweep);
    if (!has_sinks)
        return;
    bd_kir_begin_phase(emitter->builder, BD_KIR_EACH);
    emitter->sweep = (int8_t)sweep;
    for (uint32_t i = 0; i < emitter->order_count; i++) {
        if (emitter->needed[sweep][emitter->order[i]])
            emit_each_value(emitter, emitter->order[i], sweep, slots);
    }
    for (uint32_t i = 0; i < emitter->order_count; i++) {
        uint32_t value = emitter->order[i];
        if (bd_computes_reduce(emitter, value) && emitter->stages[value].sweep == sweep + 1)
            bd_emit_reduce(emitter, value);
        if (bd_is_sort(emitter, value) && emitter->stages[value].sweep == sweep + 1)
            bd_emit_sort_keys(emitter, value);
    }
    for (uint32_t i = 0; i < region->virtual_count; i++) {
        if (check_is_at(emitter, i, BD_LEVEL_EACH, sweep))
            bd_emit_check(emitter, i);
    }
    for (size_t i = 0; i < region->roots.count; i++) {
        if (root_is_at(emitter, &region->roots.items[i], BD_LEVEL_EACH, sweep))
            bd_emit_store(emitter, &region->roots.items[i]);
    }
}

static void emit_loop(bd_emitter *emitter)
{
    int slots[64] = {0};
    emit_uniform(emitter);
    for (uint32_t sweep = 0; sweep < emitter->sweep_count; sweep++) {
        emit_row(emitter, sweep);
        emit_each(emitter, sweep, slots);
    }
    emit_row(emitter, emitter->sweep_count);
}

static void emit_domain(bd_emitter *emitter, uint8_t domain)
{
    for (uint32_t i = 0; i < emitter->order_count; i++) {
        uint32_t value = emitter->order[i];
        if (emitter->stages[value].level != BD_LEVEL_UNIFORM &&
            emitter->region->values.items[value].domain == domain)
            bd_emit_value(emitter, value);
    }
}

/* A phase that yields operand `operand` of a product, in its dtype or that of its sum. */
static void emit_yield(bd_emitter *emitter, bd_kir_phase_kind kind, uint32_t product,
                       uint32_t operand)
{
    static const uint8_t domains[] = {[BD_KIR_OPERAND_A] = BD_DOMAIN_A,
                                      [BD_KIR_OPERAND_B] = BD_DOMAIN_B,
                                      [BD_KIR_SCORE] = BD_DOMAIN_SCORE,
                                      [BD_KIR_OPERAND_C] = BD_DOMAIN_C};
    bd_region *region = emitter->region;
    const bd_region_value *sum = &region->values.items[product];
    burn_dtype dtype = (burn_dtype)bd_graph_at(region->graph, sum->node)->dtype;
    if (kind == BD_KIR_SCORE)
        dtype = bd_kir_accumulator(dtype);
    bd_kir_begin_phase(emitter->builder, kind);
    emit_domain(emitter, domains[kind]);
    bd_kir_value value = bd_emit_cast(emitter, bd_emitted(emitter, sum->operands[operand]), dtype);
    bd_kir_instr yield = {.code = BD_KIR_YIELD, .operands = {value}, .guard = -1};
    bd_kir_emit(emitter->builder, &yield);
}

static void emit_epilogue(bd_emitter *emitter)
{
    bd_kir_begin_phase(emitter->builder, BD_KIR_EPILOGUE);
    emit_domain(emitter, BD_DOMAIN_MAIN);
    for (uint32_t i = 0; i < emitter->region->virtual_count; i++) {
        if (emitter->lone_checks >> i & 1)
            bd_emit_check(emitter, i);
    }
    for (size_t i = 0; i < emitter->region->roots.count; i++)
        bd_emit_store(emitter, &emitter->region->roots.items[i]);
}

static void emit_product(bd_emitter *emitter, uint32_t product)
{
    emit_yield(emitter, BD_KIR_OPERAND_A, product, 0);
    emit_yield(emitter, BD_KIR_OPERAND_B, product, 1);
}

static void emit_phases(bd_emitter *emitter)
{
    bd_region *region = emitter->region;
    switch ((bd_region_family)region->family) {
    case BD_REGION_LOOP:
        emit_loop(emitter);
        return;
    case BD_REGION_CONTRACTION:
        emit_uniform(emitter);
        emit_product(emitter, region->acc);
        break;
    case BD_REGION_ATTENTION:
        emit_uniform(emitter);
        if (region->score != UINT32_MAX)
            emit_product(emitter, region->score);
        emit_yield(emitter, BD_KIR_SCORE, region->acc, 0);
        emit_yield(emitter, BD_KIR_OPERAND_C, region->acc, 1);
        break;
    }
    emit_epilogue(emitter);
}

/* ---- the whole ---- */

static bool copies_in_place(const bd_emitter *emitter)
{
    const bd_region *region = emitter->region;
    for (size_t i = 0; i < region->roots.count; i++) {
        const bd_region_root *root = &region->roots.items[i];
        const bd_region_value *value = &region->values.items[root->value];
        if (!root->copies || value->state != BD_VALUE_LOAD ||
            !bd_affine_equal(region->ints, value->index, &root->address))
            return false;
    }
    return region->roots.count > 0 && emitter->faults.count == 0;
}

static bd_error *run(bd_emitter *emitter, bd_lowered *out)
{
    bd_region *region = emitter->region;
    set_addresses(region);
    bd_region_merge_axes(region);
    BD_TRY(bd_schedule(emitter));
    size_t count = region->values.count + 1;
    emitter->memo = BD_ARENA_ARRAY(emitter->arena, bd_kir_value, count);
    emitter->memo_sweep = BD_ARENA_ARRAY(emitter->arena, int8_t, count);
    emitter->sort_slots = BD_ARENA_ARRAY(emitter->arena, int16_t, count);
    emitter->sweep = -1;
    add_axes(emitter);
    emit_phases(emitter);
    bd_kir *program;
    BD_TRY(bd_kir_finish(emitter->builder, emitter->arena, &program));
    *out = (bd_lowered){
        .program = program,
        .ints = bd_arena_copy(emitter->arena, emitter->ints.items,
                              emitter->ints.count * sizeof(bd_int)),
        .buffers = bd_arena_copy(emitter->arena, emitter->buffers.items,
                                 emitter->buffers.count * sizeof(bd_node)),
        .scalars = bd_arena_copy(emitter->arena, emitter->scalars.items,
                                 emitter->scalars.count * sizeof(bd_plan_scalar)),
        .fault_records = bd_arena_copy(emitter->arena, emitter->faults.items,
                                       emitter->faults.count * sizeof(uint32_t)),
        .fault_count = (uint32_t)emitter->faults.count,
        .copies_in_place = copies_in_place(emitter),
    };
    return NULL;
}

bd_error *bd_lower(bd_region *region, bd_arena *arena, bd_lowered *out)
{
    static const bd_kir_family families[] = {[BD_REGION_LOOP] = BD_KIR_LOOP,
                                             [BD_REGION_CONTRACTION] = BD_KIR_CONTRACTION,
                                             [BD_REGION_ATTENTION] = BD_KIR_ATTENTION};
    bd_emitter emitter = {
        .region = region,
        .arena = arena,
        .builder = bd_kir_builder_create(families[region->family]),
    };
    bd_error *err = run(&emitter, out);
    bd_kir_builder_destroy(emitter.builder);
    bd_vec_deinit(&emitter.ints);
    bd_vec_deinit(&emitter.buffers);
    bd_vec_deinit(&emitter.scalars);
    bd_vec_deinit(&emitter.faults);
    return err;
}
