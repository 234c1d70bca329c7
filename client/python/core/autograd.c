/* SPDX-License-Identifier: Apache-2.0
 * Gradients and programs. */
#include "client/python/core/core.h"

/* ---- lists of tensors
 * ------------------------------------------------------------------------------ */

typedef core_list tensor_list;

static void end_list(tensor_list *list)
{
    PyMem_Free(list->items);
    Py_XDECREF(list->tuple);
}

static int begin_list(PyObject *object, bool none_allowed, tensor_list *list)
{
    *list = (tensor_list){NULL, 0, NULL};
    list->tuple = is_tensor(object) ? PyTuple_Pack(1, object) : PySequence_Tuple(object);
    if (!list->tuple)
        return -1;
    list->count = PyTuple_Size(list->tuple);
    list->items = PyMem_Calloc((size_t)list->count + 1, sizeof *list->items);
    if (!list->items)
        return PyErr_NoMemory(), -1;
    for (Py_ssize_t i = 0; i < list->count; i++) {
        PyObject *item = PyTuple_GetItem(list->tuple, i);
        if (none_allowed && item == Py_None)
            continue;
        if (!core_check_tensor(item, "each item"))
            return -1;
        list->items[i] = tensor_of(item);
    }
    return 0;
}

int core_begin_list(PyObject *object, core_list *list)
{
    return begin_list(object, false, list);
}

void core_end_list(core_list *list)
{
    end_list(list);
}

/* Takes over the tensors; NULL becomes None. */
static PyObject *wrap_list(burn_tensor **own_tensors, Py_ssize_t count)
{
    PyObject *tuple = PyTuple_New(count);
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *object = Py_None;
        if (own_tensors[i])
            object = tuple ? core_wrap(own_tensors[i]) : (burn_release(own_tensors[i]), NULL);
        else
            Py_INCREF(object);
        if (!tuple)
            continue;
        if (!object)
            Py_CLEAR(tuple);
        else
            PyTuple_SetItem(tuple, i, object);
    }
    return tuple;
}

/* ---- modes
 * ------------------------------------------------------------------------------------------- */

static PyObject *grad_enabled(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyBool_FromLong(burn_grad_enabled());
}

static PyObject *set_grad_enabled(PyObject *module, PyObject *flag)
{
    (void)module;
    int on = PyObject_IsTrue(flag);
    return on < 0 ? NULL : PyBool_FromLong(burn_set_grad_enabled(on));
}

/* ---- backward
 * ------------------------------------------------------------------------------------------ */

typedef struct request {
    tensor_list roots, seeds, inputs, cuts;
    int flags;
} request;

static void end_request(request *r)
{
    end_list(&r->roots);
    end_list(&r->seeds);
    end_list(&r->inputs);
    end_list(&r->cuts);
}

static int begin_request(PyObject *roots, PyObject *seeds, PyObject *inputs, PyObject *cuts,
                         request *r)
{
    if (cuts && cuts != Py_None && begin_list(cuts, false, &r->cuts) < 0)
        return -1;
    if (begin_list(roots, false, &r->roots) < 0)
        return -1;
    if (seeds && seeds != Py_None) {
        if (begin_list(seeds, true, &r->seeds) < 0)
            return -1;
        if (r->seeds.count != r->roots.count)
            return core_fail(core.invalid_error, "got %zd tensors and %zd gradients",
                             r->roots.count, r->seeds.count),
                   -1;
    }
    return inputs && inputs != Py_None ? begin_list(inputs, false, &r->inputs) : 0;
}

