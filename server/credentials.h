/* SPDX-License-Identifier: Apache-2.0
 * A private key and a self-signed certificate for a daemon that was given none. Clients pin its
 * public key. Thread: main before the loop runs. */
#pragma once

#include "server/config.h"

/* Names of the files within the state folder. */
#define BD_CERTIFICATE_FILE "certificate.pem"
#define BD_PRIVATE_KEY_FILE "private_key.pem"

/* Writes both into the state folder: P-256, for this host's names and loopback, for ten years. */
bd_error *bd_credentials_make(const bd_config *config) BD_MUST_USE;
