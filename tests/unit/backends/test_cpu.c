/* SPDX-License-Identifier: Apache-2.0
 * The CPU backend against the interpreter: the same program over the same bytes. */
#include <check.h>
#include <string.h>

#include "tests/unit/backends/trial.h"

/* ---- maps ---- */

/* y = f(a, b) over one axis. */
static bd_kir *map_of(bd_kir_code code, int operands, burn_dtype in, burn_dtype out)
{
    bd_kir_builder *b = bd_kir_builder_create(BD_KIR_LOOP);
    int n = bd_kir_add_int(b);
    bd_kir_add_axis(b, BD_KIR_PARALLEL, bd_kir_arg(n));
    bd_kir_value values[3] = {0};
    bd_kir_access access;
    for (int i = 0; i < operands; i++) {
        access = kir_access(bd_kir_add_buffer(b, in, BD_KIR_READ));
        access.strides[0] = bd_kir_const(1);
        values[i] = 0;
        if (i == 0)
            bd_kir_begin_phase(b, BD_KIR_ROW);
        values[i] = kir_load(b, &access, -1);
    }
    access = kir_access(bd_kir_add_buffer(b, out, BD_KIR_WRITE));
    access.strides[0] = bd_kir_const(1);
    bd_kir_value result;
    if (code == BD_KIR_CAST)
        result = bd_kir_cast(b, values[0], out);
    else if (operands == 1)
        result = bd_kir_unary(b, code, values[0]);
    else
        result = bd_kir_binary(b, code, values[0], values[1]);
    kir_store(b, &access, result);
    return kir_finish(b, trial_arena());
}

static void check_map(bd_kir_code code, int operands, burn_dtype in, burn_dtype out,
                      double tolerance)
{
    static const int64_t counts[] = {0, 1, 7, 16, 33, 97, 1009};
    trial t = {.program = map_of(code, operands, in, out), .tolerance = tolerance};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        t.ints[0] = t.sizes[0] = t.sizes[1] = t.sizes[2] = counts[i];
        trial_check(&t);
    }
}

START_TEST(unary_floats)
{
    static const burn_dtype dtypes[] = {BURN_F32, BURN_F64, BURN_F16, BURN_BF16};
    burn_dtype dtype = dtypes[_i];
    for (int code = BD_KIR_NEG; code <= BD_KIR_SIGMOID; code++)
        check_map((bd_kir_code)code, 1, dtype, dtype, dtype == BURN_F64 ? 1e-13 : 1e-6);
    check_map(BD_KIR_ISNAN, 1, dtype, BURN_BOOL, 0);
    check_map(BD_KIR_ISINF, 1, dtype, BURN_BOOL, 0);
}
END_TEST

START_TEST(binary_floats)
{
    static const burn_dtype dtypes[] = {BURN_F32, BURN_F64, BURN_F16, BURN_BF16};
    burn_dtype dtype = dtypes[_i];
    for (int code = BD_KIR_ADD; code <= BD_KIR_FMIN; code++)
        check_map((bd_kir_code)code, 2, dtype, dtype, dtype == BURN_F64 ? 1e-13 : 1e-6);
    for (int code = BD_KIR_EQ; code <= BD_KIR_GE; code++)
        check_map((bd_kir_code)code, 2, dtype, BURN_BOOL, 0);
    if (dtype == BURN_F32 || dtype == BURN_F64)
        check_map(BD_KIR_NEXTAFTER, 2, dtype, dtype, 0);
}
END_TEST

START_TEST(integers)
{
    static const burn_dtype dtypes[] = {BURN_I64, BURN_I32, BURN_I16, BURN_I8,
                                        BURN_U64, BURN_U32, BURN_U16, BURN_U8};
    burn_dtype dtype = dtypes[_i];
    for (int code = BD_KIR_NEG; code <= BD_KIR_SIGN; code++)
        check_map((bd_kir_code)code, 1, dtype, dtype, 0);
    check_map(BD_KIR_NOT, 1, dtype, dtype, 0);
    for (int code = BD_KIR_ADD; code <= BD_KIR_POW; code++)
        check_map((bd_kir_code)code, 2, dtype, dtype, 0);
    for (int code = BD_KIR_MAX; code <= BD_KIR_FMIN; code++)
        check_map((bd_kir_code)code, 2, dtype, dtype, 0);
    for (int code = BD_KIR_AND; code <= BD_KIR_XOR; code++)
        check_map((bd_kir_code)code, 2, dtype, dtype, 0);
    for (int code = BD_KIR_EQ; code <= BD_KIR_GE; code++)
        check_map((bd_kir_code)code, 2, dtype, BURN_BOOL, 0);
}
END_TEST

