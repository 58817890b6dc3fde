/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Elementwise kernels by formula: one call. What the kernels take is python/ndock/_kernel_text.py's
 * affair: n, elements of a block, where the layout needs it the walk, and the operands. */
#include "python/src/kernels/kernels.h"

/* The layouts for which kernels differ: 0, all operands dense in one order; else per operand whether
 * it steps by 0, 1 or otherwise along the innermost axis, behind that the number of axes and whether
 * positions need 64 bits, where the kernel is written for these (blocks of a GPU). */
static unsigned long long layout_of(const py_kernel_call *c, bool exact)
{
    unsigned long long key = 0;
    bool dense = c->ndim <= 1;
    for (int i = 0; i < c->n; i++) {
        const py_operand_of *p = &c->operand[i];
        if (!p->a || p->raw)
            continue;
        const int64_t step = c->ndim ? p->stride[c->ndim - 1] : 1;
        key = 3 * key + (step == 0 ? 0 : step == 1 ? 1 : 2);
        dense &= step == 1;
    }
    if (dense)
        return 0;
    key = 1 + 2 * (key * PY_KERNEL_NDIM + (exact ? (unsigned)(c->ndim > 0 ? c->ndim - 1 : 0) : 0));
    return 2 * key + (exact && c->size > INT32_MAX / 2);
}

/* Where the axes are too many, or positions might not do, dense copies of the inputs are walked
 * with. */
static int keep_few_axes(py_kernel_call *c, int original, const int64_t *shape)
{
    nd_array *view;
    for (int i = 0; i < c->n_in; i++) {
        py_operand_of *p = &c->operand[i];
        if (!p->a || p->raw)
            continue;
        if (py_check(c->st, nd_broadcast_to(p->a, original, shape, &view)) < 0)
            return -1;
        nd_array *dense = NULL;
        const nd_status status = nd_copy(view, NULL, &dense);
        py_discard(view);
        if (py_check(c->st, status) < 0)
            return -1;
        py_discard(p->owned);
        p->a = p->owned = dense;
    }
    c->ndim = original;
    memcpy(c->shape, shape, (size_t)original * sizeof *shape);
    py_kernel_strides(c, 0);
    c->ndim = py_kernel_merge(c, c->n, c->ndim, c->shape);
    if (c->ndim <= PY_KERNEL_NDIM)
        return 0;
    PyErr_Format(PyExc_ValueError, "an output has %d axes that cannot be joined; %d are the most",
                 c->ndim, PY_KERNEL_NDIM);
    return -1;
}

/* Whether an input steps far along the innermost axis, and by one along another: read so, each
 * element costs a line of the cache. A copy, made tile by tile, costs less. */
static bool is_across(const py_kernel_call *c, const py_operand_of *p)
{
    enum { FAR = 16, MANY = 1 << 14 };
    const int last = c->ndim - 1;
    if (!p->a || p->raw || p->out || last < 1 || c->size < MANY)
        return false;
    const int64_t step = p->stride[last] < 0 ? -p->stride[last] : p->stride[last];
    for (int d = 0; d < last && step >= FAR; d++)
        if ((p->stride[d] == 1 || p->stride[d] == -1) && c->shape[d] >= FAR)
            return true;
    return false;
}

static int copy_across(py_kernel_call *c, bool *copied)
{
    *copied = false;
    for (int i = 0; i < c->n_in; i++) {
        py_operand_of *p = &c->operand[i];
        nd_array *dense = NULL;
        if (!is_across(c, p))
            continue;
        if (py_check(c->st, nd_copy(p->a, NULL, &dense)) < 0)
            return -1;
        py_discard(p->owned);
        p->a = p->owned = dense;
        *copied = true;
    }
    return 0;
}

static int lay_out(py_kernel_call *c)
{
    int64_t shape[ND_MAX_NDIM];
    const int ndim = c->ndim;
    bool copied;
    memcpy(shape, c->shape, (size_t)ndim * sizeof *shape);
    py_kernel_strides(c, 0);
    c->ndim = py_kernel_merge(c, c->n, ndim, c->shape);
    if (copy_across(c, &copied) < 0)
        return -1;
    if (copied) {
        c->ndim = ndim;
        memcpy(c->shape, shape, (size_t)ndim * sizeof *shape);
        py_kernel_strides(c, 0);
        c->ndim = py_kernel_merge(c, c->n, ndim, c->shape);
    }
    return c->ndim <= PY_KERNEL_NDIM ? 0 : keep_few_axes(c, ndim, shape);
}

/* The walk's bytes: extents, then each operand's strides, as 64-bit integers, from the front. */
static uint32_t write_walk(const py_kernel_call *c, int64_t *out)
{
    int64_t *at = out;
    for (int d = 0; d < PY_KERNEL_NDIM; d++)
        *at++ = d < c->ndim ? c->shape[d] : 1;
    for (int i = 0; i < c->n; i++) {
        const py_operand_of *p = &c->operand[i];
        for (int d = 0; p->a && !p->raw && d < PY_KERNEL_NDIM; d++)
            *at++ = d < c->ndim ? p->stride[d] : 0;
    }
    return (uint32_t)((char *)at - (char *)out);
}

