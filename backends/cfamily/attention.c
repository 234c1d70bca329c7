/* SPDX-License-Identifier: Apache-2.0
 * The ATTENTION family: a block of threads a query, its scores in scratch. */
#include "backends/cfamily/parts.h"

static void print_product(bd_printer *p)
{
    const bd_kir_phase *a = bd_print_find(p->program, BD_KIR_OPERAND_A);
    if (!a)
        return;
    burn_dtype element = (burn_dtype)p->program->instrs[a->first + a->count - 1].dtype;
    const char *type = bd_print_type(bd_kir_accumulator(element));
    bd_text_add(&p->text, "%s acc = 0;\nfor (i64 k = 0; k < k_count; k++) {\n%s x = 0, y = 0;\n",
                type, type);
    bd_text_add(&p->text, "i64 depth = k;\n");
    bd_print_positions(p, BD_KIR_K, "depth");
    p->yield = "x";
    bd_print_phase(p, a);
    p->yield = "y";
    bd_print_phase(p, bd_print_find(p->program, BD_KIR_OPERAND_B));
    bd_text_add(&p->text, "acc = k_fma(x, y, acc);\n}\n");
}

static void print_weights(bd_printer *p)
{
    bd_text_add(&p->text, "auto most = red_most<score_t, true>::none();\n"
                          "for (i64 n = threadIdx.x; n < n_count; n += blockDim.x) {\n"
                          "score_t score;\ni64 key = n;\n");
    bd_print_positions(p, BD_KIR_N, "key");
    print_product(p);
    p->yield = "score";
    bd_print_phase(p, bd_print_find(p->program, BD_KIR_SCORE));
    bd_text_add(&p->text, "scores[n] = score;\nmost.see(score, n);\n}\n"
                          "most = block_join(most);\n"
                          "auto total = red_sum<score_t>::none();\n"
                          "const bool none = most.v == lowest_of(score_t());\n"
                          "for (i64 n = threadIdx.x; n < n_count; n += blockDim.x) {\n"
                          "const score_t weight = none ? (score_t)0 : k_exp(scores[n] - most.v);\n"
                          "scores[n] = weight;\ntotal.see(weight, n);\n}\n"
                          "total = block_join(total);\n"
                          "const double divisor = none ? 1.0 : (double)total.v;\n");
}

void bd_print_attention(bd_printer *p)
{
    const bd_kir_phase *score = bd_print_find(p->program, BD_KIR_SCORE);
    burn_dtype type = (burn_dtype)p->program->instrs[score->first + score->count - 1].dtype;
    bd_text_add(&p->text, "typedef %s score_t;\n", bd_print_type(type));
    bd_print_entry(p, "attend");
    bd_print_extent(p, "batch_count", BD_KIR_BATCH);
    bd_print_extent(p, "m_count", BD_KIR_M);
    bd_print_extent(p, "n_count", BD_KIR_N);
    bd_print_extent(p, "k_count", BD_KIR_K);
    bd_print_extent(p, "e_count", BD_KIR_E);
    bd_text_add(&p->text,
                "score_t *const scores = (score_t *)(scratch + blockIdx.x * n_count * 8);\n"
                "for (i64 row = blockIdx.x; row < batch_count * m_count; row += lanes) {\n"
                "i64 batch = row / m_count, m = row %% m_count;\n");
    bd_print_positions(p, BD_KIR_BATCH, "batch");
    bd_print_positions(p, BD_KIR_M, "m");
    print_weights(p);
    bd_text_add(&p->text, "for (i64 e = threadIdx.x; e < e_count; e += blockDim.x) {\n"
                          "i64 column = e;\ndouble sum = 0;\n");
    bd_print_positions(p, BD_KIR_E, "column");
    bd_text_add(&p->text, "for (i64 n = 0; n < n_count; n++) {\nscore_t x;\ni64 key = n;\n");
    bd_print_positions(p, BD_KIR_N, "key");
    p->yield = "x";
    bd_print_phase(p, bd_print_find(p->program, BD_KIR_OPERAND_C));
    bd_text_add(&p->text, "sum += (double)scores[n] * (double)x;\n}\n"
                          "const score_t acc = (score_t)(sum / divisor);\n");
    bd_print_phase(p, bd_print_find(p->program, BD_KIR_EPILOGUE));
    bd_text_add(&p->text, "}\n__syncthreads();\n}\n");
    bd_print_exit(p);
}
