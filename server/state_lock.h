/* SPDX-License-Identifier: Apache-2.0
 * That the state folder is this daemon's alone: two of them would write over each other's tokens,
 * and one would still let in whom the other has shut out. A lock on the folder's file "lock", which
 * holds pid and host of its owner, from the first use of the folder to the daemon's end; the
 * process after this one (server/rebirth.h) inherits it. Owner: the daemon. Thread: loop, and main
 * before it. */
#pragma once

#include <stdbool.h>

#include "proto/base/error.h"
#include "server/config.h"

typedef struct bd_state_lock {
    int fd;     /* -1: not held */
    bool waits; /* up to 5 s for a daemon that is about to end, as at a restart */
} bd_state_lock;

/* Holds it from now on; makes the folder. A folder that this daemon cannot write needs none.
 * Errors: CONFLICT, which says who has it; those of bd_state_prepare; UNAVAILABLE. */
bd_error *bd_state_lock_take(bd_state_lock *lock, const bd_config *config) BD_MUST_USE;
void bd_state_lock_drop(bd_state_lock *lock);
