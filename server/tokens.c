/* SPDX-License-Identifier: Apache-2.0 */
#include "server/tokens.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "proto/base/alloc.h"
#include "server/web_names.h"

enum { RANDOM_BYTES = 32, LINE_BYTES_MAX = 2048, FIELDS = 5 };

static const char prefix[] = "burn_";

/* ---- time ------------------------------------------------------------------------------------ */

bool bd_time_parse(const char *text, size_t size_bytes, int64_t *out_seconds)
{
    static const char form[] = "0000-00-00T00:00:00Z";
    static const uint8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (size_bytes != sizeof form - 1)
        return false;
    int numbers[6] = {0}, number = 0;
    for (size_t i = 0; i < size_bytes; i++) {
        bool digit = text[i] >= '0' && text[i] <= '9';
        if (form[i] == '0' ? !digit : text[i] != form[i])
            return false;
        if (digit)
            numbers[number] = numbers[number] * 10 + (text[i] - '0');
        else
            number++;
    }
    int year = numbers[0], month = numbers[1], day = numbers[2];
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    if (year < 1970 || month < 1 || month > 12 || day < 1 ||
        day > days[month - 1] + (month == 2 && leap) || numbers[3] > 23 || numbers[4] > 59 ||
        numbers[5] > 59)
        return false;
    struct tm parts = {.tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = day,
                       .tm_hour = numbers[3], .tm_min = numbers[4], .tm_sec = numbers[5]};
    *out_seconds = timegm(&parts);
    return true;
}

char *bd_time_print(int64_t seconds, char room[BD_TIME_TEXT_BYTES])
{
    time_t time = (time_t)seconds;
    struct tm parts;
    gmtime_r(&time, &parts);
    strftime(room, BD_TIME_TEXT_BYTES, "%Y-%m-%dT%H:%M:%SZ", &parts);
    return room;
}

/* ---- parts of a token ------------------------------------------------------------------------ */

static bool valid_name(const char *text, size_t size)
{
    static const char others[] = "._-";
    if (size == 0 || size >= BD_TOKEN_NAME_BYTES)
        return false;
    for (size_t i = 0; i < size; i++) {
        bool letter = (text[i] >= 'a' && text[i] <= 'z') || (text[i] >= 'A' && text[i] <= 'Z');
        if (!letter && !(text[i] >= '0' && text[i] <= '9') && !memchr(others, text[i], 3))
            return false;
    }
    return true;
}

/* scheme://host[:port], several separated by commas, nothing that could end a field. */
static bool valid_origins(const char *text, size_t size)
{
    for (size_t at = 0; at <= size;) {
        const char *comma = at < size ? memchr(text + at, ',', size - at) : NULL;
        size_t part = (comma ? (size_t)(comma - text) : size) - at;
        size_t mark = at;
        while (mark + 3 < at + part && memcmp(text + mark, "://", 3) != 0)
            mark++;
        if (mark == at || mark + 3 >= at + part)
            return false;
        for (size_t i = at; i < at + part; i++) {
            if (text[i] <= ' ' || text[i] >= 0x7F || (i > mark + 2 && text[i] == '/'))
                return false;
        }
        at += part + 1;
    }
    return size < BD_TOKEN_ORIGINS_BYTES_MAX;
}

