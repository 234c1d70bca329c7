/* SPDX-License-Identifier: Apache-2.0
 * Python objects on tensors: hooks, and gradient rules written in Python. */
#include "client/python/core/core.h"

/* Objects that the client let go of. It does so within calls that must not run Python code, so
 * their references are given up a little later. */
typedef struct dead_object {
    PyObject *object;
    struct dead_object *next;
} dead_object;

static dead_object *dead_objects; /* under the GIL */

static int bury(void *unused)
{
    (void)unused;
    while (dead_objects) {
        dead_object *dead = dead_objects;
        dead_objects = dead->next;
        Py_DECREF(dead->object);
        PyMem_Free(dead);
    }
    return 0;
}

static void let_go(void *object)
{
    dead_object *dead = PyMem_Malloc(sizeof *dead);
    if (!dead)
        return; /* without memory the object stays */
    *dead = (dead_object){object, dead_objects};
    dead_objects = dead;
    if (!dead->next)
        Py_AddPendingCall(bury, NULL); /* if it fails, the next attach() does it */
}

/* attach(tensor, object) */
static PyObject *attach(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *tensor = NULL, *object = NULL;
    bury(NULL);
    if (!PyArg_ParseTuple(args, "OO", &tensor, &object) || !core_check_tensor(tensor, "tensor"))
        return NULL;
    burn_status status = burn_attach(tensor_of(tensor), object, let_go);
    if (status != BURN_STATUS_OK)
        return core_raise(status);
    Py_INCREF(object);
    Py_RETURN_NONE;
}

static PyObject *attached(PyObject *module, PyObject *tensor)
{
    (void)module;
    void *object = NULL;
    if (!core_check_tensor(tensor, "tensor"))
        return NULL;
    burn_status status = burn_attached(tensor_of(tensor), &object);
    if (status != BURN_STATUS_OK)
        return core_raise(status);
    PyObject *result = object ? object : Py_None;
    Py_INCREF(result);
    return result;
}

/* set_hooked(leaf, flag) */
static PyObject *set_hooked(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *tensor = NULL;
    int flag = 0;
    if (!PyArg_ParseTuple(args, "Op", &tensor, &flag) || !core_check_tensor(tensor, "tensor"))
        return NULL;
    burn_status status = burn_set_hooked(tensor_of(tensor), flag);
    if (status != BURN_STATUS_OK)
        return core_raise(status);
    Py_RETURN_NONE;
}

static PyObject *end_history(PyObject *module, PyObject *tensor)
{
    (void)module;
    if (!core_check_tensor(tensor, "tensor"))
        return NULL;
    burn_status status = burn_end_history(tensor_of(tensor));
    if (status != BURN_STATUS_OK)
        return core_raise(status);
    Py_RETURN_NONE;
}

static PyObject *snapshot(PyObject *module, PyObject *tensor)
{
    (void)module;
    burn_tensor *made = NULL;
    if (!core_check_tensor(tensor, "tensor"))
        return NULL;
    burn_status status = burn_snapshot(tensor_of(tensor), &made);
    return status == BURN_STATUS_OK ? core_wrap(made) : core_raise(status);
}

static PyObject *attachments(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyLong_FromUnsignedLongLong(core.context ? burn_attachments(core.context) : 0);
}

/* One (tensor, object or None, id); takes the tensor over. */
static PyObject *wrap_reached(burn_reached_value *value)
{
    burn_tensor *tensor = value->tensor;
    PyObject *object = value->object ? value->object : Py_None;
    value->tensor = NULL;
    Py_INCREF(object);
    PyObject *wrapped = core_wrap(tensor);
    PyObject *id = PyLong_FromUnsignedLongLong(value->id);
    PyObject *triple = wrapped && id ? PyTuple_Pack(3, wrapped, object, id) : NULL;
    Py_XDECREF(wrapped);
    Py_DECREF(object);
    Py_XDECREF(id);
    return triple;
}

static PyObject *reached(PyObject *module, PyObject *roots)
{
    (void)module;
    core_list list;
    burn_reached_value *values = NULL;
    size_t count = 0;
    PyObject *result = NULL;
    burn_context *context = core_context();
    if (!context)
        return NULL;
    if (core_begin_list(roots, &list) == 0) {
        burn_status status =
            burn_reached(context, list.items, (size_t)list.count, &values, &count);
        result = status == BURN_STATUS_OK ? PyList_New(0) : core_raise(status);
    }
    core_end_list(&list);
    for (size_t i = 0; result && i < count; i++) {
        PyObject *triple = wrap_reached(&values[i]);
        if (!triple || PyList_Append(result, triple) < 0)
            Py_CLEAR(result);
        Py_XDECREF(triple);
    }
    if (values)
        burn_free_reached(values, count);
    return result;
}

PyMethodDef core_attach_methods[] = {
    {"attach", attach, METH_VARARGS, "Hangs an object on what a tensor shows now."},
    {"attached", attached, METH_O, "The object, or None."},
    {"set_hooked", set_hooked, METH_VARARGS, "Whether reached() tells of a leaf."},
    {"end_history", end_history, METH_O, "The tensor requires a gradient; its rule is in Python."},
    {"snapshot", snapshot, METH_O,
     "Another tensor of the same value; assignments do not reach it."},
    {"attachments", attachments, METH_NOARGS, "How many attachments and hooked leaves there are."},
    {"reached", reached, METH_O, "What is attached to tensors that the roots depend on."},
    {NULL, NULL, 0, NULL},
};
