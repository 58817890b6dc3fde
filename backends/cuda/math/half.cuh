/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Math functions of f16 and bf16 (cuda_half_X), computed in float to about 2^-17: the stored result
 * has 11 or 8 bits. They are short, with at most three uses of the special function unit, since the
 * kernels move twice as many elements a second as those of f32. Operands are values that f16 or
 * bf16 can hold. */
#ifndef NDOCK_CUDA_MATH_HALF_CUH
#define NDOCK_CUDA_MATH_HALF_CUH
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include "math/f32.cuh"

#define CM_LOG2E 1.44269502f
#define CM_LN2 0.693147182f
#define CM_PIO2 1.57079637f

/* ---- exponentials ---- */

CM_FN float cuda_half_exp(float x)
{
    float e = cm_exp2_flushed(x * (0.5f * CM_LOG2E));
    return e * e; /* subnormal where it has to be */
}
CM_FN float cuda_half_expm1(float x)
{
    const float c[] = {0.5f, 0.166666672f, 0.0416666679f, 0.00833333377f};
    float near = x == 0 ? x : cm_fma(x * x, cm_poly(c, x), x);
    return fabsf(x) < 0.35f ? near : cuda_half_exp(x) - 1.0f;
}
CM_FN float cuda_half_sinh(float x)
{
    const float c[] = {0.166667178f, 0.00833021197f, 0.000203774383f};
    float a = fabsf(x), w = x * x, e = cm_exp2(cm_fma(a, CM_LOG2E, -1.0f));
    return a < 1.0f ? cm_fma(x * w, cm_poly(c, w), x) : copysignf(cm_fma(-0.25f, cm_rcp(e), e), x);
}
CM_FN float cuda_half_cosh(float x)
{
    float e = cm_exp2(cm_fma(fabsf(x), CM_LOG2E, -1.0f));
    return cm_fma(0.25f, cm_rcp(e), e);
}
CM_FN float cuda_half_tanh(float x)
{
    float a = fabsf(x), d = 1.0f + cm_exp2_flushed(a * (2.0f * CM_LOG2E));
    float near = cm_fma(x * x * a, -0.333333343f, a), far = cm_fma(-2.0f, cm_rcp(d), 1.0f);
    return copysignf(a < 0.08f ? near : far, x);
}
/* a / (1 + e^-y) */
CM_FN float cm_half_gated(float a, float y)
{
    float e = cm_exp2(-fabsf(y) * CM_LOG2E);
    return a * (y < 0 ? e : 1.0f) * cm_rcp(1.0f + e);
}
CM_FN float cm_half_sigmoid(float x)
{
    return cm_half_gated(1.0f, x);
}
CM_FN float cm_half_silu(float x)
{
    return cm_half_gated(x, x);
}
CM_FN float cm_half_gelu_tanh(float x)
{
    return cm_half_gated(x, x * cm_fma(x * x, 0.0713548139f, 1.59576917f));
}
/* x Phi(x); the denominators t + 4 and 1 + 1.25 t share a reciprocal. */
CM_FN float cm_half_gelu(float x)
{
    float a = fabsf(x), t = a > 15.0f ? 15.0f : a, s = t + 4.0f, d = cm_fma(1.25f, t, 1.0f);
    float r = cm_rcp(s * d), u = cm_fma(2.0f * t * d, r, -1.0f);
    float p = cm_fma(u, cm_tail_poly(u), 0.566463828f) * (s * r);
    p *= cm_exp2(t * t * (-0.5f * CM_LOG2E));
    return x * (x < 0 ? p : 1.0f - p);
}
CM_FN float cm_half_elu(float x, float alpha)
{
    return x > 0 ? x : alpha * cuda_half_expm1(x);
}
CM_FN float cuda_half_erf(float x)
{
    const float near[] = {0.128378063f, -0.376069546f, 0.112368129f, -0.0254894402f,
                          0.00351467775f};
    const float far[] = {-1.62803233f,  -0.91738236f,    -0.151552796f,
                         0.0328264944f, -0.00457706768f, 0.000301329448f};
    float a = fabsf(x), w = x * x, t = a > 3.95f ? 3.95f : a;
    return a >= 1.0f ? copysignf(1.0f - cm_exp2(t * cm_poly(far, t)), x)
                     : cm_fma(x, cm_poly(near, w), x);
}

