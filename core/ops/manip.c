/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Putting arrays together and moving their elements, made of views, copies and take. */
#include "core/ops/ops.h"

static nd_status check_list(const char *op, int n, const nd_array *const *arrays)
{
    if (n < 1 || !arrays)
        return nd__fail(ND_ERR_ARGUMENT, op, 0, "%d arrays given; at least one is needed", n);
    for (int i = 0; i < n; i++) {
        ND_RETURN_IF(nd__check_array(op, arrays[i], i));
        ND_RETURN_IF(nd__check_same_device(op, arrays[0], arrays[i], 0, i));
    }
    return ND_OK;
}

static nd_status common_dtype(const char *op, int n, const nd_array *const *arrays, nd_dtype *dtype)
{
    *dtype = arrays[0]->dtype;
    for (int i = 1; i < n; i++)
        ND_RETURN_IF(nd__promote(op, *dtype, arrays[i]->dtype, dtype));
    return ND_OK;
}

/* A part of dst along axis, from `at`, with extent `extent`. */
static nd_status part(const nd_array *dst, int axis, int64_t at, int64_t extent, nd_array **view)
{
    int64_t shape[ND_MAX_NDIM];
    memcpy(shape, dst->shape, (size_t)dst->ndim * sizeof *shape);
    shape[axis] = extent;
    int64_t offset = dst->offset + (dst->size && extent ? at * dst->stride[axis] : 0);
    return nd__array_new(dst->storage, dst->dtype, dst->ndim, shape, dst->stride, offset,
                         dst->flags & ND_FLAG_READONLY, view);
}

static nd_status copy_part(const nd_array *src, const nd_array *dst, int axis, int64_t at)
{
    nd_array *view = NULL;
    ND_RETURN_IF(part(dst, axis, at, src->shape[axis], &view));
    nd_status status = nd__copy_into(src, view);
    nd_release(view);
    return status;
}

static nd_status concat_shape(int n, const nd_array *const *arrays, int axis, int64_t *shape)
{
    char first[ND_SHAPE_TEXT], other[ND_SHAPE_TEXT];
    const nd_array *a = arrays[0];
    memcpy(shape, a->shape, (size_t)a->ndim * sizeof *shape);
    for (int i = 1; i < n; i++) {
        const nd_array *b = arrays[i];
        bool fits = b->ndim == a->ndim;
        for (int d = 0; fits && d < a->ndim; d++)
            fits = d == axis || a->shape[d] == b->shape[d];
        if (!fits)
            return nd__fail(ND_ERR_SHAPE, "concat", i,
                            "shapes %s and %s differ elsewhere than along axis %d",
                            nd__shape_text(a->ndim, a->shape, first, sizeof first),
                            nd__shape_text(b->ndim, b->shape, other, sizeof other), axis);
        if (!nd__add_size(shape[axis], b->shape[axis], &shape[axis]))
            return nd__fail(ND_ERR_OVERFLOW, "concat", i,
                            "the extents along axis %d add up to more than 2^63", axis);
    }
    return ND_OK;
}

nd_status nd_concat(int n, const nd_array *const *arrays, int axis, nd_array **out)
{
    int64_t shape[ND_MAX_NDIM], at = 0;
    nd_array *r = NULL;
    nd_dtype dtype;
    nd_status status;
    int where;
    ND_OUT("concat", 3, out, NULL);
    ND_NEED_LIST("concat", 1, n, arrays);
    ND_RETURN_IF(check_list("concat", n, arrays));
    ND_RETURN_IF(nd__axis("concat", axis, arrays[0]->ndim, &where));
    ND_RETURN_IF(concat_shape(n, arrays, where, shape));
    ND_RETURN_IF(common_dtype("concat", n, arrays, &dtype));
    ND_RETURN_IF(
        nd__array_alloc("concat", arrays[0]->storage->device, dtype, arrays[0]->ndim, shape, &r));
    for (int i = 0; i < n; i++) {
        ND_GOTO_IF(done, copy_part(arrays[i], r, where, at));
        at += arrays[i]->shape[where];
    }
    *out = r;
    r = NULL;
    status = ND_OK;
done:
    nd_release(r);
    return status;
}

