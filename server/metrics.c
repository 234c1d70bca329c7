/* SPDX-License-Identifier: Apache-2.0 */
#include "server/metrics.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "proto/message.h"
#include "server/connection.h"
#include "server/process.h"
#include "server/text.h"

/* What is printed, all of one moment. */
typedef struct bd_snapshot {
    bd_daemon *daemon;
    const bd_daemon_counters *counters;
    bd_engine_stats stats;
    bd_process process;
    const char *name; /* of the metric that is printed */
} bd_snapshot;

static const char *const transport_names[BD_TRANSPORT_COUNT] = {"unix", "tcp", "tls", "ws", "wss"};

static void print_line(bd_text_buffer *out, const bd_snapshot *m, const char *label,
                       const char *value, uint64_t number)
{
    bd_text_print(out, "%s{%s=\"%s\"} %" PRIu64 "\n", m->name, label, value, number);
}

static void print_build(bd_text_buffer *out, const bd_snapshot *m)
{
    bd_text_print(out, "%s{version=\"%s\",protocol=\"%d\"} 1\n", m->name, BURN_VERSION,
                  BURN_PROTOCOL_VERSION);
}

static void print_connections(bd_text_buffer *out, const bd_snapshot *m)
{
    static const char *const state_names[] = {"opening", "http", "open", "waiting", "closing"};
    enum { STATES = sizeof state_names / sizeof *state_names };
    uint64_t counts[BD_TRANSPORT_COUNT][STATES] = {{0}};
    for (const bd_connection *at = m->daemon->connections; at; at = at->next) {
        int state = at->state == BD_CONNECTION_HTTP   ? 1
                    : at->state < BD_CONNECTION_OPEN  ? 0
                    : at->state == BD_CONNECTION_OPEN ? 2
                    : at->state == BD_CONNECTION_DETACHED ? 3
                                                          : 4;
        counts[bd_connection_transport(at)][state]++;
    }
    for (int i = 0; i < BD_TRANSPORT_COUNT; i++) {
        for (int j = 0; j < STATES; j++)
            bd_text_print(out, "%s{transport=\"%s\",state=\"%s\"} %" PRIu64 "\n", m->name,
                          transport_names[i], state_names[j], counts[i][j]);
    }
}

static void print_refused(bd_text_buffer *out, const bd_snapshot *m)
{
    print_line(out, m, "reason", "limit", m->counters->refused);
    print_line(out, m, "reason", "handshake", m->counters->handshakes_failed);
    print_line(out, m, "reason", "late_handshake", m->counters->late_handshake);
    print_line(out, m, "reason", "plain_http", m->counters->plain_http);
    print_line(out, m, "reason", "late_hello", m->counters->late_hello);
    print_line(out, m, "reason", "late_request", m->counters->late_requests);
    print_line(out, m, "reason", "host", m->counters->hosts_refused);
    print_line(out, m, "reason", "origin", m->counters->origins_refused);
}

static void print_auth(bd_text_buffer *out, const bd_snapshot *m)
{
    const uint64_t *refused = m->daemon->access.refused;
#define REFUSAL(name, NAME, says) print_line(out, m, "reason", #name, refused[BD_REFUSAL_##NAME]);
#include "server/refusals.def"
}

static void print_quota_refused(bd_text_buffer *out, const bd_snapshot *m)
{
    for (int i = 0; i < BD_QUOTA_COUNT; i++)
        print_line(out, m, "quota", bd_quota_name((bd_quota_kind)i),
                   m->daemon->quotas.book.refused[i]);
}

static void print_quota_waits(bd_text_buffer *out, const bd_snapshot *m)
{
    print_line(out, m, "quota", bd_quota_name(BD_QUOTA_OPS),
               m->daemon->quotas.book.waited[BD_QUOTA_OPS]);
    print_line(out, m, "quota", bd_quota_name(BD_QUOTA_COMPILE),
               m->daemon->quotas.book.waited[BD_QUOTA_COMPILE]);
}

