/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/base/utf8.h"

#include <stdint.h>
#include <string.h>

/* The bytes of the character at the beginning, and which it is; 0 if there is none. */
static size_t take(const char *text, size_t size_bytes, uint32_t *out_point)
{
    const unsigned char *bytes = (const unsigned char *)text;
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned first = size_bytes ? bytes[0] : 0x80;
    size_t size = first < 0x80 ? 1 : first < 0xc0 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3
                  : first < 0xf8 ? 4 : 0;
    if (size == 0 || size > size_bytes)
        return 0;
    uint32_t point = size == 1 ? first : first & (0xffu >> (size + 1));
    for (size_t i = 1; i < size; i++) {
        if ((bytes[i] & 0xc0) != 0x80)
            return 0;
        point = point << 6 | (bytes[i] & 0x3fu);
    }
    *out_point = point;
    bool is_surrogate = point >= 0xd800 && point <= 0xdfff;
    return point < least[size] || point > 0x10ffff || is_surrogate ? 0 : size;
}

bool bd_utf8_valid(const char *text, size_t size_bytes)
{
    uint32_t point;
    for (size_t i = 0, size; i < size_bytes; i += size)
        if ((size = take(text + i, size_bytes - i, &point)) == 0)
            return false;
    return true;
}

size_t bd_utf8_whole(const char *text, size_t size_bytes)
{
    uint32_t point;
    size_t start = size_bytes;
    while (start > 0 && size_bytes - start < 4)
        if (((unsigned char)text[--start] & 0xc0) != 0x80)
            return take(text + start, size_bytes - start, &point) ? size_bytes : start;
    return size_bytes;
}

/* Cc, the line and paragraph separators, the marks and overrides of direction (UAX 9). */
static bool is_hidden(uint32_t point)
{
    return point < 0x20 || (point >= 0x7f && point < 0xa0) || point == 0x61c ||
           (point >= 0x200e && point <= 0x200f) || (point >= 0x2028 && point <= 0x202e) ||
           (point >= 0x2066 && point <= 0x2069);
}

static void rewrite(char *text, bool shows)
{
    uint32_t point;
    char *to = text;
    for (size_t left = strlen(text); left > 0;) {
        size_t size = take(text, left, &point);
        if (size && shows && is_hidden(point))
            *to++ = '?';
        else
            to = (char *)memmove(to, text, size) + size;
        text += size ? size : 1;
        left -= size ? size : 1;
    }
    *to = '\0';
}

void bd_utf8_mend(char *text)
{
    rewrite(text, false);
}

void bd_utf8_show(char *text)
{
    rewrite(text, true);
}

const char *bd_quoted(char room[BD_QUOTED_BYTES], const char *text)
{
    size_t used = 0;
    room[used++] = '"';
    for (; *text && used < BD_QUOTED_BYTES - 3; text++) {
        if (*text == '"' || *text == '\\')
            room[used++] = '\\';
        room[used++] = *text;
    }
    room[used++] = '"';
    room[used] = '\0';
    return room;
}
