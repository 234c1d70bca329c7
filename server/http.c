/* SPDX-License-Identifier: Apache-2.0 */
#include "server/http.h"

#include <string.h>
#include <strings.h>

bool bd_http_begins(uint8_t first)
{
    return first >= 'A' && first <= 'Z';
}

/* ---- what llhttp calls ----------------------------------------------------------------------- */

static void put(bd_http_head *head, const char *bytes, size_t size)
{
    size_t room = sizeof head->text - head->text_bytes;
    memcpy(head->text + head->text_bytes, bytes, size < room ? size : room);
    head->text_bytes += size < room ? size : room;
}

static int on_text(llhttp_t *parser, const char *bytes, size_t size)
{
    put(parser->data, bytes, size);
    return 0;
}

static int on_text_end(llhttp_t *parser)
{
    put(parser->data, "", 1);
    return 0;
}

static int on_name(llhttp_t *parser, const char *bytes, size_t size)
{
    bd_http_head *head = parser->data;
    size_t from = head->text_bytes;
    put(head, bytes, size);
    for (size_t i = from; i < head->text_bytes; i++) {
        if (head->text[i] >= 'A' && head->text[i] <= 'Z')
            head->text[i] = (char)(head->text[i] - 'A' + 'a');
    }
    return 0;
}

/* The name's first byte is where the last text ended. */
static int on_name_end(llhttp_t *parser)
{
    bd_http_head *head = parser->data;
    if (head->header_count == BD_HTTP_HEADERS_MAX) {
        head->too_many = true;
        return HPE_USER;
    }
    size_t begin = head->text_bytes;
    while (begin > 0 && head->text[begin - 1])
        begin--;
    if (begin == head->text_bytes) {
        llhttp_set_error_reason(parser, "a header has no name");
        return HPE_USER;
    }
    put(head, "", 1);
    head->headers[head->header_count].name = (uint16_t)begin;
    head->headers[head->header_count++].value = (uint16_t)head->text_bytes;
    return 0;
}

static int on_head_end(llhttp_t *parser)
{
    bd_http_head *head = parser->data;
    head->complete = true;
    return HPE_PAUSED;
}

void bd_http_begin(bd_http_head *head)
{
    static const llhttp_settings_t settings = {
        .on_url = on_text,
        .on_url_complete = on_text_end,
        .on_header_field = on_name,
        .on_header_field_complete = on_name_end,
        .on_header_value = on_text,
        .on_header_value_complete = on_text_end,
        .on_headers_complete = on_head_end,
    };
    memset(head, 0, offsetof(bd_http_head, text));
    llhttp_init(&head->parser, HTTP_REQUEST, &settings);
    head->parser.data = head;
}

/* ---- feeding --------------------------------------------------------------------------------- */

static bd_error *check(bd_http_head *head)
{
    const llhttp_t *parser = &head->parser;
    head->is_head = parser->method == HTTP_HEAD;
    head->upgrade = parser->upgrade != 0;
    head->keep_alive = llhttp_should_keep_alive(parser) != 0;
    head->is_1_0 = parser->http_minor == 0;
    head->target = head->text;
    if (parser->http_major != 1 || parser->http_minor > 1)
        BD_FAIL(INVALID, "burnd speaks HTTP/1.0 and HTTP/1.1 only");
    if (parser->method != HTTP_GET && parser->method != HTTP_HEAD)
        BD_FAIL(UNSUPPORTED, "only GET and HEAD are answered");
    if (head->target[0] != '/')
        BD_FAIL(INVALID, "the target of a request must begin with a slash");
    if (parser->content_length || (parser->flags & F_CHUNKED) ||
        bd_http_header_word(head, "transfer-encoding", &(bd_http_words){0},
                            &(const char *){NULL}))
        BD_FAIL(INVALID, "a request here has no body");
    return NULL;
}

bd_error *bd_http_feed(bd_http_head *head, const uint8_t *bytes, size_t size_bytes,
                       size_t *out_taken)
{
    size_t room = BD_HTTP_HEAD_BYTES_MAX - head->head_bytes;
    size_t part = size_bytes < room ? size_bytes : room;
    *out_taken = 0;
    if (!size_bytes)
        return NULL;
    llhttp_errno_t result = llhttp_execute(&head->parser, (const char *)bytes, part);
    if (head->complete) {
        part = (size_t)(llhttp_get_error_pos(&head->parser) - (const char *)bytes);
        *out_taken = part;
        return check(head);
    }
    if (head->too_many)
        BD_FAIL(LIMIT, "a request has more than %d headers", BD_HTTP_HEADERS_MAX);
    if (result == HPE_INVALID_METHOD)
        BD_FAIL(UNSUPPORTED, "only GET and HEAD are answered");
    if (result != HPE_OK)
        BD_FAIL(INVALID, "not a request of HTTP/1.1: %s", llhttp_get_error_reason(&head->parser));
    head->head_bytes += part;
    *out_taken = part;
    if (head->head_bytes == BD_HTTP_HEAD_BYTES_MAX)
        BD_FAIL(LIMIT, "the head of a request has more than %d bytes", BD_HTTP_HEAD_BYTES_MAX);
    return NULL;
}

/* ---- headers --------------------------------------------------------------------------------- */

const char *bd_http_header(const bd_http_head *head, const char *name, size_t *out_count)
{
    const char *value = NULL;
    size_t count = 0;
    for (size_t i = 0; i < head->header_count; i++) {
        if (strcmp(head->text + head->headers[i].name, name) == 0) {
            value = head->text + head->headers[i].value;
            count++;
        }
    }
    *out_count = count;
    return count == 1 ? value : NULL;
}

size_t bd_http_header_word(const bd_http_head *head, const char *name, bd_http_words *words,
                           const char **out_word)
{
    for (; words->header < head->header_count; words->header++, words->at = NULL) {
        if (strcmp(head->text + head->headers[words->header].name, name) != 0)
            continue;
        const char *at = words->at ? words->at : head->text + head->headers[words->header].value;
        at += strspn(at, ", \t");
        if (!*at)
            continue;
        size_t size = strcspn(at, ",");
        words->at = at + size;
        while (at[size - 1] == ' ' || at[size - 1] == '\t') /* its first is neither */
            size--;
        *out_word = at;
        return size;
    }
    return 0;
}

bool bd_http_header_has(const bd_http_head *head, const char *name, const char *word)
{
    const char *at;
    size_t size;
    bd_http_words words = {0};
    while ((size = bd_http_header_word(head, name, &words, &at))) {
        if (size == strlen(word) && strncasecmp(at, word, size) == 0)
            return true;
    }
    return false;
}
