/* SPDX-License-Identifier: Apache-2.0 */
#include "server/web_names.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
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

bool bd_host_allowed(const char *host, const char *local_address, const bd_text_list *hosts)
{
    char name[256];
    split(host, name);
    if (!name[0])
        return false;
    if (is_loopback(name) || strcasecmp(name, local_address) == 0)
        return true;
    for (size_t i = 0; i < hosts->count; i++) {
        if (strcasecmp(name, hosts->items[i]) == 0)
            return true;
    }
    return false;
}

/* ---- what can be allowed --------------------------------------------------------------------- */

enum { WORD_BYTES = 256 };

static bool is_name(const char *text)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    struct in6_addr six;
    return inet_pton(AF_INET6, text, &six) == 1 || (*text && !text[strspn(text, letters)]);
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
    bool right = is_short && is_name(meant);
    if (right && strcmp(meant, name) == 0)
        return NULL;
    BD_FAIL(INVALID,
            "\"%.64s\" can match no Host: it is a name or an address alone, without scheme and "
            "port; %.128s would be right",
            name, right ? meant : "gpu.example");
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
    size_t size = strlen(meant);
    if (size > 12 && strncmp(meant, "https://", 8) == 0 && strcmp(meant + size - 4, ":443") == 0)
        meant[size - 4] = '\0';
    if (size > 10 && strncmp(meant, "http://", 7) == 0 && strcmp(meant + size - 3, ":80") == 0)
        meant[size - 3] = '\0';
    bool plain = count && (scheme || !mark) && !strpbrk(text, "*@, ");
    for (const char *at = text; *at; at++)
        plain &= (unsigned char)*at < 0x7F; /* other letters are written as xn--… */
    if (plain && strcmp(meant, text) == 0)
        return NULL;
    BD_FAIL(INVALID,
            "\"%.64s\" is the origin of no page: browsers write scheme://host:port, small, without "
            "a path, a usual port or a wildcard; %.128s would be right",
            text, plain ? meant : "https://app.example");
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
