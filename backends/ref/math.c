/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "backends/ref/interp.h"

static double negative(double x)
{
    return -x;
}

static double sign(double x)
{
    return x > 0 ? 1.0 : x < 0 ? -1.0 : 0.0;
}

static double rsqrt(double x)
{
    return 1.0 / sqrt(x);
}

static double recip(double x)
{
    return 1.0 / x;
}

static double log_gamma(double x)
{
    int gamma_sign; /* lgamma() would write a global */
    return lgamma_r(x, &gamma_sign);
}

static double sigmoid(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

/* Psi: reflection for negative x, recurrence up to 10, then the asymptotic series with the
 * Bernoulli numbers. Source: Abramowitz and Stegun 6.3.5, 6.3.7, 6.3.18. */
static double digamma(double x)
{
    static const double pi = 3.14159265358979323846;
    static const double terms[] = {1.0 / 12,  -1.0 / 120,       1.0 / 252, -1.0 / 240,
                                   1.0 / 132, -691.0 / 32760.0, 1.0 / 12};
    if (x == 0.0)
        return copysign(INFINITY, -x);
    if (isinf(x))
        return x > 0 ? x : NAN;
    double less = 0.0;
    if (x < 0.0) {
        double whole = 0.0;
        double part = modf(x, &whole);
        if (part == 0.0)
            return NAN;
        less = pi / tan(pi * part);
        x = 1.0 - x;
    }
    while (x < 10.0) {
        less += 1.0 / x;
        x += 1.0;
    }
    double inverse_square = 1.0 / (x * x), power = inverse_square, series = 0.0;
    for (unsigned i = 0; i < sizeof terms / sizeof *terms; i++) {
        series += terms[i] * power;
        power *= inverse_square;
    }
    return log(x) - 0.5 / x - series - less;
}

bd_ref_unary bd_ref_unary_of(bd_kir_code code)
{
    static const bd_ref_unary functions[BD_KIR_CODE_COUNT] = {
        [BD_KIR_NEG] = negative,    [BD_KIR_ABS] = fabs,         [BD_KIR_SIGN] = sign,
        [BD_KIR_FLOOR] = floor,     [BD_KIR_CEIL] = ceil,        [BD_KIR_TRUNC] = trunc,
        [BD_KIR_ROUND] = rint,      [BD_KIR_SQRT] = sqrt,        [BD_KIR_RSQRT] = rsqrt,
        [BD_KIR_RECIP] = recip,     [BD_KIR_EXP] = exp,          [BD_KIR_EXP2] = exp2,
        [BD_KIR_EXPM1] = expm1,     [BD_KIR_LOG] = log,          [BD_KIR_LOG2] = log2,
        [BD_KIR_LOG10] = log10,     [BD_KIR_LOG1P] = log1p,      [BD_KIR_SIN] = sin,
        [BD_KIR_COS] = cos,         [BD_KIR_TAN] = tan,          [BD_KIR_ASIN] = asin,
        [BD_KIR_ACOS] = acos,       [BD_KIR_ATAN] = atan,        [BD_KIR_SINH] = sinh,
        [BD_KIR_COSH] = cosh,       [BD_KIR_TANH] = tanh,        [BD_KIR_ASINH] = asinh,
        [BD_KIR_ACOSH] = acosh,     [BD_KIR_ATANH] = atanh,      [BD_KIR_ERF] = erf,
        [BD_KIR_ERFC] = erfc,       [BD_KIR_LGAMMA] = log_gamma, [BD_KIR_DIGAMMA] = digamma,
        [BD_KIR_SIGMOID] = sigmoid,
    };
    return functions[code];
}

static double add(double a, double b)
{
    return a + b;
}

static double subtract(double a, double b)
{
    return a - b;
}

static double multiply(double a, double b)
{
    return a * b;
}

static double divide(double a, double b)
{
    return a / b;
}

/* Source: Python's float_floor_div; NumPy's answer for b = 0. */
static double floor_divide(double a, double b)
{
    if (b == 0.0)
        return a / b;
    double rest = fmod(a, b);
    double quotient = (a - rest) / b;
    if (rest != 0.0 && (b < 0.0) != (rest < 0.0))
        quotient -= 1.0;
    if (quotient == 0.0)
        return copysign(0.0, a / b);
    double whole = floor(quotient);
    return quotient - whole > 0.5 ? whole + 1.0 : whole;
}

/* Source: Python's float_rem. */
static double modulo(double a, double b)
{
    double rest = fmod(a, b);
    if (rest == 0.0)
        return copysign(0.0, b);
    return (b < 0.0) != (rest < 0.0) ? rest + b : rest;
}

static double maximum(double a, double b)
{
    if (isnan(a) || isnan(b))
        return a + b;
    return a < b ? b : a;
}

static double minimum(double a, double b)
{
    if (isnan(a) || isnan(b))
        return a + b;
    return b < a ? b : a;
}

bd_ref_binary bd_ref_binary_of(bd_kir_code code)
{
    static const bd_ref_binary functions[BD_KIR_CODE_COUNT] = {
        [BD_KIR_ADD] = add,     [BD_KIR_SUB] = subtract, [BD_KIR_MUL] = multiply,
        [BD_KIR_DIV] = divide,  [BD_KIR_POW] = pow,      [BD_KIR_FLOORDIV] = floor_divide,
        [BD_KIR_MOD] = modulo,  [BD_KIR_FMOD] = fmod,    [BD_KIR_ATAN2] = atan2,
        [BD_KIR_MAX] = maximum, [BD_KIR_MIN] = minimum,  [BD_KIR_FMAX] = fmax,
        [BD_KIR_FMIN] = fmin,
    };
    return functions[code];
}

/* Source: Salmon et al., Parallel random numbers: as easy as 1, 2, 3 (SC 2011). */
void bd_ref_philox(int64_t element, int64_t seed, int64_t offset, uint32_t out_words[4])
{
    uint64_t counter = (uint64_t)element, stream = (uint64_t)offset, key = (uint64_t)seed;
    uint32_t w[4] = {(uint32_t)counter, (uint32_t)(counter >> 32), (uint32_t)stream,
                     (uint32_t)(stream >> 32)};
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)0xD2511F53u * w[0], b = (uint64_t)0xCD9E8D57u * w[2];
        uint32_t next[4] = {(uint32_t)(b >> 32) ^ w[1] ^ k0, (uint32_t)b,
                            (uint32_t)(a >> 32) ^ w[3] ^ k1, (uint32_t)a};
        for (int i = 0; i < 4; i++)
            w[i] = next[i];
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    for (int i = 0; i < 4; i++)
        out_words[i] = w[i];
}
