/* SPDX-License-Identifier: Apache-2.0
 * Memory of burn_alloc as an object with a buffer: what burn.empty_host's arrays lie in. */
#include "client/python/core/core.h"

typedef struct host_object {
    PyObject_HEAD void *bytes;
    Py_ssize_t size_bytes;
} host_object;

static PyTypeObject *host_type; /* made once */

static int get_buffer(PyObject *self, Py_buffer *view, int flags)
{
    host_object *host = (host_object *)self;
    return PyBuffer_FillInfo(view, self, host->bytes, host->size_bytes, 0, flags);
}

static void free_host(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    burn_dealloc(((host_object *)self)->bytes);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static PyObject *host_memory(PyObject *module, PyObject *size)
{
    (void)module;
    Py_ssize_t size_bytes = PyLong_AsSsize_t(size);
    burn_context *context = PyErr_Occurred() ? NULL : core_context();
    if (!context)
        return NULL;
    if (size_bytes < 0)
        return core_fail(core.invalid_error, "%zd bytes of memory", size_bytes);
    PyObject *self = ((allocfunc)PyType_GetSlot(host_type, Py_tp_alloc))(host_type, 0);
    if (!self)
        return NULL;
    host_object *host = (host_object *)self;
    burn_status status = burn_alloc(context, (size_t)size_bytes, &host->bytes);
    if (status == BURN_STATUS_OK) {
        host->size_bytes = size_bytes;
        return self;
    }
    Py_DECREF(self);
    return core_raise(status);
}

int core_add_host_type(PyObject *module)
{
    PyType_Slot slots[] = {{Py_tp_dealloc, free_host},
                           {Py_bf_getbuffer, get_buffer},
                           {Py_tp_doc, "Memory that the daemon shares where it can."},
                           {0, NULL}};
    PyType_Spec spec = {.name = "burn._core.HostMemory",
                        .basicsize = sizeof(host_object),
                        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                        .slots = slots};
    host_type = (PyTypeObject *)PyType_FromSpec(&spec);
    return host_type ? PyModule_AddObjectRef(module, "HostMemory", (PyObject *)host_type) : -1;
}

/* read_into(tensor, buffer): a contiguous one of as many bytes. */
static PyObject *read_into(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *tensor = NULL, *target = NULL;
    Py_buffer view;
    if (!PyArg_ParseTuple(args, "OO", &tensor, &target) ||
        !core_check_tensor(tensor, "the first argument") ||
        PyObject_GetBuffer(target, &view, PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS) < 0)
        return NULL;
    burn_status status = burn_read(tensor_of(tensor), view.buf, (size_t)view.len);
    PyBuffer_Release(&view);
    if (status != BURN_STATUS_OK)
        return core_raise(status);
    Py_RETURN_NONE;
}

PyMethodDef core_host_methods[] = {
    {"read_into", read_into, METH_VARARGS, "Copies a tensor's elements into a buffer."},
    {"host_memory", host_memory, METH_O, "Memory of so many bytes."},
    {NULL, NULL, 0, NULL},
};
