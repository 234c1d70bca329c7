/* SPDX-License-Identifier: Apache-2.0
 * Tensors from Python's values: nested lists, buffers, arrays. */
#include <string.h>

#include "client/python/core/core.h"

#include "client/python/core/ops.h"

/* ---- conversion ------------------------------------------------------------------------------ */

/* Consumes the reference. dtype 0 or its own: nothing is done. */
static PyObject *cast_to(PyObject *own_tensor, int dtype)
{
    if (!own_tensor || dtype == 0 || burn_dtype_of(tensor_of(own_tensor)) == dtype)
        return own_tensor;
    burn_input input = burn_in(tensor_of(own_tensor));
    burn_attribute attribute = burn_number(dtype);
    PyObject *result = core_apply1(OP_CAST, &input, 1, &attribute, 1);
    Py_DECREF(own_tensor);
    return result;
}

static PyObject *upload(int dtype, int rank, const int64_t *dims, const void *elements)
{
    burn_context *context = core_context();
    burn_tensor *tensor = NULL;
    if (!context)
        return NULL;
    burn_status status = burn_upload(context, dtype, rank, dims, elements, &tensor);
    if (status != BURN_STATUS_OK)
        return core_raise(status);
    if (PyErr_Occurred()) { /* an interrupt during the upload */
        burn_release(tensor);
        return NULL;
    }
    core_note_location(context);
    return core_wrap(tensor);
}

/* ---- buffers
 * ------------------------------------------------------------------------------------- */

/* The dtype of a struct-module format of one character; 0 if there is none. */
static int dtype_of_format(const char *format, Py_ssize_t item_bytes)
{
    static const struct {
        const char *letters;
        int by_bytes[9]; /* dtype for items of that many bytes */
    } kinds[] = {
        {"efdg", {[2] = BURN_DTYPE_FLOAT16, [4] = BURN_DTYPE_FLOAT32, [8] = BURN_DTYPE_FLOAT64}},
        {"bhilqn",
         {[1] = BURN_DTYPE_INT8,
          [2] = BURN_DTYPE_INT16,
          [4] = BURN_DTYPE_INT32,
          [8] = BURN_DTYPE_INT64}},
        {"BHILQNc",
         {[1] = BURN_DTYPE_UINT8,
          [2] = BURN_DTYPE_UINT16,
          [4] = BURN_DTYPE_UINT32,
          [8] = BURN_DTYPE_UINT64}},
        {"?", {[1] = BURN_DTYPE_BOOL}},
    };
    if (!format)
        return item_bytes == 1 ? BURN_DTYPE_UINT8 : 0;
    if (*format == '@' || *format == '=' || *format == '<' || *format == '|')
        format++;
    if (strlen(format) != 1 || item_bytes < 1 || item_bytes > 8)
        return 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strchr(kinds[i].letters, *format))
            return kinds[i].by_bytes[item_bytes];
    return 0;
}

static PyObject *from_view(Py_buffer *view)
{
    int64_t dims[BURN_MAX_RANK];
    int dtype = dtype_of_format(view->format, view->itemsize);
    if (dtype == 0)
        return core_fail(core.argument_error, "can't convert elements of the format '%s'",
                         view->format ? view->format : "B");
    if (view->ndim > BURN_MAX_RANK)
        return core_fail(core.errors[BURN_STATUS_LIMIT],
                         "an array of %d dims; at most %d are possible", view->ndim, BURN_MAX_RANK);
    for (int i = 0; i < view->ndim; i++)
        dims[i] = view->shape[i];
    if (PyBuffer_IsContiguous(view, 'C'))
        return upload(dtype, view->ndim, dims, view->buf);
    void *copy = PyMem_Malloc(view->len > 0 ? (size_t)view->len : 1);
    if (!copy)
        return PyErr_NoMemory();
    PyObject *result = PyBuffer_ToContiguous(copy, view, view->len, 'C') < 0
                           ? NULL
                           : upload(dtype, view->ndim, dims, copy);
    PyMem_Free(copy);
    return result;
}

