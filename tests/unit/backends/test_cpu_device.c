/* SPDX-License-Identifier: Apache-2.0
 * The CPU device around its code: object cache, loader, workers, faults, limits. */
#include <check.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/cpu/cpu.h"
#include "backends/cpu/jit.h"
#include "proto/base/alloc.h"
#include "tests/unit/backends/program.h"
#include "tests/unit/backends/scratch_folder.h"
#include "tests/unit/expect.h"

static bd_arena arena;
static char folder[SCRATCH_FOLDER_BYTES];

static void setup(void)
{
    bd_arena_init(&arena);
    scratch_folder_make(folder);
}

static void teardown(void)
{
    scratch_folder_remove(folder);
    bd_arena_deinit(&arena);
}

static bd_device *open_device(bd_device_options options)
{
    bd_device *device = NULL;
    bd_error *err = bd_cpu_driver.open(&options, &device);
    ck_assert_msg(err == NULL, "%s", bd_error_text(err));
    return device;
}

/* y[i] = x[i] * factor */
static bd_kir *scale_by(double factor)
{
    bd_kir_builder *b = bd_kir_builder_create(BD_KIR_LOOP);
    bd_kir_add_axis(b, BD_KIR_PARALLEL, bd_kir_arg(bd_kir_add_int(b)));
    bd_kir_access x = kir_access(bd_kir_add_buffer(b, BURN_F32, BD_KIR_READ));
    bd_kir_access y = kir_access(bd_kir_add_buffer(b, BURN_F32, BD_KIR_WRITE));
    x.strides[0] = y.strides[0] = bd_kir_const(1);
    bd_kir_begin_phase(b, BD_KIR_ROW);
    bd_kir_value value = bd_kir_const_float(b, BURN_F32, factor);
    kir_store(b, &y, bd_kir_binary(b, BD_KIR_MUL, kir_load(b, &x, -1), value));
    return kir_finish(b, &arena);
}

static void expect_scaled(bd_device *device, double factor)
{
    float x[100], y[100];
    int64_t count = 100;
    void *buffers[] = {x, y};
    for (int i = 0; i < 100; i++)
        x[i] = (float)i;
    bd_block block = {&count, buffers, NULL};
    kir_run(&bd_cpu_driver, device, scale_by(factor), &block);
    for (int i = 0; i < 100; i++)
        ck_assert_float_eq(y[i], (float)i * (float)factor);
}

static bd_device_counters counters_of(bd_device *device)
{
    bd_device_counters counters;
    bd_cpu_driver.ops->counters(device, &counters);
    return counters;
}

/* ---- object cache ---- */

START_TEST(objects_are_kept_on_disk)
{
    bd_device *device = open_device((bd_device_options){.threads = 1, .cache_path = folder});
    expect_scaled(device, 2);
    expect_scaled(device, 2);
    ck_assert_uint_eq(counters_of(device).compiles, 1);
    ck_assert_uint_eq(counters_of(device).cache_hits, 1);
    char path[128];
    ck_assert_uint_eq(scratch_folder_count(folder, ".obj", path, sizeof path), 1);
    bd_cpu_driver.ops->close(device);
    device =
        open_device((bd_device_options){.threads = 1, .cache_path = folder, .compile_never = true});
    expect_scaled(device, 2);
    ck_assert_uint_eq(counters_of(device).compiles, 0);
    ck_assert_uint_eq(counters_of(device).cache_hits, 1);
    bd_kernel *kernel = NULL;
    bd_error *err = bd_cpu_driver.ops->compile(device, scale_by(3), &kernel);
    ck_assert_int_eq(bd_error_code(err), BD_CODE_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(bd_error_text(err), "mul"));
    ck_assert_ptr_null(kernel);
    bd_error_free(err);
    bd_cpu_driver.ops->close(device);
}
END_TEST

