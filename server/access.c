/* SPDX-License-Identifier: Apache-2.0 */
#include "server/access.h"

#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "proto/base/alloc.h"
#include "proto/base/log.h"
#include "proto/base/utf8.h"
#include "server/credentials.h"
#include "server/input_file.h"
#include "server/net.h"
#include "server/quotas.h"
#include "server/state.h"
#include "server/web_names.h"

static const char tokens_file[] = "tokens";

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
        BD_FAIL(INVALID, "%s and %s belong together: set both or none",
                *config->certificate ? "certificate" : "private_key",
                *config->certificate ? "private_key" : "certificate");
    BD_TRY(file_of(config, config->certificate, BD_CERTIFICATE_FILE, certificate));
    BD_TRY(file_of(config, config->private_key, BD_PRIVATE_KEY_FILE, private_key));
    bool is_there = given;
    if (!given)
        BD_TRY(bd_input_file_exists(certificate, &is_there));
    if (!is_there) {
        if (!makes)
            return NULL;
        BD_TRY(bd_credentials_make(config));
        bd_log(BD_LOG_INFO, "access", "made a self-signed certificate file=%s",
               BD_QUOTED(certificate));
    }
    return bd_tls_create(&(bd_tls_files){.certificate = certificate,
                                         .private_key = private_key,
                                         .client_ca = config->client_ca},
                         out);
}

static bd_error *save_tokens(const bd_config *config, const bd_tokens *tokens)
{
    size_t size;
    char *text = bd_tokens_print(tokens, &size);
    bd_error *error = bd_state_write(config, tokens_file, text, size);
    bd_free(text);
    return error;
}

static bd_error *load_tokens(const bd_config *config, bool makes, bd_tokens *out)
{
    char path[BD_STATE_PATH_BYTES], *text = NULL;
    size_t size = 0;
    bool is_there;
    const bd_tokens none = {0};
    BD_TRY(bd_state_find(config, tokens_file, path, &is_there));
    if (!is_there && makes)
        return save_tokens(config, &none);
    if (!is_there)
        return NULL;
    BD_TRY(bd_state_read(path, &text, &size));
    bd_error *error = bd_tokens_parse(text, size, out);
    bd_free(text);
    return error ? bd_error_note(error, "%.200s", path) : NULL;
}

/* A number as it is, a name by the system's list of users or groups. */
static bd_error *find_id(const char *key, const char *name, bool group, unsigned long *out)
{
    char *end;
    errno = 0;
    *out = strtoul(name, &end, 10);
    if (*name && !*end && !errno && *out < UINT32_MAX)
        return NULL;
    const struct passwd *user = group ? NULL : getpwnam(name);
    const struct group *many = group ? getgrnam(name) : NULL;
    if (!user && !many)
        BD_FAIL(NOT_FOUND, "%s: this system has no %s \"%.64s\"", key, group ? "group" : "user",
                name);
    *out = user ? user->pw_uid : many->gr_gid;
    return NULL;
}

/* Whether the state folder holds something: then this daemon may not share it. */
static bd_error *has_state(const bd_config *config, bool *out)
{
    char path[BD_STATE_PATH_BYTES];
    BD_TRY(bd_state_find(config, tokens_file, path, out));
    return *out ? NULL : bd_state_find(config, BD_NODE_KEY_FILE, path, out);
}

static bd_error *load_users(const bd_config *config, bd_access *out)
{
    unsigned long id;
    bd_error *error;
    for (size_t i = 0; i < config->allow_users.count; i++) {
        error = find_id("allow_users", config->allow_users.items[i], false, &id);
        if (error)
            return bd_config_blame(config, "allow_users", i, error);
        *bd_vec_push(&out->users) = (uid_t)id;
    }
    for (size_t i = 0; i < config->allow_groups.count; i++) {
        error = find_id("allow_groups", config->allow_groups.items[i], true, &id);
        if (error)
            return bd_config_blame(config, "allow_groups", i, error);
        *bd_vec_push(&out->groups) = (gid_t)id;
    }
    return NULL;
}

static bd_error *check_web_names(const bd_config *config)
{
    bd_error *error;
    for (size_t i = 0; i < config->hosts.count; i++) {
        error = bd_host_check(config->hosts.items[i]);
        if (error)
            return bd_config_blame(config, "hosts", i, error);
    }
    for (size_t i = 0; i < config->origins.count; i++) {
        const char *origin = config->origins.items[i];
        bool from_file = strcmp(origin, "null") == 0; /* as pages from a file say */
        error = from_file ? NULL : bd_origin_check(origin, strlen(origin));
        if (error)
            return bd_config_blame(config, "origins", i, error);
    }
    return NULL;
}

