/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Ramps, grids and triangles. */
#include <math.h>
#include "core/ops/ops.h"

static bool is_integer(nd_scalar s)
{
    return s.kind == ND_I64 || s.kind == ND_U64 || s.kind == ND_BOOL;
}

static double as_double(nd_scalar s)
{
    return s.kind == ND_I64    ? (double)s.v.i
           : s.kind == ND_F64  ? s.v.f
           : s.kind == ND_C128 ? s.v.c[0]
                               : (double)s.v.u;
}

/* out[i] = start + i*step in the widest dtype of out's kind. */
static nd_status iota(const nd_array *out, nd_scalar start, nd_scalar step)
{
    static const nd_dtype widest[] = {[ND_KIND_INT] = ND_I64,
                                      [ND_KIND_UINT] = ND_U64,
                                      [ND_KIND_FLOAT] = ND_F64,
                                      [ND_KIND_COMPLEX] = ND_C128};
    ndp_iota params = {.size = sizeof params};
    nd_dtype wide = widest[nd__kind(out->dtype)];
    ND_RETURN_IF(nd__scalar_to("iota", start, wide, 0, &params.start));
    if (wide == ND_U64 && step.kind == ND_I64) { /* a step down wraps */
        params.step = (ndp_scalar){.dtype = wide};
        params.step.v.i = step.v.i;
    } else {
        ND_RETURN_IF(nd__scalar_to("iota", step, wide, 1, &params.step));
    }
    nd_array *const outs[1] = {(nd_array *)out};
    return out->size ? nd__run_arrays(ND_OP_iota, 0, NULL, 1, outs, &params) : ND_OK;
}

/* How many values of start + i*step lie before stop. */
static nd_status ramp_length(nd_scalar start, nd_scalar stop, nd_scalar step, int64_t *n)
{
    *n = 0;
    if (is_integer(start) && is_integer(stop) && is_integer(step)) {
        __int128 a = start.kind == ND_I64 ? start.v.i : (__int128)start.v.u,
                 b = stop.kind == ND_I64 ? stop.v.i : (__int128)stop.v.u,
                 s = step.kind == ND_I64 ? step.v.i : (__int128)step.v.u;
        if (s == 0)
            return nd__fail(ND_ERR_ARGUMENT, "arange", 4, "the step is 0");
        __int128 count = s > 0 ? (b - a + s - 1) / s : (a - b - s - 1) / -s;
        if ((s > 0 ? b > a : a > b) && count > INT64_MAX)
            return nd__fail(ND_ERR_OVERFLOW, "arange", 3, "more than 2^63 values");
        *n = (s > 0 ? b > a : a > b) ? (int64_t)count : 0;
        return ND_OK;
    }
    double a = as_double(start), b = as_double(stop), s = as_double(step),
           count = ceil((b - a) / s);
    if (s == 0 || !isfinite(a) || !isfinite(b) || isnan(s))
        return nd__fail(ND_ERR_ARGUMENT, "arange", 4,
                        "from %g to %g by %g; the bounds must be finite, the step not 0", a, b, s);
    if (count >= 0x1p62)
        return nd__fail(ND_ERR_OVERFLOW, "arange", 3, "more than 2^62 values");
    *n = count > 0 ? (int64_t)count : 0;
    return ND_OK;
}

