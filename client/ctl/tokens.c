/* SPDX-License-Identifier: Apache-2.0 */
#include "client/ctl/tokens.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

bool ctl_parse_life(const char *text, uint64_t *out_seconds)
{
    static const struct {
        const char *unit;
        uint64_t seconds;
    } units[] = {{"s", 1}, {"min", 60}, {"h", 3600}, {"d", 86400}};
    char *end;
    unsigned long long count = strtoull(text, &end, 10);
    *out_seconds = 0;
    if (strcmp(text, "never") == 0)
        return true;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (end > text && *text != '-' && strcmp(end, units[i].unit) == 0 && count > 0 &&
            count < UINT32_MAX) {
            *out_seconds = count * units[i].seconds;
            return true;
        }
    }
    return false;
}

bool ctl_add_origin(ctl_token_options *options, const char *origin)
{
    size_t used = strlen(options->origins), room = sizeof options->origins - used;
    return snprintf(options->origins + used, room, "%s%s", used ? "," : "", origin) < (int)room;
}

bool ctl_take_host(ctl_token_options *options, const char *host)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    char inner[64] = "";
    struct in6_addr six;
    size_t size = strlen(host);
    bool bracketed = size > 2 && size < sizeof inner && host[0] == '[' && host[size - 1] == ']';
    snprintf(inner, sizeof inner, "%.*s", (int)(bracketed ? size - 2 : size < 64 ? size : 0),
             bracketed ? host + 1 : host);
    bool is_six = inet_pton(AF_INET6, inner, &six) == 1;
    if (!is_six && (!size || size > 253 || strspn(host, letters) != size || *host == '-'))
        return false;
    snprintf(options->host, sizeof options->host, is_six ? "[%s]" : "%s", is_six ? inner : host);
    return true;
}