static void print_frames(bd_text_buffer *out, const bd_snapshot *m)
{
    static const char *const directions[2] = {"in", "out"};
    for (int way = 0; way < 2; way++) {
        for (uint16_t type = 0; type < BD_TYPES_COUNTED; type++) {
            const bd_message_facts *facts = bd_message_lookup(type);
            if (facts && m->counters->frames[way][type])
                bd_text_print(out, "%s{dir=\"%s\",type=\"%s\"} %" PRIu64 "\n", m->name,
                              directions[way], facts->name, m->counters->frames[way][type]);
        }
    }
}

static void print_bytes(bd_text_buffer *out, const bd_snapshot *m)
{
    for (int i = 0; i < BD_TRANSPORT_COUNT; i++) {
        bd_text_print(out, "%s{dir=\"in\",transport=\"%s\"} %" PRIu64 "\n", m->name,
                      transport_names[i], m->counters->bytes[BD_WAY_IN][i]);
        bd_text_print(out, "%s{dir=\"out\",transport=\"%s\"} %" PRIu64 "\n", m->name,
                      transport_names[i], m->counters->bytes[BD_WAY_OUT][i]);
    }
}

static void print_http(bd_text_buffer *out, const bd_snapshot *m)
{
    for (int i = 0; i < BD_STATUSES_COUNTED; i++) {
        if (m->counters->http[i])
            bd_text_print(out, "%s{status=\"%d\"} %" PRIu64 "\n", m->name, i + 100,
                          m->counters->http[i]);
    }
}

static void print_requests(bd_text_buffer *out, const bd_snapshot *m)
{
    for (uint16_t type = 0; type < BD_TYPES_COUNTED; type++) {
        const bd_message_facts *facts = bd_message_lookup(type);
        for (int code = 0; facts && code < BD_CODE_COUNT; code++) {
            if (m->counters->requests[type][code])
                bd_text_print(out, "%s{type=\"%s\",code=\"%s\"} %" PRIu64 "\n", m->name,
                              facts->name, bd_code_name((bd_code)code),
                              m->counters->requests[type][code]);
        }
    }
}

static void print_histogram(bd_text_buffer *out, const bd_snapshot *m,
                            const bd_histogram_view *view)
{
    uint64_t count = 0;
    for (int i = 0; i < BD_HISTOGRAM_BUCKETS; i++) {
        count += view->counts[i];
        bd_text_print(out, "%s_bucket{le=\"%g\"} %" PRIu64 "\n", m->name,
                      1e-9 * (double)bd_histogram_bounds_ns[i], count);
    }
    count += view->counts[BD_HISTOGRAM_BUCKETS];
    bd_text_print(out, "%s_bucket{le=\"+Inf\"} %" PRIu64 "\n", m->name, count);
    bd_text_print(out, "%s_sum %.9f\n", m->name, 1e-9 * (double)view->sum_ns);
    bd_text_print(out, "%s_count %" PRIu64 "\n", m->name, count);
}

static void print_request_durations(bd_text_buffer *out, const bd_snapshot *m)
{
    bd_histogram_view view;
    bd_histogram_read(&m->daemon->request_durations, &view);
    print_histogram(out, m, &view);
}

static void print_queue_durations(bd_text_buffer *out, const bd_snapshot *m)
{
    print_histogram(out, m, &m->stats.queued);
}

static void print_device_durations(bd_text_buffer *out, const bd_snapshot *m)
{
    print_histogram(out, m, &m->stats.run);
}

static void print_compile_durations(bd_text_buffer *out, const bd_snapshot *m)
{
    print_histogram(out, m, &m->stats.compiled);
}

static void print_memory(bd_text_buffer *out, const bd_snapshot *m)
{
    const bd_engine_stats *stats = &m->stats;
    uint64_t total = m->daemon->facts.memory_bytes;
    uint64_t held =
        stats->pool_bytes > stats->device_bytes ? stats->pool_bytes : stats->device_bytes;
    print_line(out, m, "state", "used", stats->device_bytes);
    print_line(out, m, "state", "cached", held - stats->device_bytes);
    print_line(out, m, "state", "free", total > held ? total - held : 0);
}