nd_status nd_arange(nd_device *device, nd_dtype dtype, nd_scalar start, nd_scalar stop,
                    nd_scalar step, nd_array **out)
{
    nd_array *r = NULL;
    int64_t n;
    bool integers = is_integer(start) && is_integer(stop) && is_integer(step);
    ND_OUT("arange", 5, out, NULL);
    if (start.kind == ND_C128 || stop.kind == ND_C128 || step.kind == ND_C128)
        return nd__fail(ND_ERR_DTYPE, "arange", 2,
                        "complex numbers have no order; use nd_linspace");
    dtype = dtype ? dtype : integers ? ND_I64 : nd_default_float();
    ND_RETURN_IF(nd__check_dtype("arange", dtype));
    if (!(nd__kind(dtype) & nd_op_get(ND_OP_iota)->domain) ||
        (!integers && nd__kind(dtype) & (ND_KIND_INT | ND_KIND_UINT)))
        return nd__fail(ND_ERR_DTYPE, "arange", 1, "no range of %s from these bounds",
                        nd_dtype_name(dtype));
    ND_RETURN_IF(ramp_length(start, stop, step, &n));
    if (integers && n > 0 &&
        nd__kind(dtype) &
            (ND_KIND_INT | ND_KIND_UINT)) { /* both ends must fit; what lies between then does */
        ndp_scalar ignored;
        ND_RETURN_IF(nd__scalar_to("arange", start, dtype, 2, &ignored));
        __int128 last = (start.kind == ND_I64 ? start.v.i : (__int128)start.v.u) +
                        (__int128)(n - 1) * (step.kind == ND_I64 ? step.v.i : (__int128)step.v.u);
        ND_RETURN_IF(nd__scalar_to("arange",
                                   last < 0 ? nd_int((int64_t)last) : nd_uint((uint64_t)last),
                                   dtype, 3, &ignored));
    }
    ND_RETURN_IF(nd__empty("arange", device, dtype, 1, &n, &r));
    return nd__hand_over(iota(r, start, step), r, out);
}

static nd_scalar scalar_step(nd_scalar start, nd_scalar stop, double parts)
{
    double im0 = start.kind == ND_C128 ? start.v.c[1] : 0,
           im1 = stop.kind == ND_C128 ? stop.v.c[1] : 0;
    double re = (as_double(stop) - as_double(start)) / parts;
    return start.kind == ND_C128 || stop.kind == ND_C128 ? nd_complex(re, (im1 - im0) / parts)
                                                         : nd_float(re);
}

nd_status nd_linspace(nd_device *device, nd_dtype dtype, nd_scalar start, nd_scalar stop,
                      int64_t num, int endpoint, nd_array **out)
{
    nd_array *r = NULL, *last = NULL;
    bool complex_ends = start.kind == ND_C128 || stop.kind == ND_C128;
    nd_status status;
    ND_OUT("linspace", 6, out, NULL);
    dtype = dtype ? dtype : complex_ends ? ND_C128 : nd_default_float();
    ND_RETURN_IF(nd__check_dtype("linspace", dtype));
    if (!(nd__kind(dtype) & (complex_ends ? ND_KIND_COMPLEX : ND_KIND_COMPLEX | ND_KIND_FLOAT)))
        return nd__fail(ND_ERR_DTYPE, "linspace", 1,
                        "no even spacing in %s; make it floating and convert with nd_astype",
                        nd_dtype_name(dtype));
    if (num < 0)
        return nd__fail(ND_ERR_ARGUMENT, "linspace", 4,
                        "%lld values; the number must not be negative", (long long)num);
    ND_RETURN_IF(nd__empty("linspace", device, dtype, 1, &num, &r));
    int64_t parts = endpoint ? num - 1 : num;
    ND_GOTO_IF(done,
               iota(r, start, parts > 0 ? scalar_step(start, stop, (double)parts) : nd_float(0)));
    if (endpoint && num > 1) { /* the last value is stop itself, not a rounded sum */
        const nd_index at[1] = {nd_at(-1)};
        ND_GOTO_IF(done, nd_slice(r, at, 1, &last));
        ND_GOTO_IF(done, nd_fill(last, stop));
    }
done:
    nd_release(last);
    return nd__hand_over(status, r, out);
}

nd_status nd_eye(nd_device *device, nd_dtype dtype, int64_t rows, int64_t cols, int64_t k,
                 nd_array **out)
{
    nd_array *r = NULL, *diagonal = NULL;
    const int64_t shape[2] = {rows, cols};
    ND_OUT("eye", 5, out, NULL);
    ND_RETURN_IF(nd__error_as("eye", nd_zeros(device, dtype, 2, shape, &r)));
    nd_status status = nd_diagonal(r, k, 0, 1, &diagonal);
    if (status == ND_OK)
        status = nd_fill(diagonal, nd_int(1));
    nd_release(diagonal);
    return nd__hand_over(nd__error_as("eye", status), r, out);
}