START_TEST(other_targets_do_not_share_objects)
{
    bd_device *device = open_device((bd_device_options){.threads = 1, .cache_path = folder});
    expect_scaled(device, 2);
    bd_cpu_driver.ops->close(device);
    device =
        open_device((bd_device_options){.threads = 1, .cache_path = folder, .target = "generic"});
    expect_scaled(device, 2);
    ck_assert_uint_eq(counters_of(device).cache_hits, 0);
    bd_cpu_driver.ops->close(device);
}
END_TEST

/* Every kind of damage leads to a fresh compile, never to a load. */
START_TEST(damaged_objects_are_not_loaded)
{
    bd_device *device = open_device((bd_device_options){.threads = 1, .cache_path = folder});
    expect_scaled(device, 2);
    char path[128];
    ck_assert_uint_eq(scratch_folder_count(folder, ".obj", path, sizeof path), 1);
    struct stat status;
    ck_assert_int_eq(stat(path, &status), 0);
    if (_i == 0) {
        ck_assert_int_eq(truncate(path, status.st_size / 2), 0);
    } else if (_i == 1) {
        ck_assert_int_eq(truncate(path, 0), 0);
    } else {
        int file = open(path, O_RDWR);
        off_t at = _i == 2 ? 0 : _i == 3 ? status.st_size - 1 : status.st_size / 2;
        char byte = 0;
        ck_assert_int_eq(pread(file, &byte, 1, at), 1);
        byte ^= 0x10;
        ck_assert_int_eq(pwrite(file, &byte, 1, at), 1);
        close(file);
    }
    expect_scaled(device, 2);
    ck_assert_uint_eq(counters_of(device).compiles, 2);
    expect_scaled(device, 2);
    ck_assert_uint_eq(counters_of(device).cache_hits, 1);
    bd_cpu_driver.ops->close(device);
}
END_TEST

START_TEST(unusable_folders_are_done_without)
{
    char path[128];
    snprintf(path, sizeof path, "%s/a", folder);
    if (_i == 0) { /* open to others */
        ck_assert_int_eq(chmod(folder, 0755), 0);
        snprintf(path, sizeof path, "%s", folder);
    } else if (_i == 1) { /* a file stands there */
        close(open(path, O_CREAT | O_WRONLY, 0600));
    } else { /* a link */
        ck_assert_int_eq(symlink("/tmp", path), 0);
    }
    bd_device *device = open_device((bd_device_options){.threads = 1, .cache_path = path});
    expect_scaled(device, 2);
    ck_assert_uint_eq(counters_of(device).compiles, 1);
    bd_cpu_driver.ops->close(device);
    chmod(folder, 0700);
}
END_TEST

/* ---- loader ---- */

START_TEST(broken_objects_are_refused)
{
    static const bd_target target_of_nothing;
    bd_target target = target_of_nothing;
    ck_assert_ptr_null(bd_target_init(&target, NULL));
    bd_compiler *compiler = NULL;
    ck_assert_ptr_null(bd_compiler_create(&target, &compiler));
    bd_module *module = bd_module_create(compiler);
    LLVMValueRef function = LLVMAddFunction(module->llvm, "k", module->pass_type);
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(module->context);
    LLVMPositionBuilderAtEnd(builder, LLVMAppendBasicBlockInContext(module->context, function, ""));
    LLVMBuildRetVoid(builder);
    LLVMDisposeBuilder(builder);
    uint8_t *bytes = NULL;
    size_t size = 0;
    ck_assert_ptr_null(bd_module_finish(module, &bytes, &size));
    bd_code_arena *code = NULL;
    ck_assert_ptr_null(bd_code_arena_create(&code));
    bd_loaded *loaded = NULL;
    ck_assert_ptr_null(bd_code_load(code, bytes, size, &loaded));
    ck_assert_ptr_nonnull(bd_code_symbol(loaded, "k"));
    ck_assert_ptr_null(bd_code_symbol(loaded, "x"));
    bd_code_free(loaded);
    ck_assert_uint_eq(bd_code_arena_bytes(code), 0);
    /* Any single byte of it may be wrong: the loader answers or refuses, it never crashes. */
    for (size_t i = 0; i < size; i++) {
        uint8_t kept = bytes[i];
        for (int bit = 0; bit < 8; bit += 7) {
            bytes[i] = (uint8_t)(kept ^ (1 << bit));
            bd_error *err = bd_code_load(code, bytes, size, &loaded);
            if (err)
                bd_error_free(err);
            else
                bd_code_free(loaded);
        }
        bytes[i] = kept;
        bd_error *err = bd_code_load(code, bytes, i, &loaded);
        if (err)
            bd_error_free(err);
        else
            bd_code_free(loaded);
    }
    ck_assert_uint_eq(bd_code_arena_bytes(code), 0);
    bd_free(bytes);
    bd_code_arena_destroy(code);
    bd_compiler_destroy(compiler);
}
END_TEST

