// SPDX-License-Identifier: Apache-2.0
// Products by tiles: what generated CONTRACTION kernels stand on besides prelude.cuh. A block of
// 256 threads makes a tile of R x R sums from slices of both operands that lie in shared memory.
//
// An operand is made of generated functions. The address of an element, what its guards compare and
// its indices are sums of two parts, one of its row and one of its depth (k): `row` and `depth`
// write them into tables of shared memory, `value` takes both and gives the element, `place` its
// address. `with_epilogue` calls a function with the epilogue of one column, whose arguments it has
// read once, with `look`, which loads what an epilogue reads, and with room for that: several
// elements are looked at before the first is stored.
// Plans (how a launch runs, by its sizes) are integers: bits 0..15 how many pieces k is
// cut into; then flags.
enum { A_WIDE = 1 << 16, B_WIDE = 1 << 17, A_BY_DEPTH = 1 << 18, B_BY_DEPTH = 1 << 19 };

#define INLINED __attribute__((always_inline)) // of generated functions

extern __shared__ __align__(1024) char shared_room[];

struct extents {
    int batch, m, n, k;
};

// ALONG: elements of neighbouring k are neighbours in memory, else (if any) those of neighbouring
// rows. PLAIN: an element is one number in memory.
template <int PARTS, bool ALONG, bool PLAIN, class ROW, class DEPTH, class VALUE, class PLACE>
struct operand {
    static const int parts = PARTS;
    static const bool along = ALONG, plain = PLAIN;
    const ROW &row;
    const DEPTH &depth;
    const VALUE &value;
    const PLACE &place;
    bool wide;     // 16 bytes at once
    bool by_depth; // one by one, neighbouring threads take neighbouring k
};
template <int PARTS, bool ALONG, bool PLAIN, class ROW, class DEPTH, class VALUE, class PLACE>
FN operand<PARTS, ALONG, PLAIN, ROW, DEPTH, VALUE, PLACE>
operand_of(const ROW &row, const DEPTH &depth, const VALUE &value, const PLACE &place, bool wide,
           bool by_depth)
{
    return {row, depth, value, place, PLAIN && wide, by_depth};
}

