/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Loops that make results of single precision and below. The includer defines SG_NAME, last or odd, and
 * SG_ROUND, which makes a float of a double. */
#define SG_FN(name) CPU_CAT(name, SG_NAME)

static void SG_FN(affine)(float *to, const float *x, int64_t n, double mean, double factor,
                          double bias)
{
    ELEMENTWISE
    for (int64_t i = 0; i < n; i++)
        to[i] = SG_ROUND(((double)x[i] - mean) * factor + bias);
}

static void SG_FN(affine_row)(float *to, const float *x, int64_t n, double mean, double factor,
                              const float *scale, const float *bias)
{
    if (scale && bias) {
        ELEMENTWISE
        for (int64_t i = 0; i < n; i++)
            to[i] = SG_ROUND(((double)x[i] - mean) * factor * (double)scale[i] + (double)bias[i]);
    } else if (scale) {
        ELEMENTWISE
        for (int64_t i = 0; i < n; i++)
            to[i] = SG_ROUND(((double)x[i] - mean) * factor * (double)scale[i]);
    } else if (bias) {
        ELEMENTWISE
        for (int64_t i = 0; i < n; i++)
            to[i] = SG_ROUND(((double)x[i] - mean) * factor + (double)bias[i]);
    } else {
        ELEMENTWISE
        for (int64_t i = 0; i < n; i++)
            to[i] = SG_ROUND(((double)x[i] - mean) * factor);
    }
}

static void SG_FN(grad)(float *to, const float *x, const float *g, int64_t n, double mean, double a,
                        double b, double factor, double scale)
{
    ELEMENTWISE
    for (int64_t i = 0; i < n; i++)
        to[i] = SG_ROUND((((double)g[i] * scale - a) - ((double)x[i] - mean) * b) * factor);
}

/* d = (x - mean)*factor, of which the formula needs (g*scale - a)*factor - d*b. */
static void SG_FN(grad_row)(float *to, const float *x, const float *g, int64_t n, double mean,
                            double a, double b, double factor, const float *scale,
                            double *const weight[2])
{
    double *restrict by = weight ? weight[0] : NULL, *restrict added = weight ? weight[1] : NULL;
    if (by && added && scale) {
        ELEMENTWISE
        for (int64_t i = 0; i < n; i++) {
            const double e = (double)g[i], d = ((double)x[i] - mean) * factor;
            by[i] += e * d;
            added[i] += e;
            to[i] = SG_ROUND((e * (double)scale[i] - a) * factor - d * b);
        }
        return;
    }
    ELEMENTWISE
    for (int64_t i = 0; by && i < n; i++)
        by[i] += (double)g[i] * (((double)x[i] - mean) * factor);
    ELEMENTWISE
    for (int64_t i = 0; added && i < n; i++)
        added[i] += (double)g[i];
    ELEMENTWISE
    for (int64_t i = 0; scale && i < n; i++)
        to[i] = SG_ROUND(((double)g[i] * (double)scale[i] - a) * factor -
                         ((double)x[i] - mean) * factor * b);
    ELEMENTWISE
    for (int64_t i = 0; !scale && i < n; i++)
        to[i] = SG_ROUND(((double)g[i] - a) * factor - ((double)x[i] - mean) * factor * b);
}

static void SG_FN(times_less)(float *to, const float *x, const float *g, int64_t n, double s)
{
    ELEMENTWISE
    for (int64_t i = 0; i < n; i++)
        to[i] = SG_ROUND((double)x[i] * ((double)g[i] - s));
}

static void SG_FN(less_exp)(float *to, const float *x, const float *g, int64_t n, double s)
{
    ELEMENTWISE
    for (int64_t i = 0; i < n; i++)
        to[i] = SG_ROUND((double)g[i] - vm_exp((double)x[i]) * s);
}

static void SG_FN(affine_line)(float *to, const float *x, int64_t n, const double *mean,
                               const double *factor, const double *bias)
{
    ELEMENTWISE
    for (int64_t j = 0; j < n; j++)
        to[j] = SG_ROUND(((double)x[j] - mean[j]) * factor[j] + bias[j]);
}

static void SG_FN(grad_line)(float *to, const float *x, const float *g, int64_t n,
                             const double *mean, const double *a, const double *b,
                             const double *factor)
{
    ELEMENTWISE
    for (int64_t j = 0; j < n; j++)
        to[j] = SG_ROUND(((double)g[j] * factor[j] - a[j]) - ((double)x[j] - mean[j]) * b[j]);
}

static void SG_FN(scaled)(float *to, const double *e, int64_t n, double factor)
{
    ELEMENTWISE
    for (int64_t i = 0; i < n; i++)
        to[i] = SG_ROUND(e[i] * factor);
}

static void SG_FN(scaled_line)(float *to, const double *e, int64_t n, const double *factor)
{
    ELEMENTWISE
    for (int64_t j = 0; j < n; j++)
        to[j] = SG_ROUND(e[j] * factor[j]);
}

static void SG_FN(minus)(float *to, const float *x, int64_t n, double first, double second)
{
    ELEMENTWISE
    for (int64_t i = 0; i < n; i++)
        to[i] = SG_ROUND(((double)x[i] - first) - second);
}

static void SG_FN(minus_line)(float *to, const float *x, int64_t n, const float *first,
                              const double *second)
{
    ELEMENTWISE
    for (int64_t j = 0; j < n; j++)
        to[j] = SG_ROUND(((double)x[j] - (double)first[j]) - second[j]);
}

#undef SG_FN
#undef SG_NAME
#undef SG_ROUND
