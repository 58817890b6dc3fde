/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Convolutions of f32 and their gradients as products of matrices of which the right one is gathered from the
 * image as it is needed: a block sums GATHER_M channels of GATHER_N pixels, in pieces of GATHER_K terms that
 * arrive in shared memory while earlier ones are summed. A piece is channels of one tap, so that a thread finds
 * out once a tap where its pixels' elements are. */
#ifndef NDOCK_CUDA_CONV_GATHERED_CUH
#define NDOCK_CUDA_CONV_GATHERED_CUH
#include "conv/conv.cuh"
#include "neural/mma.cuh"

/* Pitches of lines that are written across are four more than a multiple of 32, so that eight lines of four
 * numbers are in different banks. */
enum {
    GATHER_M = CONV_GATHER_ROWS,
    GATHER_N = CONV_GATHER_COLUMNS,
    GATHER_K = CONV_GATHER_DEPTH,
    GATHER_THREADS = CONV_GATHER_THREADS,
    GATHER_LEFT = GATHER_M + 4,
    GATHER_RIGHT = GATHER_N + 4,
    GATHER_STAGE = GATHER_K * (GATHER_LEFT + GATHER_RIGHT),
    GATHER_EACH = 8,    /* rows and columns of a thread */
    GATHER_UNROLLED = 8 /* terms, an even number */
};

#define WINDOW_MEMBER __device__ __forceinline__

/* ---- products ---- */

typedef float gather_sums[GATHER_EACH][GATHER_EACH];

/* Where a thread's rows and columns are: two fours of each, 16 rows and 32 columns apart. */
WINDOW_FN int32_t gather_row(void)
{
    const int32_t lane = (int32_t)threadIdx.x % 32, warp = (int32_t)threadIdx.x / 32;
    return warp / 2 * 32 + (lane % 2 + lane / 16 * 2) * 4;
}
WINDOW_FN int32_t gather_column(void)
{
    const int32_t lane = (int32_t)threadIdx.x % 32, warp = (int32_t)threadIdx.x / 32;
    return warp % 2 * 64 + lane / 2 % 8 * 4;
}

WINDOW_FN void gather_take(const float *left, const float *right, int k, float (&a)[GATHER_EACH],
                           float (&b)[GATHER_EACH])
{
#pragma unroll
    for (int i = 0; i < 2; i++) {
        float x[4], y[4];
        neural_load<float, 4>(left + k * GATHER_LEFT + i * 16, 0, x);
        neural_load<float, 4>(right + k * GATHER_RIGHT + i * 32, 0, y);
#pragma unroll
        for (int j = 0; j < 4; j++) {
            a[i * 4 + j] = x[j];
            b[i * 4 + j] = y[j];
        }
    }
}

/* The terms of a piece; those of the next term are loaded while one is summed, after the last one in vain. The code
 * of a few terms stays where instructions are fetched from at once. */
WINDOW_FN void gather_multiply(const float *stage, gather_sums &sum)
{
    const float *left = stage + gather_row(),
                *right = stage + GATHER_K * GATHER_LEFT + gather_column();
    float a[2][GATHER_EACH], b[2][GATHER_EACH];
    gather_take(left, right, 0, a[0], b[0]);
#pragma unroll 1
    for (int k = 0; k < GATHER_K; k += GATHER_UNROLLED) {
#pragma unroll
        for (int u = 0; u < GATHER_UNROLLED; u++) {
            gather_take(left, right, u + 1, a[(u + 1) % 2], b[(u + 1) % 2]);
#pragma unroll
            for (int i = 0; i < GATHER_EACH; i++)
#pragma unroll
                for (int j = 0; j < GATHER_EACH; j++)
                    sum[i][j] = neural_fma(a[u % 2][i], b[u % 2][j], sum[i][j]);
        }
        left += GATHER_UNROLLED * GATHER_LEFT;
        right += GATHER_UNROLLED * GATHER_RIGHT;
    }
}

