/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Operands of kernels by formula: read, broadcast, made and ordered for a walk over their
 * elements. */
#include "python/src/kernels/kernels.h"

static int take_device(py_kernel_call *c, const nd_array *a)
{
    nd_device *d = nd_device_of(a);
    if (c->device && c->device != d) {
        PyErr_Format(PyExc_ValueError, "the operands are on %s and on %s; x.to(device) moves one",
                     nd_device_name(c->device), nd_device_name(d));
        return -1;
    }
    c->device = d;
    return 0;
}

static int has_room(int n)
{
    if (n <= PY_KERNEL_OPERANDS)
        return 0;
    PyErr_Format(PyExc_ValueError, "%d operands; %d are the most", n, PY_KERNEL_OPERANDS);
    return -1;
}

int py_kernel_inputs(py_kernel_call *c, py_state *st, PyObject *inputs, unsigned long long raw)
{
    const Py_ssize_t n = PyTuple_Size(inputs);
    c->st = st;
    c->device = NULL;
    c->n = 0;
    if (n < 0 || has_room((int)n) < 0)
        return -1;
    for (; c->n < n; c->n++) {
        PyObject *o = PyTuple_GetItem(inputs, c->n);
        py_operand_of *p = &c->operand[c->n];
        *p = (py_operand_of){.a = py_array_get(st, o), .raw = raw >> c->n & 1};
        if (p->a ? take_device(c, p->a) < 0
                 : PyBytes_AsStringAndSize(o, (char **)(uintptr_t)&p->value, &p->nbytes) < 0)
            return -1;
    }
    c->n_in = c->n;
    return 0;
}

static int set_size(py_kernel_call *c)
{
    c->size = 1;
    for (int i = 0; i < c->ndim; i++)
        if (__builtin_mul_overflow(c->size, c->shape[i], &c->size)) {
            PyErr_SetString(PyExc_OverflowError, "the operands broadcast to too many elements");
            return -1;
        }
    return 0;
}

int py_kernel_shape(py_kernel_call *c, int64_t size)
{
    int ndims[PY_KERNEL_OPERANDS], n = 0;
    const int64_t *shapes[PY_KERNEL_OPERANDS];
    for (int i = 0; i < c->n; i++)
        if (c->operand[i].a && !c->operand[i].raw) {
            ndims[n] = nd_ndim(c->operand[i].a);
            shapes[n++] = nd_shape(c->operand[i].a);
        }
    if (n > 0) {
        if (py_check(c->st, nd_broadcast_shapes(n, ndims, shapes, &c->ndim, c->shape)) < 0)
            return -1;
    } else if (size < 0) {
        return 1;
    }
    if (n > 0 && size >= 0) {
        PyErr_SetString(PyExc_ValueError, "size= is for calls without an array that is not raw");
        return -1;
    }
    if (n == 0) {
        c->ndim = 1;
        c->shape[0] = size;
    }
    return set_size(c);
}

static int make_output(py_kernel_call *c, PyObject *given, PyObject *dtype, int ndim,
                       const int64_t *shape, py_operand_of *p)
{
    nd_dtype wanted;
    nd_device *device = c->device;
    if (given != Py_None) {
        p->a = py_array_need(c->st, given, "kernel");
        return p->a ? take_device(c, p->a) : -1;
    }
    if (p->raw) {
        PyErr_SetString(PyExc_TypeError, "a raw output must be given");
        return -1;
    }
    if (py_dtype(c->st, dtype, &wanted) < 0 || py_or_current(c->st, &device) < 0)
        return -1;
    c->device = device;
    if (py_check(c->st, nd_empty(device, wanted, ndim, shape, &p->owned)) < 0)
        return -1;
    p->a = p->owned;
    return 0;
}

static int check_shape(const py_operand_of *p, int ndim, const int64_t *shape)
{
    if (p->raw ||
        (nd_ndim(p->a) == ndim && memcmp(nd_shape(p->a), shape, (size_t)ndim * sizeof *shape) == 0))
        return 0;
    PyObject *have = py_tuple(nd_shape(p->a), nd_ndim(p->a)), *want = py_tuple(shape, ndim);
    if (have && want)
        PyErr_Format(PyExc_ValueError, "an output has the shape %S, the result %S", have, want);
    Py_XDECREF(have);
    Py_XDECREF(want);
    return -1;
}

int py_kernel_outputs(py_kernel_call *c, PyObject *outs, PyObject *dtypes, int ndim,
                      const int64_t *shape, unsigned long long raw)
{
    const Py_ssize_t n = PyTuple_Size(outs);
    if (n < 0 || has_room(c->n_in + (int)n) < 0)
        return -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        py_operand_of *p = &c->operand[c->n++];
        *p = (py_operand_of){.out = true, .raw = raw >> (c->n_in + i) & 1};
        if (make_output(c, PyTuple_GetItem(outs, i), PyTuple_GetItem(dtypes, i), ndim, shape, p) <
                0 ||
            check_shape(p, ndim, shape) < 0)
            return -1;
    }
    return 0;
}

static bool same_view(const nd_array *a, const nd_array *b)
{
    const size_t n = (size_t)nd_ndim(a) * sizeof(int64_t);
    return nd_offset(a) == nd_offset(b) && nd_ndim(a) == nd_ndim(b) &&
           nd_dtype_of(a) == nd_dtype_of(b) && memcmp(nd_shape(a), nd_shape(b), n) == 0 &&
           memcmp(nd_strides(a), nd_strides(b), n) == 0;
}

