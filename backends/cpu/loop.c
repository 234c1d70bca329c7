/* SPDX-License-Identifier: Apache-2.0
 * The kernel of a LOOP program: sizes to passes. */
#include "backends/cpu/loop.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backends/cpu/loop_shape.h"
#include "proto/base/alloc.h"

typedef struct loop_kernel {
    bd_kernel base;
    bd_loop_shape shape, narrow;
    bd_kir_int extents[BD_KIR_AXES_MAX];
    size_t slot_sizes[BD_KIR_SLOTS_MAX];
    int slot_count;
    bd_pass_function whole, each[BD_KIR_PHASES_MAX], combine[BD_KIR_PHASES_MAX];
    bd_pass_function whole_narrow; /* NULL: no such form */
} loop_kernel;

typedef struct sizes {
    const bd_loop_shape *shape; /* the form for these sizes */
    int64_t items, tiles, serial, serial_outer, slot_row_bytes;
    int64_t chunk, chunks; /* chunks 0: not split */
    int64_t tile;
    double elements; /* of an item */
    bool streams;    /* outputs bypass the cache */
} sizes;

static void split(sizes *s)
{
    const bd_loop_shape *shape = s->shape;
    int64_t width = shape->form == BD_LOOP_COLUMN ? (int64_t)shape->lanes : 1;
    int64_t inner = s->serial_outer ? s->serial / s->serial_outer : 0;
    if (!shape->may_split || s->items == 0 || s->items >= BD_LOOP_SPLIT_ITEMS || inner == 0)
        return;
    int64_t chunk = BD_LOOP_CHUNK / width / inner;
    chunk = chunk < 1 ? 1 : chunk;
    int64_t chunks = (s->serial_outer + chunk - 1) / chunk;
    if (chunks < 2)
        return;
    s->chunk = chunk;
    s->chunks = chunks;
}

/* Whether a row fills the lanes of the wider of two forms for short rows, whose tiles take about a
 * third longer. */
static bool fills(const loop_kernel *kernel, int64_t extent)
{
    int64_t wide = kernel->shape.lanes, narrow = kernel->narrow.lanes;
    return 4 * ((extent + wide - 1) / wide) <= 3 * ((extent + narrow - 1) / narrow);
}

static const bd_loop_shape *form_of(const loop_kernel *kernel, const int64_t *ints, int64_t row,
                                    int64_t inner)
{
    bool is_short = inner <= BD_LOOP_NARROW_INNER || row <= BD_LOOP_NARROW_ROW;
    if (kernel->shape.narrow) {
        int axis = kernel->shape.vector_axis;
        is_short = !fills(kernel, bd_kir_int_value(kernel->extents[axis], ints));
    }
    return kernel->whole_narrow && is_short ? &kernel->narrow : &kernel->shape;
}

static sizes sizes_of(const loop_kernel *kernel, const int64_t *ints)
{
    sizes s = {.items = 1, .tiles = 1, .serial = 1, .serial_outer = 1};
    int64_t inner = 1;
    for (int i = 0; i < kernel->shape.serial_count; i++) {
        inner = bd_kir_int_value(kernel->extents[kernel->shape.serial[i]], ints);
        s.serial *= inner;
    }
    const bd_loop_shape *shape = s.shape = form_of(kernel, ints, s.serial, inner);
    s.tile = shape->tile;
    for (int i = 0; i < shape->outer_count; i++)
        s.items *= bd_kir_int_value(kernel->extents[shape->outer[i]], ints);
    if (shape->serial_count > 0)
        s.serial_outer = bd_kir_int_value(kernel->extents[shape->serial[0]], ints);
    s.elements = (double)s.serial;
    if (shape->form != BD_LOOP_ROW && shape->vector_axis >= 0) {
        int64_t extent = bd_kir_int_value(kernel->extents[shape->vector_axis], ints);
        s.tile = shape->form == BD_LOOP_COLUMN ? (int64_t)shape->lanes : shape->tile;
        s.tiles = (extent + s.tile - 1) / s.tile;
        s.items *= s.tiles;
        s.elements *= (double)(extent < s.tile ? extent : s.tile);
    }
    int64_t width = shape->form == BD_LOOP_COLUMN ? (int64_t)shape->lanes : 1;
    for (int i = 0; i < kernel->slot_count; i++)
        s.slot_row_bytes += (s.serial * width * (int64_t)kernel->slot_sizes[i] + 63) & -64;
    s.streams = (double)s.items * s.elements * (double)shape->stream_bytes >= BD_LOOP_STREAM_BYTES;
    split(&s);
    return s;
}

static int64_t partials_bytes(const loop_kernel *kernel, const sizes *s)
{
    int64_t width = s->shape->form == BD_LOOP_COLUMN ? (int64_t)s->shape->lanes : 1;
    return 16 * kernel->shape.reduction_count * width * s->items * (s->chunks + 1);
}

static void set_params(const sizes *s, bd_pass *pass)
{
    memset(pass->params, 0, sizeof pass->params);
    pass->params[BD_LOOP_TILE] = s->tile;
    pass->params[BD_LOOP_TILES] = s->tiles;
    pass->params[BD_LOOP_SERIAL] = s->chunk;
    pass->params[BD_LOOP_CHUNKS] = s->chunks;
    pass->params[BD_LOOP_ITEMS] = s->items;
    pass->params[BD_LOOP_PARTIALS] = s->chunks ? s->items * s->slot_row_bytes : 0;
    pass->nontemporal = s->streams;
}

