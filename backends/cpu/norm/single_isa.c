/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Loops of the row normalisations for single precision and below, built once per SIMD level. */
#include <math.h>
#include <string.h>
#include "math/half.h"
#include "math/vmath.h"
#include "norm/single.h"
#include "reduce/reduce.h"

#if defined(__GNUC__) && !defined(__clang__)
#define ELEMENTWISE _Pragma("GCC ivdep") /* operands are the same array or do not overlap */
#else
#define ELEMENTWISE
#endif

/* Which of two NaN an instruction passes on depends on the order of its operands: there is but one.
 */
CPU_INLINE float last(double v)
{
    float f = (float)v;
    return f != f ? NAN : f;
}

/* The significand is cut to 24 bits, the last of which says that some were lost: the float is exact unless it is
 * subnormal, and rounds to 16 bits as the double would. */
CPU_INLINE float odd(double v)
{
    const uint64_t cut = ((uint64_t)1 << 29) - 1, u = vm_bits(v);
    return last(vm_of_bits((u | ((u & cut) + cut)) & ~cut));
}

#define SG_NAME last
#define SG_ROUND last
#include "norm/single_tmpl.h"
#define SG_NAME odd
#define SG_ROUND odd
#include "norm/single_tmpl.h"

/* ---- 16 bits ---- */
static void widen_bf16(float *to, const char *from, int64_t n)
{
    const uint16_t *restrict x = (const uint16_t *)(const void *)from;
    for (int64_t i = 0; i < n; i++)
        to[i] = cpu_bf16_to_f32(x[i]);
}

/* To nearest even. The one NaN there is has no bits that a carry could run through. */
static void narrow_bf16(char *to, const float *restrict x, int64_t n)
{
    uint16_t *restrict h = (uint16_t *)(void *)to;
    for (int64_t i = 0; i < n; i++) {
        const uint32_t u = cpu_bits_of_f32(x[i]);
        h[i] = (uint16_t)((u + 0x7fffu + ((u >> 16) & 1)) >> 16);
    }
}

static void widen_f16(float *to, const char *from, int64_t n)
{
    const uint16_t *restrict x = (const uint16_t *)(const void *)from;
    int64_t i = 0;
#if defined(__F16C__)
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(x + i))));
#endif
    for (; i < n; i++)
        to[i] = cpu_f16_to_f32(x[i]);
}

static void narrow_f16(char *to, const float *restrict x, int64_t n)
{
    uint16_t *restrict h = (uint16_t *)(void *)to;
    int64_t i = 0;
#if defined(__F16C__)
    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128((__m128i *)(h + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT));
#endif
    for (; i < n; i++)
        h[i] = cpu_f16_from_f32(x[i]);
}

/* ---- sums of a row: over LANES lanes, joined in a fixed tree ---- */
enum { LANES = 16, WIDE = CPU_ISA_LEVEL == 2 ? 8 : 4, VECTORS = LANES / WIDE };
typedef double doubles __attribute__((vector_size(8 * WIDE)));
typedef int64_t integers __attribute__((vector_size(8 * WIDE)));
#if CPU_ISA_LEVEL == 0
typedef float floats __attribute__((vector_size(4 * WIDE)));
#endif

/* GCC 12 makes two conversions of __builtin_convertvector where the hardware has one. */
CPU_INLINE doubles at(const float *x)
{
#if CPU_ISA_LEVEL == 2
    return (doubles)_mm512_cvtps_pd(_mm256_loadu_ps(x));
#elif CPU_ISA_LEVEL == 1
    return (doubles)_mm256_cvtps_pd(_mm_loadu_ps(x));
#else
    floats f;
    memcpy(&f, x, sizeof f);
    return __builtin_convertvector(f, doubles);
#endif
}

CPU_INLINE double joined(double *v)
{
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++)
            v[l] += v[l + half];
    return v[0];
}

static void moments(const float *x, int64_t n, double shift, double *sums)
{
    doubles s[VECTORS] = {{0}}, q[VECTORS] = {{0}};
    double lane[2][LANES];
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int k = 0; k < VECTORS; k++) {
            const doubles d = at(x + i + k * WIDE) - shift;
            s[k] += d;
            q[k] += d * d;
        }
    memcpy(lane[0], s, sizeof s);
    memcpy(lane[1], q, sizeof q);
    for (int64_t l = 0; l < n - i; l++) {
        const double d = (double)x[i + l] - shift;
        lane[0][l] += d;
        lane[1][l] += d * d;
    }
    sums[CPU_SUM_D] += joined(lane[0]);
    sums[CPU_SUM_DD] += joined(lane[1]);
}

/* Half as many lanes, so that four sums fit the registers. */
enum { FEW = VECTORS / 2, FEW_LANES = FEW * WIDE };

