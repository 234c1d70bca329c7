/* SPDX-License-Identifier: Apache-2.0
 * Exceptions: one class a status, which also derives from what PyTorch raises in such a case. */
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "client/python/core/core.h"

typedef struct row {
    burn_status status;
    const char *name;
    const char *other; /* a second base among the built-in ones, or NULL */
} row;

static const row rows[] = {
    {BURN_STATUS_INVALID, "InvalidError", "ValueError"},
    {BURN_STATUS_NOT_FOUND, "NotFoundError", "LookupError"},
    {BURN_STATUS_CONFLICT, "ConflictError", NULL},
    {BURN_STATUS_LIMIT, "LimitError", NULL},
    {BURN_STATUS_NO_MEMORY, "OutOfMemoryError", "MemoryError"},
    {BURN_STATUS_UNSUPPORTED, "UnsupportedError", "NotImplementedError"},
    {BURN_STATUS_DEVICE, "DeviceError", NULL},
    {BURN_STATUS_DEVICE_LOST, "DeviceLostError", NULL},
    {BURN_STATUS_UNAVAILABLE, "ConnectionError", "ConnectionError"},
    {BURN_STATUS_UNAUTHENTICATED, "UnauthenticatedError", "PermissionError"},
    {BURN_STATUS_DENIED, "DeniedError", "PermissionError"},
    {BURN_STATUS_CANCELLED, "CancelledError", NULL},
    {BURN_STATUS_DEADLINE, "DeadlineError", "TimeoutError"},
    {BURN_STATUS_PROTOCOL, "ProtocolError", NULL},
    {BURN_STATUS_INTERNAL, "InternalError", NULL},
};

/* A new reference. */
static PyObject *builtin(const char *name)
{
    PyObject *builtins = PyImport_ImportModule("builtins");
    PyObject *found = builtins ? PyObject_GetAttrString(builtins, name) : NULL;
    Py_XDECREF(builtins);
    return found;
}

static PyObject *make_class(PyObject *module, const char *name, PyObject *base, const char *other)
{
    char full[64];
    PyOS_snprintf(full, sizeof full, "burn.%s", name);
    PyObject *second = other ? builtin(other) : NULL;
    if (other && !second)
        return NULL;
    PyObject *bases = second ? PyTuple_Pack(2, base, second) : PyTuple_Pack(1, base);
    PyObject *made = bases ? PyErr_NewException(full, bases, NULL) : NULL;
    Py_XDECREF(bases);
    Py_XDECREF(second);
    if (made && PyModule_AddObjectRef(module, name, made) < 0)
        Py_CLEAR(made);
    return made;
}

int core_add_errors(PyObject *module)
{
    PyObject *attributes = Py_BuildValue("{sisK}", "code", 0, "op", 0ull);
    core.errors[0] =
        attributes ? PyErr_NewException("burn.Error", PyExc_RuntimeError, attributes) : NULL;
    Py_XDECREF(attributes);
    if (!core.errors[0] || PyModule_AddObjectRef(module, "Error", core.errors[0]) < 0)
        return -1;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        PyObject *made = make_class(module, rows[i].name, core.errors[0], rows[i].other);
        if (!made)
            return -1;
        core.errors[rows[i].status] = made;
        PyObject *code = PyLong_FromLong(rows[i].status);
        int status = code ? PyObject_SetAttrString(made, "code", code) : -1;
        Py_XDECREF(code);
        if (status < 0)
            return -1;
    }
    core.invalid_error = core.errors[BURN_STATUS_INVALID];
    core.range_error = make_class(module, "RangeError", core.invalid_error, "IndexError");
    core.argument_error = make_class(module, "ArgumentError", core.invalid_error, "TypeError");
    if (!core.argument_error)
        return -1;
    core.dtype_error = make_class(module, "DtypeError", core.argument_error, NULL);
    return core.range_error && core.dtype_error ? 0 : -1;
}

/* An INVALID may be about an index or about a dtype; only its words tell. */
static PyObject *class_of(const burn_error *error)
{
    if (error->status == BURN_STATUS_INVALID &&
        (strstr(error->text, "out of range") || strstr(error->text, " is outside ")))
        return core.range_error;
    if (error->status == BURN_STATUS_INVALID &&
        (strstr(error->text, "dtype") || strstr(error->text, "integers")))
        return core.dtype_error;
    if (error->status > 0 && error->status < CORE_CLASSES)
        return core.errors[error->status];
    return core.errors[0];
}

/* Of a connection that has failed. */
static PyObject *with_advice(PyObject *own_text)
{
    PyObject *text = own_text ? PyUnicode_FromFormat("%U; burn.connect() makes a new connection, "
                                                     "without the tensors of this one", own_text)
                              : NULL;
    Py_XDECREF(own_text);
    return text;
}

PyObject *core_raise(burn_status status)
{
    (void)status;
    const burn_error *error = burn_last_error();
    if (PyErr_Occurred()) /* an interrupt: what its handler raised counts */
        return NULL;
    PyObject *kind = class_of(error);
    bool dead = core.context && core.pid == (long)getpid() && !burn_alive(core.context);
    PyObject *place = error->op_number ? core_location(error->op_number) : NULL;
    PyObject *file = place ? PyTuple_GetItem(place, 0) : NULL;
    PyObject *text = NULL;
    if (file)
        text = PyUnicode_FromFormat("%s (op %llu at %U:%S)", error->text,
                                    (unsigned long long)error->op_number, file,
                                    PyTuple_GetItem(place, 1));
    else
        text = PyUnicode_DecodeUTF8(error->text, (Py_ssize_t)strlen(error->text), "replace");
    Py_XDECREF(place);
    if (dead)
        text = with_advice(text);
    PyObject *exception = text ? PyObject_CallFunctionObjArgs(kind, text, NULL) : NULL;
    Py_XDECREF(text);
    if (!exception)
        return NULL;
    PyObject *code = PyLong_FromLong(error->status);
    PyObject *op = PyLong_FromUnsignedLongLong(error->op_number);
    if (code && op && PyObject_SetAttrString(exception, "code", code) == 0 &&
        PyObject_SetAttrString(exception, "op", op) == 0)
        PyErr_SetObject(kind, exception);
    Py_XDECREF(code);
    Py_XDECREF(op);
    Py_DECREF(exception);
    return NULL;
}

PyObject *core_fail(PyObject *type, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    PyErr_FormatV(type, format, arguments);
    va_end(arguments);
    return NULL;
}
