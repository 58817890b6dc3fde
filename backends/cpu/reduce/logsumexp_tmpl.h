/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * log of the sum of exp for T (f32 or f64). A state is the maximum m so far, the sum of exp(x - m)
 * over those below 1, and the number of those that are 1: with the ones apart, log1p at the end
 * loses nothing where one element outweighs the rest. When m is infinite or NaN it alone is the
 * result. Planes: m, sum, ones. */

/* exp(x - m), to be called with x <= m. For infinite m the difference means nothing, so 0 is taken.
 */
CPU_INLINE double FN(term)(double x, double m)
{
    double d = x - (m - m == 0 ? m : 0);
    d = d > 0 ? 0 : d;
    return sizeof(T) == 8 ? cpu_exp_below(d) : vm_exp_low(d);
}

CPU_INLINE double FN(larger)(double m, double x)
{
    double r = x > m ? x : m;
    return x != x ? x : r;
}

/* The larger of both, or a NaN. */
CPU_INLINE T FN(more)(T a, T b)
{
    T r = a > b ? a : b;
    return a != a ? a : r;
}

CPU_INLINE void FN(count)(double *sum, double *ones, double t)
{
    *sum += t < 1 ? t : 0;
    *ones += t < 1 ? 0 : 1;
}

/* Bring a state to the maximum max. */
CPU_INLINE void FN(raise)(double *m, double *sum, double *ones, double max)
{
    double t = FN(term)(*m, max);
    *sum = t < 1 ? (*sum + *ones) * t : *sum;
    *ones = t < 1 ? 0 : *ones;
    *m = max;
}

CPU_INLINE void FN(terms)(double *restrict sum, double *restrict ones, const T *restrict x,
                          double m, int64_t n)
{
    for (int64_t j = 0; j < n; j++)
        FN(count)(&sum[j], &ones[j], FN(term)((double)x[j], m));
}

static void FN(inner)(const cpu_fold *f, const void *src, int64_t n)
{
    const T *x = src;
    double *s = f->state, sum[CPU_LANES], ones[CPU_LANES];
    T most = (T)-INFINITY;
    int64_t width = CPU_LANES, cap = f->cap;
    cpu_fold first = {.state = &most, .cap = 1, .comps = 1};
    MAX_INNER(&first, x, n);
    double max = FN(larger)(s[0], (double)most);
    while (width / 2 >= n && width > 2)
        width /= 2;
    for (int64_t l = 0; l < width; l++)
        sum[l] = ones[l] = 0;
    for (; n >= CPU_LANES; n -= CPU_LANES, x += CPU_LANES)
        FN(terms)(sum, ones, x, max, CPU_LANES);
    FN(terms)(sum, ones, x, max, n);
    for (int64_t h = width / 2; h; h /= 2)
        for (int64_t l = 0; l < h; l++) {
            sum[l] += sum[l + h];
            ones[l] += ones[l + h];
        }
    FN(raise)(s, s + cap, s + 2 * cap, max);
    s[cap] += sum[0];
    s[2 * cap] += ones[0];
}

/* Eight rows of at most CPU_TOPS elements. A new maximum costs an exponential, so it is sought among all eight; in a
 * loop of its own, since GCC 14 makes branches of its choices where others follow, and then no vectors. */
static void FN(eight)(double *restrict m, double *restrict sum, double *restrict ones,
                      const T *const x[8], int64_t n)
{
    const T *const restrict x0 = x[0], *const restrict x1 = x[1], *const restrict x2 = x[2];
    const T *const restrict x3 = x[3], *const restrict x4 = x[4], *const restrict x5 = x[5];
    const T *const restrict x6 = x[6], *const restrict x7 = x[7];
    T top[CPU_TOPS];
    CPU_INDEPENDENT
    for (int64_t j = 0; j < n; j++) {
        T a = FN(more)(FN(more)(x0[j], x1[j]), FN(more)(x2[j], x3[j]));
        T b = FN(more)(FN(more)(x4[j], x5[j]), FN(more)(x6[j], x7[j]));
        top[j] = FN(more)(a, b);
    }
    CPU_INDEPENDENT
    for (int64_t j = 0; j < n; j++) {
        double max = FN(larger)(m[j], (double)top[j]);
        double most = m[j], total = sum[j], o = ones[j];
        FN(raise)(&most, &total, &o, max);
        FN(count)(&total, &o, FN(term)((double)x0[j], max));
        FN(count)(&total, &o, FN(term)((double)x1[j], max));
        FN(count)(&total, &o, FN(term)((double)x2[j], max));
        FN(count)(&total, &o, FN(term)((double)x3[j], max));
        FN(count)(&total, &o, FN(term)((double)x4[j], max));
        FN(count)(&total, &o, FN(term)((double)x5[j], max));
        FN(count)(&total, &o, FN(term)((double)x6[j], max));
        FN(count)(&total, &o, FN(term)((double)x7[j], max));
        m[j] = most;
        sum[j] = total;
        ones[j] = o;
    }
}

static void FN(sweep)(const cpu_fold *f, const void *const *rows, int nrows, int64_t n)
{
    double *restrict m = f->state, *restrict sum = m + f->cap, *restrict ones = sum + f->cap;
    int r = 0;
    for (; r + 8 <= nrows; r += 8)
        for (int64_t first = 0; first < n; first += CPU_TOPS) {
            const T *x[8];
            for (int k = 0; k < 8; k++)
                x[k] = (const T *)rows[r + k] + first;
            const int64_t part = n - first < CPU_TOPS ? n - first : CPU_TOPS;
            FN(eight)(m + first, sum + first, ones + first, x, part);
        }
    for (; r < nrows; r++) {
        const T *restrict x = rows[r];
        CPU_INDEPENDENT
        for (int64_t j = 0; j < n; j++) {
            double most = m[j], total = sum[j], o = ones[j];
            FN(raise)(&most, &total, &o, FN(larger)(most, (double)x[j]));
            FN(count)(&total, &o, FN(term)((double)x[j], most));
            m[j] = most;
            sum[j] = total;
            ones[j] = o;
        }
    }
}

static void FN(init)(const cpu_fold *f, int64_t n)
{
    double *s = f->state;
    for (int64_t j = 0; j < n; j++) {
        s[j] = -INFINITY;
        s[f->cap + j] = 0;
        s[2 * f->cap + j] = 0;
    }
}

static void FN(merge)(const cpu_fold *f, const cpu_fold *from, int64_t n)
{
    double *s = f->state, *t = from->state;
    int64_t a = f->cap, b = from->cap;
    for (int64_t j = 0; j < n; j++) {
        double max = FN(larger)(s[j], t[j]);
        FN(raise)(s + j, s + a + j, s + 2 * a + j, max);
        FN(raise)(t + j, t + b + j, t + 2 * b + j, max);
        s[a + j] += t[b + j];
        s[2 * a + j] += t[2 * b + j];
    }
}

static const cpu_reducer FN(reducer) = {
    .state_bytes = 24,
    .init = FN(init),
    .inner = FN(inner),
    .sweep = FN(sweep),
    .merge = FN(merge),
};
#undef OP
