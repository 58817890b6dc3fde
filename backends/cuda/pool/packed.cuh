/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The largest elements of windows of the usual kernels over planes of 16-bit elements, two of which an instruction
 * compares as they are stored. A thread makes some rows of a vector of windows: of all rows that a row of windows
 * has it takes the maxima first, then along the row.
 * Deliberately no include guard: each file of kernels includes it once, in a namespace of its own where
 * they are compiled for the host. */

/* The larger of two pairs each; a NaN wins. */
WINDOW_FN uint32_t packed_larger(uint32_t a, uint32_t b)
{
    uint32_t r;
#if __CUDA_ARCH__ >= 800
    if (std::is_same<T, __half>::value)
        asm("max.NaN.f16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    else
        asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
#else
    T x[2], y[2];
    memcpy((void *)x, &a, sizeof x);
    memcpy((void *)y, &b, sizeof y);
    for (int k = 0; k < 2; k++)
        neural_narrow(x + k, cm_larger(neural_widen(x[k]), neural_widen(y[k])));
    memcpy(&r, x, sizeof r);
#endif
    return r;
}

/* Pairs of a row: one before V*STEP elements, these, and one after them. */
template <int STEP> struct packed_row {
    enum { BODY = VECTOR * STEP / 2, ALL = BODY + 2 };
    uint32_t at[ALL];

    __device__ __forceinline__ void fill()
    {
        const uint32_t least = std::is_same<T, __half>::value ? 0xfc00fc00u : 0xff80ff80u;
#pragma unroll
        for (int k = 0; k < ALL; k++)
            at[k] = least;
    }
    template <int BEFORE, int AFTER>
    __device__ __forceinline__ void read(const T *row, int32_t first, int32_t extent)
    {
#pragma unroll
        for (int k = 0; k < STEP; k++) {
            const neural_raw<T, VECTOR> some = neural_read<T, VECTOR>(row + first + k * VECTOR);
            memcpy(&at[1 + k * VECTOR / 2], &some, sizeof some);
        }
        if (BEFORE && first)
            at[0] = *(const uint32_t *)(row + first - 2);
        if (AFTER && first + VECTOR * STEP < extent)
            at[ALL - 1] = *(const uint32_t *)(row + first + VECTOR * STEP);
    }
    __device__ __forceinline__ void meet(const packed_row &o)
    {
#pragma unroll
        for (int k = 0; k < ALL; k++)
            at[k] = packed_larger(at[k], o.at[k]);
    }
};

/* Pair i of the maxima along a row. */
template <int KERNEL, int STEP> WINDOW_FN uint32_t packed_window(const packed_row<STEP> &x, int i)
{
    const auto across = [&](int k) { return x.at[k] >> 16 | x.at[k + 1] << 16; };
    if (STEP == 1 && KERNEL == 3)
        return packed_larger(packed_larger(across(i), x.at[i + 1]), across(i + 1));
    if (STEP == 1) {
        const uint32_t low = packed_larger(x.at[i], across(i)),
                       high = packed_larger(x.at[i + 1], across(i + 1));
        return packed_larger(packed_larger(low, high), x.at[i + 2]);
    }
    const uint32_t a = x.at[1 + 2 * i], b = x.at[2 + 2 * i];
    const uint32_t even = (a & 0xffffu) | b << 16, odd = a >> 16 | (b & 0xffff0000u);
    const uint32_t both = packed_larger(even, odd);
    return KERNEL == 2 ? both : packed_larger(both, x.at[2 * i] >> 16 | (a & 0xffff0000u));
}

/* Rows of the walk are (n, c, strips of ROWS rows of windows); there is one layer, whose elements 32 bits count. */
template <int KERNEL, int STEP, int BEFORE, int ROWS>
WINDOW_FN void pool_packed(const cuda_pooling &p)
{
    constexpr int HIGH = (ROWS - 1) * STEP + KERNEL, AFTER = KERNEL - STEP - BEFORE > 0;
    const int32_t pitch = (int32_t)p.image_stride[3], to_pitch = (int32_t)p.grid_stride[3];
    window_each(p.walk, [&](uint32_t row, uint32_t item) {
        int32_t at[3];
        window_split<2>(p.walk, row, at);
        const int32_t window = (int32_t)item * VECTOR, h0 = at[2] * ROWS, e0 = h0 * STEP - BEFORE;
        const T *plane = (const T *)p.image + at[0] * p.image_stride[0] + at[1] * p.image_stride[1];
        packed_row<STEP> line[HIGH];
#pragma unroll
        for (int r = 0; r < HIGH; r++) {
            line[r].fill();
            if (e0 + r >= 0 && e0 + r < p.image_extent[1])
                line[r].template read<(BEFORE > 0), AFTER>(plane + (e0 + r) * pitch, window * STEP,
                                                           p.image_extent[2]);
        }
        T *to = (T *)p.grid + at[0] * p.grid_stride[0] + at[1] * p.grid_stride[1] +
                (h0 * to_pitch + window);
#pragma unroll
        for (int o = 0; o < ROWS; o++) {
            packed_row<STEP> all = line[o * STEP];
#pragma unroll
            for (int t = 1; t < KERNEL; t++)
                all.meet(line[o * STEP + t]);
            neural_raw<T, VECTOR> y;
#pragma unroll
            for (int k = 0; k < VECTOR / 2; k++)
                y.at[k] = packed_window<KERNEL, STEP>(all, k);
            if (h0 + o < p.grid_extent[1])
                *(neural_raw<T, VECTOR> *)(to + o * to_pitch) = y;
        }
    });
}
