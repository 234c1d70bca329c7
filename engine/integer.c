/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/integer.h"

#include <string.h>

#include "proto/base/alloc.h"
#include "proto/base/assert.h"
#include "proto/base/hash.h"
#include "proto/base/vec.h"

enum { FACTORS_MAX = 64, SLOTS_MIN = 64 };

typedef struct pair {
    bd_int a, b;
} pair;

struct bd_ints {
    BD_VEC(bd_int_entry) entries;
    BD_VEC(bd_int) parents;  /* union-find: a representative is its own parent */
    BD_VEC(uint32_t) users;  /* by entry: head of its chain in user_links, or 0 */
    BD_VEC(pair) user_links; /* a = an expression that reads the entry, b = next link */
    BD_VEC(pair) pending;    /* unions that are still to be made */
    BD_VEC(bd_int) products; /* by representative: a product of its class, or 0 */
    uint32_t *slots;         /* hash table of entries; 0 = free, else number + 1 */
    uint32_t slot_count;
};

static bd_int intern(bd_ints *ints, bd_int_kind kind, int64_t value, uint32_t a, uint32_t b);

bd_ints *bd_ints_create(void)
{
    bd_ints *ints = bd_alloc_zeroed(sizeof *ints);
    ints->slot_count = SLOTS_MIN;
    ints->slots = bd_alloc_zeroed(sizeof *ints->slots * SLOTS_MIN);
    *bd_vec_push(&ints->user_links) = (pair){0, 0}; /* 0 ends a chain */
    bd_int zero = intern(ints, BD_INT_CONST, 0, 0, 0);
    bd_int one = intern(ints, BD_INT_CONST, 1, 0, 0);
    BD_ASSERT(zero == BD_INT_0 && one == BD_INT_1);
    return ints;
}

void bd_ints_destroy(bd_ints *ints)
{
    if (!ints)
        return;
    bd_vec_deinit(&ints->entries);
    bd_vec_deinit(&ints->parents);
    bd_vec_deinit(&ints->users);
    bd_vec_deinit(&ints->user_links);
    bd_vec_deinit(&ints->pending);
    bd_vec_deinit(&ints->products);
    bd_free(ints->slots);
    bd_free(ints);
}

uint32_t bd_int_count(const bd_ints *ints)
{
    return (uint32_t)ints->entries.count;
}

const bd_int_entry *bd_int_at(const bd_ints *ints, bd_int a)
{
    BD_DASSERT(a < ints->entries.count);
    return &ints->entries.items[a];
}

bd_int bd_int_find(const bd_ints *ints, bd_int a)
{
    BD_DASSERT(a < ints->entries.count);
    while (ints->parents.items[a] != a)
        a = ints->parents.items[a];
    return a;
}

/* As bd_int_find, and shortens the path. */
static bd_int find(bd_ints *ints, bd_int a)
{
    bd_int *parents = ints->parents.items;
    while (parents[a] != a) {
        parents[a] = parents[parents[a]];
        a = parents[a];
    }
    return a;
}

bool bd_int_equal(const bd_ints *ints, bd_int a, bd_int b)
{
    return bd_int_find(ints, a) == bd_int_find(ints, b);
}

bool bd_int_is_const(const bd_ints *ints, bd_int a, int64_t *out_value)
{
    const bd_int_entry *entry = bd_int_at(ints, bd_int_find(ints, a));
    if (entry->kind != BD_INT_CONST)
        return false;
    *out_value = entry->value;
    return true;
}

/* ---- the hash table ---- */

static bool is_expression(uint32_t kind)
{
    return kind >= BD_INT_ADD;
}

static uint64_t entry_hash(uint32_t kind, int64_t value, uint32_t a, uint32_t b)
{
    uint64_t hash = bd_hash_mix(kind, (uint64_t)value);
    return bd_hash_mix(bd_hash_mix(hash, a), b);
}

static void grow_slots(bd_ints *ints)
{
    uint32_t count = ints->slot_count * 2;
    uint32_t *slots = bd_alloc_zeroed(sizeof *slots * count);
    for (uint32_t i = 0; i < ints->slot_count; i++) {
        if (!ints->slots[i])
            continue;
        const bd_int_entry *e = &ints->entries.items[ints->slots[i] - 1];
        uint64_t at = entry_hash(e->kind, e->value, e->a, e->b) & (count - 1);
        while (slots[at])
            at = (at + 1) & (count - 1);
        slots[at] = ints->slots[i];
    }
    bd_free(ints->slots);
    ints->slots = slots;
    ints->slot_count = count;
}

static void add_user(bd_ints *ints, bd_int of, bd_int user)
{
    *bd_vec_push(&ints->user_links) = (pair){user, ints->users.items[of]};
    ints->users.items[of] = (uint32_t)ints->user_links.count - 1;
}

