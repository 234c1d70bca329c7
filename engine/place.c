/* SPDX-License-Identifier: Apache-2.0
 * Where a known plan's buffers and the scratch of its launches lie in its arena: by one walk over
 * the launches, and where that wastes much also largest first. Deterministic. Thread: device. */
#include <stdlib.h>
#include <string.h>

#include "engine/known.h"
#include "proto/base/alloc.h"
#include "proto/base/vec.h"

enum {
    ARENA_ALIGNMENT = 64,
    WASTE_BYTES_MAX = 1 << 20, /* less is not worth a second look */
    PIECES_MAX = 1024,         /* which takes time with the square of this */
};

/* What is wanted, and where it goes. */
typedef struct demand {
    const bd_known *known;
    const size_t *group_bytes, *scratch_bytes;
    size_t *offsets, *scratch_offsets;
} demand;

/* ---- in the order of launches ---- */

typedef struct hole {
    size_t offset, size;
} hole;
typedef BD_VEC(hole) hole_list; /* by offset; none touches another */

static size_t round_up(size_t bytes)
{
    return (bytes + ARENA_ALIGNMENT - 1) / ARENA_ALIGNMENT * ARENA_ALIGNMENT;
}

static void remove_hole(hole_list *holes, size_t at)
{
    memmove(&holes->items[at], &holes->items[at + 1], (--holes->count - at) * sizeof(hole));
}

static void give_back(hole_list *holes, size_t offset, size_t size)
{
    size_t at = 0;
    while (at < holes->count && holes->items[at].offset < offset)
        at++;
    if (at > 0 && holes->items[at - 1].offset + holes->items[at - 1].size == offset) {
        at--;
        holes->items[at].size += size;
    } else {
        bd_vec_push(holes);
        memmove(&holes->items[at + 1], &holes->items[at], (holes->count - 1 - at) * sizeof(hole));
        holes->items[at] = (hole){offset, size};
    }
    if (at + 1 < holes->count &&
        holes->items[at].offset + holes->items[at].size == holes->items[at + 1].offset) {
        holes->items[at].size += holes->items[at + 1].size;
        remove_hole(holes, at + 1);
    }
}

/* Best fit; else the arena grows, from its last hole if that lies at the end. */
static size_t take_hole(hole_list *holes, size_t size, size_t *end)
{
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < holes->count; i++)
        if (holes->items[i].size >= size &&
            (best == SIZE_MAX || holes->items[i].size < holes->items[best].size))
            best = i;
    if (best != SIZE_MAX) {
        size_t offset = holes->items[best].offset;
        holes->items[best].offset += size;
        holes->items[best].size -= size;
        if (!holes->items[best].size)
            remove_hole(holes, best);
        return offset;
    }
    size_t offset = *end;
    if (holes->count) {
        hole last = holes->items[holes->count - 1];
        if (last.offset + last.size == *end) {
            offset = last.offset;
            holes->count--;
        }
    }
    *end = offset + size;
    return offset;
}

static void end_before(const demand *of, uint32_t launch, uint32_t *inout_ended, hole_list *holes,
                       size_t *inout_live)
{
    const bd_known *known = of->known;
    for (; *inout_ended < known->arena_count; ++*inout_ended) {
        uint32_t group = known->by_last[*inout_ended];
        if (known->groups[group].last_launch >= launch)
            break;
        size_t bytes = round_up(of->group_bytes[group]);
        *inout_live -= bytes;
        if (bytes)
            give_back(holes, of->offsets[group], bytes);
    }
}

static void begin_at(const demand *of, uint32_t launch, uint32_t *inout_begun, hole_list *holes,
                     size_t *inout_live, size_t *inout_end)
{
    const bd_known *known = of->known;
    for (; *inout_begun < known->arena_count; ++*inout_begun) {
        uint32_t group = known->by_first[*inout_begun];
        if (known->groups[group].first_launch > launch)
            break;
        size_t bytes = round_up(of->group_bytes[group]);
        *inout_live += bytes;
        of->offsets[group] = bytes ? take_hole(holes, bytes, inout_end) : 0;
    }
}

