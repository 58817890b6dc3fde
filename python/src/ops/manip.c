/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Putting arrays together and moving their elements. */
#include "python/src/ops/ops.h"

static int64_t total(const py_list *list)
{
    int64_t n = 0;
    for (int i = 0; i < list->n; i++)
        n += nd_size(list->a[i]);
    return n;
}

static int not_empty(const char *function, py_list *list)
{
    if (list->n)
        return 0;
    PyErr_Format(PyExc_ValueError, "%s() needs at least one array", function);
    py_list_end(list);
    return -1;
}

/* (arrays, axis or None) */
static PyObject *concat(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    py_list list;
    nd_array *r = NULL;
    PyObject *sequence = n ? args[0] : Py_None;
    int axis = 0;
    bool flat = n == 2 && args[1] == Py_None;
    if ((!flat && py_args(st, "concat", "i", args + 1, n - 1, &axis) < 0) ||
        py_list_begin(st, "concat", sequence, &list) < 0 || not_empty("concat", &list) < 0)
        return NULL;
    const nd_array *const *a = (const nd_array *const *)list.a;
    PyThreadState *saved = py_unlock(a[0], total(&list));
    nd_status status = flat ? nd_concat_flat(list.n, a, &r) : nd_concat(list.n, a, axis, &r);
    py_lock(saved);
    py_list_end(&list);
    return py_result(st, status, &r);
}

/* (arrays, axis) */
static PyObject *stack(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    py_list list;
    nd_array *r = NULL;
    int axis;
    if (py_args(st, "stack", "i", args + 1, n - 1, &axis) < 0 ||
        py_list_begin(st, "stack", args[0], &list) < 0 || not_empty("stack", &list) < 0)
        return NULL;
    const nd_array *const *a = (const nd_array *const *)list.a;
    PyThreadState *saved = py_unlock(a[0], total(&list));
    nd_status status = nd_stack(list.n, a, axis, &r);
    py_lock(saved);
    py_list_end(&list);
    return py_result(st, status, &r);
}

PyObject *py_unstack(py_state *st, const nd_array *a, int axis)
{
    int ndim = nd_ndim(a), at = axis < 0 ? axis + ndim : axis;
    int64_t count = at >= 0 && at < ndim ? nd_shape(a)[at] : 0;
    nd_array **views = PyMem_Calloc((size_t)count + 1, sizeof *views);
    if (!views || count > INT32_MAX) {
        PyMem_Free(views);
        return PyErr_NoMemory();
    }
    nd_status status = nd_unstack(a, axis, views);
    PyObject *result =
        status == ND_OK ? py_array_tuple(st, views, (int)count) : py_fail(st, status);
    PyMem_Free(views);
    return result;
}
/* (x, axis) */
static PyObject *unstack(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a;
    int axis;
    if (py_args(st, "unstack", "ai", args, n, &a, &axis) < 0)
        return NULL;
    return py_unstack(st, a, axis);
}

/* (x, repetitions) */
static PyObject *tile(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *r = NULL;
    int64_t reps[ND_MAX_NDIM];
    int k;
    if (py_args(st, "tile", "az", args, n, &a, reps, &k) < 0)
        return NULL;
    PyThreadState *saved = py_unlock(a, nd_size(a));
    return py_done(st, saved, nd_tile(a, k, reps, &r), &r);
}

/* (x, repeats: int or Array, axis) */
static PyObject *repeat(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *counts = n > 1 ? py_array_get(st, args[1]) : NULL, *r = NULL;
    int64_t count = 0;
    int axis;
    if (counts ? py_args(st, "repeat", "aai", args, n, &a, &counts, &axis) < 0
               : py_args(st, "repeat", "ali", args, n, &a, &count, &axis) < 0)
        return NULL;
    PyThreadState *saved = counts ? PyEval_SaveThread() : py_unlock(a, nd_size(a));
    nd_status status = counts ? nd_repeat_each(a, counts, axis, &r) : nd_repeat(a, count, axis, &r);
    return py_done(st, saved, status, &r);
}

