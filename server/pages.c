/* SPDX-License-Identifier: Apache-2.0 */
#include "server/pages.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "proto/base/alloc.h"
#include "server/connection.h"
#include "server/files.h"
#include "server/health.h"
#include "server/json.h"
#include "server/metrics.h"

/* Pages of the daemon's own folder: scripts of its own only, WebAssembly, sockets to any burnd. */
static const char page_headers[] =
    "Content-Security-Policy: default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; "
    "connect-src 'self' ws: wss:; img-src 'self' data: blob:; worker-src 'self' blob:; "
    "object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Cross-Origin-Opener-Policy: same-origin\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n";

static bool is_page(const bd_http_head *head, const char *path)
{
    size_t size = strcspn(head->target, "?");
    return size == strlen(path) && memcmp(head->target, path, size) == 0;
}

static void ready(bd_daemon *daemon, const bd_http_head *head, bd_answer *out)
{
    char *text;
    const char *query = strchr(head->target, '?');
    bool verbose = query && strncmp(query + 1, "verbose", 7) == 0;
    int status = bd_health_ready(daemon, &text) ? 200 : 503;
    text[verbose ? strlen(text) - 1 : strcspn(text, "\n")] = '\0';
    bd_answer_text(out, status, "%s", text);
    bd_free(text);
}

static void version(bd_answer *out)
{
    bd_json json = {0};
    bd_json_begin_object(&json, NULL);
    bd_json_text(&json, "version", BURN_VERSION);
    bd_json_uint(&json, "protocol", BURN_PROTOCOL_VERSION);
    bd_json_end_object(&json);
    *out = (bd_answer){.status = 200, .type = "application/json", .own_file = -1};
    out->own_body = bd_json_take(&json, &out->body_bytes);
}

/* Who asks, by a bearer token or by his connection. */
static bd_error *identify(bd_connection *connection, const bd_http_head *head, bd_principal *out)
{
    static const char scheme[] = "Bearer ";
    size_t count, origins, scheme_bytes = sizeof scheme - 1;
    const char *authorization = bd_http_header(head, "authorization", &count);
    const char *origin = bd_http_header(head, "origin", &origins);
    bd_visitor visitor = bd_session_visitor(connection);
    visitor.is_http = true;
    if (origin)
        visitor.origin = origin;
    if (count && (!authorization || strncasecmp(authorization, scheme, scheme_bytes) != 0))
        BD_FAIL(UNAUTHENTICATED, "the header Authorization must be \"Bearer TOKEN\"");
    if (count)
        visitor.token = bd_text_of(authorization + scheme_bytes);
    return bd_access_identify(&connection->daemon->access, &visitor, out);
}

static void metrics(bd_connection *connection, const bd_http_head *head, bd_answer *out)
{
    bd_access *access = &connection->daemon->access;
    bd_principal principal;
    char scopes[BD_SCOPES_TEXT_BYTES];
    bd_error *error = identify(connection, head, &principal);
    if (!error && !(principal.scopes & (BD_SCOPE_METRICS | BD_SCOPE_ADMIN))) {
        access->refused[BD_REFUSAL_LACKING_SCOPE]++;
        error = BD_ERROR(DENIED, "%s has %s", principal.name,
                         principal.scopes ? bd_scopes_print(principal.scopes, scopes) : "none");
    }
    if (error) {
        bool denied = bd_error_code(error) == BD_CODE_DENIED;
        bd_answer_text(out, denied ? 403 : 401,
                       "%s; metrics are for a token with the scope metrics or admin: burnctl token "
                       "create NAME --scope=metrics makes one",
                       bd_error_text(error));
        if (!denied) {
            out->headers = "WWW-Authenticate: Bearer\r\n";
            out->delay_ms = bd_session_note_stranger(connection);
        }
        bd_error_free(error);
        return;
    }
    *out = (bd_answer){
        .status = 200, .type = "text/plain; version=0.0.4; charset=utf-8", .own_file = -1};
    out->own_body = bd_metrics_text(connection->daemon, &out->body_bytes);
}

static void file(const bd_daemon *daemon, const bd_http_head *head, bd_answer *out)
{
    uint64_t size;
    const char *type;
    int fd;
    bd_error *error = bd_files_find(daemon->www_fd, head->target, &fd, &size, &type);
    if (error) {
        bd_answer_text(out, 404, "%s", bd_error_text(error));
        bd_error_free(error);
        return;
    }
    *out = (bd_answer){.status = 200,
                       .type = type,
                       .headers = page_headers,
                       .body_bytes = (size_t)size,
                       .own_file = fd};
}

void bd_pages_answer(bd_connection *connection, const bd_http_head *head, bd_answer *out)
{
    bd_daemon *daemon = connection->daemon;
    if (is_page(head, "/livez"))
        bd_answer_text(out, 200, "alive");
    else if (is_page(head, "/readyz"))
        ready(daemon, head, out);
    else if (is_page(head, "/version"))
        version(out);
    else if (is_page(head, "/metrics"))
        metrics(connection, head, out);
    else if (daemon->www_fd >= 0)
        file(daemon, head, out);
    else
        bd_answer_text(out, 404, "there is no such page");
}
