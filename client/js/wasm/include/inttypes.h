/* SPDX-License-Identifier: Apache-2.0
 * <inttypes.h> as far as client/core and proto need it. */
#pragma once

#include <stdint.h>

#define PRId64 "lld"
#define PRIu64 "llu"
#define PRIx64 "llx"
