/* SPDX-License-Identifier: Apache-2.0
 * Values by name: what burn.names is made of. */
#include "client/python/core/core.h"

/* The texts of a sequence, borrowed from it; NULL with an exception. PyMem. */
static const char **texts_of(PyObject *sequence, Py_ssize_t count)
{
    const char **texts = PyMem_Calloc((size_t)count + 1, sizeof *texts);
    if (!texts)
        return (const char **)PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = PyTuple_GetItem(sequence, i);
        texts[i] = item ? PyUnicode_AsUTF8AndSize(item, NULL) : NULL;
        if (!texts[i]) {
            PyMem_Free(texts);
            return NULL;
        }
    }
    return texts;
}

static burn_status export_list(const char *name, PyObject *parts, const core_list *list, int wait)
{
    const char **texts = NULL;
    if (parts != Py_None && !(texts = texts_of(parts, list->count)))
        return -1;
    burn_context *context = core_context();
    burn_status status = -1;
    if (context)
        status = burn_export(context, name, texts, list->items, (size_t)list->count, wait);
    PyMem_Free(texts);
    if (status > 0)
        core_raise(status);
    return status;
}

/* publish(name, parts or None, tensors, wait) */
static PyObject *publish(PyObject *module, PyObject *args)
{
    (void)module;
    const char *name = NULL;
    PyObject *parts = NULL, *tensors = NULL, *result = NULL;
    int wait = 1;
    core_list list;
    if (!PyArg_ParseTuple(args, "sOOp", &name, &parts, &tensors, &wait))
        return NULL;
    bool named = parts != Py_None;
    if (named && (!PyTuple_Check(parts) || PyTuple_Size(parts) != PySequence_Size(tensors)))
        return core_fail(core.invalid_error, "parts are a tuple, one for each tensor");
    if (core_begin_list(tensors, &list) == 0 && export_list(name, parts, &list, wait) == 0) {
        Py_INCREF(Py_None);
        result = Py_None;
    }
    core_end_list(&list);
    return result;
}

/* The pair (part, tensor); consumes the item's tensor. */
static PyObject *pair_of(burn_named *item)
{
    burn_tensor *tensor = item->tensor;
    item->tensor = NULL;
    PyObject *object = core_wrap(tensor);
    return object ? Py_BuildValue("(sN)", item->part, object) : NULL;
}

static PyObject *get_named(PyObject *module, PyObject *name)
{
    (void)module;
    burn_context *context = core_context();
    const char *text = context ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
    burn_named *items = NULL;
    size_t count = 0;
    if (!text)
        return NULL;
    burn_status status = burn_import(context, text, &items, &count);
    if (status != BURN_STATUS_OK)
        return core_raise(status);
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < count; i++) {
        PyObject *pair = pair_of(&items[i]);
        if (!pair || PyList_Append(list, pair) < 0)
            Py_CLEAR(list);
        Py_XDECREF(pair);
    }
    burn_free_named(items, count);
    return list;
}

/* publish_program(name, program) */
static PyObject *publish_program(PyObject *module, PyObject *args)
{
    (void)module;
    const char *name = NULL;
    PyObject *object = NULL;
    burn_context *context = core_context();
    if (!context || !PyArg_ParseTuple(args, "sO", &name, &object))
        return NULL;
    burn_program *program = core_to_program(object);
    if (!program)
        return NULL;
    burn_status status = burn_export_program(context, name, program);
    if (status != BURN_STATUS_OK)
        return core_raise(status);
    Py_RETURN_NONE;
}

static PyObject *get_program(PyObject *module, PyObject *name)
{
    (void)module;
    burn_context *context = core_context();
    const char *text = context ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
    burn_program *program = NULL;
    if (!text)
        return NULL;
    burn_status status = burn_import_program(context, text, &program);
    return status == BURN_STATUS_OK ? core_wrap_program(program) : core_raise(status);
}

static PyObject *remove_name(PyObject *module, PyObject *name)
{
    (void)module;
    burn_context *context = core_context();
    const char *text = context ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
    if (!text)
        return NULL;
    burn_status status = burn_unexport(context, text);
    if (status != BURN_STATUS_OK)
        return core_raise(status);
    Py_RETURN_NONE;
}

static PyObject *list_names(PyObject *module, PyObject *prefix)
{
    (void)module;
    burn_context *context = core_context();
    const char *text = context ? PyUnicode_AsUTF8AndSize(prefix, NULL) : NULL;
    char *json = NULL;
    if (!text)
        return NULL;
    burn_status status = burn_list_names(context, text, &json);
    if (status != BURN_STATUS_OK)
        return core_raise(status);
    PyObject *result = PyUnicode_FromString(json);
    burn_free(json);
    return result;
}

PyMethodDef core_name_methods[] = {
    {"publish", publish, METH_VARARGS, "Publishes tensors under a name, in one step."},
    {"get_named", get_named, METH_O, "[(part, tensor)] of a name."},
    {"publish_program", publish_program, METH_VARARGS, "Publishes a program under a name."},
    {"get_program", get_program, METH_O, "The Program of a name."},
    {"remove_name", remove_name, METH_O, "Ends a name and all below it."},
    {"list_names", list_names, METH_O, "JSON of a name and all below it."},
    {NULL, NULL, 0, NULL},
};