/* Lanes without an element take as long as the others. */
static double estimate(const sizes *s)
{
    enum { CACHE_BYTES = 1 << 20, ITEM_NS = 4, PHASE_NS = 6 };
    static const double cached_ns = 0.01, memory_ns = 0.033; /* of a byte */
    const bd_loop_shape *shape = s->shape;
    double work = s->elements * shape->work_ns;
    if (shape->form == BD_LOOP_COLUMN)
        work = (double)s->serial * (double)shape->lanes * shape->work_ns;
    double memory = s->elements * shape->cached_bytes * cached_ns;
    if ((double)s->items * s->elements * shape->memory_bytes > CACHE_BYTES)
        memory = fmax(memory, s->elements * shape->memory_bytes * memory_ns);
    return ITEM_NS + PHASE_NS * shape->each_count + fmax(work, memory);
}

static int plan(const bd_kernel *base, const int64_t *ints, bd_arena *arena, bd_pass *out_passes,
                bd_scratch *out_scratch)
{
    (void)arena;
    const loop_kernel *kernel = (const loop_kernel *)base;
    sizes s = sizes_of(kernel, ints);
    double item_ns = estimate(&s);
    if (s.chunks == 0) {
        out_scratch->worker_bytes = (size_t)s.slot_row_bytes;
        out_passes[0].run = s.shape == &kernel->narrow ? kernel->whole_narrow : kernel->whole;
        out_passes[0].item_count = s.items;
        out_passes[0].item_ns = item_ns;
        set_params(&s, &out_passes[0]);
        return 1;
    }
    out_scratch->shared_bytes =
        (size_t)(s.items * s.slot_row_bytes + partials_bytes(kernel, &s));
    int count = 0;
    for (int i = 0; i < kernel->shape.each_count; i++) {
        bd_pass *each = &out_passes[count++], *combine = &out_passes[count++];
        each->run = kernel->each[i];
        each->item_count = s.items * s.chunks;
        each->item_ns = item_ns / (double)s.chunks / kernel->shape.each_count;
        set_params(&s, each);
        combine->run = kernel->combine[i];
        combine->item_count = s.items;
        combine->item_ns = 20 + (double)s.chunks;
        set_params(&s, combine);
    }
    return count;
}

static void destroy(bd_kernel *base)
{
    bd_free(base);
}

static bd_error *find(const bd_loaded *code, const char *prefix, int number, bd_pass_function *out)
{
    char name[16];
    snprintf(name, sizeof name, number < 0 ? "%s" : "%s%d", prefix, number);
    void *address = bd_code_symbol(code, name);
    if (!address)
        BD_FAIL(DEVICE, "the kernel's object has no function %s", name);
    *out = (bd_pass_function)(uintptr_t)address;
    return NULL;
}

static bd_error *find_all(const bd_loaded *code, loop_kernel *kernel)
{
    BD_TRY(find(code, "k", -1, &kernel->whole));
    for (int i = 0; i < kernel->shape.each_count && kernel->shape.may_split; i++) {
        BD_TRY(find(code, "e", i, &kernel->each[i]));
        BD_TRY(find(code, "c", i, &kernel->combine[i]));
    }
    return kernel->narrow.lanes ? find(code, "n", -1, &kernel->whole_narrow) : NULL;
}

static const bd_kernel_ops ops = {plan, destroy};

/* A kernel of this program, without its shape and functions. */
static loop_kernel *create(const bd_kir *program, bd_loaded *code)
{
    loop_kernel *kernel = bd_alloc_zeroed(sizeof *kernel);
    kernel->base.ops = &ops;
    kernel->base.code = code;
    for (int axis = 0; axis < program->axis_count; axis++)
        kernel->extents[axis] = program->axes[axis].extent;
    kernel->slot_count = program->slot_count;
    for (int slot = 0; slot < program->slot_count; slot++)
        kernel->slot_sizes[slot] = bd_loop_value_bytes((burn_dtype)program->slot_dtypes[slot]);
    return kernel;
}

bd_error *bd_loop_create(const bd_target *target, const bd_kir *program, bd_loaded *code,
                         bd_kernel **out)
{
    loop_kernel *kernel = create(program, code);
    bd_error *err = bd_loop_shape_of(target, program, &kernel->shape);
    if (!err) {
        bd_loop_narrow_shape_of(program, &kernel->shape, &kernel->narrow);
        err = find_all(code, kernel);
    }
    if (err) {
        bd_free(kernel);
        return err;
    }
    *out = &kernel->base;
    return NULL;
}

bd_error *bd_loop_create_short(const bd_target *target, const bd_kir *program, bd_loaded *code,
                               bd_kernel **out)
{
    loop_kernel *kernel = create(program, code);
    unsigned unroll = BD_LOOP_SHORT_UNROLL;
    bd_error *err = bd_loop_short_shape_of(target, program, unroll, &kernel->narrow);
    if (!err)
        err = bd_loop_short_shape_of(target, program, 2 * unroll, &kernel->shape);
    if (!err)
        err = find_all(code, kernel);
    if (err) {
        bd_free(kernel);
        return err;
    }
    *out = &kernel->base;
    return NULL;
}
