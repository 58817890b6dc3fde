/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Positions in C order and coordinates, each from the other; windows that slide over an array. */
#include "core/ops/index.h"
#include "core/ops/steps.h"

/* Index as one of [0, n): wrapped or clipped by the mode; as it is where it must be in range. */
static nd_array *fitted(nd_steps *s, const nd_array *index, int64_t n, int mode)
{
    if (mode == ND_INDEX_WRAP)
        return nd__step_scalar(s, ND_OP_remainder, index, nd_int(n));
    if (mode != ND_INDEX_CLIP)
        return (nd_array *)index;
    nd_array *r = nd__step_scalar(s, ND_OP_maximum, index, nd_int(0));
    return nd__step_scalar(s, ND_OP_minimum, r, nd_int(n - 1));
}

/* All indices are in [0, n); waits. */
static void check_range(nd_steps *s, const char *op, const nd_array *index, int64_t n,
                        int32_t argument)
{
    nd_array *low = nd__step_scalar(s, ND_OP_greater_equal, index, nd_int(0));
    nd_array *high = nd__step_scalar(s, ND_OP_less, index, nd_int(n));
    const bool fine = nd__step_all(s, nd__step2(s, ND_OP_logical_and, low, high));
    if (s->status == ND_OK && !fine)
        s->status =
            nd__fail(ND_ERR_INDEX, op, argument, "an index is not in [0, %lld)", (long long)n);
}

static nd_status size_of_shape(const char *op, int ndim, const int64_t *shape, int64_t *size)
{
    if (ndim < 0 || ndim > ND_MAX_NDIM)
        return nd__fail(ND_ERR_ARGUMENT, op, 1, "rank %d; it is between 0 and %d", ndim,
                        ND_MAX_NDIM);
    ND_NEED_LIST(op, 2, ndim, shape);
    return nd__check_shape(op, ND_BOOL, ndim, shape, size);
}

nd_status nd_unravel_index(const nd_array *indices, int ndim, const int64_t *shape, nd_array **out)
{
    nd_steps s;
    nd_array *rest, *place[ND_MAX_NDIM];
    int64_t size;
    ND_NEED("unravel_index", 3, out);
    ND_RETURN_IF(nd__check_array("unravel_index", indices, 0));
    ND_RETURN_IF(size_of_shape("unravel_index", ndim, shape, &size));
    for (int d = 0; d < ndim; d++)
        out[d] = NULL;
    ND_RETURN_IF(nd__steps_begin(&s, "unravel_index", indices, NULL));
    ND_STEP(&s, rest, nd__as_indices("unravel_index", indices, 0, &rest));
    if (s.status == ND_OK)
        check_range(&s, "unravel_index", rest, size, 0);
    for (int d = ndim - 1; d >= 0; d--) {
        nd_steps own = {s.status, 0, {NULL, NULL}, {NULL}};
        const int64_t n = shape[d] ? shape[d] : 1;
        nd_array *next = nd__step_scalar(&own, ND_OP_floor_divide, rest, nd_int(n));
        nd_array *at = nd__step_scalar(&own, ND_OP_remainder, rest, nd_int(n));
        place[d] = own.status == ND_OK ? nd_retain(at) : NULL;
        ND_STEP_DO(&s, nd__steps_end(&own, "unravel_index", next, &rest));
        nd__steps_keep(&s, s.status == ND_OK ? rest : NULL);
    }
    for (int d = 0; d < ndim; d++)
        if (s.status == ND_OK)
            out[d] = place[d];
        else
            nd_release(place[d]);
    return nd__steps_end(&s, "unravel_index", NULL, NULL);
}

static nd_status add_coordinate(nd_array **sum, const nd_array *index, int64_t n, int mode, int d)
{
    nd_steps s = {ND_OK};
    nd_array *x;
    ND_STEP(&s, x, nd__as_indices("ravel_multi_index", index, d, &x));
    if (mode == ND_INDEX_RAISE && s.status == ND_OK)
        check_range(&s, "ravel_multi_index", x, n, d);
    x = s.status == ND_OK ? fitted(&s, x, n, mode) : NULL;
    nd_array *r = nd__step2(&s, ND_OP_add, nd__step_scalar(&s, ND_OP_multiply, *sum, nd_int(n)), x);
    nd_release(*sum);
    *sum = NULL;
    return nd__steps_end(&s, "ravel_multi_index", r, sum);
}

