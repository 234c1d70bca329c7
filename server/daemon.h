/* SPDX-License-Identifier: Apache-2.0
 * The daemon: the loop with its listeners, connections and timers, and the engine below it.
 * Owner: main. Thread: loop; the engine reaches it only by the wake function. Everything in
 * server/ hangs on this struct, so that nothing is global. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "engine/engine.h"
#include "proto/base/map.h"
#include "server/access.h"
#include "server/address.h"
#include "server/config.h"
#include "server/drain.h"
#include "server/failures.h"
#include "server/quotas.h"
#include "server/state_lock.h"

typedef struct bd_connection bd_connection;
typedef struct bd_daemon bd_daemon;
typedef struct bd_web bd_web;
typedef struct bd_websocket bd_websocket;

enum { BD_RECEIVE_BYTES = 256 * 1024, BD_DESCRIPTORS_RESERVED = 32 };

typedef struct bd_listener {
    bd_daemon *daemon;
    uv_poll_t poll;
    int fd; /* -1: not open */
    bool paused; /* no descriptors are left; the tick tries again */
    bd_address address;
    char url[BD_URL_BYTES];
} bd_listener;

typedef enum bd_way { BD_WAY_IN, BD_WAY_OUT, BD_WAY_COUNT } bd_way;

typedef enum bd_transport {
    BD_TRANSPORT_UNIX,
    BD_TRANSPORT_TCP,
    BD_TRANSPORT_TLS,
    BD_TRANSPORT_WS,  /* WebSocket within TCP or a Unix socket */
    BD_TRANSPORT_WSS, /* … within TLS */
    BD_TRANSPORT_COUNT,
} bd_transport;

enum { BD_TYPES_COUNTED = 64, BD_STATUSES_COUNTED = 500, BD_NEEDS_RESTART_BYTES = 512 };

/* What happened since the start, for burnctl stats and the metrics. */
typedef struct bd_daemon_counters {
    uint64_t accepted, refused, sessions, protocol_errors, slow_closed, idle_closed, late_hello;
    uint64_t handshakes_failed, late_handshake, plain_http;
    uint64_t reloads, reloads_failed;
    uint64_t hosts_refused, origins_refused, late_requests, cancelled;
    uint64_t frames_in;
    uint64_t frames[BD_WAY_COUNT][BD_TYPES_COUNTED]; /* by number of the type */
    uint64_t bytes[BD_WAY_COUNT][BD_TRANSPORT_COUNT];
    uint64_t requests[BD_TYPES_COUNTED][BD_CODE_COUNT]; /* that the engine answered */
    uint64_t http[BD_STATUSES_COUNTED];                 /* by status - 100 */
} bd_daemon_counters;

/* Reads all sources of the configuration into an initialised one. */
typedef struct bd_config_reader {
    bd_error *(*read)(void *user, bd_config *out);
    void *user;
} bd_config_reader;

/* server/rebirth.h */
typedef struct bd_rebirth {
    bd_error *cause; /* why this process has no device any more; NULL: it has */
    bool begun;      /* the drain is for that */
    uint64_t restarts; /* of processes before this one */
    int64_t last_ms, wait_ms; /* when the last of them ended, after what wait */
    int state_lock;    /* the descriptor that it left; -1: none */
} bd_rebirth;

struct bd_daemon {
    const bd_config *config;
    bd_config *own_config; /* the same after a reload; before, main's is used */
    char needs_restart[BD_NEEDS_RESTART_BYTES]; /* keys that a reload has found changed in vain */
    bd_config_reader reader;
    bd_engine *engine;
    bd_device_facts facts;
    uv_loop_t loop;
    uv_async_t wake;
    uv_timer_t tick; /* runs while a deadline is near: an idle daemon sleeps */
    uv_timer_t lease; /* runs while an identity that expires has a session */
    uv_timer_t later; /* runs before it begins anew once more */
    uv_timer_t watchdog; /* runs if a service manager watches */
    uv_signal_t terminate, interrupt, hang_up;
    bd_listener listeners[BD_LISTENERS_MAX];
    int listener_count;
    bd_connection *connections; /* all, linked */
    size_t connection_count;
    size_t connection_max; /* what the limit of open files leaves */
    bd_connection *unflushed; /* those with new outbound bytes, linked */
    size_t handshakes;        /* connections whose TLS handshake is under way */
    bd_state_lock state_lock;
    bd_access access;
    bd_failures failures;
    bd_quotas quotas;
    bd_map sessions;          /* number → connection */
    uint64_t next_session;
    bd_daemon_counters counters;
    bd_histogram request_durations;
    int www_fd; /* the folder of web pages; -1: none */
    int64_t probe_sent_ms; /* to the device thread, which has not answered it; 0: none */
    bd_rebirth rebirth;
    int64_t started_ms;
    int64_t configured_s; /* wall clock: when what is in force was read */
    bool reload_failed;   /* the last one */
    int64_t ready_asked_ms;   /* somebody asked for /readyz then; 0: nobody */
    bd_drain drain;
    bool embedded;            /* serves one inherited connection and ends with it */
    int64_t active_ns;        /* when something last happened */
    bool stopping;            /* the loop is being left */
    bool at_once;             /* … by a second signal */
    uint8_t receive[BD_RECEIVE_BYTES];
};

/* Opens the engine and the listeners; embedded_fd >= 0 serves that descriptor instead. The reader
 * is asked for the configuration on a reload. On failure nothing is left. */
bd_error *bd_daemon_open(const bd_config *config, const bd_config_reader *reader, int embedded_fd,
                         bd_daemon **out) BD_MUST_USE;
/* Runs until a signal, SHUTDOWN or, embedded, the end of the connection has drained it. */
void bd_daemon_run(bd_daemon *daemon);
void bd_daemon_close(bd_daemon *daemon);

/* The loop is left after this turn. */
void bd_daemon_stop(bd_daemon *daemon);
/* Who connects to a service manager's sockets waits for the next process. */
void bd_daemon_rest_listeners(bd_daemon *daemon);
/* The same, and the addresses of the daemon's own sockets are free for another daemon: observers
 * find a Unix socket beside its old place. */
void bd_daemon_leave_addresses(bd_daemon *daemon);
/* A connection is gone: the drain, or an embedded daemon, may be over. */
void bd_daemon_connection_closed(bd_daemon *daemon);
/* Something happened: the loop stays awake, and memory is put by again. */
void bd_daemon_stir(bd_daemon *daemon);
/* A connection has a deadline from now on: lets the tick run. */
void bd_daemon_start_tick(bd_daemon *daemon);
/* Milliseconds of the loop's monotonic clock. */
int64_t bd_daemon_now_ms(bd_daemon *daemon);
