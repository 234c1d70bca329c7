/* SPDX-License-Identifier: Apache-2.0 */
#include "server/state_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "proto/base/log.h"
#include "proto/base/utf8.h"
#include "server/state.h"

enum { OWNER_BYTES = 96, TRIES = 100, PAUSE_MS = 50, NS_PER_MS = 1000000 };

typedef struct lock_owner {
    char text[OWNER_BYTES]; /* " with the pid 1234 (host a)"; "" if that is not known */
    int64_t drains_ms;      /* how long at most, when it began to; 0: it does not */
} lock_owner;

/* Whether the path still names that file: the folder may have been made anew. */
static bool is_at(int fd, const char *path)
{
    struct stat held, there;
    return fd >= 0 && fstat(fd, &held) == 0 && stat(path, &there) == 0 &&
           held.st_dev == there.st_dev && held.st_ino == there.st_ino;
}

static void read_owner(int fd, lock_owner *out)
{
    long long pid = 0;
    char text[OWNER_BYTES] = "", host[65] = "";
    *out = (lock_owner){0};
    if (pread(fd, text, sizeof text - 1, 0) > 0 &&
        sscanf(text, "%lld %64s draining %" SCNd64, &pid, host, &out->drains_ms) >= 2)
        snprintf(out->text, sizeof out->text, " with the pid %lld (host %s)", pid, host);
}

/* "1234 host", or "1234 host draining 30000". */
static void write_owner(int fd, int64_t drains_ms)
{
    char host[65] = "", text[OWNER_BYTES];
    if (gethostname(host, sizeof host - 1) != 0 || !*host)
        snprintf(host, sizeof host, "localhost");
    int size = snprintf(text, sizeof text, "%lld %s", (long long)getpid(), host);
    if (drains_ms)
        size += snprintf(text + size, sizeof text - (size_t)size, " draining %" PRId64, drains_ms);
    text[size++] = '\n';
    if (ftruncate(fd, 0) != 0 || pwrite(fd, text, (size_t)size, 0) != size)
        bd_log(BD_LOG_WARN, "state", "cannot write the lock's owner: %s", strerror(errno));
}

/* *out_fd -1: another one has it. */
static bd_error *attempt(const char *path, int *out_fd, lock_owner *out_owner)
{
    *out_fd = -1;
    for (;;) {
        int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
        if (fd < 0)
            BD_FAIL(UNAVAILABLE, "cannot open %.200s: %s", path, strerror(errno));
        int number = flock(fd, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
        if (number == 0 && is_at(fd, path)) {
            write_owner(fd, 0);
            *out_fd = fd;
            return NULL;
        }
        if (number == EWOULDBLOCK)
            read_owner(fd, out_owner);
        close(fd);
        if (number == EWOULDBLOCK)
            return NULL;
        if (number)
            BD_FAIL(UNAVAILABLE, "cannot lock %.200s: %s", path, strerror(number));
    }
}

/* An owner that drains has ended when its time is over, or as much later as its device takes. */
static bd_error *await(bd_state_lock *lock, const char *folder, const char *path,
                       lock_owner *owner)
{
    int64_t tries = TRIES;
    bool drains = false;
    bd_log(BD_LOG_INFO, "state", "waiting for the burnd%s to leave folder=%s", owner->text,
           BD_QUOTED(folder));
    for (int64_t i = 0; lock->fd < 0 && i < tries; i++) {
        if (owner->drains_ms && !drains) {
            drains = true;
            tries = i + owner->drains_ms / PAUSE_MS + 2 * TRIES;
            bd_log(BD_LOG_INFO, "state", "it drains, and ends within ms=%" PRId64,
                   owner->drains_ms);
            BD_TRY(lock->on_drain(lock->user));
        }
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_MS * NS_PER_MS}, NULL);
        BD_TRY(attempt(path, &lock->fd, owner));
    }
    return NULL;
}

bd_error *bd_state_lock_take(bd_state_lock *lock, const bd_config *config)
{
    char folder[BD_STATE_PATH_BYTES], path[BD_STATE_PATH_BYTES];
    lock_owner owner = {0};
    BD_TRY(bd_state_path(config, NULL, folder));
    BD_TRY(bd_state_path(config, "lock", path));
    if (is_at(lock->fd, path))
        return NULL;
    bd_state_lock_drop(lock);
    BD_TRY(bd_state_prepare(config));
    if (access(folder, W_OK) != 0)
        return NULL;
    BD_TRY(attempt(path, &lock->fd, &owner));
    if (lock->fd < 0 && lock->waits)
        BD_TRY(await(lock, folder, path, &owner));
    if (lock->fd < 0)
        BD_FAIL(CONFLICT,
                "the state folder %.200s is in use by the burnd%s; end that one, or give this one "
                "a folder of its own by state_dir",
                folder, owner.text);
    return NULL;
}

void bd_state_lock_say(const bd_state_lock *lock, int64_t most_ms)
{
    if (lock->fd >= 0)
        write_owner(lock->fd, most_ms);
}

void bd_state_lock_drop(bd_state_lock *lock)
{
    if (lock->fd >= 0)
        close(lock->fd);
    lock->fd = -1;
}
