/* SPDX-License-Identifier: Apache-2.0
 * Programs stay compiled while the trial changes only its sizes. */
#include "tests/unit/backends/trial.h"

#include <check.h>
#include <math.h>
#include <string.h>

#include "backends/cpu/cpu.h"
#include "backends/ref/ref.h"
#include "proto/base/alloc.h"

static bd_arena arena;
static bd_device *cpu, *ref;

void trial_begin(void)
{
    bd_arena_init(&arena);
    bd_device_options options = {.threads = 2};
    bd_error *err = bd_cpu_driver.open(&options, &cpu);
    if (bd_error_code(err) ==
        BD_CODE_UNSUPPORTED) { /* BURN_CPU_TARGET asks too much of this host */
        bd_error_free(err);
        options.target = "generic";
        err = bd_cpu_driver.open(&options, &cpu);
    }
    ck_assert_ptr_null(err);
    ck_assert_ptr_null(bd_ref_driver.open(&(bd_device_options){0}, &ref));
}

/* The kernels of the program that was run last. */
static const bd_kir *compiled;
static bd_kernel *kernels[2];

static void forget(void)
{
    if (compiled) {
        bd_cpu_driver.ops->kernel_free(cpu, kernels[0]);
        bd_ref_driver.ops->kernel_free(ref, kernels[1]);
    }
    compiled = NULL;
}

static void compile(const bd_kir *program)
{
    if (compiled == program)
        return;
    forget();
    bd_error *err = bd_cpu_driver.ops->compile(cpu, program, &kernels[0]);
    ck_assert_msg(err == NULL, "%s", bd_error_text(err));
    ck_assert_ptr_null(bd_ref_driver.ops->compile(ref, program, &kernels[1]));
    compiled = program;
}

void trial_end(void)
{
    forget();
    bd_cpu_driver.ops->close(cpu);
    bd_ref_driver.ops->close(ref);
    bd_arena_deinit(&arena);
}

bd_arena *trial_arena(void)
{
    return &arena;
}

static uint64_t state = 12345;

static uint32_t next_random(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33);
}

static uint16_t bf16_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (uint16_t)(bits >> 16);
}

static uint16_t f16_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t exponent = (bits >> 23) & 0xff, sign = (bits >> 16) & 0x8000;
    if (exponent < 113)
        return (uint16_t)sign;
    return (uint16_t)(sign | ((exponent - 112) << 10) | ((bits >> 13) & 0x3ff));
}

static void fill(void *bytes, burn_dtype dtype, int64_t count, int64_t limit)
{
    for (int64_t i = 0; i < count; i++) {
        float value = ((float)next_random() / 2147483648.0f - 0.5f) * 8;
        int64_t whole = (int64_t)(next_random() % 19) - 9;
        switch ((int)dtype) {
        case BURN_F64:
            ((double *)bytes)[i] = value;
            break;
        case BURN_F32:
            ((float *)bytes)[i] = value;
            break;
        case BURN_F16:
            ((uint16_t *)bytes)[i] = f16_of(value);
            break;
        case BURN_BF16:
            ((uint16_t *)bytes)[i] = bf16_of(value);
            break;
        case BURN_BOOL:
            ((uint8_t *)bytes)[i] = next_random() & 1;
            break;
        case BURN_I64:
            ((int64_t *)bytes)[i] = limit ? (int64_t)next_random() % limit : whole;
            break;
        default:
            memcpy((char *)bytes + (size_t)i * burn_dtype_size(dtype), &whole,
                   burn_dtype_size(dtype));
        }
    }
}

