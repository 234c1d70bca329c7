/* SPDX-License-Identifier: Apache-2.0
 * burn_op_infer with whatever a client may send: random operands, shapes and attributes, extremes
 * among them. It must refuse or give shapes within the limits; sanitizers watch the rest. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "proto/ops.h"

enum { ROUNDS = 2000, INPUTS_MAX = 20, LIST_MAX = 20, OUTPUTS_MAX = 64 };

static uint64_t state = 88172645463325252u;

static uint64_t next(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static int64_t random_number(void)
{
    static const int64_t extremes[] = {
        INT64_MIN, INT64_MAX, INT32_MIN, INT32_MAX,        -1,
        0,         1,         2,         (int64_t)1 << 48, ((int64_t)1 << 48) + 1,
        -17,       16,        17,        UINT32_MAX};
    uint64_t kind = next() % 8;
    if (kind == 0)
        return extremes[next() % (sizeof extremes / sizeof *extremes)];
    return (int64_t)(next() % 8) - (kind == 1 ? 4 : 0);
}

static burn_tensor_type random_type(void)
{
    burn_tensor_type type = {.dtype = (burn_dtype)(1 + next() % 13)};
    type.shape.rank = (int32_t)(next() % 16 == 0 ? BURN_RANK_MAX : next() % 5);
    for (int axis = 0; axis < type.shape.rank; axis++)
        type.shape.dims[axis] =
            next() % 32 == 0 && type.shape.rank < 3 ? (int64_t)1 << 20 : (int64_t)(next() % 5);
    return type;
}

typedef struct hostile {
    burn_op_record record;
    burn_operand operands[INPUTS_MAX];
    burn_tensor_type types[INPUTS_MAX];
    const burn_tensor_type *pointers[INPUTS_MAX];
    int64_t lists[BURN_OP_ATTRS_MAX][LIST_MAX];
} hostile;

static void fill(hostile *one, const burn_op_info *info)
{
    memset(one, 0, sizeof *one);
    one->record.info = info;
    one->record.inputs = one->operands;
    uint32_t repeated = info->flags & BURN_OP_VARIADIC ? (uint32_t)(next() % 6) : 1;
    one->record.input_count = info->input_count ? info->input_count - 1u + repeated : 0;
    burn_tensor_type shared = random_type();
    for (uint32_t i = 0; i < one->record.input_count; i++) {
        uint64_t kind = next() % 12;
        one->operands[i].kind =
            kind < 8 ? BURN_OPERAND_TENSOR : (burn_operand_kind)(kind - 8 + (kind > 8));
        if (one->operands[i].kind != BURN_OPERAND_TENSOR)
            continue;
        one->types[i] = next() % 2 ? shared : random_type();
        if (burn_op_input_role(info, i) == BURN_INPUT_INDEX && next() % 8)
            one->types[i].dtype = BURN_I64;
        one->pointers[i] = &one->types[i];
    }
    for (int i = 0; i < info->attr_count; i++) {
        burn_attr *attr = &one->record.attrs[i];
        if (info->attrs[i].kind == BURN_ATTR_INTS || info->attrs[i].kind == BURN_ATTR_SIZES) {
            attr->count = (uint32_t)(next() % 3 ? (uint64_t)shared.shape.rank : next() % LIST_MAX);
            attr->values = one->lists[i];
            for (uint32_t k = 0; k < attr->count; k++)
                one->lists[i][k] = next() % 4 && k < 16 ? shared.shape.dims[k] : random_number();
        } else if (info->attrs[i].kind == BURN_ATTR_BYTES) {
            attr->bytes = (const uint8_t *)one->lists[i];
            attr->count = (uint32_t)(next() % (LIST_MAX * 8));
        } else {
            attr->value = random_number();
        }
    }
    one->record.output_count = burn_op_output_count(&one->record);
}

START_TEST(refused_or_within_limits)
{
    static hostile one;
    static burn_tensor_type outputs[OUTPUTS_MAX];
    const burn_op_info *info = burn_op_at(_i);
    int passed = 0;
    for (int round = 0; round < ROUNDS; round++) {
        fill(&one, info);
        if (one.record.output_count > OUTPUTS_MAX)
            continue;
        bd_error *error = burn_op_infer(&one.record, one.pointers, outputs);
        if (error) {
            bd_code code = bd_error_code(error);
            ck_assert_msg(code == BD_CODE_INVALID || code == BD_CODE_LIMIT, "%s",
                          bd_error_text(error));
            bd_error_free(error);
            continue;
        }
        passed++;
        if (info->flags & BURN_OP_CONTROL && info->output_rule != BURN_OUTPUTS_WRT)
            continue;
        for (uint32_t i = 0; i < one.record.output_count; i++) {
            ck_assert(burn_dtype_valid((int)outputs[i].dtype));
            error = burn_shape_check(&outputs[i].shape, outputs[i].dtype, NULL);
            ck_assert_msg(error == NULL, "%s: %s", info->name, bd_error_text(error));
        }
    }
    ck_assert_msg(passed > 0 || !(info->flags & BURN_OP_POINTWISE), "%s never passed", info->name);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("infer_hostile");
    TCase *cases = tcase_create("infer_hostile");
    tcase_set_timeout(cases, 60);
    tcase_add_loop_test(cases, refused_or_within_limits, 0, burn_op_count());
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
