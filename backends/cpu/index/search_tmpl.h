/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Search of values of one kind. The includer sets T, the values' type in memory, S, that of the
 * sorted row, VALUE(x) and SORTED(x), what is compared, of type C, FLOATING, R, the type in which
 * cells are computed, and FN(name). */

/* Whether the sorted element a lies before the place of v. NaN sorts last, and equals NaN. */
static inline int FN(before)(C a, C v, int right)
{
#if FLOATING
    return right ? (a <= v) | (v != v) : !(a >= v) & (a == a);
#else
    return right ? a <= v : a < v;
#endif
}

static inline int FN(is_nan)(C x)
{
#if FLOATING
    return x != x;
#else
    (void)x;
    return 0;
#endif
}

/* Many searches advance together, so that their cache misses overlap; no branch depends on data. */
static inline void FN(batch)(const char *sorted, int64_t stride, int64_t n, const char *values,
                             int64_t value_stride, int64_t m, int64_t *out, int64_t out_stride,
                             int right)
{
    const S *a = (const S *)sorted;
    const T *x = (const T *)values;
    C v[SEARCH_BATCH];
    int64_t base[SEARCH_BATCH] = {0};
    for (int64_t i = 0; i < m; i++)
        v[i] = VALUE(x[i * value_stride]);
    for (int64_t left = n; left > 1;) {
        int64_t half = left / 2;
        for (int64_t i = 0; i < m; i++)
            base[i] +=
                -(int64_t)FN(before)(SORTED(a[(base[i] + half - 1) * stride]), v[i], right) & half;
        left -= half;
    }
    for (int64_t i = 0; i < m; i++)
        out[i * out_stride] =
            base[i] + (n > 0 && FN(before)(SORTED(a[base[i] * stride]), v[i], right));
}

