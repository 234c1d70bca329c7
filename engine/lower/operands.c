/* SPDX-License-Identifier: Apache-2.0
 * How values are computed from their operands: which nodes are wanted, and where. */
#include <string.h>

#include "engine/lower/region.h"
#include "proto/base/assert.h"

static void set_operands(bd_region *region, uint32_t value, const uint32_t *operands,
                         uint32_t count)
{
    bd_region_value *computed = &region->values.items[value];
    computed->operands = BD_ARENA_ARRAY(region->arena, uint32_t, count + 1);
    if (count > 0)
        memcpy(computed->operands, operands, count * sizeof *operands);
    computed->operand_count = count;
    computed->state = BD_VALUE_COMPUTE;
    region->cost += bd_lower_cost(bd_graph_at(region->graph, computed->node));
}

static bool compute_map(bd_region *region, uint32_t value, const bd_graph_node *node)
{
    bd_region_value self = region->values.items[value];
    if (bd_lower_code(node) == BD_KIR_CHECK && self.context != 0)
        return false; /* a false guard would make the index 0, which need not be in range */
    uint32_t operands[3];
    BD_ASSERT(node->input_count <= 3);
    for (uint32_t i = 0; i < node->input_count; i++)
        operands[i] = bd_region_want(region, node->inputs[i], &self.position, self.domain,
                                     self.context);
    set_operands(region, value, operands, node->input_count);
    return true;
}

static bool compute_source(bd_region *region, uint32_t value, const bd_graph_node *node)
{
    bd_region_value self = region->values.items[value];
    bd_position none = {0};
    if (bd_source_kind_of(node) == BD_SOURCE_FULL) {
        uint32_t operand =
            bd_region_want(region, node->inputs[0], &none, BD_DOMAIN_MAIN, 0);
        set_operands(region, value, &operand, 1);
        return true;
    }
    bd_affine index;
    bd_position at = bd_position_copy(region->arena, &self.position);
    region->live[region->live_count++] = &at;
    bool told;
    if (bd_source_kind_of(node) == BD_SOURCE_IOTA) {
        uint32_t dim = (uint32_t)node->attrs[1].value;
        told = bd_region_take(region, &at, node->dims, dim, dim + 1, &index);
    } else {
        told = bd_position_linear(region->ints, &at, node->dims, &index);
    }
    region->live_count--;
    if (!told)
        return false;
    region->values.items[value].index = bd_arena_copy(region->arena, &index, sizeof index);
    set_operands(region, value, NULL, 0);
    return true;
}

static uint32_t add_guard(bd_region *region, const bd_affine *index, bd_int extent)
{
    *bd_vec_push(&region->guards) = (bd_region_guard){*index, extent};
    return (uint32_t)region->guards.count - 1;
}

static bool context_has_room(const bd_region *region, uint32_t context, uint32_t more)
{
    return region->contexts.items[context].guard_count + more <= BD_CONTEXT_GUARDS_MAX;
}

static uint32_t extend_context(bd_region *region, uint32_t context, const uint32_t *guards,
                               uint32_t count)
{
    bd_region_context extended = region->contexts.items[context];
    for (uint32_t i = 0; i < count; i++)
        extended.guards[extended.guard_count++] = guards[i];
    *bd_vec_push(&region->contexts) = extended;
    return (uint32_t)region->contexts.count - 1;
}

/* The position of an input that lies `low` elements inside of the node in some dims; one guard a
 * shifted dim. `at` is live. */
typedef struct shifted {
    bd_position position;
    uint32_t guard_count;
    uint32_t shifted_dims[BURN_RANK_MAX];
} shifted;

static bool shift(bd_region *region, bd_position *at, const bd_graph_node *node, const bd_int *low,
                  uint32_t moved, shifted *out)
{
    *out = (shifted){{0, BD_ARENA_ARRAY(region->arena, bd_run, node->rank + 1)}, 0, {0}};
    bool told = true;
    region->live[region->live_count++] = &out->position;
    for (uint32_t d = 0; d < node->rank && told;) {
        uint32_t end = d + 1;
        while (!(moved >> d & 1) && end < node->rank && !(moved >> end & 1))
            end++;
        bd_affine index;
        told = bd_region_take(region, at, node->dims, d, end, &index);
        if (told && (moved >> d & 1)) {
            bd_int offset = bd_int_sub(region->ints, index.offset, low[d]);
            index.offset = bd_int_find(region->ints, offset);
            out->shifted_dims[out->guard_count++] = out->position.run_count;
        }
        out->position.runs[out->position.run_count++] = (bd_run){end - d, index};
        d = end;
    }
    region->live_count--;
    return told;
}

