/* SPDX-License-Identifier: Apache-2.0
 * Compiled objects on disk. A folder of mode 0700 that belongs to this user, with folders by the
 * first byte of a name; one file an object, named by the hash of its key, holding the whole key and
 * a digest, so that neither a collision nor a damaged file is ever loaded. Bounded; the oldest
 * files go first. Several processes may use one. Whatever fails, the cache does without: compiling
 * goes on in memory. Thread: any. */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct bd_object_cache bd_object_cache;

/* NULL, with one line in the log, if the folder cannot be used. bytes_max 0: a default of 256 MiB.
 * build: all that objects depend on besides their keys (compiler, processor, generator). */
bd_object_cache *bd_object_cache_open(const char *path, uint64_t bytes_max, const char *build);
void bd_object_cache_close(bd_object_cache *cache);
/* The object kept for this key; NULL if there is none. Freed by the caller with bd_free. */
uint8_t *bd_object_cache_get(bd_object_cache *cache, const uint8_t *key, size_t key_bytes,
                             size_t *out_size);
void bd_object_cache_put(bd_object_cache *cache, const uint8_t *key, size_t key_bytes,
                         const uint8_t *object, size_t size);
