/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/throttle.h"

#include "engine/core.h"
#include "proto/base/clock.h"

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

bool bd_throttle_holds(bd_session *session)
{
    bd_core *core = session->core;
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
    int64_t end_ns = session->held_ns + atomic_load(&quota->book->wait_ns);
    int64_t due_ns = now_ns + wait_ns < end_ns ? now_ns + wait_ns : end_ns;
    if (!core->throttle_due_ns || due_ns < core->throttle_due_ns)
        core->throttle_due_ns = due_ns;
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

void bd_throttle_advance(bd_core *core)
{
    bool look = bd_cache_advance(core->cache);
    if (core->throttle_due_ns && bd_now_ns() >= core->throttle_due_ns) {
        core->throttle_due_ns = 0;
        look = true;
    }
    uint64_t number;
    void *session;
    for (size_t cursor = 0; look && bd_map_next(&core->sessions, &cursor, &number, &session);)
        bd_core_make_ready(core, session);
}

int64_t bd_throttle_wait_us(const bd_core *core, int64_t wait_us)
{
    int64_t due_ns = bd_cache_due_ns(core->cache);
    if (core->throttle_due_ns && (!due_ns || core->throttle_due_ns < due_ns))
        due_ns = core->throttle_due_ns;
    if (!due_ns)
        return wait_us;
    int64_t left_us = (due_ns - bd_now_ns()) / 1000 + 1;
    left_us = left_us > 0 ? left_us : 0;
    return wait_us < 0 || left_us < wait_us ? left_us : wait_us;
}
