/* SPDX-License-Identifier: Apache-2.0
 * The trie of known traces: an edge a record, found by its full canonical bytes; where a trace
 * ended, tails (what outlived it) lead to the known plan. Bounded: the least recently used plans
 * go. Thread: device. */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct bd_trie bd_trie;
typedef struct bd_trie_node bd_trie_node;
typedef struct bd_known bd_known; /* engine/known.h; counted */

/* release: gives up the trie's reference to a plan. */
bd_trie *bd_trie_create(uint32_t plans_max, size_t bytes_max, void (*release)(bd_known *known));
void bd_trie_destroy(bd_trie *trie);

/* Nodes are valid while the generation stays the same. */
uint64_t bd_trie_generation(const bd_trie *trie);
bd_trie_node *bd_trie_root(bd_trie *trie);
/* NULL: no known trace goes on like this. */
bd_trie_node *bd_trie_next(const bd_trie_node *node, const uint8_t *bytes, size_t size_bytes);
/* From the root along all records. NULL: unknown. */
bd_trie_node *bd_trie_walk(bd_trie *trie, const uint8_t *key, const uint32_t *ends, size_t count);
/* The plan of the trace that ends here with this tail, or NULL. Marks it as used. */
bd_known *bd_trie_find(bd_trie *trie, bd_trie_node *node, const uint8_t *tail, size_t tail_bytes);
/* Keeps own_known, which takes so many bytes itself, under the whole key. */
void bd_trie_insert(bd_trie *trie, const uint8_t *key, const uint32_t *ends, size_t count,
                    const uint8_t *tail, size_t tail_bytes, bd_known *own_known,
                    size_t known_bytes);
uint32_t bd_trie_plan_count(const bd_trie *trie);
