/* SPDX-License-Identifier: Apache-2.0 */
#include "plan_case.h"

#include <check.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/backend.h"
#include "graph_eval.h"
#include "proto/base/alloc.h"
#include "tests/unit/expect.h"

/* ---- reading ---- */

double plan_random(plan_case *made)
{
    made->random = made->random * 6364136223846793005u + 1442695040888963407u;
    return (double)(made->random >> 11) / 9007199254740992.0;
}

static void skip_space(const char **text)
{
    while (isspace((unsigned char)**text))
        (*text)++;
}

/* A word up to a space, comma, "=" or ";". */
static void read_word(const char **text, char word[64])
{
    size_t length = 0;
    skip_space(text);
    while (**text && !isspace((unsigned char)**text) && !strchr(",;=", **text) && length < 63)
        word[length++] = *(*text)++;
    word[length] = 0;
    skip_space(text);
}

static int64_t read_number(const plan_case *made, const char **text)
{
    if (isupper((unsigned char)**text))
        return made->sizes[*(*text)++ - 'A'];
    return strtoll(*text, (char **)(uintptr_t)text, 10);
}

/* "3", "A", "A*B", "A+1": from left to right. */
static int64_t read_size(const plan_case *made, const char **text)
{
    int64_t size = read_number(made, text);
    while (**text == '*' || **text == '+') {
        bool adds = *(*text)++ == '+';
        int64_t other = read_number(made, text);
        size = adds ? size + other : size * other;
    }
    return size;
}

static int read_sizes(const plan_case *made, const char **text, int64_t sizes[16])
{
    int count = 0;
    if (**text == '.') {
        (*text)++;
        return 0;
    }
    do {
        if (**text == ',')
            (*text)++;
        sizes[count++] = read_size(made, text);
    } while (**text == ',');
    return count;
}

static void name_value(plan_case *made, const char *name, test_input input)
{
    plan_name *named = bd_vec_push(&made->names);
    snprintf(named->text, sizeof named->text, "%.15s", name);
    named->input = input;
}

static test_input find(const plan_case *made, const char *name)
{
    for (size_t i = made->names.count; i-- > 0;) {
        if (strcmp(made->names.items[i].text, name) == 0)
            return made->names.items[i].input;
    }
    ck_abort_msg("no value %s", name);
    return test_absent();
}

static void read_external(plan_case *made, const char *name, burn_dtype dtype, const char **text)
{
    int64_t dims[16], count = 1;
    skip_space(text);
    int rank = read_sizes(made, text, dims);
    for (int i = 0; i < rank; i++)
        count *= dims[i];
    skip_space(text);
    double low = -2, high = 2;
    if (**text && **text != ';') {
        low = strtod(*text, (char **)(uintptr_t)text);
        skip_space(text);
        high = isupper((unsigned char)**text) ? (double)read_size(made, text)
                                              : strtod(*text, (char **)(uintptr_t)text);
    }
    double *data = bd_alloc_zeroed((size_t)(count + 1) * sizeof *data);
    *bd_vec_push(&made->owned) = data;
    for (int64_t i = 0; i < count; i++) {
        data[i] = low + (high - low) * plan_random(made);
        if (dtype == BURN_F32)
            data[i] = (double)(float)data[i];
        else if (dtype != BURN_F64)
            data[i] = floor(data[i]);
        if (dtype == BURN_BOOL)
            data[i] = data[i] > 0;
    }
    name_value(made, name, test_external(&made->trace, dtype, rank, dims, data));
}

static void read_attr(plan_case *made, const char *op, const char *name, const char **text,
                      test_attrs *attrs)
{
    int64_t values[16];
    (*text)++;
    const burn_op_info *info = burn_op_find(op);
    int number = burn_op_attr(info, name);
    ck_assert_msg(number >= 0, "%s has no attribute %s", op, name);
    burn_attr_kind kind = info->attrs[number].kind;
    if (kind == BURN_ATTR_DTYPE) {
        char word[64];
        read_word(text, word);
        test_set(&made->trace, op, attrs, name, burn_dtype_parse(word));
        return;
    }
    int count = read_sizes(made, text, values);
    if (kind == BURN_ATTR_INTS || kind == BURN_ATTR_SIZES)
        test_set_list(&made->trace, op, attrs, name, count, values);
    else
        test_set(&made->trace, op, attrs, name, values[0]);
}

