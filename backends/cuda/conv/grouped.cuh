/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Convolutions of groups of some channels, two axes of windows, and their gradients: a block keeps the
 * elements that a tile of windows of one group meets in shared memory, by fours of channels, so that each
 * is read from memory once, in whatever order it lies there. */
#ifndef NDOCK_CUDA_CONV_GROUPED_CUH
#define NDOCK_CUDA_CONV_GROUPED_CUH
#include "conv/conv.cuh"

enum { GROUPED_WINDOWS = 4 }; /* of a thread */

/* How the elements of a tile are kept: [channel/4][row][column][4], channels padded with 0; fours: memory
 * has them in whole vectors of four channels. */
typedef struct {
    int32_t channels, padded, rows, columns, fours;
} grouped_form;

/* Rows from y0 and columns from x0 on; 0 where there is none. `from` is the first channel. */
template <class T, class C>
WINDOW_FN void grouped_keep(C *kept, const T *from, const int64_t (&stride)[5],
                            const int32_t (&extent)[3], const grouped_form &f, int32_t y0,
                            int32_t x0)
{
    const int32_t size = f.fours ? 4 : 1; /* channels of an item */
    const int32_t outer = f.fours ? f.rows : f.rows * f.padded;
    const int32_t inner = f.fours ? f.padded / 4 : 1;
    for (int32_t i = (int32_t)threadIdx.x / 32; i < outer; i += (int32_t)blockDim.x / 32) {
        const int32_t first = f.fours ? 0 : i / f.rows, row = i - first * f.rows, y = y0 + row;
        const bool in_row = (uint32_t)y < (uint32_t)extent[1];
        for (int32_t j = (int32_t)threadIdx.x % 32; j < f.columns * inner; j += 32) {
            const int32_t column = f.fours ? j / inner : j;
            const int32_t channel = f.fours ? (j - column * inner) * size : first, x = x0 + column;
            const bool has = in_row && (uint32_t)x < (uint32_t)extent[2] && channel < f.channels;
            const T *at = from + channel * stride[1] + y * stride[3] + x * stride[4];
            C *to = kept + ((channel / 4 * f.rows + row) * f.columns + column) * 4 + channel % 4;
            C value[4] = {};
            if (f.fours) {
                if (has)
                    neural_load<T, 4>(at, 0, value);
                *(neural_vector<C, 4> *)to = {{value[0], value[1], value[2], value[3]}};
            } else {
                *to = has ? (C)neural_widen(*at) : (C)0;
            }
        }
    }
}

/* The weights of a group as [made/8][tap][channel][8], padded with 0; flip: those of the gradient for the
 * image, whose taps are counted from the last. */
template <class T, class C>
WINDOW_FN void grouped_weights(const cuda_convolving &p, C *kept, int32_t group, int32_t made,
                               int32_t channels)
{
    const int32_t taps = p.kernel[1] * p.kernel[2], padded = (channels + 3) / 4 * 4;
    const int32_t all = (made + CONV_MADE - 1) / CONV_MADE * taps * padded * CONV_MADE;
    for (int32_t i = (int32_t)threadIdx.x; i < all; i += (int32_t)blockDim.x) {
        int32_t rest = i / CONV_MADE;
        const int32_t channel = rest % padded;
        rest /= padded;
        const int32_t chunk = rest / taps, tap = rest - chunk * taps;
        const int32_t m = chunk * CONV_MADE + i % CONV_MADE;
        const int32_t from = p.flip ? taps - 1 - tap : tap, row = from / p.kernel[2];
        const int32_t o = group * p.co + (p.flip ? channel : m), c = p.flip ? m : channel;
        C value = 0;
        if (m < made && channel < channels)
            value = neural_widen(
                ((const T *)p.weight)[o * p.weight_stride[0] + c * p.weight_stride[1] +
                                      row * p.weight_stride[3] +
                                      (from - row * p.kernel[2]) * p.weight_stride[4]]);
        kept[i] = value;
    }
}

typedef struct {
    int32_t n, h, w; /* image, first row and column of the grid */
} grouped_tile;
WINDOW_FN grouped_tile grouped_at(const cuda_convolving &p, uint32_t tile)
{
    const uint32_t rest = cuda_quotient(tile, p.by_tiles[1]),
                   n = cuda_quotient(rest, p.by_tiles[0]);
    return {(int32_t)n, (int32_t)(rest - n * p.by_tiles[0].value) * p.tile[0],
            (int32_t)(tile - rest * p.by_tiles[1].value) * p.tile[1]};
}

