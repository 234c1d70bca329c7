/* SPDX-License-Identifier: Apache-2.0
 * The C functions that generated code reaches through bd_call.math, for what has no form in code:
 * f64 functions, rare ones, and what a target without the instruction needs. Thread: any. */
#pragma once

#include "backends/cpu/kernel.h"

typedef enum bd_math_function {
#define MATH1(name, expression) BD_MATH_##name,
#define MATH2(name, expression) BD_MATH_##name,
#define MATHI(name, expression) BD_MATH_##name,
#include "backends/cpu/math_calls.def"
    BD_MATH_COUNT
} bd_math_function;

extern const bd_math_call bd_math_calls[BD_MATH_COUNT];
