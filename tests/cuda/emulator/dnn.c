/* SPDX-License-Identifier: Apache-2.0
 * libcudnn.so.9 for hosts without a GPU: convolutions in plain loops, summed in double. Only what
 * backends/cuda/symbols.def names. It refuses what the library would: sizes that do not fit,
 * strides that are not positive, memory that is not aligned as it was said to be. Of its engines
 * one gives other bits each time, one rounds f32 to TF32, one is exact.
 *   EMULATOR_DNN=refuse    no engine is found
 *   EMULATOR_DNN=fail      none of them runs
 *   EMULATOR_DNN=old       it is another version */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cuda/emulator/numbers.h"

enum { BAD = 2000, NOT_SUPPORTED = 3000, ATTRIBUTES = 16, VALUES = 8, RANK = 5 };
enum { TYPE_BF16 = 9, TYPE_F16 = 2 };
enum { FORWARD = 10, FILTER = 11, DATA = 12 };
typedef enum engine_kind { RANDOM, ROUNDS, EXACT, ENGINES } engine_kind;
#define API __attribute__((visibility("default"))) int

typedef struct attribute {
    int name;
    int64_t count, values[VALUES];
} attribute;
typedef struct descriptor {
    int type, count;
    bool finished;
    attribute each[ATTRIBUTES];
    struct descriptor *graph; /* of an engine and its configuration */
    engine_kind kind;
} descriptor;

static bool is_mode(const char *mode)
{
    const char *set = getenv("EMULATOR_DNN");
    return set && strcmp(set, mode) == 0;
}

API cudnnGetProperty(int which, int *out)
{
    *out = which == 0 ? (is_mode("old") ? 8 : 9) : which;
    return 0;
}

API cudnnCreate(void **out)
{
    *out = malloc(1);
    return *out ? 0 : BAD;
}

API cudnnDestroy(void *handle)
{
    free(handle);
    return 0;
}

API cudnnSetStream(void *handle, void *stream)
{
    (void)handle, (void)stream;
    return 0;
}

API cudnnBackendCreateDescriptor(int type, void **out)
{
    descriptor *made = calloc(1, sizeof *made);
    *out = made;
    if (made)
        made->type = type;
    return made ? 0 : BAD;
}

API cudnnBackendDestroyDescriptor(void *gone)
{
    free(gone);
    return 0;
}

API cudnnBackendSetAttribute(void *of, int name, int type, int64_t count, const void *values)
{
    descriptor *d = of;
    size_t bytes = type == 1 || type == 7 || type == 8 || type == 4 ? 4 : 8;
    if (d->finished || d->count == ATTRIBUTES || count < 1 || count > VALUES)
        return BAD;
    attribute *a = &d->each[d->count++];
    *a = (attribute){.name = name, .count = count};
    for (int64_t i = 0; i < count; i++)
        memcpy(&a->values[i], (const char *)values + (size_t)i * bytes, bytes);
    return 0;
}

static const int64_t *values_of(const descriptor *d, int name)
{
    for (int i = 0; i < d->count; i++)
        if (d->each[i].name == name)
            return d->each[i].values;
    fprintf(stderr, "emulator: descriptor %d has no attribute %d\n", d->type, name);
    abort();
}

static descriptor *child_of(const descriptor *d, int name)
{
    return (descriptor *)(uintptr_t)values_of(d, name)[0];
}

/* ---- a convolution ---- */

/* Attributes of each operation: x, w, y, the convolution. */
static const int names[][4] = {[FORWARD] = {704, 703, 705, 702},
                               [FILTER] = {716, 715, 717, 714},
                               [DATA] = {710, 709, 711, 708}};
enum { X, W, Y };

typedef struct convolution {
    int places, type; /* of the operation */
    number_type types[3];
    const int64_t *dims[3], *strides[3], *steps, *dilations, *before, *after;
    int64_t alignment[3];
} convolution;

static convolution convolution_of(const descriptor *operation)
{
    const int *name = names[operation->type];
    const descriptor *how = child_of(operation, name[3]);
    convolution c = {.type = operation->type,
                     .places = (int)values_of(how, 106)[0],
                     .steps = values_of(how, 103),
                     .dilations = values_of(how, 102),
                     .before = values_of(how, 105),
                     .after = values_of(how, 104)};
    for (int i = 0; i < 3; i++) {
        const descriptor *tensor = child_of(operation, name[i]);
        int type = (int)values_of(tensor, 901)[0];
        c.types[i] = type == TYPE_F16 ? NUMBER_F16 : type == TYPE_BF16 ? NUMBER_BF16 : NUMBER_F32;
        c.dims[i] = values_of(tensor, 902);
        c.strides[i] = values_of(tensor, 903);
        c.alignment[i] = values_of(tensor, 900)[0];
    }
    return c;
}

static bool fits(const convolution *c)
{
    for (int i = 0; i < 3; i++)
        for (int d = 0; d < c->places + 2; d++)
            if (c->dims[i][d] < 1 || c->strides[i][d] < 1)
                return false;
    for (int d = 2; d < c->places + 2; d++) {
        int64_t reach = (c->dims[W][d] - 1) * c->dilations[d - 2] + 1;
        int64_t room = c->dims[X][d] + c->before[d - 2] + c->after[d - 2] - reach;
        if (c->before[d - 2] < 0 || c->after[d - 2] < 0 || c->steps[d - 2] < 1 || room < 0 ||
            c->dims[Y][d] != room / c->steps[d - 2] + 1)
            return false;
    }
    return c->places >= 2 && c->dims[X][0] == c->dims[Y][0] && c->dims[X][1] == c->dims[W][1] &&
           c->dims[Y][1] == c->dims[W][0];
}

