/* SPDX-License-Identifier: Apache-2.0
 * Fuzz target of the token file: what is taken prints back to the same, and no more happens. */
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

/* A name that is free can be added and removed. */
static void change(bd_tokens *tokens)
{
    char secret[BD_TOKEN_SECRET_BYTES];
    bd_token wanted = {.name = "fuzz", .scopes = 3};
    bd_error *error = bd_tokens_add(tokens, &wanted, secret);
    if (!error) {
        const bd_token *found = bd_tokens_find(tokens, bd_text_of(secret));
        if (!found || strcmp(found->name, "fuzz") != 0 || !bd_token_allows_origin(found, "x") ||
            !bd_tokens_remove(tokens, "fuzz") || bd_tokens_find(tokens, bd_text_of(secret)))
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