START_TEST(targets)
{
    bd_device *device = NULL;
    bd_error *err = bd_cpu_driver.open(&(bd_device_options){.target = "sse9"}, &device);
    ck_assert_int_eq(bd_error_code(err), BD_CODE_INVALID);
    bd_error_free(err);
    err = bd_cpu_driver.open(&(bd_device_options){.threads = -1}, &device);
    ck_assert_int_eq(bd_error_code(err), BD_CODE_INVALID);
    bd_error_free(err);
    device = open_device((bd_device_options){.target = "generic", .threads = 3});
    bd_device_facts facts;
    bd_cpu_driver.ops->describe(device, &facts);
    ck_assert_str_eq(facts.name, "cpu");
    ck_assert_int_eq(facts.threads, 3);
    ck_assert_ptr_nonnull(strstr(facts.detail, "generic"));
    ck_assert_uint_gt(facts.memory_bytes, 1 << 20);
    expect_scaled(device, 0.5);
    bd_cpu_driver.ops->close(device);
}
END_TEST

START_TEST(code_is_freed_with_kernels)
{
    bd_device *device = open_device((bd_device_options){.threads = 1});
    bd_kernel *kernels[8];
    for (int i = 0; i < 8; i++)
        ck_assert_ptr_null(bd_cpu_driver.ops->compile(device, scale_by(i), &kernels[i]));
    ck_assert_uint_gt(counters_of(device).code_bytes, 8 * 64);
    for (int i = 0; i < 8; i++)
        bd_cpu_driver.ops->kernel_free(device, kernels[(i * 3) % 8]);
    ck_assert_uint_eq(counters_of(device).code_bytes, 0);
    bd_cpu_driver.ops->close(device);
}
END_TEST

START_TEST(memory_is_aligned)
{
    bd_device *device = open_device((bd_device_options){.threads = 1});
    static const size_t sizes[] = {0, 1, 63, 4097, 1 << 20, (2 << 20) + 1, 9 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        void *memory = NULL;
        ck_assert_ptr_null(bd_cpu_driver.ops->alloc(device, sizes[i], &memory));
        ck_assert_uint_eq((uintptr_t)memory % (sizes[i] > 2 << 20 ? 2 << 20 : 64), 0);
        memset(memory, 1, sizes[i]);
        bd_cpu_driver.ops->free(device, memory, sizes[i]);
    }
    void *memory = NULL;
    bd_error *err = bd_cpu_driver.ops->alloc(device, SIZE_MAX - 5, &memory);
    ck_assert_int_eq(bd_error_code(err), BD_CODE_NO_MEMORY);
    bd_error_free(err);
    err = bd_cpu_driver.ops->alloc(device, (size_t)1 << 55, &memory);
    ck_assert_int_eq(bd_error_code(err), BD_CODE_NO_MEMORY);
    bd_error_free(err);
    bd_cpu_driver.ops->close(device);
}
END_TEST

/* ---- submissions ---- */

static void finished(bd_submission *submission)
{
    atomic_fetch_add((atomic_int *)submission->user, 1);
}

enum { WIDE = 300000, CHAIN = 20, SUBMISSIONS = 30, THREADS = 3 };

typedef struct caller {
    bd_device *device;
    atomic_bool wanted, over;
} caller;

