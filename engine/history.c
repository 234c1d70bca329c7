/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/history.h"

#include "engine/memory.h"
#include "proto/base/alloc.h"
#include "proto/base/assert.h"

bd_history *bd_history_retain(bd_history *history)
{
    if (history)
        history->count++;
    return history;
}

/* Chains of histories may be as long as a training loop that never lets go, so no recursion: what
 * dies is linked by `next_dead`. */
void bd_history_release(bd_history *history)
{
    if (!history || --history->count > 0)
        return;
    history->next_dead = NULL;
    while (history) {
        bd_history *dead = history;
        history = dead->next_dead;
        for (uint32_t i = 0; i < dead->saved_count; i++) {
            bd_buffer_release(dead->saved[i].buffer);
            bd_history *older = dead->saved[i].history;
            if (older && --older->count == 0) {
                older->next_dead = history;
                history = older;
            }
        }
        bd_plan_release(dead->plan);
        bd_free(dead);
    }
}
