/* SPDX-License-Identifier: Apache-2.0
 * The transport-free client: bytes in, bytes out. It speaks the protocol, mints ids, batches op
 * records, counts credit and matches answers to requests. A transport (client/c, JavaScript)
 * moves the bytes and decides when to wait.
 * Owned by one thread at a time. Invariant: once the connection has failed, every call that needs
 * it returns the same error, and nothing more is sent. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/base/error.h"
#include "proto/message.h"
#include "proto/ops.h"

typedef struct bd_client bd_client;

typedef enum bd_client_phase {
    BD_CLIENT_PREFACE, /* our preface is in the output, the daemon's is awaited */
    BD_CLIENT_HELLO,   /* WELCOME is awaited */
    BD_CLIENT_OPEN,
    BD_CLIENT_FAILED,
} bd_client_phase;

/* What HELLO asks for besides what every client does. */
typedef enum bd_client_wish {
    BD_CLIENT_RESUMES = 1,  /* a lost connection is made anew */
    BD_CLIENT_OBSERVES = 2, /* looks how the daemon is: also while that drains */
} bd_client_wish;

/* `device` may be NULL: the daemon's first; `token` NULL: the socket says who we are; `wishes`: a
 * set of bd_client_wish. Preface and HELLO are in the output at once. */
bd_client *bd_client_create(const char *library, const char *device, const char *token,
                            unsigned wishes);
/* All tensors must be released before. */
void bd_client_destroy(bd_client *client);

bd_client_phase bd_client_get_phase(const bd_client *client);
/* Why it failed, retained; NULL while it has not. */
bd_error *bd_client_failure(const bd_client *client) BD_MUST_USE;
/* The transport saw an error or the end of the stream: all pending requests end with it. */
void bd_client_fail(bd_client *client, bd_error *own_error);

/* What WELCOME said; texts are empty before. */
typedef struct bd_client_facts {
    uint64_t session, credit_bytes;
    uint32_t batch_bytes_max, chunk_bytes_max;
    bool regions; /* both sides can share memory */
    bool mints;   /* the daemon knows TOKEN_MINT */
    bool rotates; /* the daemon knows TOKEN_ROTATE */
    bool cancels_work; /* the daemon knows CANCEL_WORK */
    bool closes_sessions; /* the daemon knows CLOSE_SESSION */
    char resume_key[65]; /* "": a lost connection cannot be resumed */
    uint64_t resume_ms;
    uint32_t op_revision;
    char server[BURN_TEXT_BYTES_MAX + 1], device[BURN_TEXT_BYTES_MAX + 1];
    char devices[1024]; /* one a line */
} bd_client_facts;
const bd_client_facts *bd_client_get_facts(const bd_client *client);

/* ---- output -----------------------------------------------------------------------------------
 * Bytes that may be sent now, control frames first; 0 if there are none or credit is lacking. */
size_t bd_client_output(bd_client *client, const uint8_t **out_bytes);
void bd_client_sent(bd_client *client, size_t size_bytes);
/* Bytes of frames that wait for credit or for the socket. */
size_t bd_client_backlog(const bd_client *client);
/* Bytes of records not yet in a frame. */
size_t bd_client_batched(const bd_client *client);
/* Puts the records into a frame of the output. */
void bd_client_flush(bd_client *client);
uint64_t bd_client_bytes_sent(const bd_client *client);

/* ---- input ---- */
bd_error *bd_client_feed(bd_client *client, const uint8_t *bytes, size_t size_bytes) BD_MUST_USE;
/* Place into which tensor bytes may be read directly; then feed what came after. */
size_t bd_client_room(const bd_client *client, uint8_t **out_place);
bd_error *bd_client_filled(bd_client *client, size_t size_bytes) BD_MUST_USE;

/* Why the daemon ends the connection, once it has said so: there is nothing to resume. Or "". */
const char *bd_client_farewell(const bd_client *client);

/* ---- resuming: what both sides count, from HELLO and WELCOME on ---- */
uint64_t bd_client_peer_received(const bd_client *client);
enum { BD_CLIENT_RESUME_BYTES_MAX = BD_MESSAGE_BEGIN_BYTES_MAX };
/* What a new connection says first: preface and RESUME; its size. */
size_t bd_client_resume(const bd_client *client, const char *token,
                        uint8_t bytes[BD_CLIENT_RESUME_BYTES_MAX]);
