/* SPDX-License-Identifier: Apache-2.0 */
#include "server/admin.h"

#include <inttypes.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "proto/base/alloc.h"
#include "proto/base/log.h"
#include "proto/base/utf8.h"
#include "server/json.h"
#include "server/leases.h"
#include "server/reload.h"

/* secret: NULL in a list. others_end_s: when a rotated one's predecessors end; 0: it has none. */
static void write_token(bd_json *json, const bd_token *token, const char *secret,
                        int64_t others_end_s)
{
    char id[BD_TOKEN_ID_BYTES], scopes[BD_SCOPES_TEXT_BYTES], expiry[BD_TIME_TEXT_BYTES];
    bd_json_begin_object(json, NULL);
    bd_json_text(json, "name", token->name);
    if (secret)
        bd_json_text(json, "token", secret);
    else
        bd_json_text(json, "id", bd_token_id(token, id));
    bd_json_text(json, "scopes", bd_scopes_print(token->scopes, scopes));
    bd_json_text(json, "expires",
                 token->expires_s ? bd_time_print(token->expires_s, expiry) : "never");
    if (!secret)
        bd_json_bool(json, "expired", bd_token_expired(token));
    bd_json_text(json, "origins", token->origins ? token->origins : "");
    if (others_end_s)
        bd_json_text(json, "others_end", bd_time_print(others_end_s, expiry));
    bd_json_end_object(json);
}

static void answer(bd_connection *connection, uint64_t request, bd_json *own_json)
{
    size_t size;
    char *text = bd_json_take(own_json, &size);
    bd_connection_send_payload(
        connection, &(bd_message){.type = BD_MESSAGE_REPORT, .report.request = request}, text,
        size);
    OPENSSL_cleanse(text, size);
    bd_free(text);
}

/* Texts of a message as a token's; room is for the origins. */
static bd_error *take_wish(bd_text name, bd_text scopes, bd_text origins,
                           char room[BURN_TEXT_BYTES_MAX + 1], bd_token *wanted)
{
    if (name.size_bytes >= sizeof wanted->name)
        BD_FAIL(INVALID, "a token's name has at most %zu bytes", sizeof wanted->name - 1);
    bd_text_copy(name, wanted->name, sizeof wanted->name);
    if (scopes.size_bytes)
        BD_TRY(bd_scopes_parse(scopes.bytes, scopes.size_bytes, &wanted->scopes));
    if (origins.size_bytes)
        wanted->origins = bd_text_copy(origins, room, BURN_TEXT_BYTES_MAX + 1);
    return NULL;
}

/* 0 seconds: for ever. */
static bd_error *take_life(uint64_t seconds, int64_t *out_expires_s)
{
    if (seconds > BURN_TOKEN_SECONDS_MAX)
        BD_FAIL(INVALID, "a token lives at most %d seconds, or for ever with 0",
                BURN_TOKEN_SECONDS_MAX);
    *out_expires_s = seconds ? time(NULL) + (int64_t)seconds : 0;
    return NULL;
}

static void answer_secret(bd_connection *connection, uint64_t request, const bd_token *token,
                          int64_t others_end_s, char secret[BD_TOKEN_SECRET_BYTES])
{
    bd_json json = {0};
    write_token(&json, token, secret, others_end_s);
    answer(connection, request, &json);
    OPENSSL_cleanse(secret, BD_TOKEN_SECRET_BYTES);
}

static bd_error *create_token(bd_connection *connection,
                              const struct bd_message_token_create *message)
{
    bd_daemon *daemon = connection->daemon;
    bd_token wanted = {.scopes = BD_SCOPE_COMPUTE | BD_SCOPE_INFER};
    char secret[BD_TOKEN_SECRET_BYTES], origins[BURN_TEXT_BYTES_MAX + 1];
    BD_TRY(take_wish(message->name, message->scopes, message->origins, origins, &wanted));
    BD_TRY(take_life(message->seconds, &wanted.expires_s));
    BD_TRY(bd_access_create_token(&daemon->access, daemon->config, &wanted, secret));
    bd_log(BD_LOG_INFO, "admin", "token created name=%s scopes=%x by=%s", wanted.name,
           wanted.scopes, BD_QUOTED(connection->session.principal.name));
    answer_secret(connection, message->request, &wanted, 0, secret);
    bd_leases_review(daemon); /* the file may have changed otherwise, too */
    return NULL;
}

