/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Convolutions of f32 and the gradients for their images as products of matrices (gathered_product.cuh) of which the
 * right one is gathered from the image as it is needed. A piece is channels of one tap, so that a thread finds out once a
 * tap where its pixels' elements are. */
#ifndef NDOCK_CUDA_CONV_GATHERED_CUH
#define NDOCK_CUDA_CONV_GATHERED_CUH
#include "conv/gathered_product.cuh"

/* ---- pixels ---- */

typedef struct {
    int32_t n, h, w;
} gather_pixel;

/* by_tiles: a row's pixels, a plane's. */
WINDOW_FN gather_pixel gather_pixel_of(const cuda_convolving &p, int32_t i)
{
    const uint32_t n = cuda_quotient((uint32_t)i, p.by_tiles[1]);
    const uint32_t rest = (uint32_t)i - n * p.by_tiles[1].value,
                   h = cuda_quotient(rest, p.by_tiles[0]);
    return {(int32_t)n, (int32_t)h, (int32_t)(rest - h * p.by_tiles[0].value)};
}

/* Element of the image that a pixel's window meets by a tap, whether there is one. */
WINDOW_FN bool gather_meets(const cuda_convolving &p, const gather_pixel &at, int32_t tap,
                            int64_t *offset)
{
    const int32_t i = (int32_t)cuda_quotient((uint32_t)tap, p.by_kernel[2]);
    const int32_t y = at.h * p.stride[1] - p.before[1] + i * p.dilation[1];
    const int32_t x = at.w * p.stride[2] - p.before[2] + (tap - i * p.kernel[2]) * p.dilation[2];
    *offset = at.n * p.image_stride[0] + y * p.image_stride[3] + x * p.image_stride[4];
    return (uint32_t)y < (uint32_t)p.image_extent[1] && (uint32_t)x < (uint32_t)p.image_extent[2];
}

/* ---- forward, and the gradient for the image ---- */

/* Weights as [tap][channel of the image][row], padded with 0 to whole tiles of rows. */
WINDOW_FN void gather_weights(const cuda_convolving &p)
{
    const int32_t channels = p.flip ? p.co : p.ci, taps = p.kernel[1] * p.kernel[2];
    const int64_t rows = p.rows;
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows * channels)
        return;
    const int32_t channel = (int32_t)(i / rows), m = (int32_t)(i - channel * rows);
    const int64_t from =
        (p.flip ? channel : m) * p.weight_stride[0] + (p.flip ? m : channel) * p.weight_stride[1];
    for (int32_t tap = 0; tap < taps; tap++) {
        const int32_t t = p.flip ? taps - 1 - tap : tap;
        const int32_t row = (int32_t)cuda_quotient((uint32_t)t, p.by_kernel[2]);
        ((float *)p.partial)[(tap * (int64_t)channels + channel) * rows + m] =
            m < p.m ? ((const float *)p.weight)[from + row * p.weight_stride[3] +
                                                (t - row * p.kernel[2]) * p.weight_stride[4]]
                    : 0;
    }
}

/* Rows of the weights, by vectors. */
template <class P>
WINDOW_FN void gather_left(const cuda_convolving &p, int32_t piece, int32_t m0, mma_address to)
{
    enum { VECTORS = P::M / 4, LINES = GATHER_THREADS / VECTORS };
    const int32_t k = (int32_t)threadIdx.x / VECTORS, m = (int32_t)threadIdx.x % VECTORS * 4;
    const float *from =
        (const float *)p.partial + ((int64_t)piece * GATHER_K + k) * p.rows + m0 + m;
#pragma unroll
    for (int i = 0; i < GATHER_K / LINES; i++)
        mma_fetch(to + ((k + LINES * i) * P::LEFT + m) * 4, from + LINES * i * (int64_t)p.rows,
                  true);
}

/* Pixels of a tile and the channels of one tap at a time. Where a pixel's elements are by a tap is in shared memory
 * before the tap's first piece; -1: it has none. Where each pixel has a line, channels lie side by side, and four
 * threads have one pixel's; or a warp has some channels of each. */
