/* SPDX-License-Identifier: Apache-2.0 */
#include "server/net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/activation.h"
#include "server/rebirth.h"

enum { BACKLOG = 511, SEND_BUFFER_BYTES = 1024 * 1024, GROUPS_MAX = 1024 };

static bd_error *failed(const char *url, const char *what)
{
    int number = errno;
    if (number == EACCES || number == EPERM)
        BD_FAIL(DENIED, "%.128s: %s: %s", url, what, strerror(number));
    BD_FAIL(UNAVAILABLE, "%.128s: %s: %s", url, what, strerror(number));
}

/* Opens the folder of a socket, made if it is missing, and locks it, so that two daemons
 * that start at once do not both replace a stale file. */
static bd_error *lock_folder(const char *url, const bd_address *address, mode_t mode, int *out_fd)
{
    char folder[sizeof address->path];
    snprintf(folder, sizeof folder, "%s", address->path);
    char *slash = strrchr(folder, '/');
    slash[slash == folder] = '\0';
    if (mkdir(folder, mode) != 0 && errno != EEXIST)
        return failed(url, "cannot make the folder of the socket");
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return failed(url, "cannot open the folder of the socket");
    if (flock(fd, LOCK_EX) != 0) {
        bd_error *error = failed(url, "cannot lock the folder of the socket");
        close(fd);
        return error;
    }
    *out_fd = fd;
    return NULL;
}

/* CONFLICT if somebody answers at the path or something other than a socket lies there. */
static bd_error *remove_stale(const char *url, const bd_address *address)
{
    struct stat status;
    if (lstat(address->path, &status) != 0)
        return NULL;
    if (!S_ISSOCK(status.st_mode))
        BD_FAIL(CONFLICT, "%.128s: a file that is not a socket lies there", url);
    int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (probe < 0)
        return failed(url, "cannot make a socket");
    int answer = connect(probe, (const struct sockaddr *)&address->storage, address->size_bytes);
    int number = errno;
    close(probe);
    if (answer == 0 || number == EAGAIN)
        BD_FAIL(CONFLICT, "%.128s: another daemon listens there", url);
    if (number != ECONNREFUSED && number != ENOENT) {
        errno = number;
        return failed(url, "cannot see whether another daemon listens there");
    }
    if (unlink(address->path) != 0 && errno != ENOENT)
        return failed(url, "cannot remove the stale socket");
    return NULL;
}

static bd_error *bind_unix(const char *url, bool for_others, int fd, bd_address *address)
{
    int folder = -1;
    BD_TRY(lock_folder(url, address, for_others ? 0755 : 0750, &folder));
    bd_error *error = remove_stale(url, address);
    mode_t mask = umask(for_others ? 0111 : 0117); /* so that its first moment is right */
    if (!error && bind(fd, (const struct sockaddr *)&address->storage, address->size_bytes) != 0)
        error = failed(url, "cannot bind");
    umask(mask);
    if (!error && listen(fd, BACKLOG) != 0)
        error = failed(url, "cannot listen");
    struct stat status;
    if (!error && lstat(address->path, &status) == 0) {
        address->device = status.st_dev;
        address->inode = status.st_ino;
    }
    close(folder);
    return error;
}

static bd_error *bind_tcp(const char *url, int fd, const bd_address *address)
{
    int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, (const struct sockaddr *)&address->storage, address->size_bytes) != 0)
        return failed(url, "cannot bind");
    if (listen(fd, BACKLOG) != 0)
        return failed(url, "cannot listen");
    return NULL;
}

bd_error *bd_net_listen(const char *url, bool for_others, int *out_fd, bd_address *out_address)
{
    bd_address address;
    BD_TRY(bd_address_parse(url, &address));
    int inherited = bd_activation_find(&address);
    if (inherited >= 0) {
        *out_fd = inherited;
        address.is_managed = true; /* without an inode: the file is not removed */
        *out_address = address;
        bd_rebirth_claim(url, out_address);
        return NULL;
    }
    int fd = socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return failed(url, "cannot make a socket");
    bd_error *error = address.is_unix ? bind_unix(url, for_others, fd, &address)
                                      : bind_tcp(url, fd, &address);
    if (error) {
        close(fd);
        return error;
    }
    *out_fd = fd;
    *out_address = address;
    return NULL;
}

/* The file at the path is the socket's. */
static bool is_there(const bd_address *address)
{
    struct stat status;
    return address->is_unix && lstat(address->path, &status) == 0 &&
           status.st_dev == address->device && status.st_ino == address->inode;
}

bool bd_net_step_aside(bd_address *address)
{
    char aside[sizeof address->path];
    int size = snprintf(aside, sizeof aside, "%s.draining", address->path);
    if (size >= (int)sizeof aside || !is_there(address) || rename(address->path, aside) != 0)
        return false;
    memcpy(address->path, aside, sizeof aside);
    return true;
}