static nd_status check_mode(const char *op, int mode, int32_t argument)
{
    if (mode >= ND_INDEX_RAISE && mode <= ND_INDEX_CLIP)
        return ND_OK;
    return nd__fail(ND_ERR_ARGUMENT, op, argument, "mode %d is unknown", mode);
}

nd_status nd_ravel_multi_index(int n, const nd_array *const *arrays, const int64_t *shape, int mode,
                               nd_array **out)
{
    nd_array *sum = NULL;
    int64_t size;
    ND_OUT("ravel_multi_index", 4, out, NULL);
    if (n < 1 || n > ND_MAX_NDIM)
        return nd__fail(ND_ERR_ARGUMENT, "ravel_multi_index", 0,
                        "%d coordinates; there are between 1 and %d", n, ND_MAX_NDIM);
    ND_NEED("ravel_multi_index", 1, arrays);
    for (int d = 0; d < n; d++) {
        ND_RETURN_IF(nd__check_array("ravel_multi_index", arrays[d], d));
        ND_RETURN_IF(nd__check_same_device("ravel_multi_index", arrays[0], arrays[d], 0, d));
    }
    ND_RETURN_IF(size_of_shape("ravel_multi_index", n, shape, &size));
    ND_RETURN_IF(check_mode("ravel_multi_index", mode, 3));
    nd_status status =
        nd_zeros(arrays[0]->storage->device, ND_I64, arrays[0]->ndim, arrays[0]->shape, &sum);
    for (int d = 0; d < n && status == ND_OK; d++)
        status = add_coordinate(&sum, arrays[d], shape[d], mode, d);
    *out = status == ND_OK ? sum : NULL;
    return nd__error_as("ravel_multi_index", status);
}

/* ---- elements put at positions ---- */
/* values, repeated in order as often as n elements need, in dst's dtype. */
static nd_array *repeated(nd_steps *s, const nd_array *values, const nd_array *dst, int64_t n)
{
    nd_array *r;
    nd_array *flat = nd__step_cast(s, nd__step_flat(s, values), dst->dtype);
    if (s->status != ND_OK || flat->size == n)
        return flat;
    nd_array *at = nd__step_range(s, dst, 0, n);
    at = nd__step_scalar(s, ND_OP_remainder, at, nd_int(flat->size));
    ND_STEP(s, r, nd_take(flat, at, 0, &r));
    return r;
}

/* dst as one dimension: a view, or a copy that is to be written back. */
static nd_array *flattened(nd_steps *s, const nd_array *dst, bool *copied)
{
    nd_array *flat = nd__step_flat(s, dst);
    *copied = s->status == ND_OK && !nd_shares_storage(flat, dst);
    return flat;
}

static void write_back(nd_steps *s, const nd_array *flat, bool copied, const nd_array *dst)
{
    nd_array *shaped = copied ? nd__step_reshape(s, flat, dst->ndim, dst->shape) : NULL;
    if (copied)
        ND_STEP_DO(s, nd__copy_into(shaped, dst));
}

nd_status nd_put_into(const nd_array *indices, const nd_array *values, int mode,
                      const nd_array *dst)
{
    nd_steps s;
    bool copied;
    nd_array *at;
    ND_RETURN_IF(nd__check_array("put", indices, 0));
    ND_RETURN_IF(nd__check_array("put", values, 1));
    ND_RETURN_IF(check_mode("put", mode, 2));
    ND_RETURN_IF(nd__check_writable("put", dst, 3));
    ND_RETURN_IF(nd__check_same_device("put", dst, indices, 3, 0));
    ND_RETURN_IF(nd__check_same_device("put", dst, values, 3, 1));
    ND_RETURN_IF(nd__check_castable("put", values->dtype, dst->dtype));
    if (indices->size == 0 || values->size == 0)
        return ND_OK;
    if (dst->size == 0)
        return nd__fail(ND_ERR_INDEX, "put", 0, "the destination is empty");
    ND_RETURN_IF(nd__steps_begin(&s, "put", indices, NULL));
    nd_array *index = nd__step_flat(&s, indices);
    ND_STEP(&s, at, nd__as_indices("put", index, 0, &at));
    at = s.status == ND_OK ? fitted(&s, at, dst->size, mode) : NULL;
    nd_array *what = repeated(&s, values, dst, indices->size);
    nd_array *flat = flattened(&s, dst, &copied);
    ND_STEP_DO(&s, nd_scatter_into(at, what, 0, ND_SCATTER_SET, flat));
    write_back(&s, flat, copied, dst);
    return nd__steps_end(&s, "put", NULL, NULL);
}

