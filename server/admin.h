/* SPDX-License-Identifier: Apache-2.0
 * What operators ask of a running daemon: tokens, where it listens, a reload.
 * Thread: loop. The scope was checked before. */
#pragma once

#include "server/connection.h"

/* Answers RELOAD, SHUTDOWN, TOKEN_CREATE, TOKEN_REVOKE, TOKENS, LISTENERS and TOKEN_MINT. */
void bd_admin_message(bd_connection *connection, const bd_message *message);
