/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Images that become twice as high and wide, and their gradients. All shares are known, so no table is
 * read. Threads side by side write vectors side by side: a vector of the result is made of half as many
 * elements of the source and those around them, which come from the cache.
 * Deliberately no include guard: each file of kernels includes it once, in a namespace of its own where
 * they are compiled for the host. */
#define ND_WINDOW_FN static __device__ __forceinline__
#include <ndock/windows.h>
#include "pool/element.cuh"

enum { HALF = VECTOR / 2 };

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

/* WIDE elements of a row and SIDE on both sides of them, as they are stored; beyond the row its outermost
 * count. */
template <int WIDE, int SIDE> struct twice_span {
    enum { ALL = WIDE + 2 * SIDE };
    neural_raw<T, WIDE> body;
    neural_raw<T, 1> before[SIDE ? SIDE : 1], after[SIDE ? SIDE : 1];

    /* at: where the row begins; numbers of elements have 32 bits, so that an address is one instruction. */
    __device__ __forceinline__ void read(const T *plane, int32_t at, int32_t first, int32_t extent)
    {
        body = neural_read<T, WIDE>(plane + (at + first));
#pragma unroll
        for (int k = 0; k < SIDE; k++) {
            before[k] = neural_read<T, 1>(plane + (at + twice_clamp(first - SIDE + k, extent)));
            after[k] = neural_read<T, 1>(plane + (at + twice_clamp(first + WIDE + k, extent)));
        }
    }
    __device__ __forceinline__ void widen(C (&x)[ALL]) const
    {
        C one[1], some[WIDE];
        neural_widen(body, some);
#pragma unroll
        for (int k = 0; k < WIDE; k++)
            x[SIDE + k] = some[k];
#pragma unroll
        for (int k = 0; k < SIDE; k++) {
            neural_widen(before[k], one);
            x[k] = one[0];
            neural_widen(after[k], one);
            x[SIDE + WIDE + k] = one[0];
        }
    }
};

/* Rows of the walk are (n, c, strips of ROWS rows of the source); there is one layer, whose elements
 * 32 bits count. */
template <int TAPS, int ROWS> WINDOW_FN void resample_doubled(const cuda_resampling &p)
{
    constexpr int REACH = TAPS / 2, HIGH = ROWS + 2 * REACH, WIDE = HALF + 2 * REACH;
    C even[4], odd[4];
    const int32_t pitch = (int32_t)p.image_stride[3], to_pitch = (int32_t)p.grid_stride[3];
    twice_shares<TAPS>(even, odd);
    window_each(p.walk, [&](uint32_t row, uint32_t item) {
        int32_t at[3];
        window_split<2>(p.walk, row, at);
        const T *plane = (const T *)p.image + at[0] * p.image_stride[0] + at[1] * p.image_stride[1];
        const int32_t first = (int32_t)item * HALF, h0 = at[2] * ROWS;
        twice_span<HALF, REACH> line[HIGH];
#pragma unroll
        for (int r = 0; r < HIGH; r++)
            line[r].read(plane, twice_clamp(h0 + r - REACH, p.image_extent[1]) * pitch, first,
                         p.image_extent[2]);
        T *to = (T *)p.grid + at[0] * p.grid_stride[0] + at[1] * p.grid_stride[1];
        const int32_t to0 = 2 * (h0 * to_pitch + first);
#pragma unroll
        for (int o = 0; o < 2 * ROWS; o++) {
            C sum[WIDE], x[WIDE], y[VECTOR];
#pragma unroll
            for (int t = 0; t < TAPS; t++) {
                line[o / 2 + t + (TAPS > 1 ? o % 2 : 0)].widen(x);
#pragma unroll
                for (int k = 0; k < WIDE; k++)
                    sum[k] = TAPS == 1 ? x[k]
                             : t       ? neural_fma(o % 2 ? odd[t] : even[t], x[k], sum[k])
                                       : (o % 2 ? odd[0] : even[0]) * x[k];
            }
#pragma unroll
            for (int j = 0; j < HALF; j++) {
                C a = TAPS == 1 ? sum[j] : even[0] * sum[j];
                C b = TAPS == 1 ? sum[j] : odd[0] * sum[j + 1];
#pragma unroll
                for (int t = 1; t < TAPS; t++) {
                    a = neural_fma(even[t], sum[j + t], a);
                    b = neural_fma(odd[t], sum[j + t + 1], b);
                }
                y[2 * j] = a;
                y[2 * j + 1] = b;
            }
            if (h0 + o / 2 < p.image_extent[1])
                neural_store<T, VECTOR>(to + (to0 + o * to_pitch), 0, y);
        }
    });
}

/* ---- gradients, by the nearest elements or linearly ---- */

/* Of rows or columns 2j - 1 to 2j + 2, of which the second and the third are of element j itself. */
template <int TAPS> WINDOW_FN C twice_share(C before, C a, C b, C after)
{
    return TAPS == 1 ? a + b : neural_fma((C)0.75, a + b, (C)0.25 * (before + after));
}

/* Rows of the walk are those of resample_doubled; a border beyond the result is its outermost elements again, which
 * so have what their taps beyond the source would. */
template <int TAPS, int ROWS> WINDOW_FN void resample_doubled_back(const cuda_resampling &p)
{
    constexpr int SIDE = TAPS - 1, HIGH = 2 * ROWS + 2 * SIDE;
    const int32_t pitch = (int32_t)p.grid_stride[3], to_pitch = (int32_t)p.image_stride[3];
    window_each(p.walk, [&](uint32_t row, uint32_t item) {
        int32_t at[3];
        window_split<2>(p.walk, row, at);
        const T *plane = (const T *)p.grid + at[0] * p.grid_stride[0] + at[1] * p.grid_stride[1];
        const int32_t first = (int32_t)item * HALF, h0 = at[2] * ROWS;
        twice_span<VECTOR, SIDE> line[HIGH];
#pragma unroll
        for (int r = 0; r < HIGH; r++)
            line[r].read(plane, twice_clamp(2 * h0 + r - SIDE, p.grid_extent[1]) * pitch, 2 * first,
                         p.grid_extent[2]);
        T *to = (T *)p.image + at[0] * p.image_stride[0] + at[1] * p.image_stride[1];
        const int32_t to0 = h0 * to_pitch + first;
        C part[HIGH][HALF];
#pragma unroll
        for (int r = 0; r < HIGH; r++) {
            C x[VECTOR + 2 * SIDE];
            line[r].widen(x);
#pragma unroll
            for (int j = 0; j < HALF; j++)
                part[r][j] = TAPS == 1 ? x[2 * j] + x[2 * j + 1]
                                       : twice_share<TAPS>(x[2 * j], x[2 * j + 1], x[2 * j + 2],
                                                           x[2 * j + 3]);
        }
#pragma unroll
        for (int o = 0; o < ROWS; o++) {
            C sum[HALF];
#pragma unroll
            for (int j = 0; j < HALF; j++)
                sum[j] = TAPS == 1 ? part[2 * o][j] + part[2 * o + 1][j]
                                   : twice_share<TAPS>(part[2 * o][j], part[2 * o + 1][j],
                                                       part[2 * o + 2][j], part[2 * o + 3][j]);
            if (h0 + o < p.image_extent[1])
                neural_store<T, HALF>(to + (to0 + o * to_pitch), 0, sum);
        }
    });
}
