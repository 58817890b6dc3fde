/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Functions in double that are right for single precision: what their loops and those of norms and
 * attention compute by. vmath.h says where the coefficients are from. */
#ifndef NDOCK_CPU_MATH_APPROX_H
#define NDOCK_CPU_MATH_APPROX_H
#include <math.h>
#include "math/rint.h"

static inline double vm_fabs(double x)
{
    return __builtin_fabs(x);
}
static inline double vm_sqrt(double x)
{
    return __builtin_sqrt(x);
}
static inline double vm_fma(double a, double b, double c)
{
    return fma(a, b, c);
}

/* Adding this leaves the nearest integer in the low bits, in two's complement. */
#define VM_MAGIC 0x1.8p52

/* x = k*log(2) + r; returns exp(r) - 1 and 2^k. */
static inline double vm_exp_parts(double x, double *scale)
{
    double shifted = x * 0x1.71547652b82fep+0 + VM_MAGIC, k = shifted - VM_MAGIC;
    double r = x - k * 0x1.62e42fefa39efp-1, r2 = r * r;
    double low = 0.500000001353873 + r * 0.16666666681704215;
    double mid = 0.04166646419740569 + r * 0.008333310844647862;
    double high = 0.0013933730715792083 + r * 0.00019891080463998843;
    *scale = vm_of_bits((vm_bits(shifted) + 1023) << 52);
    return r + r2 * (low + r2 * (mid + r2 * high));
}
static inline double vm_exp(double x)
{
    double scale, top = x > 709 ? 709 : x;
    double q = vm_exp_parts(top < -708 ? -708 : top, &scale);
    double r = scale + scale * q;
    return x < -708 ? 0 : r;
}
/* exp of what is not above 0, to 2^-33 of it: 2^k*2^r, of which the second is 1 + r*p(r), p fitted to (2^r - 1)/r at
 * Chebyshev's nodes. Below -707 it is 2^-1021, which is nothing in single precision. A NaN that a float held stays one.
 */
static inline double vm_exp_low(double x)
{
    double t = x * 0x1.71547652b82fep+0, top = t < -1021 ? -1021 : t;
    double shifted = top + VM_MAGIC, r = top - (shifted - VM_MAGIC), r2 = r * r;
    double low = 0x1.62e42fefa39efp-1 + r * 0x1.ebfbe045f4d3cp-3;
    double mid = 0x1.c6b08d883dca1p-5 + r * 0x1.3b2a1b7152befp-7;
    double high = 0x1.5d879ead06a82p-10 + r * 0x1.443fffc90db59p-13;
    double p = 1 + r * (low + r2 * (mid + r2 * (high + r2 * 0x1.00a581594758ep-16)));
    return vm_of_bits(vm_bits(p) + (vm_bits(shifted) << 52));
}
static inline double vm_expm1(double x)
{
    double scale, top = x > 709 ? 709 : x;
    double q = vm_exp_parts(top < -50 ? -50 : top, &scale);
    double r = (scale - 1) + scale * q;
    return x == 0 ? x : r;
}

/* log of the significand of x scaled to [sqrt(1/2), sqrt(2)), and the power of two. x > 0 and
 * normal, as any positive float is in double. */
static inline double vm_log_parts(double x, double *power)
{
    const uint64_t root = 0x3fe6a09e667f3bcd;
    uint64_t bits = vm_bits(x), k = (bits - root + ((uint64_t)1023 << 52)) >> 52;
    double f = vm_of_bits(bits - ((k - 1023) << 52)) - 1, s = f / (f + 2), w = s * s;
    double low = 0.6666666666737665 + w * 0.39999998795219155;
    double high = 0.22191373380944632 + w * 0.19363186932161763;
    /* An integer below 2^52 placed in the significand of 2^52. */
    *power = vm_of_bits(k | ((uint64_t)1075 << 52)) - (0x1p52 + 1023);
    return s * 2 + s * w * (low + w * w * (0.2857175496835035 + w * high));
}
static inline double vm_log_edges(double x, double r)
{
    r = x == 0 ? -(double)INFINITY : r;
    r = x < 0 ? (double)NAN : r;
    return x < (double)INFINITY ? r : x; /* infinity and NaN are their own logarithms */
}
static inline double vm_log(double x)
{
    double power, m = vm_log_parts(x, &power);
    return vm_log_edges(x, power * 0x1.62e42fefa39efp-1 + m);
}
static inline double vm_log2(double x)
{
    double power, m = vm_log_parts(x, &power);
    return vm_log_edges(x, power + m * 0x1.71547652b82fep+0);
}
static inline double vm_log10(double x)
{
    double power, m = vm_log_parts(x, &power);
    return vm_log_edges(x, power * 0x1.34413509f79ffp-2 + m * 0x1.bcb7b1526e50ep-2);
}
/* What 1 + x loses in rounding is added back; it matters only where the logarithm is about x. */
static inline double vm_log1p(double x)
{
    double u = x + 1, lost = x - (u - 1), power, m = vm_log_parts(u, &power);
    double r = vm_log_edges(u, power * 0x1.62e42fefa39efp-1 + m);
    r = __builtin_fabs(x) < 1 ? r + lost : r;
    return x == 0 ? x : r;
}

