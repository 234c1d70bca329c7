/* SPDX-License-Identifier: Apache-2.0
 * Who pays for a buffer: the account that has it, and for one that was lent, while none but loans
 * hold it any more, the oldest of these. */
#include <inttypes.h>

#include "engine/memory_parts.h"

static uint64_t charged(const bd_buffer *buffer)
{
    const bd_buffer *source = buffer->source ? buffer->source : buffer;
    return source->payer == buffer ? buffer->size_bytes : 0;
}

static void add(bd_account *account, int64_t bytes)
{
    account->used_bytes += (uint64_t)bytes;
    bd_quota_add(account->quota, BD_QUOTA_MEMORY, bytes);
}

bd_error *bd_charge_check(const bd_memory *memory, const bd_account *account, uint64_t wanted,
                          uint64_t ending)
{
    uint64_t used = account->used_bytes - ending;
    if (wanted > memory->session_bytes_max - used || used > memory->session_bytes_max)
        BD_FAIL(LIMIT,
                "memory limit of the %s: %" PRIu64 " bytes wanted, %" PRIu64 " of %" PRIu64
                " in use",
                account->session < BD_HOLDERS_FROM ? "session" : "principal's names", wanted,
                used, memory->session_bytes_max);
    return NULL;
}

/* ---- accounts -------------------------------------------------------------------------------- */

void bd_charge_unlink(bd_account *account, const bd_buffer *buffer)
{
    if (buffer->previous)
        buffer->previous->next = buffer->next;
    else
        account->buffers = buffer->next;
    if (buffer->next)
        buffer->next->previous = buffer->previous;
    add(account, -(int64_t)charged(buffer));
}

void bd_charge_link(bd_account *account, bd_buffer *buffer)
{
    buffer->account = account;
    buffer->next = account->buffers;
    buffer->previous = NULL;
    if (account->buffers)
        account->buffers->previous = buffer;
    account->buffers = buffer;
    add(account, (int64_t)charged(buffer));
}

/* Returns where it counted before; the new account, if that one has ended with it. */
static bd_account *move_to_account(bd_memory *memory, bd_buffer *buffer, bd_account *account)
{
    bd_account *before = buffer->account;
    if (account == before)
        return before;
    bd_charge_unlink(before, buffer);
    bd_charge_link(account, buffer);
    return bd_memory_end_if_over(memory, before) ? account : before;
}

void bd_buffer_return(bd_buffer *buffer, bd_account *account)
{
    bd_memory *memory = buffer->memory;
    pthread_mutex_lock(&memory->lock);
    (void)move_to_account(memory, buffer, account);
    pthread_mutex_unlock(&memory->lock);
}

bd_error *bd_buffer_charge(bd_buffer *buffer, bd_account *account, uint64_t ending,
                           bd_account **out_before)
{
    bd_memory *memory = buffer->memory;
    bd_error *error = NULL;
    pthread_mutex_lock(&memory->lock);
    bd_account *before = buffer->account;
    uint64_t bytes = charged(buffer);
    if (bytes && account != before)
        error = bd_charge_check(memory, account, bytes, ending);
    if (!error && bytes && account->quota != before->quota)
        error = bd_quota_check(account->quota, BD_QUOTA_MEMORY, bytes);
    if (!error)
        *out_before = move_to_account(memory, buffer, account);
    pthread_mutex_unlock(&memory->lock);
    return error;
}

uint64_t bd_buffer_charged_bytes(const bd_buffer *buffer)
{
    bd_memory *memory = buffer->memory;
    pthread_mutex_lock(&memory->lock);
    uint64_t bytes = charged(buffer);
    pthread_mutex_unlock(&memory->lock);
    return bytes;
}

/* ---- loans ----------------------------------------------------------------------------------- */

void bd_charge_settle(bd_buffer *buffer)
{
    uint64_t count = atomic_load(&buffer->count) & ~(uint64_t)BD_BUFFER_LENT;
    bd_buffer *before = buffer->payer;
    buffer->payer = count > buffer->loan_count || !buffer->first_loan ? buffer : buffer->first_loan;
    if (buffer->payer == before)
        return;
    if (before)
        add(before->account, -(int64_t)buffer->size_bytes);
    add(buffer->payer->account, (int64_t)buffer->size_bytes);
}

bd_buffer *bd_buffer_lend(bd_buffer *buffer, bd_account *account)
{
    bd_buffer *source = buffer->source ? buffer->source : buffer;
    bd_memory *memory = buffer->memory;
    pthread_mutex_lock(&memory->lock);
    bd_buffer *loan = bd_memory_take_descriptor(memory);
    *loan = (bd_buffer){.size_bytes = source->size_bytes,
                        .memory = memory,
                        .source = source,
                        .previous_loan = source->last_loan,
                        .user = source->user,
                        .serial = source->serial,
                        .ready = source->ready,
                        .error = source->error ? bd_error_retain(source->error) : NULL};
    atomic_init(&loan->count, 1);
    atomic_fetch_add(&source->count, 1);
    atomic_fetch_or(&source->count, BD_BUFFER_LENT);
    *(source->last_loan ? &source->last_loan->next_loan : &source->first_loan) = loan;
    source->last_loan = loan;
    source->loan_count++;
    bd_charge_link(account, loan);
    memory->buffer_count++;
    pthread_mutex_unlock(&memory->lock);
    return loan;
}

bool bd_charge_end_loan(bd_buffer *loan)
{
    bd_buffer *source = loan->source, *next = loan->next_loan, *previous = loan->previous_loan;
    *(previous ? &previous->next_loan : &source->first_loan) = next;
    *(next ? &next->previous_loan : &source->last_loan) = previous;
    source->loan_count--;
    bool last = (atomic_fetch_sub(&source->count, 1) & ~(uint64_t)BD_BUFFER_LENT) == 1;
    bd_charge_settle(source);
    return last;
}