/* backward(roots, seeds=None, retain_graph=False, create_graph=False, inputs=None, cuts=None) */
static PyObject *backward(PyObject *module, PyObject *args, PyObject *kwargs)
{
    (void)module;
    static char *names[] = {"roots", "seeds", "retain_graph", "create_graph", "inputs", "cuts",
                            NULL};
    PyObject *roots = NULL, *seeds = NULL, *inputs = NULL, *cuts = NULL;
    int retain = 0, create = 0;
    request r = {.flags = 0};
    burn_context *context = core_context();
    if (!context || !PyArg_ParseTupleAndKeywords(args, kwargs, "O|OppOO", names, &roots, &seeds,
                                                 &retain, &create, &inputs, &cuts))
        return NULL;
    bool ready = begin_request(roots, seeds, inputs, cuts, &r) == 0;
    burn_status status = BURN_STATUS_INVALID;
    if (ready)
        status = burn_backward_cut(context, r.roots.items, r.seeds.items, (size_t)r.roots.count,
                                   r.inputs.tuple ? r.inputs.items : NULL, (size_t)r.inputs.count,
                                   r.cuts.items, (size_t)r.cuts.count,
                                   (retain ? BURN_BACKWARD_RETAIN : 0) |
                                       (create ? BURN_BACKWARD_CREATE : 0));
    end_request(&r);
    if (status != BURN_STATUS_OK)
        return ready ? core_raise(status) : NULL;
    core_note_location(context);
    Py_RETURN_NONE;
}

/* grad(outputs, inputs, seeds=None, retain_graph=False, create_graph=False, allow_unused=False,
 *      cuts=None) */
static PyObject *grad(PyObject *module, PyObject *args, PyObject *kwargs)
{
    (void)module;
    static char *names[] = {"outputs",      "inputs",       "seeds", "retain_graph",
                            "create_graph", "allow_unused", "cuts",  NULL};
    PyObject *roots = NULL, *seeds = NULL, *inputs = NULL, *cuts = NULL, *result = NULL;
    int retain = 0, create = 0, unused = 0;
    request r = {.flags = 0};
    burn_context *context = core_context();
    if (!context || !PyArg_ParseTupleAndKeywords(args, kwargs, "OO|OpppO", names, &roots,
                                                 &inputs, &seeds, &retain, &create, &unused, &cuts))
        return NULL;
    if (begin_request(roots, seeds, inputs, cuts, &r) == 0) {
        burn_tensor **grads = PyMem_Calloc((size_t)r.inputs.count + 1, sizeof *grads);
        burn_status status = BURN_STATUS_NO_MEMORY;
        if (grads)
            status = burn_gradients_cut(
                context, r.roots.items, r.seeds.items, (size_t)r.roots.count, r.inputs.items,
                (size_t)r.inputs.count, r.cuts.items, (size_t)r.cuts.count,
                (retain ? BURN_BACKWARD_RETAIN : 0) | (create ? BURN_BACKWARD_CREATE : 0) |
                    (unused ? BURN_BACKWARD_UNUSED : 0),
                grads);
        if (!grads)
            PyErr_NoMemory();
        else if (status != BURN_STATUS_OK)
            core_raise(status);
        else
            result = wrap_list(grads, r.inputs.count);
        PyMem_Free(grads);
        if (result)
            core_note_location(context);
    }
    end_request(&r);
    return result;
}

/* ---- programs
 * -------------------------------------------------------------------------------------------- */

typedef struct program_object {
    PyObject_HEAD burn_program *program;
    Py_ssize_t output_count;
} program_object;

static PyTypeObject *program_type; /* made once */

static PyObject *trace_begin(PyObject *module, PyObject *arguments)
{
    (void)module;
    tensor_list list;
    PyObject *result = NULL;
    burn_context *context = core_context();
    if (!context)
        return NULL;
    if (begin_list(arguments, false, &list) == 0) {
        burn_tensor **made = PyMem_Calloc((size_t)list.count + 1, sizeof *made);
        burn_status status = made
                                 ? burn_program_begin(context, list.items, (size_t)list.count, made)
                                 : BURN_STATUS_NO_MEMORY;
        if (!made)
            PyErr_NoMemory();
        else if (status != BURN_STATUS_OK)
            core_raise(status);
        else
            result = wrap_list(made, list.count);
        PyMem_Free(made);
    }
    end_list(&list);
    return result;
}

