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
#include "conv/grouped.cuh"
#include "neural/mma.cuh"

enum {
    THIN_PIECES = CONV_THIN_ROWS / 16, /* of rows, of tensor cores */
    THIN_FOURS = 4,                    /* pieces of eight pixels of a warp */
    THIN_MADE = 8,                     /* channels of a lane, side by side */
    THIN_KEPT = 4                      /* pixels that a thread reads at once */
};

/* Vectors of weights of a step and piece that a lane has: of all four channels (16 bits), or of two each. */
template <class T> struct thin_form {
    enum { PARTS = sizeof(T) / 2, PIXEL = 4 * sizeof(T) /* bytes */ };
};

typedef float thin_sums[THIN_PIECES][THIN_FOURS][4];

/* What a block keeps in shared memory, in this order: weights, where each tap lies in the image, the image. */
template <class T> struct thin_memory {
    uint32_t *weights;
    int32_t *taps;
    T *image;
};
template <class T>
WINDOW_FN thin_memory<T> thin_memory_of(const cuda_convolving &p, unsigned char *room)
{
    const uint32_t taps = (uint32_t)(p.pieces * CONV_THIN_TAPS) * 4;
    return {(uint32_t *)room, (int32_t *)(room + p.weights_at),
            (T *)(room + p.weights_at + (taps + 15) / 16 * 16)};
}

/* The channel of the result that a lane has in row lane/4 (h 0) or lane/4 + 8 (h 1) of a piece. */
WINDOW_FN int32_t thin_channel(int32_t lane, int piece, int h)
{
    return (int32_t)blockIdx.y * CONV_THIN_ROWS + lane / 4 * THIN_MADE + piece * 2 + h;
}

/* Pixel of a warp's that column `column` of its piece j of eight is: a lane's are two times four in a row. */
WINDOW_FN int32_t thin_pixel(int j, int column)
{
    return j / 2 * 16 + column / 2 * 4 + j % 2 * 2 + column % 2;
}

/* Vector i of the weights: elements (row, channel) of a lane as the registers of tensor cores have them. */
template <class T>
WINDOW_FN void thin_weight(const cuda_convolving &p, uint32_t *weights, int32_t i)
{
    enum { PARTS = thin_form<T>::PARTS, CHANNELS = 4 / PARTS };
    const int32_t lane = i % 32, part = i / 32 % PARTS, piece = i / 32 / PARTS % THIN_PIECES;
    const int32_t tap = i / 32 / PARTS / THIN_PIECES * CONV_THIN_TAPS + lane % 4;
    const int32_t y = (int32_t)cuda_quotient((uint32_t)tap, p.by_kernel[2]);
    const T *from =
        (const T *)p.weight + y * p.weight_stride[3] + (tap - y * p.kernel[2]) * p.weight_stride[4];
    T *const to = (T *)(weights + i * 4);
#pragma unroll
    for (int h = 0; h < 2; h++)
#pragma unroll
        for (int k = 0; k < CHANNELS; k++) {
            const int32_t o = thin_channel(lane, piece, h), c = part * CHANNELS + k;
            const bool has = o < p.co && c < p.ci && tap < p.kernel[1] * p.kernel[2];
            neural_narrow(to + (PARTS == 1 ? k / 2 * 4 + h * 2 + k % 2 : k * 2 + h),
                          has ? neural_widen(from[o * p.weight_stride[0] + c * p.weight_stride[1]])
                              : 0.0f);
        }
}
template <class T> WINDOW_FN void thin_keep_weights(const cuda_convolving &p, thin_memory<T> m)
{
    const int32_t vectors = p.pieces * THIN_PIECES * thin_form<T>::PARTS * 32;
#pragma unroll 4
    for (int32_t i = (int32_t)threadIdx.x; i < vectors; i += (int32_t)blockDim.x)
        thin_weight<T>(p, m.weights, i);
    for (int32_t tap = (int32_t)threadIdx.x; tap < p.pieces * CONV_THIN_TAPS;
         tap += (int32_t)blockDim.x) {
        const int32_t i = (int32_t)cuda_quotient((uint32_t)tap, p.by_kernel[2]);
        const int32_t j = tap - i * p.kernel[2];
        /* Those beyond have weights of zero. */
        m.taps[tap] = tap < p.kernel[1] * p.kernel[2]
                          ? (i * p.dilation[1] * p.kept[1] + j * p.dilation[2]) * 4
                          : 0;
    }
}

