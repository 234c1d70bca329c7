/* SPDX-License-Identifier: Apache-2.0
 * For LD_PRELOAD: an allocator that fails when it is told to. $BURN_FAILING_ALLOC names a file of
 * two 64-bit numbers that a test maps, too: calls so far; of how many calls from now on the last
 * one fails (0: none). */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);

typedef struct orders {
    _Atomic uint64_t calls;
    _Atomic int64_t left;
} orders;
static orders *told;

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("BURN_FAILING_ALLOC");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    void *mapped = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    told = mapped == MAP_FAILED ? NULL : mapped;
    close(fd);
}

static int fails(void)
{
    if (!told)
        return 0;
    atomic_fetch_add(&told->calls, 1);
    if (atomic_load(&told->left) <= 0 || atomic_fetch_sub(&told->left, 1) != 1)
        return 0;
    errno = ENOMEM;
    return 1;
}

__attribute__((visibility("default"))) void *malloc(size_t size)
{
    return fails() ? NULL : __libc_malloc(size);
}

__attribute__((visibility("default"))) void *calloc(size_t count, size_t size)
{
    return fails() ? NULL : __libc_calloc(count, size);
}

__attribute__((visibility("default"))) void *realloc(void *block, size_t size)
{
    return fails() ? NULL : __libc_realloc(block, size);
}
