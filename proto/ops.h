/* SPDX-License-Identifier: Apache-2.0
 * The op table and the op record: what a client streams and a daemon validates.
 * The table comes from ops.toml through gen_ops.py (proto/ops_gen.def, proto/ops_gen.c).
 * Thread: any; everything here is pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/base/arena.h"
#include "proto/base/attr.h"
#include "proto/base/error.h"
#include "proto/dtype.h"
#include "proto/shape.h"

/* ---- the table ------------------------------------------------------------------------------ */

typedef enum burn_attr_kind {
    BURN_ATTR_INT,    /* structural integer, flag, enum or dim: part of every cache key */
    BURN_ATTR_INTS,   /* structural list: permutations, reduced dims */
    BURN_ATTR_DTYPE,  /* structural; 0 = as the rule says */
    BURN_ATTR_SIZE,   /* a size, start or offset: an argument of the plan; of one that is 1
                     * unless said, as groups, the key has whether it is 1 */
    BURN_ATTR_SIZES,  /* a list of such; its length is structural */
    BURN_ATTR_BYTES,  /* raw bytes, at most BURN_CONSTANT_BYTES_MAX; only of `constant` */
} burn_attr_kind;

typedef struct burn_attr_info {
    const char *name;
    burn_attr_kind kind;
    bool has_default;
    int64_t default_value; /* lists default to empty */
} burn_attr_info;

enum {
    BURN_OP_INPUTS_NAMED_MAX = 12,
    BURN_OP_ATTRS_MAX = 8,
    /* but for grad, split and call, which give as many as they are asked for */
    BURN_OP_OUTPUTS_MAX = 4,
    BURN_CONSTANT_BYTES_MAX = 4096,
};

/* What an input is to the op, and so in which dtype rules see it. */
typedef enum burn_input_role {
    /* cast to the dtype that the op computes in; weak scalars are resolved to it */
    BURN_INPUT_VALUE,
    BURN_INPUT_INDEX,     /* an integer tensor; rules see int64 */
    BURN_INPUT_CONDITION, /* a bool tensor or scalar */
    /* weak scalar or 0-d tensor that takes no part in promotion; rules see rank 0, float64 */
    BURN_INPUT_PARAM,
    BURN_INPUT_NUMBER,    /* likewise, but ints and bools are int64 within rules */
} burn_input_role;

/* How many outputs a record has. */
typedef enum burn_output_rule {
    BURN_OUTPUTS_FIXED, /* output_count, and one more if the input output_if is present */
    BURN_OUTPUTS_SPLIT, /* as many as the first attribute has sizes */
    BURN_OUTPUTS_WRT,   /* grad: tensors less twice the roots */
    BURN_OUTPUTS_ATTR,  /* call: its attribute `outputs` */
} burn_output_rule;

typedef enum burn_op_flags {
    BURN_OP_POINTWISE = 1 << 0,  /* inputs are broadcast against each other */
    BURN_OP_VIEW = 1 << 1,       /* the client may alias: output shows the input's elements */
    BURN_OP_REDUCTION = 1 << 2,
    BURN_OP_RANDOM = 1 << 3,     /* has size attributes seed and offset */
    BURN_OP_COMPOSITE = 1 << 4,  /* has a decomposition into other rows */
    BURN_OP_CORE = 1 << 5,       /* reaches lowering */
    BURN_OP_INTERNAL = 1 << 6,   /* made by the engine only; refused from the wire */
    BURN_OP_VARIADIC = 1 << 7,   /* the last named input repeats, 0 or more times */
    BURN_OP_NO_GRADIENT = 1 << 8,
    BURN_OP_CONTROL = 1 << 9,    /* free, mark, grad, call: handled by the stream, makes no node */
    BURN_OP_CHECKS = 1 << 10,    /* its fault is one of the record that it stems from */
} burn_op_flags;

typedef enum burn_op {
    BURN_OP_NONE = 0,
#define OP(NAME, number, text) BURN_OP_##NAME = number,
#include "proto/ops_gen.def"
#undef OP
} burn_op;

typedef struct burn_op_info {
    const char *name;
    uint16_t number;
    uint16_t since;
    uint32_t flags;
    uint8_t input_count;     /* of the named ones; VARIADIC: the last one stands for any number */
    uint8_t output_rule;     /* burn_output_rule */
    uint8_t output_count;
    int8_t output_if;        /* input that adds an output when present, or -1 */
    uint16_t input_optional; /* bit i: input i may be absent */
    uint8_t attr_count;
    uint8_t dtype_rule; /* burn_dtype_rule, proto/op_rules.h */
    uint8_t shape_rule; /* burn_shape_rule, proto/op_rules.h */
    const char *inputs[BURN_OP_INPUTS_NAMED_MAX];
    uint8_t input_roles[BURN_OP_INPUTS_NAMED_MAX]; /* burn_input_role */
    burn_attr_info attrs[BURN_OP_ATTRS_MAX];
} burn_op_info;

