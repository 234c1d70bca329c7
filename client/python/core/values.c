/* SPDX-License-Identifier: Apache-2.0
 * From tensors to Python's values: each of these waits for the daemon. */
#include <math.h>
#include <string.h>

#include "client/python/core/core.h"

#include "client/python/core/ops.h"

double core_half_to_double(uint16_t bits, bool bfloat)
{
    if (bfloat) {
        uint32_t wide = (uint32_t)bits << 16;
        float value;
        memcpy(&value, &wide, sizeof value);
        return (double)value;
    }
    int exponent = bits >> 10 & 31;
    double fraction = bits & 1023;
    double value = exponent == 31 ? (fraction != 0 ? NAN : INFINITY)
                   : exponent     ? ldexp(1024 + fraction, exponent - 25)
                                  : ldexp(fraction, -24);
    return bits >> 15 ? -value : value;
}

/* One element as a Python number. */
static PyObject *number_at(int dtype, const void *element)
{
    union {
        double f64;
        float f32;
        uint16_t u16;
        int64_t i64;
        int32_t i32;
        int16_t i16;
        int8_t i8;
        uint64_t u64;
        uint32_t u32;
        uint8_t u8;
    } value = {.u64 = 0};
    memcpy(&value, element, burn_dtype_bytes(dtype));
    switch (dtype) {
    case BURN_DTYPE_FLOAT64:
        return PyFloat_FromDouble(value.f64);
    case BURN_DTYPE_FLOAT32:
        return PyFloat_FromDouble((double)value.f32);
    case BURN_DTYPE_FLOAT16:
    case BURN_DTYPE_BFLOAT16:
        return PyFloat_FromDouble(core_half_to_double(value.u16, dtype == BURN_DTYPE_BFLOAT16));
    case BURN_DTYPE_INT64:
        return PyLong_FromLongLong(value.i64);
    case BURN_DTYPE_INT32:
        return PyLong_FromLong(value.i32);
    case BURN_DTYPE_INT16:
        return PyLong_FromLong(value.i16);
    case BURN_DTYPE_INT8:
        return PyLong_FromLong(value.i8);
    case BURN_DTYPE_UINT64:
        return PyLong_FromUnsignedLongLong(value.u64);
    case BURN_DTYPE_UINT32:
        return PyLong_FromUnsignedLong(value.u32);
    case BURN_DTYPE_UINT16:
        return PyLong_FromLong(value.u16);
    case BURN_DTYPE_UINT8:
        return PyLong_FromLong(value.u8);
    default:
        return PyBool_FromLong(value.u8 != 0);
    }
}

static int read_into(PyObject *self, void *place, size_t bytes)
{
    burn_status status = burn_read(tensor_of(self), place, bytes);
    return status == BURN_STATUS_OK ? 0 : (core_raise(status), -1);
}

/* ---- numbers
 * --------------------------------------------------------------------------------------- */

PyObject *core_scalar(PyObject *self)
{
    int64_t count = burn_elements(tensor_of(self));
    unsigned char element[8];
    if (count != 1)
        return core_fail(core.invalid_error,
                         "a Tensor with %lld elements cannot be converted to Scalar",
                         (long long)count);
    if (read_into(self, element, burn_size_bytes(tensor_of(self))) < 0)
        return NULL;
    return number_at(burn_dtype_of(tensor_of(self)), element);
}

static PyObject *item(PyObject *self, PyObject *unused)
{
    (void)unused;
    return core_scalar(self);
}

/* The elements of a block of dims as nested lists. Depth is the rank, at most 16. */
static PyObject *nested(const burn_tensor *tensor, int dim, const unsigned char **cursor)
{
    int dtype = burn_dtype_of(tensor);
    if (dim == burn_rank(tensor)) {
        PyObject *number = number_at(dtype, *cursor);
        *cursor += burn_dtype_bytes(dtype);
        return number;
    }
    Py_ssize_t count = (Py_ssize_t)burn_shape_of(tensor)[dim];
    PyObject *list = PyList_New(count);
    for (Py_ssize_t i = 0; list && i < count; i++) {
        PyObject *part = nested(tensor, dim + 1, cursor);
        if (!part)
            Py_CLEAR(list);
        else
            PyList_SetItem(list, i, part);
    }
    return list;
}

