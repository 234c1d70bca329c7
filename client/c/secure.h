/* SPDX-License-Identifier: Apache-2.0
 * TLS 1.3 over a connected socket, by OpenSSL, whose only caller in the client this is.
 * Thread: any, under the context's lock. Nothing waits but the handshake. Invariant: what a write
 * has taken need not be given again; it goes out with the next write or flush. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "burn/burn.h"
#include "proto/base/error.h"

typedef struct bd_secure bd_secure;

enum { BD_PIN_BYTES = 65 };

/* Handshake over the context's socket, within the time; checks the host's name by the system's
 * authorities or BURN_CA_FILE, or else the pin: SHA-256 of the certificate's public key in hex; ""
 * for none. Shows the certificate of BURN_CERT_FILE and BURN_KEY_FILE. Errors say what does not
 * fit. */
bd_error *bd_secure_open(burn_context *context, const char *host, const char *pin,
                         int timeout_ms) BD_MUST_USE;
void bd_secure_free(bd_secure *secure); /* NULL is fine; the socket stays */
/* Tells the daemon that nothing more comes. */
void bd_secure_finish(bd_secure *secure);

/* As recv and send without waiting: bytes, 0 at the end, or -1 with errno. A read that is short
 * has taken all that was there. */
ssize_t bd_secure_read(bd_secure *secure, void *bytes, size_t size);
ssize_t bd_secure_write(bd_secure *secure, const void *bytes, size_t size);
/* Sends what is left of the last write; true while some of it remains. */
bool bd_secure_flush(bd_secure *secure);
/* What answers the key of an upgrade to WebSocket. */
enum { BD_ACCEPT_BYTES = 29 };
void bd_secure_accept_key(const char *key, char accept[BD_ACCEPT_BYTES]);
/* What was wrong, if errno is EPROTO; "" if nothing was. */
const char *bd_secure_problem(const bd_secure *secure);
