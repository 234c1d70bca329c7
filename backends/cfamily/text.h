/* SPDX-License-Identifier: Apache-2.0
 * Text that grows. Owner: the caller; one thread. */
#pragma once

#include <stddef.h>

#include "proto/base/attr.h"

typedef struct bd_text {
    char *bytes; /* ends in 0; NULL while empty */
    size_t count, room;
} bd_text;

void bd_text_add(bd_text *text, const char *format, ...) BD_PRINTF(2, 3);
