/* SPDX-License-Identifier: Apache-2.0
 * From Python objects to what burn_apply takes: operands, attributes, dtypes, shapes. */
#include <string.h>

#include "client/python/core/core.h"

enum { INPUTS_INLINE = 16, ATTRS_MAX = 8, NUMBERS_MAX = 256 };

/* ---- operands -------------------------------------------------------------------------------- */

bool core_is_array(PyObject *object)
{
    return !is_tensor(object) && PyObject_HasAttrString(object, "__array_interface__");
}

static int from_int(PyObject *object, burn_input *out)
{
    long long value = PyLong_AsLongLong(object);
    if (value == -1 && PyErr_Occurred()) {
        PyErr_Clear();
        core_fail(core.invalid_error, "the integer %R does not fit into 64 bits",
                  object);
        return -1;
    }
    *out = burn_int(value);
    return 1;
}

/* NumPy's scalars count as numbers, as they do for PyTorch. */
static int from_numpy_scalar(PyObject *object, burn_input *out)
{
    if (!core_is_array(object))
        return 0;
    PyObject *shape = PyObject_GetAttrString(object, "shape");
    bool scalar = shape && PyTuple_Check(shape) && PyTuple_Size(shape) == 0;
    Py_XDECREF(shape);
    PyObject *value = scalar ? PyObject_CallMethod(object, "item", NULL) : NULL;
    PyErr_Clear();
    if (!value)
        return 0;
    int done = PyBool_Check(value) || PyLong_Check(value) || PyFloat_Check(value)
                   ? core_to_input(value, out)
                   : 0;
    Py_DECREF(value);
    return done;
}

int core_to_input(PyObject *object, burn_input *out)
{
    if (is_tensor(object)) {
        *out = burn_in(tensor_of(object));
        return 1;
    }
    if (PyFloat_Check(object)) {
        *out = burn_float(PyFloat_AsDouble(object));
        return 1;
    }
    if (PyBool_Check(object)) {
        *out = burn_bool(object == Py_True);
        return 1;
    }
    if (PyLong_Check(object))
        return from_int(object, out);
    if (object == Py_None)
        return 0;
    return from_numpy_scalar(object, out);
}

int core_to_input_or_array(PyObject *object, burn_input *out, PyObject **out_owner)
{
    *out_owner = NULL;
    int done = core_to_input(object, out);
    if (done != 0 || !core_is_array(object))
        return done;
    PyObject *tensor = core_from_array(object, 0);
    if (!tensor)
        return -1;
    *out = burn_in(tensor_of(tensor));
    *out_owner = tensor;
    return 1;
}

/* ---- dtypes and shapes ----------------------------------------------------------------------- */

int core_to_dtype(PyObject *object, int *out_dtype)
{
    *out_dtype = 0;
    if (!object || object == Py_None)
        return 0;
    for (int i = 1; i < CORE_DTYPES; i++)
        if (core.dtypes[i] == object) {
            *out_dtype = i;
            return 0;
        }
    if (PyLong_Check(object) && !PyBool_Check(object)) {
        long number = PyLong_AsLong(object);
        if (number >= 0 && number < CORE_DTYPES) {
            *out_dtype = (int)number;
            return 0;
        }
        PyErr_Clear();
    }
    core_fail(core.dtype_error, "a dtype is expected, not %R", object);
    return -1;
}

/* An int, also of NumPy; bools and floats are none. */
static int to_int64(PyObject *object, int64_t *out)
{
    if (PyBool_Check(object) || PyFloat_Check(object) || is_tensor(object)) {
        if (is_tensor(object)) { /* a 0-d integer tensor is an index; others raise */
            PyObject *value = core_scalar(object);
            int result =
                value && PyLong_Check(value) && !PyBool_Check(value) ? to_int64(value, out) : -1;
            if (result < 0 && !PyErr_Occurred())
                core_fail(core.argument_error, "an int is expected, not a %s tensor",
                          burn_dtype_text(burn_dtype_of(tensor_of(object))));
            Py_XDECREF(value);
            return result;
        }
        core_fail(core.argument_error, "an int is expected, not %R", object);
        return -1;
    }
    PyObject *index = PyNumber_Index(object);
    if (!index)
        return -1;
    *out = PyLong_AsLongLong(index);
    Py_DECREF(index);
    return *out == -1 && PyErr_Occurred() ? -1 : 0;
}

static Py_ssize_t to_numbers(PyObject *object, int64_t *numbers, Py_ssize_t most)
{
    if (PyLong_Check(object))
        return to_int64(object, numbers) < 0 ? -1 : 1;
    PyObject *items = PySequence_Tuple(object);
    if (!items)
        return -1;
    Py_ssize_t count = PyTuple_Size(items);
    if (count > most) {
        core_fail(core.errors[BURN_STATUS_LIMIT], "a list of %zd numbers, at most %zd are allowed",
                  count, most);
        count = -1;
    }
    for (Py_ssize_t i = 0; i < count; i++)
        if (to_int64(PyTuple_GetItem(items, i), &numbers[i]) < 0) {
            count = -1;
            break;
        }
    Py_DECREF(items);
    return count;
}

