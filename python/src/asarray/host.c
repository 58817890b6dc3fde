/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Host memory of other libraries: the buffer protocol (PEP 3118) and __array_interface__ (version 3
 * of NumPy's array interface protocol), viewed where possible. */
#include <stdlib.h>
#include "python/src/asarray/asarray.h"

/* How somebody's elements lie in host memory. owner keeps them there. */
typedef struct {
    PyObject *owner;
    char *data;
    nd_dtype dtype;
    int ndim;
    bool readonly, swapped, private_copy;
    int64_t shape[ND_MAX_NDIM], stride[ND_MAX_NDIM]; /* stride in bytes */
} host_memory;

static bool is_little_endian(void)
{
    const union {
        uint16_t word;
        uint8_t byte;
    } probe = {1};
    return probe.byte;
}

/* The dtype of that kind ('b' bool, 'i', 'u', 'f', 'c') and size; 0: none. */
static nd_dtype of_kind(char kind, Py_ssize_t itemsize)
{
    int want = kind == 'b'   ? ND_KIND_BOOL
               : kind == 'i' ? ND_KIND_INT
               : kind == 'u' ? ND_KIND_UINT
               : kind == 'f' ? ND_KIND_FLOAT
               : kind == 'c' ? ND_KIND_COMPLEX
                             : -1;
    for (nd_dtype d = 1; d < ND_DTYPE_END; d++)
        if (d != ND_BF16 && nd_dtype_get(d)->kind == want && nd_dtype_get(d)->nbytes == itemsize)
            return d;
    return 0;
}

/* A format string of one element; the code says the kind, the item's size the rest. */
static nd_dtype of_format(const char *format, Py_ssize_t itemsize, bool *swapped)
{
    static const char *const kinds[] = {"b?", "ibhilqn", "uBHILQN", "fefd"};
    const char *f = format ? format : "B";
    *swapped = false;
    if (*f == '>' || *f == '!')
        *swapped = is_little_endian();
    else if (*f == '<')
        *swapped = !is_little_endian();
    f += *f && strchr("@=<>!^", *f) != NULL;
    *swapped &= itemsize > 1;
    if (*f == 'Z' && f[1] && strchr("fd", f[1]) && !f[2])
        return of_kind('c', itemsize);
    if (!*f || f[1])
        return 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strchr(kinds[i] + 1, *f))
            return of_kind(kinds[i][0], itemsize);
    return 0;
}

/* How far the elements' bytes reach before and behind the address of the first. */
typedef struct {
    int64_t least, most;
} reach;

/* False where that is beyond 64 bits. */
static bool reach_of(const host_memory *m, reach *out)
{
    reach r = {0, (int64_t)nd_dtype_size(m->dtype)};
    for (int i = 0; i < m->ndim; i++) {
        int64_t far;
        if (m->shape[i] == 0) {
            *out = (reach){0, 0};
            return true;
        }
        if (__builtin_mul_overflow(m->shape[i] - 1, m->stride[i], &far) ||
            (far < 0 ? __builtin_add_overflow(r.least, far, &r.least)
                     : __builtin_add_overflow(r.most, far, &r.most)))
            return false;
    }
    *out = r;
    return true;
}

/* -1 where the number of bytes is beyond 64 bits. */
static int64_t bytes_of(const host_memory *m)
{
    int64_t nbytes = (int64_t)nd_dtype_size(m->dtype);
    for (int i = 0; i < m->ndim; i++)
        if (m->shape[i] == 0)
            return 0;
    for (int i = 0; i < m->ndim; i++)
        if (__builtin_mul_overflow(nbytes, m->shape[i], &nbytes))
            return -1;
    return nbytes;
}

/* An address from others is taken at its word, but not where the elements would go round the end of
 * the address space. */
static bool is_possible(const host_memory *m)
{
    reach r;
    uintptr_t address = (uintptr_t)m->data;
    return bytes_of(m) >= 0 && reach_of(m, &r) && address >= -(uintptr_t)r.least &&
           address <= UINTPTR_MAX - (uintptr_t)r.most;
}

static int too_many_axes(Py_ssize_t ndim)
{
    PyErr_Format(PyExc_ValueError, "the object has %zd axes; at most %d are possible", ndim,
                 ND_MAX_NDIM);
    return -1;
}