nd_status nd_concat_flat(int n, const nd_array *const *arrays, nd_array **out)
{
    int64_t total = 0;
    nd_array *r = NULL;
    nd_dtype dtype;
    nd_status status = ND_OK;
    ND_OUT("concat_flat", 2, out, NULL);
    ND_NEED_LIST("concat_flat", 1, n, arrays);
    ND_RETURN_IF(check_list("concat_flat", n, arrays));
    ND_RETURN_IF(common_dtype("concat_flat", n, arrays, &dtype));
    for (int i = 0; i < n; i++)
        if (!nd__add_size(total, arrays[i]->size, &total))
            return nd__fail(ND_ERR_OVERFLOW, "concat_flat", i,
                            "the sizes add up to more than 2^63");
    ND_RETURN_IF(nd__array_alloc("concat_flat", arrays[0]->storage->device, dtype, 1, &total, &r));
    for (int64_t i = 0, at = 0; i < n && status == ND_OK; at += arrays[i]->size, i++) {
        nd_array *flat = NULL;
        status = part(r, 0, at, arrays[i]->size, &flat);
        nd_array *shaped = NULL;
        if (status == ND_OK)
            status = nd_reshape(flat, arrays[i]->ndim, arrays[i]->shape, &shaped);
        if (status == ND_OK)
            status = nd__copy_into(arrays[i], shaped);
        nd_release(flat);
        nd_release(shaped);
    }
    return nd__hand_over(status, r, out);
}

nd_status nd_stack(int n, const nd_array *const *arrays, int axis, nd_array **out)
{
    int64_t shape[ND_MAX_NDIM];
    nd_array *r = NULL;
    nd_dtype dtype;
    nd_status status = ND_OK;
    int where;
    ND_OUT("stack", 3, out, NULL);
    ND_NEED_LIST("stack", 1, n, arrays);
    ND_RETURN_IF(check_list("stack", n, arrays));
    const nd_array *a = arrays[0];
    if (a->ndim == ND_MAX_NDIM)
        return nd__fail(ND_ERR_SHAPE, "stack", 0,
                        "the result would have rank %d; the highest is %d", ND_MAX_NDIM + 1,
                        ND_MAX_NDIM);
    ND_RETURN_IF(nd__axis("stack", axis, a->ndim + 1, &where));
    for (int i = 1; i < n; i++)
        ND_RETURN_IF(nd__check_shape_is("stack", arrays[i], a->ndim, a->shape, i));
    ND_RETURN_IF(common_dtype("stack", n, arrays, &dtype));
    for (int d = 0; d <= a->ndim; d++)
        shape[d] = d == where ? n : a->shape[d - (d > where)];
    ND_RETURN_IF(nd__array_alloc("stack", a->storage->device, dtype, a->ndim + 1, shape, &r));
    const int32_t axes[1] = {where};
    for (int i = 0; i < n && status == ND_OK; i++) {
        nd_array *wide = NULL;
        status = nd_expand_dims(arrays[i], 1, axes, &wide);
        if (status == ND_OK)
            status = copy_part(wide, r, where, i);
        nd_release(wide);
    }
    return nd__hand_over(status, r, out);
}

nd_status nd_unstack(const nd_array *a, int axis, nd_array **out)
{
    ND_NEED("unstack", 2, out);
    int64_t shape[ND_MAX_NDIM], stride[ND_MAX_NDIM];
    int where, n = 0;
    ND_RETURN_IF(nd__check_array("unstack", a, 0));
    ND_RETURN_IF(nd__axis("unstack", axis, a->ndim, &where));
    for (int d = 0; d < a->ndim; d++)
        if (d != where) {
            shape[n] = a->shape[d];
            stride[n++] = a->stride[d];
        }
    for (int64_t i = 0; i < a->shape[where]; i++) {
        int64_t offset = a->offset + (a->size ? i * a->stride[where] : 0);
        nd_status status = nd__array_new(a->storage, a->dtype, n, shape, stride, offset,
                                         a->flags & ND_FLAG_READONLY, &out[i]);
        if (status == ND_OK)
            continue;
        while (i-- > 0) {
            nd_release(out[i]);
            out[i] = NULL;
        }
        return status;
    }
    return ND_OK;
}

