/* SPDX-License-Identifier: Apache-2.0
 * The compiler attributes that the project allows itself. */
#pragma once

#define BD_MUST_USE __attribute__((warn_unused_result))
#define BD_PRINTF(format_index, first_argument)                                                    \
    __attribute__((format(printf, format_index, first_argument)))
