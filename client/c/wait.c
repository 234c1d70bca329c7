/* SPDX-License-Identifier: Apache-2.0
 * Moving bytes between the socket and client/core, and waiting for it. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "client/c/link.h"
#include "client/c/secure.h"
#include "proto/base/clock.h"
#include "proto/base/spare.h"

enum { DIRECT_BYTES_MIN = 4096, STUCK_MS = 2000 };

static bd_error *describe(burn_context *context, const char *doing, int number)
{
    char reason[128];
    const char *how = number == EPROTO && context->secure
                          ? bd_secure_problem(context->secure)
                          : strerror_r(number, reason, sizeof reason);
    bool mute = bd_client_get_phase(context->client) == BD_CLIENT_PREFACE &&
                strncmp(context->url, "tcp:", 4) == 0;
    const char *hint = mute ? "; if TLS is spoken there, write tls://" : "";
    const char *farewell = bd_client_farewell(context->client);
    if (*farewell)
        BD_FAIL(UNAVAILABLE, "the daemon at %s closed the connection: %s", context->url, farewell);
    if (number)
        BD_FAIL(UNAVAILABLE, "the connection to %s failed while %s: %s%s", context->url, doing, how,
                hint);
    BD_FAIL(UNAVAILABLE, "the daemon at %s closed the connection%s", context->url, hint);
}

/* The connection has failed. */
static bd_error *fail(burn_context *context, bd_error *own_error)
{
    bd_client_fail(context->client, bd_error_retain(own_error));
    return own_error;
}

static bd_error *lost(burn_context *context, const char *doing, int number)
{
    return fail(context, describe(context, doing, number));
}

/* ---- without waiting ------------------------------------------------------------------------- */

static bd_error *receive_now(burn_context *context);

/* What the daemon said last tells more than a write that fails, unless another thread reads it. */
static bd_error *sending_failed(burn_context *context, int number)
{
    if (!context->reading)
        BD_TRY(receive_now(context));
    return lost(context, "sending", number);
}

bd_error *bd_send_now(burn_context *context)
{
    while (!context->mid_frame && !context->lost && !bd_link_flush(context)) {
        const uint8_t *bytes = NULL;
        size_t size = bd_client_output(context->client, &bytes);
        if (size == 0)
            return NULL;
        struct iovec part = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = size};
        ssize_t count = bd_link_write(context, &part, 1, -1);
        if (count >= 0)
            bd_client_sent(context->client, (size_t)count);
        else if (errno == EAGAIN || errno == EWOULDBLOCK)
            return NULL;
        else if (errno != EINTR)
            return sending_failed(context, errno);
    }
    return NULL;
}

static bd_error *receive_now(burn_context *context)
{
    uint8_t *scratch = context->scratch;
    while (!context->lost) {
        uint8_t *place = NULL;
        size_t room = bd_client_room(context->client, &place);
        bool direct = room >= DIRECT_BYTES_MIN;
        ssize_t count = bd_link_read(context, direct ? place : scratch,
                                     direct ? room : sizeof context->scratch);
        if (count > 0) {
            BD_TRY(direct ? bd_client_filled(context->client, (size_t)count)
                          : bd_client_feed(context->client, scratch, (size_t)count));
            if (!direct && (size_t)count < sizeof context->scratch)
                return NULL;
        } else if (count == 0) {
            return lost(context, "reading", 0);
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            return NULL;
        } else if (errno != EINTR) {
            return lost(context, "reading", errno);
        }
    }
    return NULL;
}

void bd_hear(burn_context *context)
{
    if (!context->reading && bd_client_get_phase(context->client) == BD_CLIENT_OPEN)
        bd_error_free(receive_now(context)); /* the client keeps it */
}

static bd_error *move(burn_context *context)
{
    BD_TRY(bd_send_now(context));
    BD_TRY(receive_now(context));
    return bd_send_now(context); /* what credit has released, and PONGs */
}

/* ---- one turn of waiting --------------------------------------------------------------------- */

static void *wait_begin(const burn_context *context)
{
    return context->options.wait_begin ? context->options.wait_begin(context->options.user) : NULL;
}

