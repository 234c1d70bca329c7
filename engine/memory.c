/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/memory_parts.h"

#include <inttypes.h>
#include <string.h>

#include "proto/base/alloc.h"
#include "proto/base/assert.h"

bd_memory *bd_memory_create(const bd_device_ops *ops, bd_device *device, uint64_t bytes_max,
                            uint64_t session_bytes_max)
{
    bd_memory *memory = bd_alloc_zeroed(sizeof *memory);
    pthread_mutex_init(&memory->lock, NULL);
    memory->ops = ops;
    memory->device = device;
    for (int i = 0; i < BD_MEMORY_USERS; i++)
        memory->spans[i] = bd_spans_create(ops, device, i == BD_MEMORY_HOST);
    memory->bytes_max = bytes_max ? bytes_max : UINT64_MAX;
    memory->session_bytes_max = session_bytes_max ? session_bytes_max : UINT64_MAX;
    return memory;
}

static void destroy_account(bd_account *account)
{
    bd_quota_release(account->quota);
    bd_free(account);
}

bool bd_memory_destroy(bd_memory *memory)
{
    if (!memory)
        return true;
    pthread_mutex_lock(&memory->lock);
    bool clean = memory->buffer_count == 0;
    pthread_mutex_unlock(&memory->lock);
    if (!clean)
        return false;
    uint64_t session;
    void *account;
    for (size_t cursor = 0; bd_map_next(&memory->accounts, &cursor, &session, &account);)
        destroy_account(account);
    bd_map_deinit(&memory->accounts);
    bd_error_free(memory->loss);
    for (size_t i = 0; i < memory->principals.count; i++)
        bd_free(memory->principals.items[i]);
    bd_vec_deinit(&memory->principals);
    for (int i = 0; i < BD_MEMORY_USERS; i++)
        bd_spans_destroy(memory->spans[i]);
    while (memory->unused) {
        bd_buffer *next = memory->unused->next;
        bd_free(memory->unused);
        memory->unused = next;
    }
    pthread_mutex_destroy(&memory->lock);
    bd_free(memory);
    return true;
}

static uint64_t principal_number(bd_memory *memory, const char *name)
{
    for (size_t i = 0; i < memory->principals.count; i++)
        if (strcmp(memory->principals.items[i], name) == 0)
            return i + 1;
    *bd_vec_push(&memory->principals) = bd_strdup(name);
    return memory->principals.count;
}

void bd_memory_open(bd_memory *memory, uint64_t session, const char *principal, bd_quota *quota)
{
    pthread_mutex_lock(&memory->lock);
    if (!bd_map_get(&memory->accounts, session)) {
        bd_account *account = bd_alloc_zeroed(sizeof *account);
        account->session = session;
        account->principal = principal_number(memory, principal);
        account->quota = bd_quota_retain(quota);
        bd_map_put(&memory->accounts, session, account);
    }
    pthread_mutex_unlock(&memory->lock);
}

bool bd_memory_end_if_over(bd_memory *memory, bd_account *account)
{
    if (!account->closed || account->buffers)
        return false;
    bd_account **place = &memory->closed;
    while (*place != account)
        place = &(*place)->next_closed;
    *place = account->next_closed;
    destroy_account(account);
    return true;
}

void bd_memory_close(bd_memory *memory, uint64_t session)
{
    pthread_mutex_lock(&memory->lock);
    bd_account *account = bd_map_remove(&memory->accounts, session);
    if (account) {
        account->closed = true;
        account->next_closed = memory->closed;
        memory->closed = account;
        (void)bd_memory_end_if_over(memory, account);
    }
    pthread_mutex_unlock(&memory->lock);
}

bd_account *bd_memory_account(bd_memory *memory, uint64_t session)
{
    pthread_mutex_lock(&memory->lock);
    bd_account *account = bd_map_get(&memory->accounts, session);
    pthread_mutex_unlock(&memory->lock);
    return account;
}