int core_to_shape(PyObject *object, int64_t dims[BURN_MAX_RANK])
{
    return (int)to_numbers(object, dims, BURN_MAX_RANK);
}

/* ---- attributes ------------------------------------------------------------------------------ */

typedef struct attr_room {
    burn_attribute attributes[ATTRS_MAX];
    int64_t numbers[NUMBERS_MAX];
    Py_ssize_t used, count;
} attr_room;

static int to_attribute(PyObject *object, attr_room *room, burn_attribute *out)
{
    if (object == Py_None) {
        *out = (burn_attribute){0};
        return 0;
    }
    if (PyBool_Check(object)) {
        *out = burn_number(object == Py_True);
        return 0;
    }
    if (PyTuple_Check(object) || PyList_Check(object)) {
        int64_t *numbers = room->numbers + room->used;
        Py_ssize_t count = to_numbers(object, numbers, NUMBERS_MAX - room->used);
        if (count < 0)
            return -1;
        room->used += count;
        *out = burn_list(numbers, (size_t)count);
        return 0;
    }
    int64_t value = 0;
    if (!PyLong_Check(object)) {
        int dtype = 0;
        for (int i = 1; i < CORE_DTYPES && dtype == 0; i++)
            dtype = core.dtypes[i] == object ? i : 0;
        value = dtype;
        if (dtype == 0 && to_int64(object, &value) < 0)
            return -1;
    } else if (to_int64(object, &value) < 0) {
        return -1;
    }
    /* One number may stand for a list of one. */
    if (room->used >= NUMBERS_MAX)
        return core_fail(core.errors[BURN_STATUS_LIMIT], "too many attributes"), -1;
    room->numbers[room->used] = value;
    *out = (burn_attribute){1, value, &room->numbers[room->used++], 1};
    return 0;
}

static int to_attributes(PyObject *object, attr_room *room)
{
    room->used = room->count = 0;
    if (!object || object == Py_None)
        return 0;
    if (!PyTuple_Check(object))
        return core_fail(core.argument_error, "attributes come as a tuple"), -1;
    room->count = PyTuple_Size(object);
    if (room->count > ATTRS_MAX)
        return core_fail(core.invalid_error, "%zd attributes, no op has more than %d",
                         room->count, ATTRS_MAX),
               -1;
    for (Py_ssize_t i = 0; i < room->count; i++)
        if (to_attribute(PyTuple_GetItem(object, i), room, &room->attributes[i]) < 0)
            return -1;
    return 0;
}

/* ---- apply ----------------------------------------------------------------------------------- */

PyObject *core_apply1(int op, const burn_input *inputs, size_t input_count,
                      const burn_attribute *attributes, size_t attribute_count)
{
    burn_context *context = core_context();
    burn_tensor *result = NULL;
    if (!context)
        return NULL;
    burn_status status =
        burn_apply(context, op, inputs, input_count, attributes, attribute_count, &result, 1);
    if (status != BURN_STATUS_OK)
        return core_raise(status);
    core_note_location(context);
    return core_wrap(result);
}

static PyObject *wrap_all(burn_tensor **results, Py_ssize_t count)
{
    PyObject *tuple = PyTuple_New(count);
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *object = tuple ? core_wrap(results[i]) : NULL;
        if (!tuple)
            burn_release(results[i]);
        else if (!object)
            Py_CLEAR(tuple);
        else
            PyTuple_SetItem(tuple, i, object);
    }
    return tuple;
}

static PyObject *apply_all(int op, const burn_input *inputs, Py_ssize_t count,
                           const attr_room *room, Py_ssize_t output_count)
{
    burn_tensor *few[4] = {NULL}, **results = few;
    burn_context *context = core_context();
    if (!context)
        return NULL;
    if (output_count > 4)
        results = PyMem_Calloc((size_t)output_count, sizeof *results);
    if (!results)
        return PyErr_NoMemory();
    burn_status status = burn_apply(context, op, inputs, (size_t)count, room->attributes,
                                    (size_t)room->count, results, (size_t)output_count);
    PyObject *tuple = NULL;
    if (status == BURN_STATUS_OK) {
        core_note_location(context);
        tuple = wrap_all(results, output_count);
    } else {
        core_raise(status);
    }
    if (results != few)
        PyMem_Free(results);
    return tuple;
}