/* `count` copies along axis: of the whole axis one after the other, or of each element (each). */
static nd_status multiply_axis(const char *op, const nd_array *a, int axis, int64_t count,
                               bool each, nd_array **out)
{
    int64_t shape[ND_MAX_NDIM], split[ND_MAX_NDIM + 1];
    nd_array *r = NULL, *cells = NULL, *wide = NULL;
    int rank = a->ndim + 1,
        outer = each ? axis + 1 : axis; /* where the new dimension of copies goes */
    nd_status status;
    memcpy(shape, a->shape, (size_t)a->ndim * sizeof *shape);
    if (count < 0 || !nd__mul_size(shape[axis], count, &shape[axis]))
        return nd__fail(count < 0 ? ND_ERR_ARGUMENT : ND_ERR_OVERFLOW, op, 1,
                        "%lld copies of extent %lld", (long long)count, (long long)a->shape[axis]);
    if (rank > ND_MAX_NDIM)
        return nd__fail(ND_ERR_UNSUPPORTED, op, 0,
                        "rank %d leaves no room for the copies; the highest rank here is %d",
                        a->ndim, ND_MAX_NDIM - 1);
    ND_RETURN_IF(nd__array_alloc(op, a->storage->device, a->dtype, a->ndim, shape, &r));
    for (int d = 0; d < rank; d++)
        split[d] = d == outer ? count : a->shape[d - (d > outer)];
    const int32_t new_axis[1] = {outer};
    if (r->size) {
        ND_GOTO_IF(done, nd_reshape(r, rank, split, &cells));
        ND_GOTO_IF(done, nd_expand_dims(a, 1, new_axis, &wide));
        ND_GOTO_IF(done, nd__copy_into(wide, cells));
    }
    *out = r;
    r = NULL;
    status = ND_OK;
done:
    nd_release(r);
    nd_release(cells);
    nd_release(wide);
    return status;
}

nd_status nd_tile(const nd_array *a, int nreps, const int64_t *reps, nd_array **out)
{
    int64_t shape[ND_MAX_NDIM];
    nd_array *now = NULL;
    ND_OUT("tile", 3, out, NULL);
    ND_NEED_LIST("tile", 2, nreps, reps);
    ND_RETURN_IF(nd__check_array("tile", a, 0));
    if (nreps < 0 || nreps > ND_MAX_NDIM)
        return nd__fail(ND_ERR_ARGUMENT, "tile", 1, "%d repetitions given; from 0 to %d can be",
                        nreps, ND_MAX_NDIM);
    int ndim = a->ndim > nreps ? a->ndim : nreps, pad = ndim - a->ndim;
    for (int d = 0; d < ndim; d++)
        shape[d] = d < pad ? 1 : a->shape[d - pad];
    ND_RETURN_IF(nd__array_new(a->storage, a->dtype, ndim, shape, NULL, a->offset, true, &now));
    for (int d = 0; d < ndim; d++)
        now->stride[d] = d < pad ? 0 : a->stride[d - pad];
    now->flags = ND_FLAG_READONLY | (a->flags & ND_FLAG_CONTIGUOUS);
    bool copied = false;
    for (int d = ndim - 1; d >= 0; d--) {
        int64_t count = d < ndim - nreps ? 1 : reps[d - (ndim - nreps)];
        nd_array *next = NULL;
        if (count == 1)
            continue;
        nd_status status = multiply_axis("tile", now, d, count, false, &next);
        nd_release(now);
        if (status != ND_OK)
            return status;
        now = next;
        copied = true;
    }
    if (copied) {
        *out = now;
        return ND_OK;
    }
    nd_status status = nd_copy(now, NULL, out);
    nd_release(now);
    return status;
}