/* True if the user wants the wait to end. */
static bool wait_end(const burn_context *context, void *token)
{
    const burn_options *options = &context->options;
    if (options->wait_end)
        options->wait_end(options->user, token);
    return options->interrupted && options->interrupted(options->user);
}

void *bd_step_out(burn_context *context)
{
    void *token = wait_begin(context);
    pthread_mutex_unlock(&context->lock);
    return token;
}

bd_error *bd_step_in(burn_context *context, void *token)
{
    bool stop = wait_end(context, token);
    pthread_mutex_lock(&context->lock);
    if (context->closed)
        BD_FAIL(UNAVAILABLE, "the connection was closed");
    if (stop)
        BD_FAIL(CANCELLED, "interrupted");
    return NULL;
}

bd_error *bd_pause(burn_context *context, int fd, short events, int wait_ms)
{
    struct pollfd entry = {.fd = fd, .events = events};
    void *token = bd_step_out(context);
    poll(&entry, 1, wait_ms < BD_WAIT_SLICE_MS ? wait_ms : BD_WAIT_SLICE_MS);
    return bd_step_in(context, token);
}

/* What had come before the loss. */
static bd_error *hear_out(burn_context *context)
{
    int number = context->lost_errno;
    context->lost = false;
    bd_error *error = receive_now(context);
    context->lost = true;
    context->lost_errno = number;
    return error;
}

/* The connection is lost: makes it anew, or fails. */
bd_error *bd_come_back(burn_context *context)
{
    bd_error *reason = NULL;
    if (!context->resuming && !context->resume_until_us)
        BD_TRY(hear_out(context));
    if (*bd_client_farewell(context->client))
        return lost(context, "reading", context->lost_errno);
    BD_TRY(bd_resume(context, &reason));
    if (!reason)
        return NULL;
    bd_error *error = describe(context, "reading", context->lost_errno);
    bd_error *whole = BD_ERROR(UNAVAILABLE, "%s, and could not be resumed: %s",
                               bd_error_text(error), bd_error_text(reason));
    bd_error_free(error);
    bd_error_free(reason);
    return fail(context, whole);
}

void bd_await_reader(burn_context *context)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += BD_WAIT_SLICE_MS * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&context->fed, &context->lock, &until);
}

typedef struct reception {
    int fd;
    void *bytes;
    size_t size;
    ssize_t count;
} reception;

static bool has_come(void *user)
{
    reception *it = user;
    it->count = recv(it->fd, it->bytes, it->size, MSG_DONTWAIT);
    return it->count >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
}

/* Looks for a while before it sleeps. */
static ssize_t receive(int fd, void *bytes, size_t size)
{
    reception it = {.fd = fd, .bytes = bytes, .size = size, .count = -1};
    errno = EAGAIN;
    bd_spare_await(has_come, &it);
    bool waits = it.count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
    return waits ? recv(fd, bytes, size, 0) : it.count;
}

/* A small answer is awaited in recv itself: one system call less than by poll. */
static bd_error *await_answer(burn_context *context)
{
    pthread_mutex_unlock(&context->lock);
    ssize_t count = receive(context->fd, context->scratch, sizeof context->scratch);
    int number = errno;
    pthread_mutex_lock(&context->lock);
    context->reading = false;
    BD_TRY(bd_client_failure(context->client));
    if (count == 0)
        return lost(context, "reading", 0);
    if (count < 0)
        return number == EAGAIN || number == EINTR ? NULL : lost(context, "reading", number);
    BD_TRY(bd_client_feed(context->client, context->scratch, (size_t)count));
    return (size_t)count == sizeof context->scratch ? move(context) : bd_send_now(context);
}

static bd_error *await_either(burn_context *context, bool sends)
{
    struct pollfd entry = {.fd = context->fd, .events = (short)(sends ? POLLIN | POLLOUT : POLLIN)};
    bool unread = context->unread;
    context->unread = false;
    pthread_mutex_unlock(&context->lock);
    poll(&entry, 1, unread ? 0 : BD_WAIT_SLICE_MS);
    pthread_mutex_lock(&context->lock);
    context->reading = false;
    BD_TRY(bd_client_failure(context->client));
    return entry.revents || unread ? move(context) : NULL;
}

