/* SPDX-License-Identifier: Apache-2.0
 * Drives an engine in this process, as the server does, from a small way of writing op records.
 * For tests and the fuzzer. Thread: one per harness.
 *
 *     harness *h = harness_open(harness_driver(argc, argv), true);
 *     uint64_t x = put_f32(h, (float[]){1, 2}, 1, (int64_t[]){2});
 *     uint64_t y = op(h, BURN_OP_ADD, 2, (burn_operand[]){T(x), F(0.5)}, 0, NULL);
 *     float out[2];  get_f32(h, y, out, 2);
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/engine.h"
#include "proto/ops.h"

typedef struct harness harness;

/* "-d NAME" of the arguments, else BURN_TEST_DRIVER, else "ref". */
const char *harness_driver(int argc, char **argv);

typedef struct harness_options {
    const char *driver;
    bool unfused;
    bool compile_never;
    const char *cache_path;
    uint64_t memory_bytes_max, session_bytes_max;
    int threads;
} harness_options;

harness *harness_open(const char *driver, bool fusion);
harness *harness_open_with(const harness_options *options);
void harness_close(harness *h);
bd_engine *harness_engine(harness *h);
/* Later calls act for this session, which is opened at its first mention. 1 is current at first. */
void harness_session(harness *h, uint64_t session);
/* Ends the current session and waits until that is done. */
void harness_end_session(harness *h);

/* ---- operands and attributes ---- */
#define T(tensor) ((burn_operand){.kind = BURN_OPERAND_TENSOR, .id = (tensor)})
#define F(value) ((burn_operand){.kind = BURN_OPERAND_FLOAT, .f = (value)})
#define I(value) ((burn_operand){.kind = BURN_OPERAND_INT, .i = (value)})
#define B(value) ((burn_operand){.kind = BURN_OPERAND_BOOL, .i = (value)})
#define NONE ((burn_operand){.kind = BURN_OPERAND_ABSENT})
#define A(number) ((burn_attr){.value = (number)})
#define L(count_, ...) ((burn_attr){.values = (int64_t[]){__VA_ARGS__}, .count = (count_)})

/* ---- records: sent with the next get, sync or flush ---- */
/* Returns the id of the first output. Attributes that are not given take their defaults. */
uint64_t op(harness *h, burn_op number, uint32_t input_count, const burn_operand *inputs,
            uint32_t attr_count, const burn_attr *attrs);
uint64_t op_tracked(harness *h, burn_op number, uint32_t input_count, const burn_operand *inputs,
                    uint32_t attr_count, const burn_attr *attrs);
uint64_t op1(harness *h, burn_op number, burn_operand a);
uint64_t op2(harness *h, burn_op number, burn_operand a, burn_operand b);
void free_tensor(harness *h, uint64_t id);
void mark(harness *h);
/* Gradients of root (seed 1) by the wrt tensors: ids are consecutive from the one returned. */
uint64_t grad(harness *h, uint64_t root, uint32_t count, const uint64_t *wrt);
/* Bytes as they are, as if they were records. */
void send_bytes(harness *h, const uint8_t *bytes, size_t size_bytes, uint64_t first_output);
uint64_t next_id(const harness *h);
void skip_ids(harness *h, uint64_t count);
void flush(harness *h);

/* Between program_begin and program_end records are the program's, not sent. */
void program_begin(harness *h, uint32_t inputs, uint64_t *out_first_input);
bd_error *program_end(harness *h, uint64_t program) BD_MUST_USE;
uint64_t call(harness *h, uint64_t program, uint32_t input_count, const burn_operand *inputs,
              uint32_t output_count);

/* ---- data ---- */
uint64_t put(harness *h, burn_dtype dtype, int32_t rank, const int64_t *dims, const void *bytes);
uint64_t put_f32(harness *h, const float *values, int32_t rank, const int64_t *dims);
uint64_t put_i64(harness *h, const int64_t *values, int32_t rank, const int64_t *dims);
/* The whole tensor; copies at most size_bytes. out_type may be NULL. */
bd_error *get(harness *h, uint64_t id, void *bytes, size_t size_bytes,
              burn_tensor_type *out_type) BD_MUST_USE;
/* Aborts unless all goes well and dtype and number of elements are these. */
void get_f32(harness *h, uint64_t id, float *out, size_t count);
void get_i64(harness *h, uint64_t id, int64_t *out, size_t count);
bd_error *sync_now(harness *h) BD_MUST_USE;
bd_engine_stats harness_stats(harness *h);
