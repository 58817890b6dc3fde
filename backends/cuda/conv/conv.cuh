/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What kernels of convolutions share: coordinates, elements outside of images, and what follows the
 * sums. */
#ifndef NDOCK_CUDA_CONV_CUH
#define NDOCK_CUDA_CONV_CUH
#include "conv/conv.h"
#include "pool/window.cuh"

#ifndef CONV_SHARED /* tests on a host have memory of their own */
#define CONV_SHARED(name) extern __shared__ __align__(32) unsigned char name[]
#endif

typedef struct {
    int32_t outer, at[3];
} conv_place;

/* i as (outer, d, h, w). */
WINDOW_FN conv_place conv_split(int64_t i, const cuda_divisor (&by)[3])
{
    conv_place p;
    uint32_t n = (uint32_t)i;
#pragma unroll
    for (int d = 2; d >= 0; d--) {
        const uint32_t rest = cuda_quotient(n, by[d]);
        p.at[d] = (int32_t)(n - rest * by[d].value);
        n = rest;
    }
    p.outer = (int32_t)n;
    return p;
}

WINDOW_FN int64_t conv_offset(const int64_t (&stride)[5], int32_t outer, int32_t channel,
                              const int32_t (&at)[3])
{
    return outer * stride[0] + channel * stride[1] + at[0] * stride[2] + at[1] * stride[3] +
           at[2] * stride[4];
}

/* Along axis d: the element of the image that tap t of a window meets, whether there is one. */
WINDOW_FN bool conv_meets_along(const cuda_convolving &p, int d, int32_t window, int32_t tap,
                                int32_t *e)
{
    *e = window * p.stride[d] - p.before[d] + tap * p.dilation[d];
    return (uint32_t)*e < (uint32_t)p.image_extent[d];
}

/* Along axis d: the window whose tap t meets element e, whether there is one. */
WINDOW_FN bool conv_met_along(const cuda_convolving &p, int d, int32_t e, int32_t tap,
                              int32_t *window)
{
    const int32_t at = e + p.before[d] - tap * p.dilation[d];
    *window = at < 0 ? 0 : (int32_t)cuda_quotient((uint32_t)at, p.step[d]);
    return at >= 0 && *window * p.stride[d] == at && *window < p.grid_extent[d];
}

/* Along axis d: the windows that meet element e, without dilation: from tap *tap of window *window on, a
 * stride further and a window back each time. */
WINDOW_FN void conv_first_met(const cuda_convolving &p, int d, int32_t e, int32_t *tap,
                              int32_t *window)
{
    const int32_t at = e + p.before[d];
    *window = (int32_t)cuda_quotient((uint32_t)at, p.step[d]);
    *tap = at - *window * p.stride[d];
}

/* As conv_meets_along and conv_met_along, along all axes. */
WINDOW_FN bool conv_meets(const cuda_convolving &p, const int32_t (&window)[3],
                          const int32_t (&tap)[3], int32_t (&e)[3])
{
    bool inside = true;
#pragma unroll
    for (int d = 0; d < 3; d++)
        inside = conv_meets_along(p, d, window[d], tap[d], &e[d]) && inside;
    return inside;
}
WINDOW_FN bool conv_met_by(const cuda_convolving &p, const int32_t (&e)[3], const int32_t (&tap)[3],
                           int32_t (&window)[3])
{
    bool inside = true;
#pragma unroll
    for (int d = 0; d < 3; d++)
        inside = conv_met_along(p, d, e[d], tap[d], &window[d]) && inside;
    return inside;
}

/* Sources of the formulas: scalar_tmpl.h. */
template <class C> WINDOW_FN C conv_activate(int32_t epilogue, C x)
{
    const C half = (C)0.5, one = 1;
    switch (epilogue) {
    case NDP_EPILOGUE_RELU:
        return x < 0 ? (C)0 : x;
    case NDP_EPILOGUE_GELU:
        return half * x * erfc(-x * (C)0.70710678118654752440);
    case NDP_EPILOGUE_GELU_TANH:
        return half * x * (one + tanh((C)0.79788456080286535588 * (x + (C)0.044715 * x * x * x)));
    case NDP_EPILOGUE_SIGMOID:
        return one / (one + exp(-x));
    case NDP_EPILOGUE_SILU:
        return x / (one + exp(-x));
    case NDP_EPILOGUE_TANH:
        return tanh(x);
    default:
        return x;
    }
}

/* One copy of the code for kernels that finish many results at once, which would else not stay in the caches of
 * instructions. */
typedef struct {
    float x[4];
} conv_four;
static __device__ __noinline__ conv_four conv_activate_apart(int32_t epilogue, conv_four v)
{
#pragma unroll 1
    for (int k = 0; k < 4; k++) {
        const float y = conv_activate(epilogue, v.x[0]);
        v.x[0] = v.x[1];
        v.x[1] = v.x[2];
        v.x[2] = v.x[3];
        v.x[3] = y;
    }
    return v;
}
WINDOW_FN void conv_activate_four(int32_t epilogue, float (&x)[4])
{
    const conv_four v = conv_activate_apart(epilogue, {{x[0], x[1], x[2], x[3]}});
#pragma unroll
    for (int k = 0; k < 4; k++)
        x[k] = v.x[k];
}

/* Bias of the channel, and the epilogue. */
template <class T, class C>
WINDOW_FN C conv_finished(const cuda_convolving &p, C sum, int32_t channel)
{
    if (p.bias)
        sum += neural_widen(((const T *)p.bias)[channel * p.bias_stride]);
    return p.epilogue ? conv_activate(p.epilogue, sum) : sum;
}

#endif
