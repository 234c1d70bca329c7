/* SPDX-License-Identifier: Apache-2.0
 * burnd: reads its configuration, opens the daemon, runs it. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "proto/base/log.h"
#include "server/daemon.h"
#include "server/embedded.h"
#include "server/files.h"
#include "server/options.h"
#include "server/rebirth.h"
#include "server/reload.h"

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_CONFIG = 78 };

static const char system_folder[] = "/etc/burnd";

extern char **environ;

/* embedded_fd: whose client hears it, too; or -1. */
static int complain(bd_error *own_error, int embedded_fd, int status)
{
    fprintf(stderr, "burnd: %s\n", bd_error_text(own_error));
    if (embedded_fd >= 0)
        bd_embedded_say_failure(embedded_fd, own_error);
    bd_error_free(own_error);
    return status;
}

static bd_error *read_configuration(const bd_options *options, bd_config *config)
{
    if (options->config_file)
        BD_TRY(bd_config_read_file(config, options->config_file));
    else
        BD_TRY(bd_config_read_folder(config, system_folder));
    BD_TRY(bd_config_read_environment(config, environ));
    return bd_rebirth_listen(config);
}

static bd_error *check_addresses(const bd_config *config)
{
    for (size_t i = 0; i < config->listen.count; i++) {
        bd_address address;
        bd_error *error = bd_address_parse(config->listen.items[i], &address);
        if (error)
            return bd_config_blame(config, "listen", i, error);
    }
    return NULL;
}

/* What --check-config looks at besides: the files that the keys name. */
static bd_error *check_access(const bd_config *config)
{
    bd_access access;
    int folder;
    BD_TRY(bd_access_load(config, NULL, &access));
    bd_access_deinit(&access);
    bd_error *error = *config->www ? bd_files_open(config->www, &folder) : NULL;
    if (error)
        return bd_config_blame(config, "www", 0, error);
    if (*config->www)
        close(folder);
    return NULL;
}

typedef struct command_line {
    int count;
    char *const *arguments;
} command_line;

static bd_error *read_again(void *user, bd_config *out)
{
    const command_line *line = user;
    bd_options options;
    BD_TRY(bd_options_parse(&options, out, line->count, line->arguments));
    BD_TRY(read_configuration(&options, out));
    return check_addresses(out);
}

static int run(const bd_config *config, command_line line, int embedded_fd)
{
    bd_daemon *daemon;
    bd_config_reader reader = {.read = read_again, .user = &line};
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a limit of file sizes is an error of write */
    bd_error *error = bd_daemon_open(config, &reader, embedded_fd, &daemon);
    if (error)
        return complain(error, embedded_fd, EXIT_FAILED);
    bd_daemon_run(daemon);
    if (bd_rebirth_is_due(daemon))
        bd_rebirth_execute(daemon, line.arguments);
    bd_daemon_close(daemon);
    bd_log(BD_LOG_INFO, "daemon", "stopped");
    return EXIT_OK;
}

static int obey(const bd_options *options, bd_config *config, command_line line)
{
    if (options->command == BD_COMMAND_HELP) {
        bd_options_print_help();
        return EXIT_OK;
    }
    if (options->command == BD_COMMAND_VERSION) {
        printf("burnd %s\n", BURN_VERSION);
        return EXIT_OK;
    }
    bd_error *error = read_configuration(options, config);
    if (!error)
        error = bd_rebirth_keep(config);
    if (!error)
        error = check_addresses(config);
    if (error)
        return complain(error, options->embedded_fd, EXIT_CONFIG);
    if (options->embedded_fd >= 0 && config->source.log_level == BD_CONFIG_FROM_DEFAULT)
        /* the terminal is the client's */
        error = bd_config_set(config, "log_level", "warn", BD_CONFIG_FROM_DEFAULT);
    if (error)
        return complain(error, options->embedded_fd, EXIT_CONFIG);
    bd_reload_log_level(config);
    if (options->command == BD_COMMAND_CHECK_CONFIG) {
        error = check_access(config);
        if (error)
            return complain(error, options->embedded_fd, EXIT_CONFIG);
        printf("the configuration is right\n");
        return EXIT_OK;
    }
    if (options->command == BD_COMMAND_PRINT_CONFIG) {
        bd_config_print(config, stdout);
        return EXIT_OK;
    }
    return run(config, line, options->embedded_fd);
}

int main(int argument_count, char **arguments)
{
    bd_config config;
    bd_options options;
    bd_config_init(&config);
    bd_error *error = bd_options_parse(&options, &config, argument_count, arguments);
    command_line line = {.count = argument_count, .arguments = arguments};
    int status = error ? complain(error, options.embedded_fd, EXIT_USAGE)
                       : obey(&options, &config, line);
    bd_config_deinit(&config);
    return status;
}