static uint32_t guard_shifted(bd_region *region, uint32_t context, const shifted *from,
                              const bd_int *input_dims)
{
    uint32_t guards[BURN_RANK_MAX], dim = 0, count = 0;
    for (uint32_t run = 0; run < from->position.run_count; run++) {
        if (count < from->guard_count && from->shifted_dims[count] == run)
            guards[count++] = add_guard(region, &from->position.runs[run].index, input_dims[dim]);
        dim += from->position.runs[run].dim_count;
    }
    return extend_context(region, context, guards, count);
}

static bool compute_pad(bd_region *region, uint32_t value, const bd_graph_node *node)
{
    bd_region_value self = region->values.items[value];
    const bd_graph_node *input = bd_graph_at(region->graph, node->inputs[0]);
    bd_int low[BURN_RANK_MAX];
    uint32_t moved = 0, count = 0;
    for (uint32_t d = 0; d < node->rank; d++) {
        low[d] = bd_int_find(region->ints, (bd_int)node->attrs[0].values[d]);
        if (low[d] != BD_INT_0 || !bd_int_equal(region->ints, node->dims[d], input->dims[d])) {
            moved |= 1u << d;
            count++;
        }
    }
    if (bd_position_has_virtual(&self.position) || !context_has_room(region, self.context, count))
        return false;
    bd_position at = bd_position_copy(region->arena, &self.position), none = {0};
    shifted inner;
    region->live[region->live_count++] = &at;
    bool told = shift(region, &at, node, low, moved, &inner);
    region->live_count--;
    if (!told)
        return false;
    uint32_t context = guard_shifted(region, self.context, &inner, input->dims);
    uint32_t operands[2];
    region->live[region->live_count++] = &inner.position;
    operands[0] = bd_region_want(region, node->inputs[0], &inner.position, self.domain, context);
    operands[1] = bd_region_want(region, node->inputs[1], &none, BD_DOMAIN_MAIN, 0);
    region->live_count--;
    region->values.items[value].operand_guards = BD_ARENA_ARRAY(region->arena, uint32_t, 2);
    region->values.items[value].operand_guards[0] = context;
    set_operands(region, value, operands, 2);
    return true;
}

enum { CONCAT_INLINE_MAX = 4 };

static bool compute_concat(bd_region *region, uint32_t value, const bd_graph_node *node)
{
    bd_region_value self = region->values.items[value];
    uint32_t dim = (uint32_t)node->attrs[0].value;
    if (node->input_count > CONCAT_INLINE_MAX || bd_position_has_virtual(&self.position) ||
        !context_has_room(region, self.context, 1))
        return false;
    bd_position at = bd_position_copy(region->arena, &self.position);
    region->live[region->live_count++] = &at;
    bd_affine probe;
    bool told = bd_region_take(region, &at, node->dims, dim, dim + 1, &probe);
    uint32_t operands[CONCAT_INLINE_MAX], guards[CONCAT_INLINE_MAX];
    bd_int low[BURN_RANK_MAX] = {0};
    for (uint32_t i = 0; i < node->input_count && told; i++) {
        const bd_graph_node *input = bd_graph_at(region->graph, node->inputs[i]);
        shifted inner;
        BD_ASSERT(input->rank == node->rank);
        told = shift(region, &at, node, low, 1u << dim, &inner);
        BD_ASSERT(told || i == 0); /* later ones are cut at the same places */
        if (!told)
            break;
        guards[i] = guard_shifted(region, self.context, &inner, input->dims);
        region->live[region->live_count++] = &inner.position;
        operands[i] = bd_region_want(region, node->inputs[i], &inner.position, self.domain,
                                     guards[i]);
        region->live_count--;
        low[dim] = bd_int_add(region->ints, low[dim], input->dims[dim]);
    }
    region->live_count--;
    if (!told)
        return false;
    region->values.items[value].operand_guards =
        bd_arena_copy(region->arena, guards, sizeof guards);
    set_operands(region, value, operands, node->input_count);
    return true;
}