static void print_device(bd_text_buffer *out, const bd_snapshot *m)
{
    bd_text_print(out, "%s{device=\"%s\",name=\"", m->name, m->daemon->config->device);
    for (const char *at = m->daemon->facts.name; *at; at++) {
        if (*at == '"' || *at == '\\')
            bd_text_put(out, "\\", 1);
        bd_text_put(out, at, 1);
    }
    bd_text_print(out, "\"} 1\n");
}

static void print_probe(bd_text_buffer *out, const bd_snapshot *m)
{
    int64_t sent_ms = m->daemon->probe_sent_ms;
    bd_text_print(out, "%s %.3f\n", m->name,
                  sent_ms ? 1e-3 * (double)(bd_daemon_now_ms(m->daemon) - sent_ms) : 0.0);
}

static void print_reloads(bd_text_buffer *out, const bd_snapshot *m)
{
    print_line(out, m, "result", "success", m->counters->reloads);
    print_line(out, m, "result", "failure", m->counters->reloads_failed);
}

static uint64_t count_words(const char *text)
{
    uint64_t count = 0;
    for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
        count++;
        text += strcspn(text, " ");
    }
    return count;
}

static void print_certificate(bd_text_buffer *out, const bd_snapshot *m)
{
    const bd_tls *tls = m->daemon->access.tls;
    if (tls)
        bd_text_print(out, "%s %" PRId64 "\n", m->name, bd_tls_expiry_s(tls));
}

static bool is_expired(const bd_token *token)
{
    return token->expires_s && token->expires_s <= time(NULL);
}

static void print_tokens(bd_text_buffer *out, const bd_snapshot *m)
{
    const bd_tokens *tokens = &m->daemon->access.tokens;
    size_t expired = 0;
    for (size_t i = 0; i < tokens->list.count; i++)
        expired += is_expired(&tokens->list.items[i]);
    print_line(out, m, "state", "valid", tokens->list.count - expired);
    print_line(out, m, "state", "expired", expired);
}

static void print_token_expiry(bd_text_buffer *out, const bd_snapshot *m)
{
    const bd_tokens *tokens = &m->daemon->access.tokens;
    int64_t next_s = 0;
    for (size_t i = 0; i < tokens->list.count; i++) {
        const bd_token *token = &tokens->list.items[i];
        if (token->expires_s && !is_expired(token) && (!next_s || token->expires_s < next_s))
            next_s = token->expires_s;
    }
    if (next_s)
        bd_text_print(out, "%s %" PRId64 "\n", m->name, next_s);
}

static void print_cpu(bd_text_buffer *out, const bd_snapshot *m)
{
    bd_text_print(out, "%s %.6f\n", m->name, m->process.cpu_seconds);
}

static void print_start(bd_text_buffer *out, const bd_snapshot *m)
{
    bd_text_print(out, "%s %.3f\n", m->name, m->process.started_seconds);
}

static void print_head(bd_text_buffer *out, bd_snapshot *m, const char *name, const char *kind,
                       const char *help)
{
    m->name = name;
    bd_text_print(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind);
}

#define KIND_COUNTER "counter"
#define KIND_GAUGE "gauge"
#define KIND_HISTOGRAM "histogram"

char *bd_metrics_text(bd_daemon *daemon, size_t *out_bytes)
{
    bd_text_buffer out = {0};
    bd_snapshot snapshot = {.daemon = daemon, .counters = &daemon->counters}, *m = &snapshot;
    bd_engine_get_stats(daemon->engine, &snapshot.stats);
    bd_process_read(&snapshot.process);
#define VALUE(kind, metric, help, value)                                                           \
    print_head(&out, m, #metric, KIND_##kind, help);                                               \
    bd_text_print(&out, "%s %" PRIu64 "\n", #metric, (uint64_t)(value));
#define FAMILY(kind, metric, help, print)                                                          \
    print_head(&out, m, #metric, KIND_##kind, help);                                               \
    print(&out, m);
#include "server/metrics.def"
    return bd_text_take(&out, out_bytes);
}
