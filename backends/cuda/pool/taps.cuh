/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Windows along one axis, in 32 bits: what windows.h has for the host in 64. */
#ifndef NDOCK_CUDA_TAPS_CUH
#define NDOCK_CUDA_TAPS_CUH
#include "pool/window.cuh"

/* The elements of window p that lie in the image: taps from *first, before *end, tap t being element
 * origin + t*dilation; the origin is returned. */
WINDOW_FN int32_t pool_taps(const cuda_pooling &p, int d, int32_t window, int32_t *first,
                            int32_t *end)
{
    const int32_t in = p.image_extent[d], out = p.grid_extent[d], step = p.dilation[d];
    if (p.adaptive) {
        const int32_t origin = (int32_t)((int64_t)window * in / out);
        *first = 0;
        *end = (int32_t)(((int64_t)(window + 1) * in + out - 1) / out) - origin;
        return origin;
    }
    const int32_t origin = window * p.stride[d] - p.before[d];
    if (step == 1) {
        *first = origin < 0 ? -origin : 0;
        *end = in - origin < p.kernel[d] ? in - origin : p.kernel[d];
    } else {
        *first = origin < 0 ? (-origin + step - 1) / step : 0;
        *end = origin < in ? (in - origin + step - 1) / step : 0;
        *end = *end < p.kernel[d] ? *end : p.kernel[d];
    }
    *end = *end < *first ? *first : *end;
    return origin;
}

/* The elements of window p that a mean counts. */
WINDOW_FN int32_t pool_count(const cuda_pooling &p, int d, int32_t window)
{
    int32_t first, end;
    const int32_t origin = pool_taps(p, d, window, &first, &end);
    if (p.adaptive || p.exclude)
        return end - first;
    const int32_t rest = p.image_extent[d] + p.before[d] - origin;
    return rest < p.kernel[d] ? rest : p.kernel[d];
}

/* The windows that cover element e: from *first, before *end. Those of a dilated kernel that step over
 * it are among them. */
WINDOW_FN void pool_covering(const cuda_pooling &p, int d, int32_t e, int32_t *first, int32_t *end)
{
    const int32_t in = p.image_extent[d], out = p.grid_extent[d];
    if (p.adaptive) {
        *first = (int32_t)((int64_t)e * out / in);
        *end = (int32_t)(((int64_t)(e + 1) * out + in - 1) / in);
        return;
    }
    const int32_t reach = (p.kernel[d] - 1) * p.dilation[d], at = e + p.before[d];
    *first = at <= reach ? 0 : (int32_t)cuda_quotient((uint32_t)(at - reach - 1), p.step[d]) + 1;
    *end = (int32_t)cuda_quotient((uint32_t)at, p.step[d]) + 1;
    *end = *end < out ? *end : out;
    *first = *first < *end ? *first : *end;
}

WINDOW_FN float pool_divided(float x, int32_t by)
{
    return __fdiv_rn(x, (float)by);
}
WINDOW_FN double pool_divided(double x, int32_t by)
{
    return __ddiv_rn(x, (double)by);
}

#endif