/* (x, shifts, axes or None): one shift goes with every axis. */
static PyObject *roll(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *r = NULL;
    int64_t shifts[ND_MAX_NDIM];
    int32_t axes[ND_MAX_NDIM];
    int nshifts, naxes;
    if (py_args(st, "roll", "azx", args, n, &a, shifts, &nshifts, axes, &naxes) < 0)
        return NULL;
    if (naxes > 0 && nshifts == 1)
        for (; nshifts < naxes; nshifts++)
            shifts[nshifts] = shifts[0];
    if (nshifts != (naxes < 0 ? 1 : naxes))
        return PyErr_Format(PyExc_ValueError, "roll(): %d shifts for %d axes", nshifts,
                            naxes < 0 ? 1 : naxes);
    PyThreadState *saved = py_unlock(a, nd_size(a));
    return py_done(st, saved, nd_roll(a, nshifts, shifts, naxes < 0 ? NULL : axes, &r), &r);
}

/* (x, before, after, mode, value) */
static PyObject *pad(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *r = NULL;
    int64_t before[ND_MAX_NDIM], after[ND_MAX_NDIM];
    int nbefore, nafter, mode;
    nd_scalar value;
    if (py_args(st, "pad", "azzis", args, n, &a, before, &nbefore, after, &nafter, &mode, &value) <
        0)
        return NULL;
    if (nbefore != nd_ndim(a) || nafter != nd_ndim(a))
        return PyErr_Format(PyExc_ValueError, "pad(): widths of %d axes for an array of %d",
                            nbefore, nd_ndim(a));
    PyThreadState *saved = py_unlock(a, nd_size(a));
    return py_done(st, saved, nd_pad(a, before, after, mode, value, &r), &r);
}

/* One step: the elements from the second on, less those up to the last but one. */
static nd_status difference(const nd_array *a, int axis, nd_array **out)
{
    nd_index index[ND_MAX_NDIM];
    nd_array *left = NULL, *right = NULL;
    for (int i = 0; i < nd_ndim(a); i++)
        index[i] = nd_all_of();
    index[axis] = nd_range(1, ND_END_OPEN, 1);
    nd_status status = nd_slice(a, index, nd_ndim(a), &right);
    index[axis] = nd_range(ND_END_OPEN, -1, 1);
    if (status == ND_OK)
        status = nd_slice(a, index, nd_ndim(a), &left);
    if (status == ND_OK)
        status = nd_dtype_of(a) == ND_BOOL ? nd_not_equal(right, left, out)
                                           : nd_subtract(right, left, out);
    nd_release(left);
    nd_release(right);
    return status;
}

/* (x, axis, n times) */
static PyObject *diff(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a, *next = NULL;
    int axis;
    int64_t times;
    if (py_args(st, "diff", "ail", args, n, &a, &axis, &times) < 0)
        return NULL;
    int at = axis < 0 ? axis + nd_ndim(a) : axis;
    if (at < 0 || at >= nd_ndim(a))
        return PyErr_Format(PyExc_IndexError, "diff(): axis %d is out of range for %d dimensions",
                            axis, nd_ndim(a));
    if (times < 0)
        return PyErr_Format(PyExc_ValueError, "diff(): n is 0 or more, not %lld", (long long)times);
    PyThreadState *saved = py_unlock(a, nd_size(a));
    nd_status status = times ? ND_OK : nd_copy(a, NULL, &next);
    for (a = nd_retain(a); times > 0 && status == ND_OK; times--) {
        status = difference(a, at, &next);
        if (status == ND_OK && times > 1) {
            nd_release(a);
            a = next;
        }
    }
    nd_release(a);
    return py_done(st, saved, status, &next);
}

PyMethodDef py_manip_methods[] = {
    PY_METHOD("_concat", concat), PY_METHOD("_stack", stack),   PY_METHOD("_unstack", unstack),
    PY_METHOD("_tile", tile),     PY_METHOD("_repeat", repeat), PY_METHOD("_roll", roll),
    PY_METHOD("_pad", pad),       PY_METHOD("_diff", diff),     PY_METHODS_END};
