/* SPDX-License-Identifier: Apache-2.0
 * What a service manager is told: the protocol of sd_notify, one datagram a call to the socket that
 * $NOTIFY_SOCKET names. Without one nothing is sent. Thread: main, loop. */
#pragma once

#include <stdint.h>

#include "proto/base/attr.h"

/* Lines such as READY=1, STATUS=…, joined by newlines. */
void bd_notify(const char *format, ...) BD_PRINTF(1, 2);
/* How often WATCHDOG=1 must come at the latest, in ms; 0: the manager does not watch us. */
int64_t bd_notify_watchdog_ms(void);