/* ---- logarithms and powers ---- */

/* Relatively accurate near 1 too, by atanh of (x - 1)/(x + 1). */
CM_FN float cuda_half_log2(float x)
{
    float f = x - 1.0f, q = f * cm_rcp(x + 1.0f), w = q * q;
    float p = cm_fma(cm_fma(0.209326118f, w, 0.333201557f), w, 1.0f);
    return fabsf(f) < 0.3f ? q * 2.88539004f * p : cm_log2(x);
}
CM_FN float cuda_half_log(float x)
{
    return cuda_half_log2(x) * CM_LN2;
}
CM_FN float cuda_half_log10(float x)
{
    return cuda_half_log2(x) * 0.301029995f;
}
CM_FN float cuda_half_log1p(float x)
{
    float q = x * cm_rcp(x + 2.0f), w = q * q;
    float near = 2.0f * cm_fma(q * w, cm_fma(0.209326118f, w, 0.333201557f), q);
    return x > -0.29f && x < 0.41f ? near : cm_log2(1.0f + x) * CM_LN2;
}
CM_FN float cm_half_root(float x)
{
    return x == 0 ? x : x * cm_rsqrt(x);
}
CM_FN float cuda_half_asinh(float x)
{
    const float c[] = {-0.16660583f, 0.0734531209f, -0.0330465846f};
    float a = fabsf(x), w = x * x;
    const bool far = a > 0x1p40f;
    float r = cm_log2(far ? a : a + cm_half_root(w + 1.0f)) + (far ? 1.0f : 0.0f);
    return copysignf(a < 0.5f ? cm_fma(a * w, cm_poly(c, w), a) : r * CM_LN2, x);
}
CM_FN float cuda_half_acosh(float x)
{
    const bool far = x > 0x1p40f;
    float n = far ? x : x + cm_half_root((x - 1.0f) * (x + 1.0f));
    return x < 1.0f ? cm_nan(x) : (cuda_half_log2(n) + (far ? 1.0f : 0.0f)) * CM_LN2;
}
CM_FN float cuda_half_atanh(float x)
{
    float a = fabsf(x), w = x * x;
    float near = cm_fma(x * w, cm_fma(0.209326118f, w, 0.333201557f), x);
    float r = cm_log2((1.0f + a) * cm_rcp(1.0f - a)) * (0.5f * CM_LN2);
    r = a == 1.0f ? cm_infinity(x) : r;
    return a < 0.2f ? near : a > 1.0f ? cm_nan(x) : copysignf(r, x);
}
CM_SLOW float cm_half_pow_rare(float x, float y)
{
    float a = fabsf(x), l = a == 1.0f && y == y ? 0.0f : y * cuda_half_log2(a);
    return cm_signed_power(cm_exp2(l), x, y);
}
/* The instruction's logarithm has an absolute error near 1, which a large exponent magnifies. */
CM_FN float cuda_half_pow(float x, float y)
{
    float p = y * cm_log2_flushed(x);
    if (!(fabsf(p) < 126.0f && fabsf(y) < 64.0f))
        return cm_half_pow_rare(x, y);
    return cm_exp2_flushed(p);
}
CM_FN float cm_half_logaddexp(float a, float b, float (*slow)(float, float))
{
    float high = a > b ? a : b, low = a > b ? b : a;
    float e = cuda_half_exp(a == b ? 0.0f : low - high);
    float r = cm_fma(cm_log2(1.0f + e), CM_LN2, high);
    return fabsf(r) < 0x1p-8f ? slow(a, b) : r;
}

