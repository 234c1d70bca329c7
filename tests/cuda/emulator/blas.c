/* SPDX-License-Identifier: Apache-2.0
 * libcublasLt.so.13 for hosts without a GPU: products of matrices in plain loops, summed in double.
 * Only what backends/cuda/symbols.def names. It refuses what the library would: columns that are
 * closer than they are long, and matrices that are not aligned as they were said to be.
 *   EMULATOR_BLAS=refuse    no algorithm is found
 *   EMULATOR_BLAS=fail      none of them runs */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cuda/emulator/numbers.h"

enum { INVALID = 7, NOT_SUPPORTED = 15, TRANSA = 3, TRANSB = 4, BATCH = 5, STRIDE = 6 };
enum { R_32F = 0, R_16F = 2, R_16BF = 14, ALIGNMENT = 5, SIDES = 4 };
#define API __attribute__((visibility("default"))) int

typedef struct matrix {
    uint64_t rows, columns;
    int64_t ld, stride;
    int type, batch;
} matrix;
typedef struct product {
    int turned[2];
} product;
typedef struct wish {
    uint32_t alignments[SIDES];
} wish;

static int is_mode(const char *mode)
{
    const char *set = getenv("EMULATOR_BLAS");
    return set && strcmp(set, mode) == 0;
}

static int make(void **out, size_t size)
{
    *out = calloc(1, size);
    return *out ? 0 : INVALID;
}

API cublasLtCreate(void **out)
{
    return make(out, 1);
}

API cublasLtDestroy(void *handle)
{
    free(handle);
    return 0;
}

API cublasLtMatmulDescCreate(void **out, int compute, int scale)
{
    bool known = compute == 68 || compute == 77; /* f32, TF32 */
    return known && scale == R_32F ? make(out, sizeof(product)) : INVALID;
}

API cublasLtMatmulDescDestroy(void *made)
{
    free(made);
    return 0;
}

API cublasLtMatmulDescSetAttribute(void *made, int which, const void *value, size_t size)
{
    if ((which != TRANSA && which != TRANSB) || size != sizeof(int))
        return INVALID;
    memcpy(&((product *)made)->turned[which - TRANSA], value, size);
    return 0;
}

API cublasLtMatrixLayoutCreate(void **out, int type, uint64_t rows, uint64_t columns, int64_t ld)
{
    if (ld < (int64_t)rows || rows == 0 || columns == 0 || make(out, sizeof(matrix)))
        return INVALID;
    *(matrix *)*out = (matrix){rows, columns, ld, 0, type, 1};
    return 0;
}

API cublasLtMatrixLayoutDestroy(void *made)
{
    free(made);
    return 0;
}

API cublasLtMatrixLayoutSetAttribute(void *made, int which, const void *value, size_t size)
{
    matrix *layout = made;
    if (which == BATCH && size == sizeof layout->batch)
        memcpy(&layout->batch, value, size);
    else if (which == STRIDE && size == sizeof layout->stride)
        memcpy(&layout->stride, value, size);
    else
        return INVALID;
    return 0;
}

API cublasLtMatmulPreferenceCreate(void **out)
{
    return make(out, sizeof(wish));
}

API cublasLtMatmulPreferenceDestroy(void *made)
{
    free(made);
    return 0;
}

API cublasLtMatmulPreferenceSetAttribute(void *made, int which, const void *value, size_t size)
{
    if (which >= ALIGNMENT && which < ALIGNMENT + SIDES && size == sizeof(uint32_t))
        memcpy(&((wish *)made)->alignments[which - ALIGNMENT], value, size);
    return 0;
}

API cublasLtMatmulAlgoGetHeuristic(void *handle, void *made, void *a, void *b, void *c, void *d,
                                   void *wished, int most, void *results, int *out_count)
{
    (void)handle, (void)made, (void)a, (void)b, (void)c, (void)d;
    *out_count = !is_mode("refuse") && most > 0;
    memcpy(results, ((wish *)wished)->alignments, sizeof(wish)); /* the algorithm */
    return *out_count ? 0 : NOT_SUPPORTED;
}

/* ---- numbers ---- */

static number_type numbers(int type)
{
    return type == R_16F ? NUMBER_F16 : type == R_16BF ? NUMBER_BF16 : NUMBER_F32;
}

static int64_t place_of(const matrix *m, int turned, int64_t batch, int64_t row, int64_t column)
{
    return batch * m->stride + (turned ? column + row * m->ld : row + column * m->ld);
}

API cublasLtMatmul(void *handle, void *made, const void *alpha, const void *a, void *a_layout,
                   const void *b, void *b_layout, const void *beta, const void *c, void *c_layout,
                   void *d, void *d_layout, const void *algorithm, void *workspace,
                   size_t workspace_bytes, void *stream)
{
    (void)handle, (void)c, (void)c_layout, (void)workspace, (void)workspace_bytes, (void)stream;
    const product *p = made;
    const matrix *left = a_layout, *right = b_layout, *result = d_layout;
    const void *const memory[] = {a, b, d};
    const uint32_t *alignments = algorithm;
    number_type left_type = numbers(left->type), right_type = numbers(right->type);
    int64_t depth = (int64_t)(p->turned[0] ? left->rows : left->columns);
    if (is_mode("fail") || *(const float *)alpha != 1 || *(const float *)beta != 0 ||
        depth != (int64_t)(p->turned[1] ? right->columns : right->rows) ||
        result->rows != (p->turned[0] ? left->columns : left->rows) ||
        result->columns != (p->turned[1] ? right->rows : right->columns))
        return INVALID;
    for (int i = 0; i < 3; i++)
        if (alignments[i] == 0 || (uintptr_t)memory[i] % alignments[i] != 0)
            return INVALID;
    for (int64_t n = 0; n < result->batch; n++)
        for (int64_t i = 0; i < (int64_t)result->rows; i++)
            for (int64_t j = 0; j < (int64_t)result->columns; j++) {
                double sum = 0;
                for (int64_t k = 0; k < depth; k++)
                    sum += number_at(a, left_type, place_of(left, p->turned[0], n, i, k)) *
                           number_at(b, right_type, place_of(right, p->turned[1], n, k, j));
                set_number(d, numbers(result->type), place_of(result, 0, n, i, j), sum);
            }
    return 0;
}
