/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Indexing by arrays and truth values, with NumPy's rules: index arrays, ints beside them and truth
 * values broadcast to one shape, whose axes stand where the first of them does if they are all
 * adjacent, else in front.
 *
 * The basic part of a key becomes a view first. One index array is a take or scatter along its
 * axis; several become one, which counts elements along an axis laid through the storage. A lone
 * mask selects, or is the condition of an elementwise choice, so that most assignments through
 * masks wait for nothing. */
#include <stdlib.h>
#include "index.h"

typedef struct {
    py_key *k;
    nd_array *view;           /* the basic part: axes of index arrays whole */
    int n, axis[ND_MAX_NDIM]; /* index arrays, and their axes of the view */
    nd_array *idx[ND_MAX_NDIM];
    int truths;   /* True and False in the key */
    bool none;    /* one of them is False */
    int position; /* in the result, of the axes that the indices make */
    int ndim;     /* of these */
    int64_t shape[ND_MAX_NDIM];
    int rest; /* axes of the view without index arrays, their extents and strides */
    int64_t extent[ND_MAX_NDIM], stride[ND_MAX_NDIM];
} plan;

static void finish(plan *p)
{
    nd_release(p->view);
}

static int fail(const plan *p, nd_status status)
{
    return py_check(p->k->st, status);
}

/* ---- masks ---- */
/* An extent of 0 fits every axis, as the array API standard says: it selects nothing. */
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

static int check_masks(const py_key *k)
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

