/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Windows that slide over an array: strides twice. */
#include "core/ops/ops.h"

nd_status nd_sliding_window_view(const nd_array *a, int naxes, const int32_t *axes,
                                 const int64_t *window, nd_array **view)
{
    const char *const op = "sliding_window_view";
    int64_t shape[ND_MAX_NDIM], stride[ND_MAX_NDIM];
    ND_OUT(op, 4, view, NULL);
    ND_RETURN_IF(nd__check_array(op, a, 0));
    if (naxes < 0 || (!axes && naxes != a->ndim) || a->ndim + naxes > ND_MAX_NDIM)
        return nd__fail(ND_ERR_ARGUMENT, op, 1,
                        "%d windows for rank %d; without axes there is one for each axis, and at "
                        "most %d dimensions in all",
                        naxes, a->ndim, ND_MAX_NDIM);
    ND_NEED_LIST(op, 3, naxes, window);
    memcpy(shape, a->shape, (size_t)a->ndim * sizeof *shape);
    memcpy(stride, a->stride, (size_t)a->ndim * sizeof *stride);
    for (int i = 0; i < naxes; i++) {
        int d;
        ND_RETURN_IF(nd__axis(op, axes ? axes[i] : i, a->ndim, &d));
        if (window[i] < 0 || window[i] > shape[d])
            return nd__fail(ND_ERR_SHAPE, op, 3,
                            "a window of %lld along axis %d, which has room for %lld",
                            (long long)window[i], d, (long long)shape[d]);
        shape[d] -= window[i] - 1;
        shape[a->ndim + i] = window[i];
        stride[a->ndim + i] = a->stride[d];
    }
    return nd__array_new(a->storage, a->dtype, a->ndim + naxes, shape, stride, a->offset, true,
                         view);
}