static int part_one(const py_kernel_call *c, py_operand_of *p)
{
    bool copy = p->raw && !nd_is_contiguous(p->a);
    if (copy && p->out) {
        PyErr_SetString(PyExc_ValueError, "a raw output must be dense in C order");
        return -1;
    }
    for (int i = c->n_in; i < c->n && !p->out && !p->raw; i++)
        copy |= nd_shares_storage(c->operand[i].a, p->a) && !same_view(c->operand[i].a, p->a);
    if (!copy)
        return 0;
    if (py_check(c->st, nd_copy(p->a, NULL, &p->owned)) < 0)
        return -1;
    p->a = p->owned;
    return 0;
}

int py_kernel_part(py_kernel_call *c)
{
    for (int i = 0; i < c->n; i++)
        if (c->operand[i].a && part_one(c, &c->operand[i]) < 0)
            return -1;
    return 0;
}

void py_kernel_strides(py_kernel_call *c, int first)
{
    for (int i = first; i < c->n; i++) {
        py_operand_of *p = &c->operand[i];
        if (!p->a || p->raw)
            continue;
        const int missing = c->ndim - nd_ndim(p->a);
        for (int d = 0; d < c->ndim; d++) {
            const bool there = d >= missing && nd_shape(p->a)[d - missing] != 1;
            p->stride[d] = there ? nd_strides(p->a)[d - missing] : 0;
        }
    }
}

/* ---- the walk ---- */
static bool is_walked(const py_operand_of *p)
{
    return p->a && !p->raw;
}

static void exchange(py_kernel_call *c, int n, int64_t *shape, int d, int e)
{
    int64_t kept = shape[d];
    shape[d] = shape[e];
    shape[e] = kept;
    for (int i = 0; i < n; i++) {
        int64_t *stride = c->operand[i].stride;
        kept = stride[d];
        stride[d] = stride[e];
        stride[e] = kept;
    }
}

/* Whether axis d should be outside e, which is behind it: by the last operand that tells. */
static bool in_order(const py_kernel_call *c, int n, int d, int e)
{
    for (int i = n - 1; i >= 0; i--) {
        const int64_t *stride = c->operand[i].stride;
        const int64_t s = stride[d] < 0 ? -stride[d] : stride[d];
        const int64_t t = stride[e] < 0 ? -stride[e] : stride[e];
        if (is_walked(&c->operand[i]) && s && t && s != t)
            return s > t;
    }
    return true;
}

static bool can_join(const py_kernel_call *c, int n, const int64_t *shape, int d, int e)
{
    for (int i = 0; i < n; i++) {
        const int64_t *stride = c->operand[i].stride;
        if (is_walked(&c->operand[i]) && stride[d] != stride[e] * shape[e])
            return false;
    }
    return true;
}

static int drop_ones(py_kernel_call *c, int n, int ndim, int64_t *shape)
{
    int kept = 0;
    for (int d = 0; d < ndim; d++)
        if (shape[d] != 1) {
            if (kept != d)
                exchange(c, n, shape, kept, d);
            kept++;
        }
    return kept;
}

int py_kernel_merge(py_kernel_call *c, int n, int ndim, int64_t *shape)
{
    int last = 0;
    ndim = drop_ones(c, n, ndim, shape);
    for (int d = 1; d < ndim && !c->ordered; d++)
        for (int e = d; e > 0 && !in_order(c, n, e - 1, e); e--)
            exchange(c, n, shape, e - 1, e);
    for (int d = 1; d < ndim; d++) {
        if (can_join(c, n, shape, last, d)) {
            shape[last] *= shape[d];
            for (int i = 0; i < n; i++)
                c->operand[i].stride[last] = c->operand[i].stride[d];
        } else if (++last != d) {
            exchange(c, n, shape, last, d);
        }
    }
    return ndim ? last + 1 : 0;
}

/* ---- finding and calling ---- */
PyObject *py_kernel_find(PyObject *find, PyObject *table, unsigned long long key)
{
    PyObject *number = PyLong_FromUnsignedLongLong(key);
    PyObject *found = number ? PyDict_GetItemWithError(table, number) : NULL;
    Py_XINCREF(found); /* another thread may put its own in the place */
    if (number && !found && !PyErr_Occurred()) {
        found = PyObject_CallFunctionObjArgs(find, number, NULL);
        if (found && PyDict_SetItem(table, number, found) < 0)
            Py_CLEAR(found);
    }
    Py_XDECREF(number);
    return found;
}

int py_kernel_arguments(const py_kernel_call *c, nd_launch_arg *args, int n, int64_t *sizes)
{
    for (int i = 0; i < c->n; i++) {
        const py_operand_of *p = &c->operand[i];
        if (!p->a) {
            args[n++] = nd_launch_bytes(p->value, (uint32_t)p->nbytes);
            continue;
        }
        args[n++] = p->out ? nd_launch_out(p->a) : nd_launch_in(p->a);
        if (p->raw) {
            sizes[i] = nd_size(p->a);
            args[n++] = nd_launch_bytes(&sizes[i], sizeof sizes[i]);
        }
    }
    return n;
}

PyObject *py_kernel_result(py_kernel_call *c)
{
    nd_array *r[PY_KERNEL_OPERANDS];
    const int n = c->n - c->n_in;
    for (int i = 0; i < n; i++)
        r[i] = nd_retain(c->operand[c->n_in + i].a);
    return n == 1 ? py_array_new(c->st, r[0]) : py_array_tuple(c->st, r, n);
}

PyObject *py_kernel_end(py_kernel_call *c)
{
    for (int i = 0; i < c->n; i++)
        py_discard(c->operand[i].owned);
    return NULL;
}
