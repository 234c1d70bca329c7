/* SPDX-License-Identifier: Apache-2.0 */
#include "server/process.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static uint64_t entries_of(const char *folder)
{
    uint64_t count = 0;
    DIR *entries = opendir(folder);
    if (!entries)
        return 0;
    for (struct dirent *entry; (entry = readdir(entries));)
        count += entry->d_name[0] != '.';
    closedir(entries);
    return count;
}

/* Seconds between the boot and the start of the process; below 0: unknown. */
static double start_after_boot(void)
{
    char text[1024];
    FILE *file = fopen("/proc/self/stat", "re");
    size_t size = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file)
        fclose(file);
    text[size] = '\0';
    char *at = strrchr(text, ')'); /* the name may hold anything */
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    unsigned long long ticks;
    return at && sscanf(at, "%llu", &ticks) == 1 ? (double)ticks / (double)sysconf(_SC_CLK_TCK)
                                                 : -1;
}

void bd_process_read(bd_process *out)
{
    struct rusage usage;
    struct rlimit files;
    struct timespec now, since_boot;
    uint64_t virtual_pages = 0, resident_pages = 0, page = (uint64_t)sysconf(_SC_PAGESIZE);
    *out = (bd_process){0};
    FILE *file = fopen("/proc/self/statm", "re");
    if (file && fscanf(file, "%" SCNu64 " %" SCNu64, &virtual_pages, &resident_pages) != 2)
        virtual_pages = resident_pages = 0;
    if (file)
        fclose(file);
    out->virtual_bytes = virtual_pages * page;
    out->resident_bytes = resident_pages * page;
    out->threads = entries_of("/proc/self/task");
    out->open_files = entries_of("/proc/self/fd");
    out->open_files -= out->open_files > 0; /* the folder itself */
    if (getrlimit(RLIMIT_NOFILE, &files) == 0)
        out->files_max = files.rlim_cur;
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        out->cpu_seconds =
            (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
            1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
    double start = start_after_boot();
    clock_gettime(CLOCK_REALTIME, &now);
    clock_gettime(CLOCK_BOOTTIME, &since_boot);
    if (start >= 0)
        out->started_seconds = (double)(now.tv_sec - since_boot.tv_sec) +
                               1e-9 * (double)(now.tv_nsec - since_boot.tv_nsec) + start;
}
