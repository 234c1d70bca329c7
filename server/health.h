/* SPDX-License-Identifier: Apache-2.0
 * Whether the daemon gets on: the loop that answers at all, and the device thread by probes, each
 * a request that it answers as soon as it looks at its letters. A device that works is not a dead
 * one: only a probe that waits for long says so. Thread: loop. */
#pragma once

#include <stdbool.h>

#include "server/daemon.h"

/* How long the device thread has left a probe unanswered, in ms; sends one if none is under way. */
int64_t bd_health_device_wait_ms(bd_daemon *daemon);
/* The answer to a probe came. */
void bd_health_probed(bd_daemon *daemon);
/* Whether somebody asks for /readyz, as load balancers do: in the last minute. */
bool bd_health_is_watched(bd_daemon *daemon);
/* True if the daemon takes sessions and its device answers; *out_text (heap, bd_free) says what was
 * looked at, a line each. */
bool bd_health_ready(bd_daemon *daemon, char **out_text);
