/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Convolutions of groups of few channels, and their gradients: each element is summed by a thread, for
 * rows of windows of three elements from vectors of the image; and what follows another's sums. */
#include "conv/beside.cuh"
#include "conv/planes.cuh"

typedef WINDOW_ELEMENT(CUDA_DTYPE) T;
typedef neural_computed<T>::type C;
enum { VECTOR = 16 / sizeof(T), HALF = CONV_HALF_BYTES / sizeof(T) };

/* An element of the grid, or (INPUT) of the image. */
template <bool INPUT> WINDOW_FN void direct(const cuda_convolving &p)
{
    window_each(p.walk, [&](uint32_t row, uint32_t item) {
        int32_t split[4];
        window_split<3>(p.walk, row, split);
        const int32_t here[3] = {split[2], split[3], (int32_t)item};
        const int32_t group = (int32_t)cuda_quotient((uint32_t)split[1], INPUT ? p.by_ci : p.by_co);
        const int32_t mine = split[1] - group * (INPUT ? p.ci : p.co);
        const T *from = (const T *)(INPUT ? p.grid : p.image);
        C sum = 0;
        for (int32_t c = 0; c < (INPUT ? p.co : p.ci); c++) {
            const int32_t o = INPUT ? group * p.co + c : split[1];
            const T *w = (const T *)p.weight + o * p.weight_stride[0] +
                         (INPUT ? mine : c) * p.weight_stride[1];
            int32_t tap[3], at[3];
            for (tap[0] = 0; tap[0] < p.kernel[0]; tap[0]++)
                for (tap[1] = 0; tap[1] < p.kernel[1]; tap[1]++)
                    for (tap[2] = 0; tap[2] < p.kernel[2]; tap[2]++) {
                        if (INPUT ? !conv_met_by(p, here, tap, at) : !conv_meets(p, here, tap, at))
                            continue;
                        const int64_t offset =
                            INPUT ? conv_offset(p.grid_stride, split[0], o, at)
                                  : conv_offset(p.image_stride, split[0], group * p.ci + c, at);
                        sum = neural_fma(
                            neural_widen(
                                w[tap[0] * p.weight_stride[2] + tap[1] * p.weight_stride[3] +
                                  tap[2] * p.weight_stride[4]]),
                            neural_widen(from[offset]), sum);
                    }
        }
        T *to = (T *)(INPUT ? p.image : p.grid);
        neural_narrow(to + (INPUT ? conv_offset(p.image_stride, split[0], split[1], here)
                                  : conv_offset(p.grid_stride, split[0], split[1], here)),
                      conv_finished<T>(p, sum, split[1]));
    });
}

/* Rows of windows of three elements of one channel, STEP apart, with one of padding. */
template <int STEP> WINDOW_FN void three(const cuda_convolving &p)
{
    constexpr int V = VECTOR;
    window_each(p.walk, [&](uint32_t row, uint32_t item) {
        int32_t at[4];
        window_split<3>(p.walk, row, at);
        const T *plane = (const T *)p.image + at[0] * p.image_stride[0] + at[1] * p.image_stride[1];
        const T *w = (const T *)p.weight + at[1] * p.weight_stride[0];
        C sum[V] = {};
        for (int32_t i = 0; i < p.kernel[0]; i++)
            for (int32_t j = 0; j < p.kernel[1]; j++) {
                const int32_t d = at[2] * p.stride[0] - p.before[0] + i * p.dilation[0];
                const int32_t h = at[3] * p.stride[1] - p.before[1] + j * p.dilation[1];
                if ((uint32_t)d >= (uint32_t)p.image_extent[0] ||
                    (uint32_t)h >= (uint32_t)p.image_extent[1])
                    continue;
                const int32_t u = p.flip ? p.kernel[0] - 1 - i : i,
                              v = p.flip ? p.kernel[1] - 1 - j : j;
                C x[(V - 1) * STEP + 3];
                window_span<T, V, 3, STEP, 1>(plane + d * p.image_stride[2] + h * p.image_stride[3],
                                              (int32_t)item * V, p.image_extent[2], (C)0, x);
#pragma unroll
                for (int t = 0; t < 3; t++) {
                    const C share = neural_widen(w[u * p.weight_stride[2] + v * p.weight_stride[3] +
                                                   (p.flip ? 2 - t : t) * p.weight_stride[4]]);
#pragma unroll
                    for (int k = 0; k < V; k++)
                        sum[k] = neural_fma(share, x[k * STEP + t], sum[k]);
                }
            }
#pragma unroll
        for (int k = 0; k < V; k++)
            sum[k] = conv_finished<T>(p, sum[k], at[1]);
        T *to = (T *)p.grid + (int32_t)item * V;
#pragma unroll
        for (int k = 0; k < 4; k++)
            to += at[k] * p.grid_stride[k];
        neural_store<T, V>(to, 0, sum);
    });
}

