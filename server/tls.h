/* SPDX-License-Identifier: Apache-2.0
 * TLS 1.3 by OpenSSL: a context (certificate, private key, whose client certificates count) and
 * the links made from it. Nothing here waits. Thread: loop, but for what main does before it runs.
 * A context is counted: links keep the one that they began with, so that a reload can replace
 * it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "proto/base/error.h"

typedef struct bd_tls bd_tls;
typedef struct bd_tls_link bd_tls_link;

enum { BD_TLS_PIN_BYTES = 65, BD_TLS_SUBJECT_BYTES = 192 };

typedef struct bd_tls_files {
    const char *certificate; /* PEM, the chain after it */
    const char *private_key; /* PEM, readable by no one but the owner and the group */
    const char *client_ca;   /* PEM of those whose client certificates are believed; "" for none */
} bd_tls_files;

/* Errors: NOT_FOUND, INVALID or DENIED with the file's name. */
bd_error *bd_tls_create(const bd_tls_files *files, bd_tls **out) BD_MUST_USE;
void bd_tls_release(bd_tls *tls); /* NULL is fine */
/* SHA-256 of the certificate's public key in hex, for clients that pin it. */
const char *bd_tls_pin(const bd_tls *tls);
/* When the certificate expires, wall clock. */
int64_t bd_tls_expiry_s(const bd_tls *tls);

/* fd stays the caller's. NULL: no memory. */
bd_tls_link *bd_tls_link_create(bd_tls *tls, int fd);
void bd_tls_link_destroy(bd_tls_link *link);
/* As bd_stream_read and _write; the handshake is done on the way. */
ssize_t bd_tls_read(bd_tls_link *link, const struct iovec *parts, size_t count);
ssize_t bd_tls_write(bd_tls_link *link, const struct iovec *parts, size_t count);
/* Says that nothing more comes, once. */
void bd_tls_finish(bd_tls_link *link);

/* A read that waits until the socket can be written, or a write until it can be read. */
bool bd_tls_read_waits_for_write(const bd_tls_link *link);
bool bd_tls_write_waits_for_read(const bd_tls_link *link);
bool bd_tls_established(const bd_tls_link *link);
/* Subject of the peer's checked certificate, as "CN=…,O=…"; "" without one. */
const char *bd_tls_subject(bd_tls_link *link);
/* Whether the peer began with a request of HTTP instead: the link breaks without an alert. */
bool bd_tls_met_http(const bd_tls_link *link);
/* Why the link broke; "" if it did not. */
const char *bd_tls_problem(const bd_tls_link *link);