CPU_INLINE void products_of(const float *x, const float *g, const float *scale, int64_t n,
                            double shift, double *sums, int scaled)
{
    doubles s[CPU_SUMS][FEW] = {{{0}}};
    double lane[CPU_SUMS][LANES] = {{0}};
    int64_t i = 0;
    for (; i + FEW_LANES <= n; i += FEW_LANES)
        for (int k = 0; k < FEW; k++) {
            const doubles d = at(x + i + k * WIDE) - shift;
            doubles e = at(g + i + k * WIDE);
            if (scaled)
                e *= at(scale + i + k * WIDE);
            s[CPU_SUM_D][k] += d;
            s[CPU_SUM_DD][k] += d * d;
            s[CPU_SUM_G][k] += e;
            s[CPU_SUM_GD][k] += e * d;
        }
    for (int k = 0; k < CPU_SUMS; k++)
        memcpy(lane[k], s[k], sizeof s[k]);
    for (int64_t l = 0; l < n - i; l++) {
        const double d = (double)x[i + l] - shift;
        const double e = scaled ? (double)g[i + l] * (double)scale[i + l] : (double)g[i + l];
        lane[CPU_SUM_D][l] += d;
        lane[CPU_SUM_DD][l] += d * d;
        lane[CPU_SUM_G][l] += e;
        lane[CPU_SUM_GD][l] += e * d;
    }
    for (int k = 0; k < CPU_SUMS; k++)
        sums[k] += joined(lane[k]);
}

static void products(const float *x, const float *g, const float *scale, int64_t n, double shift,
                     double *sums)
{
    if (scale)
        products_of(x, g, scale, n, shift, sums, 1);
    else
        products_of(x, g, scale, n, shift, sums, 0);
}

static double row_dot(const float *x, const float *g, int64_t n)
{
    doubles s[VECTORS] = {{0}};
    double lane[LANES];
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int k = 0; k < VECTORS; k++)
            s[k] += at(x + i + k * WIDE) * at(g + i + k * WIDE);
    memcpy(lane, s, sizeof s);
    for (int64_t l = 0; l < n - i; l++)
        lane[l] += (double)x[i + l] * (double)g[i + l];
    return joined(lane);
}

static double row_sum(const float *x, int64_t n)
{
    doubles s[VECTORS] = {{0}};
    double lane[LANES];
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int k = 0; k < VECTORS; k++)
            s[k] += at(x + i + k * WIDE);
    memcpy(lane, s, sizeof s);
    for (int64_t l = 0; l < n - i; l++)
        lane[l] += (double)x[i + l];
    return joined(lane);
}

/* ---- exponentials ---- */
static float row_max(const float *x, int64_t n)
{
    enum { MANY = 32 };
    float v[MANY];
    int64_t i = 0;
    for (int l = 0; l < MANY; l++)
        v[l] = -INFINITY;
    for (; i + MANY <= n; i += MANY)
        for (int l = 0; l < MANY; l++)
            v[l] = x[i + l] > v[l] ? x[i + l] : v[l];
    for (int64_t l = 0; l < n - i; l++)
        v[l] = x[i + l] > v[l] ? x[i + l] : v[l];
    for (int half = MANY / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++)
            v[l] = v[l + half] > v[l] ? v[l + half] : v[l];
    return v[0];
}

static void exps(double *restrict e, const float *restrict x, int64_t n, double shift)
{
    for (int64_t i = 0; i < n; i++)
        e[i] = vm_exp_low((double)x[i] - shift);
}

static double sum_but_ones(const double *e, int64_t n, double *ones)
{
    doubles sum[VECTORS] = {{0}};
    integers count[VECTORS] = {{0}};
    double lane[LANES];
    int64_t i = 0, all = 0, counts[LANES];
    for (; i + LANES <= n; i += LANES)
        for (int k = 0; k < VECTORS; k++) {
            doubles t;
            memcpy(&t, e + i + k * WIDE, sizeof t);
            const integers is_one = t == 1.0;
            sum[k] += (doubles)((integers)t & ~is_one);
            count[k] -= is_one;
        }
    memcpy(lane, sum, sizeof sum);
    memcpy(counts, count, sizeof count);
    for (int64_t l = 0; l < n - i; l++) {
        lane[l] += e[i + l] == 1 ? 0 : e[i + l];
        all += e[i + l] == 1;
    }
    for (int l = 0; l < LANES; l++)
        all += counts[l];
    *ones += (double)all;
    return joined(lane);
}

static void max_line(float *restrict max, const float *restrict x, int64_t n)
{
    for (int64_t j = 0; j < n; j++)
        max[j] = x[j] > max[j] ? x[j] : max[j];
}

