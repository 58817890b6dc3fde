/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Binary search of one kind of element. The includer sets T (stored), VALUE(x), what is compared,
 * of type C, FLOATING and FN(name). */

/* Whether the sorted element a lies before the place of v. NaN sorts last, and equals NaN. */
static inline int FN(before)(C a, C v, int right)
{
#if FLOATING
    return right ? (a <= v) | (v != v) : !(a >= v) & (a == a);
#else
    return right ? a <= v : a < v;
#endif
}

/* Many searches advance together, so that their cache misses overlap; no branch depends on data. */
static inline void FN(batch)(const char *sorted, int64_t stride, int64_t n, const char *values,
                             int64_t value_stride, int64_t m, int64_t *out, int64_t out_stride,
                             int right)
{
    const T *a = (const T *)sorted, *x = (const T *)values;
    C v[SEARCH_BATCH];
    int64_t base[SEARCH_BATCH] = {0};
    for (int64_t i = 0; i < m; i++)
        v[i] = VALUE(x[i * value_stride]);
    for (int64_t left = n; left > 1;) {
        int64_t half = left / 2;
        for (int64_t i = 0; i < m; i++)
            base[i] +=
                -(int64_t)FN(before)(VALUE(a[(base[i] + half - 1) * stride]), v[i], right) & half;
        left -= half;
    }
    for (int64_t i = 0; i < m; i++)
        out[i * out_stride] =
            base[i] + (n > 0 && FN(before)(VALUE(a[base[i] * stride]), v[i], right));
}

static void FN(search)(const search_job *w, const char *values, int64_t value_stride, int64_t m,
                       int64_t *out, int64_t out_stride)
{
    for (int64_t i = 0; i < m; i += SEARCH_BATCH) {
        int64_t n = m - i < SEARCH_BATCH ? m - i : SEARCH_BATCH;
        const char *from = values + i * value_stride * (int64_t)sizeof(T);
        if (w->right)
            FN(batch)
        (w->sorted, w->stride, w->n, from, value_stride, n, out + i * out_stride, out_stride, 1);
        else FN(batch)(w->sorted, w->stride, w->n, from, value_stride, n, out + i * out_stride,
                       out_stride, 0);
    }
}
#undef T
#undef C
#undef VALUE
#undef FLOATING
#undef FN
