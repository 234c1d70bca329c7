/* SPDX-License-Identifier: Apache-2.0 */
#include "server/reload.h"

#include <string.h>

#include "proto/base/alloc.h"
#include "proto/base/clock.h"
#include "proto/base/log.h"
#include "server/leases.h"
#include "server/notify.h"

/* Keys that engine and listeners have taken up for good. */
static const char *const fixed[] = {
    "listen",  "device",         "target",    "threads",    "compile_threads", "compile", "fusion",
    "memory",  "session_memory", "cache_dir", "cache_size", "state_dir",       "www",     "names",
};

void bd_reload_log_level(const bd_config *config)
{
    static const char *const names[] = {"error", "warn", "info", "debug"};
    for (int level = BD_LOG_ERROR; level <= BD_LOG_DEBUG; level++) {
        if (strcmp(config->log_level, names[level]) == 0)
            bd_log_set_level((bd_log_level)level);
    }
}

static bd_error *read_again(bd_daemon *daemon, bd_config *fresh, bd_access *access)
{
    BD_TRY(daemon->reader.read(daemon->reader.user, fresh));
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
        if (bd_config_keep(fresh, daemon->config, fixed[i]))
            bd_log(BD_LOG_WARN, "daemon", "reload: key=%s has changed and needs a restart",
                   fixed[i]);
    }
    return bd_access_load(fresh, true, access);
}

static bd_error *replace(bd_daemon *daemon)
{
    bd_access access;
    bd_config *fresh = bd_alloc(sizeof *fresh);
    bd_config_init(fresh);
    bd_error *error = read_again(daemon, fresh, &access);
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
    if (error)
        bd_notify("READY=1\nSTATUS=reload failed, all stays as it was: %s", bd_error_text(error));
    else
        bd_notify("READY=1\nSTATUS=reloaded");
    return error;
}
