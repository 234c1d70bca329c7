/* SPDX-License-Identifier: Apache-2.0
 * The named rules of ops.toml: how an op's outputs get their dtype and shape. proto/infer.c applies
 * them to sizes, engine/graph.c to symbolic dims. Thread: any. */
#pragma once

#include "proto/ops.h"

/* "first" is the first VALUE input. Weak scalars count as torch.result_type counts them. */
typedef enum burn_dtype_rule {
    BURN_DTYPE_RULE_NONE,            /* no outputs, or the stream knows */
    BURN_DTYPE_RULE_SAME,            /* first; computes in it, other VALUE inputs are cast */
    BURN_DTYPE_RULE_SAME_FLOAT,      /* likewise, a float */
    BURN_DTYPE_RULE_SAME_INDEX,      /* outputs: first, int64 */
    BURN_DTYPE_RULE_PROMOTE,
    BURN_DTYPE_RULE_PROMOTE_NUMBER,  /* bools are refused, also as one of two */
    BURN_DTYPE_RULE_PROMOTE_WIDE,    /* bools alone are refused */
    BURN_DTYPE_RULE_PROMOTE_FLOAT,   /* integers and bool become float32 */
    BURN_DTYPE_RULE_PROMOTE_INTEGER, /* floats are refused */
    BURN_DTYPE_RULE_BOOL,            /* computes in the promoted dtype, gives bool */
    BURN_DTYPE_RULE_BOOL_FLOAT,      /* likewise, integers as float32 */
    BURN_DTYPE_RULE_LOGICAL,         /* all in bool */
    BURN_DTYPE_RULE_TRUTH,           /* any, all: uint8 of uint8, else bool; computes in first */
    BURN_DTYPE_RULE_FLOAT,           /* first, a float; tensors alike */
    BURN_DTYPE_RULE_ALIKE,           /* first, no bool; tensors alike */
    /* attribute dtype; 0: int64 of integers and bool, else first; computes in it */
    BURN_DTYPE_RULE_SUM,
    BURN_DTYPE_RULE_MEAN,            /* attribute dtype; 0: first; a float; computes in it */
    BURN_DTYPE_RULE_I64,             /* gives int64; computes in first */
    BURN_DTYPE_RULE_ATTR,            /* attribute dtype; computes in first, if any */
    BURN_DTYPE_RULE_ATTR_FLOAT,      /* likewise, a float */
} burn_dtype_rule;