static test_input operand_of(const plan_case *made, const char *word)
{
    if (strcmp(word, "-") == 0)
        return test_absent();
    if (isdigit((unsigned char)word[0]) || (word[0] == '-' && word[1]))
        return strchr(word, '.') || strchr(word, 'e') ? test_float(atof(word))
                                                      : test_int(atoll(word));
    return find(made, word);
}

static void read_op(plan_case *made, char names[24][64], int name_count, const char *op,
                    const char **text)
{
    test_input inputs[64];
    int count = 0;
    bool is_grad = strcmp(op, "grad") == 0;
    ck_assert_msg(burn_op_find(op) != NULL, "no op %s", op);
    test_attrs attrs = test_attrs_of(op);
    for (skip_space(text); **text && **text != ';'; skip_space(text)) {
        char word[64];
        read_word(text, word);
        if (**text == '=')
            read_attr(made, op, word, text, &attrs);
        else
            inputs[count++] = operand_of(made, word);
    }
    bool tracked = strstr(op, "_step") == NULL; /* optimizers run without gradients */
    uint32_t first = is_grad ? test_grad(&made->trace, inputs[0], count - 1, inputs + 1, 0, 0)
                             : test_op(&made->trace, op, tracked, count, inputs, &attrs);
    ck_assert_msg(first != UINT32_MAX, "%s", made->trace.error);
    for (int i = 0; i < name_count; i++)
        name_value(made, names[i], test_value(first + (uint32_t)i));
}

static void read_statement(plan_case *made, const char **text)
{
    char names[24][64], word[64];
    int count = 0;
    read_word(text, word);
    if (strcmp(word, "out") == 0 || strcmp(word, "die") == 0) {
        bool dies = word[0] == 'd';
        while (**text && **text != ';') {
            char name[64];
            read_word(text, name);
            test_input input = find(made, name);
            if (dies)
                made->trace.externals.items[input.input.number].dies = 1;
            else
                test_survive(&made->trace, input.input.number);
        }
        return;
    }
    strcpy(names[count++], word);
    while (**text == ',') {
        (*text)++;
        read_word(text, names[count++]);
    }
    ck_assert_msg(**text == '=', "\"=\" is missing at \"%s\"", *text);
    (*text)++;
    read_word(text, word);
    static const struct {
        const char *name;
        burn_dtype dtype;
    } dtypes[] = {{"f32", BURN_F32}, {"f64", BURN_F64}, {"i64", BURN_I64},
                  {"i32", BURN_I32}, {"bool", BURN_BOOL}, {"u8", BURN_U8}};
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        if (strcmp(word, dtypes[i].name) == 0) {
            read_external(made, names[0], dtypes[i].dtype, text);
            return;
        }
    }
    read_op(made, names, count, word, text);
}

void plan_case_init(plan_case *made, const char *text, const int64_t *sizes)
{
    *made = (plan_case){.random = 12345, .sizes = sizes};
    test_trace_init(&made->trace);
    for (skip_space(&text); *text; skip_space(&text)) {
        read_statement(made, &text);
        if (*text == ';')
            text++;
    }
}

void plan_case_deinit(plan_case *made)
{
    for (size_t i = 0; i < made->owned.count; i++)
        bd_free(made->owned.items[i]);
    bd_vec_deinit(&made->owned);
    bd_vec_deinit(&made->names);
    bd_vec_deinit(&made->outputs);
    test_trace_deinit(&made->trace);
}

/* ---- running ---- */

