/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Arrays continued beyond their edges. */
#include "core/ops/ops.h"

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

/* The margins of `whole` around its part `middle`: first those of axis 0, as long as the others
 * are, then those of axis 1 within what is left. Fills of a few lines cost little beside one of
 * everything. */
static nd_status fill_margins(const nd_array *whole, const int64_t *before, const int64_t *extent,
                              nd_scalar value)
{
    nd_array *now = nd_retain((nd_array *)whole), *part = NULL;
    nd_status status = ND_OK;
    for (int d = 0; d < whole->ndim; d++) {
        int64_t begins[2] = {0, before[d] + extent[d]};
        int64_t lengths[2] = {before[d], whole->shape[d] - begins[1]};
        for (int side = 0; side < 2; side++) {
            if (lengths[side] == 0)
                continue;
            ND_GOTO_IF(done, nd__part(now, d, begins[side], lengths[side], &part));
            ND_GOTO_IF(done, nd_fill(part, value));
            nd_release(part);
            part = NULL;
        }
        ND_GOTO_IF(done, nd__part(now, d, before[d], extent[d], &part));
        nd_release(now);
        now = part;
        part = NULL;
    }
done:
    nd_release(now);
    nd_release(part);
    return status;
}

#define PAD_MARGINS ((int64_t)1 << 20) /* bytes, below which one fill is quicker than several */

static nd_status pad_constant(const nd_array *a, const int64_t *before, const int64_t *shape,
                              nd_scalar value, nd_array **out)
{
    nd_array *r = NULL, *middle = NULL;
    nd_status status;
    bool margins = a->size >= PAD_MARGINS / (int64_t)nd_dtype_size(a->dtype);
    if (margins)
        ND_RETURN_IF(nd__array_alloc("pad", a->storage->device, a->dtype, a->ndim, shape, &r));
    else
        ND_RETURN_IF(nd_full(a->storage->device, a->dtype, a->ndim, shape, value, &r));
    if (margins)
        ND_GOTO_IF(done, fill_margins(r, before, a->shape, value));
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
