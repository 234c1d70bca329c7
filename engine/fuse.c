/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/fuse.h"

#include <string.h>

#include "engine/fuse_parts.h"
#include "engine/lower/emit.h"
#include "proto/base/alloc.h"
#include "proto/base/assert.h"

enum {
    REPEAT_LOADS_MAX = 1,   /* what a value that is computed in several regions may read */
    OPERAND_FLOPS_MAX = 8,  /* work on an element of a contraction's operand */
    OPERAND_LOADS_MAX = 2,
    SIDE_LOADS_MAX = 2,     /* tensors of full size that an epilogue reads */
    ROOTS_MAX = 12,
    VISITED_MAX = 4000,     /* regions looked at in search of a circle; then there may be one */
};

/* ---- regions and their order ---- */

static bd_region *add_region(bd_fuse_walk *fuser)
{
    bd_fusion *fusion = fuser->fusion;
    bd_region *region =
        bd_region_create(fusion->graph, fusion->arena, (uint32_t)fusion->regions.count);
    *bd_vec_push(&fusion->regions) = region;
    *bd_vec_push(&fusion->successors) = (bd_number_list){0};
    return region;
}

static void add_edge(bd_fuse_walk *fuser, uint32_t from, uint32_t to)
{
    bd_number_list *list = &fuser->fusion->successors.items[from];
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i] == to)
            return;
    }
    if (from != to)
        *bd_vec_push(list) = to;
}

bool bd_fuse_reaches(bd_fuse_walk *fuser, uint32_t from, uint32_t to)
{
    bd_fusion *fusion = fuser->fusion;
    size_t count = fusion->regions.count;
    if (fuser->seen_count < count) {
        fuser->seen = bd_realloc(fuser->seen, 2 * count * sizeof *fuser->seen);
        memset(fuser->seen, 0, 2 * count * sizeof *fuser->seen);
        fuser->seen_count = 2 * count;
        fuser->stamp = 0;
    }
    uint32_t stamp = ++fuser->stamp;
    bd_number_list stack = {0};
    *bd_vec_push(&stack) = from;
    fuser->seen[from] = stamp;
    bool found = from == to;
    uint32_t visited = 0;
    while (stack.count > 0 && !found) {
        found = visited++ == VISITED_MAX;
        const bd_number_list *next = &fusion->successors.items[stack.items[--stack.count]];
        for (size_t i = 0; i < next->count && !found; i++) {
            uint32_t region = next->items[i];
            found = region == to;
            if (fuser->seen[region] == stamp)
                continue;
            fuser->seen[region] = stamp;
            *bd_vec_push(&stack) = region;
        }
    }
    bd_vec_deinit(&stack);
    return found;
}

/* Files what a region has come to want. */
static void file_uses(bd_fuse_walk *fuser, bd_region *region)
{
    for (size_t i = 0; i < region->opened.count; i++) {
        uint32_t value = region->opened.items[i];
        bd_node node = region->values.items[value].node;
        *bd_vec_push(&fuser->uses) = (bd_fuse_use){region->number, value, fuser->use_heads[node]};
        fuser->use_heads[node] = (uint32_t)fuser->uses.count;
    }
    bd_vec_clear(&region->opened);
}

/* ---- computing a node where it is wanted ---- */

static uint32_t count_buffers(const bd_region *region)
{
    uint32_t count = (uint32_t)region->roots.count;
    for (size_t i = 0; i < region->values.count; i++) {
        const bd_region_value *value = &region->values.items[i];
        count += value->state == BD_VALUE_LOAD || value->state == BD_VALUE_OPEN;
    }
    return count;
}

static bool is_along_rows(bd_op_class class)
{
    return class == BD_CLASS_SCAN || class == BD_CLASS_SORT;
}

static bool has_room(const bd_region *region, const bd_graph_node *node)
{
    bool rows = bd_region_axes_of_role(region, BD_KIR_SERIAL) != 0 ||
                bd_class_of(node) == BD_CLASS_REDUCE || is_along_rows(bd_class_of(node));
    uint32_t most = rows ? BD_REGION_ROW_VALUES_MAX : BD_REGION_VALUES_MAX;
    return region->cost + bd_lower_cost(node) <= BD_REGION_COST_MAX &&
           region->values.count + node->input_count <= most &&
           count_buffers(region) + node->input_count <= BD_REGION_BUFFERS_MAX;
}

