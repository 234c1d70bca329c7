/* SPDX-License-Identifier: Apache-2.0
 * The LOOP family: emission of its passes, and the kernel over loaded code.
 * emit writes functions into the module, without knowing sizes; create wraps the loaded object,
 * fresh or from the disk cache, into a kernel whose plan gives passes. Thread: any. */
#pragma once

#include "backends/cpu/jit.h"
#include "backends/cpu/kernel.h"

bd_error *bd_loop_emit(bd_module *module, const bd_kir *program) BD_MUST_USE;
/* Its form for long rows alone, which lie in the cache, for a caller that looks for "k" itself. */
bd_error *bd_loop_emit_long(bd_module *module, const bd_kir *program) BD_MUST_USE;
/* The code stays the caller's until this succeeds. The program is only read during the call. */
bd_error *bd_loop_create(const bd_target *target, const bd_kir *program, bd_loaded *code,
                         bd_kernel **out) BD_MUST_USE;
/* The same in forms for short rows only (loop_shape.h), whatever the sizes. UNSUPPORTED if it has
 * none. */
bd_error *bd_loop_emit_short(bd_module *module, const bd_kir *program) BD_MUST_USE;
bd_error *bd_loop_create_short(const bd_target *target, const bd_kir *program, bd_loaded *code,
                               bd_kernel **out) BD_MUST_USE;
/* A contraction as a LOOP program: parallel over batch, m, n, one sum over k. */
bd_error *bd_contraction_as_loop(const bd_kir *program, bd_arena *arena, bd_kir **out) BD_MUST_USE;
