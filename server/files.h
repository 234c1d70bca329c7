/* SPDX-License-Identifier: Apache-2.0
 * Files below one folder, for web pages. The kernel holds every path below it and follows no
 * symbolic link (openat2). Thread: loop. */
#pragma once

#include <stdint.h>

#include "proto/base/error.h"

/* Opens the folder. NOT_FOUND if it is none. */
bd_error *bd_files_open(const char *folder, int *out_folder_fd) BD_MUST_USE;
/* Opens the regular file that a request's target names ("/" and "/name/": index.html in it).
 * *out_type: its content type. NOT_FOUND for all else: hidden names, folders, links, devices. */
bd_error *bd_files_find(int folder_fd, const char *target, int *out_fd, uint64_t *out_bytes,
                        const char **out_type) BD_MUST_USE;
