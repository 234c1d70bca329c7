/* SPDX-License-Identifier: Apache-2.0
 * The engine as its own files see it. */
#pragma once

#include "engine/core.h"

struct bd_engine {
    bd_core core;
    bd_kinded_letter close; /* posted once, by bd_engine_close */
};
