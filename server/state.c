/* SPDX-License-Identifier: Apache-2.0 */
#include "server/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/base/alloc.h"
#include "server/input_file.h"

static const char *base_folder(const bd_config *config, const char **out_rest)
{
    const char *base = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    *out_rest = "";
    if (*config->state_dir)
        return config->state_dir;
    *out_rest = "/burnd";
    if (base && *base == '/')
        return base;
    if (geteuid() == 0)
        return "/var/lib";
    *out_rest = "/.local/state/burnd";
    return home && *home == '/' ? home : NULL;
}

bd_error *bd_state_path(const bd_config *config, const char *name, char path[BD_STATE_PATH_BYTES])
{
    const char *rest, *base = base_folder(config, &rest);
    if (!base)
        BD_FAIL(NOT_FOUND, "there is no place for the daemon's state; set state_dir");
    if (*base != '/')
        BD_FAIL(INVALID, "state_dir: \"%.128s\" is not an absolute path", base);
    int size = snprintf(path, BD_STATE_PATH_BYTES, "%s%s%s%s", base, rest, name ? "/" : "",
                        name ? name : "");
    if (size >= BD_STATE_PATH_BYTES)
        BD_FAIL(LIMIT, "state_dir: \"%.128s…\" is too long", base);
    return NULL;
}

bd_error *bd_state_find(const bd_config *config, const char *name, char path[BD_STATE_PATH_BYTES],
                        bool *out_is_there)
{
    bd_error *nowhere = bd_state_path(config, name, path);
    *out_is_there = false;
    if (bd_error_code(nowhere) == BD_CODE_NOT_FOUND) {
        bd_error_free(nowhere);
        return NULL;
    }
    BD_TRY(nowhere);
    return bd_input_file_exists(path, out_is_there);
}

bd_error *bd_state_prepare(const bd_config *config)
{
    char path[BD_STATE_PATH_BYTES];
    BD_TRY(bd_state_path(config, NULL, path));
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int made = mkdir(path, 0700);
        int number = errno;
        *slash = '/';
        if (made != 0 && number != EEXIST)
            break; /* the last mkdir says it */
    }
    struct stat status;
    if (mkdir(path, 0700) != 0 && errno != EEXIST)
        BD_FAIL(UNAVAILABLE, "cannot make the state folder %.200s: %s", path, strerror(errno));
    if (stat(path, &status) != 0 || !S_ISDIR(status.st_mode))
        BD_FAIL(UNAVAILABLE, "the state folder %.200s is not a folder", path);
    if ((status.st_uid != geteuid() && status.st_uid != 0) || (status.st_mode & 022))
        BD_FAIL(DENIED, "other users can change the state folder %.200s; make it yours with 0700",
                path);
    return NULL;
}

bd_error *bd_state_read(const char *path, char **out_text, size_t *out_bytes)
{
    struct stat status;
    int fd;
    BD_TRY(bd_input_file_open(path, &fd, &status));
    bd_error *error = NULL;
    if ((status.st_mode & 077) || (status.st_uid != geteuid() && status.st_uid != 0))
        error = BD_ERROR(DENIED, "%.200s: its mode is %04o and its owner uid %u; it must be 0600 "
                                 "and the daemon's own: chmod 600 %.200s", path,
                         (unsigned)status.st_mode & 07777, (unsigned)status.st_uid, path);
    else if (status.st_size > BD_STATE_FILE_BYTES_MAX)
        error = BD_ERROR(LIMIT, "%.200s: more than %d bytes", path, BD_STATE_FILE_BYTES_MAX);
    size_t size = error ? 0 : (size_t)status.st_size, done = 0;
    char *text = bd_alloc(size + 1);
    for (ssize_t count = 1; !error && done < size && count > 0; done += (size_t)count) {
        count = read(fd, text + done, size - done);
        if (count < 0)
            error = BD_ERROR(UNAVAILABLE, "%.200s: %s", path, strerror(errno)), count = 0;
    }
    close(fd);
    if (error) {
        bd_free(text);
        return error;
    }
    text[done] = '\0';
    *out_text = text;
    *out_bytes = done;
    return NULL;
}

/* Bytes to a new file, and to the disk. */
static bd_error *write_new(const char *path, const char *bytes, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        BD_FAIL(UNAVAILABLE, "cannot make %.200s: %s", path, strerror(errno));
    size_t done = 0;
    while (done < size) {
        ssize_t count = write(fd, bytes + done, size - done);
        if (count < 0 && errno != EINTR)
            break;
        done += count > 0 ? (size_t)count : 0;
    }
    bool right = done == size && fsync(fd) == 0;
    int number = errno;
    close(fd);
    if (!right)
        BD_FAIL(UNAVAILABLE, "cannot write %.200s: %s", path, strerror(number));
    return NULL;
}

bd_error *bd_state_write(const bd_config *config, const char *name, const char *bytes,
                         size_t size_bytes)
{
    char path[BD_STATE_PATH_BYTES], fresh[BD_STATE_PATH_BYTES + 8], folder[BD_STATE_PATH_BYTES];
    BD_TRY(bd_state_prepare(config));
    BD_TRY(bd_state_path(config, NULL, folder));
    BD_TRY(bd_state_path(config, name, path));
    snprintf(fresh, sizeof fresh, "%s.new", path);
    unlink(fresh); /* of a daemon that was killed while it wrote */
    bd_error *error = write_new(fresh, bytes, size_bytes);
    if (!error && rename(fresh, path) != 0)
        error = BD_ERROR(UNAVAILABLE, "cannot replace %.200s: %s", path, strerror(errno));
    if (error) {
        unlink(fresh);
        return error;
    }
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        fsync(fd); /* so that the name outlives a power cut too */
        close(fd);
    }
    return NULL;
}
