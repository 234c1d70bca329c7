/* SPDX-License-Identifier: Apache-2.0
 * The msgpack subset that all headers and records are made of, as a writer into the caller's
 * bytes and a cursor over received ones. Neither allocates.
 *
 * The subset: nil, bool, int (-2^63 .. 2^63-1), float (always 64 bits), str (UTF-8), bin, array.
 * No maps, no extensions, no 32-bit floats. Each value has one encoding only, the shortest
 * (non-negative integers in the unsigned forms), which is what msgpack-c's packer writes. An array
 * has at most 65,536 elements and never more than bytes are left; nesting is at most 8 deep.
 * Invariant: the cursor never passes `end` and no length is believed before it was compared with
 * what is left. Everything that breaks the subset is a PROTOCOL error. Thread: any.
 * Source: the msgpack specification, github.com/msgpack/msgpack/blob/master/spec.md. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/base/attr.h"
#include "proto/base/error.h"

enum {
    BD_PACK_ARRAY_MAX = 65536,
    BD_PACK_DEPTH_MAX = 8,
    BD_PACK_SCALAR_BYTES_MAX = 9, /* nil, bool, int, float */
    BD_PACK_HEAD_BYTES_MAX = 5,   /* the head of an array, str or bin */
};

/* ---- writing --------------------------------------------------------------------------------
 * Past the capacity nothing is stored but `used` goes on counting, so a writer of capacity 0
 * measures. A message is whole if and only if used <= capacity. */
typedef struct bd_pack {
    uint8_t *bytes;
    size_t capacity;
    size_t used;
} bd_pack;

static inline bool bd_pack_fits(const bd_pack *pack)
{
    return pack->used <= pack->capacity;
}

void bd_pack_nil(bd_pack *pack);
void bd_pack_bool(bd_pack *pack, bool value);
void bd_pack_int(bd_pack *pack, int64_t value);
void bd_pack_float(bd_pack *pack, double value);
void bd_pack_str_bytes(bd_pack *pack, const char *text, size_t size_bytes);
void bd_pack_bin(bd_pack *pack, const void *bytes, size_t size_bytes);
/* The elements follow as values of their own. count <= BD_PACK_ARRAY_MAX. */
void bd_pack_array(bd_pack *pack, uint32_t count);

/* ---- reading ---------------------------------------------------------------------------------
 * Each function takes the next value if it is of its kind and moves the cursor on; on an error
 * the cursor stays. Pointers given out lie within the received bytes. */
typedef struct bd_unpack {
    const uint8_t *cursor, *end;
} bd_unpack;

typedef enum bd_pack_kind {
    BD_PACK_END, /* no byte is left */
    BD_PACK_NIL,
    BD_PACK_BOOL,
    BD_PACK_INT,
    BD_PACK_FLOAT,
    BD_PACK_STR,
    BD_PACK_BIN,
    BD_PACK_ARRAY,
    BD_PACK_OTHER, /* outside the subset */
} bd_pack_kind;

/* By the first byte alone; the value may still be malformed. */
bd_pack_kind bd_unpack_peek(const bd_unpack *unpack);
const char *bd_pack_kind_text(bd_pack_kind kind);

bd_error *bd_unpack_nil(bd_unpack *unpack) BD_MUST_USE;
bd_error *bd_unpack_bool(bd_unpack *unpack, bool *out) BD_MUST_USE;
bd_error *bd_unpack_int(bd_unpack *unpack, int64_t *out) BD_MUST_USE;
/* An int that is within least..most, both included. */
bd_error *bd_unpack_int_in(bd_unpack *unpack, int64_t least, int64_t most,
                           int64_t *out) BD_MUST_USE;
bd_error *bd_unpack_float(bd_unpack *unpack, double *out) BD_MUST_USE;
/* Valid UTF-8 without a zero byte, since texts become C strings; not terminated. */
bd_error *bd_unpack_str(bd_unpack *unpack, const char **out_text, size_t *out_bytes) BD_MUST_USE;
bd_error *bd_unpack_bin(bd_unpack *unpack, const uint8_t **out_bytes, size_t *out_size) BD_MUST_USE;
bd_error *bd_unpack_array(bd_unpack *unpack, uint32_t *out_count) BD_MUST_USE;
/* An array of exactly `count` elements. */
bd_error *bd_unpack_array_of(bd_unpack *unpack, uint32_t count) BD_MUST_USE;
/* One value of any kind, arrays with all they hold; checks everything the subset demands. */
bd_error *bd_unpack_skip(bd_unpack *unpack) BD_MUST_USE;
/* PROTOCOL unless all bytes are read. */
bd_error *bd_unpack_finish(const bd_unpack *unpack) BD_MUST_USE;
