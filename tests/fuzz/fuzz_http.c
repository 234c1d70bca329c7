/* SPDX-License-Identifier: Apache-2.0
 * Fuzz target of HTTP heads and of what is read from them. The first bytes choose how the rest is
 * cut into reads; what is parsed in pieces must equal what is parsed whole. The rest's first line
 * is a name of the configuration, too: what may stand there lets somebody in. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/alloc.h"
#include "server/http.h"
#include "server/web_names.h"

enum { CUTS = 8, NAME_BYTES = 300 };

static bd_http_head pieces, whole;

/* How many bytes were taken; *out_failed tells of an error. */
static size_t parse(bd_http_head *head, const uint8_t *bytes, size_t size, const uint8_t *cuts,
                    size_t cut_count, bool *out_failed)
{
    size_t offset = 0;
    *out_failed = false;
    bd_http_begin(head);
    for (size_t turn = 0; offset < size && !head->complete; turn++) {
        size_t part = cut_count ? (size_t)cuts[turn % cut_count] + 1 : size, taken;
        if (part > size - offset)
            part = size - offset;
        uint8_t *exact = bd_alloc(part); /* an overrun is seen by the sanitizer */
        memcpy(exact, bytes + offset, part);
        bd_error *error = bd_http_feed(head, exact, part, &taken);
        bd_free(exact);
        offset += taken;
        *out_failed = error != NULL;
        bd_error_free(error);
        if (*out_failed)
            break;
    }
    return offset;
}

static void look(const bd_http_head *head)
{
    static const char *const read[] = {"host", "origin", "upgrade", "sec-websocket-protocol"};
    char *names[] = {"gpu.example"};
    const bd_text_list list = {names, 1, 1};
    for (size_t i = 0; i < sizeof read / sizeof *read; i++) {
        size_t count, size;
        const char *word, *value = bd_http_header(head, read[i], &count);
        if (value && (strlen(value) > BD_HTTP_HEAD_BYTES_MAX || count != 1))
            abort();
        bd_http_words words = {0};
        while ((size = bd_http_header_word(head, read[i], &words, &word))) {
            if (memchr(word, ',', size) || memchr(word, 0, size))
                abort();
        }
        if (value && bd_host_allowed(value, "10.0.0.7", &list) && !*value)
            abort();
        if (value)
            bd_origin_allowed(value, &list, value);
    }
    if (head->target[0] != '/' || bd_http_header_has(head, "", ""))
        abort();
}

static void name(const uint8_t *bytes, size_t size)
{
    char text[NAME_BYTES], header[NAME_BYTES + 8];
    snprintf(text, sizeof text, "%.*s", (int)(size < NAME_BYTES ? size : NAME_BYTES - 1),
             (const char *)bytes);
    text[strcspn(text, "\r\n")] = '\0';
    char *names[] = {text};
    const bd_text_list list = {names, 1, 1};
    snprintf(header, sizeof header, strchr(text, ':') ? "[%s]:80" : "%s:80", text);
    bd_error *host = bd_host_check(text), *origin = bd_origin_check(text, strlen(text));
    if ((!host && !bd_host_allowed(header, "10.0.0.7", &list)) ||
        (!origin && !bd_origin_allowed(text, &list, NULL)))
        abort();
    bd_error_free(host);
    bd_error_free(origin);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size < CUTS)
        return 0;
    name(bytes + CUTS, size - CUTS);
    bool failed_pieces, failed_whole;
    size_t taken = parse(&pieces, bytes + CUTS, size - CUTS, bytes, CUTS, &failed_pieces);
    size_t taken_whole = parse(&whole, bytes + CUTS, size - CUTS, NULL, 0, &failed_whole);
    if (failed_pieces != failed_whole || pieces.complete != whole.complete)
        abort();
    if (failed_whole || !whole.complete)
        return 0;
    if (taken != taken_whole || pieces.text_bytes != whole.text_bytes ||
        pieces.header_count != whole.header_count || pieces.keep_alive != whole.keep_alive ||
        memcmp(pieces.text, whole.text, whole.text_bytes) != 0)
        abort();
    look(&whole);
    return 0;
}