START_TEST(booleans)
{
    static const bd_kir_code codes[] = {BD_KIR_ADD, BD_KIR_MUL, BD_KIR_AND, BD_KIR_OR, BD_KIR_XOR,
                                        BD_KIR_EQ,  BD_KIR_NE,  BD_KIR_MAX, BD_KIR_MIN};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        check_map(codes[i], 2, BURN_BOOL, BURN_BOOL, 0);
    check_map(BD_KIR_NOT, 1, BURN_BOOL, BURN_BOOL, 0);
}
END_TEST

START_TEST(casts)
{
    for (int to = 1; to < BURN_DTYPE_END; to++)
        check_map(BD_KIR_CAST, 1, (burn_dtype)(_i + 1), (burn_dtype)to, 0);
}
END_TEST

/* y[i, j] = (x[j, i] + v[i]) * w[j] + s, with a load shared by a row and one by a column. */
START_TEST(two_axes_and_views)
{
    bd_kir_builder *b = bd_kir_builder_create(BD_KIR_LOOP);
    int rows = bd_kir_add_int(b), columns = bd_kir_add_int(b);
    bd_kir_add_axis(b, BD_KIR_PARALLEL, bd_kir_arg(rows));
    bd_kir_add_axis(b, BD_KIR_PARALLEL, bd_kir_arg(columns));
    bd_kir_access x = kir_access(bd_kir_add_buffer(b, BURN_F32, BD_KIR_READ));
    bd_kir_access v = kir_access(bd_kir_add_buffer(b, BURN_F32, BD_KIR_READ));
    bd_kir_access w = kir_access(bd_kir_add_buffer(b, BURN_F64, BD_KIR_READ));
    bd_kir_access y = kir_access(bd_kir_add_buffer(b, BURN_F32, BD_KIR_WRITE));
    int s = bd_kir_add_scalar(b, BURN_F64);
    x.strides[0] = bd_kir_const(1);
    x.strides[1] = bd_kir_arg(rows);
    v.strides[0] = w.strides[1] = y.strides[1] = bd_kir_const(1);
    y.strides[0] = bd_kir_arg(columns);
    bd_kir_begin_phase(b, BD_KIR_UNIFORM);
    bd_kir_value scalar = bd_kir_emit(
        b, &(bd_kir_instr){.code = BD_KIR_SCALAR, .dtype = BURN_F32, .index = (uint16_t)s});
    scalar = bd_kir_unary(b, BD_KIR_EXP, scalar);
    bd_kir_begin_phase(b, BD_KIR_ROW);
    bd_kir_value sum = bd_kir_binary(b, BD_KIR_ADD, kir_load(b, &x, -1), kir_load(b, &v, -1));
    bd_kir_value factor = bd_kir_cast(b, kir_load(b, &w, -1), BURN_F32);
    sum = bd_kir_binary(b, BD_KIR_MUL, sum, factor);
    kir_store(b, &y, bd_kir_binary(b, BD_KIR_ADD, sum, scalar));
    trial t = {
        .program = kir_finish(b, trial_arena()), .tolerance = 1e-6, .scalars = {{.f = 0.75}}};
    static const int64_t shapes[][2] = {{1, 1},    {3, 5}, {17, 33}, {2, 5000},
                                        {1000, 3}, {0, 4}, {4, 0}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        t.ints[0] = t.sizes[1] = shapes[i][0];
        t.ints[1] = t.sizes[2] = shapes[i][1];
        t.sizes[0] = t.sizes[3] = shapes[i][0] * shapes[i][1];
        trial_check(&t);
    }
}
END_TEST

