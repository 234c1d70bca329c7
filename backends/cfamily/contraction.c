/* SPDX-License-Identifier: Apache-2.0
 * The CONTRACTION family. `product` takes all: a block of threads makes a tile of 64 x 64 from
 * slices of both operands in shared memory; a thread has 4 x 4 sums. The entries on product.cuh
 * are for floats whose addresses fit into 32 bits. */
#include <stdio.h>

#include "backends/cfamily/parts.h"

/* Element (row or column, k) of an operand to shared memory; beyond the edges it is 0. */
static void print_operand(bd_printer *p, bool is_a)
{
    const bd_kir_phase *phase =
        bd_print_find(p->program, is_a ? BD_KIR_OPERAND_A : BD_KIR_OPERAND_B);
    bd_text_add(&p->text,
                "#pragma unroll 1\nfor (int i = 0; i < 4; i++) {\n"
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

/* All sums of the tile through shared memory: the epilogue stands once. */
static void print_epilogue(bd_printer *p)
{
    bd_text_add(&p->text,
                "#pragma unroll\nfor (int i = 0; i < 16; i++)\n"
                "tile_sums[4 * y + i / 4][x + 16 * (i %% 4)] = sums[i / 4][i %% 4];\n"
                "__syncthreads();\n#pragma unroll 1\n"
                "for (int e = threadIdx.x; e < 4096; e += 256) {\n"
                "i64 m = m_first + e / 64, n = n_first + e %% 64;\n"
                "if (m >= m_count || n >= n_count) continue;\n"
                "const acc_t acc = tile_sums[e / 64][e %% 64];\n");
    bd_print_positions(p, BD_KIR_M, "m");
    bd_print_positions(p, BD_KIR_N, "n");
    bd_print_phase(p, bd_print_find(p->program, BD_KIR_EPILOGUE));
    bd_text_add(&p->text, "}\n");
}

static void print_product(bd_printer *p)
{
    bd_print_entry(p, "product");
    bd_print_extent(p, "batch_count", BD_KIR_BATCH);
    bd_print_extent(p, "m_count", BD_KIR_M);
    bd_print_extent(p, "n_count", BD_KIR_N);
    bd_print_extent(p, "k_count", BD_KIR_K);
    bd_text_add(&p->text,
                "__shared__ acc_t tile_sums[64][64];\n" /* doubles leave no room beside it */
                "acc_t (*const a_slice)[65] = (acc_t (*)[65])tile_sums;\n"
                "acc_t (*const b_slice)[65] = a_slice + 16;\n"
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
    bd_text_add(&p->text, "__syncthreads();\n}\n");
    bd_print_exit(p);
}

/* An entry whose work is one call of product.cuh. */
static void print_tiled(bd_printer *p, const char *name, int at_once, const char *call)
{
    if (!bd_print_wants(p, name))
        return;
    p->at_once = at_once;
    bd_print_entry(p, name);
    p->at_once = 0;
    bd_print_extents(p);
    bd_text_add(&p->text, "const extents z = {(int)batch_count, (int)m_count, (int)n_count,"
                          " (int)k_count};\n");
    bd_print_operand(p, "a", BD_KIR_OPERAND_A);
    bd_print_operand(p, "b", BD_KIR_OPERAND_B);
    bd_print_epilogue(p, BD_KIR_M, BD_KIR_N);
    bd_text_add(&p->text, "%s", call);
    bd_print_exit(p);
}

/* The place of `chunk`, a number of sums, on all axes. */
static void print_sum_positions(bd_printer *p)
{
    bd_text_add(&p->text, "const i64 row = over(chunk, n_count), outer = over(row, m_count);\n"
                          "i64 n = chunk - row * n_count, m = row - outer * m_count;\n"
                          "i64 batch = outer;\n");
    bd_print_positions(p, BD_KIR_BATCH, "batch");
    bd_print_positions(p, BD_KIR_M, "m");
    bd_print_positions(p, BD_KIR_N, "n");
}

static void print_chunks(bd_printer *p, int chunks)
{
    bd_text_add(&p->text,
                "#pragma unroll\nfor (int c = 0; c < %d; c++) {\n"
                "const i64 chunk = first + c * step;\nif (chunk < total) {\n",
                chunks);
    print_sum_positions(p);
}

/* `join` by pieces of 16 bytes: rows of sums as they lie, some runs at a time. */
static void print_joins(bd_printer *p, const bd_cfamily_loop *loop, bool bf16)
{
    const bd_kir_phase *end = bd_print_find(p->program, BD_KIR_EPILOGUE);
    const char *half = bf16 ? "true" : "false";
    const int chunks = BD_CFAMILY_JOINS_RUNS;
    if (!loop->wide || !bd_print_wants(p, "joins"))
        return;
    p->wide = loop->wide;
    p->along = loop->along;
    bd_print_entry(p, "joins");
    bd_print_extents(p);
    bd_text_add(&p->text,
                "const i64 total = batch_count * m_count * n_count;\n"
                "const i64 step = (i64)gridDim.x * 256 * %d;\n"
                "for (i64 first = ((i64)blockIdx.x * 256 + threadIdx.x) * %d; first < total;"
                " first += step * %d) {\nfloat sums[%d][%d];\n",
                p->wide, p->wide, chunks, chunks, p->wide);
    bd_print_wide(p, end, chunks, BD_DECLARE_LOADS);
    print_chunks(p, chunks);
    bd_text_add(&p->text, "take_sums<%s>(sums[c], scratch, lanes, chunk, total);\n", half);
    bd_print_wide(p, end, chunks, BD_LOAD);
    bd_text_add(&p->text, "}\n}\n");
    print_chunks(p, chunks);
    bd_text_add(&p->text, "const i64 base = p%d;\n", p->along);
    bd_print_wide(p, end, chunks, BD_DECLARE_STORES);
    bd_text_add(&p->text,
                "#pragma unroll\nfor (int j = 0; j < %d; j++) {\n"
                "const i64 p%d = base + j;\nconst float acc = sums[c][j];\n",
                p->wide, p->along);
    bd_print_phase(p, end);
    bd_text_add(&p->text, "}\n");
    bd_print_wide(p, end, chunks, BD_STORE);
    bd_text_add(&p->text, "}\n}\n}\n");
    bd_print_exit(p);
    p->wide = 0;
}

static void print_copies(bd_printer *p, const char *type)
{
    char call[120];
    for (int i = 0; i < 2; i++) {
        if (!bd_cfamily_copies(p->program, i ? BD_KIR_OPERAND_B : BD_KIR_OPERAND_A))
            continue;
        snprintf(call, sizeof call,
                 "copy_operand<%s>(%s, z.%s, z.k, lanes & %s_BY_DEPTH, scratch);\n", type,
                 i ? "b" : "a", i ? "n" : "m", i ? "B" : "A");
        print_tiled(p, i ? "copy_b" : "copy_a", 0, call);
    }
}

void bd_print_contraction(bd_printer *p)
{
    burn_dtype element = bd_cfamily_element(p->program, BD_KIR_OPERAND_A);
    bd_text_add(&p->text, "typedef %s acc_t;\n", bd_print_type(bd_kir_accumulator(element)));
    if (bd_print_wants(p, "product"))
        print_product(p);
    bd_cfamily_tiles tiles = bd_cfamily_tiles_of(p->program);
    if (tiles == BD_CFAMILY_NO_TILES)
        return;
    bool half = tiles == BD_CFAMILY_HALF_TILES;
    bd_text_add(&p->text, "%s", bd_cfamily_product);
    bd_text_add(&p->text,
                "template <int R, class A, class B> struct math {\ntypedef %s_math<R, %sA, B> type;"
                "\n};\n"
                "#define TILE(R) make_tile<R, typename math<R, decltype(a), decltype(b)>::type>("
                "a, b, with_epilogue, z, lanes, scratch)\n",
                half ? "half" : "float", !half ? "" : element == BURN_BF16 ? "true, " : "false, ");
    print_tiled(p, "large", half ? 2 : 1, "TILE(128);\n");
    print_tiled(p, "small", 4, "TILE(64);\n");
    print_tiled(p, "join", 0,
                element == BURN_BF16 ? "join_pieces<true>(with_epilogue, z, lanes, scratch);\n"
                                     : "join_pieces<false>(with_epilogue, z, lanes, scratch);\n");
    bd_cfamily_loop loop = bd_cfamily_loop_of(p->program);
    print_joins(p, &loop, element == BURN_BF16);
    print_copies(p, !half ? "float" : element == BURN_BF16 ? "half_element<true>"
                                                           : "half_element<false>");
    if (bd_print_wants(p, "huge") && bd_cfamily_has_huge_tiles(p->program)) {
        bd_text_add(&p->text, "%s#ifdef __CUDA_ARCH_FEAT_SM90_ALL\n", bd_cfamily_product_sm90);
        print_tiled(p, "huge", 1,
                    element == BURN_BF16
                        ? "make_huge_tile<true>(a, b, with_epilogue, z, lanes, scratch);\n"
                        : "make_huge_tile<false>(a, b, with_epilogue, z, lanes, scratch);\n");
        bd_text_add(&p->text, "#endif\n");
    }
    if (bd_cfamily_has_columns(p->program)) {
        char call[80];
        snprintf(call, sizeof call, "make_columns<%d, %s>(a, b, with_epilogue, z);\n", half ? 8 : 4,
                 element == BURN_BF16 ? "true" : "false");
        print_tiled(p, "columns", 0, call);
    }
}
