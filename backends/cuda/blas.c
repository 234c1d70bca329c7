/* SPDX-License-Identifier: Apache-2.0
 * Plans of cuBLASLt: an algorithm is chosen once for each form and kept. */
#include "backends/cuda/blas.h"

#include <string.h>

#include "backends/cuda/device.h"
#include "proto/base/alloc.h"
#include "proto/base/hash.h"
#include "proto/base/log.h"
#include "proto/base/map.h"

enum { WORKSPACE_BYTES = 32 << 20, PLANS_MOST = 4096, RESULT_BYTES = 96 };
/* Values of cudaDataType, cublasComputeType_t, cublasLt...Attribute_t and
 * cublasLtReductionScheme_t. */
enum { R_32F = 0, R_16F = 2, R_16BF = 14, COMPUTE_32F = 68, COMPUTE_TF32 = 77 };
enum { DESC_TRANSA = 3, DESC_TRANSB = 4, LAYOUT_BATCH = 5, LAYOUT_STRIDE = 6 };
enum { PREFERS_WORKSPACE = 1, PREFERS_REDUCTION = 3, PREFERS_ALIGNMENT = 5 };
enum { REDUCE_IN_COMPUTE_TYPE = 2 };

/* cublasLtMatmulHeuristicResult_t */
typedef struct choice {
    uint64_t algorithm[8];
    size_t workspace_bytes;
    int state;
    float waves;
    int reserved[4];
} choice;
_Static_assert(sizeof(choice) == RESULT_BYTES, "as the library has it");

typedef struct plan {
    bd_cuda_blas_key key;
    void *product, *layouts[3]; /* left, right, result */
    choice chosen;
    bool fits; /* false: the library has no algorithm */
} plan;

struct bd_cuda_blas {
    void *handle;
    uint64_t workspace;
    bd_map plans; /* by hash of the key */
};

static int type_of(uint32_t dtype)
{
    return dtype == BURN_BF16 ? R_16BF : dtype == BURN_F16 ? R_16F : R_32F;
}

static int make_layout(const bd_cuda_symbols *cuda, const bd_cuda_matrix *matrix, void **out)
{
    int code = cuda->cublasLtMatrixLayoutCreate(out, type_of(matrix->dtype), matrix->rows,
                                                matrix->columns, matrix->ld);
    if (code == 0)
        code = cuda->cublasLtMatrixLayoutSetAttribute(*out, LAYOUT_BATCH, &matrix->batch,
                                                      sizeof matrix->batch);
    if (code == 0)
        code = cuda->cublasLtMatrixLayoutSetAttribute(*out, LAYOUT_STRIDE, &matrix->batch_stride,
                                                      sizeof matrix->batch_stride);
    return code;
}

/* What is summed in pieces is joined in f32: the same sizes give the same bits. */
static int choose(bd_cuda_blas *blas, const bd_cuda_symbols *cuda, plan *made)
{
    const bd_cuda_blas_key *key = &made->key;
    uint64_t workspace = WORKSPACE_BYTES;
    uint32_t reduction = REDUCE_IN_COMPUTE_TYPE;
    const uint32_t alignments[] = {key->left.alignment, key->right.alignment,
                                   key->result.alignment, key->result.alignment};
    void *wish = NULL;
    int found = 0, code = cuda->cublasLtMatmulPreferenceCreate(&wish);
    if (code == 0)
        code = cuda->cublasLtMatmulPreferenceSetAttribute(wish, PREFERS_WORKSPACE, &workspace,
                                                          sizeof workspace);
    if (code == 0)
        code = cuda->cublasLtMatmulPreferenceSetAttribute(wish, PREFERS_REDUCTION, &reduction,
                                                          sizeof reduction);
    for (int i = 0; i < 4 && code == 0; i++)
        code = cuda->cublasLtMatmulPreferenceSetAttribute(wish, PREFERS_ALIGNMENT + i,
                                                          &alignments[i], sizeof alignments[i]);
    if (code == 0)
        code = cuda->cublasLtMatmulAlgoGetHeuristic(
            blas->handle, made->product, made->layouts[0], made->layouts[1], made->layouts[2],
            made->layouts[2], wish, 1, &made->chosen, &found);
    if (wish)
        (void)cuda->cublasLtMatmulPreferenceDestroy(wish);
    return code == 0 && found == 0 ? -1 : code;
}

static void free_plan(const bd_cuda_symbols *cuda, plan *gone)
{
    for (int i = 0; i < 3; i++)
        if (gone->layouts[i])
            (void)cuda->cublasLtMatrixLayoutDestroy(gone->layouts[i]);
    if (gone->product)
        (void)cuda->cublasLtMatmulDescDestroy(gone->product);
    bd_free(gone);
}

