/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * x[key] and x[key] = value: keys are read here; views are made by nd_slice, the rest by
 * get.c and set.c. */
#include "python/src/indexing/indexing.h"

/* ---- reading a key ---- */
static int add(py_key *k, py_entry e)
{
    if (k->n == PY_KEY_MAX) {
        PyErr_Format(PyExc_IndexError, "the index has more than %d entries", PY_KEY_MAX);
        py_discard(e.array);
        return -1;
    }
    k->entry[k->n++] = e;
    return 0;
}

/* PySlice_Unpack makes numbers of None and cuts bounds to 64 bits. The library takes the lowest of
 * these for an open bound, which it is only where it is a stop going down. */
static int read_slice(PyObject *o, nd_index *out)
{
    Py_ssize_t start, stop, step;
    if (PySlice_Unpack(o, &start, &stop, &step) < 0)
        return -1;
    if (start == PY_SSIZE_T_MIN)
        start++;
    if (stop == PY_SSIZE_T_MIN && step > 0)
        stop++;
    *out = nd_range(start, stop, step);
    return 0;
}

static int add_slice(py_key *k, PyObject *o)
{
    py_entry e = {PY_RANGE, {0}, NULL};
    return read_slice(o, &e.index) < 0 ? -1 : add(k, e);
}

static int add_int(py_key *k, PyObject *o)
{
    PyObject *index = PyNumber_Index(o);
    if (!index)
        return -1;
    int overflow;
    long long i = PyLong_AsLongLongAndOverflow(index, &overflow);
    if (overflow)
        PyErr_Format(PyExc_IndexError, "index %R is out of range", index);
    Py_DECREF(index);
    if (overflow || (i == -1 && PyErr_Occurred()))
        return -1;
    return add(k, (py_entry){PY_INT, nd_at(i), NULL});
}

static int add_truth(py_key *k, bool truth)
{
    k->advanced = true;
    return add(k, (py_entry){PY_TRUTH, nd_at(truth), NULL});
}

/* Adds a, which is taken over. An array without axes means its value, where reading that needs no
 * device. */
static int add_array(py_key *k, nd_array *a)
{
    nd_scalar s;
    int kind = nd_dtype_get(nd_dtype_of(a))->kind;
    if (!(kind & (ND_KIND_INT | ND_KIND_UINT | ND_KIND_BOOL))) {
        PyErr_Format(PyExc_IndexError, "arrays used as indices are of integers or bool, not %s",
                     nd_dtype_get(nd_dtype_of(a))->standard);
        py_discard(a);
        return -1;
    }
    if (nd_ndim(a) == 0 && (kind == ND_KIND_BOOL || py_is_host(nd_device_of(a)))) {
        PyThreadState *saved = py_unlock(a, 1);
        nd_status status = nd_item(a, &s);
        py_lock(saved);
        nd_release(a);
        if (py_check(k->st, status) < 0)
            return -1;
        if (kind == ND_KIND_BOOL)
            return add_truth(k, s.v.u != 0);
        int64_t i = s.kind == ND_U64 && s.v.u > INT64_MAX ? INT64_MAX : s.v.i;
        return add(k, (py_entry){PY_INT, nd_at(i), NULL});
    }
    k->advanced = true;
    return add(k, (py_entry){kind == ND_KIND_BOOL ? PY_MASK : PY_INDICES, {0}, a});
}

/* Adds a list, or an array of another library; 1 where o is neither. */
static int add_listed(py_key *k, PyObject *o)
{
    nd_array *a = NULL;
    const bool sequence = py_is_sequence(o);
    if (!sequence && !py_is_foreign_array(o))
        return 1;
    const Py_ssize_t entries = sequence ? PySequence_Size(o) : 1;
    const int64_t none = 0;
    if (entries > 0)
        a = py_asarray(k->st, o, 0, nd_device_of(k->a), PY_COPY_IF_NEEDED);
    else if (entries == 0) /* as float64 it would be no index */
        (void)py_check(k->st, nd_empty(nd_device_of(k->a), ND_I64, 1, &none, &a));
    return a ? add_array(k, a) : -1;
}

