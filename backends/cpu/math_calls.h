/* SPDX-License-Identifier: Apache-2.0
 * The C functions that generated code reaches through bd_call.math, for what has no form in code:
 * f64 functions, rare ones, and what a target without the instruction needs. Thread: any. */
#pragma once

#include "backends/cpu/kernel.h"

typedef enum bd_math_function {
#define MATH1(name, expression) BD_MATH_##name,
#define MATH2(name, expression) BD_MATH_##name,
#define MATHI(name, expression) BD_MATH_##name,
#define MATHS(name) BD_MATH_##name,
#include "backends/cpu/math_calls.def"
    BD_MATH_COUNT
} bd_math_function;

/* The function that sorts keys of this type (f32, f64, i64, u64): a is the keys, b the place of the
 * positions and behind it of two more arrays as long, each 64-byte aligned (sort.c). */
bd_math_function bd_sort_function(burn_dtype dtype, bool descending);
#define MATHS(name) void bd_##name(void *a, const void *b, int64_t count);
#define MATH1(name, expression)
#define MATH2(name, expression)
#define MATHI(name, expression)
#include "backends/cpu/math_calls.def"

extern const bd_math_call bd_math_calls[BD_MATH_COUNT];
