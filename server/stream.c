/* SPDX-License-Identifier: Apache-2.0 */
#include "server/stream.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

void bd_stream_open(bd_stream *stream, int fd)
{
    *stream = (bd_stream){.fd = fd};
}

static ssize_t result_of(ssize_t count)
{
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return BD_STREAM_LATER;
    return count > 0 ? count : BD_STREAM_GONE;
}

ssize_t bd_stream_read(bd_stream *stream, const struct iovec *parts, size_t count)
{
    if (count == 1)
        return result_of(recv(stream->fd, parts->iov_base, parts->iov_len, MSG_DONTWAIT));
    struct msghdr message = {.msg_iov = (struct iovec *)parts, .msg_iovlen = count};
    return result_of(recvmsg(stream->fd, &message, MSG_DONTWAIT));
}

ssize_t bd_stream_write(bd_stream *stream, const struct iovec *parts, size_t count)
{
    const int flags = MSG_NOSIGNAL | MSG_DONTWAIT;
    if (count == 1)
        return result_of(send(stream->fd, parts->iov_base, parts->iov_len, flags));
    struct msghdr message = {.msg_iov = (struct iovec *)parts, .msg_iovlen = count};
    return result_of(sendmsg(stream->fd, &message, flags));
}

int bd_stream_events(const bd_stream *stream, bool writes)
{
    (void)stream;
    return UV_READABLE | (writes ? UV_WRITABLE : 0);
}

void bd_stream_finish(bd_stream *stream)
{
    shutdown(stream->fd, SHUT_WR);
}

void bd_stream_close(bd_stream *stream)
{
    close(stream->fd);
    stream->fd = -1;
}
