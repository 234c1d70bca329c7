/* SPDX-License-Identifier: Apache-2.0
 * Names of published values: segments of [A-Za-z0-9._-]+ joined by '/'. Those that begin with
 * "public/" are shared by all principals, the others belong to the one that made them.
 * Pure functions; thread: any. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "proto/base/error.h"
#include "proto/limits.h"
#include "proto/message.h"
#include "proto/ops.h"
#include "proto/pack.h"

/* INVALID says what a name may look like. */
bd_error *bd_name_check(const char *name, size_t size_bytes) BD_MUST_USE;
bool bd_name_is_public(const char *name);
/* As strcmp, but what stands below a name follows it at once. */
int bd_name_compare(const char *a, const char *b);
/* Whether `name` is `top` or stands below it; *out_part is what follows, "" for itself. */
bool bd_name_is_within(const char *name, const char *top, const char **out_part);

/* ---- parts: what the payloads of EXPORT and IMPORTED hold, one behind the other ---- */

/* EXPORT: [part, id]. */
void bd_name_pack_export(bd_pack *pack, const char *part, uint64_t id);
bd_error *bd_name_unpack_export(bd_unpack *unpack, bd_text *out_part, uint64_t *out_id) BD_MUST_USE;
/* IMPORTED: [part, dtype, [dim, …]]. */
void bd_name_pack_import(bd_pack *pack, const char *part, const burn_tensor_type *type);
bd_error *bd_name_unpack_import(bd_unpack *unpack, bd_text *out_part,
                                burn_tensor_type *out_type) BD_MUST_USE;