PyObject *core_from_array(PyObject *object, int dtype)
{
    Py_buffer view;
    PyObject *array = NULL;
    if (!PyObject_CheckBuffer(object)) { /* NumPy knows how to make an array of it */
        PyObject *numpy = PyImport_ImportModule("numpy");
        array = numpy ? PyObject_CallMethod(numpy, "asarray", "O", object) : NULL;
        Py_XDECREF(numpy);
        if (!array)
            return NULL;
        object = array;
    }
    PyObject *result = NULL;
    if (PyObject_GetBuffer(object, &view, PyBUF_FULL_RO) == 0) {
        result = from_view(&view);
        PyBuffer_Release(&view);
    }
    Py_XDECREF(array);
    return cast_to(result, dtype);
}

/* from_buffer(obj, dtype, shape) */
static PyObject *from_buffer(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *object = NULL, *dtype_object = NULL, *shape = NULL;
    int dtype = 0;
    int64_t dims[BURN_MAX_RANK];
    Py_buffer view;
    if (!PyArg_ParseTuple(args, "OOO", &object, &dtype_object, &shape) ||
        core_to_dtype(dtype_object, &dtype) < 0)
        return NULL;
    int rank = core_to_shape(shape, dims);
    if (rank < 0 || PyObject_GetBuffer(object, &view, PyBUF_SIMPLE) < 0)
        return NULL;
    int64_t bytes = (int64_t)burn_dtype_bytes(dtype);
    for (int i = 0; i < rank; i++)
        if (dims[i] < 0 || __builtin_mul_overflow(bytes, dims[i], &bytes))
            bytes = -1;
    PyObject *result = NULL;
    if (bytes != view.len)
        core_fail(core.invalid_error,
                  "the buffer has %zd bytes, a tensor of this shape and dtype has %lld", view.len,
                  (long long)bytes);
    else
        result = upload(dtype, rank, dims, view.buf);
    PyBuffer_Release(&view);
    return result;
}

/* ---- nested lists
 * --------------------------------------------------------------------------------- */

typedef struct nest {
    int64_t dims[BURN_MAX_RANK];
    int rank;
    int kind;     /* as burn_input's: 2 bool, 3 int, 4 float; the widest that was seen */
    bool foreign; /* an array or another thing that NumPy must look at */
    double *reals;
    int64_t *integers;
    int64_t count, next;
} nest;

static bool is_list(PyObject *object)
{
    return PyList_Check(object) || PyTuple_Check(object);
}

/* Borrowed. */
static PyObject *item_of(PyObject *list, Py_ssize_t index)
{
    return PyList_Check(list) ? PyList_GetItem(list, index) : PyTuple_GetItem(list, index);
}

static int measure(PyObject *object, nest *n)
{
    while (is_list(object)) {
        if (n->rank == BURN_MAX_RANK)
            return core_fail(core.invalid_error,
                             "too many dimensions: lists are nested deeper than %d", BURN_MAX_RANK),
                   -1;
        Py_ssize_t size = PySequence_Size(object);
        n->dims[n->rank++] = size;
        if (size == 0)
            break;
        object = item_of(object, 0);
    }
    n->count = 1;
    for (int i = 0; i < n->rank; i++)
        n->count *= n->dims[i];
    return 0;
}

