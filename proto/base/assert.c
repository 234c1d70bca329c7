/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/base/assert.h"

#include <stdio.h>
#include <stdlib.h>

_Noreturn void bd_abort(const char *file, int line, const char *what)
{
    fprintf(stderr, "fatal: %s:%d: assertion failed: %s\n", file, line, what);
    abort();
}
