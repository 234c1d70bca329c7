/* SPDX-License-Identifier: Apache-2.0 */
#include "server/web.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "proto/base/alloc.h"
#include "proto/base/assert.h"
#include "proto/base/log.h"
#include "proto/base/utf8.h"
#include "server/connection.h"
#include "server/net.h"
#include "server/pages.h"
#include "server/web_names.h"
#include "server/websocket.h"

enum { PART_BYTES = 64 * 1024, AHEAD_BYTES = 512 * 1024, HEAD_BYTES_MAX = 1024, NOTED_BYTES = 256 };

struct bd_web {
    bd_http_head head; /* of the request that comes in */
    bool begun;       /* a byte of this request came … */
    int64_t since_ms; /* … first then; else the last answer was given then */
    bool ends;        /* after the answer that is under way */
    bd_answer held;   /* that waits, because its address shows wrong tokens */
    int64_t held_until_ms; /* 0: none waits */
    int file;         /* the body under way, or -1 */
    size_t file_left_bytes, file_offset;
};

void bd_web_open(bd_connection *connection)
{
    bd_web *web = bd_alloc_zeroed(sizeof *web);
    bd_http_begin(&web->head);
    web->since_ms = bd_daemon_now_ms(connection->daemon);
    web->file = -1;
    connection->web = web;
    connection->state = BD_CONNECTION_HTTP;
}

void bd_web_close(bd_connection *connection)
{
    bd_web *web = connection->web;
    if (web && web->file >= 0)
        close(web->file);
    if (web && web->held_until_ms)
        bd_free(web->held.own_body);
    bd_free(web);
    connection->web = NULL;
}

static const char *reason_of(int status)
{
    static const struct {
        int status;
        const char *reason;
    } reasons[] = {{200, "OK"},
                   {400, "Bad Request"},
                   {401, "Unauthorized"},
                   {403, "Forbidden"},
                   {404, "Not Found"},
                   {405, "Method Not Allowed"},
                   {408, "Request Timeout"},
                   {426, "Upgrade Required"},
                   {431, "Request Header Fields Too Large"},
                   {503, "Service Unavailable"}};
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        if (reasons[i].status == status)
            return reasons[i].reason;
    }
    return "";
}

void bd_answer_text(bd_answer *answer, int status, const char *format, ...)
{
    va_list arguments;
    *answer = (bd_answer){.status = status,
                          .type = "text/plain; charset=utf-8",
                          .headers = status == 405 ? "Allow: GET, HEAD\r\n" : NULL,
                          .own_body = bd_alloc(BD_ERROR_TEXT_MAX + 2),
                          .own_file = -1};
    va_start(arguments, format);
    vsnprintf(answer->own_body, BD_ERROR_TEXT_MAX, format, arguments);
    va_end(arguments);
    answer->body_bytes = strlen(answer->own_body);
    answer->own_body[answer->body_bytes++] = '\n';
}

/* Queues the head and, unless it is a file or not wanted, the body. */
static void queue(bd_connection *connection, const bd_answer *answer)
{
    bd_web *web = connection->web;
    char date[64];
    time_t now = time(NULL);
    struct tm parts;
    strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&now, &parts));
    size_t body_bytes = answer->own_body && !web->head.is_head ? answer->body_bytes : 0;
    char *room = (char *)bd_outbox_room(&connection->outbox, HEAD_BYTES_MAX + body_bytes);
    int size = snprintf(room, HEAD_BYTES_MAX,
                        "HTTP/1.1 %d %s\r\nDate: %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
                        "X-Content-Type-Options: nosniff\r\nCache-Control: %s\r\n%s%s\r\n",
                        answer->status, reason_of(answer->status), date, answer->type,
                        answer->body_bytes, answer->own_file >= 0 ? "no-cache" : "no-store",
                        answer->headers ? answer->headers : "",
                        web->ends ? "Connection: close\r\n" : "");
    BD_ASSERT(size < HEAD_BYTES_MAX);
    if (body_bytes)
        memcpy(room + size, answer->own_body, body_bytes);
    bd_outbox_commit(&connection->outbox, (size_t)size + body_bytes);
    bd_connection_touch(connection);
}

