/* SPDX-License-Identifier: Apache-2.0
 * What the files of memory share (memory.c, charge.c); nobody else includes it. Thread: any; what
 * is declared here wants the lock. */
#pragma once

#include <pthread.h>

#include "engine/memory.h"
#include "proto/base/map.h"
#include "proto/base/vec.h"

struct bd_memory {
    pthread_mutex_t lock;
    const bd_device_ops *ops;
    bd_device *device;
    bd_spans *spans[BD_MEMORY_USERS]; /* what the host writes would else wait for ever new
                                         submissions; a result where an arena was would make the
                                         next one look for another place */
    bd_map accounts;                  /* of open sessions */
    bd_account *closed;               /* those of others that still have buffers */
    BD_VEC(char *) principals; /* names, by number - 1 */
    atomic_uint_fast64_t cleared_bytes;
    bd_buffer *unused;
    uint64_t bytes_max, session_bytes_max;
    uint64_t used_bytes;
    uint64_t buffer_count;
    uint64_t next_serial;
    bd_error *loss; /* why the device is lost; under the lock */
    atomic_bool lost;
    atomic_uint_fast64_t submitted, completed;
};

/* ---- engine/memory.c ---- */
/* A descriptor, with anything in it. */
bd_buffer *bd_memory_take_descriptor(bd_memory *memory);
/* A closed account lasts as long as its buffers. True if it has ended. */
bool bd_memory_end_if_over(bd_memory *memory, bd_account *account);

/* ---- engine/charge.c ---- */
/* LIMIT if the account cannot have so many bytes more, when `ending` of those that it has will be
 * free. */
bd_error *bd_charge_check(const bd_memory *memory, const bd_account *account, uint64_t wanted,
                          uint64_t ending) BD_MUST_USE;
void bd_charge_link(bd_account *account, bd_buffer *buffer);
void bd_charge_unlink(bd_account *account, const bd_buffer *buffer);
/* The references to a buffer that was lent, or its loans, have become fewer: who pays now? */
void bd_charge_settle(bd_buffer *buffer);
/* Nobody holds the loan any more: its buffer knows it no longer, and loses the reference. True if
 * that was the last one. */
bool bd_charge_end_loan(bd_buffer *loan);
