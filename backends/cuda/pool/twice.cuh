/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Images that become twice as high and wide by the cubic method: a thread reads a vector of some rows of the source, and those
 * around it, and writes twice as many rows of two vectors. No table is read, since all shares are known.
 * Deliberately no include guard: each file of kernels includes it once, in a namespace of its own where
 * they are compiled for the host. */
#define ND_WINDOW_FN static __device__ __forceinline__
#include <ndock/windows.h>
#include "pool/element.cuh"

/* What taps of METHOD give where images become twice as wide: element 2j of the result, then 2j + 1,
 * from elements j - REACH on. */
template <int TAPS> WINDOW_FN void twice_shares(C (&even)[4], C (&odd)[4])
{
    double share[4] = {1, 1, 0, 0};
    if (TAPS == 4)
        nd_window_cubic(0.75, share);
    if (TAPS == 2) {
        share[0] = 0.25;
        share[1] = 0.75;
    }
#pragma unroll
    for (int t = 0; t < TAPS; t++) { /* the other is its mirror image */
        even[t] = (C)share[t];
        odd[t] = (C)share[TAPS - 1 - t];
    }
}

WINDOW_FN int32_t twice_clamp(int32_t e, int32_t extent)
{
    return e < 0 ? 0 : e < extent ? e : extent - 1;
}

/* Of the cubic method: elements of the source that one of the result is made of, and those around a vector. */
enum { TWICE_TAPS = 4, TWICE_REACH = TWICE_TAPS / 2, TWICE_SPAN = VECTOR + 2 * TWICE_REACH };

/* Elements first - TWICE_REACH ... first + VECTOR + TWICE_REACH - 1 of a row, where those beyond it are its
 * outermost. */
struct twice_row {
    enum { REACH = TWICE_REACH };
    neural_raw<T, VECTOR> body;
    neural_raw<T, 1> before[REACH], after[REACH];

    __device__ __forceinline__ void read(const T *row, int32_t first, int32_t extent)
    {
        body = neural_read<T, VECTOR>(row + first);
#pragma unroll
        for (int k = 0; k < REACH; k++) {
            before[k] = neural_read<T, 1>(row + twice_clamp(first - REACH + k, extent));
            after[k] = neural_read<T, 1>(row + twice_clamp(first + VECTOR + k, extent));
        }
    }
    __device__ __forceinline__ void widen(C (&x)[TWICE_SPAN]) const
    {
        C one[1], some[VECTOR];
        neural_widen(body, some);
#pragma unroll
        for (int k = 0; k < VECTOR; k++)
            x[REACH + k] = some[k];
#pragma unroll
        for (int k = 0; k < REACH; k++) {
            neural_widen(before[k], one);
            x[k] = one[0];
            neural_widen(after[k], one);
            x[REACH + VECTOR + k] = one[0];
        }
    }
};

/* The elements that VECTOR of a row become. */
WINDOW_FN void twice_widths(const C (&x)[TWICE_SPAN], const C (&even)[4], const C (&odd)[4], T *to)
{
    C y[2][VECTOR];
#pragma unroll
    for (int j = 0; j < VECTOR; j++) {
        C a = even[0] * x[j], b = odd[0] * x[j + 1];
#pragma unroll
        for (int t = 1; t < TWICE_TAPS; t++) {
            a = neural_fma(even[t], x[j + t], a);
            b = neural_fma(odd[t], x[j + t + 1], b);
        }
        y[2 * j / VECTOR][2 * j % VECTOR] = a;
        y[2 * j / VECTOR][2 * j % VECTOR + 1] = b;
    }
    neural_store<T, VECTOR>(to, 0, y[0]);
    neural_store<T, VECTOR>(to, 1, y[1]);
}

/* Rows of the walk are (n, c, strips of ROWS rows of the source); there is one layer. */
WINDOW_FN void resample_doubled(const cuda_resampling &p)
{
    constexpr int ROWS = RESAMPLE_ROWS, REACH = TWICE_REACH, HIGH = ROWS + 2 * REACH;
    C even[4], odd[4];
    twice_shares<TWICE_TAPS>(even, odd);
    window_each(p.walk, [&](uint32_t row, uint32_t item) {
        int32_t at[3];
        window_split<2>(p.walk, row, at);
        const T *plane = (const T *)p.image + at[0] * p.image_stride[0] + at[1] * p.image_stride[1];
        const int32_t first = (int32_t)item * VECTOR, h0 = at[2] * ROWS;
        twice_row line[HIGH];
#pragma unroll
        for (int r = 0; r < HIGH; r++)
            line[r].read(plane + twice_clamp(h0 + r - REACH, p.image_extent[1]) * p.image_stride[3],
                         first, p.image_extent[2]);
        T *to = (T *)p.grid + at[0] * p.grid_stride[0] + at[1] * p.grid_stride[1] +
                2 * h0 * p.grid_stride[3] + 2 * first;
#pragma unroll
        for (int o = 0; o < 2 * ROWS; o++) {
            C sum[TWICE_SPAN], x[TWICE_SPAN];
#pragma unroll
            for (int t = 0; t < TWICE_TAPS; t++) {
                line[o / 2 + t + o % 2].widen(x);
#pragma unroll
                for (int k = 0; k < TWICE_SPAN; k++)
                    sum[k] = t ? neural_fma(o % 2 ? odd[t] : even[t], x[k], sum[k])
                               : (o % 2 ? odd[0] : even[0]) * x[k];
            }
            if (h0 + o / 2 < p.image_extent[1])
                twice_widths(sum, even, odd, to + o * p.grid_stride[3]);
        }
    });
}
