/* SPDX-License-Identifier: Apache-2.0
 * What the files of fusion share (fuse.c, fuse_weight.c, fuse_combine.c); nobody else includes it.
 * Owner: bd_fuse; thread: device. */
#pragma once

#include "engine/fuse.h"

enum {
    BD_SOURCES_MAX = 3,
    BD_REPEAT_FLOPS_MAX = 6, /* work that may be done in several regions */
    BD_SPARING_FLOPS_MAX = 32, /* … where reads are dearer: about two functions */
    BD_AGAIN_FROM_MORE,      /* … it takes more, or more tensors: it is stored itself, or … */
    BD_AGAIN_NEVER,          /* … nor may what is made from it be done again */
};

/* What computing a node from stored ones takes, an element of the node. */
typedef struct bd_fuse_weight {
    uint16_t flops;
    uint8_t source_count; /* of its size; BD_SOURCES_MAX + 1: more */
    uint8_t anchored;     /* a reduction, contraction or update of its size lies in it … */
    uint8_t contracted;   /* … and it is a contraction */
    uint8_t rows;         /* the result of a reduction, repeated, lies in it */
    uint8_t uniform;      /* only scalars lie in it: computed once a kernel */
    uint8_t again;        /* flops to do it again from a stored tensor of its size, `base`, or … */
    bd_node base;
    bd_node sources[BD_SOURCES_MAX];
} bd_fuse_weight;

typedef struct bd_fuse_use {
    uint32_t region, value;
    uint32_t next; /* + 1; 0 ends */
} bd_fuse_use;

typedef struct bd_fuse_walk {
    bd_fusion *fusion;
    bd_graph *graph;
    bd_ints *ints;
    bool fuses, spares_reads;
    uint8_t again_max; /* flops to do a node again from one stored tensor */
    bd_fuse_weight *weights;    /* by node */
    uint8_t *stored;    /* by node: must be */
    uint32_t *use_heads; /* by node, + 1 */
    BD_VEC(bd_fuse_use) uses;
    uint32_t *seen; /* by region: stamp of the last search */
    size_t seen_count;
    uint32_t stamp;
} bd_fuse_walk;

/* Whether region `to` runs after `from`, or is it, or might. */
bool bd_fuse_reaches(bd_fuse_walk *fuser, uint32_t from, uint32_t to);
/* Of a node whose inputs have been weighed. */
bd_fuse_weight bd_fuse_weigh(const bd_fuse_walk *fuser, bd_node number);
/* Regions that read the same tensor over the same axes become one, if neither needs the other. */
void bd_fuse_combine_siblings(bd_fuse_walk *fuser);
