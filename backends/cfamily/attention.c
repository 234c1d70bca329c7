/* SPDX-License-Identifier: Apache-2.0
 * The ATTENTION family. `attend` takes all: a block of threads a query, its scores in scratch. The
 * entries on attention.cuh are for 16-bit floats whose addresses fit into 32 bits. */
#include "backends/cfamily/parts.h"

#include <math.h>
#include <stdio.h>

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

static void print_by_query(bd_printer *p)
{
    if (!bd_print_wants(p, "attend"))
        return;
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

bool bd_cfamily_has_product(const bd_kir *program)
{
    return bd_print_find(program, BD_KIR_OPERAND_A) != NULL;
}

bool bd_cfamily_attends_by_tiles(const bd_kir *program)
{
    static const bd_kir_phase_kind kinds[] = {BD_KIR_OPERAND_A, BD_KIR_OPERAND_B,
                                              BD_KIR_OPERAND_C};
    burn_dtype c = bd_cfamily_element(program, BD_KIR_OPERAND_C);
    for (int i = bd_cfamily_has_product(program) ? 0 : 2; i < 3; i++) {
        bd_parts parts;
        bd_parts_of(program, bd_print_find(program, kinds[i]), &parts);
        if (parts.count == 0 || parts.count > BD_PARTS_MAX ||
            bd_cfamily_element(program, kinds[i]) != c)
            return false;
    }
    return c == BURN_F16 || c == BURN_BF16;
}

static bool is_index(const bd_kir *program, bd_kir_value value, bd_kir_role role)
{
    const bd_kir_instr *instr = &program->instrs[value - 1];
    return instr->code == BD_KIR_INDEX && program->axes[instr->index].role == role;
}

/* Scores of keys n > m + reach are -inf: the comparison n - m <= reach that says so, and the value
 * `reach`; 0: no such comparison is known. */
static bd_kir_value reach_of(const bd_kir *program, const bd_kir_phase *score,
                             bd_kir_value *out_reach)
{
    const bd_kir_instr *all = program->instrs, *at = &all[score->first + score->count - 1];
    do
        at = &all[at->operands[0] - 1];
    while (at->code == BD_KIR_CAST && burn_dtype_is_float((burn_dtype)at->dtype));
    if (at->code != BD_KIR_SELECT)
        return 0;
    const bd_kir_instr *test = &all[at->operands[0] - 1], *other = &all[at->operands[2] - 1];
    if (other->code != BD_KIR_CONST || other->f != -INFINITY || test->code != BD_KIR_LE)
        return 0;
    const bd_kir_instr *apart = &all[test->operands[0] - 1];
    if (apart->code != BD_KIR_SUB || !is_index(program, apart->operands[0], BD_KIR_N) ||
        !is_index(program, apart->operands[1], BD_KIR_M) || test->operands[1] > score->first)
        return 0;
    *out_reach = test->operands[1];
    return at->operands[0];
}

static void print_score(bd_printer *p, const bd_kir_phase *score, bd_kir_value spared)
{
    bd_text_add(&p->text, "const auto score = [&](bool whole, u32 batch, u32 m, u32 n, float acc)"
                          " INLINED -> float {\nfloat out;\n");
    bd_print_places(p, BD_KIR_BATCH, "batch");
    bd_print_places(p, BD_KIR_M, "m");
    bd_print_places(p, BD_KIR_N, "n");
    p->yield = "out";
    p->spared = spared;
    p->exact = true; /* as the maximum and the sums are */
    bd_print_phase(p, score);
    p->exact = false;
    p->spared = 0;
    bd_text_add(&p->text, "return out;\n};\n");
}

bool bd_cfamily_attends_by_groups(const bd_kir *program)
{
    return bd_cfamily_has_product(program) && bd_cfamily_attends_by_tiles(program) &&
           bd_cfamily_side_of(program, BD_KIR_OPERAND_B).along &&
           bd_cfamily_side_of(program, BD_KIR_OPERAND_C).along;
}

const bd_kir_access *bd_cfamily_plain_store(const bd_kir *program)
{
    const bd_kir_phase *phase = bd_print_find(program, BD_KIR_EPILOGUE);
    const bd_kir_instr *all = program->instrs + phase->first;
    int e = bd_kir_axis_of(program, BD_KIR_E);
    if (phase->count != 3 || e < 0 || all[0].code != BD_KIR_ACC || all[1].code != BD_KIR_CAST ||
        all[1].dtype != bd_cfamily_element(program, BD_KIR_OPERAND_C) ||
        all[2].code != BD_KIR_STORE || all[2].flags != BD_KIR_SET || all[2].guard >= 0)
        return NULL;
    const bd_kir_access *access = &program->accesses[all[2].index];
    return bd_kir_int_is(access->strides[e], 1) ? access : NULL;
}

/* Where a plain store goes. */
static void print_store_place(bd_printer *p)
{
    const bd_kir_access *access = bd_cfamily_plain_store(p->program);
    bd_text_add(&p->text, "const auto place = [&](u32 batch, u32 m, u32 e) INLINED -> void * {\n");
    if (access) {
        bd_print_places(p, BD_KIR_BATCH, "batch");
        bd_print_places(p, BD_KIR_M, "m");
        bd_print_places(p, BD_KIR_E, "e");
        bd_text_add(&p->text, "return &");
        bd_print_place(p, access);
        bd_text_add(&p->text, ";\n};\n");
    } else {
        bd_text_add(&p->text, "return nullptr;\n};\n");
    }
    bd_text_add(&p->text, "const bool wide = %s;\n", access ? "lanes & OUT_WIDE" : "false");
}

/* A query's number of the one that it is made of, if it is. */
static void print_query(bd_printer *p)
{
    const bd_kir_phase *phase = bd_print_find(p->program, BD_KIR_OPERAND_A);
    bool single = bd_cfamily_side_of(p->program, BD_KIR_OPERAND_A).single;
    bd_text_add(&p->text, "const auto query = [&](float loaded) INLINED -> float {\n");
    if (single) {
        bd_text_add(&p->text, "struct {\n");
        bd_print_seen(p, phase, true);
        bd_text_add(&p->text, "} const seen = {loaded};\nfloat out;\n");
        p->yield = "out";
        p->ahead = true;
        bd_print_phase(p, phase);
        p->ahead = false;
        bd_text_add(&p->text, "return out;\n};\n");
    } else {
        bd_text_add(&p->text, "return loaded;\n};\n");
    }
    bd_text_add(&p->text, "const bool queries_wide = %s;\n",
                single ? "lanes & QUERIES_WIDE" : "false");
}

static void print_by_tiles(bd_printer *p, int width, bool by_groups)
{
    const bd_kir_phase *score = bd_print_find(p->program, BD_KIR_SCORE);
    bool product = bd_cfamily_has_product(p->program);
    bool bf16 = bd_cfamily_element(p->program, BD_KIR_OPERAND_C) == BURN_BF16;
    bd_kir_value reach = 0, spared = reach_of(p->program, score, &reach);
    char name[20];
    snprintf(name, sizeof name, "%s_%d", by_groups ? "groups" : "attend", width);
    if (!bd_print_wants(p, name))
        return;
    p->threads = by_groups ? BD_CFAMILY_GROUPS_THREADS : BD_CFAMILY_ATTEND_THREADS;
    p->at_once = by_groups ? 1 : 2;
    bd_print_entry(p, name);
    p->threads = p->at_once = 0;
    bd_print_extents(p);
    bd_print_extent(p, "e_count", BD_KIR_E);
    bd_text_add(&p->text, "const i64 far = 0x3fffffff, reach = ");
    if (spared)
        bd_text_add(&p->text, "v%d < -far ? -far : v%d > far ? far : v%d;\n", reach, reach, reach);
    else
        bd_text_add(&p->text, "far;\n");
    bd_text_add(&p->text, "const spans spans = {(int)batch_count, (int)m_count, (int)n_count,"
                          " (int)k_count, (int)e_count, (int)reach};\n");
    if (product) {
        bd_print_operand(p, "a", BD_KIR_OPERAND_A);
        bd_print_operand(p, "b", BD_KIR_OPERAND_B);
    }
    bd_print_operand(p, "c", BD_KIR_OPERAND_C);
    print_score(p, score, spared);
    bd_print_epilogue(p, BD_KIR_M, BD_KIR_E);
    if (by_groups) {
        print_query(p);
        print_store_place(p);
        bd_text_add(&p->text, "attend_by_groups<%d, %s>(a, query, queries_wide, b, c, score,"
                              " with_epilogue, place, wide, spans, counters);\n",
                    width, bf16 ? "true" : "false");
    } else {
        bd_text_add(&p->text, "attend_queries<%d, %s, %s>(%s, c, score, with_epilogue, spans);\n",
                    width, bf16 ? "true" : "false", product ? "true" : "false",
                    product ? "a, b" : "c, c");
    }
    bd_print_exit(p);
}

void bd_print_attention(bd_printer *p)
{
    print_by_query(p);
    if (bd_print_wants(p, "attend") || !bd_cfamily_attends_by_tiles(p->program))
        return;
    bd_text_add(&p->text, "%s%s", bd_cfamily_product, bd_cfamily_attention);
    print_by_tiles(p, 64, false);
    print_by_tiles(p, 128, false);
    if (!bd_print_wants(p, "groups_64") && !bd_print_wants(p, "groups_128"))
        return;
    bd_text_add(&p->text, "%s#ifdef __CUDA_ARCH_FEAT_SM90_ALL\n", bd_cfamily_attention_sm90);
    print_by_tiles(p, 64, true);
    print_by_tiles(p, 128, true);
    bd_text_add(&p->text, "#endif\n");
}