static int add_entry(py_key *k, PyObject *o)
{
    nd_array *a = py_array_get(k->st, o);
    if (a)
        return add_array(k, nd_retain(a));
    if (PyBool_Check(o))
        return add_truth(k, o == Py_True);
    if (PyLong_Check(o))
        return add_int(k, o);
    if (PySlice_Check(o))
        return add_slice(k, o);
    if (o == Py_Ellipsis)
        return add(k, (py_entry){PY_ELLIPSIS, nd_ellipsis(), NULL});
    if (o == Py_None)
        return add(k, (py_entry){PY_NEWAXIS, nd_newaxis(), NULL});
    int listed = add_listed(k, o);
    if (listed <= 0)
        return listed;
    if (PyIndex_Check(o))
        return add_int(k, o);
    PyErr_Format(PyExc_IndexError,
                 "%R is no index; indices are ints, slices, ..., None, and arrays or lists of "
                 "integers or bools",
                 o);
    return -1;
}

/* How many axes of the array an entry stands for. */
int py_entry_axes(const py_entry *e)
{
    switch (e->kind) {
    case PY_INT:
    case PY_RANGE:
    case PY_INDICES:
        return 1;
    case PY_MASK:
        return nd_ndim(e->array);
    default:
        return 0;
    }
}

static int check_key(py_key *k)
{
    int axes = 0, ellipses = 0;
    for (int i = 0; i < k->n; i++) {
        axes += py_entry_axes(&k->entry[i]);
        ellipses += k->entry[i].kind == PY_ELLIPSIS;
    }
    if (ellipses > 1) {
        PyErr_SetString(PyExc_IndexError, "an index can have one ellipsis ('...') only");
        return -1;
    }
    if (axes > nd_ndim(k->a)) {
        PyErr_Format(PyExc_IndexError, "too many indices: the array has %d axes, the index %d",
                     nd_ndim(k->a), axes);
        return -1;
    }
    if (!ellipses && axes < nd_ndim(k->a) &&
        add(k, (py_entry){PY_ELLIPSIS, nd_ellipsis(), NULL}) < 0)
        return -1;
    k->rest = nd_ndim(k->a) - axes;
    return 0;
}

void py_key_clear(py_key *k)
{
    for (int i = 0; i < k->n; i++)
        py_discard(k->entry[i].array);
    k->n = 0;
}

static int read_key(py_key *k, py_state *st, nd_array *a, PyObject *o)
{
    int result = 0;
    k->st = st;
    k->a = a;
    k->n = 0;
    k->advanced = false;
    if (PyTuple_Check(o)) {
        Py_ssize_t n = PyTuple_Size(o);
        for (Py_ssize_t i = 0; i < n && result == 0; i++)
            result = add_entry(k, PyTuple_GetItem(o, i));
    } else {
        result = add_entry(k, o);
    }
    if (result == 0)
        result = check_key(k);
    if (result < 0)
        py_key_clear(k);
    return result;
}

/* ---- views ---- */
static nd_array *view_of(py_key *k)
{
    nd_index x[PY_KEY_MAX];
    nd_array *view = NULL;
    for (int i = 0; i < k->n; i++)
        x[i] = k->entry[i].index;
    return py_check(k->st, nd_slice(k->a, x, k->n, &view)) < 0 ? NULL : view;
}

/* ---- keys of nothing but ints and slices, the most common ones, by themselves ---- */
static bool is_simple(PyObject *o)
{
    return Py_TYPE(o) == &PyLong_Type || Py_TYPE(o) == &PySlice_Type;
}

/* Reads an entry that is_simple; 1 for an int beyond 64 bits, for which read_key has the
 * message. */
static int read_simple(PyObject *o, nd_index *x)
{
    int overflow = 0;
    if (Py_TYPE(o) == &PySlice_Type)
        return read_slice(o, x);
    *x = nd_at(PyLong_AsLongLongAndOverflow(o, &overflow));
    return overflow != 0;
}

enum { MOST_SIMPLE = 8 };

