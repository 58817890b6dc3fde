/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Gradients of planes of other extents: a thread makes one column of some rows of the source. Each row of the result is
 * reduced along w once for all rows that it is part of.
 * Deliberately no include guard: each file of kernels includes it once, in a namespace of its own where
 * they are compiled for the host. */

/* The elements of the result that element e of the source is part of, along axis D: begin to begin + n - 1. */
template <int D> struct slide_reach {
    int32_t element, begin, n;

    __device__ __forceinline__ void read(const cuda_resampling &p, int32_t e)
    {
        element = e;
        begin = ((const int32_t *)p.table[D].begin)[e];
        n = ((const int32_t *)p.table[D].end)[e] - begin;
    }
    /* Whether the table has all shares. */
    __device__ __forceinline__ bool is_near() const { return n <= NEAR; }
};

/* The sum of a row of the result, for an element of the source whose shares are in registers. All are read at once: those
 * beyond the last are the last again, and do not count. */
WINDOW_FN C slide_take(const slide_reach<2> &w, const C (&near)[NEAR], const T *row)
{
    T x[NEAR];
    C sum = 0;
#pragma unroll
    for (int k = 0; k < NEAR; k++)
        x[k] = row[w.begin + (k < w.n ? k : w.n - 1)];
#pragma unroll
    for (int k = 0; k < NEAR; k++)
        sum = neural_fma(near[k], k < w.n ? neural_widen(x[k]) : (C)0, sum);
    return sum;
}

/* An element of the source that is part of more than the table has shares of. */
WINDOW_FN C slide_far(const cuda_resampling &p, const slide_reach<1> &h, const slide_reach<2> &w,
                      const T *plane)
{
    C sum = 0;
    for (int32_t j = 0; j < h.n; j++) {
        const C share = back_share(p, 1, h.element, h.begin, j);
        const T *row = plane + (h.begin + j) * p.grid_stride[3] + w.begin;
        C x = 0;
        for (int32_t k = 0; k < w.n; k++)
            x = neural_fma(back_share(p, 2, w.element, w.begin, k), neural_widen(row[k]), x);
        sum = share != 0 ? neural_fma(share, x, sum) : sum;
    }
    return sum;
}

/* ROWS elements of the source below one another, whose tables have all shares. */
template <int ROWS>
WINDOW_FN void slide_near(const cuda_resampling &p, const slide_reach<1> (&h)[ROWS],
                          const slide_reach<2> &w, const T *plane, C (&sum)[ROWS])
{
    C near[NEAR];
    int32_t stop = 0;
    if (w.n == 0) /* part of no element: there is none to read */
        return;
#pragma unroll
    for (int k = 0; k < NEAR; k++)
        near[k] = ((const C *)p.table[2].near)[(int64_t)w.element * NEAR + k];
#pragma unroll
    for (int r = 0; r < ROWS; r++)
        stop = h[r].n > 0 && h[r].begin + h[r].n > stop ? h[r].begin + h[r].n : stop;
    const C *shares = (const C *)p.table[1].near + (int64_t)h[0].element * NEAR;
    const T *row = plane + h[0].begin * p.grid_stride[3];
    for (int32_t j = h[0].begin; j < stop; j++, row += p.grid_stride[3]) {
        const C x = slide_take(w, near, row);
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const int32_t k = j - h[r].begin;
            if ((uint32_t)k >= (uint32_t)h[r].n)
                continue;
            const C share = shares[r * NEAR + k];
            sum[r] = share != 0 ? neural_fma(share, x, sum[r]) : sum[r];
        }
    }
}

/* Rows of the walk are (n, c, strips of ROWS rows); there is one layer, and rows are dense. */
template <int ROWS> WINDOW_FN void resample_slide_back(const cuda_resampling &p)
{
    window_each(p.walk, [&](uint32_t row, uint32_t item) {
        int32_t at[3];
        window_split<2>(p.walk, row, at);
        const int32_t h0 = at[2] * ROWS, high = p.image_extent[1];
        const T *plane = (const T *)p.grid + at[0] * p.grid_stride[0] + at[1] * p.grid_stride[1];
        T *to = (T *)p.image + at[0] * p.image_stride[0] + at[1] * p.image_stride[1] +
                h0 * p.image_stride[3] + item;
        slide_reach<2> w;
        slide_reach<1> h[ROWS];
        C sum[ROWS] = {};
        w.read(p, (int32_t)item);
        bool near = w.is_near();
#pragma unroll
        for (int r = 0; r < ROWS; r++) { /* rows beyond the last take nothing */
            h[r].read(p, h0 + r < high ? h0 + r : h0);
            near = near && h[r].is_near();
            h[r].n = h0 + r < high ? h[r].n : 0;
        }
        if (near)
            slide_near(p, h, w, plane, sum);
#pragma unroll
        for (int r = 0; r < ROWS; r++)
            if (h0 + r < high)
                neural_narrow(to + r * p.image_stride[3],
                              near ? sum[r] : slide_far(p, h[r], w, plane));
    });
}