/* Padding by a guard, and a flip: y[i] = x[i - 2] or 0, z[i] = y[n - 1 - i]. */
START_TEST(guards)
{
    bd_kir_builder *b = bd_kir_builder_create(BD_KIR_LOOP);
    int n = bd_kir_add_int(b), from = bd_kir_add_int(b), last = bd_kir_add_int(b);
    bd_kir_add_axis(b, BD_KIR_PARALLEL, bd_kir_arg(n));
    bd_kir_access x = kir_access(bd_kir_add_buffer(b, BURN_F32, BD_KIR_READ));
    bd_kir_access y = kir_access(bd_kir_add_buffer(b, BURN_F32, BD_KIR_WRITE));
    bd_kir_access z = kir_access(bd_kir_add_buffer(b, BURN_F32, BD_KIR_READ_WRITE));
    x.offset = bd_kir_const(-2);
    x.strides[0] = y.strides[0] = bd_kir_const(1);
    z.offset = bd_kir_arg(last);
    z.strides[0] = bd_kir_const(-1);
    bd_kir_guard guard = {.offset = bd_kir_const(-2), .extent = bd_kir_arg(from)};
    for (int i = 0; i < BD_KIR_AXES_MAX; i++)
        guard.strides[i] = bd_kir_const(i == 0);
    int number = bd_kir_add_guard(b, &guard);
    bd_kir_begin_phase(b, BD_KIR_ROW);
    bd_kir_value value = kir_load(b, &x, number);
    kir_store(b, &y, value);
    bd_kir_value held = bd_kir_emit(
        b, &(bd_kir_instr){.code = BD_KIR_GUARD, .dtype = BURN_BOOL, .index = (uint16_t)number});
    value = bd_kir_select(b, held, value, bd_kir_const_float(b, BURN_F32, 9));
    bd_kir_emit(b, &(bd_kir_instr){.code = BD_KIR_STORE,
                                   .index = (uint16_t)bd_kir_add_access(b, &z),
                                   .guard = (int16_t)number,
                                   .operands = {value}});
    trial t = {.program = kir_finish(b, trial_arena())};
    static const int64_t counts[] = {1, 4, 21, 100};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        t.ints[0] = t.sizes[1] = t.sizes[2] = counts[i];
        t.ints[1] = t.sizes[0] = counts[i] > 4 ? counts[i] - 4 : 0;
        t.ints[2] = counts[i] - 1;
        trial_check(&t);
    }
}
END_TEST

START_TEST(random_words)
{
    bd_kir_builder *b = bd_kir_builder_create(BD_KIR_LOOP);
    int n = bd_kir_add_int(b);
    bd_kir_add_axis(b, BD_KIR_PARALLEL, bd_kir_arg(n));
    burn_dtype dtypes[3] = {BURN_I64, BURN_F32, BURN_F64};
    bd_kir_access out[3];
    for (int i = 0; i < 3; i++) {
        out[i] = kir_access(bd_kir_add_buffer(b, dtypes[i], BD_KIR_WRITE));
        out[i].strides[0] = bd_kir_const(1);
    }
    int seed = bd_kir_add_scalar(b, BURN_I64), offset = bd_kir_add_scalar(b, BURN_I64);
    bd_kir_begin_phase(b, BD_KIR_ROW);
    bd_kir_value inputs[3];
    inputs[0] = bd_kir_emit(b, &(bd_kir_instr){.code = BD_KIR_INDEX, .dtype = BURN_I64});
    inputs[1] = bd_kir_emit(
        b, &(bd_kir_instr){.code = BD_KIR_SCALAR, .dtype = BURN_I64, .index = (uint16_t)seed});
    inputs[2] = bd_kir_emit(
        b, &(bd_kir_instr){.code = BD_KIR_SCALAR, .dtype = BURN_I64, .index = (uint16_t)offset});
    for (int i = 0; i < 3; i++) {
        bd_kir_instr instr = {.code = i ? BD_KIR_RANDOM_UNIFORM : BD_KIR_RANDOM_BITS,
                              .dtype = (uint8_t)dtypes[i],
                              .index = (uint16_t)(i == 1),
                              .operands = {inputs[0], inputs[1], inputs[2]}};
        kir_store(b, &out[i], bd_kir_emit(b, &instr));
    }
    trial t = {.program = kir_finish(b, trial_arena()),
               .scalars = {{.i = 0x123456789abcdef}, {.i = -5}}};
    t.ints[0] = t.sizes[0] = t.sizes[1] = t.sizes[2] = 1001;
    trial_check(&t);
}
END_TEST

