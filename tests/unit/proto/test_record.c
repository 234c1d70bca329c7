/* SPDX-License-Identifier: Apache-2.0
 * Op records on the wire: known bytes, round trips of every op, cuts and flipped bytes. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "proto/ops.h"

enum { FIRST_OUTPUT = 1000 };

static bd_arena arena;

static void set_up(void)
{
    bd_arena_init(&arena);
}

static void tear_down(void)
{
    bd_arena_deinit(&arena);
}

/* A record of the op with every kind of input and attribute that it may have. */
static void fill(const burn_op_info *info, uint32_t repeated, burn_op_record *record,
                 burn_operand *operands, const int64_t *list)
{
    *record = (burn_op_record){
        .info = info, .flags = BURN_RECORD_TRACK, .inputs = operands, .first_output = FIRST_OUTPUT};
    uint32_t variadic = info->flags & BURN_OP_VARIADIC ? 1u : 0u;
    record->input_count = info->input_count - variadic + repeated * variadic;
    for (uint32_t i = 0; i < record->input_count; i++) {
        static const burn_operand kinds[] = {
            {.kind = BURN_OPERAND_TENSOR, .id = FIRST_OUTPUT - 1},
            {.kind = BURN_OPERAND_TENSOR, .id = 1},
            {.kind = BURN_OPERAND_INT, .i = -70000},
            {.kind = BURN_OPERAND_FLOAT, .f = 2.5},
            {.kind = BURN_OPERAND_BOOL, .i = 1},
            {.kind = BURN_OPERAND_ABSENT},
        };
        operands[i] = kinds[(i + info->number) % 6];
    }
    for (int i = 0; i < info->attr_count; i++) {
        burn_attr *attr = &record->attrs[i];
        attr->value = info->attrs[i].default_value + 1;
        switch (info->attrs[i].kind) {
        case BURN_ATTR_INTS:
        case BURN_ATTR_SIZES:
            *attr = (burn_attr){.values = list, .count = 3};
            break;
        case BURN_ATTR_BYTES:
            *attr = (burn_attr){.bytes = (const uint8_t *)list, .count = 9};
            break;
        case BURN_ATTR_INT:
        case BURN_ATTR_DTYPE:
        case BURN_ATTR_SIZE:
            break;
        }
    }
    record->output_count = burn_op_output_count(record);
}

static void same(const burn_op_record *a, const burn_op_record *b)
{
    ck_assert_ptr_eq(a->info, b->info);
    ck_assert_int_eq(a->flags, b->flags);
    ck_assert_uint_eq(a->input_count, b->input_count);
    ck_assert_uint_eq(a->output_count, b->output_count);
    ck_assert_uint_eq(a->first_output, b->first_output);
    for (uint32_t i = 0; i < a->input_count; i++) {
        ck_assert_int_eq(a->inputs[i].kind, b->inputs[i].kind);
        if (a->inputs[i].kind == BURN_OPERAND_FLOAT)
            ck_assert_double_eq(a->inputs[i].f, b->inputs[i].f);
        else if (a->inputs[i].kind != BURN_OPERAND_ABSENT)
            ck_assert_int_eq(a->inputs[i].i, b->inputs[i].i);
    }
    for (int i = 0; i < a->info->attr_count; i++) {
        burn_attr_kind kind = a->info->attrs[i].kind;
        ck_assert_uint_eq(a->attrs[i].count, b->attrs[i].count);
        if (kind == BURN_ATTR_BYTES)
            ck_assert_mem_eq(a->attrs[i].bytes, b->attrs[i].bytes, a->attrs[i].count);
        else if (kind == BURN_ATTR_INTS || kind == BURN_ATTR_SIZES)
            for (uint32_t k = 0; k < a->attrs[i].count; k++)
                ck_assert_int_eq(a->attrs[i].values[k], b->attrs[i].values[k]);
        else
            ck_assert_int_eq(a->attrs[i].value, b->attrs[i].value);
    }
}

static bd_error *decode(const uint8_t *bytes, size_t size, burn_op_record *out, size_t *taken)
{
    const uint8_t *cursor = bytes;
    bd_error *error = burn_record_decode(&cursor, bytes + size, FIRST_OUTPUT, &arena, out);
    *taken = (size_t)(cursor - bytes);
    return error;
}

START_TEST(every_op_round_trips)
{
    static const int64_t list[3] = {0, -5, 1 << 20};
    for (int op = 0; op < burn_op_count(); op++)
        for (uint32_t repeated = 0; repeated < 20; repeated += 19) {
            burn_op_record record, got;
            burn_operand operands[64];
            uint8_t bytes[512];
            size_t taken;
            fill(burn_op_at(op), repeated, &record, operands, list);
            size_t size = burn_record_encode(&record, bytes);
            ck_assert_uint_le(size, burn_record_bound(&record));
            bd_error *error = decode(bytes, size, &got, &taken);
            if (record.info->flags & BURN_OP_INTERNAL) {
                ck_assert_int_eq(bd_error_code(error), BD_CODE_INVALID);
                bd_error_free(error);
                continue;
            }
            ck_assert_msg(error == NULL, "%s", bd_error_text(error));
            ck_assert_uint_eq(taken, size);
            same(&record, &got);
            for (size_t cut = 0; cut < size; cut++) {
                error = decode(bytes, cut, &got, &taken);
                ck_assert_ptr_nonnull(error);
                ck_assert_uint_eq(taken, 0);
                bd_error_free(error);
            }
        }
}
END_TEST