static plan *make_plan(bd_cuda_blas *blas, const bd_device *device, const bd_cuda_blas_key *key)
{
    const bd_cuda_symbols *cuda = device->cuda;
    plan *made = bd_alloc_zeroed(sizeof *made);
    made->key = *key;
    const bd_cuda_matrix *matrices[] = {&key->left, &key->right, &key->result};
    bool tf32 = device->tf32_products && key->left.dtype == BURN_F32;
    int code = cuda->cublasLtMatmulDescCreate(&made->product, tf32 ? COMPUTE_TF32 : COMPUTE_32F,
                                              R_32F);
    if (code == 0)
        code = cuda->cublasLtMatmulDescSetAttribute(made->product, DESC_TRANSA, &key->left.turned,
                                                    sizeof key->left.turned);
    if (code == 0)
        code = cuda->cublasLtMatmulDescSetAttribute(made->product, DESC_TRANSB, &key->right.turned,
                                                    sizeof key->right.turned);
    for (int i = 0; i < 3 && code == 0; i++)
        code = make_layout(cuda, matrices[i], &made->layouts[i]);
    if (code == 0)
        code = choose(blas, cuda, made);
    made->fits = code == 0;
    return made;
}

static void forget_plans(bd_cuda_blas *blas, const bd_cuda_symbols *cuda)
{
    uint64_t hash;
    void *found;
    for (size_t cursor = 0; bd_map_next(&blas->plans, &cursor, &hash, &found);)
        free_plan(cuda, found);
    bd_map_deinit(&blas->plans);
    memset(&blas->plans, 0, sizeof blas->plans);
}

static plan *find_plan(bd_device *device, const bd_cuda_blas_key *key)
{
    bd_cuda_blas *blas = device->blas;
    uint64_t hash = bd_hash_bytes(key, sizeof *key, 0);
    plan *found = bd_map_get(&blas->plans, hash);
    if (found && memcmp(&found->key, key, sizeof *key) == 0)
        return found;
    if (blas->plans.count == PLANS_MOST)
        forget_plans(blas, device->cuda);
    plan *made = make_plan(blas, device, key);
    atomic_fetch_add(&device->library_plans, 1);
    plan *other = bd_map_put(&blas->plans, hash, made);
    if (other)
        free_plan(device->cuda, other);
    return made;
}

/* NULL if it does not start: told once, and products are made by our own kernels. */
static bd_cuda_blas *blas_of(bd_device *device)
{
    if (device->blas || device->blas_refused)
        return device->blas;
    const bd_cuda_symbols *cuda = device->cuda;
    bd_cuda_blas *blas = bd_alloc_zeroed(sizeof *blas);
    int code = cuda->cublasLtCreate(&blas->handle);
    if (code == 0)
        code = cuda->cuMemAlloc(&blas->workspace, WORKSPACE_BYTES);
    device->blas = blas;
    if (code == 0)
        return blas;
    bd_log(BD_LOG_WARN, "cuda", "cuBLASLt does not start (error %d); products go without", code);
    bd_cuda_blas_close(device);
    device->blas_refused = true;
    return NULL;
}

void bd_cuda_blas_close(bd_device *device)
{
    bd_cuda_blas *blas = device->blas;
    const bd_cuda_symbols *cuda = device->cuda;
    if (!blas)
        return;
    forget_plans(blas, cuda);
    if (blas->workspace)
        (void)cuda->cuMemFree(blas->workspace);
    if (blas->handle)
        (void)cuda->cublasLtDestroy(blas->handle);
    bd_free(blas);
    device->blas = NULL;
}

void *bd_cuda_blas_memory(const bd_cuda_blas_place *place, void *const *buffers, void *scratch,
                          size_t element)
{
    if (place->buffer < 0)
        return (char *)scratch + place->at;
    return (char *)buffers[place->buffer] + place->offset * (int64_t)element;
}

bool bd_cuda_blas_run(bd_device *device, const bd_cuda_blas_form *form, void *const *buffers,
                      void *scratch)
{
    const bd_cuda_symbols *cuda = device->cuda;
    bd_cuda_blas *blas = blas_of(device);
    plan *chosen = blas ? find_plan(device, &form->key) : NULL;
    if (!chosen || !chosen->fits)
        return false;
    const float one = 1, zero = 0;
    size_t element = burn_dtype_size((burn_dtype)form->key.left.dtype);
    size_t sum = burn_dtype_size((burn_dtype)form->key.result.dtype);
    char *left = bd_cuda_blas_memory(&form->left, buffers, scratch, element);
    char *right = bd_cuda_blas_memory(&form->right, buffers, scratch, element);
    char *result = bd_cuda_blas_memory(&form->result, buffers, scratch, sum);
    int64_t at[BD_CUDA_BLAS_LOOPS_MAX] = {0};
    for (int i = 0; i >= 0;) {
        int64_t l = 0, r = 0, d = 0;
        for (int k = 0; k < form->loops; k++) {
            l += at[k] * form->loop[k].left;
            r += at[k] * form->loop[k].right;
            d += at[k] * form->loop[k].result;
        }
        char *to = result + d * (int64_t)sum;
        int code = cuda->cublasLtMatmul(
            blas->handle, chosen->product, &one, left + l * (int64_t)element, chosen->layouts[0],
            right + r * (int64_t)element, chosen->layouts[1], &zero, to, chosen->layouts[2], to,
            chosen->layouts[2], chosen->chosen.algorithm, (void *)(uintptr_t)blas->workspace,
            WORKSPACE_BYTES, device->stream);
        if (code != 0) {
            bd_log(BD_LOG_WARN, "cuda", "cuBLASLt refuses a product (error %d)", code);
            chosen->fits = false;
            return false; /* what it has written is written again */
        }
        for (i = form->loops - 1; i >= 0 && ++at[i] == form->loop[i].extent; i--)
            at[i] = 0;
    }
    return true;
}
