// SPDX-License-Identifier: Apache-2.0
// Attention of 16-bit floats by tiles, on product.cuh: a block of 128 threads has 128 queries, a
// warp 32 of them, and passes over the keys 64 at a time; maxima and sums are kept as it goes.
enum { C_WIDE = 1 << 20, C_BY_DEPTH = 1 << 21, OUT_WIDE = 1 << 23,
       QUERIES_WIDE = 1 << 24 };
enum { QUERIES = 128, KEYS = 64 };

// ---- attention instructions ----
FN float exp2_of(float a)
{
    float result;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(a));
    return result;
}
// ---- end of attention instructions
template <bool BF16> FN u32 halves(float low, float high)
{
    return BF16 ? bf16_pair(low, high) : f16_pair(low, high);
}

// An element of a block of rows, D numbers each.
template <int D> FN char *block_at(char *block, int row, int k)
{
    return block + row * (D * 2) + ((k >> 3 ^ (row & 7)) << 4) + (k & 7) * 2;
}
template <int R, int D, bool BF16, class O>
FN void fill(const O &o, const int (*rows)[O::parts], const int (*depths)[O::parts], char *to,
             int rows_left, int depth_left)
{
    if (O::along && o.wide) {
#pragma unroll
        for (int i = 0; i < R * D / 1024; i++) {
            const int e = threadIdx.x + i * 128, row = e / (D / 8), k = e % (D / 8) * 8;
            copy_later(block_at<D>(to, row, k), o.place(rows[row], depths[k]),
                       row < rows_left && k < depth_left);
        }
        return;
    }
    for (int e = threadIdx.x; e < R * D; e += 128) {
        const int row = o.by_depth ? e / D : e % R, k = o.by_depth ? e % D : e / R;
        const bool there = row < rows_left && k < depth_left;
        *(u16 *)block_at<D>(to, row, k) =
            there ? half_bits<BF16>(o.value(rows[row], depths[k])) : (u16)0;
    }
}
template <int R, class O>
FN void mark_block(const O &o, int (*rows)[O::parts], int batch, int first, int count)
{
    for (int r = threadIdx.x; r < R; r += 128)
        o.row(batch, first + r < count ? first + r : 0, rows[r]);
}
template <int D, class O> FN void mark_all_depths(const O &o, int (*depths)[O::parts], int count)
{
    for (int k = threadIdx.x; k < D; k += 128)
        o.depth(k < count ? k : 0, depths[k]);
}

// What a warp knows of its queries: two times 16 rows, of which a thread has four.
template <int D> struct passed {
    float out[2][D / 8][4], most[2][2], sum[2][2];
};

template <int D, bool BF16, bool PRODUCT>
FN void add_scores(float (*s)[KEYS / 8][4], char *queries, char *keys, int depth)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
    for (int i = 0; i < 2 * KEYS / 2; i++)
        s[i / 32][i / 4 % 8][i % 4] = 0.0f;
#pragma unroll
    for (int k = 0; k < D; k += 16) {
        if (!PRODUCT || k >= depth)
            break;
        u32 q[2][4], b[4];
#pragma unroll
        for (int i = 0; i < 2; i++)
            load_matrices<false>(
                q[i], block_at<D>(queries, warp * 32 + i * 16 + lane % 16, k + lane / 16 * 8));
#pragma unroll
        for (int j = 0; j < KEYS / 8; j += 2) {
            load_matrices<false>(b, block_at<D>(keys, j * 8 + lane % 8 + lane / 16 * 8,
                                                k + lane / 8 % 2 * 8));
#pragma unroll
            for (int i = 0; i < 2; i++) {
                multiply<BF16>(s[i][j], q[i], b);
                multiply<BF16>(s[i][j + 1], q[i], b + 2);
            }
        }
    }
}