nd_status nd_repeat(const nd_array *a, int64_t count, int axis, nd_array **out)
{
    int where;
    ND_OUT("repeat", 3, out, NULL);
    ND_RETURN_IF(nd__check_array("repeat", a, 0));
    ND_RETURN_IF(nd__axis("repeat", axis, a->ndim, &where));
    return multiply_axis("repeat", a, where, count, true, out);
}

static nd_status integer_item(nd_status (*reduce)(const nd_array *, const nd_reduce_opts *,
                                                  nd_array **),
                              const nd_array *a, int64_t *value)
{
    nd_array *r = NULL;
    nd_scalar s;
    ND_RETURN_IF(reduce(a, NULL, &r));
    nd_status status = nd__item("repeat", r, ND_WAIT_SHAPE, &s);
    *value = s.v.i;
    nd_release(r);
    return status;
}

static nd_status check_counts(const nd_array *a, const nd_array *counts, int axis)
{
    int64_t lowest = 0;
    ND_RETURN_IF(nd__check_array("repeat_each", counts, 1));
    ND_RETURN_IF(nd__check_same_device("repeat_each", a, counts, 0, 1));
    if (!(nd__kind(counts->dtype) & (ND_KIND_INT | ND_KIND_UINT)))
        return nd__fail(ND_ERR_DTYPE, "repeat_each", 1, "the counts are %s, not integers",
                        nd_dtype_name(counts->dtype));
    if (counts->ndim != 1 || (counts->shape[0] != 1 && counts->shape[0] != a->shape[axis]))
        return nd__fail(ND_ERR_SHAPE, "repeat_each", 1,
                        "the counts must be 1-d, of length 1 or %lld", (long long)a->shape[axis]);
    if (counts->size && nd__kind(counts->dtype) == ND_KIND_INT)
        ND_RETURN_IF(integer_item(nd_min, counts, &lowest));
    return lowest < 0 ? nd__fail(ND_ERR_ARGUMENT, "repeat_each", 1,
                                 "a count is %lld; counts are not negative", (long long)lowest)
                      : ND_OK;
}

/* Element j of the result comes from the position whose running total of counts first exceeds j. */
nd_status nd_repeat_each(const nd_array *a, const nd_array *counts, int axis, nd_array **out)
{
    nd_array *stretched = NULL, *wide = NULL, *ends = NULL, *ordinals = NULL, *from = NULL;
    int64_t total = 0;
    nd_status status;
    int where;
    ND_OUT("repeat_each", 3, out, NULL);
    ND_RETURN_IF(nd__check_array("repeat_each", a, 0));
    ND_RETURN_IF(nd__axis("repeat_each", axis, a->ndim, &where));
    ND_RETURN_IF(check_counts(a, counts, where));
    ND_GOTO_IF(done, nd_broadcast_to(counts, 1, &a->shape[where], &stretched));
    ND_GOTO_IF(done, nd__cast(stretched, ND_I64, &wide));
    if (wide->size)
        ND_GOTO_IF(done, integer_item(nd_sum, wide, &total));
    ND_GOTO_IF(done, nd_cumulative_sum(wide, NULL, &ends));
    ND_GOTO_IF(done, nd_arange(a->storage->device, ND_I64, nd_int(0), nd_int(total), nd_int(1),
                               &ordinals));
    ND_GOTO_IF(done, nd_searchsorted(ends, ordinals, 1, NULL, &from));
    ND_GOTO_IF(done, nd_take(a, from, where, out));
done:
    nd_release(stretched);
    nd_release(wide);
    nd_release(ends);
    nd_release(ordinals);
    nd_release(from);
    return status;
}

static nd_status roll_axis(const nd_array *a, int64_t shift, int axis, nd_array **out)
{
    nd_array *r = NULL, *head = NULL, *tail = NULL;
    nd_status status;
    int64_t n = a->shape[axis], s = n ? (shift % n + n) % n : 0;
    ND_RETURN_IF(nd__array_alloc("roll", a->storage->device, a->dtype, a->ndim, a->shape, &r));
    ND_GOTO_IF(done, part(a, axis, n - s, s, &tail));
    ND_GOTO_IF(done, part(a, axis, 0, n - s, &head));
    ND_GOTO_IF(done, copy_part(tail, r, axis, 0));
    ND_GOTO_IF(done, copy_part(head, r, axis, s));
    *out = r;
    r = NULL;
done:
    nd_release(r);
    nd_release(head);
    nd_release(tail);
    return status;
}

