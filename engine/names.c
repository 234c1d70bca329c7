/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/names.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/alloc.h"
#include "proto/name.h"

enum { BOUND = '#' }; /* in names of what belongs to a program */

struct bd_holder {
    bd_holder *next;
    char *principal;
    bd_account *account;
    size_t sessions;     /* open ones */
    size_t count;        /* names that it published */
    uint64_t versions;   /* publications under its own names so far */
    bd_named_list names; /* its own, in order of bd_name_compare */
};

struct bd_names {
    bd_memory *memory;
    size_t names_max;
    bd_holder *holders;
    uint64_t holder_count;
    bd_named_list shared;
    uint64_t shared_versions;
};

static void release(bd_named *named)
{
    bd_buffer_release(named->buffer);
    bd_program_release(named->program);
    bd_free(named->signature.bytes);
    bd_free(named->name);
}

bool bd_named_is_tensor(const bd_named *named)
{
    return !named->program && !strchr(named->name, BOUND);
}

uint64_t bd_named_bytes(const bd_named *named, size_t count)
{
    uint64_t bytes = named->buffer ? named->buffer->size_bytes : 0;
    for (size_t i = 1; named->program && i < count && strchr(named[i].name, BOUND); i++)
        bytes += named[i].buffer->size_bytes;
    return bytes;
}

/* A name ends. Who still holds the value pays for it again. */
static void end_name(bd_memory *memory, bd_named *named)
{
    bd_buffer *buffer = named->buffer;
    if (buffer && --buffer->names == 0 && bd_buffer_is_shared(buffer)) {
        bd_account *before = bd_memory_account(memory, buffer->origin);
        if (before)
            bd_buffer_return(buffer, before);
    }
    named->holder->count--;
    release(named);
}

static void clear(bd_memory *memory, bd_named_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        end_name(memory, &list->items[i]);
    bd_vec_deinit(list);
}

bd_names *bd_names_create(bd_memory *memory, uint32_t names_max)
{
    bd_names *names = bd_alloc_zeroed(sizeof *names);
    names->memory = memory;
    names->names_max = names_max;
    return names;
}

void bd_names_clear(bd_names *names)
{
    clear(names->memory, &names->shared);
    for (bd_holder *holder = names->holders; holder; holder = holder->next)
        clear(names->memory, &holder->names);
}

void bd_names_destroy(bd_names *names)
{
    while (names->holders) {
        bd_holder *next = names->holders->next;
        bd_free(names->holders->principal);
        bd_free(names->holders);
        names->holders = next;
    }
    bd_free(names);
}

bd_holder *bd_names_join(bd_names *names, const char *principal, bd_quota *quota)
{
    for (bd_holder *holder = names->holders; holder; holder = holder->next) {
        if (strcmp(holder->principal, principal) != 0)
            continue;
        holder->sessions++;
        return holder;
    }
    uint64_t number = BD_HOLDERS_FROM + names->holder_count++;
    bd_holder *holder = bd_alloc_zeroed(sizeof *holder);
    bd_memory_open(names->memory, number, principal, quota);
    holder->sessions = 1;
    holder->account = bd_memory_account(names->memory, number);
    holder->principal = bd_strdup(principal);
    holder->next = names->holders;
    names->holders = holder;
    return holder;
}

/* Who has neither sessions nor names is forgotten. */
static void sweep(bd_names *names)
{
    for (bd_holder **link = &names->holders, *holder; (holder = *link);) {
        if (holder->sessions || holder->count) {
            link = &holder->next;
            continue;
        }
        *link = holder->next;
        bd_memory_close(names->memory, holder->account->session);
        bd_vec_deinit(&holder->names);
        bd_free(holder->principal);
        bd_free(holder);
    }
}

void bd_names_leave(bd_names *names, bd_holder *holder)
{
    holder->sessions--;
    sweep(names);
}

size_t bd_names_count(const bd_names *names)
{
    size_t count = names->shared.count;
    for (const bd_holder *holder = names->holders; holder; holder = holder->next)
        count += holder->names.count;
    return count;
}

/* ---- finding --------------------------------------------------------------------------------- */

static bd_named_list *space_of(bd_names *names, bd_holder *holder, const char *name)
{
    return bd_name_is_public(name) || strcmp(name, "public") == 0 ? &names->shared : &holder->names;
}

