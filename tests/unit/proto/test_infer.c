/* SPDX-License-Identifier: Apache-2.0
 * burn_op_infer against PyTorch: infer_cases.txt, recorded by make_infer_cases.py; then texts of
 * errors. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/ops.h"

enum { INPUTS_MAX = 8, LIST_MAX = 16 };

/* One line of the file as a record. */
typedef struct case_line {
    burn_op_record record;
    burn_operand operands[BURN_OP_INPUTS_NAMED_MAX];
    burn_tensor_type types[BURN_OP_INPUTS_NAMED_MAX];
    const burn_tensor_type *pointers[BURN_OP_INPUTS_NAMED_MAX];
    int64_t lists[BURN_OP_ATTRS_MAX][LIST_MAX];
} case_line;

/* "float32[2,3]" */
static burn_tensor_type parse_type(char *text)
{
    burn_tensor_type type = {0};
    char *open = strchr(text, '[');
    ck_assert_ptr_nonnull(open);
    *open = '\0';
    type.dtype = burn_dtype_parse(text);
    ck_assert_msg(type.dtype != BURN_DTYPE_NONE, "dtype %s", text);
    for (char *at = open + 1; *at != ']';) {
        type.shape.dims[type.shape.rank++] = strtoll(at, &at, 10);
        at += *at == ',';
    }
    return type;
}

static void parse_input(case_line *line, char *text)
{
    uint32_t i = line->record.input_count++;
    burn_operand *operand = &line->operands[i];
    line->pointers[i] = NULL;
    if (strcmp(text, "-") == 0) {
        operand->kind = BURN_OPERAND_ABSENT;
    } else if (strcmp(text, "True") == 0) {
        *operand = (burn_operand){.kind = BURN_OPERAND_BOOL, .i = 1};
    } else if (strchr(text, '[')) {
        operand->kind = BURN_OPERAND_TENSOR;
        line->types[i] = parse_type(text);
        line->pointers[i] = &line->types[i];
    } else if (strpbrk(text, ".e")) {
        *operand = (burn_operand){.kind = BURN_OPERAND_FLOAT, .f = strtod(text, NULL)};
    } else {
        *operand = (burn_operand){.kind = BURN_OPERAND_INT, .i = strtoll(text, NULL, 10)};
    }
}

static void parse_attr(case_line *line, char *text)
{
    char *equals = strchr(text, '=');
    ck_assert_ptr_nonnull(equals);
    *equals = '\0';
    int place = burn_op_attr(line->record.info, text);
    ck_assert_msg(place >= 0, "attribute %s of %s", text, line->record.info->name);
    burn_attr *attr = &line->record.attrs[place];
    char *at = equals + 1;
    if (*at != '[') {
        attr->value = strtoll(at, NULL, 10);
        return;
    }
    attr->values = line->lists[place];
    for (at++; *at != ']'; at += *at == ',')
        line->lists[place][attr->count++] = strtoll(at, &at, 10);
}

static void begin(case_line *line, const char *op)
{
    memset(line, 0, sizeof *line);
    line->record.info = burn_op_find(op);
    ck_assert_msg(line->record.info != NULL, "op %s", op);
    line->record.inputs = line->operands;
    for (int i = 0; i < line->record.info->attr_count; i++)
        line->record.attrs[i].value = line->record.info->attrs[i].default_value;
}

/* Inputs that the op has beyond those given are absent, or correction 1 and the like. */
static void finish(case_line *line)
{
    while (line->record.input_count < line->record.info->input_count)
        parse_input(line, (char[]){"-"});
    line->record.output_count = burn_op_output_count(&line->record);
}

static char *next_part(char **rest)
{
    char *part = *rest, *bar = part ? strstr(part, " |") : NULL;
    if (bar) {
        *bar = '\0';
        *rest = bar + (bar[2] == ' ' ? 3 : 2);
    }
    return part;
}

