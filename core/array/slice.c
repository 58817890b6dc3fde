/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Views by index entries: positions, ranges, new axes, an ellipsis. */
#include "core/array/array.h"

/* Python's slice arithmetic: first position and count of a range over an extent. */
static nd_status resolve_range(const nd_index *x, int64_t extent, int position, int64_t *first,
                               int64_t *count)
{
    int64_t step = x->step, begin = x->start, end = x->stop;
    int64_t lowest = step > 0 ? 0 : -1, highest = step > 0 ? extent : extent - 1;
    if (step == 0 || step == INT64_MIN)
        return nd__fail(ND_ERR_ARGUMENT, "slice", 1, "entry %d has a step of %lld", position,
                        (long long)step);
    if (begin == ND_END_OPEN)
        begin = step > 0 ? lowest : highest;
    else
        begin += begin < 0 ? extent : 0;
    if (end == ND_END_OPEN)
        end = step > 0 ? highest : lowest;
    else
        end += end < 0 ? extent : 0;
    begin = begin < lowest ? lowest : begin > highest ? highest : begin;
    end = end < lowest ? lowest : end > highest ? highest : end;
    int64_t span = step > 0 ? end - begin : begin - end, stride = step > 0 ? step : -step;
    *count = span <= 0     ? 0
             : stride == 1 ? span
                           : (span - 1) / stride + 1; /* most are spared the division */
    *first = *count ? begin : 0;
    return ND_OK;
}

typedef struct {
    int64_t shape[ND_MAX_NDIM], stride[ND_MAX_NDIM], offset;
    int rank, axis;
} slice_state;

static nd_status put_dim(slice_state *s, int64_t extent, int64_t stride)
{
    if (s->rank == ND_MAX_NDIM)
        return nd__fail(ND_ERR_SHAPE, "slice", 1, "the result has more than %d dimensions",
                        ND_MAX_NDIM);
    s->shape[s->rank] = extent;
    s->stride[s->rank++] = stride;
    return ND_OK;
}

static nd_status apply_integer(slice_state *s, const nd_array *a, const nd_index *x, int position)
{
    int64_t extent = a->shape[s->axis], i = x->start < 0 ? x->start + extent : x->start;
    if (i < 0 || i >= extent)
        return nd__fail(ND_ERR_INDEX, "slice", 1,
                        "index %lld (entry %d) is out of range for axis %d of extent %lld",
                        (long long)x->start, position, s->axis, (long long)extent);
    s->offset += a->size ? i * a->stride[s->axis] : 0;
    s->axis++;
    return ND_OK;
}

static nd_status apply_range(slice_state *s, const nd_array *a, const nd_index *x, int position)
{
    int64_t first = 0, count = 0, stride = a->stride[s->axis];
    ND_RETURN_IF(resolve_range(x, a->shape[s->axis], position, &first, &count));
    s->offset += a->size && count ? first * stride : 0; /* first may be -1 where nothing is left */
    s->axis++;
    return put_dim(s, count,
                   count > 1 ? stride * x->step
                             : stride); /* a huge step over one element must not overflow */
}

static nd_status apply_whole_axes(slice_state *s, const nd_array *a, int count)
{
    for (; count > 0; count--, s->axis++)
        ND_RETURN_IF(put_dim(s, a->shape[s->axis], a->stride[s->axis]));
    return ND_OK;
}

nd_status nd_slice(const nd_array *a, const nd_index *idx, int n, nd_array **view)
{
    int used = 0, ellipses = 0;
    ND_OUT("slice", 3, view, NULL);
    ND_RETURN_IF(nd__check_array("slice", a, 0));
    if (n < 0 || (n && !idx))
        return nd__fail(ND_ERR_ARGUMENT, "slice", 1, "%d index entries, or NULL", n);
    for (int i = 0; i < n; i++) {
        used += idx[i].kind == ND_INDEX_INT || idx[i].kind == ND_INDEX_RANGE;
        ellipses += idx[i].kind == ND_INDEX_ELLIPSIS;
    }
    if (ellipses > 1 || used > a->ndim)
        return nd__fail(
            ND_ERR_INDEX, "slice", 1,
            "%d entries and %d ellipses for rank %d; at most one ellipsis, one entry per axis",
            used, ellipses, a->ndim);
    slice_state s; /* large: what is read of it was written */
    s.offset = a->offset;
    s.rank = s.axis = 0;
    for (int i = 0; i < n; i++) {
        switch (idx[i].kind) {
        case ND_INDEX_INT:
            ND_RETURN_IF(apply_integer(&s, a, &idx[i], i));
            break;
        case ND_INDEX_RANGE:
            ND_RETURN_IF(apply_range(&s, a, &idx[i], i));
            break;
        case ND_INDEX_NEWAXIS:
            ND_RETURN_IF(put_dim(&s, 1, 1));
            break;
        case ND_INDEX_ELLIPSIS:
            ND_RETURN_IF(apply_whole_axes(&s, a, a->ndim - used));
            break;
        default:
            return nd__fail(ND_ERR_ARGUMENT, "slice", 1, "entry %d has the unknown kind %d", i,
                            (int)idx[i].kind);
        }
    }
    ND_RETURN_IF(apply_whole_axes(&s, a, a->ndim - s.axis));
    return nd__array_new(a->storage, a->dtype, s.rank, s.shape, s.stride, s.offset,
                         a->flags & ND_FLAG_READONLY, view);
}
