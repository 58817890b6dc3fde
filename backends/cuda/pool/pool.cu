/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Pools. Windows of the usual kernels are reduced a row of them at a time, from vectors of the image's
 * rows; large ones by a warp each; where channels lie side by side a thread takes a vector of them. */
#include <type_traits>
#include "pool/strip.cuh"
#include "pool/packed.cuh"

enum { BATCH = 8 };

/* What a window has met so far; at: the position of the largest element, of POOL_INDEX alone. */
template <int OP> struct pool_state {
    C x;
    int64_t at;
};

template <int OP> WINDOW_FN pool_state<OP> pool_nothing()
{
    return {OP == POOL_MEAN ? (C)0 : (C)-INFINITY, -1};
}

/* The first of equals, or the first NaN, where elements come in C order. */
template <int OP> WINDOW_FN void pool_meet(pool_state<OP> &s, C x, int64_t at)
{
    if (OP == POOL_MEAN) {
        s.x += x;
    } else if (OP == POOL_MAX) {
        s.x = cm_larger(s.x, x);
    } else if (x > s.x || s.at < 0 || (x != x && s.x == s.x)) {
        s.x = x;
        s.at = at;
    }
}

WINDOW_FN C pool_mean(const cuda_pooling &p, C sum, int32_t count)
{
    return p.divisor ? sum * (C)p.inverse : pool_divided(sum, count);
}

/* V elements side by side of the grid, and of the positions. */
template <int OP, int V>
WINDOW_FN void pool_save(const cuda_pooling &p, const pool_state<OP> (&s)[V], int64_t to,
                         int64_t position, int64_t apart)
{
    C x[V];
#pragma unroll
    for (int k = 0; k < V; k++)
        x[k] = s[k].x;
    neural_store<T, V>((T *)p.grid + to, 0, x);
    if (OP == POOL_INDEX)
#pragma unroll
        for (int k = 0; k < V; k++)
            ((int64_t *)p.positions)[position + k * apart] = s[k].at;
}

/* ---- planes: windows of KERNEL elements along w, STEP apart, with BEFORE of padding ---- */
/* The elements x of one row of V windows, from `window` on; row: the position of the row's first. */
template <int OP, int V, int KERNEL, int STEP, int BEFORE>
WINDOW_FN void pool_row(pool_state<OP> (&s)[V], const C (&x)[(V - 1) * STEP + KERNEL],
                        int32_t window, int32_t extent, int64_t row)
{
#pragma unroll
    for (int k = 0; k < V; k++) {
        pool_state<OP> met = OP == POOL_INDEX ? s[k] : pool_nothing<OP>();
#pragma unroll
        for (int t = 0; t < KERNEL; t++) { /* padding has no position */
            const int32_t e = (window + k) * STEP + t - BEFORE;
            if (OP != POOL_INDEX)
                pool_meet(met, x[k * STEP + t], 0);
            else if (e >= 0 && e < extent)
                pool_meet(met, x[k * STEP + t], row + e);
        }
        if (OP == POOL_INDEX)
            s[k] = met;
        else
            pool_meet(s[k], met.x, 0);
    }
}

template <int OP, int KERNEL, int STEP, int BEFORE> WINDOW_FN void pool_plane(const cuda_pooling &p)
{
    /* rows of which all loads are under way before the first is met */
    constexpr int V = VECTOR, TOGETHER = KERNEL == 2 && OP != POOL_INDEX ? 2 : 1;
    window_each(p.walk, [&](uint32_t row, uint32_t item) {
        int32_t at[4], first[2], end[2];
        window_split<3>(p.walk, row, at);
        const int32_t d = pool_taps(p, 0, at[2], &first[0], &end[0]);
        const int32_t h = pool_taps(p, 1, at[3], &first[1], &end[1]);
        const T *plane = (const T *)p.image + at[0] * p.image_stride[0] + at[1] * p.image_stride[1];
        pool_state<OP> s[V];
        const int32_t window = (int32_t)item * V;
#pragma unroll
        for (int k = 0; k < V; k++)
            s[k] = pool_nothing<OP>();
        for (int32_t i = first[0]; i < end[0]; i++)
            for (int32_t j = first[1]; j < end[1]; j += TOGETHER) {
                C x[TOGETHER][(V - 1) * STEP + KERNEL];
                const int64_t ed = d + i * p.dilation[0];
#pragma unroll
                for (int r = 0; r < TOGETHER; r++)
                    if (j + r < end[1])
                        window_span<T, V, KERNEL, STEP, BEFORE>(
                            plane + ed * p.image_stride[2] +
                                (int64_t)(h + (j + r) * p.dilation[1]) * p.image_stride[3],
                            window, p.image_extent[2], OP == POOL_MEAN ? (C)0 : (C)-INFINITY, x[r]);
#pragma unroll
                for (int r = 0; r < TOGETHER; r++)
                    if (j + r < end[1])
                        pool_row<OP, V, KERNEL, STEP, BEFORE>(
                            s, x[r], window, p.image_extent[2],
                            (ed * p.image_extent[1] + h + (j + r) * p.dilation[1]) *
                                p.image_extent[2]);
            }
        if (OP == POOL_MEAN) {
            const int32_t rows = p.divisor ? 0 : pool_count(p, 0, at[2]) * pool_count(p, 1, at[3]);
#pragma unroll
            for (int k = 0; k < V; k++)
                s[k].x = pool_mean(p, s[k].x, p.divisor ? 0 : rows * pool_count(p, 2, window + k));
        }
        int64_t to = window, position = window * p.position_stride[4];
#pragma unroll
        for (int k = 0; k < 4; k++) {
            to += at[k] * p.grid_stride[k];
            position += at[k] * p.position_stride[k];
        }
        pool_save(p, s, to, position, p.position_stride[4]);
    });
}

