/* What element e of the source gets from rows of the result: elements begin to end - 1 of each, the shares of the
 * first in registers. */
struct slide_shares {
    int32_t element, begin, n;
    C near[NEAR];

    __device__ __forceinline__ void read(const cuda_resampling &p, int d, int32_t e)
    {
        element = e;
        begin = ((const int32_t *)p.table[d].begin)[e];
        n = ((const int32_t *)p.table[d].end)[e] - begin;
#pragma unroll
        for (int k = 0; k < NEAR; k++)
            near[k] = ((const C *)p.table[d].near)[(int64_t)e * NEAR + k];
    }
    __device__ __forceinline__ C take(const cuda_resampling &p, const T *row) const
    {
        C x[NEAR], sum = 0;
#pragma unroll
        for (int k = 0; k < NEAR; k++)
            x[k] = k < n ? (C)neural_widen(row[begin + k]) : (C)0;
#pragma unroll
        for (int k = 0; k < NEAR; k++)
            sum = neural_fma(near[k], x[k], sum);
        for (int32_t k = NEAR; k < n; k++)
            sum = neural_fma(back_share(p, 2, element, begin, k), neural_widen(row[begin + k]), sum);
        return sum;
    }
};

/* Gradients of planes of other extents: a thread makes one column of ROWS rows of the source, each row of the result
 * is reduced along w once for all that it is part of. Rows of the walk are (n, c, strips of ROWS rows); there is one
 * layer, and rows are dense. */
template <int ROWS> WINDOW_FN void resample_slide_back(const cuda_resampling &p)
{
    window_each(p.walk, [&](uint32_t row, uint32_t item) {
        int32_t at[3], begin[ROWS], end[ROWS];
        window_split<2>(p.walk, row, at);
        const int32_t h0 = at[2] * ROWS, high = p.image_extent[1];
        slide_shares columns;
        columns.read(p, 2, (int32_t)item);
        C sum[ROWS];
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            sum[r] = 0;
            begin[r] = h0 + r < high ? ((const int32_t *)p.table[1].begin)[h0 + r] : INT32_MAX;
            end[r] = h0 + r < high ? ((const int32_t *)p.table[1].end)[h0 + r] : 0;
        }
        const int32_t last = h0 + ROWS < high ? h0 + ROWS : high;
        const int32_t stop = ((const int32_t *)p.table[1].end)[last - 1];
        const T *line = (const T *)p.grid + at[0] * p.grid_stride[0] + at[1] * p.grid_stride[1] +
                        begin[0] * p.grid_stride[3];
        for (int32_t j = begin[0]; j < stop; j++, line += p.grid_stride[3]) {
            const C x = columns.take(p, line);
#pragma unroll
            for (int r = 0; r < ROWS; r++)
                if (j >= begin[r] && j < end[r]) {
                    const C share = back_share(p, 1, h0 + r, begin[r], j - begin[r]);
                    sum[r] = share != 0 ? neural_fma(share, x, sum[r]) : sum[r];
                }
        }
        T *to = (T *)p.image + at[0] * p.image_stride[0] + at[1] * p.image_stride[1] +
                h0 * p.image_stride[3] + item;
#pragma unroll
        for (int r = 0; r < ROWS; r++)
            if (h0 + r < high)
                neural_narrow(to + r * p.image_stride[3], sum[r]);
    });
}
