/* SPDX-License-Identifier: Apache-2.0
 * The reference backend: an interpreter of kernel IR in host memory. It defines what is right;
 * every other backend is tested against it. Submissions run at once, on the thread that submits. */
#pragma once

#include "backends/backend.h"

extern const bd_driver bd_ref_driver;
