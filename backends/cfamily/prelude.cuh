// SPDX-License-Identifier: Apache-2.0
// What generated kernels stand on: types, arithmetic as backends/kir/kir.def defines it, random
// numbers, reductions over a block, sorting. Includes nothing: compiled by NVRTC as a part of
// every kernel. f16 and bf16 values are floats that hold a value of their type (to_f16, to_bf16).
typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
#define FN static __device__ __forceinline__
// A pointer out of memory is known to point there: its loads are then the faster ones.
#define IN_DEVICE_MEMORY(pointer) __builtin_assume(__isGlobal(pointer))

struct fault {
    i32 happened;
    u32 block;
    i64 position, extent;
};

template <class T> struct facts;
#define FACTS(T, U, SIGNED, BITS) \
    template <> struct facts<T> { \
        typedef U wide; \
        static const bool is_signed = SIGNED; \
        static const int bits = BITS; \
    };
FACTS(i8, u32, true, 8)
FACTS(i16, u32, true, 16)
FACTS(i32, u32, true, 32)
FACTS(i64, u64, true, 64)
FACTS(u8, u32, false, 8)
FACTS(u16, u32, false, 16)
FACTS(u32, u32, false, 32)
FACTS(u64, u64, false, 64)
template <> struct facts<bool> {
    typedef u32 wide;
    static const bool is_signed = false;
    static const int bits = 1;
};
#define INT template <class T> FN
#define WIDE typename facts<T>::wide

FN float inf_f() { return __int_as_float(0x7f800000); }
FN double inf_d() { return __longlong_as_double(0x7ff0000000000000ll); }
FN float nan_f() { return __int_as_float(0x7fc00000); }

// ---- 16-bit floats ----
FN float from_f16(u16 bits)
{
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
}
// One of two, by the instruction that converts a pair: that for one number is far slower.
FN u32 f16_pair(float low, float high)
{
    u32 both;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
}
FN u32 bf16_pair(float low, float high)
{
    u32 both;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
}
FN u16 as_f16(float value) { return (u16)f16_pair(value, 0.0f); }
FN float from_bf16(u16 bits) { return __uint_as_float((u32)bits << 16); }
FN u16 as_bf16(float value) { return (u16)bf16_pair(value, 0.0f); }
// Of what is a bf16 already.
FN u16 bits_bf16(float value) { return (u16)(__float_as_uint(value) >> 16); }
FN float to_f16(float value) { return from_f16(as_f16(value)); }
FN float to_bf16(float value) { return __uint_as_float(bf16_pair(0.0f, value)); }

// ---- conversions ----
// Truncates; out of range saturates; NaN gives 0.
template <class T> FN T int_from(double value)
{
    typedef facts<T> F;
    if (value != value)
        return 0;
    double limit = F::is_signed ? exp2((double)(F::bits - 1)) : exp2((double)F::bits);
    if (value >= limit)
        return F::is_signed ? (T)(((u64)1 << (F::bits - 1)) - 1) : (T)~(u64)0;
    if (!F::is_signed)
        return value <= 0 ? (T)0 : (T)(u64)value;
    return value <= -limit ? (T)((u64)1 << (F::bits - 1)) : (T)(i64)value;
}

// ---- floats, unary ----
#define FLOAT_UNARY(name, c_name) \
    FN float k_##name(float a) { return c_name##f(a); } \
    FN double k_##name(double a) { return c_name(a); }
