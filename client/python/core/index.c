/* SPDX-License-Identifier: Apache-2.0
 * Basic indices (ints, slices, None, ...) as slice and reshape; all others are the hooks'. */
#include "client/python/core/core.h"

#include "client/python/core/ops.h"

enum { INDEX_MAX = 64 };

typedef enum dim_kind { DIM_KEPT, DIM_DROPPED, DIM_NEW } dim_kind;

typedef struct selection {
    int rank; /* of the tensor */
    int64_t starts[BURN_MAX_RANK], stops[BURN_MAX_RANK], steps[BURN_MAX_RANK];
    int64_t sliced[BURN_MAX_RANK]; /* shape after the slice */
    int64_t shape[BURN_MAX_RANK];  /* of the result */
    int result_rank;
    dim_kind kinds[INDEX_MAX]; /* in order: dims of the tensor and new ones */
    int kind_count;
    bool slices, reshapes;
} selection;

/* ---- reading an index
 * ----------------------------------------------------------------------------- */

static int push_kind(selection *s, dim_kind kind, int64_t size)
{
    if (s->kind_count >= INDEX_MAX || (kind != DIM_DROPPED && s->result_rank >= BURN_MAX_RANK))
        return core_fail(core.errors[BURN_STATUS_LIMIT], "the result would have more than %d dims",
                         BURN_MAX_RANK),
               -1;
    s->kinds[s->kind_count++] = kind;
    if (kind != DIM_DROPPED)
        s->shape[s->result_rank++] = size;
    if (kind != DIM_KEPT)
        s->reshapes = true;
    return 0;
}

static int take_whole(selection *s, const int64_t *dims, int dim)
{
    s->starts[dim] = 0;
    s->stops[dim] = s->sliced[dim] = dims[dim];
    s->steps[dim] = 1;
    return push_kind(s, DIM_KEPT, dims[dim]);
}

static int take_int(selection *s, const int64_t *dims, int dim, PyObject *item)
{
    PyObject *number = PyNumber_Index(item);
    if (!number)
        return -1;
    long long index = PyLong_AsLongLong(number);
    Py_DECREF(number);
    if (index == -1 && PyErr_Occurred())
        return -1;
    if (index < -dims[dim] || index >= dims[dim])
        return core_fail(core.range_error,
                         "index %lld is out of bounds for dimension %d with size %lld", index, dim,
                         (long long)dims[dim]),
               -1;
    s->starts[dim] = index < 0 ? index + dims[dim] : index;
    s->stops[dim] = s->starts[dim] + 1;
    s->steps[dim] = s->sliced[dim] = 1;
    s->slices = true;
    return push_kind(s, DIM_DROPPED, 0);
}

static int take_slice(selection *s, const int64_t *dims, int dim, PyObject *item)
{
    Py_ssize_t start = 0, stop = 0, step = 0;
    if (PySlice_Unpack(item, &start, &stop, &step) < 0)
        return -1;
    if (step < 1)
        return core_fail(core.invalid_error, "step must be greater than zero"), -1;
    Py_ssize_t count = PySlice_AdjustIndices((Py_ssize_t)dims[dim], &start, &stop, step);
    s->starts[dim] = start;
    s->stops[dim] = count == 0 ? start : stop;
    s->steps[dim] = step;
    s->sliced[dim] = count;
    if (start != 0 || stop != dims[dim] || step != 1)
        s->slices = true;
    return push_kind(s, DIM_KEPT, count);
}

/* An int of Python or NumPy, not a bool, an array or a tensor. */
static bool is_int(PyObject *item)
{
    if (PyBool_Check(item) || is_tensor(item))
        return false;
    if (PyLong_Check(item))
        return true;
    if (!PyIndex_Check(item))
        return false;
    burn_input input;
    int done = core_to_input(item, &input);
    PyErr_Clear();
    return done > 0 ? input.kind == 3 : !core_is_array(item);
}

/* How many dims of the tensor the items take; -1 if one of them is not basic. */
static int dims_taken(PyObject *items, Py_ssize_t count, int *out_ellipses)
{
    int taken = 0;
    *out_ellipses = 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = PyTuple_GetItem(items, i);
        if (item == Py_Ellipsis)
            ++*out_ellipses;
        else if (item != Py_None && !PySlice_Check(item) && !is_int(item))
            return -1;
        else if (item != Py_None)
            taken++;
    }
    return taken;
}