static bool is_map_like(bd_op_class class)
{
    return class == BD_CLASS_MAP || class == BD_CLASS_SOURCE || class == BD_CLASS_PAD ||
           class == BD_CLASS_CONCAT;
}

/* Tensors as large as the node that the region reads besides it. */
static uint32_t count_side_loads(bd_region *region, uint32_t value, const bd_graph_node *node)
{
    bd_int elements = bd_dims_product(region->ints, node->dims, node->rank);
    uint32_t count = 0;
    for (size_t i = 0; i < region->values.count; i++) {
        const bd_region_value *other = &region->values.items[i];
        if (i == value || (other->state != BD_VALUE_LOAD && other->state != BD_VALUE_OPEN))
            continue;
        const bd_graph_node *loaded = bd_graph_at(region->graph, other->node);
        count += bd_product_equal(region->ints, elements,
                                  bd_dims_product(region->ints, loaded->dims, loaded->rank));
    }
    return count;
}

/* Elements of the reduction whose result a row value is a function of, and whether these are all of
 * its input; NONE if there is none. */
static bd_int reduced_elements(bd_fuse_walk *fuser, bd_node number, bool *out_whole)
{
    enum { SEARCH_MAX = 32 };
    bd_node stack[SEARCH_MAX];
    uint32_t depth = 0, seen = 0;
    stack[depth++] = number;
    while (depth > 0 && seen++ < SEARCH_MAX) {
        const bd_graph_node *node = bd_graph_at(fuser->graph, stack[--depth]);
        bd_op_class class = bd_class_of(node);
        if (class == BD_CLASS_REDUCE) {
            const bd_graph_node *input = bd_graph_at(fuser->graph, node->inputs[0]);
            uint32_t mask = bd_reduced_dims(fuser->graph, node), count = 0;
            bd_int dims[BURN_RANK_MAX];
            for (uint32_t d = 0; d < input->rank; d++) {
                if (mask >> d & 1)
                    dims[count++] = input->dims[d];
            }
            *out_whole = count == input->rank;
            return bd_dims_product(fuser->ints, dims, count);
        }
        if (class != BD_CLASS_MAP && class != BD_CLASS_VIEW)
            continue;
        for (uint32_t i = node->input_count; i-- > 0;) {
            if (depth < SEARCH_MAX && fuser->weights[node->inputs[i]].anchored)
                stack[depth++] = node->inputs[i];
        }
    }
    return BD_INT_0;
}

/* A value of a row tells which axes are to be reduced before the reduction's turn comes. */
static void claim_rows(bd_fuse_walk *fuser, bd_region *region, uint32_t value)
{
    bd_node node = region->values.items[value].node;
    if (!fuser->weights[node].anchored || bd_region_axes_of_role(region, BD_KIR_SERIAL) != 0)
        return;
    bool whole = false;
    bd_int elements = reduced_elements(fuser, node, &whole);
    if (elements != BD_INT_0)
        (void)bd_region_claim_rows(region, value, elements, whole);
}

/* Whether computing it here would do the work of one element over and over. */
static bool repeats(bd_fuse_walk *fuser, bd_region *region, uint32_t value)
{
    enum { REPEATED_COST_MAX = 11 };
    bd_node node = region->values.items[value].node;
    if (fuser->weights[node].uniform || region->values.items[value].domain != BD_DOMAIN_MAIN ||
        bd_lower_cost(bd_graph_at(fuser->graph, node)) <= REPEATED_COST_MAX)
        return false;
    uint32_t axes = bd_position_axes(&region->values.items[value].position);
    axes |= bd_region_axes_of_role(region, BD_KIR_K); /* an epilogue is behind these */
    return bd_region_has_axes_besides(region,
                                      axes | bd_region_axes_of_role(region, BD_KIR_SERIAL)) &&
           bd_region_has_axes_besides(region, axes);
}

