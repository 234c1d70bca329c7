/* SPDX-License-Identifier: Apache-2.0
 * burnctl: asks a running daemon how it is, as a table or as JSON. It never starts a daemon. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "burn/burn.h"
#include "client/ctl/table.h"

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_UNREACHABLE = 69, PINGS_MAX = 1000 };

typedef struct ctl_command {
    const char *name, *says;
} ctl_command;

static const ctl_command commands[] = {
    {"ping", "time from here to the daemon and back"},
    {"devices", "devices of the daemon"},
    {"sessions", "open sessions with what they hold"},
    {"stats", "counters and gauges"},
    {"kernels", "compiled kernels"},
    {"config", "configuration in force"},
    {"names", "published values that this user sees"},
    {"shutdown", "let the daemon finish what is in flight and end"},
};
enum { COMMAND_COUNT = (int)(sizeof commands / sizeof *commands) };

typedef struct ctl_options {
    const char *url, *command;
    bool json;
    int pings;
} ctl_options;

static void print_help(FILE *file)
{
    fprintf(file, "usage: burnctl [--url URL] [-o json|table] COMMAND\n\n");
    for (int i = 0; i < COMMAND_COUNT; i++)
        fprintf(file, "  %-9s  %s\n", commands[i].name, commands[i].says);
    fprintf(file, "\n"
                  "  --url URL      unix:///path or tcp://host:port; else BURN_URL, then\n"
                  "                 $XDG_RUNTIME_DIR/burnd.sock, then /run/burnd/burnd.sock\n"
                  "  -o json        JSON instead of a table\n"
                  "  --count N      how often to ping\n"
                  "  --version\n\n"
                  "Exit codes: 0 success, 1 failure, 2 wrong usage, 69 no daemon answers.\n");
}

static int complain_usage(const char *what, const char *which)
{
    fprintf(stderr, "burnctl: %s%s; burnctl --help says what there is\n", what, which);
    return EXIT_USAGE;
}

/* Value of "--name VALUE" or "--name=VALUE"; NULL if the argument is another one. */
static const char *value_of(const char *name, int count, char **arguments, int *index)
{
    size_t size = strlen(name);
    const char *argument = arguments[*index];
    if (strncmp(argument, name, size) != 0)
        return NULL;
    if (argument[size] == '=')
        return argument + size + 1;
    if (argument[size] || *index + 1 >= count)
        return NULL;
    return arguments[++*index];
}

static bool is_command(const char *name)
{
    for (int i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(commands[i].name, name) == 0)
            return true;
    }
    return false;
}

static int parse(int count, char **arguments, ctl_options *out)
{
    *out = (ctl_options){.pings = 1};
    for (int i = 1; i < count; i++) {
        const char *value;
        if ((value = value_of("--url", count, arguments, &i))) {
            out->url = value;
        } else if ((value = value_of("-o", count, arguments, &i)) ||
                   (value = value_of("--output", count, arguments, &i))) {
            if (strcmp(value, "json") != 0 && strcmp(value, "table") != 0)
                return complain_usage("the output is json or table, not ", value);
            out->json = strcmp(value, "json") == 0;
        } else if ((value = value_of("--count", count, arguments, &i))) {
            out->pings = atoi(value);
            if (out->pings < 1 || out->pings > PINGS_MAX)
                return complain_usage("--count is between 1 and 1000, not ", value);
        } else if (is_command(arguments[i]) && !out->command) {
            out->command = arguments[i];
        } else if (!strcmp(arguments[i], "--url") || !strcmp(arguments[i], "-o") ||
                   !strcmp(arguments[i], "--output") || !strcmp(arguments[i], "--count")) {
            return complain_usage("a value is missing after ", arguments[i]);
        } else {
            return complain_usage("not understood: ", arguments[i]);
        }
    }
    return out->command ? EXIT_OK : complain_usage("which command", "?");
}

