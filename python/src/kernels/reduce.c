/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Reductions by formula: one call. How rows are cut depends on shape and strides alone, so that the
 * order of every combination, and so the bits, are the same every time. */
#include "python/src/kernels/kernels.h"

enum { CHUNK = 16384, FEW_ROWS = 64, TILE = 64, GROUP = 256 };

typedef struct {
    py_kernel_call c;
    PyObject *find, *table;
    bool gpu;
    int64_t part_nbytes; /* of a partial result */
    int kept;            /* axes that are not reduced */
    int at[ND_MAX_NDIM]; /* where these are among the outputs' */
    int64_t rows, columns, inner[PY_KERNEL_OPERANDS];
} reduction;

static int mark_axes(const py_kernel_call *c, const int32_t *axes, int naxes, bool *reduced)
{
    for (int d = 0; d < c->ndim; d++)
        reduced[d] = naxes < 0;
    for (int i = 0; i < naxes; i++) {
        const int32_t axis = axes[i] < 0 ? axes[i] + c->ndim : axes[i];
        const bool there = axis >= 0 && axis < c->ndim;
        if (!there || reduced[axis]) {
            PyErr_Format(PyExc_ValueError, "axis %d is %s of %d axes", (int)axes[i],
                         there ? "named twice" : "none", c->ndim);
            return -1;
        }
        reduced[axis] = true;
    }
    return 0;
}

/* Permutes: kept axes first, then the reduced ones; result shape into shape and *ndim. */
static int split_axes(reduction *r, const int32_t *axes, int naxes, bool keepdims, int32_t *order,
                      int64_t *shape, int *ndim)
{
    const py_kernel_call *c = &r->c;
    bool reduced[ND_MAX_NDIM];
    int n = 0;
    if (mark_axes(c, axes, naxes, reduced) < 0)
        return -1;
    *ndim = 0;
    for (int d = 0; d < c->ndim; d++) {
        if (!reduced[d]) {
            r->at[n] = *ndim;
            order[n++] = d;
        }
        if (!reduced[d] || keepdims)
            shape[(*ndim)++] = reduced[d] ? 1 : c->shape[d];
    }
    r->kept = n;
    for (int d = 0; d < c->ndim; d++)
        if (reduced[d])
            order[n++] = d;
    return 0;
}

/* Puts each input's view with its axes in that order, dense where `dense`, in its place. */
static int permute_inputs(py_kernel_call *c, const int32_t *order, bool dense)
{
    for (int i = 0; i < c->n_in; i++) {
        py_operand_of *p = &c->operand[i];
        nd_array *whole = NULL, *view = NULL, *copy = NULL;
        if (!p->a || p->raw)
            continue;
        nd_status status = nd_broadcast_to(p->a, c->ndim, c->shape, &whole);
        if (status == ND_OK)
            status = nd_permute(whole, c->ndim, order, &view);
        if (status == ND_OK && dense)
            status = nd_copy(view, NULL, &copy);
        py_discard(whole);
        if (dense)
            py_discard(view);
        if (py_check(c->st, status) < 0)
            return -1;
        py_discard(p->owned);
        p->a = p->owned = dense ? copy : view;
    }
    return 0;
}

/* The shape and strides of both groups of axes; false: they are too many for a walk. */
static bool lay_out(reduction *r, const int64_t *shape, int kept)
{
    py_kernel_call *c = &r->c;
    int64_t reduced[ND_MAX_NDIM], outer[PY_KERNEL_OPERANDS][ND_MAX_NDIM];
    const int n_reduced = c->ndim - kept, all = c->n;
    c->n = c->n_in; /* outputs have none of the reduced axes */
    memcpy(c->shape, shape, (size_t)c->ndim * sizeof *shape);
    py_kernel_strides(c, 0);
    for (int i = 0; i < c->n_in; i++) {
        memcpy(outer[i], c->operand[i].stride, sizeof outer[i]);
        memmove(c->operand[i].stride, c->operand[i].stride + kept,
                (size_t)n_reduced * sizeof(int64_t));
    }
    memcpy(reduced, shape + kept, (size_t)n_reduced * sizeof *shape);
    const int left = py_kernel_merge(c, c->n_in, n_reduced, reduced);
    r->columns = left ? reduced[0] : 1;
    for (int i = 0; i < c->n_in; i++) {
        r->inner[i] = left ? c->operand[i].stride[0] : 0;
        memcpy(c->operand[i].stride, outer[i], sizeof outer[i]);
    }
    c->n = all;
    for (int i = c->n_in; i < all; i++)
        for (int d = 0; d < kept && !c->operand[i].raw; d++)
            c->operand[i].stride[d] = nd_strides(c->operand[i].a)[r->at[d]];
    r->kept = py_kernel_merge(c, c->n, kept, c->shape);
    return left <= 1 && r->kept <= PY_KERNEL_NDIM;
}

