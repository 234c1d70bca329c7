/* SPDX-License-Identifier: Apache-2.0
 * DLPack, both ways, by copy: the elements live in the daemon.
 * Source: github.com/dmlc/dlpack, dlpack.h, version 1.0; the structs are written from its text. */
#include <stdlib.h>
#include <string.h>

#include "client/python/core/core.h"

typedef struct dl_device {
    int32_t type; /* 1: CPU */
    int32_t id;
} dl_device;
typedef struct dl_type {
    uint8_t code; /* 0 int, 1 unsigned, 2 float, 4 bfloat, 6 bool */
    uint8_t bits;
    uint16_t lanes;
} dl_type;
typedef struct dl_tensor {
    void *data;
    dl_device device;
    int32_t ndim;
    dl_type dtype;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} dl_tensor;
typedef struct dl_managed {
    dl_tensor tensor;
    void *context;
    void (*deleter)(struct dl_managed *self);
} dl_managed;
typedef struct dl_versioned {
    uint32_t major, minor;
    void *context;
    void (*deleter)(struct dl_versioned *self);
    uint64_t flags; /* 1 read-only, 2 copied */
    dl_tensor tensor;
} dl_versioned;

enum { FLAG_COPIED = 2, DEVICE_CPU = 1, LANES_ONE = 1 };

static const dl_type types[CORE_DTYPES] = {
    [BURN_DTYPE_FLOAT64] = {2, 64, 1}, [BURN_DTYPE_FLOAT32] = {2, 32, 1},
    [BURN_DTYPE_FLOAT16] = {2, 16, 1}, [BURN_DTYPE_BFLOAT16] = {4, 16, 1},
    [BURN_DTYPE_INT64] = {0, 64, 1},   [BURN_DTYPE_INT32] = {0, 32, 1},
    [BURN_DTYPE_INT16] = {0, 16, 1},   [BURN_DTYPE_INT8] = {0, 8, 1},
    [BURN_DTYPE_UINT64] = {1, 64, 1},  [BURN_DTYPE_UINT32] = {1, 32, 1},
    [BURN_DTYPE_UINT16] = {1, 16, 1},  [BURN_DTYPE_UINT8] = {1, 8, 1},
    [BURN_DTYPE_BOOL] = {6, 8, 1},
};

/* ---- out ------------------------------------------------------------------------------------- */

/* Deleters may run without the GIL, so the memory is not Python's. */
static void delete_managed(dl_managed *self)
{
    free(self);
}

static void delete_versioned(dl_versioned *self)
{
    free(self);
}

static void drop_managed(PyObject *capsule)
{
    if (PyCapsule_IsValid(capsule, "dltensor"))
        delete_managed(PyCapsule_GetPointer(capsule, "dltensor"));
}

static void drop_versioned(PyObject *capsule)
{
    if (PyCapsule_IsValid(capsule, "dltensor_versioned"))
        delete_versioned(PyCapsule_GetPointer(capsule, "dltensor_versioned"));
}

/* Head, shape, strides and elements in one block. NULL with an exception. */
static void *make_block(PyObject *self, size_t head_bytes, size_t tensor_offset)
{
    const burn_tensor *tensor = tensor_of(self);
    size_t rank = (size_t)burn_rank(tensor), bytes = burn_size_bytes(tensor);
    size_t dims_at = (head_bytes + 15) & ~(size_t)15;
    size_t data_at = (dims_at + 2 * rank * sizeof(int64_t) + 63) & ~(size_t)63;
    unsigned char *block = calloc(1, data_at + bytes + 1);
    if (!block)
        return PyErr_NoMemory();
    dl_tensor *out = (dl_tensor *)(void *)(block + tensor_offset);
    *out = (dl_tensor){.data = block + data_at,
                       .device = {DEVICE_CPU, 0},
                       .ndim = (int32_t)rank,
                       .dtype = types[burn_dtype_of(tensor)],
                       .shape = (int64_t *)(void *)(block + dims_at),
                       .strides = (int64_t *)(void *)(block + dims_at) + rank};
    int64_t step = 1;
    for (size_t i = rank; i-- > 0;) {
        out->shape[i] = burn_shape_of(tensor)[i];
        out->strides[i] = step;
        step *= out->shape[i];
    }
    burn_status status = burn_read(tensor_of(self), out->data, bytes);
    if (status == BURN_STATUS_OK)
        return block;
    free(block);
    return core_raise(status);
}

static PyObject *export_versioned(PyObject *self)
{
    dl_versioned *block = make_block(self, sizeof *block, offsetof(dl_versioned, tensor));
    if (!block)
        return NULL;
    block->major = 1;
    block->deleter = delete_versioned;
    block->flags = FLAG_COPIED;
    PyObject *capsule = PyCapsule_New(block, "dltensor_versioned", drop_versioned);
    if (!capsule)
        free(block);
    return capsule;
}

static PyObject *export_managed(PyObject *self)
{
    dl_managed *block = make_block(self, sizeof *block, 0);
    if (!block)
        return NULL;
    block->deleter = delete_managed;
    PyObject *capsule = PyCapsule_New(block, "dltensor", drop_managed);
    if (!capsule)
        free(block);
    return capsule;
}

