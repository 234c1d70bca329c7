/* SPDX-License-Identifier: Apache-2.0
 * The process's connection: made at the first use, made anew in a forked child. */
#include <string.h>
#include <unistd.h>

#include "client/python/core/core.h"

static void *wait_begin(void *user)
{
    (void)user;
    return PyEval_SaveThread();
}

static void wait_end(void *user, void *token)
{
    (void)user;
    PyEval_RestoreThread(token);
}

static int interrupted(void *user)
{
    (void)user;
    return PyErr_CheckSignals() < 0;
}

/* The device that was chosen for connections to come; "" for the daemon's first. */
static char wanted_device[64];

static burn_context *open_context(const char *url)
{
    burn_options options = {.struct_size = sizeof options,
                            .url = url,
                            .device = wanted_device[0] ? wanted_device : NULL,
                            .wait_begin = wait_begin,
                            .wait_end = wait_end,
                            .interrupted = interrupted};
    burn_context *context = NULL;
    burn_status status = burn_open(&options, &context);
    if (status != BURN_STATUS_OK)
        core_raise(status);
    return context;
}

static void use_context(burn_context *context)
{
    core.context = context;
    core.pid = (long)getpid();
    Py_CLEAR(core.device);
}

burn_context *core_context(void)
{
    if (core.context && (burn_alive(core.context) || core.pid == (long)getpid()))
        return core.context; /* a lost connection is reported by what is done with it */
    burn_context *context = open_context(NULL);
    if (context)
        use_context(context); /* the parent's, if there is one, is left alone */
    return context;
}

static PyObject *connect_to(PyObject *module, PyObject *args, PyObject *kwargs)
{
    (void)module;
    static char *names[] = {"url", NULL};
    const char *url = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|z", names, &url))
        return NULL;
    if (core.context && burn_alive(core.context))
        return core_fail(core.errors[BURN_STATUS_CONFLICT],
                         "there is a connection to %s already; disconnect() first",
                         burn_url(core.context));
    burn_context *context = open_context(url);
    if (!context)
        return NULL;
    if (core.context && core.pid == (long)getpid())
        burn_close(core.context);
    use_context(context);
    Py_RETURN_NONE;
}

static PyObject *disconnect(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    burn_context *context = core.context;
    core.context = NULL;
    if (context)
        burn_close(context);
    Py_RETURN_NONE;
}

static PyObject *connected(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyBool_FromLong(core.context && burn_alive(core.context));
}

static PyObject *draining(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyBool_FromLong(core.context && core.pid == (long)getpid() &&
                           burn_draining(core.context));
}

static PyObject *url(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    burn_context *context = core_context();
    return context ? PyUnicode_FromString(burn_url(context)) : NULL;
}

static PyObject *welcome(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    burn_context *context = core_context();
    if (!context)
        return NULL;
    return Py_BuildValue("{sssssssK}", "server", burn_welcome(context, "server"), "device",
                         burn_welcome(context, "device"), "devices",
                         burn_welcome(context, "devices"), "session",
                         (unsigned long long)burn_session(context));
}

/* The connection's device, or the one chosen for it; else only the daemon knows. */
static PyObject *device_name(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    bool connected = core.context && burn_alive(core.context);
    if (!connected && wanted_device[0])
        return PyUnicode_FromString(wanted_device);
    burn_context *context = core_context();
    return context ? PyUnicode_FromString(burn_welcome(context, "device")) : NULL;
}

PyObject *core_device(void)
{
    if (!core.device) {
        PyObject *name = device_name(NULL, NULL);
        if (!name || !core.device_class)
            return name;
        core.device = PyObject_CallFunctionObjArgs(core.device_class, name, NULL);
        Py_DECREF(name);
    }
    Py_XINCREF(core.device);
    return core.device;
}

static PyObject *set_device_name(PyObject *module, PyObject *name)
{
    (void)module;
    const char *text = PyUnicode_AsUTF8AndSize(name, NULL);
    if (!text)
        return NULL;
    if (strlen(text) >= sizeof wanted_device)
        return core_fail(core.invalid_error, "%R is no device", name);
    memcpy(wanted_device, text, strlen(text) + 1);
    Py_CLEAR(core.device);
    Py_RETURN_NONE;
}

static PyObject *simple(burn_status (*call)(burn_context *context))
{
    burn_context *context = core_context();
    if (!context)
        return NULL;
    burn_status status = call(context);
    if (status != BURN_STATUS_OK)
        return core_raise(status);
    Py_RETURN_NONE;
}

static PyObject *sync_all(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return simple(burn_sync);
}

static PyObject *flush(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return simple(burn_flush);
}

static PyObject *mark(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return simple(burn_mark);
}

static PyObject *ping(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    burn_context *context = core_context();
    double seconds = 0;
    if (!context)
        return NULL;
    burn_status status = burn_ping(context, &seconds);
    return status == BURN_STATUS_OK ? PyFloat_FromDouble(seconds) : core_raise(status);
}

static PyObject *report(PyObject *module, PyObject *kind)
{
    (void)module;
    burn_context *context = core_context();
    const char *name = context ? PyUnicode_AsUTF8AndSize(kind, NULL) : NULL;
    char *json = NULL;
    if (!name)
        return NULL;
    burn_status status = burn_report(context, name, &json);
    if (status != BURN_STATUS_OK)
        return core_raise(status);
    PyObject *text = PyUnicode_FromString(json);
    burn_free(json);
    return text;
}