/* The elements that a tile's windows meet: a thread reads all channels of some pixels before it writes any. Outside of the
 * image, and beyond its channels, it reads the image's first element and writes zero. */
template <class T>
WINDOW_FN void thin_keep_image(const cuda_convolving &p, const grouped_tile &at, T *image)
{
    const int32_t y0 = at.h * p.stride[1] - p.before[1], x0 = at.w * p.stride[2] - p.before[2];
    const int32_t all = p.kept[0] * p.kept[1], threads = (int32_t)blockDim.x;
    const T *const from = (const T *)p.image + at.n * p.image_stride[0];
    T none;
    neural_narrow(&none, 0.0f);
    for (int32_t first = (int32_t)threadIdx.x; first < all; first += THIN_KEPT * threads) {
        neural_vector<T, 4> x[THIN_KEPT];
        bool has[THIN_KEPT];
#pragma unroll
        for (int u = 0; u < THIN_KEPT; u++) {
            const int32_t i = (int32_t)cuda_quotient((uint32_t)(first + u * threads), p.by_kept);
            const int32_t y = y0 + i, z = x0 + first + u * threads - i * p.kept[1];
            has[u] = (uint32_t)y < (uint32_t)p.image_extent[1] &&
                     (uint32_t)z < (uint32_t)p.image_extent[2];
            const T *const one =
                from + (has[u] ? y * p.image_stride[3] + z * p.image_stride[4] : 0);
#pragma unroll
            for (int c = 0; c < 4; c++)
                x[u].at[c] = one[c < p.ci ? c * p.image_stride[1] : 0];
        }
#pragma unroll
        for (int u = 0; u < THIN_KEPT; u++) {
#pragma unroll
            for (int c = 0; c < 4; c++)
                x[u].at[c] = has[u] && c < p.ci ? x[u].at[c] : none;
            if (first + u * threads < all)
                ((neural_vector<T, 4> *)image)[first + u * threads] = x[u];
        }
    }
}

/* ---- products ---- */

typedef neural_vector<uint32_t, 4> thin_vector;
typedef neural_vector<uint32_t, 2> thin_half;

/* One step of 16 bits: pixel[j]: the lane's elements of pieces of eight pixels. */
template <class T>
WINDOW_FN void thin_step(const T *const (&pixel)[THIN_FOURS], int32_t tap,
                         const thin_vector *weights, thin_sums &sum)
{
    thin_half x[THIN_FOURS];
#pragma unroll
    for (int j = 0; j < THIN_FOURS; j++)
        x[j] = *(const thin_half *)(pixel[j] + tap);
#pragma unroll
    for (int i = 0; i < THIN_PIECES; i++) {
        const thin_vector v = weights[i * 32];
        const uint32_t a[4] = {v.at[0], v.at[1], v.at[2], v.at[3]};
#pragma unroll
        for (int j = 0; j < THIN_FOURS; j++)
            mma_multiply<T>(sum[i][j], a, x[j].at[0], x[j].at[1]);
    }
}

/* Numbers in two parts. */
template <int N> struct thin_parts {
    uint32_t high[N], low[N];
    __device__ __forceinline__ void take(int k, uint32_t x)
    {
        mma_split_tf32(__uint_as_float(x), &high[k], &low[k]);
    }
};

/* sum += a b by three products of TF32, or by one. */
WINDOW_FN void thin_add(const thin_parts<4> &a, const thin_parts<2> (&b)[THIN_FOURS],
                        float (&sum)[THIN_FOURS][4])
{
    float y[THIN_FOURS][4];
#pragma unroll
    for (int j = 0; j < THIN_FOURS; j++)
        mma_begin_tf32(y[j], a.low, b[j].high[0], b[j].high[1]);
#pragma unroll
    for (int j = 0; j < THIN_FOURS; j++)
        mma_multiply_tf32(y[j], a.high, b[j].low[0], b[j].low[1]);
#pragma unroll
    for (int j = 0; j < THIN_FOURS; j++)
        mma_multiply_tf32(y[j], a.high, b[j].high[0], b[j].high[1]);
#pragma unroll
    for (int e = 0; e < THIN_FOURS * 4; e++)
        sum[e / 4][e % 4] += y[e / 4][e % 4];
}
WINDOW_FN void thin_add_fast(const thin_parts<4> &a, const thin_parts<2> (&b)[THIN_FOURS],
                             float (&sum)[THIN_FOURS][4])
{
#pragma unroll
    for (int j = 0; j < THIN_FOURS; j++)
        mma_multiply_tf32(sum[j], a.high, b[j].high[0], b[j].high[1]);
}

