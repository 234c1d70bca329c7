/* SPDX-License-Identifier: Apache-2.0
 * HTTP on a connection: requests one after the other, each answered before the next is read. What
 * they ask for is the business of server/pages.h.
 * Owned by the connection that speaks HTTP; thread: loop. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/base/error.h"
#include "server/http.h"

typedef struct bd_connection bd_connection;
typedef struct bd_web bd_web;

/* What a request gets. */
typedef struct bd_answer {
    int status;
    const char *type;    /* of the body */
    const char *headers; /* more lines, each with CR LF at its end; or NULL */
    char *own_body;      /* heap, or NULL … */
    size_t body_bytes;
    int own_file; /* … for the first body_bytes of this file; -1: none */
    int64_t delay_ms; /* before it is given */
} bd_answer;

/* One line of text. */
void bd_answer_text(bd_answer *answer, int status, const char *format, ...) BD_PRINTF(3, 4);

/* The connection speaks HTTP from its next byte on. */
void bd_web_open(bd_connection *connection);
void bd_web_close(bd_connection *connection);
/* Tells who spoke HTTP where TLS is spoken, and counts him; false: he did not. */
bool bd_web_refuse_plain(const bd_connection *connection);
/* Takes bytes until they are used up or the connection speaks something else. */
void bd_web_take(bd_connection *connection, const uint8_t *bytes, size_t size, size_t *out_taken);
/* Queues more of a file while the outbox is short. True once the connection may end. */
bool bd_web_pump(bd_connection *connection);
/* True while an answer waits; gives it when it is time. */
bool bd_web_holds(bd_connection *connection, int64_t now_ms);
/* True if a request has been coming for too long, or none came. */
bool bd_web_late(const bd_connection *connection, int64_t now_ms);
/* Ends it: with 408 if a request has begun. */
void bd_web_end_late(bd_connection *connection);
