/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Images of other extents, and back. A first kernel writes the tables of taps of each axis; then each
 * element gathers: of the result from its taps, of the source from the elements that it is a tap of.
 * Twice as wide images have kernels of their own, which take spans of both along the last axis. */
#include "pool/twice.cuh"
#include "pool/table.cuh"
#include "pool/slide.cuh"
#include "pool/slide_back.cuh"

/* ---- tables ---- */
WINDOW_FN int taps_at(const cuda_resampling &p, int d, int64_t i, int64_t (&element)[4],
                      double (&share)[4])
{
    return nd_window_resample(p.method, p.align_corners, p.ratio[d], p.image_extent[d],
                              p.grid_extent[d], i, element, share);
}

/* The first element of the result whose last tap (or, after, whose first) is e or later: taps only
 * rise. */
WINDOW_FN int32_t first_with(const cuda_resampling &p, int d, int32_t e, bool after)
{
    int32_t low = 0, high = p.grid_extent[d];
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        int64_t element[4];
        double share[4];
        const int taps = taps_at(p, d, middle, element, share);
        if (element[after ? 0 : taps - 1] >= e)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

WINDOW_FN void write_back(const cuda_resampling &p, int d, int32_t e)
{
    const resample_table &t = p.table[d];
    const int32_t begin = first_with(p, d, e, false), end = first_with(p, d, e + 1, true);
    ((int32_t *)t.begin)[e] = begin;
    ((int32_t *)t.end)[e] = end;
    for (int k = 0; k < NEAR; k++) {
        int64_t element[4];
        double share[4], sum = 0;
        const int taps = begin + k < end ? taps_at(p, d, begin + k, element, share) : 0;
        for (int i = 0; i < taps; i++)
            sum += element[i] == e ? share[i] : 0;
        ((C *)t.near)[(int64_t)e * NEAR + k] = (C)sum;
    }
}

extern "C" __global__ void __launch_bounds__(WINDOW_THREADS)
    WINDOW_NAME(resample_tables)(const __grid_constant__ cuda_resampling p)
{
    const int d = (int)blockIdx.y;
    const int64_t n = p.grid_extent[d], step = (int64_t)gridDim.x * blockDim.x;
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    for (; i < n || (p.backward && i < p.image_extent[d]); i += step) {
        int64_t element[4];
        double share[4];
        const int taps = i < n ? taps_at(p, d, i, element, share) : 0;
        for (int t = 0; t < taps; t++) {
            ((int32_t *)p.table[d].element)[t * n + i] = (int32_t)element[t];
            ((C *)p.table[d].share)[t * n + i] = (C)share[t];
        }
        if (p.backward && i < p.image_extent[d])
            write_back(p, d, (int32_t)i);
    }
}

template <int N> WINDOW_FN int64_t offset_of(const int64_t *stride, const int32_t (&at)[N])
{
    int64_t offset = 0;
#pragma unroll
    for (int k = 0; k < N; k++)
        offset += at[k] * stride[k];
    return offset;
}

/* ---- forward ---- */

/* f(share, offset) for each row of the image that row (d, h) of the result is made of. */
template <int TAPS, class F>
WINDOW_FN void each_source_row(const cuda_resampling &p, int32_t d, int32_t h, F f)
{
    for (int i = 0; i < TAPS; i++)
        for (int j = 0; j < TAPS; j++) {
            const C share = share_in(p, 0, i, d) * share_in(p, 1, j, h);
            if (TAPS == 1 || share != 0)
                f(share, element_in(p, 0, i, d) * p.image_stride[2] +
                             element_in(p, 1, j, h) * p.image_stride[3]);
        }
}

/* V elements along w; or, CHANNELS, V channels side by side. */
template <int TAPS, int V, bool CHANNELS> WINDOW_FN void resample_any(const cuda_resampling &p)
{
    window_each(p.walk, [&](uint32_t row, uint32_t item) {
        constexpr int COLUMNS = CHANNELS ? 1 : V;
        int32_t at[4];
        window_split<3>(p.walk, row, at);
        const int32_t first = (int32_t)item * V, column = CHANNELS ? at[3] : first;
        const int32_t to[5] = {at[0], CHANNELS ? first : at[1], CHANNELS ? at[1] : at[2],
                               CHANNELS ? at[2] : at[3], column};
        const T *from = (const T *)p.image + to[0] * p.image_stride[0] + to[1] * p.image_stride[1];
        int64_t offset[TAPS][COLUMNS];
        C part[TAPS][COLUMNS], sum[V] = {};
#pragma unroll
        for (int t = 0; t < TAPS; t++)
#pragma unroll
            for (int k = 0; k < COLUMNS; k++) {
                offset[t][k] = element_in(p, 2, t, column + k) * p.image_stride[4];
                part[t][k] = share_in(p, 2, t, column + k);
            }
        each_source_row<TAPS>(p, to[2], to[3], [&](C share, int64_t line) {
#pragma unroll
            for (int t = 0; t < TAPS; t++) {
                C x[V];
                if (CHANNELS)
                    neural_load<T, V>(from + line + offset[t][0], 0, x);
#pragma unroll
                for (int k = 0; k < V; k++) {
                    const int c = CHANNELS ? 0 : k;
                    if (!CHANNELS)
                        x[k] = neural_widen(from[line + offset[t][c]]);
                    sum[k] = TAPS == 1 ? x[k] : sum[k] + share * (part[t][c] * x[k]);
                }
            }
        });
        T *out = (T *)p.grid + offset_of(p.grid_stride, to);
        if (V > 1 && CHANNELS && p.grid_stride[1] != 1) {
#pragma unroll
            for (int k = 0; k < V; k++)
                neural_narrow(out + k * p.grid_stride[1], sum[k]);
        } else {
            neural_store<T, V>(out, 0, sum);
        }
    });
}

template <int TAPS> WINDOW_FN void resample_twice(const cuda_resampling &p)
{
    constexpr int V = VECTOR, HALF = V / 2, REACH = TAPS / 2, SPAN = HALF + 2 * REACH;
    C even[4], odd[4];
    twice_shares<TAPS>(even, odd);
    window_each(p.walk, [&](uint32_t row, uint32_t item) {
        int32_t at[4];
        window_split<3>(p.walk, row, at);
        const T *from = (const T *)p.image + at[0] * p.image_stride[0] + at[1] * p.image_stride[1];
        const int32_t first = (int32_t)item * HALF, n = p.image_extent[2];
        C x[SPAN] = {}, y[V];
        each_source_row<TAPS>(p, at[2], at[3], [&](C share, int64_t line) {
            C some[HALF];
            neural_load<T, HALF>(from + line + first, 0, some);
#pragma unroll
            for (int j = 0; j < REACH; j++) {
                const int32_t before = first + j - REACH, after = first + HALF + j;
                x[j] += share * neural_widen(from[line + (before < 0 ? 0 : before)]);
                x[REACH + HALF + j] +=
                    share * neural_widen(from[line + (after < n ? after : n - 1)]);
            }
#pragma unroll
            for (int j = 0; j < HALF; j++)
                x[REACH + j] = TAPS == 1 ? some[j] : x[REACH + j] + share * some[j];
        });
#pragma unroll
        for (int j = 0; j < HALF; j++) {
            y[2 * j] = TAPS == 1 ? x[j] : (C)0;
            y[2 * j + 1] = y[2 * j];
#pragma unroll
            for (int t = 0; TAPS > 1 && t < TAPS; t++) {
                y[2 * j] += even[t] * x[j + t];
                y[2 * j + 1] += odd[t] * x[j + t + 1];
            }
        }
        neural_store<T, V>((T *)p.grid + offset_of(p.grid_stride, at) + first * 2, 0, y);
    });
}

/* ---- backward ---- */

/* f(share, offset) for each row of the result that row (d, h) of the source is part of. */
template <class F>
WINDOW_FN void each_result_row(const cuda_resampling &p, int32_t d, int32_t h, F f)
{
    const int32_t d0 = ((const int32_t *)p.table[0].begin)[d],
                  d1 = ((const int32_t *)p.table[0].end)[d];
    const int32_t h0 = ((const int32_t *)p.table[1].begin)[h],
                  h1 = ((const int32_t *)p.table[1].end)[h];
    for (int32_t i = d0; i < d1; i++) {
        const C outer = back_share(p, 0, d, d0, i - d0);
        for (int32_t j = h0; j < h1; j++) {
            const C share = outer * back_share(p, 1, h, h0, j - h0);
            if (share != 0)
                f(share, i * p.grid_stride[2] + j * p.grid_stride[3]);
        }
    }
}

template <int V, bool CHANNELS> WINDOW_FN void resample_back(const cuda_resampling &p)
{
    window_each(p.walk, [&](uint32_t row, uint32_t item) {
        int32_t at[4];
        window_split<3>(p.walk, row, at);
        const int32_t first = (int32_t)item * V, e = CHANNELS ? at[3] : first;
        const int32_t to[5] = {at[0], CHANNELS ? first : at[1], CHANNELS ? at[1] : at[2],
                               CHANNELS ? at[2] : at[3], e};
        const T *from = (const T *)p.grid + to[0] * p.grid_stride[0] + to[1] * p.grid_stride[1];
        const int32_t begin = ((const int32_t *)p.table[2].begin)[e],
                      end = ((const int32_t *)p.table[2].end)[e];
        C near[NEAR], sum[V] = {};
#pragma unroll
        for (int k = 0; k < NEAR; k++)
            near[k] = ((const C *)p.table[2].near)[(int64_t)e * NEAR + k];
        const auto take = [&](C share, const T *at) {
            C x[V];
            neural_load<T, V>(at, 0, x);
#pragma unroll
            for (int k = 0; k < V; k++)
                sum[k] += share * x[k];
        };
        each_result_row(p, to[2], to[3], [&](C share, int64_t line) {
            const T *grad = from + line + begin * p.grid_stride[4];
#pragma unroll
            for (int k = 0; k < NEAR; k++)
                if (k < end - begin)
                    take(share * near[k], grad + k * p.grid_stride[4]);
            for (int32_t k = NEAR; k < end - begin; k++)
                take(share * back_share(p, 2, e, begin, k), grad + k * p.grid_stride[4]);
        });
        T *out = (T *)p.image + offset_of(p.image_stride, to);
        if (V > 1 && p.image_stride[1] != 1) {
#pragma unroll
            for (int k = 0; k < V; k++)
                neural_narrow(out + k * p.image_stride[1], sum[k]);
        } else {
            neural_store<T, V>(out, 0, sum);
        }
    });
}

/* By the nearest elements, of which each share is one: the sum of a box of the result, whose bounds are
 * read at once, and its elements too where there are few. */
WINDOW_FN void resample_box(const cuda_resampling &p)
{
    enum { FEW = 2 };
    window_each(p.walk, [&](uint32_t row, uint32_t item) {
        int32_t at[4], begin[3], n[3];
        window_split<3>(p.walk, row, at);
        const int32_t to[5] = {at[0], at[1], at[2], at[3], (int32_t)item};
#pragma unroll
        for (int d = 0; d < 3; d++) {
            begin[d] = ((const int32_t *)p.table[d].begin)[to[2 + d]];
            n[d] = ((const int32_t *)p.table[d].end)[to[2 + d]] - begin[d];
        }
        const T *from = (const T *)p.grid + to[0] * p.grid_stride[0] + to[1] * p.grid_stride[1];
        C sum = 0;
#pragma unroll
        for (int d = 0; d < 3; d++)
            from += begin[d] * p.grid_stride[2 + d];
        if (n[0] == 1 && n[1] <= FEW && n[2] <= FEW) {
            C x[FEW][FEW];
#pragma unroll
            for (int j = 0; j < FEW; j++)
#pragma unroll
                for (int k = 0; k < FEW; k++)
                    x[j][k] = j < n[1] && k < n[2]
                                  ? neural_widen(from[j * p.grid_stride[3] + k * p.grid_stride[4]])
                                  : (C)0;
#pragma unroll
            for (int j = 0; j < FEW; j++)
#pragma unroll
                for (int k = 0; k < FEW; k++)
                    sum += x[j][k];
        } else {
            for (int32_t i = 0; i < n[0]; i++)
                for (int32_t j = 0; j < n[1]; j++)
                    for (int32_t k = 0; k < n[2]; k++)
                        sum += neural_widen(from[i * p.grid_stride[2] + j * p.grid_stride[3] +
                                                 k * p.grid_stride[4]]);
        }
        neural_narrow((T *)p.image + offset_of(p.image_stride, to), sum);
    });
}

/* Of images that became twice as wide, by the nearest elements or linearly. */
template <int TAPS> WINDOW_FN void resample_twice_back(const cuda_resampling &p)
{
    constexpr int V = VECTOR, KERNEL = 2 * TAPS, BEFORE = TAPS - 1;
    window_each(p.walk, [&](uint32_t row, uint32_t item) {
        int32_t at[4];
        window_split<3>(p.walk, row, at);
        const T *from = (const T *)p.grid + at[0] * p.grid_stride[0] + at[1] * p.grid_stride[1];
        const int32_t first = (int32_t)item * V, n = p.image_extent[2];
        C sum[V] = {};
        each_result_row(p, at[2], at[3], [&](C share, int64_t line) {
            C g[(V - 1) * 2 + KERNEL];
            window_span<T, V, KERNEL, 2, BEFORE>(from + line, first, 2 * n, (C)0, g);
            if (TAPS == 2) { /* the outermost elements of the result are those of the source */
                g[1] = first == 0 ? g[1] * (C)(4.0 / 3) : g[1];
                g[2 * V] = first + V == n ? g[2 * V] * (C)(4.0 / 3) : g[2 * V];
            }
#pragma unroll
            for (int k = 0; k < V; k++) {
                if (TAPS == 1)
                    sum[k] += share * (g[2 * k] + g[2 * k + 1]);
                else
                    sum[k] += share * ((C)0.25 * (g[2 * k] + g[2 * k + 3]) +
                                       (C)0.75 * (g[2 * k + 1] + g[2 * k + 2]));
            }
        });
        neural_store<T, V>((T *)p.image + offset_of(p.image_stride, at) + first, 0, sum);
    });
}

#define RESAMPLE_KERNEL(name, BLOCKS, ...)                               \
    extern "C" __global__ void __launch_bounds__(WINDOW_THREADS, BLOCKS) \
        WINDOW_NAME(name)(const __grid_constant__ cuda_resampling p)     \
    {                                                                    \
        __VA_ARGS__(p);                                                  \
    }
#define RESAMPLE(name, TAPS, BLOCKS, LINES, ROWS)                                              \
    RESAMPLE_KERNEL(resample_##name, 1, resample_any<TAPS, 1, false>)                          \
    RESAMPLE_KERNEL(resample_##name##_vectors, 1, resample_any<TAPS, RESAMPLE_COLUMNS, false>) \
    RESAMPLE_KERNEL(resample_##name##_channels, 1, resample_any<TAPS, VECTOR, true>)           \
    RESAMPLE_KERNEL(resample_##name##_twice, 1, resample_twice<TAPS>)                          \
    RESAMPLE_KERNEL(resample_##name##_planes, BLOCKS,                                          \
                    resample_slide<TAPS, RESAMPLE_COLUMNS, LINES>)                             \
    RESAMPLE_KERNEL(resample_##name##_doubled, BLOCKS, resample_doubled<TAPS, ROWS>)
RESAMPLE(nearest, 1, 4, RESAMPLE_NEAREST_LINES, RESAMPLE_ROWS)
RESAMPLE(linear, 2, 4, RESAMPLE_LINES, RESAMPLE_ROWS)
RESAMPLE(cubic, 4, 2, RESAMPLE_CUBIC_LINES, RESAMPLE_CUBIC_ROWS)
RESAMPLE_KERNEL(resample_back_any, 1, resample_back<1, false>)
RESAMPLE_KERNEL(resample_back_channels, 1, resample_back<VECTOR, true>)
RESAMPLE_KERNEL(resample_back_box, 1, resample_box)
RESAMPLE_KERNEL(resample_back_nearest_twice, 1, resample_twice_back<1>)
RESAMPLE_KERNEL(resample_back_linear_twice, 1, resample_twice_back<2>)
RESAMPLE_KERNEL(resample_back_planes, 4, resample_slide_back<RESAMPLE_BACK_ROWS>)
RESAMPLE_KERNEL(resample_back_nearest_doubled, 4, resample_doubled_back<1, RESAMPLE_ROWS>)
RESAMPLE_KERNEL(resample_back_linear_doubled, 4, resample_doubled_back<2, RESAMPLE_ROWS>)