static bd_error *rotate_token(bd_connection *connection,
                              const struct bd_message_token_rotate *message)
{
    bd_daemon *daemon = connection->daemon;
    bd_token made = {0};
    char secret[BD_TOKEN_SECRET_BYTES], origins[BURN_TEXT_BYTES_MAX + 1];
    if (!connection->session.rotates)
        BD_FAIL(UNSUPPORTED, "TOKEN_ROTATE is for clients that name the feature rotate in HELLO");
    BD_TRY(take_wish(message->name, (bd_text){0}, (bd_text){0}, origins, &made));
    BD_TRY(take_life(message->seconds, &made.expires_s));
    if (message->grace > BURN_TOKEN_SECONDS_MAX)
        BD_FAIL(INVALID, "the tokens before live at most %d seconds yet", BURN_TOKEN_SECONDS_MAX);
    BD_TRY(bd_access_rotate_token(&daemon->access, daemon->config, &made,
                                  time(NULL) + (int64_t)message->grace, secret));
    bd_log(BD_LOG_INFO, "admin", "token rotated name=%s grace_s=%" PRIu64 " by=%s", made.name,
           message->grace, BD_QUOTED(connection->session.principal.name));
    answer_secret(connection, message->request, &made,
                  bd_tokens_others_end(&daemon->access.tokens, &made), secret);
    bd_leases_review(daemon);
    return NULL;
}

static bd_error *mint_token(bd_connection *connection, const struct bd_message_token_mint *message)
{
    bd_daemon *daemon = connection->daemon;
    bd_token wanted = {.scopes = BD_SCOPE_INFER};
    char secret[BD_TOKEN_SECRET_BYTES], origins[BURN_TEXT_BYTES_MAX + 1];
    if (!connection->session.mints)
        BD_FAIL(UNSUPPORTED, "TOKEN_MINT is for clients that name the feature mint in HELLO");
    BD_TRY(take_wish(message->name, message->scopes, message->origins, origins, &wanted));
    BD_TRY(bd_minted_add(&daemon->access.minted, &connection->session.principal, &wanted,
                         message->seconds, secret, &wanted.expires_s));
    bd_log(BD_LOG_DEBUG, "admin", "token minted name=%s scopes=%x by=%s", wanted.name,
           wanted.scopes, BD_QUOTED(connection->session.principal.name));
    answer_secret(connection, message->request, &wanted, 0, secret);
    return NULL;
}

static void revoke_token(bd_connection *connection,
                         const struct bd_message_token_revoke *message)
{
    bd_daemon *daemon = connection->daemon;
    char name[BURN_TEXT_BYTES_MAX + 1];
    bd_text_copy(message->name, name, sizeof name);
    bd_error *error = bd_access_revoke_token(&daemon->access, daemon->config, name);
    if (error) {
        bd_session_answer_failure(connection, message->request, error);
    } else {
        bd_log(BD_LOG_INFO, "admin", "token revoked name=%s by=%s", name,
               BD_QUOTED(connection->session.principal.name));
        bd_connection_send(connection, &(bd_message){.type = BD_MESSAGE_DONE,
                                                     .done.request = message->request});
    }
    bd_leases_review(daemon);
}

static void list_tokens(bd_connection *connection, uint64_t request)
{
    const bd_tokens *tokens = &connection->daemon->access.tokens;
    bd_json json = {0};
    bd_json_begin_array(&json, NULL);
    for (size_t i = 0; i < tokens->list.count; i++)
        write_token(&json, &tokens->list.items[i], NULL, 0);
    bd_json_end_array(&json);
    answer(connection, request, &json);
}

static void list_listeners(bd_connection *connection, uint64_t request)
{
    const bd_daemon *daemon = connection->daemon;
    bd_json json = {0};
    bd_json_begin_array(&json, NULL);
    for (int i = 0; i < daemon->listener_count; i++) {
        const bd_listener *listener = &daemon->listeners[i];
        if (listener->fd < 0)
            continue;
        char pin[BD_TLS_PIN_BYTES + 8] = "";
        if (listener->address.is_tls && daemon->access.tls)
            snprintf(pin, sizeof pin, "sha256:%s", bd_tls_pin(daemon->access.tls));
        bd_json_begin_object(&json, NULL);
        bd_json_text(&json, "url", listener->url);
        bd_json_text(&json, "pin", pin);
        bd_json_end_object(&json);
    }
    bd_json_end_array(&json);
    answer(connection, request, &json);
}

static bd_error *reload(bd_connection *connection, uint64_t request)
{
    BD_TRY(bd_reload(connection->daemon));
    bd_connection_send(connection,
                       &(bd_message){.type = BD_MESSAGE_DONE, .done.request = request});
    return NULL;
}

