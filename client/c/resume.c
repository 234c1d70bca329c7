/* SPDX-License-Identifier: Apache-2.0
 * A connection over TCP or TLS that was lost is made anew: both sides tell how many bytes they have
 * received since the first handshake and send again what the other lacks. Above bd_link nobody
 * notices but by the time that it takes. Under the context's lock. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "client/c/link.h"
#include "client/c/secure.h"
#include "proto/base/alloc.h"
#include "proto/base/clock.h"

enum {
    CONNECT_MS = 5000,
    ANSWER_MS = 5000,
    DELAY_MS_MIN = 20,
    DELAY_MS_MAX = 2000,
    KEPT_BYTES_MIN = 4096,
};

void bd_resume_begin(burn_context *context)
{
    context->resumes = bd_client_get_facts(context->client)->resume_key[0] != '\0';
}

/* What the daemon has is kept no longer. */
static void forget(bd_kept *kept, uint64_t received)
{
    uint64_t count = received - kept->from;
    if (received <= kept->from || count > kept->count)
        return;
    kept->count -= (size_t)count;
    kept->from = received;
}

/* Places of the ring from an offset on that lie side by side, up to `most`. */
static size_t piece_at(const bd_kept *kept, uint64_t offset, size_t most, uint8_t **out)
{
    size_t place = (size_t)(offset & (kept->capacity - 1));
    *out = kept->bytes + place;
    return kept->capacity - place < most ? kept->capacity - place : most;
}

static void copy_in(bd_kept *kept, const uint8_t *bytes, size_t size)
{
    uint8_t *place = NULL;
    while (size > 0) {
        size_t step = piece_at(kept, kept->from + kept->count, size, &place);
        memcpy(place, bytes, step);
        kept->count += step;
        bytes += step;
        size -= step;
    }
}

static void make_room(bd_kept *kept, size_t size)
{
    bd_kept grown = {.capacity = kept->capacity ? kept->capacity : KEPT_BYTES_MIN,
                     .from = kept->from};
    while (grown.capacity < kept->count + size)
        grown.capacity *= 2;
    if (grown.capacity == kept->capacity)
        return;
    grown.bytes = bd_alloc(grown.capacity);
    while (grown.count < kept->count) {
        uint8_t *piece = NULL;
        size_t step =
            piece_at(kept, kept->from + grown.count, kept->count - grown.count, &piece);
        copy_in(&grown, piece, step);
    }
    bd_free(kept->bytes);
    *kept = grown;
}

void bd_resume_keep(burn_context *context, const struct iovec *parts, size_t size_bytes)
{
    forget(&context->kept, bd_client_peer_received(context->client));
    for (; size_bytes > 0; parts++) {
        size_t size = parts->iov_len < size_bytes ? parts->iov_len : size_bytes;
        if (!size)
            continue;
        make_room(&context->kept, size);
        copy_in(&context->kept, parts->iov_base, size);
        size_bytes -= size;
    }
}

/* ---- a new connection ------------------------------------------------------------------------ */

/* False when the time is over. */
static bool await(const burn_context *context, short events, int64_t until_us)
{
    int64_t left_ms = (until_us - bd_now_us()) / 1000;
    struct pollfd entry = {.fd = context->fd, .events = events};
    return left_ms > 0 && poll(&entry, 1, (int)left_ms) >= 0;
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
        } else if (!await(context, POLLIN | POLLOUT, until_us)) {
            BD_FAIL(DEADLINE, "the daemon takes nothing");
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
        } else if (!await(context, POLLIN, until_us)) {
            BD_FAIL(DEADLINE, "the daemon does not answer");
        }
    }
    return NULL;
}

/* NOT_FOUND and the like: it makes no sense to try again. */
static bd_error *read_answer(burn_context *context, uint64_t *out_received)
{
    uint8_t preface[BURN_PREFACE_BYTES], header[BURN_FRAME_HEADER_BYTES];
    uint8_t bytes[BD_MESSAGE_FRAME_BYTES_MAX];
    bd_frame frame;
    bd_message message;
    BD_TRY(read_all(context, preface, sizeof preface));
    BD_TRY(read_all(context, header, sizeof header));
    BD_TRY(bd_frame_decode(header, &frame));
    if (frame.message_bytes > sizeof bytes || frame.payload_bytes)
        BD_FAIL(PROTOCOL, "an answer to RESUME of another kind");
    BD_TRY(read_all(context, bytes, frame.message_bytes));
    BD_TRY(bd_message_decode(&frame, bytes, BD_MESSAGE_FROM_DAEMON, &message));
    if (message.type == BD_MESSAGE_RESUMED) {
        *out_received = message.resumed.received;
        return NULL;
    }
    if (message.type != BD_MESSAGE_ERROR)
        BD_FAIL(PROTOCOL, "an answer to RESUME of another kind");
    BD_FAIL(NOT_FOUND, "%.*s", (int)message.error.text.size_bytes, message.error.text.bytes);
}

static bd_error *greet(burn_context *context)
{
    uint8_t bytes[BURN_PREFACE_BYTES + BD_MESSAGE_FRAME_BYTES_MAX];
    bd_preface preface = {.version_min = BURN_PROTOCOL_VERSION,
                          .version_max = BURN_PROTOCOL_VERSION};
    const bd_client_facts *facts = bd_client_get_facts(context->client);
    bd_message resume = {.type = BD_MESSAGE_RESUME,
                         .resume = {.version = BURN_PROTOCOL_VERSION,
                                    .token = bd_text_of(context->token),
                                    .key = bd_text_of(facts->resume_key),
                                    .received = bd_client_received(context->client)}};
    bd_preface_encode(&preface, bytes);
    size_t size = BURN_PREFACE_BYTES + bd_message_encode(&resume, 0, bytes + BURN_PREFACE_BYTES,
                                                         BD_MESSAGE_FRAME_BYTES_MAX);
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
    for (size_t done = 0, step; done < kept->count; done += step) {
        uint8_t *piece = NULL;
        step = piece_at(kept, received + done, kept->count - done, &piece);
        BD_TRY(write_all(context, piece, step));
    }
    return NULL;
}

static void hang_up(burn_context *context)
{
    bd_secure_free(context->secure);
    context->secure = NULL;
    if (context->fd >= 0)
        close(context->fd);
    context->fd = -1;
}

bool bd_resume(burn_context *context)
{
    int64_t grace_us = (int64_t)bd_client_get_facts(context->client)->resume_ms * 1000;
    int64_t until_us = bd_now_us() + grace_us;
    int delay_ms = DELAY_MS_MIN;
    bool resumed = false, tries = true;
    context->resumes = false; /* bytes of handshakes are not kept, and nothing recurses */
    while (!resumed && tries) {
        hang_up(context);
        bool further = false;
        bd_error *error = attempt(context, &further);
        bd_code code = bd_error_code(error);
        bd_error_free(error);
        resumed = !error;
        tries = code == BD_CODE_UNAVAILABLE || code == BD_CODE_DEADLINE;
        if (resumed || !tries)
            break;
        if (further) { /* the daemon's grace begins anew */
            until_us = bd_now_us() + grace_us;
            delay_ms = DELAY_MS_MIN;
        }
        tries = bd_now_us() + (int64_t)delay_ms * 1000 < until_us;
        if (tries)
            poll(NULL, 0, delay_ms);
        delay_ms = delay_ms * 2 < DELAY_MS_MAX ? delay_ms * 2 : DELAY_MS_MAX;
    }
    context->resumes = context->unread = resumed;
    return resumed;
}
