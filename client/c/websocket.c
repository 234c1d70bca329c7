/* SPDX-License-Identifier: Apache-2.0 */
#include "client/c/websocket.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#include "client/c/link.h"
#include "client/c/secure.h"
#include "proto/base/alloc.h"
#include "proto/base/clock.h"
#include "proto/frame.h"
#include "proto/websocket.h"

enum {
    IN_BYTES = 64 * 1024,
    OUT_BYTES = 128 * 1024,
    DIRECT_BYTES = 4096, /* from so many on, bytes are read straight to where they belong */
    MESSAGE_BYTES_MAX = BURN_CHUNK_BYTES_MAX + BURN_MESSAGE_BYTES_MAX + 2048,
    /* What may stand before the bytes of a frame: a pong, the header, the frame's own. */
    BEGIN_BYTES_MAX =
        2 * BD_WS_HEADER_BYTES_MAX + BD_WS_CONTROL_BYTES_MAX + BURN_FRAME_HEADER_BYTES,
};

struct bd_websocket {
    bd_ws_decoder decoder;
    bool closed, prefaced;
    uint8_t head[BURN_FRAME_HEADER_BYTES]; /* of the frame that begins; or the preface */
    size_t head_bytes;
    uint64_t left_bytes; /* of the frame that is written */
    uint8_t mask[BD_WS_MASK_BYTES];
    bool owes_pong;
    uint8_t pong[BD_WS_CONTROL_BYTES_MAX];
    size_t pong_bytes;
    size_t in_first, in_bytes, out_first, out_bytes;
    uint8_t in[IN_BYTES], out[OUT_BYTES];
};

/* ---- the upgrade ----------------------------------------------------------------------------- */

/* Waits for the socket; DEADLINE or CANCELLED. */
static bd_error *await(burn_context *context, short events, int64_t until_us)
{
    int64_t left_ms = (until_us - bd_now_us()) / 1000;
    if (left_ms <= 0)
        BD_FAIL(DEADLINE, "%s did not answer the upgrade to WebSocket in time", context->url);
    return bd_pause(context, context->fd, events, (int)left_ms);
}

static bd_error *send_request(burn_context *context, const char *host, const char *key,
                              int64_t until_us)
{
    char text[1024];
    int size = snprintf(text, sizeof text,
                        "GET / HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\n"
                        "Connection: Upgrade\r\nSec-WebSocket-Key: %s\r\n"
                        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: burnd.v1\r\n\r\n",
                        host, key);
    struct iovec part = {.iov_base = text, .iov_len = (size_t)size};
    while (part.iov_len) {
        ssize_t count = bd_link_write_below(context, &part, 1, -1);
        if (count < 0 && errno != EAGAIN && errno != EINTR)
            BD_FAIL(UNAVAILABLE, "%s: %s", context->url, strerrordesc_np(errno));
        if (count < 0)
            BD_TRY(await(context, POLLOUT, until_us));
        part.iov_base = (char *)part.iov_base + (count > 0 ? count : 0);
        part.iov_len -= count > 0 ? (size_t)count : 0;
    }
    while (bd_link_flush_below(context))
        BD_TRY(await(context, POLLOUT, until_us));
    return NULL;
}

/* The answer's head, terminated, at the start of `in`; what follows it stays to be read. */
static bd_error *read_answer(burn_context *context, bd_websocket *websocket, int64_t until_us)
{
    char *text = (char *)websocket->in, *end = NULL;
    size_t used = 0;
    while (!end && used < BURN_HELLO_BYTES_MAX) {
        ssize_t count = bd_link_read_below(context, text + used, BURN_HELLO_BYTES_MAX - used);
        if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR))
            BD_FAIL(UNAVAILABLE, "%s: the other side hung up instead of an answer to the upgrade",
                    context->url);
        if (count < 0)
            BD_TRY(await(context, POLLIN, until_us));
        used += count > 0 ? (size_t)count : 0;
        text[used] = '\0';
        end = strstr(text, "\r\n\r\n");
    }
    if (!end || strncmp(text, "HTTP/1.1 ", 9) != 0)
        BD_FAIL(PROTOCOL, "%s: the other side does not speak HTTP/1.1", context->url);
    end[2] = '\0';
    websocket->in_first = (size_t)(end + 4 - text);
    websocket->in_bytes = used - websocket->in_first;
    return NULL;
}

/* True if the head has this header with this value. */
static bool has_header(const char *head, const char *name, const char *value)
{
    size_t name_size = strlen(name), value_size = strlen(value);
    for (const char *line = head; (line = strstr(line, "\r\n")) && line[2];) {
        line += 2;
        if (strncasecmp(line, name, name_size) != 0 || line[name_size] != ':')
            continue;
        const char *at = line + name_size + 1;
        at += strspn(at, " \t");
        if (strncmp(at, value, value_size) == 0 && strcspn(at, " \t\r") == value_size)
            return true;
    }
    return false;
}

