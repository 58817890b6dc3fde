/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * x[key] = value for keys that hold arrays or truth values: scatters, and elementwise choices. */
#include "python/src/indexing/indexing.h"

/* Makes an array of the value, in the dtype of the array assigned to, without leading extents of
 * one beyond ndim axes. */
static nd_array *source(const py_key *k, PyObject *value, int ndim)
{
    nd_dtype dtype = nd_dtype_of(k->a);
    nd_index first[ND_MAX_NDIM];
    nd_array *a = NULL, *next = NULL;
    nd_scalar s;
    int scalar = py_scalar(value, &s), drop = 0;
    if (scalar > 0)
        (void)py_check(k->st, nd_full(nd_device_of(k->a), dtype, 0, NULL, s, &a));
    if (scalar != 0)
        return a;
    a = py_value_for(k->st, value, k->a);
    if (!a)
        return NULL;
    for (; nd_ndim(a) - drop > ndim && nd_shape(a)[drop] == 1; drop++)
        first[drop] = nd_at(0);
    nd_status status = drop ? py_replace(&a, nd_slice(a, first, drop, &next), &next) : ND_OK;
    if (status == ND_OK && nd_dtype_of(a) != dtype)
        status = py_replace(&a, nd_astype(a, dtype, &next), &next);
    return py_check(k->st, status) < 0 ? NULL : a;
}

/* Makes an array of src, broadcast to the result's shape and then in the other shape that is
 * given. */
static nd_array *spread(const py_plan *p, nd_array *src, int ndim, const int64_t *shape)
{
    int64_t full[ND_MAX_NDIM];
    nd_array *wide = NULL, *out = NULL;
    int n = py_plan_shape(p, -1, full);
    nd_status status = nd_broadcast_to(src, n, full, &wide);
    if (status == ND_OK)
        status = nd_reshape_copy(wide, ndim, shape, &out);
    nd_release(wide);
    return py_plan_check(p, status) < 0 ? NULL : out;
}

static int scatter_one(const py_plan *p, nd_array *src)
{
    int64_t length = py_product(p->ndim, p->shape), shape[ND_MAX_NDIM], column[ND_MAX_NDIM];
    int n = py_plan_shape(p, length, shape);
    nd_array *dst = py_axis_in_place(p), *values = dst ? spread(p, src, n, shape) : NULL;
    nd_array *idx = NULL, *wide = NULL;
    nd_status status = ND_OK;
    for (int i = 0; i < n; i++)
        column[i] = i == p->position ? length : 1;
    if (values) {
        PyThreadState *saved = py_unlock(dst, nd_size(values));
        status = nd_reshape_copy(p->idx[0], n, column, &idx);
        if (status == ND_OK)
            status = nd_broadcast_to(idx, n, shape, &wide);
        if (status == ND_OK)
            status = nd_scatter_into(wide, values, p->position, ND_SCATTER_SET, dst);
        py_lock(saved);
    }
    nd_release(wide);
    nd_release(idx);
    nd_release(dst);
    nd_release(values);
    return values ? py_plan_check(p, status) : -1;
}

/* Adds the steps of the elements along axis `rest` to the sum, whose axes are the result's. */
static nd_status add_axis(const py_plan *p, int rest, int64_t scale, nd_array **sum)
{
    int64_t shape[ND_MAX_NDIM], extent = p->extent[rest], begin = py_line_bias(extent, scale);
    int n = p->rest + p->ndim, axis = rest + (rest >= p->position ? p->ndim : 0);
    nd_array *ramp = NULL, *column = NULL, *next = NULL;
    for (int i = 0; i < n; i++)
        shape[i] = i == axis ? extent : 1;
    nd_status status = nd_arange(nd_device_of(p->view), ND_I64, nd_int(begin),
                                 nd_int(begin + extent * scale), nd_int(scale), &ramp);
    if (status == ND_OK)
        status = nd_reshape(ramp, n, shape, &column);
    if (status == ND_OK)
        status = py_replace(sum, nd_add(*sum, column, &next), &next);
    nd_release(ramp);
    nd_release(column);
    return status;
}

