/* SPDX-License-Identifier: Apache-2.0
 * Keys and values to panels. */
#include <string.h>

#include "backends/cpu/attention_parts.h"

/* Some columns of a group of keys, turned. */
static void turn_keys(const bd_attention *own, const bd_attention_sizes *s, const bd_call *call,
                      int64_t batch, const bd_rectangle *over, char *to)
{
    int64_t bytes = bd_attention_number_bytes(own);
    int64_t elements = ceiling(over->columns, own->numbers);
    if (s->key_step != 0) {
        const char *keys = bd_gemm_place_at(own->program, call, own->keys, batch);
        own->micro.turn(keys + (over->row * s->key_step + over->column) * bytes,
                        s->key_step * bytes, to, s->columns, over->rows, over->columns);
        return;
    }
    char *temp = over->memory;
    bd_attention_evaluate(call, own->key, batch, over);
    for (int64_t row = 0; row < over->rows && over->columns < elements * own->numbers; row++)
        memset(temp + (row * BD_ATTENTION_TEMP_COLUMNS + over->columns) * bytes, 0,
               (size_t)bytes);
    own->micro.turn(temp, BD_ATTENTION_TEMP_COLUMNS * bytes, to, s->columns, over->rows,
                    elements);
}

/* Keys of a panel: rows of K numbers, turned so that those of one k lie side by side. Groups from
 * the last to the first, so that the junk behind each is written over by the one after it. */
static void pack_keys(const bd_attention *own, const bd_attention_sizes *s, const bd_call *call,
                      int64_t batch, int64_t panel)
{
    int64_t first = panel * s->columns, rows = least(s->columns, s->n - first);
    char *to = call->shared_scratch + (batch * s->key_room + first * s->key_depth) * own->bytes;
    /* lanes without a key: no junk, it could be slow numbers */
    if (rows < s->columns || s->key_depth * own->numbers > s->k)
        memset(to, 0, (size_t)(s->columns * s->key_depth * own->bytes));
    for (int64_t k = 0; k < s->k; k += BD_ATTENTION_TEMP_COLUMNS) {
        int64_t group = (rows - 1) / own->turn_rows * own->turn_rows;
        for (; group >= 0; group -= own->turn_rows) {
            bd_rectangle over = {.row = first + group,
                                 .rows = least(own->turn_rows, rows - group),
                                 .column = k,
                                 .columns = least(BD_ATTENTION_TEMP_COLUMNS, s->k - k),
                                 .memory = call->worker_scratch + s->temp_at,
                                 .step = BD_ATTENTION_TEMP_COLUMNS};
            turn_keys(own, s, call, batch, &over,
                      to + (k / own->numbers * s->columns + group) * own->bytes);
        }
    }
}

/* Values of some keys and columns as pairs; behind the last key there are zeros. */
static void pack_value_pairs(const bd_attention *own, const bd_attention_sizes *s,
                             const bd_call *call, int64_t batch, const bd_rectangle *values)
{
    int64_t rows = values->rows, step = s->value_columns, pairs = ceiling(rows, 2);
    uint16_t *temp = (uint16_t *)(void *)(call->worker_scratch + s->temp_at);
    bd_rectangle over = *values;
    over.memory = temp;
    over.step = step;
    bd_attention_evaluate(call, own->value, batch, &over);
    if (rows % 2)
        memset(temp + rows * step, 0, (size_t)step * sizeof *temp);
    own->micro.pair(temp, temp + step, 2 * step * (int64_t)sizeof *temp, values->memory, step,
                    over.columns, pairs);
    if (over.row + rows == s->n)
        memset((char *)values->memory + pairs * step * own->bytes, 0,
               (size_t)((s->value_depth - over.row / 2 - pairs) * step * own->bytes));
}

static void pack_values(const bd_attention *own, const bd_attention_sizes *s, const bd_call *call,
                        int64_t batch, int64_t part)
{
    int64_t keys_room = s->batch * s->key_room, width = s->value_columns;
    int64_t first = part * BD_ATTENTION_PACK_KEYS;
    int64_t rows = least(BD_ATTENTION_PACK_KEYS, s->n - first);
    for (int64_t panel = 0; panel < s->value_panels; panel++) {
        int64_t column = panel * width, columns = least(width, s->e - column);
        int64_t before = panel * s->value_depth + first / own->numbers;
        char *to = call->shared_scratch +
                   (keys_room + batch * s->value_room + before * width) * own->bytes;
        if (columns < width)
            memset(to, 0, (size_t)(ceiling(rows, own->numbers) * width * own->bytes));
        bd_rectangle over = {first, rows, column, columns, to, width, NULL};
        if (own->pairs)
            pack_value_pairs(own, s, call, batch, &over);
        else
            bd_attention_evaluate(call, own->value, batch, &over);
    }
}

void bd_attention_run_pack(const bd_call *call, int64_t begin, int64_t end)
{
    const bd_attention *own = bd_attention_of(call);
    bd_attention_sizes s;
    bd_attention_find_sizes(own, call->ints, &s);
    int64_t keys = s.batch * s.key_panels;
    for (int64_t i = begin; i < end; i++) {
        if (i < keys)
            pack_keys(own, &s, call, i / s.key_panels, i % s.key_panels);
        else
            pack_values(own, &s, call, (i - keys) / s.value_parts, (i - keys) % s.value_parts);
    }
}

