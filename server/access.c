/* SPDX-License-Identifier: Apache-2.0 */
#include "server/access.h"

#include <string.h>
#include <unistd.h>

#include "proto/base/log.h"
#include "server/credentials.h"
#include "server/state.h"

static bool speaks_tls(const bd_config *config)
{
    bool speaks = false;
    for (size_t i = 0; i < config->listen.count; i++)
        speaks |= strncmp(config->listen.items[i], "tls://", 6) == 0;
    return speaks;
}

/* The key's file, or the one of the state folder. */
static bd_error *file_of(const bd_config *config, const char *set, const char *name,
                         char path[BD_STATE_PATH_BYTES])
{
    if (!*set)
        return bd_state_path(config, name, path);
    int size = snprintf(path, BD_STATE_PATH_BYTES, "%s", set);
    if (size >= BD_STATE_PATH_BYTES)
        BD_FAIL(LIMIT, "\"%.128s…\" is too long", set);
    return NULL;
}

static bd_error *load_tls(const bd_config *config, bool makes, bd_tls **out)
{
    char certificate[BD_STATE_PATH_BYTES], private_key[BD_STATE_PATH_BYTES];
    bool given = *config->certificate || *config->private_key;
    if (given && !(*config->certificate && *config->private_key))
        BD_FAIL(INVALID, "certificate and private_key belong together: set both or none");
    BD_TRY(file_of(config, config->certificate, BD_CERTIFICATE_FILE, certificate));
    BD_TRY(file_of(config, config->private_key, BD_PRIVATE_KEY_FILE, private_key));
    if (!given && access(certificate, F_OK) != 0) {
        if (!makes)
            return NULL;
        BD_TRY(bd_credentials_make(config));
        bd_log(BD_LOG_INFO, "access", "made a self-signed certificate file=\"%s\"", certificate);
    }
    return bd_tls_create(&(bd_tls_files){.certificate = certificate,
                                         .private_key = private_key,
                                         .client_ca = config->client_ca},
                         out);
}

bd_error *bd_access_load(const bd_config *config, bool makes, bd_access *out)
{
    bd_access made = {0};
    if (speaks_tls(config))
        BD_TRY(load_tls(config, makes, &made.tls));
    if (made.tls && makes)
        bd_log(BD_LOG_INFO, "access", "certificate pin=sha256:%s", bd_tls_pin(made.tls));
    *out = made;
    return NULL;
}

void bd_access_deinit(bd_access *access)
{
    bd_tls_release(access->tls);
    access->tls = NULL;
}
