/* SPDX-License-Identifier: Apache-2.0
 * A region: a group of graph nodes that becomes one kernel. It has axes, values (a node at an
 * affine position) and roots (values that are stored). Fusion (engine/fuse.c) grows regions from
 * their roots towards the leaves: a wanted value is OPEN until fusion decides whether it is
 * loaded, because some region stores its node, or computed here, which opens its operands.
 * Views never become values: a value wanted behind a view is wanted at the place the view shows.
 * Owner: the fusion that creates it; thread: device.
 * Invariant: positions of all values hold for the present axes; splitting an axis rewrites them. */
#pragma once

#include "engine/lower/affine.h"
#include "engine/lower/ops.h"
#include "proto/base/vec.h"

typedef enum bd_region_family {
    BD_REGION_LOOP,
    BD_REGION_CONTRACTION,
    BD_REGION_ATTENTION,
} bd_region_family;

typedef enum bd_domain {
    BD_DOMAIN_MAIN, /* the loop, or the epilogue of a contraction or attention */
    BD_DOMAIN_A,    /* the left operand */
    BD_DOMAIN_B,
    BD_DOMAIN_SCORE, /* of an attention */
    BD_DOMAIN_C,     /* what an attention's weights are multiplied with */
} bd_domain;

typedef enum bd_value_state {
    BD_VALUE_OPEN,
    BD_VALUE_LEAF,    /* a scalar, constant or integer */
    BD_VALUE_LOAD,
    BD_VALUE_COMPUTE,
} bd_value_state;

typedef struct bd_region_value {
    bd_node node;
    uint8_t state;
    uint8_t domain;
    uint32_t context;         /* number of a guard list; 0: always */
    bd_position position;
    bd_affine *element;       /* the position as one row-major number */
    uint32_t operand_count;
    uint32_t *operands;       /* numbers of values */
    uint32_t *operand_guards; /* PAD, CONCAT: the context under which each operand counts */
    /* SOURCE: the place it is computed from; LOAD, when lowered: the element */
    bd_affine *index;
} bd_region_value;

typedef struct bd_region_guard {
    bd_affine index; /* holds where 0 <= index < extent */
    bd_int extent;
} bd_region_guard;

enum { BD_CONTEXT_GUARDS_MAX = 24 };
typedef struct bd_region_context {
    uint32_t guard_count;
    uint32_t guards[BD_CONTEXT_GUARDS_MAX];
} bd_region_context;

/* A computed place: the axis BD_VIRTUAL_AXIS + its number within affine functions. */
typedef struct bd_region_virtual {
    uint32_t value;
    bd_int extent;
    uint32_t record; /* to blame for an index out of range */
} bd_region_virtual;

typedef struct bd_region_root {
    uint32_t value;
    bd_node target;    /* whose buffer is written */
    bd_affine address; /* may have one virtual term */
    uint8_t mode;      /* bd_kir_store */
    uint8_t copies;    /* only carries the base of an update over: skipped if in place */
    bool each;         /* adds up at each serial point, even where all values are equal */
} bd_region_root;

enum {
    BD_REGION_VIRTUALS_MAX = 16,
    BD_REGION_LIVE_MAX = 64,
    BD_REGION_BUFFERS_MAX = 32,
    BD_REGION_COST_MAX = 400,
    BD_REGION_VALUES_MAX = 240,
    BD_REGION_ROW_VALUES_MAX = 120, /* with SERIAL axes, where sweeps may compute values again */
};

typedef struct bd_region {
    bd_graph *graph;
    bd_ints *ints;
    bd_arena *arena;
    uint8_t family;
    uint32_t number;       /* the fusion's */
    uint32_t axis_count;
    bd_int extents[BD_AXES_MAX];
    uint8_t roles[BD_AXES_MAX]; /* bd_kir_role */
    uint8_t order[BD_AXES_MAX]; /* axes, outermost first */
    BD_VEC(bd_region_value) values;
    BD_VEC(bd_region_guard) guards;
    BD_VEC(bd_region_context) contexts; /* [0]: none */
    uint32_t virtual_count;
    bd_region_virtual virtuals[BD_REGION_VIRTUALS_MAX];
    /* virtuals, bits: their places are checked even if no address depends on them */
    uint32_t checked;
    bd_int virtual_extents[BD_REGION_VIRTUALS_MAX];
    BD_VEC(bd_region_root) roots;
    BD_VEC(uint32_t) opened; /* values wanted since fusion last looked */
    uint32_t cost;           /* of what is computed */
    uint32_t acc;            /* CONTRACTION, ATTENTION: number of the value that is the sum */
    uint32_t score;          /* ATTENTION: of the product within the scores, or UINT32_MAX */
    bd_position *live[BD_REGION_LIVE_MAX];    /* positions under way, rewritten by splits too */
    uint32_t live_count;
} bd_region;

bd_region *bd_region_create(bd_graph *graph, bd_arena *arena, uint32_t number);
void bd_region_destroy(bd_region *region);