nd_status nd_meshgrid(int n, const nd_array *const *arrays, int ij, nd_array **out)
{
    int64_t shape[ND_MAX_NDIM];
    if (n < 0 || n > ND_MAX_NDIM)
        return nd__fail(ND_ERR_ARGUMENT, "meshgrid", 0,
                        "%d arrays given; between 0 and %d are possible", n, ND_MAX_NDIM);
    ND_NEED_LIST("meshgrid", 1, n, arrays);
    ND_NEED_LIST("meshgrid", 3, n, out);
    for (int i = 0; i < n; i++) {
        int at = !ij && n > 1 && i < 2 ? 1 - i : i;
        out[i] = NULL;
        ND_RETURN_IF(nd__check_array("meshgrid", arrays[i], i));
        if (arrays[i]->ndim > 1)
            return nd__fail(ND_ERR_SHAPE, "meshgrid", i, "array %d has rank %d, not 1", i,
                            arrays[i]->ndim);
        shape[at] = arrays[i]->size;
    }
    for (int i = 0; i < n; i++) {
        int64_t column[ND_MAX_NDIM];
        nd_array *shaped = NULL;
        int at = !ij && n > 1 && i < 2 ? 1 - i : i;
        for (int d = 0; d < n; d++)
            column[d] = d == at ? arrays[i]->size : 1;
        nd_status status = nd_reshape(arrays[i], n, column, &shaped);
        if (status == ND_OK)
            status = nd_broadcast_to(shaped, n, shape, &out[i]);
        if (status == ND_OK)
            out[i]->flags |= ND_FLAG_READONLY; /* also where nothing is stretched */
        nd_release(shaped);
        while (status != ND_OK && i-- > 0) {
            nd_release(out[i]);
            out[i] = NULL;
        }
        if (status != ND_OK)
            return status;
    }
    return ND_OK;
}

/* Which elements stay depends on column - row alone: a mask of one row and one column that stands
 * for all of them, each row one place further back in it. The corner (m-1, 0) comes first. */
static nd_status diagonal_mask(nd_op compare, nd_device *device, int64_t m, int64_t n, int64_t k,
                               nd_array **keep)
{
    nd_array *places = NULL, *line = NULL;
    const int64_t shape[2] = {m, n}, stride[2] = {-1, 1};
    nd_status status;
    ND_GOTO_IF(done, nd_arange(device, ND_I64, nd_int(1 - m), nd_int(n), nd_int(1), &places));
    const nd_arg pair[2] = {nd_array_arg(places), nd_scalar_arg(nd_int(k))};
    ND_GOTO_IF(done, nd_apply(compare, pair, 2, NULL, &line));
    ND_GOTO_IF(done, nd__array_new(line->storage, ND_BOOL, 2, shape, stride, line->offset + m - 1,
                                   true, keep));
done:
    nd_release(places);
    nd_release(line);
    return status;
}

static nd_status triangle(const char *name, nd_op compare, const nd_array *a, int64_t k,
                          nd_array **out)
{
    nd_array *keep = NULL;
    *out = NULL;
    ND_RETURN_IF(nd__check_array(name, a, 0));
    if (a->ndim < 2)
        return nd__fail(ND_ERR_SHAPE, name, 0, "rank %d where at least 2 is needed", a->ndim);
    if (a->size == 0)
        return nd_copy(a, NULL, out);
    int64_t m = a->shape[a->ndim - 2], n = a->shape[a->ndim - 1];
    k = k > n ? n : k < -m ? -m : k; /* beyond the corners nothing changes */
    ND_RETURN_IF(diagonal_mask(compare, a->storage->device, m, n, k, &keep));
    const nd_arg choice[3] = {nd_array_arg(keep), nd_array_arg(a), nd_scalar_arg(nd_bool(0))};
    nd_status status = nd_apply(ND_OP_where, choice, 3, NULL, out);
    nd_release(keep);
    return status;
}

nd_status nd_tril(const nd_array *a, int64_t k, nd_array **out)
{
    ND_NEED("tril", 2, out);
    return triangle("tril", ND_OP_less_equal, a, k, out);
}

nd_status nd_triu(const nd_array *a, int64_t k, nd_array **out)
{
    ND_NEED("triu", 2, out);
    return triangle("triu", ND_OP_greater_equal, a, k, out);
}
