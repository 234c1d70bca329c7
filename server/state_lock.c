/* SPDX-License-Identifier: Apache-2.0 */
#include "server/state_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "proto/base/log.h"
#include "server/state.h"

enum { OWNER_BYTES = 96, TRIES = 100, PAUSE_NS = 50 * 1000 * 1000 };

/* Whether the path still names that file: the folder may have been made anew. */
static bool is_at(int fd, const char *path)
{
    struct stat held, there;
    return fd >= 0 && fstat(fd, &held) == 0 && stat(path, &there) == 0 &&
           held.st_dev == there.st_dev && held.st_ino == there.st_ino;
}

/* "pid 1234 of host", as its owner wrote it. */
static void read_owner(int fd, char owner[OWNER_BYTES])
{
    long long pid = 0;
    char text[OWNER_BYTES] = "", host[65] = "";
    ssize_t size = pread(fd, text, sizeof text - 1, 0);
    if (size > 0 && sscanf(text, "%lld %64s", &pid, host) == 2)
        snprintf(owner, OWNER_BYTES, " with the pid %lld (host %s)", pid, host);
    else
        owner[0] = '\0';
}

static void write_owner(int fd)
{
    char host[65] = "";
    if (gethostname(host, sizeof host - 1) != 0 || !*host)
        snprintf(host, sizeof host, "localhost");
    if (ftruncate(fd, 0) != 0 || dprintf(fd, "%lld %s\n", (long long)getpid(), host) < 0)
        bd_log(BD_LOG_WARN, "state", "cannot write the lock's owner: %s", strerror(errno));
}

/* *out_fd -1: another one has it. */
static bd_error *attempt(const char *path, int *out_fd, char owner[OWNER_BYTES])
{
    *out_fd = -1;
    for (;;) {
        int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
        if (fd < 0)
            BD_FAIL(UNAVAILABLE, "cannot open %.200s: %s", path, strerror(errno));
        int number = flock(fd, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
        if (number == 0 && is_at(fd, path)) {
            write_owner(fd);
            *out_fd = fd;
            return NULL;
        }
        if (number == EWOULDBLOCK)
            read_owner(fd, owner);
        close(fd);
        if (number == EWOULDBLOCK)
            return NULL;
        if (number)
            BD_FAIL(UNAVAILABLE, "cannot lock %.200s: %s", path, strerror(number));
    }
}

bd_error *bd_state_lock_take(bd_state_lock *lock, const bd_config *config)
{
    char folder[BD_STATE_PATH_BYTES], path[BD_STATE_PATH_BYTES], owner[OWNER_BYTES] = "";
    BD_TRY(bd_state_path(config, NULL, folder));
    BD_TRY(bd_state_path(config, "lock", path));
    if (is_at(lock->fd, path))
        return NULL;
    bd_state_lock_drop(lock);
    BD_TRY(bd_state_prepare(config));
    if (access(folder, W_OK) != 0)
        return NULL;
    BD_TRY(attempt(path, &lock->fd, owner));
    if (lock->fd < 0 && lock->waits)
        bd_log(BD_LOG_INFO, "state", "waiting for the burnd%s to leave folder=\"%s\"", owner,
               folder);
    for (int i = 0; lock->fd < 0 && lock->waits && i < TRIES; i++) {
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
        BD_TRY(attempt(path, &lock->fd, owner));
    }
    if (lock->fd < 0)
        BD_FAIL(CONFLICT,
                "the state folder %.200s is in use by the burnd%s; end that one, or give this one "
                "a folder of its own by state_dir",
                folder, owner);
    return NULL;
}

void bd_state_lock_drop(bd_state_lock *lock)
{
    if (lock->fd >= 0)
        close(lock->fd);
    lock->fd = -1;
}
