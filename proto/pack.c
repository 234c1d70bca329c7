/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/pack.h"

#include <string.h>

#include "proto/base/assert.h"
#include "proto/base/utf8.h"

/* First bytes, as the specification names them. */
enum {
    HEAD_FIXARRAY = 0x90,
    HEAD_FIXSTR = 0xa0,
    HEAD_NIL = 0xc0,
    HEAD_FALSE = 0xc2,
    HEAD_TRUE = 0xc3,
    HEAD_BIN8 = 0xc4,
    HEAD_BIN32 = 0xc6,
    HEAD_FLOAT64 = 0xcb,
    HEAD_UINT8 = 0xcc,
    HEAD_INT8 = 0xd0,
    HEAD_INT64 = 0xd3,
    HEAD_STR8 = 0xd9,
    HEAD_STR32 = 0xdb,
    HEAD_ARRAY16 = 0xdc,
    HEAD_ARRAY32 = 0xdd,
    HEAD_NEGATIVE_FIXINT = 0xe0,
};

static void append_head(bd_pack *pack, unsigned head, uint64_t number, size_t number_bytes);
static void append_bytes(bd_pack *pack, const void *bytes, size_t size_bytes);
static bd_error *expected(const bd_unpack *unpack, bd_pack_kind wanted) BD_MUST_USE;
static bool read_number(const bd_unpack *unpack, size_t number_bytes, uint64_t *out);
static bd_error *read_int(const bd_unpack *unpack, int64_t *out, size_t *out_taken) BD_MUST_USE;
static bd_error *read_run(const bd_unpack *unpack, unsigned first_head, size_t *out_head_bytes,
                          size_t *out_size) BD_MUST_USE;

/* ---- writing --------------------------------------------------------------------------------- */

void bd_pack_nil(bd_pack *pack)
{
    append_head(pack, HEAD_NIL, 0, 0);
}

void bd_pack_bool(bd_pack *pack, bool value)
{
    append_head(pack, value ? HEAD_TRUE : HEAD_FALSE, 0, 0);
}

void bd_pack_int(bd_pack *pack, int64_t value)
{
    uint64_t bits = (uint64_t)value;
    if (value >= 0) {
        if (value <= 0x7f)
            append_head(pack, (unsigned)value, 0, 0);
        else if (value <= UINT8_MAX)
            append_head(pack, HEAD_UINT8, bits, 1);
        else if (value <= UINT16_MAX)
            append_head(pack, HEAD_UINT8 + 1, bits, 2);
        else if (value <= UINT32_MAX)
            append_head(pack, HEAD_UINT8 + 2, bits, 4);
        else
            append_head(pack, HEAD_UINT8 + 3, bits, 8);
    } else if (value >= -32) {
        append_head(pack, (unsigned)(bits & 0xff), 0, 0);
    } else if (value >= INT8_MIN) {
        append_head(pack, HEAD_INT8, bits, 1);
    } else if (value >= INT16_MIN) {
        append_head(pack, HEAD_INT8 + 1, bits, 2);
    } else if (value >= INT32_MIN) {
        append_head(pack, HEAD_INT8 + 2, bits, 4);
    } else {
        append_head(pack, HEAD_INT64, bits, 8);
    }
}

void bd_pack_float(bd_pack *pack, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    append_head(pack, HEAD_FLOAT64, bits, 8);
}

void bd_pack_str_bytes(bd_pack *pack, const char *text, size_t size_bytes)
{
    BD_ASSERT(size_bytes <= UINT32_MAX);
    if (size_bytes < 32)
        append_head(pack, HEAD_FIXSTR | (unsigned)size_bytes, 0, 0);
    else if (size_bytes <= UINT8_MAX)
        append_head(pack, HEAD_STR8, size_bytes, 1);
    else if (size_bytes <= UINT16_MAX)
        append_head(pack, HEAD_STR8 + 1, size_bytes, 2);
    else
        append_head(pack, HEAD_STR32, size_bytes, 4);
    append_bytes(pack, text, size_bytes);
}

void bd_pack_bin(bd_pack *pack, const void *bytes, size_t size_bytes)
{
    BD_ASSERT(size_bytes <= UINT32_MAX);
    if (size_bytes <= UINT8_MAX)
        append_head(pack, HEAD_BIN8, size_bytes, 1);
    else if (size_bytes <= UINT16_MAX)
        append_head(pack, HEAD_BIN8 + 1, size_bytes, 2);
    else
        append_head(pack, HEAD_BIN32, size_bytes, 4);
    append_bytes(pack, bytes, size_bytes);
}

