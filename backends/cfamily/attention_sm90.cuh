// SPDX-License-Identifier: Apache-2.0
// Attention by the matrix instructions of sm_90, on attention.cuh: keys and values are read 16
// bytes at once. A block goes on from tile to tile of 128 queries: of its three groups of 128
// threads the first reads, keys and values 128 at a time, the others have 64 queries each. While
// one of them multiplies, the other makes weights of its scores, and each multiplies by the values
// of one tile while it makes the weights of the next.
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
enum { TILE = 128, RING = 3, READERS = 128, READER_REGISTERS = 56, OTHER_REGISTERS = 224 };

// ---- matrix instructions ----
FN void show_copies() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
FN void open_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
FN void close_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int OPEN> FN void await_products()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(OPEN) : "memory");
}
template <int COUNT> FN void take_registers()
{
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(COUNT));
}
template <int COUNT> FN void give_registers()
{
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(COUNT));
}
// What is read of these comes after what was written here.
template <int COUNT> FN void settle(float *d)
{
#pragma unroll
    for (int i = 0; i < COUNT; i++)
        asm volatile("" : "+f"(d[i])::"memory");
}
#define F4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define F16(i) F4(i), F4(i + 4), F4(i + 8), F4(i + 12)
#define D32 \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define D64 \
    D32 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
// 64 x 128 sums are, or += if ADDS, 64 x 16 times 16 x 128: both in shared memory, along k.
#define SCORES_OF(TYPE) \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\n" \
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32." TYPE "." TYPE " {" D64 "}, " \
                 "%64, %65, p, 1, 1, 0, 0;\n}" \
                 : F16(0), F16(16), F16(32), F16(48) \
                 : "l"(a), "l"(b), "n"(ADDS))
template <bool BF16, int ADDS> FN void multiply_keys(float *d, u64 a, u64 b)
{
    if (BF16)
        SCORES_OF("bf16");
    else
        SCORES_OF("f16");
}
// 64 x D sums += 64 x 16 in registers times 16 x D in shared memory, across k.
#define SUMS_OF_64(TYPE) \
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32." TYPE "." TYPE " {" D32 "}, " \
                 "{%32, %33, %34, %35}, %36, 1, 1, 1, 1;" \
                 : F16(0), F16(16) \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b))
#define SUMS_OF_128(TYPE) \
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32." TYPE "." TYPE " {" D64 "}, " \
                 "{%64, %65, %66, %67}, %68, 1, 1, 1, 1;" \
                 : F16(0), F16(16), F16(32), F16(48) \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b))
template <bool BF16> FN void multiply_values(float (&d)[32], const u32 *a, u64 b)
{
    if (BF16)
        SUMS_OF_64("bf16");
    else
        SUMS_OF_64("f16");
}
template <bool BF16> FN void multiply_values(float (&d)[64], const u32 *a, u64 b)
{
    if (BF16)
        SUMS_OF_128("bf16");
    else
        SUMS_OF_128("f16");
}

// Counts arrivals; a phase ends when all have come, and then the next begins.
FN void open_gate(u64 *gate, int arrivals)
{
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(gate)), "r"(arrivals)
                 : "memory");
}
FN void arrive(u64 *gate)
{
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(shared_address(gate)) : "memory");
}
FN bool has_passed(u64 *gate, u32 phase)
{
    u32 done;
    asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared.b64 p, [%1], %2;\n"
                 "selp.u32 %0, 1, 0, p;\n}"
                 : "=r"(done)
                 : "r"(shared_address(gate)), "r"(phase)
                 : "memory");
    return done;
}
FN void pass(u64 *gate, u32 phase)
{
    while (!has_passed(gate, phase))
        ;
}
template <int THREADS> FN void meet(int number)
{
    asm volatile("bar.sync %0, %1;" ::"r"(number), "n"(THREADS) : "memory");
}
template <int THREADS> FN void let_pass(int number)
{
    asm volatile("bar.arrive %0, %1;" ::"r"(number), "n"(THREADS) : "memory");
}
// ---- end of matrix instructions