/* ---- launching ---- */
static uint32_t write_walk(const reduction *r, int64_t *out)
{
    int64_t *at = out;
    for (int d = 0; d < PY_KERNEL_NDIM; d++)
        *at++ = d < r->kept ? r->c.shape[d] : 1;
    for (int i = 0; i < r->c.n; i++) {
        const py_operand_of *p = &r->c.operand[i];
        for (int d = 0; p->a && !p->raw && d < PY_KERNEL_NDIM; d++)
            *at++ = d < r->kept ? p->stride[d] : 0;
    }
    for (int i = 0; i < r->c.n_in; i++)
        if (r->c.operand[i].a && !r->c.operand[i].raw)
            *at++ = r->inner[i];
    return (uint32_t)((char *)at - (char *)out);
}

/* How a launch is cut: rows of a block, parts of a row. */
typedef struct {
    int64_t rows, columns, parts, per_block, length, ndim;
} cut;

static int start(const reduction *r, PyObject *function, const cut *how, nd_array *partial,
                 int stage)
{
    nd_launch_arg args[2 * PY_KERNEL_OPERANDS + 10];
    int64_t walk[(PY_KERNEL_NDIM + 1) * (PY_KERNEL_OPERANDS + 1)], sizes[PY_KERNEL_OPERANDS];
    nd_launch_opts opts = {.size = sizeof opts, .block = {r->gpu ? GROUP : 1}};
    nd_function *f = py_function_get(function);
    int n = 0;
    const int64_t *const numbers[] = {&how->rows,      &how->columns, &how->parts,
                                      &how->per_block, &how->length,  &how->ndim};
    const int64_t blocks = (how->rows + how->per_block - 1) / how->per_block;
    if (!f)
        return -1;
    if (blocks > INT32_MAX) {
        PyErr_SetString(PyExc_OverflowError, "more results than one launch can have");
        return -1;
    }
    opts.grid[0] = (uint32_t)blocks;
    opts.grid[1] = (uint32_t)how->parts;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        args[n++] = nd_launch_bytes(numbers[i], sizeof *numbers[i]);
    args[n++] = nd_launch_bytes(walk, write_walk(r, walk));
    if (partial)
        args[n++] = stage == 1 ? nd_launch_out(partial) : nd_launch_in(partial);
    n = py_kernel_arguments(&r->c, args, n, sizes);
    PyThreadState *saved = py_unlock(r->c.operand[r->c.n - 1].a, how->rows * how->columns);
    const nd_status status = nd_launch(f, args, n, &opts);
    py_lock(saved);
    return py_check(r->c.st, status);
}

/* Whether neighbouring rows lie beside each other, and elements of a row do not. */
static bool by_columns(const reduction *r)
{
    const py_operand_of *first = NULL;
    int64_t inner = 0;
    for (int i = 0; i < r->c.n_in && !first; i++)
        if (r->c.operand[i].a && !r->c.operand[i].raw) {
            first = &r->c.operand[i];
            inner = r->inner[i];
        }
    if (!first || r->kept == 0 || r->rows < TILE / 2)
        return false;
    const int64_t step = first->stride[r->kept - 1];
    return (step == 1 && inner != 1) || (r->gpu && r->columns <= 16);
}

static int64_t parts_of(const reduction *r, bool columns)
{
    const int64_t blocks = columns ? (r->rows + GROUP - 1) / GROUP : r->rows;
    const int64_t length = columns ? 512 : r->gpu ? 4096 : CHUNK;
    int64_t parts = (r->columns + length - 1) / length;
    if (blocks >= (r->gpu ? 528 : FEW_ROWS))
        parts = 1;
    return parts > 1024 ? 1024 : parts < 1 ? 1 : parts;
}

static int64_t rows_of_block(const reduction *r, bool columns)
{
    if (r->gpu)
        return columns ? GROUP : 1;
    if (columns)
        return TILE;
    const int64_t rows = CHUNK / (r->columns > 0 ? r->columns : 1);
    return rows > 0 ? rows : 1;
}

