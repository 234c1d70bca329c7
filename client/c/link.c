/* SPDX-License-Identifier: Apache-2.0 */
#include "client/c/link.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "client/c/secure.h"
#include "client/c/websocket.h"

ssize_t bd_link_read_below(burn_context *context, void *bytes, size_t size)
{
    if (context->secure)
        return bd_secure_read(context->secure, bytes, size);
    return recv(context->fd, bytes, size, MSG_DONTWAIT);
}

static ssize_t write_plain(int socket, const struct iovec *parts, int count, int fd)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.head = {.cmsg_len = CMSG_LEN(sizeof fd),
                          .cmsg_level = SOL_SOCKET,
                          .cmsg_type = SCM_RIGHTS}};
    struct msghdr message = {.msg_iov = (struct iovec *)(uintptr_t)parts,
                             .msg_iovlen = (size_t)count};
    if (fd >= 0) {
        memcpy(CMSG_DATA(&control.head), &fd, sizeof fd);
        message.msg_control = &control;
        message.msg_controllen = CMSG_LEN(sizeof fd);
    }
    return sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

ssize_t bd_link_write_below(burn_context *context, const struct iovec *parts, int count, int fd)
{
    if (!context->secure)
        return write_plain(context->fd, parts, count, fd);
    ssize_t total = 0;
    for (int i = 0; i < count; i++) {
        ssize_t sent = bd_secure_write(context->secure, parts[i].iov_base, parts[i].iov_len);
        if (sent < 0)
            return total ? total : sent;
        total += sent;
        if ((size_t)sent < parts[i].iov_len)
            break;
    }
    return total;
}

bool bd_link_flush_below(burn_context *context)
{
    return context->secure && bd_secure_flush(context->secure);
}

/* A connection that is lost and can be resumed is one on which nothing goes just now. */
static ssize_t result_of(burn_context *context, ssize_t count, bool ends)
{
    bool passes = count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
    bool closed = context->websocket && bd_websocket_closed(context);
    if (count > 0 || passes || !(count < 0 || ends) || closed || !context->resumes)
        return count;
    context->lost = true;
    context->lost_errno = count < 0 ? errno : 0;
    errno = EAGAIN;
    return -1;
}

ssize_t bd_link_read(burn_context *context, void *bytes, size_t size)
{
    ssize_t count = context->websocket ? bd_websocket_read(context, bytes, size)
                                       : bd_link_read_below(context, bytes, size);
    return result_of(context, count, true);
}

ssize_t bd_link_write(burn_context *context, const struct iovec *parts, int count, int fd)
{
    ssize_t written = context->websocket ? bd_websocket_write(context, parts, count)
                                         : bd_link_write_below(context, parts, count, fd);
    if (written > 0 && context->resumes)
        bd_resume_keep(context, parts, (size_t)written);
    return result_of(context, written, false);
}

bool bd_link_flush(burn_context *context)
{
    bool kept = context->websocket && bd_websocket_flush(context);
    return bd_link_flush_below(context) || kept;
}

bool bd_link_ended(const burn_context *context)
{
    struct pollfd entry = {.fd = context->fd, .events = POLLRDHUP};
    return poll(&entry, 1, 0) > 0;
}

void bd_link_finish(burn_context *context)
{
    if (context->websocket)
        bd_websocket_finish(context);
    if (context->secure)
        bd_secure_finish(context->secure);
}