PyObject *core_to_dlpack(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"stream", "max_version", "dl_device", "copy", NULL};
    PyObject *stream = Py_None, *max_version = Py_None, *device = Py_None, *copy = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOO", names, &stream, &max_version, &device,
                                     &copy))
        return NULL;
    if (stream != Py_None)
        return core_fail(PyExc_BufferError, "memory of the CPU takes no stream");
    if (copy == Py_False)
        return core_fail(PyExc_BufferError,
                         "the elements live in the daemon: an export is always a copy");
    if (device != Py_None) {
        int type = 0, number = 0;
        if (!PyArg_ParseTuple(device, "ii", &type, &number))
            return NULL;
        if (type != DEVICE_CPU)
            return core_fail(PyExc_BufferError, "elements are exported to the CPU only");
    }
    if (burn_requires_grad(tensor_of(self)))
        return core_fail(PyExc_BufferError,
                         "Can't export tensors that require gradient, use tensor.detach()");
    int major = 0, minor = 0;
    if (max_version != Py_None && !PyArg_ParseTuple(max_version, "ii", &major, &minor))
        return NULL;
    return major >= 1 ? export_versioned(self) : export_managed(self);
}

PyObject *core_dlpack_device(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    return Py_BuildValue("ii", DEVICE_CPU, 0);
}

/* ---- in -------------------------------------------------------------------------------------- */

static int dtype_of(dl_type type)
{
    for (int i = 1; i < CORE_DTYPES; i++)
        if (types[i].code == type.code && types[i].bits == type.bits && type.lanes == LANES_ONE)
            return i;
    return 0;
}

/* Row-major bytes of strided elements. */
static void gather(const dl_tensor *from, size_t item_bytes, int64_t count, unsigned char *to)
{
    const unsigned char *base = (const unsigned char *)from->data + from->byte_offset;
    int64_t index[BURN_MAX_RANK] = {0};
    for (int64_t n = 0; n < count; n++) {
        int64_t at = 0;
        for (int32_t d = 0; d < from->ndim; d++)
            at += index[d] * from->strides[d];
        memcpy(to + (size_t)n * item_bytes, base + at * (int64_t)item_bytes, item_bytes);
        for (int32_t d = from->ndim; d-- > 0 && ++index[d] == from->shape[d];)
            index[d] = 0;
    }
}

static bool dense(const dl_tensor *from)
{
    int64_t step = 1;
    for (int32_t d = from->ndim; from->strides && d-- > 0; step *= from->shape[d])
        if (from->shape[d] != 1 && from->strides[d] != step)
            return false;
    return true;
}

static PyObject *take(const dl_tensor *from)
{
    int dtype = dtype_of(from->dtype);
    burn_context *context = core_context();
    if (!context)
        return NULL;
    if (from->device.type != DEVICE_CPU || dtype == 0 || from->ndim > BURN_MAX_RANK)
        return core_fail(
            PyExc_BufferError,
            "only tensors of the CPU, of dtypes that burn has, and of at most %d dims are taken",
            BURN_MAX_RANK);
    int64_t count = 1;
    for (int32_t d = 0; d < from->ndim; d++)
        count *= from->shape[d];
    size_t item_bytes = burn_dtype_bytes(dtype);
    const unsigned char *elements = (const unsigned char *)from->data + from->byte_offset;
    unsigned char *copy = NULL;
    if (count > 0 && !dense(from)) {
        copy = PyMem_Malloc((size_t)count * item_bytes);
        if (!copy)
            return PyErr_NoMemory();
        gather(from, item_bytes, count, copy);
        elements = copy;
    }
    burn_tensor *tensor = NULL;
    burn_status status = burn_upload(context, dtype, from->ndim, from->shape, elements, &tensor);
    PyMem_Free(copy);
    return status == BURN_STATUS_OK ? core_wrap(tensor) : core_raise(status);
}

static PyObject *take_capsule(PyObject *capsule)
{
    PyObject *result = NULL;
    if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
        dl_versioned *managed = PyCapsule_GetPointer(capsule, "dltensor_versioned");
        if (managed->major != 1)
            return core_fail(PyExc_BufferError, "DLPack version %u is not known", managed->major);
        result = take(&managed->tensor);
        if (result && PyCapsule_SetName(capsule, "used_dltensor_versioned") == 0 &&
            managed->deleter)
            managed->deleter(managed);
        return result;
    }
    dl_managed *managed = PyCapsule_GetPointer(capsule, "dltensor");
    result = managed ? take(&managed->tensor) : NULL;
    if (result && PyCapsule_SetName(capsule, "used_dltensor") == 0 && managed->deleter)
        managed->deleter(managed);
    return result;
}

static PyObject *from_dlpack(PyObject *module, PyObject *object)
{
    (void)module;
    if (PyCapsule_CheckExact(object))
        return take_capsule(object);
    PyObject *export = PyObject_GetAttrString(object, "__dlpack__");
    PyObject *none = export ? PyTuple_New(0) : NULL;
    PyObject *version = none ? Py_BuildValue("{s(ii)}", "max_version", 1, 0) : NULL;
    PyObject *capsule = version ? PyObject_Call(export, none, version) : NULL;
    if (!capsule && version &&
        PyErr_ExceptionMatches(PyExc_TypeError)) { /* an exporter from before 1.0 */
        PyErr_Clear();
        capsule = PyObject_Call(export, none, NULL);
    }
    PyObject *result = capsule ? take_capsule(capsule) : NULL;
    Py_XDECREF(capsule);
    Py_XDECREF(version);
    Py_XDECREF(none);
    Py_XDECREF(export);
    return result;
}

PyMethodDef core_dlpack_methods[] = {
    {"from_dlpack", from_dlpack, METH_O, "A tensor with a copy of what exports DLPack."},
    {NULL, NULL, 0, NULL},
};
