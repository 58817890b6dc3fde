/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Communicators and their work, in capsules that comm.py wraps; exchanges of arrays. */
#include <stdlib.h>
#include <ndock/comm.h>
#include "python/src/ops/ops.h"
#include "python/src/streams/streams.h"

#define COMM "ndock.comm"
#define WORK "ndock.work"

/* ---- capsules ---- */
static void comm_gone(PyObject *capsule)
{
    nd_comm *c = PyCapsule_GetPointer(capsule, COMM);
    PyThreadState *saved = PyEval_SaveThread();
    nd_comm_release(c);
    PyEval_RestoreThread(saved);
}

static void work_gone(PyObject *capsule)
{
    nd_work *w = PyCapsule_GetPointer(capsule, WORK);
    PyThreadState *saved = PyEval_SaveThread();
    nd_work_release(w);
    PyEval_RestoreThread(saved);
}

/* Takes c over, even where that fails. */
static PyObject *comm_capsule(nd_comm *c)
{
    PyObject *o = PyCapsule_New(c, COMM, comm_gone);
    if (!o)
        nd_comm_release(c);
    return o;
}

static PyObject *comm_result(py_state *st, nd_status status, nd_comm *c)
{
    if (status != ND_OK)
        return py_fail(st, status);
    return c ? comm_capsule(c) : Py_NewRef(Py_None);
}

/* ---- making them ---- */
static PyObject *comm_world(PyObject *module, PyObject *where)
{
    py_state *st = py_state_of(module);
    nd_device *device;
    nd_comm *c = NULL;
    if (py_device_or_current(st, where, &device) < 0)
        return NULL;
    PyThreadState *saved = PyEval_SaveThread();
    nd_status status = nd_comm_world(device, &c);
    PyEval_RestoreThread(saved);
    return comm_result(st, status, c);
}

static PyObject *comm_launched(PyObject *module, PyObject *unused)
{
    int32_t rank, size, local;
    (void)unused;
    nd_status status = nd_comm_launched(&rank, &size, &local);
    return status == ND_OK ? Py_BuildValue("(iii)", (int)rank, (int)size, (int)local)
                           : py_fail(py_state_of(module), status);
}

static PyObject *comm_unique_id(PyObject *module, PyObject *where)
{
    py_state *st = py_state_of(module);
    nd_device *device;
    nd_comm_id id;
    if (py_device_or_current(st, where, &device) < 0 ||
        py_check(st, nd_comm_unique_id(device, &id)) < 0)
        return NULL;
    return PyBytes_FromStringAndSize((const char *)id.bytes, sizeof id.bytes);
}

/* _comm_init(device, rank, size, id) */
static PyObject *comm_init(PyObject *module, PyObject *args)
{
    py_state *st = py_state_of(module);
    nd_device *device;
    nd_comm *c = NULL;
    nd_comm_id id;
    PyObject *where;
    const char *bytes;
    Py_ssize_t n;
    int rank, size;
    if (!PyArg_ParseTuple(args, "Oiiy#:init", &where, &rank, &size, &bytes, &n) ||
        py_device_or_current(st, where, &device) < 0)
        return NULL;
    if (n != (Py_ssize_t)sizeof id.bytes)
        return PyErr_Format(PyExc_ValueError, "an id has %d bytes, not %zd", ND_COMM_ID_BYTES, n);
    memcpy(id.bytes, bytes, sizeof id.bytes);
    PyThreadState *saved = PyEval_SaveThread();
    nd_status status = nd_comm_init(device, rank, size, &id, &c);
    PyEval_RestoreThread(saved);
    return comm_result(st, status, c);
}

static PyObject *list_of(nd_comm **all, Py_ssize_t n)
{
    PyObject *list = PyList_New(0);
    for (Py_ssize_t i = 0; i < n; i++) {
        nd_comm *c = all[i];
        all[i] = NULL;
        if (!list)
            nd_comm_release(c);
        else if (py_append(list, comm_capsule(c)) < 0)
            Py_CLEAR(list);
    }
    return list;
}

