/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Gradients of pools: each element of the image gathers from the windows that cover it, in order. */
#include "pool/back_strip.cuh"

/* Windows of a row that a thread of strips takes: those of a vector of elements; or of a step of one, which has more
 * windows to an element. */
enum {
    ROW = POOL_ROW_ELEMENTS,
    HALF = VECTOR / 2,
    QUARTET = VECTOR < 4 ? VECTOR : 4,
    QUARTET_BLOCKS = sizeof(T) == 2 ? 4 : 3,
    PAIR_ROWS = sizeof(T) == 2 ? POOL_BACK_HALVES_321 : POOL_BACK_321
};

/* A window's gradient, or its part a counted element. */
template <bool MAX> WINDOW_FN C pool_part(const cuda_pooling &p, C g, int32_t rows, int32_t window)
{
    return MAX         ? g
           : p.divisor ? g * (C)p.inverse
                       : pool_divided(g, rows * pool_count(p, 2, window));
}

/* ---- ROW elements along w of one channel ---- */

/* What the windows of one row of them give to elements e to e + ROW - 1, of which the first has this
 * position in the image. */
template <bool MAX>
WINDOW_FN void pool_gather(const cuda_pooling &p, const T *grad, const int64_t *position,
                           int64_t base, int32_t e, int32_t rows, C (&sum)[ROW])
{
    int32_t first, end, unused;
    const int32_t last = e + ROW <= p.image_extent[2] ? e + ROW - 1 : p.image_extent[2] - 1;
    pool_covering(p, 2, e, &first, &unused);
    pool_covering(p, 2, last, &unused, &end);
    for (int32_t w = first; w < end; w++) {
        const C g = pool_part<MAX>(p, neural_widen(grad[w * p.grid_stride[4]]), rows, w);
        int32_t from = 0, to = 0;
        if (MAX) {
            const int64_t at = position[w * p.position_stride[4]] - base;
            from = at >= 0 && at < ROW ? (int32_t)at : ROW;
            to = from + 1;
        } else {
            const int32_t origin = pool_taps(p, 2, w, &from, &to) - e;
            from += origin;
            to += origin;
        }
#pragma unroll
        for (int k = 0; k < ROW; k++)
            sum[k] += k >= from && k < to ? g : (C)0;
    }
}

template <bool MAX> WINDOW_FN void pool_back_rows(const cuda_pooling &p)
{
    window_each(p.walk, [&](uint32_t row, uint32_t item) {
        int32_t at[4], first[2], end[2];
        window_split<3>(p.walk, row, at);
        const int32_t e = (int32_t)item * ROW, n = p.image_extent[2];
        const int64_t base = ((int64_t)at[2] * p.image_extent[1] + at[3]) * n + e;
        C sum[ROW] = {};
        pool_covering(p, 0, at[2], &first[0], &end[0]);
        pool_covering(p, 1, at[3], &first[1], &end[1]);
        for (int32_t d = first[0]; d < end[0]; d++)
            for (int32_t h = first[1]; h < end[1]; h++) {
                const int32_t window[4] = {at[0], at[1], d, h};
                const T *grad = (const T *)p.grid;
                const int64_t *position = (const int64_t *)p.positions;
#pragma unroll
                for (int k = 0; k < 4; k++) {
                    grad += window[k] * p.grid_stride[k];
                    position += MAX ? window[k] * p.position_stride[k] : 0;
                }
                const int32_t rows =
                    MAX || p.divisor ? 0 : pool_count(p, 0, d) * pool_count(p, 1, h);
                pool_gather<MAX>(p, grad, position, base, e, rows, sum);
            }
        T *to = (T *)p.image + e * p.image_stride[4];
#pragma unroll
        for (int k = 0; k < 4; k++)
            to += at[k] * p.image_stride[k];
        if (p.vectors) {
            neural_store<T, ROW>(to, 0, sum);
            return;
        }
#pragma unroll
        for (int k = 0; k < ROW; k++)
            if (e + k < n)
                neural_narrow(to + k * p.image_stride[4], sum[k]);
    });
}

/* ---- a vector of elements, of windows of KERNEL elements along w, STEP apart, with BEFORE of padding:
 * which of them a window covers is known beforehand ---- */
template <bool MAX, int KERNEL, int STEP, int BEFORE>
WINDOW_FN void pool_back_plane(const cuda_pooling &p)
{
    constexpr int V = VECTOR > 2 * STEP ? VECTOR : 2 * STEP;
    /* Window first/STEP + j has its first element at first + j*STEP - BEFORE. */
    constexpr int LOW = STEP == 1 ? BEFORE - KERNEL + 1 : 0;
    constexpr int HIGH = (V - 1 + BEFORE) / STEP;
    window_each(p.walk, [&](uint32_t row, uint32_t item) {
        int32_t at[4], first[2], end[2];
        window_split<3>(p.walk, row, at);
        const int32_t e = (int32_t)item * V, w0 = e / STEP;
        const int64_t base = ((int64_t)at[2] * p.image_extent[1] + at[3]) * p.image_extent[2] + e;
        C sum[V] = {};
        pool_covering(p, 0, at[2], &first[0], &end[0]);
        pool_covering(p, 1, at[3], &first[1], &end[1]);
        for (int32_t d = first[0]; d < end[0]; d++)
            for (int32_t h = first[1]; h < end[1]; h++) {
                const int32_t window[4] = {at[0], at[1], d, h};
                const T *grad = (const T *)p.grid + w0;
                const int64_t *position = (const int64_t *)p.positions + w0;
#pragma unroll
                for (int k = 0; k < 4; k++) {
                    grad += window[k] * p.grid_stride[k];
                    position += MAX ? window[k] * p.position_stride[k] : 0;
                }
#pragma unroll
                for (int j = LOW; j <= HIGH; j++) {
                    const bool there = w0 + j >= 0 && w0 + j < p.grid_extent[2];
                    const C g = there ? (C)neural_widen(grad[j]) : (C)0;
                    const int64_t mine = MAX && there ? position[j] - base : -1;
                    const int32_t place = mine >= 0 && mine < V ? (int32_t)mine : V;
#pragma unroll
                    for (int t = 0; t < KERNEL; t++) {
                        const int k = j * STEP - BEFORE + t;
                        if (k >= 0 && k < V)
                            sum[k] += !MAX || place == k ? g : (C)0;
                    }
                }
            }
#pragma unroll
        for (int k = 0; k < V; k++)
            sum[k] = MAX ? sum[k] : sum[k] * (C)p.inverse;
        T *to = (T *)p.image + e;
#pragma unroll
        for (int k = 0; k < 4; k++)
            to += at[k] * p.image_stride[k];
        neural_store<T, V>(to, 0, sum);
    });
}

