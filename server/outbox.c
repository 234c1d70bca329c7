/* SPDX-License-Identifier: Apache-2.0 */
#include "server/outbox.h"

#include <string.h>

#include "proto/base/alloc.h"
#include "proto/base/assert.h"
#include "proto/websocket.h"

enum { BLOCK_BYTES = 4096, GATHER_MAX = 64 };

static bd_out_segment *at(bd_outbox *outbox, size_t index)
{
    return &outbox->segments[(outbox->first + index) & (outbox->capacity - 1)];
}

static bd_out_segment *push(bd_outbox *outbox)
{
    if (outbox->count == outbox->capacity) {
        size_t capacity = outbox->capacity ? outbox->capacity * 2 : 4;
        bd_out_segment *segments = bd_alloc(capacity * sizeof *segments);
        for (size_t i = 0; i < outbox->count; i++)
            segments[i] = *at(outbox, i);
        bd_free(outbox->segments);
        outbox->segments = segments;
        outbox->capacity = capacity;
        outbox->first = 0;
    }
    bd_out_segment *segment = at(outbox, outbox->count++);
    memset(segment, 0, sizeof *segment);
    return segment;
}

static void end_segment(bd_outbox *outbox, const bd_out_segment *segment)
{
    if (segment->release)
        segment->release(segment->owner);
    if (segment->block && segment->capacity_bytes == BLOCK_BYTES && !outbox->spare)
        outbox->spare = segment->block;
    else
        bd_free(segment->block);
}

static void pop(bd_outbox *outbox)
{
    const bd_out_segment *segment = at(outbox, 0);
    if (outbox->keeps && segment->done_bytes) {
        *bd_vec_push(&outbox->kept) = *segment;
        outbox->kept_bytes += segment->done_bytes;
    } else {
        end_segment(outbox, segment);
    }
    outbox->first = (outbox->first + 1) & (outbox->capacity - 1);
    outbox->count--;
}

void bd_outbox_deinit(bd_outbox *outbox)
{
    outbox->keeps = false;
    while (outbox->count)
        pop(outbox);
    for (size_t i = 0; i < outbox->kept.count; i++)
        end_segment(outbox, &outbox->kept.items[i]);
    bd_vec_deinit(&outbox->kept);
    bd_free(outbox->segments);
    bd_free(outbox->spare);
    *outbox = (bd_outbox){0};
}

uint8_t *bd_outbox_room(bd_outbox *outbox, size_t size_bytes)
{
    if (outbox->count) {
        bd_out_segment *last = at(outbox, outbox->count - 1);
        size_t used = last->block ? (size_t)(last->bytes - last->block) + last->size_bytes : 0;
        if (last->block && last->capacity_bytes - used >= size_bytes)
            return last->block + used;
    }
    bd_out_segment *segment = push(outbox);
    segment->capacity_bytes = size_bytes > BLOCK_BYTES ? size_bytes : BLOCK_BYTES;
    if (segment->capacity_bytes == BLOCK_BYTES && outbox->spare) {
        segment->block = outbox->spare;
        outbox->spare = NULL;
    } else {
        segment->block = bd_alloc(segment->capacity_bytes);
    }
    segment->bytes = segment->block;
    return segment->block;
}

void bd_outbox_commit(bd_outbox *outbox, size_t size_bytes)
{
    BD_ASSERT(outbox->count > 0);
    bd_out_segment *last = at(outbox, outbox->count - 1);
    last->size_bytes += size_bytes;
    outbox->bytes += size_bytes;
}

void bd_outbox_borrow(bd_outbox *outbox, const uint8_t *bytes, size_t size_bytes,
                      void (*release)(void *owner), void *owner)
{
    bd_out_segment *segment = push(outbox);
    segment->bytes = bytes;
    segment->size_bytes = size_bytes;
    segment->release = release;
    segment->owner = owner;
    outbox->bytes += size_bytes;
}

static void advance(bd_outbox *outbox, size_t written)
{
    outbox->bytes -= written;
    outbox->written += outbox->keeps ? written : 0;
    while (outbox->count) {
        bd_out_segment *segment = at(outbox, 0);
        size_t part = written < segment->size_bytes ? written : segment->size_bytes;
        segment->bytes += part;
        segment->size_bytes -= part;
        segment->done_bytes += part;
        written -= part;
        if (segment->size_bytes)
            break;
        pop(outbox);
    }
}

bd_error *bd_outbox_write(bd_outbox *outbox, bd_stream *stream, size_t *out_written)
{
    size_t total = 0;
    while (outbox->bytes) {
        struct iovec parts[GATHER_MAX];
        size_t count = 0, wanted = 0;
        for (; count < GATHER_MAX && count < outbox->count; count++) {
            bd_out_segment *segment = at(outbox, count);
            parts[count].iov_base = (void *)(uintptr_t)segment->bytes;
            parts[count].iov_len = segment->size_bytes;
            wanted += segment->size_bytes;
        }
        ssize_t written = bd_stream_write(stream, parts, count);
        if (written == BD_STREAM_LATER)
            break;
        if (written < 0)
            BD_FAIL(UNAVAILABLE, "the peer is gone");
        advance(outbox, (size_t)written);
        total += (size_t)written;
        if ((size_t)written < wanted)
            break;
    }
    *out_written = total;
    return NULL;
}