/* ---- reductions ---- */

/* y[i] = reduce over j (and k) of x[i, j, k] squared or plain; strides as given. */
static bd_kir *reduction_of(bd_kir_code code, burn_dtype dtype, bool column)
{
    bd_kir_builder *b = bd_kir_builder_create(BD_KIR_LOOP);
    int rows = bd_kir_add_int(b), serial = bd_kir_add_int(b);
    bd_kir_add_axis(b, BD_KIR_PARALLEL, bd_kir_arg(rows));
    bd_kir_add_axis(b, BD_KIR_SERIAL, bd_kir_arg(serial));
    bool arg = code == BD_KIR_REDUCE_ARGMAX || code == BD_KIR_REDUCE_ARGMIN;
    bd_kir_access x = kir_access(bd_kir_add_buffer(b, dtype, BD_KIR_READ));
    bd_kir_access y = kir_access(bd_kir_add_buffer(b, arg ? BURN_I64 : dtype, BD_KIR_WRITE));
    x.strides[0] = column ? bd_kir_const(1) : bd_kir_arg(serial);
    x.strides[1] = column ? bd_kir_arg(rows) : bd_kir_const(1);
    y.strides[0] = bd_kir_const(1);
    bd_kir_begin_phase(b, BD_KIR_EACH);
    bd_kir_value result = bd_kir_unary(b, code, kir_load(b, &x, -1));
    bd_kir_begin_phase(b, BD_KIR_ROW);
    kir_store(b, &y, result);
    return kir_finish(b, trial_arena());
}

static const int64_t reduction_shapes[][2] = {{1, 1},   {1, 0}, {3, 7},     {5, 129},  {2, 1000},
                                              {70, 33}, {0, 5}, {100, 300}, {17, 2049}};

START_TEST(reductions)
{
    static const burn_dtype dtypes[] = {BURN_F32, BURN_F64, BURN_F16, BURN_BF16,
                                        BURN_I64, BURN_I32, BURN_U8,  BURN_BOOL};
    burn_dtype dtype = dtypes[_i / 2];
    for (int code = BD_KIR_REDUCE_SUM; code <= BD_KIR_REDUCE_ARGMIN; code++) {
        bool arg = code == BD_KIR_REDUCE_ARGMAX || code == BD_KIR_REDUCE_ARGMIN;
        trial t = {.program = reduction_of((bd_kir_code)code, dtype, _i % 2 == 1),
                   .tolerance = dtype == BURN_F64 ? 1e-12 : 1e-4};
        for (size_t i = 0; i < sizeof reduction_shapes / sizeof *reduction_shapes; i++) {
            t.ints[0] = t.sizes[1] = reduction_shapes[i][0];
            t.ints[1] = reduction_shapes[i][1];
            t.sizes[0] = t.ints[0] * t.ints[1];
            if (arg && t.ints[1] == 0)
                continue;
            if (code == BD_KIR_REDUCE_PROD && t.ints[1] > 50)
                continue;
            trial_check(&t);
        }
    }
}
END_TEST

START_TEST(long_reductions_are_split)
{
    static const int64_t shapes[][2] = {{1, 300007}, {3, 100003}, {15, 70001}, {40, 20011}};
    static const bd_kir_code codes[] = {BD_KIR_REDUCE_SUM, BD_KIR_REDUCE_MAX, BD_KIR_REDUCE_ARGMAX};
    for (int column = 0; column < 2; column++)
        for (size_t c = 0; c < 3; c++) {
            trial t = {.program = reduction_of(codes[c], BURN_F32, column), .tolerance = 1e-4};
            for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
                t.ints[0] = t.sizes[1] = shapes[i][0];
                t.ints[1] = shapes[i][1];
                t.sizes[0] = t.ints[0] * t.ints[1];
                trial_check(&t);
            }
        }
}
END_TEST

