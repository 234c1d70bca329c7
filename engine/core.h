/* SPDX-License-Identifier: Apache-2.0
 * The state of an engine that its device thread owns, and the counters that others may read.
 * Thread: device, but for what says otherwise. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "engine/cache.h"
#include "engine/engine.h"
#include "engine/fault.h"
#include "engine/mailbox.h"
#include "engine/memory.h"
#include "engine/names.h"
#include "engine/plan.h"
#include "engine/session.h"
#include "engine/trie.h"
#include "engine/turns.h"

enum {
    BD_SESSION_IN_FLIGHT_MAX = 8, /* runs of one session with the backend */
    BD_FLIGHT_NS_MAX = 10 * 1000000, /* time of all runs with the backend, but for the first two */
    BD_KNOWN_PLANS_MAX = 1024,
    BD_KNOWN_BYTES_MAX = 512 << 20, /* of known traces and their plans */
    BD_CREDIT_BYTES_MIN = 64 << 10, /* given back at once from here on; less waits for company */
    BD_IDLE_US = 1000000,           /* without work for so long: caches are trimmed */
    BD_PROGRAMS_MAX = 1024,         /* of one session */
    BD_TENSORS_MAX = 1 << 20,       /* of one session: the smallest cost host memory, too */
    BD_STEP_COST_MAX = 8192,        /* records and operands, then the other sessions have a turn */
};

/* Thread: any. */
typedef struct bd_core_counters {
    atomic_uint_fast64_t analyses, replays, launches, fallbacks, ops, cuts, known_plans, sessions,
        run_ns, names, restarts;
    atomic_bool device_is_gone; /* lost, and could not be opened again */
    bd_histogram queued, run, compiled;
} bd_core_counters;

struct bd_core {
    const bd_device_ops *ops;
    bd_device *device;
    bd_engine_options options;
    bd_plan_options plan_options;
    bd_mailbox *letters; /* thread: any */
    bd_mailbox *replies; /* thread: any */
    bd_memory *memory;   /* thread: any */
    bd_cache *cache;
    bd_trie *trie;
    bd_map sessions;
    bd_names *names;
    bd_turns *turns; /* of the sessions that can go on */
    int64_t throttle_due_ns; /* when to look at those that wait for a budget; 0: none does */
    bool sessions_dropped; /* since memory was last given back to the system */
    bd_run *flight_first, *flight_last;   /* in order of submission */
    uint32_t flight_count;
    int64_t flight_ns; /* that they will take, by what they took before */
    bool submitting;                      /* the device thread is in the backend's submit */
    uint64_t submitted, completed;
    bd_spoils spoils;
    uint64_t next_tensor;
    uint64_t next_plan;        /* serials of plans */
    bd_arena scratch;          /* of one record */
    pthread_t thread;          /* to join */
    pthread_t device_thread;   /* the same, as it knows itself */
    bd_core_counters counters; /* thread: any */
};

/* Lets a session wait for its turn if it can go on. */
void bd_core_make_ready(bd_core *core, bd_session *session);
/* Whether a plan may be handed to the backend at once: it has little to do, and no other session
 * waits for that. */
bool bd_core_is_free(const bd_core *core);
/* Hands a bound run to the backend; the core looks after it until it is done. */
void bd_core_submit(bd_core *core, bd_session *session, bd_run *own_run);
void bd_core_reply(bd_core *core, bd_reply *own_reply);
bd_reply *bd_core_new_reply(bd_reply_kind kind, const bd_session *session, uint64_t request);

static inline void bd_count(atomic_uint_fast64_t *counter, uint64_t more)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + more,
                          memory_order_relaxed);
}
