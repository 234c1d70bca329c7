/* SPDX-License-Identifier: Apache-2.0
 * Exports for values and programs by name: publishing, importing, ending and listing. */
#include <string.h>

#include "client/core/recording.h"
#include "client/js/wasm/instance.h"
#include "proto/base/alloc.h"
#include "proto/name.h"

enum { IMPORT_COUNT_MAX = 65536 };

/* Parts of the last import, a line each. */
static struct {
    char *bytes;
    size_t used, capacity;
} parts;

static bd_error *pack_parts(const char *names, burn_tensor *const *tensors, uint32_t count,
                            bd_pack *pack)
{
    for (uint32_t i = 0; i < count; i++, names += strlen(names) + 1) {
        uint64_t id = 0;
        BD_TRY(bd_tensor_id(tensors[i], &id));
        bd_name_pack_export(pack, names, id);
    }
    if (!bd_pack_fits(pack))
        BD_FAIL(LIMIT, "%u names take %zu bytes, at most %d can be published together", count,
                pack->used, BURN_BATCH_BYTES_MAX);
    return NULL;
}

/* names: the name, then a part for each tensor ("" alone: the name itself), one text behind the
 * other. words[0]: the request. */
bd_error *JS_EXPORT(publish)(burn_tensor *const *tensors, uint32_t count, const char *names)
{
    BD_TRY(bd_name_check(names, strlen(names)));
    bd_pack pack = {.bytes = bd_alloc(BURN_BATCH_BYTES_MAX), .capacity = BURN_BATCH_BYTES_MAX};
    bd_error *error = pack_parts(names + strlen(names) + 1, tensors, count, &pack);
    if (!error) {
        bd_pending *pending = bd_alloc_zeroed(sizeof *pending);
        bd_client_export(instance.client, names, pack.bytes, pack.used, pending);
        instance.results.words[0] = (uint32_t)(uintptr_t)pending;
    }
    bd_free(pack.bytes);
    return error;
}

/* words[0]: the request; number: the id of the first tensor. */
bd_error *JS_EXPORT(import)(const char *name)
{
    BD_TRY(bd_name_check(name, strlen(name)));
    bd_pending *pending = bd_alloc_zeroed(sizeof *pending);
    uint64_t first = 0;
    bd_client_import(instance.client, name, IMPORT_COUNT_MAX, &first, pending);
    instance.results.words[0] = (uint32_t)(uintptr_t)pending;
    instance.results.number = (double)first;
    return NULL;
}

static void add_line(bd_text part)
{
    if (parts.used + part.size_bytes + 2 > parts.capacity) {
        parts.capacity = 2 * (parts.used + part.size_bytes + 2);
        parts.bytes = bd_realloc(parts.bytes, parts.capacity);
    }
    memcpy(parts.bytes + parts.used, part.bytes, part.size_bytes);
    parts.used += part.size_bytes;
    parts.bytes[parts.used++] = '\n';
    parts.bytes[parts.used] = '\0';
}

/* The answer of an import, which has no error. words[0] and [1]: its tensors, as those of ops;
 * words[2]: their parts. */
bd_error *JS_EXPORT(imported)(const bd_pending *pending, double first)
{
    const uint8_t *bytes = (const uint8_t *)pending->report;
    bd_unpack unpack = {.cursor = bytes, .end = bytes + pending->report_bytes};
    BD_VEC(burn_tensor *) tensors = {0};
    bd_error *error = NULL;
    parts.used = 0;
    while (!error && unpack.cursor < unpack.end) {
        burn_tensor_type type;
        bd_text part;
        error = bd_name_unpack_import(&unpack, &part, &type);
        if (error)
            break;
        *bd_vec_push(&tensors) =
            bd_session_tensor(instance.session, &type, (uint64_t)first + tensors.count);
        add_line(part);
    }
    bd_client_return_ids(instance.client, (uint64_t)first, IMPORT_COUNT_MAX, tensors.count);
    burn_tensor **out = js_outputs_for((uint32_t)tensors.count);
    for (size_t i = 0; i < tensors.count; i++)
        out[i] = tensors.items[i];
    instance.results.words[2] = (uint32_t)(uintptr_t)parts.bytes;
    bd_vec_deinit(&tensors);
    return error;
}

/* words[0]: the request. */
bd_error *JS_EXPORT(publish_program)(bd_program *program, const char *name)
{
    BD_TRY(bd_name_check(name, strlen(name)));
    bd_pending *pending = bd_alloc_zeroed(sizeof *pending);
    bd_error *error = bd_program_export(program, name, pending);
    if (error)
        bd_free(pending);
    instance.results.words[0] = (uint32_t)(uintptr_t)pending;
    return error;
}

/* words[0]: the request; number: that of the program. */
bd_error *JS_EXPORT(import_program)(const char *name)
{
    BD_TRY(bd_name_check(name, strlen(name)));
    bd_pending *pending = bd_alloc_zeroed(sizeof *pending);
    instance.results.number = (double)bd_program_import(instance.session, name, pending);
    instance.results.words[0] = (uint32_t)(uintptr_t)pending;
    return NULL;
}

/* The answer of such a request, which has no error. words[0]: the program. */
bd_error *JS_EXPORT(imported_program)(const bd_pending *pending, double number)
{
    bd_program *program = NULL;
    BD_TRY(bd_program_of(instance.session, (uint64_t)number, (const uint8_t *)pending->report,
                         pending->report_bytes, &program));
    instance.results.words[0] = (uint32_t)(uintptr_t)program;
    return NULL;
}

bd_pending *JS_EXPORT(unpublish)(const char *name)
{
    bd_pending *pending = bd_alloc_zeroed(sizeof *pending);
    bd_client_unexport(instance.client, name, pending);
    return pending;
}

bd_pending *JS_EXPORT(list_names)(const char *prefix)
{
    bd_pending *pending = bd_alloc_zeroed(sizeof *pending);
    bd_client_list_names(instance.client, prefix, pending);
    return pending;
}
