/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Convolutions of images of at most four channels (a first layer's), two axes of windows, by tensor cores. A block keeps
 * the weights of CONV_THIN_ROWS channels of the result, and tile after tile of the image, four channels of a pixel side by
 * side whether there are as many or not. A step multiplies CONV_THIN_TAPS taps of four channels: each lane of four has
 * one tap, whose channels are one vector of shared memory, since terms may be summed in any order if both operands have
 * the same.
 *
 * Numbers of f32 are split as in gathered_product.cuh, but where TF32 is allowed. Tensor cores also multiply what is not
 * there, by zeros: results that are not finite are computed once more, by the definition. */
#ifndef NDOCK_CUDA_CONV_THIN_CUH
#define NDOCK_CUDA_CONV_THIN_CUH
#include "conv/thin_product.cuh"

/* Where the result of pixel t of a tile and a channel lies; NULL: there is none. */
template <class T>
WINDOW_FN T *thin_result(const cuda_convolving &p, const grouped_tile &at, int32_t t,
                         int32_t channel)
{
    const int32_t row = (int32_t)cuda_quotient((uint32_t)t, p.by_column);
    const int32_t h = at.h + row, w = at.w + t - row * p.tile[1];
    if (row >= p.tile[0] || h >= p.grid_extent[1] || w >= p.grid_extent[2] || channel >= p.co)
        return nullptr;
    return (T *)p.grid + at.n * p.grid_stride[0] + channel * p.grid_stride[1] +
           h * p.grid_stride[3] + w * p.grid_stride[4];
}

/* Bias and epilogue of four results, of a channel and, if `last`, of those after it. */
template <class T>
WINDOW_FN void thin_finish(const cuda_convolving &p, int32_t channel, bool last, float (&x)[4])
{
    if (p.bias)
#pragma unroll
        for (int k = 0; k < 4; k++)
            x[k] += neural_widen(((const T *)p.bias)[(channel + last * k) * p.bias_stride]);
    if (p.epilogue)
        conv_activate_four(p.epilogue, x);
}

/* Result `i` of a lane's (pieces, fours, the four of tensor cores) by the definition: what is outside is zero. */
template <class T>
static __device__ __noinline__ void thin_again(const cuda_convolving &p, const grouped_tile &at,
                                               int32_t first, int32_t i)
{
    const int32_t lane = (int32_t)threadIdx.x % 32, e = i % 4;
    const int32_t channel = thin_channel(lane, i / 16, e / 2);
    const int32_t t = first + thin_pixel(i / 4 % 4, lane % 4 * 2 + e % 2);
    const int32_t row = (int32_t)cuda_quotient((uint32_t)t, p.by_column);
    T *const to = thin_result<T>(p, at, t, channel);
    if (!to)
        return;
    const int32_t window[3] = {0, at.h + row, at.w + t - row * p.tile[1]};
    float sum = 0;
    for (int32_t c = 0; c < p.ci; c++)
        for (int32_t k = 0; k < p.kernel[1] * p.kernel[2]; k++) {
            const int32_t y = (int32_t)cuda_quotient((uint32_t)k, p.by_kernel[2]);
            const int32_t tap[3] = {0, y, k - y * p.kernel[2]};
            int32_t met[3];
            if (!conv_meets(p, window, tap, met))
                met[0] = met[1] = met[2] = 0;
            const float x =
                neural_widen(((const T *)p.image)[conv_offset(p.image_stride, at.n, c, met)]);
            sum = neural_fma(
                neural_widen(((const T *)p.weight)[conv_offset(p.weight_stride, channel, c, tap)]),
                conv_meets(p, window, tap, met) ? x : 0.0f, sum);
        }
    neural_narrow(to, conv_finished<T>(p, sum, channel));
}

/* Whether a lane's results are finite. */
WINDOW_FN bool thin_is_finite(const thin_sums &sum)
{
    float zero = 0;
#pragma unroll
    for (int i = 0; i < THIN_PIECES * THIN_FOURS * 4; i++)
        zero = __fmaf_rn(sum[i / 16][i / 4 % 4][i % 4], 0.0f, zero);
    return zero == 0;
}

/* The results of a lane by fours of pixels in a row, of its channels one after the other. */
template <class T>
WINDOW_FN void thin_put_pixels(const cuda_convolving &p, const grouped_tile &at, int32_t first,
                               const thin_sums &sum)
{
    const int32_t lane = (int32_t)threadIdx.x % 32, channel = thin_channel(lane, 0, 0);
#pragma unroll
    for (int g = 0; g < 2; g++) {
        T *to[4];
#pragma unroll
        for (int k = 0; k < 4; k++)
            to[k] = thin_result<T>(p, at, first + g * 16 + lane % 4 * 4 + k, channel);
#pragma unroll
        for (int i = 0; i < THIN_MADE; i++) {
            float x[4];
#pragma unroll
            for (int k = 0; k < 4; k++)
                x[k] = sum[i / 2][g * 2 + k / 2][i % 2 * 2 + k % 2];
            if (channel + i >= p.co)
                break;
            thin_finish<T>(p, channel + i, false, x);
            if (p.whole && to[0])
                neural_store<T, 4>(to[0] + i * p.grid_stride[1], 0, x);
#pragma unroll
            for (int k = 0; k < 4; k++)
                if (!p.whole && to[k])
                    neural_narrow(to[k] + i * p.grid_stride[1], x[k]);
        }
    }
}
/* By fours of channels, where they are whole. */
template <class T>
WINDOW_FN void thin_put_channels(const cuda_convolving &p, const grouped_tile &at, int32_t first,
                                 const thin_sums &sum)
{
    const int32_t lane = (int32_t)threadIdx.x % 32, channel = thin_channel(lane, 0, 0);
#pragma unroll
    for (int i = 0; i < THIN_FOURS * 2; i++) {
        T *const to =
            thin_result<T>(p, at, first + thin_pixel(i / 2, lane % 4 * 2 + i % 2), channel);
#pragma unroll
        for (int g = 0; g < THIN_MADE / 4; g++) {
            float x[4];
#pragma unroll
            for (int k = 0; k < 4; k++)
                x[k] = sum[g * 2 + k / 2][i / 2][k % 2 * 2 + i % 2];
            if (!to || channel + g * 4 >= p.co)
                break;
            thin_finish<T>(p, channel + g * 4, true, x);
            neural_store<T, 4>(to, g, x);
        }
    }
}

/* Results that are not finite once more. */
template <class T>
WINDOW_FN void thin_put_again(const cuda_convolving &p, const grouped_tile &at, int32_t first,
                              const thin_sums &sum)
{
    uint32_t which[2] = {};
#pragma unroll
    for (int i = 0; i < 64; i++)
        which[i / 32] |= (uint32_t) !(fabsf(sum[i / 16][i / 4 % 4][i % 4]) < INFINITY) << i % 32;
#pragma unroll 1
    for (int i = 0; i < 64; i++)
        if ((i < 32 ? which[0] : which[1]) >> i % 32 & 1)
            thin_again<T>(p, at, first, i);
}
template <class T>
WINDOW_FN void thin_put(const cuda_convolving &p, const grouped_tile &at, int32_t first,
                        const thin_sums &sum)
{
    static_assert(THIN_PIECES * THIN_FOURS * 4 == 64, "sums of a lane");
    if (p.whole == CONV_WHOLE_CHANNELS)
        thin_put_channels<T>(p, at, first, sum);
    else
        thin_put_pixels<T>(p, at, first, sum);
    if (!thin_is_finite(sum))
        thin_put_again<T>(p, at, first, sum);
}

/* Blocks take tiles in turns. */
template <class T, bool FAST> WINDOW_FN void thin_tiles(const cuda_convolving &p)
{
    CONV_SHARED(room);
    const thin_memory<T> m = thin_memory_of<T>(p, room);
    const int32_t warp = (int32_t)threadIdx.x / 32, warps = (int32_t)blockDim.x / 32;
    thin_keep_weights(p, m);
    for (uint32_t tile = blockIdx.x; tile < p.tiles; tile += gridDim.x) {
        const grouped_tile at = grouped_at(p, tile);
        __syncthreads();
        thin_keep_image(p, at, m.image);
        __syncthreads();
        for (int32_t first = warp * CONV_THIN_PIXELS; first < p.tile[0] * p.tile[1];
             first += warps * CONV_THIN_PIXELS) {
            thin_sums sum = {};
            thin_sum<T, FAST>(p, m, first, sum);
            thin_put<T>(p, at, first, sum);
        }
    }
}

/* Tensor cores take numbers of at most 32 bits, those of f32 and bfloat16 from compute capability 8.0 on. */
template <class T, bool FAST> WINDOW_FN void thin_windows(const cuda_convolving &p)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    if constexpr (sizeof(T) == 4 || (sizeof(T) == 2 && !FAST))
        thin_tiles<T, FAST>(p);
#endif
}

#endif
