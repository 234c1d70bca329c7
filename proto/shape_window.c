/* SPDX-License-Identifier: Apache-2.0
 * Shapes of windows, convolutions and pools. */
#include "proto/shape_rules.h"

/* Sizes, strides and the like stay below this, so that no product of two overflows. */
enum { PART_MAX = 1 << 30 };

/* A windowed dim: `count` places, `stride` apart, of `size` elements, `dilation` apart. */
typedef struct window {
    int64_t count, size, stride, dilation;
} window;

static bd_error *check_least(const bd_shape_call *call, const char *name,
                             int64_t least) BD_MUST_USE;

/* All elements of a list of sizes lie in [least, PART_MAX]. */
static bd_error *check_least(const bd_shape_call *call, const char *name, int64_t least)
{
    const burn_attr *list = bd_attr(call, name);
    for (uint32_t i = 0; i < list->count; i++) {
        bool small = list->values[i] < least;
        if (small || list->values[i] > PART_MAX)
            BD_FAIL(INVALID, "%s must be at %s %lld, not %lld", name, small ? "least" : "most",
                    (long long)(small ? least : PART_MAX), (long long)list->values[i]);
    }
    return NULL;
}

static int64_t span_of(const window *w)
{
    return (w->size - 1) * w->dilation + 1;
}

static bd_error *check_lists(const bd_shape_call *call, const char *sizes,
                             int32_t count) BD_MUST_USE;
static bd_error *check_lists(const bd_shape_call *call, const char *sizes, int32_t count)
{
    BD_TRY(bd_check_list(call, sizes, count));
    BD_TRY(bd_check_list(call, "strides", count));
    BD_TRY(bd_check_list(call, "dilations", count));
    BD_TRY(check_least(call, sizes, 1));
    BD_TRY(check_least(call, "strides", 1));
    return check_least(call, "dilations", 1);
}

/* The windows of the attributes dims, counts, sizes, strides, dilations within x. */
static bd_error *windowed(const bd_shape_call *call, burn_shape *out) BD_MUST_USE;
static bd_error *windowed(const bd_shape_call *call, burn_shape *out)
{
    const burn_shape *x = bd_shape_of(call, 0);
    int32_t dims[BURN_RANK_MAX], count;
    BD_TRY(burn_normalize_dims(bd_attr(call, "dims"), x->rank, false, dims, &count));
    if (x->rank + count > BURN_RANK_MAX)
        BD_FAIL(INVALID, "%d windowed dims of %d are more than %d together", count, x->rank,
                BURN_RANK_MAX);
    BD_TRY(check_lists(call, "sizes", count));
    BD_TRY(bd_check_list(call, "counts", count));
    BD_TRY(check_least(call, "counts", 0));
    burn_shape shape = *x;
    for (int32_t i = 0; i < count; i++) {
        window w = {bd_attr(call, "counts")->values[i], bd_attr(call, "sizes")->values[i],
                    bd_attr(call, "strides")->values[i], bd_attr(call, "dilations")->values[i]};
        int64_t reach = (w.count - 1) * w.stride + span_of(&w);
        if (w.count > 0 && reach > x->dims[dims[i]])
            BD_FAIL(INVALID, "%lld windows of size %lld reach beyond dim %d of size %lld",
                    (long long)w.count, (long long)w.size, dims[i], (long long)x->dims[dims[i]]);
        shape.dims[dims[i]] = w.count;
        shape.dims[shape.rank++] = w.size;
    }
    *out = shape;
    return NULL;
}

bd_error *bd_shape_window(const bd_shape_call *call, burn_shape *out)
{
    return windowed(call, out);
}

bd_error *bd_shape_window_add(const bd_shape_call *call, burn_shape *out)
{
    burn_shape windows;
    BD_TRY(windowed(call, &windows));
    BD_TRY(bd_check_shape(call, 1, &windows));
    *out = *bd_shape_of(call, 0);
    return NULL;
}

/* ---- convolutions ---- */

static bd_error *check_ranks(const bd_shape_call *call, const char *second,
                             int32_t *out_spatial) BD_MUST_USE;
static bd_error *check_ranks(const bd_shape_call *call, const char *second, int32_t *out_spatial)
{
    const burn_shape *a = bd_shape_of(call, 0), *b = bd_shape_of(call, 1);
    char a_text[BURN_SHAPE_TEXT_MAX], b_text[BURN_SHAPE_TEXT_MAX];
    if (a->rank < 3 || b->rank != a->rank || 2 * a->rank - 1 > BURN_RANK_MAX)
        BD_FAIL(
            INVALID,
            "input %s and %s %s must have equally many dims, at least 3: batch and channels, then "
            "the places",
            burn_shape_text(a, a_text), second, burn_shape_text(b, b_text));
    *out_spatial = a->rank - 2;
    return NULL;
}

