/* SPDX-License-Identifier: Apache-2.0
 * Whose turn it is. Of the principals with a session that can go on, the one comes first that has
 * had the least time of the device or of its thread, whichever is more; of this principal's
 * sessions, the one that has. Who wanted nothing for a while saves little of that time up.
 * Thread: device. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a session waits for and has time of: the device thread, the device. */
typedef enum bd_turn_kind { BD_TURN_THREAD, BD_TURN_DEVICE, BD_TURN_KINDS } bd_turn_kind;

/* The time that one has had. */
typedef struct bd_turn_use {
    int64_t ns;                   /* of what it has had more of, */
    int64_t less_ns[BD_TURN_KINDS]; /* and how much less of each: 0 for that one */
} bd_turn_use;

typedef struct bd_turns bd_turns;
typedef struct bd_share bd_share; /* a principal's */

/* A session's part in it. */
typedef struct bd_turn {
    bd_share *share;
    bd_turn_use used;
    bool active; /* it has not rested since it waited last */
    bd_turn_kind kind;
    size_t place; /* among the share's waiting ones of this kind, from 1; 0: it does not wait */
} bd_turn;

bd_turns *bd_turns_create(void);
void bd_turns_destroy(bd_turns *turns); /* all have left */

void bd_turns_join(bd_turns *turns, bd_turn *turn, const char *principal);
void bd_turns_leave(bd_turns *turns, bd_turn *turn);

/* It can go on; nothing new if it waits already. */
void bd_turns_wait(bd_turns *turns, bd_turn *turn, bd_turn_kind kind);
/* It cannot go on after all, if it waits for this. */
void bd_turns_withdraw(bd_turns *turns, bd_turn *turn, bd_turn_kind kind);
/* Whose turn it is, of those that wait for kinds up to this one; it waits no more. NULL:
 * nobody's. */
bd_turn *bd_turns_next(bd_turns *turns, bd_turn_kind last);
bool bd_turns_any(const bd_turns *turns, bd_turn_kind kind);
/* It wants nothing for now. */
void bd_turns_rest(bd_turn *turn);
/* It has had so much more time of this; negative: less than was thought. */
void bd_turns_charge(bd_turn *turn, bd_turn_kind kind, int64_t more_ns);
