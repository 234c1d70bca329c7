/* SPDX-License-Identifier: Apache-2.0 */
#include "server/web_names.h"

#include <arpa/inet.h>
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
