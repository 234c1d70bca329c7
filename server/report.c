/* SPDX-License-Identifier: Apache-2.0 */
#include "server/report.h"

#include "proto/base/alloc.h"
#include "server/connection.h"
#include "server/json.h"

static const char *const refusal_names[] = {
#define REFUSAL(name, NAME, says) #name,
#include "server/refusals.def"
};

static void report_traffic(bd_daemon *daemon, bd_json *json)
{
    const bd_daemon_counters *counters = &daemon->counters;
    bd_json_begin_object(json, "connections");
    bd_json_uint(json, "open", daemon->connection_count);
    bd_json_uint(json, "accepted", counters->accepted);
    bd_json_uint(json, "refused", counters->refused);
    bd_json_uint(json, "protocol_errors", counters->protocol_errors);
    bd_json_uint(json, "slow_closed", counters->slow_closed);
    bd_json_uint(json, "idle_closed", counters->idle_closed);
    bd_json_uint(json, "late_hello", counters->late_hello);
    bd_json_uint(json, "handshakes_failed", counters->handshakes_failed);
    bd_json_uint(json, "late_handshake", counters->late_handshake);
    bd_json_uint(json, "plain_http", counters->plain_http);
    bd_json_end_object(json);
    bd_json_begin_object(json, "refusals");
    for (int i = 0; i < BD_REFUSAL_COUNT; i++)
        bd_json_uint(json, refusal_names[i], daemon->access.refused[i]);
    bd_json_end_object(json);
    bd_json_begin_object(json, "traffic");
    uint64_t in = 0, out = 0;
    for (int i = 0; i < BD_TRANSPORT_COUNT; i++) {
        in += counters->bytes[BD_WAY_IN][i];
        out += counters->bytes[BD_WAY_OUT][i];
    }
    bd_json_uint(json, "bytes_in", in);
    bd_json_uint(json, "bytes_out", out);
    bd_json_uint(json, "frames_in", counters->frames_in);
    bd_json_end_object(json);
}

/* Of others only who may see the sessions. */
static void report_quotas(bd_daemon *daemon, const bd_principal *asker, bd_json *json)
{
    bool all = asker->scopes & (BD_SCOPE_METRICS | BD_SCOPE_ADMIN);
    if (all) {
        bd_json_begin_object(json, "quota_refused");
        for (int i = 0; i < BD_QUOTA_COUNT; i++)
            bd_json_uint(json, bd_quota_name((bd_quota_kind)i), daemon->quotas.book.refused[i]);
        bd_json_end_object(json);
    }
    bd_quotas_report(&daemon->quotas, all ? NULL : asker->name, json);
}

static void report_engine(const bd_daemon *daemon, const bd_engine_stats *stats, bd_json *json)
{
    bd_json_begin_object(json, "kernels");
    bd_json_uint(json, "compiles", stats->compiles);
    bd_json_uint(json, "cache_hits", stats->cache_hits);
    bd_json_uint(json, "code_bytes", stats->code_bytes);
    bd_json_end_object(json);
    bd_json_begin_object(json, "library");
    bd_json_uint(json, "plans", stats->library_plans);
    bd_json_end_object(json);
    bd_json_begin_object(json, "plans");
    bd_json_uint(json, "analyses", stats->analyses);
    bd_json_uint(json, "replays", stats->replays);
    bd_json_uint(json, "launches", stats->launches);
    bd_json_uint(json, "fallbacks", stats->fallbacks);
    bd_json_uint(json, "known", stats->known_plans);
    bd_json_uint(json, "run_us", stats->run_us);
    bd_json_uint(json, "lent_us", stats->lent_us);
    bd_json_end_object(json);
    bd_json_begin_object(json, "stream");
    bd_json_uint(json, "ops", stats->ops);
    bd_json_uint(json, "cuts", stats->cuts);
    bd_json_uint(json, "tensors", stats->tensors);
    bd_json_end_object(json);
    bd_json_begin_object(json, "device");
    bd_json_uint(json, "restarts", daemon->rebirth.restarts + stats->restarts);
    bd_json_end_object(json);
    bd_json_begin_object(json, "memory");
    bd_json_uint(json, "device_bytes", stats->device_bytes);
    bd_json_uint(json, "pool_bytes", stats->pool_bytes);
    bd_json_uint(json, "cleared_bytes", stats->cleared_bytes);
    bd_json_end_object(json);
}

/* What tells of others, or is the operator's. */
static void report_operation(bd_daemon *daemon, const bd_engine_stats *stats, bd_json *json)
{
    bd_json_text(json, "needs_restart", daemon->needs_restart);
    bd_json_begin_object(json, "drain");
    bd_json_bool(json, "started", daemon->drain.started_ms != 0);
    bd_json_uint(json, "sessions", daemon->drain.sessions);
    bd_json_uint(json, "cut", daemon->drain.cut);
    bd_json_bool(json, "over", daemon->drain.alone_ticks != 0);
    bd_json_uint(json, "most_ms", (uint64_t)daemon->config->drain_timeout);
    bd_json_end_object(json);
    bd_json_begin_object(json, "names");
    bd_json_uint(json, "count", stats->names);
    bd_json_uint(json, "bytes", stats->named_bytes);
    bd_json_end_object(json);
    bd_json_begin_object(json, "sessions");
    bd_json_uint(json, "open", daemon->sessions.count);
    bd_json_uint(json, "total", daemon->counters.sessions);
    bd_json_end_object(json);
    report_traffic(daemon, json);
}

