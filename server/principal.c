/* SPDX-License-Identifier: Apache-2.0 */
#include "server/principal.h"

#include <stdio.h>
#include <string.h>

static const char *const scope_names[] = {
#define SCOPE(name, NAME, says) #name,
#include "server/scopes.def"
};

static const char *const identity_begins[] = {
#define IDENTITY(NAME, begin, rest) begin,
#include "server/identities.def"
};

void bd_principal_call(bd_principal *principal, bd_identity kind, const char *rest)
{
    snprintf(principal->name, sizeof principal->name, "%s%s", identity_begins[kind], rest);
}

static bool begins(const char *text, size_t size_bytes, int kind)
{
    size_t size = strlen(identity_begins[kind]);
    return size_bytes >= size && memcmp(text, identity_begins[kind], size) == 0;
}

bool bd_principal_is(const bd_principal *principal, bd_identity kind)
{
    return begins(principal->name, strlen(principal->name), kind);
}

bool bd_principal_is_name(const char *text, size_t size_bytes)
{
    int kind = 0;
    while (kind < BD_IDENTITY_COUNT && !begins(text, size_bytes, kind))
        kind++;
    if (kind == BD_IDENTITY_COUNT)
        return false;
    size_t size = strlen(identity_begins[kind]), rest = size_bytes - size;
    if (kind == BD_IDENTITY_USER)
        return rest > 0 && strspn(text + size, "0123456789") >= rest;
    return (kind == BD_IDENTITY_NOBODY) == (rest == 0);
}

bd_error *bd_scopes_parse(const char *text, size_t size_bytes, unsigned *out)
{
    static const char separators[] = " \t,";
    unsigned scopes = 0;
    for (size_t at = 0; at < size_bytes;) {
        size_t size = 0;
        while (at + size < size_bytes && !memchr(separators, text[at + size], 3))
            size++;
        unsigned bit = 0;
        while (size && bit < BD_SCOPE_COUNT && !(strlen(scope_names[bit]) == size &&
                                                 memcmp(scope_names[bit], text + at, size) == 0))
            bit++;
        if (size && bit == BD_SCOPE_COUNT) {
            char all[BD_SCOPES_TEXT_BYTES];
            BD_FAIL(INVALID, "there is no scope \"%.*s\"; there are %s",
                    (int)(size < 32 ? size : 32), text + at,
                    bd_scopes_print(BD_SCOPE_EVERY, all));
        }
        if (size)
            scopes |= 1u << bit;
        at += size ? size : 1;
    }
    *out = scopes;
    return NULL;
}

char *bd_scopes_print(unsigned scopes, char room[BD_SCOPES_TEXT_BYTES])
{
    size_t used = 0;
    room[0] = '\0';
    for (unsigned bit = 0; bit < BD_SCOPE_COUNT; bit++) {
        if (scopes >> bit & 1)
            used += (size_t)snprintf(room + used, BD_SCOPES_TEXT_BYTES - used, "%s%s",
                                     used ? "," : "", scope_names[bit]);
    }
    return room;
}

bd_error *bd_principal_may(const bd_principal *principal, const bd_message *message,
                           uint64_t *out_request)
{
    enum {
        CONNECTION,
        REQUEST,
        EVERY = BD_SCOPE_EVERY,
#define SCOPE(name, NAME, says) NAME = BD_SCOPE_##NAME,
#include "server/scopes.def"
    };
    static const struct {
        unsigned scopes;
        int concerns;
    } rights[] = {
#define RIGHT(NAME, concerns, scopes) [BD_MESSAGE_##NAME] = {(scopes), (concerns)},
#include "server/rights.def"
    };
    size_t type = (size_t)message->type, count = sizeof rights / sizeof *rights;
    unsigned needed = type < count ? rights[type].scopes : 0;
    *out_request = 0;
    if (principal->scopes & needed || needed == BD_SCOPE_EVERY)
        return NULL;
    if (type < count && rights[type].concerns == REQUEST)
        *out_request = message->get.request; /* the first field of all of them */
    char text[BD_SCOPES_TEXT_BYTES], has[BD_SCOPES_TEXT_BYTES];
    BD_FAIL(DENIED, "%s needs a scope of %s; %.100s has %s", bd_message_lookup((int)type)->name,
            needed ? bd_scopes_print(needed, text) : "none", principal->name,
            principal->scopes ? bd_scopes_print(principal->scopes, has) : "none");
}