static bd_error *check_groups(const bd_shape_call *call, int64_t *out) BD_MUST_USE;
static bd_error *check_groups(const bd_shape_call *call, int64_t *out)
{
    *out = bd_attr(call, "groups")->value;
    if (*out < 1 || *out > PART_MAX)
        BD_FAIL(INVALID, "groups must be at least 1, not %lld", (long long)*out);
    return NULL;
}

/* `low` and, if there is one, `high` are both empty or both have a size a dim. */
static bd_error *check_padding(const bd_shape_call *call, int32_t spatial,
                               bool has_high) BD_MUST_USE;
static bd_error *check_padding(const bd_shape_call *call, int32_t spatial, bool has_high)
{
    const char *names[] = {"low", "high"};
    for (int i = 0; i < 1 + has_high; i++) {
        const burn_attr *list = bd_attr(call, names[i]);
        if (list->count != 0 || bd_attr(call, "low")->count != 0)
            BD_TRY(bd_check_list(call, names[i], spatial));
        BD_TRY(check_least(call, names[i], 0));
    }
    return NULL;
}

/* How many windows of some size a padded dim has. */
static bd_error *count_windows(const bd_shape_call *call, int32_t i, int64_t size, int64_t extent,
                               int64_t *out) BD_MUST_USE;
static bd_error *count_windows(const bd_shape_call *call, int32_t i, int64_t size, int64_t extent,
                               int64_t *out)
{
    bool pads = bd_attr(call, "low")->count > 0;
    int64_t low = pads ? bd_attr(call, "low")->values[i] : 0;
    int64_t high = pads ? bd_attr(call, "high")->values[i] : 0;
    window w = {0, size, bd_attr(call, "strides")->values[i],
                bd_attr(call, "dilations")->values[i]};
    int64_t padded = low + extent + high;
    if (size < 1 || size > PART_MAX || padded < span_of(&w))
        BD_FAIL(INVALID,
                "a window of size %lld (%lld with its dilation) does not fit place dim %d of size "
                "%lld, "
                "%lld with its padding",
                (long long)size, (long long)span_of(&w), i, (long long)extent, (long long)padded);
    *out = (padded - span_of(&w)) / w.stride + 1;
    return NULL;
}

bd_error *bd_shape_conv(const bd_shape_call *call, burn_shape *out)
{
    const burn_shape *x = bd_shape_of(call, 0), *weight = bd_shape_of(call, 1);
    char x_text[BURN_SHAPE_TEXT_MAX], text[BURN_SHAPE_TEXT_MAX];
    int32_t spatial;
    int64_t groups;
    BD_TRY(check_ranks(call, "weight", &spatial));
    BD_TRY(check_groups(call, &groups));
    BD_TRY(bd_check_list(call, "strides", spatial));
    BD_TRY(bd_check_list(call, "dilations", spatial));
    BD_TRY(check_least(call, "strides", 1));
    BD_TRY(check_least(call, "dilations", 1));
    BD_TRY(check_padding(call, spatial, true));
    if (weight->dims[0] % groups != 0)
        BD_FAIL(INVALID, "the %lld output channels of weight %s are not divisible by %lld groups",
                (long long)weight->dims[0], burn_shape_text(weight, text), (long long)groups);
    if (x->dims[1] != weight->dims[1] * groups)
        BD_FAIL(
            INVALID,
            "weight %s takes %lld channels (%lld in each of %lld groups), but input %s has %lld",
            burn_shape_text(weight, text), (long long)(weight->dims[1] * groups),
            (long long)weight->dims[1], (long long)groups, burn_shape_text(x, x_text),
            (long long)x->dims[1]);
    burn_shape shape = {.rank = x->rank, .dims = {x->dims[0], weight->dims[0]}};
    for (int32_t i = 0; i < spatial; i++)
        BD_TRY(count_windows(call, i, weight->dims[2 + i], x->dims[2 + i], &shape.dims[2 + i]));
    const burn_shape channels = {.rank = 1, .dims = {weight->dims[0]}};
    if (bd_input_present(call, 2))
        BD_TRY(bd_check_shape(call, 2, &channels));
    *out = shape;
    return NULL;
}

