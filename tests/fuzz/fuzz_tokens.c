/* SPDX-License-Identifier: Apache-2.0
 * Fuzz target of the token file: what is taken prints back to the same, and no more happens. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/alloc.h"
#include "server/tokens.h"

static bool same(const bd_tokens *a, const bd_tokens *b)
{
    if (a->list.count != b->list.count)
        return false;
    for (size_t i = 0; i < a->list.count; i++) {
        const bd_token *one = &a->list.items[i], *two = &b->list.items[i];
        bool origins = one->origins ? two->origins && strcmp(one->origins, two->origins) == 0
                                    : !two->origins;
        if (strcmp(one->name, two->name) != 0 || one->scopes != two->scopes ||
            one->expires_s != two->expires_s || !origins ||
            memcmp(one->digest, two->digest, sizeof one->digest) != 0)
            return false;
    }
    return true;
}

static bool has(bd_tokens *tokens, const char *secret)
{
    return bd_tokens_find(tokens, bd_text_of(secret)) != NULL;
}

/* A second one has what the first one has, until that ends. */
static void rotate(bd_tokens *tokens, const char *first)
{
    char secret[BD_TOKEN_SECRET_BYTES], id[BD_TOKEN_ID_BYTES], which[BD_TOKEN_ID_BYTES + 8];
    bd_token made = {.name = "fuzz"};
    bd_error *error = bd_tokens_rotate(tokens, &made, 4102444800, secret);
    if (!error) {
        const bd_token *found = bd_tokens_find(tokens, bd_text_of(secret));
        snprintf(which, sizeof which, "fuzz/%s", bd_token_id(&made, id));
        if (!found || found->scopes != 3 || !bd_token_allows_origin(found, "http://b.org:8080") ||
            bd_token_expired(found) || !has(tokens, first) || !bd_tokens_remove(tokens, which) ||
            has(tokens, secret) || !has(tokens, first))
            abort();
    }
    bd_error_free(error);
}

/* A name that is free can be added and removed. */
static void change(bd_tokens *tokens)
{
    static char origins[] = "https://a.org,http://b.org:8080";
    char secret[BD_TOKEN_SECRET_BYTES];
    bd_token wanted = {.name = "fuzz", .scopes = 3, .origins = origins};
    bd_error *error = bd_tokens_add(tokens, &wanted, secret);
    if (!error) {
        const bd_token *found = bd_tokens_find(tokens, bd_text_of(secret));
        if (!found || strcmp(found->name, "fuzz") != 0 || bd_token_allows_origin(found, "x") ||
            !bd_token_allows_origin(found, "https://a.org"))
            abort();
        rotate(tokens, secret);
        if (!bd_tokens_remove(tokens, "fuzz") || has(tokens, secret))
            abort();
    }
    bd_error_free(error);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    bd_tokens tokens = {0}, back = {0};
    char *exact = bd_alloc(size ? size : 1); /* an overrun is seen by the sanitizer */
    memcpy(exact, bytes, size);
    bd_error *error = bd_tokens_parse(exact, size, &tokens);
    bd_free(exact);
    if (!error) {
        size_t printed;
        char *text = bd_tokens_print(&tokens, &printed);
        for (size_t i = 0; i < tokens.list.count; i++)
            bd_token_allows_origin(&tokens.list.items[i], "https://a.org");
        bd_error *again = bd_tokens_parse(text, printed, &back);
        if (again || !same(&tokens, &back))
            abort();
        bd_free(text);
        change(&tokens);
        bd_tokens_deinit(&back);
    }
    bd_error_free(error);
    bd_tokens_deinit(&tokens);
    return 0;
}
