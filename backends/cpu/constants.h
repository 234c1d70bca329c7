/* SPDX-License-Identifier: Apache-2.0
 * Float constants of a module as one table in its object. Splat constants of 16 lanes make LLVM's
 * instruction selection slow, and a load with broadcast is as fast. Owned by its module; one
 * thread. */
#pragma once

#include "backends/cpu/jit.h"

typedef struct bd_constants bd_constants;

bd_constants *bd_constants_create(bd_module *module);
void bd_constants_destroy(bd_constants *constants);
/* Emits the table; no constant may be asked for afterwards. */
void bd_constants_finish(bd_constants *constants);
/* A scalar with these bits, loaded at the builder's place. type: i32, i64, f32 or f64. */
LLVMValueRef bd_constant_load(bd_module *module, LLVMBuilderRef builder, LLVMTypeRef type,
                              uint64_t bits);
/* 512 zero bytes, which loads with a false guard read. */
LLVMValueRef bd_constant_zeros(bd_module *module);