void bd_net_close_listener(int fd, const bd_address *address)
{
    if (is_there(address))
        unlink(address->path);
    close(fd);
}

static void address_text(const struct sockaddr_storage *name, char text[INET6_ADDRSTRLEN])
{
    const struct sockaddr_in *four = (const struct sockaddr_in *)name;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)name;
    const bool is_six = name->ss_family == AF_INET6;
    inet_ntop(name->ss_family, is_six ? (const void *)&six->sin6_addr : &four->sin_addr, text,
              INET6_ADDRSTRLEN);
}

void bd_net_url(int fd, const bd_address *address, char *text, size_t text_bytes)
{
    if (address->is_unix) {
        snprintf(text, text_bytes, "unix://%s", address->path);
        return;
    }
    struct sockaddr_storage name = address->storage;
    socklen_t size = sizeof name;
    getsockname(fd, (struct sockaddr *)&name, &size);
    char host[INET6_ADDRSTRLEN] = "";
    address_text(&name, host);
    bool six = name.ss_family == AF_INET6; /* whose port lies where that of IPv4 does */
    snprintf(text, text_bytes, "%s://%s%s%s:%d%s", address->is_tls ? "tls" : "tcp", six ? "[" : "",
             host, six ? "]" : "", ntohs(((const struct sockaddr_in *)&name)->sin_port),
             address->is_tls ? "" : "?insecure");
}

const char *bd_net_local_text(int fd, char text[BD_PEER_TEXT_BYTES])
{
    struct sockaddr_storage name = {0};
    socklen_t size = sizeof name;
    text[0] = '\0';
    if (getsockname(fd, (struct sockaddr *)&name, &size) == 0 &&
        (name.ss_family == AF_INET || name.ss_family == AF_INET6))
        address_text(&name, text);
    return strncmp(text, "::ffff:", 7) == 0 ? text + 7 : text; /* IPv4 on a socket of both */
}

const char *bd_net_peer_text(int fd, char text[BD_PEER_TEXT_BYTES])
{
    struct sockaddr_storage name;
    socklen_t size = sizeof name;
    text[0] = '\0';
    if (getpeername(fd, (struct sockaddr *)&name, &size) == 0 &&
        (name.ss_family == AF_INET || name.ss_family == AF_INET6))
        address_text(&name, text);
    return text;
}

const char *bd_net_peer_name(int fd, char text[BD_PEER_TEXT_BYTES])
{
    return *bd_net_peer_text(fd, text) ? text : "unix";
}

bd_accept bd_net_accept(int listener, int *out_fd)
{
    int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
        *out_fd = fd;
        return BD_ACCEPT_GOT;
    }
    bool exhausted = errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS;
    return exhausted ? BD_ACCEPT_EXHAUSTED : BD_ACCEPT_NONE;
}

bd_error *bd_net_prepare(int fd, bool *out_is_unix)
{
    int type = 0, domain = 0;
    socklen_t size = sizeof type;
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM ||
        getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0)
        BD_FAIL(INVALID, "descriptor %d is not a stream socket", fd);
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0 ||
        fcntl(fd, F_SETFD, FD_CLOEXEC) != 0)
        BD_FAIL(INVALID, "descriptor %d: %s", fd, strerror(errno));
    *out_is_unix = domain == AF_UNIX;
    int buffer_bytes = SEND_BUFFER_BYTES; /* as far as the system allows */
    if (domain == AF_UNIX)
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &buffer_bytes, sizeof buffer_bytes);
    if (domain != AF_UNIX) {
        /* A silent peer is gone after 15 + 3 * 15 s. */
        int on = 1, seconds = 15, probes = 3;
        unsigned timeout_ms = 60000;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
        setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof seconds);
        setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof seconds);
        setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
        setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_ms, sizeof timeout_ms);
    }
    return NULL;
}

bd_error *bd_net_peer(int fd, uid_t *out_uid, pid_t *out_pid)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
        BD_FAIL(UNAUTHENTICATED, "the peer cannot be identified: %s", strerror(errno));
    *out_uid = peer.uid;
    *out_pid = peer.pid;
    return NULL;
}

bool bd_net_peer_in_group(int fd, gid_t group)
{
    struct ucred peer;
    gid_t groups[GROUPS_MAX];
    socklen_t size = sizeof peer, bytes = sizeof groups;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.gid == group)
        return true;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &bytes) != 0)
        return false; /* in more groups than we can hold, or an older kernel */
    for (size_t i = 0; i < bytes / sizeof *groups; i++) {
        if (groups[i] == group)
            return true;
    }
    return false;
}

uint64_t bd_net_raise_file_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 1024;
    struct rlimit raised = {.rlim_cur = limit.rlim_max, .rlim_max = limit.rlim_max};
    if (limit.rlim_cur < limit.rlim_max && setrlimit(RLIMIT_NOFILE, &raised) == 0)
        limit = raised;
    return limit.rlim_cur;
}
