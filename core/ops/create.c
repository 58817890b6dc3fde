/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * New arrays from nothing. */
#include "core/ops/ops.h"
#include "core/run/dispatch.h"

nd_status nd__empty(const char *op, nd_device *device, nd_dtype dtype, int ndim,
                    const int64_t *shape, nd_array **out)
{
    nd_status status;
    *out = NULL;
    device = nd__or_current(device, &status);
    return status == ND_OK ? nd__array_alloc(op, device, dtype, ndim, shape, out) : status;
}

static nd_status full(const char *op, nd_device *device, nd_dtype dtype, int ndim,
                      const int64_t *shape, nd_scalar value, nd_array **out)
{
    ndp_scalar converted;
    *out = NULL;
    ND_RETURN_IF(nd__check_dtype(op, dtype));
    ND_RETURN_IF(nd__scalar_to(op, value, dtype, 4, &converted));
    nd_array *r = NULL;
    ND_RETURN_IF(nd__empty(op, device, dtype, ndim, shape, &r));
    return nd__hand_over(nd__run_dense_fill(&converted, r), r, out);
}

/* Zeros of every dtype are zero bytes, and a few of these are written before a kernel is found. */
enum { FEW_BYTES = 4096 };

static nd_status clear(const nd_array *a)
{
    const nd_storage *s = a->storage;
    const ndp_scalar zero = {.dtype = a->dtype};
    if (!s->host || s->device->async || s->used > FEW_BYTES || nd__tape_here(s->device))
        return nd__run_dense_fill(&zero, a);
    memset(s->host, 0, s->used);
    return ND_OK;
}

static nd_status full_like(const char *op, const nd_array *a, nd_dtype dtype, nd_scalar value,
                           nd_array **out)
{
    *out = NULL;
    ND_RETURN_IF(nd__check_array(op, a, 0));
    return full(op, a->storage->device, dtype ? dtype : a->dtype, a->ndim, a->shape, value, out);
}

nd_status nd_empty(nd_device *device, nd_dtype dtype, int ndim, const int64_t *shape,
                   nd_array **out)
{
    ND_NEED("empty", 4, out);
    ND_NEED_LIST("empty", 3, ndim, shape);
    return nd__empty("empty", device, dtype, ndim, shape, out);
}

nd_status nd_full(nd_device *device, nd_dtype dtype, int ndim, const int64_t *shape,
                  nd_scalar value, nd_array **out)
{
    ND_NEED("full", 5, out);
    ND_NEED_LIST("full", 3, ndim, shape);
    return full("full", device, dtype, ndim, shape, value, out);
}

nd_status nd_zeros(nd_device *device, nd_dtype dtype, int ndim, const int64_t *shape,
                   nd_array **out)
{
    ND_NEED("zeros", 4, out);
    ND_NEED_LIST("zeros", 3, ndim, shape);
    nd_array *r;
    *out = NULL;
    ND_RETURN_IF(nd__empty("zeros", device, dtype, ndim, shape, &r));
    return nd__hand_over(clear(r), r, out);
}

nd_status nd_ones(nd_device *device, nd_dtype dtype, int ndim, const int64_t *shape, nd_array **out)
{
    ND_NEED("ones", 4, out);
    ND_NEED_LIST("ones", 3, ndim, shape);
    return full("ones", device, dtype, ndim, shape, nd_int(1), out);
}

nd_status nd_empty_like(const nd_array *a, nd_dtype dtype, nd_array **out)
{
    ND_OUT("empty_like", 2, out, NULL);
    ND_RETURN_IF(nd__check_array("empty_like", a, 0));
    return nd__empty("empty_like", a->storage->device, dtype ? dtype : a->dtype, a->ndim, a->shape,
                     out);
}

nd_status nd_full_like(const nd_array *a, nd_dtype dtype, nd_scalar value, nd_array **out)
{
    ND_NEED("full_like", 3, out);
    return full_like("full_like", a, dtype, value, out);
}

nd_status nd_zeros_like(const nd_array *a, nd_dtype dtype, nd_array **out)
{
    ND_NEED("zeros_like", 2, out);
    return full_like("zeros_like", a, dtype, nd_int(0), out);
}

nd_status nd_ones_like(const nd_array *a, nd_dtype dtype, nd_array **out)
{
    ND_NEED("ones_like", 2, out);
    return full_like("ones_like", a, dtype, nd_int(1), out);
}
