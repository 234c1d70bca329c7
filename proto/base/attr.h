/* SPDX-License-Identifier: Apache-2.0
 * The compiler attributes that the project allows itself. */
#pragma once

#define BD_MUST_USE __attribute__((warn_unused_result))
#define BD_PRINTF(format_index, first_argument)                                                    \
    __attribute__((format(printf, format_index, first_argument)))
/* A large local of a hot function, each part of which is written before it is read: a hardened
 * build does not zero it first. */
#if defined(__has_attribute)
#if __has_attribute(uninitialized)
#define BD_UNSET __attribute__((uninitialized))
#endif
#endif
#ifndef BD_UNSET
#define BD_UNSET
#endif
