/* SPDX-License-Identifier: Apache-2.0 */
#include "server/options.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/alloc.h"

/* One flag: "--name", "--name=value" or "--name value". */
typedef struct command_flag {
    char name[64]; /* with underscores, as keys have */
    const char *value; /* NULL: none was given with '=' */
} command_flag;

static bd_error *split(const char *argument, command_flag *out)
{
    if (strncmp(argument, "--", 2) != 0 || !argument[2])
        BD_FAIL(INVALID, "\"%.64s\" is not a flag; burnd --help lists them", argument);
    const char *name = argument + 2, *equals = strchr(name, '=');
    size_t size = equals ? (size_t)(equals - name) : strlen(name);
    if (size >= sizeof out->name)
        BD_FAIL(INVALID, "there is no flag \"%.64s\"; burnd --help lists them", argument);
    for (size_t i = 0; i < size; i++)
        out->name[i] = name[i] == '-' ? '_' : name[i];
    out->name[size] = '\0';
    out->value = equals ? equals + 1 : NULL;
    return NULL;
}

/* Takes "--name value" too. */
static bd_error *value_of(command_flag *flag, int count, char *const *arguments, int *index)
{
    if (!flag->value && *index + 1 < count)
        flag->value = arguments[++*index];
    if (!flag->value)
        BD_FAIL(INVALID, "%s needs a value", arguments[*index]);
    return NULL;
}

static bd_error *parse_embedded(const char *text, int *out)
{
    char *end;
    long fd = strtol(text, &end, 10);
    if (end == text || *end || fd < 0 || fd > 1 << 20)
        BD_FAIL(INVALID, "--embedded needs the number of an inherited socket, not \"%.64s\"", text);
    *out = (int)fd;
    return NULL;
}

bd_error *bd_options_parse(bd_options *options, bd_config *config, int count,
                           char *const *arguments)
{
    static const struct {
        const char *name;
        bd_command command;
    } commands[] = {{"help", BD_COMMAND_HELP},
                    {"version", BD_COMMAND_VERSION},
                    {"check_config", BD_COMMAND_CHECK_CONFIG},
                    {"print_config", BD_COMMAND_PRINT_CONFIG}};
    enum { COMMANDS = sizeof commands / sizeof *commands };
    *options = (bd_options){.command = BD_COMMAND_RUN, .embedded_fd = -1};
    for (int i = 1; i < count; i++) {
        command_flag flag;
        BD_TRY(split(strcmp(arguments[i], "-h") == 0 ? "--help" : arguments[i], &flag));
        size_t known = 0;
        while (known < COMMANDS && strcmp(flag.name, commands[known].name) != 0)
            known++;
        if (known < COMMANDS) {
            options->command = commands[known].command;
            bool takes_file = options->command == BD_COMMAND_CHECK_CONFIG;
            if (takes_file && flag.value)
                options->config_file = flag.value;
            else if (takes_file && i + 1 < count && arguments[i + 1][0] != '-')
                options->config_file = arguments[++i];
            else if (flag.value)
                BD_FAIL(INVALID, "%.64s takes no value", arguments[i]);
            continue;
        }
        const char *shown = arguments[i];
        if (strcmp(flag.name, "config") != 0 && strcmp(flag.name, "embedded") != 0)
            BD_TRY_NOTE(bd_config_check_key(flag.name), "%.64s", shown);
        BD_TRY(value_of(&flag, count, arguments, &i));
        if (strcmp(flag.name, "config") == 0)
            options->config_file = flag.value;
        else if (strcmp(flag.name, "embedded") == 0)
            BD_TRY(parse_embedded(flag.value, &options->embedded_fd));
        else {
            snprintf(config->place, sizeof config->place, "%.*s", (int)strcspn(shown, "="), shown);
            BD_TRY_NOTE(bd_config_set(config, flag.name, flag.value, BD_CONFIG_FROM_FLAG), "%.64s",
                        shown);
        }
    }
    config->place[0] = '\0';
    return NULL;
}

void bd_options_print_help(void)
{
    printf(
        "burnd %s: a daemon that runs tensor programs for its clients.\n\n"
        "usage: burnd [--KEY=VALUE ...]\n"
        "       burnd --check-config [FILE] | --print-config | --version | --help\n\n"
        "  --config=FILE\n"
        "        read this file instead of /etc/burnd/burnd.conf and /etc/burnd/conf.d/*.conf\n"
        "  --embedded=FD\n"
        "        serve the client at the other end of this inherited socket, and end with it\n\n"
        "Keys, each also a line \"key = value\" of the file (with underscores) and an environment\n"
        "variable BURND_KEY. A flag wins over the environment, that over the file.\n\n",
        BURN_VERSION);
    bd_config_print_flags(stdout);
    printf("\nSignals: TERM and INT finish what is in flight and exit with 0; a second one ends at "
           "once.\n"
           "HUP reads the configuration, the certificate and the tokens again.\n"
           "Exit codes: 0 success, 1 failure, 2 wrong usage, 78 wrong configuration.\n");
}
