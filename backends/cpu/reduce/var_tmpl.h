/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Variance of T (f32 or f64) in double. Each fold finds its own mean, then the squares of the
 * distances from it, while its elements are in L1; states (mean as an unevaluated sum of two
 * doubles, sum of squares) are joined by the formula of Chan, Golub and LeVeque, Am. Stat. 37
 * (1983). Nothing cancels, whatever the offset of the data. Planes: mean, its error, squares, their
 * error. */

/* Join a fold of nb elements (mean + error, squares) into the state s of na elements;
 * w = nb/(na + nb) and na_w = na*w. */
CPU_INLINE void FN(join)(double *s, int64_t cap, double mean, double error, double squares,
                         double w, double na_w)
{
    double delta = (mean - s[0]) + (error - s[cap]);
    double step = s[cap] + delta * w, sum = s[0] + step, b = sum - s[0];
    double join_error = (s[0] - (sum - b)) + (step - b);
    double more = squares + delta * delta * na_w;
    s[0] = na_w == 0 ? mean : sum;
    s[cap] = na_w == 0 ? error : join_error;
    more = na_w == 0 ? squares : more;
    sum = s[2 * cap] + more;
    b = sum - s[2 * cap];
    s[3 * cap] += (s[2 * cap] - (sum - b)) + (more - b);
    s[2 * cap] = sum;
}

CPU_INLINE double FN(halve)(double *v, int64_t width, int64_t comps)
{
    for (int64_t h = width / 2; h >= comps; h /= 2)
        for (int64_t l = 0; l < h; l++)
            v[l] += v[l + h];
    return v[0];
}

CPU_INLINE void FN(distances)(double *restrict sum, double *restrict squares,
                              const double *restrict mean, const T *restrict x, int64_t n)
{
    for (int64_t j = 0; j < n; j++) {
        double d = (double)x[j] - mean[j];
        sum[j] += d;
        squares[j] += d * d;
    }
}

static void FN(inner)(const cpu_fold *f, const void *src, int64_t n)
{
    const T *x = src;
    int64_t comps = f->comps, width = n < 2 * CPU_LANES ? CPU_FEW : CPU_LANES, left = n;
    double count = (double)(n / comps), mean[CPU_LANES], sum[CPU_LANES], squares[CPU_LANES];
    double total[4] = {0};
    cpu_fold first = {.state = total, .cap = comps, .comps = comps};
    SUM_INNER(&first, x, n);
    while (width / 2 >= n && width > 2)
        width /= 2;
    const double means[2] = {total[0] / count, total[comps - 1] / count};
    for (int64_t l = 0; l < width; l++) {
        mean[l] = means[l & (comps - 1)];
        sum[l] = squares[l] = 0;
    }
    for (; width == CPU_FEW && left >= CPU_FEW; left -= CPU_FEW, x += CPU_FEW)
        FN(distances)(sum, squares, mean, x, CPU_FEW);
    for (; left >= CPU_LANES; left -= CPU_LANES, x += CPU_LANES)
        FN(distances)(sum, squares, mean, x, CPU_LANES);
    FN(distances)(sum, squares, mean, x, left);
    FN(halve)(sum, width, comps);
    FN(halve)(squares, width, comps);
    double na = (double)f->done, w = count / (na + count);
    for (int64_t c = 0; c < comps; c++) {
        double error = sum[c] / count;
        FN(join)
        ((double *)f->state + c, f->cap, mean[c], error, squares[c] - sum[c] * error, w, na * w);
    }
}

static void FN(sweep)(const cpu_fold *f, const void *const *rows, int nrows, int64_t n)
{
    double na = (double)f->done, *restrict s = f->state;
    int64_t cap = f->cap;
    int r = 0;
    for (; r + 4 <= nrows; r += 4, na += 4) {
        const T *restrict x0 = rows[r], *restrict x1 = rows[r + 1];
        const T *restrict x2 = rows[r + 2], *restrict x3 = rows[r + 3];
        double w = 4 / (na + 4), na_w = na * w;
        CPU_INDEPENDENT
        for (int64_t j = 0; j < n; j++) {
            double a = (double)x0[j], b = (double)x1[j], c = (double)x2[j], d = (double)x3[j];
            double mean = ((a + b) + (c + d)) * 0.25;
            a -= mean;
            b -= mean;
            c -= mean;
            d -= mean;
            double sum = (a + b) + (c + d), error = sum * 0.25;
            double squares = ((a * a + b * b) + (c * c + d * d)) - sum * error;
            FN(join)(s + j, cap, mean, error, squares, w, na_w);
        }
    }
    for (; r < nrows; r++, na += 1) {
        const T *restrict x = rows[r];
        double w = 1 / (na + 1), na_w = na * w;
        CPU_INDEPENDENT
        for (int64_t j = 0; j < n; j++)
            FN(join)(s + j, cap, (double)x[j], 0 * (double)x[j], 0 * (double)x[j], w, na_w);
    }
}

static void FN(init)(const cpu_fold *f, int64_t n)
{
    for (int64_t p = 0; p < 4; p++)
        for (int64_t j = 0; j < n; j++)
            ((double *)f->state)[p * f->cap + j] = 0;
}

static void FN(merge)(const cpu_fold *f, const cpu_fold *from, int64_t n)
{
    double *s = f->state, *t = from->state, na = (double)f->done, nb = (double)from->done;
    double w = nb / (na + nb), na_w = na * w;
    for (int64_t j = 0; j < n; j++)
        FN(join)
    (s + j, f->cap, t[j], t[from->cap + j], t[2 * from->cap + j] + t[3 * from->cap + j], w, na_w);
}

static const cpu_reducer FN(reducer) = {
    .state_bytes = 32,
    .init = FN(init),
    .inner = FN(inner),
    .sweep = FN(sweep),
    .merge = FN(merge),
};
#undef OP
