/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Convolutions of 16 bits in groups of 4, 8 or 16 channels, two axes of windows, by tensor cores: 16 channels of
 * the image and the same 16 of the result are a piece, whose weights of one tap are a matrix of 16 by 16 that is
 * zero outside of the groups on its diagonal. Most of the products are with these zeros, and are still
 * cheaper than a group's own. A block keeps the elements that a tile of windows meets in shared memory, the
 * channels of a piece side by side, in whatever order they lie in memory. The gradient for an image whose windows
 * are steps apart is a convolution of the grid with its elements these steps apart, and zeros between them. */
#ifndef NDOCK_CUDA_CONV_DIAGONAL_CUH
#define NDOCK_CUDA_CONV_DIAGONAL_CUH
#include "conv/diagonal_kept.cuh"

enum {
    DIAGONAL_GROUPS = 4, /* of 16 pixels, that a warp sums with the same weights */
    DIAGONAL_PIXELS = 16 * DIAGONAL_GROUPS
};

/* The result of window t and channel m of a piece by its group's terms alone: where an element of another group, or
 * a weight for a place between elements, is not finite, its product with a zero is not either. */
template <class T>
WINDOW_FN float diagonal_own(const cuda_convolving &p, const diagonal_place &o,
                             const unsigned char *kept, const uint32_t *weights, int32_t t,
                             int32_t m)
{
    const int32_t h = (int32_t)cuda_quotient((uint32_t)t, p.by_column), w = t - h * p.tile[1];
    const int32_t group = (int32_t)cuda_quotient((uint32_t)m, p.by_ci) * p.ci;
    float sum = 0;
    for (int32_t i = 0; i < p.kernel[1]; i++)
        for (int32_t j = 0; j < p.kernel[2]; j++, weights += DIAGONAL_WORDS) {
            const int32_t row = h * p.stride[1] + i * p.dilation[1],
                          column = w * p.stride[2] + j * p.dilation[2];
            const int32_t pixel = row * p.kept[1] + column;
            int32_t index;
            if (p.apart && (!diagonal_index(p, 1, o.y + row, &index) ||
                            !diagonal_index(p, 2, o.x + column, &index)))
                continue;
            for (int32_t k = group; k < group + p.ci; k++) {
                const T *x = (const T *)(kept + diagonal_at(pixel, k / 8)) + k % 8;
                const T *share =
                    (const T *)(weights + (m % 8 * 4 + k % 8 / 2) * 4 + m / 8 + k / 8 * 2) + k % 2;
                sum = neural_fma(neural_widen(*share), neural_widen(*x), sum);
            }
        }
    return sum;
}

/* A piece's elements and weights, as shared memory has them. */
typedef struct {
    const unsigned char *kept;
    const uint32_t *weights;
    int32_t channel;
} diagonal_operands;

typedef float diagonal_sums[DIAGONAL_GROUPS][2][4];

/* What a warp has of a tile: its first window, and of each 16 the place of the lane's own first element. */
typedef struct {
    int32_t first, windows;
    int32_t pixel[DIAGONAL_GROUPS];
} diagonal_windows;

WINDOW_FN diagonal_windows diagonal_windows_of(const cuda_convolving &p, int32_t first)
{
    diagonal_windows w;
    w.first = first;
    w.windows = p.tile[0] * p.tile[1];
#pragma unroll
    for (int a = 0; a < DIAGONAL_GROUPS; a++) {
        const int32_t k = first + a * 16 + (int32_t)threadIdx.x % 16;
        const int32_t t = k < w.windows ? k : w.windows - 1;
        const int32_t h = (int32_t)cuda_quotient((uint32_t)t, p.by_column);
        w.pixel[a] = h * p.stride[1] * p.kept[1] + (t - h * p.tile[1]) * p.stride[2];
    }
    return w;
}

