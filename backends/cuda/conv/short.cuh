/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The gradient for the weight of windows of few elements (a first layer's: three channels of seven by seven), as
 * a product of few columns and many terms: a block has all columns, CONV_SHORT_ROWS channels of the grid and a
 * part of the terms, whose windows it gathers as it goes. */
#ifndef NDOCK_CUDA_CONV_SHORT_CUH
#define NDOCK_CUDA_CONV_SHORT_CUH
#include "conv/conv.cuh"

enum {
    SHORT_LANES = 32,                                 /* columns side by side, of a warp */
    SHORT_MADE = CONV_SHORT_ROWS * 32 / CONV_THREADS, /* channels of a warp */
    SHORT_LOADERS = CONV_THREADS / CONV_DEPTH,
    SHORT_FIRST = CONV_SHORT_ROWS / SHORT_LOADERS, /* elements of the grid that a thread fetches */
    SHORT_PITCH = CONV_SHORT_ROWS + 4
};

/* An element of a window: where it is from the window's first one. */
typedef struct {
    int32_t h, w;
    int64_t offset;
} short_tap;

template <class C, int EACH> struct short_chunk {
    C grid[SHORT_FIRST], window[EACH * SHORT_LANES / SHORT_LOADERS];
};

/* Columns that there are none of are outside of every image. */
WINDOW_FN short_tap short_tap_of(const cuda_convolving &p, int32_t n)
{
    if (n >= p.n)
        return {INT32_MIN / 2, 0, 0};
    const conv_place t = conv_split(n, p.by_kernel);
    const int32_t h = t.at[1] * p.dilation[1], w = t.at[2] * p.dilation[2];
    return {h, w, t.outer * p.image_stride[1] + h * p.image_stride[3] + w * p.image_stride[4]};
}

/* Term k of the channels from m on, and of the windows' elements. */
template <class T, class C, int EACH>
WINDOW_FN void short_fetch(const cuda_convolving &p, const short_tap *tap, int64_t m, int64_t k,
                           int64_t end, short_chunk<C, EACH> &chunk)
{
    const int32_t first = (int32_t)threadIdx.x / CONV_DEPTH;
    const bool inside = k < end;
    const conv_place at = conv_split(inside ? k : 0, p.by_grid);
    const T *grid = (const T *)p.grid + conv_offset(p.grid_stride, at.outer, 0, at.at);
    const int32_t h = at.at[1] * p.stride[1] - p.before[1],
                  w = at.at[2] * p.stride[2] - p.before[2];
    const int32_t here[3] = {0, h, w};
    const T *image = (const T *)p.image + conv_offset(p.image_stride, at.outer, 0, here);
#pragma unroll
    for (int i = 0; i < SHORT_FIRST; i++) {
        const int64_t o = m + first + SHORT_LOADERS * i;
        chunk.grid[i] = inside && o < p.m ? neural_widen(grid[o * p.grid_stride[1]]) : (C)0;
    }
#pragma unroll
    for (int i = 0; i < EACH * SHORT_LANES / SHORT_LOADERS; i++) {
        const short_tap t = tap[first + SHORT_LOADERS * i];
        chunk.window[i] = inside && (uint32_t)(h + t.h) < (uint32_t)p.image_extent[1] &&
                                  (uint32_t)(w + t.w) < (uint32_t)p.image_extent[2]
                              ? neural_widen(image[t.offset])
                              : (C)0;
    }
}

/* EACH*SHORT_LANES columns at most. */
template <class T, class C, int EACH> WINDOW_FN void short_gradient(const cuda_convolving &p)
{
    enum { COLUMNS = EACH * SHORT_LANES, PITCH = COLUMNS + 1 };
    alignas(16) __shared__ C grid[CONV_DEPTH][SHORT_PITCH];
    __shared__ C window[CONV_DEPTH][PITCH];
    __shared__ short_tap tap[COLUMNS];
    const int32_t lane = (int32_t)threadIdx.x % SHORT_LANES,
                  warp = (int32_t)threadIdx.x / SHORT_LANES;
    const int32_t term = (int32_t)threadIdx.x % CONV_DEPTH,
                  first = (int32_t)threadIdx.x / CONV_DEPTH;
    const int64_t m = (int64_t)blockIdx.y * CONV_SHORT_ROWS, begin = blockIdx.x * p.part;
    const int64_t end = begin + p.part < p.k ? begin + p.part : p.k;
    short_chunk<C, EACH> next;
    C sum[SHORT_MADE][EACH] = {};
    for (int32_t n = (int32_t)threadIdx.x; n < COLUMNS; n += CONV_THREADS)
        tap[n] = short_tap_of(p, n);
    __syncthreads();
    short_fetch<T, C, EACH>(p, tap, m, begin + term, end, next);
    for (int64_t k = begin; k < end; k += CONV_DEPTH) {
#pragma unroll
        for (int i = 0; i < SHORT_FIRST; i++)
            grid[term][first + SHORT_LOADERS * i] = next.grid[i];
#pragma unroll
        for (int i = 0; i < EACH * SHORT_LANES / SHORT_LOADERS; i++)
            window[term][first + SHORT_LOADERS * i] = next.window[i];
        __syncthreads();
        if (k + CONV_DEPTH < end) /* while these are multiplied */
            short_fetch<T, C, EACH>(p, tap, m, k + CONV_DEPTH + term, end, next);
#pragma unroll
        for (int t = 0; t < CONV_DEPTH; t++) {
            C u[SHORT_MADE], v[EACH];
#pragma unroll
            for (int i = 0; i < SHORT_MADE; i++)
                u[i] = grid[t][warp * SHORT_MADE + i];
#pragma unroll
            for (int j = 0; j < EACH; j++)
                v[j] = window[t][lane + SHORT_LANES * j];
#pragma unroll
            for (int i = 0; i < SHORT_MADE; i++)
#pragma unroll
                for (int j = 0; j < EACH; j++)
                    sum[i][j] = neural_fma(u[i], v[j], sum[i][j]);
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < SHORT_MADE; i++)
#pragma unroll
        for (int j = 0; j < EACH; j++) {
            const int64_t o = m + warp * SHORT_MADE + i, n = lane + SHORT_LANES * j;
            if (o < p.m && n < p.n)
                ((C *)p.partial)[((int64_t)blockIdx.x * p.m + o) * p.n + n] = sum[i][j];
        }
}

#endif
