/* SPDX-License-Identifier: Apache-2.0 */
#include "server/minted.h"

#include <openssl/crypto.h>
#include <string.h>
#include <time.h>

#include "proto/base/alloc.h"
#include "proto/limits.h"

enum { MINTED_MAX = 4096, SECONDS = 600 };

/* What no minted token may have: it could make others, or outlive what it is for. */
static const unsigned kept_scopes = BD_SCOPE_MINT | BD_SCOPE_ADMIN | BD_SCOPE_PEER;

static uint64_t key_of(const uint8_t digest[BD_TOKEN_DIGEST_BYTES])
{
    uint64_t key;
    memcpy(&key, digest, sizeof key);
    return key;
}

static void destroy(bd_minted *minted)
{
    bd_free(minted->token.origins);
    bd_free(minted);
}

void bd_minted_deinit(bd_minted_tokens *minted)
{
    uint64_t key;
    void *each;
    for (size_t cursor = 0; bd_map_next(&minted->list, &cursor, &key, &each);)
        destroy(each);
    bd_map_deinit(&minted->list);
}

static bd_error *check(const bd_principal *parent, const bd_token *wanted, uint64_t seconds)
{
    char has[BD_SCOPES_TEXT_BYTES], may[BD_SCOPES_TEXT_BYTES];
    if (*wanted->name || wanted->origins) {
        bd_token named = *wanted;
        if (!*named.name)
            named.name[0] = '-';
        BD_TRY(bd_token_check(&named));
    }
    if (seconds > BURN_MINT_SECONDS_MAX)
        BD_FAIL(INVALID, "a minted token lives at most %d seconds", BURN_MINT_SECONDS_MAX);
    if (wanted->scopes & ~parent->scopes || wanted->scopes & kept_scopes)
        BD_FAIL(DENIED, "a token with the scopes %s cannot be minted here; it could have %s",
                bd_scopes_print(wanted->scopes, has),
                bd_scopes_print(parent->scopes & ~kept_scopes, may));
    return NULL;
}

bd_error *bd_minted_add(bd_minted_tokens *minted, const bd_principal *parent,
                        const bd_token *wanted, uint64_t seconds,
                        char secret[BD_TOKEN_SECRET_BYTES], int64_t *out_expires_s)
{
    BD_TRY(check(parent, wanted, seconds));
    int64_t now_s = time(NULL);
    bd_minted_sweep(minted, now_s);
    if (minted->list.count >= MINTED_MAX)
        BD_FAIL(LIMIT, "%d minted tokens are alive, more are not allowed", MINTED_MAX);
    bd_minted made = {.token = *wanted, .parent = *parent};
    do
        BD_TRY(bd_token_make(secret, made.token.digest));
    while (bd_map_get(&minted->list, key_of(made.token.digest)));
    made.token.expires_s = now_s + (int64_t)(seconds ? seconds : SECONDS);
    if (parent->expires_s && parent->expires_s < made.token.expires_s)
        made.token.expires_s = parent->expires_s;
    made.token.origins = wanted->origins ? bd_strdup(wanted->origins) : NULL;
    bd_minted *kept = bd_alloc(sizeof *kept);
    *kept = made;
    bd_map_put(&minted->list, key_of(made.token.digest), kept);
    *out_expires_s = made.token.expires_s;
    return NULL;
}

const bd_minted *bd_minted_find(const bd_minted_tokens *minted, bd_text shown)
{
    uint8_t digest[BD_TOKEN_DIGEST_BYTES];
    bd_token_digest(shown, digest);
    return bd_minted_with(minted, digest);
}

const bd_minted *bd_minted_with(const bd_minted_tokens *minted, const uint8_t *digest)
{
    const bd_minted *found = bd_map_get(&minted->list, key_of(digest));
    bool equal = found && CRYPTO_memcmp(found->token.digest, digest, BD_TOKEN_DIGEST_BYTES) == 0;
    return equal ? found : NULL;
}

/* Ends those for which ends() says so. */
static void end_those(bd_minted_tokens *minted, bool (*ends)(bd_minted *, const void *),
                      const void *user)
{
    uint64_t key;
    void *each;
    bd_map left = {0};
    for (size_t cursor = 0; bd_map_next(&minted->list, &cursor, &key, &each);) {
        if (ends(each, user))
            destroy(each);
        else
            bd_map_put(&left, key, each);
    }
    bd_map_deinit(&minted->list);
    minted->list = left;
}

static bool expired(bd_minted *minted, const void *now_s)
{
    return minted->token.expires_s <= *(const int64_t *)now_s;
}

void bd_minted_sweep(bd_minted_tokens *minted, int64_t now_s)
{
    end_those(minted, expired, &now_s);
}

static bool orphaned(bd_minted *minted, const void *user)
{
    const bd_tokens *tokens = user;
    if (!minted->parent.has_token)
        return false;
    const bd_token *parent = bd_tokens_with(tokens, minted->parent.digest);
    if (!parent)
        return true;
    minted->token.scopes &= parent->scopes;
    if (parent->expires_s && parent->expires_s < minted->token.expires_s)
        minted->token.expires_s = parent->expires_s;
    return !(parent->scopes & BD_SCOPE_MINT);
}

void bd_minted_follow(bd_minted_tokens *minted, const bd_tokens *tokens)
{
    end_those(minted, orphaned, tokens);
}
