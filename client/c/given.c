/* SPDX-License-Identifier: Apache-2.0
 * Arguments of the public API that must not be NULL, or must be text. Thread: any. */
#include <string.h>

#include "client/c/context.h"
#include "proto/limits.h"
#include "proto/base/utf8.h"
#include "proto/pack.h"

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

bd_error *bd_given_text(const char *name, const char *text)
{
    size_t size = text ? strlen(text) : 0;
    if (size > BURN_TEXT_BYTES_MAX)
        BD_FAIL(INVALID, "%s has %zu bytes; at most %d", name, size, BURN_TEXT_BYTES_MAX);
    if (!bd_utf8_valid(text, size))
        BD_FAIL(INVALID, "%s is not UTF-8", name);
    return NULL;
}