FLOAT_UNARY(abs, fabs)
FLOAT_UNARY(floor, floor)
FLOAT_UNARY(ceil, ceil)
FLOAT_UNARY(trunc, trunc)
FLOAT_UNARY(round, rint)
FLOAT_UNARY(sqrt, sqrt)
FLOAT_UNARY(exp, exp)
FLOAT_UNARY(exp2, exp2)
FLOAT_UNARY(expm1, expm1)
FLOAT_UNARY(log, log)
FLOAT_UNARY(log2, log2)
FLOAT_UNARY(log10, log10)
FLOAT_UNARY(log1p, log1p)
FLOAT_UNARY(sin, sin)
FLOAT_UNARY(cos, cos)
FLOAT_UNARY(tan, tan)
FLOAT_UNARY(asin, asin)
FLOAT_UNARY(acos, acos)
FLOAT_UNARY(atan, atan)
FLOAT_UNARY(sinh, sinh)
FLOAT_UNARY(cosh, cosh)
FLOAT_UNARY(tanh, tanh)
FLOAT_UNARY(asinh, asinh)
FLOAT_UNARY(acosh, acosh)
FLOAT_UNARY(atanh, atanh)
FLOAT_UNARY(erf, erf)
FLOAT_UNARY(erfc, erfc)
FN double k_lgamma(double a) { return lgamma(a); }
FN float k_lgamma(float a) { return (float)lgamma((double)a); }
#define FLOAT template <class T> FN
FN float k_neg(float a) { return -a; }
FN double k_neg(double a) { return -a; }
FN float k_sign(float a) { return (float)((a > 0) - (a < 0)); }
FN double k_sign(double a) { return (double)((a > 0) - (a < 0)); }
FN float k_rsqrt(float a) { return 1.0f / sqrtf(a); }
FN double k_rsqrt(double a) { return 1.0 / sqrt(a); }
FN float k_recip(float a) { return 1.0f / a; }
FN double k_recip(double a) { return 1.0 / a; }
FN float k_sigmoid(float a) { return 1.0f / (1.0f + expf(-a)); }
FN double k_sigmoid(double a) { return 1.0 / (1.0 + exp(-a)); }
FLOAT bool k_isnan(T a) { return a != a; }
FN bool k_isinf(float a) { return fabsf(a) == inf_f(); }
FN bool k_isinf(double a) { return fabs(a) == inf_d(); }
// Reflection for negative x, recurrence up to 10, then the asymptotic series.
// Source: Abramowitz and Stegun 6.3.5, 6.3.7, 6.3.18.
FN double k_digamma(double x)
{
    const double terms[] = {1.0 / 12,  -1.0 / 120,       1.0 / 252, -1.0 / 240,
                            1.0 / 132, -691.0 / 32760.0, 1.0 / 12};
    if (x == 0.0)
        return copysign(inf_d(), -x);
    if (fabs(x) == inf_d())
        return x > 0 ? x : x - x;
    double less = 0.0;
    if (x < 0.0) {
        double part = x - trunc(x);
        if (part == 0.0)
            return part / part;
        less = 3.14159265358979323846 / tan(3.14159265358979323846 * part);
        x = 1.0 - x;
    }
    while (x < 10.0) {
        less += 1.0 / x;
        x += 1.0;
    }
    double square = 1.0 / (x * x), power = square, series = 0.0;
    for (int i = 0; i < 7; i++) {
        series += terms[i] * power;
        power *= square;
    }
    return log(x) - 0.5 / x - series - less;
}
FN float k_digamma(float a) { return (float)k_digamma((double)a); }

// ---- floats, binary ----
#define FLOAT_BOTH(result, name, body) \
    FN result##_of_float k_##name(float a, float b) body \
    FN result##_of_double k_##name(double a, double b) body
