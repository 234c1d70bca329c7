/* SPDX-License-Identifier: Apache-2.0 */
#include "server/files.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PATH_BYTES_MAX = 1024 };

static const struct {
    const char *ending, *type;
} types[] = {
    {".html", "text/html; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".mjs", "text/javascript; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".json", "application/json"},
    {".map", "application/json"},
    {".webmanifest", "application/manifest+json"},
    {".wasm", "application/wasm"},
    {".txt", "text/plain; charset=utf-8"},
    {".md", "text/plain; charset=utf-8"},
    {".svg", "image/svg+xml"},
    {".png", "image/png"},
    {".jpg", "image/jpeg"},
    {".jpeg", "image/jpeg"},
    {".gif", "image/gif"},
    {".webp", "image/webp"},
    {".ico", "image/x-icon"},
    {".woff2", "font/woff2"},
};

bd_error *bd_files_open(const char *folder, int *out_folder_fd)
{
    int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        BD_FAIL(NOT_FOUND, "www: %.256s: %s", folder, strerror(errno));
    *out_folder_fd = fd;
    return NULL;
}

static int hex(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* The path of a target without its first slash and its query, %XX decoded. False if it has a NUL,
 * a part that begins with a dot, or is too long. */
static bool decode(const char *target, char path[PATH_BYTES_MAX])
{
    size_t used = 0;
    bool part_begins = true;
    for (target++; *target && *target != '?' && *target != '#'; target++) {
        int c = (unsigned char)*target;
        if (c == '%') {
            int high = hex(target[1]), low = high < 0 ? -1 : hex(target[2]);
            if (low < 0)
                return false;
            c = high << 4 | low;
            target += 2;
        }
        if (!c || (part_begins && c == '.') || used + sizeof "index.html" >= PATH_BYTES_MAX)
            return false;
        part_begins = c == '/';
        path[used++] = (char)c;
    }
    memcpy(path + used, part_begins ? "index.html" : "", part_begins ? sizeof "index.html" : 1);
    return true;
}

static const char *type_of(const char *path)
{
    size_t size = strlen(path);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        size_t ending = strlen(types[i].ending);
        if (size > ending && strcasecmp(path + size - ending, types[i].ending) == 0)
            return types[i].type;
    }
    return "application/octet-stream";
}

bd_error *bd_files_find(int folder_fd, const char *target, int *out_fd, uint64_t *out_bytes,
                        const char **out_type)
{
    char path[PATH_BYTES_MAX];
    struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
                                      RESOLVE_NO_MAGICLINKS};
    if (!decode(target, path))
        BD_FAIL(NOT_FOUND, "there is no such page");
    int fd = (int)syscall(SYS_openat2, folder_fd, path, &how, sizeof how);
    if (fd < 0)
        BD_FAIL(NOT_FOUND, "there is no such page");
    struct stat status;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        close(fd);
        BD_FAIL(NOT_FOUND, "there is no such page");
    }
    *out_fd = fd;
    *out_bytes = (uint64_t)status.st_size;
    *out_type = type_of(path);
    return NULL;
}