bd_error *bd_shape_conv_input(const bd_shape_call *call, burn_shape *out)
{
    const burn_shape *g = bd_shape_of(call, 0), *weight = bd_shape_of(call, 1);
    char g_text[BURN_SHAPE_TEXT_MAX], text[BURN_SHAPE_TEXT_MAX];
    int32_t spatial;
    int64_t groups;
    BD_TRY(check_ranks(call, "weight", &spatial));
    BD_TRY(check_groups(call, &groups));
    BD_TRY(check_lists(call, "shape", spatial));
    BD_TRY(check_padding(call, spatial, false));
    if (g->dims[1] != weight->dims[0] || g->dims[1] % groups != 0)
        BD_FAIL(INVALID, "input %s has %lld channels, weight %s takes %lld in %lld groups",
                burn_shape_text(g, g_text), (long long)g->dims[1], burn_shape_text(weight, text),
                (long long)weight->dims[0], (long long)groups);
    burn_shape shape = {.rank = g->rank, .dims = {g->dims[0]}};
    if (weight->dims[1] > PART_MAX)
        BD_FAIL(LIMIT, "weight %s has too many channels", burn_shape_text(weight, text));
    shape.dims[1] = weight->dims[1] * groups;
    for (int32_t i = 0; i < spatial; i++) {
        if (g->dims[2 + i] < 1 || weight->dims[2 + i] < 1)
            BD_FAIL(INVALID, "input %s or weight %s has a place dim of size 0",
                    burn_shape_text(g, g_text), burn_shape_text(weight, text));
        shape.dims[2 + i] = bd_attr(call, "shape")->values[i];
    }
    *out = shape;
    return NULL;
}

bd_error *bd_shape_conv_weight(const bd_shape_call *call, burn_shape *out)
{
    const burn_shape *x = bd_shape_of(call, 0), *g = bd_shape_of(call, 1);
    char x_text[BURN_SHAPE_TEXT_MAX], text[BURN_SHAPE_TEXT_MAX];
    int32_t spatial;
    int64_t groups;
    BD_TRY(check_ranks(call, "gradient", &spatial));
    BD_TRY(check_groups(call, &groups));
    BD_TRY(check_lists(call, "shape", spatial));
    BD_TRY(check_padding(call, spatial, false));
    if (x->dims[0] != g->dims[0] || x->dims[1] % groups != 0 || g->dims[1] % groups != 0)
        BD_FAIL(INVALID, "input %s and gradient %s do not fit %lld groups of one convolution",
                burn_shape_text(x, x_text), burn_shape_text(g, text), (long long)groups);
    burn_shape shape = {.rank = x->rank, .dims = {g->dims[1], x->dims[1] / groups}};
    for (int32_t i = 0; i < spatial; i++) {
        if (g->dims[2 + i] < 1)
            BD_FAIL(INVALID, "gradient %s has a place dim of size 0", burn_shape_text(g, text));
        shape.dims[2 + i] = bd_attr(call, "shape")->values[i];
    }
    *out = shape;
    return NULL;
}

/* ---- pools ---- */

bd_error *bd_shape_pool(const bd_shape_call *call, burn_shape *out)
{
    const burn_shape *x = bd_shape_of(call, 0);
    int32_t spatial = (int32_t)bd_attr(call, "sizes")->count;
    char text[BURN_SHAPE_TEXT_MAX];
    if (spatial < 1 || spatial > x->rank || x->rank + spatial > BURN_RANK_MAX)
        BD_FAIL(INVALID, "sizes for %d dims do not fit input %s", spatial,
                burn_shape_text(x, text));
    BD_TRY(check_lists(call, "sizes", spatial));
    BD_TRY(check_padding(call, spatial, true));
    burn_shape shape = *x;
    for (int32_t i = 0; i < spatial; i++) {
        int32_t dim = x->rank - spatial + i;
        int64_t size = bd_attr(call, "sizes")->values[i];
        bool tiles = bd_attr(call, "strides")->values[i] == size &&
                     bd_attr(call, "dilations")->values[i] == 1 && bd_attr(call, "low")->count == 0;
        if (bd_attr(call, "tiled")->value && !tiles)
            BD_FAIL(INVALID,
                    "tiled windows lie side by side: strides are sizes, without padding or "
                    "dilation");
        BD_TRY(count_windows(call, i, size, x->dims[dim], &shape.dims[dim]));
    }
    *out = shape;
    return NULL;
}

/* ---- norms of channels ---- */

bd_error *bd_shape_channel_norm(const bd_shape_call *call, burn_shape *out)
{
    const burn_shape *x = bd_shape_of(call, 0);
    char text[BURN_SHAPE_TEXT_MAX];
    if (x->rank < 2)
        BD_FAIL(INVALID, "input %s has no channels: it must have at least 2 dims",
                burn_shape_text(x, text));
    if (burn_op_attr(call->record->info, "groups") >= 0) {
        int64_t groups;
        BD_TRY(check_groups(call, &groups));
        if (x->dims[1] % groups != 0)
            BD_FAIL(INVALID, "the %lld channels of input %s are not divisible by %lld groups",
                    (long long)x->dims[1], burn_shape_text(x, text), (long long)groups);
    }
    const burn_shape channels = {.rank = 1, .dims = {x->dims[1]}};
    for (uint32_t i = 1; i < call->record->input_count; i++)
        if (burn_op_input_role(call->record->info, i) == BURN_INPUT_VALUE &&
            bd_input_present(call, i))
            BD_TRY(bd_check_shape(call, i, &channels));
    *out = *x;
    return NULL;
}
