/* SPDX-License-Identifier: Apache-2.0
 * The command line of burnd. Thread: main. */
#pragma once

#include "server/config.h"

typedef enum bd_command {
    BD_COMMAND_RUN,
    BD_COMMAND_HELP,
    BD_COMMAND_VERSION,
    BD_COMMAND_CHECK_CONFIG,
    BD_COMMAND_PRINT_CONFIG,
} bd_command;

typedef struct bd_options {
    bd_command command;
    const char *config_file; /* --config FILE or --check-config FILE; NULL: /etc/burnd */
    int embedded_fd;         /* -1: none */
} bd_options;

/* Reads the flags; those that are keys go into the configuration. Errors: INVALID, NOT_FOUND. */
bd_error *bd_options_parse(bd_options *options, bd_config *config, int argument_count,
                           char *const *arguments) BD_MUST_USE;
void bd_options_print_help(void);