static void write_element(void *bytes, burn_dtype dtype, int64_t i, double value)
{
    switch ((int)dtype) {
    case BURN_F64:
        ((double *)bytes)[i] = value;
        break;
    case BURN_F32:
        ((float *)bytes)[i] = (float)value;
        break;
    case BURN_I64:
        ((int64_t *)bytes)[i] = (int64_t)value;
        break;
    case BURN_I32:
        ((int32_t *)bytes)[i] = (int32_t)value;
        break;
    case BURN_U8:
    case BURN_BOOL:
        ((uint8_t *)bytes)[i] = (uint8_t)value;
        break;
    default:
        ck_abort_msg("no elements of type %s here", burn_dtype_name(dtype));
    }
}

static double read_element(const void *bytes, burn_dtype dtype, int64_t i)
{
    switch ((int)dtype) {
    case BURN_F64:
        return ((const double *)bytes)[i];
    case BURN_F32:
        return (double)((const float *)bytes)[i];
    case BURN_I64:
        return (double)((const int64_t *)bytes)[i];
    case BURN_I32:
        return ((const int32_t *)bytes)[i];
    case BURN_U8:
    case BURN_BOOL:
        return ((const uint8_t *)bytes)[i];
    default:
        ck_abort_msg("no elements of type %s here", burn_dtype_name(dtype));
    }
    return 0;
}

static void must(bd_error *err)
{
    ck_assert_msg(err == NULL, "%s", bd_error_text(err));
}

static void finished(bd_submission *submission)
{
    *(volatile bool *)submission->user = true;
}

/* Everything that the plan needs to be bound to an arrival, in plain memory. */
typedef struct binding {
    const bd_plan *plan;
    const bd_device_ops *ops;
    bd_device *device;
    bd_trace trace;
    int64_t *ints;
    void **places;
    int64_t *elements;
    bd_arena arena;
} binding;

static void place_buffers(binding *bound, const plan_case *arrival)
{
    const bd_plan *plan = bound->plan;
    uint32_t count;
    const bd_graph_external *externals = bd_graph_externals(plan->graph, &count);
    bound->places = BD_ARENA_ARRAY(&bound->arena, void *, plan->buffer_count + 1);
    bound->elements = BD_ARENA_ARRAY(&bound->arena, int64_t, plan->buffer_count + 1);
    for (uint32_t i = 0; i < plan->buffer_count; i++) {
        const bd_plan_buffer *buffer = &plan->buffers[i];
        bound->elements[i] = bound->ints[buffer->elements];
        size_t bytes = (size_t)bound->elements[i] * burn_dtype_size((burn_dtype)buffer->dtype);
        void *place = bd_arena_alloc(&bound->arena, bytes + 64);
        memset(place, 0xA5, bytes + 64);
        bound->places[i] = (void *)(((uintptr_t)place + 63) & ~(uintptr_t)63);
        if (buffer->kind != BD_BUFFER_EXTERNAL)
            continue;
        const double *data = arrival->trace.data.items[externals[buffer->number].slot];
        for (int64_t k = 0; k < bound->elements[i]; k++)
            write_element(bound->places[i], (burn_dtype)buffer->dtype, k, data[k]);
    }
    for (uint32_t i = 0; i < plan->buffer_count; i++) {
        uint32_t from = i;
        while (plan->buffers[from].reuses != BD_PLAN_NONE)
            from = plan->buffers[from].reuses;
        bound->places[i] = bound->places[from];
    }
}

