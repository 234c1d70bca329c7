/* SPDX-License-Identifier: Apache-2.0
 * The folder of what outlives the daemon: certificate, private key, tokens. Its files are written
 * whole or not at all, with mode 0600. Thread: loop, and main before it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "proto/base/error.h"
#include "server/config.h"

enum { BD_STATE_PATH_BYTES = 1024, BD_STATE_FILE_BYTES_MAX = 1024 * 1024 };

/* "FOLDER/name", or the folder for NULL: state_dir, else $XDG_STATE_HOME/burnd, else for root
 * /var/lib/burnd, else ~/.local/state/burnd. NOT_FOUND if none of these is known. */
bd_error *bd_state_path(const bd_config *config, const char *name, char path[BD_STATE_PATH_BYTES])
    BD_MUST_USE;
/* Whether the daemon has that file; not if there is no place for it. See bd_input_file_exists. */
bd_error *bd_state_find(const bd_config *config, const char *name, char path[BD_STATE_PATH_BYTES],
                        bool *out_is_there) BD_MUST_USE;
/* Makes the folder with mode 0700 if it is missing. DENIED if another user could change it. */
bd_error *bd_state_prepare(const bd_config *config) BD_MUST_USE;
/* A file that only its owner can read: DENIED for another mode or owner. Text is heap; bd_free. */
bd_error *bd_state_read(const char *path, char **out_text, size_t *out_bytes) BD_MUST_USE;
/* Replaces a file of the folder. */
bd_error *bd_state_write(const bd_config *config, const char *name, const char *bytes,
                         size_t size_bytes) BD_MUST_USE;
