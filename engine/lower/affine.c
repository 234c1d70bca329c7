/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/lower/affine.h"

#include <string.h>

#include "proto/base/assert.h"

/* ---- products of symbolic integers ---- */

typedef struct factors {
    int64_t constant;
    uint32_t count;
    bd_int atoms[BD_FACTORS_MAX];
} factors;

static void sort_atoms(factors *of)
{
    for (uint32_t i = 1; i < of->count; i++) {
        bd_int atom = of->atoms[i];
        uint32_t j = i;
        for (; j > 0 && of->atoms[j - 1] > atom; j--)
            of->atoms[j] = of->atoms[j - 1];
        of->atoms[j] = atom;
    }
}

/* Flattens nested products, also of what a product is known to be equal to; what does not fit stays
 * one atom. opened: also constants that are known products, as a number of channels is one of
 * groups and channels of a group. */
static void collect_factors(const bd_ints *ints, bd_int product, bool opened, factors *out)
{
    enum { EXPANSIONS_MAX = 24 }; /* equalities may lead in a circle */
    bd_int stack[BD_FACTORS_MAX];
    uint32_t depth = 0, expansions = 0;
    stack[depth++] = product;
    while (depth > 0) {
        bd_int each = bd_int_find(ints, stack[--depth]), left, right;
        int64_t value;
        bool is_const = bd_int_is_const(ints, each, &value) && value >= INT32_MIN &&
                        value <= INT32_MAX && out->constant <= INT32_MAX &&
                        out->constant >= INT32_MIN;
        if ((!is_const || opened) && depth + 2 <= BD_FACTORS_MAX &&
            out->count + depth + 2 < BD_FACTORS_MAX && expansions < EXPANSIONS_MAX &&
            bd_int_as_product(ints, each, &left, &right) && left != each && right != each) {
            stack[depth++] = right;
            stack[depth++] = left;
            expansions++;
        } else if (is_const) {
            out->constant *= value;
        } else {
            BD_ASSERT(out->count < BD_FACTORS_MAX);
            out->atoms[out->count++] = each;
        }
    }
    sort_atoms(out);
}

static factors factors_of(const bd_ints *ints, bd_int product)
{
    factors out = {.constant = 1};
    collect_factors(ints, product, false, &out);
    return out;
}

static factors opened_factors_of(const bd_ints *ints, bd_int product)
{
    factors out = {.constant = 1};
    collect_factors(ints, product, true, &out);
    return out;
}

static bool same_factors(const factors *x, const factors *y)
{
    return x->constant == y->constant && x->count == y->count &&
           memcmp(x->atoms, y->atoms, x->count * sizeof x->atoms[0]) == 0;
}

/* The atoms of some factors, and what is left of these. */
static void part(const factors *of, uint64_t chosen, factors *out_chosen, factors *out_rest)
{
    *out_chosen = (factors){.constant = 1};
    *out_rest = (factors){.constant = of->constant};
    for (uint32_t i = 0; i < of->count; i++) {
        factors *to = chosen >> i & 1 ? out_chosen : out_rest;
        to->atoms[to->count++] = of->atoms[i];
    }
}

/* Of atoms whose product, which `product` is a part of, is known to be another product: the atoms
 * of the latter take their place. */
static bool exchange(const bd_ints *ints, factors *in, bd_int product, uint64_t chosen,
                     uint32_t next, uint32_t *left)
{
    for (; next < in->count && *left > 0; next++, --*left) {
        uint64_t wider = chosen | (uint64_t)1 << next;
        factors all, rest, other;
        bd_int longer;
        if (!bd_int_known_product(ints, product, in->atoms[next], &longer))
            continue;
        part(in, wider, &all, &rest);
        other = factors_of(ints, longer);
        if (!same_factors(&all, &other) && rest.count + other.count <= BD_FACTORS_MAX) {
            rest.constant *= other.constant;
            memcpy(rest.atoms + rest.count, other.atoms, other.count * sizeof other.atoms[0]);
            rest.count += other.count;
            sort_atoms(&rest);
            *in = rest;
            return true;
        }
        if (exchange(ints, in, longer, wider, next + 1, left))
            return true;
    }
    return false;
}

