/* SPDX-License-Identifier: Apache-2.0 */
#include "server/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "server/tls.h"

bd_error *bd_stream_open(bd_stream *stream, int fd, bd_tls *tls)
{
    bd_tls_link *link = tls ? bd_tls_link_create(tls, fd) : NULL;
    if (tls && !link)
        BD_FAIL(NO_MEMORY, "no memory for a TLS connection");
    *stream = (bd_stream){.fd = fd, .tls = link, .came_fd = -1};
    return NULL;
}

static ssize_t result_of(ssize_t count)
{
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return BD_STREAM_LATER;
    return count > 0 ? count : BD_STREAM_GONE;
}

/* At most one descriptor at a time: a second one before the first was taken ends the link, as does
 * more than one at once, of which the kernel drops those that have no room. */
static ssize_t read_with_fd(bd_stream *stream, const struct iovec *parts, size_t count)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct msghdr message = {.msg_iov = (struct iovec *)(uintptr_t)parts,
                             .msg_iovlen = count,
                             .msg_control = &control,
                             .msg_controllen = CMSG_LEN(sizeof(int))};
    ssize_t got = recvmsg(stream->fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0)
        return result_of(got);
    bool came = false;
    const struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    if (head && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS) {
        int fd;
        memcpy(&fd, CMSG_DATA(head), sizeof fd);
        came = stream->came_fd < 0;
        if (came)
            stream->came_fd = fd;
        else
            close(fd);
    }
    if (message.msg_flags & MSG_CTRUNC || (head && !came))
        return BD_STREAM_GONE;
    return result_of(got);
}

int bd_stream_take_fd(bd_stream *stream)
{
    int fd = stream->came_fd;
    stream->came_fd = -1;
    return fd;
}

ssize_t bd_stream_read(bd_stream *stream, const struct iovec *parts, size_t count)
{
    if (stream->tls)
        return bd_tls_read(stream->tls, parts, count);
    if (stream->takes_fds)
        return read_with_fd(stream, parts, count);
    if (count == 1)
        return result_of(recv(stream->fd, parts->iov_base, parts->iov_len, MSG_DONTWAIT));
    struct msghdr message = {.msg_iov = (struct iovec *)(uintptr_t)parts, .msg_iovlen = count};
    return result_of(recvmsg(stream->fd, &message, MSG_DONTWAIT));
}

ssize_t bd_stream_write(bd_stream *stream, const struct iovec *parts, size_t count)
{
    const int flags = MSG_NOSIGNAL | MSG_DONTWAIT;
    if (stream->tls)
        return bd_tls_write(stream->tls, parts, count);
    if (count == 1)
        return result_of(send(stream->fd, parts->iov_base, parts->iov_len, flags));
    struct msghdr message = {.msg_iov = (struct iovec *)(uintptr_t)parts, .msg_iovlen = count};
    return result_of(sendmsg(stream->fd, &message, flags));
}

int bd_stream_events(const bd_stream *stream, bool writes)
{
    const bd_tls_link *tls = stream->tls;
    if (tls)
        writes = bd_tls_read_waits_for_write(tls) || (writes && !bd_tls_write_waits_for_read(tls));
    return UV_READABLE | (writes ? UV_WRITABLE : 0);
}

int bd_stream_ready(const bd_stream *stream, int events)
{
    const bd_tls_link *tls = stream->tls;
    if (tls && (events & UV_WRITABLE) && bd_tls_read_waits_for_write(tls))
        return events | UV_READABLE;
    if (tls && (events & UV_READABLE) && bd_tls_write_waits_for_read(tls))
        return events | UV_WRITABLE;
    return events;
}

bool bd_stream_established(const bd_stream *stream)
{
    return !stream->tls || bd_tls_established(stream->tls);
}

bool bd_stream_met_http(const bd_stream *stream)
{
    return stream->tls && bd_tls_met_http(stream->tls);
}

const char *bd_stream_problem(const bd_stream *stream)
{
    return stream->tls ? bd_tls_problem(stream->tls) : "the peer hung up";
}

void bd_stream_finish(bd_stream *stream)
{
    if (stream->tls)
        bd_tls_finish(stream->tls);
    shutdown(stream->fd, SHUT_WR);
}

static void end_tls(bd_stream *stream)
{
    if (!stream->tls)
        return;
    bd_tls_finish(stream->tls);
    bd_tls_link_destroy(stream->tls);
    stream->tls = NULL;
}

bd_error *bd_stream_detach(bd_stream *stream)
{
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nothing < 0)
        BD_FAIL(UNAVAILABLE, "no descriptor: %s", strerror(errno));
    end_tls(stream);
    int placed = dup3(nothing, stream->fd, O_CLOEXEC);
    close(nothing);
    if (placed < 0)
        BD_FAIL(UNAVAILABLE, "no descriptor: %s", strerror(errno));
    return NULL;
}

void bd_stream_close(bd_stream *stream)
{
    end_tls(stream);
    if (stream->came_fd >= 0)
        close(bd_stream_take_fd(stream));
    close(stream->fd);
    stream->fd = -1;
}
