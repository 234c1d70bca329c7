/* SPDX-License-Identifier: Apache-2.0
 * burnctl: asks a running daemon how it is, as a table or as JSON. It never starts a daemon. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include "burn/burn.h"
#include "client/ctl/table.h"
#include "client/ctl/tokens.h"
#include "proto/base/utf8.h"

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_UNREACHABLE = 69, PINGS_MAX = 1000 };

enum { WORDS_MAX = 3 };

typedef struct ctl_options {
    const char *url, *command;
    const char *words[WORDS_MAX]; /* the command and what follows it */
    int word_count;
    bool json;
    int pings;
    bool waits;
    ctl_token_options token;
} ctl_options;

static int ping(burn_context *context, const ctl_options *options);
static int show(burn_context *context, const ctl_options *options);
static int obey_token(burn_context *context, const ctl_options *options);
static int end(burn_context *context, const ctl_options *options);
static int reload(burn_context *context, const ctl_options *options);
static int drain(burn_context *context, const ctl_options *options);

typedef struct ctl_command {
    const char *name;
    int (*obey)(burn_context *context, const ctl_options *options); /* the exit code */
    const char *says;
} ctl_command;

static const ctl_command commands[] = {
    {"ping", ping, "time from here to the daemon and back"},
    {"devices", show, "devices of the daemon"},
    {"sessions", show, "sessions with what they hold, those that wait to be resumed, too"},
    {"stats", show, "counters and gauges"},
    {"quotas", show, "what each identity uses of its quotas, and the limits (0: none)"},
    {"kernels", show, "compiled kernels"},
    {"config", show, "configuration in force"},
    {"names", show, "published values that this user sees"},
    {"invite", obey_token,
     "[NAME]: one line with which a colleague connects; makes a token for 30 days"},
    {"token", obey_token,
     "create NAME, list; rotate NAME: a new secret, the old one ends in a day;\n"
     "             revoke NAME, or NAME/ID for one of several; prune: revoke those that\n"
     "             have expired; mint [NAME]: one for a web page, for minutes"},
    {"cancel", end, "SESSION: drop what it has to do; those who wait for results hear of it"},
    {"close", end, "SESSION: end it, also one that waits to be resumed"},
    {"reload", reload, "read configuration, certificate and tokens again"},
    {"drain", drain,
     "tell all sessions to end, and the daemon to end with the last; --wait for that"},
    {"shutdown", drain, "the same"},
};
enum { COMMAND_COUNT = (int)(sizeof commands / sizeof *commands) };

