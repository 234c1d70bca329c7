/* SPDX-License-Identifier: Apache-2.0 */
#include "server/daemon.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "proto/base/alloc.h"
#include "proto/base/clock.h"
#include "proto/base/log.h"
#include "proto/base/spare.h"
#include "proto/base/utf8.h"
#include "server/connection.h"
#include "server/files.h"
#include "server/health.h"
#include "server/net.h"
#include "server/notify.h"
#include "server/rebirth.h"
#include "server/reload.h"

enum {
    TICK_MS = 250,
    DRAIN_TICK_MS = 50,
    ACCEPTS_A_TURN = 64,
    WAITING_TURNS = 9, /* take all that a socket's queue holds */
};

/* For what the device has begun and nobody waits for; after a second signal, or the end of the only
 * client. */
static const unsigned engine_close_s = 5, engine_close_at_once_s = 1;

static bd_tf32 tf32_of(const bd_config *config)
{
    if (strcmp(config->tf32, "off") == 0)
        return BD_TF32_OFF;
    return strcmp(config->tf32, "all") == 0 ? BD_TF32_ALL : BD_TF32_CONVOLUTIONS;
}

static bd_error *open_engine(bd_daemon *daemon);
static bd_error *open_loop(bd_daemon *daemon);
static bd_error *open_listeners(bd_daemon *daemon);
static bd_error *open_listener(bd_daemon *daemon, const char *url);
static void close_listeners(bd_daemon *daemon);
static void await_listener(bd_listener *listener);
static void on_wake(uv_async_t *wake);
static void on_signal(uv_signal_t *handle, int number);
static void on_hang_up(uv_signal_t *handle, int number);
static void heed_signals(bd_daemon *daemon);
static void on_tick(uv_timer_t *timer);

int64_t bd_daemon_now_ms(bd_daemon *daemon)
{
    return (int64_t)uv_now(&daemon->loop) + 1; /* never 0, which stands for "not" */
}

/* The daemon before this one drains: who connects from now on waits for this one. It may be long;
 * until then a signal ends this one as it ends any process. */
static bd_error *listen_early(void *user)
{
    bd_daemon *daemon = user;
    uv_signal_stop(&daemon->terminate);
    uv_signal_stop(&daemon->interrupt);
    return open_listeners(daemon);
}

bd_error *bd_daemon_open(const bd_config *config, const bd_config_reader *reader, int embedded_fd,
                         bd_daemon **out)
{
    bd_daemon *daemon = bd_alloc_zeroed(sizeof *daemon);
    daemon->config = config;
    daemon->reader = *reader;
    daemon->embedded = embedded_fd >= 0;
    daemon->www_fd = -1;
    daemon->state_lock = (bd_state_lock){.fd = -1, .waits = true, .on_drain = listen_early,
                                         .user = daemon};
    uint64_t files = bd_net_raise_file_limit();
    daemon->connection_max = files > 2 * BD_DESCRIPTORS_RESERVED
                                 ? (size_t)files - BD_DESCRIPTORS_RESERVED
                                 : BD_DESCRIPTORS_RESERVED;
    bd_error *error = open_loop(daemon);
    if (error) {
        bd_free(daemon);
        return error;
    }
    daemon->started_ms = bd_daemon_now_ms(daemon);
    daemon->configured_s = time(NULL);
    bd_rebirth_open(daemon);
    bd_quotas_limit(&daemon->quotas, config);
    error = daemon->embedded ? NULL
                             : bd_access_load(config, &daemon->state_lock, &daemon->access);
    daemon->state_lock.waits = false; /* the loop never does */
    heed_signals(daemon);
    if (!error && *config->www)
        error = bd_config_blame_one(config, "www", bd_files_open(config->www, &daemon->www_fd));
    if (!error && !daemon->embedded && !daemon->listener_count)
        error = open_listeners(daemon);
    if (!error)
        error = open_engine(daemon);
    if (!error && daemon->embedded)
        error = bd_connection_open(daemon, embedded_fd, false);
    if (error) {
        bd_daemon_close(daemon);
        return error;
    }
    *out = daemon;
    return NULL;
}