/* Parts of rows, then what these give. */
static int run_parts(const reduction *r, PyObject *entry, cut how)
{
    nd_array *partial = NULL;
    const int64_t nbytes = how.rows * how.parts * r->part_nbytes;
    if (py_check(r->c.st, nd_empty(r->c.device, ND_U8, 1, &nbytes, &partial)) < 0)
        return -1;
    int status = start(r, PyTuple_GetItem(entry, 1), &how, partial, 1);
    how.length = r->columns; /* for formulas that ask */
    how.columns = how.parts;
    how.parts = 1;
    const bool long_rows = r->gpu && how.columns > 32; /* a block combines them, not a thread */
    how.per_block = long_rows ? 1 : r->gpu ? GROUP : 16;
    if (status == 0)
        status = start(r, PyTuple_GetItem(entry, 2 + long_rows), &how, partial, 2);
    py_discard(partial);
    return status;
}

static int run(reduction *r)
{
    const bool columns = by_columns(r);
    cut how = {.rows = r->rows, .columns = r->columns, .parts = parts_of(r, columns)};
    how.ndim = r->kept;
    how.per_block = rows_of_block(r, columns);
    how.length = (r->columns + how.parts - 1) / how.parts;
    PyObject *entry = py_kernel_find(r->find, r->table, columns);
    if (!entry)
        return -1;
    const int status = how.parts == 1 ? start(r, PyTuple_GetItem(entry, 0), &how, NULL, 0)
                                      : run_parts(r, entry, how);
    Py_DECREF(entry);
    return status;
}

static int read_call(reduction *r, PyObject *const *args, unsigned long long raw, bool keepdims)
{
    py_kernel_call *c = &r->c;
    int32_t axes[ND_MAX_NDIM], order[ND_MAX_NDIM];
    int naxes, ndim;
    int64_t shape[ND_MAX_NDIM], permuted[ND_MAX_NDIM];
    const int found = py_axes(args[6], axes, &naxes) < 0 ? -1 : py_kernel_shape(c, -1);
    if (found == 1)
        PyErr_SetString(PyExc_ValueError, "a reduction needs an array that is not raw");
    if (found != 0)
        return -1;
    if (split_axes(r, axes, naxes, keepdims, order, shape, &ndim) < 0 ||
        py_kernel_outputs(c, args[4], args[5], ndim, shape, raw) < 0 || py_kernel_part(c) < 0)
        return -1;
    for (int d = 0; d < c->ndim; d++)
        permuted[d] = c->shape[order[d]];
    const int kept = r->kept;
    r->rows = 1;
    for (int d = 0; d < kept; d++)
        r->rows *= permuted[d];
    if (permute_inputs(c, order, false) < 0)
        return -1;
    if (r->rows == 0 || lay_out(r, permuted, kept))
        return 0;
    for (int d = 0; d < c->ndim; d++)
        order[d] = d;
    memcpy(c->shape, permuted, (size_t)c->ndim * sizeof *permuted);
    if (permute_inputs(c, order, true) < 0)
        return -1;
    if (lay_out(r, permuted, kept))
        return 0;
    PyErr_Format(PyExc_ValueError, "an output has more than %d axes that cannot be joined",
                 PY_KERNEL_NDIM);
    return -1;
}

/* _kernel_reduce(find, table, inputs, raw, outputs, dtypes, axes, keepdims, bytes of a partial
 * result, gpu) */
static PyObject *reduce(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    reduction r = {.find = args[0], .table = args[1]};
    int64_t raw;
    int keepdims, gpu;
    if (n != 10 || py_int64(args[3], &raw) < 0 ||
        py_args(st, "kernel", "plp", args + 7, 3, &keepdims, &r.part_nbytes, &gpu) < 0)
        return NULL;
    r.gpu = gpu;
    if (py_kernel_inputs(&r.c, st, args[2], (unsigned long long)raw) < 0 ||
        read_call(&r, args, (unsigned long long)raw, keepdims) < 0 || (r.rows > 0 && run(&r) < 0))
        return py_kernel_end(&r.c);
    PyObject *result = py_kernel_result(&r.c);
    (void)py_kernel_end(&r.c);
    return result;
}

PyMethodDef py_kernel_reduce_methods[] = {PY_METHOD("_kernel_reduce", reduce), PY_METHODS_END};
