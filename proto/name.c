/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/name.h"

#include <string.h>

#include "proto/signature.h"

static bool is_letter(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
}

bd_error *bd_name_check(const char *name, size_t size_bytes)
{
    if (size_bytes == 0 || size_bytes > BURN_NAME_BYTES_MAX)
        BD_FAIL(INVALID, "a name has 1 to %d bytes, not %zu", BURN_NAME_BYTES_MAX, size_bytes);
    for (size_t i = 0; i <= size_bytes; i++) {
        bool ends = i == size_bytes || name[i] == '/';
        if (!ends && !is_letter(name[i]))
            BD_FAIL(INVALID,
                    "the name \"%.*s\" has a character besides letters, digits, '.', '_', '-' and "
                    "'/' at place %zu",
                    (int)size_bytes, name, i + 1);
        if (ends && (i == 0 || name[i - 1] == '/'))
            BD_FAIL(INVALID, "the name \"%.*s\" has an empty segment; \"a/b\" would be right",
                    (int)size_bytes, name);
    }
    if (size_bytes == 6 && memcmp(name, "public", 6) == 0)
        BD_FAIL(INVALID, "\"public\" is no name; \"public/a\" would be one");
    return NULL;
}

/* What follows the beginning, or NULL if the text begins otherwise. */
static const char *behind(const char *text, const char *beginning)
{
    while (*beginning)
        if (*text++ != *beginning++)
            return NULL;
    return text;
}

bool bd_name_is_public(const char *name)
{
    return behind(name, "public/") != NULL;
}

static int rank_of(char c)
{
    return c == '/' ? 1 : (unsigned char)c;
}

int bd_name_compare(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    return rank_of(*a) - rank_of(*b);
}

bool bd_name_is_within(const char *name, const char *top, const char **out_part)
{
    const char *part = behind(name, top);
    if (!part || (*part && *part != '/'))
        return false;
    *out_part = *part ? part + 1 : part;
    return true;
}

void bd_name_pack_export(bd_pack *pack, const char *part, uint64_t id)
{
    bd_pack_array(pack, 2);
    bd_pack_str_bytes(pack, part, strlen(part));
    bd_pack_int(pack, (int64_t)id);
}

bd_error *bd_name_unpack_export(bd_unpack *unpack, bd_text *out_part, uint64_t *out_id)
{
    int64_t id = 0;
    BD_TRY(bd_unpack_array_of(unpack, 2));
    BD_TRY(bd_unpack_str(unpack, &out_part->bytes, &out_part->size_bytes));
    BD_TRY(bd_unpack_int_in(unpack, 1, (int64_t)BURN_ID_MAX, &id));
    *out_id = (uint64_t)id;
    return NULL;
}

void bd_name_pack_import(bd_pack *pack, const char *part, const burn_tensor_type *type)
{
    bd_pack_array(pack, 3);
    bd_pack_str_bytes(pack, part, strlen(part));
    bd_signature_pack_type(pack, type);
}

bd_error *bd_name_unpack_import(bd_unpack *unpack, bd_text *out_part, burn_tensor_type *out_type)
{
    BD_TRY(bd_unpack_array_of(unpack, 3));
    BD_TRY(bd_unpack_str(unpack, &out_part->bytes, &out_part->size_bytes));
    return bd_signature_unpack_type(unpack, out_type);
}