void bd_pack_array(bd_pack *pack, uint32_t count)
{
    BD_ASSERT(count <= BD_PACK_ARRAY_MAX);
    if (count < 16)
        append_head(pack, HEAD_FIXARRAY | count, 0, 0);
    else if (count <= UINT16_MAX)
        append_head(pack, HEAD_ARRAY16, count, 2);
    else
        append_head(pack, HEAD_ARRAY32, count, 4);
}

/* ---- reading --------------------------------------------------------------------------------- */

bd_pack_kind bd_unpack_peek(const bd_unpack *unpack)
{
    if (unpack->cursor == unpack->end)
        return BD_PACK_END;
    unsigned head = *unpack->cursor;
    if (head < 0x80 || head >= HEAD_NEGATIVE_FIXINT)
        return BD_PACK_INT;
    if (head < HEAD_FIXARRAY)
        return BD_PACK_OTHER;
    if (head < HEAD_FIXSTR)
        return BD_PACK_ARRAY;
    if (head < HEAD_NIL)
        return BD_PACK_STR;
    if (head == HEAD_NIL)
        return BD_PACK_NIL;
    if (head == HEAD_FALSE || head == HEAD_TRUE)
        return BD_PACK_BOOL;
    if (head >= HEAD_BIN8 && head <= HEAD_BIN32)
        return BD_PACK_BIN;
    if (head == HEAD_FLOAT64)
        return BD_PACK_FLOAT;
    if (head >= HEAD_UINT8 && head <= HEAD_INT64)
        return BD_PACK_INT;
    if (head >= HEAD_STR8 && head <= HEAD_STR32)
        return BD_PACK_STR;
    return head == HEAD_ARRAY16 || head == HEAD_ARRAY32 ? BD_PACK_ARRAY : BD_PACK_OTHER;
}

const char *bd_pack_kind_text(bd_pack_kind kind)
{
    static const char *const texts[] = {
        [BD_PACK_END] = "the end",     [BD_PACK_NIL] = "nil",     [BD_PACK_BOOL] = "a bool",
        [BD_PACK_INT] = "an int",      [BD_PACK_FLOAT] = "a float", [BD_PACK_STR] = "a str",
        [BD_PACK_BIN] = "a bin",       [BD_PACK_ARRAY] = "an array",
        [BD_PACK_OTHER] = "a kind outside the subset",
    };
    return texts[kind];
}

bd_error *bd_unpack_nil(bd_unpack *unpack)
{
    if (bd_unpack_peek(unpack) != BD_PACK_NIL)
        return expected(unpack, BD_PACK_NIL);
    unpack->cursor++;
    return NULL;
}

bd_error *bd_unpack_bool(bd_unpack *unpack, bool *out)
{
    if (bd_unpack_peek(unpack) != BD_PACK_BOOL)
        return expected(unpack, BD_PACK_BOOL);
    *out = *unpack->cursor++ == HEAD_TRUE;
    return NULL;
}

bd_error *bd_unpack_int(bd_unpack *unpack, int64_t *out)
{
    size_t taken;
    BD_TRY(read_int(unpack, out, &taken));
    unpack->cursor += taken;
    return NULL;
}

bd_error *bd_unpack_int_in(bd_unpack *unpack, int64_t least, int64_t most, int64_t *out)
{
    int64_t value = 0;
    size_t taken = 0;
    BD_TRY(read_int(unpack, &value, &taken));
    if (value < least || value > most)
        BD_FAIL(PROTOCOL, "%lld is outside %lld..%lld", (long long)value, (long long)least,
                (long long)most);
    unpack->cursor += taken;
    *out = value;
    return NULL;
}

bd_error *bd_unpack_float(bd_unpack *unpack, double *out)
{
    uint64_t bits;
    if (bd_unpack_peek(unpack) != BD_PACK_FLOAT)
        return expected(unpack, BD_PACK_FLOAT);
    if (!read_number(unpack, 8, &bits))
        BD_FAIL(PROTOCOL, "a float is cut short");
    memcpy(out, &bits, sizeof bits);
    unpack->cursor += 9;
    return NULL;
}

bd_error *bd_unpack_str(bd_unpack *unpack, const char **out_text, size_t *out_bytes)
{
    size_t head_bytes = 1, size = 0;
    if (bd_unpack_peek(unpack) != BD_PACK_STR)
        return expected(unpack, BD_PACK_STR);
    if (*unpack->cursor < HEAD_NIL) {
        size = *unpack->cursor & 31u;
        if (size > (size_t)(unpack->end - unpack->cursor) - 1)
            BD_FAIL(PROTOCOL, "a str of %zu bytes is cut short", size);
    } else {
        BD_TRY(read_run(unpack, HEAD_STR8, &head_bytes, &size));
        if (head_bytes == 2 && size < 32)
            BD_FAIL(PROTOCOL, "a str of %zu bytes is not in its shortest form", size);
    }
    const char *text = (const char *)unpack->cursor + head_bytes;
    if (memchr(text, '\0', size))
        BD_FAIL(PROTOCOL, "a str has a zero byte; text has none");
    if (!bd_utf8_valid(text, size))
        BD_FAIL(PROTOCOL, "a str is not UTF-8");
    *out_text = text;
    *out_bytes = size;
    unpack->cursor += head_bytes + size;
    return NULL;
}