/* Pixels are rows of the products (LAST) or their columns. */
template <class T, bool LAST>
WINDOW_FN void diagonal_sum(const cuda_convolving &p, mma_address kept, const uint32_t *weights,
                            const diagonal_windows &w, diagonal_sums &sum)
{
    const int32_t half = (int32_t)threadIdx.x % 32 / 16;
    for (int32_t i = 0; i < p.kernel[1]; i++)
        for (int32_t j = 0; j < p.kernel[2]; j++, weights += DIAGONAL_WORDS) {
            const neural_vector<uint32_t, 4> v = *(const neural_vector<uint32_t, 4> *)weights;
            const uint32_t share[4] = {v.at[0], v.at[1], v.at[2], v.at[3]};
            const int32_t tap = i * p.dilation[1] * p.kept[1] + j * p.dilation[2];
#pragma unroll
            for (int a = 0; a < DIAGONAL_GROUPS; a++) {
                uint32_t x[4];
                mma_load(x, kept + diagonal_at(w.pixel[a] + tap, half));
                if (LAST) {
                    mma_multiply<T>(sum[a][0], x, share[0], share[2]);
                    mma_multiply<T>(sum[a][1], x, share[1], share[3]);
                } else {
                    mma_multiply<T>(sum[a][0], share, x[0], x[2]);
                    mma_multiply<T>(sum[a][1], share, x[1], x[3]);
                }
            }
        }
}

/* Where a result of a tile lies; NULL: it is outside. */
template <class T>
WINDOW_FN T *diagonal_result(const cuda_convolving &p, const diagonal_place &o, int32_t windows,
                             int32_t t, int32_t channel)
{
    const int32_t row = (int32_t)cuda_quotient((uint32_t)t, p.by_column);
    const int32_t h = o.at.h + row, w = o.at.w + t - row * p.tile[1];
    if (t >= windows || h >= p.grid_extent[1] || w >= p.grid_extent[2])
        return nullptr;
    return (T *)p.grid + o.at.n * p.grid_stride[0] + channel * p.grid_stride[1] +
           h * p.grid_stride[3] + w * p.grid_stride[4];
}

/* Four results of window t from a channel on (LAST), or of a channel from window t on. */
template <class T, bool LAST>
WINDOW_FN void diagonal_put_four(const cuda_convolving &p, const diagonal_place &o, int32_t windows,
                                 int32_t t, int32_t channel, float (&x)[4])
{
    if (p.bias)
#pragma unroll
        for (int k = 0; k < 4; k++)
            x[k] += neural_widen(((const T *)p.bias)[(channel + (LAST ? k : 0)) * p.bias_stride]);
    if (p.epilogue)
        conv_activate_four(p.epilogue, x);
    if (!LAST && !p.whole) {
#pragma unroll
        for (int k = 0; k < 4; k++)
            if (T *to = diagonal_result<T>(p, o, windows, t + k, channel))
                neural_narrow(to, x[k]);
        return;
    }
    T *to = diagonal_result<T>(p, o, windows, t, channel);
    if (to && p.whole)
        neural_store<T, 4>(to, 0, x);
    else if (to)
#pragma unroll
        for (int c = 0; c < 4; c++)
            neural_narrow(to + c * p.grid_stride[1], x[c]);
}

/* The results of a lane that are not finite once more, by their groups' terms alone. */
template <class T, bool LAST>
static __device__ __noinline__ void diagonal_again(const cuda_convolving &p,
                                                   const diagonal_place &o,
                                                   const diagonal_operands &of, int32_t first)
{
    const int32_t lane = (int32_t)threadIdx.x % 32, windows = p.tile[0] * p.tile[1];
    for (int32_t e = 0; e < DIAGONAL_GROUPS * 8; e++) {
        const int32_t row = lane / 4 + e / 4 % 2 * 8;
        const int32_t column = lane % 2 * 8 + lane % 4 / 2 * 4 + e % 4;
        const int32_t t = first + e / 8 * 16 + (LAST ? row : column), m = LAST ? column : row;
        T *to = diagonal_result<T>(p, o, windows, t, of.channel + m);
        if (to)
            neural_narrow(to, conv_finished<T>(p, diagonal_own<T>(p, o, of.kept, of.weights, t, m),
                                               of.channel + m));
    }
}

