/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * log of the sum of exp for T (f32 or f64). A state is the maximum m so far and the sum of
 * exp(x - m) in double. When m is infinite or NaN it alone is the result. Planes: m, sum. */

/* exp(x - m), to be called with x <= m. For infinite m the difference means nothing, so 0 is taken. */
static inline double FN(term)(double x, double m)
{
    double d = x - (m - m == 0 ? m : 0);
    d = d > 0 ? 0 : d;
    return sizeof(T) == 8 ? cpu_exp_negative(d) : vm_exp(d);
}

static inline double FN(larger)(double m, double x)
{
    double r = x > m ? x : m;
    return x != x ? x : r;
}

static inline void FN(terms)(double *restrict s, const T *restrict x, double m, int64_t n)
{
    for (int64_t j = 0; j < n; j++)
        s[j] += FN(term)((double)x[j], m);
}

static void FN(inner)(const cpu_fold *f, const void *src, int64_t n)
{
    const T *x = src;
    double *state = f->state, sum[CPU_LANES];
    T most = (T)-INFINITY;
    int64_t width = CPU_LANES;
    cpu_fold first = {.state = &most, .cap = 1, .comps = 1};
    MAX_INNER(&first, x, n);
    double max = FN(larger)(state[0], (double)most);
    while (width / 2 >= n && width > 2)
        width /= 2;
    for (int64_t l = 0; l < width; l++)
        sum[l] = 0;
    for (; n >= CPU_LANES; n -= CPU_LANES, x += CPU_LANES)
        FN(terms)(sum, x, max, CPU_LANES);
    FN(terms)(sum, x, max, n);
    for (int64_t h = width / 2; h; h /= 2)
        for (int64_t l = 0; l < h; l++)
            sum[l] += sum[l + h];
    state[f->cap] = state[f->cap] * FN(term)(state[0], max) + sum[0];
    state[0] = max;
}

static void FN(sweep)(const cpu_fold *f, const void *const *rows, int nrows, int64_t n)
{
    double *restrict m = f->state, *restrict s = (double *)f->state + f->cap;
    int r = 0;
    for (; r + 4 <= nrows; r += 4) {
        const T *restrict x0 = rows[r], *restrict x1 = rows[r + 1];
        const T *restrict x2 = rows[r + 2], *restrict x3 = rows[r + 3];
        CPU_INDEPENDENT
        for (int64_t j = 0; j < n; j++) {
            double a = (double)x0[j], b = (double)x1[j], c = (double)x2[j], d = (double)x3[j];
            double max = FN(larger)(FN(larger)(FN(larger)(FN(larger)(m[j], a), b), c), d);
            double sum = s[j] * FN(term)(m[j], max) + FN(term)(a, max) + FN(term)(b, max);
            s[j] = sum + FN(term)(c, max) + FN(term)(d, max);
            m[j] = max;
        }
    }
    for (; r < nrows; r++) {
        const T *restrict x = rows[r];
        CPU_INDEPENDENT
        for (int64_t j = 0; j < n; j++) {
            double max = FN(larger)(m[j], (double)x[j]);
            s[j] = s[j] * FN(term)(m[j], max) + FN(term)((double)x[j], max);
            m[j] = max;
        }
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
        double max = FN(larger)(s[j], t[j]), *sum = s + f->cap + j;
        sum[0] = sum[0] * FN(term)(s[j], max) + t[from->cap + j] * FN(term)(t[j], max);
        s[j] = max;
    }
}

static const cpu_reducer FN(reducer) = {
    .state_bytes = 16,
    .init = FN(init),
    .inner = FN(inner),
    .sweep = FN(sweep),
    .merge = FN(merge),
};
#undef OP
