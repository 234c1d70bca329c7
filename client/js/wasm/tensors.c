/* SPDX-License-Identifier: Apache-2.0
 * Exports for tensors: ops, uploads, gradients, programs. */
#include <stddef.h>
#include <string.h>

#include "client/core/recording.h"
#include "client/js/wasm/instance.h"
#include "proto/base/alloc.h"
#include "proto/ops.h"

/* src/core.ts writes and reads these structs as they are. */
_Static_assert(sizeof(bd_input_operand) == 16 && offsetof(bd_input_operand, f) == 8, "operands");
_Static_assert(sizeof(burn_attr) == 16 && offsetof(burn_attr, values) == 8 &&
                   offsetof(burn_attr, count) == 12,
               "attributes");
_Static_assert(offsetof(burn_tensor_type, shape.rank) == 8 &&
                   offsetof(burn_tensor_type, shape.dims) == 16,
               "types");
_Static_assert(offsetof(burn_op_info, number) == 4 && offsetof(burn_op_info, flags) == 8 &&
                   offsetof(burn_op_info, input_count) == 12 &&
                   offsetof(burn_op_info, input_optional) == 16 &&
                   offsetof(burn_op_info, attr_count) == 18 &&
                   offsetof(burn_op_info, inputs) == 24 && offsetof(burn_op_info, attrs) == 88,
               "the op table");
_Static_assert(sizeof(burn_attr_info) == 24 && offsetof(burn_attr_info, kind) == 4 &&
                   offsetof(burn_attr_info, has_default) == 8 &&
                   offsetof(burn_attr_info, default_value) == 16,
               "the op table's attributes");

enum { OPERANDS_INLINE = 16, OUTPUTS_INLINE = 4 };

/* Of the last call that gave tensors: words[0] is where, words[1] how many. */
static struct {
    burn_tensor **items;
    uint32_t capacity;
} outputs;

burn_tensor **js_outputs_for(uint32_t count)
{
    if (count > outputs.capacity) {
        bd_free(outputs.items);
        outputs.items = bd_alloc(count * sizeof *outputs.items);
        outputs.capacity = count;
    }
    if (count > 0)
        memset(outputs.items, 0, count * sizeof *outputs.items);
    instance.results.words[0] = (uint32_t)(uintptr_t)outputs.items;
    instance.results.words[1] = count;
    return outputs.items;
}

/* ---- ops ------------------------------------------------------------------------------------- */

int JS_EXPORT(table_count)(void)
{
    return burn_op_count();
}

const burn_op_info *JS_EXPORT(table_at)(int index)
{
    return burn_op_at(index);
}

static uint32_t count_outputs(const burn_op_info *info, const bd_input_operand *inputs,
                              uint32_t input_count, const burn_attr *attrs)
{
    burn_operand few[OPERANDS_INLINE], *operands = few;
    if (input_count > OPERANDS_INLINE)
        operands = bd_alloc(input_count * sizeof *operands);
    for (uint32_t i = 0; i < input_count; i++)
        operands[i].kind = inputs[i].kind;
    burn_op_record record = {.info = info, .input_count = input_count, .inputs = operands};
    if (attrs)
        memcpy(record.attrs, attrs, info->attr_count * sizeof *attrs);
    uint32_t count = burn_op_output_count(&record);
    if (operands != few)
        bd_free(operands);
    return count;
}

/* inputs has room for all that are named; attrs holds all, or is NULL for an op without any. */
bd_error *JS_EXPORT(apply)(const burn_op_info *info, const bd_input_operand *inputs,
                           uint32_t input_count, const burn_attr *attrs)
{
    uint32_t count = count_outputs(info, inputs, input_count, attrs);
    return bd_session_apply(instance.session, info, inputs, input_count, attrs,
                            js_outputs_for(count), count);
}

/* The bytes are sent by JavaScript when the token comes up; words[0]: the tensor. */
bd_error *JS_EXPORT(upload)(int dtype, uint32_t rank, const int64_t *dims, uint32_t token)
{
    burn_tensor_type type = {.dtype = (burn_dtype)dtype, .shape = {.rank = (int32_t)rank}};
    size_t size_bytes = 0;
    if (rank > BURN_RANK_MAX)
        BD_FAIL(INVALID, "a tensor of rank %u; ranks go from 0 to %d", rank, BURN_RANK_MAX);
    memcpy(type.shape.dims, dims, rank * sizeof *dims);
    BD_TRY(burn_shape_check(&type.shape, type.dtype, &size_bytes));
    burn_tensor *tensor = NULL;
    uint64_t id = 0;
    BD_TRY(bd_session_upload(instance.session, &type, &tensor, &id));
    size_t chunk_max = bd_client_get_facts(instance.client)->chunk_bytes_max;
    for (size_t offset = 0; offset < size_bytes; offset += chunk_max)
        bd_client_put_outside(
            instance.client, id, &type, offset,
            size_bytes - offset < chunk_max ? size_bytes - offset : chunk_max, token);
    instance.results.words[0] = (uint32_t)(uintptr_t)tensor;
    return NULL;
}

