/* SPDX-License-Identifier: Apache-2.0 */
#include "server/region.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "proto/base/alloc.h"

enum { SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL };

static bd_error *check_memfd(int fd, uint64_t bytes)
{
    struct stat facts;
    struct statfs system;
    int seals = fcntl(fd, F_GET_SEALS); /* only a memfd has any */
    if (seals < 0 || fstat(fd, &facts) != 0 || !S_ISREG(facts.st_mode))
        BD_FAIL(INVALID, "the descriptor is no memfd");
    if ((seals & SEALS) != SEALS)
        BD_FAIL(INVALID, "the memfd lacks the seals F_SEAL_SHRINK, F_SEAL_GROW and F_SEAL_SEAL");
    if (seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE))
        BD_FAIL(INVALID, "the memfd is sealed against writing, and the daemon writes answers "
                         "there; F_SEAL_SHRINK, F_SEAL_GROW and F_SEAL_SEAL alone would be right");
    if ((fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDWR)
        BD_FAIL(INVALID, "the descriptor of the memfd is not open for reading and writing, as "
                         "memfd_create opens it");
    /* Huge pages that their owner takes back can be missing at the next touch, which is SIGBUS. */
    if (fstatfs(fd, &system) != 0 || system.f_type != TMPFS_MAGIC)
        BD_FAIL(INVALID, "the memfd has huge pages; a region has ordinary ones");
    if (bytes == 0 || facts.st_size < 0 || (uint64_t)facts.st_size != bytes)
        BD_FAIL(INVALID, "the memfd has %lld bytes, not %" PRIu64, (long long)facts.st_size, bytes);
    return NULL;
}

static bd_error *add(bd_regions *regions, const struct bd_message_region_add *add, int fd)
{
    if (fd < 0)
        BD_FAIL(INVALID, "no descriptor came with the region");
    BD_TRY(check_memfd(fd, add->bytes));
    if (bd_map_get(&regions->regions, add->region))
        BD_FAIL(CONFLICT, "region %" PRIu64 " exists already", add->region);
    if (regions->regions.count >= BURN_REGIONS_MAX)
        BD_FAIL(LIMIT, "a session has at most %d regions", BURN_REGIONS_MAX);
    if (add->bytes > regions->bytes_max - regions->bytes)
        BD_FAIL(LIMIT, "regions: %" PRIu64 " bytes wanted, %" PRIu64 " of %" PRIu64 " in use",
                add->bytes, regions->bytes, regions->bytes_max);
    void *bytes = mmap(NULL, add->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (bytes == MAP_FAILED)
        BD_FAIL(NO_MEMORY, "a region of %" PRIu64 " bytes cannot be mapped: %s", add->bytes,
                strerror(errno));
    bd_region *region = bd_alloc(sizeof *region);
    *region = (bd_region){.count = 1, .bytes = bytes, .size_bytes = add->bytes};
    regions->bytes += add->bytes;
    bd_map_put(&regions->regions, add->region, region);
    return NULL;
}

bd_error *bd_regions_add(bd_regions *regions, const struct bd_message_region_add *message,
                         int own_fd)
{
    bd_error *error = add(regions, message, own_fd);
    if (own_fd >= 0)
        close(own_fd);
    return error;
}

bd_error *bd_regions_drop(bd_regions *regions, uint64_t number)
{
    bd_region *region = bd_map_remove(&regions->regions, number);
    if (!region)
        BD_FAIL(NOT_FOUND, "region %" PRIu64 " is unknown", number);
    regions->bytes -= region->size_bytes;
    bd_region_release(region);
    return NULL;
}

void bd_regions_deinit(bd_regions *regions)
{
    uint64_t number;
    void *region;
    for (size_t cursor = 0; bd_map_next(&regions->regions, &cursor, &number, &region);)
        bd_region_release(region);
    bd_map_deinit(&regions->regions);
}

bd_error *bd_regions_find(const bd_regions *regions, uint64_t number, uint64_t place,
                          uint64_t bytes, bd_region **out)
{
    bd_region *region = bd_map_get(&regions->regions, number);
    if (!region)
        BD_FAIL(NOT_FOUND, "region %" PRIu64 " is unknown", number);
    if (place > region->size_bytes || bytes > region->size_bytes - place)
        BD_FAIL(INVALID, "%" PRIu64 " bytes at %" PRIu64 " do not lie in a region of %zu", bytes,
                place, region->size_bytes);
    *out = region;
    return NULL;
}

bd_region *bd_region_retain(bd_region *region)
{
    region->count++;
    return region;
}

void bd_region_release(bd_region *region)
{
    if (!region || --region->count > 0)
        return;
    munmap(region->bytes, region->size_bytes);
    bd_free(region);
}