static bd_error *check_answer(burn_context *context, const bd_websocket *websocket, const char *key)
{
    const char *head = (const char *)websocket->in, *says = head + websocket->in_first;
    char accept[BD_ACCEPT_BYTES];
    int status = atoi(head + 9), size = (int)strcspn(says, "\r\n");
    if (status == 401 || status == 403)
        return status == 401 ? BD_ERROR(UNAUTHENTICATED, "%s: %.*s", context->url, size, says)
                             : BD_ERROR(DENIED, "%s: %.*s", context->url, size, says);
    if (status != 101)
        BD_FAIL(UNSUPPORTED, "%s: no WebSocket of burnd is there: %d %.*s", context->url, status,
                size, says);
    bd_secure_accept_key(key, accept);
    if (!has_header(head, "sec-websocket-accept", accept) ||
        !has_header(head, "sec-websocket-protocol", "burnd.v1") ||
        strcasestr(head, "sec-websocket-extensions"))
        BD_FAIL(PROTOCOL, "%s: the other side upgrades to something else than burnd.v1",
                context->url);
    return NULL;
}

bd_error *bd_websocket_open(burn_context *context, const char *host, int timeout_ms)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    int64_t until_us = bd_now_us() + (int64_t)timeout_ms * 1000;
    uint8_t random[22];
    char key[25] = "";
    if (getrandom(random, sizeof random, 0) != sizeof random)
        BD_FAIL(UNAVAILABLE, "the system gives no random bytes");
    for (size_t i = 0; i < sizeof random; i++) /* 16 bytes: the last digit has two bits */
        key[i] = digits[random[i] & (i < 21 ? 63 : 48)];
    memcpy(key + 22, "==", 3);
    bd_websocket *websocket = bd_alloc_zeroed(sizeof *websocket);
    bd_error *error = send_request(context, host, key, until_us);
    if (!error)
        error = read_answer(context, websocket, until_us);
    if (!error)
        error = check_answer(context, websocket, key);
    if (error) {
        bd_free(websocket);
        return error;
    }
    bd_ws_decoder_init(&websocket->decoder, false, MESSAGE_BYTES_MAX);
    context->websocket = websocket;
    return NULL;
}

/* ---- writing --------------------------------------------------------------------------------- */

static size_t room_of(bd_websocket *websocket)
{
    size_t end = websocket->out_first + websocket->out_bytes;
    if (OUT_BYTES - end < BEGIN_BYTES_MAX && websocket->out_first) {
        memmove(websocket->out, websocket->out + websocket->out_first, websocket->out_bytes);
        websocket->out_first = 0;
        end = websocket->out_bytes;
    }
    return OUT_BYTES - end;
}

/* Bytes of a message, masked on their way. */
static void put(bd_websocket *websocket, const uint8_t *bytes, size_t size)
{
    uint8_t *place = websocket->out + websocket->out_first + websocket->out_bytes;
    memcpy(place, bytes, size);
    bd_ws_mask(websocket->mask, place, size);
    websocket->out_bytes += size;
}

static void put_header(bd_websocket *websocket, bd_ws_opcode opcode, uint64_t size)
{
    if (getrandom(websocket->mask, sizeof websocket->mask, 0) < 0)
        websocket->mask[0]++; /* masks protect proxies, not us */
    websocket->out_bytes +=
        bd_ws_header(websocket->out + websocket->out_first + websocket->out_bytes, opcode, size,
                     websocket->mask);
}

/* Between messages only. */
static void put_pong(bd_websocket *websocket)
{
    if (!websocket->owes_pong)
        return;
    websocket->owes_pong = false;
    put_header(websocket, BD_WS_PONG, websocket->pong_bytes);
    put(websocket, websocket->pong, websocket->pong_bytes);
}

/* The head of a frame is complete: its message begins. */
static void begin_message(burn_context *context)
{
    bd_websocket *websocket = context->websocket;
    uint64_t size = websocket->head_bytes;
    bd_frame frame;
    if (websocket->prefaced) {
        bd_error *error = bd_frame_decode(websocket->head, &frame); /* we wrote it: none */
        size = error ? size : bd_frame_bytes(&frame);
        bd_error_free(error);
    }
    bd_resume_frame(context, size);
    put_pong(websocket);
    put_header(websocket, BD_WS_BINARY, size);
    put(websocket, websocket->head, websocket->head_bytes);
    websocket->left_bytes = size - websocket->head_bytes;
    websocket->head_bytes = 0;
    websocket->prefaced = true;
}

/* Takes what there is room for. */
static size_t take(burn_context *context, const uint8_t *bytes, size_t size)
{
    bd_websocket *websocket = context->websocket;
    size_t taken = 0;
    while (taken < size) {
        size_t head = websocket->prefaced ? BURN_FRAME_HEADER_BYTES : BURN_PREFACE_BYTES;
        size_t room = room_of(websocket), part = size - taken;
        if (room < BEGIN_BYTES_MAX)
            break;
        if (websocket->left_bytes) {
            part = part < room ? part : room;
            part = part < websocket->left_bytes ? part : (size_t)websocket->left_bytes;
            put(websocket, bytes + taken, part);
            websocket->left_bytes -= part;
        } else {
            part = part < head - websocket->head_bytes ? part : head - websocket->head_bytes;
            memcpy(websocket->head + websocket->head_bytes, bytes + taken, part);
            websocket->head_bytes += part;
            if (websocket->head_bytes == head)
                begin_message(context);
        }
        taken += part;
    }
    return taken;
}