// ---- instructions ----
FN u32 shared_address(const void *at) { return (u32)__cvta_generic_to_shared(at); }
// 16 bytes to shared memory some time later; zeros if they are not there.
FN void copy_later(void *to, const void *from, bool there)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)),
                 "l"(from), "r"(there ? 16 : 0)
                 : "memory");
}
FN void close_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int OPEN> FN void await_copies()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(OPEN) : "memory");
}
template <bool TURNED> FN void load_matrices(u32 *to, const void *from)
{
    if (TURNED)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                     : "r"(shared_address(from))
                     : "memory");
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                     : "r"(shared_address(from))
                     : "memory");
}
// 16 x 8 sums += 16 x 16 times 16 x 8.
template <bool BF16> FN void multiply(float *sums, const u32 *a, const u32 *b)
{
    if (BF16)
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                     "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                     : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    else
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                     "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                     : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// ---- end of instructions

// Of a float that holds a 16-bit value.
template <bool BF16> FN u16 half_bits(float value)
{
    return BF16 ? (u16)(__float_as_uint(value) >> 16) : as_f16(value);
}
template <bool BF16> FN float half_value(u16 bits)
{
    return BF16 ? from_bf16(bits) : from_f16(bits);
}

// ---- one operand on its way to shared memory ----
// The tables of parts: of all rows, and of two slices' depths; read in pieces of up to 16 bytes.
template <int R, int D, class O> struct __align__(16) tables {
    static const int PITCH = O::parts < 3 ? O::parts : (O::parts + 3) / 4 * 4;
    int rows[R][PITCH], depths[2][D][PITCH];
};
template <int R, int D, class O>
FN void mark_rows(const O &o, tables<R, D, O> &at, int batch, int first, int count)
{
    for (int r = threadIdx.x; r < R; r += 256)
        o.row(batch, first + r < count ? first + r : 0, at.rows[r]);
}
template <int R, int D, class O>
FN void mark_depths(const O &o, tables<R, D, O> &at, int thread, int slice, int first, int end)
{
    const int k = first + slice * D + thread;
    if (thread >= 0 && thread < D)
        o.depth(k < end ? k : 0, at.depths[slice & 1][thread]);
}

// f32: slices of 16 rows of k, R long; all elements pass through registers.
template <int R, class O> struct float_side {
    static const int D = 16, BYTES = D * (R + 4) * 4;
    typedef tables<R, D, O> marks;
    float kept[R / 16];
    FN float *at(char *slice, int row, int k) { return (float *)slice + k * (R + 4) + row; }
    FN int wide_row(int i) { return O::along ? i / 4 : i % (R / 4) * 4; }
    FN int wide_depth(int i) { return O::along ? i % 4 * 4 : i / (R / 4); }

    __device__ void fetch(const O &o, const marks &t, int slice, char *, int left)
    {
        if (o.wide) {
#pragma unroll
            for (int i = 0; i < R / 64; i++) {
                const int e = threadIdx.x + i * 256, row = wide_row(e), k = wide_depth(e);
                float4 four = {0, 0, 0, 0};
                if (k < left)
                    four = *(const float4 *)o.place(t.rows[row], t.depths[slice & 1][k]);
                kept[4 * i] = four.x;
                kept[4 * i + 1] = four.y;
                kept[4 * i + 2] = four.z;
                kept[4 * i + 3] = four.w;
            }
            return;
        }
#pragma unroll
        for (int i = 0; i < R / 16; i++) {
            const int e = threadIdx.x + i * 256, row = o.by_depth ? e / D : e % R;
            const int k = o.by_depth ? e % D : e / R;
            const float value = o.value(t.rows[row], t.depths[slice & 1][k]);
            kept[i] = k < left ? value : 0.0f;
        }
    }
    __device__ void put(const O &o, char *to)
    {
#pragma unroll
        for (int i = 0; i < R / 64 && o.wide; i++) {
            const int e = threadIdx.x + i * 256, row = wide_row(e), k = wide_depth(e);
#pragma unroll
            for (int j = 0; j < 4; j++)
                *at(to, O::along ? row : row + j, O::along ? k + j : k) = kept[4 * i + j];
        }
#pragma unroll
        for (int i = 0; i < R / 16 && !o.wide; i++) {
            const int e = threadIdx.x + i * 256;
            *at(to, o.by_depth ? e / D : e % R, o.by_depth ? e % D : e / R) = kept[i];
        }
    }
};

// 16 bits: slices 32 deep, in the order of memory; whole pieces of 16 bytes go there directly. The
// pieces of a row are permuted, so that matrices are read from all banks.
template <int R, bool BF16, class O> struct half_side {
    static const int D = 32, BYTES = D * R * 2;
    typedef tables<R, D, O> marks;
    u32 kept[R * D / 512];
    FN char *at(char *slice, int row, int k)
    {
        if (O::along)
            return slice + row * (D * 2) + ((k >> 3 ^ (row >> 1 & 3)) << 4) + (k & 7) * 2;
        return slice + k * (R * 2) + ((row >> 3 ^ (k & 7)) << 4) + (row & 7) * 2;
    }
    FN u32 element(const O &o, const marks &t, int slice, int row, int k, int left)
    {
        const u32 bits = half_bits<BF16>(o.value(t.rows[row], t.depths[slice & 1][k]));
        return k < left ? bits : 0u; // no branch: a depth beyond the end stands for another one
    }
    __device__ void fetch(const O &o, const marks &t, int slice, char *to, int left)
    {
        if (o.wide) {
#pragma unroll
            for (int i = 0; i < R / 64; i++) {
                const int e = threadIdx.x + i * 256;
                const int row = O::along ? e / (D / 8) : e % (R / 8) * 8;
                const int k = O::along ? e % (D / 8) * 8 : e / (R / 8);
                copy_later(at(to, row, k), o.place(t.rows[row], t.depths[slice & 1][k]), k < left);
            }
            return;
        }
#pragma unroll
        for (int i = 0; i < R * D / 512; i++) {
            const int e = threadIdx.x + i * 256;
            const int row = o.by_depth ? e / (D / 2) : e % (R / 2) * 2;
            const int k = o.by_depth ? e % (D / 2) * 2 : e / (R / 2);
            const int row_2 = o.by_depth ? row : row + 1, k_2 = o.by_depth ? k + 1 : k;
            kept[i] = element(o, t, slice, row, k, left) |
                      element(o, t, slice, row_2, k_2, left) << 16;
        }
    }
    __device__ void put(const O &o, char *to)
    {
        if (o.wide)
            return;
#pragma unroll
        for (int i = 0; i < R * D / 512; i++) {
            const int e = threadIdx.x + i * 256;
            const int row = o.by_depth ? e / (D / 2) : e % (R / 2) * 2;
            const int k = o.by_depth ? e % (D / 2) * 2 : e / (R / 2);
            if (o.by_depth == O::along) {
                *(u32 *)at(to, row, k) = kept[i];
            } else {
                *(u16 *)at(to, row, k) = (u16)kept[i];
                *(u16 *)at(to, o.by_depth ? row : row + 1, o.by_depth ? k + 1 : k) =
                    (u16)(kept[i] >> 16);
            }
        }
    }
};

// ---- sums of a tile, held by its threads ----
template <int R, class A, class B> struct float_math {
    static const int STAGES = 2, T = R / 16, PITCH = R + 4;
    typedef float_side<R, A> a_side;
    typedef float_side<R, B> b_side;
    float sums[T][T];
    FN int place(int thread, int i) { return thread * 4 + i / 4 * 64 + i % 4; }

    __device__ void start()
    {
#pragma unroll
        for (int i = 0; i < T * T; i++)
            sums[i / T][i % T] = 0.0f;
    }
    __device__ void add(char *a_slice, char *b_slice)
    {
        const int y = threadIdx.x / 16, x = threadIdx.x % 16;
#pragma unroll
        for (int k = 0; k < a_side::D; k++) {
            float a[T], b[T];
#pragma unroll
            for (int i = 0; i < T; i += 4) {
                *(float4 *)&a[i] = *(const float4 *)a_side::at(a_slice, place(y, i), k);
                *(float4 *)&b[i] = *(const float4 *)b_side::at(b_slice, place(x, i), k);
            }
#pragma unroll
            for (int i = 0; i < T; i++)
#pragma unroll
                for (int j = 0; j < T; j++)
                    sums[i][j] = fmaf(a[i], b[j], sums[i][j]);
        }
    }
    __device__ void give(float *to)
    {
        const int y = threadIdx.x / 16, x = threadIdx.x % 16;
#pragma unroll
        for (int i = 0; i < T; i++)
#pragma unroll
            for (int j = 0; j < T; j++)
                to[place(y, i) * PITCH + place(x, j)] = sums[i][j];
    }
};

// 8 warps, 2 x 4; a warp has R/2 x R/4 sums.
template <int R, bool BF16, class A, class B> struct half_math {
    static const int STAGES = 4, MI = R / 32, NI = R / 32, PITCH = R + 8;
    typedef half_side<R, BF16, A> a_side;
    typedef half_side<R, BF16, B> b_side;
    float sums[MI][NI][4];

    __device__ void start()
    {
#pragma unroll
        for (int i = 0; i < MI * NI * 4; i++)
            sums[i / 4 / NI][i / 4 % NI][i % 4] = 0.0f;
    }
    __device__ void add(char *a_slice, char *b_slice)
    {
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
        const int m = warp / 4 * (R / 2), n = warp % 4 * (R / 4);
#pragma unroll
        for (int k = 0; k < a_side::D; k += 16) {
            u32 a[MI][4], b[NI][2];
#pragma unroll
            for (int i = 0; i < MI; i++) {
                const int row = A::along ? lane % 16 : lane / 8 % 2 * 8;
                const int depth = A::along ? lane / 16 * 8 : lane % 8 + lane / 16 * 8;
                load_matrices<!A::along>(a[i], a_side::at(a_slice, m + i * 16 + row, k + depth));
            }
#pragma unroll
            for (int j = 0; j < NI; j += 2) {
                const int row = B::along ? lane % 8 + lane / 16 * 8 : lane / 16 * 8;
                const int depth = B::along ? lane / 8 % 2 * 8 : lane % 16;
                load_matrices<!B::along>(b[j], b_side::at(b_slice, n + j * 8 + row, k + depth));
            }
#pragma unroll
            for (int i = 0; i < MI; i++)
#pragma unroll
                for (int j = 0; j < NI; j++)
                    multiply<BF16>(sums[i][j], a[i], b[j]);
        }
    }
    __device__ void give(float *to)
    {
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
        const int m = warp / 4 * (R / 2) + lane / 4, n = warp % 4 * (R / 4) + lane % 4 * 2;
#pragma unroll
        for (int i = 0; i < MI; i++)
#pragma unroll
            for (int j = 0; j < NI; j++)
#pragma unroll
                for (int half = 0; half < 2; half++)
                    *(float2 *)&to[(m + i * 16 + half * 8) * PITCH + n + j * 8] =
                        make_float2(sums[i][j][2 * half], sums[i][j][2 * half + 1]);
    }
};

// ---- tiles ----
// Tiles that run side by side share rows or columns.
struct corner {
    int piece, batch, m, n;
};
FN corner corner_of(u32 number, const extents &z, int tile_m, int tile_n)
{
    const u32 tiles_m = (z.m + tile_m - 1) / tile_m, tiles_n = (z.n + tile_n - 1) / tile_n;
    const u32 each = tiles_m * tiles_n, whole = number / each, rest = number % each;
    const u32 group = rest / (8 * tiles_n), first = group * 8;
    const u32 high = tiles_m - first < 8 ? tiles_m - first : 8, in = rest % (8 * tiles_n);
    return {(int)(whole / z.batch), (int)(whole % z.batch), (int)((first + in % high) * tile_m),
            (int)(in / high * tile_n)};
}

// Sums in shared memory to where they belong: through the epilogue, or a piece's to scratch.
template <int ROWS, int COLUMNS, int PITCH, class E>
FN void finish_tile(const float *tile, const E &with_epilogue, const extents &z, const corner &at,
                    int pieces, float *scratch)
{
    const int n = at.n + threadIdx.x % COLUMNS;
    if (n >= z.n)
        return;
    const int rows = z.m - at.m < ROWS ? z.m - at.m : ROWS;
    const float *from = tile + threadIdx.x % COLUMNS;
    const i64 first = ((i64)(at.piece * z.batch + at.batch) * z.m + at.m) * z.n + n;
    if (pieces > 1) {
        for (int r = threadIdx.x / COLUMNS; r < rows; r += 256 / COLUMNS)
            scratch[first + (i64)r * z.n] = from[r * PITCH];
        return;
    }
    with_epilogue(at.batch, n, [&](const auto &epilogue, const auto &look, auto nothing) INLINED {
        const int AT_ONCE = __is_empty(decltype(nothing)) ? 4 : 8, STEP = 256 / COLUMNS;
        for (int first = threadIdx.x / COLUMNS; first < rows; first += AT_ONCE * STEP) {
            decltype(nothing) seen[AT_ONCE];
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++)
                if (first + i * STEP < rows)
                    look(at.m + first + i * STEP, seen[i]);
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++)
                if (first + i * STEP < rows)
                    epilogue(at.m + first + i * STEP, from[(first + i * STEP) * PITCH], seen[i]);
        }
    });
}