/* The slot of the entry, or the free one for it. */
static uint64_t slot_of(const bd_ints *ints, bd_int_kind kind, int64_t value, uint32_t a,
                        uint32_t b)
{
    uint64_t at = entry_hash(kind, value, a, b) & (ints->slot_count - 1);
    for (; ints->slots[at]; at = (at + 1) & (ints->slot_count - 1)) {
        const bd_int_entry *e = &ints->entries.items[ints->slots[at] - 1];
        if (e->kind == kind && e->value == value && e->a == a && e->b == b)
            break;
    }
    return at;
}

static bd_int intern(bd_ints *ints, bd_int_kind kind, int64_t value, uint32_t a, uint32_t b)
{
    if (ints->entries.count * 2 >= ints->slot_count)
        grow_slots(ints);
    uint64_t at = slot_of(ints, kind, value, a, b);
    if (ints->slots[at])
        return find(ints, ints->slots[at] - 1);
    bd_int number = (bd_int)ints->entries.count;
    ints->slots[at] = number + 1;
    *bd_vec_push(&ints->entries) =
        (bd_int_entry){.kind = (uint8_t)kind, .value = value, .a = a, .b = b};
    *bd_vec_push(&ints->parents) = number;
    *bd_vec_push(&ints->users) = 0;
    *bd_vec_push(&ints->products) = kind == BD_INT_MUL ? number : 0;
    if (is_expression(kind)) {
        add_user(ints, a, number);
        if (b != a)
            add_user(ints, b, number);
    }
    return number;
}

/* ---- making ---- */

bd_int bd_int_const(bd_ints *ints, int64_t value)
{
    return intern(ints, BD_INT_CONST, value, 0, 0);
}

bd_int bd_int_source(bd_ints *ints, bd_int_kind kind, uint32_t a, uint32_t b)
{
    BD_ASSERT(kind > BD_INT_CONST && !is_expression(kind));
    return intern(ints, kind, 0, a, b);
}

