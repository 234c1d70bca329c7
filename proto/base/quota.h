/* SPDX-License-Identifier: Apache-2.0
 * The quotas of one principal: what all its sessions use together, and the most that they may. What
 * is held is added and taken away; a budget (ops, compiling) is spent, and comes back with time.
 * Counted, thread-safe. Each kind has one writer at a time (server/quotas.h: sessions, queue and
 * requests by the loop; memory under the memory's lock; ops and compile by the device thread);
 * anyone may read. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "proto/base/error.h"

typedef enum bd_quota_kind {
#define QUOTA(key, NAME, seconds, unit) BD_QUOTA_##NAME,
#include "proto/base/quotas.def"
    BD_QUOTA_COUNT,
} bd_quota_kind;

/* What the quotas of all principals share. Outlives them. */
typedef struct bd_quota_book {
    atomic_int_fast64_t wait_ns; /* how long a session may wait for a budget */
    atomic_uint_fast64_t refused[BD_QUOTA_COUNT], waited[BD_QUOTA_COUNT];
} bd_quota_book;

typedef struct bd_quota {
    atomic_uint_fast32_t count;
    char *principal;
    bd_quota_book *book;
    atomic_uint_fast64_t limits[BD_QUOTA_COUNT];  /* 0: none */
    atomic_int_fast64_t used[BD_QUOTA_COUNT];     /* of a budget: thousandths, spent at … */
    atomic_int_fast64_t spent_ns[BD_QUOTA_COUNT]; /* … this time */
} bd_quota;

/* "sessions" and so on. */
const char *bd_quota_name(bd_quota_kind kind);

bd_quota *bd_quota_create(const char *principal, bd_quota_book *book);
bd_quota *bd_quota_retain(bd_quota *quota); /* NULL is fine, here and below: no limits */
void bd_quota_release(bd_quota *quota);
bool bd_quota_is_shared(const bd_quota *quota); /* more than one holds it */

uint64_t bd_quota_limit(const bd_quota *quota, bd_quota_kind kind); /* 0: none */
/* What is in use now, in the unit of the limit. */
uint64_t bd_quota_used(const bd_quota *quota, bd_quota_kind kind);

/* ---- what is held ---- */
/* LIMIT, which is counted, if so much more would be too much. */
bd_error *bd_quota_check(const bd_quota *quota, bd_quota_kind kind, uint64_t more) BD_MUST_USE;
void bd_quota_add(bd_quota *quota, bd_quota_kind kind, int64_t more);

/* ---- budgets ---- */
/* So much was spent, in thousandths of the limit's unit; negative: less than was thought. */
void bd_quota_spend(bd_quota *quota, bd_quota_kind kind, int64_t thousandths);
/* How long until there is some left; 0: there is. */
int64_t bd_quota_wait_ns(const bd_quota *quota, bd_quota_kind kind);
/* LIMIT, which is counted: nothing was left for longer than a session may wait. */
bd_error *bd_quota_refuse(const bd_quota *quota, bd_quota_kind kind) BD_MUST_USE;