/* Softmax with the exponentials kept in a slot. */
static bd_kir *softmax(bool column)
{
    bd_kir_builder *b = bd_kir_builder_create(BD_KIR_LOOP);
    int rows = bd_kir_add_int(b), columns = bd_kir_add_int(b);
    bd_kir_add_axis(b, BD_KIR_PARALLEL, bd_kir_arg(rows));
    bd_kir_add_axis(b, BD_KIR_SERIAL, bd_kir_arg(columns));
    bd_kir_access x = kir_access(bd_kir_add_buffer(b, BURN_F32, BD_KIR_READ));
    bd_kir_access y = kir_access(bd_kir_add_buffer(b, BURN_F32, BD_KIR_WRITE));
    bd_kir_access m = kir_access(bd_kir_add_buffer(b, BURN_F32, BD_KIR_WRITE));
    int slot = bd_kir_add_slot(b, BURN_F32);
    x.strides[0] = y.strides[0] = column ? bd_kir_const(1) : bd_kir_arg(columns);
    x.strides[1] = y.strides[1] = column ? bd_kir_arg(rows) : bd_kir_const(1);
    m.strides[0] = bd_kir_const(1);
    bd_kir_begin_phase(b, BD_KIR_EACH);
    bd_kir_value most = bd_kir_unary(b, BD_KIR_REDUCE_MAX, kir_load(b, &x, -1));
    bd_kir_begin_phase(b, BD_KIR_ROW);
    kir_store(b, &m, most);
    bd_kir_begin_phase(b, BD_KIR_EACH);
    bd_kir_value e = bd_kir_binary(b, BD_KIR_SUB, kir_load(b, &x, -1), most);
    e = bd_kir_unary(b, BD_KIR_EXP, e);
    bd_kir_emit(b, &(bd_kir_instr){.code = BD_KIR_SAVE, .index = (uint16_t)slot, .operands = {e}});
    bd_kir_value sum = bd_kir_unary(b, BD_KIR_REDUCE_SUM, e);
    bd_kir_begin_phase(b, BD_KIR_ROW);
    bd_kir_value scale = bd_kir_unary(b, BD_KIR_RECIP, sum);
    bd_kir_begin_phase(b, BD_KIR_EACH);
    e = bd_kir_emit(
        b, &(bd_kir_instr){.code = BD_KIR_RESTORE, .dtype = BURN_F32, .index = (uint16_t)slot});
    kir_store(b, &y, bd_kir_binary(b, BD_KIR_MUL, e, scale));
    return kir_finish(b, trial_arena());
}

START_TEST(softmax_like_phases)
{
    static const int64_t shapes[][2] = {{1, 1}, {3, 10}, {5, 129},  {64, 1000},
                                        {0, 3}, {3, 0},  {2, 70000}};
    trial t = {.program = softmax(_i == 1), .tolerance = 2e-6};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        t.ints[0] = t.sizes[2] = shapes[i][0];
        t.ints[1] = shapes[i][1];
        t.sizes[0] = t.sizes[1] = t.ints[0] * t.ints[1];
        trial_check(&t);
    }
}
END_TEST

/* ---- gather, scatter ---- */

START_TEST(gathers_rows)
{
    bd_kir_builder *b = bd_kir_builder_create(BD_KIR_LOOP);
    int count = bd_kir_add_int(b), width = bd_kir_add_int(b), height = bd_kir_add_int(b);
    bd_kir_add_axis(b, BD_KIR_PARALLEL, bd_kir_arg(count));
    bd_kir_add_axis(b, BD_KIR_PARALLEL, bd_kir_arg(width));
    bd_kir_access table = kir_access(bd_kir_add_buffer(b, BURN_F32, BD_KIR_READ));
    bd_kir_access at = kir_access(bd_kir_add_buffer(b, BURN_I64, BD_KIR_READ));
    bd_kir_access out = kir_access(bd_kir_add_buffer(b, BURN_F32, BD_KIR_WRITE));
    table.strides[1] = at.strides[0] = out.strides[1] = bd_kir_const(1);
    out.strides[0] = bd_kir_arg(width);
    bool each = _i % 2 == 1; /* one index for each element, not for each row */
    if (each) {
        at.strides[0] = bd_kir_arg(width);
        at.strides[1] = bd_kir_const(1);
    }
    bd_kir_begin_phase(b, BD_KIR_ROW);
    bd_kir_value position = kir_load(b, &at, -1);
    position = bd_kir_emit(b, &(bd_kir_instr){.code = BD_KIR_CHECK,
                                              .dtype = BURN_I64,
                                              .index = 7,
                                              .flags = 1,
                                              .integer = bd_kir_arg(height),
                                              .operands = {position}});
    bd_kir_value value =
        bd_kir_emit(b, &(bd_kir_instr){.code = BD_KIR_LOAD_AT,
                                       .dtype = BURN_F32,
                                       .guard = -1,
                                       .index = (uint16_t)bd_kir_add_access(b, &table),
                                       .integer = bd_kir_arg(width),
                                       .operands = {position}});
    kir_store(b, &out, value);
    trial t = {.program = kir_finish(b, trial_arena()), .limit = 11};
    static const int64_t shapes[][2] = {{1, 1}, {5, 40}, {100, 3}, {0, 3}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        t.ints[0] = shapes[i][0];
        t.ints[1] = shapes[i][1];
        t.ints[2] = _i < 2 ? 11 : _i < 4 ? 10 : 0; /* 10: an index of 10 is a fault; 0: any */
        t.sizes[0] = 11 * t.ints[1];
        t.sizes[2] = t.ints[0] * t.ints[1];
        t.sizes[1] = each ? t.sizes[2] : t.ints[0];
        trial_check(&t);
    }
}
END_TEST

