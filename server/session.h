/* SPDX-License-Identifier: Apache-2.0
 * A session: what one client may do and has under way: credit, uploads, downloads, requests that
 * wait for the engine. Messages come from its connection, replies from the engine.
 * Thread: loop. Invariant: everything that spends credit is checked before it allocates. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/engine.h"
#include "proto/base/map.h"
#include "proto/message.h"
#include "server/access.h"
#include "server/principal.h"
#include "server/region.h"
#include "server/resume.h"

typedef struct bd_connection bd_connection;
typedef struct bd_download bd_download;

typedef struct bd_session {
    uint64_t number; /* 0: not open */
    bd_principal principal;
    char client[64];
    int64_t opened_ms;
    bd_quota *quota;         /* of the principal; retained */
    uint64_t window_bytes;   /* all its credit */
    uint64_t credit_bytes;   /* what the client may still send */
    uint64_t returned_bytes; /* taken up, not yet given back by CREDIT */
    uint64_t idle_ms;
    int64_t worked_ms; /* when something came that costs credit; 0: nothing has */
    int64_t heard_ms;  /* … and anything, by the last tick of a drain; … */
    int quiet_ticks;   /* … nothing in so many ticks before it */
    bool answers_pings, mints, rotates, cancels_work, closes_sessions;
    bool observes; /* asks how the daemon is: a drain does not wait for it */
    bd_map requests;     /* numbers that the engine has yet to answer */
    bd_map uploads;      /* id → bd_upload */
    bd_resume resume;
    bd_regions regions;
    bd_map region_reads; /* numbers of GET_REGIONs that the engine has yet to answer */
    uint64_t frame_cost; /* of the frame that comes in; 0 once a request carries it */
    bd_request *request; /* whose payload comes in */
    uint64_t upload;     /* id of the upload whose payload comes in; 0: none */
    bd_download *downloads_first, *downloads_last;
} bd_session;

/* What is known of the connection's peer; its token and its origin are told by what it says. */
bd_visitor bd_session_visitor(const bd_connection *connection);
/* Who speaks on the connection, with the token that it showed. */
bd_error *bd_session_identify(const bd_connection *connection, bd_text token,
                              bd_principal *out) BD_MUST_USE;
/* Its peer showed a wrong identity: counts that for the address, and says for how many milliseconds
 * the answer waits. */
int64_t bd_session_note_stranger(const bd_connection *connection);
/* A complete message; *out_payload is where its payload goes, NULL drops it. An error closes the
 * connection; what concerns only the request is answered and gives NULL. */
bd_error *bd_session_message(bd_connection *connection, const bd_message *message,
                             const bd_frame *frame, uint8_t **out_payload) BD_MUST_USE;
/* The payload of the last message is complete. */
bd_error *bd_session_payload_done(bd_connection *connection) BD_MUST_USE;

/* Consumes a reply of the engine. */
void bd_session_reply(bd_connection *connection, bd_reply *own_reply);
/* Queues chunks of downloads while the outbox is short. */
void bd_session_pump(bd_connection *connection);
/* Posts a request that is answered; its frame's credit comes back when the engine took it up. */
void bd_session_ask(bd_connection *connection, bd_request *own_request);
/* Remembers that a request waits; answers it with an error and gives false if it may not. */
bool bd_session_expect(bd_connection *connection, uint64_t request);
/* The client learns what failed, the log at level debug where. */
void bd_session_answer_failure(bd_connection *connection, uint64_t request, bd_error *own_error);
/* Credit that was taken up; given back to the client in larger portions. */
void bd_session_return_credit(bd_connection *connection, uint64_t bytes);
/* The daemon ends the session, also one that waits to be resumed: its client hears why, or learns
 * by RESUME's answer that it is gone. */
void bd_session_end(bd_connection *connection, bd_code code, const char *why);
/* Frees all that the session holds, here and in the engine. */
void bd_session_close(bd_connection *connection);

/* True while the client waits for anything. */
bool bd_session_busy(const bd_session *session);