static PyObject *trace_abort(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    if (core.context)
        burn_program_abort(core.context);
    Py_RETURN_NONE;
}

PyObject *core_wrap_program(burn_program *own_program)
{
    allocfunc alloc = (allocfunc)PyType_GetSlot(program_type, Py_tp_alloc);
    PyObject *object = alloc(program_type, 0);
    if (object) {
        ((program_object *)object)->program = own_program;
        ((program_object *)object)->output_count = (Py_ssize_t)burn_program_outputs(own_program);
    } else {
        burn_program_destroy(own_program);
    }
    return object;
}

burn_program *core_to_program(PyObject *object)
{
    if (PyObject_TypeCheck(object, program_type))
        return ((program_object *)object)->program;
    return core_fail(core.argument_error, "%R is no program", object), NULL;
}

/* trace_end(outputs, name) */
static PyObject *trace_end(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *outputs = NULL, *result = NULL;
    const char *name = NULL;
    tensor_list list;
    burn_context *context = core_context();
    if (!context || !PyArg_ParseTuple(args, "Os", &outputs, &name))
        return NULL;
    if (begin_list(outputs, false, &list) == 0) {
        burn_program *program = NULL;
        burn_status status =
            burn_program_end(context, list.items, (size_t)list.count, name, &program);
        result = status == BURN_STATUS_OK ? core_wrap_program(program) : core_raise(status);
    }
    end_list(&list);
    return result;
}

static PyObject *call_program(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"inputs", NULL};
    PyObject *arguments = NULL, *result = NULL;
    program_object *program = (program_object *)self;
    tensor_list list;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O", names, &arguments))
        return NULL;
    if (begin_list(arguments, false, &list) == 0) {
        burn_tensor **outputs = PyMem_Calloc((size_t)program->output_count + 1, sizeof *outputs);
        burn_status status = BURN_STATUS_NO_MEMORY;
        if (outputs)
            status = burn_program_call(program->program, list.items, (size_t)list.count, outputs,
                                       (size_t)program->output_count);
        if (!outputs)
            PyErr_NoMemory();
        else if (status != BURN_STATUS_OK)
            core_raise(status);
        else
            result = wrap_list(outputs, program->output_count);
        PyMem_Free(outputs);
        if (result)
            core_note_location(core.context);
    }
    end_list(&list);
    return result;
}

