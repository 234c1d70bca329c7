/* SPDX-License-Identifier: Apache-2.0
 * A private daemon: `burnd --embedded FD` over one half of a socket pair. It ends when the other
 * half is closed, however this process ends. */
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/c/context.h"

enum { CHILD_FD = 3, REAP_MS = 2000, FOLDER_BYTES = 960, PATH_BYTES = 1024 };

extern char **environ;

static bool runs(const char *path)
{
    return access(path, X_OK) == 0;
}

/* The folder of this library, with a slash at the end. */
static bool library_folder(char folder[FOLDER_BYTES])
{
    Dl_info info;
    static const int here; /* an address within the library */
    if (!dladdr(&here, &info) || !info.dli_fname)
        return false;
    const char *slash = strrchr(info.dli_fname, '/');
    if (!slash) {
        memcpy(folder, "./", 3);
        return true;
    }
    size_t size = (size_t)(slash - info.dli_fname) + 1;
    if (size >= FOLDER_BYTES)
        return false;
    memcpy(folder, info.dli_fname, size);
    folder[size] = '\0';
    return true;
}

static bool find_in_path(char path[PATH_BYTES])
{
    const char *list = getenv("PATH");
    while (list && *list) {
        size_t size = strcspn(list, ":");
        snprintf(path, PATH_BYTES, "%.*s/burnd", (int)size, list);
        if (size > 0 && runs(path))
            return true;
        list += size + (list[size] == ':');
    }
    return false;
}

static bd_error *find_daemon(char path[PATH_BYTES])
{
    static const char *const places[] = {"burnd", "bin/burnd", "../bin/burnd", "../../bin/burnd"};
    const char *named = getenv("BURND");
    if (named && *named) {
        if (!runs(named))
            BD_FAIL(UNAVAILABLE, "BURND names %s, which cannot be run", named);
        snprintf(path, PATH_BYTES, "%s", named);
        return NULL;
    }
    char folder[FOLDER_BYTES];
    bool known = library_folder(folder);
    for (size_t i = 0; known && i < sizeof places / sizeof *places; i++) {
        snprintf(path, PATH_BYTES, "%s%s", folder, places[i]);
        if (runs(path))
            return NULL;
    }
    if (find_in_path(path))
        return NULL;
    BD_FAIL(UNAVAILABLE,
            "no daemon answers at the usual places, and there is no burnd to start a private one: "
            "set BURN_URL, or BURND to the program, or put burnd beside the library or into PATH");
}

/* device: the wanted one, or NULL for the daemon's own choice. */
static int spawn(const char *path, const char *device, int child_fd, pid_t *out_pid)
{
    char number[16], flag[] = "--embedded", device_flag[] = "--device";
    char *arguments[] = {
        (char *)(uintptr_t)path,   flag, number, device && *device ? device_flag : NULL,
        (char *)(uintptr_t)device, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    snprintf(number, sizeof number, "%d", CHILD_FD);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", 0, 0);
    posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, child_fd,
                                     CHILD_FD); /* clears FD_CLOEXEC, also onto itself */
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    int result = posix_spawn(out_pid, path, &actions, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return result;
}

bd_error *bd_spawn(burn_context *context)
{
    char path[PATH_BYTES], reason[128];
    int pair[2];
    BD_TRY(find_daemon(path));
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        BD_FAIL(UNAVAILABLE, "no socket pair: %s", strerror_r(errno, reason, sizeof reason));
    int number = spawn(path, context->options.device, pair[1], &context->daemon);
    close(pair[1]);
    if (number != 0) {
        close(pair[0]);
        context->daemon = 0;
        BD_FAIL(UNAVAILABLE, "cannot start %s: %s", path,
                strerror_r(number, reason, sizeof reason));
    }
    context->fd = pair[0];
    snprintf(context->url, sizeof context->url, "private:");
    return NULL;
}

/* After the socket was closed. A daemon that is slow to end is left to the process's end. */
void bd_reap(burn_context *context)
{
    for (int waited_ms = 0; context->daemon > 0 && waited_ms < REAP_MS; waited_ms += 2) {
        pid_t result = waitpid(context->daemon, NULL, WNOHANG);
        if (result != 0 && !(result < 0 && errno == EINTR))
            break;
        poll(NULL, 0, 2);
    }
    context->daemon = 0;
}