static void print_help(FILE *file)
{
    fprintf(file, "usage: burnctl [--url URL] [-o json|table] COMMAND\n\n");
    for (int i = 0; i < COMMAND_COUNT; i++)
        fprintf(file, "  %-9s  %s\n", commands[i].name, commands[i].says);
    fprintf(file, "\n"
                  "  --url URL      unix:///path, tls://host:port, tcp://host:port; else BURN_URL\n"
                  "                 then $XDG_RUNTIME_DIR/burnd.sock, then /run/burnd/burnd.sock\n"
                  "  -o json        JSON instead of a table\n"
                  "  --count N      how often to ping\n"
                  "  --wait         of drain: until the daemon has ended\n"
                  "  --scope NAMES  of a token: infer, compute, kernel, admin, metrics, peer,\n"
                  "                 mint; else infer,compute; of mint: infer\n"
                  "  --expires TIME of a token: 12h, 30d, never\n"
                  "  --grace TIME   of rotate: how long the old token is let in yet: 1h, 7d\n"
                  "  --origin URL   of a token: only pages of this https://host may show it;\n"
                  "                 may be repeated\n"
                  "  --host NAME    of invite: how others call this host\n"
                  "  --version\n\n"
                  "Exit codes: 0 success, 1 failure, 2 wrong usage, 69 no connection.\n");
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

static const ctl_command *find_command(const char *name)
{
    for (int i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    }
    return NULL;
}

/* Flags with a value. 1: taken, 0: the argument is none of them, -1: wrong. */
static int parse_flag(int count, char **arguments, int *index, ctl_options *out)
{
    static const char *const names[] = {"--url",   "-o",        "--output", "--count",
                                        "--scope", "--expires", "--origin", "--host",
                                        "--grace"};
    enum { URL, O, OUTPUT, COUNT, SCOPE, EXPIRES, ORIGIN, HOST, GRACE, NAMES };
    const char *value = NULL;
    int which = 0;
    while (which < NAMES && !(value = value_of(names[which], count, arguments, index)))
        which++;
    if (which == URL)
        out->url = value;
    else if (which == SCOPE)
        out->token.scopes = value;
    else if (which == O || which == OUTPUT)
        out->json = strcmp(value, "json") == 0;
    else if (which == COUNT)
        out->pings = atoi(value);
    else if (which == EXPIRES)
        out->token.life_given = true;
    if ((which == O || which == OUTPUT) && !out->json && strcmp(value, "table") != 0)
        return complain_usage("the output is json or table, not ", value), -1;
    if (which == COUNT && (out->pings < 1 || out->pings > PINGS_MAX))
        return complain_usage("--count is between 1 and 1000, not ", value), -1;
    if (which == EXPIRES && !ctl_parse_life(value, &out->token.seconds))
        return complain_usage("--expires is like 12h, 30d or never, not ", value), -1;
    if (which == HOST && !ctl_take_host(&out->token, value))
        return complain_usage("--host is a name or an address alone, as in gpu.example, without "
                              "scheme and port; not ", *value ? value : "nothing"), -1;
    if (which == GRACE && (!ctl_parse_life(value, &out->token.grace_seconds) ||
                           !out->token.grace_seconds))
        return complain_usage("--grace is like 1h or 7d, not ", value), -1;
    if (which == ORIGIN && !ctl_add_origin(&out->token, value))
        return complain_usage("no room for one more origin: ", value), -1;
    for (int i = 0; i < NAMES && which == NAMES; i++) {
        if (strcmp(arguments[*index], names[i]) == 0)
            return complain_usage("a value is missing after ", names[i]), -1;
    }
    return which < NAMES;
}

static int check_token(ctl_options *out)
{
    static const struct {
        const char *verb;
        int least, most; /* names after it */
    } verbs[] = {{"create", 1, 1}, {"list", 0, 0},  {"rotate", 1, 1},
                 {"revoke", 1, 1}, {"prune", 0, 0}, {"mint", 0, 1}};
    const char *verb = out->words[1] ? out->words[1] : "nothing";
    size_t i = 0, count = sizeof verbs / sizeof *verbs;
    while (i < count && strcmp(verbs[i].verb, verb) != 0)
        i++;
    if (i == count)
        return complain_usage("token needs create NAME, list, rotate NAME, revoke NAME, prune or "
                              "mint, not ", verb);
    if (out->word_count - 2 < verbs[i].least)
        return complain_usage("whose token, after ", verb);
    if (out->word_count - 2 > verbs[i].most)
        return complain_usage("no name belongs after ", verb);
    out->token.verb = verb;
    out->token.name = out->words[2];
    return EXIT_OK;
}

/* The words after the command. */
static int check_words(ctl_options *out)
{
    const char *verb = out->words[1];
    if (!out->command)
        return complain_usage("which command", "?");
    const ctl_command *command = find_command(out->command);
    if (out->waits && command->obey != drain)
        return complain_usage("--wait is for drain, not ", out->command);
    if (*out->token.host && strcmp(out->command, "invite") != 0)
        return complain_usage("--host is for invite, not ", out->command);
    if (strcmp(out->command, "invite") == 0) {
        out->token.name = verb;
        if (!out->token.life_given)
            out->token.seconds = CTL_INVITE_SECONDS;
        return out->word_count <= 2 ? EXIT_OK : complain_usage("not understood: ", out->words[2]);
    }
    if (strcmp(out->command, "token") == 0)
        return check_token(out);
    if (command->obey == end) {
        bool given = verb && *verb;
        if (out->word_count == 2 && given && strspn(verb, "0123456789") == strlen(verb))
            return EXIT_OK;
        fprintf(stderr, "burnctl: %s: ", out->command);
        if (out->word_count > 2)
            return complain_usage("one session at a time, without ", out->words[2]);
        return complain_usage("the number of a session is needed, not ", given ? verb : "nothing");
    }
    return out->word_count == 1 ? EXIT_OK : complain_usage("not understood: ", verb);
}

static int parse(int count, char **arguments, ctl_options *out)
{
    *out = (ctl_options){.pings = 1, .token = {.grace_seconds = CTL_GRACE_SECONDS}};
    for (int i = 1; i < count; i++) {
        int flag = parse_flag(count, arguments, &i, out);
        if (flag < 0)
            return EXIT_USAGE;
        if (flag)
            continue;
        if (strcmp(arguments[i], "--wait") == 0) {
            out->waits = true;
            continue;
        }
        bool fits = *arguments[i] != '-' && out->word_count < WORDS_MAX &&
                    (out->command || find_command(arguments[i]));
        if (!fits)
            return complain_usage("not understood: ", arguments[i]);
        out->words[out->word_count++] = arguments[i];
        out->command = out->words[0];
    }
    return check_words(out);
}

static int complain(const char *doing)
{
    const burn_error *error = burn_last_error();
    char text[1024];
    snprintf(text, sizeof text, "%s", error->text);
    bd_utf8_show(text); /* some of it may be the other side's */
    fprintf(stderr, "burnctl: %s: %s\n", doing, text);
    return EXIT_FAILED;
}

static bool open_at(const char *url, burn_context **out)
{
    burn_options options = {.struct_size = sizeof options, .url = url, .observes = 1};
    return burn_open(&options, out) == BURN_STATUS_OK;
}

/* Otherwise one does, and refuses, or cannot be trusted; or the URL is wrong. */
static bool none_answers(void)
{
    burn_status status = burn_last_error()->status;
    return status == BURN_STATUS_UNAVAILABLE || status == BURN_STATUS_DEADLINE;
}

static int complain_unreachable(void)
{
    complain(none_answers() ? "no daemon answers" : "cannot connect");
    return EXIT_UNREACHABLE;
}

/* The look-up of clients, but for the private daemon at its end. */
static int open_daemon(const ctl_options *options, burn_context **out)
{
    const char *url = options->url ? options->url : getenv("BURN_URL"),
               *runtime = getenv("XDG_RUNTIME_DIR");
    char place[256];
    if (url && *url)
        return open_at(url, out) ? EXIT_OK : complain_unreachable();
    snprintf(place, sizeof place, "unix://%s/burnd.sock", runtime ? runtime : "");
    if (runtime && *runtime && open_at(place, out))
        return EXIT_OK;
    if (runtime && *runtime && !none_answers())
        return complain_unreachable();
    if (open_at("unix:///run/burnd/burnd.sock", out))
        return EXIT_OK;
    return complain_unreachable();
}

static void print(const ctl_options *options, json_t *report)
{
    if (options->json) {
        json_dumpf(report, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER | JSON_ENSURE_ASCII);
        putchar('\n');
    } else if (json_is_array(report) && json_array_size(report) == 0) {
        bool prunes = options->token.verb && strcmp(options->token.verb, "prune") == 0;
        printf("no %s\n", prunes                                  ? "expired tokens"
                          : strcmp(options->command, "token") == 0 ? "tokens"
                                                                   : options->command);
    } else {
        ctl_print_table(report, stdout);
    }
}

static void print_answer(const ctl_options *options, json_t *own_report)
{
    print(options, own_report);
    json_decref(own_report);
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
        print_answer(options, report);
    }
    return status;
}

