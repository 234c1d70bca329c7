/* SPDX-License-Identifier: Apache-2.0
 * Files that the daemon reads at its start and at a reload. Thread: loop, and main before it. */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

#include "proto/base/error.h"

/* Whether there is one. Only what is not there at all is missing: a symbolic link that leads
 * nowhere or in a circle, also one on the way to it, and a folder that cannot be looked into are
 * errors. */
bd_error *bd_input_file_exists(const char *path, bool *out) BD_MUST_USE;
/* Opens a regular file. NOT_FOUND, which says what the path is, for all else; a pipe is not waited
 * for. */
bd_error *bd_input_file_open(const char *path, int *out_fd,
                             struct stat *out_status) BD_MUST_USE;