/* ---- angles ---- */

CM_FN float cm_half_reduce(float x, int *quadrant)
{
    if (fabsf(x) > cm_const<float>::trig_max)
        return cm_reduce(x, quadrant).hi;
    float k = rintf(x * cm_const<float>::two_over_pi);
    *quadrant = (int)k;
    return cm_fma(-k, cm_const<float>::pio2_low, cm_fma(-k, cm_const<float>::pio2, x));
}
CM_FN float cm_half_sin_near(float r)
{
    const float c[] = {-0.166666538f, 0.00833209045f, -0.000195052169f};
    float w = r * r;
    return cm_fma(r * w, cm_poly(c, w), r);
}
CM_FN float cm_half_cos_near(float r)
{
    const float c[] = {-0.5f, 0.0416608676f, -0.0013643601f};
    float w = r * r;
    return cm_fma(w, cm_poly(c, w), 1.0f);
}
CM_FN float cm_half_turned(float r, int quadrant)
{
    float y = quadrant & 1 ? cm_half_cos_near(r) : cm_half_sin_near(r);
    return quadrant & 2 ? -y : y;
}
CM_FN float cuda_half_sin(float x)
{
    int q;
    float r = cm_half_reduce(x, &q);
    return x == 0 ? x : cm_half_turned(r, q);
}
CM_FN float cuda_half_cos(float x)
{
    int q;
    float r = cm_half_reduce(x, &q);
    return cm_half_turned(r, q + 1);
}
CM_FN float cuda_half_tan(float x)
{
    int q;
    float r = cm_half_reduce(x, &q), s = cm_half_sin_near(r), c = cm_half_cos_near(r);
    return x == 0 ? x : (q & 1 ? -c : s) * cm_rcp(q & 1 ? s : c);
}
/* asin of a, or of sqrt((1 - a)/2) for a > 1/2. */
CM_FN float cm_half_arc(float a)
{
    const float c[] = {0.166655406f, 0.0754155144f, 0.0399595127f, 0.0501218736f};
    float z = cm_fma(-0.5f, a, 0.5f);
    float w = a > 0.5f ? z : a * a, t = a > 0.5f ? cm_half_root(z) : a;
    return cm_fma(t * w, cm_poly(c, w), t);
}
CM_FN float cuda_half_asin(float x)
{
    float a = fabsf(x), t = cm_half_arc(a);
    t = copysignf(a > 0.5f ? cm_fma(-2.0f, t, CM_PIO2) : t, x);
    return a <= 1.0f ? t : cm_nan(x);
}
CM_FN float cuda_half_acos(float x)
{
    float a = fabsf(x), t = cm_half_arc(a);
    float far = x > 0 ? 2.0f * t : cm_fma(-2.0f, t, 2.0f * CM_PIO2);
    return a <= 1.0f ? (a > 0.5f ? far : CM_PIO2 - copysignf(t, x)) : cm_nan(x);
}
CM_FN float cm_half_angle(float y, float x)
{
    const float c[] = {-0.333288312f, 0.199027494f,   -0.13567102f,
                       0.0852943882f, -0.0382106006f, 0.00824687351f};
    float t = (y > x ? x : y) * cm_rcp(y > x ? y : x), w = t * t,
          r = cm_fma(t * w, cm_poly(c, w), t);
    return y > x ? CM_PIO2 - r : r;
}
CM_FN float cuda_half_atan(float x)
{
    float a = fabsf(x), r = cm_half_angle(a > 0x1p60f ? 0x1p60f : a, 1.0f);
    return x == x ? copysignf(r, x) : x;
}
CM_FN float cuda_half_atan2(float y, float x)
{
    float ay = fabsf(y), ax = fabsf(x), top = ay > ax ? ay : ax;
    if (!(top < 0x1p100f && top > 0x1p-100f)) {
        const bool infinite = top == cm_infinity(x);
        float scale = top > 1.0f ? 0x1p-64f : 0x1p64f;
        ay = infinite ? (ay == top ? 1.0f : 0.0f) : ay * scale;
        ax = infinite ? (ax == top ? 1.0f : 0.0f) : top == 0 ? 1.0f : ax * scale;
    }
    float r = cm_half_angle(ay, ax);
    r = cm_is_negative(x) ? 2.0f * CM_PIO2 - r : r;
    return x != x || y != y ? x + y : copysignf(r, y);
}
CM_FN float cuda_half_hypot(float x, float y)
{
    float ax = fabsf(x), ay = fabsf(y), top = ax > ay ? ax : ay, back = 1.0f;
    const float inf = cm_infinity(x);
    if (!(top < 0x1p60f && top > 0x1p-40f)) {
        float scale = top > 1.0f ? 0x1p-70f : 0x1p100f;
        back = top > 1.0f ? 0x1p70f : 0x1p-100f;
        ax *= scale;
        ay *= scale;
    }
    float r = cm_half_root(cm_fma(ax, ax, ay * ay)) * back;
    r = x != x || y != y ? x + y : r;
    return fabsf(x) == inf || fabsf(y) == inf ? inf : r;
}

