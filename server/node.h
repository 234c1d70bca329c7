/* SPDX-License-Identifier: Apache-2.0
 * The node key: who this daemon is to other daemons, as node:KEY. An Ed25519 key in the state
 * folder, made by the first start that makes a certificate, and kept when that is replaced.
 * Thread: loop, and main before it. Invariant: the private part stays in its file. */
#pragma once

#include "server/config.h"

#define BD_NODE_KEY_FILE "node_key.pem"

enum { BD_NODE_TEXT_BYTES = 65 };

/* The public part in hex, "" if there is none. makes: it is made if it is missing. INVALID if the
 * file holds no such key, DENIED if others can read it. */
bd_error *bd_node_load(const bd_config *config, bool makes,
                       char public_key[BD_NODE_TEXT_BYTES]) BD_MUST_USE;