// Where a matrix lies: in pieces of 8 x 128 bytes, permuted; `far` apart in the direction of
// memory, 1024 bytes in the other. `low` is what differs: one that lies n bytes on has n / 16 more.
FN u32 low_of(const void *at, int far)
{
    return (shared_address(at) & 0x3ffff) >> 4 | (u32)(far >> 4) << 16;
}
FN u64 matrix_of(u32 low) { return (u64)((1024 >> 4) | 1 << 30) << 32 | low; }
// A block of 128 rows, D numbers each: 64 numbers of all rows, then the next 64.
FN char *piece_at(char *block, int row, int k)
{
    return block + (k / 64 * TILE + row) * 128 + ((k / 8 % 8 ^ (row & 7)) << 4);
}

// Ring slots go to the others by `full`, and come back by `empty`; so do the queries.
struct gates {
    u64 key_full[RING], key_empty[RING], value_full[RING], value_empty[RING], query_full,
        query_empty;
    int work; // the tile at hand, which goes with the queries; -1: there is none any more
};
// A slot of the ring and the phase of its gates, from one to the next.
struct turn {
    u32 at, phase;
    __device__ void step()
    {
        at = at + 1 == RING ? 0 : at + 1;
        phase ^= at == 0;
    }
};
enum { BARRIER_READERS = 1, BARRIER_TURN = 2, BARRIER_OWN = 4, BARRIER_BOTH = 6 };

struct share {
    int batch, first, tiles;
};
FN share share_of(int work, const spans &z)
{
    const int tiles_m = (z.m + TILE - 1) / TILE;
    const int first = (tiles_m - 1 - work % tiles_m) * TILE; // the longest of a batch begin
    const i64 end = (i64)first + TILE + z.reach;
    const int seen = end < z.n ? (end < 0 ? 0 : (int)end) : z.n;
    return {work / tiles_m, first, (seen + TILE - 1) / TILE};
}

// What a reader of keys or values knows: where its piece of the first row is, how far rows lie
// apart, and of which rows it copies that piece: `row`, and every EACH-th behind it.
template <int D, class O> struct reader {
    static const int EACH = READERS / (D / 8);
    const char *start;
    i64 step;
    int row, k;
    bool there;
    __device__ void begin(int width)
    {
        row = threadIdx.x / (D / 8);
        k = threadIdx.x % (D / 8) * 8;
        there = k < width;
    }
    __device__ void go_to(const O &o, int batch, int rows)
    {
        int base[O::parts], next[O::parts], depth[O::parts];
        o.depth(there ? k : 0, depth);
        o.row(batch, 0, base);
        o.row(batch, rows > 1 ? 1 : 0, next);
        start = (const char *)o.place(base, depth);
        step = (const char *)o.place(next, depth) - start;
    }
    __device__ void fetch(char *block, int first, int rows)
    {
        char *const to = piece_at(block, row, k); // its pieces are permuted alike
        const char *from = start + (first + row) * step;
        const i64 stride = EACH * step;
        if (first + TILE <= rows) {
#pragma unroll
            for (int i = 0; i < D / 8; i++, from += stride)
                copy_later(to + i * EACH * 128, from, there);
        } else {
#pragma unroll 1
            for (int i = 0; i < D / 8; i++) {
                const bool here = there && first + row + i * EACH < rows;
                copy_later(to + i * EACH * 128, here ? from + i * stride : start, here);
            }
        }
    }
};

