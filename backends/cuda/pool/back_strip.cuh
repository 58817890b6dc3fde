/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Gradients of the largest of 3 elements with a border of one, in steps of 2, back to planes: a thread reads
 * a vector of windows and those that reach into its elements, and writes two rows of two vectors.
 * Deliberately no include guard: each file of kernels includes it once, in a namespace of its own where
 * they are compiled for the host. */
#include "pool/element.cuh"
#include "pool/taps.cuh"

/* A position counted in 32 bits; -1: beyond them. */
WINDOW_FN int32_t back_place(int64_t position)
{
    return position >> 31 ? -1 : (int32_t)position;
}

/* Windows of one row from w0 on: gradients, and the elements that they are of. */
struct back_row {
    enum { WIDE = VECTOR + 1 };
    C g[WIDE];
    int32_t place[WIDE];

    __device__ __forceinline__ void clear()
    {
#pragma unroll
        for (int k = 0; k < WIDE; k++) {
            g[k] = 0;
            place[k] = -1;
        }
    }
    __device__ __forceinline__ void read(const T *grad, const int64_t *position, bool more)
    {
        C some[VECTOR];
        neural_load<T, VECTOR>(grad, 0, some);
#pragma unroll
        for (int k = 0; k < VECTOR; k++)
            g[k] = some[k];
#pragma unroll
        for (int k = 0; k < VECTOR; k += 2) {
            const longlong2 two = *(const longlong2 *)(position + k);
            place[k] = back_place(two.x);
            place[k + 1] = back_place(two.y);
        }
        if (more) {
            g[WIDE - 1] = neural_widen(grad[VECTOR]);
            place[WIDE - 1] = back_place(position[VECTOR]);
        }
    }
};

/* Rows of the walk are (n, c, pairs of rows of the image); there is one layer. */
WINDOW_FN void pool_back_strip(const cuda_pooling &p)
{
    constexpr int V = VECTOR, HIGH = 2; /* windows that may reach into an odd element */
    window_each(p.walk, [&](uint32_t row, uint32_t item) {
        int32_t at[3];
        window_split<2>(p.walk, row, at);
        const int32_t w0 = (int32_t)item * V, i = at[2];
        const T *grad = (const T *)p.grid + at[0] * p.grid_stride[0] + at[1] * p.grid_stride[1] +
                        i * p.grid_stride[3] + w0;
        const int64_t *position = (const int64_t *)p.positions + at[0] * p.position_stride[0] +
                                  at[1] * p.position_stride[1] + i * p.position_stride[3] + w0;
        T *to = (T *)p.image + at[0] * p.image_stride[0] + at[1] * p.image_stride[1] +
                2 * i * p.image_stride[3] + 2 * w0;
        back_row window[HIGH];
#pragma unroll
        for (int r = 0; r < HIGH; r++) {
            window[r].clear();
            if (i + r < p.grid_extent[1])
                window[r].read(grad + r * p.grid_stride[3], position + r * p.position_stride[3],
                               w0 + V < p.grid_extent[2]);
        }
#pragma unroll
        for (int a = 0; a < 2; a++) {
            const int32_t first = (2 * i + a) * p.image_extent[2] + 2 * w0;
            C sum[2 * V];
#pragma unroll
            for (int k = 0; k < 2 * V; k++) {
                sum[k] = 0;
#pragma unroll
                for (int r = 0; r < (a ? HIGH : 1); r++)
#pragma unroll
                    for (int c = k / 2; c < k / 2 + (k % 2 ? HIGH : 1); c++)
                        sum[k] += window[r].place[c] == first + k ? window[r].g[c] : (C)0;
            }
            if (2 * i + a >= p.image_extent[1])
                continue;
            C half[2][V];
#pragma unroll
            for (int k = 0; k < 2 * V; k++)
                half[k / V][k % V] = sum[k];
            neural_store<T, V>(to + a * p.image_stride[3], 0, half[0]);
            neural_store<T, V>(to + a * p.image_stride[3], 1, half[1]);
        }
    });
}
