/* SPDX-License-Identifier: Apache-2.0
 * Which names a web page may reach burnd by, and which pages may. A page of any site can have a
 * name of its own point at this host (DNS rebinding), and browsers let it open a WebSocket to
 * anywhere: so Host and Origin must be known. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "proto/base/error.h"
#include "server/config.h"

/* The value of a Host header, with or without a port: a name of loopback, the address that the
 * connection came to, or one of the configured names. */
bool bd_host_allowed(const char *host, const char *local_address, const bd_text_list *hosts);
/* INVALID, with what would be right, for what can stand in no Host header so that it is allowed. */
bd_error *bd_host_check(const char *name) BD_MUST_USE;
/* The same for an origin: browsers write one in one way only. */
bd_error *bd_origin_check(const char *origin, size_t size_bytes) BD_MUST_USE;
/* The value of an Origin header: exactly one of the list, or the daemon's own pages at this Host
 * (NULL: there are none). */
bool bd_origin_allowed(const char *origin, const bd_text_list *origins, const char *own_host);