/* Calls the thread that lends itself, again and again. */
static void *call_often(void *argument)
{
    caller *self = argument;
    while (!atomic_load(&self->over)) {
        atomic_store(&self->wanted, true);
        bd_cpu_driver.ops->call(self->device);
        usleep(200);
    }
    return NULL;
}

/* Lends this thread until `count` submissions are done; every other time it is called away. */
static void lend_until(bd_device *device, atomic_int *done, int count, bool called)
{
    caller other = {.device = device};
    pthread_t thread;
    if (called)
        ck_assert_int_eq(pthread_create(&thread, NULL, call_often, &other), 0);
    while (atomic_load(done) < count) {
        atomic_store(&other.wanted, false);
        bd_cpu_driver.ops->lend(device, &other.wanted);
    }
    atomic_store(&other.over, true);
    if (called)
        pthread_join(thread, NULL);
}

/* Launches and submissions run in order, whatever their size: each doubles what stands there. The
 * submitting thread waits, or works too, or is called away meanwhile. */
START_TEST(work_runs_in_order)
{
    bd_device *device = open_device((bd_device_options){.threads = _i % THREADS + 1});
    int way = _i / THREADS;
    bd_kernel *kernel = NULL;
    ck_assert_ptr_null(bd_cpu_driver.ops->compile(device, scale_by(2), &kernel));
    float *cells[3];
    int64_t counts[3] = {WIDE, 100, 1};
    for (int k = 0; k < 3; k++) {
        cells[k] = bd_alloc(sizeof(float) * WIDE);
        for (int i = 0; i < WIDE; i++)
            cells[k][i] = (float)(i % 7);
    }
    bd_block blocks[3];
    void *buffers[3][2];
    const bd_sized *sized[3];
    for (int k = 0; k < 3; k++) {
        buffers[k][0] = buffers[k][1] = cells[k];
        blocks[k] = (bd_block){&counts[k], buffers[k], NULL};
        bd_cpu_driver.ops->size(device, kernel, &counts[k], &arena, &sized[k]);
    }
    bd_launch launches[CHAIN];
    for (int i = 0; i < CHAIN; i++) /* one block, or all three side by side */
        launches[i] = (bd_launch){
            .kernel = kernel, .blocks = blocks, .sized = sized, .block_count = i % 4 == 3 ? 3 : 1};
    bd_submission submissions[SUBMISSIONS];
    atomic_int done = 0;
    for (int i = 0; i < SUBMISSIONS; i++) {
        uint32_t count = i % 3 == 0 ? 0 : i % 3 == 1 ? 2 : 4;
        submissions[i] = (bd_submission){.launches = launches,
                                          .launch_count = count,
                                          .done = finished,
                                          .user = &done,
                                          .lends = way > 0};
        bd_cpu_driver.ops->submit(device, &submissions[i]);
    }
    if (way > 0)
        lend_until(device, &done, SUBMISSIONS, way == 2);
    while (atomic_load(&done) < SUBMISSIONS)
        sched_yield();
    /* Ten submissions of two launches and ten of four: 60 times wide, 10 times the small ones. */
    for (int i = 0; i < WIDE; i++) {
        const float want[3] = {(float)(i % 7) * 0x1p60f, (float)(i % 7) * (i < 100 ? 0x1p10f : 1),
                               (float)(i % 7) * (i < 1 ? 0x1p10f : 1)};
        for (int k = 0; k < 3; k++)
            expect(cells[k][i] == want[k], "cell %d of %d: %a", i, k, (double)cells[k][i]);
    }
    for (int k = 0; k < 3; k++)
        bd_free(cells[k]);
    bd_cpu_driver.ops->kernel_free(device, kernel);
    bd_cpu_driver.ops->close(device);
}
END_TEST

