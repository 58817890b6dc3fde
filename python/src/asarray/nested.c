/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Arrays from nested sequences: first the shape and the dtype are found, then the elements are
 * written (elements.c); sequences that hold arrays are stacked on the arrays' device. */
#include "python/src/asarray/asarray.h"

typedef struct {
    py_state *st;
    int ndim;
    bool settled; /* the first branch has been walked to its end: ndim and shape are known */
    int64_t shape[ND_MAX_NDIM];
    Py_ssize_t path[ND_MAX_NDIM]; /* where the walk is */
    nd_dtype dtype;               /* of all leaves but Python's ints; 0: none yet */
    bool has_int, has_negative, has_above_i64, has_array;
    nd_device *device; /* of the first Array */
} walk;

bool py_is_sequence(PyObject *o)
{
    if (PyList_Check(o) || PyTuple_Check(o))
        return true;
    return PySequence_Check(o) && !py_state_of_array(o) && !PyUnicode_Check(o) &&
           !PyBytes_Check(o) && !PyByteArray_Check(o) && !PyDict_Check(o) &&
           !PyMemoryView_Check(o) && !PyObject_CheckBuffer(o) &&
           !PyObject_HasAttrString(o, "__array_interface__") &&
           !PyObject_HasAttrString(o, "__dlpack__") && !PyObject_HasAttrString(o, "__array__");
}

/* "[0][3]": the place of the walk at that depth; "the object itself" at depth 0. */
static const char *place(const walk *w, int depth, char *text, size_t n)
{
    size_t k = 0;
    PyOS_snprintf(text, n, "the object itself");
    for (int i = 0; i < depth && k + 24 < n; i++)
        k += (size_t)PyOS_snprintf(text + k, n - k, "[%zd]", w->path[i]);
    return text;
}

static int uneven(const walk *w, int depth, const char *is, Py_ssize_t length)
{
    char text[256], where[256];
    if (length >= 0)
        PyOS_snprintf(text, sizeof text, "has %zd entries", length);
    else
        PyOS_snprintf(text, sizeof text, "is %s", is);
    if (depth < w->ndim)
        PyErr_Format(PyExc_ValueError,
                     "the nested sequences are inhomogeneous: %s %s, where sequences of %lld "
                     "entries are at that depth",
                     place(w, depth, where, sizeof where), text, (long long)w->shape[depth]);
    else
        PyErr_Format(PyExc_ValueError,
                     "the nested sequences are inhomogeneous: %s %s, where scalars are at that "
                     "depth",
                     place(w, depth, where, sizeof where), text);
    return -1;
}

static int promote(walk *w, nd_dtype dtype)
{
    if (!w->dtype || w->dtype == dtype) {
        w->dtype = dtype;
        return 0;
    }
    return py_check(w->st, nd_promote(w->dtype, dtype, &w->dtype));
}

static int dtype_of_numpy(walk *w, PyObject *o)
{
    nd_dtype dtype;
    PyObject *of = PyObject_GetAttrString(o, "dtype");
    int result = of ? py_dtype(w->st, of, &dtype) : -1;
    Py_XDECREF(of);
    return result < 0 ? -1 : promote(w, dtype);
}

static int int_leaf(walk *w, PyObject *o)
{
    nd_scalar s;
    if (py_scalar(o, &s) < 0)
        return -1;
    w->has_int = true;
    w->has_negative |= s.kind == ND_I64 && s.v.i < 0;
    w->has_above_i64 |= s.kind == ND_U64;
    return 0;
}

/* Notes that there is an Array, or memory of another library; false for other objects. */
static bool array_leaf(walk *w, PyObject *o)
{
    nd_array *a = py_array_get(w->st, o);
    if (!a && !py_is_foreign_array(o))
        return false;
    w->has_array = true;
    if (a && !w->device)
        w->device = nd_device_of(a);
    return true;
}

/* Notes the dtype of a scalar that is neither a bool nor an int of Python's. */
static int scalar_leaf(walk *w, PyObject *o, nd_scalar s)
{
    if (Py_TYPE(o) == &PyComplex_Type)
        return promote(w, ND_C128);
    if (PyObject_HasAttrString(o, "dtype")) /* NumPy's float64 is a float, too */
        return dtype_of_numpy(w, o);
    return promote(w, s.kind == ND_F64 ? nd_default_float() : s.kind);
}

static int classify(walk *w, PyObject *o, int depth)
{
    char where[256];
    nd_scalar s;
    if (Py_TYPE(o) == &PyFloat_Type)
        return w->dtype == ND_F64 ? 0 : promote(w, nd_default_float());
    if (PyBool_Check(o))
        return promote(w, ND_BOOL);
    if (PyLong_Check(o))
        return int_leaf(w, o);
    int known = py_scalar(o, &s);
    if (known > 0)
        return scalar_leaf(w, o, s);
    if (known < 0)
        return -1;
    if (array_leaf(w, o))
        return 0;
    PyErr_Format(PyExc_TypeError,
                 "%s is %R, from which no array can be made: elements are bool, int, float or "
                 "complex",
                 place(w, depth, where, sizeof where), (PyObject *)Py_TYPE(o));
    return -1;
}