static const bd_block *bind_blocks(binding *bound, const bd_plan_launch *launch)
{
    const bd_plan *plan = bound->plan;
    const bd_kir *program = plan->programs[launch->kernel];
    uint32_t scalar_count;
    const bd_graph_scalar *scalars = bd_graph_scalars(plan->graph, &scalar_count);
    bd_block *blocks = BD_ARENA_ARRAY(&bound->arena, bd_block, launch->block_count);
    for (uint32_t b = 0; b < launch->block_count; b++) {
        const bd_plan_block *recipe = &launch->blocks[b];
        int64_t *ints = BD_ARENA_ARRAY(&bound->arena, int64_t, program->int_count + 1);
        void **buffers = BD_ARENA_ARRAY(&bound->arena, void *, program->buffer_count + 1);
        bd_scalar *values = BD_ARENA_ARRAY(&bound->arena, bd_scalar, program->scalar_count + 1);
        for (uint32_t k = 0; k < program->int_count; k++)
            ints[k] = bound->ints[recipe->ints[k]];
        for (uint32_t k = 0; k < program->buffer_count; k++)
            buffers[k] = bound->places[recipe->buffers[k]];
        for (uint32_t k = 0; k < program->scalar_count; k++) {
            uint32_t slot = scalars[recipe->scalars[k].number].slot;
            if (recipe->scalars[k].stored_as == BURN_F64)
                values[k].f = bound->trace.scalars_as_double[slot];
            else
                values[k].i = bound->trace.scalars_as_int[slot];
        }
        blocks[b] = (bd_block){ints, buffers, values};
    }
    return blocks;
}

static void submit(binding *bound, const bd_plan_launch *launch)
{
    if (launch->skip_if_same && bound->places[launch->blocks[0].buffers[0]] ==
                                    bound->places[launch->blocks[0].buffers[1]])
        return;
    bd_kernel *kernel;
    must(bound->ops->compile(bound->device, bound->plan->programs[launch->kernel], &kernel));
    bd_launch made = {.kernel = kernel,
                      .blocks = bind_blocks(bound, launch),
                      .block_count = launch->block_count};
    bd_fault *faults = BD_ARENA_ARRAY(&bound->arena, bd_fault, launch->fault_count);
    volatile bool done = false;
    size_t scratch = 0;
    const bd_sized **sized = BD_ARENA_ARRAY(&bound->arena, const bd_sized *, made.block_count);
    made.sized = sized;
    for (uint32_t b = 0; b < made.block_count; b++) {
        size_t own = bound->ops->size(bound->device, kernel, made.blocks[b].ints, &bound->arena,
                                      &sized[b]);
        scratch = own > scratch ? own : scratch;
    }
    char *memory = bd_arena_alloc(&bound->arena, scratch + 64);
    made.scratch = (void *)(((uintptr_t)memory + 63) & ~(uintptr_t)63);
    bd_submission submission = {
        .launches = &made,
        .launch_count = 1,
        .faults = faults,
        .fault_count = launch->fault_count,
        .done = finished,
        .user = (void *)(uintptr_t)&done,
    };
    bound->ops->submit(bound->device, &submission);
    while (!done)
        continue;
    for (uint32_t i = 0; i < launch->fault_count; i++)
        ck_assert_msg(!faults[i].happened, "index %lld out of %lld",
                      (long long)faults[i].position, (long long)faults[i].extent);
    bound->ops->kernel_free(bound->device, kernel);
}

static void collect(binding *bound, plan_values *out)
{
    const bd_plan *plan = bound->plan;
    out->count = plan->output_count;
    out->elements = bd_alloc_zeroed((plan->output_count + 1) * sizeof *out->elements);
    out->element_counts = bd_alloc_zeroed((plan->output_count + 1) * sizeof *out->element_counts);
    for (uint32_t i = 0; i < plan->output_count; i++) {
        uint32_t number = plan->outputs[i].buffer;
        int64_t count = bound->elements[number];
        out->element_counts[i] = count;
        out->elements[i] = bd_alloc_zeroed((size_t)(count + 1) * sizeof(double));
        for (int64_t k = 0; k < count; k++)
            out->elements[i][k] =
                read_element(bound->places[number], (burn_dtype)plan->buffers[number].dtype, k);
    }
}

