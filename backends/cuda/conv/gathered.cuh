/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Convolutions of f32 and their gradients as products of matrices of which the right one is gathered from the
 * image as it is needed: a block sums a tile of channels and pixels, in pieces of GATHER_K terms that
 * arrive in shared memory while earlier ones are summed. A piece is channels of one tap, so that a thread finds
 * out once a tap where its pixels' elements are. */
#ifndef NDOCK_CUDA_CONV_GATHERED_CUH
#define NDOCK_CUDA_CONV_GATHERED_CUH
#include "conv/conv.cuh"
#include "neural/mma.cuh"

enum {
    GATHER_K = CONV_GATHER_DEPTH,
    GATHER_THREADS = CONV_GATHER_THREADS,
    GATHER_ROWS = 8, /* of a thread */
    GATHER_COLUMNS = 12,
    GATHER_SPAN = 8 * GATHER_COLUMNS, /* columns of a warp */
    GATHER_UNROLLED = 8               /* terms, an even number */
};

#define WINDOW_MEMBER __device__ __forceinline__

/* A block's tile of ROWS rows and as many columns as make CONV_GATHER_SUMS sums. Pitches of lines that are written
 * across are four more than a multiple of 32, so that eight lines of four numbers are in different banks. A thread
 * has 8 rows and 12 columns: with 8 columns it would read a byte of shared memory for each multiplication, all that a
 * multiprocessor has by count (no profiler was asked). */
template <int ROWS> struct gather_tile {
    enum {
        M = ROWS,
        N = CONV_GATHER_SUMS / ROWS,
        LEFT = M + 4, /* pitches */
        RIGHT = N + 4,
        STAGE = GATHER_K * (LEFT + RIGHT),
        ACROSS = N / GATHER_SPAN /* warps */
    };
};

/* ---- products ---- */

typedef float gather_sums[GATHER_ROWS][GATHER_COLUMNS];

/* Where a thread's rows and columns are: fours of each, 16 rows and 32 columns apart. */
template <class P> WINDOW_FN int32_t gather_row(void)
{
    const int32_t lane = (int32_t)threadIdx.x % 32, warp = (int32_t)threadIdx.x / 32;
    return warp / P::ACROSS * 32 + (lane % 2 + lane / 16 * 2) * 4;
}
template <class P> WINDOW_FN int32_t gather_column(void)
{
    const int32_t lane = (int32_t)threadIdx.x % 32, warp = (int32_t)threadIdx.x / 32;
    return warp % P::ACROSS * GATHER_SPAN + lane / 2 % 8 * 4;
}

/* FOURS of a line, APART apart. */
template <int FOURS, int APART>
WINDOW_FN void gather_take(const float *line, float (&to)[FOURS * 4])
{
#pragma unroll
    for (int i = 0; i < FOURS; i++) {
        float x[4];
        neural_load<float, 4>(line + i * APART, 0, x);
#pragma unroll
        for (int j = 0; j < 4; j++)
            to[i * 4 + j] = x[j];
    }
}

/* The terms of a piece; those of the next term are loaded while one is summed, after the last one in vain. The code
 * of a few terms stays where instructions are fetched from at once. */
template <class P> WINDOW_FN void gather_multiply(const float *stage, gather_sums &sum)
{
    const float *left = stage + gather_row<P>(),
                *right = stage + GATHER_K * P::LEFT + gather_column<P>();
    float a[2][GATHER_ROWS], b[2][GATHER_COLUMNS];
    gather_take<GATHER_ROWS / 4, 16>(left, a[0]);
    gather_take<GATHER_COLUMNS / 4, 32>(right, b[0]);
#pragma unroll 1
    for (int k = 0; k < GATHER_K; k += GATHER_UNROLLED) {
#pragma unroll
        for (int u = 0; u < GATHER_UNROLLED; u++) {
            gather_take<GATHER_ROWS / 4, 16>(left + (u + 1) * P::LEFT, a[(u + 1) % 2]);
            gather_take<GATHER_COLUMNS / 4, 32>(right + (u + 1) * P::RIGHT, b[(u + 1) % 2]);
#pragma unroll
            for (int i = 0; i < GATHER_ROWS; i++)
#pragma unroll
                for (int j = 0; j < GATHER_COLUMNS; j++)
                    sum[i][j] = neural_fma(a[u % 2][i], b[u % 2][j], sum[i][j]);
        }
        left += GATHER_UNROLLED * P::LEFT;
        right += GATHER_UNROLLED * P::RIGHT;
    }
}