bool bd_region_compute(bd_region *region, uint32_t value)
{
    const bd_graph_node *node = bd_graph_at(region->graph, region->values.items[value].node);
    switch (bd_class_of(node)) {
    case BD_CLASS_MAP:
        return compute_map(region, value, node);
    case BD_CLASS_SOURCE:
        return compute_source(region, value, node);
    case BD_CLASS_PAD:
        return compute_pad(region, value, node);
    case BD_CLASS_CONCAT:
        return compute_concat(region, value, node);
    case BD_CLASS_NONE:
    case BD_CLASS_LEAF:
    case BD_CLASS_VIEW:
    case BD_CLASS_GATHER:
    case BD_CLASS_REDUCE:
    case BD_CLASS_SCAN:
    case BD_CLASS_SORT:
    case BD_CLASS_DOT:
    case BD_CLASS_ATTEND:
    case BD_CLASS_SCATTER:
    case BD_CLASS_UPDATE:
        return false;
    }
    return false;
}

/* ---- reductions ---- */

/* Axes that have more than one point, as far as is known. */
static uint32_t real_axes(const bd_region *region)
{
    uint32_t axes = 0;
    for (uint32_t i = 0; i < region->axis_count; i++) {
        if (region->extents[i] != BD_INT_1)
            axes |= 1u << i;
    }
    return axes;
}

bool bd_region_has_axes_besides(const bd_region *region, uint32_t axes)
{
    return (real_axes(region) & ~axes) != 0;
}

static bd_int extent_product(const bd_region *region, uint32_t axes)
{
    bd_int extents[BD_AXES_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < region->axis_count; i++) {
        if (axes >> i & 1)
            extents[count++] = region->extents[i];
    }
    return bd_dims_product(region->ints, extents, count);
}

static void set_roles(bd_region *region, uint32_t axes, uint8_t role)
{
    for (uint32_t i = 0; i < BD_AXES_MAX; i++) {
        if (axes >> i & 1)
            region->roles[i] = role;
    }
}

/* The row-major number of the point within the SERIAL axes. */
static bd_affine serial_number(bd_region *region)
{
    bd_affine number = bd_affine_const(BD_INT_0);
    bd_int stride = BD_INT_1;
    for (uint32_t place = region->axis_count; place-- > 0;) {
        uint8_t axis = region->order[place];
        if (region->roles[axis] != BD_KIR_SERIAL)
            continue;
        bd_affine own = bd_affine_axis(axis);
        bd_affine part = bd_affine_scale(region->ints, &own, stride);
        bool fits = bd_affine_add(region->ints, &number, &part);
        BD_ASSERT(fits);
        bd_int both[2] = {stride, region->extents[axis]};
        stride = bd_dims_product(region->ints, both, 2);
    }
    return number;
}

/* Finds or makes SERIAL axes for a reduction over `elements` elements whose rows are `rows`. What
 * is reduced as a whole may have any size: it shares no region with what follows. */
static bool claim_serial(bd_region *region, uint32_t rows, bd_int elements, bool whole)
{
    uint32_t serial = bd_region_axes_of_role(region, BD_KIR_SERIAL);
    uint32_t rest = real_axes(region) & ~rows;
    if (serial != 0)
        return (rest & ~serial) == 0 && (rows & serial) == 0 &&
               bd_product_equal(region->ints, extent_product(region, serial), elements);
    if (rest == 0)
        return bd_region_add_axis(region, elements, BD_KIR_SERIAL) >= 0;
    if ((rows == 0 && whole) ||
        !bd_product_equal(region->ints, extent_product(region, rest), elements))
        return false;
    set_roles(region, rest, BD_KIR_SERIAL);
    return true;
}

static void unclaim_serial(bd_region *region, uint32_t axis_count_before)
{
    uint32_t serial = bd_region_axes_of_role(region, BD_KIR_SERIAL);
    set_roles(region, serial, BD_KIR_PARALLEL);
    for (uint32_t i = axis_count_before; i < region->axis_count; i++) {
        if (serial >> i & 1)
            region->extents[i] = BD_INT_1; /* no value uses it */
    }
}

/* The input's position while an axis runs over all reduced dims, or, where these cannot be told
 * apart then, an axis over each. */