/* The answer, as far as it has come: as long as *out_wanted is more than that, so much is awaited.
 * Then *out_received is set, or the error is the daemon's: after UNAVAILABLE trying again makes
 * sense. */
bd_error *bd_client_resumed(const uint8_t *bytes, size_t size_bytes, size_t *out_wanted,
                            uint64_t *out_received) BD_MUST_USE;
/* The daemon need not wait for it to come again. */
void bd_client_bye(bd_client *client);

/* ---- requests ---------------------------------------------------------------------------------
 * The caller owns the struct until `done`, or until bd_client_forget. */
typedef struct bd_pending {
    struct bd_pending *next;
    uint64_t request;
    bool done;
    bd_error *error; /* owned by the caller when done */
    uint8_t *place;  /* GET: where the bytes go; NULL: bd_client_incoming tells */
    size_t place_bytes;
    size_t received_bytes;
    char *report;  /* REPORT: JSON text; IMPORTED: its payload; bd_free */
    size_t report_bytes;
    int64_t token; /* PING */
    const uint8_t *slots; /* GET_REGION: the region's bytes here; NULL: they are the place's */
    uint64_t slots_place, slots_bytes;
    uint64_t first, program; /* what an import makes in the daemon */
    bool abandoned;          /* an import that nobody waits for: the client's */
} bd_pending;

void bd_client_get(bd_client *client, uint64_t id, uint8_t *place, size_t place_bytes,
                   bd_pending *pending);
void bd_client_sync(bd_client *client, bd_pending *pending);
void bd_client_ping(bd_client *client, bd_pending *pending);
/* type: BD_MESSAGE_STATS and the other requests that have no more fields. */
void bd_client_ask(bd_client *client, bd_message_type type, bd_pending *pending);
/* What the session (0: this one) has to do is dropped; only where facts say so. */
void bd_client_cancel_work(bd_client *client, uint64_t session, bd_pending *pending);
/* Ends another session; only where facts say so. */
void bd_client_close_session(bd_client *client, uint64_t session, bd_pending *pending);
/* Texts may be NULL; seconds 0: it never expires, a minted one in ten minutes. The answer is a
 * report with the token. */
typedef struct bd_token_wish {
    const char *name, *scopes, *origins;
    uint64_t seconds;
} bd_token_wish;
/* type: BD_MESSAGE_TOKEN_CREATE, or _MINT for one that acts for this session's identity. */
void bd_client_ask_token(bd_client *client, bd_message_type type, const bd_token_wish *wish,
                         bd_pending *pending);
/* One more token of the name; the others end after grace_seconds. The answer is a report with it.
 * Only where facts say so. */
void bd_client_rotate_token(bd_client *client, const char *name, uint64_t seconds,
                            uint64_t grace_seconds, bd_pending *pending);
void bd_client_revoke_token(bd_client *client, const char *name, bd_pending *pending);
void bd_client_define(bd_client *client, uint64_t program, const char *name, uint32_t input_count,
                      const uint8_t *records, size_t records_bytes, bd_pending *pending);
/* The daemon may forget the program; nobody waits for the answer. */
void bd_client_drop(bd_client *client, uint64_t program);
/* Publishes values; payload: [part, id] one behind the other (proto/name.h), at most
 * BURN_BATCH_BYTES_MAX. pending may be NULL: the next SYNC tells what failed. */
void bd_client_export(bd_client *client, const char *name, const uint8_t *payload,
                      size_t payload_bytes, bd_pending *pending);
/* Up to `count` values as tensors from *out_first on; their parts are the pending's report. */
void bd_client_import(bd_client *client, const char *name, uint64_t count, uint64_t *out_first,
                      bd_pending *pending);
/* Only `used` of the ids were taken: the others can be, if none has come after them. */
void bd_client_return_ids(bd_client *client, uint64_t first, uint64_t count, uint64_t used);
/* payload: a signature (proto/signature.h). */
void bd_client_export_program(bd_client *client, const char *name, uint64_t program,
                              const uint8_t *payload, size_t payload_bytes, bd_pending *pending);
