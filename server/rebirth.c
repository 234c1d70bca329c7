/* SPDX-License-Identifier: Apache-2.0 */
#include "server/rebirth.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "proto/base/alloc.h"
#include "proto/base/clock.h"
#include "proto/base/log.h"
#include "proto/base/utf8.h"
#include "server/activation.h"
#include "server/connection.h"
#include "server/notify.h"

enum {
    CALM_MS = 60000,    /* after so long a loss is the first one again */
    WAIT_MS = 1000,     /* before the second one, … */
    WAIT_MS_MAX = 300000, /* … twice as long before each that follows */
    WORD_BYTES = 256,
};

static const char variable[] = "BURN_REBIRTH";

extern char **environ;

typedef struct socket_file {
    uint64_t device, inode;
    unsigned is_managed;
    char url[BD_URL_BYTES];
} socket_file;

/* ---- what is inherited ----------------------------------------------------------------------- */

/* NULL: no process was before this one, or the variable is another one's. */
static const char *left(bd_rebirth *out)
{
    const char *text = getenv(variable), *pid = getenv("LISTEN_PID");
    int used = 0;
    if (!text || !pid || atoll(pid) != getpid() ||
        sscanf(text, "%" SCNu64 " %" SCNd64 " %" SCNd64 " %d%n", &out->restarts, &out->last_ms,
               &out->wait_ms, &out->state_lock, &used) != 4)
        return NULL;
    return text + used;
}

/* The next word of a text; false at its end, or if the word is no URL. */
static bool next_url(const char **at, char url[BD_URL_BYTES])
{
    const char *word = *at + strspn(*at, " ");
    size_t size = strcspn(word, " ");
    if (size == 0 || size >= BD_URL_BYTES)
        return false;
    snprintf(url, BD_URL_BYTES, "%.*s", (int)size, word);
    *at = word + size;
    return true;
}

static bool next_file(const char **at, socket_file *out)
{
    int used = 0;
    if (!*at || sscanf(*at, " %" SCNu64 " %" SCNu64 " %u%n", &out->device, &out->inode,
                       &out->is_managed, &used) != 3)
        return false;
    *at += used;
    return next_url(at, out->url);
}

/* Signals that come between two processes wait for the second one. */
static void hold_signals(int how)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    sigprocmask(how, &set, NULL);
}

void bd_rebirth_open(bd_daemon *daemon)
{
    if (!left(&daemon->rebirth))
        return;
    hold_signals(SIG_UNBLOCK);
    daemon->state_lock.fd = daemon->rebirth.state_lock;
    if (daemon->state_lock.fd >= 0)
        fcntl(daemon->state_lock.fd, F_SETFD, FD_CLOEXEC);
    prctl(PR_SET_NAME, "burnd"); /* not "exe" */
    bd_log(BD_LOG_WARN, "daemon", "begun anew after the device was lost restarts=%" PRIu64,
           daemon->rebirth.restarts);
}

bd_error *bd_rebirth_listen(bd_config *config)
{
    bd_rebirth ignored;
    socket_file file;
    const char *at = left(&ignored);
    if (!at)
        return bd_activation_add(config);
    while (next_file(&at, &file))
        if (file.is_managed)
            BD_TRY(bd_activation_add_url(config, file.url));
    return NULL;
}

bd_error *bd_rebirth_keep(bd_config *config)
{
    bd_rebirth ignored;
    socket_file file;
    char url[BD_URL_BYTES];
    const char *at = left(&ignored);
    if (!at)
        return NULL;
    while (next_file(&at, &file))
        ;
    for (size_t i = 0; i < config->listen.count; i++)
        bd_free(config->listen.items[i]);
    bd_vec_clear(&config->listen);
    for (at += strcspn(at, "|"), at += *at == '|'; next_url(&at, url);)
        BD_TRY(bd_config_set(config, "listen", url, (bd_config_source)config->source.listen));
    return NULL;
}

bool bd_rebirth_url(int index, char url[BD_URL_BYTES])
{
    bd_rebirth ignored;
    socket_file file;
    const char *at = left(&ignored);
    bool found = next_file(&at, &file);
    while (found && index-- > 0)
        found = next_file(&at, &file);
    if (found)
        memcpy(url, file.url, sizeof file.url);
    return found;
}

void bd_rebirth_claim(const char *url, bd_address *address)
{
    bd_rebirth ignored;
    socket_file file;
    for (const char *at = left(&ignored); next_file(&at, &file);) {
        if (strcmp(file.url, url) != 0)
            continue;
        address->device = file.device;
        address->inode = file.inode;
        address->is_managed = file.is_managed;
    }
}

/* ---- a loss ---------------------------------------------------------------------------------- */

static int64_t now_ms(void)
{
    return bd_now_us() / 1000; /* of a clock that the next process shares */
}

static void begin(bd_daemon *daemon)
{
    daemon->rebirth.begun = true;
    if (!daemon->embedded)
        bd_notify("RELOADING=1\nMONOTONIC_USEC=%lld\nSTATUS=the device is lost, beginning anew",
                  (long long)bd_now_us());
    bd_drain_start(daemon);
}

static void on_time(uv_timer_t *timer)
{
    bd_daemon *daemon = timer->data;
    bd_engine_stats stats;
    bd_engine_get_stats(daemon->engine, &stats);
    if (stats.device_is_gone && !daemon->drain.asked_ms) {
        begin(daemon);
        bd_connection_flush_all(daemon);
        return;
    }
    bd_error_free(daemon->rebirth.cause); /* it is open again, or the daemon ends in any case */
    daemon->rebirth.cause = NULL;
}

