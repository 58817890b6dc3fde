/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Products of convolutions of thin images (thin.cuh): what a block keeps in shared memory, and the sums of a warp. */
#ifndef NDOCK_CUDA_CONV_THIN_PRODUCT_CUH
#define NDOCK_CUDA_CONV_THIN_PRODUCT_CUH
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
    /* For one product: rounding would make zeros of the largest NaNs, which only low would tell. */
    __device__ __forceinline__ void take_rounded(int k, uint32_t x)
    {
        const float number = __uint_as_float(x);
        take(k, x);
        high[k] = number == number ? high[k] : x;
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
        FAST ? b[k / 2].take_rounded(k % 2, x[k / 2][k % 2])
             : b[k / 2].take(k % 2, x[k / 2][k % 2]);
#pragma unroll
    for (int i = 0; i < THIN_PIECES; i++) {
        thin_parts<4> a;
#pragma unroll
        for (int k = 0; k < 4; k++)
            FAST ? a.take_rounded(k, weights[i * 128 + k / 2 * AWAY].at[k % 2])
                 : a.take(k, weights[i * 128 + k / 2 * AWAY].at[k % 2]);
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

#endif
