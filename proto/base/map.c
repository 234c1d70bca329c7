/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/base/map.h"

#include "proto/base/alloc.h"
#include "proto/base/assert.h"

struct bd_map_slot {
    uint64_t key;
    void *value;
};

static size_t slot_of(const bd_map *map, uint64_t key)
{
    uint64_t mixed = key * 0x9E3779B97F4A7C15u;
    return (size_t)(mixed ^ (mixed >> 32)) & (map->capacity - 1);
}

void bd_map_deinit(bd_map *map)
{
    bd_free(map->slots);
    *map = (bd_map){0};
}

void *bd_map_get(const bd_map *map, uint64_t key)
{
    if (!map->count)
        return NULL;
    for (size_t i = slot_of(map, key);; i = (i + 1) & (map->capacity - 1)) {
        if (!map->slots[i].value)
            return NULL;
        if (map->slots[i].key == key)
            return map->slots[i].value;
    }
}

static void grow(bd_map *map)
{
    bd_map larger = {.capacity = map->capacity ? map->capacity * 2 : 16};
    larger.slots = bd_alloc_zeroed(larger.capacity * sizeof *larger.slots);
    for (size_t i = 0; i < map->capacity; i++)
        if (map->slots[i].value)
            bd_map_put(&larger, map->slots[i].key, map->slots[i].value);
    bd_free(map->slots);
    *map = larger;
}

void *bd_map_put(bd_map *map, uint64_t key, void *value)
{
    BD_ASSERT(value != NULL);
    if ((map->count + 1) * 4 > map->capacity * 3)
        grow(map);
    size_t i = slot_of(map, key);
    while (map->slots[i].value && map->slots[i].key != key)
        i = (i + 1) & (map->capacity - 1);
    void *before = map->slots[i].value;
    map->count += before == NULL;
    map->slots[i].key = key;
    map->slots[i].value = value;
    return before;
}

void *bd_map_remove(bd_map *map, uint64_t key)
{
    if (!map->count)
        return NULL;
    size_t mask = map->capacity - 1, i = slot_of(map, key);
    while (map->slots[i].value && map->slots[i].key != key)
        i = (i + 1) & mask;
    void *removed = map->slots[i].value;
    if (!removed)
        return NULL;
    for (size_t j = (i + 1) & mask; map->slots[j].value; j = (j + 1) & mask) {
        size_t home = slot_of(map, map->slots[j].key);
        if (((j - home) & mask) >= ((j - i) & mask)) {
            map->slots[i] = map->slots[j];
            i = j;
        }
    }
    map->slots[i].value = NULL;
    map->count--;
    return removed;
}

int bd_map_next(const bd_map *map, size_t *cursor, uint64_t *out_key, void **out_value)
{
    for (; *cursor < map->capacity; ++*cursor) {
        if (map->slots[*cursor].value) {
            *out_key = map->slots[*cursor].key;
            *out_value = map->slots[(*cursor)++].value;
            return 1;
        }
    }
    return 0;
}
