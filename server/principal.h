/* SPDX-License-Identifier: Apache-2.0
 * A principal: who speaks on a session, and what he may do. Names are those of identities.def, the
 * last one on plain TCP; node:KEY is kept for other daemons. Pure values; thread: any. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/base/error.h"
#include "proto/message.h"

enum {
    BD_PRINCIPAL_BYTES = 208,
    BD_SCOPES_TEXT_BYTES = 64,
    BD_TOKEN_NAME_BYTES = 65,
    BD_TOKEN_DIGEST_BYTES = 32,
};

typedef enum bd_identity {
#define IDENTITY(NAME, begin, rest) BD_IDENTITY_##NAME,
#include "server/identities.def"
    BD_IDENTITY_COUNT,
} bd_identity;

typedef enum bd_scope_bit {
#define SCOPE(name, NAME, says) BD_SCOPE_BIT_##NAME,
#include "server/scopes.def"
    BD_SCOPE_COUNT,
} bd_scope_bit;

enum {
#define SCOPE(name, NAME, says) BD_SCOPE_##NAME = 1 << BD_SCOPE_BIT_##NAME,
#include "server/scopes.def"
    BD_SCOPE_EVERY = (1 << BD_SCOPE_COUNT) - 1,
};

typedef struct bd_principal {
    char name[BD_PRINCIPAL_BYTES];
    unsigned scopes; /* BD_SCOPE_ */
    bool has_token;
    uint8_t digest[BD_TOKEN_DIGEST_BYTES]; /* of the token */
    int64_t expires_s;                     /* wall clock; 0: never */
    bool is_minted;
    char label[BD_TOKEN_NAME_BYTES];       /* of a minted token */
} bd_principal;

/* rest: what follows in names of the kind. */
void bd_principal_call(bd_principal *principal, bd_identity kind, const char *rest);
bool bd_principal_is(const bd_principal *principal, bd_identity kind);
/* Whether a principal can have this name; what follows after "uid:" is a number. */
bool bd_principal_is_name(const char *text, size_t size_bytes);

/* Names separated by blanks or commas. INVALID with the names that there are. */
bd_error *bd_scopes_parse(const char *text, size_t size_bytes, unsigned *out) BD_MUST_USE;
/* "infer,compute". Returns room. */
char *bd_scopes_print(unsigned scopes, char room[BD_SCOPES_TEXT_BYTES]);

/* DENIED if the principal has none of the scopes that the message needs. *out_request: only this
 * request is concerned; 0: the connection. */
bd_error *bd_principal_may(const bd_principal *principal, const bd_message *message,
                           uint64_t *out_request) BD_MUST_USE;