/* Memory behind pointers has no strides: a dense copy of it. */
static int flatten(const Py_buffer *view, host_memory *m)
{
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, view->len);
    if (!bytes)
        return -1;
    m->data = PyBytes_AsString(bytes);
    if (PyBuffer_ToContiguous(m->data, (Py_buffer *)view, view->len, 'C') < 0) {
        Py_DECREF(bytes);
        return -1;
    }
    Py_DECREF(m->owner);
    m->owner = bytes;
    m->private_copy = true;
    int64_t stride = view->itemsize;
    for (int i = m->ndim - 1; i >= 0; i--) {
        m->stride[i] = stride;
        stride *= m->shape[i];
    }
    return 0;
}

static int read_buffer(const Py_buffer *view, host_memory *m)
{
    m->dtype = of_format(view->format, view->itemsize, &m->swapped);
    if (!m->dtype) {
        PyErr_Format(PyExc_TypeError,
                     "no dtype for the buffer's format '%s' with items of %zd bytes; formats are "
                     "?, the integers', e, f, d, Zf and Zd",
                     view->format ? view->format : "B", view->itemsize);
        return -1;
    }
    if (view->ndim > ND_MAX_NDIM)
        return too_many_axes(view->ndim);
    m->data = view->buf;
    m->ndim = view->ndim;
    m->readonly = view->readonly;
    for (int i = 0; i < view->ndim; i++) {
        m->shape[i] = view->shape[i];
        m->stride[i] = view->strides[i];
    }
    for (int i = 0; view->suboffsets && i < view->ndim; i++)
        if (view->suboffsets[i] >= 0)
            return flatten(view, m);
    return 0;
}

/* 1: done, 0: the object hands out no buffer, -1: an exception. A memoryview holds the
 * buffer, so that one reference is all there is to keep. */
static int from_buffer(PyObject *o, host_memory *m)
{
    Py_buffer view;
    m->owner = PyMemoryView_FromObject(o);
    if (!m->owner || PyObject_GetBuffer(m->owner, &view, PyBUF_FULL_RO) < 0) {
        /* NumPy refuses so for dtypes that formats cannot say. */
        if (!PyErr_ExceptionMatches(PyExc_ValueError) && !PyErr_ExceptionMatches(PyExc_TypeError))
            return -1;
        PyErr_Clear();
        Py_CLEAR(m->owner);
        return 0;
    }
    int result = read_buffer(&view, m);
    PyBuffer_Release(&view);
    return result < 0 ? -1 : 1;
}

/* ---- __array_interface__ ---- */
static int bad(const char *what, PyObject *got)
{
    PyErr_Format(PyExc_ValueError, "__array_interface__: %s, not %R", what, got ? got : Py_None);
    return -1;
}

/* The dictionary's entries that are read, each held: reading one may run code of Python's (its
 * __index__ or __bool__), which may change the dictionary. NULL: not there. */
enum { TYPESTR, SHAPE, STRIDES, DATA, OFFSET, MASK, ENTRIES };

static int take_entries(PyObject *dict, PyObject **e)
{
    static const char *const names[ENTRIES] = {"typestr", "shape",  "strides",
                                               "data",    "offset", "mask"};
    for (int i = 0; i < ENTRIES; i++) {
        PyObject *key = PyUnicode_FromString(names[i]);
        e[i] = key ? Py_XNewRef(PyDict_GetItemWithError(dict, key)) : NULL;
        Py_XDECREF(key);
        if (!e[i] && PyErr_Occurred())
            return -1;
    }
    return 0;
}

static bool given(PyObject *entry)
{
    return entry && entry != Py_None;
}

/* Whether o's dtype has that name. */
static bool is_bfloat16(PyObject *o)
{
    PyObject *dtype = PyObject_GetAttrString(o, "dtype");
    PyObject *name = dtype ? PyObject_GetAttrString(dtype, "name") : NULL;
    bool is =
        name && PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, "bfloat16") == 0;
    PyErr_Clear();
    Py_XDECREF(dtype);
    Py_XDECREF(name);
    return is;
}

/* "<f4". '<V2' is bfloat16 where the object's dtype has that name. */
static int read_typestr(PyObject *o, PyObject *typestr, host_memory *m)
{
    Py_ssize_t n = 0;
    const char *t =
        typestr && PyUnicode_Check(typestr) ? PyUnicode_AsUTF8AndSize(typestr, &n) : NULL;
    if (n < 3 || strlen(t) != (size_t)n || !strchr("<>|=", t[0]))
        return bad("typestr is text such as '<f4'", typestr);
    char *end;
    long nbytes = strtol(t + 2, &end, 10);
    if ((*end && *end != '[') || nbytes <= 0) /* dates have their unit in brackets */
        return bad("typestr is text such as '<f4'", typestr);
    m->swapped =
        nbytes > 1 && ((t[0] == '>' && is_little_endian()) || (t[0] == '<' && !is_little_endian()));
    m->dtype = *end ? 0 : of_kind(t[1], nbytes);
    if (!m->dtype && t[1] == 'V' && nbytes == 2 && is_bfloat16(o))
        m->dtype = ND_BF16;
    if (m->dtype)
        return 0;
    PyErr_Format(PyExc_TypeError, "no dtype for elements of type '%s'", t);
    return -1;
}