// The queries of a tile, each number made of one in memory.
template <int D, bool BF16, class A, class Q>
FN void fetch_queries_wide(const A &a, const Q &query, char *to, int batch, int first,
                           const spans &z)
{
    reader<D, A> own;
    own.begin(z.k);
    own.go_to(a, batch, z.m);
    own.fetch(to, first, z.m);
    close_copies();
    await_copies<0>();
#pragma unroll 2
    for (int i = 0; i < D / 8 && !A::plain; i++) {
        uint4 *const at = (uint4 *)piece_at(to, own.row + i * own.EACH, own.k);
        u32 words[4] = {at->x, at->y, at->z, at->w};
        const bool here = own.there && first + own.row + i * own.EACH < z.m;
#pragma unroll
        for (int j = 0; j < 4; j++)
            words[j] = here ? halves<BF16>(query(half_value<BF16>((u16)words[j])),
                                           query(half_value<BF16>((u16)(words[j] >> 16))))
                            : 0u;
        *at = {words[0], words[1], words[2], words[3]};
    }
}
// The queries of a tile, by whatever makes them.
template <int D, bool BF16, class A>
FN void fetch_queries(const A &a, char *to, int batch, int first, const spans &z)
{
    const int k = threadIdx.x % (D / 2) * 2;
    int low[A::parts], high[A::parts];
    a.depth(k < z.k ? k : 0, low);
    a.depth(k + 1 < z.k ? k + 1 : 0, high);
#pragma unroll 8
    for (int i = 0; i < D / 2; i++) {
        const int r = threadIdx.x / (D / 2) + i * (READERS / (D / 2));
        int row[A::parts];
        a.row(batch, first + r < z.m ? first + r : 0, row);
        const u32 x = half_bits<BF16>(a.value(row, low)), y = half_bits<BF16>(a.value(row, high));
        *(u32 *)(piece_at(to, r, k) + k % 8 * 2) =
            (k < z.k ? x : 0u) | (k + 1 < z.k ? y : 0u) << 16;
    }
}

template <int D, bool BF16, class A, class Q, class B, class C>
FN void read_all(const A &a, const Q &query, bool queries_wide, const B &b, const C &c,
                 const spans &z, gates &g, char *queries, char *ring, int works, u32 *counter)
{
    const int BYTES = TILE * D * 2;
    u64 *older = nullptr, *newer = nullptr; // of what is on its way
    reader<D, B> keys;
    reader<D, C> values;
    keys.begin(z.k);
    values.begin(z.e);
    const auto tell = [&](u64 *&gate) INLINED {
        if (gate)
            arrive(gate);
        gate = nullptr;
    };
    const auto tell_all = [&]() INLINED {
        await_copies<0>();
        show_copies();
        tell(older);
        tell(newer);
    };
    const auto fetch = [&](auto &from, u64 *full, u64 *empty, u32 slot, char *to,
                           int first) INLINED {
        const u32 phase = slot / RING & 1 ^ 1;
        if (!has_passed(empty, phase)) {
            tell_all();
            pass(empty, phase);
        }
        from.fetch(to, first, z.n);
        close_copies();
        await_copies<2>();
        show_copies();
        tell(older);
        older = newer;
        newer = full;
    };
    __shared__ int claimed;
    u32 slot = 0;
    for (u32 round = 0;; round++) {
        if (threadIdx.x == 0)
            claimed = (int)atomicInc(counter, works + gridDim.x - 1);
        meet<READERS>(BARRIER_READERS);
        const int work = __shfl_sync(0xffffffffu, claimed, 0);
        meet<READERS>(BARRIER_READERS);
        const share s = work < works ? share_of(work, z) : share{0, 0, 0};
        keys.go_to(b, s.batch, z.n);
        values.go_to(c, s.batch, z.n);
        const auto fetch_keys = [&](int t) INLINED {
            const u32 at = (slot + t) % RING;
            fetch(keys, &g.key_full[at], &g.key_empty[at], slot + t, ring + at * 2 * BYTES,
                  t * TILE);
        };
        const auto fetch_values = [&](int t) INLINED {
            const u32 at = (slot + t) % RING;
            fetch(values, &g.value_full[at], &g.value_empty[at], slot + t,
                  ring + (at * 2 + 1) * BYTES, t * TILE);
        };
        if (s.tiles > 0)
            fetch_keys(0);
        if (s.tiles > 1)
            fetch_keys(1);
        tell_all();
        pass(&g.query_empty, round & 1 ^ 1);
        if (threadIdx.x == 0)
            g.work = work < works ? work : -1;
        if (work < works && queries_wide)
            fetch_queries_wide<D, BF16>(a, query, queries, s.batch, s.first, z);
        else if (work < works)
            fetch_queries<D, BF16>(a, queries, s.batch, s.first, z);
        show_copies();
        arrive(&g.query_full);
        if (work >= works)
            break;
        for (int t = 0; t < s.tiles; t++) { // in the order in which they are used
            if (t > 0 && t + 1 < s.tiles)
                fetch_keys(t + 1);
            fetch_values(t);
        }
        slot += s.tiles;
    }
}

