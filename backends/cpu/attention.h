/* SPDX-License-Identifier: Apache-2.0
 * The ATTENTION family on CPUs: scores of a few queries with all their keys stay in the cache from
 * the first product to the second. Generated code: what the program's phases give and take
 * (attention_emit.c); the products are the micro-kernels of gemm_micro.h.
 *
 *     own: bd_attention_emit(module, program) → object → code
 *     bd_attention_create(target, program, code, micro, &kernel)
 * Results do not depend on the number of workers. Thread: any; kernels are immutable. */
#pragma once

#include "backends/cpu/jit.h"
#include "backends/cpu/kernel.h"

/* The type of packed elements, F32, F64 or BF16: it names the micro-kernels to use. Scores and sums
 * have it too, those of BF16 are F32; there weights are rounded to BF16. UNSUPPORTED if a product
 * within the scores sums in another type. */
bd_error *bd_attention_element(const bd_target *target, const bd_kir *program,
                               burn_dtype *out) BD_MUST_USE;

/* Functions of the object, all bd_pass_function over a block of rows by columns; element (r, c)
 * stands at memory + r * step + c (params as in gemm_parts.h):
 *   "qa"  elements of A: queries by K           "kb"  of B: keys by K
 *   "sc"  scores in the place of the products   "vc"  elements of C: keys by E
 *   "ep"  the epilogue on sums times their row's factor: queries by E
 *   "k"   of rows begin .. end: scores buffers[0] to weights, powers of e of which the largest is
 *         1, in place or, with BF16, to buffers[2]; one over their sums, the rows' factors, to
 *         buffers[1]; ints BD_SOFTMAX_* */
bd_error *bd_attention_emit(bd_module *module, const bd_kir *program) BD_MUST_USE;
/* Integer arguments of "k". */
enum {
    BD_SOFTMAX_ROWS,
    BD_SOFTMAX_COLUMNS,
    BD_SOFTMAX_STEP,
    BD_SOFTMAX_WEIGHT_STEP,
    BD_SOFTMAX_INTS
};

/* The kernel owns own_code once this succeeds; micro is borrowed and outlives the kernel. The
 * program is only read during the call. */
bd_error *bd_attention_create(const bd_target *target, const bd_kir *program, bd_loaded *own_code,
                              const bd_loaded *micro, bd_kernel **out) BD_MUST_USE;
