/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/cache.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "engine/letters.h"
#include "proto/base/alloc.h"
#include "proto/base/assert.h"
#include "proto/base/clock.h"
#include "proto/base/hash.h"
#include "proto/base/map.h"

enum {
    THREADS_MAX = 16,
    UNUSED_MAX = 512,
    JOB_US = 20000, /* what a job is thought to take until it is done */
};

struct bd_cache {
    const bd_device_ops *ops;
    bd_device *device;
    bd_mailbox *jobs, *answers;
    pthread_t threads[THREADS_MAX];
    int thread_count;
    atomic_uint open_jobs; /* pushed, and not answered yet */
    bd_map entries;             /* hash → first of a chain */
    pthread_mutex_t lock;       /* of entries, for bd_cache_json */
    pthread_rwlock_t running;   /* read: a job runs */
    bd_cached *newest, *oldest; /* unused */
    uint32_t unused_count;
};

/* Of a processor, for the programs that this thread was given. */
static int64_t compiled_ns(const bd_device_ops *ops)
{
    return bd_worked_ns() - (ops->lent_ns ? ops->lent_ns() : 0);
}

static void compile(bd_cached *cached)
{
    const bd_cache *cache = cached->cache;
    bd_arena arena;
    bd_arena_init(&arena);
    int64_t begin_ns = compiled_ns(cache->ops);
    bd_kir *program = NULL;
    bd_error *error = bd_kir_deserialize(cached->bytes, cached->size_bytes, &arena, &program);
    if (!error)
        error = cache->ops->compile(cache->device, program, &cached->job_kernel);
    cached->job_error = error;
    cached->compile_us = (compiled_ns(cache->ops) - begin_ns) / 1000;
    bd_arena_deinit(&arena);
}

static void *compile_thread(void *user)
{
    bd_cache *cache = user;
    pthread_setname_np(pthread_self(), "burn-compile");
    while (cache->ops->prepare && cache->ops->prepare(cache->device))
        ;
    for (;;) {
        bd_letter *letter = bd_mailbox_wait(cache->jobs);
        if (!letter)
            return NULL;
        pthread_rwlock_rdlock(&cache->running);
        compile((bd_cached *)letter);
        pthread_rwlock_unlock(&cache->running);
        /* A compiler needs some MiB: before what waited for it runs and touches as much. */
        if (atomic_fetch_sub(&cache->open_jobs, 1) == 1)
            bd_alloc_trim();
        bd_mailbox_push(cache->answers, letter);
    }
}

bd_cache *bd_cache_create(const bd_device_ops *ops, bd_device *device, int threads,
                          bd_mailbox *answers)
{
    bd_cache *cache = bd_alloc_zeroed(sizeof *cache);
    cache->ops = ops;
    cache->device = device;
    cache->answers = answers;
    cache->jobs = bd_mailbox_create();
    pthread_mutex_init(&cache->lock, NULL);
    pthread_rwlockattr_t writer_first;
    pthread_rwlockattr_init(&writer_first);
    pthread_rwlockattr_setkind_np(&writer_first, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&cache->running, &writer_first);
    pthread_rwlockattr_destroy(&writer_first);
    if (threads < 1)
        threads = 2;
    if (threads > THREADS_MAX)
        threads = THREADS_MAX;
    while (cache->thread_count < threads &&
           pthread_create(&cache->threads[cache->thread_count], NULL, compile_thread, cache) == 0)
        cache->thread_count++;
    return cache;
}

static void begin_job(bd_cache *cache, bd_cached *cached)
{
    atomic_fetch_add(&cache->open_jobs, 1);
    bd_mailbox_push(cache->jobs, &cached->letter);
}

static void free_entry(bd_cache *cache, bd_cached *cached)
{
    if (cached->kernel)
        cache->ops->kernel_free(cache->device, cached->kernel);
    if (cached->job_kernel)
        cache->ops->kernel_free(cache->device, cached->job_kernel);
    bd_error_free(cached->error);
    bd_error_free(cached->job_error);
    bd_quota_release(cached->quota);
    bd_free(cached->bytes);
    bd_free(cached);
}

void bd_cache_stop(bd_cache *cache)
{
    while (bd_mailbox_take(cache->jobs)) /* jobs that nobody began */
        ;
    bd_mailbox_close(cache->jobs);
    for (int i = 0; i < cache->thread_count; i++)
        pthread_join(cache->threads[i], NULL);
    cache->thread_count = 0;
}

