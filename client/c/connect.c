/* SPDX-License-Identifier: Apache-2.0
 * From a URL, or from the look-up of one, to a connected socket. */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "client/c/context.h"
#include "client/c/secure.h"
#include "client/c/websocket.h"
#include "proto/base/clock.h"

enum { CONNECT_MS = 5000 };
#define DEFAULT_PORT "7867"

static bd_error *failed(const char *url, int number)
{
    char reason[128];
    if (number == ECANCELED)
        BD_FAIL(CANCELLED, "interrupted while connecting to %s", url);
    BD_FAIL(UNAVAILABLE, "cannot connect to %s: %s", url,
            strerror_r(number, reason, sizeof reason));
}

/* False if the wait was interrupted. */
static bool pause_within(burn_context *context, int fd, int64_t wait_ms)
{
    bd_error *error = bd_pause(context, fd, POLLOUT, (int)wait_ms);
    bd_error_free(error);
    return !error;
}

/* Of a socket that connects: 0, EINPROGRESS or what went wrong. */
static int outcome(int fd)
{
    struct pollfd entry = {.fd = fd, .events = POLLOUT};
    int number = EINPROGRESS;
    socklen_t bytes = sizeof number;
    if (poll(&entry, 1, 0) > 0 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &number, &bytes) != 0)
        number = errno;
    return number;
}

/* 0, or an errno: ECANCELED if it was interrupted. The descriptor is closed on failure. */
static int connect_within(burn_context *context, int fd, const struct sockaddr *address,
                          socklen_t size, int timeout_ms)
{
    int flags = fcntl(fd, F_GETFL);
    fcntl(fd, F_SETFL, flags | O_NONBLOCK);
    int number = connect(fd, address, size) == 0 ? 0 : errno;
    int64_t until_us = bd_now_us() + (int64_t)timeout_ms * 1000;
    while (number == EINPROGRESS || number == EINTR ||
           (number == EAGAIN && address->sa_family == AF_UNIX)) {
        int64_t left_ms = (until_us - bd_now_us()) / 1000;
        if (left_ms <= 0) {
            number = ETIMEDOUT;
            break;
        }
        bool full = number == EAGAIN; /* the listener's queue */
        if (!pause_within(context, full ? -1 : fd, full ? 10 : left_ms))
            number = ECANCELED;
        else if (full)
            number = connect(fd, address, size) == 0 ? 0 : errno;
        else
            number = outcome(fd);
    }
    if (number == 0)
        fcntl(fd, F_SETFL, flags);
    else
        close(fd);
    return number;
}

/* 0, or an errno. */
static int connect_unix(burn_context *context, const char *path, int timeout_ms)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path)
        return ENAMETOOLONG;
    memcpy(address.sun_path, path, strlen(path));
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return errno;
    int number =
        connect_within(context, fd, (const struct sockaddr *)&address, sizeof address, timeout_ms);
    if (number == 0)
        context->fd = fd;
    return number;
}

/* 0, or an errno. A daemon whose host does not answer any more is lost after 15 + 3 * 15 s, or when
 * it has not taken for 60 s what was sent. */
static int prepare_tcp(int fd)
{
    int on = 1, seconds = 15, probes = 3;
    unsigned timeout_ms = 60000;
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof seconds);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof seconds);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_ms, sizeof timeout_ms);
    return setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0 ? 0 : errno;
}

static bd_error *connect_tcp(burn_context *context, const char *host, const char *port,
                             int timeout_ms)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_family = AF_UNSPEC}, *found = NULL;
    void *token = bd_step_out(context);
    int number = getaddrinfo(host, port, &hints, &found);
    bd_error *error = bd_step_in(context, token);
    if (!error && number != 0)
        error = BD_ERROR(UNAVAILABLE, "cannot connect to %s: %s", context->url,
                         gai_strerror(number));
    if (error) {
        if (number == 0)
            freeaddrinfo(found);
        return error;
    }
    number = ECONNREFUSED;
    for (struct addrinfo *at = found; at && number != 0 && number != ECANCELED; at = at->ai_next) {
        int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0) {
            number = errno;
            continue;
        }
        number = connect_within(context, fd, at->ai_addr, at->ai_addrlen, timeout_ms);
        if (number != 0)
            continue;
        number = prepare_tcp(fd);
        if (number == 0)
            context->fd = fd;
        else
            close(fd);
    }
    freeaddrinfo(found);
    return number == 0 ? NULL : failed(context->url, number);
}