/* Reductions one after the other along the longest way through the region, `value` counted too. */
static uint32_t count_sweeps(const bd_region *region, uint32_t value)
{
    uint8_t levels[BD_REGION_VALUES_MAX + BURN_OP_INPUTS_NAMED_MAX] = {0};
    uint32_t most = 0;
    BD_ASSERT(region->values.count <= sizeof levels);
    for (bool changed = true; changed && most <= BD_SWEEPS_MAX;) {
        changed = false;
        for (size_t i = region->values.count; i-- > 0;) {
            const bd_region_value *self = &region->values.items[i];
            uint8_t level = 0;
            for (uint32_t k = 0; k < self->operand_count; k++)
                level = levels[self->operands[k]] > level ? levels[self->operands[k]] : level;
            for (uint32_t k = 0; k < self->element->count; k++) {
                uint8_t axis = self->element->terms[k].axis;
                if (axis < BD_VIRTUAL_AXIS)
                    continue;
                uint8_t below = levels[region->virtuals[axis - BD_VIRTUAL_AXIS].value];
                level = below > level ? below : level;
            }
            const bd_graph_node *node = bd_graph_at(region->graph, self->node);
            bool reduces =
                self->state == BD_VALUE_COMPUTE &&
                (bd_class_of(node) == BD_CLASS_REDUCE || bd_class_of(node) == BD_CLASS_SORT);
            level = (uint8_t)(level + (i == value || reduces));
            changed |= level != levels[i];
            levels[i] = level;
            most = level > most ? level : most;
        }
    }
    return most;
}

static bool try_compute(bd_fuse_walk *fuser, bd_region *region, uint32_t value)
{
    const bd_graph_node *node = bd_graph_at(fuser->graph, region->values.items[value].node);
    if (!has_room(region, node))
        return false;
    bool done = false;
    bd_op_class class = bd_class_of(node);
    uint32_t checked = region->checked;
    if (is_map_like(class)) {
        claim_rows(fuser, region, value);
        done = !repeats(fuser, region, value) && bd_region_compute(region, value);
    } else if (class == BD_CLASS_DOT && region->values.items[value].domain == BD_DOMAIN_SCORE) {
        done = bd_region_score(region, value);
    } else if (class == BD_CLASS_DOT || class == BD_CLASS_ATTEND) {
        done = count_side_loads(region, value, node) <= SIDE_LOADS_MAX &&
               (class == BD_CLASS_DOT ? bd_region_contract(region, value)
                                      : bd_region_attend(region, value));
    } else if (class == BD_CLASS_REDUCE) {
        uint32_t rows = 0;
        bool once = bd_region_visits_once(region, value, &rows);
        bool has_more_axes = once && bd_region_has_axes_besides(region, rows);
        done = once && count_sweeps(region, value) < BD_SWEEPS_MAX &&
               (has_more_axes || count_side_loads(region, value, node) <= SIDE_LOADS_MAX) &&
               bd_region_reduce(region, value);
    } else if (is_along_rows(class)) {
        done = count_sweeps(region, value) < BD_SWEEPS_MAX && bd_region_scan(region, value);
    }
    if (!done)
        region->checked = checked;
    file_uses(fuser, region); /* also what was wanted before it failed: it is loaded, or dead */
    return done;
}

static bool may_inline(const bd_fuse_walk *fuser, bd_node node, uint32_t use_count, bool as_operand)
{
    const bd_fuse_weight *own = &fuser->weights[node];
    bool moves = bd_class_of(bd_graph_at(fuser->graph, node)) == BD_CLASS_PAD;
    if (as_operand && moves) /* what it shows is stored, or loaded, as behind any view */
        return true;
    if (!is_map_like(bd_class_of(bd_graph_at(fuser->graph, node))))
        return use_count == 1 && !as_operand;
    if (as_operand)
        return use_count == 1 && !own->anchored && own->flops <= OPERAND_FLOPS_MAX &&
               own->source_count <= OPERAND_LOADS_MAX;
    if (use_count == 1)
        return true;
    if (!own->anchored && own->flops <= BD_REPEAT_FLOPS_MAX &&
        own->source_count <= REPEAT_LOADS_MAX)
        return true;
    /* Loading the one tensor that it is made of costs no more than loading itself; a few numbers of
     * its rows beside it, hardly more than that. */
    if (own->rows && !(fuser->spares_reads && own->again <= BD_REPEAT_FLOPS_MAX))
        return false;
    return (own->contracted || !own->anchored) && own->again <= fuser->again_max;
}

/* ---- storing a node ---- */

static void load_in(bd_fuse_walk *fuser, bd_node node, uint32_t from)
{
    for (uint32_t i = fuser->use_heads[node]; i != 0; i = fuser->uses.items[i - 1].next) {
        const bd_fuse_use *user = &fuser->uses.items[i - 1];
        bd_region_value *value =
            &fuser->fusion->regions.items[user->region]->values.items[user->value];
        if (value->state == BD_VALUE_OPEN) {
            value->state = BD_VALUE_LOAD;
            add_edge(fuser, from, user->region);
        }
    }
}

