/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/base/quota.h"

#include <inttypes.h>
#include <stdio.h>

#include "proto/base/alloc.h"
#include "proto/base/clock.h"

enum { THOUSAND = 1000 };

static const struct {
    const char *name, *unit;
    int64_t seconds;
} kinds[] = {
#define QUOTA(key, NAME, seconds, unit) {#key, unit, seconds},
#include "proto/base/quotas.def"
};

const char *bd_quota_name(bd_quota_kind kind)
{
    return kinds[kind].name;
}

bd_quota *bd_quota_create(const char *principal, bd_quota_book *book)
{
    bd_quota *quota = bd_alloc_zeroed(sizeof *quota);
    atomic_init(&quota->count, 1);
    quota->principal = bd_strdup(principal);
    quota->book = book;
    return quota;
}

bd_quota *bd_quota_retain(bd_quota *quota)
{
    if (quota)
        atomic_fetch_add_explicit(&quota->count, 1, memory_order_relaxed);
    return quota;
}

void bd_quota_release(bd_quota *quota)
{
    if (!quota || atomic_fetch_sub_explicit(&quota->count, 1, memory_order_acq_rel) != 1)
        return;
    bd_free(quota->principal);
    bd_free(quota);
}

bool bd_quota_is_shared(const bd_quota *quota)
{
    return atomic_load_explicit(&quota->count, memory_order_acquire) > 1;
}

uint64_t bd_quota_limit(const bd_quota *quota, bd_quota_kind kind)
{
    return quota ? atomic_load_explicit(&quota->limits[kind], memory_order_relaxed) : 0;
}

/* What is left of a spending: the limit comes back within the seconds of the budget. */
static int64_t spent_now(const bd_quota *quota, bd_quota_kind kind, int64_t now_ns)
{
    int64_t spent = atomic_load_explicit(&quota->used[kind], memory_order_relaxed);
    int64_t then_ns = atomic_load_explicit(&quota->spent_ns[kind], memory_order_relaxed);
    double back = (double)bd_quota_limit(quota, kind) * (double)(now_ns - then_ns) * THOUSAND /
                  (1e9 * (double)kinds[kind].seconds);
    return (double)spent > back ? spent - (int64_t)back : 0;
}

uint64_t bd_quota_used(const bd_quota *quota, bd_quota_kind kind)
{
    if (!kinds[kind].seconds)
        return (uint64_t)atomic_load_explicit(&quota->used[kind], memory_order_relaxed);
    return (uint64_t)((spent_now(quota, kind, bd_now_ns()) + THOUSAND - 1) / THOUSAND);
}

/* ---- what is held ---------------------------------------------------------------------------- */

static bd_error *refuse(const bd_quota *quota, bd_quota_kind kind, const char *what)
{
    uint64_t used = bd_quota_used(quota, kind);
    atomic_fetch_add_explicit(&quota->book->refused[kind], 1, memory_order_relaxed);
    BD_FAIL(LIMIT,
            "quota %s: %" PRIu64 " of %" PRIu64 " %s in use by all sessions of this identity, %s; "
            "the daemon's key principal_%s raises it, or quota for one identity",
            kinds[kind].name, used, bd_quota_limit(quota, kind), kinds[kind].unit, what,
            kinds[kind].name);
}

bd_error *bd_quota_check(const bd_quota *quota, bd_quota_kind kind, uint64_t more)
{
    uint64_t limit = bd_quota_limit(quota, kind);
    if (!limit)
        return NULL;
    uint64_t used = bd_quota_used(quota, kind);
    if (used <= limit && more <= limit - used)
        return NULL;
    char what[48];
    snprintf(what, sizeof what, "%" PRIu64 " more wanted", more);
    return refuse(quota, kind, what);
}

void bd_quota_add(bd_quota *quota, bd_quota_kind kind, int64_t more)
{
    if (!quota)
        return;
    int64_t used = atomic_load_explicit(&quota->used[kind], memory_order_relaxed);
    atomic_store_explicit(&quota->used[kind], used + more, memory_order_relaxed);
}

/* ---- budgets --------------------------------------------------------------------------------- */

void bd_quota_spend(bd_quota *quota, bd_quota_kind kind, int64_t thousandths)
{
    if (!bd_quota_limit(quota, kind))
        return;
    int64_t now_ns = bd_now_ns(), spent = spent_now(quota, kind, now_ns) + thousandths;
    atomic_store_explicit(&quota->used[kind], spent > 0 ? spent : 0, memory_order_relaxed);
    atomic_store_explicit(&quota->spent_ns[kind], now_ns, memory_order_relaxed);
}

int64_t bd_quota_wait_ns(const bd_quota *quota, bd_quota_kind kind)
{
    int64_t limit = (int64_t)bd_quota_limit(quota, kind) * THOUSAND;
    if (!limit)
        return 0;
    int64_t beyond = spent_now(quota, kind, bd_now_ns()) - limit;
    if (beyond < 0)
        return 0;
    return 1 + (int64_t)((double)beyond * 1e9 * (double)kinds[kind].seconds / (double)limit);
}

bd_error *bd_quota_refuse(const bd_quota *quota, bd_quota_kind kind)
{
    return refuse(quota, kind, "and none came free in time");
}
