/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Loops of the row normalisations, built once per SIMD level. */
#include <math.h>
#include "math/half.h"
#include "norm/norm.h"
#include "math/exp.h"
#include "reduce/reduce.h"
#include "math/vmath.h"

enum {
    LANES = 32
}; /* of a reduction along a row; those past a short row hold what changes nothing */
#if defined(__GNUC__) && !defined(__clang__)
#define ELEMENTWISE _Pragma("GCC ivdep") /* operands are the same array or do not overlap */
#else
#define ELEMENTWISE
#endif

/* ---- loads and stores ---- */
#define LOAD_NAME load_f64
#define LOAD_FROM double
#define LOAD_TO double
#define LOAD_EXPR x
#include "walk/load_tmpl.h"

#define LOAD_NAME load_f32
#define LOAD_FROM float
#define LOAD_TO double
#define LOAD_EXPR (double)x
#include "walk/load_tmpl.h"

#define LOAD_NAME load_bf16
#define LOAD_FROM uint16_t
#define LOAD_TO double
#define LOAD_EXPR (double)cpu_bf16_to_f32(x)
#include "walk/load_tmpl.h"

#define LOAD_NAME load_f16
#define LOAD_FROM uint16_t
#define LOAD_TO double
#define LOAD_EXPR (double)cpu_f16_to_f32(x)
#include "walk/load_tmpl.h"

/* Which of two NaN an instruction passes on depends on the order of its operands: there is but one.
 */
CPU_INLINE double one_nan(double v)
{
    return v != v ? (double)NAN : v;
}

static void store_f64(char *dst, int64_t stride_bytes, const double *src, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        *(double *)(dst + i * stride_bytes) = one_nan(src[i]);
}

static void store_f32(char *dst, int64_t stride_bytes, const double *src, int64_t n)
{
    float *restrict dense = (float *)dst;
    for (int64_t i = 0; i < n && stride_bytes == 4; i++)
        dense[i] = (float)one_nan(src[i]);
    for (int64_t i = 0; i < n && stride_bytes != 4; i++)
        *(float *)(dst + i * stride_bytes) = (float)one_nan(src[i]);
}

enum { STEP = 64 };

/* Up to STEP doubles as floats that still round to 16 bits as the doubles would. */
CPU_INLINE void to_floats(float *restrict to, const double *restrict src, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = cpu_f32_round_odd(one_nan(src[i]));
}

static void store_f16(char *dst, int64_t stride_bytes, const double *src, int64_t n)
{
    float f[STEP];
    for (int64_t i = 0; i < n; i += STEP, src += STEP) {
        int64_t m = n - i < STEP ? n - i : STEP, j = 0;
        to_floats(f, src, m);
#if defined(__F16C__)
        for (; stride_bytes == 2 && j + 8 <= m; j += 8, dst += 16) {
            __m128i h = _mm256_cvtps_ph(_mm256_loadu_ps(f + j), _MM_FROUND_TO_NEAREST_INT);
            _mm_storeu_si128((__m128i *)dst, h);
        }
#endif
        for (; j < m; j++, dst += stride_bytes)
            *(uint16_t *)dst = cpu_f16_from_f32(f[j]);
    }
}

static void store_bf16(char *dst, int64_t stride_bytes, const double *src, int64_t n)
{
    float f[STEP];
    for (int64_t i = 0; i < n; i += STEP, src += STEP) {
        int64_t m = n - i < STEP ? n - i : STEP;
        to_floats(f, src, m);
        for (int64_t j = 0; j < m; j++, dst += stride_bytes)
            *(uint16_t *)dst = cpu_bf16_from_f32(f[j]);
    }
}

/* ---- of a row ---- */
CPU_INLINE double joined(double *v)
{
    for (int l = 0; l < 16; l++)
        v[l] += v[l + 16];
    for (int l = 0; l < 8; l++)
        v[l] += v[l + 8];
    for (int l = 0; l < 4; l++)
        v[l] += v[l + 4];
    return (v[0] + v[2]) + (v[1] + v[3]);
}

static double row_max(const double *x, int64_t n)
{
    double v[LANES];
    int64_t i = 0;
    for (int l = 0; l < LANES; l++)
        v[l] = -INFINITY;
    for (; i + LANES <= n; i += LANES)
        for (int l = 0; l < LANES; l++)
            v[l] = x[i + l] > v[l] ? x[i + l] : v[l];
    for (int64_t l = 0; l < n - i; l++)
        v[l] = x[i + l] > v[l] ? x[i + l] : v[l];
    for (int h = LANES / 2; h >= 4; h /= 2)
        for (int l = 0; l < h; l++)
            v[l] = v[l + h] > v[l] ? v[l + h] : v[l];
    double a = v[0] > v[1] ? v[0] : v[1], b = v[2] > v[3] ? v[2] : v[3];
    return a > b ? a : b;
}

