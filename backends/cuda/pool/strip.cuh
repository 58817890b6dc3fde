/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Windows of the usual kernels over planes: a thread makes some rows of a vector of windows each, below one
 * another. It reads each row of the image once, all of them under way before the first is met, and reduces
 * each along w once for all windows that have it.
 * Deliberately no include guard: each file of kernels includes it once, in a namespace of its own where
 * they are compiled for the host. */
#include <math.h>
#include "math/hw.cuh"
#include "pool/element.cuh"
#include "pool/taps.cuh"

enum { POOL_MAX, POOL_INDEX, POOL_MEAN };

/* Of one row of the image what V windows of KERNEL elements, STEP apart, with BEFORE of padding, need: the
 * aligned vectors, and the elements before and after them. */
template <class T, int V, int KERNEL, int STEP, int BEFORE> struct strip_row {
    enum { N = (V - 1) * STEP + KERNEL, AFTER = N - V * STEP - BEFORE };
    neural_raw<T, V> body[STEP];
    /* two elements at once where there are two, which are aligned */
    enum { EDGE = BEFORE == 2 && AFTER == 2 && V > 1 ? 2 : 1, B = BEFORE / EDGE, A = AFTER / EDGE };
    neural_raw<T, EDGE> before[B ? B : 1], after[A > 0 ? A : 1];

    __device__ __forceinline__ void fill(C pad)
    {
        neural_vector<T, V> all;
#pragma unroll
        for (int k = 0; k < V; k++)
            neural_narrow(&all.at[k], pad);
#pragma unroll
        for (int k = 0; k < STEP; k++)
            memcpy((void *)&body[k], &all, sizeof all);
#pragma unroll
        for (int k = 0; k < B; k++)
            memcpy((void *)&before[k], &all, sizeof before[k]);
#pragma unroll
        for (int k = 0; k < A; k++)
            memcpy((void *)&after[k], &all, sizeof after[k]);
    }
    /* first: the first aligned element of a row of so many. */
    __device__ __forceinline__ void read(const T *row, int32_t first, int32_t extent)
    {
#pragma unroll
        for (int k = 0; k < STEP; k++)
            body[k] = neural_read<T, V>(row + first + k * V);
        if (first)
#pragma unroll
            for (int k = 0; k < B; k++)
                before[k] = neural_read<T, EDGE>(row + first - BEFORE + k * EDGE);
#pragma unroll
        for (int k = 0; k < A; k++)
            if (first + V * STEP + k < extent)
                after[k] = neural_read<T, EDGE>(row + first + V * STEP + k * EDGE);
    }
    __device__ __forceinline__ void widen(C (&x)[N]) const
    {
        C edge[EDGE], some[V];
#pragma unroll
        for (int k = 0; k < BEFORE; k++) {
            neural_widen(before[k / EDGE], edge);
            x[k] = edge[k % EDGE];
        }
#pragma unroll
        for (int k = 0; k < STEP; k++) {
            neural_widen(body[k], some);
#pragma unroll
            for (int i = 0; i < V; i++)
                if (BEFORE + k * V + i < N)
                    x[BEFORE + k * V + i] = some[i];
        }
#pragma unroll
        for (int k = 0; k < AFTER; k++) {
            neural_widen(after[k / EDGE], edge);
            x[BEFORE + V * STEP + k] = edge[k % EDGE];
        }
    }
};

/* One row's part of V windows. */
template <int OP, int V, int KERNEL, int STEP, int N>
WINDOW_FN void strip_reduce(const C (&x)[N], C (&part)[V])
{
#pragma unroll
    for (int k = 0; k < V; k++) {
        part[k] = x[k * STEP];
#pragma unroll
        for (int t = 1; t < KERNEL; t++)
            part[k] =
                OP == POOL_MEAN ? part[k] + x[k * STEP + t] : cm_larger(part[k], x[k * STEP + t]);
    }
}

/* Rows of the walk are (n, c, strips of ROWS rows of windows); there is one layer, whose elements
 * 32 bits count, and a mean has one divisor. */
template <int OP, int KERNEL, int STEP, int BEFORE, int ROWS>
WINDOW_FN void pool_strip(const cuda_pooling &p)
{
    constexpr int V = VECTOR, HIGH = (ROWS - 1) * STEP + KERNEL;
    const C pad = OP == POOL_MEAN ? (C)0 : (C)-INFINITY;
    const int32_t pitch = (int32_t)p.image_stride[3], to_pitch = (int32_t)p.grid_stride[3];
    window_each(p.walk, [&](uint32_t row, uint32_t item) {
        int32_t at[3];
        window_split<2>(p.walk, row, at);
        const int32_t window = (int32_t)item * V, h0 = at[2] * ROWS, e0 = h0 * STEP - BEFORE;
        const T *plane = (const T *)p.image + at[0] * p.image_stride[0] + at[1] * p.image_stride[1];
        strip_row<T, V, KERNEL, STEP, BEFORE> line[HIGH];
#pragma unroll
        for (int r = 0; r < HIGH; r++) {
            line[r].fill(pad);
            if (e0 + r >= 0 && e0 + r < p.image_extent[1])
                line[r].read(plane + (e0 + r) * pitch, window * STEP, p.image_extent[2]);
        }
        T *to = (T *)p.grid + at[0] * p.grid_stride[0] + at[1] * p.grid_stride[1] +
                (h0 * to_pitch + window);
        C s[ROWS][V];
#pragma unroll
        for (int r = 0; r < HIGH; r++) {
            C x[(V - 1) * STEP + KERNEL], part[V];
            line[r].widen(x);
            strip_reduce<OP, V, KERNEL, STEP>(x, part);
#pragma unroll
            for (int o = 0; o < ROWS; o++) {
                const int t = r - o * STEP;
                if (t < 0 || t >= KERNEL)
                    continue;
#pragma unroll
                for (int k = 0; k < V; k++)
                    s[o][k] = t == 0            ? part[k]
                              : OP == POOL_MEAN ? s[o][k] + part[k]
                                                : cm_larger(s[o][k], part[k]);
                if (t < KERNEL - 1 || h0 + o >= p.grid_extent[1])
                    continue;
#pragma unroll
                for (int k = 0; k < V; k++)
                    s[o][k] = OP == POOL_MEAN ? s[o][k] * (C)p.inverse : s[o][k];
                neural_store<T, V>(to + o * to_pitch, 0, s[o]);
            }
        }
    });
}