template <int R, class MATH, class A, class B, class E>
FN void make_tile(const A &a, const B &b, const E &with_epilogue, const extents &z, i64 plan,
                  char *scratch)
{
    typedef typename MATH::a_side a_side;
    typedef typename MATH::b_side b_side;
    const int STAGES = MATH::STAGES, D = a_side::D;
    __shared__ typename a_side::marks a_marks;
    __shared__ typename b_side::marks b_marks;
    char *const a_ring = shared_room, *const b_ring = a_ring + STAGES * a_side::BYTES;
    const int pieces = (int)(plan & 0xffff), slices_all = (z.k + D - 1) / D;
    const corner at = corner_of(blockIdx.x, z, R, R);
    const int each = (slices_all + pieces - 1) / pieces, first = at.piece * each * D;
    const int end = first + each * D < z.k ? first + each * D : z.k;
    const int slices = (end - first + D - 1) / D; // none or less: nothing to add
    a_side a_moving;
    b_side b_moving;
    MATH math;
    math.start();
    mark_rows(a, a_marks, at.batch, at.m, z.m);
    mark_rows(b, b_marks, at.batch, at.n, z.n);
    mark_depths(a, a_marks, threadIdx.x, 0, first, end);
    mark_depths(b, b_marks, threadIdx.x - 128, 0, first, end);
    for (int s = 1 - STAGES; s < slices; s++) { // s < 0: the ring fills
        const int next = s + STAGES - 1, then = next % STAGES, left = end - first - next * D;
        char *const a_next = a_ring + then * a_side::BYTES;
        char *const b_next = b_ring + then * b_side::BYTES;
        await_copies<STAGES - 2>();
        __syncthreads();
        if (next < slices) {
            a_moving.fetch(a, a_marks, next, a_next, left);
            b_moving.fetch(b, b_marks, next, b_next, left);
        }
        close_copies();
        mark_depths(a, a_marks, threadIdx.x, next + 1, first, end);
        mark_depths(b, b_marks, threadIdx.x - 128, next + 1, first, end);
        if (s >= 0)
            math.add(a_ring + s % STAGES * a_side::BYTES, b_ring + s % STAGES * b_side::BYTES);
        if (next < slices) {
            a_moving.put(a, a_next);
            b_moving.put(b, b_next);
        }
    }
    await_copies<0>();
    __syncthreads();
    math.give((float *)shared_room);
    __syncthreads();
    finish_tile<R, R, MATH::PITCH>((const float *)shared_room, with_epilogue, z, at, pieces,
                                   (float *)scratch);
}