/* Whether a node is better stored by a region of its own than within a reduction that reads it:
 * there it can be the epilogue of a contraction, or have its own reductions along the rows. */
static bool hinders(const bd_fuse_walk *fuser, const bd_region *region, uint32_t value)
{
    const bd_fuse_weight *own = &fuser->weights[region->values.items[value].node];
    const bd_affine *element = region->values.items[value].element;
    bool along_rows = false;
    bool has_rows = bd_region_axes_of_role(region, BD_KIR_PARALLEL) != 0;
    for (uint32_t i = 0; i < element->count; i++)
        along_rows |= has_rows && element->terms[i].factor == BD_INT_1 &&
                      region->roles[element->terms[i].axis] == BD_KIR_SERIAL;
    /* What was reduced along the rows is no epilogue any more. */
    bool contracted = own->contracted && !(fuser->spares_reads && own->rows);
    return contracted || (!along_rows && (own->anchored || own->rows));
}

static bool may_host(bd_fuse_walk *fuser, bd_node node, const bd_fuse_use *candidate)
{
    bd_region *region = fuser->fusion->regions.items[candidate->region];
    uint32_t axes;
    claim_rows(fuser, region, candidate->value);
    if (region->roots.count >= ROOTS_MAX ||
        !bd_region_visits_once(region, candidate->value, &axes))
        return false;
    uint32_t serial = bd_region_axes_of_role(region, BD_KIR_SERIAL);
    if ((axes & serial) != 0 && hinders(fuser, region, candidate->value))
        return false;
    if (bd_region_has_axes_besides(region, axes) &&
        ((axes & serial) != 0 || bd_region_has_axes_besides(region, axes | serial)) &&
        bd_class_of(bd_graph_at(fuser->graph, node)) != BD_CLASS_REDUCE)
        return false;
    for (uint32_t i = fuser->use_heads[node]; i != 0; i = fuser->uses.items[i - 1].next) {
        const bd_fuse_use *other = &fuser->uses.items[i - 1];
        bool same = other->region == candidate->region;
        if (same ? other->value != candidate->value
                 : bd_fuse_reaches(fuser, other->region, candidate->region))
            return false;
    }
    return true;
}

/* Has a region that wants the node compute and store it. False if none may. */
static bool host(bd_fuse_walk *fuser, bd_node node)
{
    for (uint32_t i = fuser->use_heads[node]; i != 0; i = fuser->uses.items[i - 1].next) {
        bd_fuse_use candidate = fuser->uses.items[i - 1];
        bd_region *region = fuser->fusion->regions.items[candidate.region];
        if (!may_host(fuser, node, &candidate) || !try_compute(fuser, region, candidate.value))
            continue;
        bd_region_store(region, candidate.value, node);
        load_in(fuser, node, candidate.region);
        return true;
    }
    return false;
}

static bd_error *refuse(bd_fuse_walk *fuser, bd_node number)
{
    const bd_graph_node *node = bd_graph_at(fuser->graph, number);
    fuser->fusion->refused = number;
    BD_FAIL(UNSUPPORTED, "a graph node of %d dims (op %d) needs more axes than a kernel has",
            (int)node->rank, (int)node->op);
}

/* A region with the node as its root; retried with an axis a dim. */
static bool start_region(bd_fuse_walk *fuser, bd_region *region, bd_node number, bool axis_a_dim)
{
    const bd_graph_node *node = bd_graph_at(fuser->graph, number);
    bd_op_class class = bd_class_of(node);
    bd_position at = axis_a_dim ? bd_region_span_dims(region, node->dims, node->rank)
                                : bd_region_span(region, node->dims, node->rank);
    if (node->rank > 0 && at.run_count == 0)
        return false;
    region->live[region->live_count++] = &at;
    uint32_t value;
    bool done = true;
    if (class == BD_CLASS_VIEW || class == BD_CLASS_GATHER || class == BD_CLASS_LEAF) {
        value = bd_region_want(region, number, &at, BD_DOMAIN_MAIN, 0);
        done = class == BD_CLASS_LEAF || region->values.items[value].node != number;
    } else {
        value = bd_region_want_self(region, number, &at, BD_DOMAIN_MAIN, 0);
        bd_vec_clear(&region->opened);
        done = class == BD_CLASS_REDUCE ? bd_region_reduce(region, value)
               : class == BD_CLASS_DOT  ? bd_region_contract(region, value)
               : class == BD_CLASS_ATTEND ? bd_region_attend(region, value)
               : is_along_rows(class)   ? bd_region_scan(region, value)
                                        : bd_region_compute(region, value);
    }
    region->live_count--;
    if (!done)
        return false;
    bd_region_root root = {.value = value, .target = number};
    bool told = bd_position_linear(region->ints, &at, node->dims, &root.address);
    BD_ASSERT(told);
    *bd_vec_push(&region->roots) = root;
    return true;
}

