/* SPDX-License-Identifier: Apache-2.0 */
#include "server/quotas.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "server/principal.h"

/* The least credit with which a session works: that of the key credit. */
static const uint64_t credit_bytes_min = 4 << 20;

/* ---- limits ---------------------------------------------------------------------------------- */

static const char quota_names[] =
#define QUOTA(key, NAME, seconds, unit) " " #key
#include "proto/base/quotas.def"
    ;

static const char identity_forms[] =
#define IDENTITY(NAME, begin, rest) " " begin rest
#include "server/identities.def"
    ;

/* The parts of "token:ci:memory=4GiB". */
typedef struct quota_line {
    size_t principal_bytes;
    bd_quota_kind kind;
    uint64_t limit;
} quota_line;

static bd_error *find_kind(const char *name, size_t size, bd_quota_kind *out)
{
    for (int kind = 0; kind < BD_QUOTA_COUNT; kind++) {
        const char *known = bd_quota_name((bd_quota_kind)kind);
        if (strlen(known) == size && memcmp(known, name, size) == 0) {
            *out = (bd_quota_kind)kind;
            return NULL;
        }
    }
    BD_FAIL(NOT_FOUND, "there is no quota \"%.*s\"; there are%s",
            (int)(size < 32 ? size : 32), name, quota_names);
}

/* With less credit than that of one session nobody gets in, no operator either. */
static bd_error *check_limit(bd_quota_kind kind, uint64_t limit)
{
    if (kind == BD_QUOTA_QUEUE && limit && limit < credit_bytes_min)
        BD_FAIL(INVALID,
                "%" PRIu64 " bytes of credit let no session in: one has %" PRIu64
                " at least; 4MiB would be right, or 0 for no limit",
                limit, credit_bytes_min);
    return NULL;
}

static bd_error *parse(const char *text, quota_line *out)
{
    char key[64];
    int64_t limit = 0;
    const char *equals = strrchr(text, '='), *colon = equals;
    while (colon && colon > text && *colon != ':')
        colon--;
    if (!colon || !bd_principal_is_name(text, (size_t)(colon - text)))
        BD_FAIL(INVALID,
                "quota: \"%.100s\" is not like token:NAME:memory=4GiB; token:ci:memory=4GiB "
                "would be right; identities are%s",
                text, identity_forms);
    BD_TRY_NOTE(find_kind(colon + 1, (size_t)(equals - colon) - 1, &out->kind), "quota %.100s",
                text);
    snprintf(key, sizeof key, "principal_%s", bd_quota_name(out->kind));
    BD_TRY_NOTE(bd_config_number(key, equals + 1, &limit), "quota %.100s", text);
    BD_TRY_NOTE(check_limit(out->kind, (uint64_t)limit), "quota %.100s", text);
    out->principal_bytes = (size_t)(colon - text);
    out->limit = (uint64_t)limit;
    return NULL;
}

bd_error *bd_quotas_check(const bd_config *config)
{
    quota_line line;
    bd_error *wrong = check_limit(BD_QUOTA_QUEUE, (uint64_t)config->principal_queue);
    if (wrong)
        return bd_config_blame(config, "principal_queue", 0, wrong);
    for (size_t i = 0; i < config->quota.count; i++) {
        bd_error *error = parse(config->quota.items[i], &line);
        if (error)
            return bd_config_blame(config, "quota", i, error);
    }
    return NULL;
}

/* Where %20 stands for a blank. */
static bool is_principal(const char *text, size_t size, const char *principal)
{
    for (size_t at = 0; at < size; at++, principal++) {
        bool blank = size - at >= 3 && memcmp(text + at, "%20", 3) == 0;
        if (*principal != (blank ? ' ' : text[at]))
            return false;
        at += blank ? 2 : 0;
    }
    return !*principal;
}

static void set_limits(bd_quota *quota, const bd_config *config)
{
    const int64_t common[] = {
#define QUOTA(key, NAME, seconds, unit) config->principal_##key,
#include "proto/base/quotas.def"
    };
    for (int kind = 0; kind < BD_QUOTA_COUNT; kind++)
        atomic_store(&quota->limits[kind], (uint64_t)common[kind]);
    for (size_t i = 0; i < config->quota.count; i++) {
        quota_line line;
        bd_error *error = parse(config->quota.items[i], &line);
        if (!error && is_principal(config->quota.items[i], line.principal_bytes, quota->principal))
            atomic_store(&quota->limits[line.kind], line.limit);
        bd_error_free(error); /* it was checked */
    }
}

void bd_quotas_limit(bd_quotas *quotas, const bd_config *config)
{
    atomic_store(&quotas->book.wait_ns, config->quota_wait * 1000000);
    for (size_t i = 0; i < quotas->list.count; i++)
        set_limits(quotas->list.items[i], config);
}

