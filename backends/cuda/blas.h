/* SPDX-License-Identifier: Apache-2.0
 * Products by the vendor's library (cuBLASLt), where it is found and they have its form: matrices
 * with one unit stride each. What an epilogue does beside storing, `join` does after it. */
#pragma once

#include "backends/backend.h"
#include "backends/cuda/symbols.h"

enum { BD_CUDA_BLAS_LOOPS_MAX = 4 };

/* A matrix in memory, columns `ld` apart; turned: what stands in the product is its transpose. */
typedef struct bd_cuda_matrix {
    uint64_t rows, columns;
    int64_t ld, batch_stride;
    uint32_t dtype, alignment; /* burn_dtype; bytes */
    int32_t turned, batch;
} bd_cuda_matrix;

/* What a plan of the library depends on: result = left * right. Has no padding. */
typedef struct bd_cuda_blas_key {
    bd_cuda_matrix left, right, result;
} bd_cuda_blas_key;

/* In a buffer of the arguments, or, if that is -1, at a byte of scratch. */
typedef struct bd_cuda_blas_place {
    int buffer;
    int64_t offset; /* elements */
    size_t at;
} bd_cuda_blas_place;

/* One product as calls of the library. */
typedef struct bd_cuda_blas_form {
    bd_cuda_blas_key key;
    bool direct;       /* the result lies where it belongs; else in scratch, for `join` */
    bool halves;       /* in scratch: 16-bit sums, which the epilogue rounds first anyway */
    int copies;        /* bits: A, B are copied first, */
    int64_t copy_plan; /* which way, */
    bd_cuda_blas_place copied[2]; /* and where to */
    bd_cuda_blas_place left, right, result;
    size_t scratch_bytes;
    int loops; /* that the host runs */
    struct {
        int64_t extent, left, right, result; /* strides */
    } loop[BD_CUDA_BLAS_LOOPS_MAX];
} bd_cuda_blas_form;

/* What the library needs to know of a program's epilogue, asked once. */
typedef struct bd_cuda_blas_end {
    bool known;   /* both operands are floats of one type, and plain, or may be copied */
    bool direct;  /* it only rounds and stores */
    bool rounded; /* every use of a sum rounds it to the operands' type */
    int store;    /* access of the first store */
} bd_cuda_blas_end;
bd_cuda_blas_end bd_cuda_blas_end_of(const bd_kernel *kernel);

/* False if the library is not here, or the product, of so many multiply-adds, does not have its
 * form or is not worth it. plan: as of bd_cfamily_order. Thread: any. */
bool bd_cuda_blas_form_of(const bd_kernel *kernel, const int64_t *ints, int64_t plan, double work,
                          bd_cuda_blas_form *out);

/* Thread: device, with its context. */
typedef struct bd_cuda_blas bd_cuda_blas;
/* Into the stream. False if the library has no way to do it: nothing was launched then. */
bool bd_cuda_blas_run(bd_device *device, const bd_cuda_blas_form *form, void *const *buffers,
                      void *scratch);
void bd_cuda_blas_close(bd_device *device);
void *bd_cuda_blas_memory(const bd_cuda_blas_place *place, void *const *buffers, void *scratch,
                          size_t element);
