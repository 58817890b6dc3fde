/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Variance of T (f32 or f64) in double. Each fold finds its own mean, then the squares of the
 * distances from it, while its elements are in L1; states (mean as an unevaluated sum of two
 * doubles, sum of squares) are joined by the formula of Chan, Golub and LeVeque, Am. Stat. 37
 * (1983). Nothing cancels, whatever the offset of the data. Planes: mean, its error, squares. */
enum { FN(lanes) = 16 };

/* Join a fold of nb elements (mean + error, squares) into the state s of na elements. */
static inline void FN(join)(double *s, int64_t cap, double na, double mean, double error,
                            double squares, double nb)
{
    double w = nb / (na + nb), delta = (mean - s[0]) + (error - s[cap]);
    double step = s[cap] + delta * w, sum = s[0] + step, b = sum - s[0];
    double join_error = (s[0] - (sum - b)) + (step - b);
    double join_squares = s[2 * cap] + squares + delta * delta * (na * w);
    s[0] = na == 0 ? mean : sum;
    s[cap] = na == 0 ? error : join_error;
    s[2 * cap] = na == 0 ? squares : join_squares;
}

static inline void FN(sum_row)(double *sum, const T *x)
{
    for (int l = 0; l < FN(lanes); l++)
        sum[l] += (double)x[l];
}

static inline void FN(square_row)(double *sum, double *squares, const double *mean, const T *x)
{
    for (int l = 0; l < FN(lanes); l++) {
        double d = (double)x[l] - mean[l];
        sum[l] += d;
        squares[l] += d * d;
    }
}

static inline void FN(halve)(double *v, int64_t comps)
{
    for (int h = FN(lanes) / 2; h >= comps; h /= 2)
        for (int l = 0; l < h; l++)
            v[l] += v[l + h];
}

static void FN(inner)(const cpu_fold *f, const void *src, int64_t n)
{
    const T *x = src;
    int64_t rest = n % FN(lanes), full = n - rest, comps = f->comps;
    double mean[FN(lanes)], sum[FN(lanes)] = {0}, squares[FN(lanes)] = {0};
    for (int64_t i = 0; i < full; i += FN(lanes))
        FN(sum_row)(sum, x + i);
    for (int64_t l = 0; l < rest; l++)
        sum[l] += (double)x[full + l];
    FN(halve)(sum, comps);
    double count = (double)(n / comps);
    for (int l = 0; l < FN(lanes); l++)
        mean[l] = sum[l % comps] / count;
    for (int l = 0; l < FN(lanes); l++)
        sum[l] = 0;
    for (int64_t i = 0; i < full; i += FN(lanes))
        FN(square_row)(sum, squares, mean, x + i);
    for (int64_t l = 0; l < rest; l++) {
        double d = (double)x[full + l] - mean[l];
        sum[l] += d;
        squares[l] += d * d;
    }
    FN(halve)(sum, comps);
    FN(halve)(squares, comps);
    for (int64_t c = 0; c < comps; c++) {
        double error = sum[c] / count;
        FN(join)((double *)f->state + c, f->cap, (double)f->done, mean[c], error,
                 squares[c] - sum[c] * error, count);
    }
}

/* One block of columns; lanes beyond n hold nothing and are not kept. */
static inline void FN(block)(const cpu_fold *f, const T *const *rows, int nrows, int64_t j, int n)
{
    double mean[FN(lanes)], sum[FN(lanes)] = {0}, squares[FN(lanes)] = {0};
    for (int r = 0; r < nrows; r++)
        FN(sum_row)(sum, rows[r]);
    for (int l = 0; l < FN(lanes); l++) {
        mean[l] = sum[l] / nrows;
        sum[l] = 0;
    }
    for (int r = 0; r < nrows; r++)
        FN(square_row)(sum, squares, mean, rows[r]);
    double *s = (double *)f->state + j, count = nrows, done = (double)f->done;
    for (int l = 0; l < n; l++) {
        double error = sum[l] / count;
        FN(join)(s + l, f->cap, done, mean[l], error, squares[l] - sum[l] * error, count);
    }
}

static void FN(init)(const cpu_fold *f, int64_t n)
{
    for (int64_t p = 0; p < 3; p++)
        for (int64_t j = 0; j < n; j++)
            ((double *)f->state)[p * f->cap + j] = 0;
}

static void FN(merge)(const cpu_fold *f, const cpu_fold *from, int64_t n)
{
    double *s = f->state, *t = from->state;
    for (int64_t j = 0; j < n; j++)
        FN(join)(s + j, f->cap, (double)f->done, t[j], t[from->cap + j], t[2 * from->cap + j],
                 (double)from->done);
}

#define STATE_BYTES 24
#include "reduce_blocks_tmpl.h"
