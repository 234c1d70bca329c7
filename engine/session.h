/* SPDX-License-Identifier: Apache-2.0
 * One session within the engine: its tensors, the trace being recorded, the requests that wait, and
 * where its op stream stands. Thread: device.
 * Invariant: requests are taken up in order; a cut may leave the first one half done, to be gone on
 * with when the plan was handed over. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/engine.h"
#include "engine/letters.h"
#include "engine/memory.h"
#include "engine/names.h"
#include "engine/program.h"
#include "engine/run.h"
#include "engine/tensor.h"
#include "engine/tracer.h"
#include "engine/trie.h"
#include "engine/turns.h"
#include "proto/base/map.h"

typedef struct bd_core bd_core; /* engine/core.h */

/* A request as the queues hold it. */
typedef struct bd_posted {
    bd_letter letter;
    int kind; /* BD_LETTER_REQUEST */
    int64_t posted_ns; /* 0 once it was taken up */
    bool dropped;      /* it is OPS that make nothing but poison */
    bd_request request;
} bd_posted;

/* A GET, SYNC or EXPORT that waits for a submission. */
typedef struct bd_waiter {
    struct bd_waiter *next;
    uint64_t order;
    bd_request_kind kind;
    uint64_t request;
    burn_tensor_type type;
    bd_buffer *buffer; /* GET; retained */
    bd_publication *publication; /* EXPORT; owned */
} bd_waiter;

typedef struct bd_session {
    bd_core *core;
    uint64_t number;
    bd_account *account;
    bd_holder *holder; /* its principal; borrowed */
    bool only_calls;   /* other ops are denied */
    bd_tensors tensors;
    uint64_t last_id;     /* the highest that the client has used */
    uint64_t next_hidden; /* ids of tensors within program calls; above all that clients can use */
    bd_tracer tracer;
    bd_trie_node *cursor; /* where the trace stands among the known ones; NULL: it left them */
    uint64_t cursor_generation;
    bd_map programs;
    bd_posted *first, *last; /* requests that wait */

    /* The OPS request in progress. */
    bool begun;
    const uint8_t *at;
    uint64_t next_output, next_op;
    bd_call *call;
    bool dropped; /* the request is */

    bd_known *waiting;     /* the plan of the trace, whose kernels are being compiled */
    bool waiting_is_known; /* it is a replay */
    uint32_t attempts;     /* left, at the trace without an op that fails */
    uint32_t in_flight;    /* runs */
    uint64_t last_order;   /* of its last submission */
    bd_waiter *waiters;    /* by order */
    uint32_t publishing;   /* EXPORTs among them */
    bool awaits_names;     /* the first request reads names: those come first */
    int64_t held_ns;       /* since when it waits for its op rate; 0: it does not */
    int64_t compile_held_ns; /* since when its trace waits for time to compile; 0: it does not */
    bd_error *refusal;     /* why no ops are taken in this turn; NULL: they are */
    uint64_t tensors_max;  /* BD_TENSORS_MAX, or 0 while ops are refused */
    bd_error *first_error; /* since the last SYNC; the one of the lowest op */
    size_t credit_bytes;   /* taken up, not yet given back */

    bd_turn turn;
    BD_VEC(bd_tensor *) inputs; /* scratch of one record */
    BD_VEC(const burn_tensor_type *) types;
    BD_VEC(burn_tensor_type) outputs;
    BD_VEC(uint64_t) ids;
} bd_session;

bd_session *bd_session_create(bd_core *core, uint64_t number, bd_account *account,
                              bd_holder *holder);
/* Releases everything at once; runs in flight go on without it. */
void bd_session_destroy(bd_session *session);

/* Takes up a request; it is done in its turn, CANCEL and CANCEL_WORK at once. */
void bd_session_accept(bd_session *session, bd_posted *own_posted);
/* Whether a step would get anywhere. */
bool bd_session_can_step(const bd_session *session);
/* Whether the plan that it waits for has its kernels, or cannot have them. */
bool bd_session_can_resume(const bd_session *session);
/* Goes on with the first request, up to the next cut. */
void bd_session_step(bd_session *session);
/* Submissions up to core->completed are done: answers who waited for them. */
void bd_session_answer(bd_session *session);
/* Keeps the error for the next SYNC, if it is of an earlier op than the one that is kept. */
void bd_session_note_error(bd_session *session, bd_error *error);
void bd_session_flush_credit(bd_session *session);
void bd_session_tell(bd_session *session, bd_reply_kind kind, uint64_t request,
                      bd_error *own_error);
/* Answers the request when the submission `order` is done, in order with others. */
void bd_session_wait_for(bd_session *session, bd_waiter *own_waiter);

/* ---- engine/cut.c ---- */
/* Ends the trace: it becomes a plan, new or known, and is handed to the device, or the session
 * waits for kernels or for its turn. Returns at once in any case. */
void bd_session_cut(bd_session *session);
/* The kernels of the plan are there, or failed: hands it over. */
void bd_session_resume(bd_session *session);
/* Begins to compile what the plan lacks, or gives it up where there was no time for it. */
void bd_session_compile(bd_session *session);
/* The trace is not run: what survives it is poison. */
void bd_session_abandon(bd_session *session, bd_error *error);
/* A run of the session is done. */
void bd_session_finish_run(bd_session *session, bd_run *run);

/* ---- engine/naming.c: false if the request must come again after a cut, or after EXPORTs ---- */
bool bd_naming_export(bd_session *session, const bd_request *request);
bool bd_naming_import(bd_session *session, const bd_request *request);
bool bd_naming_unexport(bd_session *session, const bd_request *request);
bool bd_naming_list(bd_session *session, const bd_request *request);
/* ---- engine/programs.c: the same ---- */
bool bd_programs_export(bd_session *session, const bd_request *request);
bool bd_programs_import(bd_session *session, const bd_request *request);
bd_error *bd_programs_define(bd_session *session, const bd_request *request) BD_MUST_USE;
bd_error *bd_programs_drop(bd_session *session, const bd_request *request) BD_MUST_USE;
/* Waits for the values and publishes them; after an error (own) answers with that, and after a cut
 * makes the cut: false. */
bool bd_naming_finish(bd_session *session, const bd_request *request,
                      bd_publication *own_publication, bd_error *own_error, bool cut);
bool bd_naming_must_wait(bd_session *session); /* for EXPORTs before the request */
void bd_naming_answer(bd_session *session, uint64_t request, bd_pack own_payload);
/* Finds a tensor that can be published; *out is NULL if a cut must come first. */
bd_error *bd_naming_find(bd_session *session, uint64_t id, bd_stored **out) BD_MUST_USE;
/* What an EXPORT publishes is there. */
void bd_naming_publish(bd_session *session, bd_waiter *waiter);

/* ---- engine/stream.c ---- */
/* The error that spoils a tensor, or NULL; borrowed. */
bd_error *bd_stream_spoiled(bd_tensor *tensor);
/* The tensor is used no more. */
void bd_stream_free(bd_session *session, bd_tensor *tensor, uint64_t id);
/* Applies records of the OPS request until it is used up (true), or a cut was made or as many
 * records and operands as the budget were (false). */
bool bd_stream_go_on(bd_session *session, const bd_request *request, uint64_t budget);