static bd_error *check_limits(const bd_memory *memory, const bd_account *account, uint64_t wanted)
{
    BD_TRY(bd_charge_check(memory, account, wanted, 0));
    BD_TRY(bd_quota_check(account->quota, BD_QUOTA_MEMORY, wanted));
    if (wanted > memory->bytes_max - memory->used_bytes || memory->used_bytes > memory->bytes_max)
        BD_FAIL(NO_MEMORY,
                "memory limit of the device: %" PRIu64 " bytes wanted, %" PRIu64 " of %" PRIu64
                " in use",
                wanted, memory->used_bytes, memory->bytes_max);
    return NULL;
}

static uint64_t pool_bytes(const bd_memory *memory)
{
    uint64_t bytes = 0;
    for (int i = 0; i < BD_MEMORY_USERS; i++)
        bytes += bd_spans_slab_bytes(memory->spans[i]);
    return bytes;
}

static void trim(bd_memory *memory)
{
    for (int i = 0; i < BD_MEMORY_USERS; i++)
        bd_spans_trim(memory->spans[i], atomic_load(&memory->completed));
}

/* Free slabs must not keep the pool above the limit. */
static bd_error *take_span(bd_memory *memory, const bd_account *account, size_t size_bytes,
                           bd_memory_user user, bd_span **out)
{
    bool host = user == BD_MEMORY_HOST;
    uint64_t completed = atomic_load(&memory->completed);
    bd_span_wish wish = {.size_bytes = size_bytes,
                         .principal = account->principal,
                         .completed = host || !memory->ops->clear ? completed : UINT64_MAX,
                         .own_completed = host ? completed : UINT64_MAX,
                         .all_completed = completed};
    bd_spans *spans = memory->spans[user];
    if (pool_bytes(memory) > memory->bytes_max / 2 + memory->used_bytes / 2)
        trim(memory);
    bd_error *error = bd_spans_take(spans, &wish, out);
    if (!error)
        return NULL;
    bd_error_free(error);
    trim(memory);
    BD_TRY_NOTE(bd_spans_take(spans, &wish, out),
                "%zu bytes wanted, %" PRIu64 " in use", size_bytes, memory->used_bytes);
    return NULL;
}

bd_buffer *bd_memory_take_descriptor(bd_memory *memory)
{
    bd_buffer *buffer = memory->unused;
    if (!buffer)
        return bd_alloc(sizeof *buffer);
    memory->unused = buffer->next;
    return buffer;
}

static bd_error *alloc_locked(bd_memory *memory, bd_account *account, size_t size_bytes,
                              bd_memory_user user, bd_buffer **out)
{
    BD_TRY(check_limits(memory, account, size_bytes));
    bd_span *span = NULL;
    BD_TRY(take_span(memory, account, size_bytes, user, &span));
    bd_buffer *buffer = bd_memory_take_descriptor(memory);
    *buffer = (bd_buffer){.bytes = bd_span_bytes(span),
                          .size_bytes = size_bytes,
                          .memory = memory,
                          .span = span,
                          .user = user,
                          .serial = ++memory->next_serial};
    buffer->payer = buffer;
    atomic_init(&buffer->count, 1);
    bd_charge_link(account, buffer);
    memory->used_bytes += size_bytes;
    memory->buffer_count++;
    *out = buffer;
    return NULL;
}

/* A span that its new owner alone knows of: zeros, if another principal's bytes are there. */
static bd_error *make_own(bd_memory *memory, bd_span *span, bd_memory_user user,
                          uint64_t principal)
{
    bool foreign = bd_span_is_foreign(span, principal);
    span->principal = principal;
    if (!foreign)
        return NULL;
    atomic_fetch_add(&memory->cleared_bytes, span->size_bytes);
    if (user != BD_MEMORY_HOST && memory->ops->clear) {
        bd_error *error =
            memory->ops->clear(memory->device, bd_span_bytes(span), span->size_bytes);
        bd_memory_note(memory, error);
        return error;
    }
    memset(bd_span_bytes(span), 0, span->size_bytes);
    return NULL;
}

