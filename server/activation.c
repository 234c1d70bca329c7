/* SPDX-License-Identifier: Apache-2.0 */
#include "server/activation.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "server/net.h"

static int count(void)
{
    const char *pid = getenv("LISTEN_PID"), *number = getenv("LISTEN_FDS");
    if (!pid || !number || atoll(pid) != getpid())
        return 0;
    int found = atoi(number);
    return found < 0 ? 0 : found < BD_LISTENERS_MAX ? found : BD_LISTENERS_MAX;
}

/* False if it is no listening stream socket of a kind that burnd knows. */
static bool address_of(int fd, bd_address *out)
{
    bd_address address = {.size_bytes = sizeof address.storage};
    int listens = 0, type = 0;
    socklen_t size = sizeof listens;
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || !listens ||
        getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM ||
        getsockname(fd, (struct sockaddr *)&address.storage, &address.size_bytes) != 0)
        return false;
    const struct sockaddr_un *name = (const struct sockaddr_un *)&address.storage;
    address.is_unix = name->sun_family == AF_UNIX;
    address.is_tls = !address.is_unix;
    if (address.is_unix)
        memcpy(address.path, name->sun_path, sizeof name->sun_path);
    *out = address;
    return !address.is_unix || address.path[0] == '/';
}

static bool listed(const bd_text_list *urls, const char *url)
{
    for (size_t i = 0; i < urls->count; i++) {
        if (strcmp(urls->items[i], url) == 0)
            return true;
    }
    return false;
}

bd_error *bd_activation_add_url(bd_config *config, const char *url)
{
    if (listed(&config->listen, url))
        return NULL;
    return bd_config_set(config, "listen", url, (bd_config_source)config->source.listen);
}

bd_error *bd_activation_add(bd_config *config)
{
    for (int i = 0; i < count(); i++) {
        bd_address address;
        char url[BD_URL_BYTES];
        if (!address_of(BD_INHERITED_FIRST + i, &address))
            BD_FAIL(INVALID, "LISTEN_FDS: descriptor %d is no Unix or TCP socket that listens",
                    BD_INHERITED_FIRST + i);
        bd_net_url(BD_INHERITED_FIRST + i, &address, url, sizeof url);
        BD_TRY(bd_activation_add_url(config, url));
    }
    return NULL;
}

/* Family, port and host; what else a socket's name holds (scope, flow) may differ. */
static bool same(const bd_address *a, const bd_address *b)
{
    const struct sockaddr_in *a_four = (const struct sockaddr_in *)&a->storage;
    const struct sockaddr_in *b_four = (const struct sockaddr_in *)&b->storage;
    const struct sockaddr_in6 *a_six = (const struct sockaddr_in6 *)&a->storage;
    const struct sockaddr_in6 *b_six = (const struct sockaddr_in6 *)&b->storage;
    if (a->storage.ss_family != b->storage.ss_family)
        return false;
    if (a->is_unix)
        return strcmp(a->path, b->path) == 0;
    if (a->storage.ss_family == AF_INET)
        return a_four->sin_port == b_four->sin_port &&
               a_four->sin_addr.s_addr == b_four->sin_addr.s_addr;
    return a_six->sin6_port == b_six->sin6_port &&
           memcmp(&a_six->sin6_addr, &b_six->sin6_addr, sizeof a_six->sin6_addr) == 0;
}

int bd_activation_find(const bd_address *address)
{
    for (int i = 0; i < count(); i++) {
        bd_address bound;
        if (address_of(BD_INHERITED_FIRST + i, &bound) && same(address, &bound)) {
            int flags = fcntl(BD_INHERITED_FIRST + i, F_GETFL);
            fcntl(BD_INHERITED_FIRST + i, F_SETFL, flags | O_NONBLOCK);
            fcntl(BD_INHERITED_FIRST + i, F_SETFD, FD_CLOEXEC);
            return BD_INHERITED_FIRST + i;
        }
    }
    return -1;
}
