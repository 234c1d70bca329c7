/* SPDX-License-Identifier: Apache-2.0
 * Values and programs by name: publishing them, and using what others have published. */
#include <stdlib.h>
#include <string.h>

#include "client/c/context.h"
#include "proto/base/alloc.h"
#include "proto/name.h"

enum { IMPORT_COUNT_MAX = 65536 };

/* ---- publishing ------------------------------------------------------------------------------ */

static bd_error *pack_parts(burn_context *context, const char *const *parts,
                            burn_tensor *const *tensors, size_t count, bd_pack *pack)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t id = 0;
        if (parts && !parts[i])
            BD_FAIL(INVALID, "parts[%zu] is NULL", i);
        BD_TRY(bd_tensor_check_session(tensors[i], context->session));
        BD_TRY(bd_tensor_id(tensors[i], &id));
        bd_name_pack_export(pack, parts ? parts[i] : "", id);
    }
    if (!bd_pack_fits(pack))
        BD_FAIL(LIMIT, "%zu names take %zu bytes, at most %d can be published together", count,
                pack->used, BURN_BATCH_BYTES_MAX);
    return NULL;
}

static bd_error *publish(burn_context *context, const char *name, const char *const *parts,
                         burn_tensor *const *tensors, size_t count, bool wait)
{
    bd_pack pack = {.bytes = bd_alloc(BURN_BATCH_BYTES_MAX), .capacity = BURN_BATCH_BYTES_MAX};
    bd_pending pending = {0};
    bd_error *error = pack_parts(context, parts, tensors, count, &pack);
    if (!error) {
        bd_client_export(context->client, name, pack.bytes, pack.used, wait ? &pending : NULL);
        error = wait ? bd_wait(context, &pending) : bd_after_record(context);
    }
    bd_free(pack.bytes);
    return error;
}

static bd_error *check_name(const char *name)
{
    if (!name)
        BD_FAIL(INVALID, "name is NULL");
    return bd_name_check(name, strlen(name));
}

burn_status burn_export(burn_context *context, const char *name, const char *const *parts,
                        burn_tensor *const *tensors, size_t count, int wait)
{
    bd_error *error = check_name(name);
    if (!error && !parts && count != 1)
        error = BD_ERROR(INVALID, "%zu tensors without parts cannot have one name", count);
    if (!error)
        error = bd_given_tensors("tensors", tensors, count, false);
    if (!error)
        error = bd_enter(context);
    if (error)
        return bd_finish(error);
    error = publish(context, name, parts, tensors, count, wait != 0);
    bd_leave(context);
    return bd_finish(error);
}

/* ---- importing ------------------------------------------------------------------------------- */

static burn_named *push(burn_named **items, size_t *count)
{
    *items = bd_realloc(*items, (*count + 1) * sizeof **items);
    return &(*items)[(*count)++];
}

/* The tensors that the answer tells of; from the first id on. */
static bd_error *unpack_parts(burn_context *context, const bd_pending *pending, uint64_t first,
                              burn_named **items, size_t *count)
{
    const uint8_t *bytes = (const uint8_t *)pending->report;
    bd_unpack unpack = {.cursor = bytes, .end = bytes + pending->report_bytes};
    while (unpack.cursor < unpack.end) {
        burn_tensor_type type;
        bd_text part;
        BD_TRY(bd_name_unpack_import(&unpack, &part, &type));
        char *text = bd_alloc(part.size_bytes + 1);
        bd_text_copy(part, text, part.size_bytes + 1);
        burn_tensor *tensor = bd_session_tensor(context->session, &type, first + *count);
        *push(items, count) = (burn_named){.part = text, .tensor = tensor};
    }
    return NULL;
}

static bd_error *import(burn_context *context, const char *name, burn_named **items, size_t *count)
{
    bd_pending pending = {0};
    uint64_t first = 0;
    bd_client_import(context->client, name, IMPORT_COUNT_MAX, &first, &pending);
    bd_error *error = bd_wait(context, &pending);
    if (!error)
        error = unpack_parts(context, &pending, first, items, count);
    if (!context->closed && (!error || bd_error_code(error) != BD_CODE_CANCELLED))
        bd_client_return_ids(context->client, first, IMPORT_COUNT_MAX, *count);
    bd_free(pending.report);
    return error;
}