/* Windows of three by three elements of one channel: an element of the grid or (INPUT) the image. All
 * elements are under way at once. */
template <bool INPUT> WINDOW_FN void single(const cuda_convolving &p)
{
    const int64_t(&stride)[5] = INPUT ? p.grid_stride : p.image_stride;
    const int64_t(&to_stride)[5] = INPUT ? p.image_stride : p.grid_stride;
    window_each(p.walk, [&](uint32_t row, uint32_t item) {
        int32_t at[3], e;
        window_split<2>(p.walk, row, at);
        const int32_t here[3] = {0, at[2], (int32_t)item};
        const T *plane =
            (const T *)(INPUT ? p.grid : p.image) + at[0] * stride[0] + at[1] * stride[1];
        const T *w = (const T *)p.weight + at[1] * p.weight_stride[0];
        bool inside[2][3];
        int64_t place[2][3];
#pragma unroll
        for (int d = 0; d < 2; d++)
#pragma unroll
            for (int t = 0; t < 3; t++) {
                inside[d][t] = INPUT ? conv_met_along(p, 1 + d, here[1 + d], t, &e)
                                     : conv_meets_along(p, 1 + d, here[1 + d], t, &e);
                place[d][t] = e * stride[3 + d];
            }
        C x[9], share[9], sum = 0;
#pragma unroll
        for (int t = 0; t < 9; t++) {
            const bool has = inside[0][t / 3] && inside[1][t % 3];
            x[t] = has ? (C)neural_widen(plane[place[0][t / 3] + place[1][t % 3]]) : (C)0;
            share[t] =
                has ? (C)neural_widen(w[t / 3 * p.weight_stride[3] + t % 3 * p.weight_stride[4]])
                    : (C)0;
        }
#pragma unroll
        for (int t = 0; t < 9; t++)
            sum = neural_fma(share[t], x[t], sum);
        T *to = (T *)(INPUT ? p.image : p.grid) + conv_offset(to_stride, at[0], at[1], here);
        neural_narrow(to, conv_finished<T>(p, sum, at[1]));
    });
}

/* An element of the weight's gradient by a block. */
WINDOW_FN void weigh(const cuda_convolving &p)
{
    const int64_t all = (int64_t)p.groups * p.m * p.n;
    for (int64_t i = blockIdx.x; i < all; i += gridDim.x) {
        const int64_t o = i / p.n;
        const conv_place mine = conv_split(i - o * p.n, p.by_kernel);
        const int32_t group = (int32_t)(o / p.co);
        double sum[1] = {0};
        C part = 0;
        for (int64_t k = threadIdx.x; k < p.k; k += blockDim.x) {
            const conv_place window = conv_split(k, p.by_grid);
            int32_t at[3];
            if (!conv_meets(p, window.at, mine.at, at))
                continue;
            part = neural_fma(neural_widen(((const T *)p.image)[conv_offset(
                                  p.image_stride, window.outer, group * p.ci + mine.outer, at)]),
                              neural_widen(((const T *)p.grid)[conv_offset(
                                  p.grid_stride, window.outer, (int32_t)o, window.at)]),
                              part);
        }
        sum[0] = part;
        neural_sum<1, false>(sum);
        if (threadIdx.x == 0)
            neural_narrow((T *)p.weight +
                              conv_offset(p.weight_stride, (int32_t)o, mine.outer, mine.at),
                          (C)sum[0]);
    }
}