/* y = sum of x over one axis */
static bd_kir *whole_sum(void)
{
    bd_kir_builder *b = bd_kir_builder_create(BD_KIR_LOOP);
    bd_kir_add_axis(b, BD_KIR_SERIAL, bd_kir_arg(bd_kir_add_int(b)));
    bd_kir_access x = kir_access(bd_kir_add_buffer(b, BURN_F32, BD_KIR_READ));
    bd_kir_access y = kir_access(bd_kir_add_buffer(b, BURN_F32, BD_KIR_WRITE));
    x.strides[0] = bd_kir_const(1);
    bd_kir_begin_phase(b, BD_KIR_EACH);
    bd_kir_value sum = bd_kir_unary(b, BD_KIR_REDUCE_SUM, kir_load(b, &x, -1));
    bd_kir_begin_phase(b, BD_KIR_ROW);
    kir_store(b, &y, sum);
    return kir_finish(b, &arena);
}

START_TEST(sums_are_accurate_and_independent_of_threads)
{
    static const int64_t counts[] = {10007, 100, 65536, 1000003};
    bd_kir *program = whole_sum();
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        float *x = bd_alloc(sizeof *x * (size_t)counts[c]), sums[4];
        double exact = 0;
        for (int64_t i = 0; i < counts[c]; i++) {
            x[i] = 1.0f / (float)(1 + i % 1013);
            exact += (double)x[i];
        }
        for (int threads = 1; threads <= 4; threads++) {
            bd_device *device = open_device((bd_device_options){.threads = threads});
            void *buffers[] = {x, &sums[threads - 1]};
            bd_block block = {&counts[c], buffers, NULL};
            kir_run(&bd_cpu_driver, device, program, &block);
            bd_cpu_driver.ops->close(device);
            ck_assert_mem_eq(&sums[threads - 1], &sums[0], sizeof(float));
        }
        ck_assert_double_eq_tol((double)sums[0] / exact, 1, 1e-6);
        bd_free(x);
    }
}
END_TEST

/* ---- size of programs ---- */

START_TEST(long_chains_compile)
{
    bd_kir_builder *b = bd_kir_builder_create(BD_KIR_LOOP);
    bd_kir_add_axis(b, BD_KIR_PARALLEL, bd_kir_arg(bd_kir_add_int(b)));
    bd_kir_access x = kir_access(bd_kir_add_buffer(b, BURN_F32, BD_KIR_READ));
    bd_kir_access y = kir_access(bd_kir_add_buffer(b, BURN_F32, BD_KIR_WRITE));
    x.strides[0] = y.strides[0] = bd_kir_const(1);
    bd_kir_begin_phase(b, BD_KIR_ROW);
    bd_kir_value value = kir_load(b, &x, -1), first = value;
    for (int i = 0; i < 1000; i++)
        value = bd_kir_binary(b, BD_KIR_ADD, value, first);
    kir_store(b, &y, value);
    bd_kir *program = kir_finish(b, &arena);
    bd_device *device = open_device((bd_device_options){.threads = 1});
    float in[40], out[40];
    int64_t count = 40;
    for (int i = 0; i < 40; i++)
        in[i] = (float)i;
    void *buffers[] = {in, out};
    bd_block block = {&count, buffers, NULL};
    kir_run(&bd_cpu_driver, device, program, &block);
    for (int i = 0; i < 40; i++)
        ck_assert_float_eq(out[i], 1001.0f * (float)i);
    bd_cpu_driver.ops->close(device);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cpu device");
    TCase *all = tcase_create("all");
    tcase_add_checked_fixture(all, setup, teardown);
    tcase_set_timeout(all, 240);
    tcase_add_test(all, objects_are_kept_on_disk);
    tcase_add_test(all, other_targets_do_not_share_objects);
    tcase_add_loop_test(all, damaged_objects_are_not_loaded, 0, 5);
    tcase_add_loop_test(all, unusable_folders_are_done_without, 0, 3);
    tcase_add_test(all, broken_objects_are_refused);
    tcase_add_test(all, targets);
    tcase_add_test(all, code_is_freed_with_kernels);
    tcase_add_test(all, memory_is_aligned);
    tcase_add_loop_test(all, work_runs_in_order, 0, 3 * THREADS);
    tcase_add_test(all, sums_are_accurate_and_independent_of_threads);
    tcase_add_test(all, long_chains_compile);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
