/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Indexing by arrays and truth values, with NumPy's rules: index arrays, ints beside them and truth
 * values broadcast to one shape, whose axes stand where the first of them does if they are all
 * adjacent, else in front.
 *
 * The basic part of a key becomes a view first. One index array is a take or scatter along its
 * axis; several become one, which counts elements along an axis laid through the storage. A lone
 * mask selects, or is the condition of an elementwise choice, so that most assignments through
 * masks wait for nothing. */
#include "python/src/indexing/indexing.h"

void py_plan_end(py_plan *p)
{
    nd_release(p->view);
}

int py_plan_check(const py_plan *p, nd_status status)
{
    return py_check(p->k->st, status);
}

/* ---- masks ---- */
/* An extent of 0 fits every axis, as the array API standard says, and selects nothing. */
static int check_mask(const py_key *k, const nd_array *mask, int axis)
{
    for (int i = 0; i < nd_ndim(mask); i++)
        if (nd_shape(mask)[i] && nd_shape(mask)[i] != nd_shape(k->a)[axis + i]) {
            PyErr_Format(PyExc_IndexError,
                         "the mask does not fit: it has extent %lld where axis %d of the array has "
                         "%lld",
                         (long long)nd_shape(mask)[i], axis + i,
                         (long long)nd_shape(k->a)[axis + i]);
            return -1;
        }
    return 0;
}

int py_check_masks(const py_key *k)
{
    int axis = 0;
    for (int i = 0; i < k->n; i++) {
        const py_entry *e = &k->entry[i];
        if (e->kind == PY_MASK && check_mask(k, e->array, axis) < 0)
            return -1;
        axis += e->kind == PY_ELLIPSIS ? k->rest : py_entry_axes(e);
    }
    return 0;
}

/* Puts the coordinates of a mask's true elements, as index arrays, in the place of entry i.
 * Waits. */
static int expand_mask(py_key *k, int i)
{
    nd_array *mask = k->entry[i].array, *where = NULL;
    int n = nd_ndim(mask);
    if (k->n + n - 1 > PY_KEY_MAX) {
        PyErr_SetString(PyExc_IndexError, "the index has too many entries");
        return -1;
    }
    if (py_wait_array(k->st, mask) < 0) /* nonzero would wait for the count as well */
        return -1;
    PyThreadState *saved = py_unlock(mask, nd_size(mask));
    nd_status status = nd_nonzero(mask, &where);
    py_lock(saved);
    if (py_check(k->st, status) < 0)
        return -1;
    memmove(&k->entry[i + n], &k->entry[i + 1], (size_t)(k->n - i - 1) * sizeof *k->entry);
    k->n += n - 1;
    for (int d = 0; d < n; d++) {
        nd_index column[2] = {nd_all_of(), nd_at(d)};
        k->entry[i + d] = (py_entry){PY_INDICES, {0}, NULL};
        if (status == ND_OK)
            status = nd_slice(where, column, 2, &k->entry[i + d].array);
    }
    nd_release(mask);
    nd_release(where);
    return py_check(k->st, status);
}

/* ---- where everything goes ---- */
static bool is_array_like(const py_entry *e)
{
    return e->kind == PY_INT || e->kind == PY_INDICES || e->kind == PY_MASK || e->kind == PY_TRUTH;
}

/* As with NumPy, the indices' axes stand where the first int, array or truth value does if all of
 * these are adjacent, else in front. Even an ellipsis that stands for no axis separates them. */
int py_index_position(const py_key *k)
{
    int before = 0, position = -1;
    bool left = false;
    for (int i = 0; i < k->n; i++) {
        const py_entry *e = &k->entry[i];
        if (is_array_like(e)) {
            if (left)
                return 0;
            position = position < 0 ? before : position;
            continue;
        }
        left = position >= 0;
        before += e->kind == PY_ELLIPSIS ? k->rest : 1;
    }
    return position;
}

static int broadcast_indices(py_plan *p)
{
    static const int64_t no = 0, yes = 1;
    const int64_t *shapes[ND_MAX_NDIM + 1];
    int ndims[ND_MAX_NDIM + 1], n = 0;
    for (; n < p->n; n++) {
        shapes[n] = nd_shape(p->idx[n]);
        ndims[n] = nd_ndim(p->idx[n]);
    }
    if (p->truths) {
        shapes[n] = p->none ? &no : &yes;
        ndims[n++] = 1;
    }
    if (nd_broadcast_shapes(n, ndims, shapes, &p->ndim, p->shape) == ND_OK)
        return 0;
    PyErr_Format(PyExc_IndexError, "the index arrays do not broadcast: %s",
                 nd_last_error()->message);
    return -1;
}

/* Notes the key's index arrays and truth values, and writes the key of the basic part, whose length
 * is returned. */
