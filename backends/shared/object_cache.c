/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/shared/object_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "proto/base/alloc.h"
#include "proto/base/hash.h"
#include "proto/base/log.h"
#include "proto/base/vec.h"

/* Objects lie in as many folders as a byte has values. Each has its share of the room and is kept
 * to it when something is added: nobody needs to know the whole, and several daemons may write. */
enum { FILE_BYTES_MAX = 16 << 20, SHARES = 256, FOLDER_DIGITS = 2, NAME_BYTES = 40 };
static const uint64_t BYTES_MAX_DEFAULT = (uint64_t)256 << 20;
static const char SUFFIX[] = ".obj";

/* The file: this header, the build key, the program key, the object. Native byte order: a cache
 * belongs to one machine. */
struct file_header {
    char magic[8];
    uint64_t build_bytes, key_bytes, object_bytes;
    uint64_t digest[2]; /* of all that follows */
};

struct bd_object_cache {
    int folder;
    uint64_t bytes_max;
    char *build;
    size_t build_bytes;
    pthread_mutex_t lock;
    bool warned;
};

static void digest_of(const void *bytes, size_t size, uint64_t out[2])
{
    out[0] = bd_hash_bytes(bytes, size, 0x6275726e64u);
    out[1] = bd_hash_bytes(bytes, size, ~out[0]) ^ bd_crc32c(0, bytes, size);
}

static void warn_once(bd_object_cache *cache, const char *what, int reason)
{
    pthread_mutex_lock(&cache->lock);
    bool first = !cache->warned;
    cache->warned = true;
    pthread_mutex_unlock(&cache->lock);
    if (first)
        bd_log(BD_LOG_WARN, "backend",
               "object cache: %s: %s; compiled code stays in memory only", what, strerror(reason));
}

static bool ends_with_suffix(const char *name)
{
    size_t length = strlen(name);
    return length > sizeof SUFFIX && strcmp(name + length - (sizeof SUFFIX - 1), SUFFIX) == 0;
}

static int open_folder(const char *path, const char **out_problem)
{
    char partial[4096];
    size_t length = strlen(path);
    *out_problem = "cannot open the folder";
    if (length >= sizeof partial) {
        errno = ENAMETOOLONG;
        return -1;
    }
    for (size_t i = 1; i <= length; i++) {
        if (path[i] != '/' && path[i] != 0)
            continue;
        memcpy(partial, path, i);
        partial[i] = 0;
        if (mkdir(partial, 0700) != 0 && errno != EEXIST)
            return -1;
    }
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    struct stat status;
    if (folder < 0)
        return -1;
    if (fstat(folder, &status) == 0 && status.st_uid == geteuid() && (status.st_mode & 077) == 0)
        return folder;
    *out_problem = "the folder must belong to this user and be closed to others (mode 0700)";
    close(folder);
    errno = EACCES;
    return -1;
}

bd_object_cache *bd_object_cache_open(const char *path, uint64_t bytes_max, const char *build)
{
    const char *problem;
    int folder = open_folder(path, &problem);
    if (folder < 0) {
        bd_log(BD_LOG_WARN, "backend",
               "object cache %.200s: %s: %s; compiled code stays in memory only", path, problem,
               strerror(errno));
        return NULL;
    }
    bd_object_cache *cache = bd_alloc_zeroed(sizeof *cache);
    cache->folder = folder;
    cache->bytes_max = bytes_max ? bytes_max : BYTES_MAX_DEFAULT;
    cache->build = bd_strdup(build);
    cache->build_bytes = strlen(build);
    pthread_mutex_init(&cache->lock, NULL);
    return cache;
}

void bd_object_cache_close(bd_object_cache *cache)
{
    if (!cache)
        return;
    close(cache->folder);
    pthread_mutex_destroy(&cache->lock);
    bd_free(cache->build);
    bd_free(cache);
}

