/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * log of the sum of exp for T (f32 or f64). A state is the maximum m so far and the sum of
 * exp(x - m) in double. When m is infinite or NaN it alone is the result. Planes: m, sum. */
enum { FN(lanes) = 16 };
typedef struct {
    double v[FN(lanes)];
} FN(acc);

/* exp(x - m), to be called with x <= m. For infinite m the difference means nothing, so 0 is taken. */
static inline double FN(term)(double x, double m)
{
    double shift = m - m == 0 ? m : 0;
    double d = x - shift;
    return cpu_exp_negative(d > 0 ? 0 : d, sizeof(T) == 8);
}

static inline double FN(larger)(double m, double x)
{
    double r = x > m ? x : m;
    return x != x ? x : r;
}

static inline void FN(max_row)(FN(acc) *m, const T *x)
{
    for (int l = 0; l < FN(lanes); l++)
        m->v[l] = FN(larger)(m->v[l], (double)x[l]);
}

static inline void FN(sum_row)(FN(acc) *s, const FN(acc) *m, const T *x)
{
    for (int l = 0; l < FN(lanes); l++)
        s->v[l] += FN(term)((double)x[l], m->v[l]);
}

static void FN(inner)(const cpu_fold *f, const void *src, int64_t n)
{
    const T *x = src;
    double *state = f->state;
    T padded[FN(lanes)];
    FN(acc) m, s = {{0}};
    int64_t rest = n % FN(lanes), full = n - rest;
    for (int64_t l = 0; l < FN(lanes); l++) {
        padded[l] = l < rest ? x[full + l] : (T)-INFINITY;
        m.v[l] = -INFINITY;
    }
    for (int64_t i = 0; i < full; i += FN(lanes))
        FN(max_row)(&m, x + i);
    FN(max_row)(&m, padded);
    for (int h = FN(lanes) / 2; h; h /= 2)
        for (int l = 0; l < h; l++)
            m.v[l] = FN(larger)(m.v[l], m.v[l + h]);
    double max = FN(larger)(state[0], m.v[0]);
    for (int l = 0; l < FN(lanes); l++)
        m.v[l] = max;
    for (int64_t i = 0; i < full; i += FN(lanes))
        FN(sum_row)(&s, &m, x + i);
    FN(sum_row)(&s, &m, padded);
    for (int h = FN(lanes) / 2; h; h /= 2)
        for (int l = 0; l < h; l++)
            s.v[l] += s.v[l + h];
    state[f->cap] = state[f->cap] * FN(term)(state[0], max) + s.v[0];
    state[0] = max;
}

static inline void FN(block)(const cpu_fold *f, const T *const *rows, int nrows, int64_t j, int n)
{
    FN(acc) m, s = {{0}};
    double *state = (double *)f->state + j;
    for (int l = 0; l < FN(lanes); l++)
        m.v[l] = l < n ? state[l] : -INFINITY;
    for (int r = 0; r < nrows; r++)
        FN(max_row)(&m, rows[r]);
    for (int r = 0; r < nrows; r++)
        FN(sum_row)(&s, &m, rows[r]);
    for (int l = 0; l < n; l++) {
        state[f->cap + l] = state[f->cap + l] * FN(term)(state[l], m.v[l]) + s.v[l];
        state[l] = m.v[l];
    }
}

static void FN(init)(const cpu_fold *f, int64_t n)
{
    double *s = f->state;
    for (int64_t j = 0; j < n; j++) {
        s[j] = -INFINITY;
        s[f->cap + j] = 0;
    }
}

static void FN(merge)(const cpu_fold *f, const cpu_fold *from, int64_t n)
{
    double *s = f->state, *t = from->state;
    for (int64_t j = 0; j < n; j++) {
        double max = FN(larger)(s[j], t[j]);
        s[f->cap + j] = s[f->cap + j] * FN(term)(s[j], max) + t[from->cap + j] * FN(term)(t[j], max);
        s[j] = max;
    }
}

#define STATE_BYTES 16
#include "reduce_blocks_tmpl.h"