template <class P> struct gather_pixels {
    const cuda_convolving &p;
    int32_t m0, n0, tap, channel;
    int32_t *table;

    WINDOW_MEMBER gather_pixels(const cuda_convolving &params, int32_t m, int32_t n, float *memory)
        : p(params), m0(m), n0(n), tap(0), channel(0)
    {
        table = (int32_t *)(memory + CONV_GATHER_STAGES * P::STAGE);
        write(0);
        __syncthreads();
    }
    WINDOW_MEMBER void write(int32_t t)
    {
        for (int32_t i = (int32_t)threadIdx.x; i < P::N; i += GATHER_THREADS) {
            int64_t offset;
            const int32_t n = n0 + (P::BY_COLUMNS ? gather_column_of(i) : i);
            const bool here = n < p.n;
            const bool inside = gather_meets(p, gather_pixel_of(p, here ? n : 0), t, &offset);
            table[t % 2 * P::N + i] = inside && here ? (int32_t)offset : -1;
        }
    }
    WINDOW_MEMBER void fetch_lines(const int32_t *place, mma_address to)
    {
        enum { VECTORS = GATHER_K / 4, APART = GATHER_THREADS / VECTORS };
        const int32_t k = (int32_t)threadIdx.x % VECTORS * 4,
                      first = (int32_t)threadIdx.x / VECTORS;
        const float *x = (const float *)p.image + channel + k;
        to += (first * P::RIGHT + k) * 4;
#pragma unroll
        for (int i = 0; i < P::N / APART; i++) {
            const int32_t offset = place[first + i * APART];
            mma_fetch(to + i * APART * P::RIGHT * 4, x + (offset < 0 ? 0 : offset), offset >= 0);
        }
    }
    WINDOW_MEMBER void fetch_planes(const int32_t *place, mma_address to)
    {
        enum { EACH = GATHER_K / (GATHER_THREADS / 32) };
        const int32_t lane = (int32_t)threadIdx.x % 32, k = (int32_t)threadIdx.x / 32 * EACH;
        const float *x = (const float *)p.image + (channel + k) * p.image_stride[1];
        to += (k * P::RIGHT + lane) * 4;
#pragma unroll
        for (int i = 0; i < P::N / 32; i++) {
            const int32_t offset = place[lane + i * 32];
            const float *from = x + (offset < 0 ? 0 : offset);
#pragma unroll
            for (int j = 0; j < EACH; j++, from += p.image_stride[1])
                mma_fetch_word(to + (j * P::RIGHT + i * 32) * 4, from, offset >= 0);
        }
    }
    WINDOW_MEMBER void fetch(int32_t piece, mma_address to)
    {
        const int32_t channels = p.flip ? p.co : p.ci;
        gather_left<P>(p, piece, m0, to);
        if (channel == channels) {
            channel = 0;
            tap++;
        }
        if (channel == 0 && tap + 1 < p.kernel[1] * p.kernel[2])
            write(tap + 1);
        const int32_t *place = table + tap % 2 * P::N;
        if (P::BY_COLUMNS)
            fetch_lines(place, to + GATHER_K * P::LEFT * 4);
        else
            fetch_planes(place, to + GATHER_K * P::LEFT * 4);
        channel += GATHER_K;
    }
};

/* Four rows and four columns from (m, n) on. */
WINDOW_FN void gather_save(const cuda_convolving &p, int32_t m, int32_t n, float (&x)[4][4])
{
    float *to = (float *)p.grid;
    int64_t offset[4];
#pragma unroll
    for (int j = 0; j < 4; j++) {
        const gather_pixel at = gather_pixel_of(p, n + j < p.n ? n + j : 0);
        offset[j] = at.n * p.grid_stride[0] + at.h * p.grid_stride[3] + at.w * p.grid_stride[4] +
                    m * p.grid_stride[1];
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const float bias =
            p.bias && m + i < p.m ? ((const float *)p.bias)[(m + i) * p.bias_stride] : 0;
#pragma unroll
        for (int j = 0; j < 4; j++)
            x[i][j] = p.bias ? x[i][j] + bias : x[i][j];
        if (p.epilogue)
            conv_activate_four(p.epilogue, x[i]);
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
        if (p.whole == CONV_WHOLE_PIXELS) {
            if (m + i < p.m && n < p.n)
                neural_store<float, 4>(to + offset[0] + i * p.grid_stride[1], 0, x[i]);
            continue;
        }
        float column[4] = {x[0][i], x[1][i], x[2][i], x[3][i]};
        if (n + i >= p.n)
            continue;
        if (p.whole == CONV_WHOLE_CHANNELS && m < p.m)
            neural_store<float, 4>(to + offset[i], 0, column);
        else
            for (int j = 0; j < 4 && m + j < p.m; j++)
                to[offset[i] + j * p.grid_stride[1]] = column[j];
    }
}

/* A result from its definition, but for bias and epilogue. What is outside of the image counts as zeros, whose product
 * with an infinity is no number. */
struct gather_result {
    const cuda_convolving &p;

    WINDOW_MEMBER float operator()(int32_t m, int32_t n) const
    {
        const int32_t channels = p.flip ? p.co : p.ci, taps = p.kernel[1] * p.kernel[2];
        float sum = 0;
        if (m >= p.m || n >= p.n)
            return 0;
        for (int32_t tap = 0; tap < taps; tap++) {
            int64_t offset;
            const bool inside = gather_meets(p, gather_pixel_of(p, n), tap, &offset);
            const float *w = (const float *)p.partial + tap * (int64_t)channels * p.rows + m,
                        *x = (const float *)p.image + (inside ? offset : 0);
            for (int32_t i = 0; i < channels; i++)
                sum = neural_fma(w[i * (int64_t)p.rows], inside ? x[i * p.image_stride[1]] : 0.0f,
                                 sum);
        }
        return sum;
    }
};

template <class P> WINDOW_FN void gathered_windows(const cuda_convolving &p)
{
    CONV_SHARED(memory);
    const int32_t m0 = (int32_t)blockIdx.y * P::M, n0 = (int32_t)blockIdx.x * P::N;
    gather_sums sum = {};
    gather_pixels<P> loader(p, m0, n0, (float *)memory);
    gather_all<P>(loader, (float *)memory, (int32_t)(p.k / GATHER_K), sum);
    const gather_result of = {p};
#pragma unroll
    for (int i = 0; i < GATHER_ROWS / 4; i++)
#pragma unroll
        for (int j = 0; j < GATHER_COLUMNS / 4; j++) {
            const int32_t m = m0 + gather_row<P>(i), n = n0 + gather_column<P>(j);
            gather_square x = gather_square_of(sum, i, j, of, m, n);
            gather_save(p, m, n, x.x);
        }
}

#endif