// WHOLE: no score of this tile is left out.
template <int D, bool BF16, bool WHOLE, class S>
FN void weigh(passed<D> &p, float (*s)[KEYS / 8][4], const S &score, int batch, int row, int rows,
              int key, int key_count)
{
    const float log2_e = 1.44269504f;
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            int m = row + i * 16 + half * 8 + lane / 4;
            m = m < rows ? m : rows - 1;
            float most = p.most[i][half];
#pragma unroll
            for (int j = 0; j < KEYS / 8 * 2; j++) {
                float &at = s[i][j / 2][half * 2 + j % 2];
                const int n = key + j / 2 * 8 + lane % 4 * 2 + j % 2;
                at = WHOLE || n < key_count ? score(WHOLE, batch, m, n, at) : -inf_f();
                most = fmaxf(most, at);
            }
            most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 1));
            most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 2));
            const float base = most == -inf_f() ? 0.0f : most * log2_e;
            const float scale = exp2_of(fmaf(p.most[i][half], log2_e, -base));
            float sum = 0.0f;
#pragma unroll
            for (int j = 0; j < KEYS / 8 * 2; j++) {
                float &at = s[i][j / 2][half * 2 + j % 2];
                at = exp2_of(fmaf(at, log2_e, -base));
                sum += at;
            }
            p.sum[i][half] = fmaf(p.sum[i][half], scale, sum);
            p.most[i][half] = most;
#pragma unroll
            for (int j = 0; j < D / 8; j++) {
                p.out[i][j][half * 2] *= scale;
                p.out[i][j][half * 2 + 1] *= scale;
            }
        }
}

template <int D, bool BF16>
FN void add_values(passed<D> &p, const float (*s)[KEYS / 8][4], char *values, int width)
{
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int k = 0; k < KEYS / 16; k++) {
        u32 a[2][4], b[4];
#pragma unroll
        for (int i = 0; i < 2; i++)
#pragma unroll
            for (int r = 0; r < 4; r++)
                a[i][r] = halves<BF16>(s[i][2 * k + r / 2][r % 2 * 2],
                                     s[i][2 * k + r / 2][r % 2 * 2 + 1]);
#pragma unroll
        for (int j = 0; j < D / 8; j += 2) {
            if (j * 8 >= width)
                break;
            load_matrices<true>(b, block_at<D>(values, k * 16 + lane % 16, j * 8 + lane / 16 * 8));
#pragma unroll
            for (int i = 0; i < 2; i++) {
                multiply<BF16>(p.out[i][j], a[i], b);
                multiply<BF16>(p.out[i][j + 1], a[i], b + 2);
            }
        }
    }
}

// The sums over their weights, to where they belong.
template <int D, class E>
FN void finish_queries(passed<D> &p, const E &with_epilogue, int batch, int first, int rows,
                       int width)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, PITCH = D + 8;
    float *const tile = (float *)shared_room;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            float sum = p.sum[i][half];
            sum += __shfl_xor_sync(0xffffffffu, sum, 1);
            sum += __shfl_xor_sync(0xffffffffu, sum, 2);
            const float share = sum == 0.0f ? 0.0f : 1.0f / sum;
            float *to = tile + (warp * 32 + i * 16 + half * 8 + lane / 4) * PITCH + lane % 4 * 2;
#pragma unroll
            for (int j = 0; j < D / 8; j++) {
                to[j * 8] = p.out[i][j][half * 2] * share;
                to[j * 8 + 1] = p.out[i][j][half * 2 + 1] * share;
            }
        }
    __syncthreads();
    const int e = threadIdx.x % D, left = rows - first < QUERIES ? rows - first : QUERIES;
    with_epilogue(batch, e, [&](const auto &epilogue, const auto &look, auto nothing) INLINED {
        const int AT_ONCE = 4, STEP = 128 / D;
        for (int r = threadIdx.x / D; r < left && e < width; r += AT_ONCE * STEP) {
            decltype(nothing) seen[AT_ONCE];
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++)
                if (r + i * STEP < left)
                    look(first + r + i * STEP, seen[i]);
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++)
                if (r + i * STEP < left)
                    epilogue(first + r + i * STEP, tile[(r + i * STEP) * PITCH + e], seen[i]);
        }
    });
}