/* Of several products that are known to be equal (a * b = c * d, as a reshape says) leaves one.
 * Whether anything changed. */
static bool settle(const bd_ints *ints, factors *in)
{
    /* Equalities may lead in a circle, and many factors have very many products. */
    enum { EXCHANGES_MAX = 8, LOOKS_MAX = 64, ATOMS_MAX = 6 };
    bool changed = false, again = in->count <= ATOMS_MAX;
    uint32_t left = LOOKS_MAX;
    for (uint32_t turn = 0; again && turn < EXCHANGES_MAX; turn++) {
        again = false;
        for (uint32_t i = 0; i < in->count && !again; i++)
            again = exchange(ints, in, in->atoms[i], (uint64_t)1 << i, i + 1, &left);
        changed |= again;
    }
    return changed;
}

static bd_int product_of(bd_ints *ints, const factors *from)
{
    bd_int product = bd_int_const(ints, from->constant);
    for (uint32_t i = 0; i < from->count; i++)
        product = bd_int_find(ints, bd_int_mul(ints, product, from->atoms[i]));
    return product;
}

bd_int bd_dims_product(bd_ints *ints, const bd_int *dims, uint32_t count)
{
    factors all = {.constant = 1};
    bd_int product = BD_INT_1;
    for (uint32_t i = 0; i < count; i++) {
        if (all.count + 16 < BD_FACTORS_MAX)
            collect_factors(ints, dims[i], false, &all);
        else
            product = bd_int_mul(ints, product, bd_int_find(ints, dims[i]));
    }
    return bd_int_find(ints, bd_int_mul(ints, product_of(ints, &all), product));
}

bool bd_product_equal(bd_ints *ints, bd_int a, bd_int b)
{
    if (bd_int_equal(ints, a, b))
        return true;
    factors x = factors_of(ints, a), y = factors_of(ints, b);
    if (same_factors(&x, &y))
        return true;
    bool changed = settle(ints, &x) | settle(ints, &y);
    return (changed && same_factors(&x, &y)) ||
           bd_int_equal(ints, product_of(ints, &x), product_of(ints, &y));
}

/* x / y where the factors of y are among those of x. */
static bool quotient_of(const factors *x, const factors *y, factors *out)
{
    *out = (factors){.constant = 1};
    if (y->constant == 0 || x->constant % y->constant != 0)
        return false;
    out->constant = x->constant / y->constant;
    uint32_t j = 0;
    for (uint32_t i = 0; i < x->count; i++) {
        if (j < y->count && x->atoms[i] == y->atoms[j])
            j++;
        else
            out->atoms[out->count++] = x->atoms[i];
    }
    return j == y->count;
}

bool bd_product_divide(bd_ints *ints, bd_int a, bd_int b, bd_int *out_quotient)
{
    if (a == BD_INT_0) {
        *out_quotient = BD_INT_0;
        return true;
    }
    factors x = factors_of(ints, a), y = factors_of(ints, b), rest;
    if (!quotient_of(&x, &y, &rest)) {
        bool changed = settle(ints, &x) | settle(ints, &y);
        if (!changed || !quotient_of(&x, &y, &rest)) {
            x = opened_factors_of(ints, a);
            y = opened_factors_of(ints, b);
            if (!quotient_of(&x, &y, &rest))
                return false;
        }
    }
    *out_quotient = product_of(ints, &rest);
    return true;
}

/* ---- affine functions ---- */

bd_affine bd_affine_const(bd_int offset)
{
    return (bd_affine){.offset = offset};
}

bd_affine bd_affine_axis(uint8_t axis)
{
    return (bd_affine){.offset = BD_INT_0, .count = 1, .terms = {{axis, BD_INT_1}}};
}

