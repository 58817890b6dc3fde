/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Several index arrays as one: each counts steps along one line laid through the storage. */
#include "python/src/indexing/indexing.h"

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

static void lay(py_line *l, int64_t extent, int64_t stride)
{
    if (extent > 1) {
        l->length += (extent - 1) * (stride < 0 ? -stride : stride) / l->step;
        l->offset += stride < 0 ? (extent - 1) * stride : 0;
    }
}

/* The step is what all strides along the line have in common. */
py_line py_line_through(const py_plan *p, bool with_rest)
{
    const int64_t *shape = nd_shape(p->view), *stride = nd_strides(p->view);
    py_line l = {.step = 0, .offset = nd_offset(p->view), .length = 1};
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

int64_t py_line_bias(int64_t extent, int64_t scale)
{
    return scale < 0 ? -(extent - 1) * scale : 0;
}

/* Counts the steps of an index array in host memory, index by index. */
static int host_steps(const py_plan *p, int which, int64_t extent, int64_t scale,
                      const nd_array *idx, nd_array *out)
{
    void *from, *to;
    if (py_plan_check(p, nd_data(idx, &from)) < 0 || py_plan_check(p, nd_data(out, &to)) < 0)
        return -1;
    const int64_t *index = from;
    int64_t *step = to, shift = py_line_bias(extent, scale);
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

/* Called with the call in its arguments, so that *next is there by now. */
nd_status py_replace(nd_array **a, nd_status status, nd_array **next)
{
    nd_release(*a);
    *a = status == ND_OK ? *next : NULL;
    return status;
}

/* Counts the steps by operations of the device. A take from a stretched zero checks the indices
 * there; the error of a bad one comes out at the device's next report, and the final take checks
 * the result anew. */
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
        status = py_replace(&wrap, nd_astype(wrap, ND_I64, &next), &next);
    if (status == ND_OK)
        status = py_replace(&wrap, nd_multiply_scalar(wrap, nd_int(extent), &next), &next);
    if (status == ND_OK)
        status = py_replace(&wrap, nd_add(wrap, idx, &next), &next);
    if (status == ND_OK)
        status = py_replace(&wrap, nd_multiply_scalar(wrap, nd_int(scale), &next), &next);
    if (status == ND_OK)
        status = py_replace(&wrap, nd_add_scalar(wrap, nd_int(py_line_bias(extent, scale)), &next),
                            &next);
    if (status == ND_OK)
        status = nd_add(wrap, check, out);
    nd_release(zero);
    nd_release(zeros);
    nd_release(check);
    nd_release(wrap);
    return status;
}

/* Brings an index array to int64; u64 beyond that, which would come out negative, becomes the
 * largest. */
static nd_status as_int64(const nd_array *indices, nd_array **out)
{
    nd_array *small = NULL;
    nd_status status = nd_dtype_of(indices) == ND_U64
                           ? nd_minimum_scalar(indices, nd_int(INT64_MAX), &small)
                           : ND_OK;
    if (status == ND_OK)
        status = nd_astype(small ? small : indices, ND_I64, out);
    nd_release(small);
    return status;
}

/* Makes an array of the steps along the line that index array i means. */
static nd_array *steps(const py_plan *p, int i, int64_t scale)
{
    nd_array *idx = NULL, *out = NULL;
    nd_device *device = nd_device_of(p->view);
    int64_t extent = nd_shape(p->view)[p->axis[i]];
    if (extent == 0 && nd_size(p->idx[i]) > 0) {
        PyErr_Format(PyExc_IndexError, "%lld indices into an axis of extent 0",
                     (long long)nd_size(p->idx[i]));
        return NULL;
    }
    if (py_plan_check(p, as_int64(p->idx[i], &idx)) < 0)
        return NULL;
    if (nd_size(idx) == 0)
        return idx;
    if (!py_is_host(device) || nd_device_of(idx) != device) {
        (void)py_plan_check(p, device_steps(extent, scale, idx, &out));
    } else if (py_plan_check(p, nd_empty_like(idx, 0, &out)) == 0 &&
               host_steps(p, i, extent, scale, idx, out) < 0) {
        nd_release(out);
        out = NULL;
    }
    nd_release(idx);
    return out;
}

/* The steps of all index arrays are added, and have the indices' common shape. */
nd_array *py_along_line(const py_plan *p, const py_line *l)
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
        nd_status status = py_replace(&sum, nd_add(sum, part, &next), &next);
        nd_release(part);
        if (py_plan_check(p, status) < 0)
            return NULL;
    }
    nd_status status = nd_broadcast_to(sum, p->ndim, p->shape, &next);
    nd_release(sum);
    return py_plan_check(p, status) < 0 ? NULL : next;
}
