/* SPDX-License-Identifier: Apache-2.0
 * Sessions whose identity ends while they live: its token is revoked, or expires. They end within
 * two seconds, whether or not they say anything, also those that wait to be resumed.
 * Thread: loop. */
#pragma once

#include "server/daemon.h"

/* Somebody has a session: if his identity expires, that is watched. */
void bd_leases_begin(bd_daemon *daemon, const bd_principal *principal);
/* The tokens have changed: their sessions get the scopes and the expiry that these have now, or
 * end. */
void bd_leases_review(bd_daemon *daemon);
