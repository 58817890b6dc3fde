/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * One dense cast loop: CAST_STORE is its body, CAST_SRC and CAST_DST name the dtypes. */
static void CAST_FN(CAST_DST)(void *restrict dst, const void *restrict src, int64_t n)
{
    const CPU_CAT(cast, CAST_SRC) *s = src;
    CPU_CAT(cast, CAST_DST) *d = dst;
    for (int64_t i = 0; i < n; i++)
        CAST_STORE;
}
#undef CAST_DST
