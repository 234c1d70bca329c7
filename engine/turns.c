/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/turns.h"

#include <string.h>

#include "proto/base/alloc.h"
#include "proto/base/assert.h"
#include "proto/base/vec.h"

/* How far behind one may be that comes back, or with one kind of time. */
static const int64_t SAVED_NS = 100 * 1000000;

typedef BD_VEC(bd_turn *) heap; /* the least used stands first */

struct bd_share {
    bd_share *next;
    char *principal;
    size_t members, active;
    bd_turn_use used;
    int64_t reached_ns; /* where its sessions are: the most that one of them had in its turn */
    heap waiting[BD_TURN_KINDS];
};

struct bd_turns {
    bd_share *shares;
    size_t waiting[BD_TURN_KINDS];
    int64_t reached_ns; /* where the principals are */
};

bd_turns *bd_turns_create(void)
{
    return bd_alloc_zeroed(sizeof(bd_turns));
}

void bd_turns_destroy(bd_turns *turns)
{
    BD_ASSERT(!turns->shares);
    bd_free(turns);
}

/* ---- the heap ---- */

static void put(heap *waiting, size_t place, bd_turn *turn)
{
    waiting->items[place - 1] = turn;
    turn->place = place;
}

/* Moves a turn up or down to where its time belongs. */
static void settle(bd_turn *turn)
{
    heap *waiting = &turn->share->waiting[turn->kind];
    size_t place = turn->place, count = waiting->count;
    bd_turn **items = waiting->items;
    for (; place > 1 && items[place / 2 - 1]->used.ns > turn->used.ns; place /= 2)
        put(waiting, place, items[place / 2 - 1]);
    for (size_t child; (child = 2 * place) <= count; place = child) {
        if (child < count && items[child]->used.ns < items[child - 1]->used.ns)
            child++;
        if (items[child - 1]->used.ns >= turn->used.ns)
            break;
        put(waiting, place, items[child - 1]);
    }
    put(waiting, place, turn);
}

static void take_out(bd_turns *turns, bd_turn *turn)
{
    heap *waiting = &turn->share->waiting[turn->kind];
    if (turn->place == 0)
        return;
    bd_turn *last = waiting->items[--waiting->count];
    if (last != turn) {
        put(waiting, turn->place, last);
        settle(last);
    }
    turn->place = 0;
    turns->waiting[turn->kind]--;
}

/* ---- members ---- */

static void come_back(bd_turn_use *used, int64_t reached_ns)
{
    used->ns = used->ns > reached_ns - SAVED_NS ? used->ns : reached_ns - SAVED_NS;
    for (int i = 0; i < BD_TURN_KINDS; i++)
        used->less_ns[i] = used->less_ns[i] < SAVED_NS ? used->less_ns[i] : SAVED_NS;
}

void bd_turns_join(bd_turns *turns, bd_turn *turn, const char *principal)
{
    bd_share *share = turns->shares;
    while (share && strcmp(share->principal, principal) != 0)
        share = share->next;
    if (!share) {
        share = bd_alloc_zeroed(sizeof *share);
        share->principal = bd_strdup(principal);
        share->used.ns = turns->reached_ns;
        share->next = turns->shares;
        turns->shares = share;
    }
    share->members++;
    *turn = (bd_turn){.share = share, .used.ns = share->reached_ns};
}

void bd_turns_leave(bd_turns *turns, bd_turn *turn)
{
    bd_share *share = turn->share;
    take_out(turns, turn);
    bd_turns_rest(turn);
    if (--share->members > 0)
        return;
    bd_share **link = &turns->shares;
    while (*link != share)
        link = &(*link)->next;
    *link = share->next;
    for (int kind = 0; kind < BD_TURN_KINDS; kind++)
        bd_vec_deinit(&share->waiting[kind]);
    bd_free(share->principal);
    bd_free(share);
}

/* ---- turns ---- */

static void wake(bd_turns *turns, bd_turn *turn)
{
    bd_share *share = turn->share;
    if (share->active++ == 0)
        come_back(&share->used, turns->reached_ns);
    come_back(&turn->used, share->reached_ns);
    turn->active = true;
}

void bd_turns_rest(bd_turn *turn)
{
    if (turn->active)
        turn->share->active--;
    turn->active = false;
}

void bd_turns_wait(bd_turns *turns, bd_turn *turn, bd_turn_kind kind)
{
    bd_share *share = turn->share;
    if (turn->place)
        return;
    if (!turn->active)
        wake(turns, turn);
    turn->kind = kind;
    *bd_vec_push(&share->waiting[kind]) = turn;
    turn->place = share->waiting[kind].count;
    settle(turn);
    turns->waiting[kind]++;
}

void bd_turns_withdraw(bd_turns *turns, bd_turn *turn, bd_turn_kind kind)
{
    if (turn->kind == kind)
        take_out(turns, turn);
}

/* The least used of a share that waits. */
static bd_turn *first_of(const bd_share *share, bd_turn_kind last)
{
    bd_turn *first = NULL;
    for (int kind = 0; kind <= (int)last; kind++) {
        const heap *waiting = &share->waiting[kind];
        if (waiting->count && (!first || waiting->items[0]->used.ns < first->used.ns))
            first = waiting->items[0];
    }
    return first;
}

bd_turn *bd_turns_next(bd_turns *turns, bd_turn_kind last)
{
    bd_turn *turn = NULL;
    for (bd_share *share = turns->shares; share; share = share->next) {
        bd_turn *first = first_of(share, last);
        if (first && (!turn || share->used.ns < turn->share->used.ns))
            turn = first;
    }
    if (!turn)
        return NULL;
    bd_share *share = turn->share;
    take_out(turns, turn);
    if (share->used.ns > turns->reached_ns)
        turns->reached_ns = share->used.ns;
    if (turn->used.ns > share->reached_ns)
        share->reached_ns = turn->used.ns;
    return turn;
}

bool bd_turns_any(const bd_turns *turns, bd_turn_kind kind)
{
    return turns->waiting[kind] > 0;
}

/* Both kinds go on side by side: what counts is the larger. */
static void use(bd_turn_use *used, bd_turn_kind kind, int64_t more_ns)
{
    int64_t least_ns = used->less_ns[kind] -= more_ns;
    for (int i = 0; i < BD_TURN_KINDS; i++)
        least_ns = used->less_ns[i] < least_ns ? used->less_ns[i] : least_ns;
    used->ns -= least_ns;
    for (int i = 0; i < BD_TURN_KINDS; i++)
        used->less_ns[i] -= least_ns;
}

void bd_turns_charge(bd_turn *turn, bd_turn_kind kind, int64_t more_ns)
{
    use(&turn->used, kind, more_ns);
    use(&turn->share->used, kind, more_ns);
    if (turn->place)
        settle(turn);
}
