/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Checks and steps of neural networks' operations. */
#include "core/ops/neural.h"
#include "core/ops/window.h"

nd_dtype nd__wide_of(nd_dtype dtype)
{
    return nd__itemsize(dtype) == 2 ? ND_F32 : dtype;
}

nd_status nd__check_floating(const char *op, const nd_array *first, const nd_array *a,
                             int32_t argument)
{
    ND_RETURN_IF(nd__check_array(op, a, argument));
    if (!(nd__kind(a->dtype) & ND_KIND_FLOAT))
        return nd__fail(ND_ERR_DTYPE, op, argument,
                        "argument %d is of dtype %s; it must be floating, convert it with "
                        "nd_astype",
                        (int)argument, nd_dtype_name(a->dtype));
    return nd__check_same_device(op, first, a, 0, argument);
}

nd_status nd__check_floatings(const char *op, int from, int n, const nd_array *const *arrays,
                              nd_dtype *dtype)
{
    *dtype = 0;
    for (int i = 0; i < n; i++) {
        if (!arrays[i])
            continue;
        ND_RETURN_IF(nd__check_floating(op, arrays[0], arrays[i], from + i));
        if (*dtype == 0)
            *dtype = arrays[i]->dtype;
        ND_RETURN_IF(nd__promote(op, *dtype, arrays[i]->dtype, dtype));
    }
    return ND_OK;
}

nd_array *nd__step_new(nd_steps *s, const nd_array *like, nd_dtype dtype, int ndim,
                       const int64_t *shape)
{
    nd_array *r;
    ND_STEP(s, r, nd__array_alloc(NULL, like->storage->device, dtype, ndim, shape, &r));
    return r;
}

nd_array *nd__step_like(nd_steps *s, const nd_array *a, nd_dtype dtype)
{
    int64_t shape[ND_MAX_NDIM];
    int order[ND_MAX_NDIM];
    if (s->status != ND_OK)
        return NULL;
    const bool last = a->ndim > 2 && nd__window_has_last(a, 1);
    for (int d = 0; d < a->ndim; d++) {
        order[d] = !last || d == 0 ? d : d == 1 ? a->ndim - 1 : d - 1;
        shape[order[d]] = a->shape[d];
    }
    return nd__step_permute(s, nd__step_new(s, a, dtype, a->ndim, shape), order);
}

nd_array *nd__step_broadcast(nd_steps *s, const nd_array *a, int ndim, const int64_t *shape)
{
    nd_array *r;
    ND_STEP(s, r, nd_broadcast_to(a, ndim, shape, &r));
    return r;
}

nd_array *nd__step_permute(nd_steps *s, const nd_array *a, const int *order)
{
    int32_t axes[ND_MAX_NDIM];
    nd_array *r;
    for (int d = 0; s->status == ND_OK && d < a->ndim; d++)
        axes[d] = order[d];
    ND_STEP(s, r, nd_permute(a, a->ndim, axes, &r));
    return r;
}

nd_array *nd__step_along(nd_steps *s, const nd_array *a, int ndim, int axis)
{
    int64_t shape[ND_MAX_NDIM];
    if (s->status != ND_OK)
        return NULL;
    for (int d = 0; d < ndim; d++)
        shape[d] = d == axis ? a->size : 1;
    return nd__step_reshape(s, a, ndim, shape);
}

void nd__step_kernel(nd_steps *s, nd_op op, int n_in, const nd_array *const *in, int n_out,
                     nd_array *const *out, const void *params)
{
    if (s->status == ND_OK && out[0]->size > 0)
        s->status = nd__run_arrays(op, n_in, in, n_out, out, params);
}

nd_array *nd__step_sum(nd_steps *s, const nd_array *a, uint64_t axes, nd_dtype dtype)
{
    int32_t axis[ND_MAX_NDIM];
    nd_reduce_opts o = {.size = sizeof o, .axes = axis, .dtype = dtype};
    nd_array *r;
    for (int d = 0; s->status == ND_OK && d < a->ndim; d++)
        if (axes >> d & 1)
            axis[o.naxes++] = d;
    if (o.naxes == 0)
        o.naxes = ND_NO_AXES;
    ND_STEP(s, r, nd_sum(a, &o, &r));
    return r;
}

nd_status nd__steps_end_all(nd_steps *s, const char *op, int n, nd_array *const *results,
                            nd_array **const *out)
{
    for (int i = 0; i < n; i++)
        if (out[i])
            *out[i] = s->status == ND_OK ? nd_retain(results[i]) : NULL;
    return nd__steps_end(s, op, NULL, NULL);
}