/* 1: basic, 0: for the hook, -1: an exception. */
static int parse(PyObject *self, PyObject *items, selection *s)
{
    const burn_tensor *tensor = tensor_of(self);
    const int64_t *dims = burn_shape_of(tensor);
    Py_ssize_t count = PyTuple_Size(items);
    int ellipses = 0, taken = dims_taken(items, count, &ellipses), dim = 0;
    *s = (selection){.rank = burn_rank(tensor)};
    if (taken < 0)
        return 0;
    if (ellipses > 1)
        return core_fail(core.range_error, "an index can only have a single ellipsis ('...')"), -1;
    if (taken > s->rank)
        return s->rank == 0
                   ? (core_fail(core.range_error,
                                "invalid index of a 0-dim tensor. Use `tensor.item()` in Python to "
                                "convert a 0-dim tensor to a number"),
                      -1)
                   : (core_fail(core.range_error, "too many indices for tensor of dimension %d",
                                s->rank),
                      -1);
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = PyTuple_GetItem(items, i);
        int done = 0;
        if (item == Py_Ellipsis)
            for (int left = s->rank - taken; left > 0 && done == 0; left--)
                done = take_whole(s, dims, dim++);
        else if (item == Py_None)
            done = push_kind(s, DIM_NEW, 1);
        else if (PySlice_Check(item))
            done = take_slice(s, dims, dim++, item);
        else
            done = take_int(s, dims, dim++, item);
        if (done < 0)
            return -1;
    }
    while (dim < s->rank)
        if (take_whole(s, dims, dim++) < 0)
            return -1;
    return 1;
}

static PyObject *items_of(PyObject *index)
{
    if (PyTuple_Check(index)) {
        Py_INCREF(index);
        return index;
    }
    return PyTuple_Pack(1, index);
}

/* ---- get
 * -------------------------------------------------------------------------------------------- */

static PyObject *slice_of(PyObject *self, const selection *s)
{
    burn_input input = burn_in(tensor_of(self));
    size_t rank = (size_t)s->rank;
    burn_attribute attributes[] = {burn_list(s->starts, rank), burn_list(s->stops, rank),
                                   burn_list(s->steps, rank)};
    return core_apply1(OP_SLICE, &input, 1, attributes, 3);
}

static PyObject *reshaped(PyObject *self, const int64_t *shape, int rank)
{
    burn_input input = burn_in(tensor_of(self));
    burn_attribute attribute = burn_list(shape, (size_t)rank);
    return core_apply1(OP_RESHAPE, &input, 1, &attribute, 1);
}

static PyObject *select_basic(PyObject *self, const selection *s)
{
    if (!s->slices && !s->reshapes) {
        burn_tensor *alias = NULL;
        burn_status status = burn_alias(tensor_of(self), &alias);
        return status == BURN_STATUS_OK ? core_wrap(alias) : core_raise(status);
    }
    PyObject *part = s->slices ? slice_of(self, s) : (Py_INCREF(self), self);
    if (!part || !s->reshapes)
        return part;
    PyObject *result = reshaped(part, s->shape, s->result_rank);
    Py_DECREF(part);
    return result;
}

PyObject *core_getitem(PyObject *self, PyObject *index)
{
    PyObject *items = items_of(index);
    selection s;
    int basic = items ? parse(self, items, &s) : -1;
    Py_XDECREF(items);
    if (basic < 0)
        return NULL;
    if (basic > 0)
        return select_basic(self, &s);
    if (!core.hooks[HOOK_GETITEM])
        return core_fail(core.range_error, "this kind of index is not supported");
    return PyObject_CallFunctionObjArgs(core.hooks[HOOK_GETITEM], self, index, NULL);
}

Py_ssize_t core_length(PyObject *self)
{
    if (burn_rank(tensor_of(self)) == 0) {
        core_fail(core.argument_error, "len() of a 0-d tensor");
        return -1;
    }
    return (Py_ssize_t)burn_shape_of(tensor_of(self))[0];
}

PyObject *core_item_at(PyObject *self, Py_ssize_t index)
{
    PyObject *number = PyLong_FromSsize_t(index);
    PyObject *result = number ? core_getitem(self, number) : NULL;
    Py_XDECREF(number);
    return result;
}

/* ---- set
 * -------------------------------------------------------------------------------------------- */