/* All pieces of `loader`, whose fetch(i, left, right) begins copies of piece i. */
template <class L>
WINDOW_FN void gather_all(L &loader, float *memory, int32_t pieces, gather_sums &sum)
{
    const mma_address first = mma_address_of(memory);
    for (int32_t i = 0; i < CONV_GATHER_STAGES - 1; i++) {
        if (i < pieces)
            loader.fetch(i, first + i * GATHER_STAGE * 4);
        mma_commit();
    }
    int32_t now = 0, next = CONV_GATHER_STAGES - 1;
    for (int32_t i = 0; i < pieces; i++) {
        mma_wait<CONV_GATHER_STAGES - 2>();
        __syncthreads();
        if (i + CONV_GATHER_STAGES - 1 < pieces)
            loader.fetch(i + CONV_GATHER_STAGES - 1, first + next * GATHER_STAGE * 4);
        mma_commit();
        gather_multiply(memory + now * GATHER_STAGE, sum);
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
    const int64_t rows = (p.m + GATHER_M - 1) / GATHER_M * GATHER_M;
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
WINDOW_FN void gather_left(const cuda_convolving &p, int32_t piece, int32_t m0, mma_address to)
{
    const int64_t rows = (p.m + GATHER_M - 1) / GATHER_M * GATHER_M;
    const int32_t k = (int32_t)threadIdx.x / 16, m = (int32_t)threadIdx.x % 16 * 4;
    const float *from = (const float *)p.partial + ((int64_t)piece * GATHER_K + k) * rows + m0 + m;
#pragma unroll
    for (int i = 0; i < GATHER_K / 8; i++)
        mma_fetch(to + ((k + 8 * i) * GATHER_LEFT + m) * 4, from + 8 * i * rows, true);
}

/* Pixels lie side by side: a thread has one. */
struct gather_planes {
    const cuda_convolving &p;
    int32_t m0, tap, channel;
    gather_pixel at;
    const float *from;
    bool here, inside;

    WINDOW_MEMBER gather_planes(const cuda_convolving &params, int32_t m, int32_t n0, float *)
        : p(params), m0(m), tap(-1), channel(0)
    {
        const int32_t n = n0 + (int32_t)threadIdx.x;
        here = n < p.n;
        at = gather_pixel_of(p, here ? n : 0);
        begin();
    }
    WINDOW_MEMBER void begin()
    {
        int64_t offset;
        tap++;
        channel = 0;
        inside = gather_meets(p, at, tap, &offset) && here;
        from = (const float *)p.image + (inside ? offset : 0);
    }
    WINDOW_MEMBER void fetch(int32_t piece, mma_address to)
    {
        const int32_t channels = p.flip ? p.co : p.ci;
        gather_left(p, piece, m0, to);
        to += (GATHER_K * GATHER_LEFT + threadIdx.x) * 4;
        if (channel == channels)
            begin();
        const float *x = from + channel * p.image_stride[1];
#pragma unroll
        for (int k = 0; k < GATHER_K; k++, x += p.image_stride[1])
            mma_fetch_word(to + k * GATHER_RIGHT * 4, x, inside);
        channel += GATHER_K;
    }
};

/* Channels lie side by side: eight threads have one pixel's, of every sixteenth pixel. Where its elements are by
 * a tap is in shared memory before the tap's first piece; -1: it has none. */
struct gather_beside {
    enum { APART = GATHER_THREADS / 8 };
    const cuda_convolving &p;
    int32_t m0, tap, channel;
    gather_pixel at;
    bool here;
    int32_t *table;

    WINDOW_MEMBER gather_beside(const cuda_convolving &params, int32_t m, int32_t n0, float *memory)
        : p(params), m0(m), tap(0), channel(0)
    {
        const int32_t n = n0 + (int32_t)threadIdx.x;
        here = n < p.n;
        at = gather_pixel_of(p, here ? n : 0);
        table = (int32_t *)(memory + CONV_GATHER_STAGES * GATHER_STAGE);
        write(0);
        __syncthreads();
    }
    WINDOW_MEMBER void write(int32_t t)
    {
        int64_t offset;
        const bool inside = gather_meets(p, at, t, &offset) && here;
        table[t % 2 * GATHER_N + threadIdx.x] = inside ? (int32_t)offset : -1;
    }
    WINDOW_MEMBER void fetch(int32_t piece, mma_address to)
    {
        const int32_t channels = p.flip ? p.co : p.ci, k = (int32_t)threadIdx.x % 8;
        gather_left(p, piece, m0, to);
        if (channel == channels) {
            channel = 0;
            tap++;
        }
        if (channel == 0 && tap + 1 < p.kernel[1] * p.kernel[2])
            write(tap + 1);
        const int32_t first = (int32_t)threadIdx.x / 8;
        const int32_t *place = table + tap % 2 * GATHER_N + first;
        to += (GATHER_K * GATHER_LEFT + k * GATHER_RIGHT + first) * 4;
        const float *x = (const float *)p.image + channel + k;
#pragma unroll
        for (int i = 0; i < GATHER_N / APART; i++) {
            const int32_t offset = place[i * APART];
#pragma unroll
            for (int j = 0; j < GATHER_K / 8; j++)
                mma_fetch_word(to + (j * 8 * GATHER_RIGHT + i * APART) * 4,
                               x + (offset < 0 ? 0 : offset) + j * 8, offset >= 0);
        }
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

template <class L> WINDOW_FN void gathered_windows(const cuda_convolving &p)
{
    CONV_SHARED(memory);
    const int32_t m0 = (int32_t)blockIdx.y * GATHER_M, n0 = (int32_t)blockIdx.x * GATHER_N;
    gather_sums sum = {};
    L loader(p, m0, n0, (float *)memory);
    gather_all(loader, (float *)memory, (int32_t)(p.k / GATHER_K), sum);
    const int32_t m = m0 + gather_row(), n = n0 + gather_column();
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
        for (int j = 0; j < 2; j++) {
            float x[4][4];
#pragma unroll
            for (int a = 0; a < 4; a++)
#pragma unroll
                for (int b = 0; b < 4; b++)
                    x[a][b] = sum[i * 4 + a][j * 4 + b];
            gather_save(p, m + i * 16, n + j * 32, x);
        }
}

/* ---- the gradient for the weight ---- */

/* Terms are pixels of the grid, of which eight threads have eight; columns are taps of GATHER_M channels of the
 * image, two of them in a block. */
struct gather_terms {
    enum { APART = GATHER_THREADS / 8, EACH = GATHER_M / APART };
    const cuda_convolving &p;
    int32_t m, term, end;
    const float *grid, *image;
    int32_t tap[2], channel[2];

    WINDOW_MEMBER gather_terms(const cuda_convolving &params, int32_t m0, int32_t n0, int32_t begin,
                               int32_t to)
        : p(params), m(m0 + (int32_t)threadIdx.x / 8), term(begin + (int32_t)threadIdx.x % 8),
          end(to)
    {
        grid = (const float *)p.grid + m * p.grid_stride[1];
        image = (const float *)p.image;
#pragma unroll
        for (int h = 0; h < 2; h++) {
            tap[h] = (int32_t)cuda_quotient((uint32_t)(n0 + h * GATHER_M), p.by_ci);
            channel[h] = n0 + h * GATHER_M - tap[h] * p.ci + (int32_t)threadIdx.x / 8;
        }
    }
    WINDOW_MEMBER void fetch(int32_t piece, mma_address to)
    {
        const int32_t first = (int32_t)threadIdx.x / 8, k = (int32_t)threadIdx.x % 8;
#pragma unroll
        for (int j = 0; j < GATHER_K / 8; j++) {
            const int32_t t = term + piece * GATHER_K + j * 8;
            const gather_pixel at = gather_pixel_of(p, t < end ? t : 0);
            const float *y =
                grid + at.n * p.grid_stride[0] + at.h * p.grid_stride[3] + at.w * p.grid_stride[4];
            mma_address left = to + ((k + 8 * j) * GATHER_LEFT + first) * 4;
#pragma unroll
            for (int i = 0; i < EACH; i++) {
                const bool there = t < end && m + i * APART < p.m;
                mma_fetch_word(left + i * APART * 4,
                               there ? y + i * APART * p.grid_stride[1] : image, there);
            }
            mma_address right =
                to + (GATHER_K * GATHER_LEFT + (k + 8 * j) * GATHER_RIGHT + first) * 4;
#pragma unroll
            for (int h = 0; h < 2; h++) {
                int64_t offset;
                const bool inside = gather_meets(p, at, tap[h], &offset) && t < end &&
                                    tap[h] < p.kernel[1] * p.kernel[2];
                const float *x = image + (inside ? offset + channel[h] * p.image_stride[1] : 0);
#pragma unroll
                for (int i = 0; i < EACH; i++, x += inside ? APART * p.image_stride[1] : 0)
                    mma_fetch_word(right + (h * GATHER_M + i * APART) * 4, x, inside);
            }
        }
    }
};

/* As gather_terms where channels lie side by side, in vectors of four: sixteen threads have the channels of a
 * pixel, of every eighth pixel. */
struct gather_terms_beside {
    enum { APART = GATHER_THREADS / 16 };
    const cuda_convolving &p;
    int32_t term, end;
    const float *grid, *image;
    int32_t tap[2];
    bool rows;

    WINDOW_MEMBER gather_terms_beside(const cuda_convolving &params, int32_t m0, int32_t n0,
                                      int32_t begin, int32_t to)
        : p(params), term(begin + (int32_t)threadIdx.x / 16), end(to)
    {
        const int32_t four = (int32_t)threadIdx.x % 16 * 4;
        grid = (const float *)p.grid + m0 + four;
        image = (const float *)p.image + four;
        rows = m0 + four < p.m;
#pragma unroll
        for (int h = 0; h < 2; h++)
            tap[h] = (int32_t)cuda_quotient((uint32_t)(n0 + h * GATHER_M), p.by_ci);
        channel = n0 - tap[0] * p.ci;
        next = n0 + GATHER_M - tap[1] * p.ci;
    }
    WINDOW_MEMBER void fetch(int32_t piece, mma_address to)
    {
        const int32_t k = (int32_t)threadIdx.x / 16, four = (int32_t)threadIdx.x % 16 * 4;
#pragma unroll
        for (int j = 0; j < GATHER_K / APART; j++) {
            const int32_t t = term + piece * GATHER_K + j * APART;
            const gather_pixel at = gather_pixel_of(p, t < end ? t : 0);
            const bool there = t < end && rows;
            mma_fetch(to + ((k + APART * j) * GATHER_LEFT + four) * 4,
                      there ? grid + at.n * p.grid_stride[0] + at.h * p.grid_stride[3] +
                                  at.w * p.grid_stride[4]
                            : image,
                      there);
            const mma_address right =
                to + (GATHER_K * GATHER_LEFT + (k + APART * j) * GATHER_RIGHT + four) * 4;
#pragma unroll
            for (int h = 0; h < 2; h++) {
                int64_t offset;
                const bool inside = gather_meets(p, at, tap[h], &offset) && t < end &&
                                    tap[h] < p.kernel[1] * p.kernel[2];
                mma_fetch(right + h * GATHER_M * 4,
                          image + (inside ? offset + (h ? next : channel) : 0), inside);
            }
        }
    }
    int32_t channel, next; /* the first of either tap */
};

/* blockIdx.y counts splits of the terms, and tiles of rows in each. */
template <class L> WINDOW_FN void gathered_gradient(const cuda_convolving &p)
{
    CONV_SHARED(memory);
    const int32_t split = (int32_t)cuda_quotient(blockIdx.y, p.tiles_m);
    const int32_t m0 = (int32_t)(blockIdx.y - (uint32_t)split * p.tiles_m.value) * GATHER_M;
    const int32_t n0 = (int32_t)blockIdx.x * GATHER_N, taps = p.kernel[1] * p.kernel[2];
    const int32_t begin = (int32_t)(split * p.part);
    const int32_t end = (int32_t)(begin + p.part < p.k ? begin + p.part : p.k);
    gather_sums sum = {};
    L loader(p, m0, n0, begin, end);
    gather_all(loader, (float *)memory, (end - begin + GATHER_K - 1) / GATHER_K, sum);
    float *to = (float *)p.partial + split * p.m * p.n;
#pragma unroll
    for (int i = 0; i < GATHER_EACH; i++)
#pragma unroll
        for (int j = 0; j < GATHER_EACH; j++) {
            const int32_t m = m0 + gather_row() + i / 4 * 16 + i % 4;
            const int32_t n = n0 + gather_column() + j / 4 * 32 + j % 4;
            const int32_t tap = (int32_t)cuda_quotient((uint32_t)n, p.by_ci);
            if (m < p.m && n < p.n)
                to[m * p.n + (n - tap * p.ci) * taps + tap] = sum[i][j];
        }
}

#endif