bd_error *bd_unpack_bin(bd_unpack *unpack, const uint8_t **out_bytes, size_t *out_size)
{
    size_t head_bytes, size;
    if (bd_unpack_peek(unpack) != BD_PACK_BIN)
        return expected(unpack, BD_PACK_BIN);
    BD_TRY(read_run(unpack, HEAD_BIN8, &head_bytes, &size));
    *out_bytes = unpack->cursor + head_bytes;
    *out_size = size;
    unpack->cursor += head_bytes + size;
    return NULL;
}

bd_error *bd_unpack_array(bd_unpack *unpack, uint32_t *out_count)
{
    unsigned head = unpack->cursor < unpack->end ? *unpack->cursor : HEAD_NIL;
    bool is_short = head >= HEAD_FIXARRAY && head < HEAD_FIXSTR;
    if (!is_short && head != HEAD_ARRAY16 && head != HEAD_ARRAY32)
        return expected(unpack, BD_PACK_ARRAY);
    size_t number_bytes = is_short ? 0 : head == HEAD_ARRAY16 ? 2 : 4;
    uint64_t count = head & 15u;
    if (number_bytes && !read_number(unpack, number_bytes, &count))
        BD_FAIL(PROTOCOL, "the head of an array is cut short");
    if ((number_bytes == 2 && count < 16) || (number_bytes == 4 && count <= UINT16_MAX))
        BD_FAIL(PROTOCOL, "an array of %u elements is not in its shortest form", (unsigned)count);
    if (count > BD_PACK_ARRAY_MAX)
        BD_FAIL(PROTOCOL, "an array of %u elements is above the limit of %d", (unsigned)count,
                BD_PACK_ARRAY_MAX);
    size_t left = (size_t)(unpack->end - unpack->cursor) - 1 - number_bytes;
    if (count > left)
        BD_FAIL(PROTOCOL, "an array of %u elements with %zu bytes left", (unsigned)count, left);
    *out_count = (uint32_t)count;
    unpack->cursor += 1 + number_bytes;
    return NULL;
}

bd_error *bd_unpack_array_of(bd_unpack *unpack, uint32_t count)
{
    bd_unpack ahead = *unpack;
    uint32_t found = 0;
    BD_TRY(bd_unpack_array(&ahead, &found));
    if (found != count)
        BD_FAIL(PROTOCOL, "an array of %u elements where %u are due", found, count);
    *unpack = ahead;
    return NULL;
}

bd_error *bd_unpack_skip(bd_unpack *unpack)
{
    bd_unpack ahead = *unpack;
    uint32_t left[BD_PACK_DEPTH_MAX + 1] = {1}; /* elements still to come, by level */
    int depth = 0;
    while (depth >= 0) {
        if (left[depth] == 0) {
            depth--;
            continue;
        }
        left[depth]--;
        int64_t i;
        double f;
        size_t size;
        const char *text;
        const uint8_t *bytes;
        uint32_t count;
        bd_pack_kind kind = bd_unpack_peek(&ahead);
        switch (kind) {
        case BD_PACK_NIL:
        case BD_PACK_BOOL:
            ahead.cursor++;
            break;
        case BD_PACK_INT:
            BD_TRY(bd_unpack_int(&ahead, &i));
            break;
        case BD_PACK_FLOAT:
            BD_TRY(bd_unpack_float(&ahead, &f));
            break;
        case BD_PACK_STR:
            BD_TRY(bd_unpack_str(&ahead, &text, &size));
            break;
        case BD_PACK_BIN:
            BD_TRY(bd_unpack_bin(&ahead, &bytes, &size));
            break;
        case BD_PACK_ARRAY:
            BD_TRY(bd_unpack_array(&ahead, &count));
            if (depth == BD_PACK_DEPTH_MAX)
                BD_FAIL(PROTOCOL, "arrays are nested deeper than %d", BD_PACK_DEPTH_MAX);
            left[++depth] = count;
            break;
        case BD_PACK_END:
        case BD_PACK_OTHER:
            BD_FAIL(PROTOCOL, "found %s", bd_pack_kind_text(kind));
        }
    }
    *unpack = ahead;
    return NULL;
}