/* ---- any windows: of V channels side by side, or (V 0) of one channel ---- */
template <int OP, int CHANNELS> WINDOW_FN void pool_any(const cuda_pooling &p)
{
    constexpr int V = CHANNELS ? CHANNELS : 1;
    window_each(p.walk, [&](uint32_t row, uint32_t item) {
        int32_t split[4], first[3], end[3], origin[3];
        window_split<3>(p.walk, row, split);
        const int32_t channel = CHANNELS ? (int32_t)item * V : split[1];
        const int32_t window[3] = {CHANNELS ? split[1] : split[2], CHANNELS ? split[2] : split[3],
                                   CHANNELS ? split[3] : (int32_t)item};
        const T *from =
            (const T *)p.image + split[0] * p.image_stride[0] + channel * p.image_stride[1];
        int64_t to = split[0] * p.grid_stride[0] + channel * p.grid_stride[1];
        int64_t position = split[0] * p.position_stride[0] + channel * p.position_stride[1];
        pool_state<OP> s[V];
#pragma unroll
        for (int k = 0; k < V; k++)
            s[k] = pool_nothing<OP>();
#pragma unroll
        for (int d = 0; d < 3; d++) {
            origin[d] = pool_taps(p, d, window[d], &first[d], &end[d]);
            to += window[d] * p.grid_stride[2 + d];
            position += window[d] * p.position_stride[2 + d];
        }
        for (int32_t i = first[0]; i < end[0]; i++)
            for (int32_t j = first[1]; j < end[1]; j++) {
                const int64_t ed = origin[0] + i * p.dilation[0],
                              eh = origin[1] + j * p.dilation[1];
                const T *line = from + ed * p.image_stride[2] + eh * p.image_stride[3];
                const int64_t base = (ed * p.image_extent[1] + eh) * p.image_extent[2];
                for (int32_t t = first[2]; t < end[2]; t++) {
                    const int32_t e = origin[2] + t * p.dilation[2];
                    C x[V];
                    neural_load<T, V>(line + e * p.image_stride[4], 0, x);
#pragma unroll
                    for (int k = 0; k < V; k++)
                        pool_meet(s[k], x[k], base + e);
                }
            }
        if (OP == POOL_MEAN) {
            const int32_t count = p.divisor
                                      ? 0
                                      : pool_count(p, 0, window[0]) * pool_count(p, 1, window[1]) *
                                            pool_count(p, 2, window[2]);
#pragma unroll
            for (int k = 0; k < V; k++)
                s[k].x = pool_mean(p, s[k].x, count);
        }
        if constexpr (V > 1)
            if (p.grid_stride[1] != 1) {
#pragma unroll
                for (int k = 0; k < V; k++) {
                    const pool_state<OP> one[1] = {s[k]};
                    pool_save(p, one, to + k * p.grid_stride[1],
                              position + k * p.position_stride[1], 0);
                }
                return;
            }
        pool_save(p, s, to, position, p.position_stride[1]);
    });
}