static int hex_value(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

static bool parse_digest(const char *text, size_t size, uint8_t out[BD_TOKEN_DIGEST_BYTES])
{
    if (size != 2 * (size_t)BD_TOKEN_DIGEST_BYTES)
        return false;
    for (size_t i = 0; i < BD_TOKEN_DIGEST_BYTES; i++) {
        int high = hex_value(text[2 * i]), low = hex_value(text[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        out[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

static char *copy(const char *text, size_t size)
{
    char *made = bd_alloc(size + 1);
    memcpy(made, text, size);
    made[size] = '\0';
    return made;
}

/* ---- the file -------------------------------------------------------------------------------- */

void bd_tokens_deinit(bd_tokens *tokens)
{
    for (size_t i = 0; i < tokens->list.count; i++)
        bd_free(tokens->list.items[i].origins);
    bd_vec_deinit(&tokens->list);
}

static bool has(const bd_tokens *tokens, const bd_token *token)
{
    for (size_t i = 0; i < tokens->list.count; i++) {
        const bd_token *known = &tokens->list.items[i];
        if (strcmp(known->name, token->name) == 0 &&
            memcmp(known->digest, token->digest, BD_TOKEN_DIGEST_BYTES) == 0)
            return true;
    }
    return false;
}

static bd_error *check_room(const bd_tokens *tokens, unsigned scopes)
{
    if (!scopes)
        BD_FAIL(INVALID, "a token needs a scope at least, as in infer,compute");
    if (tokens->list.count >= BD_TOKENS_MAX)
        BD_FAIL(LIMIT, "more than %d tokens; burnctl token prune removes those that have expired",
                BD_TOKENS_MAX);
    return NULL;
}

static bd_error *take_fields(const bd_text fields[FIELDS], bd_tokens *tokens)
{
    bd_token token = {0};
    if (!valid_name(fields[0].bytes, fields[0].size_bytes))
        BD_FAIL(INVALID, "a name is 1 to %d letters, digits, dots, dashes and underscores",
                BD_TOKEN_NAME_BYTES - 1);
    if (!parse_digest(fields[1].bytes, fields[1].size_bytes, token.digest))
        BD_FAIL(INVALID, "the digest is not a SHA-256 in 64 lower-case hex digits");
    BD_TRY(bd_scopes_parse(fields[2].bytes, fields[2].size_bytes, &token.scopes));
    if (!bd_text_equal(fields[3], "-") &&
        !bd_time_parse(fields[3].bytes, fields[3].size_bytes, &token.expires_s))
        BD_FAIL(INVALID, "the expiry is neither - nor a time like 2027-01-31T12:00:00Z");
    if (!bd_text_equal(fields[4], "-") && !valid_origins(fields[4].bytes, fields[4].size_bytes))
        BD_FAIL(INVALID, "the origins are neither - nor like https://example.org,https://b.org");
    BD_TRY(check_room(tokens, token.scopes));
    memcpy(token.name, fields[0].bytes, fields[0].size_bytes);
    if (has(tokens, &token))
        BD_FAIL(CONFLICT, "there is a token \"%s\" already, with the same digest", token.name);
    if (!bd_text_equal(fields[4], "-"))
        token.origins = copy(fields[4].bytes, fields[4].size_bytes);
    *bd_vec_push(&tokens->list) = token;
    return NULL;
}

static bd_error *take_line(const char *line, size_t size, bd_tokens *tokens)
{
    bd_text fields[FIELDS] = {0};
    size_t count = 0, at = 0;
    if (size > LINE_BYTES_MAX)
        BD_FAIL(LIMIT, "the line has more than %d bytes", LINE_BYTES_MAX);
    while (at < size) {
        size_t length = 0;
        while (at + length < size && line[at + length] != ' ' && line[at + length] != '\t')
            length++;
        if (count == 0 && length && line[at] == '#')
            return NULL;
        if (length && count == FIELDS)
            BD_FAIL(INVALID, "the line has more than name, digest, scopes, expiry and origins");
        if (length)
            fields[count++] = (bd_text){.bytes = line + at, .size_bytes = length};
        at += length ? length : 1;
    }
    if (count && count < FIELDS)
        BD_FAIL(INVALID, "the line lacks some of name, digest, scopes, expiry and origins");
    return count ? take_fields(fields, tokens) : NULL;
}

bd_error *bd_tokens_parse(const char *text, size_t size_bytes, bd_tokens *out)
{
    bd_tokens made = {0};
    unsigned number = 1;
    for (size_t at = 0; at < size_bytes; number++) {
        const char *end = memchr(text + at, '\n', size_bytes - at);
        size_t size = (end ? (size_t)(end - text) : size_bytes) - at;
        bd_error *error = take_line(text + at, size, &made);
        if (error) {
            bd_tokens_deinit(&made);
            return bd_error_note(error, "line %u", number);
        }
        at += size + 1;
    }
    *out = made;
    return NULL;
}

char *bd_tokens_print(const bd_tokens *tokens, size_t *out_bytes)
{
    char *text = NULL;
    FILE *file = open_memstream(&text, out_bytes);
    if (!file)
        return bd_alloc_zeroed(1);
    fprintf(file, "# name, SHA-256 of the token, scopes, expiry or -, origins or -\n");
    for (size_t i = 0; i < tokens->list.count; i++) {
        const bd_token *token = &tokens->list.items[i];
        char scopes[BD_SCOPES_TEXT_BYTES], expiry[BD_TIME_TEXT_BYTES] = "-";
        if (token->expires_s)
            bd_time_print(token->expires_s, expiry);
        fprintf(file, "%s ", token->name);
        for (size_t j = 0; j < BD_TOKEN_DIGEST_BYTES; j++)
            fprintf(file, "%02x", token->digest[j]);
        fprintf(file, " %s %s %s\n", bd_scopes_print(token->scopes, scopes), expiry,
                token->origins ? token->origins : "-");
    }
    fclose(file);
    return text;
}

/* ---- use ------------------------------------------------------------------------------------- */

void bd_token_digest(bd_text shown, uint8_t digest[BD_TOKEN_DIGEST_BYTES])
{
    memset(digest, 0, BD_TOKEN_DIGEST_BYTES);
    EVP_Digest(shown.bytes, shown.size_bytes, digest, NULL, EVP_sha256(), NULL);
}

bd_error *bd_token_make(char secret[BD_TOKEN_SECRET_BYTES], uint8_t digest[BD_TOKEN_DIGEST_BYTES])
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    unsigned char bytes[RANDOM_BYTES + 1] = {0};
    if (RAND_bytes(bytes, RANDOM_BYTES) != 1)
        BD_FAIL(UNAVAILABLE, "the system gives no random bytes");
    size_t used = sizeof prefix - 1;
    memcpy(secret, prefix, used);
    for (size_t bit = 0; bit < RANDOM_BYTES * 8; bit += 6) {
        unsigned pair = (unsigned)bytes[bit / 8] << 8 | bytes[bit / 8 + 1];
        secret[used++] = letters[pair >> (10 - bit % 8) & 63];
    }
    secret[used] = '\0';
    OPENSSL_cleanse(bytes, sizeof bytes);
    bd_token_digest(bd_text_of(secret), digest);
    return NULL;
}

bd_error *bd_token_check(const bd_token *wanted)
{
    if (!valid_name(wanted->name, strnlen(wanted->name, BD_TOKEN_NAME_BYTES)))
        BD_FAIL(INVALID,
                "a token's name is 1 to %d letters, digits, dots, dashes and underscores",
                BD_TOKEN_NAME_BYTES - 1);
    if (wanted->origins && !valid_origins(wanted->origins, strlen(wanted->origins)))
        BD_FAIL(INVALID, "an origin is written as https://example.org, with nothing behind it");
    for (const char *at = wanted->origins; at && *at;) {
        size_t part = strcspn(at, ",");
        BD_TRY(bd_origin_check(at, part));
        at += part + (at[part] == ',');
    }
    return NULL;
}

/* The last one of a name; NULL. */
static const bd_token *newest(const bd_tokens *tokens, const char *name)
{
    const bd_token *found = NULL;
    for (size_t i = 0; i < tokens->list.count; i++)
        if (strcmp(tokens->list.items[i].name, name) == 0)
            found = &tokens->list.items[i];
    return found;
}

bd_error *bd_tokens_add(bd_tokens *tokens, const bd_token *wanted,
                        char secret[BD_TOKEN_SECRET_BYTES])
{
    bd_token token = *wanted;
    BD_TRY(bd_token_check(wanted));
    if (newest(tokens, wanted->name))
        BD_FAIL(CONFLICT,
                "there is a token \"%s\" already; burnctl token rotate gives it a new secret, "
                "burnctl token revoke ends it",
                wanted->name);
    BD_TRY(check_room(tokens, wanted->scopes));
    BD_TRY(bd_token_make(secret, token.digest));
    token.origins = wanted->origins ? bd_strdup(wanted->origins) : NULL;
    *bd_vec_push(&tokens->list) = token;
    return NULL;
}

/* Those for which goes() says so. False if there are none. */
static bool remove_those(bd_tokens *tokens, bool (*goes)(const bd_token *, const char *),
                         const char *which)
{
    size_t kept = 0, count = tokens->list.count;
    for (size_t i = 0; i < count; i++) {
        bd_token *token = &tokens->list.items[i];
        if (goes(token, which))
            bd_free(token->origins);
        else
            tokens->list.items[kept++] = *token;
    }
    tokens->list.count = kept;
    return kept < count;
}

/* "NAME" or "NAME/ID". */
static bool is_meant(const bd_token *token, const char *which)
{
    char id[BD_TOKEN_ID_BYTES];
    size_t size = strlen(token->name);
    if (strncmp(which, token->name, size) != 0)
        return false;
    return !which[size] || (which[size] == '/' &&
                            strcmp(which + size + 1, bd_token_id(token, id)) == 0);
}

static bool is_over(const bd_token *token, const char *name)
{
    return strcmp(token->name, name) == 0 && bd_token_expired(token);
}

bd_error *bd_token_missing(const char *which)
{
    return BD_ERROR(NOT_FOUND, "there is no token \"%.64s\"; burnctl token list shows them", which);
}

bd_error *bd_tokens_rotate(bd_tokens *tokens, bd_token *made, int64_t until_s,
                           char secret[BD_TOKEN_SECRET_BYTES])
{
    const bd_token *before = newest(tokens, made->name);
    if (!before)
        return bd_token_missing(made->name);
    BD_TRY(check_room(tokens, before->scopes));
    BD_TRY(bd_token_make(secret, made->digest));
    made->scopes = before->scopes;
    made->origins = before->origins ? bd_strdup(before->origins) : NULL;
    remove_those(tokens, is_over, made->name);
    for (size_t i = 0; i < tokens->list.count; i++) {
        bd_token *token = &tokens->list.items[i];
        bool sooner = token->expires_s && token->expires_s < until_s;
        if (strcmp(token->name, made->name) == 0 && !sooner)
            token->expires_s = until_s;
    }
    *bd_vec_push(&tokens->list) = *made;
    return NULL;
}

int64_t bd_tokens_others_end(const bd_tokens *tokens, const bd_token *token)
{
    int64_t last_s = 0;
    for (size_t i = 0; i < tokens->list.count; i++) {
        const bd_token *other = &tokens->list.items[i];
        bool same = memcmp(other->digest, token->digest, BD_TOKEN_DIGEST_BYTES) == 0;
        if (same || strcmp(other->name, token->name) != 0)
            continue;
        if (!other->expires_s)
            return 0;
        last_s = other->expires_s > last_s ? other->expires_s : last_s;
    }
    return last_s;
}

bool bd_tokens_remove(bd_tokens *tokens, const char *which)
{
    return remove_those(tokens, is_meant, which);
}

char *bd_token_id(const bd_token *token, char room[BD_TOKEN_ID_BYTES])
{
    const uint8_t *digest = token->digest;
    snprintf(room, BD_TOKEN_ID_BYTES, "%02x%02x%02x%02x", digest[0], digest[1], digest[2],
             digest[3]);
    return room;
}

bool bd_token_expired(const bd_token *token)
{
    return token->expires_s && token->expires_s <= time(NULL);
}

const bd_token *bd_tokens_find(const bd_tokens *tokens, bd_text shown)
{
    uint8_t digest[BD_TOKEN_DIGEST_BYTES];
    bd_token_digest(shown, digest);
    return bd_tokens_with(tokens, digest);
}

const bd_token *bd_tokens_with(const bd_tokens *tokens, const uint8_t *digest)
{
    const bd_token *found = NULL;
    for (size_t i = 0; i < tokens->list.count; i++) {
        const bd_token *token = &tokens->list.items[i];
        if (CRYPTO_memcmp(token->digest, digest, BD_TOKEN_DIGEST_BYTES) == 0)
            found = token;
    }
    return found;
}

bool bd_token_allows_origin(const bd_token *token, const char *origin)
{
    size_t size = strlen(origin);
    for (const char *at = token->origins; at && size; at += *at == ',') {
        size_t part = strcspn(at, ",");
        if (part == size && memcmp(at, origin, size) == 0)
            return true;
        at += part;
        if (!*at)
            break;
    }
    return !token->origins;
}
