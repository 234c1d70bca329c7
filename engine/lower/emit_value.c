/* SPDX-License-Identifier: Apache-2.0
 * Values as instructions of the kernel IR. */
#include "engine/lower/emit.h"
#include "proto/base/assert.h"

static bd_kir_int int_of(bd_emitter *emitter, bd_int integer)
{
    enum { BAKED_MAX = 16 }; /* constants up to this size are part of the program */
    bd_ints *ints = emitter->region->ints;
    integer = bd_int_find(ints, integer);
    int64_t value;
    if (bd_int_is_const(ints, integer, &value) && value >= -BAKED_MAX && value <= BAKED_MAX)
        return bd_kir_const(value);
    for (size_t i = 0; i < emitter->ints.count; i++) {
        if (emitter->ints.items[i] == integer)
            return bd_kir_arg((int32_t)i);
    }
    *bd_vec_push(&emitter->ints) = integer;
    return bd_kir_arg(bd_kir_add_int(emitter->builder));
}

bd_kir_int bd_emit_integer(bd_emitter *emitter, bd_int integer)
{
    return int_of(emitter, integer);
}

static uint16_t buffer_of(bd_emitter *emitter, bd_node node, bd_kir_use use)
{
    for (size_t i = 0; i < emitter->buffers.count; i++) {
        if (emitter->buffers.items[i] == node)
            return (uint16_t)i;
    }
    *bd_vec_push(&emitter->buffers) = node;
    burn_dtype dtype = (burn_dtype)bd_graph_at(emitter->region->graph, node)->dtype;
    return (uint16_t)bd_kir_add_buffer(emitter->builder, dtype, use);
}

/* The real terms; computed places are added by LOAD_AT and STORE_AT. */
static void set_strides(bd_emitter *emitter, const bd_affine *index, bd_kir_int *strides)
{
    for (uint32_t axis = 0; axis < BD_KIR_AXES_MAX; axis++)
        strides[axis] = bd_kir_const(0);
    for (uint32_t i = 0; i < index->count; i++) {
        if (index->terms[i].axis < BD_VIRTUAL_AXIS)
            strides[emitter->axis_of[index->terms[i].axis]] =
                int_of(emitter, index->terms[i].factor);
    }
}

static uint16_t access_of(bd_emitter *emitter, bd_node node, const bd_affine *address,
                          bd_kir_use use)
{
    bd_kir_access access = {.buffer = buffer_of(emitter, node, use),
                            .offset = int_of(emitter, address->offset)};
    set_strides(emitter, address, access.strides);
    return (uint16_t)bd_kir_add_access(emitter->builder, &access);
}

/* One guard of the program for all of a context; -1 if it is empty. */
static int16_t guard_of(bd_emitter *emitter, uint32_t context)
{
    const bd_region_context *all = &emitter->region->contexts.items[context];
    int number = -1;
    for (uint32_t i = 0; i < all->guard_count; i++) {
        const bd_region_guard *wanted = &emitter->region->guards.items[all->guards[i]];
        bd_kir_guard guard = {.offset = int_of(emitter, wanted->index.offset),
                              .extent = int_of(emitter, wanted->extent),
                              .also = (uint16_t)(number + 1)};
        set_strides(emitter, &wanted->index, guard.strides);
        number = bd_kir_add_guard(emitter->builder, &guard);
    }
    return (int16_t)number;
}

static bd_kir_value emit(bd_emitter *emitter, bd_kir_instr instr)
{
    return bd_kir_emit(emitter->builder, &instr);
}

static bd_kir_value emit_integer(bd_emitter *emitter, bd_int integer)
{
    bd_kir_int value = int_of(emitter, integer);
    if (value.argument < 0)
        return bd_kir_const_int(emitter->builder, BURN_I64, value.value);
    return emit(emitter, (bd_kir_instr){.code = BD_KIR_INTEGER, .guard = -1, .integer = value});
}

bd_kir_value bd_emit_cast(bd_emitter *emitter, bd_kir_value value, burn_dtype dtype)
{
    if (bd_kir_dtype_of(emitter->builder, value) == dtype)
        return value;
    return bd_kir_cast(emitter->builder, value, dtype);
}

