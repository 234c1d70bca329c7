/* SPDX-License-Identifier: Apache-2.0 */
#include "server/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

static bd_error *parse_unix(const char *url, const char *path, bd_address *out)
{
    bd_address address = {.is_unix = true};
    struct sockaddr_un *name = (struct sockaddr_un *)&address.storage;
    if (path[0] != '/')
        BD_FAIL(INVALID,
                "%.128s: a Unix socket needs an absolute path, as in unix:///run/burnd/burnd.sock",
                url);
    size_t size = strlen(path);
    if (size >= sizeof name->sun_path)
        BD_FAIL(INVALID, "%.128s: the path of a Unix socket has at most %zu bytes", url,
                sizeof name->sun_path - 1);
    name->sun_family = AF_UNIX;
    memcpy(name->sun_path, path, size + 1);
    memcpy(address.path, path, size + 1);
    address.size_bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size + 1);
    *out = address;
    return NULL;
}

/* Splits "host", "host:port", "[host]" or "[host]:port", up to '?' or '/'. */
static bd_error *split(const char *url, const char *text, char host[64], long *out_port)
{
    const char *end = text + strcspn(text, "?/"), *colon = end;
    while (colon > text && *colon != ':' && *colon != ']')
        colon--;
    if (*colon != ':')
        colon = end;
    size_t host_size = (size_t)(colon - text);
    bool bracketed = host_size >= 2 && text[0] == '[' && colon[-1] == ']';
    char *stop = (char *)(uintptr_t)end;
    *out_port = colon < end ? strtol(colon + 1, &stop, 10) : BD_DEFAULT_PORT;
    if (host_size && text[0] == '[' && !bracketed)
        BD_FAIL(INVALID, "%.128s: an IPv6 address stands within brackets, as in tls://[::1]:7867",
                url);
    if (colon == text || colon + 1 == end || stop != end || *out_port < 0 || *out_port > 65535 ||
        host_size >= 64)
        BD_FAIL(INVALID,
                "%.128s: not host:port, as in tls://0.0.0.0:7867 or tcp://127.0.0.1:7867?insecure",
                url);
    snprintf(host, 64, "%.*s", (int)(bracketed ? host_size - 2 : host_size),
             bracketed ? text + 1 : text);
    return NULL;
}

static bd_error *parse_host(const char *url, const char *text, bd_address *out, bool *out_loopback)
{
    bd_address address = {0};
    char host[64];
    long port;
    BD_TRY(split(url, text, host, &port));
    struct sockaddr_in *four = (struct sockaddr_in *)&address.storage;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)&address.storage;
    if (strcmp(host, "localhost") == 0)
        snprintf(host, sizeof host, "127.0.0.1");
    if (inet_pton(AF_INET, host, &four->sin_addr) == 1) {
        four->sin_family = AF_INET;
        four->sin_port = htons((uint16_t)port);
        address.size_bytes = sizeof *four;
        *out_loopback = ntohl(four->sin_addr.s_addr) >> 24 == 127;
    } else if (inet_pton(AF_INET6, host, &six->sin6_addr) == 1) {
        six->sin6_family = AF_INET6;
        six->sin6_port = htons((uint16_t)port);
        address.size_bytes = sizeof *six;
        *out_loopback = IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
    } else {
        BD_FAIL(INVALID,
                "%.128s: \"%s\" is not an IP address; tls://0.0.0.0:7867 would be right for all of "
                "this host's, also for its names",
                url, host);
    }
    *out = address;
    return NULL;
}

static bd_error *parse_tcp(const char *url, const char *text, bd_address *out)
{
    bd_address address;
    bool loopback = false;
    BD_TRY(parse_host(url, text, &address, &loopback));
    const char *query = text + strcspn(text, "?/");
    if (!loopback)
        BD_FAIL(DENIED,
                "%.128s: plain TCP has no encryption and no identity, and is allowed on loopback "
                "only; write tls://",
                url);
    if (*query && strcmp(query, "?insecure") != 0 && strcmp(query, "?insecure=1") != 0)
        BD_FAIL(INVALID, "%.128s: \"%.64s\" is not ?insecure, which is all that may stand there",
                url, query);
    if (!*query)
        BD_FAIL(DENIED,
                "%.128s: plain TCP has no encryption and no identity; write tls://, or add "
                "?insecure to accept that",
                url);
    *out = address;
    return NULL;
}

static bd_error *parse_tls(const char *url, const char *text, bd_address *out)
{
    bd_address address;
    bool loopback = false;
    BD_TRY(parse_host(url, text, &address, &loopback));
    if (text[strcspn(text, "?/")])
        BD_FAIL(INVALID, "%.128s: a listener is tls://host:port with nothing behind it", url);
    address.is_tls = true;
    *out = address;
    return NULL;
}

bd_error *bd_address_parse(const char *url, bd_address *out)
{
    if (strncmp(url, "unix://", 7) == 0)
        return parse_unix(url, url + 7, out);
    if (strncmp(url, "tcp://", 6) == 0)
        return parse_tcp(url, url + 6, out);
    if (strncmp(url, "tls://", 6) == 0)
        return parse_tls(url, url + 6, out);
    if (strncmp(url, "ws://", 5) == 0 || strncmp(url, "wss://", 6) == 0)
        BD_FAIL(UNSUPPORTED, "%.128s: WebSocket is spoken on the tcp:// and tls:// listeners", url);
    BD_FAIL(INVALID,
            "%.128s: not an address; unix:///run/burnd/burnd.sock would be right, or "
            "tls://0.0.0.0:7867, or tcp://127.0.0.1:7867?insecure",
            url);
}