/* Whatever a byte is changed to, the decoder gives a record that encodes to the same bytes, or
 * an error. */
START_TEST(changed_bytes)
{
    static const int64_t list[3] = {0, -5, 1 << 20};
    const burn_op_info *info = burn_op_at(_i);
    burn_op_record record, got;
    burn_operand operands[64];
    uint8_t bytes[512], again[1024];
    size_t taken;
    fill(info, 3, &record, operands, list);
    size_t size = burn_record_encode(&record, bytes);
    for (size_t at = 0; at < size; at++)
        for (int to = 0; to < 256; to++) {
            uint8_t kept = bytes[at];
            bytes[at] = (uint8_t)to;
            bd_error *error = decode(bytes, size, &got, &taken);
            if (!error && burn_record_bound(&got) <= sizeof again) {
                ck_assert_uint_eq(burn_record_encode(&got, again), taken);
                ck_assert_mem_eq(again, bytes, taken);
            }
            bd_error_free(error);
            bytes[at] = kept;
            bd_arena_reset(&arena);
        }
}
END_TEST

START_TEST(known_bytes)
{
    const burn_operand operands[] = {{.kind = BURN_OPERAND_TENSOR, .id = 998},
                                     {.kind = BURN_OPERAND_TENSOR, .id = 999}};
    burn_op_record record = {.info = burn_op_find("add"),
                             .input_count = 2,
                             .inputs = operands,
                             .output_count = 1,
                             .first_output = FIRST_OUTPUT};
    uint8_t bytes[64];
    static const uint8_t want[] = {0x93, 20, 2, 1};
    ck_assert_uint_eq(burn_record_encode(&record, bytes), sizeof want);
    ck_assert_mem_eq(bytes, want, sizeof want);
    /* A sum over everything leaves all its attributes out. */
    record.info = burn_op_find("sum");
    record.input_count = 1;
    record.flags = BURN_RECORD_TRACK;
    static const uint8_t sum[] = {0x92, 0xcc, 225, 2};
    ck_assert_uint_eq(burn_record_encode(&record, bytes), sizeof sum);
    ck_assert_mem_eq(bytes, sum, sizeof sum);
}
END_TEST

/* Bytes, code. */
static const struct {
    uint8_t bytes[16];
    size_t size;
    bd_code code;
} wrong[] = {
    {{0x93, 20, 2}, 3, BD_CODE_PROTOCOL},                /* one input short */
    {{0x92, 20, 2}, 3, BD_CODE_PROTOCOL},                /* an array too short */
    {{0x94, 20, 2, 1, 1}, 5, BD_CODE_PROTOCOL},          /* too long */
    {{0x93, 20, 0, 1}, 4, BD_CODE_INVALID},              /* distance 0 */
    {{0x93, 20, 0xff, 1}, 4, BD_CODE_INVALID},           /* distance -1 */
    {{0x93, 20, 0xcd, 0x07, 0xd0, 1}, 6, BD_CODE_INVALID}, /* before the first id */
    {{0x93, 20, 0xa0, 1}, 4, BD_CODE_PROTOCOL},          /* a str */
    {{0x93, 20, 0x92, 1, 1, 1}, 6, BD_CODE_PROTOCOL},    /* two numbers */
    {{0x91, 0x12}, 2, BD_CODE_INVALID},                  /* no op 9 */
    {{0x91, 0xff}, 2, BD_CODE_PROTOCOL},                 /* op -1 */
    {{0x91, 0xce, 0, 2, 0, 0}, 6, BD_CODE_PROTOCOL},     /* op 65536 */
    {{0x93, 0xcc, 200, 2, 0x90}, 5, BD_CODE_PROTOCOL},   /* reshape: fine but for the cut */
    {{0x93, 0xcc, 224, 1, 0x90}, 5, BD_CODE_PROTOCOL},   /* sum with a default sent */
    {{0x92, 0xcc, 252, 1}, 4, BD_CODE_PROTOCOL},         /* softmax without dim */
    {{0x92, 0xcd, 1, 144, 1, 1}, 6, BD_CODE_INVALID},    /* dot is the engine's */
    {{0x94, 8, 0x90, 1, 0xce, 0, 1, 0, 1}, 9, BD_CODE_INVALID}, /* call with 65537 outputs */
};

START_TEST(refused)
{
    burn_op_record got;
    size_t taken;
    size_t size = wrong[_i].size;
    if (_i == 11)
        size--;
    bd_error *error = decode(wrong[_i].bytes, size, &got, &taken);
    ck_assert_msg(bd_error_code(error) == wrong[_i].code, "row %d: %s", _i, bd_error_text(error));
    ck_assert_uint_eq(taken, 0);
    bd_error_free(error);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("record");
    TCase *cases = tcase_create("record");
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_set_timeout(cases, 60);
    tcase_add_test(cases, every_op_round_trips);
    tcase_add_loop_test(cases, changed_bytes, 0, burn_op_count());
    tcase_add_test(cases, known_bytes);
    tcase_add_loop_test(cases, refused, 0, (int)(sizeof wrong / sizeof *wrong));
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