/* ---- places ---- */

static uint16_t fault_of(bd_emitter *emitter, uint32_t record)
{
    for (size_t i = 0; i < emitter->faults.count; i++) {
        if (emitter->faults.items[i] == record)
            return (uint16_t)i;
    }
    *bd_vec_push(&emitter->faults) = record;
    return (uint16_t)(emitter->faults.count - 1);
}

static bd_kir_value emit_check(bd_emitter *emitter, bd_kir_value position, bd_int size,
                               uint32_t record, bool wraps)
{
    uint16_t tag = fault_of(emitter, record | (wraps ? BD_FAULT_WRAPS : 0));
    return emit(emitter, (bd_kir_instr){.code = BD_KIR_CHECK,
                                        .flags = wraps,
                                        .operands = {bd_emit_cast(emitter, position, BURN_I64)},
                                        .index = tag,
                                        .guard = -1,
                                        .integer = int_of(emitter, size)});
}

static bd_kir_value virtual_value(bd_emitter *emitter, uint32_t number)
{
    const bd_region_virtual *place = &emitter->region->virtuals[number];
    bool each = emitter->stages[place->value].level == BD_LEVEL_EACH;
    int8_t sweep = each ? emitter->sweep : (int8_t)-1;
    /* A value of a row that is first asked for within a sweep is not visible later. */
    if (emitter->virtual_memo[number] && emitter->virtual_sweep[number] == emitter->sweep)
        return emitter->virtual_memo[number];
    if (emitter->virtual_memo[number] && !each && emitter->virtual_sweep[number] == sweep)
        return emitter->virtual_memo[number];
    const bd_region_value *index = &emitter->region->values.items[place->value];
    const bd_graph_node *node = bd_graph_at(emitter->region->graph, index->node);
    bd_kir_value value = bd_emit_cast(emitter, bd_emitted(emitter, place->value), BURN_I64);
    if (bd_class_of(node) != BD_CLASS_MAP || bd_lower_code(node) != BD_KIR_CHECK)
        value = emit_check(emitter, value, place->extent, place->record, false);
    emitter->virtual_memo[number] = value;
    emitter->virtual_sweep[number] = emitter->sweep;
    return value;
}

void bd_emit_check(bd_emitter *emitter, uint32_t number)
{
    (void)virtual_value(emitter, number);
}

/* Sum of the terms as an i64; only the virtual ones if `real` is false. */
static bd_kir_value emit_affine(bd_emitter *emitter, const bd_affine *index, bool real)
{
    bd_kir_value sum = 0;
    for (uint32_t i = 0; i < index->count; i++) {
        bd_term term = index->terms[i];
        bd_kir_value part;
        if (term.axis >= BD_VIRTUAL_AXIS)
            part = virtual_value(emitter, term.axis - BD_VIRTUAL_AXIS);
        else if (real)
            part = emit(emitter, (bd_kir_instr){.code = BD_KIR_INDEX,
                                                .index = emitter->axis_of[term.axis],
                                                .guard = -1});
        else
            continue;
        if (term.factor != BD_INT_1)
            part = bd_kir_binary(emitter->builder, BD_KIR_MUL, part,
                                 emit_integer(emitter, term.factor));
        sum = sum ? bd_kir_binary(emitter->builder, BD_KIR_ADD, sum, part) : part;
    }
    if (real && (index->offset != BD_INT_0 || !sum)) {
        bd_kir_value offset = emit_integer(emitter, index->offset);
        sum = sum ? bd_kir_binary(emitter->builder, BD_KIR_ADD, sum, offset) : offset;
    }
    return sum;
}

/* The one virtual term as an operand and its stride; several are summed first. */
static bd_kir_value emit_place(bd_emitter *emitter, const bd_affine *address,
                               bd_kir_int *out_stride)
{
    uint32_t count = 0, last = 0;
    for (uint32_t i = 0; i < address->count; i++) {
        if (address->terms[i].axis >= BD_VIRTUAL_AXIS) {
            count++;
            last = i;
        }
    }
    *out_stride = bd_kir_const(1);
    if (count != 1)
        return emit_affine(emitter, address, false);
    *out_stride = int_of(emitter, address->terms[last].factor);
    return virtual_value(emitter, address->terms[last].axis - BD_VIRTUAL_AXIS);
}

