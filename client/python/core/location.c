/* SPDX-License-Identifier: Apache-2.0
 * Where in the user's program an op was recorded: code and line of the last 65,536 ops, so that an
 * error which the daemon reports later can name the line. */
#include <string.h>

#include "client/python/core/core.h"

enum { RING = 65536 };

typedef struct place {
    PyObject *code; /* counted; NULL: not known */
    int line;
} place;

static struct {
    bool off;
    place *ring; /* by op number modulo RING */
    PyObject *own; /* dict: code object → True if it belongs to this package */
    PyObject *folder; /* str: the package's */
    PyObject *f_back; /* str, interned */
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

/* Code of the package itself is passed over: the caller's line counts. */
static bool is_own(PyObject *code)
{
    if (!places.own)
        places.own = PyDict_New();
    PyObject *known = places.own ? PyDict_GetItemWithError(places.own, code) : NULL;
    if (known)
        return known == Py_True;
    PyObject *file = PyObject_GetAttrString(code, "co_filename");
    int own = file && places.folder && PyUnicode_Check(file) ? (int)PyUnicode_Tailmatch(file, places.folder, 0, PY_SSIZE_T_MAX, -1)
                                                             : 0;
    Py_XDECREF(file);
    if (places.own)
        PyDict_SetItem(places.own, code, own > 0 ? Py_True : Py_False);
    PyErr_Clear();
    return own > 0;
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
    PyFrameObject *frame = PyEval_GetFrame();
    Py_XINCREF((PyObject *)frame);
    PyObject *code = frame ? (PyObject *)PyFrame_GetCode(frame) : NULL;
    while (code && is_own(code)) {
        PyObject *back = PyObject_GetAttr((PyObject *)frame, places.f_back);
        if (!back || back == Py_None) {
            Py_XDECREF(back);
            break;
        }
        Py_DECREF(code);
        Py_DECREF((PyObject *)frame);
        frame = (PyFrameObject *)back;
        code = (PyObject *)PyFrame_GetCode(frame);
    }
    PyObject *before = at->code;
    at->code = code;
    at->line = frame ? PyFrame_GetLineNumber(frame) : 0;
    Py_XDECREF((PyObject *)frame);
    Py_XDECREF(before);
}

PyObject *core_location(uint64_t op)
{
    place *at = places.ring ? &places.ring[op % RING] : NULL;
    uint64_t newest = core.context ? burn_ops_recorded(core.context) : 0;
    if (!at || !at->code || op > newest || newest - op >= RING)
        return NULL;
    PyObject *file = PyObject_GetAttrString(at->code, "co_filename");
    PyObject *pair = file ? Py_BuildValue("Ni", file, at->line) : NULL;
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
    {"set_locations", set_locations, METH_O, "Whether the lines of ops are kept for errors of the daemon."},
    {"location", location, METH_O, "(file, line) where op number n was recorded, or None."},
    {NULL, NULL, 0, NULL},
};
