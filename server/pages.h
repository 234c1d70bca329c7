/* SPDX-License-Identifier: Apache-2.0
 * What burnd answers over HTTP: its health, its version, its metrics, and files where the
 * configuration names a folder. Nothing else is there. Thread: loop. */
#pragma once

#include "server/web.h"

void bd_pages_answer(bd_connection *connection, const bd_http_head *head, bd_answer *out);
