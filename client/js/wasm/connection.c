/* SPDX-License-Identifier: Apache-2.0
 * Exports for the connection: bytes in and out, requests, errors, what the daemon said. */
#include <string.h>

#include "client/js/wasm/instance.h"
#include "proto/base/alloc.h"
#include "proto/base/assert.h"

enum { AREA_BYTES_LEAST = 65536 };

js_instance instance;

/* Throws in JavaScript. */
__attribute__((import_module("burn"), import_name("fatal"))) _Noreturn void
js_fatal(const char *file, int line, const char *what);

_Noreturn void bd_abort(const char *file, int line, const char *what)
{
    js_fatal(file, line, what);
}

/* ---- life ------------------------------------------------------------------------------------ */

/* Room for arguments; what was in it is gone. */
uint8_t *JS_EXPORT(area)(uint32_t size_bytes)
{
    if (size_bytes <= instance.area_bytes)
        return instance.area;
    bd_free(instance.area);
    instance.area_bytes = size_bytes > AREA_BYTES_LEAST ? size_bytes : AREA_BYTES_LEAST;
    instance.area = bd_alloc(instance.area_bytes);
    return instance.area;
}

js_words *JS_EXPORT(results)(void)
{
    return &instance.results;
}

/* device: "" for the daemon's first, token: "" for none. Preface and HELLO are in the output at
 * once. */
void JS_EXPORT(open)(const char *library, const char *device, const char *token, int resumes)
{
    instance.session =
        bd_session_create(library, device, token, resumes ? BD_CLIENT_RESUMES : 0);
    instance.client = bd_session_client(instance.session);
}

int JS_EXPORT(phase)(void)
{
    return (int)bd_client_get_phase(instance.client);
}

void JS_EXPORT(fail)(int code, const char *text)
{
    bd_client_fail(instance.client,
                   bd_error_make((bd_code)code, __FILE__, __LINE__, "%s", text));
}

bd_error *JS_EXPORT(failure)(void)
{
    return bd_client_failure(instance.client);
}

/* 0 server, 1 device, 2 devices, one a line */
const char *JS_EXPORT(fact)(int which)
{
    const bd_client_facts *facts = bd_client_get_facts(instance.client);
    return which == 0 ? facts->server : which == 1 ? facts->device : facts->devices;
}

double JS_EXPORT(session_number)(void)
{
    return (double)bd_client_get_facts(instance.client)->session;
}

/* Why the daemon ends the connection, once it has said so; or "". */
const char *JS_EXPORT(farewell)(void)
{
    return bd_client_farewell(instance.client);
}

/* ---- resuming --------------------------------------------------------------------------------*/

/* Milliseconds that a lost connection can be resumed; 0: it cannot. */
double JS_EXPORT(resume_ms)(void)
{
    const bd_client_facts *facts = bd_client_get_facts(instance.client);
    return facts->resume_key[0] ? (double)facts->resume_ms : 0;
}

/* Bytes after HELLO that the daemon has, as far as it has said. */
double JS_EXPORT(peer_received)(void)
{
    return (double)bd_client_peer_received(instance.client);
}

/* words[0]: what a new connection says first; its size. */
uint32_t JS_EXPORT(resume)(const char *token)
{
    static uint8_t bytes[BD_CLIENT_RESUME_BYTES_MAX];
    instance.results.words[0] = (uint32_t)(uintptr_t)bytes;
    return bd_client_resume(instance.client, token, bytes);
}

/* What has come of the answer lies in the area. words[0]: how many bytes it has as far as is known;
 * number: when they are there, how many the daemon has received. */
bd_error *JS_EXPORT(resumed)(uint32_t size_bytes)
{
    size_t wanted = 0;
    uint64_t received = 0;
    bd_error *error = bd_client_resumed(instance.area, size_bytes, &wanted, &received);
    instance.results.words[0] = wanted;
    instance.results.number = (double)received;
    return error;
}

/* Nobody comes back. */
void JS_EXPORT(bye)(void)
{
    bd_client_bye(instance.client);
}

/* ---- errors ---------------------------------------------------------------------------------- */

const char *JS_EXPORT(error_code)(const bd_error *error)
{
    return bd_code_name(bd_error_code(error));
}

int JS_EXPORT(error_retryable)(const bd_error *error)
{
    return bd_code_retryable(bd_error_code(error));
}

const char *JS_EXPORT(error_text)(const bd_error *error)
{
    return bd_error_text(error);
}

double JS_EXPORT(error_op)(const bd_error *error)
{
    return (double)bd_error_op_index(error);
}

void JS_EXPORT(error_free)(bd_error *error)
{
    bd_error_free(error);
}

/* ---- bytes ----------------------------------------------------------------------------------- */

/* words[0]: where they are. */
uint32_t JS_EXPORT(output)(void)
{
    const uint8_t *bytes = NULL;
    size_t size = bd_client_output(instance.client, &bytes);
    instance.results.words[0] = (uint32_t)(uintptr_t)bytes;
    return size;
}

