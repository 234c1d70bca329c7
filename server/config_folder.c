/* SPDX-License-Identifier: Apache-2.0
 * The files of a configuration folder: burnd.conf, then those of conf.d in the order of their
 * names. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/base/alloc.h"
#include "server/config.h"
#include "server/input_file.h"

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bd_error *read_drop_ins(bd_config *config, const char *folder)
{
    DIR *entries = opendir(folder);
    if (!entries && errno == EACCES)
        return NULL;
    if (!entries)
        BD_FAIL(NOT_FOUND, "%s: %s", folder, strerror(errno));
    bd_text_list names = {0};
    for (struct dirent *entry; (entry = readdir(entries));) {
        size_t size = strlen(entry->d_name);
        if (size > 5 && entry->d_name[0] != '.' && strcmp(entry->d_name + size - 5, ".conf") == 0)
            *bd_vec_push(&names) = bd_strdup(entry->d_name);
    }
    closedir(entries);
    if (names.count)
        qsort(names.items, names.count, sizeof *names.items, by_name);
    bd_error *error = NULL;
    for (size_t i = 0; i < names.count; i++) {
        char path[4096];
        int size = snprintf(path, sizeof path, "%s/%s", folder, names.items[i]);
        if (!error && (size_t)size >= sizeof path)
            error = BD_ERROR(LIMIT, "%s: the path is too long", folder);
        if (!error)
            error = bd_config_read_file(config, path);
        bd_free(names.items[i]);
    }
    bd_vec_deinit(&names);
    return error;
}

bd_error *bd_config_read_folder(bd_config *config, const char *folder)
{
    char path[4096];
    bool is_there;
    if (access(folder, X_OK) != 0 && errno == EACCES)
        return NULL; /* it is for others */
    snprintf(path, sizeof path, "%s/burnd.conf", folder);
    BD_TRY(bd_input_file_exists(path, &is_there));
    if (is_there)
        BD_TRY(bd_config_read_file(config, path));
    snprintf(path, sizeof path, "%s/conf.d", folder);
    BD_TRY(bd_input_file_exists(path, &is_there));
    return is_there ? read_drop_ins(config, path) : NULL;
}