static nd_status roll_flat(const nd_array *a, int64_t shift, nd_array **out)
{
    nd_array *flat = NULL, *rolled = NULL;
    const int64_t all[1] = {a->size};
    nd_status status;
    ND_GOTO_IF(done, nd_reshape_copy(a, 1, all, &flat));
    ND_GOTO_IF(done, roll_axis(flat, shift, 0, &rolled));
    ND_GOTO_IF(done, nd_reshape(rolled, a->ndim, a->shape, out));
done:
    nd_release(flat);
    nd_release(rolled);
    return status;
}

nd_status nd_roll(const nd_array *a, int n, const int64_t *shifts, const int32_t *axes,
                  nd_array **out)
{
    nd_array *now = NULL;
    ND_OUT("roll", 4, out, NULL);
    ND_NEED_LIST("roll", 2, n, shifts);
    ND_RETURN_IF(nd__check_array("roll", a, 0));
    if (n < 0 || (!axes && n != 1))
        return nd__fail(ND_ERR_ARGUMENT, "roll", 1,
                        "%d shifts%s; without axes there is exactly one", n,
                        axes ? "" : " and no axes");
    if (!axes)
        return roll_flat(a, shifts[0], out);
    if (n == 0)
        return nd_copy(a, NULL, out);
    now = nd_retain((nd_array *)a);
    for (int i = 0; i < n; i++) { /* an axis may be named again: its shifts add up */
        nd_array *next = NULL;
        int where;
        nd_status status = nd__axis("roll", axes[i], a->ndim, &where);
        if (status == ND_OK)
            status = roll_axis(now, shifts[i], where, &next);
        nd_release(now);
        if (status != ND_OK)
            return status;
        now = next;
    }
    *out = now;
    return ND_OK;
}

static nd_status padded_shape(const nd_array *a, const int64_t *before, const int64_t *after,
                              int64_t *shape)
{
    for (int d = 0; d < a->ndim; d++) {
        if (before[d] < 0 || after[d] < 0)
            return nd__fail(ND_ERR_ARGUMENT, "pad", before[d] < 0 ? 1 : 2,
                            "padding of %lld at axis %d; it must not be negative",
                            (long long)(before[d] < 0 ? before[d] : after[d]), d);
        if (!nd__add_size(a->shape[d], before[d], &shape[d]) ||
            !nd__add_size(shape[d], after[d], &shape[d]))
            return nd__fail(ND_ERR_OVERFLOW, "pad", 1, "axis %d would be longer than 2^63", d);
    }
    return ND_OK;
}

static nd_status pad_constant(const nd_array *a, const int64_t *before, const int64_t *shape,
                              nd_scalar value, nd_array **out)
{
    nd_array *r = NULL, *middle = NULL;
    nd_status status;
    ND_RETURN_IF(nd_full(a->storage->device, a->dtype, a->ndim, shape, value, &r));
    int64_t offset = 0;
    for (int d = 0; d < a->ndim; d++)
        offset += before[d] * r->stride[d];
    ND_GOTO_IF(done, nd__array_new(r->storage, r->dtype, a->ndim, a->shape, r->stride,
                                   a->size ? offset : 0, false, &middle));
    ND_GOTO_IF(done, nd__copy_into(a, middle));
    *out = r;
    r = NULL;
done:
    nd_release(r);
    nd_release(middle);
    return status;
}

/* Which element of an axis of extent n stands i places after its beginning (i may be negative or
 * too large). */
