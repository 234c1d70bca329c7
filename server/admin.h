/* SPDX-License-Identifier: Apache-2.0
 * What operators ask of a running daemon: tokens, where it listens, a reload, an end to a session
 * or its work. Thread: loop. The scope was checked before. */
#pragma once

#include "server/connection.h"

/* Answers RELOAD, SHUTDOWN, TOKEN_CREATE, TOKEN_REVOKE, TOKEN_ROTATE, TOKENS, LISTENERS, TOKEN_MINT
 * and CLOSE_SESSION. */
void bd_admin_message(bd_connection *connection, const bd_message *message);
/* Answers CANCEL_WORK; PROTOCOL without its feature. */
bd_error *bd_admin_cancel_work(bd_connection *connection,
                               const struct bd_message_cancel_work *message) BD_MUST_USE;