/* Who may not ask that. */
static void note_refusal(const bd_connection *connection, const bd_answer *answer)
{
    const bd_http_head *head = &connection->web->head;
    char peer[BD_PEER_TEXT_BYTES];
    size_t count;
    const char *origin = bd_http_header(head, "origin", &count);
    char from[NOTED_BYTES], reason[NOTED_BYTES];
    snprintf(from, sizeof from, "%s", origin ? origin : "");
    snprintf(reason, sizeof reason, "%.*s", (int)strcspn(answer->own_body, "\n"), answer->own_body);
    bd_log(BD_LOG_INFO, "web", "refused peer=%s status=%d origin=%s reason=%s",
           bd_net_peer_name(connection->stream.fd, peer), answer->status, BD_QUOTED(from),
           BD_QUOTED(reason));
}

static void give(bd_connection *connection, bd_answer *own_answer)
{
    bd_web *web = connection->web;
    if (own_answer->status == 401 || own_answer->status == 403)
        note_refusal(connection, own_answer);
    char path[NOTED_BYTES];
    snprintf(path, sizeof path, "%.*s",
             web->head.complete ? (int)strcspn(web->head.target, "?") : 0, web->head.text);
    bd_log(BD_LOG_DEBUG, "web", "answered path=%s status=%d", BD_QUOTED(path), own_answer->status);
    connection->daemon->counters.http[own_answer->status - 100]++;
    queue(connection, own_answer);
    bd_free(own_answer->own_body);
    if (own_answer->own_file >= 0 && web->head.is_head) {
        close(own_answer->own_file);
    } else if (own_answer->own_file >= 0) {
        web->file = own_answer->own_file;
        web->file_left_bytes = own_answer->body_bytes;
        web->file_offset = 0;
    }
    bd_http_begin(&web->head);
    web->begun = false;
    web->since_ms = bd_daemon_now_ms(connection->daemon);
}

/* ---- requests -------------------------------------------------------------------------------- */

static bool host_allowed(bd_connection *connection, const bd_http_head *head)
{
    size_t count;
    char local[BD_PEER_TEXT_BYTES];
    const char *host = bd_http_header(head, "host", &count);
    if (connection->is_unix)
        return true; /* no web page reaches it */
    return host && bd_host_allowed(host, bd_net_local_text(connection->stream.fd, local),
                                   &connection->daemon->config->hosts);
}

/* A complete request. */
static void answer(bd_connection *connection)
{
    bd_web *web = connection->web;
    bd_answer answer;
    web->ends |= !web->head.keep_alive || web->head.is_1_0;
    if (!host_allowed(connection, &web->head)) {
        connection->daemon->counters.hosts_refused++;
        bd_answer_text(&answer, 403,
                       "this name is not one of the daemon's; its key hosts lists more");
    } else if (!bd_http_header_has(&web->head, "upgrade", "websocket") || !web->head.upgrade) {
        bd_pages_answer(connection, &web->head, &answer);
    } else if (bd_websocket_upgrade(connection, &web->head, &answer)) {
        bd_web_close(connection);
        return;
    } else {
        web->ends = true;
    }
    if (!answer.delay_ms) {
        give(connection, &answer);
        return;
    }
    web->held = answer;
    web->held_until_ms = bd_daemon_now_ms(connection->daemon) + answer.delay_ms;
    web->ends = true; /* it may not ask again on this connection meanwhile */
}

bool bd_web_holds(bd_connection *connection, int64_t now_ms)
{
    bd_web *web = connection->web;
    if (!web->held_until_ms || now_ms < web->held_until_ms)
        return web->held_until_ms != 0;
    web->held_until_ms = 0;
    give(connection, &web->held);
    return true;
}

