/* SPDX-License-Identifier: Apache-2.0
 * A device that is lost and cannot be opened again in this process, as a driver of GPUs refuses
 * after an illegal access: the daemon says so to all who are there, then executes itself anew. Its
 * pid, arguments, environment and the sockets that listen stay, as after an activation; sessions,
 * names and minted tokens go. What the next process must know is in the variable BURN_REBIRTH: how
 * often, when and after what wait it was done, the descriptor of the state's lock, then device,
 * inode, maker and URL of each socket, and the key listen. A private daemon only ends.
 * Thread: main, loop. */
#pragma once

#include "server/address.h"
#include "server/config.h"
#include "server/daemon.h"

/* What the process before this one left, if there was one. */
void bd_rebirth_open(bd_daemon *daemon);
/* Adds the service manager's addresses to the key listen, whichever process they were given to.
 * INVALID for a descriptor that is no listening socket. */
bd_error *bd_rebirth_listen(bd_config *config) BD_MUST_USE;
/* The key listen is what it was in the process before this one: it cannot change with it. */
bd_error *bd_rebirth_keep(bd_config *config) BD_MUST_USE;
/* The addresses on which that process listened, one by one; false after the last. */
bool bd_rebirth_url(int index, char url[BD_URL_BYTES]);
/* Notes the file of an inherited socket that the process before this one made: the daemon's end
 * removes it. */
void bd_rebirth_claim(const char *url, bd_address *address);

/* The engine cannot open its device: ends the sessions, at once or, if that was so shortly before,
 * after a wait. */
void bd_rebirth_ask(bd_daemon *daemon, bd_error *error);
/* Whether the loop has ended for that. */
bool bd_rebirth_is_due(const bd_daemon *daemon);
/* Becomes the next process, or ends where that fails; returns if the daemon was told to end. */
void bd_rebirth_execute(bd_daemon *daemon, char *const *arguments);