START_TEST(scatters)
{
    bd_kir_builder *b = bd_kir_builder_create(BD_KIR_LOOP);
    int width = bd_kir_add_int(b), count = bd_kir_add_int(b);
    bd_kir_add_axis(b, BD_KIR_PARALLEL, bd_kir_arg(width));
    bd_kir_add_axis(b, BD_KIR_SERIAL, bd_kir_arg(count));
    bd_kir_access from = kir_access(bd_kir_add_buffer(b, BURN_F32, BD_KIR_READ));
    bd_kir_access at = kir_access(bd_kir_add_buffer(b, BURN_I64, BD_KIR_READ));
    bd_kir_access out = kir_access(bd_kir_add_buffer(b, BURN_F32, BD_KIR_READ_WRITE));
    bool across = _i >= 5; /* rows of the table lie side by side: lanes walk the indices */
    from.strides[0] = across ? bd_kir_arg(count) : bd_kir_const(1);
    from.strides[1] = across ? bd_kir_const(1) : bd_kir_arg(width);
    at.strides[1] = bd_kir_const(1);
    out.strides[0] = across ? bd_kir_const(13) : bd_kir_const(1);
    bd_kir_begin_phase(b, BD_KIR_EACH);
    bd_kir_value position = kir_load(b, &at, -1), value = kir_load(b, &from, -1);
    bd_kir_emit(b, &(bd_kir_instr){.code = BD_KIR_STORE_AT,
                                   .guard = -1,
                                   .index = (uint16_t)bd_kir_add_access(b, &out),
                                   .flags = (uint8_t)(_i % 5),
                                   .integer = across ? bd_kir_const(1) : bd_kir_arg(width),
                                   .operands = {value, position}});
    trial t = {.program = kir_finish(b, trial_arena()), .limit = 13, .tolerance = 1e-5};
    static const int64_t shapes[][2] = {{1, 1}, {40, 50}, {3, 100}, {5, 0}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        t.ints[0] = shapes[i][0];
        t.ints[1] = t.sizes[1] = shapes[i][1];
        t.sizes[0] = t.ints[0] * t.ints[1];
        t.sizes[2] = t.ints[0] * 13;
        trial_check(&t);
    }
}
END_TEST

/* ---- contraction ---- */