/* ---- one rounding, and neighbours in the stored format ---- */

/* a*b + c to 13 bits, rounded to odd: what its rounding to fewer bits gives is as if rounded once
 * (Boldo and Melquiond, IEEE Trans. Comput. 57, 2008). The product of floats is exact in double. */
CM_FN float cm_half_fma(float a, float b, float c)
{
    const uint64_t rest = ((uint64_t)1 << 40) - 1;
    cm_pair<double> s = cm_sum((double)a * (double)b, (double)c);
    uint64_t u = cm_bits(s.hi);
    if (!(s.hi - s.hi == 0))
        return (float)s.hi;
    u -= (s.lo != 0 && (s.lo < 0) != (s.hi < 0)) ? 1 : 0; /* towards zero, the rest following */
    const bool inexact = s.lo != 0 || (u & rest) != 0;
    return (float)cm_of_bits((u & ~rest) | (inexact ? rest + 1 : 0));
}
CM_FN uint16_t cm_half_step(uint16_t x, float a, float b)
{
    uint16_t away = (uint16_t)((a < b) == (a > 0) ? x + 1 : x - 1);
    return a == 0 ? (uint16_t)(b < 0 ? 0x8001 : 1) : away;
}
CM_FN float cm_f16_nextafter(float a, float b)
{
    uint16_t x = __half_as_ushort(__float2half_rn(a));
    float r = __half2float(__ushort_as_half(cm_half_step(x, a, b)));
    return a != a || b != b ? a + b : a == b ? b : r;
}
CM_FN float cm_bf16_nextafter(float a, float b)
{
    float r = cm_of_bits((uint32_t)cm_half_step((uint16_t)(cm_bits(a) >> 16), a, b) << 16);
    return a != a || b != b ? a + b : a == b ? b : r;
}

/* ---- as for f32 ---- */

#define CM_AS_F32(fn)                   \
    CM_FN float cuda_half_##fn(float x) \
    {                                   \
        return cuda_f32_##fn(x);        \
    }
CM_AS_F32(fabs)
CM_AS_F32(floor)
CM_AS_F32(ceil)
CM_AS_F32(trunc)
CM_AS_F32(rint)
#undef CM_AS_F32
CM_FN float cuda_half_sqrt(float x)
{
    return sqrtf(x);
}
CM_FN int cuda_half_signbit(float x)
{
    return cm_is_negative(x);
}
CM_FN float cuda_half_copysign(float x, float y)
{
    return copysignf(x, y);
}
CM_FN float cuda_half_fma(float a, float b, float c)
{
    return fmaf(a, b, c);
}
CM_FN float cuda_half_fmod(float x, float y)
{
    return fmodf(x, y);
}
#undef CM_LOG2E
#undef CM_LN2
#undef CM_PIO2
#endif
