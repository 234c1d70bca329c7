/* SPDX-License-Identifier: Apache-2.0
 * That the state folder is this daemon's alone: two of them would write over each other's tokens,
 * and one would still let in whom the other has shut out. A lock on the folder's file "lock", which
 * holds pid and host of its owner, from the first use of the folder to the daemon's end; the
 * process after this one (server/rebirth.h) inherits it. One that drains says so there: a successor
 * waits for its end. Owner: the daemon. Thread: loop, and main before it. */
#pragma once

#include <stdbool.h>

#include "proto/base/error.h"
#include "server/config.h"

typedef struct bd_state_lock {
    int fd;     /* -1: not held */
    bool waits; /* 5 s for a daemon that may be about to end, or as long as it drains */
    bd_error *(*on_drain)(void *user); /* called once if it waits for one that drains */
    void *user;
} bd_state_lock;

/* Holds it from now on; makes the folder. A folder that this daemon cannot write needs none.
 * Errors: CONFLICT, which says who has it; those of bd_state_prepare; UNAVAILABLE;
 * those of on_drain. */
bd_error *bd_state_lock_take(bd_state_lock *lock, const bd_config *config) BD_MUST_USE;
/* Others learn that its owner has begun to end, and has so long at most. */
void bd_state_lock_say(const bd_state_lock *lock, int64_t most_ms);
void bd_state_lock_drop(bd_state_lock *lock);