static bd_error *await_socket(burn_context *context)
{
    const uint8_t *bytes = NULL;
    uint8_t *place = NULL;
    bool sends = bd_link_flush(context) || bd_client_output(context->client, &bytes) > 0;
    bool direct = bd_client_room(context->client, &place) >= DIRECT_BYTES_MIN;
    context->reading = true;
    bool polls =
        sends || direct || context->secure || context->websocket || context->resumes;
    bd_error *error = polls ? await_either(context, sends) : await_answer(context);
    pthread_cond_broadcast(&context->fed);
    return error;
}

/* Leaves the lock until something may have changed. */
static bd_error *turn(burn_context *context)
{
    if (context->lost)
        return bd_come_back(context);
    bd_error *error = NULL;
    void *token = wait_begin(context);
    if (context->reading)
        bd_await_reader(context);
    else
        error = await_socket(context);
    pthread_mutex_unlock(&context->lock);
    bd_error *stop = bd_step_in(context, token);
    if (error)
        bd_error_free(stop);
    return error ? error : stop;
}

/* ---- waits ----------------------------------------------------------------------------------- */

bd_error *bd_wait(burn_context *context, bd_pending *pending)
{
    bd_error *error = bd_send_now(context);
    while (!error && !pending->done)
        error = turn(context);
    if (pending->done) {
        if (error && pending->error)
            bd_error_free(error);
        else if (error && !context->closed)
            bd_client_free_imported(context->client, pending);
        return pending->error ? pending->error : error;
    }
    while (context->reading && !context->closed) /* it might be filling our place */
        bd_await_reader(context);
    if (!context->closed)
        bd_client_forget(context->client, pending);
    bd_error_free(context->closed ? NULL : bd_send_now(context));
    return error;
}

bd_error *bd_wait_open(burn_context *context, int timeout_ms)
{
    int64_t until_us = bd_now_us() + (int64_t)timeout_ms * 1000;
    BD_TRY(bd_send_now(context));
    while (bd_client_get_phase(context->client) != BD_CLIENT_OPEN) {
        BD_TRY(turn(context));
        BD_TRY(bd_client_failure(context->client));
        if (bd_now_us() > until_us)
            BD_FAIL(DEADLINE, "%s did not answer the handshake within %d ms", context->url,
                    timeout_ms);
    }
    return NULL;
}

bd_error *bd_wait_backlog(burn_context *context, size_t most_bytes)
{
    while (bd_client_backlog(context->client) > most_bytes)
        BD_TRY(turn(context));
    return NULL;
}

/* ---- uploads --------------------------------------------------------------------------------- */

/* A daemon that takes nothing for a while after an interrupt costs the connection: half an upload
 * cannot be taken back. */
static bd_error *go_on_or_give_up(burn_context *context, bool interrupted)
{
    if (interrupted && !context->interrupted_us)
        context->interrupted_us = bd_now_us();
    if (!context->interrupted_us ||
        bd_now_us() - context->interrupted_us < (int64_t)STUCK_MS * 1000)
        return NULL;
    bd_error *error = BD_ERROR(UNAVAILABLE,
                               "interrupted in the middle of an upload that the daemon "
                               "at %s did not take; the connection is lost",
                               context->url);
    bd_client_fail(context->client, bd_error_retain(error));
    return error;
}

/* The upload goes on after an interrupt. */
static void note_progress(burn_context *context)
{
    if (context->interrupted_us)
        context->interrupted_us = bd_now_us();
}

/* Leaves the lock until the socket may take more of the frame. Nobody may be reading: that the
 * other side has hung up is noticed here. */