static bd_error *store_alone(bd_fuse_walk *fuser, bd_node number)
{
    for (int attempt = 0; attempt < 2; attempt++) {
        bd_region *region = add_region(fuser);
        if (start_region(fuser, region, number, attempt == 1)) {
            file_uses(fuser, region);
            load_in(fuser, number, region->number);
            return NULL;
        }
        fuser->fusion->regions.count--;
        fuser->fusion->successors.count--;
        bd_region_destroy(region);
    }
    return refuse(fuser, number);
}

/* A base that is copied, then stores into it. */
static bd_error *store_update(bd_fuse_walk *fuser, bd_node number)
{
    const bd_graph_node *node = bd_graph_at(fuser->graph, number);
    bd_region *copy = add_region(fuser);
    bd_region *stores = add_region(fuser);
    bool told = bd_region_copy_base(copy, number) &&
                (bd_class_of(node) == BD_CLASS_SCATTER ? bd_region_store_scatter(stores, number)
                                                       : bd_region_store_update(stores, number));
    if (!told)
        return refuse(fuser, number);
    file_uses(fuser, copy);
    file_uses(fuser, stores);
    add_edge(fuser, copy->number, stores->number);
    load_in(fuser, number, stores->number);
    return NULL;
}

static bd_error *store_pieces(bd_fuse_walk *fuser, bd_node number)
{
    const bd_graph_node *node = bd_graph_at(fuser->graph, number);
    uint32_t first = (uint32_t)fuser->fusion->regions.count;
    for (uint32_t i = 0; i < node->input_count; i++) {
        bd_region *piece = add_region(fuser);
        if (!bd_region_store_piece(piece, number, i))
            return refuse(fuser, number);
        file_uses(fuser, piece);
    }
    for (uint32_t i = fuser->use_heads[number]; i != 0; i = fuser->uses.items[i - 1].next) {
        const bd_fuse_use *user = &fuser->uses.items[i - 1];
        for (uint32_t piece = 0; piece < node->input_count; piece++)
            add_edge(fuser, first + piece, user->region);
    }
    load_in(fuser, number, first);
    return NULL;
}

static bd_error *store(bd_fuse_walk *fuser, bd_node number)
{
    const bd_graph_node *node = bd_graph_at(fuser->graph, number);
    bd_op_class class = bd_class_of(node);
    if (class == BD_CLASS_NONE)
        BD_FAIL(INTERNAL, "op %d was not decomposed", (int)node->op);
    if (class == BD_CLASS_SCATTER || class == BD_CLASS_UPDATE)
        return store_update(fuser, number);
    if (class == BD_CLASS_CONCAT && node->input_count > 1)
        return store_pieces(fuser, number);
    bool hosted = fuser->fuses && class != BD_CLASS_VIEW && class != BD_CLASS_GATHER &&
                  class != BD_CLASS_LEAF && host(fuser, number);
    return hosted ? NULL : store_alone(fuser, number);
}

/* ---- the walk ---- */

/* A product that others read, or that is kept, is made anew within each attention whose scores it
 * is part of. Whether nobody else wants it. */
static bool make_scores(bd_fuse_walk *fuser, bd_node number)
{
    const bd_graph_node *node = bd_graph_at(fuser->graph, number);
    bool half = node->dtype == BURN_F16 || node->dtype == BURN_BF16;
    if (!fuser->spares_reads || !half || bd_class_of(node) != BD_CLASS_DOT)
        return false;
    bool all = !fuser->stored[number];
    for (uint32_t i = fuser->use_heads[number]; i != 0; i = fuser->uses.items[i - 1].next) {
        bd_fuse_use user = fuser->uses.items[i - 1];
        bd_region *region = fuser->fusion->regions.items[user.region];
        bool score = region->values.items[user.value].domain == BD_DOMAIN_SCORE;
        all &= score && try_compute(fuser, region, user.value);
    }
    return all;
}