static bd_error *load_scopes(const bd_config *config, unsigned *out)
{
    const char *scopes = config->certificate_scopes;
    BD_TRY_NOTE(bd_scopes_parse(scopes, strlen(scopes), out), "certificate_scopes");
    return NULL;
}

bd_error *bd_access_load(const bd_config *config, bd_state_lock *lock, bd_access *out)
{
    bd_access made = {.state_lock = lock};
    bool tls = speaks_tls(config), makes = lock != NULL, has = false;
    bd_error *error = makes ? has_state(config, &has) : NULL;
    if (!error && makes && (tls || has))
        error = bd_state_lock_take(lock, config);
    if (!error && tls)
        error = load_tls(config, makes, &made.tls);
    if (!error)
        error = bd_node_load(config, makes && tls, made.node);
    if (!error)
        error = load_tokens(config, makes && tls, &made.tokens);
    if (!error)
        error = load_users(config, &made);
    if (!error)
        error = check_web_names(config);
    if (!error)
        error = load_scopes(config, &made.certificate_scopes);
    if (!error)
        error = bd_quotas_check(config);
    if (error) {
        bd_access_deinit(&made);
        return bd_config_blame_one(
            config, "certificate private_key client_ca certificate_scopes", error);
    }
    if (made.tls && makes)
        bd_log(BD_LOG_INFO, "access", "certificate pin=sha256:%s node=%s tokens=%zu",
               bd_tls_pin(made.tls), made.node, made.tokens.list.count);
    *out = made;
    return NULL;
}

void bd_access_deinit(bd_access *access)
{
    bd_tls_release(access->tls);
    access->tls = NULL;
    bd_tokens_deinit(&access->tokens);
    bd_minted_deinit(&access->minted);
    bd_vec_deinit(&access->users);
    bd_vec_deinit(&access->groups);
}

void bd_access_take_over(bd_access *access, bd_access *before)
{
    memcpy(access->refused, before->refused, sizeof access->refused);
    access->minted = before->minted;
    before->minted = (bd_minted_tokens){0};
    bd_minted_follow(&access->minted, &access->tokens);
}

/* ---- tokens that are made and ended while the daemon runs ------------------------------------ */

/* The tokens as the file has them now, to be changed by nobody else before put_tokens. */
static bd_error *take_tokens(const bd_access *access, const bd_config *config, bd_tokens *out)
{
    if (!access->state_lock)
        BD_FAIL(UNSUPPORTED, "a private daemon serves its own client alone, and has no tokens");
    BD_TRY(bd_state_lock_take(access->state_lock, config));
    return load_tokens(config, false, out);
}

/* They are written and in force; without an error so far, and if they can be written. */
static bd_error *put_tokens(bd_access *access, const bd_config *config, bd_tokens *own_tokens,
                            bd_error *error)
{
    if (!error)
        error = save_tokens(config, own_tokens);
    if (error) {
        bd_tokens_deinit(own_tokens);
        return error;
    }
    bd_tokens_deinit(&access->tokens);
    access->tokens = *own_tokens;
    bd_minted_follow(&access->minted, &access->tokens);
    return NULL;
}

bd_error *bd_access_create_token(bd_access *access, const bd_config *config,
                                 const bd_token *wanted, char secret[BD_TOKEN_SECRET_BYTES])
{
    bd_tokens tokens = {0};
    BD_TRY(take_tokens(access, config, &tokens));
    return put_tokens(access, config, &tokens, bd_tokens_add(&tokens, wanted, secret));
}

bd_error *bd_access_rotate_token(bd_access *access, const bd_config *config, bd_token *made,
                                 int64_t until_s, char secret[BD_TOKEN_SECRET_BYTES])
{
    bd_tokens tokens = {0};
    BD_TRY(take_tokens(access, config, &tokens));
    return put_tokens(access, config, &tokens,
                      bd_tokens_rotate(&tokens, made, until_s, secret));
}

bd_error *bd_access_revoke_token(bd_access *access, const bd_config *config, const char *which)
{
    bd_tokens tokens = {0};
    bool was_here = bd_tokens_remove(&access->tokens, which);
    bd_minted_follow(&access->minted, &access->tokens);
    bd_error *error = take_tokens(access, config, &tokens);
    bool was_there = !error && bd_tokens_remove(&tokens, which);
    if (!error && !was_here && !was_there)
        error = bd_token_missing(which);
    error = put_tokens(access, config, &tokens, error);
    return error && was_here ? bd_error_note(error, "it is ended, but its line still stands")
                             : error;
}

