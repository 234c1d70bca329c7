/* SPDX-License-Identifier: Apache-2.0
 * What the files of burn._core share. Python's limited API of 3.11 and burn/burn.h, nothing else.
 * Thread: whoever holds the GIL; it is let go only while the client waits for the daemon. */
#pragma once

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>
#include <stdbool.h>

#include "burn/burn.h"

enum { CORE_DTYPES = 14, CORE_CLASSES = 16 };

/* A large local of a hot function, each part of which is written before it is read: a hardened
 * build does not zero it first. */
#if defined(__has_attribute)
#if __has_attribute(uninitialized)
#define CORE_UNSET __attribute__((uninitialized))
#endif
#endif
#ifndef CORE_UNSET
#define CORE_UNSET
#endif

typedef enum core_hook {
    HOOK_GETITEM,
    HOOK_SETITEM,
    HOOK_REPR,
    HOOK_FORMAT,
    HOOK_BINARY,
    HOOK_MATMUL,
    HOOK_COUNT
} core_hook;

/* A module of a single interpreter: the slots of a type have no way to a module's state in the
 * limited API, so it stands here. */
typedef struct core_state {
    burn_context *context;
    long pid;                   /* of the process that opened it */
    PyTypeObject *tensor_type;  /* _core.Tensor */
    PyTypeObject *tensor_class; /* the registered subclass */
    allocfunc tensor_alloc;     /* of tensor_class */
    PyObject *dtypes[CORE_DTYPES];
    PyObject *size_class, *device_class;
    PyObject *device; /* made by it; NULL: not yet, for this connection */
    PyObject *hooks[HOOK_COUNT];
    PyObject *errors[CORE_CLASSES]; /* by status; 0 is the base */
    PyObject *invalid_error, *range_error, *argument_error, *dtype_error;
} core_state;
extern core_state core;

typedef struct tensor_object {
    PyObject_HEAD burn_tensor *tensor;
    PyObject *weak;
} tensor_object;

static inline burn_tensor *tensor_of(PyObject *object)
{
    return ((tensor_object *)object)->tensor;
}
static inline bool is_tensor(PyObject *object)
{
    return Py_TYPE(object) == core.tensor_class || PyObject_TypeCheck(object, core.tensor_type);
}

/* ---- errors.c ---- */
PyObject *core_raise(burn_status status); /* of the last error; returns NULL */
int core_add_errors(PyObject *module);
PyObject *core_fail(PyObject *type, const char *format, ...); /* returns NULL */

/* ---- connection.c ---- */
burn_context *core_context(void); /* opens it at the first use; NULL with an exception */
PyObject *core_device(void); /* what Tensor.device is, a new reference; may open the context */
extern PyMethodDef core_connection_methods[];

/* ---- location.c ---- */
void core_note_location(burn_context *context);
PyObject *core_location(uint64_t op); /* (file, line), new, or NULL without an exception */
extern PyMethodDef core_location_methods[];

/* ---- tensor.c ---- */
PyObject *core_wrap(burn_tensor *own_tensor); /* consumes; NULL with an exception */
PyObject *core_wrap_as(PyTypeObject *type, burn_tensor *own_tensor);
int core_add_tensor_type(PyObject *module);
PyObject *core_shape(const burn_tensor *tensor);
/* Two tensors of one connection; TypeError otherwise. */
bool core_check_tensor(PyObject *object, const char *what);

/* ---- operand.c ---- */
/* 1: done, 0: not an operand, -1: an exception. */
int core_to_input(PyObject *object, burn_input *out);
/* As before, but arrays become tensors, which *out_owner then holds (else NULL). */
int core_to_input_or_array(PyObject *object, burn_input *out, PyObject **out_owner);
bool core_is_array(PyObject *object);
int core_to_dtype(PyObject *object, int *out_dtype); /* None gives 0; -1: an exception */
PyObject *core_apply1(int op, const burn_input *inputs, size_t input_count,
                      const burn_attribute *attributes, size_t attribute_count);
int core_to_shape(PyObject *object, int64_t dims[BURN_MAX_RANK]); /* rank, or -1 */
extern PyMethodDef core_op_methods[];

/* ---- operators.c ---- */
extern PyType_Slot core_operator_slots[];
/* ---- index.c ---- */
PyObject *core_getitem(PyObject *self, PyObject *index);
int core_setitem(PyObject *self, PyObject *index, PyObject *value);
PyObject *core_item_at(PyObject *self, Py_ssize_t index);
Py_ssize_t core_length(PyObject *self);
/* ---- create.c ---- */
PyObject *core_from_array(PyObject *object, int dtype);
extern PyMethodDef core_create_methods[];
/* ---- dlpack.c ---- */
PyObject *core_to_dlpack(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *core_dlpack_device(PyObject *self, PyObject *unused);
extern PyMethodDef core_dlpack_methods[];
/* ---- values.c ---- */
PyObject *core_scalar(PyObject *self); /* item() */
extern PyMethodDef core_value_methods[];
double core_half_to_double(uint16_t bits, bool bfloat);
extern PyMethodDef core_rebuild_methods[];
/* ---- autograd.c ---- */
typedef struct core_list {
    burn_tensor **items; /* PyMem; borrowed tensors, NULL for None */
    Py_ssize_t count;
    PyObject *tuple; /* keeps them */
} core_list;
/* Of a sequence of tensors, or one. To be ended also after a failure. */
int core_begin_list(PyObject *object, core_list *list);
void core_end_list(core_list *list);
PyObject *core_wrap_program(burn_program *own_program); /* consumes; NULL with an exception */
burn_program *core_to_program(PyObject *object);        /* NULL with an exception */
int core_add_program_type(PyObject *module);
extern PyMethodDef core_autograd_methods[];
extern PyMethodDef core_tensor_grad_methods[];
extern PyGetSetDef core_tensor_attributes[];
/* ---- host.c ---- */
int core_add_host_type(PyObject *module);
extern PyMethodDef core_host_methods[];
/* ---- names.c ---- */
extern PyMethodDef core_name_methods[];
/* ---- attach.c ---- */
extern PyMethodDef core_attach_methods[];
