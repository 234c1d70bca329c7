/* SPDX-License-Identifier: Apache-2.0
 * Which kernel IR instruction a pointwise core op is; made from ops.toml by gen_ops.py
 * (engine/rules_kir_gen.c). Thread: any. */
#pragma once

#include "backends/kir/kir.h"
#include "proto/ops.h"

/* A bd_kir_code, or -1 for ops that are no single instruction. */
int bd_op_kir(burn_op op);