/* ---- engine ---------------------------------------------------------------------------------- */

static void wake_loop(void *user)
{
    bd_daemon *daemon = user;
    uv_async_send(&daemon->wake);
}

/* $XDG_CACHE_HOME/burnd, else ~/.cache/burnd; NULL: no cache. */
static const char *cache_path(const bd_config *config, char *room, size_t room_bytes)
{
    const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (strcmp(config->cache_dir, "none") == 0)
        return NULL;
    if (*config->cache_dir)
        snprintf(room, room_bytes, "%s", config->cache_dir);
    else if (base && *base == '/')
        snprintf(room, room_bytes, "%s/burnd", base);
    else if (home && *home == '/')
        snprintf(room, room_bytes, "%s/.cache/burnd", home);
    else
        return NULL;
    return room;
}

static bd_error *open_engine(bd_daemon *daemon)
{
    const bd_config *config = daemon->config;
    char cache[4096];
    bool any_target = strcmp(config->target, "auto") == 0;
    bd_engine_options options = {
        .driver = config->device,
        .device = {.threads = (int)config->threads,
                   .cache_path = cache_path(config, cache, sizeof cache),
                   .cache_bytes_max = (uint64_t)config->cache_size,
                   .compile_never = strcmp(config->compile, "never") == 0,
                   .tf32 = tf32_of(config),
                   .libraries = config->libraries,
                   .target = any_target ? getenv("BURN_CPU_TARGET") : config->target},
        .fusion = strcmp(config->fusion, "on") == 0,
        .memory_bytes_max = (uint64_t)config->memory,
        .session_bytes_max = (uint64_t)config->session_memory,
        .names_max = (uint32_t)config->names,
        .compile_threads = (int)config->compile_threads,
        .wake = wake_loop,
        .wake_user = daemon,
    };
    BD_TRY_NOTE(bd_engine_open(&options, &daemon->engine), "device %s", config->device);
    bd_engine_describe(daemon->engine, &daemon->facts);
    bd_log(BD_LOG_INFO, "engine", "open device=%s name=%s detail=%s threads=%d",
           config->device, BD_QUOTED(daemon->facts.name), BD_QUOTED(daemon->facts.detail),
           daemon->facts.threads);
    return NULL;
}

void bd_daemon_stir(bd_daemon *daemon)
{
    daemon->active_ns = bd_now_ns();
    bd_alloc_keep_reserve();
}

static void on_wake(uv_async_t *wake)
{
    bd_daemon *daemon = wake->data;
    bd_daemon_stir(daemon);
    for (bd_reply *reply; daemon->engine && (reply = bd_engine_next_reply(daemon->engine));) {
        bd_connection *connection = bd_map_get(&daemon->sessions, reply->session);
        if (reply->kind == BD_REPLY_PROBED)
            bd_health_probed(daemon);
        if (reply->kind == BD_REPLY_LOST)
            bd_rebirth_ask(daemon, reply->error);
        if (connection)
            bd_session_reply(connection, reply);
        else
            bd_reply_destroy(reply); /* the client is gone */
    }
    bd_connection_flush_all(daemon);
}

/* ---- loop, signals, timers ------------------------------------------------------------------- */

/* libuv aborts where it has no memory: it takes ours, with its reserve. */
static void *allocate_items(size_t count, size_t size_bytes)
{
    size_t bytes;
    return bd_size_mul(count, size_bytes, &bytes) ? bd_alloc_zeroed(bytes) : NULL;
}