/* host, host:port, [v6] or [v6]:port, with what follows a ? left out. */
static bd_error *split_host(const char *url, const char *rest, const char *default_port,
                            char host[256], char port[16])
{
    size_t size = strcspn(rest, "/?"), host_size = size;
    for (size_t i = size; i > 0 && rest[i - 1] != ']'; i--) {
        if (rest[i - 1] == ':') {
            host_size = i - 1;
            break;
        }
    }
    const char *number = host_size < size ? rest + host_size + 1 : default_port;
    size_t number_size = host_size < size ? size - host_size - 1 : strlen(default_port);
    bool bracketed = host_size > 2 && rest[0] == '[' && rest[host_size - 1] == ']';
    if (!bracketed && host_size > 0 && memchr(rest, '[', host_size))
        BD_FAIL(INVALID, "%s: an IPv6 address stands within brackets, as in tls://[::1]:7867", url);
    if (bracketed) {
        rest++;
        host_size -= 2;
    }
    if (host_size == 0 || host_size >= 256 || number_size == 0 || number_size >= 16)
        BD_FAIL(INVALID, "%s: expected a host and a port, as in tls://host:port", url);
    snprintf(host, 256, "%.*s", (int)host_size, rest);
    snprintf(port, 16, "%.*s", (int)number_size, number);
    long value = strspn(port, "0123456789") == number_size ? atol(port) : 0;
    if (value < 1 || value > 65535)
        BD_FAIL(INVALID, "%s: the port is a number from 1 to 65535, not \"%s\"", url, port);
    return NULL;
}

/* Hex digits of ?pin=sha256:HEX; "" without one. */
static bd_error *take_pin(const char *url, char pin[BD_PIN_BYTES])
{
    static const char digits[] = "0123456789abcdefABCDEF", form[] = "sha256:";
    const char *at = strchr(url, '?');
    pin[0] = '\0';
    for (; at && *at; at += strcspn(at, "&")) {
        at++;
        if (strncmp(at, "pin=", 4) != 0)
            continue;
        const char *hex = at + 4 + sizeof form - 1;
        if (strncmp(at + 4, form, sizeof form - 1) != 0 ||
            strcspn(hex, "&") != BD_PIN_BYTES - 1 || strspn(hex, digits) < BD_PIN_BYTES - 1)
            BD_FAIL(INVALID, "%s: a pin is sha256: and 64 hex digits", url);
        snprintf(pin, BD_PIN_BYTES, "%s", hex);
    }
    return NULL;
}

/* Seconds that a lost connection is tried again; 0: never. */
static bd_error *take_resume(burn_context *context, const char *text, size_t size)
{
    enum { DIGITS_MAX = 6 };
    if (size < 1 || size > DIGITS_MAX || strspn(text, "0123456789") < size)
        BD_FAIL(INVALID, "%s: resume is a number of seconds, 0 for not at all", context->url);
    context->resume_ms = atoll(text) * 1000;
    return NULL;
}