static void exps_line(double *restrict e, const float *restrict x, int64_t n,
                      const float *restrict shift, double *const *sums)
{
    double *restrict sum = sums[0], *restrict ones = sums[1];
    for (int64_t j = 0; j < n; j++) {
        const double t = vm_exp_low((double)x[j] - (double)shift[j]);
        const double one = t == 1 ? 1 : 0;
        e[j] = t;
        sum[j] += t - one;
        ones[j] += one;
    }
}

/* ---- of columns ---- */
static void moment_lines(const float *const *x, int lines, int64_t n, const double *shift,
                         double *const *sums)
{
    double *restrict s = sums[CPU_SUM_D], *restrict q = sums[CPU_SUM_DD];
    const float *restrict x0 = x[0];
    if (lines == 1) {
        for (int64_t j = 0; j < n; j++) {
            const double d = (double)x0[j] - shift[j];
            s[j] += d;
            q[j] += d * d;
        }
        return;
    }
    const float *restrict x1 = x[1], *restrict x2 = x[2], *restrict x3 = x[3];
    for (int64_t j = 0; j < n; j++) {
        const double at_ = shift[j], d0 = (double)x0[j] - at_, d1 = (double)x1[j] - at_;
        const double d2 = (double)x2[j] - at_, d3 = (double)x3[j] - at_;
        s[j] += (d0 + d1) + (d2 + d3);
        q[j] += (d0 * d0 + d1 * d1) + (d2 * d2 + d3 * d3);
    }
}

static void product_lines(const float *const *x, const float *const *g, int lines, int64_t n,
                          const double *shift, double *const *sums)
{
    double *restrict s = sums[CPU_SUM_D], *restrict q = sums[CPU_SUM_DD];
    double *restrict t = sums[CPU_SUM_G], *restrict p = sums[CPU_SUM_GD];
    const float *restrict x0 = x[0], *restrict g0 = g[0];
    if (lines == 1) {
        for (int64_t j = 0; j < n; j++) {
            const double d = (double)x0[j] - shift[j], e = (double)g0[j];
            s[j] += d;
            q[j] += d * d;
            t[j] += e;
            p[j] += e * d;
        }
        return;
    }
    const float *restrict x1 = x[1], *restrict x2 = x[2], *restrict x3 = x[3];
    const float *restrict g1 = g[1], *restrict g2 = g[2], *restrict g3 = g[3];
    for (int64_t j = 0; j < n; j++) {
        const double at_ = shift[j], d0 = (double)x0[j] - at_, d1 = (double)x1[j] - at_;
        const double d2 = (double)x2[j] - at_, d3 = (double)x3[j] - at_;
        const double e0 = (double)g0[j], e1 = (double)g1[j], e2 = (double)g2[j], e3 = (double)g3[j];
        s[j] += (d0 + d1) + (d2 + d3);
        q[j] += (d0 * d0 + d1 * d1) + (d2 * d2 + d3 * d3);
        t[j] += (e0 + e1) + (e2 + e3);
        p[j] += (e0 * d0 + e1 * d1) + (e2 * d2 + e3 * d3);
    }
}

/* ---- by statistics that are given ---- */
static void given(float *to, const float *x, int64_t n, float mean, float by, float bias)
{
    ELEMENTWISE
    for (int64_t i = 0; i < n; i++) {
        const float y = (x[i] - mean) * by + bias;
        to[i] = y != y ? NAN : y;
    }
}

static void given_line(float *to, const float *x, int64_t n, const float *restrict mean,
                       const float *restrict by, const float *restrict bias)
{
    ELEMENTWISE
    for (int64_t j = 0; j < n; j++) {
        const float y = (x[j] - mean[j]) * by[j] + bias[j];
        to[j] = y != y ? NAN : y;
    }
}

const cpu_single_table CPU_ISA_FN(cpu_single_loops) = {
    .given = given,
    .given_line = given_line,
    .widen = {widen_f16, widen_bf16},
    .narrow = {narrow_f16, narrow_bf16},
    .moments = moments,
    .products = products,
    .dot = row_dot,
    .sum = row_sum,
    .affine = {affine_last, affine_odd},
    .affine_row = {affine_row_last, affine_row_odd},
    .grad = {grad_last, grad_odd},
    .grad_row = {grad_row_last, grad_row_odd},
    .times_less = {times_less_last, times_less_odd},
    .less_exp = {less_exp_last, less_exp_odd},
    .max = row_max,
    .exps = exps,
    .sum_but_ones = sum_but_ones,
    .scaled = {scaled_last, scaled_odd},
    .minus = {minus_last, minus_odd},
    .max_line = max_line,
    .exps_line = exps_line,
    .scaled_line = {scaled_line_last, scaled_line_odd},
    .minus_line = {minus_line_last, minus_line_odd},
    .moment_lines = moment_lines,
    .product_lines = product_lines,
    .affine_line = {affine_line_last, affine_line_odd},
    .grad_line = {grad_line_last, grad_line_odd},
};
