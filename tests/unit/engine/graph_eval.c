/* SPDX-License-Identifier: Apache-2.0 */
#include "graph_eval.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct evaluation {
    bd_graph *graph;
    const test_bindings *bindings;
    test_tensor *values; /* by node */
} evaluation;

static const bd_attr_value *attr(const bd_graph_node *node, const char *name)
{
    return &node->attrs[burn_op_attr(burn_op_lookup(node->op), name)];
}

/* Position of the multi-index of `at` (row-major in dims) within strides. */
static void unravel(const test_tensor *shape, int64_t at, int64_t index[16])
{
    for (int i = shape->rank - 1; i >= 0; i--) {
        index[i] = shape->dims[i] ? at % shape->dims[i] : 0;
        at = shape->dims[i] ? at / shape->dims[i] : 0;
    }
}

static int64_t ravel(const test_tensor *shape, const int64_t index[16])
{
    int64_t at = 0;
    for (int i = 0; i < shape->rank; i++)
        at = at * shape->dims[i] + index[i];
    return at;
}

static double philox_like(int64_t element, int64_t seed, int64_t offset, int64_t lane)
{
    uint64_t x = (uint64_t)element * 0x9E3779B97F4A7C15u + (uint64_t)seed * 0xD6E8FEB86659FD93u +
                 (uint64_t)offset * 0xBF58476D1CE4E5B9u + (uint64_t)lane;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return (double)((x ^ x >> 31) >> 11) * 0x1p-53;
}

static double digamma(double x)
{
    double sum = 0;
    for (; x < 10; x++)
        sum -= 1 / x;
    double y = 1 / (x * x);
    return sum + log(x) - 0.5 / x - y * (1.0 / 12 - y * (1.0 / 120 - y * (1.0 / 252 - y / 240)));
}

