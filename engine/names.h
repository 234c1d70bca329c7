/* SPDX-License-Identifier: Apache-2.0
 * Names of values: what a session has published, for other sessions to import. A principal has
 * names of its own; those below "public/" are everyone's. A name holds its value whether or not a
 * session lives, and its memory counts against the principal that published it; when the name ends
 * it is the session's again, if that still is there. Who imports it has a loan (engine/memory.h).
 * Owned by the core; thread: device. Invariant: what is published together appears and ends
 * together; a name never has other names below it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/memory.h"
#include "engine/program.h"
#include "engine/tensor.h"
#include "proto/base/vec.h"
#include "proto/limits.h"
#include "proto/pack.h"

typedef struct bd_names bd_names;
typedef struct bd_holder bd_holder; /* a principal */

/* A tensor; or a program, which the tensors that belong to it follow: theirs are names that no
 * client can use. */
typedef struct bd_named {
    char *name; /* the whole name; owned */
    burn_tensor_type type;
    bd_buffer *buffer;   /* retained; NULL: a program */
    bd_program *program; /* retained; NULL: a tensor */
    bd_pack signature;   /* of the program, owned: what its importer is told */
    uint32_t input;      /* of a tensor that belongs to a program: which input it is */
    bd_holder *holder;   /* who published it */
    uint64_t version;    /* of the publication within its space, from 1 on */
} bd_named;
typedef BD_VEC(bd_named) bd_named_list;

/* False for a program and what belongs to it. */
bool bd_named_is_tensor(const bd_named *named);
/* Bytes of the value; of a program, those of its tensors among the `count` names from here on. */
uint64_t bd_named_bytes(const bd_named *named, size_t count);

bd_names *bd_names_create(bd_memory *memory, uint32_t names_max);
void bd_names_clear(bd_names *names); /* ends all names */
void bd_names_destroy(bd_names *names);
/* A session more, or less; the holder lives while it has sessions or names. */
bd_holder *bd_names_join(bd_names *names, const char *principal, bd_quota *quota);
void bd_names_leave(bd_names *names, bd_holder *holder);
size_t bd_names_count(const bd_names *names);

/* Values that wait to be published together. */
typedef struct bd_publication {
    char name[BURN_NAME_BYTES_MAX + 1];
    bd_named_list parts; /* each at the name or below it */
} bd_publication;

bd_publication *bd_publication_create(const char *name);
void bd_publication_destroy(bd_publication *publication);
/* The part "" is the name itself. INVALID for a part that is no name. */
bd_error *bd_publication_add(bd_publication *publication, const char *part, size_t part_bytes,
                             const bd_stored *stored) BD_MUST_USE;

/* The only part; the signature moves. */
void bd_publication_add_program(bd_publication *publication, bd_program *program,
                                bd_pack own_signature);
void bd_publication_add_bound(bd_publication *publication, uint32_t input,
                              const bd_stored *stored);
/* The submission that the last of its values waits for. */
uint64_t bd_publication_order(const bd_publication *publication);

/* Replaces what stands at the name and below it; takes the parts over, also after an error.
 * INVALID for parts that exclude each other, CONFLICT if the name stands below another one, LIMIT
 * for names or memory. */
bd_error *bd_names_publish(bd_names *names, bd_holder *holder,
                           bd_publication *own_publication) BD_MUST_USE;
/* What this holder sees at a name and below it, in order. NULL and *out_count = 0: nothing. Valid
 * until the next change. */
const bd_named *bd_names_find(bd_names *names, bd_holder *holder, const char *name,
                              size_t *out_count);
/* All of its own (shared false), or all shared ones. */
const bd_named *bd_names_all(bd_names *names, bd_holder *holder, bool shared, size_t *out_count);
/* NOT_FOUND for a name that this holder does not see, with where it was looked for. */
bd_error *bd_names_missing(const bd_holder *holder, const char *name) BD_MUST_USE;
/* Ends the name and those below it; NOT_FOUND if there are none. */
bd_error *bd_names_remove(bd_names *names, bd_holder *holder, const char *name) BD_MUST_USE;