/* "12/34….obj", within the cache's folder. */
static void name_of(const bd_object_cache *cache, const uint8_t *key, size_t key_bytes,
                    char out[NAME_BYTES])
{
    uint64_t build = bd_hash_bytes(cache->build, cache->build_bytes, 1);
    uint64_t first = bd_hash_bytes(key, key_bytes, build);
    snprintf(out, NAME_BYTES, "%02x/%016llx%014llx%s", (unsigned)(first % SHARES),
             (unsigned long long)bd_hash_bytes(key, key_bytes, first),
             (unsigned long long)(first / SHARES), SUFFIX);
}

static uint8_t *read_file(int file, size_t *out_size)
{
    struct stat status;
    if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != geteuid() ||
        status.st_size <= 0 || status.st_size > FILE_BYTES_MAX)
        return NULL;
    size_t size = (size_t)status.st_size, got = 0;
    uint8_t *bytes = bd_try_alloc(size);
    while (bytes && got < size) {
        ssize_t count = read(file, bytes + got, size - got);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0) {
            bd_free(bytes);
            return NULL;
        }
        got += (size_t)count;
    }
    *out_size = size;
    return bytes;
}

/* The object within a file, copied out; NULL unless everything fits. */
static uint8_t *checked_object(const bd_object_cache *cache, const uint8_t *bytes, size_t size,
                               const uint8_t *key, size_t key_bytes, size_t *out_size)
{
    struct file_header header;
    uint64_t digest[2];
    if (size < sizeof header)
        return NULL;
    memcpy(&header, bytes, sizeof header);
    size_t rest = size - sizeof header;
    const uint8_t *body = bytes + sizeof header;
    if (memcmp(header.magic, "burnobj1", 8) != 0 || header.build_bytes != cache->build_bytes ||
        header.key_bytes != key_bytes || header.build_bytes > rest ||
        header.key_bytes > rest - header.build_bytes ||
        header.object_bytes != rest - header.build_bytes - header.key_bytes)
        return NULL;
    digest_of(body, rest, digest);
    if (memcmp(digest, header.digest, sizeof digest) != 0 ||
        memcmp(body, cache->build, cache->build_bytes) != 0 ||
        memcmp(body + cache->build_bytes, key, key_bytes) != 0)
        return NULL;
    *out_size = header.object_bytes;
    uint8_t *object = bd_alloc(header.object_bytes ? header.object_bytes : 1);
    memcpy(object, body + cache->build_bytes + key_bytes, header.object_bytes);
    return object;
}

uint8_t *bd_object_cache_get(bd_object_cache *cache, const uint8_t *key, size_t key_bytes,
                             size_t *out_size)
{
    char name[NAME_BYTES];
    name_of(cache, key, key_bytes, name);
    int file = openat(cache->folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0)
        return NULL;
    size_t size = 0;
    uint8_t *object = NULL, *bytes = read_file(file, &size);
    if (bytes)
        object = checked_object(cache, bytes, size, key, key_bytes, out_size);
    bd_free(bytes);
    if (object)
        futimens(file, NULL); /* used now: eviction takes the oldest */
    else
        unlinkat(cache->folder, name, 0);
    close(file);
    return object;
}

/* ---- room ---- */

struct entry {
    char name[NAME_BYTES];
    uint64_t bytes;
    struct timespec used;
};

typedef BD_VEC(struct entry) entry_vec;

/* Adds up the objects of a folder; leftovers of writers that died are removed. */
static uint64_t list_entries(DIR *folder, entry_vec *out)
{
    uint64_t total = 0;
    const struct dirent *item;
    while ((item = readdir(folder)) != NULL) { /* NOLINT(concurrency-mt-unsafe) */
        struct stat status;
        if (fstatat(dirfd(folder), item->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(status.st_mode))
            continue;
        if (!ends_with_suffix(item->d_name)) {
            if (strncmp(item->d_name, "new-", 4) == 0 && status.st_mtime + 3600 < time(NULL))
                unlinkat(dirfd(folder), item->d_name, 0);
            continue;
        }
        total += (uint64_t)status.st_size;
        if (strlen(item->d_name) >= NAME_BYTES)
            continue;
        struct entry *entry = bd_vec_push(out);
        memset(entry, 0, sizeof *entry);
        memcpy(entry->name, item->d_name, strlen(item->d_name));
        entry->bytes = (uint64_t)status.st_size;
        entry->used = status.st_mtim;
    }
    return total;
}

static int by_age(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->used.tv_sec != y->used.tv_sec)
        return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
    return x->used.tv_nsec < y->used.tv_nsec ? -1 : x->used.tv_nsec > y->used.tv_nsec;
}