static double floor_mod(double a, double b)
{
    double r = fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static bool unary(burn_op op, double x, double *out)
{
    switch ((int)op) {
#define ONE(NAME, expression)                                                                      \
    case BURN_OP_##NAME:                                                                           \
        *out = expression;                                                                         \
        return true;
        ONE(NEG, -x)
        ONE(ABS, fabs(x))
        ONE(SIGN, x > 0 ? 1 : x < 0 ? -1 : x)
        ONE(FLOOR, floor(x))
        ONE(CEIL, ceil(x))
        ONE(TRUNC, trunc(x))
        ONE(ROUND, nearbyint(x))
        ONE(SQRT, sqrt(x))
        ONE(RSQRT, 1 / sqrt(x))
        ONE(RECIPROCAL, 1 / x)
        ONE(EXP, exp(x))
        ONE(EXP2, exp2(x))
        ONE(EXPM1, expm1(x))
        ONE(LOG, log(x))
        ONE(LOG2, log2(x))
        ONE(LOG10, log10(x))
        ONE(LOG1P, log1p(x))
        ONE(SIN, sin(x))
        ONE(COS, cos(x))
        ONE(TAN, tan(x))
        ONE(ASIN, asin(x))
        ONE(ACOS, acos(x))
        ONE(ATAN, atan(x))
        ONE(SINH, sinh(x))
        ONE(COSH, cosh(x))
        ONE(TANH, tanh(x))
        ONE(ASINH, asinh(x))
        ONE(ACOSH, acosh(x))
        ONE(ATANH, atanh(x))
        ONE(ERF, erf(x))
        ONE(ERFC, erfc(x))
        ONE(LGAMMA, lgamma(x))
        ONE(DIGAMMA, digamma(x))
        ONE(SIGMOID, 1 / (1 + exp(-x)))
        ONE(LOGICAL_NOT, x == 0)
        ONE(ISNAN, isnan(x) != 0)
        ONE(ISINF, isinf(x) != 0)
#undef ONE
    default:
        return false;
    }
}

static bool binary(burn_op op, double a, double b, double *out)
{
    switch ((int)op) {
#define TWO(NAME, expression)                                                                      \
    case BURN_OP_##NAME:                                                                           \
        *out = expression;                                                                         \
        return true;
        TWO(ADD, a + b)
        TWO(SUB, a - b)
        TWO(MUL, a * b)
        TWO(DIV, a / b)
        TWO(POW, pow(a, b))
        TWO(MAXIMUM, isnan(a) || a > b ? a : b)
        TWO(MINIMUM, isnan(a) || a < b ? a : b)
        TWO(FMAX, fmax(a, b))
        TWO(FMIN, fmin(a, b))
        TWO(FLOOR_DIVIDE, floor(a / b))
        TWO(REMAINDER, floor_mod(a, b))
        TWO(FMOD, fmod(a, b))
        TWO(ATAN2, atan2(a, b))
        TWO(EQ, a == b)
        TWO(NE, a != b)
        TWO(LT, a < b)
        TWO(LE, a <= b)
        TWO(GT, a > b)
        TWO(GE, a >= b)
        TWO(LOGICAL_AND, a != 0 && b != 0)
        TWO(LOGICAL_OR, a != 0 || b != 0)
        TWO(LOGICAL_XOR, (a != 0) != (b != 0))
        TWO(BITWISE_AND, (double)((int64_t)a & (int64_t)b))
        TWO(BITWISE_OR, (double)((int64_t)a | (int64_t)b))
#undef TWO
    default:
        return false;
    }
}

static double converted(double x, burn_dtype dtype)
{
    if (dtype == BURN_BOOL)
        return x != 0;
    return burn_dtype_is_float(dtype) ? x : isnan(x) ? 0 : trunc(x);
}

static bool pointwise(const bd_graph_node *node, const test_tensor *const *in, test_tensor *out)
{
    for (int64_t i = 0; i < out->count; i++) {
        bool known = false;
        if (node->op == BURN_OP_WHERE) {
            out->data[i] = in[0]->data[i] != 0 ? in[1]->data[i] : in[2]->data[i];
            known = true;
        } else if (node->op == BURN_OP_CAST) {
            out->data[i] = converted(in[0]->data[i], node->dtype);
            known = true;
        } else if (node->input_count == 1) {
            known = unary(node->op, in[0]->data[i], &out->data[i]);
        } else if (node->input_count == 2) {
            known = binary(node->op, in[0]->data[i], in[1]->data[i], &out->data[i]);
        }
        if (!known)
            return false;
    }
    return true;
}

static double start_of(burn_op op)
{
    return op == BURN_OP_PROD  ? 1
           : op == BURN_OP_MAX ? -INFINITY
           : op == BURN_OP_MIN ? INFINITY
                               : 0;
}

static bool reduce(const bd_graph_node *node, const test_tensor *x, test_tensor *out)
{
    const bd_attr_value *dims = attr(node, "dims");
    bool keep = attr(node, "keepdim")->value != 0;
    double *best = malloc(sizeof *best * (size_t)(out->count + 1));
    for (int64_t i = 0; i < out->count; i++) {
        out->data[i] = start_of(node->op);
        best[i] = NAN;
    }
    for (int64_t i = 0; i < x->count; i++) {
        int64_t index[16], to[16] = {0}, position = 0;
        int axis = 0;
        unravel(x, i, index);
        for (int j = 0; j < x->rank; j++) {
            bool reduced = false;
            for (uint32_t k = 0; k < dims->count; k++)
                reduced |= dims->values[k] == j;
            if (reduced)
                position = position * x->dims[j] + index[j];
            if (!reduced || keep)
                to[axis++] = reduced ? 0 : index[j];
        }
        double *cell = &out->data[ravel(out, to)], *held = &best[ravel(out, to)],
               value = x->data[i];
        if (node->op == BURN_OP_SUM)
            *cell += value;
        else if (node->op == BURN_OP_PROD)
            *cell *= value;
        else if (node->op == BURN_OP_MAX)
            *cell = isnan(value) || value > *cell ? value : *cell;
        else if (node->op == BURN_OP_MIN)
            *cell = isnan(value) || value < *cell ? value : *cell;
        else if (isnan(*held) || (node->op == BURN_OP_ARGMAX ? value > *held : value < *held))
            *held = value, *cell = (double)position;
    }
    free(best);
    return true;
}

static void dot(const test_tensor *a, const test_tensor *b, test_tensor *out)
{
    int64_t m = a->dims[a->rank - 2], k = a->dims[a->rank - 1], n = b->dims[b->rank - 1];
    for (int64_t i = 0; i < out->count; i++) {
        int64_t batch = i / (m * n), row = i / n % m, column = i % n;
        out->data[i] = 0;
        for (int64_t j = 0; j < k; j++)
            out->data[i] +=
                a->data[(batch * m + row) * k + j] * b->data[(batch * k + j) * n + column];
    }
}

/* The softmax of the rows of a, times b. */
static void attend(const test_tensor *a, const test_tensor *b, test_tensor *out)
{
    int64_t m = a->dims[a->rank - 2], k = a->dims[a->rank - 1], n = b->dims[b->rank - 1];
    for (int64_t i = 0; i < out->count; i++) {
        int64_t batch = i / (m * n), row = i / n % m, column = i % n;
        const double *scores = a->data + (batch * m + row) * k;
        double most = -INFINITY, sum = 0, total = 0;
        for (int64_t j = 0; j < k; j++)
            most = scores[j] > most ? scores[j] : most;
        for (int64_t j = 0; j < k && most > -INFINITY; j++) {
            double power = exp(scores[j] - most);
            total += power;
            sum += power * b->data[(batch * k + j) * n + column];
        }
        out->data[i] = total > 0 ? sum / total : 0;
    }
}

/* The place in dim j of the element `index` of windows over a tensor of some rank. */
static int64_t windowed(const evaluation *run, const bd_graph_node *node, const int64_t *index,
                        int rank, int j)
{
    const int64_t *ints = run->bindings->ints;
    for (uint32_t k = 0; k < attr(node, "dims")->count; k++)
        if (attr(node, "dims")->values[k] == j)
            return index[j] * ints[attr(node, "strides")->values[k]] +
                   index[rank + (int)k] * ints[attr(node, "dilations")->values[k]];
    return index[j];
}

/* Views and indexed reads: out[i] = x[where(i)], or a fill. */
static bool view(const evaluation *run, const bd_graph_node *node, const test_tensor *const *in,
                 test_tensor *out)
{
    const test_tensor *x = in[0];
    const int64_t *ints = run->bindings->ints;
    for (int64_t i = 0; i < out->count; i++) {
        int64_t index[16], from[16] = {0};
        bool inside = true;
        unravel(out, i, index);
        for (int j = 0; j < x->rank; j++) {
            switch ((int)node->op) {
            case BURN_OP_RESHAPE:
                break;
            case BURN_OP_EXPAND:
                from[j] = x->dims[j] == 1 ? 0 : index[j + out->rank - x->rank];
                break;
            case BURN_OP_PERMUTE:
                from[attr(node, "dims")->values[j]] = index[j];
                break;
            case BURN_OP_SLICE:
                from[j] = ints[attr(node, "starts")->values[j]] +
                          index[j] * ints[attr(node, "steps")->values[j]];
                break;
            case BURN_OP_PAD:
                from[j] = index[j] - ints[attr(node, "low")->values[j]];
                inside &= from[j] >= 0 && from[j] < x->dims[j];
                break;
            case BURN_OP_FLIP:
                from[j] = index[j];
                for (uint32_t k = 0; k < attr(node, "dims")->count; k++)
                    if (attr(node, "dims")->values[k] == j)
                        from[j] = x->dims[j] - 1 - index[j];
                break;
            case BURN_OP_WINDOW:
                from[j] = windowed(run, node, index, x->rank, j);
                break;
            case BURN_OP_GATHER:
                from[j] = j == attr(node, "dim")->value ? (int64_t)in[1]->data[i] : index[j];
                break;
            default:
                return false;
            }
        }
        int64_t at = node->op == BURN_OP_RESHAPE ? i : ravel(x, from);
        if (inside && (at < 0 || at >= x->count))
            return false;
        out->data[i] = inside ? x->data[at] : in[1]->data[0];
    }
    return true;
}

/* What stands in a cell after a value is stored to it. */
static double stored(burn_op op, double before, double x)
{
    switch ((int)op) {
    case BURN_OP_SCATTER_ADD:
    case BURN_OP_WINDOW_ADD:
        return before + x;
    case BURN_OP_SCATTER_PROD:
        return before * x;
    case BURN_OP_SCATTER_MAX:
        return x > before ? x : before;
    case BURN_OP_SCATTER_MIN:
        return x < before ? x : before;
    default:
        return x;
    }
}

static bool update(const evaluation *run, const bd_graph_node *node, const test_tensor *const *in,
                   test_tensor *out)
{
    const int64_t *ints = run->bindings->ints;
    const test_tensor *value = node->input_count == 2 ? in[1] : in[2];
    memcpy(out->data, in[0]->data, sizeof *out->data * (size_t)out->count);
    for (int64_t i = 0; i < value->count; i++) {
        int64_t index[16];
        unravel(value, i, index);
        for (int j = 0; j < out->rank; j++) {
            if (node->op == BURN_OP_WINDOW_ADD)
                index[j] = windowed(run, node, index, out->rank, j);
            else if (node->op == BURN_OP_SLICE_SET)
                index[j] = ints[attr(node, "starts")->values[j]] +
                           index[j] * ints[attr(node, "steps")->values[j]];
            else if (j == attr(node, "dim")->value)
                index[j] = (int64_t)in[1]->data[i];
        }
        double *cell = &out->data[ravel(out, index)];
        *cell = stored((burn_op)node->op, *cell, value->data[i]);
    }
    return true;
}

static bool create(const evaluation *run, const bd_graph_node *node, test_tensor *out)
{
    const int64_t *ints = run->bindings->ints;
    for (int64_t i = 0; i < out->count; i++) {
        int64_t index[16];
        unravel(out, i, index);
        if (node->op == BURN_OP_IOTA)
            out->data[i] = (double)index[attr(node, "dim")->value];
        else if (node->op == BURN_OP_RANDOM_UNIFORM)
            out->data[i] =
                philox_like(i, ints[attr(node, "seed")->value], ints[attr(node, "offset")->value],
                            attr(node, "lane")->value);
        else
            return false;
    }
    return true;
}

static void concat(const bd_graph_node *node, const test_tensor *const *in, test_tensor *out)
{
    int64_t dim = attr(node, "dim")->value, start = 0;
    for (uint32_t part = 0; part < node->input_count; part++) {
        for (int64_t i = 0; i < in[part]->count; i++) {
            int64_t index[16];
            unravel(in[part], i, index);
            index[dim] += start;
            out->data[ravel(out, index)] = in[part]->data[i];
        }
        start += in[part]->dims[dim];
    }
}

static double scanned(burn_op op, double before, double x)
{
    if (op == BURN_OP_SCAN_PROD)
        return before * x;
    if (op == BURN_OP_SCAN_MAX)
        return x > before ? x : before;
    if (op == BURN_OP_SCAN_MIN)
        return x < before ? x : before;
    if (op == BURN_OP_SCAN_LOGSUM)
        return (x > before ? x : before) + log1p(exp(-fabs(x - before)));
    return before + x;
}

/* Along a dim: each element and those before it as one. */
static void scan(const bd_graph_node *node, const test_tensor *x, test_tensor *out)
{
    int64_t dim = attr(node, "dim")->value;
    for (int64_t i = 0; i < out->count; i++) {
        int64_t index[16];
        unravel(out, i, index);
        out->data[i] = x->data[i];
        if (index[dim]-- > 0)
            out->data[i] = scanned((burn_op)node->op, out->data[ravel(out, index)], x->data[i]);
    }
}

/* Along a dim: where the element of each rank stands; equal ones in their order. */
static void sort_order(const bd_graph_node *node, const test_tensor *x, test_tensor *out)
{
    int64_t dim = attr(node, "dim")->value;
    bool down = attr(node, "descending")->value != 0;
    for (int64_t i = 0; i < x->count; i++) {
        int64_t index[16], place, rank = 0;
        unravel(x, i, index);
        place = index[dim];
        for (index[dim] = 0; index[dim] < x->dims[dim]; index[dim]++) {
            double other = x->data[ravel(x, index)], own = x->data[i];
            bool first = down ? other > own : other < own;
            rank += first || (other == own && index[dim] < place);
        }
        index[dim] = rank;
        out->data[ravel(out, index)] = (double)place;
    }
}

static bool apply(const evaluation *run, const bd_graph_node *node, const test_tensor *const *in,
                  test_tensor *out)
{
    if (node->op >= BURN_OP_SCAN_SUM && node->op <= BURN_OP_SCAN_LOGSUM) {
        scan(node, in[0], out);
        return true;
    }
    if (node->op == BURN_OP_SORT_ORDER) {
        sort_order(node, in[0], out);
        return true;
    }
    uint32_t flags = burn_op_lookup(node->op)->flags;
    if (node->op == BURN_OP_DOT) {
        dot(in[0], in[1], out);
        return true;
    }
    if (node->op == BURN_OP_ATTEND) {
        attend(in[0], in[1], out);
        return true;
    }
    if (node->op == BURN_OP_CONCAT) {
        concat(node, in, out);
        return true;
    }
    if (node->op == BURN_OP_SLICE_SET || node->op == BURN_OP_SCATTER ||
        node->op == BURN_OP_SCATTER_ADD || node->op == BURN_OP_WINDOW_ADD ||
        (node->op >= BURN_OP_SCATTER_PROD && node->op <= BURN_OP_SCATTER_MIN))
        return update(run, node, in, out);
    if (node->op == BURN_OP_FULL) {
        for (int64_t i = 0; i < out->count; i++)
            out->data[i] = in[0]->data[0];
        return true;
    }
    if (node->op == BURN_OP_CHECK_INDEX) {
        double size = (double)run->bindings->ints[attr(node, "size")->value];
        for (int64_t i = 0; i < out->count; i++)
            out->data[i] = in[0]->data[i] < 0 && attr(node, "wrap")->value ? in[0]->data[i] + size
                                                                           : in[0]->data[i];
        return true;
    }
    if (flags & BURN_OP_REDUCTION)
        return reduce(node, in[0], out);
    if (flags & BURN_OP_POINTWISE || node->op == BURN_OP_CAST)
        return pointwise(node, in, out);
    return node->input_count ? view(run, node, in, out) : create(run, node, out);
}

static bool leaf(const evaluation *run, const bd_graph_node *node, test_tensor *out)
{
    const double *from = NULL;
    double single = 0;
    if (node->kind == BD_NODE_EXTERNAL)
        from = run->bindings->externals[node->number];
    else if (node->kind == BD_NODE_SCALAR)
        single = converted(run->bindings->scalars[node->number], node->dtype);
    else if (node->kind == BD_NODE_CONSTANT)
        single = burn_dtype_is_float(node->dtype) ? node->constant_f : (double)node->constant_i;
    else
        single = (double)run->bindings->ints[node->number];
    for (int64_t i = 0; i < out->count; i++)
        out->data[i] = from ? from[i] : single;
    return true;
}

static bool evaluate(evaluation *run, bd_node number)
{
    const bd_graph_node *node = bd_graph_at(run->graph, number);
    test_tensor *out = &run->values[number];
    const test_tensor *in[256];
    if (out->data)
        return true;
    if (node->input_count > 256)
        return false;
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (node->inputs[i] != BD_NODE_NONE && !evaluate(run, node->inputs[i]))
            return false;
        in[i] = &run->values[node->inputs[i]];
    }
    out->rank = node->rank;
    out->count = 1;
    for (int i = 0; i < out->rank; i++) {
        out->dims[i] = run->bindings->ints[node->dims[i]];
        out->count *= out->dims[i];
    }
    out->data = calloc((size_t)out->count + 1, sizeof *out->data);
    return node->kind == BD_NODE_OP ? apply(run, node, in, out) : leaf(run, node, out);
}

bool test_evaluate(bd_graph *graph, bd_node root, const test_bindings *bindings, test_tensor *out)
{
    uint32_t count = bd_graph_count(graph) + 1;
    evaluation run = {
        .graph = graph, .bindings = bindings, .values = calloc(count, sizeof(test_tensor))};
    bool known = evaluate(&run, root);
    *out = run.values[root];
    for (uint32_t i = 0; i < count; i++)
        if (i != root || !known)
            free(run.values[i].data);
    free(run.values);
    return known;
}
