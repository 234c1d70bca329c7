/* SPDX-License-Identifier: Apache-2.0
 * An assertion for each of many elements. Check writes down every one of its own before it is
 * judged, which takes far longer than to compare two numbers, above all under a sanitizer. */
#pragma once

#include <check.h>

#define expect(condition, ...)          \
    do {                                \
        if (!(condition))               \
            ck_abort_msg(__VA_ARGS__);  \
    } while (0)