void bd_cache_destroy(bd_cache *cache)
{
    if (!cache)
        return;
    bd_cache_stop(cache);
    uint64_t hash;
    void *value;
    for (size_t cursor = 0; bd_map_next(&cache->entries, &cursor, &hash, &value);) {
        for (bd_cached *cached = value; cached;) {
            bd_cached *next = cached->next;
            free_entry(cache, cached);
            cached = next;
        }
    }
    bd_map_deinit(&cache->entries);
    bd_mailbox_destroy(cache->jobs);
    pthread_mutex_destroy(&cache->lock);
    pthread_rwlock_destroy(&cache->running);
    bd_free(cache);
}

static void unlink_unused(bd_cache *cache, bd_cached *cached)
{
    if (cached->newer)
        cached->newer->older = cached->older;
    else
        cache->newest = cached->older;
    if (cached->older)
        cached->older->newer = cached->newer;
    else
        cache->oldest = cached->newer;
    cached->newer = cached->older = NULL;
    cache->unused_count--;
}

static void link_unused(bd_cache *cache, bd_cached *cached)
{
    cached->newer = NULL;
    cached->older = cache->newest;
    if (cache->newest)
        cache->newest->newer = cached;
    else
        cache->oldest = cached;
    cache->newest = cached;
    cache->unused_count++;
}

static void forget(bd_cache *cache, bd_cached *cached)
{
    pthread_mutex_lock(&cache->lock);
    bd_cached *first = bd_map_get(&cache->entries, cached->hash);
    if (first == cached) {
        if (cached->next)
            bd_map_put(&cache->entries, cached->hash, cached->next);
        else
            bd_map_remove(&cache->entries, cached->hash);
    } else {
        while (first->next != cached)
            first = first->next;
        first->next = cached->next;
    }
    pthread_mutex_unlock(&cache->lock);
    free_entry(cache, cached);
}

static bd_cached *find(const bd_cache *cache, uint64_t hash, const uint8_t *bytes,
                       size_t size_bytes)
{
    bd_cached *cached = bd_map_get(&cache->entries, hash);
    while (cached && (cached->size_bytes != size_bytes || cached->state == BD_CACHED_FAILED ||
                      memcmp(cached->bytes, bytes, size_bytes) != 0))
        cached = cached->next;
    return cached;
}

/* ---- entries ---- */

bd_cached *bd_cache_get(bd_cache *cache, const bd_kir *program)
{
    size_t size_bytes = 0;
    uint8_t *bytes = bd_kir_serialize(program, &size_bytes);
    uint64_t hash = bd_hash_bytes(bytes, size_bytes, 0);
    bd_cached *cached = find(cache, hash, bytes, size_bytes);
    if (cached) {
        bd_free(bytes);
        if (cached->users++ == 0 && cached->state == BD_CACHED_READY)
            unlink_unused(cache, cached);
        return cached;
    }
    cached = bd_alloc_zeroed(sizeof *cached);
    cached->kind = BD_LETTER_COMPILED;
    cached->cache = cache;
    cached->hash = hash;
    cached->bytes = bytes;
    cached->size_bytes = size_bytes;
    cached->users = 1;
    cached->family = (uint8_t)program->family;
    pthread_mutex_lock(&cache->lock);
    cached->next = bd_map_get(&cache->entries, hash);
    bd_map_put(&cache->entries, hash, cached);
    pthread_mutex_unlock(&cache->lock);
    return cached;
}

void bd_cache_begin(bd_cached *cached, bd_quota *quota)
{
    bd_cache *cache = cached->cache;
    BD_ASSERT(cached->state == BD_CACHED_WANTED);
    cached->quota = bd_quota_retain(quota);
    bd_quota_spend(quota, BD_QUOTA_COMPILE, JOB_US);
    pthread_mutex_lock(&cache->lock);
    cached->state = BD_CACHED_COMPILING;
    pthread_mutex_unlock(&cache->lock);
    begin_job(cache, cached);
}

void bd_cache_release(bd_cached *cached)
{
    bd_cache *cache = cached->cache;
    BD_ASSERT(cached->users > 0);
    if (--cached->users > 0 || cached->state == BD_CACHED_COMPILING)
        return;
    if (cached->state != BD_CACHED_READY) {
        forget(cache, cached);
        return;
    }
    link_unused(cache, cached);
    while (cache->unused_count > UNUSED_MAX) {
        bd_cached *oldest = cache->oldest;
        unlink_unused(cache, oldest);
        forget(cache, oldest);
    }
}

