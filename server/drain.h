/* SPDX-License-Identifier: Apache-2.0
 * The end of a daemon that is in use. First it is not ready any more, for those who watch; then
 * every session hears GOAWAY, new ones are refused, and who is there may go on for drain_timeout.
 * The daemon ends as soon as no session is left; pages and observers (burnctl, /metrics) are
 * answered until then. Thread: loop. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct bd_daemon bd_daemon;

/* Owned by the daemon. */
typedef struct bd_drain {
    int64_t asked_ms;   /* not ready from then on; 0: not */
    int64_t started_ms; /* takes nobody new; 0: not */
    int64_t alone_ms;   /* nothing is waited for since then … */
    int alone_ticks;    /* … for so many ticks: a process that was stopped has not waited */
    size_t sessions;    /* that were there when it started … */
    size_t cut;         /* … and had not ended when the time was over */
} bd_drain;

/* Is not ready any more and, when those who ask for that have had time to see it, starts. A second
 * call ends the daemon at once. */
void bd_drain_ask(bd_daemon *daemon);
/* Says GOAWAY and takes no one new. */
void bd_drain_start(bd_daemon *daemon);
/* Time goes by: it starts, ends sessions, or ends the daemon. */
void bd_drain_tick(bd_daemon *daemon, int64_t now_ms);
/* The daemon ends: says in the log what became of the sessions, if it drained. */
void bd_drain_end(bd_daemon *daemon);