void JS_EXPORT(mark)(void)
{
    bd_session_mark(instance.session);
}

void JS_EXPORT(seed)(double seed, double offset)
{
    bd_session_seed(instance.session, (uint64_t)seed, (uint64_t)offset);
}

/* words: seed and offset, low halves first. */
void JS_EXPORT(next_random)(double count)
{
    uint64_t seed = 0, offset = 0;
    bd_session_next_random(instance.session, (uint64_t)count, &seed, &offset);
    const uint32_t words[4] = {(uint32_t)seed, (uint32_t)(seed >> 32), (uint32_t)offset,
                               (uint32_t)(offset >> 32)};
    memcpy(instance.results.words, words, sizeof words);
}

/* ---- handles --------------------------------------------------------------------------------- */

void JS_EXPORT(retain)(burn_tensor *tensor)
{
    bd_tensor_retain(tensor);
}

void JS_EXPORT(release)(burn_tensor *tensor)
{
    bd_tensor_release(tensor);
}

const burn_tensor_type *JS_EXPORT(type)(const burn_tensor *tensor)
{
    return bd_tensor_type(tensor);
}

/* number: the id. */
bd_error *JS_EXPORT(id)(burn_tensor *tensor)
{
    uint64_t id = 0;
    BD_TRY(bd_tensor_id(tensor, &id));
    instance.results.number = (double)id;
    return NULL;
}

double JS_EXPORT(version)(const burn_tensor *tensor)
{
    return (double)bd_tensor_version(tensor);
}

bd_error *JS_EXPORT(assign)(burn_tensor *target, const bd_input_operand *source, int flags)
{
    return bd_tensor_assign(target, source, flags);
}

bd_error *JS_EXPORT(detach)(burn_tensor *tensor)
{
    return bd_tensor_detach(tensor, js_outputs_for(1));
}

/* ---- gradients ------------------------------------------------------------------------------- */

void JS_EXPORT(grad_mode)(int enabled)
{
    bd_session_set_grad(instance.session, enabled != 0);
}

int JS_EXPORT(requires_grad)(const burn_tensor *tensor)
{
    return bd_tensor_requires_grad(tensor);
}

bd_error *JS_EXPORT(set_requires_grad)(burn_tensor *tensor, int flag)
{
    return bd_tensor_set_requires_grad(tensor, flag != 0);
}

int JS_EXPORT(is_leaf)(const burn_tensor *tensor)
{
    return bd_tensor_is_leaf(tensor);
}

bd_error *JS_EXPORT(retain_grad)(burn_tensor *tensor)
{
    return bd_tensor_retain_grad(tensor);
}

/* Borrowed, or NULL. */
burn_tensor *JS_EXPORT(grad)(const burn_tensor *tensor)
{
    return bd_tensor_grad(tensor);
}

bd_error *JS_EXPORT(set_grad)(burn_tensor *tensor, burn_tensor *grad)
{
    return bd_tensor_set_grad(tensor, grad);
}

/* Roots, then as many seeds (or NULL), then inputs; without inputs all leaves. */
bd_error *JS_EXPORT(backward)(burn_tensor *const *tensors, uint32_t root_count,
                              uint32_t input_count, int flags)
{
    burn_tensor *const *inputs = input_count > 0 ? tensors + 2 * (size_t)root_count : NULL;
    return bd_session_backward(instance.session, tensors, tensors + root_count, root_count, inputs,
                               input_count, NULL, 0, flags);
}

bd_error *JS_EXPORT(gradients)(burn_tensor *const *tensors, uint32_t root_count,
                               uint32_t input_count, int flags)
{
    return bd_session_grad(instance.session, tensors, tensors + root_count, root_count,
                           tensors + 2 * (size_t)root_count, input_count, NULL, 0, flags,
                           js_outputs_for(input_count));
}

/* ---- programs -------------------------------------------------------------------------------- */

bd_error *JS_EXPORT(program_begin)(burn_tensor *const *arguments, uint32_t count)
{
    return bd_recording_begin(instance.session, arguments, count, js_outputs_for(count));
}

void JS_EXPORT(program_abort)(void)
{
    bd_recording_abort(instance.session);
}

/* words[0]: the program, words[1]: the request that ends when the daemon has it. */
bd_error *JS_EXPORT(program_end)(burn_tensor *const *results, uint32_t count, const char *name)
{
    bd_pending *pending = bd_alloc_zeroed(sizeof *pending);
    bd_program *program = NULL;
    bd_error *error =
        bd_recording_end(instance.session, results, count, name, pending, &program);
    if (error) {
        bd_free(pending);
        return error;
    }
    instance.results.words[0] = (uint32_t)(uintptr_t)program;
    instance.results.words[1] = (uint32_t)(uintptr_t)pending;
    return NULL;
}

bd_error *JS_EXPORT(program_call)(bd_program *program, burn_tensor *const *arguments,
                                  uint32_t count)
{
    return bd_program_call(program, arguments, count,
                           js_outputs_for(bd_program_output_count(program)));
}

void JS_EXPORT(program_drop)(bd_program *program)
{
    bd_program_drop(program);
}
