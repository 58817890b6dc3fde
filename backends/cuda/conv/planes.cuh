/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Convolutions of single channels by whole planes, two axes of windows: a block keeps some planes and the
 * weights of their channels in shared memory, so that rows need not be whole vectors. */
#ifndef NDOCK_CUDA_CONV_PLANES_CUH
#define NDOCK_CUDA_CONV_PLANES_CUH
#include "conv/conv.cuh"

/* `count` elements, by vectors of 16 bytes where they begin at one. */
template <class T> WINDOW_FN void planes_copy(T *to, const T *from, uint32_t count, bool whole)
{
    constexpr uint32_t V = 16 / sizeof(T);
    const uint32_t vectors = whole ? count / V : 0;
    for (uint32_t i = threadIdx.x; i < vectors; i += blockDim.x)
        ((neural_vector<T, V> *)to)[i] = ((const neural_vector<T, V> *)from)[i];
    for (uint32_t i = vectors * V + threadIdx.x; i < count; i += blockDim.x)
        to[i] = from[i];
}

/* The weights of `count` planes from `first` on, plane by plane, in the dtype of sums. */
template <class T, class C>
WINDOW_FN void planes_weights(const cuda_convolving &p, C *kept, uint32_t first, uint32_t count)
{
    const uint32_t columns = (uint32_t)p.kernel[2], taps = (uint32_t)p.kernel[1] * columns;
    for (uint32_t i = threadIdx.x; i < count * taps; i += blockDim.x) {
        const uint32_t plane = i / taps, tap = i - plane * taps, row = tap / columns;
        const uint32_t all = first + plane,
                       channel = all - cuda_quotient(all, p.by_channel) * p.by_channel.value;
        kept[i] = neural_widen(
            ((const T *)p.weight)[channel * p.weight_stride[0] + row * p.weight_stride[3] +
                                  (tap - row * columns) * p.weight_stride[4]]);
    }
}

/* The element (h, w) of the grid, from its plane; K 0: windows of any size, else of K by K. */
template <class T, class C, int K>
WINDOW_FN C planes_window(const cuda_convolving &p, const T *plane, const C *weight, int32_t h,
                          int32_t w)
{
    const int32_t rows = K ? K : p.kernel[1], columns = K ? K : p.kernel[2];
    const int32_t width = p.image_extent[2];
    const int32_t left = w * p.stride[2] - p.before[2];
    C sum = 0;
#pragma unroll
    for (int32_t i = 0; i < rows; i++) {
        const int32_t y = h * p.stride[1] - p.before[1] + i * p.dilation[1];
        const bool in_row = (uint32_t)y < (uint32_t)p.image_extent[1];
#pragma unroll
        for (int32_t j = 0; j < columns; j++) {
            const int32_t x = left + j * p.dilation[2];
            if (in_row && (uint32_t)x < (uint32_t)width)
                sum = neural_fma(weight[i * columns + j], neural_widen(plane[y * width + x]), sum);
        }
    }
    return sum;
}

/* The element (h, w) of the image, from its plane of the grid, by the windows that meet it; windows
 * without dilation. */
template <class T, class C>
WINDOW_FN C planes_meeting(const cuda_convolving &p, const T *plane, const C *weight, int32_t h,
                           int32_t w)
{
    const int32_t width = p.grid_extent[2], columns = p.kernel[2];
    int32_t first[2], tap[2];
    conv_first_met(p, 1, h, &tap[0], &first[0]);
    conv_first_met(p, 2, w, &tap[1], &first[1]);
    C sum = 0;
    for (int32_t i = tap[0], y = first[0]; i < p.kernel[1]; i += p.stride[1], y--) {
        if ((uint32_t)y >= (uint32_t)p.grid_extent[1])
            continue;
        for (int32_t j = tap[1], x = first[1]; j < columns; j += p.stride[2], x--)
            if ((uint32_t)x < (uint32_t)width)
                sum = neural_fma(weight[i * columns + j], neural_widen(plane[y * width + x]), sum);
    }
    return sum;
}

/* A block makes p.planes planes of the grid or (INPUT) the image. */
template <class T, class C, bool INPUT, int K> WINDOW_FN void planes_each(const cuda_convolving &p)
{
    CONV_SHARED(memory);
    const int32_t(&from_extent)[3] = INPUT ? p.grid_extent : p.image_extent;
    const int32_t(&extent)[3] = INPUT ? p.image_extent : p.grid_extent;
    const int64_t(&stride)[5] = INPUT ? p.image_stride : p.grid_stride;
    const cuda_divisor(&by)[3] = INPUT ? p.by_image : p.by_grid;
    const uint32_t size = (uint32_t)(from_extent[1] * from_extent[2]);
    const uint32_t first = blockIdx.x * p.planes, left = p.all_planes - first;
    const uint32_t count = left < p.planes ? left : p.planes;
    T *kept = (T *)memory;
    C *weights = (C *)(memory + p.weights_at);
    planes_copy(kept, (const T *)(INPUT ? p.grid : p.image) + (int64_t)first * size, count * size,
                p.whole);
    planes_weights<T>(p, weights, first, count);
    __syncthreads();
    const uint32_t taps = (uint32_t)(p.kernel[1] * p.kernel[2]);
    const uint32_t all = count * (uint32_t)(extent[1] * extent[2]);
    for (uint32_t i = threadIdx.x; i < all; i += blockDim.x) {
        const uint32_t row = cuda_quotient(i, by[2]), plane = cuda_quotient(row, by[1]);
        const int32_t w = (int32_t)(i - row * by[2].value),
                      h = (int32_t)(row - plane * by[1].value);
        const T *from = kept + plane * size;
        const C *weight = weights + plane * taps;
        const C sum = INPUT ? planes_meeting(p, from, weight, h, w)
                            : planes_window<T, C, K>(p, from, weight, h, w);
        const uint32_t n = cuda_quotient(first + plane, p.by_channel);
        const int32_t channel = (int32_t)(first + plane - n * p.by_channel.value);
        T *to = (T *)(INPUT ? p.image : p.grid) + n * stride[0] + channel * stride[1] +
                h * stride[3] + w * stride[4];
        neural_narrow(to, conv_finished<T>(p, sum, channel));
    }
}

#endif
