/* SPDX-License-Identifier: Apache-2.0
 * What operators ask for, as JSON text: stats, devices, sessions, kernels, configuration.
 * Thread: loop. */
#pragma once

#include <stddef.h>

#include "proto/message.h"
#include "server/daemon.h"

/* The report that a message of this type asks for. Heap; bd_free. */
char *bd_report(const bd_connection *asker, bd_message_type type, size_t *out_bytes);
