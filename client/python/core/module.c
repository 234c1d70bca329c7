/* SPDX-License-Identifier: Apache-2.0
 * The module burn._core: set-up and registration. Contract: README.md. */
#include <string.h>

#include "client/python/core/core.h"

core_state core;

static void keep(PyObject **place, PyObject *object)
{
    PyObject *before = *place;
    Py_INCREF(object);
    *place = object;
    Py_XDECREF(before);
}

static PyObject *set_tensor_class(PyObject *module, PyObject *type)
{
    (void)module;
    if (!PyType_Check(type) || !PyType_IsSubtype((PyTypeObject *)type, core.tensor_type))
        return core_fail(core.argument_error, "the class must derive from _core.Tensor");
    Py_INCREF(type);
    core.tensor_class = (PyTypeObject *)type; /* classes live as long as the module */
    core.tensor_alloc = (allocfunc)PyType_GetSlot(core.tensor_class, Py_tp_alloc);
    Py_RETURN_NONE;
}

/* What is kept here is one interpreter's. */
static bool check_interpreter(void)
{
    if (PyInterpreterState_GetID(PyInterpreterState_Get()) == 0)
        return true;
    PyErr_SetString(PyExc_ImportError, "burn works in the first interpreter of a process only, in "
                                       "none that was made within it (a sub-interpreter)");
    return false;
}

/* The first that the package calls; other interpreters get a copy of the module without asking. */
static PyObject *set_dtypes(PyObject *module, PyObject *list)
{
    (void)module;
    if (!check_interpreter())
        return NULL;
    if (PySequence_Size(list) != CORE_DTYPES)
        return PyErr_Occurred()
                   ? NULL
                   : core_fail(core.invalid_error, "%d objects are expected", CORE_DTYPES);
    for (int i = 1; i < CORE_DTYPES; i++) {
        PyObject *object = PySequence_GetItem(list, i);
        if (!object)
            return NULL;
        keep(&core.dtypes[i], object);
        Py_DECREF(object);
    }
    Py_RETURN_NONE;
}

static PyObject *set_size_class(PyObject *module, PyObject *type)
{
    (void)module;
    keep(&core.size_class, type);
    Py_RETURN_NONE;
}

static PyObject *set_device_class(PyObject *module, PyObject *type)
{
    (void)module;
    keep(&core.device_class, type);
    Py_RETURN_NONE;
}

static PyObject *set_hook(PyObject *module, PyObject *args)
{
    (void)module;
    static const char *const names[HOOK_COUNT] = {
        [HOOK_GETITEM] = "getitem", [HOOK_SETITEM] = "setitem", [HOOK_REPR] = "repr",
        [HOOK_FORMAT] = "format",   [HOOK_BINARY] = "binary",   [HOOK_MATMUL] = "matmul"};
    const char *name = NULL;
    PyObject *function = NULL;
    if (!PyArg_ParseTuple(args, "sO", &name, &function))
        return NULL;
    for (int i = 0; i < HOOK_COUNT; i++)
        if (strcmp(names[i], name) == 0) {
            keep(&core.hooks[i], function);
            Py_RETURN_NONE;
        }
    return core_fail(core.invalid_error, "there is no hook '%s'", name);
}

static PyMethodDef set_up_methods[] = {
    {"set_tensor_class", set_tensor_class, METH_O, "The class of tensors made from now on."},
    {"set_dtypes", set_dtypes, METH_O, "What stands for the dtypes, by number."},
    {"set_size_class", set_size_class, METH_O, "The class of Tensor.shape."},
    {"set_device_class", set_device_class, METH_O, "The class of Tensor.device."},
    {"set_hook", set_hook, METH_VARARGS, "A function in Python for a part of the type."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "burn._core",
                                        .m_doc = "The C part of burn.", .m_size = -1,
                                        .m_methods = set_up_methods};

PyMODINIT_FUNC PyInit__core(void);

PyMODINIT_FUNC PyInit__core(void)
{
    PyMethodDef *const tables[] = {
        core_op_methods,     core_create_methods,   core_connection_methods, core_location_methods,
        core_dlpack_methods, core_autograd_methods, core_attach_methods,
        core_rebuild_methods, core_name_methods, core_host_methods};
    if (!check_interpreter())
        return NULL;
    PyObject *module = PyModule_Create(&definition);
    if (!module)
        return NULL;
    int done = core_add_errors(module);
    for (size_t i = 0; done == 0 && i < sizeof tables / sizeof *tables; i++)
        done = PyModule_AddFunctions(module, tables[i]);
    if (done == 0)
        done = core_add_tensor_type(module);
    if (done == 0)
        done = core_add_program_type(module);
    if (done == 0)
        done = core_add_host_type(module);
    if (done == 0)
        return module;
    Py_DECREF(module);
    return NULL;
}