burn_status burn_import(burn_context *context, const char *name, burn_named **out_items,
                        size_t *out_count)
{
    bd_error *error = check_name(name);
    if (!error)
        error = BD_GIVEN(out_items, out_count);
    if (!error)
        error = bd_enter(context);
    if (error)
        return bd_finish(error);
    burn_named *items = NULL;
    size_t count = 0;
    error = import(context, name, &items, &count);
    bd_leave(context);
    if (error) {
        burn_free_named(items, count);
        return bd_finish(error);
    }
    *out_items = items;
    *out_count = count;
    return BURN_STATUS_OK;
}

void burn_free_named(burn_named *items, size_t count)
{
    for (size_t i = 0; items && i < count; i++) {
        burn_release(items[i].tensor);
        bd_free((char *)(uintptr_t)items[i].part);
    }
    bd_free(items);
}

/* ---- programs -------------------------------------------------------------------------------- */

burn_status burn_export_program(burn_context *context, const char *name, burn_program *program)
{
    bd_error *error = check_name(name);
    if (!error)
        error = BD_GIVEN(context, program);
    if (!error && program->context != context)
        error = BD_ERROR(INVALID, "the program is none of this connection");
    if (!error)
        error = bd_enter(context);
    if (error)
        return bd_finish(error);
    bd_pending pending = {0};
    error = bd_program_export(program->program, name, &pending);
    if (!error)
        error = bd_wait(context, &pending);
    bd_leave(context);
    return bd_finish(error);
}

static bd_error *import_program(burn_context *context, const char *name, bd_program **out)
{
    bd_pending pending = {0};
    uint64_t number = bd_program_import(context->session, name, &pending);
    bd_error *error = bd_wait(context, &pending);
    if (!error)
        error = bd_program_of(context->session, number, (const uint8_t *)pending.report,
                              pending.report_bytes, out);
    bd_free(pending.report);
    return error;
}

burn_status burn_import_program(burn_context *context, const char *name,
                                burn_program **out_program)
{
    bd_error *error = check_name(name);
    if (!error)
        error = BD_GIVEN(out_program);
    if (!error)
        error = bd_enter(context);
    if (error)
        return bd_finish(error);
    bd_program *program = NULL;
    error = import_program(context, name, &program);
    bd_leave(context);
    if (error)
        return bd_finish(error);
    *out_program = bd_alloc(sizeof **out_program);
    **out_program = (burn_program){.context = context, .program = program};
    return BURN_STATUS_OK;
}

size_t burn_program_arguments(const burn_program *program)
{
    if (bd_absent("program", program))
        return 0;
    return bd_program_argument_count(program->program);
}

size_t burn_program_outputs(const burn_program *program)
{
    if (bd_absent("program", program))
        return 0;
    return bd_program_output_count(program->program);
}

/* ---- the rest -------------------------------------------------------------------------------- */

burn_status burn_unexport(burn_context *context, const char *name)
{
    bd_error *error = check_name(name);
    if (!error)
        error = bd_enter(context);
    if (error)
        return bd_finish(error);
    bd_pending pending = {0};
    bd_client_unexport(context->client, name, &pending);
    error = bd_wait(context, &pending);
    bd_leave(context);
    return bd_finish(error);
}

burn_status burn_list_names(burn_context *context, const char *prefix, char **out_json)
{
    bd_error *error = BD_GIVEN(out_json);
    if (!error)
        error = bd_given_text("prefix", prefix);
    if (!error)
        error = bd_enter(context);
    if (error)
        return bd_finish(error);
    bd_pending pending = {0};
    bd_client_list_names(context->client, prefix, &pending);
    error = bd_wait(context, &pending);
    bd_leave(context);
    if (error)
        bd_free(pending.report);
    else
        *out_json = pending.report;
    return bd_finish(error);
}