/* ---- what is kept ---------------------------------------------------------------------------- */

void bd_outbox_keep(bd_outbox *outbox, bool in_messages)
{
    outbox->keeps = true;
    if (outbox->count) /* its beginning may have been written */
        outbox->written = at(outbox, 0)->done_bytes;
    outbox->in_messages = in_messages;
    outbox->acknowledged = (bd_out_place){.offset = outbox->bytes + outbox->written};
}

/* The byte at an offset that was written and is kept. *index and *start: a segment before it and
 * the offset of its first byte, which follow. */
static uint8_t byte_at(bd_outbox *outbox, uint64_t offset, size_t *index, uint64_t *start)
{
    for (;; ++*index) {
        const bd_out_segment *segment = *index < outbox->kept.count
                                            ? &outbox->kept.items[*index]
                                            : at(outbox, *index - outbox->kept.count);
        if (offset < *start + segment->done_bytes)
            return (segment->bytes - segment->done_bytes)[offset - *start];
        *start += segment->done_bytes;
    }
}

/* The place of the byte behind the next message that counts, up to where bytes were written. */
static bd_out_place find_message(bd_outbox *outbox, bd_out_place place, size_t *index,
                                 uint64_t *start)
{
    uint8_t header[BD_WS_HEADER_BYTES_MAX];
    uint64_t left = outbox->written - place.offset, length;
    size_t size = 0, wanted = 2;
    for (; size < wanted && size < left; size++) {
        header[size] = byte_at(outbox, place.offset + size, index, start);
        wanted = size ? bd_ws_header_bytes(header) : wanted;
    }
    place.offset += size;
    if (size < wanted)
        return place;
    length = bd_ws_header_length(header);
    if ((header[0] & 0x0F) == BD_WS_BINARY)
        place.message_left = length;
    else
        place.offset += length < left - size ? length : left - size;
    return place;
}

/* Where the byte stands before which so many count; an offset beyond all that was written if there
 * is none. */
static bd_out_place find(bd_outbox *outbox, uint64_t counted)
{
    bd_out_place place = outbox->acknowledged;
    size_t index = 0;
    uint64_t start = outbox->kept_from;
    while (place.counted < counted && place.offset < outbox->written) {
        if (outbox->in_messages && !place.message_left)
            place = find_message(outbox, place, &index, &start);
        uint64_t step = counted - place.counted;
        if (outbox->in_messages && step > place.message_left)
            step = place.message_left;
        place.message_left -= outbox->in_messages ? step : 0;
        place.counted += step;
        place.offset += step;
    }
    return place;
}

bd_error *bd_outbox_acknowledge(bd_outbox *outbox, uint64_t received)
{
    if (outbox->keeps && received < outbox->acknowledged.counted)
        return NULL; /* said before a resumption that said more, and sent again after it */
    bd_out_place place = find(outbox, received);
    if (!outbox->keeps || place.counted != received || place.offset > outbox->written)
        BD_FAIL(PROTOCOL, "the peer says that it has received %llu bytes, which were not sent",
                (unsigned long long)received);
    outbox->acknowledged = place;
    size_t count = 0;
    while (count < outbox->kept.count &&
           outbox->kept_from + outbox->kept.items[count].done_bytes <= place.offset) {
        const bd_out_segment *segment = &outbox->kept.items[count++];
        outbox->kept_from += segment->done_bytes;
        outbox->kept_bytes -= segment->done_bytes;
        end_segment(outbox, segment);
    }
    outbox->kept.count -= count;
    if (count && outbox->kept.count)
        memmove(outbox->kept.items, outbox->kept.items + count,
                outbox->kept.count * sizeof *outbox->kept.items);
    return NULL;
}

static void restore(bd_outbox *outbox, bd_out_segment *segment)
{
    segment->bytes -= segment->done_bytes;
    segment->size_bytes += segment->done_bytes;
    outbox->bytes += segment->done_bytes;
    segment->done_bytes = 0;
}

void bd_outbox_rewind(bd_outbox *outbox)
{
    size_t count = outbox->count, total = count + outbox->kept.count, capacity = 4;
    while (capacity < total)
        capacity *= 2;
    bd_out_segment *segments = bd_alloc(capacity * sizeof *segments);
    if (outbox->kept.count)
        memcpy(segments, outbox->kept.items, outbox->kept.count * sizeof *segments);
    for (size_t i = 0; i < count; i++)
        segments[outbox->kept.count + i] = *at(outbox, i);
    bd_free(outbox->segments);
    outbox->segments = segments;
    outbox->first = 0;
    outbox->count = total;
    outbox->capacity = capacity;
    for (size_t i = 0; i < total; i++)
        restore(outbox, &segments[i]);
    bd_vec_clear(&outbox->kept);
    outbox->kept_bytes = 0;
    outbox->written = outbox->kept_from;
    advance(outbox, (size_t)(outbox->acknowledged.offset - outbox->written));
}