// ---- the sums of all pieces, in their order, and the epilogue ----
// A thread has JOINED columns and as many rows, so that what belongs to a row or to a column is loaded and computed once
// for all of the other. Columns are places of images, and sums lie image by image, in each row by row, if `places` > 0.
enum { SUMS_HALF = 1 << 22, JOINED = 4 };
struct joined {
    u32 batch, column, row;            // the first ones
    u32 columns_by, rows_by, places;   // how far the next ones are
};
template <int COLUMNS, bool INSIDE, bool BF16, class E>
FN void join_block(const E &with_epilogue, const extents &z, const joined &at, i64 plan, const char *scratch)
{
    const i64 all = (i64)z.batch * z.m * z.n;
    const auto is_in = [&](int i) INLINED { return INSIDE || at.row + i * at.rows_by < z.m; };
    float sums[COLUMNS][JOINED];
    i64 places[COLUMNS];
#pragma unroll
    for (int j = 0; j < COLUMNS; j++) {
        const u32 n = at.column + j * at.columns_by;
        places[j] = (i64)at.batch * z.m * z.n + (i64)(n / at.places) * z.m * at.places + n % at.places +
                    (i64)at.row * at.places;
#pragma unroll
        for (int i = 0; i < JOINED; i++)
            sums[j][i] = 0.0f;
    }
    const i64 row_by = (i64)at.rows_by * at.places;
    if (plan & SUMS_HALF) {
#pragma unroll
        for (int j = 0; j < COLUMNS; j++)
#pragma unroll
            for (int i = 0; i < JOINED; i++)
                if (is_in(i))
                    sums[j][i] = half_value<BF16>(((const u16 *)scratch)[places[j] + i * row_by]);
    } else {
        const int pieces = (int)(plan & 0xffff);
        for (int p = 0; p < pieces; p++)
#pragma unroll
            for (int j = 0; j < COLUMNS; j++)
#pragma unroll
                for (int i = 0; i < JOINED; i++)
                    if (is_in(i))
                        sums[j][i] += ((const float *)scratch)[p * all + places[j] + i * row_by];
    }
    with_epilogue(0, 0, [&](const auto &, const auto &, auto nothing) INLINED {
        decltype(nothing) seen[COLUMNS][JOINED]; // all, before the first element is written
#pragma unroll
        for (int j = 0; j < COLUMNS; j++)
            with_epilogue(at.batch, at.column + j * at.columns_by, [&](const auto &, const auto &look, auto) INLINED {
#pragma unroll
                for (int i = 0; i < JOINED; i++)
                    if (is_in(i))
                        look(at.row + i * at.rows_by, seen[j][i]);
            });
#pragma unroll
        for (int j = 0; j < COLUMNS; j++)
            with_epilogue(at.batch, at.column + j * at.columns_by, [&](const auto &epilogue, const auto &, auto) INLINED {
#pragma unroll
                for (int i = 0; i < JOINED; i++)
                    if (is_in(i))
                        epilogue(at.row + i * at.rows_by, sums[j][i], seen[j][i]);
            });
    });
}
template <bool BF16, class E>
FN void join_pieces(const E &with_epilogue, const extents &z, i64 plan, const char *scratch)
{
    u32 width = 256;
    while (width > 1 && width / 2 * JOINED >= (u32)z.n)
        width /= 2;
    joined at = {0, 0, 0, width, 256 / width, (u32)(plan >> 32)};
    at.places = at.places ? at.places : (u32)z.n;
    const u32 wide = width * JOINED, high = at.rows_by * JOINED;
    const u32 across = (z.n + wide - 1) / wide, down = (z.m + high - 1) / high;
    for (u32 tile = blockIdx.x; tile < across * down * z.batch; tile += gridDim.x) {
        const u32 rest = tile / across;
        at.batch = rest / down;
        at.row = rest % down * high + threadIdx.x / width;
        at.column = tile % across * wide + threadIdx.x % width;
        if (at.column + (JOINED - 1) * width < z.n && at.row + (JOINED - 1) * at.rows_by < z.m) {
            join_block<JOINED, true, BF16>(with_epilogue, z, at, plan, scratch);
            continue;
        }
        for (int j = 0; j < JOINED && at.column < z.n; j++, at.column += width)
            join_block<1, false, BF16>(with_epilogue, z, at, plan, scratch);
    }
}