static bd_error *open_loop(bd_daemon *daemon)
{
    bd_alloc_keep_reserve();
    uv_replace_allocator(bd_alloc, bd_realloc, allocate_items, bd_free);
    int status = uv_loop_init(&daemon->loop);
    if (status == 0)
        status = uv_async_init(&daemon->loop, &daemon->wake, on_wake);
    if (status != 0)
        BD_FAIL(UNAVAILABLE, "cannot start the loop: %s", uv_strerror(status));
    uv_timer_init(&daemon->loop, &daemon->tick);
    uv_timer_init(&daemon->loop, &daemon->lease);
    uv_timer_init(&daemon->loop, &daemon->later);
    uv_timer_init(&daemon->loop, &daemon->watchdog);
    uv_signal_init(&daemon->loop, &daemon->terminate);
    uv_signal_init(&daemon->loop, &daemon->interrupt);
    uv_signal_init(&daemon->loop, &daemon->hang_up);
    daemon->wake.data = daemon->tick.data = daemon->lease.data = daemon->later.data =
        daemon->watchdog.data = daemon->terminate.data = daemon->interrupt.data =
            daemon->hang_up.data = daemon;
    heed_signals(daemon);
    return NULL;
}

static void heed_signals(bd_daemon *daemon)
{
    uv_signal_start(&daemon->terminate, on_signal, SIGTERM);
    uv_signal_start(&daemon->interrupt, on_signal, SIGINT);
    uv_signal_start(&daemon->hang_up, on_hang_up, SIGHUP);
}

static void on_signal(uv_signal_t *handle, int number)
{
    bd_log(BD_LOG_INFO, "daemon", "signal number=%d", number);
    bd_drain_ask(handle->data);
    bd_connection_flush_all(handle->data);
}

static void on_hang_up(uv_signal_t *handle, int number)
{
    (void)number;
    bd_error_free(bd_reload(handle->data)); /* the log says what was wrong */
    bd_connection_flush_all(handle->data);
}

void bd_daemon_start_tick(bd_daemon *daemon)
{
    uint64_t every = daemon->drain.asked_ms ? DRAIN_TICK_MS : TICK_MS;
    if (!uv_is_active((uv_handle_t *)&daemon->tick) || uv_timer_get_repeat(&daemon->tick) != every)
        uv_timer_start(&daemon->tick, on_tick, every, every);
}

static void on_tick(uv_timer_t *timer)
{
    bd_daemon *daemon = timer->data;
    int64_t now_ms = bd_daemon_now_ms(daemon);
    for (bd_connection *connection = daemon->connections; connection;
         connection = connection->next)
        bd_connection_tick(connection, now_ms);
    bd_drain_tick(daemon, now_ms);
    bd_connection_flush_all(daemon);
    bool needed = daemon->drain.asked_ms != 0;
    for (int i = 0; i < daemon->listener_count; i++) {
        await_listener(&daemon->listeners[i]);
        needed |= daemon->listeners[i].paused;
    }
    for (bd_connection *connection = daemon->connections; connection && !needed;
         connection = connection->next)
        needed = bd_connection_has_deadline(connection);
    if (!needed)
        uv_timer_stop(timer);
}

void bd_daemon_stop(bd_daemon *daemon)
{
    daemon->stopping = true;
    uv_stop(&daemon->loop);
}

void bd_daemon_connection_closed(bd_daemon *daemon)
{
    if (!daemon->connections && (daemon->embedded || daemon->drain.started_ms))
        bd_daemon_stop(daemon);
}

/* The loop turns; that is what the service manager wants to know. */
static void on_watchdog(uv_timer_t *timer)
{
    bd_daemon *daemon = timer->data;
    bd_notify("WATCHDOG=1\nSTATUS=%zu sessions, %zu connections", daemon->sessions.count,
              daemon->connection_count);
}

/* Where that takes nothing from others, the loop stays awake for a while after something happened:
 * what follows finds it so. */
static void turn(bd_daemon *daemon)
{
    bool alive = true;
    while (alive && !daemon->stopping) {
        bool awake = bd_now_ns() - daemon->active_ns < bd_spare_ns();
        alive = uv_run(&daemon->loop, awake ? UV_RUN_NOWAIT : UV_RUN_ONCE) != 0;
    }
}

void bd_daemon_run(bd_daemon *daemon)
{
    if (daemon->stopping)
        return;
    int64_t watchdog_ms = bd_notify_watchdog_ms();
    if (watchdog_ms)
        uv_timer_start(&daemon->watchdog, on_watchdog, 0, (uint64_t)(watchdog_ms + 1) / 2);
    bd_notify("READY=1\nSTATUS=serving on %s%s", daemon->listeners[0].url,
              daemon->listener_count > 1 ? " and others" : "");
    turn(daemon);
}