static int complain(const char *doing)
{
    const burn_error *error = burn_last_error();
    fprintf(stderr, "burnctl: %s: %s\n", doing, error->text);
    return EXIT_FAILED;
}

static bool open_at(const char *url, burn_context **out)
{
    burn_options options = {.struct_size = sizeof options, .url = url};
    return burn_open(&options, out) == BURN_STATUS_OK;
}

/* The look-up of clients, but for the private daemon at its end. */
static int open_daemon(const ctl_options *options, burn_context **out)
{
    const char *url = options->url ? options->url : getenv("BURN_URL"),
               *runtime = getenv("XDG_RUNTIME_DIR");
    char place[256];
    if (url && *url)
        return open_at(url, out) ? EXIT_OK : (complain("no daemon answers"), EXIT_UNREACHABLE);
    snprintf(place, sizeof place, "unix://%s/burnd.sock", runtime ? runtime : "");
    if (runtime && *runtime && open_at(place, out))
        return EXIT_OK;
    if (open_at("unix:///run/burnd/burnd.sock", out))
        return EXIT_OK;
    complain("no daemon answers");
    return EXIT_UNREACHABLE;
}

static void print(const ctl_options *options, json_t *report)
{
    if (options->json) {
        json_dumpf(report, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
        putchar('\n');
    } else {
        ctl_print_table(report, stdout);
    }
}

static int by_value(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static int ping(burn_context *context, const ctl_options *options)
{
    double seconds[PINGS_MAX];
    int status = EXIT_OK;
    for (int i = 0; i < options->pings && status == EXIT_OK; i++) {
        if (burn_ping(context, &seconds[i]) != BURN_STATUS_OK)
            status = complain("ping");
    }
    if (status == EXIT_OK) {
        qsort(seconds, (size_t)options->pings, sizeof *seconds, by_value);
        json_t *report =
            json_pack("{s:s, s:s, s:i, s:f, s:f, s:f}", "url", burn_url(context), "server",
                      burn_welcome(context, "server"), "count", options->pings, "seconds",
                      seconds[options->pings / 2], "least_seconds", seconds[0], "most_seconds",
                      seconds[options->pings - 1]);
        print(options, report);
        json_decref(report);
    }
    return status;
}

static int show(burn_context *context, const ctl_options *options)
{
    char *text = NULL;
    burn_status status = strcmp(options->command, "names") == 0
                             ? burn_list_names(context, NULL, &text)
                             : burn_report(context, options->command, &text);
    if (status != BURN_STATUS_OK)
        return complain(options->command);
    json_error_t problem;
    json_t *report = json_loads(text, JSON_DECODE_ANY, &problem);
    burn_free(text);
    if (!report) {
        fprintf(stderr, "burnctl: %s: the answer is no JSON: %s\n", options->command, problem.text);
        return EXIT_FAILED;
    }
    print(options, report);
    json_decref(report);
    return EXIT_OK;
}

static int obey(burn_context *context, const ctl_options *options)
{
    if (strcmp(options->command, "ping") == 0)
        return ping(context, options);
    if (strcmp(options->command, "shutdown") == 0)
        return burn_shutdown(context) == BURN_STATUS_OK ? EXIT_OK : complain("shutdown");
    return show(context, options);
}

int main(int count, char **arguments)
{
    ctl_options options;
    burn_context *context = NULL;
    if (count == 2 && (strcmp(arguments[1], "--help") == 0 || strcmp(arguments[1], "-h") == 0)) {
        print_help(stdout);
        return EXIT_OK;
    }
    if (count == 2 && strcmp(arguments[1], "--version") == 0) {
        printf("burnctl %s\n", burn_library_version());
        return EXIT_OK;
    }
    int status = parse(count, arguments, &options);
    if (status == EXIT_OK)
        status = open_daemon(&options, &context);
    if (status == EXIT_OK)
        status = obey(context, &options);
    burn_close(context);
    if (fflush(stdout) != 0 && status == EXIT_OK)
        status = EXIT_FAILED;
    return status;
}
