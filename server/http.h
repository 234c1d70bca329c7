/* SPDX-License-Identifier: Apache-2.0
 * The head of one HTTP/1 request, parsed as it comes by llhttp and copied into one fixed room.
 * It does no I/O and allocates nothing.
 * Owned by a connection; thread: loop. Invariant: no more than BD_HTTP_HEAD_BYTES_MAX bytes are
 * taken for one head, whatever comes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <llhttp.h>

#include "proto/base/error.h"

enum { BD_HTTP_HEAD_BYTES_MAX = 8192, BD_HTTP_HEADERS_MAX = 64 };

typedef struct bd_http_head {
    bool complete;
    bool is_head;    /* HEAD; else GET */
    bool keep_alive; /* the client would send another request */
    bool upgrade;    /* Connection: Upgrade, with an Upgrade header */
    bool is_1_0;
    const char *target; /* begins with a slash */
    /* Private from here on. */
    llhttp_t parser;
    size_t head_bytes, text_bytes, header_count;
    struct {
        uint16_t name, value; /* offsets into text */
    } headers[BD_HTTP_HEADERS_MAX];
    bool too_many;
    /* Target, names in small letters and values, each with a NUL. */
    char text[BD_HTTP_HEAD_BYTES_MAX + 2 * BD_HTTP_HEADERS_MAX + 2];
} bd_http_head;

/* How far the words of a header were read. */
typedef struct bd_http_words {
    size_t header;
    const char *at; /* NULL: at the header's begin */
} bd_http_words;

/* True if a request of HTTP/1 can begin with this byte. */
bool bd_http_begins(uint8_t first);

/* For the first request, and for each after it. */
void bd_http_begin(bd_http_head *head);
/* Takes bytes until the head is complete. After an error the head must not be fed.
 * Errors: INVALID for what is no request, one with a body, or an HTTP other than 1.0 and 1.1;
 * LIMIT for a head that is too long; UNSUPPORTED for another method. */
bd_error *bd_http_feed(bd_http_head *head, const uint8_t *bytes, size_t size_bytes,
                       size_t *out_taken) BD_MUST_USE;

/* The value of the only header of this name (in small letters); NULL if there is none or more than
 * one, which *out_count tells. */
const char *bd_http_header(const bd_http_head *head, const char *name, size_t *out_count);
/* True if a header of this name has the word among its comma-separated ones. Case-insensitive. */
bool bd_http_header_has(const bd_http_head *head, const char *name, const char *word);
/* The next word of all headers of this name together; its size, 0 past the last. words, all zero
 * at first, remembers the place. */
size_t bd_http_header_word(const bd_http_head *head, const char *name, bd_http_words *words,
                           const char **out_word);
