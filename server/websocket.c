/* SPDX-License-Identifier: Apache-2.0 */
#include "server/websocket.h"

#include <openssl/evp.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <string.h>

#include "proto/base/alloc.h"
#include "proto/base/log.h"
#include "proto/limits.h"
#include "server/connection.h"
#include "server/web_names.h"

enum {
    KEY_CHARACTERS = 24, /* 16 bytes in base64 */
    ANSWER_BYTES_MAX = 256,
    MESSAGE_BYTES_MAX = BURN_CHUNK_BYTES_MAX + BURN_MESSAGE_BYTES_MAX + 2048,
};

static const char subprotocol[] = "burnd.v1", token_prefix[] = "burnd.token.";

/* ---- the upgrade ----------------------------------------------------------------------------- */

/* base64url without padding; false if it is not, or too long. */
static bool decode_token(const char *text, size_t size, char *token, size_t token_bytes)
{
    unsigned bits = 0, have = 0;
    size_t used = 0;
    for (size_t i = 0; i < size; i++) {
        char c = text[i];
        int value = c >= 'A' && c <= 'Z'   ? c - 'A'
                    : c >= 'a' && c <= 'z' ? c - 'a' + 26
                    : c >= '0' && c <= '9' ? c - '0' + 52
                    : c == '-'             ? 62
                    : c == '_'             ? 63
                                           : -1;
        if (value < 0)
            return false;
        bits = bits << 6 | (unsigned)value;
        have += 6;
        if (have < 8)
            continue;
        have -= 8;
        if (used + 1 >= token_bytes || !(bits >> have & 0xFF))
            return false;
        token[used++] = (char)(bits >> have & 0xFF);
    }
    token[used] = '\0';
    return used > 0 && have < 6 && !(bits & ((1U << have) - 1));
}

/* The subprotocols that are offered: ours must be there, a token may. False: out says why not. */
static bool take_subprotocols(const bd_http_head *head, bd_websocket *websocket, bd_answer *out)
{
    bool ours = false;
    const char *word;
    size_t size, prefix = sizeof token_prefix - 1;
    bd_http_words words = {0};
    while ((size = bd_http_header_word(head, "sec-websocket-protocol", &words, &word))) {
        if (size == sizeof subprotocol - 1 && memcmp(word, subprotocol, size) == 0)
            ours = true;
        else if (size > prefix && memcmp(word, token_prefix, prefix) == 0 &&
                 !decode_token(word + prefix, size - prefix, websocket->token,
                               sizeof websocket->token)) {
            bd_answer_text(out, 400, "%sTOKEN is not base64url without padding", token_prefix);
            return false;
        }
    }
    if (!ours)
        bd_answer_text(out, 400, "the subprotocol must be %s", subprotocol);
    return ours;
}

/* False: out says why not. */
static bool take_origin(const bd_connection *connection, const bd_http_head *head,
                        bd_websocket *websocket, bd_answer *out)
{
    const bd_daemon *daemon = connection->daemon;
    size_t origins, hosts;
    const char *origin = bd_http_header(head, "origin", &origins);
    const char *host = bd_http_header(head, "host", &hosts);
    if (!origins)
        return true;
    if (!origin || strlen(origin) >= sizeof websocket->origin ||
        !bd_origin_allowed(origin, &daemon->config->origins, daemon->www_fd >= 0 ? host : NULL)) {
        bd_answer_text(out, 403,
                       "pages of this origin may not connect; the daemon's key origins lists "
                       "those that may");
        return false;
    }
    snprintf(websocket->origin, sizeof websocket->origin, "%s", origin);
    return true;
}

static const char *key_of(const bd_http_head *head)
{
    size_t count;
    unsigned char decoded[KEY_CHARACTERS];
    const char *key = bd_http_header(head, "sec-websocket-key", &count);
    if (!key || strlen(key) != KEY_CHARACTERS || strcmp(key + KEY_CHARACTERS - 2, "==") != 0)
        return NULL;
    return EVP_DecodeBlock(decoded, (const unsigned char *)key, KEY_CHARACTERS) > 0 ? key : NULL;
}

static void agree(bd_connection *connection, const char *key)
{
    char text[KEY_CHARACTERS + 37];
    unsigned char digest[SHA_DIGEST_LENGTH], coded[4 * (SHA_DIGEST_LENGTH / 3 + 1) + 1];
    snprintf(text, sizeof text, "%s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", key);
    SHA1((const unsigned char *)text, strlen(text), digest);
    EVP_EncodeBlock(coded, digest, sizeof digest);
    char *room = (char *)bd_outbox_room(&connection->outbox, ANSWER_BYTES_MAX);
    int size = snprintf(room, ANSWER_BYTES_MAX,
                        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                        "Connection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n"
                        "Sec-WebSocket-Protocol: %s\r\n\r\n",
                        (char *)coded, subprotocol);
    bd_outbox_commit(&connection->outbox, (size_t)size);
    bd_connection_touch(connection);
}