/* Knuth's two-sum. */
CPU_INLINE void carry(double *sum, double *error, double x)
{
    double s = *sum + x, b = s - *sum;
    *error += (*sum - (s - b)) + (x - b);
    *sum = s;
}

CPU_INLINE void add(double *restrict sum, const double *restrict x, int64_t n)
{
    for (int64_t l = 0; l < n; l++)
        sum[l] += x[l];
}

static double row_sum(const double *x, int64_t n)
{
    double v[LANES] = {0};
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        add(v, x + i, LANES);
    add(v, x + i, n - i);
    return joined(v);
}

CPU_INLINE void apart(double *restrict sum, double *restrict error, double *restrict ones,
                      const double *restrict x, int64_t n)
{
    for (int64_t l = 0; l < n; l++) {
        double one = x[l] == 1 ? 1 : 0;
        carry(&sum[l], &error[l], x[l] - one);
        ones[l] += one;
    }
}

static double row_sum_but_ones(const double *x, int64_t n, double *ones)
{
    double s[LANES] = {0}, e[LANES] = {0}, c[LANES] = {0};
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        apart(s, e, c, x + i, LANES);
    apart(s, e, c, x + i, n - i);
    *ones += joined(c);
    return cpu_norm_whole(joined(s), joined(e));
}

CPU_INLINE void distances(double *restrict sum, double *restrict squares, const double *restrict x,
                          double mean, int64_t n)
{
    for (int64_t l = 0; l < n; l++) {
        double d = x[l] - mean;
        sum[l] += d;
        squares[l] += d * d;
    }
}

static void row_squares(const double *x, int64_t n, double mean, double *sum, double *squares)
{
    double s[LANES] = {0}, q[LANES] = {0};
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        distances(s, q, x + i, mean, LANES);
    distances(s, q, x + i, mean, n - i);
    *sum = joined(s);
    *squares = joined(q);
}

static void row_affine(double *x, int64_t n, double mean, double error, double factor,
                       const double *scale, const double *bias)
{
    if (scale && bias) {
        ELEMENTWISE
        for (int64_t i = 0; i < n; i++)
            x[i] = ((x[i] - mean) - error) * factor * scale[i] + bias[i];
        return;
    }
    ELEMENTWISE
    for (int64_t i = 0; i < n; i++)
        x[i] = ((x[i] - mean) - error) * factor;
    ELEMENTWISE
    for (int64_t i = 0; i < n && scale; i++)
        x[i] *= scale[i];
    ELEMENTWISE
    for (int64_t i = 0; i < n && bias; i++)
        x[i] += bias[i];
}

static void row_scale(double *x, int64_t n, double factor)
{
    for (int64_t i = 0; i < n; i++)
        x[i] *= factor;
}

static void row_divide(double *x, int64_t n, double divisor)
{
    for (int64_t i = 0; i < n; i++)
        x[i] /= divisor;
}

static void row_subtract(double *x, int64_t n, double first, double second)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = (x[i] - first) - second;
}

/* ---- exponentials ---- */
/* What rounds off in a - s is put back to first order: exp(d + e) = exp(d) + exp(d)*e. */
CPU_INLINE double double_term(double a, double s)
{
    double d = a - s, b = d - a;
    double e = (a - (d - b)) - (s + b), p = cpu_exp_below(d), r = p + p * e;
    return p == 0 ? p : r;
}

static void exp_single(double *dst, const double *x, const double *shift, int64_t n)
{
    ELEMENTWISE
    for (int64_t i = 0; i < n; i++)
        dst[i] = vm_exp(x[i] - shift[i]);
}

static void exp_double(double *dst, const double *x, const double *shift, int64_t n)
{
    ELEMENTWISE
    for (int64_t i = 0; i < n; i++)
        dst[i] = double_term(x[i], shift[i]);
}

CPU_INLINE void exp_step(double *x, double *sum, double *error, double shift, int64_t n,
                         int precise)
{
    ELEMENTWISE
    for (int64_t l = 0; l < n; l++) {
        double t = precise ? double_term(x[l], shift) : vm_exp(x[l] - shift);
        x[l] = t;
        if (precise)
            carry(&sum[l], &error[l], t);
        else
            sum[l] += t;
    }
}

CPU_INLINE double exp_sum(double *x, int64_t n, double shift, int precise)
{
    double v[LANES] = {0}, e[LANES] = {0};
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        exp_step(x + i, v, e, shift, LANES, precise);
    exp_step(x + i, v, e, shift, n - i, precise);
    return precise ? cpu_norm_whole(joined(v), joined(e)) : joined(v);
}

static double exp_sum_single(double *x, int64_t n, double shift)
{
    return exp_sum(x, n, shift, 0);
}

static double exp_sum_double(double *x, int64_t n, double shift)
{
    return exp_sum(x, n, shift, 1);
}

