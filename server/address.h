/* SPDX-License-Identifier: Apache-2.0
 * Addresses that burnd listens on, parsed from URLs. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "proto/base/error.h"

typedef struct bd_address {
    bool is_unix, is_tls;
    socklen_t size_bytes;
    struct sockaddr_storage storage;
    char path[128]; /* of a Unix socket */
    uint64_t device, inode; /* of the socket file, once it is bound */
    bool is_managed;        /* a service manager made the socket */
} bd_address;

enum {
    BD_DEFAULT_PORT = 7867,
    BD_LISTENERS_MAX = 16,
    BD_URL_BYTES = 160,     /* of an address, as text */
    BD_INHERITED_FIRST = 3, /* the descriptor of the first socket that another process made */
};

/* unix:///path, tls://host[:port], or tcp://127.0.0.1[:port]?insecure (port 0: any free one). Hosts
 * are numbers, IPv6 in brackets, or localhost.
 * Errors: INVALID with what would be right; DENIED for TCP beyond loopback or without ?insecure;
 * UNSUPPORTED for ws, wss. */
bd_error *bd_address_parse(const char *url, bd_address *out) BD_MUST_USE;
