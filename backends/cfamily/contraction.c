/* SPDX-License-Identifier: Apache-2.0
 * The CONTRACTION family: a block of threads makes a tile of 64 x 64 from slices of both operands
 * in shared memory; a thread has 4 x 4 sums. */
#include "backends/cfamily/parts.h"

/* Element (row or column, k) of an operand to shared memory; beyond the edges it is 0. */
static void print_operand(bd_printer *p, bool is_a)
{
    const bd_kir_phase *phase =
        bd_print_find(p->program, is_a ? BD_KIR_OPERAND_A : BD_KIR_OPERAND_B);
    bd_text_add(&p->text,
                "for (int i = 0; i < 4; i++) {\n"
                "const int e = threadIdx.x + i * 256, r = %s, d = %s;\n"
                "i64 %s = %s + r, k = k_first + d;\nacc_t x = 0;\n"
                "if (%s < %s_count && k < k_count) {\n",
                is_a ? "e / 16" : "e % 64", is_a ? "e % 16" : "e / 64", is_a ? "m" : "n",
                is_a ? "m_first" : "n_first", is_a ? "m" : "n", is_a ? "m" : "n");
    bd_print_positions(p, is_a ? BD_KIR_M : BD_KIR_N, is_a ? "m" : "n");
    bd_print_positions(p, BD_KIR_K, "k");
    p->yield = "x";
    bd_print_phase(p, phase);
    bd_text_add(&p->text, "}\n%s[d][r] = x;\n}\n", is_a ? "a_slice" : "b_slice");
}

static void print_epilogue(bd_printer *p)
{
    bd_text_add(&p->text,
                "#pragma unroll\nfor (int i = 0; i < 4; i++)\n#pragma unroll\n"
                "for (int j = 0; j < 4; j++) {\n"
                "i64 m = m_first + 4 * y + i, n = n_first + x + 16 * j;\n"
                "if (m >= m_count || n >= n_count) continue;\n"
                "const acc_t acc = sums[i][j];\n");
    bd_print_positions(p, BD_KIR_M, "m");
    bd_print_positions(p, BD_KIR_N, "n");
    bd_print_phase(p, bd_print_find(p->program, BD_KIR_EPILOGUE));
    bd_text_add(&p->text, "}\n");
}

void bd_print_contraction(bd_printer *p)
{
    const bd_kir_phase *a = bd_print_find(p->program, BD_KIR_OPERAND_A);
    burn_dtype element = (burn_dtype)p->program->instrs[a->first + a->count - 1].dtype;
    bd_text_add(&p->text, "typedef %s acc_t;\n", bd_print_type(bd_kir_accumulator(element)));
    bd_print_entry(p, "product");
    bd_print_extent(p, "batch_count", BD_KIR_BATCH);
    bd_print_extent(p, "m_count", BD_KIR_M);
    bd_print_extent(p, "n_count", BD_KIR_N);
    bd_print_extent(p, "k_count", BD_KIR_K);
    bd_text_add(&p->text,
                "__shared__ acc_t a_slice[16][65], b_slice[16][65];\n"
                "const i64 m_tiles = (m_count + 63) / 64, n_tiles = (n_count + 63) / 64;\n"
                "const int y = threadIdx.x / 16, x = threadIdx.x %% 16;\n"
                "for (i64 tile = blockIdx.x; tile < batch_count * m_tiles * n_tiles;"
                " tile += lanes) {\n"
                "i64 batch = tile / (m_tiles * n_tiles);\n"
                "const i64 m_first = tile / n_tiles %% m_tiles * 64;\n"
                "const i64 n_first = tile %% n_tiles * 64;\n");
    bd_print_positions(p, BD_KIR_BATCH, "batch");
    bd_text_add(&p->text, "acc_t sums[4][4] = {};\n"
                          "for (i64 k_first = 0; k_first < k_count; k_first += 16) {\n");
    print_operand(p, true);
    print_operand(p, false);
    bd_text_add(&p->text,
                "__syncthreads();\n#pragma unroll\nfor (int d = 0; d < 16; d++) {\n"
                "acc_t a[4], b[4];\n"
                "#pragma unroll\nfor (int i = 0; i < 4; i++) {\n"
                "a[i] = a_slice[d][4 * y + i];\nb[i] = b_slice[d][x + 16 * i];\n}\n"
                "#pragma unroll\nfor (int i = 0; i < 4; i++)\n"
                "#pragma unroll\nfor (int j = 0; j < 4; j++)\n"
                "sums[i][j] = k_fma(a[i], b[j], sums[i][j]);\n}\n__syncthreads();\n}\n");
    print_epilogue(p);
    bd_text_add(&p->text, "}\n");
    bd_print_exit(p);
}