void JS_EXPORT(sent)(uint32_t size_bytes)
{
    bd_client_sent(instance.client, size_bytes);
}

/* words[0]: the token of the upload. */
uint32_t JS_EXPORT(outside)(void)
{
    uint64_t token = 0;
    size_t size = bd_client_outside(instance.client, &token);
    instance.results.words[0] = (uint32_t)token;
    return size;
}

void JS_EXPORT(outside_sent)(uint32_t size_bytes)
{
    bd_client_outside_sent(instance.client, size_bytes);
}

/* The bytes lie in the area. */
bd_error *JS_EXPORT(feed)(uint32_t size_bytes)
{
    return bd_client_feed(instance.client, instance.area, size_bytes);
}

/* words[0]: the request, words[1]: where its bytes belong. */
uint32_t JS_EXPORT(incoming)(void)
{
    bd_pending *pending = NULL;
    size_t offset = 0;
    size_t size = bd_client_incoming(instance.client, &pending, &offset);
    instance.results.words[0] = (uint32_t)(uintptr_t)pending;
    instance.results.words[1] = offset;
    return size;
}

bd_error *JS_EXPORT(filled)(uint32_t size_bytes)
{
    return bd_client_filled(instance.client, size_bytes);
}

void JS_EXPORT(flush)(void)
{
    bd_client_flush(instance.client);
}

uint32_t JS_EXPORT(batched)(void)
{
    return bd_client_batched(instance.client);
}

uint32_t JS_EXPORT(backlog)(void)
{
    return bd_client_backlog(instance.client);
}

double JS_EXPORT(bytes_sent)(void)
{
    return (double)bd_client_bytes_sent(instance.client);
}

double JS_EXPORT(op_count)(void)
{
    return (double)bd_client_op_count(instance.client);
}

/* ---- requests -------------------------------------------------------------------------------- */

bd_pending *JS_EXPORT(get)(double id, uint32_t size_bytes)
{
    bd_pending *pending = bd_alloc_zeroed(sizeof *pending);
    bd_client_get(instance.client, (uint64_t)id, NULL, size_bytes, pending);
    return pending;
}

bd_pending *JS_EXPORT(sync)(void)
{
    bd_pending *pending = bd_alloc_zeroed(sizeof *pending);
    bd_client_sync(instance.client, pending);
    return pending;
}

bd_pending *JS_EXPORT(ping)(void)
{
    bd_pending *pending = bd_alloc_zeroed(sizeof *pending);
    bd_client_ping(instance.client, pending);
    return pending;
}

/* type: that of a message with no other field than the request. */
bd_pending *JS_EXPORT(ask)(int type)
{
    bd_pending *pending = bd_alloc_zeroed(sizeof *pending);
    bd_client_ask(instance.client, (bd_message_type)type, pending);
    return pending;
}

/* What a session (0: this one) has to do is dropped. NULL: the daemon is too old. */
bd_pending *JS_EXPORT(cancel_work)(double session)
{
    if (!bd_client_get_facts(instance.client)->cancels_work)
        return NULL;
    bd_pending *pending = bd_alloc_zeroed(sizeof *pending);
    bd_client_cancel_work(instance.client, (uint64_t)session, pending);
    return pending;
}

/* Another session ends. NULL: the daemon is too old. */
bd_pending *JS_EXPORT(close_session)(double session)
{
    if (!bd_client_get_facts(instance.client)->closes_sessions)
        return NULL;
    bd_pending *pending = bd_alloc_zeroed(sizeof *pending);
    bd_client_close_session(instance.client, (uint64_t)session, pending);
    return pending;
}

/* words: name, scopes and origins, one text behind the other. */
bd_pending *JS_EXPORT(mint_token)(const char *words, double seconds)
{
    bd_pending *pending = bd_alloc_zeroed(sizeof *pending);
    bd_token_wish wish = {.name = words, .seconds = (uint64_t)seconds};
    wish.scopes = words + strlen(words) + 1;
    wish.origins = wish.scopes + strlen(wish.scopes) + 1;
    bd_client_ask_token(instance.client, BD_MESSAGE_TOKEN_MINT, &wish, pending);
    return pending;
}

int JS_EXPORT(done)(const bd_pending *pending)
{
    return pending->done;
}

/* When it is done; then it is JavaScript's. words[0]: the report, or 0, until pending_free. */
bd_error *JS_EXPORT(answer)(bd_pending *pending)
{
    instance.results.words[0] = (uint32_t)(uintptr_t)pending->report;
    bd_error *error = pending->error;
    pending->error = NULL;
    return error;
}

/* Also one that is not done: the daemon is told, and the answer ignored. */
void JS_EXPORT(pending_free)(bd_pending *pending)
{
    bd_client_forget(instance.client, pending);
    bd_error_free(pending->error);
    bd_free(pending->report);
    bd_free(pending);
}