static bd_int times(bd_ints *ints, bd_int a, bd_int b)
{
    bd_int both[2] = {a, b};
    return bd_dims_product(ints, both, 2);
}

bd_affine bd_affine_scale(bd_ints *ints, const bd_affine *a, bd_int factor)
{
    bd_affine out = {.offset = times(ints, a->offset, factor)};
    for (uint32_t i = 0; i < a->count; i++) {
        bd_int scaled = times(ints, a->terms[i].factor, factor);
        if (scaled != BD_INT_0)
            out.terms[out.count++] = (bd_term){a->terms[i].axis, scaled};
    }
    return out;
}

static bool add_term(bd_ints *ints, bd_affine *a, bd_term term)
{
    uint32_t i = 0;
    while (i < a->count && a->terms[i].axis < term.axis)
        i++;
    if (i < a->count && a->terms[i].axis == term.axis) {
        bd_int sum = bd_int_find(ints, bd_int_add(ints, a->terms[i].factor, term.factor));
        if (sum != BD_INT_0) {
            a->terms[i].factor = sum;
            return true;
        }
        a->count--;
        memmove(a->terms + i, a->terms + i + 1, (a->count - i) * sizeof a->terms[0]);
        return true;
    }
    if (a->count == BD_TERMS_MAX)
        return false;
    memmove(a->terms + i + 1, a->terms + i, (a->count - i) * sizeof a->terms[0]);
    a->terms[i] = term;
    a->count++;
    return true;
}

bool bd_affine_add(bd_ints *ints, bd_affine *a, const bd_affine *b)
{
    a->offset = bd_int_find(ints, bd_int_add(ints, a->offset, b->offset));
    for (uint32_t i = 0; i < b->count; i++) {
        if (!add_term(ints, a, b->terms[i]))
            return false;
    }
    return true;
}

bool bd_affine_equal(const bd_ints *ints, const bd_affine *a, const bd_affine *b)
{
    if (!bd_int_equal(ints, a->offset, b->offset) || a->count != b->count)
        return false;
    for (uint32_t i = 0; i < a->count; i++) {
        if (a->terms[i].axis != b->terms[i].axis ||
            !bd_int_equal(ints, a->terms[i].factor, b->terms[i].factor))
            return false;
    }
    return true;
}

uint32_t bd_affine_axes(const bd_affine *a)
{
    uint32_t axes = 0;
    for (uint32_t i = 0; i < a->count; i++) {
        if (a->terms[i].axis < BD_VIRTUAL_AXIS)
            axes |= 1u << a->terms[i].axis;
    }
    return axes;
}

bool bd_affine_has_virtual(const bd_affine *a)
{
    return a->count > 0 && a->terms[a->count - 1].axis >= BD_VIRTUAL_AXIS;
}

bool bd_affine_split(bd_ints *ints, bd_affine *a, uint8_t axis, bd_int inner_extent, uint8_t outer,
                     uint8_t inner)
{
    bd_affine out = {.offset = a->offset};
    for (uint32_t i = 0; i < a->count; i++) {
        bd_term term = a->terms[i];
        if (term.axis != axis) {
            if (!add_term(ints, &out, term))
                return false;
            continue;
        }
        bd_term high = {outer, times(ints, term.factor, inner_extent)};
        if (!add_term(ints, &out, high) || !add_term(ints, &out, (bd_term){inner, term.factor}))
            return false;
    }
    *a = out;
    return true;
}

/* ---- positions ---- */

uint32_t bd_position_axes(const bd_position *position)
{
    uint32_t axes = 0;
    for (uint32_t i = 0; i < position->run_count; i++)
        axes |= bd_affine_axes(&position->runs[i].index);
    return axes;
}

bool bd_position_has_virtual(const bd_position *position)
{
    for (uint32_t i = 0; i < position->run_count; i++) {
        if (bd_affine_has_virtual(&position->runs[i].index))
            return true;
    }
    return false;
}