void plan_run(const bd_plan *plan, const plan_case *arrival, const char *driver, plan_values *out)
{
    const bd_driver *found = bd_driver_find(driver);
    ck_assert_msg(found != NULL, "no backend %s", driver);
    binding bound = {.plan = plan, .ops = found->ops};
    bd_device_options options = {.threads = 1};
    must(found->open(&options, &bound.device));
    bd_arena_init(&bound.arena);
    test_trace_view((test_trace *)(uintptr_t)&arrival->trace, &bound.trace);
    bd_ints *table = bd_graph_ints(plan->graph);
    bound.ints = BD_ARENA_ARRAY(&bound.arena, int64_t, bd_int_count(table));
    bd_ints_evaluate(table, &bound.trace, NULL, NULL, bound.ints);
    place_buffers(&bound, arrival);
    for (uint32_t i = 0; i < plan->launch_count; i++)
        submit(&bound, &plan->launches[i]);
    collect(&bound, out);
    bound.ops->close(bound.device);
    bd_arena_deinit(&bound.arena);
}

void plan_values_deinit(plan_values *values)
{
    for (uint32_t i = 0; i < values->count; i++)
        bd_free(values->elements[i]);
    bd_free(values->elements);
    bd_free(values->element_counts);
}

/* ---- judging ---- */

void plan_evaluate(const plan_case *arrival, plan_values *out)
{
    bd_trace trace;
    bd_graph *graph;
    test_trace_view((test_trace *)(uintptr_t)&arrival->trace, &trace);
    must(bd_graph_build(&trace, &graph));
    bd_node roots[64];
    uint32_t count = 0;
    for (uint32_t i = 0; i < trace.value_count; i++) {
        if (trace.values[i].survives)
            roots[count++] = bd_graph_value(graph, i);
    }
    must(bd_graph_decompose(graph, roots, count));
    uint32_t external_count, scalar_count;
    const bd_graph_external *externals = bd_graph_externals(graph, &external_count);
    const bd_graph_scalar *scalars = bd_graph_scalars(graph, &scalar_count);
    const double **data = bd_alloc_zeroed((external_count + 1) * sizeof *data);
    double *values = bd_alloc_zeroed((scalar_count + 1) * sizeof *values);
    for (uint32_t i = 0; i < external_count; i++)
        data[i] = arrival->trace.data.items[externals[i].slot];
    for (uint32_t i = 0; i < scalar_count; i++)
        values[i] = trace.scalars_as_double[scalars[i].slot];
    int64_t *ints = bd_alloc_zeroed((bd_int_count(bd_graph_ints(graph)) + 1) * sizeof *ints);
    bd_ints_evaluate(bd_graph_ints(graph), &trace, NULL, NULL, ints);
    test_bindings bindings = {data, values, ints};
    out->count = count;
    out->elements = bd_alloc_zeroed((count + 1) * sizeof *out->elements);
    out->element_counts = bd_alloc_zeroed((count + 1) * sizeof *out->element_counts);
    for (uint32_t i = 0; i < count; i++) {
        test_tensor tensor;
        ck_assert(test_evaluate(graph, roots[i], &bindings, &tensor));
        out->element_counts[i] = tensor.count;
        out->elements[i] = bd_alloc_zeroed((size_t)(tensor.count + 1) * sizeof(double));
        memcpy(out->elements[i], tensor.data, (size_t)tensor.count * sizeof(double));
        free(tensor.data);
    }
    bd_free(data);
    bd_free(values);
    bd_free(ints);
    bd_graph_destroy(graph);
}

void plan_compare(const char *what, const plan_values *got, const plan_values *expected,
                  double tolerance)
{
    ck_assert_uint_eq(got->count, expected->count);
    for (uint32_t i = 0; i < got->count; i++) {
        ck_assert_msg(got->element_counts[i] == expected->element_counts[i],
                      "%s: output %u has %lld elements, not %lld", what, i,
                      (long long)got->element_counts[i], (long long)expected->element_counts[i]);
        for (int64_t k = 0; k < got->element_counts[i]; k++) {
            double a = got->elements[i][k], b = expected->elements[i][k];
            bool alike = (isnan(a) && isnan(b)) || a == b ||
                         fabs(a - b) <= tolerance * fmax(1, fabs(b));
            expect(alike, "%s: output %u, element %lld: %.9g, not %.9g", what, i, (long long)k, a,
                   b);
        }
    }
}