/* CONV_MADE channels, from m on, of GROUPED_WINDOWS windows, whose elements begin at place. */
template <class C>
WINDOW_FN void grouped_sum(const cuda_convolving &p, const C *kept, const C *weights,
                           int32_t channels, const int32_t (&place)[GROUPED_WINDOWS],
                           C (&sum)[GROUPED_WINDOWS][CONV_MADE])
{
    const int32_t plane = p.kept[0] * p.kept[1] * 4;
    for (int32_t i = 0; i < p.kernel[1]; i++)
        for (int32_t j = 0; j < p.kernel[2]; j++) {
            const C *from = kept + (i * p.dilation[1] * p.kept[1] + j * p.dilation[2]) * 4;
            for (int32_t c = 0; c < channels; c += 4, from += plane) {
                C x[GROUPED_WINDOWS][4];
#pragma unroll
                for (int a = 0; a < GROUPED_WINDOWS; a++)
                    neural_load<C, 4>(from + place[a], 0, x[a]);
#pragma unroll
                for (int k = 0; k < 4; k++, weights += CONV_MADE) {
                    C share[2][4];
                    neural_load<C, 4>(weights, 0, share[0]);
                    neural_load<C, 4>(weights, 1, share[1]);
#pragma unroll
                    for (int a = 0; a < GROUPED_WINDOWS; a++)
#pragma unroll
                        for (int m = 0; m < CONV_MADE; m++)
                            sum[a][m] = neural_fma(share[m / 4][m % 4], x[a][k], sum[a][m]);
                }
            }
        }
}

template <class T, class C>
WINDOW_FN void grouped_save(const cuda_convolving &p, T *to, int32_t channel, int32_t count,
                            C (&sum)[CONV_MADE])
{
#pragma unroll
    for (int m = 0; m < CONV_MADE; m++)
        if (m < count)
            sum[m] = conv_finished<T>(p, sum[m], channel + m);
    if (p.whole && count >= CONV_MADE) {
        neural_store<T, CONV_MADE>(to, 0, sum);
        return;
    }
#pragma unroll
    for (int m = 0; m < CONV_MADE; m++)
        if (m < count)
            neural_narrow(to + m * p.grid_stride[1], sum[m]);
}

/* A tile of the grid; for the gradient for the image these have changed places, see turn_around(). */
template <class T, class C> WINDOW_FN void grouped_windows(const cuda_convolving &p)
{
    CONV_SHARED(memory);
    C *kept = (C *)memory, *weights = (C *)(memory + p.weights_at);
    const int32_t group = (int32_t)blockIdx.y;
    const int32_t channels = p.flip ? p.co : p.ci, made = p.flip ? p.ci : p.co;
    const grouped_tile at = grouped_at(p, blockIdx.x);
    const grouped_form form = {channels, (channels + 3) / 4 * 4, p.kept[0], p.kept[1], p.fours[0]};
    grouped_keep(kept,
                 (const T *)p.image + at.n * p.image_stride[0] +
                     (int64_t)group * channels * p.image_stride[1],
                 p.image_stride, p.image_extent, form, at.h * p.stride[1] - p.before[1],
                 at.w * p.stride[2] - p.before[2]);
    grouped_weights<T>(p, weights, group, made, channels);
    __syncthreads();
    const int32_t windows = p.tile[0] * p.tile[1], threads = (int32_t)blockDim.x;
    const int32_t taps = p.kernel[1] * p.kernel[2];
    for (int32_t i = (int32_t)threadIdx.x; i < windows; i += GROUPED_WINDOWS * threads) {
        int32_t place[GROUPED_WINDOWS], h[GROUPED_WINDOWS], w[GROUPED_WINDOWS];
#pragma unroll
        for (int a = 0; a < GROUPED_WINDOWS; a++) {
            const int32_t k = i + a * threads < windows ? i + a * threads : i;
            h[a] = (int32_t)cuda_quotient((uint32_t)k, p.by_column);
            w[a] = k - h[a] * p.tile[1];
            place[a] = (h[a] * p.stride[1] * p.kept[1] + w[a] * p.stride[2]) * 4;
        }
        for (int32_t m = 0; m < made; m += CONV_MADE) {
            C sum[GROUPED_WINDOWS][CONV_MADE] = {};
            grouped_sum<C>(p, kept, weights + m * taps * form.padded, channels, place, sum);
#pragma unroll
            for (int a = 0; a < GROUPED_WINDOWS; a++) {
                const int32_t y = at.h + h[a], x = at.w + w[a], channel = group * made + m;
                if (i + a * threads < windows && y < p.grid_extent[1] && x < p.grid_extent[2])
                    grouped_save<T>(p,
                                    (T *)p.grid + at.n * p.grid_stride[0] +
                                        channel * p.grid_stride[1] + y * p.grid_stride[3] +
                                        x * p.grid_stride[4],
                                    channel, made - m, sum[a]);
            }
        }
    }
}