/* ---- listeners ------------------------------------------------------------------------------- */

static void on_incoming(uv_poll_t *poll, int status, int events)
{
    bd_listener *listener = poll->data;
    bd_daemon *daemon = listener->daemon;
    (void)status;
    (void)events;
    for (int i = 0; i < ACCEPTS_A_TURN; i++) {
        int fd;
        bool full = daemon->connection_count >= daemon->connection_max || !bd_alloc_keep_reserve();
        bd_accept got = full ? BD_ACCEPT_EXHAUSTED : bd_net_accept(listener->fd, &fd);
        if (got == BD_ACCEPT_NONE)
            return;
        if (got == BD_ACCEPT_EXHAUSTED) {
            bd_log(BD_LOG_WARN, "daemon",
                   "no descriptors or memory left, not accepting connections=%zu url=%s",
                   daemon->connection_count, BD_QUOTED(listener->url));
            uv_poll_stop(&listener->poll);
            listener->paused = true;
            bd_daemon_start_tick(daemon);
            return;
        }
        daemon->counters.accepted++;
        bd_error *error = bd_connection_open(daemon, fd, listener->address.is_tls);
        if (error) {
            daemon->counters.refused++;
            bd_log(BD_LOG_WARN, "daemon", "refused reason=%s", BD_QUOTED(bd_error_text(error)));
            bd_error_free(error);
        }
    }
}

/* Watches a listener, unless it is paused and there still is no descriptor to give. */
static void await_listener(bd_listener *listener)
{
    bd_daemon *daemon = listener->daemon;
    if (listener->fd < 0 || !listener->paused || daemon->connection_count >= daemon->connection_max)
        return;
    int probe = dup(listener->fd);
    if (probe < 0)
        return;
    close(probe);
    listener->paused = false;
    uv_poll_start(&listener->poll, UV_READABLE, on_incoming);
}

static bd_error *open_listener(bd_daemon *daemon, const char *url)
{
    if (daemon->listener_count == BD_LISTENERS_MAX)
        BD_FAIL(LIMIT, "more than %d addresses to listen on", BD_LISTENERS_MAX);
    bd_listener *listener = &daemon->listeners[daemon->listener_count];
    listener->fd = -1;
    const bd_config *config = daemon->config;
    bool for_others = config->allow_users.count || config->allow_groups.count;
    BD_TRY(bd_net_listen(url, for_others, &listener->fd, &listener->address));
    int status = uv_poll_init(&daemon->loop, &listener->poll, listener->fd);
    if (status != 0) {
        bd_net_close_listener(listener->fd, &listener->address);
        BD_FAIL(UNAVAILABLE, "%.128s: cannot watch the socket: %s", url, uv_strerror(status));
    }
    daemon->listener_count++;
    listener->daemon = daemon;
    listener->poll.data = listener;
    bd_net_url(listener->fd, &listener->address, listener->url, sizeof listener->url);
    uv_poll_start(&listener->poll, UV_READABLE, on_incoming);
    bd_log(BD_LOG_INFO, "daemon", "listening url=%s", BD_QUOTED(listener->url));
    return NULL;
}

static bd_error *open_listeners(bd_daemon *daemon)
{
    const bd_text_list *urls = &daemon->config->listen;
    char url[BD_URL_BYTES];
    for (int i = 0; bd_rebirth_url(i, url); i++)
        BD_TRY(open_listener(daemon, url));
    if (daemon->listener_count)
        return NULL;
    for (size_t i = 0; i < urls->count; i++) {
        bd_error *error = open_listener(daemon, urls->items[i]);
        if (error)
            return bd_config_blame(daemon->config, "listen", i, error);
    }
    if (urls->count)
        return NULL;
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    if (runtime && *runtime == '/')
        snprintf(url, sizeof url, "unix://%s/burnd.sock", runtime);
    else
        snprintf(url, sizeof url, "unix:///run/burnd/burnd.sock");
    return open_listener(daemon, url);
}

