/* SPDX-License-Identifier: Apache-2.0
 * Graph to regions: which nodes are computed together, which are stored, which are computed twice.
 * Works by the classes of engine/lower/ops.h; names no op.
 *
 * One walk from the last node to the first. When a node's turn comes, all regions that want it are
 * known. It is computed within them if that is cheap or if there is one only; else one of them, or
 * a region of its own, stores it and the others load it. Regions never depend on each other in a
 * circle. Owner: bd_plan_build; thread: device. */
#pragma once

#include <stdbool.h>

#include "engine/lower/region.h"

typedef BD_VEC(uint32_t) bd_number_list;

typedef struct bd_fusion {
    bd_graph *graph;
    bd_arena *arena;
    BD_VEC(bd_region *) regions;
    BD_VEC(bd_number_list) successors; /* by region: those that run later */
    bd_node refused; /* after an error: the node that no region can express; or NONE */
} bd_fusion;

typedef struct bd_fuse_options {
    bool fusion; /* false: a region a node */
    /* Scores of 16 bits are made within attention even if they are stored, too; a softmax of a
     * product is stored by a reduction that reads it. */
    bool spares_reads;
} bd_fuse_options;

/* The node whose memory holds the elements of `node`: itself, or what it is a reshape of. */
bd_node bd_fuse_storage(const bd_graph *graph, bd_node node);
/* Regions that store (the storage of) all roots which are not externals.
 * Errors: UNSUPPORTED with the reason for a graph that no region can express; then out has the node
 * in question, and nothing else. */
bd_error *bd_fuse(bd_graph *graph, const bd_node *roots, uint32_t root_count,
                  const bd_fuse_options *options, bd_arena *arena, bd_fusion *out) BD_MUST_USE;
void bd_fusion_deinit(bd_fusion *fusion);
