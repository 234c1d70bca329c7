/* SPDX-License-Identifier: Apache-2.0
 * One-line logs to stderr: "time level module message key=value …". Thread: any.
 * Levels: error (someone must act), warn (odd, handled), info (start, stop, session), debug. */
#pragma once

#include "proto/base/attr.h"

typedef enum bd_log_level { BD_LOG_ERROR, BD_LOG_WARN, BD_LOG_INFO, BD_LOG_DEBUG } bd_log_level;

void bd_log_set_level(bd_log_level level); /* before threads start */
void bd_log(bd_log_level level, const char *module, const char *format, ...) BD_PRINTF(3, 4);
