/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Random arrays from explicit keys: (seed, counter) of Philox 4x32-10, the counter an int of 128
 * bits. */
#include "python/src/ops/ops.h"

int py_random_key(PyObject *seed, PyObject *counter, nd_random_key *key)
{
    key->key = PyLong_AsUnsignedLongLongMask(seed);
    if (PyErr_Occurred())
        return -1;
    PyObject *shift = PyLong_FromLong(64);
    PyObject *high = shift ? PyNumber_Rshift(counter, shift) : NULL;
    key->counter[0] = PyLong_AsUnsignedLongLongMask(counter);
    key->counter[1] = high ? PyLong_AsUnsignedLongLongMask(high) : 0;
    Py_XDECREF(shift);
    Py_XDECREF(high);
    return PyErr_Occurred() ? -1 : 0;
}

/* high << 64 | low */
static PyObject *wide_int(uint64_t high, uint64_t low)
{
    PyObject *h = PyLong_FromUnsignedLongLong(high), *l = PyLong_FromUnsignedLongLong(low);
    PyObject *shift = PyLong_FromLong(64), *shifted = h && shift ? PyNumber_Lshift(h, shift) : NULL;
    PyObject *result = shifted && l ? PyNumber_Or(shifted, l) : NULL;
    Py_XDECREF(h);
    Py_XDECREF(l);
    Py_XDECREF(shift);
    Py_XDECREF(shifted);
    return result;
}

/* (counter, size, dtype): the counter past what an array of that size uses */
static PyObject *skip(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_random_key key = {0, {0, 0}};
    int64_t size;
    nd_dtype dtype;
    if (py_args(st, "skip", "lt", args + 1, n - 1, &size, &dtype) < 0)
        return NULL;
    PyObject *zero = PyLong_FromLong(0);
    int bad = zero ? py_random_key(zero, args[0], &key) : -1;
    Py_XDECREF(zero);
    if (bad)
        return NULL;
    nd_random_skip(&key, size, dtype);
    return wide_int(key.counter[1], key.counter[0]);
}

nd_distribution py_random_named(PyObject *name)
{
    for (nd_distribution id = ND_DRAW_NONE + 1; id < ND_DRAW_END; id++)
        if (PyUnicode_CompareWithASCIIString(name, nd_distribution_get(id)->name) == 0)
            return id;
    return ND_DRAW_NONE;
}

/* (name of a distribution, size, dtype): how many blocks an array of that size uses */
static PyObject *blocks(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_random_key key = {0, {0, 0}};
    int64_t size;
    nd_dtype dtype;
    if (py_args(st, "blocks", "lt", args + 1, n - 1, &size, &dtype) < 0)
        return NULL;
    nd_random_skip_draw(&key, py_random_named(args[0]), size, dtype);
    return wide_int(key.counter[1], key.counter[0]);
}

int py_random_parse(py_state *st, const char *name, PyObject *const *args, Py_ssize_t n,
                    py_random_request *q)
{
    if (n < 5 || py_random_key(args[0], args[1], &q->key) < 0 ||
        py_args(st, name, "ztv", args + 2, 3, q->shape, &q->ndim, &q->dtype, &q->device) < 0)
        return -1;
    return 0;
}

typedef nd_status draw(nd_device *device, nd_dtype dtype, int ndim, const int64_t *shape,
                       const nd_random_key *key, double p1, double p2, nd_array **out);

/* (..., low or mean, high or standard deviation) */
static PyObject *floating(PyObject *module, const char *name, draw *fn, PyObject *const *args,
                          Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    py_random_request q;
    double p1, p2;
    nd_array *r = NULL;
    if (py_random_parse(st, name, args, n, &q) < 0 ||
        py_args(st, name, "dd", args + 5, n - 5, &p1, &p2) < 0)
        return NULL;
    PyThreadState *saved = PyEval_SaveThread();
    return py_done(st, saved, fn(q.device, q.dtype, q.ndim, q.shape, &q.key, p1, p2, &r), &r);
}
static PyObject *uniform(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    return floating(module, "uniform", nd_random_uniform, args, n);
}
static PyObject *normal(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    return floating(module, "normal", nd_random_normal, args, n);
}

/* (..., low, high) */
static PyObject *integers(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    py_random_request q;
    int64_t low, high;
    nd_array *r = NULL;
    if (py_random_parse(st, "integers", args, n, &q) < 0 ||
        py_args(st, "integers", "ll", args + 5, n - 5, &low, &high) < 0)
        return NULL;
    PyThreadState *saved = PyEval_SaveThread();
    return py_done(st, saved,
                   nd_random_integers(q.device, q.dtype, q.ndim, q.shape, &q.key, low, high, &r),
                   &r);
}

/* (seed, counter, n, device) */
static PyObject *permutation(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_random_key key;
    int64_t count;
    nd_device *device;
    nd_array *r = NULL;
    if (n != 4 || py_random_key(args[0], args[1], &key) < 0 ||
        py_args(st, "permutation", "lv", args + 2, 2, &count, &device) < 0)
        return NULL;
    PyThreadState *saved = PyEval_SaveThread();
    return py_done(st, saved, nd_random_permutation(device, count, &key, &r), &r);
}

/* (seed, counter): the 128 bits of one block */
static PyObject *block(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    nd_random_key k;
    uint32_t out[4];
    (void)module;
    if (n != 2 || py_random_key(args[0], args[1], &k) < 0)
        return NULL;
    const uint32_t counter[4] = {(uint32_t)k.counter[0], (uint32_t)(k.counter[0] >> 32),
                                 (uint32_t)k.counter[1], (uint32_t)(k.counter[1] >> 32)};
    const uint32_t key[2] = {(uint32_t)k.key, (uint32_t)(k.key >> 32)};
    nd_philox4x32(counter, key, out);
    return wide_int((uint64_t)out[3] << 32 | out[2], (uint64_t)out[1] << 32 | out[0]);
}

PyMethodDef py_random_methods[] = {PY_METHOD("_random_skip", skip),
                                   PY_METHOD("_random_blocks", blocks),
                                   PY_METHOD("_random_uniform", uniform),
                                   PY_METHOD("_random_normal", normal),
                                   PY_METHOD("_random_integers", integers),
                                   PY_METHOD("_random_permutation", permutation),
                                   PY_METHOD("_philox", block),
                                   PY_METHODS_END};