// A key n is seen by a query m only where n <= m + reach.
struct spans {
    int batch, m, n, k, e;
    int reach;
};

template <int D, bool BF16, bool PRODUCT, class A, class B, class C, class S, class E>
FN void attend_queries(const A &a, const B &b, const C &c, const S &score, const E &with_epilogue,
                       const spans &z)
{
    __shared__ int a_rows[QUERIES][A::parts], b_rows[2][KEYS][B::parts], c_rows[2][KEYS][C::parts];
    __shared__ int a_depths[D][A::parts], b_depths[D][B::parts], c_depths[D][C::parts];
    char *const queries = shared_room, *const ring = queries + (PRODUCT ? QUERIES * D * 2 : 0);
    const int BYTES = KEYS * D * 2, EACH = PRODUCT ? 2 : 1; // keys, then values
    const int tiles_m = (z.m + QUERIES - 1) / QUERIES, batch = blockIdx.x / tiles_m;
    const int first = (tiles_m - 1 - blockIdx.x % tiles_m) * QUERIES; // the longest begin
    const int mine = first + threadIdx.x / 32 * 32;                   // a warp's first query
    const i64 end = (i64)first + QUERIES + z.reach;
    const int seen = end < z.n ? (end < 0 ? 0 : (int)end) : z.n;
    const int tiles = (seen + KEYS - 1) / KEYS;
    passed<D> p;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        p.most[i / 2][i % 2] = -inf_f();
        p.sum[i / 2][i % 2] = 0.0f;
    }
#pragma unroll
    for (int i = 0; i < D; i++)
        p.out[i / (D / 2)][i / 4 % (D / 8)][i % 4] = 0.0f;
    mark_all_depths<D>(c, c_depths, z.e);
    mark_block<KEYS>(c, c_rows[0], batch, 0, z.n);
    if (PRODUCT) {
        mark_all_depths<D>(a, a_depths, z.k);
        mark_all_depths<D>(b, b_depths, z.k);
        mark_block<QUERIES>(a, a_rows, batch, first, z.m);
        mark_block<KEYS>(b, b_rows[0], batch, 0, z.n);
        __syncthreads();
        fill<QUERIES, D, BF16>(a, a_rows, a_depths, queries, z.m - first, z.k);
    }
    for (int t = -1; t < tiles; t++) { // t < 0: the first keys and values come
        const int next = t + 1, then = next & 1, key = t * KEYS;
        char *const keys = ring + (then ^ 1) * EACH * BYTES;
        char *const coming = ring + then * EACH * BYTES;
        await_copies<0>();
        __syncthreads();
        if (next < tiles) {
            if (PRODUCT)
                fill<KEYS, D, BF16>(b, b_rows[then], b_depths, coming, z.n - next * KEYS, z.k);
            fill<KEYS, D, BF16>(c, c_rows[then], c_depths, coming + (EACH - 1) * BYTES,
                                z.n - next * KEYS, z.e);
            close_copies();
        }
        if (PRODUCT)
            mark_block<KEYS>(b, b_rows[then ^ 1], batch, (next + 1) * KEYS, z.n);
        mark_block<KEYS>(c, c_rows[then ^ 1], batch, (next + 1) * KEYS, z.n);
        if (t < 0)
            continue;
        if (mine >= z.m || (i64)mine + 31 + z.reach < key)
            continue;
        float s[2][KEYS / 8][4];
        add_scores<D, BF16, PRODUCT>(s, queries, keys, z.k);
        if (key + KEYS <= z.n && key + KEYS - 1 <= (i64)mine + z.reach)
            weigh<D, BF16, true>(p, s, score, batch, mine, z.m, key, z.n);
        else
            weigh<D, BF16, false>(p, s, score, batch, mine, z.m, key, z.n);
        add_values<D, BF16>(p, s, keys + (EACH - 1) * BYTES, z.e);
    }
    await_copies<0>();
    finish_queries<D>(p, with_epilogue, batch, first, z.m, z.e);
}