static int read_ints(PyObject *tuple, const char *what, int64_t *out, int *n)
{
    if (!tuple || !PyTuple_Check(tuple))
        return bad(what, tuple);
    return py_ints(tuple, what, out, n);
}

static int read_layout(PyObject *shape, PyObject *strides, host_memory *m)
{
    int n = 0;
    if (read_ints(shape, "shape", m->shape, &m->ndim) < 0)
        return -1;
    for (int i = 0; i < m->ndim; i++)
        if (m->shape[i] < 0)
            return bad("extents are not negative", shape);
    int64_t stride = (int64_t)nd_dtype_size(m->dtype);
    for (int i = m->ndim - 1; i >= 0; i--) {
        m->stride[i] = stride;
        if (__builtin_mul_overflow(stride, m->shape[i] ? m->shape[i] : 1, &stride))
            return bad("the size fits 64 bits", shape);
    }
    if (given(strides) && read_ints(strides, "strides", m->stride, &n) < 0)
        return -1;
    return !given(strides) || n == m->ndim ? 0 : bad("strides has an entry for each axis", strides);
}

static int read_address(PyObject *pair, host_memory *m)
{
    PyObject *address = PyTuple_GetItem(pair, 0);
    if (!PyLong_Check(address))
        return bad("data is a pair of an address and a flag", pair);
    m->data = PyLong_AsVoidPtr(address);
    int readonly = PyErr_Occurred() ? -1 : PyObject_IsTrue(PyTuple_GetItem(pair, 1));
    m->readonly = readonly != 0;
    return readonly < 0 ? -1 : 0;
}

/* Where the elements are; without "data" they are the object's own buffer, from "offset". */
static int read_data(PyObject *o, PyObject *data, PyObject *offset, host_memory *m)
{
    if (data && PyTuple_Check(data) && PyTuple_Size(data) == 2)
        return read_address(data, m);
    Py_buffer view;
    PyObject *source = given(data) ? data : o;
    Py_ssize_t at = offset ? PyNumber_AsSsize_t(offset, PyExc_ValueError) : 0;
    if (at == -1 && PyErr_Occurred())
        return -1;
    PyObject *held = PyMemoryView_FromObject(source);
    if (!held || PyObject_GetBuffer(held, &view, PyBUF_SIMPLE) < 0) {
        Py_XDECREF(held);
        return -1;
    }
    reach r;
    bool fits = reach_of(m, &r) && at >= 0 && r.most <= view.len - at && r.least >= -at;
    m->data = fits ? (char *)view.buf + at : NULL;
    m->readonly = view.readonly;
    PyBuffer_Release(&view);
    PyObject *both = fits ? PyTuple_Pack(2, m->owner, held) : NULL;
    Py_DECREF(held);
    if (!fits)
        return bad("the shape and strides stay within data", data);
    if (!both)
        return -1;
    Py_DECREF(m->owner);
    m->owner = both;
    return 0;
}

static int read_interface(PyObject *o, PyObject *const *e, host_memory *m)
{
    if (given(e[MASK])) {
        PyErr_SetString(PyExc_NotImplementedError, "__array_interface__: masks are not supported");
        return -1;
    }
    if (read_typestr(o, e[TYPESTR], m) < 0 || read_layout(e[SHAPE], e[STRIDES], m) < 0)
        return -1;
    return read_data(o, e[DATA], e[OFFSET], m);
}

static int from_interface(PyObject *o, host_memory *m)
{
    PyObject *e[ENTRIES] = {NULL};
    PyObject *d = PyObject_GetAttrString(o, "__array_interface__");
    if (!d) {
        if (!PyErr_ExceptionMatches(PyExc_AttributeError))
            return -1;
        PyErr_Clear();
        return 0;
    }
    if (!PyDict_Check(d)) {
        bad("it is a dict", d);
        Py_DECREF(d);
        return -1;
    }
    m->owner = PyTuple_Pack(2, o, d);
    int result = m->owner && take_entries(d, e) == 0 ? read_interface(o, e, m) : -1;
    for (int i = 0; i < ENTRIES; i++)
        Py_XDECREF(e[i]);
    Py_DECREF(d);
    return result < 0 ? -1 : 1;
}