static void rest(bd_listener *listener)
{
    uv_poll_stop(&listener->poll);
    listener->paused = false;
}

void bd_daemon_rest_listeners(bd_daemon *daemon)
{
    for (int i = 0; i < daemon->listener_count; i++)
        rest(&daemon->listeners[i]);
}

static void close_listener(bd_listener *listener)
{
    if (listener->fd < 0)
        return;
    rest(listener);
    uv_close((uv_handle_t *)&listener->poll, NULL);
    bd_net_close_listener(listener->fd, &listener->address);
    listener->fd = -1;
}

/* Who has connected already still hears why he is not let in. */
static void leave_address(bd_listener *listener)
{
    if (bd_net_step_aside(&listener->address)) {
        bd_net_url(listener->fd, &listener->address, listener->url, sizeof listener->url);
        bd_log(BD_LOG_INFO, "daemon", "listening for observers url=%s", BD_QUOTED(listener->url));
        return;
    }
    for (int i = 0; i < WAITING_TURNS; i++)
        on_incoming(&listener->poll, 0, UV_READABLE);
    close_listener(listener);
}

void bd_daemon_leave_addresses(bd_daemon *daemon)
{
    for (int i = 0; i < daemon->listener_count; i++) {
        bd_listener *listener = &daemon->listeners[i];
        listener->address.is_managed ? rest(listener) : leave_address(listener);
    }
}

static void close_listeners(bd_daemon *daemon)
{
    for (int i = 0; i < daemon->listener_count; i++)
        close_listener(&daemon->listeners[i]);
}

/* ---- the end --------------------------------------------------------------------------------- */

/* Sockets are closed and files removed: only the device's last work is abandoned. */
static void *give_up(void *user)
{
    unsigned seconds = *(const unsigned *)user;
    sleep(seconds);
    bd_log(BD_LOG_INFO, "daemon", "stopped while the device still worked, after %u s", seconds);
    _exit(0);
}

static void limit_close(const bd_daemon *daemon)
{
    const unsigned *wait =
        daemon->at_once || daemon->embedded ? &engine_close_at_once_s : &engine_close_s;
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&thread, NULL, give_up, (void *)(uintptr_t)wait) == 0)
        pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void bd_daemon_close(bd_daemon *daemon)
{
    if (!daemon)
        return;
    bd_drain_end(daemon);
    close_listeners(daemon);
    for (bd_connection *connection = daemon->connections; connection; connection = connection->next)
        bd_connection_close(connection);
    if (daemon->engine) {
        for (bd_reply *reply; (reply = bd_engine_next_reply(daemon->engine));)
            bd_reply_destroy(reply);
        limit_close(daemon);
        bd_engine_close(daemon->engine);
        daemon->engine = NULL;
    }
    uv_close((uv_handle_t *)&daemon->wake, NULL);
    uv_close((uv_handle_t *)&daemon->tick, NULL);
    uv_close((uv_handle_t *)&daemon->lease, NULL);
    uv_close((uv_handle_t *)&daemon->later, NULL);
    uv_close((uv_handle_t *)&daemon->watchdog, NULL);
    uv_close((uv_handle_t *)&daemon->terminate, NULL);
    uv_close((uv_handle_t *)&daemon->interrupt, NULL);
    uv_close((uv_handle_t *)&daemon->hang_up, NULL);
    uv_run(&daemon->loop, UV_RUN_DEFAULT);
    if (uv_loop_close(&daemon->loop) != 0)
        bd_log(BD_LOG_ERROR, "daemon", "handles are left in the loop");
    bd_map_deinit(&daemon->sessions);
    bd_error_free(daemon->rebirth.cause);
    bd_quotas_deinit(&daemon->quotas);
    bd_access_deinit(&daemon->access);
    bd_state_lock_drop(&daemon->state_lock);
    if (daemon->own_config) {
        bd_config_deinit(daemon->own_config);
        bd_free(daemon->own_config);
    }
    if (daemon->www_fd >= 0)
        close(daemon->www_fd);
    bd_free(daemon);
}
