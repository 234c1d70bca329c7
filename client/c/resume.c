/* SPDX-License-Identifier: Apache-2.0
 * A connection over TCP, TLS or WebSocket that was lost is made anew: both sides tell how many
 * bytes they have received since the first handshake and send again what the other lacks. Who waits
 * for bytes makes it anew; meanwhile he leaves the lock and looks for interrupts, and nothing is
 * read or written. Under the context's lock. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "client/c/link.h"
#include "client/c/secure.h"
#include "client/c/websocket.h"
#include "proto/base/alloc.h"
#include "proto/base/clock.h"

enum {
    CONNECT_MS = 5000,
    ANSWER_MS = 5000,
    DELAY_MS_MIN = 20,
    DELAY_MS_MAX = 2000,
    BLOCK_BYTES = 64 * 1024, /* in which small parts are gathered */
};

void bd_resume_begin(burn_context *context)
{
    context->resumes = bd_client_get_facts(context->client)->resume_key[0] != '\0';
}

/* ---- what is kept ---------------------------------------------------------------------------- */

/* What the daemon has is kept no longer. */
static void forget(bd_kept *kept, uint64_t received)
{
    size_t gone = 0;
    while (gone < kept->parts.count && kept->from < received) {
        bd_kept_part *part = &kept->parts.items[gone];
        uint64_t ahead = received - kept->from;
        size_t step = part->size < ahead ? part->size : (size_t)ahead;
        part->bytes += step;
        part->size -= step;
        kept->from += step;
        if (part->size)
            break;
        bd_free(part->own_block);
        gone++;
    }
    kept->parts.count -= gone;
    if (gone && kept->parts.count)
        memmove(kept->parts.items, kept->parts.items + gone,
                kept->parts.count * sizeof *kept->parts.items);
}

/* Room behind the last part, if that is ours and has any. */
static size_t room_of(const bd_kept *kept)
{
    if (!kept->parts.count)
        return 0;
    const bd_kept_part *last = &kept->parts.items[kept->parts.count - 1];
    return last->own_block
               ? (size_t)(last->own_block + last->capacity - last->bytes) - last->size : 0;
}

static void add_block(bd_kept *kept, size_t size)
{
    size_t capacity = size > BLOCK_BYTES ? size : BLOCK_BYTES;
    uint8_t *block = bd_alloc(capacity);
    *bd_vec_push(&kept->parts) =
        (bd_kept_part){.bytes = block, .own_block = block, .capacity = capacity};
}

static void copy_in(bd_kept *kept, const uint8_t *bytes, size_t size)
{
    if (room_of(kept) < size)
        add_block(kept, size);
    bd_kept_part *last = &kept->parts.items[kept->parts.count - 1];
    memcpy(last->own_block + (last->bytes - last->own_block) + last->size, bytes, size);
    last->size += size;
}

void bd_resume_keep(burn_context *context, const struct iovec *parts, size_t size_bytes)
{
    bd_kept *kept = &context->kept;
    forget(kept, bd_client_peer_received(context->client));
    for (int i = 0; size_bytes > 0; i++) {
        size_t size = parts[i].iov_len < size_bytes ? parts[i].iov_len : size_bytes;
        bool lent = context->mid_frame && i == 1; /* the chunk of an upload */
        if (lent && size)
            *bd_vec_push(&kept->parts) = (bd_kept_part){.bytes = parts[i].iov_base, .size = size};
        else if (size)
            copy_in(kept, parts[i].iov_base, size);
        size_bytes -= size;
    }
}

/* Forgets the frames that the daemon has whole. */
static void forget_frames(bd_kept *kept, uint64_t received)
{
    size_t gone = 0, count = kept->frame_ends.count;
    uint64_t *ends = kept->frame_ends.items;
    while (gone < count && ends[gone] <= received)
        kept->whole_end = ends[gone++];
    kept->frame_ends.count -= gone;
    if (gone && gone < count)
        memmove(ends, ends + gone, (count - gone) * sizeof *ends);
}

void bd_resume_frame(burn_context *context, uint64_t size_bytes)
{
    bd_kept *kept = &context->kept;
    if (!context->resumes) /* it belongs to a handshake, or is sent again */
        return;
    forget_frames(kept, bd_client_peer_received(context->client));
    kept->last_end += size_bytes;
    *bd_vec_push(&kept->frame_ends) = kept->last_end;
}

void bd_resume_settle(burn_context *context)
{
    bd_kept *kept = &context->kept;
    if (context->closed)
        return;
    forget(kept, bd_client_peer_received(context->client));
    for (size_t i = 0; i < kept->parts.count; i++) {
        bd_kept_part *part = &kept->parts.items[i];
        if (part->own_block)
            continue;
        part->own_block = bd_alloc(part->size);
        part->capacity = part->size;
        memcpy(part->own_block, part->bytes, part->size);
        part->bytes = part->own_block;
    }
}

void bd_resume_end(burn_context *context)
{
    bd_kept *kept = &context->kept;
    for (size_t i = 0; i < kept->parts.count; i++)
        bd_free(kept->parts.items[i].own_block);
    bd_vec_deinit(&kept->parts);
    bd_vec_deinit(&kept->frame_ends);
}

/* ---- a new connection ------------------------------------------------------------------------ */

/* DEADLINE when the time is over. */
static bd_error *await(burn_context *context, short events, int64_t until_us)
{
    int64_t left_ms = (until_us - bd_now_us()) / 1000;
    if (left_ms <= 0)
        BD_FAIL(DEADLINE, "the daemon does not answer");
    return bd_pause(context, context->fd, events, (int)left_ms);
}