static PyObject *tolist(PyObject *self, PyObject *unused)
{
    (void)unused;
    size_t bytes = burn_size_bytes(tensor_of(self));
    unsigned char *elements = PyMem_Malloc(bytes > 0 ? bytes : 1);
    if (!elements)
        return PyErr_NoMemory();
    const unsigned char *cursor = elements;
    PyObject *list =
        read_into(self, elements, bytes) < 0 ? NULL : nested(tensor_of(self), 0, &cursor);
    PyMem_Free(elements);
    return list;
}

/* ---- bytes and arrays
 * ---------------------------------------------------------------------------------- */

static PyObject *tobytes(PyObject *self, PyObject *unused)
{
    (void)unused;
    size_t bytes = burn_size_bytes(tensor_of(self));
    PyObject *result = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)bytes);
    if (result && read_into(self, PyBytes_AsString(result), bytes) < 0)
        Py_CLEAR(result);
    return result;
}

static const char *const numpy_names[CORE_DTYPES] = {
    NULL, "<f8", "<f4", "<f2", NULL, "<i8", "<i4", "<i2", "|i1", "<u8", "<u4", "<u2", "|u1", "|b1"};

static PyObject *to_array(PyObject *self)
{
    const char *name = numpy_names[burn_dtype_of(tensor_of(self))];
    if (!name)
        return core_fail(core.argument_error, "NumPy has no bfloat16; convert with .float() first");
    PyObject *numpy = PyImport_ImportModule("numpy");
    PyObject *shape = numpy ? core_shape(tensor_of(self)) : NULL;
    PyObject *array = shape ? PyObject_CallMethod(numpy, "empty", "Os", shape, name) : NULL;
    Py_XDECREF(shape);
    Py_XDECREF(numpy);
    Py_buffer view;
    if (!array || PyObject_GetBuffer(array, &view, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE) < 0) {
        Py_XDECREF(array);
        return NULL;
    }
    int done = read_into(self, view.buf, (size_t)view.len);
    PyBuffer_Release(&view);
    if (done < 0)
        Py_CLEAR(array);
    return array;
}

static PyObject *numpy(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"force", NULL};
    int force = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$p", names, &force))
        return NULL;
    if (!force && burn_requires_grad(tensor_of(self)))
        return core_fail(core.invalid_error,
                         "Can't call numpy() on Tensor that requires grad. Use "
                         "tensor.detach().numpy() instead.");
    return to_array(self);
}

/* __array__(dtype=None, copy=None) */
static PyObject *array(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"dtype", "copy", NULL};
    PyObject *dtype = Py_None, *copy = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO", names, &dtype, &copy))
        return NULL;
    if (copy == Py_False)
        return core_fail(core.invalid_error,
                         "the elements live in the daemon: an array of them is always a copy");
    if (burn_requires_grad(tensor_of(self)))
        return core_fail(core.invalid_error,
                         "Can't call numpy() on Tensor that requires grad. Use "
                         "tensor.detach().numpy() instead.");
    PyObject *made = to_array(self);
    if (!made || dtype == Py_None)
        return made;
    PyObject *cast = PyObject_CallMethod(made, "astype", "O", dtype);
    Py_DECREF(made);
    return cast;
}

/* ---- copies by value
 * ------------------------------------------------------------------------------------ */

static PyObject *module_function(const char *name)
{
    PyObject *module = PyImport_ImportModule("burn._core");
    PyObject *function = module ? PyObject_GetAttrString(module, name) : NULL;
    Py_XDECREF(module);
    return function;
}

static PyObject *reduce(PyObject *self, PyObject *protocol)
{
    (void)protocol;
    PyObject *bytes = tobytes(self, NULL);
    PyObject *shape = PyTuple_New(burn_rank(tensor_of(self)));
    for (int i = 0; shape && i < burn_rank(tensor_of(self)); i++)
        PyTuple_SetItem(shape, i, PyLong_FromLongLong(burn_shape_of(tensor_of(self))[i]));
    PyObject *rebuild = bytes && shape ? module_function("_rebuild") : NULL;
    if (!rebuild) {
        Py_XDECREF(bytes);
        Py_XDECREF(shape);
        return NULL;
    }
    bool leaf = burn_is_leaf(tensor_of(self)) && burn_requires_grad(tensor_of(self));
    return Py_BuildValue("N(NiNO)", rebuild, bytes, burn_dtype_of(tensor_of(self)), shape,
                         leaf ? Py_True : Py_False);
}