static int read_entries(const py_key *k, py_plan *p, nd_index *x)
{
    int n = 0, axis = 0;
    for (int i = 0; i < k->n; i++) {
        const py_entry *e = &k->entry[i];
        if (e->kind == PY_TRUTH) {
            p->truths++;
            p->none |= e->index.start == 0;
            continue;
        }
        x[n++] = e->kind == PY_INDICES ? nd_all_of() : e->index;
        if (e->kind == PY_INDICES) {
            p->idx[p->n] = e->array;
            p->axis[p->n++] = axis;
        }
        axis += e->kind == PY_ELLIPSIS ? k->rest : e->kind != PY_INT;
    }
    return n;
}

/* Notes the axes of the view for which no index array stands. */
static void note_rest(py_plan *p)
{
    for (int d = 0, i = 0; d < nd_ndim(p->view); d++) {
        if (i < p->n && p->axis[i] == d) {
            i++;
            continue;
        }
        p->extent[p->rest] = nd_shape(p->view)[d];
        p->stride[p->rest++] = nd_strides(p->view)[d];
    }
}

int py_plan_make(py_key *k, py_plan *p)
{
    nd_index x[PY_KEY_MAX];
    memset(p, 0, sizeof *p);
    p->k = k;
    p->position = py_index_position(k);
    const int n = read_entries(k, p, x);
    if (broadcast_indices(p) < 0 || py_plan_check(p, nd_slice(k->a, x, n, &p->view)) < 0)
        return -1;
    note_rest(p);
    if (p->rest + p->ndim <= ND_MAX_NDIM)
        return 0;
    PyErr_Format(PyExc_IndexError, "the result would have %d axes; at most %d are possible",
                 p->rest + p->ndim, ND_MAX_NDIM);
    py_plan_end(p);
    return -1;
}

/* The indices' axes, or one axis in their place, stand among the rest. */
int py_plan_shape(const py_plan *p, int64_t merged, int64_t *shape)
{
    int n = 0;
    for (int d = 0; d <= p->rest; d++) {
        for (int i = 0; d == p->position && i < (merged < 0 ? p->ndim : 1); i++)
            shape[n++] = merged < 0 ? p->shape[i] : merged;
        if (d < p->rest)
            shape[n++] = p->extent[d];
    }
    return n;
}

int64_t py_product(int n, const int64_t *shape)
{
    int64_t size = 1;
    for (int i = 0; i < n; i++)
        size *= shape[i];
    return size;
}

/* All truth values together make one axis. */
nd_array *py_truth_view(const py_plan *p)
{
    nd_index x[ND_MAX_NDIM + 1], cut[ND_MAX_NDIM];
    nd_array *wide = NULL, *view = NULL;
    for (int d = 0; d < p->position; d++)
        x[d] = cut[d] = nd_all_of();
    x[p->position] = nd_newaxis();
    cut[p->position] = nd_range(0, p->none ? 0 : 1, 1);
    nd_status status = nd_slice(p->view, x, p->position + 1, &wide);
    if (status == ND_OK)
        status = nd_slice(wide, cut, p->position + 1, &view);
    nd_release(wide);
    return py_plan_check(p, status) < 0 ? NULL : view;
}

/* The view has one indexed axis, which is moved. */
nd_array *py_axis_in_place(const py_plan *p)
{
    nd_array *moved = NULL;
    int32_t from = p->axis[0], to = p->position;
    return py_plan_check(p, nd_moveaxis(p->view, 1, &from, &to, &moved)) < 0 ? NULL : moved;
}

int py_lone_mask(const py_key *k)
{
    int at = -1;
    for (int i = 0; i < k->n; i++) {
        py_entry_kind kind = k->entry[i].kind;
        if (kind == PY_INDICES || kind == PY_TRUTH ||
            (kind == PY_MASK && (at >= 0 || nd_size(k->entry[i].array) == 0)))
            return -1;
        at = kind == PY_MASK ? i : at;
    }
    return at;
}

/* The mask's axes are whole in the view. */
nd_array *py_view_under_mask(const py_key *k, int at, int *axis)
{
    nd_index x[PY_KEY_MAX];
    nd_array *view = NULL;
    int n = 0, d = 0;
    for (int i = 0; i < k->n; i++) {
        const py_entry *e = &k->entry[i];
        if (i == at)
            *axis = d;
        for (int m = i == at ? nd_ndim(e->array) : 0; m > 0; m--, d++)
            x[n++] = nd_all_of();
        if (i == at)
            continue;
        x[n++] = e->index;
        d += e->kind == PY_ELLIPSIS ? k->rest : e->kind != PY_INT;
    }
    return py_check(k->st, nd_slice(k->a, x, n, &view)) < 0 ? NULL : view;
}

int py_expand_masks(py_key *k)
{
    for (int i = 0; i < k->n; i++)
        if (k->entry[i].kind == PY_MASK && expand_mask(k, i) < 0)
            return -1;
    return 0;
}
