/* SPDX-License-Identifier: Apache-2.0
 * The engine of one device, as the server sees it: a thread that owns all state of that device, a
 * mailbox of requests down and one of replies up. Nothing else crosses.
 * Thread: bd_engine_open/close: main; post, next_reply: loop; buffers and stats: any. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/backend.h"
#include "proto/base/error.h"
#include "proto/base/histogram.h"
#include "proto/base/quota.h"
#include "proto/limits.h"
#include "proto/ops.h"

typedef struct bd_engine bd_engine;
typedef struct bd_buffer bd_buffer; /* counted device memory; thread-safe count */

typedef struct bd_engine_options {
    const char *driver; /* "cpu", "ref" */
    bd_device_options device;
    bool fusion;
    uint64_t memory_bytes_max;  /* of all sessions; 0 = the device's */
    uint64_t session_bytes_max; /* of one session, and of one principal's names; 0 = no own limit */
    uint32_t names_max;         /* of one principal */
    int compile_threads;        /* 0 = 2, or for a device of its own the host's cores */
    void (*wake)(void *user);   /* replies wait; called from any thread, may coalesce */
    void *wake_user;
} bd_engine_options;

bd_error *bd_engine_open(const bd_engine_options *options, bd_engine **out) BD_MUST_USE;
/* Finishes the plans that the device has, drops the rest. All buffers of replies must have been
 * released. */
void bd_engine_close(bd_engine *engine);

/* ---- memory that crosses ---- */
/* Room for an upload, charged to the session at once; its bytes are written by the loop. NO_MEMORY
 * or LIMIT says which limit was hit, with both numbers. */
bd_error *bd_engine_upload_buffer(bd_engine *engine, uint64_t session, size_t size_bytes,
                                  bd_buffer **out) BD_MUST_USE;
void *bd_buffer_bytes(bd_buffer *buffer);
size_t bd_buffer_size(const bd_buffer *buffer);
bd_buffer *bd_buffer_retain(bd_buffer *buffer);
void bd_buffer_release(bd_buffer *buffer);

/* ---- requests ---- */
typedef enum bd_request_kind {
    BD_REQUEST_SESSION_OPEN,  /* name: the principal; quota; only_calls */
    BD_REQUEST_SESSION_CLOSE, /* frees all that the session holds; the reply says when it is done */
    BD_REQUEST_OPS,           /* payload: op records; first_output: id of the first output */
    BD_REQUEST_PUT,           /* id, type, buffer: a completed upload */
    BD_REQUEST_GET,           /* id → type and bytes */
    BD_REQUEST_SYNC,          /* all before is done → first error since the last sync */
    BD_REQUEST_PROGRAM_DEFINE, /* name, payload: records; see engine/program.h */
    BD_REQUEST_PROGRAM_DROP,
    BD_REQUEST_EXPORT,     /* name, payload: parts (proto/name.h); `request` 0: no answer, an error
                              is kept for the next SYNC */
    BD_REQUEST_IMPORT,     /* name; id, id_count: ids of the new tensors */
    BD_REQUEST_UNEXPORT,   /* name, and all below it */
    BD_REQUEST_LIST_NAMES, /* name: a prefix, or empty */
    BD_REQUEST_EXPORT_PROGRAM, /* name, program, payload: a signature (proto/signature.h) */
    BD_REQUEST_IMPORT_PROGRAM, /* name, program */
    BD_REQUEST_PROBE, /* of no session: answered as soon as the device thread looks */
    BD_REQUEST_CANCEL, /* the session's GET or SYNC of number `request`, if it still waits, is
                          answered at once with CANCELLED; each of them gets exactly one answer */
    BD_REQUEST_CANCEL_WORK, /* the session's runs end, and records that have come before this are
                               not begun; what they would have made is poisoned with CANCELLED */
} bd_request_kind;