/* Removes the oldest objects beside one that was just written, if they have more than their share:
 * down to three quarters of it. */
static void make_room(const bd_object_cache *cache, const char *name)
{
    char path[FOLDER_DIGITS + 1] = "";
    memcpy(path, name, FOLDER_DIGITS);
    int file = openat(cache->folder, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    DIR *folder = file < 0 ? NULL : fdopendir(file);
    if (!folder) {
        if (file >= 0)
            close(file);
        return;
    }
    entry_vec entries = {0};
    uint64_t total = list_entries(folder, &entries), share = cache->bytes_max / SHARES;
    if (total > share) {
        qsort(entries.items, entries.count, sizeof *entries.items, by_age);
        for (size_t i = 0; i + 1 < entries.count && total > share / 4 * 3; i++)
            if (unlinkat(dirfd(folder), entries.items[i].name, 0) == 0)
                total -= entries.items[i].bytes;
    }
    bd_vec_deinit(&entries);
    closedir(folder);
}

/* ---- writing ---- */

static bool write_all(int file, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    while (size > 0) {
        ssize_t count = write(file, at, size);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return false;
        at += count;
        size -= (size_t)count;
    }
    return true;
}

/* Makes the folder of the name where it is missing. */
static int create(const bd_object_cache *cache, const char *name)
{
    int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
    int file = openat(cache->folder, name, flags, 0600);
    if (file >= 0 || errno != ENOENT)
        return file;
    char folder[FOLDER_DIGITS + 1] = "";
    memcpy(folder, name, FOLDER_DIGITS);
    if (mkdirat(cache->folder, folder, 0700) != 0 && errno != EEXIST)
        return -1;
    return openat(cache->folder, name, flags, 0600);
}

static bool write_file(const bd_object_cache *cache, const char *name, const void *bytes,
                       size_t size)
{
    char temporary[80];
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    snprintf(temporary, sizeof temporary, "%.*s/new-%ld-%p-%ld", FOLDER_DIGITS, name,
             (long)getpid(), (const void *)&now, now.tv_nsec);
    int file = create(cache, temporary);
    if (file < 0)
        return false;
    bool written = write_all(file, bytes, size);
    int reason = errno;
    if (close(file) != 0 && written) {
        written = false;
        reason = errno;
    }
    if (written && renameat(cache->folder, temporary, cache->folder, name) == 0)
        return true;
    if (written)
        reason = errno;
    unlinkat(cache->folder, temporary, 0);
    errno = reason;
    return false;
}

void bd_object_cache_put(bd_object_cache *cache, const uint8_t *key, size_t key_bytes,
                         const uint8_t *object, size_t size)
{
    struct file_header header = {.magic = {'b', 'u', 'r', 'n', 'o', 'b', 'j', '1'},
                                 .build_bytes = cache->build_bytes,
                                 .key_bytes = key_bytes,
                                 .object_bytes = size};
    size_t body_bytes = cache->build_bytes + key_bytes + size, total = sizeof header + body_bytes;
    if (total > FILE_BYTES_MAX || total > cache->bytes_max)
        return;
    char name[NAME_BYTES];
    name_of(cache, key, key_bytes, name);
    uint8_t *bytes = bd_alloc(total), *body = bytes + sizeof header;
    memcpy(body, cache->build, cache->build_bytes);
    memcpy(body + cache->build_bytes, key, key_bytes);
    memcpy(body + cache->build_bytes + key_bytes, object, size);
    digest_of(body, body_bytes, header.digest);
    memcpy(bytes, &header, sizeof header);
    if (write_file(cache, name, bytes, total))
        make_room(cache, name);
    else
        warn_once(cache, "cannot write", errno);
    bd_free(bytes);
}