static bd_error *place(bd_fuse_walk *fuser, bd_node node)
{
    uint32_t head = fuser->use_heads[node], use_count = 0;
    if (head == 0 && !fuser->stored[node])
        return NULL;
    bool as_operand = false, inlines = fuser->fuses && !fuser->stored[node];
    for (uint32_t i = head; i != 0; i = fuser->uses.items[i - 1].next) {
        const bd_fuse_use *user = &fuser->uses.items[i - 1];
        use_count++;
        const bd_region *region = fuser->fusion->regions.items[user->region];
        uint8_t domain = region->values.items[user->value].domain;
        as_operand |= domain != BD_DOMAIN_MAIN && domain != BD_DOMAIN_SCORE;
    }
    if (inlines && may_inline(fuser, node, use_count, as_operand)) {
        bool all = true;
        for (uint32_t i = head; i != 0; i = fuser->uses.items[i - 1].next) {
            bd_fuse_use user = fuser->uses.items[i - 1];
            all &= try_compute(fuser, fuser->fusion->regions.items[user.region], user.value);
        }
        if (all)
            return NULL;
    }
    return make_scores(fuser, node) ? NULL : store(fuser, node);
}

bd_node bd_fuse_storage(const bd_graph *graph, bd_node node)
{
    const bd_graph_node *view = bd_graph_at(graph, node);
    while (bd_class_of(view) == BD_CLASS_VIEW && bd_view_kind_of(view) == BD_VIEW_RESHAPE) {
        node = view->inputs[0];
        view = bd_graph_at(graph, node);
    }
    return node;
}

static void mark_reached(bd_fuse_walk *fuser, const bd_node *roots, uint32_t root_count,
                         uint8_t *reached)
{
    for (uint32_t i = 0; i < root_count; i++) {
        bd_node node = bd_fuse_storage(fuser->graph, roots[i]);
        reached[node] = 1;
        fuser->stored[node] = bd_graph_at(fuser->graph, node)->kind != BD_NODE_EXTERNAL;
    }
    for (bd_node node = bd_graph_count(fuser->graph); node > 0; node--) {
        const bd_graph_node *each = bd_graph_at(fuser->graph, node);
        for (uint32_t i = 0; reached[node] && i < each->input_count; i++)
            reached[each->inputs[i]] = 1;
    }
}

bd_error *bd_fuse(bd_graph *graph, const bd_node *roots, uint32_t root_count,
                  const bd_fuse_options *options, bd_arena *arena, bd_fusion *out)
{
    bd_fusion fusion = {.graph = graph, .arena = arena};
    uint32_t count = bd_graph_count(graph);
    bd_arena scratch;
    bd_arena_init(&scratch);
    bd_fuse_walk fuser = {
        .fusion = &fusion,
        .graph = graph,
        .ints = bd_graph_ints(graph),
        .fuses = options->fusion,
        .spares_reads = options->fusion && options->spares_reads,
        .again_max = options->spares_reads ? BD_SPARING_FLOPS_MAX : BD_REPEAT_FLOPS_MAX,
        .weights = BD_ARENA_ARRAY(&scratch, bd_fuse_weight, count + 1),
        .stored = BD_ARENA_ARRAY(&scratch, uint8_t, count + 1),
        .use_heads = BD_ARENA_ARRAY(&scratch, uint32_t, count + 1),
    };
    uint8_t *reached = BD_ARENA_ARRAY(&scratch, uint8_t, count + 1);
    mark_reached(&fuser, roots, root_count, reached);
    for (bd_node node = 1; node <= count; node++) {
        if (reached[node])
            fuser.weights[node] = bd_fuse_weigh(&fuser, node);
    }
    bd_error *err = NULL;
    for (bd_node node = count; node > 0 && !err; node--)
        err = place(&fuser, node);
    if (!err && options->fusion) {
        bd_fuse_combine_siblings(&fuser);
    }
    bd_vec_deinit(&fuser.uses);
    bd_free(fuser.seen);
    bd_arena_deinit(&scratch);
    if (err) {
        bd_fusion_deinit(&fusion);
        *out = (bd_fusion){.refused = fusion.refused};
    } else {
        *out = fusion;
    }
    return err;
}

void bd_fusion_deinit(bd_fusion *fusion)
{
    for (size_t i = 0; i < fusion->regions.count; i++)
        bd_region_destroy(fusion->regions.items[i]);
    for (size_t i = 0; i < fusion->successors.count; i++)
        bd_vec_deinit(&fusion->successors.items[i]);
    bd_vec_deinit(&fusion->regions);
    bd_vec_deinit(&fusion->successors);
}