/* mint_token(name, scopes, seconds, origins) */
static PyObject *mint_token(PyObject *module, PyObject *args)
{
    (void)module;
    const char *name = NULL, *scopes = NULL, *origins = NULL;
    unsigned long long seconds = 0;
    char *json = NULL;
    burn_context *context = core_context();
    if (!context || !PyArg_ParseTuple(args, "ssKs", &name, &scopes, &seconds, &origins))
        return NULL;
    burn_status status = burn_mint_token(context, name, scopes, seconds, origins, &json);
    if (status != BURN_STATUS_OK)
        return core_raise(status);
    PyObject *text = PyUnicode_FromString(json);
    burn_free(json);
    return text;
}

static PyObject *bytes_sent(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyLong_FromUnsignedLongLong(core.context ? burn_bytes_sent(core.context) : 0);
}

static PyObject *op_count(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyLong_FromUnsignedLongLong(core.context ? burn_ops_recorded(core.context) : 0);
}

/* ---- random numbers -------------------------------------------------------------------------- */

static PyObject *next_seed(PyObject *module, PyObject *count)
{
    (void)module;
    unsigned long long wanted = PyLong_AsUnsignedLongLong(count);
    burn_context *context = PyErr_Occurred() ? NULL : core_context();
    uint64_t seed = 0, offset = 0;
    if (!context)
        return NULL;
    burn_next_random(context, wanted, &seed, &offset);
    return Py_BuildValue("LL", (long long)seed, (long long)offset);
}

static PyObject *get_rng_state(PyObject *module, PyObject *unused)
{
    (void)unused;
    PyObject *zero = PyLong_FromLong(0);
    PyObject *pair = zero ? next_seed(module, zero) : NULL;
    Py_XDECREF(zero);
    return pair;
}

static PyObject *set_rng_state(PyObject *module, PyObject *args)
{
    (void)module;
    long long seed = 0, offset = 0;
    burn_context *context = PyArg_ParseTuple(args, "LL", &seed, &offset) ? core_context() : NULL;
    if (!context)
        return NULL;
    burn_seed(context, (uint64_t)seed, (uint64_t)offset);
    Py_RETURN_NONE;
}

static PyObject *manual_seed(PyObject *module, PyObject *seed)
{
    (void)module;
    unsigned long long value = PyLong_AsUnsignedLongLongMask(seed);
    burn_context *context = PyErr_Occurred() ? NULL : core_context();
    if (!context)
        return NULL;
    burn_seed(context, value & INT64_MAX, 0);
    Py_RETURN_NONE;
}

static PyObject *initial_seed(PyObject *module, PyObject *unused)
{
    PyObject *pair = get_rng_state(module, unused);
    PyObject *seed = pair ? PyTuple_GetItem(pair, 0) : NULL;
    Py_XINCREF(seed);
    Py_XDECREF(pair);
    return seed;
}

/* how: burn_cancel or burn_close_session. */
static PyObject *end(PyObject *session, burn_status (*how)(burn_context *, uint64_t))
{
    unsigned long long number = session == Py_None ? 0 : PyLong_AsUnsignedLongLong(session);
    burn_context *context = PyErr_Occurred() ? NULL : core_context();
    if (!context)
        return NULL;
    burn_status status = how(context, number);
    if (status != BURN_STATUS_OK)
        return core_raise(status);
    Py_RETURN_NONE;
}

static PyObject *cancel(PyObject *module, PyObject *session)
{
    (void)module;
    return end(session, burn_cancel);
}

static PyObject *close_session(PyObject *module, PyObject *session)
{
    (void)module;
    return end(session, burn_close_session);
}

PyMethodDef core_connection_methods[] = {
    {"connect", (PyCFunction)(void (*)(void))connect_to, METH_VARARGS | METH_KEYWORDS,
     "Connects to a URL, or by the look-up."},
    {"disconnect", disconnect, METH_NOARGS, "Closes the connection; its tensors become unusable."},
    {"connected", connected, METH_NOARGS, "Whether there is a working connection."},
    {"draining", draining, METH_NOARGS,
     "Whether the daemon has said that it ends this connection soon."},
    {"url", url, METH_NOARGS, "The URL in use."},
    {"welcome", welcome, METH_NOARGS, "What the daemon said of itself."},
    {"device_name", device_name, METH_NOARGS, "The device in use, or chosen."},
    {"set_device_name", set_device_name, METH_O, "Chooses the device of connections to come."},
    {"sync", sync_all, METH_NOARGS, "Waits until all that was recorded has run."},
    {"cancel", cancel, METH_O, "Drops the work of a session; None: this one's."},
    {"close_session", close_session, METH_O, "Ends another session."},
    {"flush", flush, METH_NOARGS, "Sends what was recorded."},
    {"mark", mark, METH_NOARGS, "Ends a step."},
    {"ping", ping, METH_NOARGS, "Seconds of one round trip."},
    {"report", report, METH_O, "JSON: stats, devices, sessions, kernels or config."},
    {"mint_token", mint_token, METH_VARARGS, "JSON of a token for a page."},
    {"bytes_sent", bytes_sent, METH_NOARGS, "Bytes sent to the daemon so far."},
    {"op_count", op_count, METH_NOARGS, "Ops recorded so far."},
    {"next_seed", next_seed, METH_O, "(seed, offset) for count random numbers."},
    {"get_rng_state", get_rng_state, METH_NOARGS, "(seed, offset)."},
    {"set_rng_state", set_rng_state, METH_VARARGS, "Sets seed and offset."},
    {"manual_seed", manual_seed, METH_O, "Sets the seed, and the offset to 0."},
    {"initial_seed", initial_seed, METH_NOARGS, "The seed in use."},
    {NULL, NULL, 0, NULL},
};
