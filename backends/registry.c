/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "backends/backend.h"

#define BACKEND(driver) extern const bd_driver driver;
#include "backends/backends.def"

static const bd_driver *const drivers[] = {
#define BACKEND(driver) &driver,
#include "backends/backends.def"
};

int bd_driver_count(void)
{
    return (int)(sizeof drivers / sizeof *drivers);
}

const bd_driver *bd_driver_at(int index)
{
    return index >= 0 && index < bd_driver_count() ? drivers[index] : NULL;
}

const bd_driver *bd_driver_find(const char *name)
{
    for (int i = 0; i < bd_driver_count(); i++)
        if (strcmp(drivers[i]->name, name) == 0)
            return drivers[i];
    return NULL;
}
