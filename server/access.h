/* SPDX-License-Identifier: Apache-2.0
 * Who may come in, and as whom: the certificate of listeners that speak TLS, the tokens, the users
 * of the Unix sockets. Read from the files that the configuration names, or that the first start
 * makes in the state folder, and read again on a reload. Owned by the daemon; thread: loop, and
 * main before it. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "server/config.h"
#include "server/minted.h"
#include "server/node.h"
#include "server/principal.h"
#include "server/state_lock.h"
#include "server/tls.h"
#include "server/tokens.h"

typedef enum bd_refusal {
#define REFUSAL(name, NAME, says) BD_REFUSAL_##NAME,
#include "server/refusals.def"
    BD_REFUSAL_COUNT,
} bd_refusal;

typedef struct bd_access {
    bd_tls *tls; /* NULL: no listener speaks TLS */
    char node[BD_NODE_TEXT_BYTES]; /* public part of the node key; "": none */
    bd_tokens tokens;
    bd_state_lock *state_lock; /* of the daemon: tokens change only under it; NULL: never */
    bd_minted_tokens minted;
    BD_VEC(uid_t) users; /* of the Unix sockets, besides the daemon's own */
    BD_VEC(gid_t) groups;
    unsigned certificate_scopes; /* of those whose certificate client_ca signed */
    uint64_t refused[BD_REFUSAL_COUNT];
} bd_access;

/* What is known of a client when it says HELLO. */
typedef struct bd_visitor {
    int fd;
    bool is_unix, is_tls, is_http; /* http: it asks for a page */
    uid_t uid;           /* on a Unix socket */
    const char *subject; /* of its certificate; "" without one */
    const char *origin;  /* of a web page; "" for others */
    bd_text token;       /* may be empty */
} bd_visitor;

/* All that the configuration names, or the first error; *out is untouched then. What is missing in
 * the state folder is made, and the folder is the daemon's alone from then on; without a lock it is
 * only looked at. */
bd_error *bd_access_load(const bd_config *config, bd_state_lock *lock,
                         bd_access *out) BD_MUST_USE;
void bd_access_deinit(bd_access *access);

/* Makes a token, one more of a name, or ends them, in the file too, as that stands by then: edits
 * by hand are kept. What cannot be written is not done, but who was revoked is out in any case. */
bd_error *bd_access_create_token(bd_access *access, const bd_config *config,
                                 const bd_token *wanted,
                                 char secret[BD_TOKEN_SECRET_BYTES]) BD_MUST_USE;
bd_error *bd_access_rotate_token(bd_access *access, const bd_config *config, bd_token *made,
                                 int64_t until_s,
                                 char secret[BD_TOKEN_SECRET_BYTES]) BD_MUST_USE;
bd_error *bd_access_revoke_token(bd_access *access, const bd_config *config,
                                 const char *which) BD_MUST_USE;

/* What is not read from files moves from the one that was in force; minted tokens follow theirs. */
void bd_access_take_over(bd_access *access, bd_access *before);

/* Who that is; counts whom it refuses. Errors: UNAUTHENTICATED, DENIED, PROTOCOL. */
bd_error *bd_access_identify(bd_access *access, const bd_visitor *visitor,
                             bd_principal *out) BD_MUST_USE;