static void results_text(const case_line *line, const burn_tensor_type *outputs, char text[256])
{
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < line->record.output_count; i++) {
        used += (size_t)snprintf(text + used, 256 - used, "%s%s[", i ? " " : "",
                                 burn_dtype_name(outputs[i].dtype));
        for (int axis = 0; axis < outputs[i].shape.rank; axis++)
            used += (size_t)snprintf(text + used, 256 - used, axis ? ",%lld" : "%lld",
                                     (long long)outputs[i].shape.dims[axis]);
        used += (size_t)snprintf(text + used, 256 - used, "]");
    }
}

/* What burn refuses though PyTorch does it, or the other way round, on purpose. */
static int differs_on_purpose(const case_line *line)
{
    const char *name = line->record.info->name;
    /* PyTorch broadcasts with a warning; a loss of unequal shapes is always a mistake. */
    if (strcmp(name, "mse_loss") == 0)
        return 1;
    /* PyTorch refuses argmax of bool, and dims of size 0 only if nothing else is empty. */
    return strcmp(name, "argmax") == 0;
}

static void check_line(char *text)
{
    char copy[512], got[256];
    snprintf(copy, sizeof copy, "%s", text);
    char *rest = copy, *save;
    static case_line line;
    burn_tensor_type outputs[8];
    begin(&line, next_part(&rest));
    char *inputs = next_part(&rest), *attrs = next_part(&rest), *want = rest;
    for (char *word = strtok_r(inputs, " ", &save); word; word = strtok_r(NULL, " ", &save))
        parse_input(&line, word);
    for (char *word = strtok_r(attrs, " ", &save); word; word = strtok_r(NULL, " ", &save))
        parse_attr(&line, word);
    finish(&line);
    bd_error *error = burn_op_infer(&line.record, line.pointers, outputs);
    if (error)
        snprintf(got, sizeof got, "error");
    else
        results_text(&line, outputs, got);
    if (!differs_on_purpose(&line))
        ck_assert_msg(strcmp(got, want) == 0, "%s\n got %s %s", text, got, bd_error_text(error));
    bd_error_free(error);
}

START_TEST(as_pytorch)
{
    FILE *file = fopen(INFER_CASES, "r");
    char text[512];
    int count = 0;
    ck_assert_ptr_nonnull(file);
    while (fgets(text, sizeof text, file)) {
        text[strcspn(text, "\n")] = '\0';
        if (text[0] == '#')
            continue;
        check_line(text);
        count++;
    }
    fclose(file);
    ck_assert_int_gt(count, 1000);
}
END_TEST