// The same sums of neighbours: of those from number `first` on, of `all`.
template <bool BF16, int N>
FN void take_sums(float (&to)[N], const char *scratch, i64 plan, i64 first, i64 all)
{
    if (plan & SUMS_HALF) {
        const auto some = take<pack<u16, N>>((const u16 *)scratch + first);
#pragma unroll
        for (int j = 0; j < N; j++)
            to[j] = half_value<BF16>(some.get(j));
        return;
    }
    const int pieces = (int)(plan & 0xffff);
#pragma unroll
    for (int j = 0; j < N; j++)
        to[j] = 0.0f;
    for (int p = 0; p < pieces; p++) {
        const auto some = take<pack<float, N>>((const float *)scratch + p * all + first);
#pragma unroll
        for (int j = 0; j < N; j++)
            to[j] += some.get(j);
    }
}

// ---- dense copies of operands that are no matrices in memory ----
FN void put_element(float *to, float value) { *to = value; }
template <bool BF16> struct half_element {
    u16 bits;
};
template <bool BF16> FN void put_element(half_element<BF16> *to, float value)
{
    to->bits = half_bits<BF16>(value);
}
// A block copies 256 rows, 32 deep. BY_DEPTH: neighbours are those of k, else rows.
template <class T, bool BY_DEPTH, class O>
FN void copy_operand(const O &o, int rows, int depths, T *to)
{
    const int R = 256, D = 32, AT_ONCE = 8;
    __shared__ tables<R, D, O> at;
    const int across = (rows + R - 1) / R, deep = (depths + D - 1) / D;
    const int row = blockIdx.x % across * R, k = blockIdx.x / across % deep * D;
    const int batch = blockIdx.x / across / deep;
    mark_rows(o, at, batch, row, rows);
    mark_depths(o, at, threadIdx.x, 0, k, depths);
    __syncthreads();
    for (int first = 0; first < D; first += AT_ONCE) {
        float values[AT_ONCE];
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) {
            const int e = threadIdx.x + (first + i) * R;
            values[i] = o.value(at.rows[BY_DEPTH ? e / D : e % R],
                                at.depths[0][BY_DEPTH ? e % D : e / R]);
        }
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) {
            const int e = threadIdx.x + (first + i) * R;
            const i64 r = row + (BY_DEPTH ? e / D : e % R), d = k + (BY_DEPTH ? e % D : e / R);
            if (r < rows && d < depths)
                put_element(to + (BY_DEPTH ? (batch * (i64)rows + r) * depths + d
                                           : (batch * (i64)depths + d) * rows + r),
                            values[i]);
        }
    }
}
template <class T, class O>
FN void copy_operand(const O &o, int rows, int depths, bool by_depth, char *to)
{
    if (by_depth)
        copy_operand<T, true>(o, rows, depths, (T *)to);
    else
        copy_operand<T, false>(o, rows, depths, (T *)to);
}