bool bd_websocket_upgrade(bd_connection *connection, const bd_http_head *head, bd_answer *out)
{
    size_t versions;
    const char *version = bd_http_header(head, "sec-websocket-version", &versions);
    const char *key = key_of(head);
    bd_websocket websocket = {.status = BD_WS_STATUS_NONE};
    if (strcmp(head->target, "/") != 0) {
        bd_answer_text(out, 404, "the WebSocket is at /");
        return false;
    }
    if (!version || strcmp(version, "13") != 0) {
        bd_answer_text(out, 426, "the version of WebSocket must be 13");
        out->headers = "Sec-WebSocket-Version: 13\r\n";
        return false;
    }
    if (!key || head->is_head || head->is_1_0) {
        bd_answer_text(out, 400, "an upgrade to WebSocket needs GET of HTTP/1.1 and a key");
        return false;
    }
    if (!take_origin(connection, head, &websocket, out)) {
        connection->daemon->counters.origins_refused++;
        return false;
    }
    if (!take_subprotocols(head, &websocket, out))
        return false;
    agree(connection, key);
    bd_ws_decoder_init(&websocket.decoder, true, MESSAGE_BYTES_MAX);
    connection->websocket = bd_alloc(sizeof websocket);
    *connection->websocket = websocket;
    connection->state = BD_CONNECTION_PREFACE;
    connection->daemon->counters.http[1]++; /* 101 */
    connection->opened_ms = bd_daemon_now_ms(connection->daemon);
    return true;
}

void bd_websocket_close(bd_connection *connection)
{
    bd_free(connection->websocket);
    connection->websocket = NULL;
}

/* ---- messages -------------------------------------------------------------------------------- */

static void say(bd_connection *connection, bd_ws_opcode opcode, const uint8_t *data, size_t size)
{
    uint8_t *room =
        bd_outbox_room(&connection->outbox, BD_WS_HEADER_BYTES_MAX + BD_WS_CONTROL_BYTES_MAX);
    size_t header = bd_ws_header(room, opcode, size, NULL);
    if (size)
        memcpy(room + header, data, size);
    bd_outbox_commit(&connection->outbox, header + size);
    bd_connection_touch(connection);
}

void bd_websocket_say_close(bd_connection *connection, bd_code code)
{
    bd_websocket *websocket = connection->websocket;
    bd_ws_status status = websocket->status != BD_WS_STATUS_NONE ? websocket->status
                          : code == BD_CODE_OK                   ? BD_WS_STATUS_NORMAL
                          : code == BD_CODE_PROTOCOL             ? BD_WS_STATUS_PROTOCOL
                          : code == BD_CODE_UNAVAILABLE          ? BD_WS_STATUS_GOING_AWAY
                                                                 : BD_WS_STATUS_POLICY;
    uint8_t data[2] = {(uint8_t)(status >> 8), (uint8_t)status};
    if (!websocket->said_close)
        say(connection, BD_WS_CLOSE, data, sizeof data);
    websocket->said_close = true;
}

static bd_error *take_control(bd_connection *connection)
{
    bd_websocket *websocket = connection->websocket;
    const bd_ws_decoder *decoder = &websocket->decoder;
    if (decoder->opcode == BD_WS_CLOSE) {
        bd_ws_status status = bd_ws_close_status(decoder->data, decoder->data_bytes);
        websocket->status = status == BD_WS_STATUS_NONE ? BD_WS_STATUS_NORMAL : status;
        bd_connection_hang_up(connection, BD_CODE_OK);
        return NULL;
    }
    BD_TRY(bd_connection_count_free_frame(connection));
    if (decoder->opcode == BD_WS_PING)
        say(connection, BD_WS_PONG, decoder->data, decoder->data_bytes);
    return NULL;
}

static bd_error *end_message(bd_connection *connection)
{
    bd_websocket *websocket = connection->websocket;
    if (!websocket->in_message)
        BD_FAIL(PROTOCOL, "a WebSocket message is empty");
    /* What was read straight to its place may have completed a frame. */
    BD_TRY(bd_connection_take(connection, websocket->decoder.data, 0));
    websocket->in_message = false;
    bool whole = connection->parts_taken == websocket->parts_before + 1 &&
                 bd_frame_parser_between(&connection->parser);
    if (websocket->resumed) /* RESUME was taken by another parser than this one */
        whole = connection->session.resume.received == connection->session.resume.acknowledged;
    websocket->resumed = false;
    if (!whole)
        BD_FAIL(PROTOCOL, "a WebSocket message must be the preface, or exactly one frame");
    return NULL;
}

bd_error *bd_websocket_take(bd_connection *connection, uint8_t *bytes, size_t size)
{
    bd_websocket *websocket = connection->websocket;
    bd_ws_decoder *decoder = &websocket->decoder;
    for (size_t offset = 0; connection->state < BD_CONNECTION_LINGERING;) {
        size_t taken;
        bd_ws_event event;
        bd_error *error = bd_ws_feed(decoder, bytes + offset, size - offset, &taken, &event);
        if (error) {
            websocket->status = decoder->violation;
            return bd_error_note(error, "WebSocket");
        }
        offset += taken;
        if (event == BD_WS_EVENT_MORE)
            break;
        if (event == BD_WS_EVENT_DATA && !websocket->in_message) {
            websocket->in_message = true;
            websocket->parts_before = connection->parts_taken;
        }
        if (event == BD_WS_EVENT_DATA)
            BD_TRY(bd_connection_take(connection, decoder->data, decoder->data_bytes));
        else if (event == BD_WS_EVENT_END)
            BD_TRY(end_message(connection));
        else
            BD_TRY(take_control(connection));
    }
    return NULL;
}
