/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The elements of windows for products of matrices whose lines are pixels, channels innermost, and back to
 * images, where each element gathers from the windows that have it. */
#include "pool/window.cuh"

typedef WINDOW_ELEMENT(CUDA_DTYPE) T;
typedef neural_computed<T>::type C;
enum { VECTOR = 16 / sizeof(T) };

/* V channels of one tap of a window, side by side in the image and among the windows' elements: rows are
 * (n, window, tap). */
template <int V> WINDOW_FN void unfold_channels(const cuda_unfolding &p)
{
    window_each(p.walk, [&](uint32_t row, uint32_t item) {
        int32_t at[7], e[3];
        window_split<6>(p.walk, row, at);
        bool inside = true;
#pragma unroll
        for (int d = 0; d < 3; d++) {
            e[d] = at[1 + d] * p.stride[d] - p.before[d] + at[4 + d] * p.dilation[d];
            inside = inside && e[d] >= 0 && e[d] < p.image_extent[d];
        }
        const T *from =
            (const T *)p.image + at[0] * p.image_stride[0] + (int64_t)item * V * p.image_stride[1];
        T *to = (T *)p.windows + at[0] * p.windows_stride[0] + (int64_t)item * V;
#pragma unroll
        for (int d = 0; d < 3; d++) {
            from += e[d] * p.image_stride[2 + d];
            to += at[4 + d] * p.windows_stride[2 + d] + at[1 + d] * p.windows_stride[5 + d];
        }
        neural_vector<T, V> x = {};
        if (inside)
            x = *(const neural_vector<T, V> *)from;
        *(neural_vector<T, V> *)to = x;
    });
}

/* An element of a row of a window, taps and channels, which lie side by side in the image and among the
 * windows' elements, for each row of the window: rows are (n, window, first tap). */
WINDOW_FN void unfold_runs_of(const cuda_unfolding &p)
{
    window_each(p.walk, [&](uint32_t row, uint32_t item) {
        int32_t at[5];
        window_split<4>(p.walk, row, at);
        const int32_t channels = (int32_t)p.windows_stride[4];
        const int32_t d = at[1] * p.stride[0] - p.before[0] + at[4] * p.dilation[0];
        const int32_t x = (at[3] * p.stride[2] - p.before[2]) * channels + (int32_t)item;
        const bool inside = (uint32_t)d < (uint32_t)p.image_extent[0] &&
                            (uint32_t)x < (uint32_t)(p.image_extent[2] * channels);
        const T *from = (const T *)p.image + at[0] * p.image_stride[0] + d * p.image_stride[2] + x;
        T *to = (T *)p.windows + at[0] * p.windows_stride[0] + at[4] * p.windows_stride[2] + item;
#pragma unroll
        for (int k = 0; k < 3; k++)
            to += at[1 + k] * p.windows_stride[5 + k];
#pragma unroll 4
        for (int32_t j = 0; j < p.kernel[1]; j++) {
            const int32_t h = at[2] * p.stride[1] - p.before[1] + j * p.dilation[1];
            T value = {};
            if (inside && (uint32_t)h < (uint32_t)p.image_extent[1])
                value = from[h * p.image_stride[3]];
            to[j * p.windows_stride[3]] = value;
        }
    });
}

/* V channels of an element of the image, side by side there and among the windows' elements: rows are (n,
 * element). */
template <int V> WINDOW_FN void fold_channels(const cuda_unfolding &p)
{
    window_each(p.walk, [&](uint32_t row, uint32_t item) {
        int32_t at[4];
        window_split<3>(p.walk, row, at);
        const T *from = (const T *)p.windows + at[0] * p.windows_stride[0] + (int64_t)item * V;
        C sum[V] = {};
        int32_t tap[3], step[3];
#pragma unroll
        for (int d = 0; d < 3; d++)
            step[d] = window_taps(p, d, at[1 + d], &tap[d]);
        for (int32_t i = tap[0]; i < p.kernel[0]; i += step[0]) {
            const int32_t d = window_with(p, 0, at[1], i);
            for (int32_t j = tap[1]; d >= 0 && j < p.kernel[1]; j += step[1]) {
                const int32_t h = window_with(p, 1, at[2], j);
                for (int32_t k = tap[2]; h >= 0 && k < p.kernel[2]; k += step[2]) {
                    const int32_t w = window_with(p, 2, at[3], k);
                    C x[V];
                    if (w < 0)
                        continue;
                    neural_load<T, V>(from + i * p.windows_stride[2] + j * p.windows_stride[3] +
                                          k * p.windows_stride[4] + d * p.windows_stride[5] +
                                          h * p.windows_stride[6] + w * p.windows_stride[7],
                                      0, x);
#pragma unroll
                    for (int v = 0; v < V; v++)
                        sum[v] += x[v];
                }
            }
        }
        T *to = (T *)p.image + at[0] * p.image_stride[0] + (int64_t)item * V * p.image_stride[1];
#pragma unroll
        for (int d = 0; d < 3; d++)
            to += at[1 + d] * p.image_stride[2 + d];
        neural_store<T, V>(to, 0, sum);
    });
}

#define CONV_KERNEL(name, ...)                                      \
    extern "C" __global__ void __launch_bounds__(WINDOW_THREADS)    \
        WINDOW_NAME(name)(const __grid_constant__ cuda_unfolding p) \
    {                                                               \
        __VA_ARGS__(p);                                             \
    }
CONV_KERNEL(unfold_beside, unfold_channels<1>)
CONV_KERNEL(unfold_beside_vectors, unfold_channels<VECTOR>)
CONV_KERNEL(unfold_runs, unfold_runs_of)
CONV_KERNEL(fold_beside, fold_channels<1>)
CONV_KERNEL(fold_beside_vectors, fold_channels<VECTOR>)
