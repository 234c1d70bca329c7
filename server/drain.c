/* SPDX-License-Identifier: Apache-2.0 */
#include "server/drain.h"

#include <inttypes.h>

#include "proto/base/log.h"
#include "server/connection.h"
#include "server/health.h"
#include "server/notify.h"

enum {
    REBIRTH_MS = 4000,   /* for what is in flight; then errors still go out */
    REBIRTH_QUIET_MS = 150,
    IN_USE_MS = 60000,   /* who has worked so lately may be in a loop */
    /* What follows is counted in ticks, each 50 ms or more: a process that was stopped has heard
     * nothing meanwhile, and nobody is to pay for that. */
    QUIET_TICKS = 3,     /* without a word: nothing is on its way any more */
    PAUSE_TICKS = 20,    /* … in a loop, which computes something of its own between two steps */
    ALONE_TICKS = 12,    /* for last errors on their way */
    OBSERVED_TICKS = 100, /* for observers to see what has become of the sessions */
};

static int64_t most_ms(const bd_daemon *daemon)
{
    int64_t most_ms = daemon->config->drain_timeout;
    return daemon->rebirth.begun && most_ms > REBIRTH_MS ? REBIRTH_MS : most_ms;
}

static bool is_late(const bd_daemon *daemon, int64_t now_ms)
{
    return now_ms - daemon->drain.started_ms > most_ms(daemon);
}

/* Its client has nothing on its way. Called once a tick. */
static bool is_quiet(bd_connection *connection)
{
    bd_session *session = &connection->session;
    bool in_use = session->worked_ms && connection->daemon->drain.started_ms - session->worked_ms <
                                            IN_USE_MS;
    session->quiet_ticks =
        connection->read_ms == session->heard_ms ? session->quiet_ticks + 1 : 0;
    session->heard_ms = connection->read_ms;
    return session->quiet_ticks >= (in_use ? PAUSE_TICKS : QUIET_TICKS);
}

static void cut(bd_connection *connection)
{
    const bd_daemon *daemon = connection->daemon;
    bool busy = bd_session_busy(&connection->session);
    bd_error *error =
        busy ? BD_ERROR(UNAVAILABLE, "the daemon shut down before it could answer")
             : BD_ERROR(UNAVAILABLE, "the daemon shut down; sessions had %" PRId64 " ms to end",
                        daemon->config->drain_timeout);
    bd_connection_fail(connection, error);
}

static void tick_session(bd_connection *connection, int64_t now_ms)
{
    bd_daemon *daemon = connection->daemon;
    bool late = is_late(daemon, now_ms);
    bool idle = !bd_session_busy(&connection->session) && !connection->outbox.bytes;
    bool quiet = is_quiet(connection);
    if (daemon->rebirth.begun) {
        if (late || (idle && now_ms - daemon->drain.started_ms >= REBIRTH_QUIET_MS))
            bd_connection_fail(connection, bd_error_retain(daemon->rebirth.cause));
    } else if (connection->session.observes) {
        return; /* until the daemon ends */
    } else if (late) {
        daemon->drain.cut++;
        cut(connection);
    } else if (idle && quiet) {
        connection->websocket ? bd_connection_hang_up(connection, BD_CODE_UNAVAILABLE)
                              : bd_connection_close(connection);
    }
}

/* Whether the daemon goes on for it. */
static bool is_waited_for(const bd_connection *connection, int64_t now_ms)
{
    if (connection->state == BD_CONNECTION_OPEN)
        return !connection->session.observes;
    return connection->state == BD_CONNECTION_HTTP && connection->outbox.bytes &&
           !is_late(connection->daemon, now_ms);
}

/* By somebody who has not asked since the last session ended. */
static bool is_observed(const bd_daemon *daemon)
{
    bool observed = false;
    for (const bd_connection *at = daemon->connections; at; at = at->next)
        observed |= at->state == BD_CONNECTION_OPEN && at->session.observes &&
                    at->session.worked_ms <= daemon->drain.alone_ms;
    return observed;
}