/* The coordinates of a mask's true elements, as index arrays at entry i. Waits. */
static int expand_mask(py_key *k, int i)
{
    nd_array *mask = k->entry[i].array, *where = NULL;
    int n = nd_ndim(mask);
    if (k->n + n - 1 > PY_KEY_MAX) {
        PyErr_SetString(PyExc_IndexError, "the index has too many entries");
        return -1;
    }
    if (py_wait_array(k->st, mask) < 0) /* for the count, as nonzero would */
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

/* As NumPy's: axes of the result before the first int, array or truth value if those are all
 * adjacent, else 0. Even an ellipsis that stands for no axis separates. */
static int position_of(const py_key *k)
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

static int broadcast_indices(plan *p)
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

static int make_plan(py_key *k, plan *p)
{
    nd_index x[PY_KEY_MAX];
    int n = 0, axis = 0;
    memset(p, 0, sizeof *p);
    p->k = k;
    p->position = position_of(k);
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
    if (broadcast_indices(p) < 0 || fail(p, nd_slice(k->a, x, n, &p->view)) < 0)
        return -1;
    for (int d = 0, i = 0; d < nd_ndim(p->view); d++) {
        if (i < p->n && p->axis[i] == d) {
            i++;
            continue;
        }
        p->extent[p->rest] = nd_shape(p->view)[d];
        p->stride[p->rest++] = nd_strides(p->view)[d];
    }
    if (p->rest + p->ndim <= ND_MAX_NDIM)
        return 0;
    PyErr_Format(PyExc_IndexError, "the result would have %d axes; at most %d are possible",
                 p->rest + p->ndim, ND_MAX_NDIM);
    finish(p);
    return -1;
}

/* The result's shape: the indices' axes among the rest, or one axis of that extent for them. */
static int result_shape(const plan *p, int64_t merged, int64_t *shape)
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

static int64_t count(int n, const int64_t *shape)
{
    int64_t size = 1;
    for (int i = 0; i < n; i++)
        size *= shape[i];
    return size;
}

/* ---- several index arrays as one ---- */
/* Elements of the view along an axis through the storage: steps of `step` elements from `offset`;
 * index i of array k moves by scale[k] of them. */
typedef struct {
    int64_t step, offset, length, scale[ND_MAX_NDIM], rest_scale[ND_MAX_NDIM];
} line;

static int64_t gcd(int64_t a, int64_t b)
{
    a = a < 0 ? -a : a;
    b = b < 0 ? -b : b;
    while (b) {
        int64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

static void lay(line *l, int64_t extent, int64_t stride)
{
    if (extent > 1) {
        l->length += (extent - 1) * (stride < 0 ? -stride : stride) / l->step;
        l->offset += stride < 0 ? (extent - 1) * stride : 0;
    }
}

/* with_rest: the line goes through all elements of the view, not just along the indexed axes. */
static line line_through(const plan *p, bool with_rest)
{
    const int64_t *shape = nd_shape(p->view), *stride = nd_strides(p->view);
    line l = {.step = 0, .offset = nd_offset(p->view), .length = 1};
    for (int i = 0; i < p->n; i++)
        l.step = shape[p->axis[i]] > 1 ? gcd(l.step, stride[p->axis[i]]) : l.step;
    for (int d = 0; with_rest && d < p->rest; d++)
        l.step = p->extent[d] > 1 ? gcd(l.step, p->stride[d]) : l.step;
    l.step = l.step ? l.step : 1;
    for (int i = 0; i < p->n; i++) {
        lay(&l, shape[p->axis[i]], stride[p->axis[i]]);
        l.scale[i] = shape[p->axis[i]] > 1 ? stride[p->axis[i]] / l.step : 0;
    }
    for (int d = 0; with_rest && d < p->rest; d++) {
        lay(&l, p->extent[d], p->stride[d]);
        l.rest_scale[d] = p->extent[d] > 1 ? p->stride[d] / l.step : 0;
    }
    return l;
}

static int64_t bias(int64_t extent, int64_t scale)
{
    return scale < 0 ? -(extent - 1) * scale : 0;
}

/* On host memory, index by index. */
static int host_steps(const plan *p, int which, int64_t extent, int64_t scale, const nd_array *idx,
                      nd_array *out)
{
    void *from, *to;
    if (fail(p, nd_data(idx, &from)) < 0 || fail(p, nd_data(out, &to)) < 0)
        return -1;
    const int64_t *index = from;
    int64_t *step = to, shift = bias(extent, scale);
    for (int64_t i = 0; i < nd_size(idx); i++) {
        if (index[i] < -extent || index[i] >= extent) {
            PyErr_Format(PyExc_IndexError,
                         "index %lld at position %lld of index array %d is out of range for an "
                         "axis of extent %lld",
                         (long long)index[i], (long long)i, which, (long long)extent);
            return -1;
        }
        step[i] = (index[i] < 0 ? index[i] + extent : index[i]) * scale + shift;
    }
    return 0;
}

/* next, once its call has been made, takes the place of *a. */
static nd_status replace(nd_array **a, nd_status status, nd_array **next)
{
    nd_release(*a);
    *a = status == ND_OK ? *next : NULL;
    return status;
}

/* The same by operations of the device. A take from a stretched zero checks the indices there; a
 * bad one comes out with the device's next error, and the final take checks the result anew. */
static nd_status device_steps(int64_t extent, int64_t scale, const nd_array *idx, nd_array **out)
{
    const int64_t one = 1;
    nd_array *zero = NULL, *zeros = NULL, *check = NULL, *wrap = NULL, *next = NULL;
    nd_status status = nd_zeros(nd_device_of(idx), ND_I64, 1, &one, &zero);
    if (status == ND_OK)
        status = nd_broadcast_to(zero, 1, &extent, &zeros);
    if (status == ND_OK)
        status = nd_take(zeros, idx, 0, &check);
    if (status == ND_OK)
        status = nd_less_scalar(idx, nd_int(0), &wrap);
    if (status == ND_OK)
        status = replace(&wrap, nd_astype(wrap, ND_I64, &next), &next);
    if (status == ND_OK)
        status = replace(&wrap, nd_multiply_scalar(wrap, nd_int(extent), &next), &next);
    if (status == ND_OK)
        status = replace(&wrap, nd_add(wrap, idx, &next), &next);
    if (status == ND_OK)
        status = replace(&wrap, nd_multiply_scalar(wrap, nd_int(scale), &next), &next);
    if (status == ND_OK)
        status = replace(&wrap, nd_add_scalar(wrap, nd_int(bias(extent, scale)), &next), &next);
    if (status == ND_OK)
        status = nd_add(wrap, check, out);
    nd_release(zero);
    nd_release(zeros);
    nd_release(check);
    nd_release(wrap);
    return status;
}

/* Index array i as steps along the line: a new array of its shape. */
static nd_array *steps(const plan *p, int i, int64_t scale)
{
    nd_array *idx = NULL, *dense = NULL, *out = NULL;
    nd_device_info info;
    int64_t extent = nd_shape(p->view)[p->axis[i]];
    nd_status status = ND_OK;
    nd_device_describe(nd_device_of(p->view), &info);
    if (extent == 0 && nd_size(p->idx[i]) > 0) {
        PyErr_Format(PyExc_IndexError, "%lld indices into an axis of extent 0",
                     (long long)nd_size(p->idx[i]));
        return NULL;
    }
    if (nd_dtype_of(p->idx[i]) == ND_U64) /* beyond int64 would come out negative */
        status = nd_minimum_scalar(p->idx[i], nd_int(INT64_MAX), &dense);
    if (status == ND_OK)
        status = nd_astype(dense ? dense : p->idx[i], ND_I64, &idx);
    nd_release(dense);
    if (fail(p, status) < 0)
        return NULL;
    if (nd_size(idx) == 0)
        return idx;
    if (info.host_visible && nd_device_of(idx) == nd_device_of(p->view)) {
        if (fail(p, nd_empty_like(idx, 0, &out)) == 0 &&
            host_steps(p, i, extent, scale, idx, out) < 0) {
            nd_release(out);
            out = NULL;
        }
    } else {
        (void)fail(p, device_steps(extent, scale, idx, &out));
    }
    nd_release(idx);
    return out;
}

/* All index arrays together, of the indices' common shape. */
static nd_array *along_line(const plan *p, const line *l)
{
    nd_array *sum = NULL, *next = NULL;
    for (int i = 0; i < p->n; i++) {
        nd_array *part = steps(p, i, l->scale[i]);
        if (!part) {
            nd_release(sum);
            return NULL;
        }
        if (!sum) {
            sum = part;
            continue;
        }
        nd_status status = replace(&sum, nd_add(sum, part, &next), &next);
        nd_release(part);
        if (fail(p, status) < 0)
            return NULL;
    }
    nd_status status = nd_broadcast_to(sum, p->ndim, p->shape, &next);
    nd_release(sum);
    return fail(p, status) < 0 ? NULL : next;
}

/* ---- reading ---- */
static nd_array *empty_result(const plan *p)
{
    int64_t shape[ND_MAX_NDIM];
    nd_array *out = NULL;
    int n = result_shape(p, -1, shape);
    (void)fail(p, nd_empty(nd_device_of(p->view), nd_dtype_of(p->view), n, shape, &out));
    return out;
}

/* The view with the axes of truth values: extents of one, or of none. */
static nd_array *truth_view(const plan *p)
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
    return fail(p, status) < 0 ? NULL : view;
}

/* The view with its one indexed axis moved to the place of the result's. */
static nd_array *axis_in_place(const plan *p)
{
    nd_array *moved = NULL;
    int32_t from = p->axis[0], to = p->position;
    return fail(p, nd_moveaxis(p->view, 1, &from, &to, &moved)) < 0 ? NULL : moved;
}

static nd_array *take_one(const plan *p)
{
    nd_array *moved = axis_in_place(p), *out = NULL;
    if (!moved)
        return NULL;
    PyThreadState *saved = py_unlock(moved, nd_size(p->idx[0]) * (1 + count(p->rest, p->extent)));
    nd_status status = nd_take(moved, p->idx[0], p->position, &out);
    py_lock(saved);
    nd_release(moved);
    return fail(p, status) < 0 ? NULL : out;
}

static nd_array *take_several(const plan *p)
{
    int64_t shape[ND_MAX_NDIM], stride[ND_MAX_NDIM];
    line l = line_through(p, false);
    nd_array *flat = along_line(p, &l), *through = NULL, *out = NULL;
    int n = 0;
    if (!flat)
        return NULL;
    if (nd_size(flat) == 0 || nd_size(p->view) == 0) {
        nd_release(flat);
        return empty_result(p);
    }
    for (int d = 0; d <= p->rest; d++) {
        if (d == p->position) {
            shape[n] = l.length;
            stride[n++] = l.step;
        }
        if (d < p->rest) {
            shape[n] = p->extent[d];
            stride[n++] = p->stride[d];
        }
    }
    PyThreadState *saved = py_unlock(flat, nd_size(flat) * count(p->rest, p->extent));
    nd_status status = nd_as_strided(p->view, n, shape, stride, l.offset, &through);
    if (status == ND_OK)
        status = nd_take(through, flat, p->position, &out);
    py_lock(saved);
    nd_release(flat);
    nd_release(through);
    return fail(p, status) < 0 ? NULL : out;
}

/* The entry of the key's only index, if that is a mask with elements; else -1. */
static int lone_mask(const py_key *k)
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

/* The basic part of a key with one mask, whose axes are whole and begin at *axis. */
static nd_array *view_under_mask(const py_key *k, int at, int *axis)
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

static nd_array *select_by_mask(const py_key *k, int at)
{
    int32_t from[ND_MAX_NDIM], to[ND_MAX_NDIM], place = position_of(k), front = 0;
    const nd_array *mask = k->entry[at].array;
    nd_array *front_view = NULL, *rows = NULL, *out = NULL;
    int axis = 0;
    nd_array *view = py_wait_array(k->st, mask) < 0 ? NULL : view_under_mask(k, at, &axis);
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

static int expand_masks(py_key *k)
{
    for (int i = 0; i < k->n; i++)
        if (k->entry[i].kind == PY_MASK && expand_mask(k, i) < 0)
            return -1;
    return 0;
}

nd_array *py_get_advanced(py_key *k)
{
    plan p;
    nd_array *out = NULL, *view;
    int mask = lone_mask(k);
    if (check_masks(k) < 0)
        return NULL;
    if (mask >= 0)
        return select_by_mask(k, mask);
    if (expand_masks(k) < 0 || make_plan(k, &p) < 0)
        return NULL;
    if (p.n == 0) {
        view = truth_view(&p);
        if (view)
            (void)fail(&p, nd_copy(view, NULL, &out));
        nd_release(view);
    } else {
        out = p.n == 1 && !p.truths ? take_one(&p) : take_several(&p);
    }
    finish(&p);
    return out;
}

/* ---- writing ---- */
/* The value in a's dtype, without leading extents of one beyond ndim axes. */
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
    nd_status status = drop ? replace(&a, nd_slice(a, first, drop, &next), &next) : ND_OK;
    if (status == ND_OK && nd_dtype_of(a) != dtype)
        status = replace(&a, nd_astype(a, dtype, &next), &next);
    return py_check(k->st, status) < 0 ? NULL : a;
}

/* src, broadcast to the result's shape, with the axes there as merged says (see result_shape); new.
 */
static nd_array *spread(const plan *p, nd_array *src, int ndim, const int64_t *shape)
{
    int64_t full[ND_MAX_NDIM];
    nd_array *wide = NULL, *out = NULL;
    int n = result_shape(p, -1, full);
    nd_status status = nd_broadcast_to(src, n, full, &wide);
    if (status == ND_OK)
        status = nd_reshape_copy(wide, ndim, shape, &out);
    nd_release(wide);
    return fail(p, status) < 0 ? NULL : out;
}

static int scatter_one(const plan *p, nd_array *src)
{
    int64_t length = count(p->ndim, p->shape), shape[ND_MAX_NDIM], column[ND_MAX_NDIM];
    int n = result_shape(p, length, shape);
    nd_array *dst = axis_in_place(p), *values = dst ? spread(p, src, n, shape) : NULL;
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
    return values ? fail(p, status) : -1;
}

/* Steps of the elements of axis `rest` added to the sum, whose axes are the result's. */
static nd_status add_axis(const plan *p, int rest, int64_t scale, nd_array **sum)
{
    int64_t shape[ND_MAX_NDIM], extent = p->extent[rest], begin = bias(extent, scale);
    int n = p->rest + p->ndim, axis = rest + (rest >= p->position ? p->ndim : 0);
    nd_array *ramp = NULL, *column = NULL, *next = NULL;
    for (int i = 0; i < n; i++)
        shape[i] = i == axis ? extent : 1;
    nd_status status = nd_arange(nd_device_of(p->view), ND_I64, nd_int(begin),
                                 nd_int(begin + extent * scale), nd_int(scale), &ramp);
    if (status == ND_OK)
        status = nd_reshape(ramp, n, shape, &column);
    if (status == ND_OK)
        status = replace(sum, nd_add(*sum, column, &next), &next);
    nd_release(ramp);
    nd_release(column);
    return status;
}

/* The indices' steps, and those of all other axes, as one flat index array. */
static nd_array *flat_targets(const plan *p, const line *l)
{
    int64_t shape[ND_MAX_NDIM];
    nd_array *sum = along_line(p, l), *next = NULL;
    const int64_t flat = -1;
    int n = p->rest + p->ndim;
    if (!sum)
        return NULL;
    for (int i = 0; i < n; i++)
        shape[i] = i >= p->position && i < p->position + p->ndim ? p->shape[i - p->position] : 1;
    nd_status status = replace(&sum, nd_reshape_copy(sum, n, shape, &next), &next);
    for (int d = 0; d < p->rest && status == ND_OK; d++)
        if (p->extent[d] > 1)
            status = add_axis(p, d, l->rest_scale[d], &sum);
    if (status == ND_OK)
        status = replace(&sum, nd_reshape_copy(sum, 1, &flat, &next), &next);
    return fail(p, status) < 0 ? NULL : sum;
}

static int scatter_several(const plan *p, nd_array *src)
{
    int64_t full[ND_MAX_NDIM];
    line l = line_through(p, true);
    int64_t size = count(result_shape(p, -1, full), full);
    nd_array *values = spread(p, src, 1, &size), *targets = NULL, *through = NULL;
    if (!values)
        return -1;
    if (size == 0) { /* the indices are checked nevertheless */
        targets = along_line(p, &l);
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
    return targets ? fail(p, status) : -1;
}

static int assign_truth(const plan *p, nd_array *src)
{
    nd_array *view = truth_view(p);
    if (!view)
        return -1;
    nd_status status = nd_assign(src, view);
    nd_release(view);
    return fail(p, status);
}

static int scatter(py_key *k, PyObject *value)
{
    plan p;
    if (expand_masks(k) < 0 || make_plan(k, &p) < 0)
        return -1;
    nd_array *src = source(k, value, p.rest + p.ndim);
    int result = -1;
    if (src && p.n == 0)
        result = assign_truth(&p, src);
    else if (src)
        result = p.n == 1 && !p.truths ? scatter_one(&p, src) : scatter_several(&p, src);
    nd_release(src);
    finish(&p);
    return result;
}

/* view = where(mask, src, view), for a value that does not run along the selected elements. */
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
    int mask = lone_mask(k), axis = 0, result = -1;
    if (check_masks(k) < 0)
        return -1;
    if (mask < 0)
        return scatter(k, value);
    nd_array *view = view_under_mask(k, mask, &axis);
    int masked = nd_ndim(k->entry[mask].array);
    int behind = view ? nd_ndim(view) - axis - masked : 0;
    nd_array *src = view ? source(k, value, position_of(k) == axis ? behind : 0) : NULL;
    if (src && nd_ndim(src) <= (position_of(k) == axis ? behind : 0))
        result = py_check(k->st, choose(k, mask, view, axis, src));
    else if (src)
        result = scatter(k, value);
    nd_release(view);
    nd_release(src);
    return result;
}