static void refuse(bd_connection *connection, int status, const char *text)
{
    bd_answer answer;
    bd_answer_text(&answer, status, "%s", text);
    connection->web->ends = true;
    connection->web->head.is_head = false;
    give(connection, &answer);
}

/* Straight to the socket, as far as that takes it: the stream is broken. */
bool bd_web_refuse_plain(const bd_connection *connection)
{
    static const char text[] = "TLS is spoken here: write https:// in the URL, or wss://\n";
    char room[HEAD_BYTES_MAX];
    if (!bd_stream_met_http(&connection->stream))
        return false;
    int size = snprintf(room, sizeof room,
                        "HTTP/1.1 400 %s\r\nContent-Type: text/plain; charset=utf-8\r\n"
                        "Content-Length: %zu\r\nConnection: close\r\n\r\n%s",
                        reason_of(400), sizeof text - 1, text);
    connection->daemon->counters.plain_http++;
    connection->daemon->counters.http[400 - 100]++;
    (void)send(connection->stream.fd, room, (size_t)size, MSG_NOSIGNAL | MSG_DONTWAIT);
    return true;
}

void bd_web_take(bd_connection *connection, const uint8_t *bytes, size_t size, size_t *out_taken)
{
    size_t offset = 0, taken;
    while (offset < size && connection->web) {
        bd_web *web = connection->web;
        /* Who does not wait for a file's end, or for the answers that lie here, must ask again: his
         * requests are dropped with the connection, which ends after it. */
        web->ends |= web->file >= 0 || connection->outbox.bytes > AHEAD_BYTES;
        if (web->ends)
            offset = size;
        if (web->ends)
            break;
        if (!web->begun)
            web->since_ms = bd_daemon_now_ms(connection->daemon);
        web->begun = true;
        bd_error *error = bd_http_feed(&web->head, bytes + offset, size - offset, &taken);
        offset += taken;
        bd_code code = bd_error_code(error);
        if (error)
            refuse(connection,
                   code == BD_CODE_LIMIT         ? 431
                   : code == BD_CODE_UNSUPPORTED ? 405
                                                 : 400,
                   bd_error_text(error));
        else if (web->head.complete)
            answer(connection);
        bd_error_free(error);
    }
    *out_taken = offset;
}

bool bd_web_pump(bd_connection *connection)
{
    bd_web *web = connection->web;
    while (web->file >= 0 && connection->outbox.bytes < AHEAD_BYTES) {
        size_t part = web->file_left_bytes < PART_BYTES ? web->file_left_bytes : PART_BYTES;
        uint8_t *room = bd_outbox_room(&connection->outbox, PART_BYTES);
        ssize_t got = pread(web->file, room, part, (off_t)web->file_offset);
        if (got > 0)
            bd_outbox_commit(&connection->outbox, (size_t)got);
        web->file_left_bytes -= got > 0 ? (size_t)got : 0;
        web->file_offset += got > 0 ? (size_t)got : 0;
        if (got > 0 && web->file_left_bytes)
            continue;
        web->ends |= web->file_left_bytes > 0; /* it has become shorter: the rest cannot come */
        close(web->file);
        web->file = -1;
        web->since_ms = bd_daemon_now_ms(connection->daemon);
    }
    return web->ends && web->file < 0 && !web->held_until_ms && !connection->outbox.bytes;
}

bool bd_web_late(const bd_connection *connection, int64_t now_ms)
{
    const bd_web *web = connection->web;
    const bd_config *config = connection->daemon->config;
    return web->file < 0 && !connection->outbox.bytes &&
           now_ms - web->since_ms > (web->begun ? config->hello_timeout : config->idle_timeout);
}

void bd_web_end_late(bd_connection *connection)
{
    bool begun = connection->web->begun;
    connection->daemon->counters.late_requests += begun;
    connection->web->ends = true;
    if (begun)
        refuse(connection, 408, "the request did not come in time");
    bd_connection_touch(connection);
}
