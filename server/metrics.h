/* SPDX-License-Identifier: Apache-2.0
 * What burnd tells Prometheus: one row a metric in metrics.def, printed from a snapshot of the
 * counters. Nothing here waits for the device. Thread: loop. */
#pragma once

#include <stddef.h>

#include "server/daemon.h"

/* The text format of Prometheus, version 0.0.4. Heap; bd_free. */
char *bd_metrics_text(bd_daemon *daemon, size_t *out_bytes);