/* Returns the end; out_most: the most that is in use at a time. */
static size_t walk(const demand *of, size_t *out_most)
{
    hole_list holes = {0};
    size_t end = 0, live = 0, most = 0;
    uint32_t begun = 0, ended = 0;
    for (uint32_t launch = 0; launch < of->known->plan->launch_count; launch++) {
        end_before(of, launch, &ended, &holes, &live);
        begin_at(of, launch, &begun, &holes, &live, &end);
        size_t scratch = round_up(of->scratch_bytes[launch]);
        of->scratch_offsets[launch] = scratch ? take_hole(&holes, scratch, &end) : 0;
        if (scratch)
            give_back(&holes, of->scratch_offsets[launch], scratch);
        most = live + scratch > most ? live + scratch : most;
    }
    bd_vec_deinit(&holes);
    *out_most = most;
    return end;
}

/* ---- largest first ---- */

typedef struct piece {
    size_t bytes, rank, offset;
    uint32_t first, last, number;
    size_t *place;
} piece;
typedef BD_VEC(piece) piece_list;

static int ranks_before(const void *a, const void *b)
{
    const piece *left = a, *right = b;
    if (left->rank != right->rank)
        return left->rank > right->rank ? -1 : 1;
    return left->number < right->number ? -1 : 1;
}

static void add_piece(piece_list *pieces, size_t bytes, uint32_t first, uint32_t last,
                      size_t *place)
{
    if (bytes)
        *bd_vec_push(pieces) = (piece){.bytes = round_up(bytes),
                                       .first = first,
                                       .last = last,
                                       .number = (uint32_t)pieces->count,
                                       .place = place};
}

static void list_pieces(const demand *of, piece_list *pieces)
{
    const bd_known *known = of->known;
    for (uint32_t i = 0; i < known->arena_count; i++) {
        uint32_t group = known->by_first[i];
        const bd_known_group *at = &known->groups[group];
        add_piece(pieces, of->group_bytes[group], at->first_launch, at->last_launch,
                  &of->offsets[group]);
    }
    for (uint32_t i = 0; i < known->plan->launch_count; i++)
        add_piece(pieces, of->scratch_bytes[i], i, i, &of->scratch_offsets[i]);
}

/* The smallest gap between those that live at the same time, of which `placed` are sorted by
 * offset. */
static size_t find_gap(const piece *wanted, piece *const *placed, size_t count)
{
    size_t at = 0, best = SIZE_MAX, best_bytes = SIZE_MAX;
    for (size_t i = 0; i < count; i++) {
        const piece *other = placed[i];
        if (other->first > wanted->last || wanted->first > other->last)
            continue;
        if (other->offset >= at + wanted->bytes && other->offset - at < best_bytes) {
            best = at;
            best_bytes = other->offset - at;
        }
        at = other->offset + other->bytes > at ? other->offset + other->bytes : at;
    }
    return best != SIZE_MAX ? best : at;
}

static size_t place_by_rank(piece_list *pieces)
{
    size_t end = 0;
    piece **placed = bd_alloc(pieces->count * sizeof *placed);
    qsort(pieces->items, pieces->count, sizeof *pieces->items, ranks_before);
    for (size_t i = 0; i < pieces->count; i++) {
        piece *own = &pieces->items[i];
        own->offset = find_gap(own, placed, i);
        size_t at = i;
        for (; at > 0 && placed[at - 1]->offset > own->offset; at--)
            placed[at] = placed[at - 1];
        placed[at] = own;
        end = own->offset + own->bytes > end ? own->offset + own->bytes : end;
    }
    bd_free(placed);
    return end;
}

/* By bytes, or by bytes times launches; the places are taken if the arena is smaller so. */
static size_t improve(const demand *of, size_t end)
{
    piece_list pieces = {0};
    list_pieces(of, &pieces);
    for (int by_area = 0; by_area < 2 && pieces.count <= PIECES_MAX; by_area++) {
        for (size_t i = 0; i < pieces.count; i++) {
            piece *own = &pieces.items[i];
            own->rank = by_area ? own->bytes / ARENA_ALIGNMENT * (own->last - own->first + 1)
                                : own->bytes;
        }
        size_t other = place_by_rank(&pieces);
        if (other >= end)
            continue;
        end = other;
        for (size_t i = 0; i < pieces.count; i++)
            *pieces.items[i].place = pieces.items[i].offset;
    }
    bd_vec_deinit(&pieces);
    return end;
}

size_t bd_known_place(const bd_known *known, const size_t *group_bytes, size_t *out_offsets,
                      const size_t *scratch_bytes, size_t *out_scratch_offsets)
{
    demand of = {known, group_bytes, scratch_bytes, out_offsets, out_scratch_offsets};
    size_t most, end = walk(&of, &most);
    return end - most > WASTE_BYTES_MAX ? improve(&of, end) : end;
}