START_TEST(contractions)
{
    static const burn_dtype dtypes[] = {BURN_F32, BURN_F64, BURN_F16, BURN_BF16, BURN_I32};
    burn_dtype dtype = dtypes[_i / 2];
    bool transposed = _i % 2 == 1;
    bd_kir_builder *b = bd_kir_builder_create(BD_KIR_CONTRACTION);
    int sizes[4], axes[4];
    for (int i = 0; i < 4; i++)
        sizes[i] = bd_kir_add_int(b);
    int a_step = bd_kir_add_int(b), b_step = bd_kir_add_int(b), c_step = bd_kir_add_int(b);
    for (int i = 0; i < 4; i++)
        axes[i] = bd_kir_add_axis(b, (bd_kir_role)(BD_KIR_BATCH + i), bd_kir_arg(sizes[i]));
    bd_kir_access x = kir_access(bd_kir_add_buffer(b, dtype, BD_KIR_READ));
    bd_kir_access y = kir_access(bd_kir_add_buffer(b, dtype, BD_KIR_READ));
    bd_kir_access bias = kir_access(bd_kir_add_buffer(b, dtype, BD_KIR_READ));
    bd_kir_access out = kir_access(bd_kir_add_buffer(b, dtype, BD_KIR_WRITE));
    x.strides[axes[0]] = bd_kir_arg(a_step);
    y.strides[axes[0]] = bd_kir_arg(b_step);
    out.strides[axes[0]] = bd_kir_arg(c_step);
    x.strides[axes[1]] = bd_kir_arg(sizes[3]);
    x.strides[axes[3]] = bd_kir_const(1);
    y.strides[axes[3]] = transposed ? bd_kir_const(1) : bd_kir_arg(sizes[2]);
    y.strides[axes[2]] = transposed ? bd_kir_arg(sizes[3]) : bd_kir_const(1);
    out.strides[axes[1]] = bd_kir_arg(sizes[2]);
    out.strides[axes[2]] = bias.strides[axes[2]] = bd_kir_const(1);
    bd_kir_begin_phase(b, BD_KIR_OPERAND_A);
    bd_kir_emit(b, &(bd_kir_instr){.code = BD_KIR_YIELD, .operands = {kir_load(b, &x, -1)}});
    bd_kir_begin_phase(b, BD_KIR_OPERAND_B);
    bd_kir_emit(b, &(bd_kir_instr){.code = BD_KIR_YIELD, .operands = {kir_load(b, &y, -1)}});
    bd_kir_begin_phase(b, BD_KIR_EPILOGUE);
    bool half = dtype == BURN_F16 || dtype == BURN_BF16;
    bd_kir_value acc = bd_kir_emit(
        b, &(bd_kir_instr){.code = BD_KIR_ACC, .dtype = (uint8_t)(half ? BURN_F32 : dtype)});
    if (half)
        acc = bd_kir_cast(b, acc, dtype);
    acc = bd_kir_binary(b, BD_KIR_ADD, acc, kir_load(b, &bias, -1));
    kir_store(b, &out, acc);
    trial t = {.program = kir_finish(b, trial_arena()),
               .tolerance = dtype == BURN_F64 ? 1e-12 : 1e-3};
    static const int64_t shapes[][4] = {{1, 1, 1, 1},    {1, 64, 10, 784}, {2, 7, 33, 129},
                                        {1, 40, 70, 20}, {3, 2, 2, 0},     {0, 2, 2, 2}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const int64_t *s = shapes[i];
        memcpy(t.ints, s, sizeof shapes[i]);
        t.ints[4] = s[1] * s[3];
        t.ints[5] = s[2] * s[3];
        t.ints[6] = s[1] * s[2];
        t.sizes[0] = s[0] * t.ints[4];
        t.sizes[1] = s[0] * t.ints[5];
        t.sizes[2] = s[2];
        t.sizes[3] = s[0] * t.ints[6];
        trial_check(&t);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cpu");
    TCase *maps = tcase_create("maps"), *rows = tcase_create("rows"), *dots = tcase_create("dots");
    TCase *cases[] = {maps, rows, dots};
    for (int i = 0; i < 3; i++) {
        tcase_add_checked_fixture(cases[i], trial_begin, trial_end);
        tcase_set_timeout(cases[i], 240);
        suite_add_tcase(suite, cases[i]);
    }
    tcase_add_loop_test(maps, unary_floats, 0, 4);
    tcase_add_loop_test(maps, binary_floats, 0, 4);
    tcase_add_loop_test(maps, integers, 0, 8);
    tcase_add_test(maps, booleans);
    tcase_add_loop_test(maps, casts, 0, 13);
    tcase_add_test(maps, two_axes_and_views);
    tcase_add_test(maps, guards);
    tcase_add_test(maps, random_words);
    tcase_add_loop_test(rows, reductions, 0, 16);
    tcase_add_test(rows, long_reductions_are_split);
    tcase_add_loop_test(rows, softmax_like_phases, 0, 2);
    tcase_add_loop_test(maps, gathers_rows, 0, 6);
    tcase_add_loop_test(rows, scatters, 0, 10);
    tcase_add_loop_test(dots, contractions, 0, 10);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