static int take_leaf(PyObject *object, nest *n)
{
    burn_input input;
    PyObject *value =
        is_tensor(object) && burn_elements(tensor_of(object)) == 1 ? core_scalar(object) : NULL;
    if (PyErr_Occurred())
        return -1;
    bool exact = PyFloat_CheckExact(object) || PyLong_CheckExact(object) || PyBool_Check(object);
    if (!value && !exact && core_is_array(object))
        n->foreign = true;
    int done = core_to_input(value ? value : object, &input);
    Py_XDECREF(value);
    if (done < 0)
        return -1;
    if (done == 0 || input.kind == 1) {
        if (n->foreign)
            return 0;
        PyObject *name = PyType_GetName(Py_TYPE(object));
        core_fail(PyUnicode_Check(object) ? core.argument_error : core.invalid_error,
                  "Could not infer dtype of %U: tensors are made of numbers", name);
        Py_XDECREF(name);
        return -1;
    }
    if (input.kind > n->kind)
        n->kind = input.kind;
    n->reals[n->next] = input.kind == 4 ? input.as.real : (double)input.as.integer;
    n->integers[n->next++] = input.kind == 4 ? 0 : input.as.integer;
    return 0;
}

static int take(PyObject *object, nest *n, int depth)
{
    if (depth == n->rank) {
        if (is_list(object)) {
            core_fail(core.invalid_error, "expected a number at depth %d, got a list", depth);
            return -1;
        }
        return take_leaf(object, n);
    }
    if (!is_list(object) && core_is_array(object)) {
        n->foreign = true;
        return 0;
    }
    if (!is_list(object) || PySequence_Size(object) != (Py_ssize_t)n->dims[depth])
        return core_fail(core.invalid_error, "expected sequence of length %lld at dim %d (got %zd)",
                         (long long)n->dims[depth], depth,
                         is_list(object) ? PySequence_Size(object) : (Py_ssize_t)1),
               -1;
    for (int64_t i = 0; i < n->dims[depth] && !n->foreign; i++)
        if (take(item_of(object, (Py_ssize_t)i), n, depth + 1) < 0)
            return -1;
    return 0;
}

/* As PyTorch: a negative number of no larger size may wrap into an unsigned dtype. */
static bool fits(int64_t integer, int dtype)
{
    size_t bits = 8 * burn_dtype_bytes(dtype);
    bool is_unsigned = dtype >= BURN_DTYPE_UINT64 && dtype <= BURN_DTYPE_UINT8;
    if (bits == 64 || dtype == BURN_DTYPE_BOOL)
        return true;
    int64_t most = (INT64_C(1) << (is_unsigned ? bits : bits - 1)) - 1;
    return integer <= most && integer >= (is_unsigned ? -most : -most - 1);
}

/* The numbers in the memory format of the dtype; 16-bit floats go by float32 and a cast. */
static PyObject *pack(const nest *n, int dtype)
{
    int stored =
        dtype == BURN_DTYPE_FLOAT16 || dtype == BURN_DTYPE_BFLOAT16 ? BURN_DTYPE_FLOAT32 : dtype;
    size_t bytes = burn_dtype_bytes(stored);
    unsigned char *elements = PyMem_Malloc(n->count > 0 ? (size_t)n->count * bytes : 1);
    if (!elements)
        return PyErr_NoMemory();
    for (int64_t i = 0; i < n->count; i++) {
        unsigned char *at = elements + (size_t)i * bytes;
        double real = n->reals[i];
        float single = (float)real;
        /* C leaves casts of large values open; these saturate. */
        int64_t integer = n->kind != 4      ? n->integers[i]
                          : real >= 0x1p63  ? INT64_MAX
                          : real >= -0x1p63 ? (int64_t)real
                                            : INT64_MIN;
        uint8_t truth = n->kind == 4 ? real != 0 : integer != 0;
        if (stored == BURN_DTYPE_FLOAT64)
            memcpy(at, &real, bytes);
        else if (stored == BURN_DTYPE_FLOAT32)
            memcpy(at, &single, bytes);
        else if (stored == BURN_DTYPE_BOOL)
            memcpy(at, &truth, bytes);
        else if (fits(integer, stored))
            memcpy(at, &integer, bytes); /* little-endian: the low bytes */
        else {
            PyMem_Free(elements);
            return core_fail(core.invalid_error,
                             "value %lld cannot be converted to type %s without overflow",
                             (long long)integer, burn_dtype_text(stored));
        }
    }
    PyObject *result = upload(stored, n->rank, n->dims, elements);
    PyMem_Free(elements);
    return cast_to(result, dtype);
}

