/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/trie.h"

#include <string.h>

#include "proto/base/alloc.h"
#include "proto/base/assert.h"
#include "proto/base/hash.h"

/* Where a trace ended. */
typedef struct trace_end {
    struct trace_end *next; /* of the same node */
    struct trace_end *newer, *older;
    bd_trie_node *node;
    bd_known *known;
    size_t known_bytes;
    size_t tail_bytes;
    uint8_t tail[];
} trace_end;

struct bd_trie_node {
    bd_trie_node *parent, *child, *sibling;
    trace_end *endings;
    uint32_t size_bytes;
    uint32_t hash; /* a hint only */
    uint8_t bytes[];
};

struct bd_trie {
    bd_trie_node *root;
    trace_end *newest, *oldest;
    uint32_t plan_count, plans_max;
    size_t bytes, bytes_max;
    uint64_t generation;
    void (*release)(bd_known *known);
};

bd_trie *bd_trie_create(uint32_t plans_max, size_t bytes_max, void (*release)(bd_known *known))
{
    BD_ASSERT(plans_max > 0);
    bd_trie *trie = bd_alloc_zeroed(sizeof *trie);
    trie->root = bd_alloc_zeroed(sizeof *trie->root);
    trie->plans_max = plans_max;
    trie->bytes_max = bytes_max;
    trie->release = release;
    trie->generation = 1;
    return trie;
}

uint64_t bd_trie_generation(const bd_trie *trie)
{
    return trie->generation;
}

bd_trie_node *bd_trie_root(bd_trie *trie)
{
    return trie->root;
}

static uint32_t hash_of(const uint8_t *bytes, size_t size_bytes)
{
    return (uint32_t)bd_hash_bytes(bytes, size_bytes, 0);
}

bd_trie_node *bd_trie_next(const bd_trie_node *node, const uint8_t *bytes, size_t size_bytes)
{
    bd_trie_node *child = node->child;
    if (!child)
        return NULL;
    if (child->size_bytes == size_bytes && memcmp(child->bytes, bytes, size_bytes) == 0)
        return child;
    child = child->sibling;
    if (!child)
        return NULL;
    uint32_t hash = hash_of(bytes, size_bytes);
    for (; child; child = child->sibling)
        if (child->hash == hash && child->size_bytes == size_bytes &&
            memcmp(child->bytes, bytes, size_bytes) == 0)
            return child;
    return NULL;
}

bd_trie_node *bd_trie_walk(bd_trie *trie, const uint8_t *key, const uint32_t *ends, size_t count)
{
    bd_trie_node *node = trie->root;
    for (size_t i = 0; i < count && node; i++) {
        size_t begin = i ? ends[i - 1] : 0;
        node = bd_trie_next(node, key + begin, ends[i] - begin);
    }
    return node;
}

static void unlink_used(bd_trie *trie, trace_end *ending)
{
    if (ending->newer)
        ending->newer->older = ending->older;
    else
        trie->newest = ending->older;
    if (ending->older)
        ending->older->newer = ending->newer;
    else
        trie->oldest = ending->newer;
}

static void link_newest(bd_trie *trie, trace_end *ending)
{
    ending->newer = NULL;
    ending->older = trie->newest;
    if (trie->newest)
        trie->newest->newer = ending;
    else
        trie->oldest = ending;
    trie->newest = ending;
}

bd_known *bd_trie_find(bd_trie *trie, bd_trie_node *node, const uint8_t *tail, size_t tail_bytes)
{
    for (trace_end *ending = node->endings; ending; ending = ending->next) {
        if (ending->tail_bytes != tail_bytes ||
            (tail_bytes && memcmp(ending->tail, tail, tail_bytes) != 0))
            continue;
        if (trie->newest != ending) {
            unlink_used(trie, ending);
            link_newest(trie, ending);
        }
        return ending->known;
    }
    return NULL;
}

static bd_trie_node *add_child(bd_trie *trie, bd_trie_node *parent, const uint8_t *bytes,
                               size_t size_bytes)
{
    bd_trie_node *node = bd_alloc(sizeof *node + size_bytes);
    *node = (bd_trie_node){.parent = parent,
                           .sibling = parent->child,
                           .size_bytes = (uint32_t)size_bytes,
                           .hash = hash_of(bytes, size_bytes)};
    memcpy(node->bytes, bytes, size_bytes);
    parent->child = node;
    trie->bytes += sizeof *node + size_bytes;
    return node;
}

/* Removes nodes that lead nowhere any more. */
static void prune(bd_trie *trie, bd_trie_node *node)
{
    while (node->parent && !node->child && !node->endings) {
        bd_trie_node *parent = node->parent;
        bd_trie_node **link = &parent->child;
        while (*link != node)
            link = &(*link)->sibling;
        *link = node->sibling;
        trie->bytes -= sizeof *node + node->size_bytes;
        bd_free(node);
        node = parent;
    }
}

static void remove_ending(bd_trie *trie, trace_end *gone)
{
    trace_end **link = &gone->node->endings;
    while (*link != gone)
        link = &(*link)->next;
    *link = gone->next;
    unlink_used(trie, gone);
    prune(trie, gone->node);
    trie->release(gone->known);
    trie->bytes -= sizeof *gone + gone->tail_bytes + gone->known_bytes;
    trie->plan_count--;
    trie->generation++;
    bd_free(gone);
}

void bd_trie_insert(bd_trie *trie, const uint8_t *key, const uint32_t *ends, size_t count,
                    const uint8_t *tail, size_t tail_bytes, bd_known *own_known, size_t known_bytes)
{
    bd_trie_node *node = trie->root;
    for (size_t i = 0; i < count; i++) {
        size_t begin = i ? ends[i - 1] : 0;
        bd_trie_node *next = bd_trie_next(node, key + begin, ends[i] - begin);
        node = next ? next : add_child(trie, node, key + begin, ends[i] - begin);
    }
    trace_end *added = bd_alloc(sizeof *added + tail_bytes);
    added->node = node;
    added->known = own_known;
    added->known_bytes = known_bytes;
    added->tail_bytes = tail_bytes;
    if (tail_bytes)
        memcpy(added->tail, tail, tail_bytes);
    added->next = node->endings;
    node->endings = added;
    link_newest(trie, added);
    trie->plan_count++;
    trie->bytes += sizeof *added + tail_bytes + known_bytes;
    while (trie->oldest != trie->newest &&
           (trie->plan_count > trie->plans_max || trie->bytes > trie->bytes_max))
        remove_ending(trie, trie->oldest);
}

uint32_t bd_trie_plan_count(const bd_trie *trie)
{
    return trie->plan_count;
}

void bd_trie_destroy(bd_trie *trie)
{
    if (!trie)
        return;
    while (trie->oldest)
        remove_ending(trie, trie->oldest);
    bd_free(trie->root);
    bd_free(trie);
}
