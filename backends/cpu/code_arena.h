/* SPDX-License-Identifier: Apache-2.0
 * Memory for machine code, mapped twice through a memfd: one mapping is writable, the other
 * executable, so that no page is ever both. Blocks are cut from chunks first-fit and given back;
 * adjacent free ranges merge. Thread: any (one lock). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "backends/cpu/jit.h"

typedef struct bd_code_block {
    bd_code_arena *arena;
    uint8_t *write, *run; /* the same bytes */
    size_t size;
} bd_code_block;

bd_error *bd_code_arena_take(bd_code_arena *arena, size_t size, bd_code_block *out) BD_MUST_USE;
void bd_code_arena_give(const bd_code_block *block);