static bool place_input(bd_region *region, uint32_t value, uint32_t rows, const bd_int *dims,
                        uint32_t rank, bool whole, bd_position *out)
{
    bd_region_value self = region->values.items[value];
    uint32_t axes_before = region->axis_count;
    bool had_serial = bd_region_axes_of_role(region, BD_KIR_SERIAL) != 0;
    bd_int elements = bd_dims_product(region->ints, dims, rank);
    if (!claim_serial(region, rows, elements, whole))
        return false;
    bool made = region->axis_count > axes_before;
    bd_run run = {rank, serial_number(region)};
    bd_position reduced = {rank > 0, &run};
    bd_position rows_at = bd_position_copy(region->arena, &self.position);
    if (bd_reduce_input(region, self.node, &rows_at, &reduced, out))
        return true;
    if (!had_serial)
        unclaim_serial(region, axes_before);
    if (!made || rank < 2)
        return false;
    axes_before = region->axis_count;
    reduced = bd_region_span_dims(region, dims, rank);
    set_roles(region, real_axes(region) & ~((1u << axes_before) - 1), BD_KIR_SERIAL);
    rows_at = bd_position_copy(region->arena, &region->values.items[value].position);
    if (reduced.run_count > 0 && bd_reduce_input(region, self.node, &rows_at, &reduced, out))
        return true;
    unclaim_serial(region, axes_before);
    return false;
}

bool bd_region_reduce(bd_region *region, uint32_t value)
{
    bd_region_value self = region->values.items[value];
    const bd_graph_node *node = bd_graph_at(region->graph, self.node);
    const bd_graph_node *input = bd_graph_at(region->graph, node->inputs[0]);
    uint32_t rows;
    if (region->family != BD_REGION_LOOP || !bd_region_visits_once(region, value, &rows))
        return false;
    uint32_t mask = bd_reduced_dims(region->graph, node);
    bd_int reduced_dims[BURN_RANK_MAX];
    uint32_t reduced_rank = 0;
    for (uint32_t d = 0; d < input->rank; d++) {
        if (mask >> d & 1)
            reduced_dims[reduced_rank++] = input->dims[d];
    }
    bd_position at;
    bool whole = reduced_rank == input->rank;
    if (!place_input(region, value, rows, reduced_dims, reduced_rank, whole, &at))
        return false;
    uint32_t operand = bd_region_want(region, node->inputs[0], &at, BD_DOMAIN_MAIN, 0);
    set_operands(region, value, &operand, 1);
    return true;
}

bool bd_region_claim_rows(bd_region *region, uint32_t value, bd_int elements, bool whole)
{
    uint32_t rows;
    if (region->family != BD_REGION_LOOP || bd_region_axes_of_role(region, BD_KIR_SERIAL) != 0 ||
        !bd_region_visits_once(region, value, &rows) || (real_axes(region) & ~rows) == 0)
        return false;
    return claim_serial(region, rows, elements, whole);
}

/* ---- scans and sorts ---- */

/* The axis that alone counts through a dim, or -1 if it has one element, or -2. */
static int lone_axis(const bd_region *region, const bd_affine *index, bd_int dim)
{
    if (index->count == 0 && index->offset == BD_INT_0)
        return -1;
    if (index->count == 1 && index->offset == BD_INT_0 && index->terms[0].factor == BD_INT_1 &&
        bd_product_equal(region->ints, region->extents[index->terms[0].axis], dim))
        return index->terms[0].axis;
    return -2;
}

/* Makes the axes that count through the dim the SERIAL ones, which have to be the region's
 * innermost. */
static bool claim_dim(bd_region *region, const bd_affine *index, bd_int dim)
{
    uint32_t serial = bd_region_axes_of_role(region, BD_KIR_SERIAL);
    int axis = lone_axis(region, index, dim);
    if (axis == -2)
        return false;
    if (axis == -1)
        return serial == 0 && bd_region_add_axis(region, BD_INT_1, BD_KIR_SERIAL) >= 0;
    if (serial != 0)
        return serial == 1u << axis;
    region->roles[axis] = BD_KIR_SERIAL;
    return true;
}

bool bd_region_scan(bd_region *region, uint32_t value)
{
    bd_region_value self = region->values.items[value];
    const bd_graph_node *node = bd_graph_at(region->graph, self.node);
    uint32_t axes, dim = (uint32_t)node->attrs[0].value;
    if (region->family != BD_REGION_LOOP || !bd_region_visits_once(region, value, &axes) ||
        bd_region_has_axes_besides(region, axes))
        return false;
    bd_position at = bd_position_copy(region->arena, &self.position);
    bd_affine index;
    region->live[region->live_count++] = &at;
    bool told = bd_region_take(region, &at, node->dims, dim, dim + 1, &index);
    region->live_count--;
    if (!told || !claim_dim(region, &index, node->dims[dim]))
        return false;
    self = region->values.items[value]; /* axes may have been split */
    uint32_t operand = bd_region_want(region, node->inputs[0], &self.position, BD_DOMAIN_MAIN, 0);
    set_operands(region, value, &operand, 1);
    return true;
}

