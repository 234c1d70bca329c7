/* SPDX-License-Identifier: Apache-2.0
 * What kernels of backends/cfamily find of CUDA, in C++ for the host. A block's 256 threads are
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
struct __align__(8) uint2 {
    unsigned x, y;
};
extern "C" {
extern emulated_place emulated_thread, emulated_block, emulated_grid;
void emulated_wait(int of_warp);
unsigned long long *emulated_own_word(void);
const unsigned long long *emulated_word_of(unsigned thread);
}
#define threadIdx emulated_thread
#define blockIdx emulated_block
#define gridDim emulated_grid
static const emulated_place blockDim = {256, 1, 1};

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
