/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/base/hash.h"

#include <string.h>

uint64_t bd_hash_bytes(const void *bytes, size_t size_bytes, uint64_t seed)
{
    const unsigned char *at = bytes;
    uint64_t hash = bd_hash_mix(seed, size_bytes);
    for (; size_bytes >= 8; at += 8, size_bytes -= 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        hash = bd_hash_mix(hash, word);
    }
    if (size_bytes) {
        uint64_t word = 0;
        memcpy(&word, at, size_bytes);
        hash = bd_hash_mix(hash, word);
    }
    return hash;
}

/* One nibble at a time: RFC 3720's polynomial, reflected (0x82F63B78). */
static const uint32_t crc_nibble[16] = {
    0x00000000, 0x105EC76F, 0x20BD8EDE, 0x30E349B1, 0x417B1DBC, 0x5125DAD3, 0x61C69362, 0x7198540D,
    0x82F63B78, 0x92A8FC17, 0xA24BB5A6, 0xB21572C9, 0xC38D26C4, 0xD3D3E1AB, 0xE330A81A, 0xF36E6F75};

uint32_t bd_crc32c(uint32_t crc, const void *bytes, size_t size_bytes)
{
    const unsigned char *at = bytes;
    crc = ~crc;
    for (size_t i = 0; i < size_bytes; i++) {
        crc ^= at[i];
        crc = (crc >> 4) ^ crc_nibble[crc & 15];
        crc = (crc >> 4) ^ crc_nibble[crc & 15];
    }
    return ~crc;
}
