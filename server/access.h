/* SPDX-License-Identifier: Apache-2.0
 * Who may come in: the daemon's certificate for listeners that speak TLS. Read from the files that
 * the configuration names, or that the first start makes in the state folder, and read again on a
 * reload. Owned by the daemon; thread: loop, and main before it. */
#pragma once

#include <stdbool.h>

#include "server/config.h"
#include "server/tls.h"

typedef struct bd_access {
    bd_tls *tls; /* NULL: no listener speaks TLS */
} bd_access;

/* All that the configuration names, or the first error; *out is untouched then. makes: what is
 * missing in the state folder is made. */
bd_error *bd_access_load(const bd_config *config, bool makes, bd_access *out) BD_MUST_USE;
void bd_access_deinit(bd_access *access);