/* Makes one flat index array of the steps of the indices and of all other axes. */
static nd_array *flat_targets(const py_plan *p, const py_line *l)
{
    int64_t shape[ND_MAX_NDIM];
    nd_array *sum = py_along_line(p, l), *next = NULL;
    const int64_t flat = -1;
    int n = p->rest + p->ndim;
    if (!sum)
        return NULL;
    for (int i = 0; i < n; i++)
        shape[i] = i >= p->position && i < p->position + p->ndim ? p->shape[i - p->position] : 1;
    nd_status status = py_replace(&sum, nd_reshape_copy(sum, n, shape, &next), &next);
    for (int d = 0; d < p->rest && status == ND_OK; d++)
        if (p->extent[d] > 1)
            status = add_axis(p, d, l->rest_scale[d], &sum);
    if (status == ND_OK)
        status = py_replace(&sum, nd_reshape_copy(sum, 1, &flat, &next), &next);
    return py_plan_check(p, status) < 0 ? NULL : sum;
}

static int scatter_several(const py_plan *p, nd_array *src)
{
    int64_t full[ND_MAX_NDIM];
    py_line l = py_line_through(p, true);
    int64_t size = py_product(py_plan_shape(p, -1, full), full);
    nd_array *values = spread(p, src, 1, &size), *targets = NULL, *through = NULL;
    if (!values)
        return -1;
    if (size == 0) { /* the indices are checked nevertheless */
        targets = py_along_line(p, &l);
        nd_release(values);
        nd_release(targets);
        return targets ? 0 : -1;
    }
    PyThreadState *saved = NULL;
    nd_status status = ND_OK;
    targets = flat_targets(p, &l);
    if (targets) {
        saved = py_unlock(targets, size);
        status = nd_as_strided(p->view, 1, &l.length, &l.step, l.offset, &through);
        if (status == ND_OK)
            status = nd_scatter_into(targets, values, 0, ND_SCATTER_SET, through);
        py_lock(saved);
    }
    nd_release(values);
    nd_release(through);
    nd_release(targets);
    return targets ? py_plan_check(p, status) : -1;
}

static int assign_truth(const py_plan *p, nd_array *src)
{
    nd_array *view = py_truth_view(p);
    if (!view)
        return -1;
    nd_status status = nd_assign(src, view);
    nd_release(view);
    return py_plan_check(p, status);
}

static int scatter(py_key *k, PyObject *value)
{
    py_plan p;
    if (py_expand_masks(k) < 0 || py_plan_make(k, &p) < 0)
        return -1;
    nd_array *src = source(k, value, p.rest + p.ndim);
    int result = -1;
    if (src && p.n == 0)
        result = assign_truth(&p, src);
    else if (src)
        result = p.n == 1 && !p.truths ? scatter_one(&p, src) : scatter_several(&p, src);
    py_discard(src);
    py_plan_end(&p);
    return result;
}

/* Does view = where(mask, src, view), for a value that does not run along the selected elements. */
static nd_status choose(const py_key *k, int at, nd_array *view, int axis, const nd_array *src)
{
    nd_index x[ND_MAX_NDIM];
    nd_array *mask = NULL;
    int n = 0, behind = nd_ndim(view) - axis - nd_ndim(k->entry[at].array);
    for (int i = 0; i < nd_ndim(k->entry[at].array); i++)
        x[n++] = nd_all_of();
    for (int i = 0; i < behind; i++)
        x[n++] = nd_newaxis();
    PyThreadState *saved = py_unlock(view, nd_size(view));
    nd_status status = nd_slice(k->entry[at].array, x, n, &mask);
    if (status == ND_OK)
        status = nd_where_into(mask, src, view, view);
    py_lock(saved);
    nd_release(mask);
    return status;
}

int py_set_advanced(py_key *k, PyObject *value)
{
    int mask = py_lone_mask(k), axis = 0, result = -1;
    if (py_check_masks(k) < 0)
        return -1;
    if (mask < 0)
        return scatter(k, value);
    nd_array *view = py_view_under_mask(k, mask, &axis);
    int masked = nd_ndim(k->entry[mask].array);
    int behind = view ? nd_ndim(view) - axis - masked : 0;
    nd_array *src = view ? source(k, value, py_index_position(k) == axis ? behind : 0) : NULL;
    if (src && nd_ndim(src) <= (py_index_position(k) == axis ? behind : 0))
        result = py_check(k->st, choose(k, mask, view, axis, src));
    else if (src)
        result = scatter(k, value);
    nd_release(view);
    py_discard(src);
    return result;
}