bool bd_position_linear(bd_ints *ints, const bd_position *position, const bd_int *dims,
                        bd_affine *out)
{
    uint32_t rank = 0;
    for (uint32_t i = 0; i < position->run_count; i++)
        rank += position->runs[i].dim_count;
    bd_affine sum = bd_affine_const(BD_INT_0);
    bd_int stride = BD_INT_1;
    uint32_t end = rank;
    for (uint32_t i = position->run_count; i-- > 0;) {
        bd_affine part = bd_affine_scale(ints, &position->runs[i].index, stride);
        if (!bd_affine_add(ints, &sum, &part))
            return false;
        uint32_t begin = end - position->runs[i].dim_count;
        stride = times(ints, stride, bd_dims_product(ints, dims + begin, end - begin));
        end = begin;
    }
    *out = sum;
    return true;
}

/* ---- cuts ---- */

static bd_int extent_of(const bd_cut_request *request, uint8_t axis)
{
    return axis < BD_VIRTUAL_AXIS ? request->extents[axis]
                                  : request->virtual_extents[axis - BD_VIRTUAL_AXIS];
}

/* Whether the terms count through a mixed radix that divides `limit`: then their sum stays
 * below. */
static bool stays_below(bd_ints *ints, const bd_cut_request *request, const bd_affine *inner,
                        bd_int limit)
{
    if (inner->offset != BD_INT_0)
        return false;
    if (inner->count == 0)
        return true;
    for (uint32_t start = 0; start < inner->count; start++) {
        uint32_t used = 1u << start;
        bd_int reach = times(ints, inner->terms[start].factor,
                             extent_of(request, inner->terms[start].axis));
        for (uint32_t i = 0; i < inner->count; i++) {
            if ((used >> i & 1) || !bd_product_equal(ints, inner->terms[i].factor, reach))
                continue;
            used |= 1u << i;
            reach = times(ints, reach, extent_of(request, inner->terms[i].axis));
            i = UINT32_MAX; /* look again from the first one */
        }
        bd_int rest;
        if (used == (1u << inner->count) - 1 && bd_product_divide(ints, limit, reach, &rest))
            return true;
    }
    return false;
}

bd_cut bd_affine_cut(bd_ints *ints, const bd_cut_request *request, bd_affine *out_outer,
                     bd_affine *out_inner, uint8_t *out_axis, bd_int *out_extent)
{
    const bd_affine *index = request->index;
    if (bd_product_equal(ints, request->inner_product, BD_INT_1)) {
        *out_outer = *index;
        *out_inner = bd_affine_const(BD_INT_0);
        return BD_CUT_DONE;
    }
    if (bd_product_equal(ints, request->outer_product, BD_INT_1)) {
        *out_outer = bd_affine_const(BD_INT_0);
        *out_inner = *index;
        return BD_CUT_DONE;
    }
    bd_affine outer = bd_affine_const(BD_INT_0), inner = bd_affine_const(BD_INT_0);
    if (!bd_product_divide(ints, index->offset, request->inner_product, &outer.offset))
        return BD_CUT_IMPOSSIBLE;
    for (uint32_t i = 0; i < index->count; i++) {
        bd_term term = index->terms[i];
        bd_int quotient, reach = times(ints, term.factor, extent_of(request, term.axis));
        if (bd_product_divide(ints, term.factor, request->inner_product, &quotient)) {
            outer.terms[outer.count++] = (bd_term){term.axis, quotient};
        } else if (term.axis < BD_VIRTUAL_AXIS &&
                   !bd_product_equal(ints, reach, request->inner_product) &&
                   bd_product_divide(ints, reach, request->inner_product, &quotient) &&
                   bd_product_divide(ints, request->inner_product, term.factor, out_extent)) {
            *out_axis = term.axis;
            return BD_CUT_SPLIT_AXIS;
        } else {
            inner.terms[inner.count++] = term;
        }
    }
    if (!stays_below(ints, request, &inner, request->inner_product))
        return BD_CUT_IMPOSSIBLE;
    *out_outer = outer;
    *out_inner = inner;
    return BD_CUT_DONE;
}