/* _comm_local(tuple of devices) */
static PyObject *comm_local(PyObject *module, PyObject *where)
{
    enum { MOST = 256 };
    py_state *st = py_state_of(module);
    nd_device *devices[MOST];
    nd_comm *all[MOST];
    Py_ssize_t n = PyTuple_Check(where) ? PyTuple_Size(where) : -1;
    if (n < 1 || n > MOST)
        return PyErr_Format(PyExc_ValueError, "local() takes 1 to %d devices, not %zd", MOST, n);
    for (Py_ssize_t i = 0; i < n; i++)
        if (py_device_or_current(st, PyTuple_GetItem(where, i), &devices[i]) < 0)
            return NULL;
    PyThreadState *saved = PyEval_SaveThread();
    nd_status status = nd_comm_local((int32_t)n, devices, all);
    PyEval_RestoreThread(saved);
    return status == ND_OK ? list_of(all, n) : py_fail(st, status);
}

/* _comm_split(comm, color, key) */
static PyObject *comm_split(PyObject *module, PyObject *args)
{
    PyObject *o;
    nd_comm *c, *part = NULL;
    int color, key;
    if (!PyArg_ParseTuple(args, "Oii:split", &o, &color, &key) ||
        !(c = PyCapsule_GetPointer(o, COMM)))
        return NULL;
    PyThreadState *saved = PyEval_SaveThread();
    nd_status status = nd_comm_split(c, color, key, &part);
    PyEval_RestoreThread(saved);
    return comm_result(py_state_of(module), status, part);
}

/* ---- what they are, and what is done to them ---- */
static PyObject *comm_facts(PyObject *module, PyObject *o)
{
    const nd_comm *c = PyCapsule_GetPointer(o, COMM);
    if (!c)
        return NULL;
    return Py_BuildValue("(iiNs)", (int)nd_comm_rank(c), (int)nd_comm_size(c),
                         py_from_device(py_state_of(module), nd_comm_device(c)),
                         nd_comm_transport(c));
}

/* Calls function(comm) without the GIL. */
static PyObject *simply(PyObject *module, PyObject *o, nd_status (*function)(nd_comm *c))
{
    nd_comm *c = PyCapsule_GetPointer(o, COMM);
    if (!c)
        return NULL;
    PyThreadState *saved = PyEval_SaveThread();
    nd_status status = function(c);
    PyEval_RestoreThread(saved);
    return py_none(py_state_of(module), status);
}
static PyObject *comm_status(PyObject *module, PyObject *o)
{
    return simply(module, o, nd_comm_status);
}
static PyObject *comm_abort(PyObject *module, PyObject *o)
{
    return simply(module, o, nd_comm_abort);
}
static PyObject *comm_barrier(PyObject *module, PyObject *o)
{
    return simply(module, o, nd_comm_barrier);
}
/* A group is a thread's, and is begun and ended by the same one. */
static PyObject *comm_group_begin(PyObject *module, PyObject *o)
{
    return simply(module, o, nd_comm_group_begin);
}
static PyObject *comm_group_end(PyObject *module, PyObject *o)
{
    return simply(module, o, nd_comm_group_end);
}

/* ---- exchanges ---- */
typedef struct {
    nd_comm *comm;
    int kind, root;
    nd_array *a, *out; /* out NULL: a new one */
    nd_comm_opts opts;
} exchange;

static nd_status run(const exchange *x, nd_array **r)
{
    const nd_comm_opts *o = &x->opts;
    switch (x->kind) {
    case 0:
        return x->out ? nd_comm_all_reduce_into(x->comm, x->a, o, x->out)
                      : nd_comm_all_reduce(x->comm, x->a, o, r);
    case 1:
        return x->out ? nd_comm_reduce_into(x->comm, x->a, x->root, o, x->out)
                      : nd_comm_reduce(x->comm, x->a, x->root, o, r);
    case 2:
        return nd_comm_broadcast(x->comm, x->a, x->root, o);
    case 3:
        return x->out ? nd_comm_all_gather_into(x->comm, x->a, o, x->out)
                      : nd_comm_all_gather(x->comm, x->a, o, r);
    case 4:
        return x->out ? nd_comm_reduce_scatter_into(x->comm, x->a, o, x->out)
                      : nd_comm_reduce_scatter(x->comm, x->a, o, r);
    case 5:
        return x->out ? nd_comm_all_to_all_into(x->comm, x->a, o, x->out)
                      : nd_comm_all_to_all(x->comm, x->a, o, r);
    case 6:
        return nd_comm_send(x->comm, x->a, x->root, o);
    default:
        return nd_comm_recv(x->comm, x->a, x->root, o);
    }
}