bd_error *bd_unpack_finish(const bd_unpack *unpack)
{
    if (unpack->cursor != unpack->end)
        BD_FAIL(PROTOCOL, "%zu bytes are left over", (size_t)(unpack->end - unpack->cursor));
    return NULL;
}

/* ---- local ----------------------------------------------------------------------------------- */

static void append_head(bd_pack *pack, unsigned head, uint64_t number, size_t number_bytes)
{
    if (pack->used < pack->capacity && number_bytes < pack->capacity - pack->used) {
        uint8_t *bytes = pack->bytes + pack->used;
        bytes[0] = (uint8_t)head;
        for (size_t i = 0; i < number_bytes; i++)
            bytes[number_bytes - i] = (uint8_t)(number >> (8 * i));
    }
    pack->used += 1 + number_bytes;
}

static void append_bytes(bd_pack *pack, const void *bytes, size_t size_bytes)
{
    if (size_bytes && pack->used <= pack->capacity && size_bytes <= pack->capacity - pack->used)
        memcpy(pack->bytes + pack->used, bytes, size_bytes);
    pack->used += size_bytes;
}

static bd_error *expected(const bd_unpack *unpack, bd_pack_kind wanted)
{
    BD_FAIL(PROTOCOL, "expected %s, found %s", bd_pack_kind_text(wanted),
            bd_pack_kind_text(bd_unpack_peek(unpack)));
}

/* The big-endian number after the first byte. */
static bool read_number(const bd_unpack *unpack, size_t number_bytes, uint64_t *out)
{
    uint64_t number = 0;
    if ((size_t)(unpack->end - unpack->cursor) < 1 + number_bytes)
        return false;
    for (size_t i = 1; i <= number_bytes; i++)
        number = number << 8 | unpack->cursor[i];
    *out = number;
    return true;
}

static bd_error *read_int(const bd_unpack *unpack, int64_t *out, size_t *out_taken)
{
    unsigned head = unpack->cursor < unpack->end ? *unpack->cursor : HEAD_NIL;
    *out_taken = 1;
    if (head < 0x80 || head >= HEAD_NEGATIVE_FIXINT) {
        *out = head < 0x80 ? (int64_t)head : (int64_t)head - 256;
        return NULL;
    }
    if (head < HEAD_UINT8 || head > HEAD_INT64)
        return expected(unpack, BD_PACK_INT);
    bool is_signed = head >= HEAD_INT8;
    unsigned width = head - (is_signed ? HEAD_INT8 : HEAD_UINT8); /* log2 of the bytes */
    size_t number_bytes = (size_t)1 << width;
    uint64_t bits = 0;
    if (!read_number(unpack, number_bytes, &bits))
        BD_FAIL(PROTOCOL, "an int is cut short");
    unsigned shift = 64 - 8 * (unsigned)number_bytes;
    if (is_signed) {
        /* The shortest form of a negative number; non-negative ones have an unsigned form. */
        static const int64_t above[] = {-32, INT8_MIN, INT16_MIN, INT32_MIN};
        int64_t value = (int64_t)(bits << shift) >> shift;
        if (value >= above[width])
            BD_FAIL(PROTOCOL, "%lld is not in its shortest form", (long long)value);
        *out = value;
    } else {
        static const uint64_t above[] = {0x7f, UINT8_MAX, UINT16_MAX, UINT32_MAX};
        if (bits <= above[width])
            BD_FAIL(PROTOCOL, "%llu is not in its shortest form", (unsigned long long)bits);
        if (bits > INT64_MAX)
            BD_FAIL(PROTOCOL, "%llu is above 2^63 - 1", (unsigned long long)bits);
        *out = (int64_t)bits;
    }
    *out_taken = 1 + number_bytes;
    return NULL;
}

/* The head of a str or bin with an 8, 16 or 32-bit length, and whether its bytes are all there. */
static bd_error *read_run(const bd_unpack *unpack, unsigned first_head, size_t *out_head_bytes,
                          size_t *out_size)
{
    unsigned width = *unpack->cursor - first_head;
    size_t number_bytes = (size_t)1 << width;
    uint64_t size = 0;
    if (!read_number(unpack, number_bytes, &size))
        BD_FAIL(PROTOCOL, "the head of a str or bin is cut short");
    if (width && size <= (width == 1 ? UINT8_MAX : UINT16_MAX))
        BD_FAIL(PROTOCOL, "a length of %zu is not in its shortest form", (size_t)size);
    if (size > (size_t)(unpack->end - unpack->cursor) - 1 - number_bytes)
        BD_FAIL(PROTOCOL, "a str or bin of %zu bytes is cut short", (size_t)size);
    *out_head_bytes = 1 + number_bytes;
    *out_size = (size_t)size;
    return NULL;
}