void bd_drain_tick(bd_daemon *daemon, int64_t now_ms)
{
    bd_drain *drain = &daemon->drain;
    bool waits = false;
    if (drain->asked_ms && !drain->started_ms &&
        now_ms - drain->asked_ms >= daemon->config->drain_grace)
        bd_drain_start(daemon);
    if (!drain->started_ms)
        return;
    for (bd_connection *at = daemon->connections; at; at = at->next) {
        if (at->state == BD_CONNECTION_DETACHED)
            bd_connection_close(at);
        else if (at->state == BD_CONNECTION_OPEN)
            tick_session(at, now_ms);
        waits |= is_waited_for(at, now_ms);
    }
    drain->alone_ticks = waits ? 0 : drain->alone_ticks + 1;
    if (drain->alone_ticks == 1)
        drain->alone_ms = now_ms;
    if (drain->alone_ticks >= (is_observed(daemon) ? OBSERVED_TICKS : ALONE_TICKS))
        bd_daemon_stop(daemon);
}

static size_t count_sessions(const bd_daemon *daemon)
{
    size_t count = 0;
    for (const bd_connection *at = daemon->connections; at; at = at->next)
        count += at->state == BD_CONNECTION_OPEN && !at->session.observes;
    return count;
}

void bd_drain_start(bd_daemon *daemon)
{
    const bd_error *cause = daemon->rebirth.begun ? daemon->rebirth.cause : NULL;
    const char *text = cause ? bd_error_text(cause) : "the daemon shuts down";
    bd_drain *drain = &daemon->drain;
    drain->started_ms = bd_daemon_now_ms(daemon);
    if (!drain->asked_ms)
        drain->asked_ms = drain->started_ms;
    drain->sessions = count_sessions(daemon);
    bd_log(BD_LOG_INFO, "daemon", "draining sessions=%zu connections=%zu most_ms=%" PRId64,
           drain->sessions, daemon->connection_count, most_ms(daemon));
    if (cause) {
        bd_daemon_rest_listeners(daemon);
    } else {
        bd_state_lock_say(&daemon->state_lock, most_ms(daemon));
        bd_daemon_leave_addresses(daemon);
    }
    for (bd_connection *connection = daemon->connections; connection;
         connection = connection->next) {
        if (connection->state == BD_CONNECTION_OPEN)
            bd_connection_send(
                connection, &(bd_message){.type = BD_MESSAGE_GOAWAY,
                                          .goaway = {.code = (uint64_t)bd_error_code(cause),
                                                     .text = bd_text_of(text)}});
    }
    if (daemon->connections)
        bd_daemon_start_tick(daemon);
    else
        bd_daemon_stop(daemon);
}

void bd_drain_ask(bd_daemon *daemon)
{
    bd_drain *drain = &daemon->drain;
    if (drain->asked_ms) {
        daemon->at_once = true;
        bd_daemon_stop(daemon);
        return;
    }
    drain->asked_ms = bd_daemon_now_ms(daemon);
    bd_notify("STOPPING=1\nSTATUS=draining, %zu sessions are open", count_sessions(daemon));
    if (!daemon->config->drain_grace || !bd_health_is_watched(daemon)) {
        bd_drain_start(daemon);
        return;
    }
    bd_log(BD_LOG_INFO, "daemon", "not ready any more, draining in ms=%" PRId64,
           daemon->config->drain_grace);
    bd_daemon_start_tick(daemon);
}

void bd_drain_end(bd_daemon *daemon)
{
    bd_drain *drain = &daemon->drain;
    if (!drain->started_ms)
        return;
    drain->cut += count_sessions(daemon); /* by a second signal */
    bd_log(BD_LOG_INFO, "daemon", "drained sessions=%zu cut=%zu", drain->sessions, drain->cut);
}