/* (result, work), either None. */
static PyObject *pair_of(py_state *st, nd_array *r, nd_work *w)
{
    PyObject *result = r ? py_array_new(st, r) : Py_NewRef(Py_None);
    PyObject *work = w ? PyCapsule_New(w, WORK, work_gone) : Py_NewRef(Py_None);
    if (!work)
        nd_work_release(w);
    PyObject *pair = result && work ? PyTuple_Pack(2, result, work) : NULL;
    Py_XDECREF(result);
    Py_XDECREF(work);
    return pair;
}

/* _comm_exchange(comm, kind, array, reduction, root, out, stream, is work) */
static PyObject *comm_exchange(PyObject *module, PyObject *args)
{
    py_state *st = py_state_of(module);
    PyObject *o, *array, *out, *stream;
    exchange x = {.opts.size = sizeof x.opts};
    int reduce, wanted;
    nd_array *r = NULL;
    nd_work *w = NULL;
    if (!PyArg_ParseTuple(args, "OiOiiOOp:exchange", &o, &x.kind, &array, &reduce, &x.root, &out,
                          &stream, &wanted) ||
        !(x.comm = PyCapsule_GetPointer(o, COMM)) ||
        !(x.a = py_array_need(st, array, "a collective")) ||
        (out != Py_None && !(x.out = py_array_need(st, out, "out="))) ||
        py_stream(st, stream, nd_comm_device(x.comm), &x.opts.stream) < 0)
        return NULL;
    x.opts.reduce = reduce;
    x.opts.work = wanted ? &w : NULL;
    PyThreadState *saved = PyEval_SaveThread();
    nd_status status = run(&x, &r);
    nd_stream_release(x.opts.stream);
    PyEval_RestoreThread(saved);
    return status == ND_OK ? pair_of(st, r, w) : py_fail(st, status);
}

/* ---- work ---- */
static PyObject *work_wait(PyObject *module, PyObject *o)
{
    nd_work *w = PyCapsule_GetPointer(o, WORK);
    if (!w)
        return NULL;
    PyThreadState *saved = PyEval_SaveThread();
    nd_status status = nd_work_wait(w);
    PyEval_RestoreThread(saved);
    return py_none(py_state_of(module), status);
}
static PyObject *work_synchronize(PyObject *module, PyObject *o)
{
    nd_work *w = PyCapsule_GetPointer(o, WORK);
    if (!w)
        return NULL;
    PyThreadState *saved = PyEval_SaveThread();
    nd_status status = nd_work_synchronize(w);
    PyEval_RestoreThread(saved);
    return py_none(py_state_of(module), status);
}
static PyObject *work_query(PyObject *module, PyObject *o)
{
    int32_t done = 0;
    nd_work *w = PyCapsule_GetPointer(o, WORK);
    if (!w)
        return NULL;
    PyThreadState *saved = PyEval_SaveThread();
    nd_status status = nd_work_query(w, &done);
    PyEval_RestoreThread(saved);
    return py_bool(py_state_of(module), status, done);
}

PyMethodDef py_comm_methods[] = {{"_comm_world", comm_world, METH_O, NULL},
                                 {"_comm_launched", comm_launched, METH_NOARGS, NULL},
                                 {"_comm_unique_id", comm_unique_id, METH_O, NULL},
                                 {"_comm_init", comm_init, METH_VARARGS, NULL},
                                 {"_comm_local", comm_local, METH_O, NULL},
                                 {"_comm_split", comm_split, METH_VARARGS, NULL},
                                 {"_comm_facts", comm_facts, METH_O, NULL},
                                 {"_comm_status", comm_status, METH_O, NULL},
                                 {"_comm_abort", comm_abort, METH_O, NULL},
                                 {"_comm_barrier", comm_barrier, METH_O, NULL},
                                 {"_comm_group_begin", comm_group_begin, METH_O, NULL},
                                 {"_comm_group_end", comm_group_end, METH_O, NULL},
                                 {"_comm_exchange", comm_exchange, METH_VARARGS, NULL},
                                 {"_work_wait", work_wait, METH_O, NULL},
                                 {"_work_synchronize", work_synchronize, METH_O, NULL},
                                 {"_work_query", work_query, METH_O, NULL},
                                 PY_METHODS_END};