typedef float same_of_float;
typedef double same_of_double;
FLOAT_BOTH(same, add, { return a + b; })
FLOAT_BOTH(same, sub, { return a - b; })
FLOAT_BOTH(same, mul, { return a * b; })
FLOAT_BOTH(same, div, { return a / b; })
FLOAT_BOTH(same, max, { return a != a || b != b ? a + b : a < b ? b : a; })
FLOAT_BOTH(same, min, { return a != a || b != b ? a + b : b < a ? b : a; })
FN float k_fmax(float a, float b) { return fmaxf(a, b); }
FN double k_fmax(double a, double b) { return fmax(a, b); }
FN float k_fmin(float a, float b) { return fminf(a, b); }
FN double k_fmin(double a, double b) { return fmin(a, b); }
FN float k_fmod(float a, float b) { return fmodf(a, b); }
FN double k_fmod(double a, double b) { return fmod(a, b); }
FN float k_pow(float a, float b) { return powf(a, b); }
FN double k_pow(double a, double b) { return pow(a, b); }
FN float k_atan2(float a, float b) { return atan2f(a, b); }
FN double k_atan2(double a, double b) { return atan2(a, b); }
FN float k_nextafter(float a, float b) { return nextafterf(a, b); }
FN double k_nextafter(double a, double b) { return nextafter(a, b); }
// Neighbouring 16-bit floats are neighbouring integers of the same sign.
FN u16 next_bits(u16 from, bool up)
{
    if ((from & 0x7fffu) == 0)
        return up ? 0x0001u : 0x8001u;
    bool outward = up == ((from & 0x8000u) == 0);
    return (u16)(outward ? from + 1u : from - 1u);
}
FN float next_f16(float a, float b)
{
    return a != a || b != b ? a + b : a == b ? b : from_f16(next_bits(as_f16(a), a < b));
}
FN float next_bf16(float a, float b)
{
    return a != a || b != b ? a + b : a == b ? b : from_bf16(next_bits(as_bf16(a), a < b));
}
// Division of many by one: by its reciprocal, and what is left over. A divisor that is very large or
// small is moved first.
struct divisor {
    float b, reciprocal, scale;
};
FN divisor divisor_of(float b)
{
    float size = fabsf(b), scale = size >= 0x1p64f ? 0x1p-64f : size < 0x1p-60f ? 0x1p64f : 1.0f;
    if (size == inf_f())
        return {1.0f, 1.0f / b, 1.0f};
    return {b * scale, 1.0f / (b * scale), scale};
}
FN float divide(float a, divisor by)
{
    float about = a * by.reciprocal, rest = fmaf(-about, by.b, a);
    float result = fmaf(rest, by.reciprocal, about);
    return (fabsf(about) < inf_f() ? result : about) * by.scale;
}
// Source: Python's float_floor_div; NumPy's answer for b = 0.
FN double k_floordiv(double a, double b)
{
    if (b == 0.0)
        return a / b;
    double rest = fmod(a, b), quotient = (a - rest) / b;
    if (rest != 0.0 && (b < 0.0) != (rest < 0.0))
        quotient -= 1.0;
    if (quotient == 0.0)
        return copysign(0.0, a / b);
    double whole = floor(quotient);
    return quotient - whole > 0.5 ? whole + 1.0 : whole;
}
FN float k_floordiv(float a, float b) { return (float)k_floordiv((double)a, (double)b); }
// Source: Python's float_rem.
FN double k_mod(double a, double b)
{
    double rest = fmod(a, b);
    if (rest == 0.0)
        return copysign(0.0, b);
    return (b < 0.0) != (rest < 0.0) ? rest + b : rest;
}
FN float k_mod(float a, float b) { return (float)k_mod((double)a, (double)b); }
FN float k_fma(float a, float b, float c) { return fmaf(a, b, c); }
FN double k_fma(double a, double b, double c) { return fma(a, b, c); }

