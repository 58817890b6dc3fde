/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Arrays of indices: dtype, shape, the error of one that is out of range, and views around an axis.
 * The indices themselves are validated by the kernel. */
#include <stdlib.h>
#include "core/ops/index.h"

nd_status nd__as_indices(const char *op, const nd_array *idx, int32_t argument, nd_array **out)
{
    *out = NULL;
    ND_RETURN_IF(nd__check_array(op, idx, argument));
    if (!(nd__kind(idx->dtype) & (ND_KIND_INT | ND_KIND_UINT)))
        return nd__fail(ND_ERR_DTYPE, op, argument, "indices are %s, not integers%s",
                        nd_dtype_name(idx->dtype),
                        idx->dtype == ND_BOOL ? "; select with nd_select" : "");
    if (idx->dtype != ND_U64)
        return nd__cast(idx, ND_I64, out);
    nd_array *capped = NULL;
    ND_RETURN_IF(nd_minimum_scalar(idx, nd_int(INT64_MAX), &capped));
    nd_status status = nd__cast(capped, ND_I64, out);
    nd_release(capped);
    return status;
}

/* The first one out of range, at its position in the array that was given. */
static nd_status find_bad(const nd_given_indices *g, int64_t extent, const int64_t *value)
{
    char text[ND_SHAPE_TEXT];
    for (int64_t i = 0; i < g->array->size; i++)
        if (value[i] < -extent || value[i] >= extent)
            return nd__fail(ND_ERR_INDEX, g->op, g->argument,
                            "index %lld at position %lld of %s is out of range for an axis of "
                            "extent %lld; allowed are %lld to %lld",
                            (long long)value[i], (long long)i,
                            nd__shape_text(g->array->ndim, g->array->shape, text, sizeof text),
                            (long long)extent, (long long)-extent, (long long)extent - 1);
    return ND_ERR_INDEX; /* the kernel's own message stands */
}

nd_status nd__explain_index(nd_status status, const nd_given_indices *g, int64_t extent)
{
    nd_array *idx = NULL;
    if (status != ND_ERR_INDEX)
        return status;
    size_t nbytes = (size_t)g->array->size * sizeof(int64_t);
    int64_t *value = malloc(nbytes);
    if (!value)
        return status; /* the kernel's own message stands */
    ND_GOTO_IF(done, nd__as_indices(g->op, g->array, g->argument, &idx));
    ND_GOTO_IF(done, nd_to_host(idx, value, nbytes));
    status = find_bad(g, extent, value);
    const nd_device *device = g->array->storage->device;
    nd__error_context(g->op, device->name, device->slot->name);
done:
    nd_release(idx);
    free(value);
    return status;
}

void nd__merge_around_axis(int n, const nd_array *const *arrays, int axis, nd_around_axis *m,
                           ndp_view *v)
{
    int ndim = arrays[0]->ndim, after = ndim - axis - 1;
    memcpy(m->outer_shape, arrays[0]->shape, (size_t)axis * sizeof(int64_t));
    memcpy(m->inner_shape, arrays[0]->shape + axis + 1, (size_t)after * sizeof(int64_t));
    for (int i = 0; i < n; i++) {
        memcpy(m->outer[i], arrays[i]->stride, (size_t)axis * sizeof(int64_t));
        memcpy(m->inner[i], arrays[i]->stride + axis + 1, (size_t)after * sizeof(int64_t));
    }
    m->outer_rank = nd__coalesce(axis, m->outer_shape, n, m->outer, true);
    m->inner_rank = nd__coalesce(after, m->inner_shape, n, m->inner, true);
    int at = m->outer_rank, rank = at + 1 + m->inner_rank;
    for (int i = 0; i < n; i++) {
        memcpy(m->shape[i], m->outer_shape, (size_t)at * sizeof(int64_t));
        memcpy(m->stride[i], m->outer[i], (size_t)at * sizeof(int64_t));
        m->shape[i][at] = arrays[i]->shape[axis];
        m->stride[i][at] = arrays[i]->stride[axis];
        memcpy(m->shape[i] + at + 1, m->inner_shape, (size_t)m->inner_rank * sizeof(int64_t));
        memcpy(m->stride[i] + at + 1, m->inner[i], (size_t)m->inner_rank * sizeof(int64_t));
        v[i] = nd__view(arrays[i]);
        v[i].ndim = rank;
        v[i].shape = m->shape[i];
        v[i].stride = m->stride[i];
        v[i].flags = nd__is_c_order(rank, m->shape[i], m->stride[i]) ? NDP_VIEW_CONTIGUOUS : 0;
    }
}

nd_status nd__cut_to(const nd_array *a, const int64_t *shape, int axis, nd_array **view)
{
    int64_t cut[ND_MAX_NDIM];
    memcpy(cut, shape, (size_t)a->ndim * sizeof(int64_t));
    cut[axis] = a->shape[axis];
    return nd__array_new(a->storage, a->dtype, a->ndim, cut, a->stride, a->offset,
                         a->flags & ND_FLAG_READONLY, view);
}

nd_status nd__check_index_shape(const nd_given_indices *g, const nd_array *a, const nd_array *idx,
                                int axis)
{
    if (idx->ndim != a->ndim)
        return nd__fail(ND_ERR_SHAPE, g->op, g->argument, "the indices have rank %d, the array %d",
                        idx->ndim, a->ndim);
    for (int d = 0; d < a->ndim; d++)
        if (d != axis && idx->shape[d] > a->shape[d])
            return nd__fail(ND_ERR_SHAPE, g->op, g->argument,
                            "the indices have extent %lld along axis %d, the array only %lld",
                            (long long)idx->shape[d], d, (long long)a->shape[d]);
    if (a->shape[axis] == 0 && idx->size > 0)
        return nd__fail(ND_ERR_INDEX, g->op, g->argument,
                        "%lld indices into axis %d, which is empty", (long long)g->array->size,
                        axis);
    return ND_OK;
}