/* ---- gradients ---- */
CPU_INLINE void products(double *restrict sum, const double *restrict x, const double *restrict y,
                         int64_t n)
{
    for (int64_t l = 0; l < n; l++)
        sum[l] += x[l] * y[l];
}

static double row_dot(const double *x, const double *y, int64_t n)
{
    double v[LANES] = {0};
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        products(v, x + i, y + i, LANES);
    products(v, x + i, y + i, n - i);
    return joined(v);
}

static void row_multiply(double *restrict x, const double *restrict y, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        x[i] *= y[i];
}

static void row_times_less(double *restrict x, const double *restrict g, int64_t n, double s)
{
    for (int64_t i = 0; i < n; i++)
        x[i] *= g[i] - s;
}

static void row_less_times(double *restrict x, const double *restrict g, int64_t n, double s)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = g[i] - x[i] * s;
}

static void row_affine_grad(double *restrict x, const double *restrict g, int64_t n, double mean,
                            double error, double a, double b, double factor)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = ((g[i] - a) - ((x[i] - mean) - error) * b) * factor;
}

/* ---- of columns ---- */
static void add_columns(double *sum, double *error, const double *x, int64_t n)
{
    ELEMENTWISE
    for (int64_t j = 0; j < n; j++)
        carry(&sum[j], &error[j], x[j]);
}

static void add_but_ones(double *sum, double *error, double *ones, const double *x, int64_t n)
{
    apart(sum, error, ones, x, n);
}

static void max_columns(double *max, const double *x, int64_t n)
{
    ELEMENTWISE
    for (int64_t j = 0; j < n; j++)
        max[j] = x[j] > max[j] ? x[j] : max[j];
}

static void divide_columns(double *x, const double *divisor, int64_t n)
{
    ELEMENTWISE
    for (int64_t j = 0; j < n; j++)
        x[j] /= divisor[j];
}

static void subtract_columns(double *x, const double *first, const double *second, int64_t n)
{
    ELEMENTWISE
    for (int64_t j = 0; j < n; j++)
        x[j] = (x[j] - first[j]) - second[j];
}

static void square_columns(double *sum, double *squares, double *error, const double *x,
                           const double *mean, int64_t n)
{
    ELEMENTWISE
    for (int64_t j = 0; j < n; j++) {
        double d = x[j] - mean[j];
        sum[j] += d;
        carry(&squares[j], &error[j], d * d);
    }
}

static void affine_columns(double *x, const double *mean, const double *error, const double *factor,
                           double scale, double bias, int64_t n)
{
    ELEMENTWISE
    for (int64_t j = 0; j < n; j++)
        x[j] = ((x[j] - mean[j]) - error[j]) * factor[j] * scale + bias;
}

static void affine_grad_columns(double *restrict x, const double *restrict g,
                                const double *restrict mean, const double *restrict error,
                                const double *restrict a, const double *restrict b,
                                const double *restrict factor, int64_t n)
{
    for (int64_t j = 0; j < n; j++)
        x[j] = ((g[j] - a[j]) - ((x[j] - mean[j]) - error[j]) * b[j]) * factor[j];
}

static void weigh(double *restrict scale, double *restrict bias, const double *restrict x,
                  const double *restrict g, double mean, double error, double factor, int64_t n)
{
    for (int64_t j = 0; j < n; j++) {
        scale[j] += g[j] * ((x[j] - mean - error) * factor);
        bias[j] += g[j];
    }
}

static void weigh_columns(double *restrict scale, double *restrict bias, const double *restrict x,
                          const double *restrict g, const double *restrict mean,
                          const double *restrict error, const double *restrict factor, int64_t n)
{
    for (int64_t j = 0; j < n; j++) {
        scale[j] += g[j] * ((x[j] - mean[j] - error[j]) * factor[j]);
        bias[j] += g[j];
    }
}

const cpu_norm_table CPU_ISA_FN(cpu_norm_loops) = {
    .load = {load_f16, load_bf16, load_f32, load_f64},
    .store = {store_f16, store_bf16, store_f32, store_f64},
    .max = row_max,
    .sum = row_sum,
    .sum_but_ones = row_sum_but_ones,
    .squares = row_squares,
    .affine = row_affine,
    .scale = row_scale,
    .divide = row_divide,
    .subtract = row_subtract,
    .exp = {exp_single, exp_double},
    .exp_sum = {exp_sum_single, exp_sum_double},
    .dot = row_dot,
    .multiply = row_multiply,
    .times_less = row_times_less,
    .less_times = row_less_times,
    .affine_grad = row_affine_grad,
    .add_columns = add_columns,
    .add_but_ones = add_but_ones,
    .max_columns = max_columns,
    .divide_columns = divide_columns,
    .subtract_columns = subtract_columns,
    .square_columns = square_columns,
    .affine_columns = affine_columns,
    .affine_grad_columns = affine_grad_columns,
    .weigh = weigh,
    .weigh_columns = weigh_columns,
};