static bd_error *write_all(burn_context *context, const uint8_t *bytes, size_t size)
{
    int64_t until_us = bd_now_us() + (int64_t)ANSWER_MS * 1000;
    while (size > 0 || bd_link_flush(context)) {
        struct iovec part = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = size};
        ssize_t count = size > 0 ? bd_link_write(context, &part, 1, -1) : 0;
        if (count > 0) {
            bytes += count;
            size -= (size_t)count;
            until_us = bd_now_us() + (int64_t)ANSWER_MS * 1000;
        } else if (count < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
            BD_FAIL(UNAVAILABLE, "the connection was lost again");
        } else if (bd_link_ended(context)) {
            BD_FAIL(UNAVAILABLE, "the connection was lost again");
        } else {
            BD_TRY(await(context, POLLOUT | POLLRDHUP, until_us));
        }
    }
    return NULL;
}

static bd_error *read_all(burn_context *context, uint8_t *bytes, size_t size)
{
    int64_t until_us = bd_now_us() + (int64_t)ANSWER_MS * 1000;
    while (size > 0) {
        ssize_t count = bd_link_read(context, bytes, size);
        if (count > 0) {
            bytes += count;
            size -= (size_t)count;
        } else if (count == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) {
            BD_FAIL(UNAVAILABLE, "the connection was lost again");
        } else {
            BD_TRY(await(context, POLLIN, until_us));
        }
    }
    return NULL;
}

static bd_error *read_answer(burn_context *context, uint64_t *out_received)
{
    uint8_t bytes[BD_CLIENT_RESUME_BYTES_MAX];
    size_t size = 0, wanted = 0;
    for (;;) {
        BD_TRY(bd_client_resumed(bytes, size, &wanted, out_received));
        if (size == wanted)
            return NULL;
        BD_TRY(read_all(context, bytes + size, wanted - size));
        size = wanted;
    }
}

static bd_error *greet(burn_context *context)
{
    uint8_t bytes[BD_CLIENT_RESUME_BYTES_MAX];
    size_t size = bd_client_resume(context->client, context->token, bytes);
    memset(context->token, 0, sizeof context->token);
    return write_all(context, bytes, size);
}

/* *out_further: more has arrived than was known of, though the connection may be lost again. */
static bd_error *attempt(burn_context *context, bool *out_further)
{
    uint64_t received = 0;
    BD_TRY(bd_reconnect(context, CONNECT_MS));
    BD_TRY(greet(context));
    BD_TRY(read_answer(context, &received));
    bd_kept *kept = &context->kept;
    *out_further = received > kept->from;
    forget(kept, received);
    if (received != kept->from)
        BD_FAIL(PROTOCOL, "the daemon has received what was not sent");
    forget_frames(kept, received);
    if (context->websocket && kept->frame_ends.count && received > kept->whole_end)
        bd_websocket_rest(context, kept->frame_ends.items[0] - received);
    for (size_t i = 0; i < kept->parts.count; i++)
        BD_TRY(write_all(context, kept->parts.items[i].bytes, kept->parts.items[i].size));
    return NULL;
}

static void hang_up(burn_context *context)
{
    bd_secure_free(context->secure);
    context->secure = NULL;
    bd_free(context->websocket);
    context->websocket = NULL;
    if (context->fd >= 0)
        close(context->fd);
    context->fd = -1;
}

static int64_t grace_end_us(const burn_context *context)
{
    int64_t grace_ms = (int64_t)bd_client_get_facts(context->client)->resume_ms;
    if (context->resume_ms >= 0 && context->resume_ms < grace_ms)
        grace_ms = context->resume_ms;
    return bd_now_us() + grace_ms * 1000;
}

/* An error: the user interrupted it, or closed the connection. */
static bd_error *try_again_and_again(burn_context *context, bd_error **out_reason)
{
    for (int delay_ms = DELAY_MS_MIN;;) {
        hang_up(context);
        bool further = false;
        bd_error *error = attempt(context, &further);
        bd_code code = bd_error_code(error);
        if (!error || code == BD_CODE_CANCELLED || context->closed)
            return error;
        if (further) { /* the daemon's grace begins anew */
            context->resume_until_us = grace_end_us(context);
            delay_ms = DELAY_MS_MIN;
        }
        int64_t next_us = bd_now_us() + (int64_t)delay_ms * 1000;
        if ((code != BD_CODE_UNAVAILABLE && code != BD_CODE_DEADLINE) ||
            next_us >= context->resume_until_us) {
            *out_reason = error;
            return NULL;
        }
        bd_error_free(error);
        for (int64_t left_us; (left_us = next_us - bd_now_us()) > 0;)
            BD_TRY(bd_pause(context, -1, 0, (int)(left_us / 1000 + 1)));
        delay_ms = delay_ms * 2 < DELAY_MS_MAX ? delay_ms * 2 : DELAY_MS_MAX;
    }
}

bd_error *bd_resume(burn_context *context, bd_error **out_reason)
{
    *out_reason = NULL;
    if (context->resuming) /* by another thread */
        return bd_pause(context, -1, 0, DELAY_MS_MIN);
    if (!context->resume_until_us)
        context->resume_until_us = grace_end_us(context);
    context->resuming = true;
    context->resumes = false; /* bytes of handshakes are not kept, nor is their loss one */
    bd_error *error = try_again_and_again(context, out_reason);
    context->resuming = false;
    context->resumes = !*out_reason;
    if (!error) {
        context->lost = false;
        context->unread = true;
        context->resume_until_us = 0;
    }
    pthread_cond_broadcast(&context->fed);
    return error;
}