// ---- few rows: a warp a column, its k divided among lanes; both operands along k, and wide ----
// COUNT: elements of 16 bytes.
template <int COUNT, bool BF16, class O>
FN void load_wide(const O &o, const int *row, int k, float *to)
{
    int parts[O::parts];
    o.depth(k, parts);
    const uint4 bits = *(const uint4 *)o.place(row, parts);
    const u32 words[] = {bits.x, bits.y, bits.z, bits.w};
#pragma unroll
    for (int j = 0; j < COUNT; j++)
        to[j] = COUNT == 8 ? half_value<BF16>((u16)(words[j / 2] >> j % 2 * 16))
                           : __uint_as_float(words[j]);
}
template <int COUNT, bool BF16, class A, class B, class E>
FN void make_columns(const A &a, const B &b, const E &with_epilogue, const extents &z)
{
    const int M = 4, lane = threadIdx.x % 32;
    const u32 column = blockIdx.x * 8 + threadIdx.x / 32;
    const int batch = (int)(column / z.n), n = (int)(column % z.n);
    if (batch >= z.batch)
        return;
    int a_rows[M][A::parts], b_row[B::parts];
    float sums[M] = {};
    b.row(batch, n, b_row);
#pragma unroll
    for (int m = 0; m < M; m++)
        a.row(batch, m < z.m ? m : 0, a_rows[m]);
#pragma unroll 2
    for (int k = lane * COUNT; k < z.k; k += 32 * COUNT) {
        float x[COUNT], y[COUNT];
        load_wide<COUNT, BF16>(b, b_row, k, y);
#pragma unroll
        for (int m = 0; m < M; m++) {
            if (m >= z.m)
                break;
            load_wide<COUNT, BF16>(a, a_rows[m], k, x);
#pragma unroll
            for (int j = 0; j < COUNT; j++)
                sums[m] = fmaf(x[j], y[j], sums[m]);
        }
    }
    float mine = 0.0f; // lane m ends row m
#pragma unroll
    for (int m = 0; m < M; m++) {
        for (int far = 16; far > 0; far /= 2)
            sums[m] += __shfl_xor_sync(0xffffffffu, sums[m], far);
        mine = lane == m ? sums[m] : mine;
    }
    if (lane < M && lane < z.m)
        with_epilogue(batch, n, [&](const auto &epilogue, const auto &look, auto seen) INLINED {
            look(lane, seen);
            epilogue(lane, mine, seen);
        });
}
