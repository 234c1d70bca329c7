/* SPDX-License-Identifier: Apache-2.0 */
#include "server/leases.h"

#include <string.h>
#include <time.h>

#include "server/connection.h"

enum { LOOK_MS = 1000 };

static void on_look(uv_timer_t *timer);

static void watch(bd_daemon *daemon)
{
    if (!uv_is_active((uv_handle_t *)&daemon->lease))
        uv_timer_start(&daemon->lease, on_look, LOOK_MS, LOOK_MS);
}

void bd_leases_begin(bd_daemon *daemon, const bd_principal *principal)
{
    if (principal->expires_s)
        watch(daemon);
}

static bool has_session(const bd_connection *connection)
{
    return connection->state == BD_CONNECTION_OPEN || connection->state == BD_CONNECTION_DETACHED;
}

static void end(bd_connection *connection, const char *why)
{
    connection->daemon->access.refused[BD_REFUSAL_ENDED_TOKEN]++;
    bd_session_end(connection, BD_CODE_UNAUTHENTICATED, why);
}

/* Ends who has expired. True if somebody else will. */
static bool look(bd_connection *connection, int64_t now_s)
{
    const bd_principal *principal = &connection->session.principal;
    if (!has_session(connection) || !principal->expires_s)
        return false;
    if (principal->expires_s > now_s)
        return true;
    end(connection, "the token has expired");
    return false;
}

static void on_look(uv_timer_t *timer)
{
    bd_daemon *daemon = timer->data;
    int64_t now_s = time(NULL);
    bool needed = false;
    for (bd_connection *connection = daemon->connections; connection;
         connection = connection->next)
        needed |= look(connection, now_s);
    bd_connection_flush_all(daemon);
    if (!needed)
        uv_timer_stop(timer);
}

/* The token that a session lives by now; NULL: none. */
static const bd_token *token_of(const bd_access *access, const bd_principal *principal)
{
    const bd_minted *minted = bd_minted_with(&access->minted, principal->digest);
    if (principal->is_minted)
        return minted ? &minted->token : NULL;
    return bd_tokens_with(&access->tokens, principal->digest);
}

void bd_leases_review(bd_daemon *daemon)
{
    for (bd_connection *connection = daemon->connections; connection;
         connection = connection->next) {
        bd_principal *principal = &connection->session.principal;
        if (!has_session(connection) || !principal->has_token)
            continue;
        const bd_token *token = token_of(&daemon->access, principal);
        if (!token) {
            end(connection, "the token was revoked");
            continue;
        }
        if (principal->scopes & ~token->scopes & BD_SCOPE_COMPUTE) {
            end(connection, "the token has no scope compute any more");
            continue;
        }
        principal->scopes = token->scopes;
        principal->expires_s = token->expires_s;
        bd_leases_begin(daemon, principal);
    }
}
