/* SPDX-License-Identifier: Apache-2.0
 * The 16-bit floats in software: IEEE 754 binary16 and bfloat16, to and from float, rounding to
 * nearest even. Pure functions; thread: any. */
#pragma once

#include <stdint.h>
#include <string.h>

static inline uint32_t bd_float_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float bd_float_from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline float bd_bf16_to_float(uint16_t bits)
{
    return bd_float_from_bits((uint32_t)bits << 16);
}

static inline uint16_t bd_bf16_from_float(float value)
{
    uint32_t bits = bd_float_bits(value);
    if ((bits & 0x7FFFFFFFu) > 0x7F800000u)
        return (uint16_t)(bits >> 16 | 0x40u);
    return (uint16_t)((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16);
}

static inline float bd_f16_to_float(uint16_t bits)
{
    uint32_t sign = (uint32_t)(bits & 0x8000u) << 16;
    uint32_t exponent = bits >> 10 & 31u, fraction = bits & 0x3FFu;
    if (exponent == 31)
        return bd_float_from_bits(sign | 0x7F800000u | fraction << 13);
    if (exponent)
        return bd_float_from_bits(sign | (exponent + 112) << 23 | fraction << 13);
    float small = (float)fraction * 0x1p-24f;
    return sign ? -small : small;
}

static inline uint16_t bd_f16_from_float(float value)
{
    uint32_t bits = bd_float_bits(value);
    uint32_t sign = bits >> 16 & 0x8000u, size = bits & 0x7FFFFFFFu;
    if (size > 0x7F800000u)
        return (uint16_t)(sign | 0x7E00u | (size >> 13 & 0x1FFu));
    if (size >= 0x477FF000u) /* 65520 and more round to infinity */
        return (uint16_t)(sign | 0x7C00u);
    if (size <
        0x38800000u) { /* subnormal: adding 0.5 leaves the rounded fraction in the low bits */
        float moved = bd_float_from_bits(size) + 0.5f;
        return (uint16_t)(sign | (bd_float_bits(moved) - 0x3F000000u));
    }
    uint32_t rounded = size + 0xFFFu + (size >> 13 & 1u);
    return (uint16_t)(sign | (rounded - 0x38000000u) >> 13);
}
