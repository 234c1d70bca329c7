/* SPDX-License-Identifier: Apache-2.0
 * Numbers of the ops that the slots of Tensor use. */
#pragma once

enum {
#define OP(NAME, number, text) OP_##NAME = number,
#include "proto/ops_gen.def"
#undef OP
};
