/* SPDX-License-Identifier: Apache-2.0
 * Where a token comes from: never from the URL, which ends up in logs; nor from a file that others
 * can read. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/c/context.h"

bd_error *bd_check_secret_file(const char *variable, const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode))
        return NULL;
    bool of_root = status.st_uid == 0;
    if (status.st_mode & (of_root ? S_IWGRP | S_IXGRP | S_IRWXO : S_IRWXG | S_IRWXO))
        BD_FAIL(DENIED,
                "%s names %.200s, and others could read or change it, as its mode is %04o: chmod "
                "%s %.200s",
                variable, path, (unsigned)status.st_mode & 07777,
                of_root && geteuid() != 0 ? "640" : "600", path);
    return NULL;
}

static bd_error *read_file(const char *path, char *room, size_t room_bytes)
{
    char reason[128];
    BD_TRY(bd_check_secret_file("BURN_TOKEN_FILE", path));
    FILE *file = fopen(path, "re");
    if (!file)
        BD_FAIL(NOT_FOUND, "BURN_TOKEN_FILE names %.200s: %s", path,
                strerror_r(errno, reason, sizeof reason));
    size_t size = fread(room, 1, room_bytes - 1, file);
    fclose(file);
    room[size] = '\0';
    room[strcspn(room, "\r\n")] = '\0'; /* the first line */
    return NULL;
}

bd_error *bd_find_token(char *room, size_t room_bytes)
{
    const char *token = getenv("BURN_TOKEN"), *path = getenv("BURN_TOKEN_FILE");
    room[0] = '\0';
    if (token && *token)
        snprintf(room, room_bytes, "%s", token);
    else if (path && *path)
        BD_TRY(read_file(path, room, room_bytes));
    else
        return NULL;
    bool cut = token && *token && strlen(token) >= room_bytes;
    for (const char *at = room; *at; at++)
        cut |= *at <= ' ' || *at > '~';
    if (cut || !*room)
        BD_FAIL(INVALID, "%s holds no token: that is one word of at most %zu letters",
                token && *token ? "BURN_TOKEN" : "BURN_TOKEN_FILE", room_bytes - 1);
    return NULL;
}