static bd_kir_value emit_context(bd_emitter *emitter, uint32_t context)
{
    int16_t guard = guard_of(emitter, context);
    if (guard < 0)
        return 0;
    return emit(emitter,
                (bd_kir_instr){.code = BD_KIR_GUARD, .index = (uint16_t)guard, .guard = -1});
}

static bd_kir_value emit_load(bd_emitter *emitter, const bd_region_value *self)
{
    bd_kir_instr load = {.code = BD_KIR_LOAD,
                         .index = access_of(emitter, self->node, self->index, BD_KIR_READ),
                         .guard = guard_of(emitter, self->context)};
    if (bd_affine_has_virtual(self->index)) {
        load.code = BD_KIR_LOAD_AT;
        load.operands[0] = emit_place(emitter, self->index, &load.integer);
    }
    return emit(emitter, load);
}

void bd_emit_store(bd_emitter *emitter, const bd_region_root *root)
{
    const bd_graph_node *target = bd_graph_at(emitter->region->graph, root->target);
    bd_kir_value value =
        bd_emit_cast(emitter, bd_emitted(emitter, root->value), (burn_dtype)target->dtype);
    bd_kir_use use = root->mode == BD_KIR_SET ? BD_KIR_WRITE : BD_KIR_READ_WRITE;
    bd_kir_instr store = {.code = BD_KIR_STORE,
                          .flags = root->mode,
                          .operands = {value},
                          .index = access_of(emitter, root->target, &root->address, use),
                          .guard = -1};
    if (bd_affine_has_virtual(&root->address)) {
        store.code = BD_KIR_STORE_AT;
        store.operands[1] = emit_place(emitter, &root->address, &store.integer);
    }
    emit(emitter, store);
}

/* ---- computations ---- */

static bd_kir_value emit_leaf(bd_emitter *emitter, const bd_graph_node *node)
{
    burn_dtype dtype = (burn_dtype)node->dtype;
    bool is_float = burn_dtype_is_float(dtype);
    if (node->kind == BD_NODE_INTEGER)
        return emit_integer(emitter, (bd_int)node->number);
    if (node->kind == BD_NODE_CONSTANT)
        return is_float ? bd_kir_const_float(emitter->builder, dtype, node->constant_f)
                        : bd_kir_const_int(emitter->builder, dtype, node->constant_i);
    burn_dtype stored_as = is_float ? BURN_F64 : BURN_I64;
    uint32_t number = 0;
    for (; number < emitter->scalars.count; number++) {
        const bd_plan_scalar *scalar = &emitter->scalars.items[number];
        if (scalar->number == node->number && scalar->stored_as == stored_as)
            break;
    }
    if (number == emitter->scalars.count) {
        *bd_vec_push(&emitter->scalars) =
            (bd_plan_scalar){.number = node->number, .stored_as = (uint8_t)stored_as};
        (void)bd_kir_add_scalar(emitter->builder, stored_as);
    }
    return emit(emitter, (bd_kir_instr){.code = BD_KIR_SCALAR,
                                        .dtype = (uint8_t)dtype,
                                        .index = (uint16_t)number,
                                        .guard = -1});
}

static bd_kir_value emit_map(bd_emitter *emitter, const bd_region_value *self,
                             const bd_graph_node *node)
{
    bd_kir_code code = bd_lower_code(node);
    burn_dtype dtype = (burn_dtype)node->dtype;
    bd_kir_value operands[3] = {0};
    for (uint32_t i = 0; i < self->operand_count; i++)
        operands[i] = bd_emitted(emitter, self->operands[i]);
    if (code == BD_KIR_CAST)
        return operands[0];
    if (code == BD_KIR_CHECK)
        return emit_check(emitter, operands[0], (bd_int)node->attrs[0].value, node->record,
                          node->attrs[1].value != 0);
    if (code == BD_KIR_SELECT) {
        return bd_kir_select(emitter->builder, bd_emit_cast(emitter, operands[0], BURN_BOOL),
                             bd_emit_cast(emitter, operands[1], dtype),
                             bd_emit_cast(emitter, operands[2], dtype));
    }
    if (bd_kir_result_of(code) == BD_KIR_RESULT_SAME) {
        for (uint32_t i = 0; i < self->operand_count; i++)
            operands[i] = bd_emit_cast(emitter, operands[i], dtype);
    }
    if (self->operand_count == 1)
        return bd_kir_unary(emitter->builder, code, operands[0]);
    return bd_kir_binary(emitter->builder, code, operands[0], operands[1]);
}