/* Where the name stands, or would. */
static size_t place_of(const bd_named_list *space, const char *name)
{
    size_t low = 0, high = space->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (bd_name_compare(space->items[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static size_t count_within(const bd_named_list *space, size_t place, const char *name)
{
    const char *part;
    size_t end = place;
    while (end < space->count && bd_name_is_within(space->items[end].name, name, &part))
        end++;
    return end - place;
}

const bd_named *bd_names_find(bd_names *names, bd_holder *holder, const char *name,
                              size_t *out_count)
{
    const bd_named_list *space = space_of(names, holder, name);
    size_t place = place_of(space, name);
    *out_count = count_within(space, place, name);
    return *out_count ? &space->items[place] : NULL;
}

const bd_named *bd_names_all(bd_names *names, bd_holder *holder, bool shared, size_t *out_count)
{
    const bd_named_list *space = shared ? &names->shared : &holder->names;
    *out_count = space->count;
    return space->items;
}

/* ---- changing -------------------------------------------------------------------------------- */

/* `count` names from the place on are replaced by others. */
static void splice(bd_memory *memory, bd_named_list *space, size_t place, size_t count,
                   const bd_named_list *parts)
{
    for (size_t i = 0; i < count; i++)
        end_name(memory, &space->items[place + i]);
    size_t behind = space->count - place - count;
    bd_vec_reserve(space, space->count - count + parts->count + 1);
    memmove(&space->items[place + parts->count], &space->items[place + count],
            behind * sizeof *space->items);
    if (parts->count)
        memcpy(&space->items[place], parts->items, parts->count * sizeof *space->items);
    space->count = space->count - count + parts->count;
}

static int by_name(const void *a, const void *b)
{
    return bd_name_compare(((const bd_named *)a)->name, ((const bd_named *)b)->name);
}

/* Parts are in order: what excludes each other stands side by side. */
static bd_error *check_parts(const bd_publication *publication)
{
    const bd_named_list *parts = &publication->parts;
    const char *part;
    for (size_t i = 1; i < parts->count; i++)
        if (!strchr(parts->items[i].name, BOUND) &&
            bd_name_is_within(parts->items[i].name, parts->items[i - 1].name, &part))
            BD_FAIL(INVALID, "\"%s\" cannot be published beside \"%s\"", parts->items[i].name,
                    parts->items[i - 1].name);
    return NULL;
}

static bd_error *check_above(const bd_named_list *space, const char *name)
{
    char above[BURN_NAME_BYTES_MAX + 1];
    for (const char *slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/')) {
        memcpy(above, name, (size_t)(slash - name));
        above[slash - name] = '\0';
        size_t place = place_of(space, above);
        if (place < space->count && strcmp(space->items[place].name, above) == 0)
            BD_FAIL(CONFLICT, "\"%s\" is the name of a value, nothing can stand below it", above);
    }
    return NULL;
}

static void count_names(const bd_named *named, size_t count, int32_t more)
{
    for (size_t i = 0; i < count; i++)
        if (named[i].buffer)
            named[i].buffer->names += (uint32_t)more;
}

/* What the holder pays for the names that end when the parts take their place. */
static uint64_t ending_bytes(const bd_holder *holder, const bd_named_list *parts,
                             const bd_named *ending, size_t count)
{
    uint64_t bytes = 0;
    count_names(parts->items, parts->count, 1);
    for (size_t i = 0; i < count; i++) {
        const bd_buffer *buffer = ending[i].buffer;
        if (buffer && --ending[i].buffer->names == 0 && buffer->account == holder->account)
            bytes += bd_buffer_charged_bytes(buffer);
    }
    count_names(ending, count, 1);
    count_names(parts->items, parts->count, -1);
    return bytes;
}

/* The buffers of sessions become the principal's. All or none. */
static bd_error *charge(const bd_holder *holder, bd_named_list *parts, uint64_t ending)
{
    bd_account **before = bd_alloc_zeroed((parts->count + 1) * sizeof *before);
    bd_error *error = NULL;
    size_t done = 0;
    for (; done < parts->count && !error; done++) {
        bd_buffer *buffer = parts->items[done].buffer;
        if (!buffer)
            continue;
        before[done] = buffer->account;
        if (buffer->account->session < BD_HOLDERS_FROM) {
            buffer->origin = buffer->account->session;
            error = bd_buffer_charge(buffer, holder->account, ending, &before[done]);
        }
    }
    for (size_t i = done; error && i-- > 0;)
        if (parts->items[i].buffer)
            bd_buffer_return(parts->items[i].buffer, before[i]);
    bd_free(before);
    return error;
}

static bd_error *publish(bd_names *names, bd_holder *holder, bd_publication *publication)
{
    bd_named_list *parts = &publication->parts;
    bd_named_list *space = space_of(names, holder, publication->name);
    if (parts->count == 0)
        BD_FAIL(INVALID, "nothing is published under \"%s\"", publication->name);
    qsort(parts->items, parts->count, sizeof *parts->items, by_name);
    BD_TRY(check_parts(publication));
    BD_TRY(check_above(space, publication->name));
    size_t place = place_of(space, publication->name), ending = 0;
    size_t count = count_within(space, place, publication->name);
    for (size_t i = 0; i < count; i++)
        ending += space->items[place + i].holder == holder;
    if (holder->count - ending + parts->count > names->names_max)
        BD_FAIL(LIMIT, "%s has %zu names, with %zu more there would be more than %zu",
                holder->principal, holder->count - ending, parts->count, names->names_max);
    BD_TRY(charge(holder, parts, ending_bytes(holder, parts, &space->items[place], count)));
    uint64_t version = ++*(space == &names->shared ? &names->shared_versions : &holder->versions);
    for (size_t i = 0; i < parts->count; i++) {
        parts->items[i].holder = holder;
        parts->items[i].version = version;
    }
    count_names(parts->items, parts->count, 1);
    holder->count += parts->count;
    splice(names->memory, space, place, count, parts);
    bd_vec_clear(parts);
    sweep(names);
    return NULL;
}

bd_error *bd_names_publish(bd_names *names, bd_holder *holder, bd_publication *own_publication)
{
    bd_error *error = publish(names, holder, own_publication);
    bd_publication_destroy(own_publication);
    return error;
}

bd_error *bd_names_missing(const bd_holder *holder, const char *name)
{
    if (bd_name_is_public(name))
        return BD_ERROR(NOT_FOUND, "there is no name \"%s\"", name);
    return BD_ERROR(NOT_FOUND,
                    "there is no name \"%s\" of %s; names of others are seen below public/ only",
                    name, holder->principal);
}

bd_error *bd_names_remove(bd_names *names, bd_holder *holder, const char *name)
{
    bd_named_list *space = space_of(names, holder, name);
    size_t place = place_of(space, name);
    size_t count = count_within(space, place, name);
    if (!count)
        return bd_names_missing(holder, name);
    splice(names->memory, space, place, count, &(bd_named_list){0});
    sweep(names);
    return NULL;
}

/* ---- publications ---------------------------------------------------------------------------- */

bd_publication *bd_publication_create(const char *name)
{
    bd_publication *publication = bd_alloc_zeroed(sizeof *publication);
    memcpy(publication->name, name, strlen(name) + 1);
    return publication;
}

void bd_publication_destroy(bd_publication *publication)
{
    if (!publication)
        return;
    for (size_t i = 0; i < publication->parts.count; i++)
        release(&publication->parts.items[i]);
    bd_vec_deinit(&publication->parts);
    bd_free(publication);
}

bd_error *bd_publication_add(bd_publication *publication, const char *part, size_t part_bytes,
                             const bd_stored *stored)
{
    char name[2 * BURN_NAME_BYTES_MAX + 2];
    size_t size = strlen(publication->name);
    memcpy(name, publication->name, size);
    if (part_bytes) {
        if (part_bytes > BURN_NAME_BYTES_MAX)
            BD_FAIL(INVALID, "a name has 1 to %d bytes", BURN_NAME_BYTES_MAX);
        name[size++] = '/';
        memcpy(name + size, part, part_bytes);
        size += part_bytes;
    }
    name[size] = '\0';
    BD_TRY(bd_name_check(name, size));
    bd_named named = {.name = bd_strdup(name), .buffer = bd_buffer_retain(stored->buffer)};
    bd_type_copy(&named.type, &stored->type);
    *bd_vec_push(&publication->parts) = named;
    return NULL;
}

void bd_publication_add_program(bd_publication *publication, bd_program *program,
                                bd_pack own_signature)
{
    *bd_vec_push(&publication->parts) = (bd_named){.name = bd_strdup(publication->name),
                                                   .program = bd_program_retain(program),
                                                   .signature = own_signature};
}

void bd_publication_add_bound(bd_publication *publication, uint32_t input, const bd_stored *stored)
{
    char name[BURN_NAME_BYTES_MAX + 16];
    snprintf(name, sizeof name, "%s/%c%08" PRIx32, publication->name, BOUND, input);
    bd_named named = {.name = bd_strdup(name),
                      .buffer = bd_buffer_retain(stored->buffer),
                      .input = input};
    bd_type_copy(&named.type, &stored->type);
    *bd_vec_push(&publication->parts) = named;
}

uint64_t bd_publication_order(const bd_publication *publication)
{
    uint64_t order = 0;
    for (size_t i = 0; i < publication->parts.count; i++) {
        const bd_buffer *buffer = publication->parts.items[i].buffer;
        if (buffer && buffer->ready > order)
            order = buffer->ready;
    }
    return order;
}