/* Bias and epilogue, in place: rows of the result, which is the image or (after forward) the grid. */
template <bool INPUT> WINDOW_FN void finish(const cuda_convolving &p)
{
    window_each(p.walk, [&](uint32_t row, uint32_t item) {
        int32_t at[4];
        window_split<3>(p.walk, row, at);
        const int32_t here[3] = {at[2], at[3], (int32_t)item};
        T *to = (T *)(INPUT ? p.image : p.grid) +
                (INPUT ? conv_offset(p.image_stride, at[0], at[1], here)
                       : conv_offset(p.grid_stride, at[0], at[1], here));
        neural_narrow(to, conv_finished<T>(p, (C)neural_widen(*to), at[1]));
    });
}

/* The grid from sums that have a line of p.part windows for each channel; bias and epilogue. */
WINDOW_FN void spread(const cuda_convolving &p)
{
    const int32_t width = p.grid_extent[2];
    const int64_t plane = (int64_t)p.grid_extent[0] * p.grid_extent[1] * width;
    window_each(p.walk, [&](uint32_t row, uint32_t item) {
        int32_t at[4];
        window_split<3>(p.walk, row, at);
        const int32_t here[3] = {at[2], at[3], (int32_t)item};
        const C *from = (const C *)p.partial + at[1] * p.part + at[0] * plane +
                        (int64_t)(at[2] * p.grid_extent[1] + at[3]) * width;
        neural_narrow((T *)p.grid + conv_offset(p.grid_stride, at[0], at[1], here),
                      conv_finished<T>(p, from[item], at[1]));
    });
}

#define CONV_KERNEL(name, ...)                                       \
    extern "C" __global__ void __launch_bounds__(CONV_THREADS, 2)    \
        WINDOW_NAME(name)(const __grid_constant__ cuda_convolving p) \
    {                                                                \
        __VA_ARGS__(p);                                              \
    }
CONV_KERNEL(depthwise_forward, direct<false>)
CONV_KERNEL(depthwise_input, direct<true>)
CONV_KERNEL(depthwise_three, three<1>)
CONV_KERNEL(depthwise_three_two, three<2>)
CONV_KERNEL(depthwise_single, single<false>)
CONV_KERNEL(depthwise_single_input, single<true>)
CONV_KERNEL(planes_three, planes_each<T, C, false, 3>)
CONV_KERNEL(planes_any, planes_each<T, C, false, 0>)
CONV_KERNEL(planes_met, planes_each<T, C, true, 0>)
CONV_KERNEL(depthwise_weight, weigh)
CONV_KERNEL(conv_spread, spread)
CONV_KERNEL(conv_finish_grid, finish<false>)
CONV_KERNEL(conv_finish_image, finish<true>)
CONV_KERNEL(beside_three, beside_tile<T, VECTOR, C, 3, 1, CONV_ACROSS>)
CONV_KERNEL(beside_three_two, beside_tile<T, VECTOR, C, 3, 2, CONV_ACROSS>)
CONV_KERNEL(beside_square, beside_square<T, HALF, C, 1, CONV_ACROSS, CONV_DOWN>)
CONV_KERNEL(beside_square_two, beside_square<T, HALF, C, 2, 2, CONV_DOWN>)
CONV_KERNEL(beside_met_square_input, beside_met_square<T, HALF, C, CONV_MET_PAIRS>)
CONV_KERNEL(beside_any, beside_one<T, VECTOR, C, false>)
CONV_KERNEL(beside_any_input, beside_one<T, VECTOR, C, true>)
CONV_KERNEL(beside_met_input, beside_met<T, VECTOR, C>)