static void free_program(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    burn_program_destroy(((program_object *)self)->program);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

int core_add_program_type(PyObject *module)
{
    PyType_Slot slots[] = {{Py_tp_dealloc, free_program},
                           {Py_tp_call, call_program},
                           {Py_tp_doc, "Ops that the daemon runs at one message."},
                           {0, NULL}};
    PyType_Spec spec = {.name = "burn._core.Program",
                        .basicsize = sizeof(program_object),
                        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                        .slots = slots};
    program_type = (PyTypeObject *)PyType_FromSpec(&spec);
    return program_type ? PyModule_AddObjectRef(module, "Program", (PyObject *)program_type) : -1;
}

PyMethodDef core_autograd_methods[] = {
    {"grad_enabled", grad_enabled, METH_NOARGS, "Whether results require gradients."},
    {"set_grad_enabled", set_grad_enabled, METH_O, "Sets it for this thread; returns what it was."},
    {"backward", (PyCFunction)(void (*)(void))backward, METH_VARARGS | METH_KEYWORDS,
     "Accumulates gradients."},
    {"grad", (PyCFunction)(void (*)(void))grad, METH_VARARGS | METH_KEYWORDS,
     "Gradients of the inputs."},
    {"trace_begin", trace_begin, METH_O, "Records ops into a program from here on."},
    {"trace_end", trace_end, METH_VARARGS, "Ends it: a Program."},
    {"trace_abort", trace_abort, METH_NOARGS, "Gives the recording up."},
    {NULL, NULL, 0, NULL},
};

/* ---- attributes and methods of tensors
 * ----------------------------------------------------------------------- */

static PyObject *get_requires_grad(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(burn_requires_grad(tensor_of(self)));
}

static int set_requires_grad(PyObject *self, PyObject *value, void *unused)
{
    (void)unused;
    int flag = value ? PyObject_IsTrue(value)
                     : (core_fail(PyExc_AttributeError, "requires_grad cannot be deleted"), -1);
    if (flag < 0)
        return -1;
    burn_status status = burn_set_requires_grad(tensor_of(self), flag);
    return status == BURN_STATUS_OK ? 0 : (core_raise(status), -1);
}

static PyObject *get_grad(PyObject *self, void *unused)
{
    (void)unused;
    burn_tensor *gradient = burn_grad(tensor_of(self));
    if (!gradient)
        Py_RETURN_NONE;
    burn_retain(gradient);
    return core_wrap(gradient);
}

static int set_grad(PyObject *self, PyObject *value, void *unused)
{
    (void)unused;
    bool none = !value || value == Py_None;
    if (!none && !core_check_tensor(value, "the gradient"))
        return -1;
    burn_status status = burn_set_grad(tensor_of(self), none ? NULL : tensor_of(value));
    return status == BURN_STATUS_OK ? 0 : (core_raise(status), -1);
}

static PyObject *get_is_leaf(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(burn_is_leaf(tensor_of(self)));
}

static PyObject *get_retains_grad(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(burn_retains_grad(tensor_of(self)));
}

static PyObject *detach(PyObject *self, PyObject *unused)
{
    (void)unused;
    burn_tensor *detached = NULL;
    burn_status status = burn_detach(tensor_of(self), &detached);
    return status == BURN_STATUS_OK ? core_wrap(detached) : core_raise(status);
}

static PyObject *get_data(PyObject *self, void *unused)
{
    (void)unused;
    return detach(self, NULL);
}

static int set_data(PyObject *self, PyObject *value, void *unused)
{
    (void)unused;
    if (!value || !core_check_tensor(value, "data"))
        return -1;
    burn_status status = burn_set_data(tensor_of(self), tensor_of(value));
    return status == BURN_STATUS_OK ? 0 : (core_raise(status), -1);
}

static PyObject *requires_grad_(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"requires_grad", NULL};
    int flag = 1;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|p", names, &flag))
        return NULL;
    burn_status status = burn_set_requires_grad(tensor_of(self), flag);
    if (status != BURN_STATUS_OK)
        return core_raise(status);
    Py_INCREF(self);
    return self;
}

static PyObject *retain_grad(PyObject *self, PyObject *unused)
{
    (void)unused;
    burn_status status = burn_retain_grad(tensor_of(self));
    if (status != BURN_STATUS_OK)
        return core_raise(status);
    Py_RETURN_NONE;
}

PyMethodDef core_tensor_grad_methods[] = {
    {"detach", detach, METH_NOARGS, "Shares the elements, has no history."},
    {"requires_grad_", (PyCFunction)(void (*)(void))requires_grad_, METH_VARARGS | METH_KEYWORDS,
     "Sets whether a gradient is required."},
    {"retain_grad", retain_grad, METH_NOARGS, "Keeps the gradient of a tensor that is no leaf."},
    {NULL, NULL, 0, NULL},
};

PyGetSetDef core_tensor_attributes[] = {
    {"requires_grad", get_requires_grad, set_requires_grad, "Whether a gradient is required.",
     NULL},
    {"grad", get_grad, set_grad, "The gradient, or None.", NULL},
    {"is_leaf", get_is_leaf, NULL, "Whether it was made by the user, not by ops with gradients.",
     NULL},
    {"retains_grad", get_retains_grad, NULL, "Whether retain_grad() was called.", NULL},
    {"data", get_data, set_data, "The elements without history.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
