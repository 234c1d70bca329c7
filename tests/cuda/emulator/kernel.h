/* SPDX-License-Identifier: Apache-2.0
 * What kernels of backends/cfamily find of CUDA, in C++ for the host. A block's threads are
 * fibers of one thread (threads.c); blocks run one after another. */
#pragma once

#include <math.h>
#include <string.h>

#define __device__
#define __forceinline__ inline
#define __global__
#define __launch_bounds__(...)
#define __grid_constant__
#define __shared__ static
#define __align__(n) __attribute__((aligned(n)))

struct emulated_place {
    unsigned x, y, z;
};
struct __align__(16) uint4 {
    unsigned x, y, z, w;
};
struct __align__(16) float4 {
    float x, y, z, w;
};
struct __align__(8) float2 {
    float x, y;
};
static inline float2 make_float2(float x, float y) { return {x, y}; }
struct __align__(8) uint2 {
    unsigned x, y;
};
extern "C" {
extern emulated_place emulated_thread, emulated_block, emulated_threads, emulated_grid;
void emulated_wait(int of_warp);
unsigned long long *emulated_own_word(void);
const unsigned long long *emulated_word_of(unsigned thread);
}
#define threadIdx emulated_thread
#define blockIdx emulated_block
#define blockDim emulated_threads
#define gridDim emulated_grid

static inline void __syncthreads() { emulated_wait(0); }
static inline void __syncwarp() { emulated_wait(1); }
static inline void __threadfence() {}
static inline bool __isGlobal(const void *) { return true; }

template <class To, class From> static inline To emulated_bits(From from)
{
    static_assert(sizeof(To) == sizeof(From), "");
    To to;
    memcpy(&to, &from, sizeof to);
    return to;
}
static inline int __float_as_int(float f) { return emulated_bits<int>(f); }
static inline unsigned __float_as_uint(float f) { return emulated_bits<unsigned>(f); }
static inline float __int_as_float(int i) { return emulated_bits<float>(i); }
static inline float __uint_as_float(unsigned i) { return emulated_bits<float>(i); }
static inline double __longlong_as_double(long long i) { return emulated_bits<double>(i); }
static inline long long __double_as_longlong(double f) { return emulated_bits<long long>(f); }

template <class T> static inline T __shfl_sync(unsigned, T value, int lane)
{
    memcpy(emulated_own_word(), &value, sizeof value);
    emulated_wait(1);
    T other;
    unsigned thread = (emulated_thread.x & ~31u) + (unsigned)(lane & 31);
    memcpy(&other, emulated_word_of(thread), sizeof other);
    return other;
}
template <class T> static inline T __shfl_xor_sync(unsigned, T value, int mask)
{
    return __shfl_sync(0, value, (int)(emulated_thread.x & 31) ^ mask);
}
static inline int __ffs(unsigned bits) { return __builtin_ffs((int)bits); }
template <class T> static inline T __ldcg(const T *from) { return *from; }
static inline unsigned atomicInc(unsigned *at, unsigned most)
{
    unsigned before = *at;
    *at = before >= most ? 0 : before + 1;
    return before;
}
static inline int atomicCAS(int *at, int expected, int value)
{
    int before = *at;
    if (before == expected)
        *at = value;
    return before;
}

/* The instructions that the prelude writes as assembly; compile.py puts these in their place. */
static inline unsigned emulated_bf16(float value)
{
    unsigned bits = __float_as_uint(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return 0x7fff;
    return (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
}
static inline unsigned short emulated_to_f16(float value)
{
    return emulated_bits<unsigned short>((_Float16)value);
}
static inline float emulated_from_f16(unsigned short bits)
{
    return (float)emulated_bits<_Float16>(bits);
}
static inline float emulated_max(float a, float b)
{
    return a != a || b != b ? NAN : a > b ? a : b;
}
static inline float emulated_min(float a, float b) { return -emulated_max(-a, -b); }

/* ---- what product.cuh and attention.cuh write as assembly ---- */
static inline void copy_later(void *to, const void *from, bool there)
{
    if (there)
        memcpy(to, from, 16);
    else
        memset(to, 0, 16);
}
static inline void close_copies() {}
template <int OPEN> static inline void await_copies() {}
static inline float exp2_of(float a) { return exp2f(a); }

static inline unsigned emulated_half_at(const char *row, int column)
{
    unsigned short bits;
    memcpy(&bits, row + column * 2, sizeof bits);
    return bits;
}
/* Four matrices of 8 x 8; lane 8 * i + r says where row r of matrix i is. */
template <bool TURNED> static inline void load_matrices(unsigned *to, const void *from)
{
    int lane = (int)(emulated_thread.x & 31), high = lane / 4, low = lane % 4 * 2;
    for (int i = 0; i < 4; i++) {
        const char *first = (const char *)__shfl_sync(0, from, 8 * i + (TURNED ? low : high));
        const char *second = (const char *)__shfl_sync(0, from, 8 * i + (TURNED ? low + 1 : high));
        to[i] = emulated_half_at(first, TURNED ? high : low) |
                emulated_half_at(second, TURNED ? high : low + 1) << 16;
    }
}
template <bool BF16> static inline float emulated_half(unsigned bits)
{
    return BF16 ? __uint_as_float(bits << 16) : emulated_from_f16((unsigned short)bits);
}
/* 16 x 8 sums += 16 x 16 times 16 x 8, spread over the lanes of a warp. */
template <bool BF16> static inline void multiply(float *sums, const unsigned *a, const unsigned *b)
{
    int lane = (int)(emulated_thread.x & 31), row = lane / 4, column = lane % 4 * 2;
    for (int part = 0; part < 8; part++) { /* two neighbours of k */
        int k = part / 4, from = part % 4;
        unsigned rows[] = {__shfl_sync(0, a[2 * k], row * 4 + from),
                           __shfl_sync(0, a[2 * k + 1], row * 4 + from)};
        unsigned columns[] = {__shfl_sync(0, b[k], column * 4 + from),
                              __shfl_sync(0, b[k], column * 4 + 4 + from)};
        for (int i = 0; i < 4; i++)
            sums[i] += emulated_half<BF16>(rows[i / 2] & 0xffff) *
                           emulated_half<BF16>(columns[i % 2] & 0xffff) +
                       emulated_half<BF16>(rows[i / 2] >> 16) *
                           emulated_half<BF16>(columns[i % 2] >> 16);
    }
}
