/* SPDX-License-Identifier: Apache-2.0
 * Made by proto/gen_ops.py from proto/ops.toml. Sizes of the op table.
 * Private to proto/. */
#pragma once

#include "proto/op_rules.h"

enum { BURN_OP_ROW_COUNT = 218, BURN_OP_PLACE_COUNT = 405 };

extern const burn_op_info burn_op_rows[BURN_OP_ROW_COUNT];
extern const uint16_t burn_op_places[BURN_OP_PLACE_COUNT];
extern const uint16_t burn_op_names[BURN_OP_ROW_COUNT];