// What a thread knows of its two queries: what their scores are compared with, which is a former
// maximum as long as weights stay below e^GROWTH.
struct weighed {
    float most[2], sum[2], scale[2];
};
static const float GROWTH = 5.0f, LOG2_E = 1.44269504f;
// The maxima of the scores. WHOLE: no score of this tile is left out. Four chains, since each
// waits for the one before it. Whether sums are to be scaled.
template <bool WHOLE, class S>
FN bool compare_tile(weighed &w, float *s, const S &score, int batch, int row, int key,
                     const spans &z)
{
    const int lane = threadIdx.x % 32;
    float most[2][2];
    int m[2];
#pragma unroll
    for (int half = 0; half < 2; half++) {
        most[half][0] = most[half][1] = w.most[half];
        m[half] = row + half * 8 + lane / 4;
        m[half] = m[half] < z.m ? m[half] : z.m - 1;
    }
#pragma unroll
    for (int j = 0; j < TILE / 2; j++) {
        const int half = j / 2 % 2, n = key + j / 4 * 8 + lane % 4 * 2 + j % 2;
        s[j] = WHOLE || n < z.n ? score(WHOLE, batch, m[half], n, s[j]) : -inf_f();
        most[half][j % 2] = fmaxf(most[half][j % 2], s[j]);
    }
#pragma unroll
    for (int half = 0; half < 2; half++)
        most[half][0] = fmaxf(most[half][0], most[half][1]);
#pragma unroll
    for (int lanes = 1; lanes <= 2; lanes *= 2)
#pragma unroll
        for (int half = 0; half < 2; half++)
            most[half][0] =
                fmaxf(most[half][0], __shfl_xor_sync(0xffffffffu, most[half][0], lanes));
    const bool grows = most[0][0] - w.most[0] > GROWTH || most[1][0] - w.most[1] > GROWTH;
    if (!__any_sync(0xffffffffu, grows))
        return false;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const float base = most[half][0] == -inf_f() ? 0.0f : most[half][0] * LOG2_E;
        w.scale[half] = exp2_of(fmaf(w.most[half], LOG2_E, -base));
        w.sum[half] *= w.scale[half];
        w.most[half] = most[half][0];
    }
    return true;
}
// Scores become weights.
template <bool BF16> FN void weigh_tile(weighed &w, const float *s, u32 *weights)
{
    float base[2], sum[2][2] = {{0.0f, 0.0f}, {0.0f, 0.0f}};
#pragma unroll
    for (int half = 0; half < 2; half++)
        base[half] = w.most[half] == -inf_f() ? 0.0f : w.most[half] * LOG2_E;
#pragma unroll
    for (int i = 0; i < TILE / 4; i++) {
        const float low = exp2_of(fmaf(s[2 * i], LOG2_E, -base[i % 2]));
        const float high = exp2_of(fmaf(s[2 * i + 1], LOG2_E, -base[i % 2]));
        sum[i % 2][0] += low;
        sum[i % 2][1] += high;
        weights[i] = halves<BF16>(low, high);
    }
#pragma unroll
    for (int half = 0; half < 2; half++)
        w.sum[half] += sum[half][0] + sum[half][1];
}