/* NULL after a complaint. */
static json_t *read_report(const ctl_options *options, char *own_text)
{
    json_error_t problem;
    json_t *report = json_loads(own_text, JSON_DECODE_ANY, &problem);
    burn_free(own_text);
    if (!report)
        fprintf(stderr, "burnctl: %s: the answer is no JSON: %s\n", options->command, problem.text);
    return report;
}

/* How the daemon is; NULL after a complaint. */
static json_t *read_stats(burn_context *context, const ctl_options *options)
{
    char *text = NULL;
    if (burn_report(context, "stats", &text) == BURN_STATUS_OK)
        return read_report(options, text);
    complain(options->command);
    return NULL;
}

static int reload(burn_context *context, const ctl_options *options)
{
    if (burn_reload(context) != BURN_STATUS_OK)
        return complain("reload");
    json_t *stats = read_stats(context, options);
    if (!stats)
        return EXIT_FAILED;
    const char *keys = json_string_value(json_object_get(stats, "needs_restart"));
    if (options->json)
        print_answer(options, json_pack("{s:b, s:s}", "reloaded", 1, "needs_restart",
                                        keys ? keys : ""));
    else
        printf("reloaded%s%s\n", keys && *keys ? "; changed, but needs a restart: " : "",
               keys ? keys : "");
    json_decref(stats);
    return EXIT_OK;
}

/* A number of the report, in one of its groups. */
static json_int_t number_in(const json_t *stats, const char *group, const char *name)
{
    return json_integer_value(json_object_get(json_object_get(stats, group), name));
}

/* Asks until the daemon has ended; how many sessions it cut. -1 after a complaint: it has not said
 * that the drain was over, as it does before it ends. */