typedef enum burn_shape_rule {
    BURN_SHAPE_RULE_NONE,
    BURN_SHAPE_RULE_BROADCAST,   /* of all inputs that are present */
    BURN_SHAPE_RULE_SAME,        /* input 0 */
    BURN_SHAPE_RULE_SAME_DIM,    /* input 0; attribute dim exists */
    BURN_SHAPE_RULE_SCALAR,      /* [] */
    BURN_SHAPE_RULE_GRAD,        /* those of the wrt tensors */
    BURN_SHAPE_RULE_CONSTANT,    /* attribute shape, as many bytes */
    BURN_SHAPE_RULE_SHAPE,       /* attribute shape */
    BURN_SHAPE_RULE_COUNT,       /* [attribute count] */
    BURN_SHAPE_RULE_EYE,         /* [attribute rows, columns] */
    BURN_SHAPE_RULE_RESHAPE,     /* attribute shape, as many elements */
    BURN_SHAPE_RULE_PERMUTE,     /* attribute dims */
    BURN_SHAPE_RULE_EXPAND,      /* attribute shape; input 0 broadcasts to it */
    BURN_SHAPE_RULE_SLICE,       /* ceil((stop - start) / step), 0 if stop <= start */
    BURN_SHAPE_RULE_PAD,         /* low + size + high */
    BURN_SHAPE_RULE_FLIP,        /* input 0; attribute dims exist */
    BURN_SHAPE_RULE_CONCAT,      /* sizes in attribute dim add up; [0] is passed over */
    BURN_SHAPE_RULE_STACK,       /* a new dim of as many as there are inputs */
    BURN_SHAPE_RULE_SPLIT,       /* outputs differ in attribute dim */
    BURN_SHAPE_RULE_SLICE_UPDATE,/* input 0; input 1 broadcasts to the slice */
    BURN_SHAPE_RULE_SLICE_SET,   /* input 0; input 1 has the shape of the slice */
    BURN_SHAPE_RULE_TRIANGLE,    /* input 0, of rank >= 2 */
    BURN_SHAPE_RULE_REDUCE,      /* attributes dims (none: all), keepdim */
    BURN_SHAPE_RULE_REDUCE_SOME, /* likewise; reducing nothing is refused */
    BURN_SHAPE_RULE_REDUCE_ONE,  /* attributes dim, keepdim, for each output; likewise */
    BURN_SHAPE_RULE_MATMUL,
    BURN_SHAPE_RULE_LINEAR,      /* x [.., in], weight [out, in], bias [out] */
    BURN_SHAPE_RULE_DOT,         /* a [b.., m, k], b [b.., k, n] */
    /* input 0, whose last dims are attribute shape; weight, bias likewise */
    BURN_SHAPE_RULE_LAYER_NORM,
    BURN_SHAPE_RULE_EMBEDDING,   /* index dims, then weight's width */
    BURN_SHAPE_RULE_GATHER,      /* input 1 */
    BURN_SHAPE_RULE_TAKE,        /* input 1's dims in the place of attribute dim */
    BURN_SHAPE_RULE_SCATTER,     /* input 0 */
    /* the indices' broadcast in the place of dims from attribute dim on */
    BURN_SHAPE_RULE_TAKE_ND,
    BURN_SHAPE_RULE_PUT_ND,      /* input 0 */
    BURN_SHAPE_RULE_ONE_HOT,     /* input 0's dims, then attribute classes */
    BURN_SHAPE_RULE_CLASS_LOSS,  /* reduction 0: the target's, else [] */
    BURN_SHAPE_RULE_SOFT_LOSS,   /* reduction 0: input 0's without the class dim, else [] */
    BURN_SHAPE_RULE_POINT_LOSS,  /* reduction 0: input 0's, else []; target has the same shape */
    BURN_SHAPE_RULE_LIKE_INPUTS, /* optimizers: param, then the state; all tensors like param */
    BURN_SHAPE_RULE_WINDOW,      /* attribute dims become counts, sizes come last */
    BURN_SHAPE_RULE_WINDOW_ADD,  /* input 0; input 1 has the shape of its windows */
    BURN_SHAPE_RULE_CONV,        /* [batch, weight's output channels, window counts..] */
    BURN_SHAPE_RULE_CONV_INPUT,  /* [batch, weight's channels times groups, attribute shape..] */
    BURN_SHAPE_RULE_CONV_WEIGHT, /* [input 1's channels, input 0's by groups, attribute shape..] */
    BURN_SHAPE_RULE_CHANNEL_NORM,/* input 0, of rank >= 2; per-channel inputs have [channels] */
    BURN_SHAPE_RULE_POOL,        /* input 0; the last dims become window counts */
} burn_shape_rule;

/* Dim in -rank … rank - 1 to 0 … rank - 1 (a rank of 0 counts as 1, as in PyTorch). INVALID says
 * the range that holds. */
bd_error *burn_normalize_dim(int64_t dim, int32_t rank, int32_t *out) BD_MUST_USE;
/* Likewise a list, in which no dim may occur twice; an empty list gives all dims if `all`. Returns
 * the count in *out_count; the dims keep their order. */
bd_error *burn_normalize_dims(const burn_attr *dims, int32_t rank, bool all,
                              int32_t out[BURN_RANK_MAX], int32_t *out_count) BD_MUST_USE;
/* Elements from start up to stop by step; starts and stops lie within the dim. */
int64_t burn_slice_count(int64_t start, int64_t stop, int64_t step);
/* Whether the first input of concat is of the legacy empty shape [0] that is passed over. */
bool burn_concat_skips(const burn_shape *shape, int32_t rank);
