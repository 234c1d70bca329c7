/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/throttle.h"

#include "engine/core.h"
#include "proto/base/clock.h"

enum { LOOK_NS = 250000000 }; /* a reload may have raised a budget meanwhile */

static bool is_limited(const bd_session *session)
{
    return bd_quota_limit(session->account->quota, BD_QUOTA_OPS) != 0;
}

/* It has waited for its budget, or would wait, for longer than a session may. */
static bool is_late(const bd_session *session, int64_t wait_ns, int64_t now_ns)
{
    int64_t most_ns = atomic_load(&session->account->quota->book->wait_ns);
    return wait_ns > most_ns || (session->held_ns && now_ns - session->held_ns >= most_ns);
}

/* The core looks again when the budget is there, or at the end of the wait for it. */
static void note_due(bd_session *session, int64_t since_ns, int64_t wait_ns, int64_t now_ns)
{
    bd_core *core = session->core;
    int64_t due_ns = since_ns + atomic_load(&session->account->quota->book->wait_ns);
    wait_ns = wait_ns < LOOK_NS ? wait_ns : LOOK_NS;
    due_ns = now_ns + wait_ns < due_ns ? now_ns + wait_ns : due_ns;
    if (!core->throttle_due_ns || due_ns < core->throttle_due_ns)
        core->throttle_due_ns = due_ns;
}

bool bd_throttle_holds(bd_session *session)
{
    if (!session->first || session->first->request.kind != BD_REQUEST_OPS ||
        session->first->dropped || !is_limited(session))
        return false;
    bd_quota *quota = session->account->quota;
    int64_t wait_ns = bd_quota_wait_ns(quota, BD_QUOTA_OPS), now_ns = bd_now_ns();
    if (!wait_ns || is_late(session, wait_ns, now_ns))
        return false;
    if (!session->held_ns) {
        session->held_ns = now_ns;
        atomic_fetch_add(&quota->book->waited[BD_QUOTA_OPS], 1);
    }
    note_due(session, session->held_ns, wait_ns, now_ns);
    return true;
}

bool bd_throttle_go_on(bd_session *session, const bd_request *request)
{
    if (!is_limited(session) || session->dropped) {
        session->held_ns = 0;
        return bd_stream_go_on(session, request, BD_STEP_COST_MAX);
    }
    bd_quota *quota = session->account->quota;
    int64_t wait_ns = bd_quota_wait_ns(quota, BD_QUOTA_OPS);
    uint64_t before = atomic_load_explicit(&session->account->ops, memory_order_relaxed);
    if (wait_ns && is_late(session, wait_ns, bd_now_ns()))
        session->refusal = bd_quota_refuse(quota, BD_QUOTA_OPS);
    session->tensors_max = session->refusal ? 0 : BD_TENSORS_MAX;
    uint64_t limit = bd_quota_limit(quota, BD_QUOTA_OPS); /* it overdraws the budget by less */
    bool done =
        bd_stream_go_on(session, request, limit < BD_STEP_COST_MAX ? limit : BD_STEP_COST_MAX);
    uint64_t after = atomic_load_explicit(&session->account->ops, memory_order_relaxed);
    if (!session->refusal)
        bd_quota_spend(quota, BD_QUOTA_OPS, (int64_t)(after - before) * 1000);
    if (!session->refusal || done)
        session->held_ns = 0;
    bd_error_free(session->refusal);
    session->refusal = NULL;
    session->tensors_max = BD_TENSORS_MAX;
    return done;
}

bd_error *bd_throttle_compile(bd_session *session)
{
    bd_quota *quota = session->account->quota;
    int64_t wait_ns = bd_known_begin(session->waiting, quota), now_ns = bd_now_ns();
    if (!wait_ns) {
        session->compile_held_ns = 0;
        return NULL;
    }
    if (!session->compile_held_ns) {
        session->compile_held_ns = now_ns;
        atomic_fetch_add(&quota->book->waited[BD_QUOTA_COMPILE], 1);
    }
    if (now_ns - session->compile_held_ns >= atomic_load(&quota->book->wait_ns))
        return bd_quota_refuse(quota, BD_QUOTA_COMPILE);
    note_due(session, session->compile_held_ns, wait_ns, now_ns);
    return NULL;
}

void bd_throttle_advance(bd_core *core)
{
    if (!core->throttle_due_ns || bd_now_ns() < core->throttle_due_ns)
        return;
    core->throttle_due_ns = 0;
    uint64_t number;
    void *value;
    for (size_t cursor = 0; bd_map_next(&core->sessions, &cursor, &number, &value);) {
        bd_session *session = value;
        if (session->waiting)
            bd_session_compile(session);
        bd_core_make_ready(core, session);
    }
}

int64_t bd_throttle_wait_us(const bd_core *core, int64_t wait_us)
{
    if (!core->throttle_due_ns)
        return wait_us;
    int64_t left_us = (core->throttle_due_ns - bd_now_ns()) / 1000 + 1;
    left_us = left_us > 0 ? left_us : 0;
    return wait_us < 0 || left_us < wait_us ? left_us : wait_us;
}
