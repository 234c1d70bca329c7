// SPDX-License-Identifier: Apache-2.0
// Products by the matrix instructions of sm_90, on product.cuh: 16-bit operands that are read 16
// bytes at once. A block makes 128 x 256 sums; two groups of 128 threads have 64 x 256 each.
#ifdef __CUDA_ARCH_FEAT_SM90_ALL

// ---- matrix instructions ----
FN void show_copies() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
FN void open_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
FN void close_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int OPEN> FN void await_products()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(OPEN) : "memory");
}
#define F4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define F16(i) F4(i), F4(i + 4), F4(i + 8), F4(i + 12)
#define PRODUCT_OF(TYPE) \
    asm volatile("wgmma.mma_async.sync.aligned.m64n256k16.f32." TYPE "." TYPE " {" \
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, " \
                 "%12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, " \
                 "%24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, " \
                 "%36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
                 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, " \
                 "%60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, " \
                 "%72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, " \
                 "%84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, " \
                 "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, " \
                 "%108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, " \
                 "%120, %121, %122, %123, %124, %125, %126, %127}, " \
                 "%128, %129, 1, 1, 1, %130, %131;" \
                 : F16(0), F16(16), F16(32), F16(48), F16(64), F16(80), F16(96), F16(112) \
                 : "l"(a), "l"(b), "n"(TURN_A), "n"(TURN_B))
// 64 x 256 sums += 64 x 16 times 16 x 256. TURN: neighbours in memory are rows, not k.
template <bool BF16, int TURN_A, int TURN_B> FN void multiply_group(float *d, u64 a, u64 b)
{
    if (BF16)
        PRODUCT_OF("bf16");
    else
        PRODUCT_OF("f16");
}
// ---- end of matrix instructions

// Where a matrix lies: in pieces of 8 x 128 bytes, permuted; `far` apart in the direction of
// memory, 1024 bytes in the other.
FN u64 matrix_at(const void *at, int far)
{
    return (u64)((shared_address(at) & 0x3ffff) >> 4) | (u64)(far >> 4) << 16 |
           (u64)(1024 >> 4) << 32 | (u64)1 << 62;
}

// A slice is 64 deep. ALONG: 128 bytes of each row, else 128 bytes of 64 rows for each k.
template <int R, class O> struct group_side {
    static const int D = 64, BYTES = R * D * 2;
    typedef tables<R, D, O> marks;
    FN void fetch(const O &o, const marks &t, int slice, char *to, int left)
    {
#pragma unroll
        for (int i = 0; i < R * D / 8 / 256; i++) {
            const int e = threadIdx.x + i * 256;
            const int row = O::along ? e / 8 : e % (R / 8) * 8;
            const int k = O::along ? e % 8 * 8 : e / (R / 8);
            const int line = O::along ? row : row / 64 * 64 + k;
            const int piece = O::along ? k / 8 : row / 8 % 8;
            copy_later(to + line * 128 + ((piece ^ (line & 7)) << 4),
                       o.place(t.rows[row], t.depths[slice & 1][k]), k < left);
        }
    }
    // The matrix of rows from `row` on and of 16 k from `k` on.
    FN u64 matrix(char *slice, int row, int k)
    {
        return O::along ? matrix_at(slice + row * 128 + k * 2, 16)
                        : matrix_at(slice + row * 128 + k * 128, 64 * 128);
    }
};

template <bool BF16, class A, class B, class E>
FN void make_huge_tile(const A &a, const B &b, const E &with_epilogue, const extents &z, i64 plan,
                       char *scratch)
{
    typedef group_side<128, A> a_side;
    typedef group_side<256, B> b_side;
    const int STAGES = 4, D = 64, PITCH = 256 + 8;
    __shared__ typename a_side::marks a_marks;
    __shared__ typename b_side::marks b_marks;
    char *const a_ring = shared_room, *const b_ring = a_ring + STAGES * a_side::BYTES;
    const int pieces = (int)(plan & 0xffff), slices_all = (z.k + D - 1) / D;
    const corner at = corner_of(blockIdx.x, z, 128, 256);
    const int each = (slices_all + pieces - 1) / pieces, first = at.piece * each * D;
    const int end = first + each * D < z.k ? first + each * D : z.k;
    const int slices = (end - first + D - 1) / D, group = threadIdx.x / 128 * 64;
    float sums[128];
#pragma unroll
    for (int i = 0; i < 128; i++)
        sums[i] = 0.0f;
    mark_rows(a, a_marks, at.batch, at.m, z.m);
    mark_rows(b, b_marks, at.batch, at.n, z.n);
    mark_depths(a, a_marks, threadIdx.x, 0, first, end);
    mark_depths(b, b_marks, threadIdx.x - 128, 0, first, end);
    for (int s = 0; s < 2; s++) {
        __syncthreads();
        if (s < slices) {
            a_side::fetch(a, a_marks, s, a_ring + s * a_side::BYTES, end - first - s * D);
            b_side::fetch(b, b_marks, s, b_ring + s * b_side::BYTES, end - first - s * D);
        }
        close_copies();
        mark_depths(a, a_marks, threadIdx.x, s + 1, first, end);
        mark_depths(b, b_marks, threadIdx.x - 128, s + 1, first, end);
    }
    await_copies<1>();
    show_copies();
    __syncthreads();
    for (int s = 0; s < slices; s++) { // slice s is here, s + 1 on its way, s - 1 in use
        const int next = s + 2, then = next % STAGES, left = end - first - next * D;
        char *const a_slice = a_ring + s % STAGES * a_side::BYTES;
        char *const b_slice = b_ring + s % STAGES * b_side::BYTES;
        open_products();
#pragma unroll
        for (int k = 0; k < D; k += 16)
            multiply_group<BF16, !A::along, !B::along>(sums, a_side::matrix(a_slice, group, k),
                                                       b_side::matrix(b_slice, 0, k));
        close_products();
        await_copies<0>();
        show_copies(); // waits for all copies: none is young here
        if (next < slices) {
            a_side::fetch(a, a_marks, next, a_ring + then * a_side::BYTES, left);
            b_side::fetch(b, b_marks, next, b_ring + then * b_side::BYTES, left);
        }
        close_copies();
        mark_depths(a, a_marks, threadIdx.x, next + 1, first, end);
        mark_depths(b, b_marks, threadIdx.x - 128, next + 1, first, end);
        await_products<1>();
        __syncthreads(); // slice s - 1 is free, s + 1 is here
    }
    await_products<0>();
    await_copies<0>();
    __syncthreads();
    const int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16 + lane / 4;
    float *const tile = (float *)shared_room, *const to = tile + row * PITCH + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < 64; i++) // pairs
        *(float2 *)&to[i % 2 * 8 * PITCH + i / 2 * 8] = make_float2(sums[2 * i], sums[2 * i + 1]);
    __syncthreads();
    finish_tile<128, 256, PITCH>(tile, with_epilogue, z, at, pieces, (float *)scratch);
}
#endif