bool bd_websocket_flush(burn_context *context)
{
    bd_websocket *websocket = context->websocket;
    if (!websocket->left_bytes && room_of(websocket) >= BEGIN_BYTES_MAX)
        put_pong(websocket);
    while (websocket->out_bytes) {
        struct iovec part = {.iov_base = websocket->out + websocket->out_first,
                             .iov_len = websocket->out_bytes};
        ssize_t count = bd_link_write_below(context, &part, 1, -1);
        if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
            return true;
        if (count < 0) { /* the next read says why */
            websocket->out_bytes = 0;
            return false;
        }
        websocket->out_first += (size_t)count;
        websocket->out_bytes -= (size_t)count;
    }
    websocket->out_first = 0;
    return false;
}

ssize_t bd_websocket_write(burn_context *context, const struct iovec *parts, int count)
{
    size_t total = 0;
    bool full = false;
    for (int i = 0; i < count && !full; i++) {
        for (size_t offset = 0; offset < parts[i].iov_len && !full;) {
            size_t part = take(context, (const uint8_t *)parts[i].iov_base + offset,
                               parts[i].iov_len - offset);
            offset += part;
            total += part;
            full = bd_websocket_flush(context) && !part;
        }
    }
    if (total)
        return (ssize_t)total;
    errno = EAGAIN;
    return -1;
}

void bd_websocket_rest(burn_context *context, uint64_t size_bytes)
{
    put_header(context->websocket, BD_WS_BINARY, size_bytes);
    context->websocket->left_bytes = size_bytes;
}

bool bd_websocket_closed(const burn_context *context)
{
    return context->websocket->closed;
}

void bd_websocket_finish(burn_context *context)
{
    static const uint8_t normal[2] = {BD_WS_STATUS_NORMAL >> 8, BD_WS_STATUS_NORMAL & 0xFF};
    bd_websocket *websocket = context->websocket;
    if (websocket->left_bytes || websocket->head_bytes || room_of(websocket) < BEGIN_BYTES_MAX)
        return; /* in the middle of a message there is no word for it */
    put_header(websocket, BD_WS_CLOSE, sizeof normal);
    put(websocket, normal, sizeof normal);
    bd_websocket_flush(context);
}

/* ---- reading --------------------------------------------------------------------------------- */

static void take_control(bd_websocket *websocket)
{
    const bd_ws_decoder *decoder = &websocket->decoder;
    websocket->closed |= decoder->opcode == BD_WS_CLOSE;
    if (decoder->opcode != BD_WS_PING)
        return;
    websocket->owes_pong = true;
    websocket->pong_bytes = decoder->data_bytes;
    memcpy(websocket->pong, decoder->data, decoder->data_bytes);
}

/* Decodes what was read into `in`; at most `size` bytes of messages come of it. -1: a violation. */
static ssize_t decode(bd_websocket *websocket, uint8_t *bytes, size_t size)
{
    bd_ws_decoder *decoder = &websocket->decoder;
    size_t part = websocket->in_bytes < size ? websocket->in_bytes : size, taken;
    bd_ws_event event;
    bd_error *error =
        bd_ws_feed(decoder, websocket->in + websocket->in_first, part, &taken, &event);
    if (error) {
        bd_error_free(error);
        errno = EBADMSG;
        return -1;
    }
    websocket->in_first += taken;
    websocket->in_bytes -= taken;
    if (event == BD_WS_EVENT_CONTROL)
        take_control(websocket);
    if (event != BD_WS_EVENT_DATA)
        return 0;
    memcpy(bytes, decoder->data, decoder->data_bytes);
    return (ssize_t)decoder->data_bytes;
}

ssize_t bd_websocket_read(burn_context *context, uint8_t *bytes, size_t size)
{
    bd_websocket *websocket = context->websocket;
    size_t got = 0;
    while (got < size && !websocket->closed) {
        size_t room = bd_ws_room(&websocket->decoder);
        room = room < size - got ? room : size - got;
        ssize_t count;
        if (websocket->in_bytes) {
            count = decode(websocket, bytes + got, size - got);
        } else if (room >= DIRECT_BYTES) {
            count = bd_link_read_below(context, bytes + got, room);
            if (count <= 0)
                return got ? (ssize_t)got : count;
            bd_ws_filled(&websocket->decoder, bytes + got, (size_t)count);
        } else {
            count = bd_link_read_below(context, websocket->in, IN_BYTES);
            if (count <= 0)
                return got ? (ssize_t)got : count;
            websocket->in_first = 0;
            websocket->in_bytes = (size_t)count;
            count = 0;
        }
        if (count < 0)
            return -1;
        got += (size_t)count;
    }
    return (ssize_t)got;
}