/* The shape that a value must take so that it is broadcast over the slice: sizes at the right, 1
 * for dropped dims, new ones left out. Returns its rank, or -1. */
static int value_shape(const selection *s, const burn_tensor *value, int64_t shape[BURN_MAX_RANK])
{
    int given = burn_rank(value);
    const int64_t *dims = burn_shape_of(value);
    int extra = given > s->result_rank ? given - s->result_rank : 0;
    for (int i = 0; i < extra; i++)
        if (dims[i] != 1)
            return -1;
    int at = 0, rank = 0;
    for (int k = 0; k < s->kind_count; k++) {
        if (s->kinds[k] == DIM_DROPPED) {
            shape[rank++] = 1;
            continue;
        }
        int from = at++ - (s->result_rank - (given - extra)) + extra;
        int64_t size = from >= extra ? dims[from] : 1;
        if (size != 1 && size != s->shape[at - 1])
            return -1;
        if (s->kinds[k] == DIM_KEPT)
            shape[rank++] = size;
    }
    return rank;
}

static PyObject *fail_shapes(PyObject *value, const selection *s)
{
    PyObject *given = core_shape(tensor_of(value));
    PyObject *want = PyTuple_New(s->result_rank);
    for (int i = 0; want && i < s->result_rank; i++)
        PyTuple_SetItem(want, i, PyLong_FromLongLong(s->shape[i]));
    if (given && want)
        core_fail(core.invalid_error,
                  "shape mismatch: value tensor of shape %S cannot be broadcast to indexing result "
                  "of shape %S",
                  given, want);
    Py_XDECREF(given);
    Py_XDECREF(want);
    return NULL;
}

/* The value in a shape that slice_update broadcasts; new reference. */
static PyObject *fitted(PyObject *value, const selection *s)
{
    int64_t shape[BURN_MAX_RANK];
    const burn_tensor *tensor = tensor_of(value);
    int rank = value_shape(s, tensor, shape);
    if (rank < 0)
        return fail_shapes(value, s);
    bool same = rank == burn_rank(tensor);
    for (int i = 0; same && i < rank; i++)
        same = shape[i] == burn_shape_of(tensor)[i];
    if (!same)
        return reshaped(value, shape, rank);
    Py_INCREF(value);
    return value;
}

static int update(PyObject *self, const selection *s, burn_input value)
{
    burn_input inputs[] = {burn_in(tensor_of(self)), value};
    size_t rank = (size_t)s->rank;
    burn_attribute attributes[] = {burn_list(s->starts, rank), burn_list(s->stops, rank),
                                   burn_list(s->steps, rank)};
    PyObject *result = core_apply1(OP_SLICE_UPDATE, inputs, 2, attributes, 3);
    if (!result)
        return -1;
    burn_status status = burn_assign(tensor_of(self), burn_in(tensor_of(result)), BURN_ASSIGN_CAST);
    Py_DECREF(result);
    return status == BURN_STATUS_OK ? 0 : (core_raise(status), -1);
}

static int set_basic(PyObject *self, const selection *s, PyObject *value)
{
    burn_input input;
    PyObject *owner = NULL;
    int done = core_to_input_or_array(value, &input, &owner);
    if (done == 0)
        core_fail(core.argument_error, "can't assign %R to a tensor", value);
    if (done > 0 && input.kind == 1) {
        PyObject *fit = fitted(owner ? owner : value, s);
        done = fit ? update(self, s, burn_in(tensor_of(fit))) : -1;
        Py_XDECREF(fit);
    } else if (done > 0) {
        done = update(self, s, input);
    } else {
        done = -1;
    }
    Py_XDECREF(owner);
    return done;
}

int core_setitem(PyObject *self, PyObject *index, PyObject *value)
{
    if (!value)
        return core_fail(core.argument_error, "elements of a tensor cannot be deleted"), -1;
    PyObject *items = items_of(index);
    selection s;
    int basic = items ? parse(self, items, &s) : -1;
    Py_XDECREF(items);
    if (basic < 0)
        return -1;
    if (basic > 0)
        return set_basic(self, &s, value);
    if (!core.hooks[HOOK_SETITEM])
        return core_fail(core.range_error, "this kind of index is not supported"), -1;
    PyObject *result =
        PyObject_CallFunctionObjArgs(core.hooks[HOOK_SETITEM], self, index, value, NULL);
    Py_XDECREF(result);
    return result ? 0 : -1;
}
