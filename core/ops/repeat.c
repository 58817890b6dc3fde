/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Elements and axes repeated: tile, repeat. */
#include "core/ops/ops.h"
#include "core/ops/steps.h"

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

/* Position j of the result, of `total`, has an element from as many positions on as end at or before
 * j. ends: running totals of the counts, the last of which is total. */
static nd_status sources(const nd_array *ends, int64_t total, nd_array **from)
{
    nd_steps s = {ND_OK};
    nd_array *one, *here, *number;
    const int64_t room = total + 1; /* trailing counts of 0 end at total */
    ND_STEP(&s, here, nd_zeros(ends->storage->device, ND_I64, 1, &room, &here));
    ND_STEP(&s, one, nd_full(ends->storage->device, ND_I64, 0, NULL, nd_int(1), &one));
    ND_STEP_DO(&s, nd_scatter_into(ends, one, 0, ND_SCATTER_ADD, here));
    here = nd__step_part(&s, here, 0, 0, total, 1);
    ND_STEP(&s, number, nd_cumulative_sum(here, NULL, &number));
    return nd__steps_end(&s, "repeat_each", number, from);
}

/* Elements come from positions that are counted up, not looked for one by one. */
nd_status nd_repeat_each(const nd_array *a, const nd_array *counts, int axis, nd_array **out)
{
    nd_array *stretched = NULL, *wide = NULL, *ends = NULL, *from = NULL;
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
    if (total < 0 || total == INT64_MAX) {
        status =
            nd__fail(ND_ERR_OVERFLOW, "repeat_each", 1, "the counts add up to 2^63 - 1 or more");
        goto done;
    }
    ND_GOTO_IF(done, nd_cumulative_sum(wide, NULL, &ends));
    ND_GOTO_IF(done, sources(ends, total, &from));
    ND_GOTO_IF(done, nd_take(a, from, where, out));
done:
    nd_release(stretched);
    nd_release(wide);
    nd_release(ends);
    nd_release(from);
    return status;
}