/* ---- contractions ---- */

/* The axes that together count through a dim, each element once; false if it is not so. */
static bool counting_axes(const bd_region *region, const bd_affine *index, bd_int dim,
                          uint32_t *out_axes)
{
    bd_int reach = BD_INT_1;
    uint32_t used = 0;
    *out_axes = bd_affine_axes(index);
    if (bd_affine_has_virtual(index) || index->offset != BD_INT_0)
        return false;
    for (uint32_t i = 0; i < index->count; i++) {
        uint32_t next = 0;
        while (next < index->count &&
               ((used >> next & 1) ||
                !bd_product_equal(region->ints, index->terms[next].factor, reach)))
            next++;
        if (next == index->count)
            return false;
        bd_int both[2] = {reach, region->extents[index->terms[next].axis]};
        reach = bd_dims_product(region->ints, both, 2);
        used |= 1u << next;
    }
    return index->count == 0 || bd_product_equal(region->ints, reach, dim);
}

bool bd_region_contract(bd_region *region, uint32_t value)
{
    bd_region_value self = region->values.items[value];
    const bd_graph_node *node = bd_graph_at(region->graph, self.node);
    const bd_graph_node *a = bd_graph_at(region->graph, node->inputs[0]);
    uint32_t axes, batch_rank = node->rank - 2u;
    if (region->family != BD_REGION_LOOP || region->axis_count >= BD_AXES_MAX - 2 ||
        bd_region_axes_of_role(region, BD_KIR_SERIAL) != 0 ||
        !bd_region_visits_once(region, value, &axes) || (real_axes(region) & ~axes) != 0)
        return false;
    bd_affine batch, m, n;
    bd_position at = bd_position_copy(region->arena, &self.position);
    region->live[region->live_count++] = &at;
    bool told = bd_region_take(region, &at, node->dims, batch_rank + 1, batch_rank + 2, &n) &&
                bd_region_take(region, &at, node->dims, batch_rank, batch_rank + 1, &m) &&
                bd_region_take(region, &at, node->dims, batch_rank + 1, batch_rank + 2, &n) &&
                bd_region_take(region, &at, node->dims, 0, batch_rank, &batch);
    region->live_count--;
    if (!told)
        return false;
    uint32_t m_axes, n_axes;
    if (!counting_axes(region, &m, node->dims[batch_rank], &m_axes) ||
        !counting_axes(region, &n, node->dims[batch_rank + 1], &n_axes))
        return false;
    set_roles(region, UINT32_MAX, BD_KIR_BATCH);
    int k_axis = bd_region_add_axis(region, a->dims[batch_rank + 1], BD_KIR_K);
    set_roles(region, m_axes, BD_KIR_M);
    set_roles(region, n_axes, BD_KIR_N);
    region->family = BD_REGION_CONTRACTION;
    region->acc = value;
    bd_affine k = bd_affine_axis((uint8_t)k_axis);
    bd_run a_runs[3] = {{batch_rank, batch}, {1, m}, {1, k}};
    bd_run b_runs[3] = {{batch_rank, batch}, {1, k}, {1, n}};
    uint32_t skip = batch_rank == 0;
    bd_position a_at = {3 - skip, a_runs + skip}, b_at = {3 - skip, b_runs + skip};
    region->live[region->live_count++] = &b_at; /* the left operand's views may split axes */
    uint32_t operands[2];
    operands[0] = bd_region_want(region, node->inputs[0], &a_at, BD_DOMAIN_A, 0);
    operands[1] = bd_region_want(region, node->inputs[1], &b_at, BD_DOMAIN_B, 0);
    region->live_count--;
    set_operands(region, value, operands, 2);
    return true;
}

/* ---- attention ---- */

/* Batch, row and column of a value whose last two dims are a matrix, each along axes of its own. */
typedef struct matrix_place {
    bd_affine batch, row, column;
    int row_axis, column_axis; /* -1: one element */
} matrix_place;

static bool matrix_place_of(bd_region *region, const bd_position *position,
                            const bd_graph_node *node, matrix_place *out)
{
    uint32_t batch_rank = node->rank - 2u;
    bd_position at = bd_position_copy(region->arena, position);
    region->live[region->live_count++] = &at;
    bool told = true;
    for (int pass = 0; pass < 2; pass++) /* a cut for one dim may split an axis of another */
        told = told &&
               bd_region_take(region, &at, node->dims, batch_rank + 1, batch_rank + 2,
                              &out->column) &&
               bd_region_take(region, &at, node->dims, batch_rank, batch_rank + 1, &out->row);
    told = told && bd_region_take(region, &at, node->dims, 0, batch_rank, &out->batch);
    region->live_count--;
    if (!told)
        return false;
    out->row_axis = lone_axis(region, &out->row, node->dims[batch_rank]);
    out->column_axis = lone_axis(region, &out->column, node->dims[batch_rank + 1]);
    return out->row_axis != -2 && out->column_axis != -2;
}