static int leaf(walk *w, PyObject *o, int depth)
{
    if (!w->settled) {
        w->settled = true;
        w->ndim = depth;
    }
    if (classify(w, o, depth) < 0)
        return -1;
    return depth == w->ndim || w->has_array ? 0 : uneven(w, depth, "a scalar", -1);
}

static int measure(walk *w, PyObject *o, int depth);

/* How many entries are walked between two looks for Ctrl-C; a range may claim to have 2^62. */
enum { SIGNALS = 1 << 16 };

static int level(walk *w, PyObject *o, int depth)
{
    Py_ssize_t n = PySequence_Size(o);
    if (n < 0)
        return -1;
    if (depth == ND_MAX_NDIM) {
        PyErr_Format(PyExc_ValueError, "the sequences are nested more than %d deep", ND_MAX_NDIM);
        return -1;
    }
    if (!w->settled) {
        w->shape[depth] = n;
        w->ndim = depth + 1;
        w->settled = n == 0;
    } else if (depth >= w->ndim || w->shape[depth] != n) {
        if (!w->has_array)
            return uneven(w, depth, "a sequence", n);
    }
    int result = 0;
    for (Py_ssize_t i = 0; i < n && result == 0; i++) {
        w->path[depth] = i;
        if (i % SIGNALS == SIGNALS - 1 && PyErr_CheckSignals() < 0)
            return -1;
        PyObject *item = PySequence_GetItem(o, i);
        result = item ? measure(w, item, depth + 1) : -1;
        Py_XDECREF(item);
    }
    return result;
}

static int measure(walk *w, PyObject *o, int depth)
{
    if (Py_TYPE(o) == &PyFloat_Type || Py_TYPE(o) == &PyLong_Type) /* nearly always */
        return leaf(w, o, depth);
    return py_is_sequence(o) ? level(w, o, depth) : leaf(w, o, depth);
}

/* Settles the dtype that holds everything that was found. */
static int settle_dtype(walk *w)
{
    if (!w->has_int) {
        w->dtype = w->dtype ? w->dtype : nd_default_float();
        return 0;
    }
    if (w->has_above_i64 && w->has_negative && (!w->dtype || w->dtype == ND_BOOL)) {
        PyErr_SetString(PyExc_OverflowError,
                        "there are ints above the range of int64 and negative ones, so no integer "
                        "dtype holds all; give a floating dtype");
        return -1;
    }
    if (w->has_above_i64 || (w->dtype == ND_U64 && !w->has_negative))
        return promote(w, ND_U64);
    return promote(w, ND_I64);
}

/* ---- sequences that hold arrays ---- */
static nd_array *stack(const walk *w, PyObject *o, int depth, nd_dtype dtype);

static nd_array *empty_level(const walk *w, nd_dtype dtype)
{
    nd_array *empty = NULL;
    const int64_t none = 0;
    dtype = dtype ? dtype : nd_default_float();
    (void)py_check(w->st, nd_empty(w->device, dtype, 1, &none, &empty));
    return empty;
}

/* Stacks the n entries of a sequence along a new axis. */
static nd_array *stack_level(const walk *w, PyObject *o, Py_ssize_t n, int depth, nd_dtype dtype)
{
    nd_array **parts = PyMem_Calloc((size_t)n, sizeof *parts), *out = NULL;
    Py_ssize_t made = 0;
    if (!parts)
        return (nd_array *)PyErr_NoMemory();
    for (; made < n; made++) {
        PyObject *item = PySequence_GetItem(o, made);
        parts[made] = item ? stack(w, item, depth + 1, dtype) : NULL;
        Py_XDECREF(item);
        if (!parts[made])
            break;
    }
    if (made == n)
        (void)py_check(w->st, nd_stack((int)n, (const nd_array *const *)parts, 0, &out));
    for (Py_ssize_t i = 0; i < made; i++)
        py_discard(parts[i]);
    PyMem_Free(parts);
    return out;
}

/* Stacks what o holds. An object that was a leaf when it was measured may be a sequence by now, of
 * any depth. */
static nd_array *stack(const walk *w, PyObject *o, int depth, nd_dtype dtype)
{
    if (!py_is_sequence(o))
        return py_asarray_leaf(w->st, o, dtype, w->device);
    Py_ssize_t n = PySequence_Size(o);
    if (depth == ND_MAX_NDIM || n > INT32_MAX) {
        PyErr_Format(PyExc_ValueError, "arrays cannot be stacked %d deep, and %zd at once",
                     depth + 1, n);
        return NULL;
    }
    if (n < 0)
        return NULL;
    return n ? stack_level(w, o, n, depth, dtype) : empty_level(w, dtype);
}

nd_array *py_from_nested(py_state *st, PyObject *o, nd_dtype dtype, nd_device *device)
{
    walk w = {.st = st};
    nd_array *moved = NULL;
    if (measure(&w, o, 0) < 0)
        return NULL;
    if (!w.has_array)
        return !dtype && settle_dtype(&w) < 0
                   ? NULL
                   : py_from_scalars(st, o, w.ndim, w.shape, dtype ? dtype : w.dtype, device);
    w.device = w.device ? w.device : device;
    nd_array *all = stack(&w, o, 0, dtype);
    if (!all || !device)
        return all;
    (void)py_check(st, nd_to_device(all, device, &moved));
    py_discard(all);
    return moved;
}