/* Operands, arrays made tensors, which `owners` (a list or NULL) keeps alive. */
static int to_inputs(PyObject *sequence, Py_ssize_t count, burn_input *inputs, PyObject **owners)
{
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = PyTuple_GetItem(sequence, i), *owner = NULL;
        if (item == Py_None) {
            inputs[i] = burn_none();
            continue;
        }
        int done = core_to_input_or_array(item, &inputs[i], &owner);
        if (done == 0)
            core_fail(core.argument_error, "a tensor or a number is expected, not %s",
                      PyUnicode_AsUTF8AndSize(PyType_GetName(Py_TYPE(item)), NULL));
        if (done <= 0)
            return -1;
        if (!owner)
            continue;
        if (!*owners)
            *owners = PyList_New(0);
        int kept = *owners ? PyList_Append(*owners, owner) : -1;
        Py_DECREF(owner);
        if (kept < 0)
            return -1;
    }
    return 0;
}

/* apply(number, inputs, attrs=(), outputs=1) */
static PyObject *apply(PyObject *module, PyObject *args, PyObject *kwargs)
{
    (void)module;
    static char *names[] = {"number", "inputs", "attrs", "outputs", NULL};
    int op = 0;
    PyObject *given = NULL, *attrs = NULL, *owners = NULL, *result = NULL;
    Py_ssize_t output_count = 1;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "iO|On", names, &op, &given, &attrs,
                                     &output_count))
        return NULL;
    if (output_count < 0 || output_count > UINT16_MAX)
        return core_fail(core.invalid_error, "%zd outputs", output_count);
    PyObject *tuple = PyTuple_Check(given) ? (Py_INCREF(given), given) : PySequence_Tuple(given);
    if (!tuple)
        return NULL;
    Py_ssize_t count = PyTuple_Size(tuple);
    CORE_UNSET burn_input few[INPUTS_INLINE];
    CORE_UNSET attr_room room;
    burn_input *inputs = few;
    if (count > INPUTS_INLINE)
        inputs = PyMem_Calloc((size_t)count, sizeof *inputs);
    if (!inputs)
        PyErr_NoMemory();
    else if (to_inputs(tuple, count, inputs, &owners) == 0 && to_attributes(attrs, &room) == 0)
        result = output_count == 1
                     ? core_apply1(op, inputs, (size_t)count, room.attributes, (size_t)room.count)
                     : apply_all(op, inputs, count, &room, output_count);
    if (inputs != few)
        PyMem_Free(inputs);
    Py_XDECREF(owners);
    Py_DECREF(tuple);
    return result;
}

/* assign(target, source, cast=False) → target */
static PyObject *assign(PyObject *module, PyObject *args, PyObject *kwargs)
{
    (void)module;
    static char *names[] = {"target", "source", "cast", NULL};
    PyObject *target = NULL, *source = NULL, *owner = NULL;
    int cast = 0;
    burn_input input;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|p", names, &target, &source, &cast))
        return NULL;
    if (!core_check_tensor(target, "the target"))
        return NULL;
    int done = core_to_input_or_array(source, &input, &owner);
    if (done == 0)
        core_fail(core.argument_error, "a tensor or a number is expected");
    if (done <= 0)
        return NULL;
    burn_status status = burn_assign(tensor_of(target), input, cast ? BURN_ASSIGN_CAST : 0);
    if (status == BURN_STATUS_OK)
        core_note_location(burn_context_of(tensor_of(target)));
    Py_XDECREF(owner);
    if (status != BURN_STATUS_OK)
        return core_raise(status);
    Py_INCREF(target);
    return target;
}

static PyObject *set_data(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *target = NULL, *source = NULL;
    if (!PyArg_ParseTuple(args, "OO", &target, &source) ||
        !core_check_tensor(target, "the target") || !core_check_tensor(source, "the source"))
        return NULL;
    burn_status status = burn_set_data(tensor_of(target), tensor_of(source));
    if (status != BURN_STATUS_OK)
        return core_raise(status);
    Py_RETURN_NONE;
}

/* full(shape, value, dtype) */
static PyObject *full(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *shape = NULL, *value = NULL, *dtype_object = NULL;
    int64_t dims[BURN_MAX_RANK];
    int dtype = 0;
    burn_input input;
    if (!PyArg_ParseTuple(args, "OOO", &shape, &value, &dtype_object) ||
        core_to_dtype(dtype_object, &dtype) < 0)
        return NULL;
    int rank = core_to_shape(shape, dims);
    int done = rank < 0 ? -1 : core_to_input(value, &input);
    if (done == 0)
        core_fail(core.argument_error, "the value must be a number");
    if (done <= 0)
        return NULL;
    burn_attribute attributes[] = {burn_list(dims, (size_t)rank), burn_number(dtype)};
    static int op;
    if (op == 0)
        op = burn_find_op("full");
    return core_apply1(op, &input, 1, attributes, 2);
}

PyMethodDef core_op_methods[] = {
    {"apply", (PyCFunction)(void (*)(void))apply, METH_VARARGS | METH_KEYWORDS, "Records one op."},
    {"assign", (PyCFunction)(void (*)(void))assign, METH_VARARGS | METH_KEYWORDS,
     "target := source."},
    {"set_data", set_data, METH_VARARGS, "target.data = source."},
    {"full", full, METH_VARARGS, "A tensor of one value."},
    {NULL, NULL, 0, NULL},
};