static inline double vm_sinh(double x)
{
    double t = vm_expm1(__builtin_fabs(x));
    return __builtin_copysign((t + t / (t + 1)) * 0.5, x);
}
static inline double vm_cosh(double x)
{
    double e = vm_exp(__builtin_fabs(x));
    return (e + 1 / e) * 0.5;
}
/* x P(x^2) / Q(x^2); from 9.2 on it rounds to 1. */
#define VM_TANH_MOST 9.2
#define VM_TANH_P0 785928.17361458659
#define VM_TANH_P1 107447.37580001818
#define VM_TANH_P2 3031.8442646590865
#define VM_TANH_P3 21.84298924495879
#define VM_TANH_P4 0.023633266909472858
#define VM_TANH_P5 -9.2933092631849453e-06
#define VM_TANH_Q0 785928.17489418795
#define VM_TANH_Q1 369423.42182187899
#define VM_TANH_Q2 21382.5811916485
#define VM_TANH_Q3 308.07094344760242
static inline double vm_tanh(double x)
{
    double top = x > VM_TANH_MOST ? VM_TANH_MOST : x;
    double a = top < -VM_TANH_MOST ? -VM_TANH_MOST : top, w = a * a;
    double high = VM_TANH_P3 + w * (VM_TANH_P4 + w * VM_TANH_P5);
    double p = VM_TANH_P0 + w * (VM_TANH_P1 + w * (VM_TANH_P2 + w * high));
    double q = VM_TANH_Q1 + w * (VM_TANH_Q2 + w * (VM_TANH_Q3 + w));
    return a * p / (VM_TANH_Q0 + w * q);
}
static inline double vm_asinh(double x)
{
    double a = __builtin_fabs(x), z = a > 0x1p200 ? 0x1p200 : a, s = z * z;
    return __builtin_copysign(vm_log1p(a + s / (__builtin_sqrt(s + 1) + 1)), x);
}
static inline double vm_acosh(double x)
{
    double t = x - 1, r = vm_log1p(t + __builtin_sqrt(t * t + t * 2));
    return x < 1 ? (double)NAN : r;
}
static inline double vm_atanh(double x)
{
    double a = __builtin_fabs(x);
    return __builtin_copysign(vm_log1p(a * 2 / (1 - a)) * 0.5, x);
}

/* x - k*pi/2 for |x| <= VM_TRIG_MAX: the first part of pi/2 has 31 bits, so its products are exact.
 */
#define VM_TRIG_MAX 0x1p20f
static inline double vm_trig_parts(double x, uint64_t *quadrant, double *cosine)
{
    double shifted = x * 0x1.45f306dc9c883p-1 + VM_MAGIC, k = shifted - VM_MAGIC;
    double r = x - k * 0x1.921fb544p+0 - k * 0x1.0b4611a626331p-34, w = r * r;
    double s = -0.16666666666663882 +
               w * (0.008333333331077422 +
                    w * (-0.0001984126691523504 +
                         w * (2.7555990399839905e-06 + w * -2.4805587179980646e-08)));
    double c =
        0.04166666666666468 + w * (-0.0013888888887276056 +
                                   w * (2.4801585209738397e-05 +
                                        w * (-2.755636931675049e-07 + w * 2.070056539736993e-09)));
    *quadrant = vm_bits(shifted);
    *cosine = 1 - w * 0.5 + w * w * c;
    return r + r * w * s;
}
/* (-1)^k sin(x - (k + half)*pi), where k is the integer in the low bits of `shifted`. The first part of
 * pi has 31 bits. */
#define VM_SIN_PER_PI 0x1.45f306dc9c883p-2
#define VM_SIN_PI_HIGH 0x1.921fb544p+1
#define VM_SIN_PI_LOW 0x1.0b4611a626331p-33
#define VM_SIN_0 -0.16666666626145296
#define VM_SIN_1 0.0083333311084137444
#define VM_SIN_2 -0.00019840868184463627
#define VM_SIN_3 2.7525383087469593e-06
#define VM_SIN_4 -2.3888885194053947e-08
static inline double vm_sin_about(double x, double shifted, double half)
{
    double k = (shifted - VM_MAGIC) + half;
    double r = x - k * VM_SIN_PI_HIGH - k * VM_SIN_PI_LOW, w = r * r, w2 = w * w;
    double low = 1 + w * VM_SIN_0, mid = VM_SIN_1 + w * VM_SIN_2, high = VM_SIN_3 + w * VM_SIN_4;
    double s = r * (low + w2 * (mid + w2 * high)); /* a zero keeps its sign */
    return vm_of_bits(vm_bits(s) ^ vm_bits(shifted) << 63);
}
static inline double vm_sin(double x)
{
    return vm_sin_about(x, x * VM_SIN_PER_PI + VM_MAGIC, 0);
}
/* cos((k + 1/2)*pi + r) = -(-1)^k sin(r) */
static inline double vm_cos(double x)
{
    return -vm_sin_about(x, (x * VM_SIN_PER_PI - 0.5) + VM_MAGIC, 0.5);
}
static inline double vm_tan(double x)
{
    uint64_t q;
    double c, s = vm_trig_parts(x, &q, &c);
    return x == 0 ? x : (q & 1 ? -c : s) / (q & 1 ? s : c);
}

