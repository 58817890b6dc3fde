/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The elements of windows side by side, and back to images, where each element gathers from the
 * windows that have it. */
#include "pool/element.cuh"

/* V windows along w of one tap: rows are (n, c, taps, d, h). */
template <int V> WINDOW_FN void unfold_rows(const cuda_unfolding &p)
{
    window_each(p.walk, [&](uint32_t row, uint32_t item) {
        int32_t at[7];
        window_split<6>(p.walk, row, at);
        const int32_t first = (int32_t)item * V;
        int32_t e[3];
        bool inside = true;
#pragma unroll
        for (int d = 0; d < 2; d++) {
            e[d] = at[5 + d] * p.stride[d] - p.before[d] + at[2 + d] * p.dilation[d];
            inside = inside && e[d] >= 0 && e[d] < p.image_extent[d];
        }
        e[2] = first * p.stride[2] - p.before[2] + at[4] * p.dilation[2];
        const T *from = (const T *)p.image + at[0] * p.image_stride[0] + at[1] * p.image_stride[1] +
                        e[0] * p.image_stride[2] + e[1] * p.image_stride[3];
        T *to = (T *)p.windows + first * p.windows_stride[7];
#pragma unroll
        for (int k = 0; k < 7; k++)
            to += at[k] * p.windows_stride[k];
        C x[V];
#pragma unroll
        for (int k = 0; k < V; k++) {
            const int32_t w = e[2] + k * p.stride[2];
            x[k] = inside && w >= 0 && w < p.image_extent[2]
                       ? neural_widen(from[w * p.image_stride[4]])
                       : (C)0;
        }
        neural_store<T, V>(to, 0, x);
    });
}

/* Elements of the image: rows are (n, c, d, h). */
WINDOW_FN void fold_rows(const cuda_unfolding &p)
{
    window_each(p.walk, [&](uint32_t row, uint32_t item) {
        int32_t at[4];
        window_split<3>(p.walk, row, at);
        const T *from =
            (const T *)p.windows + at[0] * p.windows_stride[0] + at[1] * p.windows_stride[1];
        C sum = 0;
        for (int32_t i = 0; i < p.kernel[0]; i++) {
            const int32_t d = window_with(p, 0, at[2], i);
            for (int32_t j = 0; d >= 0 && j < p.kernel[1]; j++) {
                const int32_t h = window_with(p, 1, at[3], j);
                if (h < 0)
                    continue;
                const T *line = from + i * p.windows_stride[2] + j * p.windows_stride[3] +
                                d * p.windows_stride[5] + h * p.windows_stride[6];
                for (int32_t k = 0; k < p.kernel[2]; k++) {
                    const int32_t w = window_with(p, 2, (int32_t)item, k);
                    if (w >= 0)
                        sum +=
                            neural_widen(line[k * p.windows_stride[4] + w * p.windows_stride[7]]);
                }
            }
        }
        T *to = (T *)p.image + item * p.image_stride[4];
#pragma unroll
        for (int k = 0; k < 4; k++)
            to += at[k] * p.image_stride[k];
        neural_narrow(to, sum);
    });
}

/* V elements of the image side by side, each from the windows that have it: rows are (n, c, d, h). */
template <int V> WINDOW_FN void fold_beside_of(const cuda_unfolding &p)
{
    window_each(p.walk, [&](uint32_t row, uint32_t item) {
        int32_t at[4];
        window_split<3>(p.walk, row, at);
        const T *from =
            (const T *)p.windows + at[0] * p.windows_stride[0] + at[1] * p.windows_stride[1];
        C sum[V] = {};
        int32_t tap[2];
        const int32_t step[2] = {window_taps(p, 0, at[2], &tap[0]),
                                 window_taps(p, 1, at[3], &tap[1])};
        for (int32_t i = tap[0]; i < p.kernel[0]; i += step[0]) {
            const int32_t d = window_with(p, 0, at[2], i);
            for (int32_t j = tap[1]; d >= 0 && j < p.kernel[1]; j += step[1]) {
                const int32_t h = window_with(p, 1, at[3], j);
                if (h < 0)
                    continue;
                const T *line = from + i * p.windows_stride[2] + j * p.windows_stride[3] +
                                d * p.windows_stride[5] + h * p.windows_stride[6];
                for (int32_t k = 0; k < p.kernel[2]; k++, line += p.windows_stride[4])
#pragma unroll
                    for (int v = 0; v < V; v++) {
                        const int32_t w = window_with(p, 2, (int32_t)item * V + v, k);
                        if (w >= 0)
                            sum[v] += neural_widen(line[w]);
                    }
            }
        }
        T *to = (T *)p.image + (int32_t)item * V;
#pragma unroll
        for (int k = 0; k < 4; k++)
            to += at[k] * p.image_stride[k];
        neural_store<T, V>(to, 0, sum);
    });
}

#define UNFOLD_KERNEL(name, ...)                                    \
    extern "C" __global__ void __launch_bounds__(WINDOW_THREADS)    \
        WINDOW_NAME(name)(const __grid_constant__ cuda_unfolding p) \
    {                                                               \
        __VA_ARGS__(p);                                             \
    }
UNFOLD_KERNEL(unfold_any, unfold_rows<1>)
UNFOLD_KERNEL(unfold_vectors, unfold_rows<VECTOR>)
UNFOLD_KERNEL(unfold_pairs, unfold_rows<2>)
UNFOLD_KERNEL(fold_any, fold_rows)
UNFOLD_KERNEL(fold_pairs, fold_beside_of<2>)
UNFOLD_KERNEL(fold_vectors, fold_beside_of<VECTOR>)
