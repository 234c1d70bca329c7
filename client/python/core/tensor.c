/* SPDX-License-Identifier: Apache-2.0
 * The Tensor type: one Python object a handle, attributes, life. */
#include <stddef.h>

#include "client/python/core/core.h"

#include <structmember.h>

#include "client/python/core/ops.h"

/* ---- life ------------------------------------------------------------------------------------ */

PyObject *core_wrap_as(PyTypeObject *type, burn_tensor *own_tensor)
{
    allocfunc alloc = type == core.tensor_class ? core.tensor_alloc
                                                : (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    PyObject *object = alloc(type, 0);
    if (!object) {
        burn_release(own_tensor);
        return NULL;
    }
    ((tensor_object *)object)->tensor = own_tensor;
    burn_set_user(own_tensor, object);
    return object;
}

/* The object that stands for the handle already, or a new one. */
PyObject *core_wrap(burn_tensor *own_tensor)
{
    PyObject *object = burn_user(own_tensor);
    if (!object)
        return core_wrap_as(core.tensor_class, own_tensor);
    burn_release(own_tensor);
    Py_INCREF(object);
    return object;
}

static void deallocate(PyObject *self)
{
    tensor_object *object = (tensor_object *)self;
    PyTypeObject *type = Py_TYPE(self);
    if (object->weak)
        PyObject_ClearWeakRefs(self);
    if (object->tensor) {
        if (burn_user(object->tensor) == self)
            burn_set_user(object->tensor, NULL);
        burn_release(object->tensor);
    }
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

static PyObject *refuse_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    (void)type, (void)args, (void)kwargs;
    return core_fail(core.argument_error,
                     "make tensors with burn.tensor(), burn.zeros() and the like");
}

bool core_check_tensor(PyObject *object, const char *what)
{
    if (is_tensor(object))
        return true;
    PyObject *name = PyType_GetName(Py_TYPE(object));
    core_fail(core.argument_error, "%s must be a Tensor, not %U", what, name);
    Py_XDECREF(name);
    return false;
}

/* ---- attributes
 * ---------------------------------------------------------------------------------- */

static PyObject *tuple_of(const int64_t *numbers, int count)
{
    PyObject *tuple = PyTuple_New(count);
    for (int i = 0; tuple && i < count; i++) {
        PyObject *number = PyLong_FromLongLong(numbers[i]);
        if (!number)
            Py_CLEAR(tuple);
        else
            PyTuple_SetItem(tuple, i, number);
    }
    return tuple;
}

PyObject *core_shape(const burn_tensor *tensor)
{
    PyObject *tuple = tuple_of(burn_shape_of(tensor), burn_rank(tensor));
    if (!tuple || !core.size_class)
        return tuple;
    PyObject *size = PyObject_CallFunctionObjArgs(core.size_class, tuple, NULL);
    Py_DECREF(tuple);
    return size;
}

static PyObject *get_shape(PyObject *self, void *unused)
{
    (void)unused;
    return core_shape(tensor_of(self));
}

static PyObject *get_dtype(PyObject *self, void *unused)
{
    (void)unused;
    int number = burn_dtype_of(tensor_of(self));
    PyObject *object = core.dtypes[number];
    if (!object)
        return PyLong_FromLong(number);
    Py_INCREF(object);
    return object;
}

static PyObject *get_device(PyObject *self, void *unused)
{
    (void)self, (void)unused;
    return core_device();
}

static PyObject *get_ndim(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromLong(burn_rank(tensor_of(self)));
}

static PyObject *get_itemsize(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromSize_t(burn_dtype_bytes(burn_dtype_of(tensor_of(self))));
}

static PyObject *get_nbytes(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromSize_t(burn_size_bytes(tensor_of(self)));
}

static PyObject *get_version(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLongLong(burn_version_of(tensor_of(self)));
}

static PyObject *get_id(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLongLong(burn_id_of(tensor_of(self)));
}

static PyObject *get_is_view(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(burn_is_view(tensor_of(self)));
}

static PyObject *get_contiguous(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(burn_is_contiguous(tensor_of(self)));
}

static PyObject *get_strides(PyObject *self, void *unused)
{
    (void)unused;
    int64_t strides[BURN_MAX_RANK];
    burn_strides_of(tensor_of(self), strides);
    return tuple_of(strides, burn_rank(tensor_of(self)));
}

static PyObject *permuted(PyObject *self, const int64_t *dims)
{
    burn_input input = burn_in(tensor_of(self));
    burn_attribute attribute = burn_list(dims, (size_t)burn_rank(tensor_of(self)));
    return core_apply1(OP_PERMUTE, &input, 1, &attribute, 1);
}

static PyObject *get_transposed(PyObject *self, void *unused)
{
    (void)unused;
    int rank = burn_rank(tensor_of(self));
    int64_t dims[BURN_MAX_RANK] = {0};
    for (int i = 0; i < rank; i++)
        dims[i] = rank - 1 - i;
    return permuted(self, dims);
}

static PyObject *get_matrix_transposed(PyObject *self, void *unused)
{
    (void)unused;
    int rank = burn_rank(tensor_of(self));
    int64_t dims[BURN_MAX_RANK] = {0};
    if (rank < 2)
        return core_fail(
            core.invalid_error,
            "tensor.mT is only supported on matrices or batches of matrices. Got %d-D tensor.",
            rank);
    for (int i = 0; i < rank; i++)
        dims[i] = i;
    dims[rank - 1] = rank - 2;
    dims[rank - 2] = rank - 1;
    return permuted(self, dims);
}

static PyGetSetDef attributes[] = {
    {"shape", get_shape, NULL, "The sizes of the dims.", NULL},
    {"dtype", get_dtype, NULL, "The type of the elements.", NULL},
    {"device", get_device, NULL, "Where it lives.", NULL},
    {"ndim", get_ndim, NULL, "The number of dims.", NULL},
    {"itemsize", get_itemsize, NULL, "Bytes of an element.", NULL},
    {"nbytes", get_nbytes, NULL, "Bytes of all elements.", NULL},
    {"T", get_transposed, NULL, "The dims in reverse order.", NULL},
    {"mT", get_matrix_transposed, NULL, "The last two dims swapped.", NULL},
    {"_version", get_version, NULL, "Counts assignments.", NULL},
    {"_id", get_id, NULL, "Its id on the wire.", NULL},
    {"_is_view", get_is_view, NULL, "Whether it shares with a base.", NULL},
    {"_strides", get_strides, NULL, "PyTorch's strides, in elements.", NULL},
    {"_contiguous", get_contiguous, NULL, "What PyTorch's strides would say.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

/* ---- methods
 * ------------------------------------------------------------------------------------- */

static PyObject *size(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"dim", NULL};
    PyObject *dim = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O", names, &dim))
        return NULL;
    if (dim == Py_None)
        return core_shape(tensor_of(self));
    long index = PyLong_AsLong(dim);
    if (index == -1 && PyErr_Occurred())
        return NULL;
    int rank = burn_rank(tensor_of(self));
    if (index < -rank || index >= rank)
        return core_fail(
            core.range_error,
            "Dimension out of range (expected to be in range of [%d, %d], but got %ld)",
            rank ? -rank : -1, rank ? rank - 1 : 0, index);
    return PyLong_FromLongLong(burn_shape_of(tensor_of(self))[index < 0 ? index + rank : index]);
}

/* _viewable(shape): whether view(shape), with all sizes given, shares. */
static PyObject *viewable(PyObject *self, PyObject *shape)
{
    int64_t dims[BURN_MAX_RANK];
    int rank = core_to_shape(shape, dims);
    return rank < 0 ? NULL : PyBool_FromLong(burn_can_view(tensor_of(self), rank, dims));
}

static PyObject *dim(PyObject *self, PyObject *unused)
{
    (void)unused;
    return PyLong_FromLong(burn_rank(tensor_of(self)));
}

static PyObject *numel(PyObject *self, PyObject *unused)
{
    (void)unused;
    return PyLong_FromLongLong(burn_elements(tensor_of(self)));
}

static PyObject *iterate(PyObject *self)
{
    if (burn_rank(tensor_of(self)) == 0)
        return core_fail(core.argument_error, "iteration over a 0-d tensor");
    return PySeqIter_New(self);
}

/* _make_subclass(cls, data, requires_grad=False): a cls that shares with data. */
static PyObject *make_subclass(PyObject *unused, PyObject *args)
{
    (void)unused;
    PyObject *type = NULL, *source = NULL;
    int requires_grad = -1;
    if (!PyArg_ParseTuple(args, "OO|p", &type, &source, &requires_grad))
        return NULL;
    if (!PyType_Check(type) || !PyType_IsSubtype((PyTypeObject *)type, core.tensor_type))
        return core_fail(core.argument_error, "the class must derive from Tensor");
    if (!core_check_tensor(source, "the data"))
        return NULL;
    burn_tensor *alias = NULL;
    burn_status status = requires_grad < 0 ? burn_alias(tensor_of(source), &alias)
                                           : burn_detach(tensor_of(source), &alias);
    if (status == BURN_STATUS_OK && requires_grad > 0)
        status = burn_set_requires_grad(alias, 1);
    if (status == BURN_STATUS_OK)
        return core_wrap_as((PyTypeObject *)type, alias);
    burn_release(alias);
    return core_raise(status);
}

static PyMethodDef methods[] = {
    {"size", (PyCFunction)(void (*)(void))size, METH_VARARGS | METH_KEYWORDS,
     "The shape, or the size of one dim."},
    {"_viewable", viewable, METH_O, "Whether a view of that shape shares."},
    {"dim", dim, METH_NOARGS, "The number of dims."},
    {"ndimension", dim, METH_NOARGS, "The number of dims."},
    {"numel", numel, METH_NOARGS, "The number of elements."},
    {"nelement", numel, METH_NOARGS, "The number of elements."},
    {"_make_subclass", make_subclass, METH_VARARGS | METH_STATIC,
     "A tensor of another class that shares."},
    {"__dlpack__", (PyCFunction)(void (*)(void))core_to_dlpack, METH_VARARGS | METH_KEYWORDS,
     "A capsule with a copy in this process."},
    {"__dlpack_device__", core_dlpack_device, METH_NOARGS, "(1, 0): this process's memory."},
    {NULL, NULL, 0, NULL},
};

/* ---- the type
 * -------------------------------------------------------------------------------------- */

static PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(tensor_object, weak), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

enum { SLOTS_MAX = 64, TABLE_MAX = 96 };

/* One table from several: the files each bring their own. */
static void append_methods(PyMethodDef *table, size_t *count, const PyMethodDef *rows)
{
    for (; rows->ml_name && *count + 1 < TABLE_MAX; rows++)
        table[(*count)++] = *rows;
}

static void append_attributes(PyGetSetDef *table, size_t *count, const PyGetSetDef *rows)
{
    for (; rows->name && *count + 1 < TABLE_MAX; rows++)
        table[(*count)++] = *rows;
}

int core_add_tensor_type(PyObject *module)
{
    static PyMethodDef all_methods[TABLE_MAX]; /* the type keeps pointers to them */
    static PyGetSetDef all_attributes[TABLE_MAX];
    size_t method_count = 0, attribute_count = 0, slot_count = 0;
    append_methods(all_methods, &method_count, methods);
    append_methods(all_methods, &method_count, core_value_methods);
    append_methods(all_methods, &method_count, core_tensor_grad_methods);
    append_attributes(all_attributes, &attribute_count, attributes);
    append_attributes(all_attributes, &attribute_count, core_tensor_attributes);
    const PyType_Slot own_slots[] = {{Py_tp_dealloc, deallocate},  {Py_tp_new, refuse_new},
                                     {Py_tp_methods, all_methods}, {Py_tp_getset, all_attributes},
                                     {Py_tp_members, members},     {Py_tp_iter, iterate}};
    PyType_Slot slots[SLOTS_MAX];
    for (size_t i = 0; i < sizeof own_slots / sizeof *own_slots; i++)
        slots[slot_count++] = own_slots[i];
    for (const PyType_Slot *slot = core_operator_slots; slot->slot && slot_count + 1 < SLOTS_MAX;
         slot++)
        slots[slot_count++] = *slot;
    slots[slot_count] = (PyType_Slot){0, NULL};
    PyType_Spec spec = {.name = "burn._core.Tensor",
                        .basicsize = sizeof(tensor_object),
                        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                        .slots = slots};
    PyObject *type = PyType_FromSpec(&spec);
    if (!type)
        return -1;
    core.tensor_type = core.tensor_class = (PyTypeObject *)type;
    core.tensor_alloc = (allocfunc)PyType_GetSlot(core.tensor_class, Py_tp_alloc);
    PyObject *priority = PyLong_FromLong(1000);
    int set = priority ? PyObject_SetAttrString(type, "__array_priority__", priority) : -1;
    Py_XDECREF(priority);
    if (set < 0 || PyObject_SetAttrString(type, "__array_ufunc__", Py_None) < 0)
        return -1;
    return PyModule_AddObjectRef(module, "Tensor", type);
}