/* Both operands of a product along an inner axis; they are wanted in domains of their own. */
static void want_factors(bd_region *region, uint32_t value, const matrix_place *place, int inner,
                         uint8_t left, uint8_t right)
{
    const bd_graph_node *node = bd_graph_at(region->graph, region->values.items[value].node);
    uint32_t batch_rank = node->rank - 2u, skip = batch_rank == 0;
    bd_affine along = bd_affine_axis((uint8_t)inner);
    bd_run a_runs[3] = {{batch_rank, place->batch}, {1, place->row}, {1, along}};
    bd_run b_runs[3] = {{batch_rank, place->batch}, {1, along}, {1, place->column}};
    bd_position a = {3 - skip, a_runs + skip}, b = {3 - skip, b_runs + skip};
    region->live[region->live_count++] = &b; /* the left operand's views may split axes */
    uint32_t operands[2];
    operands[0] = bd_region_want(region, node->inputs[0], &a, left, 0);
    operands[1] = bd_region_want(region, node->inputs[1], &b, right, 0);
    region->live_count--;
    set_operands(region, value, operands, 2);
}

bool bd_region_attend(bd_region *region, uint32_t value)
{
    bd_region_value self = region->values.items[value];
    const bd_graph_node *node = bd_graph_at(region->graph, self.node);
    const bd_graph_node *scores = bd_graph_at(region->graph, node->inputs[0]);
    uint32_t axes;
    matrix_place place;
    if (region->family != BD_REGION_LOOP || region->axis_count >= BD_AXES_MAX - 3 ||
        bd_region_axes_of_role(region, BD_KIR_SERIAL) != 0 ||
        !bd_region_visits_once(region, value, &axes) || (real_axes(region) & ~axes) != 0 ||
        !matrix_place_of(region, &self.position, node, &place))
        return false;
    set_roles(region, UINT32_MAX, BD_KIR_BATCH);
    int keys = bd_region_add_axis(region, scores->dims[scores->rank - 1], BD_KIR_N);
    if (place.row_axis >= 0)
        region->roles[place.row_axis] = BD_KIR_M;
    if (place.column_axis >= 0)
        region->roles[place.column_axis] = BD_KIR_E;
    region->family = BD_REGION_ATTENTION;
    region->acc = value;
    want_factors(region, value, &place, keys, BD_DOMAIN_SCORE, BD_DOMAIN_C);
    return true;
}

bool bd_region_score(bd_region *region, uint32_t value)
{
    bd_region_value self = region->values.items[value];
    const bd_graph_node *node = bd_graph_at(region->graph, self.node);
    const bd_graph_node *a = bd_graph_at(region->graph, node->inputs[0]);
    matrix_place place;
    bd_node sum = region->acc == UINT32_MAX ? self.node : region->values.items[region->acc].node;
    burn_dtype scores = (burn_dtype)bd_graph_at(region->graph, sum)->dtype;
    if (bd_kir_accumulator((burn_dtype)node->dtype) != bd_kir_accumulator(scores))
        return false;
    if (region->family != BD_REGION_ATTENTION || self.domain != BD_DOMAIN_SCORE ||
        self.context != 0 || region->score != UINT32_MAX || region->axis_count == BD_AXES_MAX ||
        bd_position_has_virtual(&self.position) ||
        !matrix_place_of(region, &self.position, node, &place))
        return false;
    uint32_t batch = bd_region_axes_of_role(region, BD_KIR_BATCH);
    bool rows = place.row_axis < 0 || region->roles[place.row_axis] == BD_KIR_M;
    bool columns = place.column_axis < 0 || region->roles[place.column_axis] == BD_KIR_N;
    if (!rows || !columns || (bd_affine_axes(&place.batch) & ~batch) != 0)
        return false;
    int inner = bd_region_add_axis(region, a->dims[a->rank - 1], BD_KIR_K);
    region->score = value;
    want_factors(region, value, &place, inner, BD_DOMAIN_A, BD_DOMAIN_B);
    return true;
}