static bd_error *own_buffer(bd_buffer **inout, uint64_t principal)
{
    bd_buffer *buffer = *inout;
    bd_error *error = make_own(buffer->memory, buffer->span, buffer->user, principal);
    if (!error)
        return NULL;
    buffer->span->principal = BD_SPAN_MIXED;
    bd_buffer_release(buffer);
    *inout = NULL;
    return error;
}

bd_error *bd_memory_alloc(bd_memory *memory, bd_account *account, size_t size_bytes,
                          bd_memory_user user, bd_buffer **out)
{
    pthread_mutex_lock(&memory->lock);
    uint64_t principal = account->principal;
    bd_error *error = alloc_locked(memory, account, size_bytes, user, out);
    pthread_mutex_unlock(&memory->lock);
    bd_memory_note(memory, error);
    return error ? error : own_buffer(out, principal);
}

bd_error *bd_memory_alloc_for(bd_memory *memory, uint64_t session, size_t size_bytes,
                              bd_memory_user user, bd_buffer **out)
{
    pthread_mutex_lock(&memory->lock);
    bd_account *account = bd_map_get(&memory->accounts, session);
    uint64_t principal = account ? account->principal : BD_SPAN_NOBODYS;
    bd_error *error = account ? alloc_locked(memory, account, size_bytes, user, out)
                              : BD_ERROR(NOT_FOUND, "session %" PRIu64 " is not open", session);
    pthread_mutex_unlock(&memory->lock);
    return error ? error : own_buffer(out, principal);
}

/* Where its bytes are. */
static bd_buffer *held_by(bd_buffer *buffer)
{
    return buffer->source ? buffer->source : buffer;
}

void *bd_buffer_bytes(bd_buffer *buffer)
{
    return held_by(buffer)->bytes;
}

size_t bd_buffer_size(const bd_buffer *buffer)
{
    return buffer->size_bytes;
}

bd_buffer *bd_buffer_retain(bd_buffer *buffer)
{
    atomic_fetch_add_explicit(&buffer->count, 1, memory_order_relaxed);
    return buffer;
}

/* A reference less; false: there are others. One to a buffer that was lent is given up under the
 * lock, which then is held. */
static bool drop_reference(bd_buffer *buffer, bool *out_locked)
{
    uint_fast32_t count = atomic_load_explicit(&buffer->count, memory_order_relaxed);
    *out_locked = false;
    while (!(count & BD_BUFFER_LENT))
        if (atomic_compare_exchange_weak_explicit(&buffer->count, &count, count - 1,
                                                  memory_order_acq_rel, memory_order_relaxed))
            return count == 1;
    *out_locked = true;
    pthread_mutex_lock(&buffer->memory->lock);
    return (atomic_fetch_sub(&buffer->count, 1) & ~(uint_fast32_t)BD_BUFFER_LENT) == 1;
}

/* Returns its error. */
static bd_error *end_buffer(bd_memory *memory, bd_buffer *buffer)
{
    bd_account *account = buffer->account; /* it may change hands until the lock is ours */
    bd_charge_unlink(account, buffer);
    if (!buffer->source)
        memory->used_bytes -= buffer->size_bytes;
    memory->buffer_count--;
    if (buffer->span) /* a loan has none */
        bd_spans_give(memory->spans[buffer->user], buffer->span, atomic_load(&memory->submitted));
    (void)bd_memory_end_if_over(memory, account);
    buffer->next = memory->unused;
    memory->unused = buffer;
    return buffer->error;
}

void bd_buffer_release(bd_buffer *buffer)
{
    if (!buffer)
        return;
    bd_memory *memory = buffer->memory;
    bd_error *faults[2] = {NULL};
    bool locked, last = drop_reference(buffer, &locked);
    if (!last && !locked)
        return;
    if (!locked)
        pthread_mutex_lock(&memory->lock);
    bd_buffer *source = buffer->source;
    bool sources = last && source && bd_charge_end_loan(buffer);
    if (last)
        faults[0] = end_buffer(memory, buffer);
    else
        bd_charge_settle(buffer);
    if (sources)
        faults[1] = end_buffer(memory, source);
    pthread_mutex_unlock(&memory->lock);
    bd_error_free(faults[0]);
    bd_error_free(faults[1]);
}

