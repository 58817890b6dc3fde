/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Arrays cut along an axis, turned and mirrored: views. */
#include "core/ops/ops.h"

/* out[i] becomes the view from places[i] to places[i + 1]; an end below its beginning is empty. */
static nd_status cut(const nd_array *a, int n, const int64_t *places, int axis, nd_array **out)
{
    for (int i = 0; i < n; i++) {
        const int64_t extent = places[i + 1] > places[i] ? places[i + 1] - places[i] : 0;
        const nd_status status = nd__part(a, axis, places[i], extent, &out[i]);
        if (status == ND_OK)
            continue;
        out[i] = NULL;
        nd_release_all(i, out);
        return status;
    }
    return ND_OK;
}

static nd_status cut_evenly(const char *op, const nd_array *a, int n, int axis, bool divides,
                            nd_array **out)
{
    int where;
    ND_RETURN_IF(nd__check_array(op, a, 0));
    if (n < 1)
        return nd__fail(ND_ERR_ARGUMENT, op, 1, "%d parts; there is at least one", n);
    ND_NEED(op, 3, out);
    ND_RETURN_IF(nd__axis(op, axis, a->ndim, &where));
    const int64_t extent = a->shape[where];
    if (divides && extent % n)
        return nd__fail(ND_ERR_SHAPE, op, 1,
                        "the extent %lld of axis %d is no multiple of %d; see nd_array_split",
                        (long long)extent, where, n);
    for (int i = 0; i < n; i++) {
        const int64_t more = extent % n, at = i * (extent / n) + (i < more ? i : more);
        const int64_t places[2] = {at, at + extent / n + (i < more)};
        const nd_status status = cut(a, 1, places, where, &out[i]);
        if (status == ND_OK)
            continue;
        nd_release_all(i, out);
        return status;
    }
    return ND_OK;
}

nd_status nd_split(const nd_array *a, int n, int axis, nd_array **out)
{
    return cut_evenly("split", a, n, axis, true, out);
}

nd_status nd_array_split(const nd_array *a, int n, int axis, nd_array **out)
{
    return cut_evenly("array_split", a, n, axis, false, out);
}

static int64_t clip(int64_t place, int64_t extent)
{
    place += place < 0 ? extent : 0;
    return place < 0 ? 0 : place > extent ? extent : place;
}

nd_status nd_split_at(const nd_array *a, int n, const int64_t *places, int axis, nd_array **out)
{
    int where;
    ND_RETURN_IF(nd__check_array("split_at", a, 0));
    if (n < 0)
        return nd__fail(ND_ERR_ARGUMENT, "split_at", 1,
                        "%d places; the number must not be negative", n);
    ND_NEED_LIST("split_at", 2, n, places);
    ND_NEED("split_at", 4, out);
    ND_RETURN_IF(nd__axis("split_at", axis, a->ndim, &where));
    for (int i = 0; i <= n; i++) {
        const int64_t extent = a->shape[where];
        const int64_t ends[2] = {i ? clip(places[i - 1], extent) : 0,
                                 i < n ? clip(places[i], extent) : extent};
        const nd_status status = cut(a, 1, ends, where, &out[i]);
        if (status == ND_OK)
            continue;
        nd_release_all(i, out);
        return status;
    }
    return ND_OK;
}

/* ---- turning ---- */
static nd_status exchanged(const nd_array *a, int axis1, int axis2, nd_array **view)
{
    int32_t order[ND_MAX_NDIM];
    for (int d = 0; d < a->ndim; d++)
        order[d] = d == axis1 ? axis2 : d == axis2 ? axis1 : d;
    return nd_permute(a, a->ndim, order, view);
}

static nd_status quarters(const nd_array *a, int k, int axis1, int axis2, nd_array **view)
{
    const int32_t both[2] = {axis1, axis2};
    nd_array *half = NULL;
    if (k % 2 == 0)
        return nd_flip(a, 2, both, view);
    if (k == 1)
        ND_RETURN_IF(nd_flip(a, 1, both + 1, &half));
    else
        ND_RETURN_IF(exchanged(a, axis1, axis2, &half));
    nd_status status =
        k == 1 ? exchanged(half, axis1, axis2, view) : nd_flip(half, 1, both + 1, view);
    nd_release(half);
    return status;
}

nd_status nd_rot90(const nd_array *a, int64_t k, int axis1, int axis2, nd_array **view)
{
    int from, to;
    const nd_index all[1] = {nd_ellipsis()};
    ND_OUT("rot90", 4, view, NULL);
    ND_RETURN_IF(nd__check_array("rot90", a, 0));
    if (a->ndim < 2)
        return nd__fail(ND_ERR_SHAPE, "rot90", 0, "rank %d where at least 2 is needed", a->ndim);
    ND_RETURN_IF(nd__axis("rot90", axis1, a->ndim, &from));
    ND_RETURN_IF(nd__axis("rot90", axis2, a->ndim, &to));
    if (from == to)
        return nd__fail(ND_ERR_ARGUMENT, "rot90", 3, "both axes are axis %d", from);
    const int turns = (int)((k % 4 + 4) % 4);
    return nd__error_as("rot90",
                        turns ? quarters(a, turns, from, to, view) : nd_slice(a, all, 1, view));
}

static nd_status mirrored(const char *op, const nd_array *a, int axis, nd_array **view)
{
    const int32_t axes[1] = {axis};
    ND_RETURN_IF(nd__check_array(op, a, 0));
    if (a->ndim <= axis)
        return nd__fail(ND_ERR_SHAPE, op, 0, "rank %d where at least %d is needed", a->ndim,
                        axis + 1);
    return nd__error_as(op, nd_flip(a, 1, axes, view));
}

nd_status nd_fliplr(const nd_array *a, nd_array **view)
{
    ND_OUT("fliplr", 1, view, NULL);
    return mirrored("fliplr", a, 1, view);
}

nd_status nd_flipud(const nd_array *a, nd_array **view)
{
    ND_OUT("flipud", 1, view, NULL);
    return mirrored("flipud", a, 0, view);
}
