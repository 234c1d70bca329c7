/* SPDX-License-Identifier: Apache-2.0
 * The budgets of principals: their op rate, and their time to compile. A session whose principal
 * has spent one waits; when it has waited for too long, its ops are refused with LIMIT. Each waits
 * for its own budget, also where several want the same kernel: who has time first has it made.
 * Budgets are looked at once a turn, so that an op costs nothing more. Thread: device. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/session.h"

/* Whether the session's next turn must wait; the core comes back to it. */
bool bd_throttle_holds(bd_session *session);
/* bd_stream_go_on for one turn, at the cost of the principal's budget. */
bool bd_throttle_go_on(bd_session *session, const bd_request *request);
/* Begins to compile what the session's trace lacks, as far as there is time for it; the core comes
 * back to the rest. LIMIT if there was none for too long. */
bd_error *bd_throttle_compile(bd_session *session) BD_MUST_USE;
/* Sessions that waited for a budget go on, if it is time. */
void bd_throttle_advance(bd_core *core);
/* The sooner of a wait for letters (less than 0: for ever) and the time for that. */
int64_t bd_throttle_wait_us(const bd_core *core, int64_t wait_us);
