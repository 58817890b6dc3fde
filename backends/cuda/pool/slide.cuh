/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Planes of other extents: a thread makes some columns of LINES rows below one another. The rows of the source that
 * a row of the result is made of are mostly those of the row before it, or all but one: what they give to the
 * columns stays in registers.
 * Deliberately no include guard: each file of kernels includes it once, in a namespace of its own where
 * they are compiled for the host. */

/* What COLUMNS elements of a row of the result are made of, along w. */
template <int TAPS, int COLUMNS> struct slide_columns {
    int32_t element[TAPS][COLUMNS];
    C part[TAPS][COLUMNS];

    __device__ __forceinline__ void read(const cuda_resampling &p, int32_t first)
    {
#pragma unroll
        for (int t = 0; t < TAPS; t++)
#pragma unroll
            for (int k = 0; k < COLUMNS; k++) {
                element[t][k] = element_in(p, 2, t, first + k);
                part[t][k] = TAPS == 1 ? (C)1 : share_in(p, 2, t, first + k);
            }
    }
    /* From one row of the source. */
    __device__ __forceinline__ void take(const T *row, C (&x)[COLUMNS]) const
    {
        C one[TAPS][COLUMNS];
#pragma unroll
        for (int t = 0; t < TAPS; t++)
#pragma unroll
            for (int k = 0; k < COLUMNS; k++)
                one[t][k] = neural_widen(row[element[t][k]]);
#pragma unroll
        for (int k = 0; k < COLUMNS; k++) {
            x[k] = TAPS == 1 ? one[0][k] : part[0][k] * one[0][k];
#pragma unroll
            for (int t = 1; t < TAPS; t++)
                x[k] = neural_fma(part[t][k], one[t][k], x[k]);
        }
    }
};

/* Rows of the walk are (n, c, strips of LINES rows); there is one layer, and rows of the source are dense. */
template <int TAPS, int COLUMNS, int LINES> WINDOW_FN void resample_slide(const cuda_resampling &p)
{
    window_each(p.walk, [&](uint32_t row, uint32_t item) {
        int32_t at[3];
        window_split<2>(p.walk, row, at);
        const int32_t first = (int32_t)item * COLUMNS, h0 = at[2] * LINES;
        const int32_t end = h0 + LINES < p.grid_extent[1] ? h0 + LINES : p.grid_extent[1];
        const T *plane = (const T *)p.image + at[0] * p.image_stride[0] + at[1] * p.image_stride[1];
        T *to = (T *)p.grid + at[0] * p.grid_stride[0] + at[1] * p.grid_stride[1] + first +
                h0 * p.grid_stride[3];
        slide_columns<TAPS, COLUMNS> columns;
        columns.read(p, first);
        int32_t element[TAPS]; /* the rows that are held */
        C held[TAPS][COLUMNS];
#pragma unroll
        for (int t = 0; t < TAPS; t++)
            element[t] = -1;
            /* single taps do not wait for what is held: all rows are under way at once */
#pragma unroll(TAPS == 1 ? LINES : 1)
        for (int32_t l = 0; l < LINES; l++) {
            const int32_t h = h0 + l;
            if (h >= end)
                return;
            int32_t next[TAPS];
            bool same = true, moved = true;
#pragma unroll
            for (int t = 0; t < TAPS; t++) {
                next[t] = element_in(p, 1, t, h);
                same = same && next[t] == element[t];
                if (t > 0)
                    moved = moved && next[t - 1] == element[t];
            }
            if (TAPS == 1 || !same) {
                if (TAPS > 1 && moved)
#pragma unroll
                    for (int t = 0; t < TAPS - 1; t++)
#pragma unroll
                        for (int k = 0; k < COLUMNS; k++)
                            held[t][k] = held[t + 1][k];
                else
#pragma unroll
                    for (int t = 0; t < TAPS - 1; t++)
                        columns.take(plane + next[t] * p.image_stride[3], held[t]);
                columns.take(plane + next[TAPS - 1] * p.image_stride[3], held[TAPS - 1]);
#pragma unroll
                for (int t = 0; t < TAPS; t++)
                    element[t] = next[t];
            }
            C sum[COLUMNS] = {};
#pragma unroll
            for (int t = 0; t < TAPS; t++) {
                const C share = TAPS == 1 ? (C)1 : share_in(p, 1, t, h);
#pragma unroll
                for (int k = 0; k < COLUMNS; k++)
                    sum[k] = TAPS == 1    ? held[0][k]
                             : share != 0 ? neural_fma(share, held[t][k], sum[k])
                                          : sum[k];
            }
            neural_store<T, COLUMNS>(to, 0, sum);
            to += p.grid_stride[3];
        }
    });
}
