/* SPDX-License-Identifier: Apache-2.0
 * Where a token comes from: never from the URL, which ends up in logs. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/c/context.h"

static bd_error *read_file(const char *path, char *room, size_t room_bytes)
{
    char reason[128];
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
