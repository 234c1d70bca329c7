/* SPDX-License-Identifier: Apache-2.0
 * Tokens: burnctl token and burnctl invite. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "burn/burn.h"

enum { CTL_INVITE_SECONDS = 30 * 86400, CTL_GRACE_SECONDS = 86400 };

typedef struct ctl_token_options {
    const char *verb, *name; /* of token: create, list, rotate, …; NULL for invite */
    const char *scopes;
    char host[264]; /* "": the listener's, or this host's name */
    char origins[512]; /* separated by commas */
    bool life_given;
    uint64_t seconds;       /* until it expires; 0: never */
    uint64_t grace_seconds; /* of rotate: until those before end */
} ctl_token_options;

/* "90s", "30min", "12h", "30d" or "never" to seconds. */
bool ctl_parse_life(const char *text, uint64_t *out_seconds);
/* What stands behind --host: a name, or an address without a port; false for anything else. */
bool ctl_take_host(ctl_token_options *options, const char *host);
/* One more origin; false if there is no room. */
bool ctl_add_origin(ctl_token_options *options, const char *origin);
/* What is to be shown. NULL if it failed: *out_problem says why, or burn_last_error. */
json_t *ctl_obey_token(burn_context *context, const ctl_token_options *options,
                       const char **out_problem);
/* The same for a new token, with the URL of a listener beside it. */
json_t *ctl_invite(burn_context *context, const ctl_token_options *options,
                   const char **out_problem);
/* A new token as the line that its user pastes into a shell; of a rotated one, stderr hears the
 * ends. */
void ctl_print_line(const json_t *token);
