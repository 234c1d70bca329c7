/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/cpu/gemm_parts.h"
#include "backends/cpu/loop.h"

static void write_packs(bd_module *module, const bd_kir *program, bd_kir_phase_kind kind)
{
    int rows = kind == BD_KIR_OPERAND_A ? BD_KIR_M : BD_KIR_N;
    for (bd_gemm_walk walk = 0; walk < BD_GEMM_WALKS; walk++) {
        if (!bd_gemm_packs(module->target, program, kind) ||
            !bd_gemm_may_walk(module->target, program, kind, walk))
            continue;
        bool along_k = walk == BD_GEMM_ALONG_K;
        bd_block_spec spec = {.kind = kind,
                              .element = bd_gemm_element(module->target, program),
                              .outer_role = along_k ? rows : BD_KIR_K,
                              .inner_role = along_k ? BD_KIR_K : rows,
                              .turned = !along_k};
        bd_block_emit(module, program, bd_gemm_pack_name(kind, walk), &spec);
    }
}

static bd_error *write_loops(bd_module *module, const bd_kir *program)
{
    bd_arena arena;
    bd_kir *loops = NULL;
    bd_arena_init(&arena);
    bd_error *err = bd_contraction_as_loop(program, &arena, &loops);
    if (!err)
        err = bd_loop_emit_short(module, loops);
    bd_arena_deinit(&arena);
    return err;
}

bd_error *bd_gemm_emit(bd_module *module, const bd_kir *program)
{
    if (!bd_gemm_fits(program))
        BD_FAIL(UNSUPPORTED, "no micro-kernels sum this contraction's type");
    write_packs(module, program, BD_KIR_OPERAND_A);
    write_packs(module, program, BD_KIR_OPERAND_B);
    bool down = bd_gemm_epilogue_down(program);
    bd_block_spec spec = {.kind = BD_KIR_EPILOGUE,
                          .element = bd_gemm_sum(program),
                          .outer_role = down ? BD_BLOCK_NO_ROLE : BD_KIR_M,
                          .inner_role = down ? BD_KIR_M : BD_KIR_N,
                          .turned = down};
    bd_block_emit(module, program, "ep", &spec);
    return bd_gemm_may_loop(module->target, program) ? write_loops(module, program) : NULL;
}
