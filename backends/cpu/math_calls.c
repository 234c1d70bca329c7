/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/cpu/math_calls.h"

#include <math.h>

/* As Python and PyTorch: the quotient that belongs to the modulo with the divisor's sign. */
static double modulo(double x, double y)
{
    double rest = fmod(x, y);
    if (rest == 0)
        return copysign(0, y);
    return (rest < 0) != (y < 0) ? rest + y : rest;
}

static double floor_divide(double x, double y)
{
    if (y == 0)
        return x / y;
    double rest = fmod(x, y), quotient = (x - rest) / y;
    if (rest != 0 && (rest < 0) != (y < 0))
        quotient -= 1;
    if (quotient == 0)
        return copysign(0, x / y);
    double whole = floor(quotient);
    return quotient - whole > 0.5 ? whole + 1 : whole;
}

static double log_gamma(double x)
{
    int sign;
    return lgamma_r(x, &sign);
}

/* Recurrence up to 10, then the asymptotic series; reflection for negative arguments.
 * Source: Abramowitz and Stegun, 6.3.5, 6.3.7, 6.3.18. */
static double digamma(double x)
{
    static const double pi = 3.14159265358979323846;
    double result = 0;
    if (x == 0)
        return copysign(INFINITY, -x);
    if (x < 0) {
        if (x == floor(x))
            return NAN;
        double whole;
        result = -pi / tan(pi * modf(x, &whole));
        x = 1 - x;
    }
    for (; x < 10; x += 1)
        result -= 1 / x;
    if (isinf(x))
        return x;
    double z = 1 / (x * x);
    double series =
        z *
        (1.0 / 12 -
         z * (1.0 / 120 -
              z * (1.0 / 252 - z * (1.0 / 240 - z * (1.0 / 132 - z * (691.0 / 32760 - z / 12))))));
    return result + log(x) - 0.5 / x - series;
}

static uint64_t power_unsigned(uint64_t base, uint64_t exponent)
{
    uint64_t result = 1;
    for (; exponent; exponent >>= 1, base *= base)
        if (exponent & 1)
            result *= base;
    return result;
}

static int64_t power(int64_t base, int64_t exponent)
{
    if (exponent >= 0)
        return (int64_t)power_unsigned((uint64_t)base, (uint64_t)exponent);
    if (base == 1)
        return 1;
    return base == -1 ? (exponent & 1 ? -1 : 1) : 0;
}

#define MATH1(name, expression)                                                                    \
    static void call_##name(void *a, const void *b, int64_t count)                                 \
    {                                                                                              \
        (void)b;                                                                                   \
        double *items = a;                                                                         \
        for (int64_t i = 0; i < count; i++) {                                                      \
            double x = items[i];                                                                   \
            items[i] = expression;                                                                 \
        }                                                                                          \
    }
#define MATH2(name, expression)                                                                    \
    static void call_##name(void *a, const void *b, int64_t count)                                 \
    {                                                                                              \
        double *items = a;                                                                         \
        const double *others = b;                                                                  \
        for (int64_t i = 0; i < count; i++) {                                                      \
            double x = items[i], y = others[i];                                                    \
            items[i] = expression;                                                                 \
        }                                                                                          \
    }
#define MATHI(name, expression)                                                                    \
    static void call_##name(void *a, const void *b, int64_t count)                                 \
    {                                                                                              \
        int64_t *items = a;                                                                        \
        const int64_t *others = b;                                                                 \
        for (int64_t i = 0; i < count; i++) {                                                      \
            int64_t x = items[i], y = others[i];                                                   \
            items[i] = expression;                                                                 \
        }                                                                                          \
    }
#define MATHS(name)
#include "backends/cpu/math_calls.def"

const bd_math_call bd_math_calls[BD_MATH_COUNT] = {
#define MATH1(name, expression) call_##name,
#define MATH2(name, expression) call_##name,
#define MATHI(name, expression) call_##name,
#define MATHS(name) bd_##name,
#include "backends/cpu/math_calls.def"
};