/* ---- large windows: a warp each, its lanes along the rows of the window ---- */
template <int OP> WINDOW_FN void pool_join(pool_state<OP> &s, const pool_state<OP> &o)
{
    if (OP != POOL_INDEX) {
        pool_meet(s, o.x, o.at);
        return;
    }
    const bool nan = s.x != s.x, other_nan = o.x != o.x, earlier = s.at < 0 || o.at < s.at;
    if (o.at >= 0 && (nan || other_nan ? other_nan && (!nan || earlier)
                                       : o.x > s.x || (o.x == s.x && earlier) || s.at < 0))
        s = o;
}

/* Elements from, from + 1 ... of a window that lies dense, in whole vectors; at: the first's position. */
template <int OP>
WINDOW_FN void pool_dense(pool_state<OP> &s, const T *from, int32_t all, int32_t lane, int64_t at)
{
    constexpr int V = VECTOR, UNROLL = 4;
    for (int32_t i = lane * V; i < all; i += 32 * V * UNROLL) {
        C x[UNROLL][V];
#pragma unroll
        for (int u = 0; u < UNROLL; u++)
            if (i + u * 32 * V < all)
                neural_load<T, V>(from + i + u * 32 * V, 0, x[u]);
#pragma unroll
        for (int u = 0; u < UNROLL; u++)
            if (i + u * 32 * V < all) {
                pool_state<OP> few = OP == POOL_INDEX ? s : pool_nothing<OP>();
#pragma unroll
                for (int k = 0; k < V; k++)
                    pool_meet(few, x[u][k], at + i + u * 32 * V + k);
                if (OP == POOL_INDEX)
                    s = few;
                else
                    pool_meet(s, few.x, 0);
            }
    }
}

/* Whether a window of so many layers, whole rows and columns lies in one piece. */
WINDOW_FN bool pool_is_dense(const cuda_pooling &p, int32_t layers, int32_t high, int32_t wide)
{
    const int64_t row = p.image_extent[2], layer = row * p.image_extent[1];
    return p.image_stride[4] == 1 && wide == row && p.dilation[0] == 1 && p.dilation[1] == 1 &&
           p.dilation[2] == 1 && (high == 1 || p.image_stride[3] == row) &&
           (layers == 1 || (high == p.image_extent[1] && p.image_stride[2] == layer)) &&
           (int64_t)wide * high * layers % VECTOR == 0;
}

template <int OP> WINDOW_FN void pool_warp(const cuda_pooling &p)
{
    const uint32_t warps = blockDim.x / 32, lane = threadIdx.x % 32;
    for (uint64_t row = (uint64_t)blockIdx.x * warps + threadIdx.x / 32; row < p.walk.rows;
         row += (uint64_t)gridDim.x * warps) {
        int32_t at[5], first[3], end[3], origin[3];
        window_split<4>(p.walk, (uint32_t)row, at);
#pragma unroll
        for (int d = 0; d < 3; d++)
            origin[d] = pool_taps(p, d, at[2 + d], &first[d], &end[d]);
        const int32_t wide = end[2] - first[2], high = end[1] - first[1];
        const int32_t all = wide * high * (end[0] - first[0]);
        const T *plane = (const T *)p.image + at[0] * p.image_stride[0] + at[1] * p.image_stride[1];
        pool_state<OP> s = pool_nothing<OP>();
        const int64_t ed0 = origin[0] + first[0], eh0 = origin[1] + first[1];
        const T *begin = plane + ed0 * p.image_stride[2] + eh0 * p.image_stride[3];
        const bool dense = pool_is_dense(p, end[0] - first[0], high, wide) &&
                           (uint64_t)begin % (VECTOR * sizeof(T)) == 0;
        if (dense)
            pool_dense(s, begin, all, (int32_t)lane,
                       (ed0 * p.image_extent[1] + eh0) * p.image_extent[2]);
        for (int32_t i = (int32_t)lane; i < all && !dense; i += 32 * BATCH) {
            C x[BATCH];
            int64_t place[BATCH];
#pragma unroll
            for (int b = 0; b < BATCH; b++) { /* so that many loads are underway */
                const int32_t j = i + 32 * b < all ? i + 32 * b : i;
                const int32_t line = j / wide, t = first[2] + j - line * wide;
                const int32_t layer = line / high;
                const int64_t ed = origin[0] + (first[0] + layer) * p.dilation[0];
                const int64_t eh = origin[1] + (first[1] + line - layer * high) * p.dilation[1];
                const int64_t ew = origin[2] + t * p.dilation[2];
                x[b] = neural_widen(plane[ed * p.image_stride[2] + eh * p.image_stride[3] +
                                          ew * p.image_stride[4]]);
                place[b] = (ed * p.image_extent[1] + eh) * p.image_extent[2] + ew;
            }
#pragma unroll
            for (int b = 0; b < BATCH; b++)
                if (i + 32 * b < all)
                    pool_meet(s, x[b], place[b]);
        }
        for (int apart = 16; apart; apart /= 2) {
            pool_state<OP> o;
            o.x = __shfl_xor_sync(0xffffffffu, s.x, apart);
            o.at = OP == POOL_INDEX ? __shfl_xor_sync(0xffffffffu, s.at, apart) : 0;
            pool_join(s, o);
        }
        if (lane)
            continue;
        int64_t to = 0, position = 0;
#pragma unroll
        for (int d = 0; d < 5; d++) {
            to += at[d] * p.grid_stride[d];
            position += at[d] * p.position_stride[d];
        }
        if (OP == POOL_MEAN)
            s.x = pool_mean(p, s.x,
                            p.divisor ? 0
                                      : pool_count(p, 0, at[2]) * pool_count(p, 1, at[3]) *
                                            pool_count(p, 2, at[4]));
        const pool_state<OP> one[1] = {s};
        pool_save(p, one, to, position, 0);
    }
}

