/* SPDX-License-Identifier: Apache-2.0
 * The cpu backend's softmax of rows on one pinned thread: over a matrix, over a single row again
 * and again (its arithmetic alone, from the first cache), and a plain loop over the matrix's
 * memory; they take turns. One JSON object; share: the slower of the last two over the first.
 *
 *     softmax ROWS COLUMNS */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "proto/base/arena.h"
#include "tests/bench/kernel_loop.h"
#include "tests/bench/probe.h"

enum { ROUNDS = 7, ROWS = 0, COLUMNS, ROW_STRIDE, INTS };
static const double TURN_SECONDS = 0.1;

static bd_kir *softmax_program(bd_arena *arena)
{
    bd_kir_builder *builder = bd_kir_builder_create(BD_KIR_LOOP);
    for (int i = 0; i < INTS; i++)
        bd_kir_add_int(builder);
    int row = bd_kir_add_axis(builder, BD_KIR_PARALLEL, bd_kir_arg(ROWS));
    int column = bd_kir_add_axis(builder, BD_KIR_SERIAL, bd_kir_arg(COLUMNS));
    bd_kir_access x = loop_access(builder, BD_KIR_READ), y = loop_access(builder, BD_KIR_WRITE);
    uint16_t slot = (uint16_t)bd_kir_add_slot(builder, BURN_F32);
    x.strides[row] = y.strides[row] = bd_kir_arg(ROW_STRIDE);
    x.strides[column] = y.strides[column] = bd_kir_const(1);
    bd_kir_begin_phase(builder, BD_KIR_EACH);
    bd_kir_value most = bd_kir_unary(builder, BD_KIR_REDUCE_MAX, loop_load(builder, &x));
    bd_kir_begin_phase(builder, BD_KIR_EACH);
    bd_kir_value power = bd_kir_binary(builder, BD_KIR_SUB, loop_load(builder, &x), most);
    power = bd_kir_unary(builder, BD_KIR_EXP, power);
    bd_kir_emit(builder,
                &(bd_kir_instr){.code = BD_KIR_SAVE, .index = slot, .operands = {power}});
    bd_kir_value sum = bd_kir_unary(builder, BD_KIR_REDUCE_SUM, power);
    bd_kir_begin_phase(builder, BD_KIR_ROW);
    bd_kir_value scale = bd_kir_unary(builder, BD_KIR_RECIP, sum);
    bd_kir_begin_phase(builder, BD_KIR_EACH);
    power = bd_kir_emit(
        builder, &(bd_kir_instr){.code = BD_KIR_RESTORE, .dtype = BURN_F32, .index = slot});
    loop_store(builder, &y, bd_kir_binary(builder, BD_KIR_MUL, power, scale));
    return loop_finish(builder, arena);
}

static void judge(const float *x, const float *y, int64_t rows, int64_t columns)
{
    for (int64_t row = 0; row < rows; row++) {
        double sum = 0;
        for (int64_t i = 0; i < columns; i++)
            sum += exp((double)x[row * columns + i]);
        for (int64_t i = row % 61; i < columns; i += 61) {
            double want = exp((double)x[row * columns + i]) / sum;
            if (!(fabs((double)y[row * columns + i] - want) <= 1e-5 * want))
                loop_fail("softmax", "wrong result");
        }
    }
}

int main(int argc, char **argv)
{
    int64_t rows = argc == 3 ? atoll(argv[1]) : 0, columns = argc == 3 ? atoll(argv[2]) : 0;
    kernel_loop over_matrix, over_row;
    bd_arena arena;
    double matrix[ROUNDS], row[ROUNDS], memory[ROUNDS], share[ROUNDS];
    if (rows < 1 || columns < 1) {
        fprintf(stderr, "usage: softmax ROWS COLUMNS\n");
        return 2;
    }
    loop_pin();
    bd_arena_init(&arena);
    void *buffers[] = {loop_floats(rows * columns), loop_floats(rows * columns)};
    bd_kir *program = softmax_program(&arena);
    loop_open(&over_matrix, program, (int64_t[]){rows, columns, columns}, INTS);
    loop_open(&over_row, program, (int64_t[]){rows, columns, 0}, INTS);
    loop_run(&over_matrix, buffers, 1);
    judge(buffers[0], buffers[1], rows, columns);
    uint32_t calls = loop_calls(TURN_SECONDS, loop_run(&over_matrix, buffers, 10));
    for (int round = 0; round < ROUNDS; round++) {
        matrix[round] = loop_run(&over_matrix, buffers, calls) / calls * 1e3;
        row[round] = loop_run(&over_row, buffers, calls) / calls * 1e3;
        memory[round] = probe_streams(1, 0, 1, (size_t)(rows * columns), 1, TURN_SECONDS);
        share[round] = fmax(row[round], memory[round]) / matrix[round];
    }
    printf("{\"kernel\": \"softmax\", \"rows\": %lld, \"columns\": %lld, \"ms\": %.4f, "
           "\"cached_ms\": %.4f, \"loop_ms\": %.4f, \"share\": %.3f}\n",
           (long long)rows, (long long)columns, loop_median(matrix, ROUNDS),
           loop_median(row, ROUNDS), loop_median(memory, ROUNDS), loop_median(share, ROUNDS));
    loop_close(&over_matrix);
    loop_close(&over_row);
    free(buffers[0]);
    free(buffers[1]);
    bd_arena_deinit(&arena);
    return 0;
}
