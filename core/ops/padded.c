/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Indices of which the largest value of their dtype is padding. Arrays get one slice more along the
 * axis, at the index that padding becomes: of zeros for what reads, and for what writes one that
 * nobody looks at. */
#include "core/ops/steps.h"

static nd_scalar largest(nd_dtype dtype)
{
    const int bits = (int)nd__itemsize(dtype) * 8;
    if (nd__kind(dtype) & ND_KIND_INT)
        return nd_int((int64_t)(UINT64_MAX >> (65 - bits)));
    return nd_uint(UINT64_MAX >> (64 - bits));
}

/* Checks the operands; where is the axis, counted from the front. */
static nd_status start(const char *op, const nd_array *a, const nd_array *indices, int axis,
                       int *where)
{
    ND_RETURN_IF(nd__check_array(op, a, 0));
    ND_RETURN_IF(nd__check_array(op, indices, 1));
    if (!(nd__kind(indices->dtype) & (ND_KIND_INT | ND_KIND_UINT)))
        return nd__fail(ND_ERR_DTYPE, op, 1, "indices are of dtype %s; they must be integers",
                        nd_dtype_name(indices->dtype));
    ND_RETURN_IF(nd__check_same_device(op, a, indices, 0, 1));
    return nd__axis(op, axis, a->ndim, where);
}

/* Indices in i64 with the extent in the place of padding. Others that are the extent, or -extent-1,
 * would now be allowed: they become what is out of range. */
static nd_array *replaced(nd_steps *s, const nd_array *indices, int64_t extent)
{
    if (s->status != ND_OK)
        return NULL;
    nd_array *pads = nd__step_scalar(s, ND_OP_equal, indices, largest(indices->dtype));
    nd_array *wide = nd__step_cast(s, indices, ND_I64);
    nd_array *high = nd__step_scalar(s, ND_OP_greater_equal, wide, nd_int(extent));
    nd_array *low = nd__step_scalar(s, ND_OP_less, wide, nd_int(-extent));
    nd_array *below = nd__step_scalar(s, ND_OP_less, wide, nd_int(0));
    nd_array *moved =
        nd__step_where(s, below, nd_array_arg(nd__step_scalar(s, ND_OP_add, wide, nd_int(extent))),
                       nd_array_arg(wide));
    nd_array *bad = nd__step2(s, ND_OP_logical_or, high, low);
    nd_array *r = nd__step_where(
        s, bad, nd_array_arg(nd__step_scalar(s, ND_OP_maximum, wide, nd_int(extent + 1))),
        nd_array_arg(moved));
    return nd__step_where(s, pads, nd_scalar_arg(nd_int(extent)), nd_array_arg(r));
}

/* a with a slice of zeros behind its last one. */
static nd_array *longer(nd_steps *s, const nd_array *a, int axis)
{
    int64_t shape[ND_MAX_NDIM];
    nd_array *zeros, *r;
    const nd_array *parts[2] = {a, NULL};
    memcpy(shape, a->shape, (size_t)a->ndim * sizeof *shape);
    shape[axis] = 1;
    ND_STEP(s, zeros, nd_zeros(a->storage->device, a->dtype, a->ndim, shape, &zeros));
    parts[1] = zeros;
    ND_STEP(s, r, nd_concat(2, parts, axis, &r));
    return r;
}

typedef nd_status reading(const nd_array *a, const nd_array *indices, int axis, nd_array **out);

static nd_status read(const char *op, reading *f, const nd_array *a, const nd_array *indices,
                      int axis, nd_array **out)
{
    nd_steps s;
    nd_array *r;
    int where;
    ND_RETURN_IF(start(op, a, indices, axis, &where));
    ND_RETURN_IF(nd__steps_begin(&s, op, a, NULL));
    nd_array *at = replaced(&s, indices, a->shape[where]), *from = longer(&s, a, where);
    ND_STEP(&s, r, f(from, at, where, &r));
    return nd__steps_end(&s, op, r, out);
}

nd_status nd_take_padded(const nd_array *a, const nd_array *indices, int axis, nd_array **out)
{
    ND_OUT("take_padded", 3, out, NULL);
    return read("take_padded", nd_take, a, indices, axis, out);
}

nd_status nd_gather_padded(const nd_array *a, const nd_array *indices, int axis, nd_array **out)
{
    ND_OUT("gather_padded", 3, out, NULL);
    return read("gather_padded", nd_gather, a, indices, axis, out);
}

/* The array without the slice that was added, in memory of its own. */
static nd_status without(nd_steps *s, const char *op, const nd_array *a, nd_array *longer_one,
                         int where, nd_array **out)
{
    nd_array *r = nd__step_part(s, longer_one, where, 0, a->shape[where], 1);
    return nd__steps_end(s, op, nd__step_copy(s, r), out);
}

nd_status nd_scatter_padded(const nd_array *a, const nd_array *indices, const nd_array *src,
                            int axis, int mode, nd_array **out)
{
    nd_steps s;
    int where;
    ND_OUT("scatter_padded", 5, out, NULL);
    ND_RETURN_IF(start("scatter_padded", a, indices, axis, &where));
    ND_RETURN_IF(nd__check_array("scatter_padded", src, 2));
    ND_RETURN_IF(nd__steps_begin(&s, "scatter_padded", a, NULL));
    nd_array *at = replaced(&s, indices, a->shape[where]), *to = longer(&s, a, where);
    ND_STEP_DO(&s, nd_scatter_into(at, src, where, mode, to));
    return without(&s, "scatter_padded", a, to, where, out);
}

nd_status nd_index_add_padded(const nd_array *a, const nd_array *indices, const nd_array *src,
                              int axis, nd_array **out)
{
    nd_steps s;
    int where;
    ND_OUT("index_add_padded", 4, out, NULL);
    ND_RETURN_IF(start("index_add_padded", a, indices, axis, &where));
    ND_RETURN_IF(nd__check_array("index_add_padded", src, 2));
    ND_RETURN_IF(nd__steps_begin(&s, "index_add_padded", a, NULL));
    nd_array *at = replaced(&s, indices, a->shape[where]), *to = longer(&s, a, where);
    ND_STEP_DO(&s, nd_index_add_into(at, src, where, to));
    return without(&s, "index_add_padded", a, to, where, out);
}
