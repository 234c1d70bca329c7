/* SPDX-License-Identifier: Apache-2.0
 * Device memory of an engine: counted buffers over a caching pool, with an account a session, hard
 * limits and trimming. Only what passes from one principal to another is zeroed.
 * Thread: any (one lock, a leaf), but for the members that say otherwise.
 * Invariant: the used bytes of an account are the sizes of its live buffers, of running arenas
 * included. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/backend.h"
#include "engine/engine.h"
#include "engine/span.h"
#include "proto/base/error.h"

typedef struct bd_memory bd_memory;

/* Accounts of sessions have the sessions' numbers, those of principals stand above. */
#define BD_HOLDERS_FROM ((uint64_t)1 << 63)

/* What one session uses, or one principal's names; lives until the session is closed and its last
 * buffer is released. */
typedef struct bd_account {
    uint64_t session;
    uint64_t principal; /* number of its name */
    bd_quota *quota;    /* of the principal; NULL: none */
    uint64_t used_bytes;               /* under the lock */
    struct bd_buffer *buffers;         /* live ones; under the lock */
    bool closed;                       /* under the lock */
    struct bd_account *next_closed;    /* under the lock */
    atomic_uint_fast64_t tensors, ops, device_ns; /* written by the device thread */
} bd_account;

typedef enum bd_memory_user {
    BD_MEMORY_HOST,        /* the host writes it: no submission in flight may still use it */
    BD_MEMORY_SUBMISSIONS, /* later submissions write it */
    BD_MEMORY_ARENA,       /* likewise, one of them: apart from what outlives it */
    BD_MEMORY_USERS,
} bd_memory_user;

#define BD_BUFFER_LENT ((uint_fast32_t)1 << 31)

/* A buffer, or a loan of one: what all references of a session to a value of others' are to. */
struct bd_buffer {
    atomic_uint_fast32_t count; /* references; with BD_BUFFER_LENT once it was lent */
    void *bytes; /* NULL: gone with the device; then there is an error. Or it is a loan */
    size_t size_bytes;
    bd_memory *memory;
    bd_account *account;
    bd_span *span;
    bd_memory_user user;
    bd_buffer *next, *previous; /* of the account; when unused: the list of descriptors */
    bd_buffer *source; /* of a loan: whose bytes these are; retained */
    /* Under the lock. */
    bd_buffer *next_loan, *previous_loan;
    bd_buffer *first_loan, *last_loan; /* of a source, the oldest first */
    uint32_t loan_count;
    bd_buffer *payer; /* of a source: whose account its bytes count against, its own or a loan's */
    /* Thread: device. */
    uint64_t serial; /* never reused: names the contents */
    uint64_t ready;  /* the submission that writes it; 0: the host did */
    uint32_t names;  /* that hold it; it counts as their principal's while there are any */
    uint64_t origin; /* number of the session that paid for it before its names did */
    bd_error *error; /* a fault spoiled the contents */
};

bd_memory *bd_memory_create(const bd_device_ops *ops, bd_device *device, uint64_t bytes_max,
                            uint64_t session_bytes_max);
/* All buffers must have been released; false, and memory is leaked, if some were not. */
bool bd_memory_destroy(bd_memory *memory);

/* The principal's name is copied; its quota may be NULL. */
void bd_memory_open(bd_memory *memory, uint64_t session, const char *principal,
                    bd_quota *quota);
/* Buffers stay valid until released, but nothing new can be allocated. */
void bd_memory_close(bd_memory *memory, uint64_t session);
/* NULL if the session is not open. Valid for the device thread until it closes the session. */
bd_account *bd_memory_account(bd_memory *memory, uint64_t session);

/* LIMIT when the session's or the principal's limit would be passed, NO_MEMORY the engine's or the
 * device's. */
bd_error *bd_memory_alloc(bd_memory *memory, bd_account *account, size_t size_bytes,
                          bd_memory_user user, bd_buffer **out) BD_MUST_USE;
bd_error *bd_memory_alloc_for(bd_memory *memory, uint64_t session, size_t size_bytes,
                              bd_memory_user user, bd_buffer **out) BD_MUST_USE;
/* The memory of a buffer that only the caller holds becomes one with new contents.
 * Thread: device. */
void bd_buffer_renew(bd_buffer *buffer);
bool bd_buffer_is_shared(const bd_buffer *buffer); /* more than one holds it */

/* Brings what the host wrote to where submissions reach it; nothing to do on a device whose memory
 * the host touches, or for what is there already. Thread: device. */
bd_error *bd_buffer_to_device(bd_buffer *buffer) BD_MUST_USE;
/* The contents where the host may read them, once the buffer is ready: the buffer itself, or a
 * copy. One reference for the caller. Thread: device. */
bd_error *bd_buffer_for_host(bd_buffer *buffer, bd_buffer **out) BD_MUST_USE;

/* Progress of the device: `submitted` grows before a submission is handed over, `completed` after
 * it is done. */
void bd_memory_set_submitted(bd_memory *memory, uint64_t submission);
void bd_memory_set_completed(bd_memory *memory, uint64_t submission);

/* The buffer counts against another account from now on; *out_before is where it did. LIMIT if the
 * account's limit would be passed also when `ending` bytes of it, as many soon will, had ended. */
bd_error *bd_buffer_charge(bd_buffer *buffer, bd_account *account, uint64_t ending,
                           bd_account **out_before) BD_MUST_USE;
/* To an account that had it before: it may get beyond its limits, and then nothing more. */
void bd_buffer_return(bd_buffer *buffer, bd_account *account);
/* What the account pays for it. */
uint64_t bd_buffer_charged_bytes(const bd_buffer *buffer);
/* A loan of the buffer, or of the one that it is a loan of: its bytes, for another account. One
 * reference for the caller. When only loans hold a buffer, the oldest of them pays for it, which
 * may get beyond its limits, and then nothing more. Thread: device. */
bd_buffer *bd_buffer_lend(bd_buffer *buffer, bd_account *account);

/* An error of the device; DEVICE_LOST says that it must begin anew. Thread: any. */
void bd_memory_note(bd_memory *memory, const bd_error *error);
bool bd_memory_is_lost(const bd_memory *memory);
/* The device's memory is freed: buffers that lay there have no bytes any more, and the error that
 * was noted, of which the caller gets a reference. Nothing is in flight. Between these two no
 * other thread allocates. Thread: device. */
bd_error *bd_memory_lose(bd_memory *memory);
void bd_memory_renew(bd_memory *memory);

/* Calls visit for each live buffer of the account. Thread: device; visit must not release. */
void bd_memory_visit(bd_memory *memory, bd_account *account,
                     void (*visit)(bd_buffer *buffer, void *user), void *user);

void bd_memory_trim(bd_memory *memory);
/* The same, unless more than this is free. */
void bd_memory_make_room(bd_memory *memory, size_t free_bytes_max);
/* What was zeroed between principals. */
uint64_t bd_memory_cleared_bytes(bd_memory *memory);
/* Live bytes, bytes held from the device, tensors of all sessions. */
void bd_memory_gauges(bd_memory *memory, uint64_t *out_used_bytes, uint64_t *out_pool_bytes,
                      uint64_t *out_tensors);
/* Live bytes of accounts from this number on. */
uint64_t bd_memory_bytes_from(bd_memory *memory, uint64_t first_number);
bool bd_memory_session_gauges(bd_memory *memory, uint64_t session, bd_session_gauges *out);