static void FN(halves)(const search_row *w, const char *values, int64_t value_stride, int64_t m,
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

static int64_t FN(outside)(const search_row *w, const char *values, int64_t m)
{
    const S *a = (const S *)w->sorted;
    const T *x = (const T *)values;
    const C low = SORTED(a[0]), high = SORTED(a[(w->n - 1) * w->stride]);
    int64_t behind = 0, begun = 0;
    for (int64_t i = 0; i < m; i++) {
        const C v = VALUE(x[i]);
        behind += FN(before)(high, v, 1);
        begun += FN(before)(low, v, 1);
    }
    return begun == behind ? behind : -1;
}

/* ---- by cells ---- */
static inline int32_t FN(cell)(C v, R low, R scale, R last)
{
    R t = ((R)v - low) * scale;
    t = t > 0 ? t : 0; /* NaN as well */
    return (int32_t)(t < last ? t : last);
}

/* Puts the different elements in a row of their own; 0: they do not ascend, or NaN is among them. */
static int FN(distinct)(search_row *w)
{
    const S *a = (const S *)w->sorted;
    C *e = w->elements;
    int64_t m = 0;
    for (int64_t i = 0; i < w->n; i++) {
        C x = SORTED(a[i * w->stride]);
        if (FN(is_nan)(x) || (m > 0 && x < e[m - 1]))
            return 0;
        if (m == 0 || x > e[m - 1])
            e[m++] = x;
        w->place[m] = (int32_t)(i + 1);
    }
    w->place[0] = 0;
    w->distinct = m;
    return m > 1;
}

static int FN(cells)(search_row *w, char *memory)
{
    const R last = (R)(w->cells - 1);
    int64_t at = 0, first = 0;
    w->elements = memory;
    w->before = (int32_t *)(memory + 8 * (w->n + SEARCH_COMPARES));
    w->place = w->before + w->cells;
    w->compares = 0;
    if (!FN(distinct)(w))
        return 0;
    C *e = w->elements;
    const R low = (R)e[0], scale = (R)w->cells / ((R)e[w->distinct - 1] - low);
    if (!(scale > 0 && scale <= (R)1e30) || !(low - low == 0) ||
        FN(cell)(e[w->distinct - 1], low, scale, last) != (int32_t)last)
        return 0;
    for (int64_t c = 0; c < w->cells; c++, first = at) {
        w->before[c] = (int32_t)at;
        while (at < w->distinct && FN(cell)(e[at], low, scale, last) <= c)
            at++;
        w->compares = at - first > w->compares ? (int)(at - first) : w->compares;
        if (w->compares > SEARCH_COMPARES)
            return 0;
    }
    for (int i = 0; i < w->compares; i++)
        e[w->distinct + i] = e[w->distinct - 1];
    w->low = (double)low;
    w->scale = (double)scale;
    w->place = w->distinct < w->n ? w->place : NULL;
    return 1;
}

static inline __attribute__((always_inline)) void FN(in_cells)(const search_row *w,
                                                               const char *values,
                                                               int64_t value_stride, int64_t m,
                                                               int64_t *out, int64_t out_stride,
                                                               const int right, const int compares)
{
    const T *x = (const T *)values;
    const C *e = w->elements;
    const int32_t *before = w->before;
    const int64_t distinct = w->distinct;
    const R low = (R)w->low, scale = (R)w->scale, last = (R)(w->cells - 1);
    for (int64_t i = 0; i < m; i++) {
        C v = VALUE(x[i * value_stride]);
        int64_t at = before[FN(cell)(v, low, scale, last)], sum = at;
        for (int k = 0; k < compares; k++)
            sum += FN(before)(e[at + k], v, right);
        sum = sum < distinct ? sum : distinct;
        out[i * out_stride] = FN(is_nan)(v) ? distinct : sum;
    }
}

static void FN(by_cells)(const search_row *w, const char *values, int64_t value_stride, int64_t m,
                         int64_t *out, int64_t out_stride)
{
    const int dense = w->right && value_stride == 1 && out_stride == 1;
    if (dense && w->compares == 1)
        FN(in_cells)(w, values, 1, m, out, 1, 1, 1);
    else if (dense && w->compares == 2)
        FN(in_cells)(w, values, 1, m, out, 1, 1, 2);
    else if (dense && w->compares == 3)
        FN(in_cells)(w, values, 1, m, out, 1, 1, 3);
    else if (w->compares == 1)
        FN(in_cells)(w, values, value_stride, m, out, out_stride, w->right, 1);
    else
        FN(in_cells)(w, values, value_stride, m, out, out_stride, w->right, w->compares);
    for (int64_t i = 0; w->place && i < m; i++)
        out[i * out_stride] = w->place[out[i * out_stride]];
}

/* ---- by distance ---- */
#if !FLOATING
static int FN(follow)(const search_row *w)
{
    const S *a = (const S *)w->sorted;
    uint64_t other = w->n == 0;
    for (int64_t i = 1; i < w->n; i++)
        other |= (uint64_t)SORTED(a[i * w->stride]) - (uint64_t)SORTED(a[0]) - (uint64_t)i;
    return other == 0;
}

static void FN(by_distance)(const search_row *w, const char *values, int64_t value_stride,
                            int64_t m, int64_t *out, int64_t out_stride)
{
    const T *x = (const T *)values;
    const C first = SORTED(((const S *)w->sorted)[0]);
    const uint64_t n = (uint64_t)w->n, right = (uint64_t)w->right;
    if (value_stride == 1 && out_stride == 1)
        for (int64_t i = 0; i < m; i++) {
            C v = VALUE(x[i]);
            uint64_t at = (uint64_t)v - (uint64_t)first;
            at = at < n ? at + right : n;
            out[i] = v < first ? 0 : (int64_t)at;
        }
    else
        for (int64_t i = 0; i < m; i++) {
            C v = VALUE(x[i * value_stride]);
            uint64_t at = (uint64_t)v - (uint64_t)first;
            at = at < n ? at + right : n;
            out[i * out_stride] = v < first ? 0 : (int64_t)at;
        }
}
#endif
#undef T
#undef S
#undef C
#undef R
#undef VALUE
#undef SORTED
#undef FLOATING
#undef FN