static double element(const void *bytes, burn_dtype dtype, int64_t i)
{
    uint32_t bits;
    float narrow;
    uint16_t half;
    switch ((int)dtype) {
    case BURN_F64:
        return ((const double *)bytes)[i];
    case BURN_F32:
        return (double)((const float *)bytes)[i];
    case BURN_BF16:
        bits = (uint32_t)((const uint16_t *)bytes)[i] << 16;
        memcpy(&narrow, &bits, sizeof narrow);
        return (double)narrow;
    case BURN_F16:
        half = ((const uint16_t *)bytes)[i];
        if ((half & 0x7c00) == 0x7c00)
            return half & 0x3ff ? NAN : half & 0x8000 ? -INFINITY : INFINITY;
        narrow = half & 0x7c00 ? ldexpf((float)(1024 + (half & 0x3ff)), (half >> 10 & 31) - 25)
                               : ldexpf((float)(half & 0x3ff), -24);
        return half & 0x8000 ? -(double)narrow : (double)narrow;
    default:
        return 0;
    }
}

static void expect_alike(const trial *t, int buffer, const void *got, const void *wanted)
{
    burn_dtype dtype = t->program->buffers[buffer].dtype;
    size_t size = burn_dtype_size(dtype);
    double tolerance = t->tolerance;
    if (dtype == BURN_F16)
        tolerance += 2e-3;
    if (dtype == BURN_BF16)
        tolerance += 1.6e-2;
    for (int64_t i = 0; i < t->sizes[buffer]; i++) {
        const char *a = (const char *)got + (size_t)i * size;
        const char *b = (const char *)wanted + (size_t)i * size;
        if (memcmp(a, b, size) == 0)
            continue;
        double x = element(got, dtype, i), y = element(wanted, dtype, i);
        bool alike = burn_dtype_is_float(dtype) &&
                     ((isnan(x) && isnan(y)) || x == y ||
                      fabs(x - y) <= tolerance * fmax(1, fmax(fabs(x), fabs(y))));
        if (!alike) {
            char *text = bd_kir_print(t->program);
            int64_t x_bits = 0, y_bits = 0;
            memcpy(&x_bits, a, size);
            memcpy(&y_bits, b, size);
            ck_abort_msg(
                "buffer %d (%s) element %lld of %lld: cpu %.9g (%llx), ref %.9g (%llx)\n%s", buffer,
                burn_dtype_name(dtype), (long long)i, (long long)t->sizes[buffer], x,
                (long long)x_bits, y, (long long)y_bits, text);
        }
    }
}

static void expect_same_fault(const kir_fault *a, const kir_fault *b)
{
    ck_assert_int_eq(a->happened, b->happened);
    if (!a->happened)
        return;
    ck_assert_int_eq(a->tag, b->tag);
    ck_assert_int_eq(a->extent, b->extent);
}

kir_fault trial_check(const trial *t)
{
    void *ours[TRIAL_BUFFERS_MAX], *theirs[TRIAL_BUFFERS_MAX];
    for (int i = 0; i < t->program->buffer_count; i++) {
        burn_dtype dtype = t->program->buffers[i].dtype;
        size_t bytes = (size_t)t->sizes[i] * burn_dtype_size(dtype);
        ck_assert_ptr_null(bd_cpu_driver.ops->alloc(cpu, bytes + 64, &ours[i]));
        theirs[i] = bd_alloc(bytes + 64);
        memset(ours[i], 0x5a, bytes + 64);
        fill(ours[i], dtype, t->sizes[i], t->limit);
        memcpy(theirs[i], ours[i], bytes + 64);
    }
    bd_block mine = {t->ints, ours, t->scalars}, other = {t->ints, theirs, t->scalars};
    compile(t->program);
    kir_fault fault = kir_launch(&bd_cpu_driver, cpu, kernels[0], &mine);
    kir_fault wanted = kir_launch(&bd_ref_driver, ref, kernels[1], &other);
    expect_same_fault(&fault, &wanted);
    for (int i = 0; i < t->program->buffer_count; i++) {
        size_t bytes = (size_t)t->sizes[i] * burn_dtype_size(t->program->buffers[i].dtype);
        expect_alike(t, i, ours[i], theirs[i]);
        ck_assert_mem_eq((char *)ours[i] + bytes, (char *)theirs[i] + bytes, 64);
        bd_cpu_driver.ops->free(cpu, ours[i], bytes + 64);
        bd_free(theirs[i]);
    }
    return fault;
}
