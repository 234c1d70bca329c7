/* SPDX-License-Identifier: Apache-2.0 */
#include "server/failures.h"

#include <string.h>

#include "proto/base/hash.h"

enum { HALF_LIFE_MS = 60000, FIRST_DELAY_MS = 250, COUNT_MAX = 1000 };

int64_t bd_failures_note(bd_failures *failures, const char *address, int64_t now_ms)
{
    uint64_t key = bd_hash_bytes(address, strlen(address), 0) | 1;
    int place = 0;
    if (!*address)
        return 0;
    for (int i = 0; i < BD_FAILURES_ADDRESSES; i++) {
        if (failures->entries[i].address == key) {
            place = i;
            break;
        }
        if (failures->entries[i].last_ms < failures->entries[place].last_ms)
            place = i;
    }
    if (failures->entries[place].address != key) {
        failures->entries[place].address = key;
        failures->entries[place].count = 0;
        failures->entries[place].last_ms = now_ms;
    }
    int64_t halvings = (now_ms - failures->entries[place].last_ms) / HALF_LIFE_MS;
    int count = failures->entries[place].count >> (halvings < 16 ? halvings : 16);
    count += count < COUNT_MAX;
    failures->entries[place].count = count;
    failures->entries[place].last_ms = now_ms;
    int beyond = count - BD_FAILURES_FREE;
    int64_t delay_ms = beyond <= 0 ? 0 : FIRST_DELAY_MS << (beyond < 6 ? beyond - 1 : 5);
    return delay_ms < BD_FAILURES_DELAY_MS_MAX ? delay_ms : BD_FAILURES_DELAY_MS_MAX;
}