void bd_rebirth_ask(bd_daemon *daemon, bd_error *error)
{
    bd_rebirth *rebirth = &daemon->rebirth;
    if (rebirth->cause || daemon->drain.asked_ms)
        return;
    rebirth->cause = bd_error_retain(error);
    if (daemon->embedded) {
        bd_log(BD_LOG_ERROR, "daemon", "a private daemon ends with its device: %s",
               bd_error_text(error));
        begin(daemon);
        return;
    }
    bool calm = !rebirth->restarts || now_ms() - rebirth->last_ms >= CALM_MS;
    int64_t twice = rebirth->wait_ms ? 2 * rebirth->wait_ms : WAIT_MS;
    rebirth->wait_ms = calm ? 0 : twice < WAIT_MS_MAX ? twice : WAIT_MS_MAX;
    bd_log(BD_LOG_ERROR, "daemon", "the daemon begins anew in ms=%" PRId64 " reason=%s",
           rebirth->wait_ms, BD_QUOTED(bd_error_text(error)));
    if (rebirth->wait_ms)
        uv_timer_start(&daemon->later, on_time, (uint64_t)rebirth->wait_ms, 0);
    else
        begin(daemon);
}

bool bd_rebirth_is_due(const bd_daemon *daemon)
{
    return daemon->rebirth.begun && !daemon->embedded && !daemon->at_once;
}

/* ---- the next process ------------------------------------------------------------------------ */

/* Libraries of the vendor may leave theirs open, and a device with them. */
static void close_all_on_exec(void)
{
    DIR *folder = opendir("/proc/self/fd");
    if (!folder)
        return;
    for (struct dirent *entry; (entry = readdir(folder));) {
        int fd = atoi(entry->d_name);
        if (fd >= BD_INHERITED_FIRST)
            fcntl(fd, F_SETFD, FD_CLOEXEC);
    }
    closedir(folder);
}

/* To the descriptors that are inherited, in order: the listeners, then the lock of the state. False
 * where the system has none left. */
static bool pass_descriptors(bd_daemon *daemon)
{
    int copies[BD_LISTENERS_MAX + 1], count = daemon->listener_count;
    for (int i = 0; i < count; i++)
        copies[i] = daemon->listeners[i].fd;
    if (daemon->state_lock.fd >= 0)
        copies[count++] = daemon->state_lock.fd;
    for (int i = 0; i < count; i++) {
        copies[i] = fcntl(copies[i], F_DUPFD_CLOEXEC, BD_INHERITED_FIRST + BD_LISTENERS_MAX + 1);
        if (copies[i] < 0)
            return false;
    }
    close_all_on_exec();
    for (int i = 0; i < count; i++) {
        if (dup2(copies[i], BD_INHERITED_FIRST + i) < 0)
            return false;
    }
    return true;
}

static char *describe(const bd_daemon *daemon)
{
    const bd_text_list *urls = &daemon->config->listen;
    size_t room = WORD_BYTES * (BD_LISTENERS_MAX + 2);
    for (size_t i = 0; i < urls->count; i++)
        room += strlen(urls->items[i]) + 1;
    char *text = bd_alloc(room);
    size_t used =
        (size_t)snprintf(text, room, "%s=%" PRIu64 " %" PRId64 " %" PRId64 " %d", variable,
                         daemon->rebirth.restarts + 1, now_ms(), daemon->rebirth.wait_ms,
                         daemon->state_lock.fd < 0 ? -1
                                                   : BD_INHERITED_FIRST + daemon->listener_count);
    for (int i = 0; i < daemon->listener_count; i++) {
        const bd_listener *listener = &daemon->listeners[i];
        used += (size_t)snprintf(text + used, room - used, " %" PRIu64 " %" PRIu64 " %d %s",
                                 listener->address.device, listener->address.inode,
                                 listener->address.is_managed, listener->url);
    }
    used += (size_t)snprintf(text + used, room - used, " |");
    for (size_t i = 0; i < urls->count; i++)
        used += (size_t)snprintf(text + used, room - used, " %s", urls->items[i]);
    return text;
}

static bool has_name(const char *entry, const char *name)
{
    size_t size = strlen(name);
    return strncmp(entry, name, size) == 0 && entry[size] == '=';
}

/* This one's, with the sockets. Other threads may still read the one that we have. */
static char **make_environment(const bd_daemon *daemon)
{
    size_t count = 0, used = 0;
    while (environ[count])
        count++;
    char **made = bd_alloc_zeroed((count + 4) * sizeof *made);
    for (size_t i = 0; i < count; i++) {
        const char *entry = environ[i];
        if (!has_name(entry, "LISTEN_PID") && !has_name(entry, "LISTEN_FDS") &&
            !has_name(entry, "LISTEN_FDNAMES") && !has_name(entry, variable))
            made[used++] = environ[i];
    }
    char word[64];
    snprintf(word, sizeof word, "LISTEN_PID=%lld", (long long)getpid());
    made[used++] = bd_strdup(word);
    snprintf(word, sizeof word, "LISTEN_FDS=%d", daemon->listener_count);
    made[used++] = bd_strdup(word);
    made[used] = describe(daemon);
    return made;
}

void bd_rebirth_execute(bd_daemon *daemon, char *const *arguments)
{
    hold_signals(SIG_BLOCK);
    uv_run(&daemon->loop, UV_RUN_NOWAIT); /* those that have come */
    if (!bd_rebirth_is_due(daemon))
        return;
    char **environment = make_environment(daemon);
    if (pass_descriptors(daemon))
        execve("/proc/self/exe", arguments, environment);
    bd_log(BD_LOG_ERROR, "daemon", "cannot begin anew: %s", strerror(errno));
    _exit(1); /* as after a crash: whoever watches over us starts another one */
}