/* NULL without an exception: the key is of another kind. */
static nd_array *simple(py_state *st, nd_array *a, PyObject *key)
{
    nd_index x[MOST_SIMPLE];
    nd_array *view = NULL;
    const bool several = PyTuple_Check(key);
    const Py_ssize_t n = several ? PyTuple_Size(key) : 1;
    PyObject *entry[MOST_SIMPLE] = {key};
    if (n > MOST_SIMPLE || n > nd_ndim(a))
        return NULL;
    for (Py_ssize_t i = 0; several && i < n; i++)
        entry[i] = PyTuple_GetItem(key, i);
    for (Py_ssize_t i = 0; i < n;
         i++) /* all entries are looked at before code of any of them is called */
        if (!is_simple(entry[i]))
            return NULL;
    for (Py_ssize_t i = 0; i < n; i++)
        if (read_simple(entry[i], &x[i]) != 0)
            return NULL;
    (void)py_check(st, nd_slice(a, x, (int)n, &view));
    return view;
}

/* Whether the key is a mask of the first axis, as most masks are. */
static bool is_row_mask(const nd_array *a, const nd_array *key)
{
    return nd_dtype_of(key) == ND_BOOL && nd_ndim(key) == 1 && nd_ndim(a) > 0 && nd_size(key) > 0 &&
           nd_size(key) == nd_shape(a)[0];
}

static nd_array *by_any_key(py_state *st, nd_array *a, PyObject *key)
{
    nd_array *r = NULL;
    py_key k; /* which is large, and therefore not cleared as a whole */
    if (read_key(&k, st, a, key) == 0) {
        r = k.advanced ? py_get_advanced(&k) : view_of(&k);
        py_key_clear(&k);
    }
    return r;
}

static PyObject *get(PyObject *self, PyObject *key)
{
    py_state *st = py_state_of_array(self);
    nd_array *a = py_array_of(self), *listed = py_array_get(st, key), *r = NULL;
    if (listed && is_row_mask(a, listed))
        r = py_select_rows(st, a, listed);
    else if ((listed || !(r = simple(st, a, key))) && !PyErr_Occurred())
        r = by_any_key(st, a, key);
    return r ? py_array_new(st, r) : NULL;
}

/* ---- assignment ---- */
nd_array *py_value_for(py_state *st, PyObject *value, const nd_array *dst)
{
    nd_array *a = py_array_get(st, value);
    nd_device *device = nd_device_of(dst);
    if (a) {
        if (nd_device_of(a) != device && !py_is_host(nd_device_of(a))) {
            PyErr_Format(PyExc_ValueError,
                         "the array is on '%s', the value on '%s'; bring it there: "
                         "value.to_device('%s')",
                         nd_device_name(device), nd_device_name(nd_device_of(a)),
                         nd_device_name(device));
            return NULL;
        }
        return py_asarray(st, value, 0, device, PY_COPY_IF_NEEDED);
    }
    /* Python's numbers become the array's dtype, arrays of others keep theirs until the copy. */
    return py_asarray(st, value, py_is_sequence(value) ? nd_dtype_of(dst) : 0, device,
                      PY_COPY_IF_NEEDED);
}

static int assign_view(py_key *k, PyObject *value)
{
    nd_scalar s;
    nd_status status;
    int scalar = py_scalar(value, &s);
    nd_array *view = scalar < 0 ? NULL : view_of(k), *src = NULL;
    if (!view)
        return -1;
    if (!scalar && !(src = py_value_for(k->st, value, k->a))) {
        nd_release(view);
        return -1;
    }
    PyThreadState *saved = py_unlock(view, nd_size(view));
    status = scalar ? nd_fill(view, s) : nd_assign(src, view);
    py_lock(saved);
    nd_release(src);
    nd_release(view);
    return py_check(k->st, status);
}

static int set(PyObject *self, PyObject *key, PyObject *value)
{
    nd_array *a = py_array_of(self);
    py_key k;
    if (!value) {
        PyErr_SetString(PyExc_TypeError, "elements of an array cannot be deleted");
        return -1;
    }
    if (nd_is_readonly(a)) {
        PyErr_SetString(PyExc_ValueError, "the array is read-only; write into a copy()");
        return -1;
    }
    if (read_key(&k, py_state_of_array(self), a, key) < 0)
        return -1;
    int result = k.advanced ? py_set_advanced(&k, value) : assign_view(&k, value);
    py_key_clear(&k);
    return result;
}

const PyType_Slot py_index_slots[] = {
    {Py_mp_subscript, (void *)get}, {Py_mp_ass_subscript, (void *)set}, {0, NULL}};