static json_int_t await_end(burn_context *context)
{
    const struct timespec pause = {.tv_nsec = 100000000};
    json_int_t cut = 0;
    bool over = false;
    for (char *text = NULL; burn_report(context, "stats", &text) == BURN_STATUS_OK;) {
        json_t *stats = json_loads(text, JSON_DECODE_ANY, NULL);
        burn_free(text);
        cut = number_in(stats, "drain", "cut");
        over = json_is_true(json_object_get(json_object_get(stats, "drain"), "over"));
        json_decref(stats);
        nanosleep(&pause, NULL);
    }
    if (over)
        return cut;
    fprintf(stderr,
            "burnctl: drain: the daemon went before its drain was over, killed or told twice to "
            "end: sessions may be cut, and its log may say how many (%s)\n",
            burn_last_error()->text);
    return -1;
}

static int drain(burn_context *context, const ctl_options *options)
{
    json_t *stats = read_stats(context, options);
    if (!stats)
        return EXIT_FAILED;
    json_int_t others = number_in(stats, "sessions", "open") - 1,
               most_s = number_in(stats, "drain", "most_ms") / 1000;
    json_decref(stats);
    if (burn_shutdown(context) != BURN_STATUS_OK)
        return complain(options->command);
    json_t *answer =
        json_pack("{s:b, s:I, s:I}", "draining", 1, "sessions", others, "most_seconds", most_s);
    if (!options->json)
        printf("draining; other sessions: %lld, which have %lld s to end\n", (long long)others,
               (long long)most_s);
    if (options->waits) {
        fflush(stdout);
        json_int_t cut = await_end(context);
        if (cut < 0) {
            json_decref(answer);
            return EXIT_FAILED;
        }
        json_object_set_new(answer, "cut", json_integer(cut));
        if (!options->json)
            printf("the daemon has ended; sessions cut: %" JSON_INTEGER_FORMAT "\n", cut);
    }
    if (options->json)
        print(options, answer);
    json_decref(answer);
    return EXIT_OK;
}

static int show(burn_context *context, const ctl_options *options)
{
    bool quotas = strcmp(options->command, "quotas") == 0;
    char *text = NULL;
    burn_status status = strcmp(options->command, "names") == 0
                             ? burn_list_names(context, NULL, &text)
                             : burn_report(context, quotas ? "stats" : options->command, &text);
    if (status != BURN_STATUS_OK)
        return complain(options->command);
    json_t *report = read_report(options, text);
    if (!report)
        return EXIT_FAILED;
    print(options, quotas ? json_object_get(report, "quotas") : report);
    json_decref(report);
    return EXIT_OK;
}

static int obey_token(burn_context *context, const ctl_options *options)
{
    bool invites = strcmp(options->command, "invite") == 0;
    const char *problem = NULL;
    json_t *result = invites ? ctl_invite(context, &options->token, &problem)
                             : ctl_obey_token(context, &options->token, &problem);
    if (!result && !problem)
        return complain(options->command);
    if (!result) {
        fprintf(stderr, "burnctl: %s: %s\n", options->command, problem);
        return EXIT_FAILED;
    }
    if (!invites && strcmp(options->token.verb, "create") == 0 && !options->token.life_given)
        fprintf(stderr, "burnctl: this token never expires; --expires=90d would end it by itself, "
                        "burnctl token revoke %s ends it\n", options->token.name);
    bool rotates = !invites && strcmp(options->token.verb, "rotate") == 0;
    if (options->json || !(invites || rotates))
        print(options, result);
    else
        ctl_print_line(result);
    json_decref(result);
    return EXIT_OK;
}

/* An end to a session, or to its work. */
static int end(burn_context *context, const ctl_options *options)
{
    uint64_t session = strtoull(options->words[1], NULL, 10);
    bool closes = strcmp(options->command, "close") == 0;
    burn_status status =
        closes ? burn_close_session(context, session) : burn_cancel(context, session);
    return status == BURN_STATUS_OK ? EXIT_OK : complain(options->command);
}

int main(int count, char **arguments)
{
    ctl_options options;
    burn_context *context = NULL;
    const char *last = arguments[count - 1]; /* also behind a command */
    if (count > 1 && (strcmp(last, "--help") == 0 || strcmp(last, "-h") == 0)) {
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
        status = find_command(options.command)->obey(context, &options);
    burn_close(context);
    if (fflush(stdout) != 0 && status == EXIT_OK)
        status = EXIT_FAILED;
    return status;
}