API cudnnBackendFinalize(void *of)
{
    descriptor *d = of;
    d->finished = true;
    if (d->type < FORWARD || d->type > DATA)
        return 0;
    convolution c = convolution_of(d);
    if (!fits(&c))
        fprintf(stderr, "emulator: cuDNN refuses the sizes of a convolution\n");
    return fits(&c) ? 0 : BAD;
}

API cudnnBackendGetAttribute(void *of, int name, int type, int64_t room, int64_t *out_count,
                             void *values)
{
    descriptor *d = of;
    (void)type;
    *out_count = 1;
    if (name == 202) { /* configurations of a heuristic */
        *out_count = is_mode("refuse") ? 0 : room < ENGINES ? room : ENGINES;
        for (int i = 0; i < *out_count; i++) {
            descriptor *config = ((descriptor **)values)[i];
            config->graph = child_of(d, 201);
            config->kind = (engine_kind)i;
        }
    } else if (name == 300) {
        descriptor *engine = *(descriptor **)values;
        engine->graph = d->graph;
        engine->kind = d->kind;
    } else if (name == 1303) {
        *out_count = d->kind != EXACT;
        *(int *)values = d->kind == RANDOM ? 4 : 0;
    } else if (name == 402) {
        *(int64_t *)values = 1000;
    } else {
        return BAD;
    }
    return 0;
}

/* As TF32 has it: 10 bits of fraction. */
static double rounded(double value)
{
    float single = (float)value;
    uint32_t bits = 0;
    memcpy(&bits, &single, sizeof bits);
    bits = (bits + 0x1000) & ~(uint32_t)0x1fff;
    memcpy(&single, &bits, sizeof bits);
    return (double)single;
}

static int64_t place(const int64_t *strides, const int64_t *at, int rank)
{
    int64_t sum = 0;
    for (int d = 0; d < rank; d++)
        sum += at[d] * strides[d];
    return sum;
}

/* For each image, output, channel, place and element of its window. */
static void walk(const convolution *c, void *const *memory, bool rounds, double *sums)
{
    int rank = c->places + 2;
    int64_t ends[2 * RANK] = {c->dims[Y][0], c->dims[Y][1], c->dims[X][1]};
    int64_t at[2 * RANK] = {0};
    int axes = 3 + 2 * c->places, result = c->type == FORWARD ? Y : c->type == DATA ? X : W;
    for (int d = 0; d < c->places; d++) {
        ends[3 + d] = c->dims[Y][2 + d];
        ends[3 + c->places + d] = c->dims[W][2 + d];
    }
    for (int i = 0; i >= 0;) {
        int64_t x[RANK] = {at[0], at[2]}, w[RANK] = {at[1], at[2]}, y[RANK] = {at[0], at[1]};
        bool inside = true;
        for (int d = 0; d < c->places; d++) {
            y[2 + d] = at[3 + d];
            w[2 + d] = at[3 + c->places + d];
            x[2 + d] = y[2 + d] * c->steps[d] + w[2 + d] * c->dilations[d] - c->before[d];
            inside = inside && x[2 + d] >= 0 && x[2 + d] < c->dims[X][2 + d];
        }
        const int64_t *const where[] = {x, w, y};
        double product = 1;
        for (int t = 0; t < 3 && inside; t++) {
            if (t == result)
                continue;
            double factor = number_at(memory[t], c->types[t], place(c->strides[t], where[t], rank));
            product *= rounds && c->types[t] == NUMBER_F32 ? rounded(factor) : factor;
        }
        int64_t to = 0;
        for (int d = 0; d < rank; d++)
            to = to * c->dims[result][d] + where[result][d];
        if (inside)
            sums[to] += product;
        for (i = axes - 1; i >= 0 && ++at[i] == ends[i]; i--)
            at[i] = 0;
    }
}

static void store(const convolution *c, void *memory, int result, const double *sums)
{
    int rank = c->places + 2;
    int64_t at[RANK] = {0}, from = 0;
    for (int i = 0; i >= 0; from++) {
        set_number(memory, c->types[result], place(c->strides[result], at, rank), sums[from]);
        for (i = rank - 1; i >= 0 && ++at[i] == c->dims[result][i]; i--)
            at[i] = 0;
    }
}

API cudnnBackendExecute(void *handle, void *plan, void *pack)
{
    (void)handle;
    const descriptor *config = child_of(plan, 401);
    const int64_t *ids = values_of(pack, 1000), *pointers = values_of(pack, 1001);
    convolution c = convolution_of(child_of(config->graph, 801));
    void *memory[3] = {NULL};
    int result = c.type == FORWARD ? Y : c.type == DATA ? X : W;
    for (int i = 0; i < 3; i++)
        memory[ids[i]] = (void *)(uintptr_t)pointers[i];
    for (int i = 0; i < 3; i++)
        if ((uintptr_t)memory[i] % (uintptr_t)c.alignment[i] != 0)
            return BAD;
    if (is_mode("fail") || config->kind == RANDOM)
        return NOT_SUPPORTED;
    memset((void *)(uintptr_t)values_of(pack, 1003)[0], 0xa5, 1000);
    size_t count = 1;
    for (int d = 0; d < c.places + 2; d++)
        count *= (size_t)c.dims[result][d];
    double *sums = calloc(count, sizeof *sums);
    if (!sums)
        return BAD;
    walk(&c, memory, config->kind == ROUNDS, sums);
    store(&c, memory[result], result, sums);
    free(sums);
    fprintf(stderr, "emulator: cuDNN runs operation %d\n", c.type);
    return 0;
}
