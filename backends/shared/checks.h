/* SPDX-License-Identifier: Apache-2.0
 * Indices into dims of no elements: no index is right and there is no element 0 to go on with, so
 * that a block with such a CHECK reports it and runs nothing. Owner: the kernel; immutable once
 * made; thread: any. */
#pragma once

#include <stdbool.h>

#include "backends/kir/kir.h"

typedef struct bd_checks bd_checks;

/* NULL if the program checks no index. */
bd_checks *bd_checks_create(const bd_kir *program);
void bd_checks_destroy(bd_checks *checks);
/* Whether a check that would run is against a dim of no elements; *out_tag is the first one's. */
bool bd_checks_nothing(const bd_checks *checks, const int64_t *ints, int32_t *out_tag);