const burn_op_info *burn_op_lookup(int number); /* NULL if unknown */
const burn_op_info *burn_op_find(const char *name);
/* The role of input i, also of the repeated ones of a variadic op. */
burn_input_role burn_op_input_role(const burn_op_info *info, uint32_t i);
int burn_op_count(void);
const burn_op_info *burn_op_at(int index); /* for iteration, 0 <= index < count */
/* in HELLO and WELCOME: the latest `since` of the table */
extern const uint32_t burn_op_table_revision;

/* ---- the record ----------------------------------------------------------------------------- */

/* An input: a tensor, a weak scalar as Python's 2 or 2.5 or True, or an absent optional one. */
typedef enum burn_operand_kind {
    BURN_OPERAND_ABSENT,
    BURN_OPERAND_TENSOR,
    BURN_OPERAND_BOOL,
    BURN_OPERAND_INT,
    BURN_OPERAND_FLOAT,
} burn_operand_kind;

typedef struct burn_operand {
    burn_operand_kind kind;
    union {
        uint64_t id;    /* TENSOR */
        int64_t i;      /* BOOL, INT */
        double f;       /* FLOAT */
    };
} burn_operand;

typedef struct burn_attr {
    int64_t value;         /* INT, DTYPE, SIZE */
    union {
        const int64_t *values; /* INTS, SIZES */
        const uint8_t *bytes;  /* BYTES */
    };
    uint32_t count;        /* of values or bytes */
} burn_attr;

/* In the records of a program: a SIZE attribute that each call gives as the int operand of input

 * k. */
#define BURN_PROGRAM_SIZE(k) (INT64_MIN + (int64_t)(k))

enum { BURN_RECORD_TRACK = 1 }; /* the result requires a gradient: keep its history */

typedef struct burn_op_record {
    const burn_op_info *info;
    uint8_t flags;
    uint32_t input_count;
    const burn_operand *inputs;
    uint32_t output_count;
    uint64_t first_output; /* outputs take consecutive ids */
    burn_attr attrs[BURN_OP_ATTRS_MAX];
} burn_op_record;

/* What inference needs to know of an input. */
typedef struct burn_tensor_type {
    burn_dtype dtype;
    burn_shape shape;
} burn_tensor_type;

/* Shapes and dtypes of the outputs; the one validation for client and daemon.
 * inputs[i] is NULL for absent and scalar operands. outputs has room for record->output_count.
 * Errors: INVALID with the op's name, the shapes and what would be right; LIMIT. */
bd_error *burn_op_infer(const burn_op_record *record, const burn_tensor_type *const *inputs,
                        burn_tensor_type *outputs) BD_MUST_USE;

/* The dtype in which a promoting op computes (before a rule such as "bool" changes its result). */
burn_dtype burn_op_compute_dtype(const burn_op_record *record,
                                 const burn_tensor_type *const *inputs);

/* Number of the named attribute in the op's row, or -1. */
int burn_op_attr(const burn_op_info *info, const char *name);
/* How many outputs a record with these inputs and attributes has. */
uint32_t burn_op_output_count(const burn_op_record *record);

/* ---- the record on the wire ------------------------------------------------------------------
 * An array of the msgpack subset (proto/pack.h):
 *   [2 * op + track, inputs..., attributes...]
 * All named inputs are there; a variadic op's repeated input is one array of inputs. An input is
 *   a tensor: int >= 1, its distance back from the record's first output id
 *   a weak scalar: a bool, a float, or for ints an array of one int
 *   absent: nil
 * Attributes: an int, an array of ints or a bin. Trailing ones that equal their defaults are left
 * out (and must be). Outputs take the next ids of the batch, which starts at the id that the
 * frame's header names. */

/* Bytes that burn_record_encode may need for this record. */
size_t burn_record_bound(const burn_op_record *record);
/* Writes the record and returns its size, at most burn_record_bound. output_count is not sent. */
size_t burn_record_encode(const burn_op_record *record, uint8_t *buffer);
/* Decodes one record at *cursor, moves it on. Lists live in the arena. first_output is the next id.
 * PROTOCOL for bytes outside the subset or the form above; INVALID for an unknown or internal op.
 * Never trusts a length. Does not infer: shapes and dtypes are burn_op_infer's. */
bd_error *burn_record_decode(const uint8_t **cursor, const uint8_t *end, uint64_t first_output,
                             bd_arena *arena, burn_op_record *out) BD_MUST_USE;