nd_status nd_place_into(const nd_array *mask, const nd_array *values, const nd_array *dst)
{
    nd_steps s;
    nd_array *number, *picked;
    ND_RETURN_IF(nd__check_array("place", mask, 0));
    ND_RETURN_IF(nd__check_array("place", values, 1));
    ND_RETURN_IF(nd__check_writable("place", dst, 2));
    ND_RETURN_IF(nd__check_same_device("place", dst, mask, 2, 0));
    ND_RETURN_IF(nd__check_same_device("place", dst, values, 2, 1));
    ND_RETURN_IF(nd__check_shape_is("place", mask, dst->ndim, dst->shape, 0));
    ND_RETURN_IF(nd__check_castable("place", values->dtype, dst->dtype));
    if (dst->size == 0)
        return ND_OK;
    if (values->size == 0)
        return nd__fail(ND_ERR_SHAPE, "place", 1, "there are no values to place");
    ND_RETURN_IF(nd__steps_begin(&s, "place", mask, NULL));
    nd_array *flat = nd__step_cast(&s, nd__step_flat(&s, mask), ND_BOOL);
    nd_array *what = nd__step_cast(&s, nd__step_flat(&s, values), dst->dtype);
    ND_STEP(&s, number, nd_cumulative_sum(flat, NULL, &number));
    number = nd__step_scalar(&s, ND_OP_subtract, number, nd_int(1));
    number = nd__step_scalar(&s, ND_OP_remainder, number, nd_int(values->size));
    ND_STEP(&s, picked, nd_take(what, number, 0, &picked));
    picked = nd__step_reshape(&s, picked, dst->ndim, dst->shape);
    nd_array *chosen = nd__step_reshape(&s, flat, dst->ndim, dst->shape);
    nd_array *r = nd__step_where(&s, chosen, nd_array_arg(picked), nd_array_arg(dst));
    ND_STEP_DO(&s, nd__copy_into(r, dst));
    return nd__steps_end(&s, "place", NULL, NULL);
}

nd_status nd_put_along_axis_into(const nd_array *indices, const nd_array *values, int axis,
                                 const nd_array *dst)
{
    nd_steps s;
    int where;
    nd_array *wide;
    int64_t shape[ND_MAX_NDIM];
    ND_RETURN_IF(nd__check_array("put_along_axis", indices, 0));
    ND_RETURN_IF(nd__check_array("put_along_axis", values, 1));
    ND_RETURN_IF(nd__check_writable("put_along_axis", dst, 3));
    ND_RETURN_IF(nd__axis("put_along_axis", axis, dst->ndim, &where));
    if (indices->ndim != dst->ndim)
        return nd__fail(ND_ERR_SHAPE, "put_along_axis", 0, "the indices have rank %d, the array %d",
                        indices->ndim, dst->ndim);
    memcpy(shape, dst->shape, (size_t)dst->ndim * sizeof *shape);
    shape[where] = indices->shape[where];
    ND_RETURN_IF(nd__steps_begin(&s, "put_along_axis", indices, NULL));
    ND_STEP(&s, wide, nd_broadcast_to(indices, dst->ndim, shape, &wide));
    ND_STEP_DO(&s, nd_scatter_into(wide, values, where, ND_SCATTER_SET, dst));
    return nd__steps_end(&s, "put_along_axis", NULL, NULL);
}

nd_status nd_assign_where(const nd_array *src, const nd_array *mask, const nd_array *dst)
{
    nd_steps s;
    ND_RETURN_IF(nd__check_array("assign_where", src, 0));
    ND_RETURN_IF(nd__check_array("assign_where", mask, 1));
    ND_RETURN_IF(nd__check_writable("assign_where", dst, 2));
    ND_RETURN_IF(nd__check_assignable("assign_where", src, dst));
    if (mask->dtype != ND_BOOL)
        return nd__fail(ND_ERR_DTYPE, "assign_where", 1, "the mask is %s, not bool",
                        nd_dtype_name(mask->dtype));
    ND_RETURN_IF(nd__steps_begin(&s, "assign_where", src, NULL));
    nd_array *cast = nd__step_cast(&s, src, dst->dtype);
    const nd_arg args[3] = {nd_array_arg(mask), nd_array_arg(cast), nd_array_arg(dst)};
    ND_STEP_DO(&s, nd_apply_into(ND_OP_where, args, 3, NULL, dst));
    return nd__steps_end(&s, "assign_where", NULL, NULL);
}
