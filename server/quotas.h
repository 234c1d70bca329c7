/* SPDX-License-Identifier: Apache-2.0
 * The quotas of the principals that have sessions, or values that they published: made with a
 * principal's first session, shared with the engine, limited by the keys principal_* and quota.
 * Owned by the daemon; thread: loop. */
#pragma once

#include "proto/base/quota.h"
#include "proto/base/vec.h"
#include "server/config.h"
#include "server/json.h"

typedef struct bd_quotas {
    bd_quota_book book;
    BD_VEC(bd_quota *) list;
} bd_quotas;

void bd_quotas_deinit(bd_quotas *quotas);
/* INVALID or NOT_FOUND for a line of the key quota. */
bd_error *bd_quotas_check(const bd_config *config) BD_MUST_USE;
/* The limits are those of this configuration from now on. */
void bd_quotas_limit(bd_quotas *quotas, const bd_config *config);

/* A session of the principal begins: its quota, retained, and how much credit the session gets.
 * LIMIT if it has too many. */
bd_error *bd_quotas_enter(bd_quotas *quotas, const bd_config *config, const char *principal,
                          bd_quota **out_quota, uint64_t *out_credit_bytes) BD_MUST_USE;
/* It ends, with requests that still waited. */
void bd_quotas_leave(bd_quotas *quotas, bd_quota *own_quota, uint64_t credit_bytes,
                     size_t requests);

/* An array "quotas": what is in use and the limits, of one principal or (NULL) of all. */
void bd_quotas_report(bd_quotas *quotas, const char *principal, bd_json *json);
