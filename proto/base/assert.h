/* SPDX-License-Identifier: Apache-2.0
 * Assertions for pre-conditions and invariants, never for input.
 * BD_ASSERT is always on; BD_DASSERT, for hot loops, in builds of type Debug (dev, asan, tsan). */
#pragma once

_Noreturn void bd_abort(const char *file, int line, const char *what);

#define BD_ASSERT(condition) ((condition) ? (void)0 : bd_abort(__FILE__, __LINE__, #condition))
#ifdef BD_DEBUG
#define BD_DASSERT(condition) BD_ASSERT(condition)
#else
#define BD_DASSERT(condition) ((void)sizeof(condition))
#endif