/* What the weight's gradient has of some tiles, every gridDim.x-th: a thread sums one tap of four channels
 * of the image and CONV_MADE of the grid, over some windows of each tile. */
template <class T, class C> WINDOW_FN void grouped_gradient(const cuda_convolving &p)
{
    CONV_SHARED(memory);
    if (sizeof(T) < sizeof(float)) /* is the library's */
        return;
    C *kept = (C *)memory, *grid = (C *)(memory + p.weights_at);
    const int32_t group = (int32_t)blockIdx.y, threads = (int32_t)blockDim.x;
    const int32_t taps = p.kernel[1] * p.kernel[2], fours = (p.ci + 3) / 4;
    const int32_t jobs = taps * fours * ((p.co + CONV_MADE - 1) / CONV_MADE);
    const int32_t beside = threads / jobs, turn = (int32_t)threadIdx.x / jobs;
    const int32_t job = (int32_t)threadIdx.x - turn * jobs, chunk = job / (taps * fours);
    const int32_t four = (job - chunk * taps * fours) / taps, tap = job % taps;
    const int32_t i = tap / p.kernel[2], j = tap - i * p.kernel[2];
    const int32_t windows = p.tile[0] * p.tile[1];
    const C *x =
        kept +
        (four * p.kept[0] * p.kept[1] + i * p.dilation[1] * p.kept[1] + j * p.dilation[2]) * 4;
    /* The grid is kept by fours of channels, of which a thread takes two. */
    const C *y = grid + chunk * 2 * windows * 4;
    const grouped_form of_image = {p.ci, fours * 4, p.kept[0], p.kept[1], p.fours[0]};
    const grouped_form of_grid = {p.co, (p.co + CONV_MADE - 1) / CONV_MADE * CONV_MADE, p.tile[0],
                                  p.tile[1], p.fours[1]};
    C sum[4][CONV_MADE] = {};
    for (uint32_t tile = blockIdx.x; tile < p.tiles; tile += gridDim.x) {
        const grouped_tile at = grouped_at(p, tile);
        __syncthreads();
        grouped_keep(kept,
                     (const T *)p.image + at.n * p.image_stride[0] +
                         (int64_t)group * p.ci * p.image_stride[1],
                     p.image_stride, p.image_extent, of_image, at.h * p.stride[1] - p.before[1],
                     at.w * p.stride[2] - p.before[2]);
        grouped_keep(grid,
                     (const T *)p.grid + at.n * p.grid_stride[0] +
                         (int64_t)group * p.co * p.grid_stride[1],
                     p.grid_stride, p.grid_extent, of_grid, at.h, at.w);
        __syncthreads();
        for (int32_t k = turn; turn < beside && k < windows; k += beside) {
            const int32_t h = (int32_t)cuda_quotient((uint32_t)k, p.by_column);
            const int32_t w = k - h * p.tile[1];
            C some[4], share[2][4];
            neural_load<C, 4>(x + (h * p.stride[1] * p.kept[1] + w * p.stride[2]) * 4, 0, some);
            neural_load<C, 4>(y + k * 4, 0, share[0]);
            neural_load<C, 4>(y + (windows + k) * 4, 0, share[1]);
#pragma unroll
            for (int c = 0; c < 4; c++)
#pragma unroll
                for (int m = 0; m < CONV_MADE; m++)
                    sum[c][m] = neural_fma(some[c], share[m / 4][m % 4], sum[c][m]);
        }
    }
    /* Those of one job are added up in the order of their turns. */
    C *shared = kept + job * 4 * CONV_MADE;
    for (int32_t t = 1; t < beside; t++) {
        __syncthreads();
        for (int k = 0; turn == t && k < 4 * CONV_MADE; k++)
            shared[k] = sum[k / CONV_MADE][k % CONV_MADE];
        __syncthreads();
        for (int k = 0; turn == 0 && k < 4 * CONV_MADE; k++)
            sum[k / CONV_MADE][k % CONV_MADE] += shared[k];
    }
    C *to = (C *)p.partial + (blockIdx.x * (int64_t)p.groups + group) * p.m * p.n;
#pragma unroll
    for (int c = 0; c < 4; c++)
#pragma unroll
        for (int m = 0; m < CONV_MADE; m++)
            if (turn == 0 && four * 4 + c < p.ci && chunk * CONV_MADE + m < p.co)
                to[(chunk * CONV_MADE + m) * p.n + (four * 4 + c) * taps + tap] = sum[c][m];
}

#endif
