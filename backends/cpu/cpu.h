/* SPDX-License-Identifier: Apache-2.0
 * The CPU backend: kernel IR through LLVM to machine code in this process, run by a pool of
 * workers. */
#pragma once

#include "backends/backend.h"

extern const bd_driver bd_cpu_driver;