static int64_t floor_div(int64_t a, int64_t b)
{
    if (b == 0)
        return 0;
    if (b == -1)
        return (int64_t)(0 - (uint64_t)a);
    int64_t q = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

/* Sizes were checked when the ops were; wrapping only keeps nonsense from being undefined. */
static int64_t compute(uint32_t kind, int64_t a, int64_t b)
{
    switch (kind) {
    case BD_INT_ADD:
        return (int64_t)((uint64_t)a + (uint64_t)b);
    case BD_INT_SUB:
        return (int64_t)((uint64_t)a - (uint64_t)b);
    case BD_INT_MUL:
        return (int64_t)((uint64_t)a * (uint64_t)b);
    case BD_INT_DIV:
        return floor_div(a, b);
    case BD_INT_MOD:
        return b == 0 ? 0 : (int64_t)((uint64_t)a - (uint64_t)floor_div(a, b) * (uint64_t)b);
    case BD_INT_MAX:
        return a > b ? a : b;
    default:
        return a < b ? a : b;
    }
}

/* Representatives in, representative out. */
static bool fold(bd_ints *ints, bd_int_kind kind, bd_int *a, bd_int *b, bd_int *out)
{
    int64_t x, y;
    *a = find(ints, *a);
    *b = find(ints, *b);
    if (!bd_int_is_const(ints, *a, &x) || !bd_int_is_const(ints, *b, &y))
        return false;
    *out = bd_int_const(ints, compute(kind, x, y));
    return true;
}

/* Appends the terms of a chain of `kind` (ADD or MUL) whose right operands are never chains;
 * constants are gathered in *constant. False when there are too many. */
static bool collect(bd_ints *ints, bd_int_kind kind, bd_int a, bd_int *terms, uint32_t *count,
                    int64_t *constant)
{
    bd_int stack[FACTORS_MAX];
    uint32_t depth = 0;
    stack[depth++] = a;
    while (depth) {
        bd_int at = find(ints, stack[--depth]);
        const bd_int_entry *e = bd_int_at(ints, at);
        if (e->kind == BD_INT_CONST) {
            *constant = compute(kind, *constant, e->value);
        } else if (e->kind == kind && depth + 2 <= FACTORS_MAX) {
            stack[depth++] = e->a;
            stack[depth++] = e->b;
        } else {
            if (*count == FACTORS_MAX)
                return false;
            terms[(*count)++] = at;
        }
    }
    return true;
}

/* Terms in rising order, then the constant, as a chain that leans to the left. */
static bd_int chain(bd_ints *ints, bd_int_kind kind, bd_int a, bd_int b)
{
    bd_int terms[FACTORS_MAX];
    uint32_t count = 0;
    int64_t neutral = kind == BD_INT_MUL, constant = neutral;
    if (!collect(ints, kind, a, terms, &count, &constant) ||
        !collect(ints, kind, b, terms, &count, &constant))
        return intern(ints, kind, 0, a < b ? a : b, a < b ? b : a);
    for (uint32_t i = 1; i < count; i++)
        for (uint32_t j = i; j > 0 && terms[j] < terms[j - 1]; j--) {
            bd_int swap = terms[j];
            terms[j] = terms[j - 1];
            terms[j - 1] = swap;
        }
    if (count == 0 || (kind == BD_INT_MUL && constant == 0))
        return bd_int_const(ints, constant);
    bd_int out = terms[0];
    for (uint32_t i = 1; i < count; i++)
        out = intern(ints, kind, 0, out, terms[i]);
    return constant == neutral ? out : intern(ints, kind, 0, out, bd_int_const(ints, constant));
}

bd_int bd_int_add(bd_ints *ints, bd_int a, bd_int b)
{
    bd_int out;
    if (fold(ints, BD_INT_ADD, &a, &b, &out))
        return out;
    if (a == BD_INT_0)
        return b;
    if (b == BD_INT_0)
        return a;
    for (int turn = 0; turn < 2; turn++) { /* (x - b) + b */
        const bd_int_entry *e = bd_int_at(ints, turn ? b : a);
        if (e->kind == BD_INT_SUB && find(ints, e->b) == (turn ? a : b))
            return find(ints, e->a);
    }
    return chain(ints, BD_INT_ADD, a, b);
}

bd_int bd_int_mul(bd_ints *ints, bd_int a, bd_int b)
{
    bd_int out;
    if (fold(ints, BD_INT_MUL, &a, &b, &out))
        return out;
    return chain(ints, BD_INT_MUL, a, b);
}

/* a - b where b is a sum of some of a's terms. */
static bool without_terms(bd_ints *ints, bd_int a, bd_int b, bd_int *out)
{
    bd_int terms[FACTORS_MAX], removed[FACTORS_MAX];
    uint32_t count = 0, removed_count = 0;
    int64_t constant = 0, removed_constant = 0;
    if (bd_int_at(ints, a)->kind != BD_INT_ADD ||
        !collect(ints, BD_INT_ADD, a, terms, &count, &constant) ||
        !collect(ints, BD_INT_ADD, b, removed, &removed_count, &removed_constant))
        return false;
    for (uint32_t i = 0; i < removed_count; i++) {
        uint32_t at = 0;
        while (at < count && terms[at] != removed[i])
            at++;
        if (at == count)
            return false;
        terms[at] = terms[--count];
    }
    bd_int rest = bd_int_const(ints, compute(BD_INT_SUB, constant, removed_constant));
    for (uint32_t i = 0; i < count; i++)
        rest = bd_int_add(ints, rest, terms[i]);
    *out = rest;
    return true;
}

bd_int bd_int_sub(bd_ints *ints, bd_int a, bd_int b)
{
    bd_int out;
    int64_t value;
    if (fold(ints, BD_INT_SUB, &a, &b, &out))
        return out;
    if (a == b)
        return BD_INT_0;
    if (bd_int_is_const(ints, b, &value) && value != INT64_MIN)
        return bd_int_add(ints, a, bd_int_const(ints, -value));
    bd_int rest;
    return without_terms(ints, a, b, &rest) ? rest : intern(ints, BD_INT_SUB, 0, a, b);
}

bd_int bd_int_div(bd_ints *ints, bd_int a, bd_int b)
{
    bd_int out;
    if (fold(ints, BD_INT_DIV, &a, &b, &out))
        return out;
    return b == BD_INT_1 ? a : intern(ints, BD_INT_DIV, 0, a, b);
}

bd_int bd_int_mod(bd_ints *ints, bd_int a, bd_int b)
{
    bd_int out;
    if (fold(ints, BD_INT_MOD, &a, &b, &out))
        return out;
    return b == BD_INT_1 || a == b ? BD_INT_0 : intern(ints, BD_INT_MOD, 0, a, b);
}

static bd_int least_or_greatest(bd_ints *ints, bd_int_kind kind, bd_int a, bd_int b)
{
    bd_int out;
    if (fold(ints, kind, &a, &b, &out))
        return out;
    if (a == b)
        return a;
    return intern(ints, kind, 0, a < b ? a : b, a < b ? b : a);
}

bd_int bd_int_max(bd_ints *ints, bd_int a, bd_int b)
{
    return least_or_greatest(ints, BD_INT_MAX, a, b);
}

bd_int bd_int_min(bd_ints *ints, bd_int a, bd_int b)
{
    return least_or_greatest(ints, BD_INT_MIN, a, b);
}

static bd_int make(bd_ints *ints, uint32_t kind, bd_int a, bd_int b)
{
    switch (kind) {
    case BD_INT_ADD:
        return bd_int_add(ints, a, b);
    case BD_INT_SUB:
        return bd_int_sub(ints, a, b);
    case BD_INT_MUL:
        return bd_int_mul(ints, a, b);
    case BD_INT_DIV:
        return bd_int_div(ints, a, b);
    case BD_INT_MOD:
        return bd_int_mod(ints, a, b);
    default:
        return least_or_greatest(ints, kind, a, b);
    }
}

/* ---- equalities ---- */

/* A constant stands for its class before a source, a source before an expression, the older before
 * the newer. So an expression stands only for classes without a source, and no class can come to
 * stand for a part of itself. */
static bool stands_before(const bd_ints *ints, bd_int a, bd_int b)
{
    uint32_t kind_a = bd_int_at(ints, a)->kind, kind_b = bd_int_at(ints, b)->kind;
    int rank_a = is_expression(kind_a) ? 2 : kind_a != BD_INT_CONST;
    int rank_b = is_expression(kind_b) ? 2 : kind_b != BD_INT_CONST;
    return rank_a != rank_b ? rank_a < rank_b : a < b;
}

/* Congruence: what was built over the loser is built again over the winner, and the two united. */
void bd_int_unite(bd_ints *ints, bd_int a, bd_int b)
{
    *bd_vec_push(&ints->pending) = (pair){a, b};
    while (ints->pending.count) {
        pair next = ints->pending.items[--ints->pending.count];
        bd_int winner = find(ints, next.a), loser = find(ints, next.b);
        int64_t x, y;
        if (winner == loser)
            continue;
        if (bd_int_is_const(ints, winner, &x) && bd_int_is_const(ints, loser, &y))
            continue; /* no arrival can satisfy it: validation refuses them all */
        if (stands_before(ints, loser, winner)) {
            bd_int swap = winner;
            winner = loser;
            loser = swap;
        }
        ints->parents.items[loser] = winner;
        if (!ints->products.items[winner])
            ints->products.items[winner] = ints->products.items[loser];
        uint32_t link = ints->users.items[loser];
        ints->users.items[loser] = 0;
        while (link) {
            pair user = ints->user_links.items[link];
            const bd_int_entry entry = *bd_int_at(ints, user.a);
            ints->user_links.items[link].b = ints->users.items[winner];
            ints->users.items[winner] = link;
            link = user.b;
            bd_int again = make(ints, entry.kind, entry.a, entry.b);
            if (again != find(ints, user.a))
                *bd_vec_push(&ints->pending) = (pair){user.a, again};
        }
    }
}

bool bd_int_as_product(const bd_ints *ints, bd_int a, bd_int *out_left, bd_int *out_right)
{
    bd_int product = ints->products.items[bd_int_find(ints, a)];
    if (!product)
        return false;
    *out_left = bd_int_find(ints, ints->entries.items[product].a);
    *out_right = bd_int_find(ints, ints->entries.items[product].b);
    return true;
}

bool bd_int_known_product(const bd_ints *ints, bd_int a, bd_int b, bd_int *out)
{
    uint32_t slot = ints->slots[slot_of(ints, BD_INT_MUL, 0, a, b)];
    if (!slot)
        slot = ints->slots[slot_of(ints, BD_INT_MUL, 0, b, a)];
    if (slot)
        *out = bd_int_find(ints, slot - 1);
    return slot != 0;
}

/* ---- values ---- */

static int64_t attr_value(const bd_trace *trace, uint32_t record, uint32_t where)
{
    const burn_attr *attr = &trace->records[record].attrs[where >> 16];
    return attr->values ? attr->values[where & 0xffff] : attr->value;
}

void bd_ints_evaluate(const bd_ints *ints, const bd_trace *trace, bd_int_history_value history,
                      const void *user, int64_t *out)
{
    for (size_t i = 0; i < ints->entries.count; i++) {
        const bd_int_entry *e = &ints->entries.items[i];
        switch ((bd_int_kind)e->kind) {
        case BD_INT_CONST:
            out[i] = e->value;
            break;
        case BD_INT_VALUE_DIM:
            out[i] = trace->values[e->a].type.shape.dims[e->b];
            break;
        case BD_INT_EXTERNAL_DIM:
            out[i] = trace->externals[e->a].type.shape.dims[e->b];
            break;
        case BD_INT_ATTR:
            out[i] = attr_value(trace, e->a, e->b);
            break;
        case BD_INT_HISTORY:
            out[i] = history(user, e->a, e->b);
            break;
        case BD_INT_ADD:
        case BD_INT_SUB:
        case BD_INT_MUL:
        case BD_INT_DIV:
        case BD_INT_MOD:
        case BD_INT_MAX:
        case BD_INT_MIN:
            out[i] = compute(e->kind, out[e->a], out[e->b]);
            break;
        }
    }
}
