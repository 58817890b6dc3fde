/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * New arrays from nothing. */
#include "core/core.h"

nd_status nd_empty(nd_device *device, nd_dtype dtype, int ndim, const int64_t *shape,
                   nd_array **out)
{
    nd_status status;
    *out = NULL;
    device = nd__or_current(device, &status);
    return status == ND_OK ? nd__array_alloc("empty", device, dtype, ndim, shape, out) : status;
}

nd_status nd_full(nd_device *device, nd_dtype dtype, int ndim, const int64_t *shape,
                  nd_scalar value, nd_array **out)
{
    nd_array *r = NULL;
    *out = NULL;
    ND_RETURN_IF(nd_empty(device, dtype, ndim, shape, &r));
    nd_status status = nd_fill(r, value);
    return nd__hand_over(status, r, out);
}

nd_status nd_zeros(nd_device *device, nd_dtype dtype, int ndim, const int64_t *shape,
                   nd_array **out)
{
    return nd_full(device, dtype, ndim, shape, nd_int(0), out);
}

nd_status nd_ones(nd_device *device, nd_dtype dtype, int ndim, const int64_t *shape, nd_array **out)
{
    return nd_full(device, dtype, ndim, shape, nd_int(1), out);
}

nd_status nd_empty_like(const nd_array *a, nd_dtype dtype, nd_array **out)
{
    *out = NULL;
    ND_RETURN_IF(nd__check_array("empty_like", a, 0));
    return nd_empty(a->storage->device, dtype ? dtype : a->dtype, a->ndim, a->shape, out);
}

nd_status nd_full_like(const nd_array *a, nd_dtype dtype, nd_scalar value, nd_array **out)
{
    *out = NULL;
    ND_RETURN_IF(nd__check_array("full_like", a, 0));
    return nd_full(a->storage->device, dtype ? dtype : a->dtype, a->ndim, a->shape, value, out);
}

nd_status nd_zeros_like(const nd_array *a, nd_dtype dtype, nd_array **out)
{
    return nd_full_like(a, dtype, nd_int(0), out);
}

nd_status nd_ones_like(const nd_array *a, nd_dtype dtype, nd_array **out)
{
    return nd_full_like(a, dtype, nd_int(1), out);
}