// ---- integers and bool: they wrap ----
INT T k_add(T a, T b) { return (T)((WIDE)a + (WIDE)b); }
FN bool k_add(bool a, bool b) { return a || b; }
INT T k_sub(T a, T b) { return (T)((WIDE)a - (WIDE)b); }
INT T k_mul(T a, T b) { return (T)((WIDE)a * (WIDE)b); }
INT T k_neg(T a) { return (T)((WIDE)0 - (WIDE)a); }
INT T k_abs(T a) { return facts<T>::is_signed && a < (T)0 ? k_neg(a) : a; }
INT T k_sign(T a) { return facts<T>::is_signed && a < (T)0 ? (T)-1 : (T)(a != 0); }
INT T k_not(T a) { return (T)~a; }
FN bool k_not(bool a) { return !a; }
INT T k_fma(T a, T b, T c) { return k_add(k_mul(a, b), c); }
INT T k_max(T a, T b) { return a < b ? b : a; }
INT T k_min(T a, T b) { return b < a ? b : a; }
INT T k_fmax(T a, T b) { return k_max(a, b); }
INT T k_fmin(T a, T b) { return k_min(a, b); }
INT T k_and(T a, T b) { return (T)(a & b); }
INT T k_or(T a, T b) { return (T)(a | b); }
INT T k_xor(T a, T b) { return (T)(a ^ b); }
// Truncating; by 0 it is 0; the least value by -1 wraps.
INT T k_div(T a, T b)
{
    if (b == 0)
        return 0;
    return facts<T>::is_signed && b == (T)-1 ? k_neg(a) : (T)(a / b);
}
INT T k_fmod(T a, T b)
{
    return b == 0 || (facts<T>::is_signed && b == (T)-1) ? (T)0 : (T)(a % b);
}
INT bool rounds_down(T a, T b)
{
    T rest = k_fmod(a, b);
    return facts<T>::is_signed && rest != 0 && (rest < (T)0) != (b < (T)0);
}
INT T k_floordiv(T a, T b) { return rounds_down(a, b) ? (T)(k_div(a, b) - 1) : k_div(a, b); }
INT T k_mod(T a, T b) { return rounds_down(a, b) ? (T)(k_fmod(a, b) + b) : k_fmod(a, b); }
// A negative exponent gives 0 but for 1 and -1. Source: PyTorch's powi.
INT T k_pow(T base, T exponent)
{
    if (facts<T>::is_signed && exponent < (T)0)
        return base == (T)1 ? (T)1 : base == (T)-1 ? (exponent & 1 ? (T)-1 : (T)1) : (T)0;
    T result = 1;
    for (u64 left = (u64)exponent; left; left >>= 1) {
        if (left & 1)
            result = k_mul(result, base);
        base = k_mul(base, base);
    }
    return result;
}
INT T k_shl(T a, T count)
{
    return (u64)count < (u64)facts<T>::bits ? (T)((u64)a << (u64)count) : (T)0;
}
INT T k_shr(T a, T count)
{
    bool outside = (u64)count >= (u64)facts<T>::bits;
    return outside ? (facts<T>::is_signed && a < (T)0 ? (T)-1 : (T)0) : (T)(a >> count);
}

