/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Gradients of pools of the usual kernels back to planes: a thread reads the windows that reach into a vector of
 * elements of some rows, all of them under way before the first is used, and writes those rows.
 * Deliberately no include guard: each file of kernels includes it once, in a namespace of its own where
 * they are compiled for the host. */
#include "pool/element.cuh"
#include "pool/taps.cuh"

/* A position counted in 32 bits; negative: beyond them. */
WINDOW_FN int32_t back_place(int64_t position)
{
    return (int32_t)(position >> 32) ? -1 : (int32_t)position;
}

/* WIDE windows of one row, BEFORE more before them and AFTER after them: gradients, and, MAX, the elements that
 * they are of. */
template <bool MAX, int WIDE, int BEFORE, int AFTER> struct back_row {
    enum { ALL = BEFORE + WIDE + AFTER };
    neural_raw<T, WIDE> body;
    neural_raw<T, 1> side[BEFORE + AFTER ? BEFORE + AFTER : 1];
    int32_t place[MAX ? ALL : 1];

    __device__ __forceinline__ void clear()
    {
        memset((void *)this, 0, sizeof *this);
        if (MAX)
#pragma unroll
            for (int k = 0; k < ALL; k++)
                place[k] = -1;
    }
    /* first: the first of the WIDE windows of a row of so many. */
    __device__ __forceinline__ void read(const T *grad, const int64_t *position, int32_t first,
                                         int32_t extent)
    {
        body = neural_read<T, WIDE>(grad + first);
        if (MAX) {
#pragma unroll
            for (int k = 0; k < WIDE / 2; k++) {
                const longlong2 two = *(const longlong2 *)(position + first + 2 * k);
                place[BEFORE + 2 * k] = back_place(two.x);
                place[BEFORE + 2 * k + 1] = back_place(two.y);
            }
            if (WIDE == 1)
                place[BEFORE] = back_place(position[first]);
        }
#pragma unroll
        for (int k = 0; k < BEFORE + AFTER; k++) {
            const int32_t w = k < BEFORE ? first - BEFORE + k : first + WIDE + k - BEFORE;
            if (w < 0 || w >= extent)
                continue;
            side[k] = neural_read<T, 1>(grad + w);
            if (MAX)
                place[k < BEFORE ? k : WIDE + k] = back_place(position[w]);
        }
    }
    __device__ __forceinline__ void widen(C (&g)[ALL]) const
    {
        C one[1], some[WIDE];
        neural_widen(body, some);
#pragma unroll
        for (int k = 0; k < WIDE; k++)
            g[BEFORE + k] = some[k];
#pragma unroll
        for (int k = 0; k < BEFORE + AFTER; k++) {
            neural_widen(side[k], one);
            g[k < BEFORE ? k : WIDE + k] = one[0];
        }
    }
};

/* Windows of KERNEL elements in steps of STEP with a border of BEFORE. Rows of the walk are (n, c, strips of ROWS
 * rows of windows, of which each has STEP rows of the image); there is one layer, whose elements 32 bits count. WIDE: windows of a thread, of a row. */
template <bool MAX, int KERNEL, int STEP, int BEFORE, int ROWS, int WIDE>
WINDOW_FN void pool_back_strip(const cuda_pooling &p)
{
    /* windows e + LOW to e + HIGH of an axis reach into elements STEP*e to STEP*e + STEP - 1 */
    constexpr int LOW = -((KERNEL - 1 - BEFORE) / STEP), HIGH = (BEFORE + STEP - 1) / STEP;
    constexpr int MADE = WIDE * STEP, TALL = ROWS + HIGH - LOW;
    const int32_t grad_pitch = (int32_t)p.grid_stride[3], pitch = (int32_t)p.image_stride[3];
    const int32_t position_pitch = MAX ? (int32_t)p.position_stride[3] : 0;
    window_each(p.walk, [&](uint32_t row, uint32_t item) {
        int32_t at[3];
        window_split<2>(p.walk, row, at);
        const int32_t w0 = (int32_t)item * WIDE, i = at[2] * ROWS;
        const T *grad = (const T *)p.grid + at[0] * p.grid_stride[0] + at[1] * p.grid_stride[1];
        const int64_t *position = (const int64_t *)p.positions + at[0] * p.position_stride[0] +
                                  at[1] * p.position_stride[1];
        T *to = (T *)p.image + at[0] * p.image_stride[0] + at[1] * p.image_stride[1] +
                (STEP * i * pitch + STEP * w0);
        back_row<MAX, WIDE, -LOW, HIGH> window[TALL];
#pragma unroll
        for (int r = 0; r < TALL; r++) {
            window[r].clear();
            if (i + r + LOW >= 0 && i + r + LOW < p.grid_extent[1])
                window[r].read(grad + (i + r + LOW) * grad_pitch,
                               position + (i + r + LOW) * position_pitch, w0, p.grid_extent[2]);
        }
#pragma unroll
        for (int a = 0; a < ROWS * STEP; a++) {
            const int32_t first = (STEP * i + a) * p.image_extent[2] + STEP * w0;
            C sum[MADE] = {};
#pragma unroll
            for (int r = 0; r < TALL; r++) {
                const int down =
                    a + BEFORE - (r + LOW) * STEP; /* the tap of window r that row a is */
                if (down < 0 || down >= KERNEL)
                    continue;
                C g[WIDE + HIGH - LOW];
                window[r].widen(g);
#pragma unroll
                for (int k = 0; k < MADE; k++)
#pragma unroll
                    for (int c = 0; c < WIDE + HIGH - LOW; c++) {
                        const int tap = k + BEFORE - (c + LOW) * STEP;
                        if (tap >= 0 && tap < KERNEL &&
                            (!MAX || window[r].place[MAX ? c : 0] == first + k))
                            sum[k] += g[c];
                    }
            }
            if (STEP * i + a >= p.image_extent[1])
                continue;
#pragma unroll
            for (int k = 0; k < MADE; k++)
                sum[k] = MAX ? sum[k] : sum[k] * (C)p.inverse;
            neural_store<T, MADE>(to + a * pitch, 0, sum);
        }
    });
}