static bd_kir_value emit_source(bd_emitter *emitter, const bd_region_value *self,
                                const bd_graph_node *node)
{
    bd_source_kind kind = bd_source_kind_of(node);
    if (kind == BD_SOURCE_FULL)
        return bd_emitted(emitter, self->operands[0]);
    bd_kir_value place = emit_affine(emitter, self->index, true);
    if (kind == BD_SOURCE_IOTA)
        return place;
    bool uniform = kind == BD_SOURCE_RANDOM_UNIFORM;
    const bd_attr_value *attrs = node->attrs + (uniform ? 2 : 1); /* seed, offset, lane */
    return emit(emitter, (bd_kir_instr){
                             .code = uniform ? BD_KIR_RANDOM_UNIFORM : BD_KIR_RANDOM_BITS,
                             .dtype = node->dtype,
                             .operands = {place, emit_integer(emitter, (bd_int)attrs[0].value),
                                          emit_integer(emitter, (bd_int)attrs[1].value)},
                             .index = (uint16_t)attrs[2].value,
                             .guard = -1});
}

/* Whether a value is 0 by itself where a context does not hold. */
static bool is_zero_outside(const bd_emitter *emitter, uint32_t value, uint32_t context)
{
    const bd_region_value *self = &emitter->region->values.items[value];
    return self->state == BD_VALUE_LOAD && self->context == context;
}

static bool is_zero(const bd_emitter *emitter, uint32_t value)
{
    const bd_region_value *self = &emitter->region->values.items[value];
    const bd_graph_node *node = bd_graph_at(emitter->region->graph, self->node);
    return node->kind == BD_NODE_CONSTANT && node->constant_i == 0; /* of floats the bits of +0 */
}

static bd_kir_value emit_guarded(bd_emitter *emitter, const bd_region_value *self,
                                 const bd_graph_node *node)
{
    burn_dtype dtype = (burn_dtype)node->dtype;
    if (bd_class_of(node) == BD_CLASS_PAD && is_zero(emitter, self->operands[1]) &&
        is_zero_outside(emitter, self->operands[0], self->operand_guards[0]))
        return bd_emit_cast(emitter, bd_emitted(emitter, self->operands[0]), dtype);
    uint32_t last = self->operand_count - 1;
    bd_kir_value value = bd_emit_cast(emitter, bd_emitted(emitter, self->operands[last]), dtype);
    for (uint32_t i = last; i-- > 0;) {
        bd_kir_value inside = bd_emit_cast(emitter, bd_emitted(emitter, self->operands[i]), dtype);
        bd_kir_value holds = emit_context(emitter, self->operand_guards[i]);
        value = holds ? bd_kir_select(emitter->builder, holds, inside, value) : inside;
    }
    return value;
}

