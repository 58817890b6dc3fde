/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What kernels read of the tables of taps.
 * Deliberately no include guard: each file of kernels includes it once, in a namespace of its own where
 * they are compiled for the host. */

enum { NEAR = RESAMPLE_NEAR };

/* Share and element of tap t of element i of the result. */
WINDOW_FN C share_in(const cuda_resampling &p, int d, int32_t t, int32_t i)
{
    return ((const C *)p.table[d].share)[(int64_t)t * p.grid_extent[d] + i];
}
WINDOW_FN int32_t element_in(const cuda_resampling &p, int d, int32_t t, int32_t i)
{
    return ((const int32_t *)p.table[d].element)[(int64_t)t * p.grid_extent[d] + i];
}

/* The share of element e of the source in element begin + k of the result. */
WINDOW_FN C back_share(const cuda_resampling &p, int d, int32_t e, int32_t begin, int32_t k)
{
    C share = 0;
    if (k < NEAR)
        return ((const C *)p.table[d].near)[(int64_t)e * NEAR + k];
    for (int t = 0; t < p.taps; t++)
        if (element_in(p, d, t, begin + k) == e)
            share += share_in(p, d, t, begin + k);
    return share;
}