/* Its signature is the pending's report. */
void bd_client_import_program(bd_client *client, const char *name, uint64_t program,
                              bd_pending *pending);
void bd_client_unexport(bd_client *client, const char *name, bd_pending *pending);
void bd_client_list_names(bd_client *client, const char *prefix, bd_pending *pending);
/* The caller no longer waits: tells the daemon and ignores the answer. What an import makes is
 * freed when its answer comes. */
void bd_client_forget(bd_client *client, bd_pending *pending);
/* Frees what an import that is done has made: the caller will not use it. */
void bd_client_free_imported(bd_client *client, const bd_pending *pending);
/* For a transport that never feeds tensor bytes: once it has fed the head of a frame (header,
 * message and zeros), how many bytes are awaited for a GET without a place, whose it is and where
 * they belong. It keeps them, and says how many by bd_client_filled. */
size_t bd_client_incoming(const bd_client *client, bd_pending **out_pending, size_t *out_offset);

/* ---- uploads ----
 * bd_client_put copies small data into the output. Large data goes in chunks: the transport sends
 * what bd_client_put_head wrote and then the chunk itself, with nothing in between; the backlog
 * must be empty and the credit enough. */
bool bd_client_put_fits(const bd_client *client, size_t size_bytes);
void bd_client_put(bd_client *client, uint64_t id, const burn_tensor_type *type, const void *bytes,
                   size_t size_bytes);
/* 0: the credit does not suffice yet. */
size_t bd_client_put_head(bd_client *client, uint64_t id, const burn_tensor_type *type,
                          uint64_t offset, size_t chunk_bytes,
                          uint8_t head[BD_MESSAGE_FRAME_BYTES_MAX]);
/* For a transport that keeps the bytes itself: the frame's place is taken, credit is paid in turn.
 * When bd_client_output gives nothing and bd_client_outside does, it sends the bytes that the token
 * stands for, and says how many. */
void bd_client_put_outside(bd_client *client, uint64_t id, const burn_tensor_type *type,
                           uint64_t offset, size_t chunk_bytes, uint64_t token);
size_t bd_client_outside(const bd_client *client, uint64_t *out_token);
void bd_client_outside_sent(bd_client *client, size_t size_bytes);

/* ---- regions ----
 * Memory that the transport shares with the daemon. What gives a head is as bd_client_put_head: the
 * transport sends it alone, with the descriptor if there is one; 0: not yet. */
typedef struct bd_region_span {
    uint64_t region;
    uint64_t place; /* within the region */
    uint64_t bytes;
} bd_region_span;
size_t bd_client_region_head(bd_client *client, uint64_t region, uint64_t bytes,
                             bd_pending *pending, uint8_t head[BD_MESSAGE_FRAME_BYTES_MAX]);
void bd_client_region_drop(bd_client *client, uint64_t region);
/* Begins an upload whose bytes lie in regions. */
void bd_client_put_begin(bd_client *client, uint64_t id, const burn_tensor_type *type);
/* The next bytes; `pending` (may be NULL) ends when the daemon has copied them. */
size_t bd_client_put_region_head(bd_client *client, uint64_t id, uint64_t offset,
                                 const bd_region_span *span, bd_pending *pending,
                                 uint8_t head[BD_MESSAGE_FRAME_BYTES_MAX]);
/* Into slots of slot_bytes that lie at the span, which the daemon fills in turn. pending->slots is
 * the first one here, or NULL if the slots are the place itself and hold all of it. */
void bd_client_get_region(bd_client *client, uint64_t id, const bd_region_span *span,
                          uint64_t slot_bytes, uint8_t *place, size_t place_bytes,
                          bd_pending *pending);

/* ---- records and ids ---- */
uint64_t bd_client_mint(bd_client *client); /* one id, for an upload; ends the batch */
/* Bytes that the record may take; above BURN_BATCH_BYTES_MAX it cannot be sent. */
size_t bd_client_record_bound(const burn_op_record *record);
/* Appends the record; record->first_output is filled in. Its number in the session is returned. */
uint64_t bd_client_record(bd_client *client, burn_op_record *record);
/* The tensor is no longer needed; records of frees are gathered. */
void bd_client_free_id(bd_client *client, uint64_t id);
void bd_client_mark(bd_client *client);
uint64_t bd_client_op_count(const bd_client *client);
