/* SPDX-License-Identifier: Apache-2.0
 * Convolutions by the vendor's library (cuDNN), where it is found: forward, or as the gradient of
 * the input or of the weight. What an epilogue does beside storing, `join` does after it. */
#pragma once

#include "backends/cuda/blas.h"

enum { BD_CUDA_DNN_PLACES_MAX = 3, BD_CUDA_DNN_RANK_MAX = BD_CUDA_DNN_PLACES_MAX + 2 };

typedef enum bd_cuda_dnn_kind {
    BD_CUDA_DNN_FORWARD,
    BD_CUDA_DNN_DATA,
    BD_CUDA_DNN_FILTER
} bd_cuda_dnn_kind;

/* Images, channels, places of x and y; outputs, channels, places of w. */
typedef struct bd_cuda_dnn_tensor {
    int64_t dims[BD_CUDA_DNN_RANK_MAX], strides[BD_CUDA_DNN_RANK_MAX];
    int64_t dtype, alignment; /* burn_dtype; bytes */
} bd_cuda_dnn_tensor;

/* The tensors of y = conv(x, w), whichever of them is the result. */
enum { BD_CUDA_DNN_X, BD_CUDA_DNN_W, BD_CUDA_DNN_Y, BD_CUDA_DNN_TENSORS };

/* What a plan of the library depends on. Has no padding. */
typedef struct bd_cuda_dnn_key {
    int64_t kind, places;
    bd_cuda_dnn_tensor each[BD_CUDA_DNN_TENSORS];
    int64_t steps[BD_CUDA_DNN_PLACES_MAX], dilations[BD_CUDA_DNN_PLACES_MAX],
        before[BD_CUDA_DNN_PLACES_MAX], after[BD_CUDA_DNN_PLACES_MAX];
} bd_cuda_dnn_key;

/* Which of the tensors is the result. */
static inline int bd_cuda_dnn_result(const bd_cuda_dnn_key *key)
{
    return key->kind == BD_CUDA_DNN_FORWARD ? BD_CUDA_DNN_Y
           : key->kind == BD_CUDA_DNN_DATA  ? BD_CUDA_DNN_X
                                            : BD_CUDA_DNN_W;
}

/* A convolution as a call of the library. */
typedef struct bd_cuda_dnn_form {
    bd_cuda_dnn_key key;
    bd_cuda_blas_place at[BD_CUDA_DNN_TENSORS];
    bool direct;          /* the result lies where it belongs; else in scratch, for `join`, */
    bool halves;          /* as 16-bit sums, */
    int64_t join_places;  /* images with so many places; 0: no images */
    size_t scratch_bytes; /* of the result; the library's own comes behind */
} bd_cuda_dnn_form;

/* False if the library is not here, or the contraction does not have its form. Thread: any. */
bool bd_cuda_dnn_form_of(const bd_kernel *kernel, const int64_t *ints, double work,
                         bd_cuda_dnn_form *out);

typedef struct bd_cuda_dnn bd_cuda_dnn;
void bd_cuda_dnn_open(bd_device *device);
void bd_cuda_dnn_close(bd_device *device);
/* Scratch for all of it; 0: the library has no way to do it. With the device's context; thread:
 * any. */
size_t bd_cuda_dnn_scratch(bd_device *device, const bd_cuda_dnn_form *form);
/* Into the stream. False: nothing was launched. Thread: device, with its context. */
bool bd_cuda_dnn_run(bd_device *device, const bd_cuda_dnn_form *form, void *const *buffers,
                     void *scratch);