/* ---- channels side by side, a vector of them ---- */
template <bool MAX> WINDOW_FN void pool_back_channels(const cuda_pooling &p)
{
    constexpr int V = VECTOR;
    window_each(p.walk, [&](uint32_t row, uint32_t item) {
        int32_t at[4], first[3], end[3];
        window_split<3>(p.walk, row, at);
        const int32_t channel = (int32_t)item * V;
        const int64_t mine =
            ((int64_t)at[1] * p.image_extent[1] + at[2]) * p.image_extent[2] + at[3];
        C sum[V] = {};
#pragma unroll
        for (int d = 0; d < 3; d++)
            pool_covering(p, d, at[1 + d], &first[d], &end[d]);
        for (int32_t d = first[0]; d < end[0]; d++)
            for (int32_t h = first[1]; h < end[1]; h++)
                for (int32_t w = first[2]; w < end[2]; w++) {
                    const int32_t window[5] = {at[0], channel, d, h, w};
                    const T *grad = (const T *)p.grid;
                    const int64_t *position = (const int64_t *)p.positions;
#pragma unroll
                    for (int k = 0; k < 5; k++) {
                        grad += window[k] * p.grid_stride[k];
                        position += MAX ? window[k] * p.position_stride[k] : 0;
                    }
                    const int32_t rows =
                        MAX || p.divisor ? 0 : pool_count(p, 0, d) * pool_count(p, 1, h);
                    C g[V];
                    neural_load<T, V>(grad, 0, g);
#pragma unroll
                    for (int k = 0; k < V; k++) {
                        const bool counts = !MAX || position[k * p.position_stride[1]] == mine;
                        sum[k] += counts ? pool_part<MAX>(p, g[k], rows, w) : (C)0;
                    }
                }
        T *to = (T *)p.image + at[0] * p.image_stride[0] + channel * p.image_stride[1];
#pragma unroll
        for (int d = 0; d < 3; d++)
            to += at[1 + d] * p.image_stride[2 + d];
        if (p.vectors) {
            neural_store<T, V>(to, 0, sum);
            return;
        }
#pragma unroll
        for (int k = 0; k < V; k++)
            neural_narrow(to + k * p.image_stride[1], sum[k]);
    });
}

#define POOL_GRAD(name, ...)                                      \
    extern "C" __global__ void __launch_bounds__(WINDOW_THREADS)  \
        WINDOW_NAME(name)(const __grid_constant__ cuda_pooling p) \
    {                                                             \
        __VA_ARGS__(p);                                           \
    }
POOL_GRAD(pool_grad_max_rows, pool_back_rows<true>)
POOL_GRAD(pool_grad_max_channels, pool_back_channels<true>)
POOL_GRAD(pool_grad_max_220, pool_back_plane<true, 2, 2, 0>)
POOL_GRAD(pool_grad_max_311, pool_back_plane<true, 3, 1, 1>)
POOL_GRAD(pool_grad_max_321, pool_back_plane<true, 3, 2, 1>)
POOL_GRAD(pool_grad_mean_rows, pool_back_rows<false>)
POOL_GRAD(pool_grad_mean_channels, pool_back_channels<false>)
POOL_GRAD(pool_grad_mean_220, pool_back_plane<false, 2, 2, 0>)
POOL_GRAD(pool_grad_mean_311, pool_back_plane<false, 3, 1, 1>)
POOL_GRAD(pool_grad_mean_321, pool_back_plane<false, 3, 2, 1>)
#undef POOL_GRAD
/* BLOCKS of a processor have enough bytes under way. */
#define POOL_GRAD(name, BLOCKS, ...)                                     \
    extern "C" __global__ void __launch_bounds__(WINDOW_THREADS, BLOCKS) \
        WINDOW_NAME(name)(const __grid_constant__ cuda_pooling p)        \
    {                                                                    \
        pool_back_strip<__VA_ARGS__>(p);                                 \
    }
POOL_GRAD(pool_grad_max_strip_220, 4, true, 2, 2, 0, POOL_BACK_220, HALF)
POOL_GRAD(pool_grad_max_strip_311, QUARTET_BLOCKS, true, 3, 1, 1, POOL_BACK_311, QUARTET)
POOL_GRAD(pool_grad_max_strip_321, 4, true, 3, 2, 1, PAIR_ROWS, HALF)
POOL_GRAD(pool_grad_mean_strip_220, 4, false, 2, 2, 0, POOL_BACK_220, HALF)
POOL_GRAD(pool_grad_mean_strip_321, 4, false, 3, 2, 1, POOL_BACK_321, HALF)
