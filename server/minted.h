/* SPDX-License-Identifier: Apache-2.0
 * Minted tokens: they act for the identity that minted them, with some of its scopes, for an hour
 * at most, and end with its token. They are in memory only: a restart ends them all.
 * Owned by the daemon's access; thread: loop. Invariant: no secret is kept or logged. */
#pragma once

#include "proto/base/map.h"
#include "server/tokens.h"

typedef struct bd_minted {
    bd_token token;      /* the name may be empty */
    bd_principal parent; /* who minted it */
} bd_minted;

typedef struct bd_minted_tokens {
    bd_map list; /* by the first bytes of the digest */
} bd_minted_tokens;

/* Adds a new one; its secret is in the room and nowhere else. wanted: scopes, name, origins; how
 * long it lives: seconds. Errors: INVALID, DENIED for scopes that the parent has not, LIMIT. */
bd_error *bd_minted_add(bd_minted_tokens *minted, const bd_principal *parent,
                        const bd_token *wanted, uint64_t seconds,
                        char secret[BD_TOKEN_SECRET_BYTES], int64_t *out_expires_s) BD_MUST_USE;
/* The one with that secret, expired or not; NULL. How long it takes tells nothing of the secrets:
 * what it looks for is a digest. */
const bd_minted *bd_minted_find(const bd_minted_tokens *minted, bd_text shown);
const bd_minted *bd_minted_with(const bd_minted_tokens *minted, const uint8_t *digest);
/* Ends those that have expired. */
void bd_minted_sweep(bd_minted_tokens *minted, int64_t now_s);
/* Those whose parents are among the tokens no more end; the others have no more rights, and live no
 * longer, than these. */
void bd_minted_follow(bd_minted_tokens *minted, const bd_tokens *tokens);
void bd_minted_deinit(bd_minted_tokens *minted);
