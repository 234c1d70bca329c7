/* SPDX-License-Identifier: Apache-2.0
 * The CONTRACTION family on CPUs: packed operands, JIT-made micro-kernels, fused epilogue.
 * Two kinds of generated code: the micro-kernels (one object for each target and element type,
 * shared by all contractions of a device) and the program's own pack and epilogue functions.
 *
 *     if (!bd_gemm_fits(program)) … bd_contraction_as_loop …      integers, bool
 *     micro: bd_micro_emit(module, bd_gemm_element(target, program)) → object → code, once
 *     own:   bd_gemm_emit(module, program) → object → code
 *     bd_gemm_create(target, program, code, micro, windows or NULL, &kernel)
 * The passes of such a kernel are C functions; params[0] of a pass is the kernel. Results do not
 * depend on the number of workers. Thread: any; kernels are immutable. */
#pragma once

#include "backends/cpu/jit.h"
#include "backends/cpu/kernel.h"

/* Whether this family serves the program: sums in f32 or f64. */
bool bd_gemm_fits(const bd_kir *program);
/* The type of packed elements: F32, F64, or BF16 if both operands are that and the target
 * multiplies it; sums are f32 then. It names the micro-kernels to use. */
burn_dtype bd_gemm_element(const bd_target *target, const bd_kir *program);

/* Writes the micro-kernels for an element type into a module (gemm_micro.c). */
void bd_micro_emit(bd_module *module, burn_dtype element);
/* The same of those that products of windows need besides. */
void bd_micro_emit_tabled(bd_module *module, burn_dtype element);
/* Whether a program may be a product of windows (window.h). */
bool bd_gemm_has_windows(const bd_target *target, const bd_kir *program);
/* Changes when the code that bd_micro_emit or bd_gemm_emit writes changes: part of object keys. */
enum { BD_GEMM_VERSION = 7 };

bd_error *bd_gemm_emit(bd_module *module, const bd_kir *program) BD_MUST_USE;
/* The kernel owns own_code once this succeeds; micro and tabled (NULL: the program has no windows)
 * are borrowed and outlive the kernel. The program is only read during the call. */
bd_error *bd_gemm_create(const bd_target *target, const bd_kir *program, bd_loaded *own_code,
                         const bd_loaded *micro, const bd_loaded *tabled,
                         bd_kernel **out) BD_MUST_USE;