static PyObject *from_lists(PyObject *data, int dtype)
{
    nest n = {.kind = 0};
    if (measure(data, &n) < 0)
        return NULL;
    n.reals = PyMem_Malloc(((size_t)n.count + 1) * sizeof *n.reals);
    n.integers = PyMem_Malloc(((size_t)n.count + 1) * sizeof *n.integers);
    PyObject *result = NULL;
    if (!n.reals || !n.integers)
        PyErr_NoMemory();
    else if ((n.count > 0 || n.rank > 0) && take(data, &n, 0) == 0)
        result = n.foreign ? core_from_array(data, dtype)
                           : pack(&n, dtype         ? dtype
                                      : n.kind == 2 ? BURN_DTYPE_BOOL
                                      : n.kind == 3 ? BURN_DTYPE_INT64
                                                    : BURN_DTYPE_FLOAT32);
    else if (!PyErr_Occurred() && take_leaf(data, &n) == 0)
        result = pack(&n, dtype         ? dtype
                          : n.kind == 2 ? BURN_DTYPE_BOOL
                          : n.kind == 3 ? BURN_DTYPE_INT64
                                        : BURN_DTYPE_FLOAT32);
    PyMem_Free(n.reals);
    PyMem_Free(n.integers);
    return result;
}

/* ---- tensor()
 * -------------------------------------------------------------------------------------- */

static PyObject *copy_of(PyObject *source, int dtype)
{
    burn_tensor *detached = NULL;
    burn_status status = burn_detach(tensor_of(source), &detached);
    if (status != BURN_STATUS_OK)
        return core_raise(status);
    burn_input input = burn_in(detached);
    burn_attribute attribute = burn_number(dtype);
    PyObject *result = dtype ? core_apply1(OP_CAST, &input, 1, &attribute, 1)
                             : core_apply1(OP_CLONE, &input, 1, NULL, 0);
    burn_release(detached);
    return result;
}

/* tensor(data, dtype=None, requires_grad=False) */
static PyObject *tensor(PyObject *module, PyObject *args, PyObject *kwargs)
{
    (void)module;
    static char *names[] = {"data", "dtype", "requires_grad", NULL};
    PyObject *data = NULL, *dtype_object = NULL, *result = NULL;
    int requires_grad = 0, dtype = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|Op", names, &data, &dtype_object,
                                     &requires_grad) ||
        core_to_dtype(dtype_object, &dtype) < 0)
        return NULL;
    bool text = PyUnicode_Check(data);
    if (is_tensor(data))
        result = copy_of(data, dtype);
    else if (core_is_array(data) || (PyObject_CheckBuffer(data) && !text))
        result = core_from_array(data, dtype);
    else if (!is_list(data) && PyObject_HasAttrString(data, "__array__"))
        result = core_from_array(data, dtype);
    else if (!is_list(data) && !text && PySequence_Check(data)) { /* a range, a deque */
        PyObject *list = PySequence_List(data);
        result = list ? from_lists(list, dtype) : NULL;
        Py_XDECREF(list);
    } else {
        result = from_lists(data, dtype);
    }
    if (!result || !requires_grad)
        return result;
    burn_status status = burn_set_requires_grad(tensor_of(result), 1);
    if (status == BURN_STATUS_OK)
        return result;
    Py_DECREF(result);
    return core_raise(status);
}

PyMethodDef core_create_methods[] = {
    {"tensor", (PyCFunction)(void (*)(void))tensor, METH_VARARGS | METH_KEYWORDS,
     "A tensor with a copy of the data."},
    {"from_buffer", from_buffer, METH_VARARGS, "A tensor with a copy of a buffer's bytes."},
    {NULL, NULL, 0, NULL},
};