static int launch(py_kernel_call *c, PyObject *function, int64_t chunk, bool walk, bool exact,
                  uint32_t threads)
{
    nd_launch_arg args[2 * PY_KERNEL_OPERANDS + 4];
    int64_t bytes[PY_KERNEL_NDIM * (PY_KERNEL_OPERANDS + 1)], sizes[PY_KERNEL_OPERANDS];
    int64_t ndim = c->ndim;
    nd_launch_opts opts = {.size = sizeof opts, .block = {threads}};
    nd_function *f = py_function_get(function);
    int n = 0;
    const int64_t blocks = (c->size + chunk - 1) / chunk;
    if (!f)
        return -1;
    if (blocks > INT32_MAX) {
        PyErr_SetString(PyExc_OverflowError, "more elements than one launch can have");
        return -1;
    }
    opts.grid[0] = (uint32_t)blocks;
    args[n++] = nd_launch_bytes(&c->size, sizeof c->size);
    args[n++] = nd_launch_bytes(&chunk, sizeof chunk);
    if (walk && !exact)
        args[n++] = nd_launch_bytes(&ndim, sizeof ndim);
    if (walk)
        args[n++] = nd_launch_bytes(bytes, write_walk(c, bytes));
    n = py_kernel_arguments(c, args, n, sizes);
    PyThreadState *saved = py_unlock(c->operand[c->n - 1].a, c->size);
    const nd_status status = nd_launch(f, args, n, &opts);
    py_lock(saved);
    return py_check(c->st, status);
}

/* find(key) gives (function, elements of a block); exact, threads: what GPUs need. */
static int run(py_kernel_call *c, PyObject *find, PyObject *table, bool exact, int threads)
{
    int64_t chunk;
    const unsigned long long key = layout_of(c, exact);
    PyObject *entry = py_kernel_find(find, table, key);
    int status = entry ? py_int64(PyTuple_GetItem(entry, 1), &chunk) : -1;
    if (status == 0)
        status = launch(c, PyTuple_GetItem(entry, 0), chunk, key != 0, exact, (uint32_t)threads);
    Py_XDECREF(entry);
    return status;
}

/* Whether one of the bits of outputs alone says that they are raw. */
static bool has_walked_output(unsigned long long raw, int n_in, Py_ssize_t n_out)
{
    for (Py_ssize_t i = 0; i < n_out; i++)
        if (!(raw >> (n_in + i) & 1))
            return true;
    return false;
}

/* Reads everything; the shape is that of the inputs, else of size, else of the outputs. */
static int read_call(py_kernel_call *c, py_state *st, PyObject *const *args, int64_t size,
                     unsigned long long raw)
{
    if (py_kernel_inputs(c, st, args[2], raw) < 0)
        return -1;
    const int found = py_kernel_shape(c, size);
    if (found < 0)
        return -1;
    if (found == 1) { /* nothing but raw inputs and values, and no size: a given output tells */
        PyObject *first = has_walked_output(raw, c->n_in, PyTuple_Size(args[4]))
                              ? PyTuple_GetItem(args[4], 0)
                              : Py_None;
        nd_array *a = first == Py_None ? NULL : py_array_need(st, first, "kernel");
        if (!a) {
            PyErr_SetString(PyExc_ValueError,
                            "no array tells how many elements there are; give size=");
            return -1;
        }
        c->ndim = nd_ndim(a);
        memcpy(c->shape, nd_shape(a), (size_t)c->ndim * sizeof *c->shape);
        c->size = nd_size(a);
    }
    return py_kernel_outputs(c, args[4], args[5], c->ndim, c->shape, raw) < 0 ||
                   py_kernel_part(c) < 0
               ? -1
               : 0;
}

/* _kernel_elementwise(find, table, inputs, raw, outputs, dtypes, size, exact, threads, ordered) */
static PyObject *elementwise(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    py_kernel_call c = {.n = 0};
    int64_t size, raw;
    int exact, threads, ordered;
    if (n != 10 || py_int64(args[3], &raw) < 0 || py_int64(args[6], &size) < 0 ||
        py_args(st, "kernel", "pip", args + 7, 3, &exact, &threads, &ordered) < 0)
        return NULL;
    c.ordered = ordered;
    if (read_call(&c, st, args, size, (unsigned long long)raw) < 0 ||
        (c.size > 0 && (lay_out(&c) < 0 || run(&c, args[0], args[1], exact, threads) < 0)))
        return py_kernel_end(&c);
    PyObject *result = py_kernel_result(&c);
    (void)py_kernel_end(&c);
    return result;
}

PyMethodDef py_kernel_elementwise_methods[] = {PY_METHOD("_kernel_elementwise", elementwise),
                                               PY_METHODS_END};
