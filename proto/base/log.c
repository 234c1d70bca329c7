/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "proto/base/utf8.h"

/* Set once at start, read-only afterwards. */
static bd_log_level threshold = BD_LOG_INFO;

void bd_log_set_level(bd_log_level level)
{
    threshold = level;
}

void bd_log(bd_log_level level, const char *module, const char *format, ...)
{
    static const char *const names[] = {"error", "warn", "info", "debug"};
    if (level > threshold)
        return;
    char line[1024];
    struct timespec now;
    struct tm parts;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &parts);
    size_t used = strftime(line, sizeof line, "%Y-%m-%dT%H:%M:%S", &parts);
    used += (size_t)snprintf(line + used, sizeof line - used, ".%03ldZ %s %s ",
                             now.tv_nsec / 1000000, names[level], module);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line + used, sizeof line - used - 1, format, arguments);
    va_end(arguments);
    bd_utf8_show(line); /* text of a client must not look like a line of its own */
    used = strlen(line);
    line[used++] = '\n';
    if (write(STDERR_FILENO, line, used) < 0)
        return;
}
