/* SPDX-License-Identifier: Apache-2.0
 * Reading the configuration, the certificate and the tokens again while the daemon runs.
 * Thread: loop. Invariant: what is wrong changes nothing. */
#pragma once

#include "server/daemon.h"

/* Takes over what may change while the daemon runs; what may not is said in the log. Sessions of
 * tokens that are gone end. An error says what is wrong, and the old configuration stays. */
bd_error *bd_reload(bd_daemon *daemon) BD_MUST_USE;
/* As the configuration says. */
void bd_reload_log_level(const bd_config *config);