/* The engine's counters are for all whom it serves: by them a program judges its own speed. */
static void report_stats(bd_daemon *daemon, const bd_principal *asker, bd_json *json)
{
    bd_engine_stats stats;
    bd_engine_get_stats(daemon->engine, &stats);
    bd_json_begin_object(json, NULL);
    bd_json_text(json, "version", BURN_VERSION);
    bd_json_text(json, "node", daemon->access.node);
    bd_json_uint(json, "uptime_seconds",
                 (uint64_t)(bd_daemon_now_ms(daemon) - daemon->started_ms) / 1000);
    report_engine(daemon, &stats, json);
    if (asker->scopes & (BD_SCOPE_METRICS | BD_SCOPE_ADMIN))
        report_operation(daemon, &stats, json);
    report_quotas(daemon, asker, json);
    bd_json_end_object(json);
}

static void report_devices(bd_daemon *daemon, bd_json *json)
{
    bd_json_begin_array(json, NULL);
    for (int i = 0; i < bd_driver_count(); i++) {
        const bd_driver *driver = bd_driver_at(i);
        char reason[128] = "";
        bool in_use = driver == bd_driver_find(daemon->config->device);
        bd_json_begin_object(json, NULL);
        bd_json_text(json, "device", driver->name);
        bd_json_bool(json, "in_use", in_use);
        bd_json_bool(json, "available", driver->probe(reason, sizeof reason));
        if (in_use) {
            bd_json_text(json, "name", daemon->facts.name);
            bd_json_text(json, "detail", daemon->facts.detail);
            bd_json_uint(json, "memory_bytes", daemon->facts.memory_bytes);
            bd_json_uint(json, "threads", (uint64_t)daemon->facts.threads);
        } else if (*reason) {
            bd_json_text(json, "reason", reason);
        }
        bd_json_end_object(json);
    }
    bd_json_end_array(json);
}

static void report_sessions(bd_daemon *daemon, bd_json *json)
{
    bd_json_begin_array(json, NULL);
    for (bd_connection *connection = daemon->connections; connection;
         connection = connection->next) {
        const bd_session *session = &connection->session;
        bd_session_gauges gauges;
        bool waits = connection->state == BD_CONNECTION_DETACHED;
        if ((connection->state != BD_CONNECTION_OPEN && !waits) || !session->number)
            continue;
        bd_json_begin_object(json, NULL);
        bd_json_uint(json, "session", session->number);
        bd_json_text(json, "client", session->client);
        bd_json_text(json, "principal", session->principal.name);
        if (session->principal.is_minted)
            bd_json_text(json, "minted", session->principal.label);
        if (connection->is_unix) {
            bd_json_uint(json, "uid", connection->peer_uid);
            bd_json_uint(json, "pid", (uint64_t)connection->peer_pid);
        }
        bd_json_text(json, "transport", connection->is_unix     ? "unix"
                     : connection->is_tls ? "tls"
                                          : "tcp");
        bd_json_uint(json, "seconds",
                     (uint64_t)(bd_daemon_now_ms(daemon) - session->opened_ms) / 1000);
        bd_json_text(json, "state", waits ? "waiting" : "connected");
        if (waits)
            bd_json_uint(json, "seconds_left", bd_resume_ms_left(connection) / 1000);
        if (bd_engine_session_stats(daemon->engine, session->number, &gauges)) {
            bd_json_uint(json, "device_bytes", gauges.device_bytes);
            bd_json_uint(json, "tensors", gauges.tensors);
            bd_json_uint(json, "ops", gauges.ops);
            bd_json_uint(json, "device_us", gauges.device_us);
        }
        bd_json_uint(json, "requests", session->requests.count);
        bd_json_uint(json, "uploads", session->uploads.count);
        bd_json_uint(json, "bytes_in", connection->bytes_in);
        bd_json_uint(json, "bytes_out", connection->bytes_out);
        bd_json_end_object(json);
    }
    bd_json_end_array(json);
}

static void report_kernels(bd_daemon *daemon, bd_json *json)
{
    char *kernels = bd_engine_kernels_json(daemon->engine);
    bd_json_raw(json, NULL, kernels);
    bd_free(kernels);
}

static void report_config(bd_daemon *daemon, bd_json *json)
{
    const char *key;
    char *text;
    bd_json_begin_object(json, NULL);
    for (int i = 0; bd_config_at(daemon->config, i, &key, &text); i++) {
        bd_json_text(json, key, text);
        bd_free(text);
    }
    bd_json_end_object(json);
}

char *bd_report(const bd_connection *asker, bd_message_type type, size_t *out_bytes)
{
    bd_daemon *daemon = asker->daemon;
    bd_json json = {0};
    if (type == BD_MESSAGE_STATS)
        report_stats(daemon, &asker->session.principal, &json);
    else if (type == BD_MESSAGE_DEVICES)
        report_devices(daemon, &json);
    else if (type == BD_MESSAGE_SESSIONS)
        report_sessions(daemon, &json);
    else if (type == BD_MESSAGE_KERNELS)
        report_kernels(daemon, &json);
    else
        report_config(daemon, &json);
    return bd_json_take(&json, out_bytes);
}
