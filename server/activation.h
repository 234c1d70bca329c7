/* SPDX-License-Identifier: Apache-2.0
 * Sockets that a service manager bound before it started burnd: LISTEN_FDS of them, from descriptor
 * BD_INHERITED_FIRST on. Each becomes an address to listen on, as if the configuration had named
 * it: a Unix socket is plain, TCP speaks TLS. Thread: main. */
#pragma once

#include "server/address.h"
#include "server/config.h"

/* Adds their URLs to the key listen. INVALID for a descriptor that is no listening socket. */
bd_error *bd_activation_add(bd_config *config) BD_MUST_USE;
/* Adds one, if the key does not name it. */
bd_error *bd_activation_add_url(bd_config *config, const char *url) BD_MUST_USE;
/* The descriptor that is bound to this address; -1: none. */
int bd_activation_find(const bd_address *address);