static bd_error *await_room(burn_context *context)
{
    if (context->resumes && bd_link_ended(context)) {
        context->lost = true;
        context->lost_errno = 0;
    }
    short events = context->resumes ? POLLOUT | POLLRDHUP : POLLOUT;
    bd_error *error = context->lost ? bd_come_back(context)
                                    : bd_pause(context, context->fd, events, BD_WAIT_SLICE_MS);
    bool interrupted = bd_error_code(error) == BD_CODE_CANCELLED;
    if (error && !interrupted)
        return error;
    bd_error_free(error);
    BD_TRY(bd_client_failure(context->client));
    return go_on_or_give_up(context, interrupted);
}

/* Head and chunk as one: a frame that has begun must be finished. */
static bd_error *write_parts(burn_context *context, struct iovec parts[2], int fd)
{
    while (parts[0].iov_len + parts[1].iov_len > 0) {
        ssize_t count = context->lost ? -1 : bd_link_write(context, parts, 2, fd);
        if (count < 0 && (context->lost || errno == EAGAIN || errno == EWOULDBLOCK)) {
            BD_TRY(await_room(context));
            continue;
        }
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return sending_failed(context, errno);
        note_progress(context);
        fd = -1; /* it went with the first bytes */
        size_t left = (size_t)count;
        for (int i = 0; i < 2; i++) {
            size_t step = left < parts[i].iov_len ? left : parts[i].iov_len;
            parts[i].iov_base = (char *)parts[i].iov_base + step;
            parts[i].iov_len -= step;
            left -= step;
        }
    }
    return NULL;
}

static bd_error *write_frame(burn_context *context, const uint8_t *head, size_t head_bytes,
                             const uint8_t *chunk, size_t chunk_bytes, int fd)
{
    struct iovec parts[2] = {{.iov_base = (void *)(uintptr_t)head, .iov_len = head_bytes},
                             {.iov_base = (void *)(uintptr_t)chunk, .iov_len = chunk_bytes}};
    context->mid_frame = true;
    bd_error *error = write_parts(context, parts, fd);
    context->mid_frame = false;
    return error;
}

bd_error *bd_write_head(burn_context *context, const uint8_t *head, size_t head_bytes, int fd)
{
    return write_frame(context, head, head_bytes, NULL, 0, fd);
}

/* An upload is not left half done: the caller sees the interrupt at its next wait. */
bd_error *bd_turn_whole(burn_context *context)
{
    bd_error *error = turn(context);
    bool interrupted = bd_error_code(error) == BD_CODE_CANCELLED;
    if (error && !interrupted)
        return error;
    bd_error_free(error);
    return go_on_or_give_up(context, interrupted);
}

static bd_error *put_chunks(burn_context *context, uint64_t id, const burn_tensor_type *type,
                            const void *bytes, size_t size_bytes)
{
    size_t chunk_max = bd_client_get_facts(context->client)->chunk_bytes_max;
    for (size_t offset = 0; offset < size_bytes;) {
        size_t chunk = size_bytes - offset < chunk_max ? size_bytes - offset : chunk_max;
        uint8_t head[BD_MESSAGE_FRAME_BYTES_MAX];
        while (bd_client_backlog(context->client) > 0)
            BD_TRY(bd_turn_whole(context));
        size_t head_bytes = bd_client_put_head(context->client, id, type, offset, chunk, head);
        if (head_bytes == 0) {
            BD_TRY(bd_turn_whole(context));
            continue;
        }
        BD_TRY(write_frame(context, head, head_bytes, (const uint8_t *)bytes + offset, chunk, -1));
        offset += chunk;
    }
    return NULL;
}

bd_error *bd_put(burn_context *context, uint64_t id, const burn_tensor_type *type,
                 const void *bytes, size_t size_bytes)
{
    if (bd_client_put_fits(context->client, size_bytes)) {
        bd_client_put(context->client, id, type, bytes, size_bytes);
        return bd_after_record(context);
    }
    bool done = false;
    context->interrupted_us = 0;
    BD_TRY(bd_region_put(context, id, type, bytes, size_bytes, &done));
    if (done)
        return NULL;
    bd_error *error = put_chunks(context, id, type, bytes, size_bytes);
    bd_resume_settle(context);
    return error;
}