bool bd_buffer_is_shared(const bd_buffer *buffer)
{
    uint_fast32_t count = atomic_load_explicit(&buffer->count, memory_order_acquire);
    return buffer->source || (count & ~(uint_fast32_t)BD_BUFFER_LENT) > 1;
}

void bd_buffer_renew(bd_buffer *buffer)
{
    bd_memory *memory = buffer->memory;
    pthread_mutex_lock(&memory->lock);
    buffer->serial = ++memory->next_serial;
    pthread_mutex_unlock(&memory->lock);
    bd_error_free(buffer->error);
    buffer->error = NULL;
}

static bd_error *move_locked(bd_memory *memory, bd_buffer *buffer)
{
    bd_span *span = NULL;
    BD_TRY(take_span(memory, buffer->account, buffer->size_bytes, BD_MEMORY_SUBMISSIONS, &span));
    span->principal = buffer->account->principal; /* all its bytes that anyone reads are written */
    uint64_t submitted = atomic_load(&memory->submitted);
    bd_error *error = memory->ops->copy_in(memory->device, bd_span_bytes(span), buffer->bytes,
                                           buffer->size_bytes);
    if (error) {
        bd_spans_give(memory->spans[BD_MEMORY_SUBMISSIONS], span, submitted);
        return error;
    }
    bd_spans_give(memory->spans[BD_MEMORY_HOST], buffer->span, submitted + 1);
    buffer->span = span;
    buffer->bytes = bd_span_bytes(span);
    buffer->user = BD_MEMORY_SUBMISSIONS;
    return NULL;
}

bd_error *bd_buffer_to_device(bd_buffer *wanted)
{
    bd_buffer *buffer = held_by(wanted);
    bd_memory *memory = buffer->memory;
    if (!memory->ops->copy_in || buffer->user == BD_MEMORY_SUBMISSIONS || buffer->size_bytes == 0)
        return NULL;
    pthread_mutex_lock(&memory->lock);
    bd_error *error = move_locked(memory, buffer);
    pthread_mutex_unlock(&memory->lock);
    bd_memory_note(memory, error);
    return error;
}

bd_error *bd_buffer_for_host(bd_buffer *buffer, bd_buffer **out)
{
    bd_memory *memory = buffer->memory;
    if (!memory->ops->copy_out) {
        *out = bd_buffer_retain(buffer);
        return NULL;
    }
    const bd_buffer *held = held_by(buffer);
    bd_buffer *copy = NULL;
    BD_TRY(bd_memory_alloc(memory, buffer->account, held->size_bytes, BD_MEMORY_HOST, &copy));
    bd_error *error = NULL;
    if (held->user == BD_MEMORY_HOST)
        memcpy(copy->bytes, held->bytes, held->size_bytes);
    else if (held->size_bytes)
        error =
            memory->ops->copy_out(memory->device, copy->bytes, held->bytes, held->size_bytes);
    if (error) {
        bd_memory_note(memory, error);
        bd_buffer_release(copy);
        return error;
    }
    *out = copy;
    return NULL;
}

void bd_memory_set_submitted(bd_memory *memory, uint64_t submission)
{
    atomic_store(&memory->submitted, submission);
}

void bd_memory_set_completed(bd_memory *memory, uint64_t submission)
{
    atomic_store(&memory->completed, submission);
}

void bd_memory_note(bd_memory *memory, const bd_error *error)
{
    if (!error || bd_error_code(error) != BD_CODE_DEVICE_LOST || !memory->ops->reopen)
        return;
    pthread_mutex_lock(&memory->lock);
    if (!memory->loss)
        memory->loss = BD_ERROR(DEVICE_LOST, "what lay on the device went with it: %s",
                                bd_error_text(error));
    pthread_mutex_unlock(&memory->lock);
    atomic_store(&memory->lost, true);
}

bool bd_memory_is_lost(const bd_memory *memory)
{
    return atomic_load(&memory->lost);
}