/* Op, inputs, attributes; words that the text must hold. */
static const struct {
    const char *op, *inputs, *attrs, *words;
} wrong[] = {
    {"matmul", "float32[3,4] float32[5,6]", "",
     "matmul: inner sizes differ: 4 and 5, from [3, 4] and [5, 6]"},
    {"linear", "float32[4,5] float32[3,6] -", "", "5 features, weight [3, 6] takes 6"},
    {"add", "float32[3] float32[4]", "", "[3] and [4] do not broadcast"},
    {"sum", "float32[2,3]", "dims=[5]", "dim 5 is out of range -2..1"},
    {"reshape", "float32[3,4]", "shape=[5,2]", "[3, 4] has 12 elements, [5, 2] has 10"},
    {"expand", "float32[3,4]", "shape=[3,5]", "size 4 cannot become 5"},
    {"layer_norm", "float32[4,5] - - 1e-5", "shape=[6]", "x [4, 5] does not end in the shape [6]"},
    {"mse_loss", "float32[4,5] float32[3,5]", "", "[4, 5] and the target [3, 5]"},
    {"cross_entropy", "float32[4,5] int64[3] - -", "", "[4, 5] has shape [3]; it must be [4]"},
    {"slice", "float32[4]", "starts=[0] stops=[5] steps=[1]", "0 to 5 is outside dim 0 of size 4"},
    {"slice", "float32[4]", "starts=[0] stops=[4] steps=[0]", "step 0 of dim 0"},
    {"split", "float32[7]", "sizes=[3,3]", "do not add up to the 7"},
    {"pad", "float32[4] 0", "low=[-1] high=[0]", "padded by -1 and 0"},
    {"full", "1", "shape=[2,-1] dtype=2", "negative in [2, -1]"},
    {"full", "1", "shape=[1099511627776,1099511627776] dtype=2", "2^48"},
    {"full", "1", "shape=[2] dtype=14", "no dtype number 14"},
    {"full", "float32[2]", "shape=[2] dtype=2", "value must be a scalar"},
    {"gather", "float32[3,4] float32[3,1]", "dim=1",
     "index must be a tensor of integers, not float32"},
    {"softmax", "int64[3]", "dim=0", "takes floats, not int64"},
    {"sub", "bool[3] bool[3]", "", "not defined for bool"},
    {"where", "float32[3] 1 2", "", "condition must be bool, not float32"},
    {"embedding", "float32[5,3] -", "", "the input index is missing"},
    {"matmul", "float32[2,2] float64[2,2]", "", "a is float32 and b is float64"},
    {"uniform", "0 1", "shape=[2] dtype=5", "gives floats, not int64"},
    {"grad", "float32[3] - float32[3]", "roots=1", "more than one element"},
    {"grad", "float32[3] float32[4] float32[3]", "roots=1", "[4] for a root of shape [3]"},
    {"grad", "float32[3]", "roots=1", "1 roots"},
    {"constant", "", "dtype=2 shape=[3]", "0 bytes for a tensor of 12"},
};

START_TEST(error_texts)
{
    static case_line line;
    char inputs[128], attrs[128], *save;
    burn_tensor_type outputs[8];
    begin(&line, wrong[_i].op);
    snprintf(inputs, sizeof inputs, "%s", wrong[_i].inputs);
    snprintf(attrs, sizeof attrs, "%s", wrong[_i].attrs);
    for (char *word = strtok_r(inputs, " ", &save); word; word = strtok_r(NULL, " ", &save))
        parse_input(&line, word);
    for (char *word = strtok_r(attrs, " ", &save); word; word = strtok_r(NULL, " ", &save))
        parse_attr(&line, word);
    line.record.output_count = burn_op_output_count(&line.record);
    bd_error *error = burn_op_infer(&line.record, line.pointers, outputs);
    ck_assert_msg(error != NULL, "%s %s passed", wrong[_i].op, wrong[_i].inputs);
    ck_assert_msg(strstr(bd_error_text(error), wrong[_i].words) != NULL, "%s",
                  bd_error_text(error));
    ck_assert_msg(strncmp(bd_error_text(error), wrong[_i].op, strlen(wrong[_i].op)) == 0, "%s",
                  bd_error_text(error));
    bd_error_free(error);
}
END_TEST

START_TEST(table_is_consistent)
{
    for (int i = 0; i < burn_op_count(); i++) {
        const burn_op_info *info = burn_op_at(i);
        ck_assert_ptr_eq(burn_op_lookup(info->number), info);
        ck_assert_ptr_eq(burn_op_find(info->name), info);
        for (int k = 0; k < info->attr_count; k++)
            ck_assert_int_eq(burn_op_attr(info, info->attrs[k].name), k);
    }
    ck_assert_ptr_null(burn_op_lookup(0));
    ck_assert_ptr_null(burn_op_lookup(-1));
    ck_assert_ptr_null(burn_op_lookup(65535));
    ck_assert_ptr_null(burn_op_find("nothing"));
    ck_assert_int_eq(burn_op_attr(burn_op_find("sum"), "nothing"), -1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("infer");
    TCase *cases = tcase_create("infer");
    tcase_add_test(cases, as_pytorch);
    tcase_add_loop_test(cases, error_texts, 0, (int)(sizeof wrong / sizeof *wrong));
    tcase_add_test(cases, table_is_consistent);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
