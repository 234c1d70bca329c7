/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/backends/scratch_folder.h"

#include <check.h>
#include <ftw.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void scratch_folder_make(char out[SCRATCH_FOLDER_BYTES])
{
    strcpy(out, "/tmp/burn-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(out));
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status, (void)kind, (void)place;
    return remove(path);
}

void scratch_folder_remove(const char *path)
{
    ck_assert_int_eq(nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
}

size_t scratch_folder_count(const char *path, const char *suffix, char *out, size_t room)
{
    char pattern[128];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/*/*%s", path, suffix);
    if (glob(pattern, 0, NULL, &found) != 0)
        return 0;
    size_t count = found.gl_pathc;
    if (count)
        snprintf(out, room, "%s", found.gl_pathv[count - 1]);
    globfree(&found);
    return count;
}
