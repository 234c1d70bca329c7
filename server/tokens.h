/* SPDX-License-Identifier: Apache-2.0
 * Tokens: 256 random bits that a client shows in HELLO. Kept as digests only, in a text file of a
 * line each: name, SHA-256 of the token in hex, scopes, expiry, origins.
 *     alice 5e88…42d8 infer,compute 2027-01-31T12:00:00Z -
 * Several of one name are the same identity: one takes another's place, and both are let in
 * meanwhile.
 * Owned by the daemon's access; thread: loop. Invariant: no secret is kept or logged. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/base/error.h"
#include "proto/base/vec.h"
#include "proto/message.h"
#include "server/principal.h"

enum {
    BD_TOKEN_SECRET_BYTES = 64,       /* "burn_", 43 letters of base64url, 0 */
    BD_TOKEN_SHOWN_BYTES_MAX = 128,   /* what a client may show */
    BD_TOKEN_ORIGINS_BYTES_MAX = 1024,
    BD_TOKENS_MAX = 4096,
    BD_TOKEN_ID_BYTES = 9, /* the digest's first 8 digits in hex, 0 */
};

typedef struct bd_token {
    char name[BD_TOKEN_NAME_BYTES]; /* letters, digits, '.', '_' and '-' */
    uint8_t digest[BD_TOKEN_DIGEST_BYTES];
    unsigned scopes;
    int64_t expires_s; /* wall clock; 0: never */
    char *origins;     /* web pages that may show it, separated by commas; NULL: anyone may */
} bd_token;

typedef struct bd_tokens {
    BD_VEC(bd_token) list;
} bd_tokens;

void bd_tokens_deinit(bd_tokens *tokens);
/* Errors: INVALID, CONFLICT or LIMIT with the number of the line. */
bd_error *bd_tokens_parse(const char *text, size_t size_bytes, bd_tokens *out) BD_MUST_USE;
/* A file that bd_tokens_parse takes. Heap; bd_free. */
char *bd_tokens_print(const bd_tokens *tokens, size_t *out_bytes);

/* Adds a new one; its secret is in the room and nowhere else. Errors: INVALID for the name or the
 * origins, CONFLICT for a name in use, LIMIT. */
bd_error *bd_tokens_add(bd_tokens *tokens, const bd_token *wanted,
                        char secret[BD_TOKEN_SECRET_BYTES]) BD_MUST_USE;
/* A new secret and its digest. */
bd_error *bd_token_make(char secret[BD_TOKEN_SECRET_BYTES],
                        uint8_t digest[BD_TOKEN_DIGEST_BYTES]) BD_MUST_USE;
void bd_token_digest(bd_text shown, uint8_t digest[BD_TOKEN_DIGEST_BYTES]);
/* INVALID for a name or origins that a token cannot have. */
bd_error *bd_token_check(const bd_token *wanted) BD_MUST_USE;
/* One more of the name, with scopes and origins of the newest one that it has, which come to made
 * (the origins stay the list's); the others end at until_s, if they do not sooner, and those that
 * have expired go. made: name and expires_s of the new one. Errors: NOT_FOUND, LIMIT. */
bd_error *bd_tokens_rotate(bd_tokens *tokens, bd_token *made, int64_t until_s,
                           char secret[BD_TOKEN_SECRET_BYTES]) BD_MUST_USE;
/* When the last of the others of its name ends; 0 if there are none, or one has no end. */
int64_t bd_tokens_others_end(const bd_tokens *tokens, const bd_token *token);
/* The error NOT_FOUND for a name, or "NAME/ID", that no token has. */
bd_error *bd_token_missing(const char *which) BD_MUST_USE;
/* All of a name, or the one of "NAME/ID". False if there is none. */
bool bd_tokens_remove(bd_tokens *tokens, const char *which);
/* By which one of several of a name is told. Returns room. */
char *bd_token_id(const bd_token *token, char room[BD_TOKEN_ID_BYTES]);
bool bd_token_expired(const bd_token *token); /* by now */
/* The one with that secret, expired or not; NULL. Takes the same time for every wrong one. */
const bd_token *bd_tokens_find(const bd_tokens *tokens, bd_text shown);
const bd_token *bd_tokens_with(const bd_tokens *tokens, const uint8_t *digest);
/* "" stands for a client that is no web page. */
bool bd_token_allows_origin(const bd_token *token, const char *origin);

/* RFC 3339 in UTC, as in 2027-01-31T12:00:00Z. */
enum { BD_TIME_TEXT_BYTES = 32 };
bool bd_time_parse(const char *text, size_t size_bytes, int64_t *out_seconds);
char *bd_time_print(int64_t seconds, char room[BD_TIME_TEXT_BYTES]);