/* All pieces of `loader`, whose fetch(i, left, right) begins copies of piece i. */
template <class P, class L>
WINDOW_FN void gather_all(L &loader, float *memory, int32_t pieces, gather_sums &sum)
{
    const mma_address first = mma_address_of(memory);
    for (int32_t i = 0; i < CONV_GATHER_STAGES - 1; i++) {
        if (i < pieces)
            loader.fetch(i, first + i * P::STAGE * 4);
        mma_commit();
    }
    int32_t now = 0, next = CONV_GATHER_STAGES - 1;
    for (int32_t i = 0; i < pieces; i++) {
        mma_wait<CONV_GATHER_STAGES - 2>();
        __syncthreads();
        if (i + CONV_GATHER_STAGES - 1 < pieces)
            loader.fetch(i + CONV_GATHER_STAGES - 1, first + next * P::STAGE * 4);
        mma_commit();
        gather_multiply<P>(memory + now * P::STAGE, sum);
        now = now == CONV_GATHER_STAGES - 1 ? 0 : now + 1;
        next = next == CONV_GATHER_STAGES - 1 ? 0 : next + 1;
    }
}

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
 * before the tap's first piece; -1: it has none. BESIDE: channels lie side by side, and eight threads have one
 * pixel's; or pixels do, and a warp has some channels of each. */
template <class P, bool BESIDE> struct gather_pixels {
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
            const bool here = n0 + i < p.n;
            const bool inside = gather_meets(p, gather_pixel_of(p, here ? n0 + i : 0), t, &offset);
            table[t % 2 * P::N + i] = inside && here ? (int32_t)offset : -1;
        }
    }
    WINDOW_MEMBER void fetch_beside(const int32_t *place, mma_address to)
    {
        enum { APART = GATHER_THREADS / 8 };
        const int32_t k = (int32_t)threadIdx.x % 8, first = (int32_t)threadIdx.x / 8;
        const float *x = (const float *)p.image + channel + k;
        to += (k * P::RIGHT + first) * 4;
#pragma unroll
        for (int i = 0; i < P::N / APART; i++) {
            const int32_t offset = place[first + i * APART];
#pragma unroll
            for (int j = 0; j < GATHER_K / 8; j++)
                mma_fetch_word(to + (j * 8 * P::RIGHT + i * APART) * 4,
                               x + (offset < 0 ? 0 : offset) + j * 8, offset >= 0);
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
        if (BESIDE)
            fetch_beside(place, to + GATHER_K * P::LEFT * 4);
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

template <class P, bool BESIDE> WINDOW_FN void gathered_windows(const cuda_convolving &p)
{
    CONV_SHARED(memory);
    const int32_t m0 = (int32_t)blockIdx.y * P::M, n0 = (int32_t)blockIdx.x * P::N;
    gather_sums sum = {};
    gather_pixels<P, BESIDE> loader(p, m0, n0, (float *)memory);
    gather_all<P>(loader, (float *)memory, (int32_t)(p.k / GATHER_K), sum);
    const int32_t m = m0 + gather_row<P>(), n = n0 + gather_column<P>();
#pragma unroll
    for (int i = 0; i < GATHER_ROWS / 4; i++)
#pragma unroll
        for (int j = 0; j < GATHER_COLUMNS / 4; j++) {
            float x[4][4];
#pragma unroll
            for (int a = 0; a < 4; a++)
#pragma unroll
                for (int b = 0; b < 4; b++)
                    x[a][b] = sum[i * 4 + a][j * 4 + b];
            gather_save(p, m + i * 16, n + j * 32, x);
        }
}

#endif