/* ---- who is it? ------------------------------------------------------------------------------ */

static bd_error *identify_token(bd_access *access, const bd_visitor *visitor, bd_principal *out)
{
    if (visitor->token.size_bytes > BD_TOKEN_SHOWN_BYTES_MAX)
        BD_FAIL(PROTOCOL, "a token has at most %d bytes", BD_TOKEN_SHOWN_BYTES_MAX);
    const bd_token *kept = bd_tokens_find(&access->tokens, visitor->token);
    const bd_minted *minted = bd_minted_find(&access->minted, visitor->token);
    const bd_token *token = minted ? &minted->token : kept;
    if (!token) {
        access->refused[BD_REFUSAL_UNKNOWN_TOKEN]++;
        BD_FAIL(UNAUTHENTICATED,
                "the token is not known here; burnctl invite or token create makes one");
    }
    if (bd_token_expired(token)) {
        char when[BD_TIME_TEXT_BYTES];
        access->refused[BD_REFUSAL_EXPIRED_TOKEN]++;
        BD_FAIL(UNAUTHENTICATED, "the token \"%s\" expired at %s", token->name,
                bd_time_print(token->expires_s, when));
    }
    if (!bd_token_allows_origin(token, visitor->origin)) {
        access->refused[BD_REFUSAL_WRONG_ORIGIN]++;
        BD_FAIL(DENIED, "the token \"%s\" is for pages of %.200s, not of \"%.100s\"", token->name,
                token->origins, visitor->origin);
    }
    if (minted)
        memcpy(out->name, minted->parent.name, sizeof out->name);
    else
        bd_principal_call(out, BD_IDENTITY_TOKEN, token->name);
    if (minted)
        memcpy(out->label, token->name, sizeof out->label);
    out->is_minted = minted != NULL;
    out->scopes = token->scopes;
    out->has_token = true;
    memcpy(out->digest, token->digest, sizeof out->digest);
    out->expires_s = token->expires_s;
    return NULL;
}

static bd_error *identify_user(bd_access *access, const bd_visitor *visitor, bd_principal *out)
{
    bool own = visitor->uid == geteuid() || visitor->uid == 0, allowed = own;
    for (size_t i = 0; i < access->users.count && !allowed; i++)
        allowed = access->users.items[i] == visitor->uid;
    for (size_t i = 0; i < access->groups.count && !allowed; i++)
        allowed = bd_net_peer_in_group(visitor->fd, access->groups.items[i]);
    if (!allowed) {
        access->refused[BD_REFUSAL_FOREIGN_USER]++;
        BD_FAIL(DENIED,
                "uid %u is not let in; this daemon serves uid %u, and others by allow_users and "
                "allow_groups",
                (unsigned)visitor->uid, (unsigned)geteuid());
    }
    char number[16];
    snprintf(number, sizeof number, "%u", (unsigned)visitor->uid);
    bd_principal_call(out, BD_IDENTITY_USER, number);
    out->scopes = own ? BD_SCOPE_EVERY : BD_SCOPE_COMPUTE | BD_SCOPE_INFER;
    return NULL;
}

bd_error *bd_access_identify(bd_access *access, const bd_visitor *visitor, bd_principal *out)
{
    *out = (bd_principal){0};
    if (visitor->token.size_bytes)
        return identify_token(access, visitor, out);
    if (visitor->is_unix)
        return identify_user(access, visitor, out);
    if (*visitor->subject) {
        bd_principal_call(out, BD_IDENTITY_CERTIFICATE, visitor->subject);
        out->scopes = access->certificate_scopes;
        return NULL;
    }
    if (visitor->is_tls) {
        access->refused[BD_REFUSAL_NO_IDENTITY]++;
        BD_FAIL(UNAUTHENTICATED,
                "a token is needed here, or a certificate that client_ca has signed; %s",
                visitor->is_http ? "send the header Authorization: Bearer TOKEN"
                                 : "set BURN_TOKEN or BURN_TOKEN_FILE");
    }
    bd_principal_call(out, BD_IDENTITY_NOBODY, ""); /* what ?insecure accepts */
    out->scopes = BD_SCOPE_COMPUTE | BD_SCOPE_INFER | BD_SCOPE_METRICS;
    return NULL;
}