// A tile of 64 columns to where they belong, 8 at once; rows of the tile are permuted.
template <bool BF16, class P>
FN void store_wide(const float *tile, const P &place, int batch, int first, int column, int left,
                   const spans &z)
{
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const int row = (threadIdx.x % 128 + i * 128) / 8, piece = threadIdx.x % 8;
        if (row >= left || column + piece * 8 >= z.e)
            continue;
        const float4 *const from = (const float4 *)&tile[row * 64 + (piece ^ row % 8) * 8];
        const float4 low = from[0], high = from[1];
        give_16(place(batch, first + row, column + piece * 8),
                    {halves<BF16>(low.x, low.y), halves<BF16>(low.z, low.w),
                     halves<BF16>(high.x, high.y), halves<BF16>(high.z, high.w)});
    }
}
// The same one by one, by whatever else is done with them.
template <class E>
FN void store_each(const float *tile, const E &with_epilogue, int batch, int first, int column,
                   int left, const spans &z)
{
    const int own = threadIdx.x % 64, e = column + own;
    if (e >= z.e)
        return;
    with_epilogue(batch, e, [&](const auto &epilogue, const auto &look, auto nothing) INLINED {
        const int AT_ONCE = 4;
        for (int r = threadIdx.x % 128 / 64; r < left; r += AT_ONCE * 2) {
            decltype(nothing) seen[AT_ONCE];
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++)
                if (r + i * 2 < left)
                    look(first + r + i * 2, seen[i]);
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++)
                if (r + i * 2 < left)
                    epilogue(first + r + i * 2,
                             tile[(r + i * 2) * 64 + (own ^ (r + i * 2) % 8 * 8)], seen[i]);
        }
    });
}

// Sums over weights to where they belong, 64 columns at a time.
template <int D, bool BF16, class E, class P>
FN void finish_group(const weighed &w, const float *out, float *tile, int own,
                     const E &with_epilogue, const P &place, bool wide, int batch, int first,
                     const spans &z)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
    float share[2];
#pragma unroll
    for (int half = 0; half < 2; half++) {
        float sum = w.sum[half];
        sum += __shfl_xor_sync(0xffffffffu, sum, 1);
        sum += __shfl_xor_sync(0xffffffffu, sum, 2);
        share[half] = sum == 0.0f ? 0.0f : 1.0f / sum;
    }
    const int left = z.m - first < 64 ? z.m - first : 64;
#pragma unroll
    for (int part = 0; part < D / 64; part++) {
        meet<128>(own);
#pragma unroll
        for (int i = 0; i < 16; i++) { // pairs
            const int half = i % 2, from = part * 32 + i / 2 * 4 + half * 2;
            *(float2 *)&tile[(warp * 16 + half * 8 + lane / 4) * 64 +
                             ((i / 2 ^ lane / 4) * 8 + lane % 4 * 2)] =
                make_float2(out[from] * share[half], out[from + 1] * share[half]);
        }
        meet<128>(own);
        if (wide)
            store_wide<BF16>(tile, place, batch, first, part * 64, left, z);
        else
            store_each(tile, with_epilogue, batch, first, part * 64, left, z);
    }
}

