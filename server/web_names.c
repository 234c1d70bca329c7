/* SPDX-License-Identifier: Apache-2.0 */
#include "server/web_names.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The name of "name:port" or "[address]:port" without a final dot; empty if it is none. */
static void split(const char *host, char name[256])
{
    size_t size;
    name[0] = '\0';
    if (host[0] == '[') {
        size = strcspn(++host, "]");
        if (host[size] != ']' || (host[size + 1] && host[size + 1] != ':'))
            return;
    } else {
        size = strcspn(host, ":");
    }
    if (size > 1 && host[size - 1] == '.')
        size--;
    if (size >= 256)
        return;
    memcpy(name, host, size);
    name[size] = '\0';
}

static bool is_loopback(const char *name)
{
    struct in_addr four;
    struct in6_addr six;
    if (inet_pton(AF_INET, name, &four) == 1)
        return ntohl(four.s_addr) >> 24 == 127;
    if (inet_pton(AF_INET6, name, &six) == 1)
        return IN6_IS_ADDR_LOOPBACK(&six);
    return strcasecmp(name, "localhost") == 0;
}

/* An IPv6 address may be written in several ways. */
static bool is_same(const char *a, const char *b)
{
    struct in6_addr six[2];
    return strcasecmp(a, b) == 0 ||
           (inet_pton(AF_INET6, a, &six[0]) == 1 && inet_pton(AF_INET6, b, &six[1]) == 1 &&
            memcmp(&six[0], &six[1], sizeof six[0]) == 0);
}

bool bd_host_allowed(const char *host, const char *local_address, const bd_text_list *hosts)
{
    char name[256];
    split(host, name);
    if (!name[0])
        return false;
    if (is_loopback(name) || is_same(name, local_address))
        return true;
    for (size_t i = 0; i < hosts->count; i++) {
        if (is_same(name, hosts->items[i]))
            return true;
    }
    return false;
}

/* ---- what can be allowed --------------------------------------------------------------------- */

enum { WORD_BYTES = 256, PORT_MAX = 65535 };

/* Parts between dots; one that ends in a number is an IPv4 address, or none. */
static bool is_name(const char *text)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    struct in_addr four;
    const char *dot = strrchr(text, '.'), *last = dot ? dot + 1 : text;
    if (!*last || *text == '.' || *text == '-' || strstr(text, "..") ||
        text[strspn(text, letters)])
        return false;
    return last[strspn(last, "0123456789")] || inet_pton(AF_INET, text, &four) == 1;
}

bd_error *bd_host_check(const char *name)
{
    char meant[WORD_BYTES];
    struct in6_addr six;
    const char *mark = strstr(name, "://"), *from = mark ? mark + 3 : name;
    int size = snprintf(meant, sizeof meant, "%.*s", (int)strcspn(from, "/?#"), from);
    bool is_short = size > 0 && size < WORD_BYTES;
    if (is_short && inet_pton(AF_INET6, meant, &six) != 1)
        split(from, meant); /* as that of a header */
    meant[strcspn(meant, "/?#")] = '\0';
    bool right = is_short && (inet_pton(AF_INET6, meant, &six) == 1 || is_name(meant));
    if (right && strcmp(meant, name) == 0)
        return NULL;
    BD_FAIL(INVALID,
            "\"%.64s\" can match no Host: it is a name or an address alone, without scheme and "
            "port; %.128s would be right",
            name, right ? meant : "gpu.example");
}

/* As browsers write an IPv6 address: shortest, and without an IPv4 address in it. */
static bool is_six_of_browsers(const char *text)
{
    char usual[INET6_ADDRSTRLEN];
    struct in6_addr six;
    if (inet_pton(AF_INET6, text, &six) != 1 || strchr(text, '.'))
        return false;
    return inet_ntop(AF_INET6, &six, usual, sizeof usual) &&
           (strcmp(usual, text) == 0 || strchr(usual, '.'));
}

static bool is_port(const char *text)
{
    size_t size = strspn(text, "0123456789");
    return size && size <= 5 && !text[size] && *text != '0' && strtol(text, NULL, 10) <= PORT_MAX;
}

/* scheme://host or scheme://host:port, in small letters. */
static bool is_origin(const char *text)
{
    char host[WORD_BYTES + 8];
    size_t scheme = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789+.-");
    if (!islower((unsigned char)*text) || strncmp(text + scheme, "://", 3) != 0)
        return false;
    const char *from = text + scheme + 3;
    bool six = *from == '[';
    from += six;
    size_t size = strcspn(from, six ? "]" : ":");
    if (six && !from[size])
        return false;
    snprintf(host, sizeof host, "%.*s", (int)size, from);
    const char *rest = from + size + six;
    return (six ? is_six_of_browsers(host) : is_name(host)) &&
           (!*rest || (*rest == ':' && is_port(rest + 1)));
}

bd_error *bd_origin_check(const char *origin, size_t size_bytes)
{
    char meant[WORD_BYTES + 8], text[WORD_BYTES];
    snprintf(text, sizeof text, "%.*s", (int)(size_bytes < WORD_BYTES ? size_bytes : 0), origin);
    const char *mark = strstr(text, "://"), *host = mark ? mark + 3 : text;
    int scheme = (int)(mark ? mark - text : 0), count = (int)strcspn(host, "/?#");
    snprintf(meant, sizeof meant, "%.*s://%.*s", mark ? scheme : 5, mark ? text : "https", count,
             host);
    for (char *at = meant; *at; at++)
        *at = (char)tolower((unsigned char)*at);
    bool right = is_origin(meant); /* other letters are written as xn--… */
    size_t size = strlen(meant);
    if (size > 12 && strncmp(meant, "https://", 8) == 0 && strcmp(meant + size - 4, ":443") == 0)
        meant[size - 4] = '\0';
    if (size > 10 && strncmp(meant, "http://", 7) == 0 && strcmp(meant + size - 3, ":80") == 0)
        meant[size - 3] = '\0';
    if (right && strcmp(meant, text) == 0)
        return NULL;
    BD_FAIL(INVALID,
            "\"%.*s\" is the origin of no page: browsers write scheme://host:port, small, without "
            "a path, a usual port or a wildcard; %.128s would be right",
            (int)(size_bytes < 64 ? size_bytes : 64), origin,
            right ? meant : "https://app.example");
}

bool bd_origin_allowed(const char *origin, const bd_text_list *origins, const char *own_host)
{
    for (size_t i = 0; i < origins->count; i++) {
        if (strcmp(origin, origins->items[i]) == 0)
            return true;
    }
    size_t scheme = strncmp(origin, "https://", 8) == 0  ? 8
                    : strncmp(origin, "http://", 7) == 0 ? 7
                                                         : 0;
    return own_host && scheme && strcasecmp(origin + scheme, own_host) == 0;
}