// ---- random numbers ----
// Source: Salmon et al., Parallel random numbers: as easy as 1, 2, 3 (SC 2011).
struct words {
    u32 w[4];
};
FN words philox(i64 element, i64 seed, i64 offset)
{
    words at = {{(u32)element, (u32)((u64)element >> 32), (u32)offset, (u32)((u64)offset >> 32)}};
    u32 k0 = (u32)seed, k1 = (u32)((u64)seed >> 32);
    for (int round = 0; round < 10; round++) {
        u64 a = (u64)0xD2511F53u * at.w[0], b = (u64)0xCD9E8D57u * at.w[2];
        words next = {{(u32)(b >> 32) ^ at.w[1] ^ k0, (u32)b, (u32)(a >> 32) ^ at.w[3] ^ k1,
                       (u32)a}};
        at = next;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return at;
}
FN i64 random_bits(words at, int pair) { return (i64)((u64)at.w[2 * pair + 1] << 32 | at.w[2 * pair]); }
FN float random_f32(words at, int pair) { return (float)(at.w[2 * pair] >> 8) * 0x1p-24f; }
FN double random_f64(words at, int pair)
{
    return ((double)(at.w[2 * pair] >> 5) * 0x1p26 + (double)(at.w[2 * pair + 1] >> 6)) * 0x1p-53;
}

// ---- indices ----
// Not negative, and most often short.
FN i64 over(i64 a, i64 b)
{
    return (u64)(a | b) >> 32 ? a / b : (i64)((u32)a / (u32)b);
}
// Neighbours in memory; 16-bit ones as pairs, whose upper half is a bf16's value in place.
template <class T, int N> struct pack {
    T e[N];
    __device__ T get(int i) const { return e[i]; }
    __device__ void put(int i, T value) { e[i] = value; }
};
template <int N> struct pack<u16, N> {
    u32 e[N / 2];
    __device__ u16 get(int i) const { return (u16)(e[i / 2] >> i % 2 * 16); }
    __device__ float get_bf16(int i) const
    {
        return __uint_as_float(i % 2 ? e[i / 2] & 0xffff0000u : e[i / 2] << 16);
    }
    __device__ void put(int i, u16 value)
    {
        e[i / 2] = i % 2 ? e[i / 2] | (u32)value << 16 : (u32)value;
    }
};
template <class T> FN T take(const void *from)
{
    T to;
    if (sizeof(T) % 16 == 0) {
        uint4 words[sizeof(T) / 16 + 1];
#pragma unroll
        for (int i = 0; i < (int)sizeof(T) / 16; i++)
            words[i] = ((const uint4 *)from)[i];
        memcpy(&to, words, sizeof(T));
    } else if (sizeof(T) == 8) {
        uint2 words = *(const uint2 *)from;
        memcpy(&to, &words, sizeof(T));
    } else if (sizeof(T) == 4) {
        u32 word = *(const u32 *)from;
        memcpy(&to, &word, sizeof(T));
    } else {
        to = *(const T *)from;
    }
    return to;
}
// The compiler would take a store to pieces.
FN void give_16(void *to, uint4 words)
{
    asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};"
                 :: "l"(to), "r"(words.x), "r"(words.y), "r"(words.z), "r"(words.w) : "memory");
}
FN void give_8(void *to, uint2 words)
{
    asm volatile("st.global.v2.b32 [%0], {%1, %2};"
                 :: "l"(to), "r"(words.x), "r"(words.y) : "memory");
}
template <class T> FN void give(void *to, T from)
{
    if (sizeof(T) % 16 == 0) {
        uint4 words[sizeof(T) / 16 + 1];
        memcpy(words, &from, sizeof(T));
#pragma unroll
        for (int i = 0; i < (int)sizeof(T) / 16; i++)
            give_16((uint4 *)to + i, words[i]);
    } else if (sizeof(T) == 8) {
        uint2 words;
        memcpy(&words, &from, sizeof(T));
        give_8(to, words);
    } else if (sizeof(T) == 4) {
        u32 word;
        memcpy(&word, &from, sizeof(T));
        *(u32 *)to = word;
    } else {
        *(T *)to = from;
    }
}
FN bool inside(i64 at, i64 extent) { return at >= 0 && at < extent; }
FN i64 check(i64 position, i64 extent, bool wraps, fault *faults, int tag, u32 block)
{
    i64 at = position < 0 && wraps ? position + extent : position;
    if (at >= 0 && at < extent)
        return at;
    fault *to = faults + tag;
    // Read first: it lies in the host's memory, where a million atomic operations take a second.
    if (*(volatile i32 *)&to->happened == 0 && atomicCAS(&to->happened, 0, 1) == 0) {
        to->position = position;
        to->extent = extent;
        to->block = block;
    }
    return 0;
}

// ---- reductions: what was seen of a row ----
// Sums and products of floats are kept in double.
template <class A> struct wide_of { typedef A type; };
template <> struct wide_of<float> { typedef double type; };