/* ---- to an array ---- */
/* Elements in C order, bytes reversed within each number where they are swapped. */
static void gather(const host_memory *m, int axis, const char *from, char **to)
{
    size_t n = nd_dtype_size(m->dtype);
    size_t part = nd_dtype_get(m->dtype)->kind == ND_KIND_COMPLEX ? n / 2 : n;
    if (axis < m->ndim) {
        for (int64_t i = 0; i < m->shape[axis]; i++)
            gather(m, axis + 1, from + i * m->stride[axis], to);
        return;
    }
    if (!m->swapped)
        memcpy(*to, from, n);
    for (size_t k = 0; m->swapped && k < n; k++)
        (*to)[k] = from[k / part * part + part - 1 - k % part];
    *to += n;
}

/* Without the GIL. */
static nd_status gathered(const host_memory *m, char *room, nd_device *device, nd_array **out)
{
    nd_layout layout = {
        .size = sizeof layout, .dtype = m->dtype, .ndim = m->ndim, .shape = m->shape};
    char *to = room;
    gather(m, 0, m->data, &to);
    return nd_from_host(&layout, room, device, out);
}

/* An array over the memory, which keeps the owner. */
static int view_of(py_state *st, const host_memory *m, const nd_layout *layout, nd_device *device,
                   nd_array **out)
{
    void *kept = py_keep(m->owner);
    if (!kept)
        return -1;
    if (py_check(st, nd_wrap(layout, m->data, device, py_drop, kept, out)) == 0)
        return 0;
    py_unkeep(kept);
    return -1;
}

/* layout NULL: it cannot say where the elements are, which are gathered first. */
static int copy_of(py_state *st, const host_memory *m, const nd_layout *layout, nd_device *device,
                   nd_array **out)
{
    const int64_t nbytes = bytes_of(m);
    char *room = layout ? NULL : PyMem_Malloc((size_t)nbytes);
    if (!layout && !room) {
        PyErr_NoMemory();
        return -1;
    }
    nd_device_info info;
    nd_device_describe(device, &info);
    PyThreadState *saved = nbytes > 4096 || info.async ? PyEval_SaveThread() : NULL;
    nd_status status =
        layout ? nd_from_host(layout, m->data, device, out) : gathered(m, room, device, out);
    py_lock(saved);
    PyMem_Free(room);
    return py_check(st, status);
}

/* *copied: whether the array is not a view. */
static int to_array(py_state *st, host_memory *m, nd_device *device, bool want_copy, nd_array **out,
                    bool *copied)
{
    int64_t strides[ND_MAX_NDIM];
    nd_layout layout = {.size = sizeof layout,
                        .dtype = m->dtype,
                        .ndim = m->ndim,
                        .flags = m->readonly && !m->private_copy ? ND_LAYOUT_READONLY : 0,
                        .shape = m->shape,
                        .stride = strides};
    int64_t item = (int64_t)nd_dtype_size(m->dtype);
    int64_t align = nd_dtype_get(m->dtype)->kind == ND_KIND_COMPLEX ? item / 2 : item;
    bool whole = !m->swapped;
    nd_device_info info;
    *copied = want_copy;
    if (bytes_of(m) == 0)
        return py_check(st, nd_empty(device, m->dtype, m->ndim, m->shape, out));
    if (!m->data)
        return bad("data is no null pointer where there are elements", NULL);
    if (!is_possible(m)) {
        PyErr_SetString(PyExc_ValueError, "the object's shape and strides reach beyond the address "
                                          "space from where its data are");
        return -1;
    }
    for (int i = 0; i < m->ndim; i++) {
        whole &= m->shape[i] <= 1 || m->stride[i] % item == 0;
        strides[i] = m->stride[i] / item;
    }
    nd_device_describe(device, &info);
    if (whole && !want_copy && info.host_visible && (uintptr_t)m->data % (uintptr_t)align == 0) {
        *copied = m->private_copy;
        return view_of(st, m, &layout, device, out);
    }
    *copied = true;
    return copy_of(st, m, whole ? &layout : NULL, device, out);
}

int py_import_host(py_state *st, PyObject *o, nd_device *device, bool want_copy, nd_array **out,
                   bool *copied)
{
    host_memory m = {.owner = NULL};
    *out = NULL;
    int found = PyObject_CheckBuffer(o) ? from_buffer(o, &m) : 0;
    if (found == 0)
        found = from_interface(o, &m);
    if (found > 0 && to_array(st, &m, device, want_copy, out, copied) < 0)
        found = -1;
    Py_XDECREF(m.owner);
    return found;
}
