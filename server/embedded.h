/* SPDX-License-Identifier: Apache-2.0
 * An embedded daemon that cannot start says why to its only client, who has no log to look into.
 * Thread: main, before any other. */
#pragma once

#include "proto/base/error.h"

/* fd: the inherited socket; it stays open. */
void bd_embedded_say_failure(int fd, const bd_error *error);