template <class T> struct red_sum {
    typedef typename wide_of<T>::type W;
    W v;
    FN red_sum none() { return {(W)0}; }
    __device__ void see(T x, i64) { v = k_add(v, (W)x); }
    __device__ void join(red_sum o) { v = k_add(v, o.v); }
    __device__ T get() { return (T)v; }
};
template <class T> struct red_prod {
    typedef typename wide_of<T>::type W;
    W v;
    FN red_prod none() { return {(W)1}; }
    __device__ void see(T x, i64) { v = k_mul(v, (W)x); }
    __device__ void join(red_prod o) { v = k_mul(v, o.v); }
    __device__ T get() { return (T)v; }
};
INT T lowest_of(T) { return facts<T>::is_signed ? (T)((u64)1 << (facts<T>::bits - 1)) : (T)0; }
FN float lowest_of(float) { return -inf_f(); }
FN double lowest_of(double) { return -inf_d(); }
FN bool lowest_of(bool) { return false; }
INT T highest_of(T)
{
    return facts<T>::is_signed ? (T)(((u64)1 << (facts<T>::bits - 1)) - 1) : (T)~(u64)0;
}
FN float highest_of(float) { return inf_f(); }
FN double highest_of(double) { return inf_d(); }
FN bool highest_of(bool) { return true; }
// Better values, and of equals the first; NaN is best of all.
template <class T, bool MOST> struct red_most {
    T v;
    i64 at; // -1: nothing was seen
    FN red_most none() { return {MOST ? lowest_of(T()) : highest_of(T()), -1}; }
    __device__ void see(T x, i64 position)
    {
        red_most o = {x, position};
        join(o);
    }
    __device__ void join(red_most o)
    {
        if (o.at < 0)
            return;
        bool odd = v != v, other_odd = o.v != o.v;
        bool wins = other_odd ? !odd : !odd && (MOST ? o.v > v : o.v < v);
        bool ties = other_odd ? odd : !odd && o.v == v;
        if (at < 0 || wins || (ties && o.at < at))
            *this = o;
    }
    __device__ T get() { return v; }
    __device__ i64 where() { return at < 0 ? 0 : at; }
};

// The same without a position.
FN float greater(float a, float b)
{
    float most;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(most) : "f"(a), "f"(b));
    return most;
}
FN float lesser(float a, float b)
{
    float least;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(least) : "f"(a), "f"(b));
    return least;
}
template <class T> FN T greater(T a, T b) { return k_max(a, b); }
template <class T> FN T lesser(T a, T b) { return k_min(a, b); }
template <class T, bool MOST> struct red_end {
    T v;
    FN red_end none() { return {MOST ? lowest_of(T()) : highest_of(T())}; }
    __device__ void see(T x, i64) { v = MOST ? greater(v, x) : lesser(v, x); }
    __device__ void join(red_end o) { see(o.v, 0); }
    __device__ T get() { return v; }
};

// Joins what all threads of a block saw, in a fixed tree; all get the result. Threads: 256.
template <class R> static __device__ R block_join(R mine)
{
    __shared__ __align__(16) char room[256 * 16];
    R *all = (R *)room;
    __syncthreads();
    all[threadIdx.x] = mine;
    for (int half = 128; half > 0; half >>= 1) {
        __syncthreads();
        if (threadIdx.x < half)
            all[threadIdx.x].join(all[threadIdx.x + half]);
    }
    __syncthreads();
    R result = all[0];
    __syncthreads();
    return result;
}

// The same of a team of threads: a warp or the block.
template <class R> FN R of_lane(R mine, int lane)
{
    u32 from[sizeof(R) / 4 + 1], to[sizeof(R) / 4 + 1];
    R other;
    if (sizeof(R) < 4) {
        from[0] = 0;
        memcpy(from, &mine, sizeof(R));
        to[0] = __shfl_sync(0xffffffffu, from[0], lane);
    } else {
        memcpy(from, &mine, sizeof(R));
#pragma unroll
        for (int i = 0; i < (int)sizeof(R) / 4; i++)
            to[i] = __shfl_sync(0xffffffffu, from[i], lane);
    }
    memcpy(&other, to, sizeof(R));
    return other;
}
FN void team_sync(u32 team)
{
    if (team == 32)
        __syncwarp();
    else
        __syncthreads();
}
// The last of `count` ascending numbers that is not above a number.
FN u32 place_in(const i64 *from, u32 count, u32 number)
{
    u32 low = 0, high = count;
    while (low + 1 < high) {
        const u32 middle = (low + high) / 2;
        if (from[middle] <= (i64)number)
            low = middle;
        else
            high = middle;
    }
    return low;
}

