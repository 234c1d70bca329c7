/* SPDX-License-Identifier: Apache-2.0
 * A fast 64-bit hash for tables (not for security, never a proof of equality), and a
 * checksum, CRC-32C (Castagnoli), for cached objects. Thread: any. */
#pragma once

#include <stddef.h>
#include <stdint.h>

uint64_t bd_hash_bytes(const void *bytes, size_t size_bytes, uint64_t seed);
static inline uint64_t bd_hash_mix(uint64_t hash, uint64_t value)
{
    hash ^= value + 0x9E3779B97F4A7C15u + (hash << 6) + (hash >> 2);
    hash *= 0xD6E8FEB86659FD93u;
    return hash ^ (hash >> 32);
}
uint32_t bd_crc32c(uint32_t crc, const void *bytes, size_t size_bytes);
