/* SPDX-License-Identifier: Apache-2.0
 * Resuming: both sides count the bytes after HELLO and WELCOME and keep what they sent until the
 * other has it. When a connection is lost, its session waits; a new connection that knows the key
 * takes its place, and both go on with the first byte that did not arrive: nothing is done twice.
 * Thread: loop. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "proto/message.h"

typedef struct bd_connection bd_connection;

enum { BD_RESUME_KEY_BYTES = 65 };

typedef struct bd_resume {
    bool is_on;
    char key[BD_RESUME_KEY_BYTES]; /* 256 random bits in hex */
    uint64_t received;             /* bytes after HELLO */
    uint64_t acknowledged;         /* of these: the client knows */
} bd_resume;

/* Gives the session of a connection a key, if the transport and the configuration allow it. */
void bd_resume_offer(bd_connection *connection);
/* How long a session whose connection is lost still waits. */
uint64_t bd_resume_ms_left(const bd_connection *connection);
/* WELCOME is queued: what follows counts. */
void bd_resume_begin(bd_connection *connection);
/* Tells the client now and then how much came. */
void bd_resume_acknowledge(bd_connection *connection);