// Each of the row's COUNT joins has a room of its own: a thread is in the next row's join only when
// all have left this one, if there is another between.
template <int NUMBER, int COUNT, class R> static __device__ R team_join(R mine, u32 team)
{
    __shared__ __align__(16) char room[8 * 16];
    R *all = (R *)room;
#pragma unroll
    for (int mask = 16; mask > 0; mask >>= 1)
        mine.join(of_lane(mine, (int)(threadIdx.x % 32) ^ mask));
    if (team == 32)
        return mine;
    if (threadIdx.x % 32 == 0)
        all[threadIdx.x / 32] = mine;
    __syncthreads();
    mine = all[0];
    for (int i = 1; i < 8; i++)
        mine.join(all[i]);
    if (COUNT == 1)
        __syncthreads();
    return mine;
}
// What a thread and those before it saw, behind what was carried; that grows by all of the team.
template <class R> static __device__ R team_scan(R &carry, R mine, u32 team)
{
    __shared__ __align__(16) char room[8 * 16];
    R *all = (R *)room, before = carry;
    const int lane = threadIdx.x % 32, warp = team == 32 ? 0 : threadIdx.x / 32;
    for (int step = 1; step < 32; step *= 2) {
        R other = of_lane(mine, lane >= step ? lane - step : lane);
        if (lane >= step)
            mine.join(other);
    }
    if (team == 32) {
        carry.join(of_lane(mine, 31));
    } else {
        if (lane == 31)
            all[warp] = mine;
        __syncthreads();
        for (int i = 0; i < 8; i++) {
            if (i < warp)
                before.join(all[i]);
            carry.join(all[i]);
        }
        __syncthreads();
    }
    before.join(mine);
    return before;
}
// What the 8 warps saw of their lanes' columns; the first warp gets the result.
template <class R, int N> static __device__ void columns_join(R (&mine)[N])
{
    __shared__ __align__(16) char room[N * 256 * sizeof(R)];
    R *all = (R *)room;
#pragma unroll
    for (int j = 0; j < N; j++)
        all[j * 256 + threadIdx.x] = mine[j];
    __syncthreads();
    if (threadIdx.x < 32)
#pragma unroll
        for (int j = 0; j < N; j++)
            for (int i = 1; i < 8; i++)
                mine[j].join(all[j * 256 + threadIdx.x + 32 * i]);
    __syncthreads();
}
// What a block saw of a row whose other parts other blocks see. The last of them, in time, joins
// all, in the order of their numbers.
FN bool is_last(u32 *counter, u32 count)
{
    __shared__ u32 before;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        before = atomicInc(counter, count - 1); // 0 again after the last
    __syncthreads();
    __threadfence();
    return before == count - 1;
}
template <class R> FN void put_part(char *scratch, i64 at, R part)
{
    *(R *)(scratch + at * 16) = part;
}
template <class R> FN R get_part(const char *scratch, i64 at)
{
    u32 words[sizeof(R) / 4 + 1];
    R part;
    for (int i = 0; i < (int)(sizeof(R) + 3) / 4; i++) // what other blocks wrote is in the L2 cache
        words[i] = __ldcg((const u32 *)(scratch + at * 16) + i);
    memcpy(&part, words, sizeof(R));
    return part;
}
// The same of columns from number `row` on, parts `count` apart. The first warp puts one; all of the
// last block get them, and join.
template <class R, int N>
static __device__ void columns_put(R (&mine)[N], char *scratch, i64 part, i64 row, i64 count)
{
    if (threadIdx.x < 32 && row < count)
#pragma unroll
        for (int j = 0; j < N; j++)
            put_part(scratch, part * count + row + j, mine[j]);
}
template <class R, int N>
static __device__ void columns_get(R (&mine)[N], char *scratch, i64 first, u32 parts, i64 row,
                                   i64 count)
{
#pragma unroll
    for (int j = 0; j < N; j++)
        mine[j] = R::none();
#pragma unroll 4
    for (u32 k = threadIdx.x / 32; row < count && k < parts; k += 8)
#pragma unroll
        for (int j = 0; j < N; j++)
            mine[j].join(get_part<R>(scratch, (first + k) * count + row + j));
    columns_join(mine);
}