/* Whether it is one of the keys, with its value; insecure may be copied from a listener's URL. */
static bool is_known(const char *pair, size_t size)
{
    static const char *const keys[] = {"device=", "pin=", "resume="};
    static const char *const wholes[] = {"insecure", "insecure=1"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (size >= strlen(keys[i]) && memcmp(pair, keys[i], strlen(keys[i])) == 0)
            return true;
    for (size_t i = 0; i < sizeof wholes / sizeof *wholes; i++)
        if (size == strlen(wholes[i]) && memcmp(pair, wholes[i], size) == 0)
            return true;
    return false;
}

/* ?device=NAME&resume=SECONDS; other keys are the transports'. */
static bd_error *take_query(burn_context *context)
{
    const char *at = strchr(context->url, '?');
    while (at && *at) {
        at++;
        size_t size = strcspn(at, "&");
        if (!is_known(at, size))
            BD_FAIL(INVALID,
                    "%s: \"%.*s\" is none of device=NAME, pin=sha256:HEX and resume=SECONDS",
                    context->url, (int)size, at);
        if (strncmp(at, "device=", 7) == 0) {
            if (size - 7 >= sizeof context->device)
                BD_FAIL(INVALID, "%s: the name of a device is shorter", context->url);
            snprintf(context->device, sizeof context->device, "%.*s", (int)(size - 7), at + 7);
            context->options.device = context->device;
        }
        if (strncmp(at, "resume=", 7) == 0)
            BD_TRY(take_resume(context, at + 7, size - 7));
        at += size;
    }
    return NULL;
}

static bd_error *connect_host(burn_context *context, const char *url, int timeout_ms)
{
    char host[256], port[16], pin[BD_PIN_BYTES], shown[256];
    const char *rest = strstr(url, "://") + 3;
    bool web = url[0] == 'w', secure = strncmp(url, "tls:", 4) == 0 || strncmp(url, "wss:", 4) == 0;
    BD_TRY(split_host(url, rest, !web ? DEFAULT_PORT : secure ? "443" : "80", host, port));
    BD_TRY(take_pin(url, pin));
    BD_TRY(bd_find_token(context->token, sizeof context->token));
    BD_TRY(connect_tcp(context, host, port, timeout_ms));
    if (secure)
        BD_TRY(bd_secure_open(context, host, pin, timeout_ms));
    snprintf(shown, sizeof shown, "%.*s", (int)strcspn(rest, "/?"), rest);
    return web ? bd_websocket_open(context, shown, timeout_ms) : NULL;
}

bd_error *bd_reconnect(burn_context *context, int timeout_ms)
{
    return connect_host(context, context->url, timeout_ms);
}

static bd_error *connect_url(burn_context *context, const char *url, int timeout_ms)
{
    if (strlen(url) >= sizeof context->url)
        BD_FAIL(INVALID, "%.64s…: a URL has at most %zu bytes", url, sizeof context->url - 1);
    snprintf(context->url, sizeof context->url, "%s", url);
    BD_TRY(take_query(context));
    if (strncmp(url, "unix://", 7) == 0) {
        char path[sizeof context->url];
        if (url[7] != '/')
            BD_FAIL(INVALID, "%s: the path of a socket is absolute: unix:///folder/name.sock", url);
        snprintf(path, sizeof path, "%.*s", (int)strcspn(url + 7, "?"), url + 7);
        int number = connect_unix(context, path, timeout_ms);
        return number == 0 ? NULL : failed(url, number);
    }
    if (strncmp(url, "tcp://", 6) == 0 || strncmp(url, "tls://", 6) == 0 ||
        strncmp(url, "ws://", 5) == 0 || strncmp(url, "wss://", 6) == 0)
        return connect_host(context, url, timeout_ms);
    if (strncmp(url, "private:", 8) == 0)
        return bd_spawn(context);
    BD_FAIL(UNSUPPORTED,
            "%s: this library connects to unix:///path, tls://, wss://, tcp:// and ws://host:port "
            "and private:",
            url);
}

bd_error *bd_connect(burn_context *context)
{
    int timeout_ms =
        context->options.connect_timeout_ms > 0 ? context->options.connect_timeout_ms : CONNECT_MS;
    const char *url = context->options.url;
    if (context->options.private_daemon)
        return bd_spawn(context);
    if (!url || !*url)
        url = getenv("BURN_URL");
    if (url && *url)
        return connect_url(context, url, timeout_ms);
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    char path[200];
    if (runtime && *runtime) {
        snprintf(path, sizeof path, "%s/burnd.sock", runtime);
        snprintf(context->url, sizeof context->url, "unix://%s", path);
        int number = connect_unix(context, path, timeout_ms);
        if (number == 0 || number == ECANCELED)
            return number == 0 ? NULL : failed(context->url, number);
    }
    snprintf(context->url, sizeof context->url, "unix:///run/burnd/burnd.sock");
    int number = connect_unix(context, "/run/burnd/burnd.sock", timeout_ms);
    if (number == ECANCELED)
        return failed(context->url, number);
    return number == 0 ? NULL : bd_spawn(context);
}
