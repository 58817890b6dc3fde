/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * x[key] for keys that hold arrays or truth values: takes and selections. */
#include "python/src/indexing/indexing.h"

static nd_array *empty_result(const py_plan *p)
{
    int64_t shape[ND_MAX_NDIM];
    nd_array *out = NULL;
    int n = py_plan_shape(p, -1, shape);
    (void)py_plan_check(p, nd_empty(nd_device_of(p->view), nd_dtype_of(p->view), n, shape, &out));
    return out;
}

static nd_array *take_one(const py_plan *p)
{
    nd_array *moved = py_axis_in_place(p), *out = NULL;
    if (!moved)
        return NULL;
    PyThreadState *saved =
        py_unlock(moved, nd_size(p->idx[0]) * (1 + py_product(p->rest, p->extent)));
    nd_status status = nd_take(moved, p->idx[0], p->position, &out);
    py_lock(saved);
    nd_release(moved);
    return py_plan_check(p, status) < 0 ? NULL : out;
}

/* Makes a view with the line as one axis, which is where the result has the indices' axes, and with
 * the axes of the view that have no index array. */
static nd_status line_view(const py_plan *p, const py_line *l, nd_array **out)
{
    int64_t shape[ND_MAX_NDIM], stride[ND_MAX_NDIM];
    int n = 0;
    for (int d = 0; d <= p->rest; d++) {
        if (d == p->position) {
            shape[n] = l->length;
            stride[n++] = l->step;
        }
        if (d < p->rest) {
            shape[n] = p->extent[d];
            stride[n++] = p->stride[d];
        }
    }
    return nd_as_strided(p->view, n, shape, stride, l->offset, out);
}

static nd_array *take_several(const py_plan *p)
{
    const py_line l = py_line_through(p, false);
    nd_array *flat = py_along_line(p, &l), *through = NULL, *out = NULL;
    if (!flat)
        return NULL;
    if (nd_size(flat) == 0 || nd_size(p->view) == 0) {
        nd_release(flat);
        return empty_result(p);
    }
    PyThreadState *saved = py_unlock(flat, nd_size(flat) * py_product(p->rest, p->extent));
    nd_status status = line_view(p, &l, &through);
    if (status == ND_OK)
        status = nd_take(through, flat, p->position, &out);
    py_lock(saved);
    nd_release(flat);
    nd_release(through);
    return py_plan_check(p, status) < 0 ? NULL : out;
}

nd_array *py_select_rows(py_state *st, const nd_array *a, const nd_array *mask)
{
    nd_array *out = NULL;
    if (py_wait_array(st, mask) < 0)
        return NULL;
    PyThreadState *saved = py_unlock(a, nd_size(a));
    nd_status status = nd_select(a, mask, &out);
    py_lock(saved);
    return py_check(st, status) < 0 ? NULL : out;
}

static bool only_mask(const py_key *k, int at)
{
    return at == 0 && (k->n == 1 || (k->n == 2 && k->entry[1].kind == PY_ELLIPSIS));
}

static nd_array *select_by_mask(const py_key *k, int at)
{
    int32_t from[ND_MAX_NDIM], to[ND_MAX_NDIM], place = py_index_position(k), front = 0;
    const nd_array *mask = k->entry[at].array;
    nd_array *front_view = NULL, *rows = NULL, *out = NULL;
    int axis = 0;
    nd_array *view = py_wait_array(k->st, mask) < 0 ? NULL : py_view_under_mask(k, at, &axis);
    if (!view)
        return NULL;
    for (int i = 0; i < nd_ndim(mask); i++) {
        from[i] = axis + i;
        to[i] = i;
    }
    PyThreadState *saved = py_unlock(view, nd_size(view));
    nd_status status = nd_moveaxis(view, nd_ndim(mask), from, to, &front_view);
    if (status == ND_OK)
        status = nd_select(front_view, mask, &rows);
    if (status == ND_OK)
        status = nd_moveaxis(rows, 1, &front, &place, &out);
    py_lock(saved);
    nd_release(view);
    nd_release(front_view);
    nd_release(rows);
    return py_check(k->st, status) < 0 ? NULL : out;
}

nd_array *py_get_advanced(py_key *k)
{
    py_plan p;
    nd_array *out = NULL, *view;
    int mask = py_lone_mask(k);
    if (py_check_masks(k) < 0)
        return NULL;
    if (mask >= 0)
        return only_mask(k, mask) ? py_select_rows(k->st, k->a, k->entry[0].array)
                                  : select_by_mask(k, mask);
    if (py_expand_masks(k) < 0 || py_plan_make(k, &p) < 0)
        return NULL;
    if (p.n == 0) {
        view = py_truth_view(&p);
        if (view)
            (void)py_plan_check(&p, nd_copy(view, NULL, &out));
        nd_release(view);
    } else {
        out = p.n == 1 && !p.truths ? take_one(&p) : take_several(&p);
    }
    py_plan_end(&p);
    return out;
}
