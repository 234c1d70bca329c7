/* SPDX-License-Identifier: Apache-2.0
 * Arithmetic of sizes. Pure; thread: any. */
#pragma once

#include "backends/kir/kir.h"

static inline int64_t bd_least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t bd_ceiling(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* The product of a role's extents. */
static inline int64_t bd_extent_of(const bd_kir *program, const int64_t *ints, bd_kir_role role)
{
    int64_t extent = 1;
    for (int axis = 0; axis < program->axis_count; axis++)
        if (program->axes[axis].role == role)
            extent *= bd_kir_int_value(program->axes[axis].extent, ints);
    return extent;
}
