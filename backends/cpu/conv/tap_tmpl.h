/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Taps of a row of sums. The includer defines CV_NAME, f32 or f64, and CV_T, the type. Products
 * are rounded before they are added, at every SIMD level. */
#define CV_FN(name) CPU_CAT(cv_##name, CV_NAME)

typedef CV_T CV_FN(vector) __attribute__((vector_size(MM_BYTES)));
typedef CV_T CV_FN(anywhere) __attribute__((vector_size(MM_BYTES), aligned(4), may_alias));

/* Sums from `first` on, some of whose taps may be outside. */
static void CV_FN(some_taps)(CV_T *sum, const cv_taps *t, int64_t first, int64_t end)
{
    for (int64_t i = first; i < end; i++) {
        const int64_t at = i * t->scale + t->origin;
        int64_t from = 0, to = t->taps;
        CV_T s = t->start ? 0 : sum[i];
        while (from < to && (uint64_t)(at + from * t->move) >= (uint64_t)t->extent)
            from++;
        while (to > from && (uint64_t)(at + (to - 1) * t->move) >= (uint64_t)t->extent)
            to--;
        for (int r = 0; r < t->rows; r++) {
            const CV_T *x = (const CV_T *)t->row[r] + at, *weight = t->weight[r];
            for (int64_t k = from; k < to; k++)
                s += weight[k] * x[k * t->move];
        }
        sum[i] = s;
    }
}

static inline CV_FN(vector) CV_FN(at)(const CV_T *x)
{
    return *(const CV_FN(anywhere) *)x;
}
static inline void CV_FN(put)(CV_T *x, CV_FN(vector) v)
{
    *(CV_FN(anywhere) *)x = v;
}

/* A vector of sums whose taps are all inside and lie side by side from sum to sum; then two. */
static inline __attribute__((always_inline)) CV_FN(vector)
    CV_FN(vector_of)(const CV_T *sum, const cv_taps *t, const int64_t taps, int64_t i)
{
    CV_FN(vector) s = {0};
    if (!t->start)
        s = CV_FN(at)(sum + i);
    for (int r = 0; r < t->rows; r++) {
        const CV_T *from = (const CV_T *)t->row[r] + i + t->origin, *weight = t->weight[r];
        for (int64_t k = 0; k < taps; k++, from += t->move)
            s += CV_FN(at)(from) * weight[k];
    }
    return s;
}
static inline __attribute__((always_inline)) void CV_FN(two_vectors)(CV_T *sum, const cv_taps *t,
                                                                     const int64_t taps, int64_t i)
{
    enum { LANES = MM_BYTES / (int)sizeof(CV_T) };
    CV_FN(vector) s = {0}, next = {0};
    if (!t->start) {
        s = CV_FN(at)(sum + i);
        next = CV_FN(at)(sum + i + LANES);
    }
    for (int r = 0; r < t->rows; r++) {
        const CV_T *from = (const CV_T *)t->row[r] + i + t->origin, *weight = t->weight[r];
        for (int64_t k = 0; k < taps; k++, from += t->move) {
            s += CV_FN(at)(from) * weight[k];
            next += CV_FN(at)(from + LANES) * weight[k];
        }
    }
    CV_FN(put)(sum + i, s);
    CV_FN(put)(sum + i + LANES, next);
}

/* The last vector overlaps the one before, so it is made of the sums as they were and stored last. */
static inline __attribute__((always_inline)) void CV_FN(side_by_side)(CV_T *sum, const cv_taps *t,
                                                                      const int64_t taps,
                                                                      int64_t first, int64_t end)
{
    enum { LANES = MM_BYTES / (int)sizeof(CV_T) };
    if (end - first < LANES) {
        CV_FN(some_taps)(sum, t, first, end);
        return;
    }
    const CV_FN(vector) last = CV_FN(vector_of)(sum, t, taps, end - LANES);
    for (; first + 2 * LANES <= end; first += 2 * LANES)
        CV_FN(two_vectors)(sum, t, taps, first);
    if (first + LANES <= end)
        CV_FN(put)(sum + first, CV_FN(vector_of)(sum, t, taps, first));
    CV_FN(put)(sum + end - LANES, last);
}

/* Sums whose taps are all inside: a row and tap at a time. */
static inline __attribute__((always_inline)) void CV_FN(each_tap)(CV_T *sum_, const cv_taps *t,
                                                                  const int64_t scale,
                                                                  int64_t first, int64_t end)
{
    CV_T *restrict sum = sum_;
    for (int64_t i = first; t->start && i < end; i++)
        sum[i] = 0;
    for (int r = 0; r < t->rows; r++)
        for (int64_t k = 0; k < t->taps; k++) {
            const CV_T *restrict x = (const CV_T *)t->row[r] + t->origin + k * t->move;
            const CV_T weight = ((const CV_T *)t->weight[r])[k];
            for (int64_t i = first; i < end; i++)
                sum[i] += weight * x[i * scale];
        }
}

static void CV_FN(taps)(void *sum_, const cv_taps *t)
{
    CV_T *sum = sum_;
    const int64_t first = t->first, end = t->end;
    CV_FN(some_taps)(sum, t, 0, first);
    if (t->scale == 1 && t->taps == 3) {
        CV_FN(side_by_side)(sum, t, 3, first, end);
    } else if (t->scale == 1 && t->taps == 5) {
        CV_FN(side_by_side)(sum, t, 5, first, end);
    } else if (t->scale == 1) {
        CV_FN(side_by_side)(sum, t, t->taps, first, end);
    } else if (t->scale == 2) {
        CV_FN(each_tap)(sum, t, 2, first, end);
    } else {
        CV_FN(each_tap)(sum, t, t->scale, first, end);
    }
    CV_FN(some_taps)(sum, t, end, t->n);
}

#undef CV_FN
#undef CV_NAME
#undef CV_T
