/* SPDX-License-Identifier: Apache-2.0 */
#include "server/notify.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

void bd_notify(const char *format, ...)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t path_bytes = path ? strlen(path) : 0;
    if (path_bytes < 2 || path_bytes >= sizeof address.sun_path || (*path != '/' && *path != '@'))
        return;
    memcpy(address.sun_path, path, path_bytes);
    if (*path == '@')
        address.sun_path[0] = '\0'; /* an abstract name */
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    sendto(fd, text, (size_t)size < sizeof text ? (size_t)size : sizeof text - 1, MSG_NOSIGNAL,
           (const struct sockaddr *)&address,
           (socklen_t)(offsetof(struct sockaddr_un, sun_path) + path_bytes));
    close(fd);
}

int64_t bd_notify_watchdog_ms(void)
{
    const char *every_us = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
    if (!every_us || !getenv("NOTIFY_SOCKET") || (pid && atoll(pid) != getpid()))
        return 0;
    long long us = atoll(every_us);
    return us > 0 ? (us + 999) / 1000 : 0;
}
