/* SPDX-License-Identifier: Apache-2.0
 * An intrusive list of letters between threads. A push never fails, since completions must not be
 * lost: what may lie in it is bounded by its senders (client credit, plans in flight, compile
 * jobs). A letter moves with all that it owns: after the push the pusher no longer touches it.
 * Thread: push and take from any thread. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct bd_letter {
    struct bd_letter *next;
} bd_letter;

typedef struct bd_mailbox bd_mailbox;

bd_mailbox *bd_mailbox_create(void);
/* How a reader that leaves is called. Before anyone pushes. */
void bd_mailbox_set_call(bd_mailbox *box, void (*call)(void *user), void *user);
/* The reader goes elsewhere, while the box is empty: until it is back, whoever pushes sets the flag
 * that this returns, which is set now if there is a letter, and then calls. Thread: the reader. */
const atomic_bool *bd_mailbox_leave(bd_mailbox *box);
void bd_mailbox_return(bd_mailbox *box);
void bd_mailbox_destroy(bd_mailbox *box); /* must be empty, or its letters are lost */
/* True if the box was empty before. */
bool bd_mailbox_push(bd_mailbox *box, bd_letter *own_letter);
/* The oldest letter, or NULL when empty. */
bd_letter *bd_mailbox_take(bd_mailbox *box);
/* All letters, oldest first, linked by next; waits for one. timeout_us < 0 is for ever, 0 not at
 * all. NULL on time-out, after bd_mailbox_rouse and bd_mailbox_close. */
bd_letter *bd_mailbox_take_all(bd_mailbox *box, int64_t timeout_us);
/* Waits for one letter, for ever. NULL when closed and empty. */
bd_letter *bd_mailbox_wait(bd_mailbox *box);
/* Something will come soon: take_all waits no longer, and gives NULL if nothing has. */
void bd_mailbox_rouse(bd_mailbox *box);
void bd_mailbox_close(bd_mailbox *box); /* wakes all who wait */
