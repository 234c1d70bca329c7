/* SPDX-License-Identifier: Apache-2.0
 * A folder of a test's own, and what lies in it. */
#pragma once

#include <stddef.h>

enum { SCRATCH_FOLDER_BYTES = 64 };

void scratch_folder_make(char out[SCRATCH_FOLDER_BYTES]);
/* With all that is in it; links are removed, never followed. */
void scratch_folder_remove(const char *path);
/* How many files of two levels down end with this; the last one's path, if there is one, to out. */
size_t scratch_folder_count(const char *path, const char *suffix, char *out, size_t room);