/* Neighbours exchange halves, so that each has four results side by side. */
template <class T, bool LAST>
WINDOW_FN void diagonal_save(const cuda_convolving &p, const diagonal_place &o,
                             const diagonal_operands &of, const diagonal_windows &w,
                             diagonal_sums &sum)
{
    const int32_t lane = (int32_t)threadIdx.x % 32;
    const bool odd = lane % 2;
    const int32_t from = odd * 8 + lane % 4 / 2 * 4;
    float finite = 0;
#pragma unroll
    for (int a = 0; a < DIAGONAL_GROUPS; a++)
#pragma unroll
        for (int i = 0; i < 2; i++) {
            const float *left = &sum[a][0][2 * i], *right = &sum[a][1][2 * i];
            const float other[2] = {__shfl_xor_sync(0xffffffffu, odd ? left[0] : right[0], 1),
                                    __shfl_xor_sync(0xffffffffu, odd ? left[1] : right[1], 1)};
            float x[4] = {odd ? other[0] : left[0], odd ? other[1] : left[1],
                          odd ? right[0] : other[0], odd ? right[1] : other[1]};
            const int32_t row = lane / 4 + 8 * i;
            finite += (x[0] - x[0]) + (x[1] - x[1]) + (x[2] - x[2]) + (x[3] - x[3]);
            diagonal_put_four<T, LAST>(p, o, w.windows, w.first + a * 16 + (LAST ? row : from),
                                       of.channel + (LAST ? from : row), x);
        }
    if (finite != 0)
        diagonal_again<T, LAST>(p, o, of, w.first);
}

template <class T, bool LAST> WINDOW_FN void diagonal_tile(const cuda_convolving &p)
{
    CONV_SHARED(memory);
    const diagonal_place o = diagonal_place_of(p);
    uint32_t *weights = (uint32_t *)(memory + p.weights_at);
    if (p.fours[0])
        diagonal_keep_beside<T>(p, o, memory);
    else if (p.fours[1])
        diagonal_keep_planes<T>(p, o, memory);
    else
        diagonal_keep_any<T>(p, o, memory);
    diagonal_weights(p, o, weights);
    mma_wait<0>();
    __syncthreads();
    const int32_t warps = (int32_t)blockDim.x / 32, taps = p.kernel[1] * p.kernel[2];
    const int32_t windows = p.tile[0] * p.tile[1];
    const int32_t jobs = (windows + DIAGONAL_PIXELS - 1) / DIAGONAL_PIXELS * p.pieces;
    for (int32_t i = (int32_t)threadIdx.x / 32; i < jobs; i += warps) {
        const int32_t piece = i & (p.pieces - 1), at = i >> (p.pieces - 1);
        const diagonal_windows w = diagonal_windows_of(p, at * DIAGONAL_PIXELS);
        diagonal_sums sum = {};
        const diagonal_operands of = {memory + diagonal_piece(p, piece),
                                      weights + piece * taps * DIAGONAL_WORDS,
                                      o.channel + piece * CONV_PIECE};
        diagonal_sum<T, LAST>(p, mma_address_of(of.kept),
                              of.weights + (int32_t)threadIdx.x % 32 * 4, w, sum);
        diagonal_save<T, LAST>(p, o, of, w, sum);
    }
}

/* Tensor cores take numbers of 16 bits alone, those of bfloat16 from compute capability 8.0 on. */
template <class T, bool LAST> WINDOW_FN void diagonal_windows_by_cores(const cuda_convolving &p)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    if constexpr (sizeof(T) == 2)
        diagonal_tile<T, LAST>(p);
#endif
}

#endif