FN double log_sum(double a, double b)
{
    double most = fmax(a, b), least = fmin(a, b);
    if (a != a || b != b)
        return a + b;
    return fabs(most) == inf_d() ? most : most + log1p(exp(least - most));
}

struct red_logsum {
    double v;
    FN red_logsum none() { return {-inf_d()}; }
    __device__ void see(double x, i64) { v = log_sum(v, x); }
    __device__ void join(red_logsum o) { v = log_sum(v, o.v); }
    __device__ double get() { return v; }
};

// ---- slots: a row's values, `step` apart ----
template <class T> struct slot {
    char *first; // 8 bytes each
    i64 step;
    __device__ T &operator[](i64 i) const { return *(T *)(first + i * step * 8); }
};
INT bool precedes(T b, T a) { return b < a; }
FN bool precedes(float b, float a) { return a != a ? b == b : b < a; }
FN bool precedes(double b, double a) { return a != a ? b == b : b < a; }
// Orders positions by their keys; equal ones stay as they are.
template <class T>
static __device__ void sort_row(slot<T> keys, slot<i64> order, slot<i64> room, i64 count, bool down)
{
    for (i64 i = 0; i < count; i++)
        order[i] = i;
    for (i64 width = 1; width < count; width *= 2) {
        for (i64 first = 0; first < count; first += 2 * width) {
            i64 middle = first + width < count ? first + width : count;
            i64 last = first + 2 * width < count ? first + 2 * width : count;
            i64 a = first, b = middle;
            for (i64 at = first; at < last; at++) {
                bool right = a == middle;
                if (!right && b < last)
                    right = down ? precedes(keys[order[a]], keys[order[b]])
                                 : precedes(keys[order[b]], keys[order[a]]);
                room[at] = right ? order[b++] : order[a++];
            }
        }
        for (i64 i = 0; i < count; i++)
            order[i] = room[i];
    }
}
// The same by a team: at each width, a position's new place is its own and how many of the run beside
// its run go before it.
template <class T>
static __device__ void team_sort(slot<T> keys, slot<i64> order, slot<i64> room, i64 count, bool down,
                                 u32 member, u32 team)
{
    slot<i64> from = order, to = room;
    for (i64 i = member; i < count; i += team)
        from[i] = i;
    team_sync(team);
    for (i64 width = 1; width < count; width *= 2) {
        for (i64 i = member; i < count; i += team) {
            const i64 first = i & ~(2 * width - 1);
            const i64 middle = first + width < count ? first + width : count;
            const i64 last = first + 2 * width < count ? first + 2 * width : count;
            const bool left = i < middle;
            const i64 mine = from[i];
            const T key = keys[mine];
            i64 low = left ? middle : first, high = left ? last : middle;
            while (low < high) {
                const i64 at = (low + high) / 2;
                const T other = keys[from[at]];
                const bool other_less = down ? precedes(key, other) : precedes(other, key);
                const bool key_less = down ? precedes(other, key) : precedes(key, other);
                if (left ? other_less : !key_less)
                    low = at + 1;
                else
                    high = at;
            }
            to[i + low - middle] = mine;
        }
        team_sync(team);
        const slot<i64> was = from;
        from = to;
        to = was;
    }
    if (from.first != order.first)
        for (i64 i = member; i < count; i += team)
            order[i] = from[i];
}
