/* SPDX-License-Identifier: Apache-2.0
 * Messages about names: checks what a name may look like and hands them to the engine.
 * Thread: loop. Functions that give an error close the connection. */
#pragma once

#include "proto/message.h"
#include "server/daemon.h"

bd_error *bd_sharing_message(bd_connection *connection, const bd_message *message,
                             const bd_frame *frame, uint8_t **out_payload) BD_MUST_USE;
/* Sends what the engine found: IMPORTED, or REPORT for a list. */
void bd_sharing_reply(bd_connection *connection, const bd_reply *reply);