static bd_kir_value emit_computed(bd_emitter *emitter, uint32_t number, const bd_graph_node *node)
{
    const bd_region_value *self = &emitter->region->values.items[number];
    switch (bd_class_of(node)) {
    case BD_CLASS_MAP:
        return emit_map(emitter, self, node);
    case BD_CLASS_SOURCE:
        return emit_source(emitter, self, node);
    case BD_CLASS_PAD:
    case BD_CLASS_CONCAT:
        return emit_guarded(emitter, self, node);
    case BD_CLASS_DOT:
    case BD_CLASS_ATTEND: {
        burn_dtype element = (burn_dtype)node->dtype;
        return emit(emitter, (bd_kir_instr){.code = BD_KIR_ACC,
                                            .dtype = (uint8_t)bd_kir_accumulator(element),
                                            .guard = -1});
    }
    case BD_CLASS_SCAN: {
        bd_kir_value operand = bd_emitted(emitter, self->operands[0]);
        return bd_kir_unary(emitter->builder, bd_lower_code(node),
                            bd_emit_cast(emitter, operand, (burn_dtype)node->dtype));
    }
    case BD_CLASS_SORT:
        return emit(emitter,
                    (bd_kir_instr){.code = BD_KIR_RESTORE,
                                   .index = (uint16_t)(emitter->sort_slots[number] + 1),
                                   .guard = -1});
    case BD_CLASS_REDUCE: /* emitted within its sweep */
    case BD_CLASS_NONE:
    case BD_CLASS_LEAF:
    case BD_CLASS_VIEW:
    case BD_CLASS_GATHER:
    case BD_CLASS_SCATTER:
    case BD_CLASS_UPDATE:
        break;
    }
    BD_ASSERT(false);
    return 0;
}

void bd_emit_value(bd_emitter *emitter, uint32_t value)
{
    const bd_region_value *self = &emitter->region->values.items[value];
    const bd_graph_node *node = bd_graph_at(emitter->region->graph, self->node);
    bd_kir_value made;
    if (self->state == BD_VALUE_LEAF)
        made = emit_leaf(emitter, node);
    else if (self->state == BD_VALUE_LOAD)
        made = emit_load(emitter, self);
    else
        made = bd_emit_cast(emitter, emit_computed(emitter, value, node), (burn_dtype)node->dtype);
    emitter->memo[value] = made;
    emitter->memo_sweep[value] = emitter->sweep;
}

bd_kir_value bd_emitted(const bd_emitter *emitter, uint32_t value)
{
    BD_ASSERT(emitter->memo[value] != 0);
    BD_ASSERT(emitter->stages[value].level != BD_LEVEL_EACH ||
              emitter->memo_sweep[value] == emitter->sweep);
    return emitter->memo[value];
}

void bd_emit_reduce(bd_emitter *emitter, uint32_t value)
{
    const bd_region_value *self = &emitter->region->values.items[value];
    const bd_graph_node *node = bd_graph_at(emitter->region->graph, self->node);
    bd_kir_code code = bd_lower_code(node);
    bd_kir_value operand = bd_emitted(emitter, self->operands[0]);
    if (code != BD_KIR_REDUCE_ARGMAX && code != BD_KIR_REDUCE_ARGMIN)
        operand = bd_emit_cast(emitter, operand, (burn_dtype)node->dtype);
    emitter->memo[value] = bd_kir_unary(emitter->builder, code, operand);
    emitter->memo_sweep[value] = emitter->sweep;
}

/* Keys as the kernel IR sorts them: integers as 64 bits. */
void bd_emit_sort_keys(bd_emitter *emitter, uint32_t value)
{
    bd_kir_builder *builder = emitter->builder;
    bd_kir_value keys = bd_emitted(emitter, emitter->region->values.items[value].operands[0]);
    burn_dtype dtype = bd_kir_dtype_of(builder, keys);
    if (!burn_dtype_is_float(dtype))
        dtype = dtype == BURN_U64 ? BURN_U64 : BURN_I64;
    else if (dtype != BURN_F64)
        dtype = BURN_F32;
    keys = bd_emit_cast(emitter, keys, dtype);
    int slot = bd_kir_add_slot(builder, dtype);
    for (int room = 0; room < 3; room++)
        (void)bd_kir_add_slot(builder, BURN_I64);
    emitter->sort_slots[value] = (int16_t)slot;
    emit(emitter, (bd_kir_instr){.code = BD_KIR_SAVE,
                                 .operands = {keys},
                                 .index = (uint16_t)slot,
                                 .guard = -1});
}

void bd_emit_sort(bd_emitter *emitter, uint32_t value)
{
    const bd_graph_node *node =
        bd_graph_at(emitter->region->graph, emitter->region->values.items[value].node);
    emit(emitter, (bd_kir_instr){.code = BD_KIR_SORT,
                                 .index = (uint16_t)emitter->sort_slots[value],
                                 .flags = node->attrs[1].value != 0,
                                 .guard = -1});
}
