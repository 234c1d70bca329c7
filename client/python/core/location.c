/* SPDX-License-Identifier: Apache-2.0
 * Where in the user's program an op was recorded: code and line of the last 65,536 ops, so that an
 * error which the daemon reports later can name the line. */
#include <string.h>

#include "client/python/core/core.h"

enum { RING = 65536, KNOWN = 256, CODE_UNIT_SHIFT = 4 };

typedef struct place {
    PyObject *code; /* counted; NULL: not known */
    int at; /* offset of the instruction in the code; the line is looked up when it is asked for */
} place;

/* Whether a code object belongs to this package. */
typedef struct known_code {
    PyObject *code; /* counted */
    bool own;
} known_code;

static struct {
    bool off;
    place *ring;                /* by op number modulo RING */
    known_code known[KNOWN];    /* by address; a newer one displaces an older */
    PyObject *folder;           /* str: the package's */
    PyObject *f_back;           /* str, interned */
    PyObject *f_lasti;          /* the attribute of frames, … */
    descrgetfunc get;           /* … and what reads it: without a look-up each time */
} places;

/* The folder of the package that this module is part of, once it has been imported. */
static void find_folder(void)
{
    PyObject *package = PyImport_AddModule("burn"); /* borrowed */
    PyObject *file = package ? PyObject_GetAttrString(package, "__file__") : NULL;
    Py_ssize_t size = file && PyUnicode_Check(file) ? PyUnicode_GetLength(file) : 0;
    Py_ssize_t slash = size > 0 ? PyUnicode_FindChar(file, '/', 0, size, -1) : -1;
    if (slash >= 0)
        places.folder = PyUnicode_Substring(file, 0, slash + 1);
    Py_XDECREF(file);
    PyErr_Clear();
}

static bool starts_in_folder(PyObject *code)
{
    PyObject *file = PyObject_GetAttrString(code, "co_filename");
    bool own = file && places.folder && PyUnicode_Check(file) &&
               PyUnicode_Tailmatch(file, places.folder, 0, PY_SSIZE_T_MAX, -1) > 0;
    Py_XDECREF(file);
    PyErr_Clear();
    return own;
}

/* Code of the package itself is passed over: the caller's line counts. */
static bool is_own(PyObject *code)
{
    known_code *entry = &places.known[((uintptr_t)code >> CODE_UNIT_SHIFT) % KNOWN];
    if (entry->code != code) {
        PyObject *before = entry->code;
        Py_INCREF(code);
        *entry = (known_code){.code = code, .own = starts_in_folder(code)};
        Py_XDECREF(before);
    }
    return entry->own;
}

static void find_attribute(PyTypeObject *frame)
{
    places.f_lasti = PyObject_GetAttrString((PyObject *)frame, "f_lasti");
    if (places.f_lasti)
        places.get = (descrgetfunc)PyType_GetSlot(Py_TYPE(places.f_lasti), Py_tp_descr_get);
    PyErr_Clear();
}

static int offset_in(PyObject *frame)
{
    if (!places.get)
        find_attribute(Py_TYPE(frame));
    PyObject *offset =
        places.get ? places.get(places.f_lasti, frame, (PyObject *)Py_TYPE(frame)) : NULL;
    int at = offset ? (int)PyLong_AsLong(offset) : -1;
    Py_XDECREF(offset);
    return at;
}

void core_note_location(burn_context *context)
{
    if (places.off)
        return;
    if (!places.ring) {
        places.ring = PyMem_Calloc(RING, sizeof *places.ring);
        places.f_back = PyUnicode_InternFromString("f_back");
        find_folder();
        if (!places.ring || !places.f_back)
            return;
    }
    place *at = &places.ring[burn_ops_recorded(context) % RING];
    PyObject *frame = (PyObject *)PyEval_GetFrame();
    Py_XINCREF(frame);
    PyObject *code = frame ? (PyObject *)PyFrame_GetCode((PyFrameObject *)frame) : NULL;
    while (code && is_own(code)) {
        PyObject *back = PyObject_GetAttr(frame, places.f_back);
        if (!back || back == Py_None) {
            Py_XDECREF(back);
            break;
        }
        Py_DECREF(code);
        Py_DECREF(frame);
        frame = back;
        code = (PyObject *)PyFrame_GetCode((PyFrameObject *)frame);
    }
    PyObject *before = at->code;
    at->code = code;
    at->at = frame ? offset_in(frame) : -1;
    Py_XDECREF(frame);
    Py_XDECREF(before);
}

/* From the table of (begin, end, line); 0 if it is not there. */
static long line_of(const place *at)
{
    long line = 0;
    PyObject *lines = PyObject_CallMethod(at->code, "co_lines", NULL);
    PyObject *iterator = lines ? PyObject_GetIter(lines) : NULL;
    PyObject *row = NULL;
    while (iterator && line == 0 && (row = PyIter_Next(iterator))) {
        int begin = 0, end = 0;
        PyObject *number = NULL;
        if (PyArg_ParseTuple(row, "iiO", &begin, &end, &number) && at->at >= begin &&
            at->at < end && number != Py_None)
            line = PyLong_AsLong(number);
        Py_DECREF(row);
    }
    Py_XDECREF(iterator);
    Py_XDECREF(lines);
    PyErr_Clear();
    return line;
}

PyObject *core_location(uint64_t op)
{
    place *at = places.ring ? &places.ring[op % RING] : NULL;
    uint64_t newest = core.context ? burn_ops_recorded(core.context) : 0;
    if (!at || !at->code || op > newest || newest - op >= RING)
        return NULL;
    PyObject *file = PyObject_GetAttrString(at->code, "co_filename");
    PyObject *pair = file ? Py_BuildValue("Nl", file, line_of(at)) : NULL;
    if (!pair)
        PyErr_Clear();
    return pair;
}

static PyObject *set_locations(PyObject *module, PyObject *flag)
{
    (void)module;
    int on = PyObject_IsTrue(flag);
    if (on < 0)
        return NULL;
    places.off = !on;
    Py_RETURN_NONE;
}

static PyObject *location(PyObject *module, PyObject *number)
{
    (void)module;
    unsigned long long op = PyLong_AsUnsignedLongLong(number);
    if (PyErr_Occurred())
        return NULL;
    PyObject *pair = core_location(op);
    if (pair)
        return pair;
    Py_RETURN_NONE;
}

PyMethodDef core_location_methods[] = {
    {"set_locations", set_locations, METH_O,
     "Whether the lines of ops are kept for errors of the daemon."},
    {"location", location, METH_O, "(file, line) where op number n was recorded, or None."},
    {NULL, NULL, 0, NULL},
};