static nd_status source_positions(nd_device *device, int64_t n, int64_t before, int64_t length,
                                  int mode, nd_array **out)
{
    nd_array *i = NULL, *m = NULL, *mirrored = NULL;
    nd_status status;
    int64_t period = mode == ND_PAD_REFLECT ? (n > 1 ? 2 * n - 2 : 1) : n;
    ND_GOTO_IF(done,
               nd_arange(device, ND_I64, nd_int(-before), nd_int(length - before), nd_int(1), &i));
    if (mode == ND_PAD_EDGE) {
        const nd_arg args[3] = {nd_array_arg(i), nd_scalar_arg(nd_int(0)),
                                nd_scalar_arg(nd_int(n - 1))};
        ND_GOTO_IF(done, nd_apply(ND_OP_clip, args, 3, NULL, out));
    } else {
        ND_GOTO_IF(done, nd_remainder_scalar(i, nd_int(period), &m));
        const nd_arg from_end[2] = {nd_scalar_arg(nd_int(period)), nd_array_arg(m)};
        if (mode == ND_PAD_REFLECT) {
            ND_GOTO_IF(done, nd_apply(ND_OP_subtract, from_end, 2, NULL, &mirrored));
            ND_GOTO_IF(done, nd_minimum(m, mirrored, out));
        } else {
            *out = nd_retain(m);
        }
    }
done:
    nd_release(i);
    nd_release(m);
    nd_release(mirrored);
    return status;
}

static nd_status pad_axis(const nd_array *a, int axis, int64_t before, int64_t length, int mode,
                          nd_array **out)
{
    nd_array *positions = NULL;
    if (a->shape[axis] == 0)
        return nd__fail(ND_ERR_SHAPE, "pad", 0, "axis %d is empty: there is nothing to continue",
                        axis);
    ND_RETURN_IF(
        source_positions(a->storage->device, a->shape[axis], before, length, mode, &positions));
    nd_status status = nd_take(a, positions, axis, out);
    nd_release(positions);
    return status;
}

nd_status nd_pad(const nd_array *a, const int64_t *before, const int64_t *after, int mode,
                 nd_scalar value, nd_array **out)
{
    int64_t shape[ND_MAX_NDIM], size;
    ND_OUT("pad", 5, out, NULL);
    ND_RETURN_IF(nd__check_array("pad", a, 0));
    ND_NEED_LIST("pad", 1, a->ndim, before);
    ND_NEED_LIST("pad", 2, a->ndim, after);
    if (mode < ND_PAD_CONSTANT || mode > ND_PAD_WRAP)
        return nd__fail(ND_ERR_ARGUMENT, "pad", 3, "mode %d is unknown", mode);
    ND_RETURN_IF(padded_shape(a, before, after, shape));
    ND_RETURN_IF(nd__check_shape("pad", a->dtype, a->ndim, shape, &size));
    if (mode == ND_PAD_CONSTANT)
        return pad_constant(a, before, shape, value, out);
    nd_array *now = NULL;
    ND_RETURN_IF(nd_copy(a, NULL, &now));
    for (int d = 0; d < a->ndim; d++) {
        nd_array *next = NULL;
        if (shape[d] == a->shape[d])
            continue;
        nd_status status = pad_axis(now, d, before[d], shape[d], mode, &next);
        nd_release(now);
        if (status != ND_OK)
            return status;
        now = next;
    }
    *out = now;
    return ND_OK;
}

nd_status nd_reshape_copy(const nd_array *a, int ndim, const int64_t *shape, nd_array **out)
{
    int64_t full[ND_MAX_NDIM];
    nd_array *dense = NULL;
    bool fits;
    ND_OUT("reshape_copy", 3, out, NULL);
    ND_RETURN_IF(nd__check_array("reshape_copy", a, 0));
    ND_NEED_LIST("reshape_copy", 2, ndim, shape);
    ND_RETURN_IF(nd__error_as("reshape_copy", nd__reshape_fits(a, ndim, shape, full, &fits)));
    if (fits)
        return nd_reshape(a, ndim, full, out);
    ND_RETURN_IF(nd__error_as("reshape_copy", nd_copy(a, NULL, &dense)));
    nd_status status = nd_reshape(dense, ndim, full, out);
    nd_release(dense);
    return status;
}
