/* SPDX-License-Identifier: Apache-2.0
 * Arguments of the public API that must not be NULL. Thread: any. */
#include <string.h>

#include "client/c/context.h"

bd_error *bd_given(const char *names, const void *const *values, size_t count)
{
    static const char separators[] = ", ";
    for (size_t i = 0; i < count; i++) {
        size_t size = strcspn(names, separators);
        if (!values[i])
            BD_FAIL(INVALID, "%.*s is NULL", (int)size, names);
        names += size + strspn(names + size, separators);
    }
    return NULL;
}

bd_error *bd_given_tensors(const char *name, burn_tensor *const *tensors, size_t count,
                           bool may_be_null)
{
    if (count > UINT16_MAX)
        BD_FAIL(LIMIT, "%s: %zu tensors; at most %d", name, count, UINT16_MAX);
    if (may_be_null && !tensors)
        return NULL;
    if (count && !tensors)
        BD_FAIL(INVALID, "%s is NULL, of %zu tensors", name, count);
    for (size_t i = 0; i < count && !may_be_null; i++)
        if (!tensors[i])
            BD_FAIL(INVALID, "%s[%zu] is NULL", name, i);
    return NULL;
}
