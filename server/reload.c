/* SPDX-License-Identifier: Apache-2.0 */
#include "server/reload.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "proto/base/alloc.h"
#include "proto/base/clock.h"
#include "proto/base/log.h"
#include "server/leases.h"
#include "server/notify.h"

void bd_reload_log_level(const bd_config *config)
{
    static const char *const names[] = {"error", "warn", "info", "debug"};
    for (int level = BD_LOG_ERROR; level <= BD_LOG_DEBUG; level++) {
        if (strcmp(config->log_level, names[level]) == 0)
            bd_log_set_level((bd_log_level)level);
    }
}

/* needs_restart: names of the keys, separated by blanks. */
static void keep_fixed(bd_daemon *daemon, bd_config *fresh,
                       char needs_restart[BD_NEEDS_RESTART_BYTES])
{
    const char *key;
    char *text;
    size_t used = 0;
    for (int i = 0; bd_config_at(daemon->config, i, &key, &text); i++) {
        bd_free(text);
        if (!bd_config_needs_restart(key) || !bd_config_keep(fresh, daemon->config, key))
            continue;
        bd_log(BD_LOG_WARN, "daemon", "reload: key=%s has changed and needs a restart", key);
        used += (size_t)snprintf(needs_restart + used, BD_NEEDS_RESTART_BYTES - used, "%s%s",
                                 used ? " " : "", key);
    }
}

static bd_error *read_again(bd_daemon *daemon, bd_config *fresh, bd_access *access,
                            char needs_restart[BD_NEEDS_RESTART_BYTES])
{
    BD_TRY(daemon->reader.read(daemon->reader.user, fresh));
    keep_fixed(daemon, fresh, needs_restart);
    return bd_access_load(fresh, daemon->embedded ? NULL : &daemon->state_lock, access);
}

static bd_error *replace(bd_daemon *daemon)
{
    bd_access access;
    char needs_restart[BD_NEEDS_RESTART_BYTES] = "";
    bd_config *fresh = bd_alloc(sizeof *fresh);
    bd_config_init(fresh);
    bd_error *error = read_again(daemon, fresh, &access, needs_restart);
    if (error) {
        bd_log(BD_LOG_ERROR, "daemon", "reload failed, all stays as it was: %s",
               bd_error_text(error));
        bd_config_deinit(fresh);
        bd_free(fresh);
        return error;
    }
    bd_access_take_over(&access, &daemon->access);
    bd_access_deinit(&daemon->access);
    daemon->access = access;
    if (daemon->own_config) {
        bd_config_deinit(daemon->own_config);
        bd_free(daemon->own_config);
    }
    daemon->config = daemon->own_config = fresh;
    memcpy(daemon->needs_restart, needs_restart, sizeof needs_restart);
    bd_reload_log_level(fresh);
    bd_quotas_limit(&daemon->quotas, fresh);
    bd_leases_review(daemon);
    bd_log(BD_LOG_INFO, "daemon", "reloaded tokens=%zu", access.tokens.list.count);
    return NULL;
}

bd_error *bd_reload(bd_daemon *daemon)
{
    bd_notify("RELOADING=1\nMONOTONIC_USEC=%lld", (long long)bd_now_us());
    bd_error *error = replace(daemon);
    daemon->reload_failed = error;
    daemon->counters.reloads += !error;
    daemon->counters.reloads_failed += error != NULL;
    if (!error)
        daemon->configured_s = time(NULL);
    if (error)
        bd_notify("READY=1\nSTATUS=reload failed, all stays as it was: %s", bd_error_text(error));
    else
        bd_notify("READY=1\nSTATUS=reloaded");
    return error;
}
