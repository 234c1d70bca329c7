/* SPDX-License-Identifier: Apache-2.0
 * SORT of the kernel IR: a stable radix sort, or an insertion sort of short rows. Keys become
 * unsigned integers of the same order. Where these and the positions fit 32 bits each they are
 * sorted as one word, whose low half makes it stable; else keys and positions move side by side. */
#include <string.h>

#include "backends/cpu/math_calls.h"

enum { SHORT = 48, DIGITS = 256 };

typedef struct rooms {
    uint64_t *positions, *spare, *other;
    int64_t count;
    uint64_t flip; /* all ones: descending */
} rooms;

static rooms rooms_of(const void *b, int64_t count, bool descending)
{
    uint64_t *first = (uint64_t *)(uintptr_t)b;
    size_t words = ((size_t)count * 8 + 63) / 64 * 8;
    return (rooms){first, first + words, first + 2 * words, count,
                   descending ? ~(uint64_t)0 : 0};
}

static void insert_words(uint64_t *words, int64_t count)
{
    for (int64_t i = 1; i < count; i++) {
        uint64_t word = words[i];
        int64_t at = i;
        for (; at > 0 && words[at - 1] > word; at--)
            words[at] = words[at - 1];
        words[at] = word;
    }
}

/* Turns counts of digits into places; false if all elements have one digit. */
static bool places_of(const int64_t counts[DIGITS], int64_t places[DIGITS], int64_t count)
{
    int64_t sum = 0;
    for (int digit = 0; digit < DIGITS; digit++) {
        if (counts[digit] == count)
            return false;
        places[digit] = sum;
        sum += counts[digit];
    }
    return true;
}

/* By the upper halves of the words, whose lower halves ascend. The result lies in the positions. */
static void sort_words(const rooms *at)
{
    uint64_t *from = at->positions, *to = at->spare;
    if (at->count <= SHORT) {
        insert_words(from, at->count);
        return;
    }
    int64_t counts[4][DIGITS] = {{0}}, places[DIGITS];
    for (int64_t i = 0; i < at->count; i++)
        for (int digit = 0; digit < 4; digit++)
            counts[digit][from[i] >> (32 + 8 * digit) & 255]++;
    for (int digit = 0; digit < 4; digit++) {
        if (!places_of(counts[digit], places, at->count))
            continue;
        for (int64_t i = 0; i < at->count; i++)
            to[places[from[i] >> (32 + 8 * digit) & 255]++] = from[i];
        uint64_t *next = from;
        from = to;
        to = next;
    }
    if (from != at->positions)
        memcpy(at->positions, from, (size_t)at->count * 8);
}

static void drop_keys(const rooms *at)
{
    for (int64_t i = 0; i < at->count; i++)
        at->positions[i] &= UINT32_MAX;
}

/* 64-bit keys beside their positions. */
static void sort_pairs(const rooms *at, uint64_t *keys)
{
    uint64_t *positions = at->positions, *to_keys = at->spare, *to = at->other;
    for (int64_t i = 0; i < at->count; i++)
        positions[i] = (uint64_t)i;
    for (int shift = 0; shift < 64; shift += 8) {
        int64_t counts[DIGITS] = {0}, places[DIGITS];
        for (int64_t i = 0; i < at->count; i++)
            counts[keys[i] >> shift & 255]++;
        if (!places_of(counts, places, at->count))
            continue;
        for (int64_t i = 0; i < at->count; i++) {
            int64_t place = places[keys[i] >> shift & 255]++;
            to_keys[place] = keys[i];
            to[place] = positions[i];
        }
        uint64_t *swap = keys;
        keys = to_keys;
        to_keys = swap;
        swap = positions;
        positions = to;
        to = swap;
    }
    if (positions != at->positions)
        memcpy(at->positions, positions, (size_t)at->count * 8);
}

/* Keys in their final order as unsigned integers; a narrow range lets them share words. */
static void sort_keys(const rooms *at, uint64_t *keys)
{
    uint64_t least = UINT64_MAX, most = 0;
    for (int64_t i = 0; i < at->count; i++) {
        least = keys[i] < least ? keys[i] : least;
        most = keys[i] > most ? keys[i] : most;
    }
    if (at->count > 0 && (most - least > UINT32_MAX || at->count > UINT32_MAX)) {
        sort_pairs(at, keys);
        return;
    }
    for (int64_t i = 0; i < at->count; i++)
        at->positions[i] = (keys[i] - least) << 32 | (uint64_t)i;
    sort_words(at);
    drop_keys(at);
}