/* _rebuild(bytes, dtype, shape, requires_grad) */
static PyObject *rebuild(PyObject *module, PyObject *args)
{
    PyObject *bytes = NULL, *dtype = NULL, *shape = NULL;
    int requires_grad = 0;
    if (!PyArg_ParseTuple(args, "OOOp", &bytes, &dtype, &shape, &requires_grad))
        return NULL;
    PyObject *make = PyObject_GetAttrString(module, "from_buffer");
    PyObject *made = make ? PyObject_CallFunctionObjArgs(make, bytes, dtype, shape, NULL) : NULL;
    Py_XDECREF(make);
    if (made && requires_grad && burn_set_requires_grad(tensor_of(made), 1) != BURN_STATUS_OK) {
        Py_CLEAR(made);
        core_raise(BURN_STATUS_INVALID);
    }
    return made;
}

static PyObject *shallow_copy(PyObject *self, PyObject *unused)
{
    (void)unused;
    burn_tensor *alias = NULL;
    burn_status status = burn_alias(tensor_of(self), &alias);
    return status == BURN_STATUS_OK ? core_wrap_as(Py_TYPE(self), alias) : core_raise(status);
}

/* A copy in the daemon: nothing is read. */
static PyObject *deep_copy(PyObject *self, PyObject *memo)
{
    burn_tensor *tensor = tensor_of(self), *detached = NULL, *copy = NULL;
    PyObject *key = PyLong_FromVoidPtr(self);
    PyObject *known = key ? PyObject_GetItem(memo, key) : NULL;
    if (known || !key) {
        Py_XDECREF(key);
        return known;
    }
    PyErr_Clear();
    bool requires_grad = burn_requires_grad(tensor);
    burn_status status = BURN_STATUS_OK;
    if (requires_grad && !burn_is_leaf(tensor)) {
        Py_DECREF(key);
        return core_fail(core.invalid_error,
                         "Only Tensors created explicitly by the user (graph leaves) support the "
                         "deepcopy protocol at the moment.");
    }
    status = burn_detach(tensor, &detached);
    burn_input input = burn_in(detached);
    if (status == BURN_STATUS_OK)
        status = burn_apply(core.context, OP_CLONE, &input, 1, NULL, 0, &copy, 1);
    burn_release(detached);
    if (status == BURN_STATUS_OK && requires_grad)
        status = burn_set_requires_grad(copy, 1);
    PyObject *made =
        status == BURN_STATUS_OK ? core_wrap_as(Py_TYPE(self), copy) : core_raise(status);
    if (made && PyObject_SetItem(memo, key, made) < 0)
        Py_CLEAR(made);
    Py_DECREF(key);
    return made;
}

PyMethodDef core_value_methods[] = {
    {"item", item, METH_NOARGS, "The only element as a Python number. Waits."},
    {"tolist", tolist, METH_NOARGS, "The elements as nested lists. Waits."},
    {"tobytes", tobytes, METH_NOARGS, "The elements' bytes, row-major, little-endian. Waits."},
    {"numpy", (PyCFunction)(void (*)(void))numpy, METH_VARARGS | METH_KEYWORDS,
     "A NumPy array with a copy. Waits."},
    {"__array__", (PyCFunction)(void (*)(void))array, METH_VARARGS | METH_KEYWORDS,
     "A NumPy array with a copy."},
    {"__reduce_ex__", reduce, METH_O, "Pickles by value."},
    {"__copy__", shallow_copy, METH_NOARGS, "A second tensor that shares."},
    {"__deepcopy__", deep_copy, METH_O, "A copy by value."},
    {NULL, NULL, 0, NULL},
};

PyMethodDef core_rebuild_methods[] = {
    {"_rebuild", rebuild, METH_VARARGS, "What pickle calls."},
    {NULL, NULL, 0, NULL},
};