/* Two channels of f32, or one of two steps, as tensor cores take them: x of the pixels; weights, the second AWAY halves of a
 * vector further. FAST: without low parts. */
template <bool FAST, int AWAY>
WINDOW_FN void thin_pair(const thin_half *weights, const uint32_t (&x)[THIN_FOURS][2],
                         thin_sums &sum)
{
    thin_parts<2> b[THIN_FOURS];
#pragma unroll
    for (int k = 0; k < THIN_FOURS * 2; k++)
        b[k / 2].take(k % 2, x[k / 2][k % 2]);
#pragma unroll
    for (int i = 0; i < THIN_PIECES; i++) {
        thin_parts<4> a;
#pragma unroll
        for (int k = 0; k < 4; k++)
            a.take(k, weights[i * 128 + k / 2 * AWAY].at[k % 2]);
        if constexpr (FAST)
            thin_add_fast(a, b, sum[i]);
        else
            thin_add(a, b, sum[i]);
    }
}

/* Step i of f32. Of three channels the third waits for that of the next step, to be its pair. */
template <bool FAST>
WINDOW_FN void thin_step_f32(const cuda_convolving &p, const float *const (&pixel)[THIN_FOURS],
                             int32_t tap, int32_t i, const thin_half *weights,
                             uint32_t (&held)[THIN_FOURS], thin_sums &sum)
{
    enum { PART = 64, STEP = THIN_PIECES * 2 * PART }; /* halves of a vector */
    uint32_t x[THIN_FOURS][2], y[THIN_FOURS][2];
#pragma unroll
    for (int j = 0; j < THIN_FOURS; j++) {
        const thin_vector v = *(const thin_vector *)(pixel[j] + tap);
        x[j][0] = v.at[0];
        x[j][1] = v.at[1];
        y[j][0] = p.ci > 3 ? v.at[2] : held[j];
        y[j][1] = p.ci > 3 ? v.at[3] : v.at[2];
        held[j] = v.at[2];
    }
    thin_pair<FAST, 1>(weights, x, sum);
    if (p.ci > 3) {
        thin_pair<FAST, 1>(weights + PART, y, sum);
    } else if (p.ci > 2 && i % 2) {
        thin_pair<FAST, STEP>(weights + PART - STEP, y, sum);
    } else if (p.ci > 2 && i + 1 == p.pieces) {
#pragma unroll
        for (int j = 0; j < THIN_FOURS; j++)
            y[j][0] = 0;
        thin_pair<FAST, 0>(weights + PART, y, sum);
    }
}

/* The sums of the warp's pixels from `first` on. */
template <class T, bool FAST>
WINDOW_FN void thin_sum(const cuda_convolving &p, const thin_memory<T> &m, int32_t first,
                        thin_sums &sum)
{
    const int32_t lane = (int32_t)threadIdx.x % 32, last = p.tile[0] * p.tile[1] - 1;
    const thin_vector *weights = (const thin_vector *)m.weights + lane;
    const T *pixel[THIN_FOURS];
#pragma unroll
    for (int j = 0; j < THIN_FOURS; j++) {
        const int32_t k = first + thin_pixel(j, lane / 4), t = k < last ? k : last;
        const int32_t h = (int32_t)cuda_quotient((uint32_t)t, p.by_column);
        pixel[j] = m.image + (h * p.stride[1] * p.kept[1] + (t - h * p.tile[1]) * p.stride[2]) * 4;
    }
    uint32_t held[THIN_FOURS] = {};
    for (int32_t i = 0; i < p.pieces; i++, weights += THIN_PIECES * thin_form<T>::PARTS * 32) {
        const int32_t tap = m.taps[i * CONV_THIN_TAPS + lane % 4];
        if constexpr (sizeof(T) == 2)
            thin_step<T>(pixel, tap, weights, sum);
        else
            thin_step_f32<FAST>(p, pixel, tap, i, (const thin_half *)weights, held, sum);
    }
}

/* ---- results ---- */

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