/* Both zeros are one key, all NaN another one above all others. */
static uint32_t key_of_float(uint32_t bits)
{
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return UINT32_MAX;
    if (bits << 1 == 0)
        bits = 0;
    return bits >> 31 ? ~bits : bits | 0x80000000u;
}

static uint64_t key_of_double(uint64_t bits)
{
    if ((bits & ~((uint64_t)1 << 63)) > (uint64_t)0x7ff << 52)
        return UINT64_MAX;
    if (bits << 1 == 0)
        bits = 0;
    return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

/* Rows whose positions do not fit half a word. */
static void merge_floats(const rooms *at, const uint32_t *bits)
{
    int64_t count = at->count;
    for (int64_t i = 0; i < count; i++)
        at->positions[i] = (uint64_t)i;
    for (int64_t width = 1; width < count; width *= 2) {
        for (int64_t first = 0; first < count; first += 2 * width) {
            int64_t middle = first + width < count ? first + width : count;
            int64_t last = middle + width < count ? middle + width : count;
            int64_t a = first, b = middle;
            for (int64_t to = first; to < last; to++) {
                bool right = a == middle;
                if (!right && b < last)
                    right = (key_of_float(bits[at->positions[b]]) ^ (uint32_t)at->flip) <
                            (key_of_float(bits[at->positions[a]]) ^ (uint32_t)at->flip);
                at->spare[to] = at->positions[right ? b++ : a++];
            }
        }
        memcpy(at->positions, at->spare, (size_t)count * 8);
    }
}

static void sort_f32(void *a, const void *b, int64_t count, bool descending)
{
    rooms at = rooms_of(b, count, descending);
    const uint32_t *bits = a;
    if (count > UINT32_MAX) {
        merge_floats(&at, bits);
        return;
    }
    for (int64_t i = 0; i < count; i++)
        at.positions[i] = (uint64_t)(key_of_float(bits[i]) ^ (uint32_t)at.flip) << 32 | (uint64_t)i;
    sort_words(&at);
    drop_keys(&at);
}

static void sort_f64(void *a, const void *b, int64_t count, bool descending)
{
    rooms at = rooms_of(b, count, descending);
    uint64_t *keys = a;
    for (int64_t i = 0; i < count; i++)
        keys[i] = key_of_double(keys[i]) ^ at.flip;
    sort_keys(&at, keys);
}

static void sort_integers(void *a, const void *b, int64_t count, bool descending, uint64_t sign)
{
    rooms at = rooms_of(b, count, descending);
    uint64_t *keys = a;
    for (int64_t i = 0; i < count; i++)
        keys[i] = keys[i] ^ sign ^ at.flip;
    sort_keys(&at, keys);
}

static const uint64_t SIGN = (uint64_t)1 << 63;

void bd_SORT_F32(void *a, const void *b, int64_t count)
{
    sort_f32(a, b, count, false);
}

void bd_SORT_F32_DOWN(void *a, const void *b, int64_t count)
{
    sort_f32(a, b, count, true);
}

void bd_SORT_F64(void *a, const void *b, int64_t count)
{
    sort_f64(a, b, count, false);
}

void bd_SORT_F64_DOWN(void *a, const void *b, int64_t count)
{
    sort_f64(a, b, count, true);
}

void bd_SORT_I64(void *a, const void *b, int64_t count)
{
    sort_integers(a, b, count, false, SIGN);
}

void bd_SORT_I64_DOWN(void *a, const void *b, int64_t count)
{
    sort_integers(a, b, count, true, SIGN);
}

void bd_SORT_U64(void *a, const void *b, int64_t count)
{
    sort_integers(a, b, count, false, 0);
}

void bd_SORT_U64_DOWN(void *a, const void *b, int64_t count)
{
    sort_integers(a, b, count, true, 0);
}

bd_math_function bd_sort_function(burn_dtype dtype, bool descending)
{
    if (dtype == BURN_F32)
        return descending ? BD_MATH_SORT_F32_DOWN : BD_MATH_SORT_F32;
    if (dtype == BURN_F64)
        return descending ? BD_MATH_SORT_F64_DOWN : BD_MATH_SORT_F64;
    if (dtype == BURN_U64)
        return descending ? BD_MATH_SORT_U64_DOWN : BD_MATH_SORT_U64;
    return descending ? BD_MATH_SORT_I64_DOWN : BD_MATH_SORT_I64;
}