typedef struct bd_request {
    bd_request_kind kind;
    uint64_t session;
    uint64_t request;      /* the client's number of a GET or SYNC */
    uint64_t id;           /* tensor (PUT, GET), the first of id_count (IMPORT) */
    uint64_t id_count;
    bool only_calls; /* of programs, and what these need: other ops are DENIED */
    uint64_t first_output; /* OPS: id of the first output; PROGRAM_DEFINE: first id of the program's
                              own numbering */
    uint64_t first_op_index; /* OPS: number of the first record within the session, from 1 */
    burn_tensor_type type;   /* PUT */
    bd_buffer *buffer; /* PUT; moves. NULL: the upload was refused, the tensor is poisoned … */
    bd_error *error;   /* … with this; or EXPORT*: it is refused, and why; moves */
    bd_quota *quota;   /* SESSION_OPEN: of the principal, or NULL; moves */
    uint8_t *payload;  /* OPS, PROGRAM_DEFINE, EXPORT*: heap (bd_alloc), moves */
    size_t payload_bytes;
    size_t credit_bytes; /* given back to the client when the request was taken up */
    uint64_t program;    /* PROGRAM_*, *_PROGRAM: minted by the client, private to the session */
    uint32_t program_inputs; /* PROGRAM_DEFINE: ids first_output - program_inputs … first_output - 1
                                are its inputs */
    char name[BURN_NAME_BYTES_MAX + 1]; /* PROGRAM_DEFINE, of programs and published values */
} bd_request;

bd_request *bd_request_create(bd_request_kind kind, uint64_t session);
void bd_request_destroy(bd_request *request); /* with all it owns */
/* Never fails: credit bounds what a client can have queued; consumes the request. */
void bd_engine_post(bd_engine *engine, bd_request *own_request);

/* ---- replies ---- */
typedef enum bd_reply_kind {
    BD_REPLY_SESSION_CLOSED,
    BD_REPLY_DATA,   /* GET: type and a retained buffer, or error */
    BD_REPLY_SYNCED, /* error = first one since the last SYNC, or NULL */
    BD_REPLY_CREDIT, /* credit_bytes were taken up */
    BD_REPLY_DONE,   /* PROGRAM_DEFINE, _DROP, EXPORT, UNEXPORT: error or NULL */
    BD_REPLY_IMPORTED, /* payload: parts (proto/name.h) or a signature, or error */
    BD_REPLY_NAMES,    /* payload: [name, bytes, dtype, [dim, …]] one behind the other */
    BD_REPLY_PROBED,
    BD_REPLY_LOST, /* of no session: the device cannot be opened again; error: why it was lost */
} bd_reply_kind;

typedef struct bd_reply {
    bd_reply_kind kind;
    uint64_t session;
    uint64_t request;
    burn_tensor_type type;
    bd_buffer *buffer;   /* owned */
    size_t offset_bytes; /* of the data within the buffer */
    uint8_t *payload;    /* owned */
    size_t payload_bytes;
    bd_error *error;     /* owned */
    size_t credit_bytes;
} bd_reply;

bd_reply *bd_engine_next_reply(bd_engine *engine); /* NULL: none waits */
void bd_reply_destroy(bd_reply *reply);

/* ---- gauges and counters: a snapshot, thread: any ---- */
typedef struct bd_engine_stats {
    uint64_t compiles, cache_hits;                                /* kernels */
    uint64_t analyses, replays, launches, fallbacks, known_plans; /* plans */
    uint64_t run_us; /* that the device worked on them */
    uint64_t ops, cuts;
    uint64_t device_bytes; /* live tensors and running plans */
    uint64_t pool_bytes;   /* held from the device, live or cached */
    uint64_t cleared_bytes; /* zeroed between principals */
    uint64_t sessions, tensors;
    uint64_t names, named_bytes; /* published values, and the memory that counts as theirs */
    uint64_t code_bytes;
    uint64_t library_plans; /* made by a vendor's library */
    uint64_t restarts; /* of the device, after it was lost */
    bool device_is_gone; /* lost, and could not be opened again yet */
    uint64_t lent_us; /* processor time for which the device thread ran kernels */
    bd_histogram_view queued, run, compiled; /* requests until taken up; plans; kernels' code */
} bd_engine_stats;

void bd_engine_get_stats(bd_engine *engine, bd_engine_stats *out);
void bd_engine_describe(bd_engine *engine, bd_device_facts *out);
typedef struct bd_session_gauges {
    uint64_t device_bytes, tensors; /* live */
    uint64_t ops;
    uint64_t device_us; /* that the device worked for it */
} bd_session_gauges;
/* False if the session is unknown. */
bool bd_engine_session_stats(bd_engine *engine, uint64_t session, bd_session_gauges *out);
/* JSON array text of the compiled kernels: name (hash), family, launches, time of its
 * launches and of its compilation in microseconds. Heap; bd_free. */
char *bd_engine_kernels_json(bd_engine *engine);
