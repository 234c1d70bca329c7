/* SPDX-License-Identifier: Apache-2.0
 * Elements of the types that the emulated libraries multiply. Pure; thread: any. */
#pragma once

#include <stdint.h>
#include <string.h>

typedef enum number_type { NUMBER_F32, NUMBER_F16, NUMBER_BF16 } number_type;

static inline double number_at(const void *memory, number_type type, int64_t at)
{
    uint16_t bits = type == NUMBER_F32 ? 0 : ((const uint16_t *)memory)[at];
    uint32_t wide = (uint32_t)bits << 16;
    float value = 0;
    _Float16 half = 0;
    if (type == NUMBER_F32)
        return ((const float *)memory)[at];
    memcpy(&half, &bits, sizeof half);
    memcpy(&value, &wide, sizeof value);
    return type == NUMBER_F16 ? (double)half : (double)value;
}

static inline void set_number(void *memory, number_type type, int64_t at, double sum)
{
    float value = (float)sum;
    _Float16 half = (_Float16)value;
    uint32_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    if (type == NUMBER_F32)
        ((float *)memory)[at] = value;
    else if (type == NUMBER_F16)
        memcpy((uint16_t *)memory + at, &half, sizeof half);
    else
        ((uint16_t *)memory)[at] = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
