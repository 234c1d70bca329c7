/* SPDX-License-Identifier: Apache-2.0 */
#include "server/input_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

/* The longest beginning of a path that is there, if it is a link: what it names is not. */
static bd_error *find_dangling(const char *path)
{
    char part[PATH_BYTES];
    struct stat status;
    size_t size = strlen(path);
    if (size >= sizeof part)
        BD_FAIL(LIMIT, "%.200s…: the path is too long", path);
    memcpy(part, path, size + 1);
    while (*part && lstat(part, &status) != 0) {
        char *slash = strrchr(part, '/');
        *(slash ? slash : part) = '\0';
    }
    if (*part && S_ISLNK(status.st_mode) && stat(part, &status) != 0)
        BD_FAIL(NOT_FOUND,
                "%.200s: a symbolic link to what is not there; mend the link, or remove it", part);
    return NULL;
}

bd_error *bd_input_file_exists(const char *path, bool *out)
{
    struct stat status;
    *out = stat(path, &status) == 0;
    if (*out)
        return NULL;
    if (errno == ENOENT || errno == ENOTDIR)
        return find_dangling(path);
    BD_FAIL(UNAVAILABLE, "%.200s: %s", path, strerror(errno));
}

static const char *kind_of(mode_t mode)
{
    return S_ISDIR(mode)    ? "a folder"
           : S_ISSOCK(mode) ? "a socket"
           : S_ISFIFO(mode) ? "a pipe"
                            : "a device";
}

bd_error *bd_input_file_open(const char *path, int *out_fd, struct stat *out_status)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    int number = fd < 0 ? errno : 0;
    bool known = fd < 0 ? stat(path, out_status) == 0 : fstat(fd, out_status) == 0;
    if (fd >= 0 && known && S_ISREG(out_status->st_mode)) {
        *out_fd = fd;
        return NULL;
    }
    if (fd >= 0)
        close(fd);
    if (known && !S_ISREG(out_status->st_mode))
        BD_FAIL(NOT_FOUND, "%.200s: %s, not a file", path, kind_of(out_status->st_mode));
    BD_FAIL(NOT_FOUND, "%.200s: %s", path, strerror(number));
}