/* y/x has the tangent of the angle: of [0, 1] by halving the range once more. a >= 0. */
static inline double vm_atan_positive(double y, double x)
{
    double top = y > x ? y : x, low = y > x ? x : y;
    double half = low > top * 0.41421356237309503 ? 1 : 0;
    double t = half != 0 ? (low - top) / (low + top) : low / top, w = t * t;
    double high =
        0.11110819586603747 +
        w * (-0.09084099522493076 +
             w * (0.07604778003555679 + w * (-0.06027206570111165 + w * 0.03295499114305327)));
    double p =
        -0.33333333333266146 + w * (0.19999999949822453 + w * (-0.1428570810699188 + w * high));
    double r = half * 0x1.921fb54442d18p-1 + (t + t * w * p);
    return y > x ? 0x1.921fb54442d18p+0 - r : r;
}
static inline double vm_atan(double x)
{
    double a = __builtin_fabs(x), r = vm_atan_positive(a > 0x1p100 ? 0x1p100 : a, 1);
    return __builtin_copysign(r, x);
}
static inline double vm_asin(double x)
{
    double a = __builtin_fabs(x);
    return __builtin_copysign(vm_atan_positive(a, __builtin_sqrt((1 - a) * (1 + a))), x);
}
static inline double vm_acos(double x)
{
    double a = __builtin_fabs(x), r = vm_atan_positive(__builtin_sqrt((1 - a) * (1 + a)), a);
    return x < 0 ? 0x1.921fb54442d18p+1 - r : r;
}
/* For x, y of f32's range: infinities and zeros are brought to ratios that the quotient can form.
 */
static inline double vm_atan2(double y, double x)
{
    double ay = __builtin_fabs(y), ax = __builtin_fabs(x), r;
    int far_x = ax > 0x1p200, far_y = ay > 0x1p200, none = (ay == 0) & (ax == 0);
    r = vm_atan_positive(far_x ? (double)far_y : far_y ? 0x1p200 : ay, (far_x | none) ? 1 : ax);
    r = vm_bits(x) >> 63 != 0 ? 0x1.921fb54442d18p+1 - r : r;
    r = ax != ax ? x : r;
    return __builtin_copysign(ay != ay ? y : r, y);
}

/* erfc(z)*exp(z*z) times (1 + 2z), over t = (z - 3)/(z + 3), z >= 0. */
static inline double vm_erfc(double x)
{
    double a = __builtin_fabs(x), z = a > 20 ? 20 : a, t = (z - 3) / (z + 3), t2 = t * t,
           t4 = t2 * t2;
    double p0 = 1.2530080583004206 + t * -0.13562110529725238;
    double p1 = -0.047562298712851954 + t * 0.12964512259667235;
    double p2 = -0.11927356836785279 + t * 0.06830849645229237;
    double p3 = -0.023771247034803593 + t * 0.0025266473545228043;
    double p4 = 0.0018911668691764226 + t * -0.0007715265801137173;
    double p5 = -0.00010884752994807816 + t * 0.0001117875540708627;
    double p6 = 6.601495456069053e-06 + t * -9.557133701974373e-06;
    double p = (p0 + t2 * p1) + t4 * ((p2 + t2 * p3) + t4 * (p4 + t2 * p5 + t4 * p6));
    double r = vm_exp(-(a * a)) * p / (z * 2 + 1);
    return x < 0 ? 2 - r : r;
}
static inline double vm_erf(double x)
{
    double a = __builtin_fabs(x), z = a > 1 ? 1 : a, w = z * z;
    double high = 0.005223783477189248 +
                  w * (-0.0008542637997087229 +
                       w * (0.0001195656256820733 +
                            w * (-1.3909340021874599e-05 + w * 1.058938064107502e-06)));
    double p = 1.1283791670946768 +
               w * (-0.3761263888963531 +
                    w * (0.11283791308604582 + w * (-0.026866133235095593 + w * high)));
    double far = 1 - vm_erfc(a);
    return __builtin_copysign(a > 1 ? far : a * p, x);
}
#endif