/* What the job took is known. */
static void settle(bd_cached *cached)
{
    bd_quota_spend(cached->quota, BD_QUOTA_COMPILE, cached->compile_us - JOB_US);
    bd_quota_release(cached->quota);
    cached->quota = NULL;
}

void bd_cache_finish(bd_cached *cached)
{
    bd_cache *cache = cached->cache;
    if (cached->quota)
        settle(cached);
    if (cached->stale) {
        cached->stale = false;
        bd_error_free(cached->job_error);
        cached->job_error = NULL;
        begin_job(cache, cached);
        return;
    }
    pthread_mutex_lock(&cache->lock);
    cached->kernel = cached->job_kernel;
    cached->error = cached->job_error;
    cached->job_kernel = NULL;
    cached->job_error = NULL;
    cached->state = cached->kernel ? BD_CACHED_READY : BD_CACHED_FAILED;
    pthread_mutex_unlock(&cache->lock);
    if (cached->users > 0)
        return;
    if (cached->kernel)
        link_unused(cache, cached);
    else
        forget(cache, cached);
}

/* ---- a device that is lost ---- */

static void drop_kernel(const bd_cache *cache, bd_kernel **inout)
{
    if (*inout)
        cache->ops->kernel_free(cache->device, *inout);
    *inout = NULL;
}

void bd_cache_lose(bd_cache *cache)
{
    while (cache->oldest) {
        bd_cached *oldest = cache->oldest;
        unlink_unused(cache, oldest);
        forget(cache, oldest);
    }
    pthread_rwlock_wrlock(&cache->running);
    pthread_mutex_lock(&cache->lock);
    uint64_t hash;
    void *value;
    for (size_t cursor = 0; bd_map_next(&cache->entries, &cursor, &hash, &value);) {
        for (bd_cached *cached = value; cached; cached = cached->next) {
            cached->stale = cached->state == BD_CACHED_COMPILING;
            drop_kernel(cache, &cached->job_kernel);
            drop_kernel(cache, &cached->kernel);
            if (cached->state != BD_CACHED_READY)
                continue;
            cached->state = BD_CACHED_COMPILING;
            begin_job(cache, cached);
        }
    }
    pthread_mutex_unlock(&cache->lock);
}

void bd_cache_renew(bd_cache *cache)
{
    pthread_rwlock_unlock(&cache->running);
}

/* ---- for burnctl ---- */

typedef struct json_text {
    char *bytes;
    size_t count, capacity;
} json_text;

static void add(json_text *text, const char *piece)
{
    size_t size = strlen(piece);
    while (text->count + size + 1 > text->capacity) {
        text->capacity = text->capacity ? text->capacity * 2 : 1024;
        text->bytes = bd_realloc(text->bytes, text->capacity);
    }
    memcpy(text->bytes + text->count, piece, size + 1);
    text->count += size;
}

char *bd_cache_json(bd_cache *cache)
{
    json_text text = {0};
    add(&text, "[");
    bool first = true;
    pthread_mutex_lock(&cache->lock);
    uint64_t hash;
    void *value;
    for (size_t cursor = 0; bd_map_next(&cache->entries, &cursor, &hash, &value);) {
        for (const bd_cached *cached = value; cached; cached = cached->next) {
            if (cached->state != BD_CACHED_READY)
                continue;
            char line[192];
            snprintf(line, sizeof line,
                     "%s{\"name\": \"%016" PRIx64 "\", \"family\": \"%s\", \"launches\": %" PRIu64
                     ", \"run_us\": %" PRIu64 ", \"compile_us\": %" PRId64 "}",
                     first ? "" : ", ", hash,
                     bd_kir_family_text((bd_kir_family)cached->family),
                     (uint64_t)atomic_load_explicit(&cached->launches, memory_order_relaxed),
                     (uint64_t)atomic_load_explicit(&cached->run_ns, memory_order_relaxed) / 1000,
                     cached->compile_us);
            add(&text, line);
            first = false;
        }
    }
    pthread_mutex_unlock(&cache->lock);
    add(&text, "]");
    return text.bytes;
}
