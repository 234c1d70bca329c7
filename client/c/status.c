/* SPDX-License-Identifier: Apache-2.0
 * What belongs to a thread: its last error and its gradient mode. These are the library's only
 * variables that change; each is seen by its own thread alone. */
#include <stdio.h>

#include "client/c/context.h"

typedef struct thread_error {
    burn_error error;
    char text[BD_ERROR_TEXT_MAX];
} thread_error;

static _Thread_local thread_error last = {.error = {.text = ""}};
static _Thread_local bool grad_off;

burn_status bd_finish(bd_error *own_error)
{
    if (!own_error)
        return BURN_STATUS_OK;
    snprintf(last.text, sizeof last.text, "%s", bd_error_text(own_error));
    bd_code code = bd_error_code(own_error);
    last.error = (burn_error){.status = (burn_status)code,
                              .retryable = bd_code_retryable(code),
                              .op_number = bd_error_op_index(own_error),
                              .text = last.text};
    bd_error_free(own_error);
    return last.error.status;
}

const burn_error *burn_last_error(void)
{
    return &last.error;
}

const char *burn_status_name(burn_status status)
{
    return bd_code_name((bd_code)status);
}

const char *burn_library_version(void)
{
    return BURN_VERSION;
}

bool bd_grad_mode(void)
{
    return !grad_off;
}

int burn_grad_enabled(void)
{
    return !grad_off;
}

int burn_set_grad_enabled(int enabled)
{
    int before = !grad_off;
    grad_off = !enabled;
    return before;
}
