/* SPDX-License-Identifier: Apache-2.0
 * For tests: traces written by hand, with inferred types. Operands are made by name. */
#pragma once

#include "engine/trace.h"
#include "proto/base/arena.h"
#include "proto/base/vec.h"

typedef struct test_trace {
    bd_arena arena;
    BD_VEC(bd_trace_record) records;
    BD_VEC(bd_trace_value) values;
    BD_VEC(bd_trace_external) externals;
    BD_VEC(const double *) data; /* by external; borrowed */
    BD_VEC(double) scalars;
    BD_VEC(int64_t) scalars_int;
    uint64_t next_tensor;
    char error[512]; /* of the last op that was refused */
} test_trace;

typedef struct test_input {
    bd_input input;
    double scalar;
} test_input;

typedef struct test_attrs {
    burn_attr attrs[BURN_OP_ATTRS_MAX];
} test_attrs;

void test_trace_init(test_trace *trace);
void test_trace_deinit(test_trace *trace);
/* An external of this shape; data may be NULL if it is never evaluated. */
test_input test_external(test_trace *trace, burn_dtype dtype, int rank, const int64_t *dims,
                         const double *data);
test_input test_value(uint32_t value);
test_input test_float(double value);
test_input test_int(int64_t value);
test_input test_absent(void);
/* Attributes of an op with their defaults, then by name. Lists are copied. */
test_attrs test_attrs_of(const char *op);
void test_set(test_trace *trace, const char *op, test_attrs *attrs, const char *name,
              int64_t value);
void test_set_list(test_trace *trace, const char *op, test_attrs *attrs, const char *name,
                   int count, const int64_t *values);
/* Appends a record with so many outputs; returns the number of the first value, or UINT32_MAX with
 * trace->error. */
uint32_t test_op(test_trace *trace, const char *op, int track, int input_count,
                 const test_input *inputs, const test_attrs *attrs);
/* Gradients of one root with seed 1. */
uint32_t test_grad(test_trace *trace, test_input root, int wrt_count, const test_input *wrt,
                   int retain, int track);
void test_survive(test_trace *trace, uint32_t value);
void test_trace_view(test_trace *trace, bd_trace *out);