/* Starts an empty region with one axis over all elements of dims; out is the position of each. */
bd_position bd_region_span(bd_region *region, const bd_int *dims, uint32_t rank);
/* The same with one axis a dim: for views whose dims cannot be told apart otherwise. */
bd_position bd_region_span_dims(bd_region *region, const bd_int *dims, uint32_t rank);
/* A new axis, inside of all others. -1 if there are too many. */
int bd_region_add_axis(bd_region *region, bd_int extent, uint8_t role);
/* Axis becomes the inner part; the number of the new outer one, or -1. */
int bd_region_split(bd_region *region, uint8_t axis, bd_int inner_extent);
uint32_t bd_region_axes_of_role(const bd_region *region, uint8_t role); /* bits */
/* Makes adjacent axes of a role one where all accesses allow it. Before emission only. */
void bd_region_merge_axes(bd_region *region);

/* The affine row-major number within dims [begin, end) of a position, which is cut there.
 * False if that cannot be told. The position must be live if it is not a value's. */
bool bd_region_take(bd_region *region, bd_position *position, const bd_int *dims, uint32_t begin,
                    uint32_t end, bd_affine *out);
bd_position bd_position_copy(bd_arena *arena, const bd_position *position);

/* The value of a node at a position; views are passed through as far as they can be. */
uint32_t bd_region_want(bd_region *region, bd_node node, const bd_position *position,
                        uint8_t domain, uint32_t context);
/* As before, but of the node itself, even if it is a view. */
uint32_t bd_region_want_self(bd_region *region, bd_node node, const bd_position *position,
                             uint8_t domain, uint32_t context);
/* From OPEN to COMPUTE; false (and still OPEN) if it cannot be expressed here. MAP, SOURCE, PAD and
 * CONCAT. */
bool bd_region_compute(bd_region *region, uint32_t value);
/* Whether a REDUCE or DOT value can be computed here, and then does so. */
bool bd_region_reduce(bd_region *region, uint32_t value);
bool bd_region_contract(bd_region *region, uint32_t value);
/* An ATTEND value, and a DOT value that is wanted among the scores of one. */
bool bd_region_attend(bd_region *region, uint32_t value);
bool bd_region_score(bd_region *region, uint32_t value);
/* A root that stores a whole value at its own row-major place. */
void bd_region_store(bd_region *region, uint32_t value, bd_node target);
/* Whether each element of the value's node is visited exactly once, in the main domain, by the axes
 * given out as bits: all of them, or (rows) all PARALLEL ones. */
bool bd_region_visits_once(bd_region *region, uint32_t value, uint32_t *out_axes);

/* SCAN and SORT: computed where the region has the value's axes and no more; that of the node's dim
 * becomes the SERIAL one. False, and nothing has changed, if it cannot. */
bool bd_region_scan(bd_region *region, uint32_t value);
/* Makes the axes besides those of a row value SERIAL, if they have so many points. `whole`: these
 * are all of what is reduced, which may then be of any size. */
bool bd_region_claim_rows(bd_region *region, uint32_t value, bd_int elements, bool whole);
/* Whether an axis of more than one point is not among these. */
bool bd_region_has_axes_besides(const bd_region *region, uint32_t axes);

/* view.c: one view or gather is passed; false if its dims cannot be told apart. */
bool bd_view_pass(bd_region *region, bd_node *node, bd_position *position, uint8_t domain,
                  uint32_t context);
/* Where an element of a slice, window or gather lies; `at` is in the view's dims. The nodes need
 * not be in the graph. */
bool bd_slice_place(bd_region *region, const bd_graph_node *slice, const bd_graph_node *input,
                    bd_position *at, bd_position *out);
bool bd_window_place(bd_region *region, const bd_graph_node *window, const bd_graph_node *input,
                     bd_position *at, bd_position *out);
bool bd_gather_place(bd_region *region, const bd_graph_node *gather, const bd_graph_node *input,
                     bd_position *at, bd_position *out);
/* The position of a reduction's input, from that of its output and an index within the reduced
 * dims. */
bool bd_reduce_input(bd_region *region, bd_node node, bd_position *output, bd_position *reduced,
                     bd_position *out);
/* Roots of SCATTER and UPDATE nodes: the copy of the base in a region of its own, and the
 * stores. */
bool bd_region_copy_base(bd_region *region, bd_node node);
bool bd_region_store_update(bd_region *region, bd_node node);
bool bd_region_store_scatter(bd_region *region, bd_node node);
/* Root of one operand of a CONCAT that is stored piece by piece. */
bool bd_region_store_piece(bd_region *region, bd_node node, uint32_t operand);

/* combine.c: whether both finished regions run over the same axes and read some tensor at the same
 * elements; then one can take over the roots of the other. */
bool bd_region_may_combine(bd_region *into, const bd_region *from);
void bd_region_combine(bd_region *into, const bd_region *from);
