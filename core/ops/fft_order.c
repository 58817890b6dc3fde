/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The order of a Fourier transform's elements: which frequencies they are, and element 0 moved to
 * the middle. */
#include "core/ops/ops.h"

/* Integers from first to last, divided by n*d. */
static nd_status frequencies(nd_device *device, nd_dtype dtype, int64_t first, int64_t last,
                             double divisor, nd_array **out)
{
    nd_array *steps = NULL;
    ND_RETURN_IF(nd_arange(device, dtype, nd_int(first), nd_int(last + 1), nd_int(1), &steps));
    nd_status status = nd_divide_scalar(steps, nd_float(divisor), out);
    nd_release(steps);
    return status;
}

static nd_status check_frequencies(const char *op, nd_dtype *dtype, int64_t n)
{
    if (n < 1)
        return nd__fail(ND_ERR_ARGUMENT, op, 2, "%lld elements; there must be at least one",
                        (long long)n);
    if (*dtype == 0)
        *dtype = ND_F64;
    ND_RETURN_IF(nd__check_dtype(op, *dtype));
    if (nd__kind(*dtype) != ND_KIND_FLOAT)
        return nd__fail(ND_ERR_DTYPE, op, 1, "frequencies are floating, not %s",
                        nd_dtype_name(*dtype));
    return ND_OK;
}

nd_status nd_fftfreq(nd_device *device, nd_dtype dtype, int64_t n, double d, nd_array **out)
{
    nd_array *ordered = NULL;
    const int64_t shift = -(n / 2);
    const int32_t axis = 0;
    ND_OUT("fftfreq", 4, out, NULL);
    ND_RETURN_IF(check_frequencies("fftfreq", &dtype, n));
    nd_status status = frequencies(device, dtype, -(n / 2), (n - 1) / 2, (double)n * d, &ordered);
    if (status == ND_OK)
        status = nd_roll(ordered, 1, &shift, &axis, out);
    nd_release(ordered);
    return nd__error_as("fftfreq", status);
}

nd_status nd_rfftfreq(nd_device *device, nd_dtype dtype, int64_t n, double d, nd_array **out)
{
    ND_OUT("rfftfreq", 4, out, NULL);
    ND_RETURN_IF(check_frequencies("rfftfreq", &dtype, n));
    return nd__error_as("rfftfreq", frequencies(device, dtype, 0, n / 2, (double)n * d, out));
}

/* Each axis rolled by half of its extent, rounded down or, to undo that, up. */
static nd_status shift(const char *op, const nd_array *a, int naxes, const int32_t *axes, bool back,
                       nd_array **out)
{
    int32_t which[ND_MAX_NDIM];
    int64_t by[ND_MAX_NDIM];
    uint64_t mask;
    int n = 0;
    ND_RETURN_IF(nd__check_array(op, a, 0));
    ND_RETURN_IF(nd__axes_mask(op, naxes, axes, a->ndim, &mask));
    for (int d = 0; d < a->ndim; d++) {
        const int64_t half = a->shape[d] / 2;
        if (!(mask >> d & 1))
            continue;
        which[n] = d;
        by[n++] = back ? -half : half;
    }
    return nd__error_as(op, n ? nd_roll(a, n, by, which, out) : nd_copy(a, NULL, out));
}

nd_status nd_fftshift(const nd_array *a, int naxes, const int32_t *axes, nd_array **out)
{
    ND_OUT("fftshift", 3, out, NULL);
    return shift("fftshift", a, naxes, axes, false, out);
}

nd_status nd_ifftshift(const nd_array *a, int naxes, const int32_t *axes, nd_array **out)
{
    ND_OUT("ifftshift", 3, out, NULL);
    return shift("ifftshift", a, naxes, axes, true, out);
}