static void lose_buffers(const bd_account *account, bd_error *loss)
{
    for (bd_buffer *buffer = account->buffers; buffer; buffer = buffer->next) {
        if (held_by(buffer)->user == BD_MEMORY_HOST)
            continue;
        buffer->bytes = NULL;
        buffer->span = NULL;
        if (!buffer->error)
            buffer->error = bd_error_retain(loss);
    }
}

bd_error *bd_memory_lose(bd_memory *memory)
{
    pthread_mutex_lock(&memory->lock);
    bd_error *loss = memory->loss;
    memory->loss = NULL;
    atomic_store(&memory->lost, false);
    uint64_t number;
    void *account;
    for (size_t cursor = 0; bd_map_next(&memory->accounts, &cursor, &number, &account);)
        lose_buffers(account, loss);
    for (account = memory->closed; account; account = ((bd_account *)account)->next_closed)
        lose_buffers(account, loss);
    for (int i = 0; i < BD_MEMORY_USERS; i++) {
        if (i == BD_MEMORY_HOST)
            continue;
        bd_spans_destroy(memory->spans[i]);
        memory->spans[i] = bd_spans_create(memory->ops, memory->device, false);
    }
    return loss;
}

void bd_memory_renew(bd_memory *memory)
{
    pthread_mutex_unlock(&memory->lock);
}

void bd_memory_visit(bd_memory *memory, bd_account *account,
                     void (*visit)(bd_buffer *buffer, void *user), void *user)
{
    pthread_mutex_lock(&memory->lock);
    for (bd_buffer *buffer = account->buffers; buffer; buffer = buffer->next)
        visit(buffer, user);
    pthread_mutex_unlock(&memory->lock);
}

uint64_t bd_memory_bytes_from(bd_memory *memory, uint64_t first_number)
{
    uint64_t bytes = 0, number;
    void *account;
    pthread_mutex_lock(&memory->lock);
    for (size_t cursor = 0; bd_map_next(&memory->accounts, &cursor, &number, &account);)
        if (number >= first_number)
            bytes += ((bd_account *)account)->used_bytes;
    pthread_mutex_unlock(&memory->lock);
    return bytes;
}

uint64_t bd_memory_cleared_bytes(bd_memory *memory)
{
    return atomic_load(&memory->cleared_bytes);
}

void bd_memory_trim(bd_memory *memory)
{
    pthread_mutex_lock(&memory->lock);
    trim(memory);
    pthread_mutex_unlock(&memory->lock);
}

void bd_memory_make_room(bd_memory *memory, size_t free_bytes_max)
{
    pthread_mutex_lock(&memory->lock);
    if (pool_bytes(memory) <= memory->used_bytes + free_bytes_max)
        trim(memory);
    pthread_mutex_unlock(&memory->lock);
}

void bd_memory_gauges(bd_memory *memory, uint64_t *out_used_bytes, uint64_t *out_pool_bytes,
                      uint64_t *out_tensors)
{
    pthread_mutex_lock(&memory->lock);
    *out_used_bytes = memory->used_bytes;
    *out_pool_bytes = pool_bytes(memory);
    *out_tensors = 0;
    uint64_t session;
    void *account;
    for (size_t cursor = 0; bd_map_next(&memory->accounts, &cursor, &session, &account);)
        *out_tensors +=
            atomic_load_explicit(&((bd_account *)account)->tensors, memory_order_relaxed);
    pthread_mutex_unlock(&memory->lock);
}

bool bd_memory_session_gauges(bd_memory *memory, uint64_t session, bd_session_gauges *out)
{
    pthread_mutex_lock(&memory->lock);
    bd_account *account = bd_map_get(&memory->accounts, session);
    if (account) {
        *out = (bd_session_gauges){
            .device_bytes = account->used_bytes,
            .tensors = atomic_load_explicit(&account->tensors, memory_order_relaxed),
            .ops = atomic_load_explicit(&account->ops, memory_order_relaxed),
            .device_us = atomic_load_explicit(&account->device_ns, memory_order_relaxed) / 1000};
    }
    pthread_mutex_unlock(&memory->lock);
    return account != NULL;
}