#define POOL_KERNEL(name, ...)                                    \
    extern "C" __global__ void __launch_bounds__(WINDOW_THREADS)  \
        WINDOW_NAME(name)(const __grid_constant__ cuda_pooling p) \
    {                                                             \
        __VA_ARGS__(p);                                           \
    }
#define POOL(name, OP)                                        \
    POOL_KERNEL(pool_##name##_any, pool_any<OP, 0>)           \
    POOL_KERNEL(pool_##name##_channels, pool_any<OP, VECTOR>) \
    POOL_KERNEL(pool_##name##_warp, pool_warp<OP>)            \
    POOL_KERNEL(pool_##name##_220, pool_plane<OP, 2, 2, 0>)   \
    POOL_KERNEL(pool_##name##_512, pool_plane<OP, 5, 1, 2>)   \
    POOL_KERNEL(pool_##name##_311, pool_plane<OP, 3, 1, 1>)   \
    POOL_KERNEL(pool_##name##_321, pool_plane<OP, 3, 2, 1>)
/* Strips of the usual windows. Elements of 16 bits are compared two at a time. BLOCKS of a processor have
 * enough bytes under way. */
template <int OP, int KERNEL, int STEP, int BEFORE, int ROWS>
WINDOW_FN void pool_strips(const cuda_pooling &p)
{
    if constexpr (OP == POOL_MAX && sizeof(T) == 2)
        pool_packed<KERNEL, STEP, BEFORE, ROWS>(p);
    else
        pool_strip<OP, KERNEL, STEP, BEFORE, ROWS>(p);
}
enum {
    PAIRS = sizeof(T) == 2,
    WIDE_BLOCKS = PAIRS ? 3 : 2,
    WIDE_ROWS = PAIRS ? POOL_PAIRS_512 : POOL_STRIP_512
};
/* Processors below 8.0 hold 1,024 threads. */
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ < 800
#define POOL_BLOCKS_220 4
#else
#define POOL_BLOCKS_220 6
#endif
#define STRIP(name, BLOCKS, ...)                                         \
    extern "C" __global__ void __launch_bounds__(WINDOW_THREADS, BLOCKS) \
        WINDOW_NAME(pool_##name)(const __grid_constant__ cuda_pooling p) \
    {                                                                    \
        pool_strips<__VA_ARGS__>(p);                                     \
    }
STRIP(max_strip_220, POOL_BLOCKS_220, POOL_MAX, 2, 2, 0, POOL_STRIP_220)
STRIP(max_strip_311, 4, POOL_MAX, 3, 1, 1, POOL_STRIP_311)
STRIP(max_strip_321, 4, POOL_MAX, 3, 2, 1, POOL_STRIP_321)
STRIP(max_strip_512, WIDE_BLOCKS, POOL_MAX, 5, 1, 2, WIDE_ROWS)
STRIP(mean_strip_220, POOL_BLOCKS_220, POOL_MEAN, 2, 2, 0, POOL_STRIP_220)
STRIP(mean_strip_311, 4, POOL_MEAN, 3, 1, 1, POOL_STRIP_311)
STRIP(mean_strip_321, 4, POOL_MEAN, 3, 2, 1, POOL_STRIP_321)
STRIP(mean_strip_512, 2, POOL_MEAN, 5, 1, 2, POOL_STRIP_512)
POOL(max, POOL_MAX)
POOL(index, POOL_INDEX)
POOL(mean, POOL_MEAN)