/* ---- principals ------------------------------------------------------------------------------ */

/* A budget is as it was when the principal comes back. */
static bool is_spent(const bd_quota *quota)
{
    static const int seconds[] = {
#define QUOTA(key, NAME, seconds, unit) seconds,
#include "proto/base/quotas.def"
    };
    for (int kind = 0; kind < BD_QUOTA_COUNT; kind++)
        if (seconds[kind] && bd_quota_limit(quota, (bd_quota_kind)kind) &&
            bd_quota_used(quota, (bd_quota_kind)kind))
            return true;
    return false;
}

/* Nobody else holds those of principals without sessions and values. */
static void forget_unused(bd_quotas *quotas)
{
    size_t kept = 0;
    for (size_t i = 0; i < quotas->list.count; i++) {
        bd_quota *quota = quotas->list.items[i];
        if (bd_quota_is_shared(quota) || is_spent(quota))
            quotas->list.items[kept++] = quota;
        else
            bd_quota_release(quota);
    }
    quotas->list.count = kept;
}

void bd_quotas_deinit(bd_quotas *quotas)
{
    for (size_t i = 0; i < quotas->list.count; i++)
        bd_quota_release(quotas->list.items[i]);
    bd_vec_deinit(&quotas->list);
}

static bd_quota *find(bd_quotas *quotas, const bd_config *config, const char *principal)
{
    for (size_t i = 0; i < quotas->list.count; i++)
        if (strcmp(quotas->list.items[i]->principal, principal) == 0)
            return quotas->list.items[i];
    forget_unused(quotas);
    bd_quota *quota = bd_quota_create(principal, &quotas->book);
    set_limits(quota, config);
    *bd_vec_push(&quotas->list) = quota;
    return quota;
}

/* A quarter of what is left, so that there is some for the next ones. */
static uint64_t share_of_credit(const bd_quota *quota, uint64_t credit_bytes)
{
    uint64_t limit = bd_quota_limit(quota, BD_QUOTA_QUEUE);
    uint64_t used = bd_quota_used(quota, BD_QUOTA_QUEUE);
    uint64_t share = limit > used ? (limit - used) / 4 : 0;
    if (!limit || share >= credit_bytes)
        return credit_bytes;
    return share > credit_bytes_min ? share : credit_bytes_min;
}

bd_error *bd_quotas_enter(bd_quotas *quotas, const bd_config *config, const char *principal,
                          bd_quota **out_quota, uint64_t *out_credit_bytes)
{
    bd_quota *quota = find(quotas, config, principal);
    uint64_t credit_bytes = share_of_credit(quota, (uint64_t)config->credit);
    BD_TRY(bd_quota_check(quota, BD_QUOTA_SESSIONS, 1));
    BD_TRY(bd_quota_check(quota, BD_QUOTA_QUEUE, credit_bytes));
    bd_quota_add(quota, BD_QUOTA_SESSIONS, 1);
    bd_quota_add(quota, BD_QUOTA_QUEUE, (int64_t)credit_bytes);
    *out_quota = bd_quota_retain(quota);
    *out_credit_bytes = credit_bytes;
    return NULL;
}

void bd_quotas_leave(bd_quotas *quotas, bd_quota *own_quota, uint64_t credit_bytes,
                     size_t requests)
{
    bd_quota_add(own_quota, BD_QUOTA_SESSIONS, -1);
    bd_quota_add(own_quota, BD_QUOTA_QUEUE, -(int64_t)credit_bytes);
    bd_quota_add(own_quota, BD_QUOTA_REQUESTS, -(int64_t)requests);
    bd_quota_release(own_quota);
    forget_unused(quotas);
}

void bd_quotas_report(bd_quotas *quotas, const char *principal, bd_json *json)
{
    forget_unused(quotas);
    bd_json_begin_array(json, "quotas");
    for (size_t i = 0; i < quotas->list.count; i++) {
        const bd_quota *quota = quotas->list.items[i];
        if (principal && strcmp(principal, quota->principal) != 0)
            continue;
        bd_json_begin_object(json, NULL);
        bd_json_text(json, "principal", quota->principal);
        for (int kind = 0; kind < BD_QUOTA_COUNT; kind++) {
            char limit[48];
            const char *name = bd_quota_name((bd_quota_kind)kind);
            snprintf(limit, sizeof limit, "%s_max", name);
            bd_json_uint(json, name, bd_quota_used(quota, (bd_quota_kind)kind));
            bd_json_uint(json, limit, bd_quota_limit(quota, (bd_quota_kind)kind));
        }
        bd_json_end_object(json);
    }
    bd_json_end_array(json);
}