template <int D, bool BF16, class S, class E, class P>
FN void attend_all(const S &score, const E &with_epilogue, const P &place, bool wide,
                   const spans &z, gates &g, char *queries, char *ring)
{
    // The compiler learns so that warps have one group, and below one tile.
    const int BYTES = TILE * D * 2;
    const int group = __shfl_sync(0xffffffffu, (int)threadIdx.x / 128 - 1, 0);
    const bool first_lane = threadIdx.x % 32 == 0;
    const u32 from = low_of(queries + group * 64 * 128, 16);
    turn key = {0, 0}, value = {0, 0};
    if (group == 1)
        let_pass<256>(BARRIER_TURN);
    for (u32 round = 0;; round++) {
        pass(&g.query_full, round & 1);
        const int work = __shfl_sync(0xffffffffu, g.work, 0);
        if (work < 0)
            break;
        const share at = share_of(work, z);
        const int row = at.first + group * 64 + threadIdx.x / 32 % 4 * 16;
        float s[64], out[D / 2];
        u32 weights[32];
        weighed w = {{-inf_f(), -inf_f()}, {0.0f, 0.0f}, {1.0f, 1.0f}};
#pragma unroll
        for (int i = 0; i < D / 2; i++)
            out[i] = 0.0f;
        const auto multiply_tile = [&]() INLINED {
            const u32 a = from, b = low_of(ring + key.at * 2 * BYTES, 16);
            multiply_keys<BF16, 0>(s, matrix_of(a), matrix_of(b));
#pragma unroll
            for (int k = 16; k < D; k += 16) {
                const int on = (k / 64 * TILE * 128 + k % 64 * 2) / 16;
                multiply_keys<BF16, 1>(s, matrix_of(a + on), matrix_of(b + on));
            }
            close_products();
        };
        const auto add_tile = [&]() INLINED {
            const u32 b = low_of(ring + (value.at * 2 + 1) * BYTES, TILE * 128);
#pragma unroll
            for (int k = 0; k < TILE / 16; k++)
                multiply_values<BF16>(out, weights + 4 * k, matrix_of(b + k * 16 * 128 / 16));
            close_products();
        };
        const auto compare = [&](int t) INLINED -> bool {
            const int key = t * TILE, mine = at.first + group * 64;
            if (key + TILE <= z.n && key + TILE - 1 <= (i64)mine + z.reach)
                return compare_tile<true>(w, s, score, at.batch, row, key, z);
            return compare_tile<false>(w, s, score, at.batch, row, key, z);
        };
        const auto give_back = [&](u64 *gate) INLINED {
            if (first_lane)
                arrive(gate);
        };
        if (at.tiles > 0) {
            pass(&g.key_full[key.at], key.phase);
            open_products();
            multiply_tile();
            await_products<0>();
            settle<64>(s);
            give_back(&g.key_empty[key.at]);
            key.step();
            if (at.tiles == 1)
                give_back(&g.query_empty);
            compare(0);
            weigh_tile<BF16>(w, s, weights);
        }
        for (int t = 1; t < at.tiles; t++) {
            pass(&g.key_full[key.at], key.phase);
            pass(&g.value_full[value.at], value.phase);
            meet<256>(BARRIER_TURN + group);
            open_products();
            multiply_tile();
            add_tile();
            let_pass<256>(BARRIER_TURN + 1 - group);
            await_products<1>();
            settle<64>(s);
            give_back(&g.key_empty[key.at]);
            key.step();
            if (t == at.tiles - 1)
                give_back(&g.query_empty);
            const bool scales = compare(t);
            await_products<0>();
            settle<D / 2>(out);
            give_back(&g.value_empty[value.at]);
            value.step();
            if (scales) {
#pragma unroll
                for (int i = 0; i < D / 2; i++)
                    out[i] *= w.scale[i / 2 % 2];
            }
            weigh_tile<BF16>(w, s, weights);
        }
        if (at.tiles > 0) {
            pass(&g.value_full[value.at], value.phase);
            open_products();
            add_tile();
            await_products<0>();
            settle<D / 2>(out);
        }
        if (D == 128)
            meet<256>(BARRIER_BOTH); // the last values become room for sums
        char *const room = D == 64 ? ring + 2 * RING * BYTES
                                   : at.tiles > 0 ? ring + (value.at * 2 + 1) * BYTES : queries;
        finish_group<D, BF16>(w, out, (float *)room + group * 64 * 64, BARRIER_OWN + group,
                              with_epilogue, place, wide, at.batch, at.first + group * 64, z);
        __syncwarp();
        give_back(at.tiles > 0 ? &g.value_empty[value.at] : &g.query_empty);
        if (at.tiles > 0)
            value.step();
    }
}

template <int D, bool BF16, class A, class Q, class B, class C, class S, class E, class P>
FN void attend_by_groups(const A &a, const Q &query, bool queries_wide, const B &b, const C &c,
                         const S &score, const E &with_epilogue, const P &place, bool wide,
                         const spans &z, u32 *counter)
{
    __shared__ gates g;
    char *const queries = shared_room, *const ring = queries + TILE * D * 2;
    const int works = z.batch * ((z.m + TILE - 1) / TILE);
    if (threadIdx.x == 0) {
        for (int i = 0; i < RING; i++) {
            open_gate(&g.key_full[i], READERS);
            open_gate(&g.value_full[i], READERS);
            open_gate(&g.key_empty[i], 8);
            open_gate(&g.value_empty[i], 8);
        }
        open_gate(&g.query_full, READERS);
        open_gate(&g.query_empty, 8);
        show_copies();
    }
    __syncthreads();
    if (threadIdx.x < READERS) {
        give_registers<READER_REGISTERS>();
        read_all<D, BF16>(a, query, queries_wide, b, c, z, g, queries, ring, works, counter);
    } else {
        take_registers<OTHER_REGISTERS>();
        attend_all<D, BF16>(score, with_epilogue, place, wide, z, g, queries, ring);
    }
}
#endif
