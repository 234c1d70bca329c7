/* SPDX-License-Identifier: Apache-2.0 */
#include "server/health.h"

#include <inttypes.h>
#include <stdio.h>

#include "proto/base/alloc.h"

enum { DEVICE_WAIT_MS_MAX = 10000, WATCHED_MS = 60000, TEXT_BYTES = 512 };

int64_t bd_health_device_wait_ms(bd_daemon *daemon)
{
    int64_t now_ms = bd_daemon_now_ms(daemon);
    if (daemon->probe_sent_ms)
        return now_ms - daemon->probe_sent_ms;
    daemon->probe_sent_ms = now_ms;
    bd_engine_post(daemon->engine, bd_request_create(BD_REQUEST_PROBE, 0));
    return 0;
}

void bd_health_probed(bd_daemon *daemon)
{
    daemon->probe_sent_ms = 0;
}

bool bd_health_is_watched(bd_daemon *daemon)
{
    return daemon->ready_asked_ms &&
           bd_daemon_now_ms(daemon) - daemon->ready_asked_ms < WATCHED_MS;
}

bool bd_health_ready(bd_daemon *daemon, char **out_text)
{
    daemon->ready_asked_ms = bd_daemon_now_ms(daemon);
    int64_t wait_ms = bd_health_device_wait_ms(daemon);
    bd_engine_stats stats;
    bd_engine_get_stats(daemon->engine, &stats);
    bool serves = !daemon->drain.asked_ms;
    bool answers = wait_ms <= DEVICE_WAIT_MS_MAX && !stats.device_is_gone;
    bool room = daemon->sessions.count < (size_t)daemon->config->sessions;
    *out_text = bd_alloc(TEXT_BYTES);
    snprintf(*out_text, TEXT_BYTES,
             "%s\n"
             "[%c] serving: %s\n"
             "[%c] device %s: %s, %" PRId64 " ms since the oldest unanswered probe\n"
             "[%c] sessions: %zu of %" PRId64 " open\n",
             serves && answers && room ? "ready" : "not ready", serves ? '+' : '-',
             serves ? "yes" : "no, the daemon drains", answers ? '+' : '-', daemon->config->device,
             stats.device_is_gone ? "is lost"
             : answers            ? "answers"
                                  : "does not answer",
             wait_ms, room ? '+' : '-',
             daemon->sessions.count, daemon->config->sessions);
    return serves && answers && room;
}
