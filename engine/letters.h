/* SPDX-License-Identifier: Apache-2.0
 * What can lie in the device thread's mailbox: each letter is the first member of its struct and
 * its kind the second. Thread: any. */
#pragma once

#include "engine/mailbox.h"

typedef enum bd_letter_kind {
    BD_LETTER_REQUEST,  /* a bd_posted, engine/session.h */
    BD_LETTER_RUN,      /* a bd_run that the backend has finished, engine/run.h */
    BD_LETTER_COMPILED, /* a bd_cached whose job is done, engine/cache.h */
    BD_LETTER_CLOSE,    /* the engine closes */
} bd_letter_kind;

typedef struct bd_kinded_letter {
    bd_letter letter;
    int kind;
} bd_kinded_letter;