static json_t *read_json(char *own_text, const char **out_problem)
{
    json_t *json = json_loads(own_text, JSON_DECODE_ANY, NULL);
    memset(own_text, 0, strlen(own_text));
    burn_free(own_text);
    *out_problem = json ? NULL : "the answer is no JSON";
    return json;
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

/* how: burn_create_token or burn_mint_token. */
static json_t *make(burn_context *context, const ctl_token_options *options, const char *name,
                    burn_status (*how)(burn_context *, const char *, const char *, uint64_t,
                                       const char *, char **),
                    const char **out_problem)
{
    char *text = NULL;
    if (how(context, name, options->scopes, options->seconds, options->origins, &text) !=
        BURN_STATUS_OK)
        return NULL;
    return read_json(text, out_problem);
}

static json_t *list(burn_context *context, const char *kind, const char **out_problem)
{
    char *text = NULL;
    if (burn_report(context, kind, &text) != BURN_STATUS_OK)
        return NULL;
    return read_json(text, out_problem);
}

/* For as long as an invitation, unless another life is wished, or none of its tokens has an end. */
static json_t *rotate(burn_context *context, const ctl_token_options *options,
                      const char **out_problem)
{
    json_t *tokens = list(context, "tokens", out_problem), *token;
    uint64_t seconds = options->seconds;
    size_t i;
    char *text = NULL;
    if (!tokens)
        return NULL;
    json_array_foreach(tokens, i, token) {
        if (strcmp(text_of(token, "name"), options->name) == 0 && !options->life_given)
            seconds = strcmp(text_of(token, "expires"), "never") == 0 ? 0 : CTL_INVITE_SECONDS;
    }
    json_decref(tokens);
    if (burn_rotate_token(context, options->name, seconds, options->grace_seconds, &text) !=
        BURN_STATUS_OK)
        return NULL;
    return read_json(text, out_problem);
}

/* Those that have expired end; which ones. */
static json_t *prune(burn_context *context, const char **out_problem)
{
    json_t *tokens = list(context, "tokens", out_problem), *token;
    json_t *gone = tokens ? json_array() : NULL;
    size_t i;
    json_array_foreach(tokens, i, token) {
        char which[128];
        if (!gone || !json_is_true(json_object_get(token, "expired")))
            continue;
        snprintf(which, sizeof which, "%s/%s", text_of(token, "name"), text_of(token, "id"));
        if (burn_revoke_token(context, which) == BURN_STATUS_OK) {
            json_array_append_new(gone, json_pack("{s:s, s:s}", "revoked", which, "expired",
                                                  text_of(token, "expires")));
        } else {
            json_decref(gone);
            gone = NULL;
        }
    }
    json_decref(tokens);
    return gone;
}

json_t *ctl_obey_token(burn_context *context, const ctl_token_options *options,
                       const char **out_problem)
{
    if (strcmp(options->verb, "list") == 0)
        return list(context, "tokens", out_problem);
    if (strcmp(options->verb, "create") == 0)
        return make(context, options, options->name, burn_create_token, out_problem);
    if (strcmp(options->verb, "mint") == 0)
        return make(context, options, options->name, burn_mint_token, out_problem);
    if (strcmp(options->verb, "rotate") == 0)
        return rotate(context, options, out_problem);
    if (strcmp(options->verb, "prune") == 0)
        return prune(context, out_problem);
    if (burn_revoke_token(context, options->name) != BURN_STATUS_OK)
        return NULL;
    return json_pack("{s:s}", "revoked", options->name);
}

/* The URL that a colleague uses: a listener on all addresses is reached by this host's name. */
static json_t *url_of(const json_t *listener, const char *host)
{
    const char *url = text_of(listener, "url"), *pin = text_of(listener, "pin");
    const char *port = strrchr(url, ':');
    char name[264] = "", text[520];
    if (!port || strncmp(url, "tls://", 6) != 0)
        return NULL;
    bool everywhere = strncmp(url + 6, "0.0.0.0:", 8) == 0 || strncmp(url + 6, "[::]:", 5) == 0;
    if (*host)
        snprintf(name, sizeof name, "%s", host);
    else if (!everywhere)
        snprintf(name, sizeof name, "%.*s", (int)(port - url - 6), url + 6);
    else if (gethostname(name, sizeof name - 1) != 0)
        return NULL;
    snprintf(text, sizeof text, "tls://%s%s?pin=%s", name, port, pin);
    return json_string(text);
}

/* Others may reach what this host does not, as behind a router: it is only said. */
static void try_url(const char *url, const char *secret)
{
    burn_options options = {.struct_size = sizeof options, .url = url, .connect_timeout_ms = 3000};
    burn_context *there = NULL;
    setenv("BURN_TOKEN", secret, 1);
    burn_status status = burn_open(&options, &there);
    burn_close(there);
    if (status != BURN_STATUS_OK && status != BURN_STATUS_DENIED && status != BURN_STATUS_LIMIT)
        fprintf(stderr,
                "burnctl: seen from here the URL leads to no daemon (%s); --host=NAME says by "
                "which name others reach this one\n",
                burn_last_error()->text);
}

json_t *ctl_invite(burn_context *context, const ctl_token_options *options,
                   const char **out_problem)
{
    json_t *listeners = list(context, "listeners", out_problem), *url = NULL;
    for (size_t i = 0; i < json_array_size(listeners) && !url; i++)
        url = url_of(json_array_get(listeners, i), options->host);
    if (listeners && !url)
        *out_problem = "the daemon has no tls:// listener; start it with --listen=tls://0.0.0.0";
    json_decref(listeners);
    char name[64];
    time_t now = time(NULL);
    struct tm parts;
    strftime(name, sizeof name, "invite-%Y%m%d-%H%M%S", gmtime_r(&now, &parts));
    json_t *token = url ? make(context, options, options->name ? options->name : name,
                               burn_create_token, out_problem)
                        : NULL;
    if (token) {
        json_object_set(token, "url", url);
        try_url(text_of(token, "url"), text_of(token, "token"));
    }
    json_decref(url);
    return token;
}

void ctl_print_line(const json_t *token)
{
    const char *url = text_of(token, "url"), *others_end = text_of(token, "others_end");
    if (*url)
        printf("export BURN_URL='%s' BURN_TOKEN=%s\n", url, text_of(token, "token"));
    else
        printf("export BURN_TOKEN=%s\n", text_of(token, "token"));
    if (*others_end)
        fprintf(stderr,
                "burnctl: instead of the token before, which ends with its sessions at %s; this "
                "one's end: %s; BURN_URL stays\n",
                others_end, text_of(token, "expires"));
}