static void shut_down(bd_connection *connection, uint64_t request)
{
    bd_connection_send(connection,
                       &(bd_message){.type = BD_MESSAGE_DONE, .done.request = request});
    bd_log(BD_LOG_INFO, "admin", "shutdown asked by=%s",
           BD_QUOTED(connection->session.principal.name));
    bd_drain_ask(connection->daemon);
}

/* Its own session, or others of a principal that is one. */
static bool rules(const bd_connection *connection, const bd_connection *target)
{
    const bd_principal *mine = &connection->session.principal;
    if (connection == target || (mine->scopes & BD_SCOPE_ADMIN))
        return true;
    return strcmp(mine->name, target->session.principal.name) == 0 &&
           !bd_principal_is(mine, BD_IDENTITY_NOBODY);
}

bd_error *bd_admin_cancel_work(bd_connection *connection,
                               const struct bd_message_cancel_work *message)
{
    bd_daemon *daemon = connection->daemon;
    uint64_t number = message->session ? message->session : connection->session.number;
    const bd_connection *target = bd_map_get(&daemon->sessions, number);
    if (!connection->session.cancels_work)
        BD_FAIL(PROTOCOL, "CANCEL_WORK is for those who name the feature cancel_work in HELLO");
    if (!target || !rules(connection, target)) {
        bd_session_answer_failure(connection, message->request,
                                  BD_ERROR(NOT_FOUND, "session %" PRIu64 " is unknown", number));
        return NULL;
    }
    daemon->counters.cancelled++;
    bd_log(BD_LOG_INFO, "session", "work cancelled session=%" PRIu64 " by=%s", number,
           BD_QUOTED(connection->session.principal.name));
    bd_engine_post(daemon->engine, bd_request_create(BD_REQUEST_CANCEL_WORK, number));
    bd_connection_send(connection, &(bd_message){.type = BD_MESSAGE_DONE,
                                                 .done.request = message->request});
    return NULL;
}

static bd_error *close_session(bd_connection *connection,
                               const struct bd_message_close_session *message)
{
    bd_daemon *daemon = connection->daemon;
    uint64_t number = message->session;
    bd_connection *target = bd_map_get(&daemon->sessions, number);
    if (!connection->session.closes_sessions)
        BD_FAIL(UNSUPPORTED, "CLOSE_SESSION is for clients that name the feature close_session in "
                             "HELLO");
    if (!target || !rules(connection, target))
        BD_FAIL(NOT_FOUND, "session %" PRIu64 " is unknown", number);
    if (target == connection)
        BD_FAIL(INVALID, "session %" PRIu64 " is this one, which ends by closing its connection",
                number);
    bd_log(BD_LOG_INFO, "admin", "session closed session=%" PRIu64 " principal=%s by=%s",
           number, BD_QUOTED(target->session.principal.name),
           BD_QUOTED(connection->session.principal.name));
    bd_session_end(target, BD_CODE_CANCELLED, "the session was closed from another one");
    bd_connection_send(connection, &(bd_message){.type = BD_MESSAGE_DONE,
                                                 .done.request = message->request});
    return NULL;
}

void bd_admin_message(bd_connection *connection, const bd_message *message)
{
    uint64_t request = message->reload.request; /* all of them have it first */
    bd_error *error = NULL;
    if (message->type == BD_MESSAGE_TOKEN_CREATE)
        error = create_token(connection, &message->token_create);
    else if (message->type == BD_MESSAGE_TOKEN_ROTATE)
        error = rotate_token(connection, &message->token_rotate);
    else if (message->type == BD_MESSAGE_TOKEN_MINT)
        error = mint_token(connection, &message->token_mint);
    else if (message->type == BD_MESSAGE_TOKEN_REVOKE)
        revoke_token(connection, &message->token_revoke);
    else if (message->type == BD_MESSAGE_TOKENS)
        list_tokens(connection, request);
    else if (message->type == BD_MESSAGE_LISTENERS)
        list_listeners(connection, request);
    else if (message->type == BD_MESSAGE_CLOSE_SESSION)
        error = close_session(connection, &message->close_session);
    else if (message->type == BD_MESSAGE_SHUTDOWN)
        shut_down(connection, request);
    else
        error = reload(connection, request);
    if (error)
        bd_session_answer_failure(connection, request, error);
    bd_session_return_credit(connection, connection->session.frame_cost);
}
