/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Math functions of float for the f32 kernels (cuda_f32_X), within the bounds of op.def. CUDA's own
 * serve for logf, log1pf and log2f, which were compared with double for every float. */
#ifndef NDOCK_CUDA_MATH_CUH
#define NDOCK_CUDA_MATH_CUH
#include "math/angle.cuh"

/* ---- hyperbolic functions ---- */

/* |x| = k ln 2 + r; then sinh and cosh are A sinh r + B cosh r and A cosh r + B sinh r with
 * A, B = (2^k +- 2^-k)/2, all but the leading terms being small corrections. */
struct cm_hyperbolic {
    cm_pair<float> a, b;
    float r, r_low, sinh_rest, cosh_rest; /* sinh r - r and cosh r - 1 */
};
CM_FN cm_hyperbolic cm_hyperbolic_parts(float x, float up, float down, float k)
{
    const float s[] = {0.166666672f, 0.00833328906f, 0.000199051574f};
    const float c[] = {0.5f, 0.0416662656f, 0.00139464077f};
    cm_hyperbolic h;
    float far = cm_fma(-k, cm_const<float>::ln2, x);
    h.r = cm_fma(-k, cm_const<float>::ln2_low, far);
    h.r_low = cm_fma(-k, cm_const<float>::ln2_low, far - h.r);
    float w = h.r * h.r;
    h.sinh_rest = h.r * w * cm_poly(s, w);
    h.cosh_rest = w * cm_poly(c, w);
    h.a = cm_fast_sum(up, down);
    h.b = cm_fast_sum(up, -down);
    return h;
}
/* f cosh r + g sinh r = f + g r + ... */
CM_FN cm_pair<float> cm_hyperbolic_sum(cm_pair<float> f, cm_pair<float> g, const cm_hyperbolic &h)
{
    cm_pair<float> p = cm_product(g.hi, h.r), s = cm_fast_sum(f.hi, p.hi);
    s.lo += cm_fma(g.lo, h.r, cm_fma(g.hi, h.r_low, p.lo)) +
            cm_fma(f.hi, h.cosh_rest, cm_fma(g.hi, h.sinh_rest, f.lo));
    return s;
}
CM_FN cm_pair<float> cm_sinh_pair(const cm_hyperbolic &h)
{
    return cm_hyperbolic_sum(h.b, h.a, h);
}
CM_FN cm_pair<float> cm_cosh_pair(const cm_hyperbolic &h)
{
    return cm_hyperbolic_sum(h.a, h.b, h);
}
/* For sinh and cosh beyond 12 the powers are 2^-32 of what they should be, so that none overflows.
 */
CM_FN cm_hyperbolic cm_hyperbolic_scaled(float a, float *scale)
{
    a = a > 100.0f ? 100.0f : a; /* sinh and cosh overflow at 89.5 */
    float k = cm_rint(a * cm_const<float>::log2e);
    const bool far = k > 20.0f;
    int n = (int)k;
    *scale = far ? 0x1p32f : 1.0f;
    return cm_hyperbolic_parts(a, cm_power_of_two(a, far ? n - 33 : n - 1),
                               far ? 0.0f : cm_power_of_two(a, -n - 1), k);
}
CM_FN float cuda_f32_sinh(float x)
{
    float scale;
    cm_pair<float> s = cm_sinh_pair(cm_hyperbolic_scaled(fabsf(x), &scale));
    return x == x ? copysignf((s.hi + s.lo) * scale, x) : x;
}
CM_FN float cuda_f32_cosh(float x)
{
    float scale;
    cm_pair<float> c = cm_cosh_pair(cm_hyperbolic_scaled(fabsf(x), &scale));
    return x == x ? (c.hi + c.lo) * scale : x;
}
/* 1/(one + up (1 + p.hi + p.lo)), up a power of two, as hi (1 + lo). */
CM_FN cm_pair<float> cm_rcp_of_exp(float one, float up, cm_pair<float> p)
{
    float sum = one + up, d = cm_fma(up, p.hi, sum);
    float lost = one - (sum - up), r = cm_rcp(d);
    float low = cm_fma(up, p.lo, cm_fma(up, p.hi, sum - d)) + lost;
    return cm_two(r, cm_fma(-low, r, cm_fma(-d, r, 1.0f)));
}
/* A polynomial, or 1 - 2/(1 + e^2a) where that loses little; 1 from 9.02 on. */
CM_FN float cuda_f32_tanh(float x)
{
    const float c[] = {-0.333333015f, 0.133319989f, -0.0537897162f, 0.0208146386f, -0.00591578428f};
    const float e[] = {2.0f, 2.0f, 1.33332109f, 0.66665876f, 0.267827004f, 0.0892961845f};
    float a = fabsf(x), w = x * x, t = cm_clamp(a, 0.0f, 10.0f);
    float shifted = cm_fma(t, cm_const<float>::two_over_ln2, 12582912.0f);
    float k = shifted - 12582912.0f, r = cm_fma(-k, 0.5f * cm_const<float>::ln2, t);
    r = cm_fma(-k, 0.5f * cm_const<float>::ln2_low, r);
    /* d = 1 + e^2a = 1 + 2^k + 2^k (e^2r - 1) */
    float up = cm_of_bits((cm_bits(shifted) << 23) + 0x3f800000u), sum = 1.0f + up;
    float p = r * cm_poly(e, r), d = cm_fma(up, p, sum), lost = cm_fma(up, p, sum - d);
    float q = cm_rcp(d);
    q = cm_fma(q, cm_fma(-lost, q, cm_fma(-d, q, 1.0f)), q);
    return copysignf(!(a >= 0.6f) ? cm_fma(a * w, cm_poly(c, w), a) : cm_fma(-2.0f, q, 1.0f), x);
}

/* ---- exponentials ---- */

/* The power of two is in two factors, so that the result may be subnormal. */
CM_FN float cuda_f32_exp(float x)
{
    const float c[] = {1.0f,          1.0f,           0.5f,          0.166665137f,
                       0.0416661724f, 0.00836959388f, 0.00139525288f};
    const uint32_t one = 0x3f800000;
    x = cm_clamp(x, cm_const<float>::exp_min, cm_const<float>::exp_max);
    float shifted = cm_fma(x, cm_const<float>::log2e, 12582912.0f), k = shifted - 12582912.0f;
    float r = cm_fma(-k, cm_const<float>::ln2, x);
    r = cm_fma(-k, cm_const<float>::ln2_low, r);
    uint32_t n = cm_bits(shifted), half = n >> 1;
    float first = cm_of_bits((half << 23) + one), second = cm_of_bits(((n - half) << 23) + one);
    return cm_poly(c, r) * first * second;
}
CM_FN float cuda_f32_expm1(float x)
{
    return cm_expm1(x);
}

/* e^(x + low) = (hi + lo) 2^k, for -120 <= x <= 0. */
CM_FN cm_pair<float> cm_exp_pair(float x, float low, float *k)
{
    *k = cm_rint(x * cm_const<float>::log2e);
    cm_pair<float> r = cm_exp_reduce(x, *k), e = cm_fast_sum(1.0f, r.hi);
    float rest = r.hi * r.hi * cm_exp_poly(r.hi);
    return cm_fast_sum(e.hi, e.lo + cm_fma(r.lo + low, e.hi + rest, rest));
}
/* x 2^k for -300 < k <= 0: in two factors, so that the result may be subnormal. */
CM_FN float cm_scale_down(float x, float k)
{
    int n = (int)k, half = n >> 1;
    return x * cm_power_of_two(x, half) * cm_power_of_two(x, n - half);
}
/* a / (1 + e^-(y + low)). Where the exponential is large it is formed as 2^-64 of itself, so that
 * the result may be subnormal. */
CM_FN float cm_gated(float a, float y, float low)
{
    float x = y < -110.0f ? 110.0f : y > 50.0f ? -50.0f : -y;
    float shifted = cm_fma(x, cm_const<float>::log2e, 12582912.0f), k = shifted - 12582912.0f;
    const bool far = x > 40.0f;
    cm_pair<float> r = cm_exp_reduce(x, k);
    float rest = r.hi * r.hi * cm_exp_poly(r.hi);
    cm_pair<float> p = cm_fast_sum(r.hi, rest);
    p.lo += cm_fma(r.lo - low, p.hi, r.lo - low);
    float up = cm_of_bits((cm_bits(shifted) << 23) + (far ? 0x1f800000u : 0x3f800000u));
    r = cm_rcp_of_exp(far ? 0.0f : 1.0f, up, p);
    p = cm_product(a, r.hi);
    float v = (p.hi + cm_fma(p.hi, r.lo, p.lo)) * (y < -110.0f ? 0.0f : far ? 0x1p-64f : 1.0f);
    return y > 50.0f ? a : copysignf(v, a);
}
CM_FN float cm_f32_sigmoid(float x)
{
    return cm_gated(1.0f, x, 0.0f);
}
CM_FN float cm_f32_silu(float x)
{
    return x == x ? cm_gated(x, x, 0.0f) : x;
}
/* (1 + tanh(u))/2 is the sigmoid of 2u = x (c1 + c2 x^2), in two parts; 12 is e^-150. */
CM_FN float cm_f32_gelu_tanh(float x)
{
    const cm_pair<float> c1 = cm_two(1.59576917f, -4.53406805e-08f);
    const cm_pair<float> c2 = cm_two(0.0713548139f, 2.39883247e-09f);
    if (!(fabsf(x) < 12.0f))
        return x > 0 ? x : x * 0.0f;
    cm_pair<float> t = cm_product(cm_product(x, x), c2), v = cm_fast_sum(c1.hi, t.hi);
    if (t.hi > c1.hi)
        v = cm_fast_sum(t.hi, c1.hi);
    v.lo += t.lo + c1.lo;
    cm_pair<float> y = cm_product(v, cm_two(x, 0.0f));
    return cm_gated(x, y.hi, y.lo);
}
/* t exp(t^2/2) Phi(-t), t >= 0: (t/2 + t p)/(1 + t), where p is a polynomial in t/(t + 4.62) that is small beside
 * 1/2, so that its rounding is too. */
CM_FN cm_pair<float> cm_tail_scaled(float t)
{
    float p = cm_tail_rest(cm_fma(t, cm_rcp(t + 4.62f), -0.4f)), half = 0.5f * t, d = 1.0f + t;
    float n = cm_fma(t, p, half);
    return cm_quotient(cm_two(n, cm_fma(t, p, half - n)), cm_two(d, t - (d - 1.0f)));
}
/* x Phi(x): of x < 0 the tail alone, which is (1 + w) 2^k of the scaled one; else x less the tail. The
 * power of two is 2^64 times what it should be, so that the result may be subnormal. x*x/2 is in two parts:
 * the first less k ln 2 is exact, and e^rest of what is left, rest < 2^-17, is 1 + rest. */
CM_FN float cm_f32_gelu(float x)
{
    const float magic =
        12582912.0f + 127 + 64;       /* 1.5*2^23: the sum's low bits are k + 64, biased */
    float a = fminf(fabsf(x), 15.0f); /* Phi(-15) is 2^-167 */
    cm_pair<float> y = cm_product(a, 0.5f * a), z = cm_tail_scaled(a);
    float shifted = cm_fma(y.hi, -cm_const<float>::log2e, magic), k = shifted - magic;
    float r = -cm_fma(k, cm_const<float>::ln2, y.hi);
    float rest = -cm_fma(k, cm_const<float>::ln2_low, y.lo);
    float w = cm_fma(r * r, cm_exp_poly(r), r);
    z.lo = cm_fma(z.hi, rest, z.lo);
    z.lo = cm_fma(z.lo, w, z.lo);
    float tail = (z.hi + cm_fma(z.hi, w, z.lo)) * cm_of_bits(cm_bits(shifted) << 23);
    return cm_fma(tail, -0x1p-64f, x * (x < 0 ? 0.0f : 1.0f));
}
CM_FN float cm_f32_elu(float x, float alpha)
{
    return x > 0 ? x : alpha * cm_expm1(x);
}
/* erfc by its logarithm from 1 on, where it is small beside 1. */
CM_FN float cuda_f32_erf(float x)
{
    const float c[] = {-1.62836742f,    -0.916041791f,   -0.153738007f,   0.0346829295f,
                       -0.00544339512f, 0.000511798251f, -2.07909052e-05f};
    float a = fabsf(x);
    if (!(a >= 1.0f)) {
        float w = x * x;
        return cm_fma(x, cm_erf_poly(w), x);
    }
    a = a < 3.95f ? a : 3.95f;
    float p = cm_poly(c, a), k = cm_rint(p * a), r = cm_fma(p, a, -k);
    float e = cm_exp2_near(r);
    return copysignf(cm_fma(-e, cm_power_of_two(a, (int)k), 1.0f), x);
}

/* ---- log(e^a + e^b) ---- */

/* log(1 + e^d) of d <= 0 by the exponential given: 2 atanh(e/(2 + e)), or with ln 2 taken out. */
template <typename R> CM_FN cm_pair<R> cm_log1p_of_exp(cm_pair<R> e)
{
    const bool turn = e.hi > (R)0.41421356;
    cm_pair<R> d = cm_fast_sum(turn ? (R)3 : (R)2, e.hi);
    d.lo += e.lo;
    return cm_log_of_quotient(cm_quotient(cm_two(turn ? e.hi - 1 : e.hi, e.lo), d), turn ? 1 : 0);
}
/* Where the two terms cancel: in double, or where that is not enough, by slow(). */
CM_FN float cm_f32_logaddexp_near(float high, float low, float (*slow)(float, float))
{
    cm_pair<double> l = cm_log1p_of_exp(cm_two(cm_exp_shifted((double)low - (double)high, 0), 0.0));
    double r = ((double)high + l.hi) + l.lo;
    return fabs(r) < l.hi * 0x1p-20 ? slow(high, low) : (float)r;
}
CM_FN float cm_f32_logaddexp(float a, float b, float (*slow)(float, float))
{
    float high = a > b ? a : b, low = a > b ? b : a, k;
    cm_pair<float> d = cm_sum(low, -high), e, s;
    if (!(low - high > -120.0f)) /* also where both are infinite */
        return high != high || low != low || a == b ? a + b : high + 0.0f;
    e = cm_exp_pair(d.hi, d.lo, &k);
    const bool far = k < -60.0f;
    float p = far ? 0.0f : cm_power_of_two(a, (int)k);
    e = cm_log1p_of_exp(cm_two(far ? cm_scale_down(e.hi, k) : e.hi * p, e.lo * p));
    s = cm_sum(high, e.hi);
    float r = s.hi + (s.lo + e.lo);
    return fabsf(r) * 1.5f < e.hi ? cm_f32_logaddexp_near(high, low, slow) : r;
}

/* ---- powers ---- */

/* Where r is no power of a positive number far from the ends of the range. */
CM_SLOW float cm_f32_pow_rare(float x, float y, float r, bool near)
{
    return near && cm_bits(fabsf(x)) - 0x800000u < 0x7f000000u ? cm_signed_power(r, x, y)
                                                               : cm_pow(x, y);
}
/* log2 of a positive normal number to about 2^-32 of it: k + log2 b + 2 atanh((m - b)/(m + b))/ln
 * 2, b being one of three numbers whose logarithm has few bits, and 1 for m near 1. What a product
 * by a constant lost is computed with the other sign: else the compiler would multiply twice. */
CM_FN cm_pair<float> cm_log2_short(float a)
{
    const float c[] = {0.961796701f, 0.577075124f, 0.414129823f};
    int k;
    float m = cm_split(a, &k), b = m < 0.889f ? 0.790561557f : m > 1.1346f ? 1.28730094f : 1.0f;
    float l = m < 0.889f ? -0x1.5b3p-2f : m > 1.1346f ? 0x1.7518p-2f : 0.0f;
    float n = m - b, d = m + b, z = cm_rcp(d), q = n * z, w = q * q;
    float rest = cm_fma(-q, m - (d - b), cm_fma(-q, d, n)) * z; /* of the quotient */
    float p = q * cm_const<float>::two_over_ln2;
    float over = cm_fma(-q, cm_const<float>::two_over_ln2, p);
    float low = cm_fma(q, cm_const<float>::two_over_ln2_low, -over);
    low = cm_fma(cm_fma(rest, w, rest), cm_const<float>::two_over_ln2, low);
    cm_pair<float> r = cm_fast_sum((float)k + l, p);
    return cm_fast_sum(r.hi, r.lo + cm_fma(q * w, cm_poly(c, w), low));
}
/* What may need more care, such as a power near the ends of the range, is left to cm_pow. */
CM_FN float cuda_f32_pow(float x, float y)
{
    float a = fabsf(x);
    cm_pair<float> l = cm_log2_short(a), p = cm_product(y, l.hi);
    float low = cm_fma(y, l.lo, p.lo) * cm_const<float>::ln2, shifted = p.hi + 12582912.0f;
    float r = p.hi - (shifted - 12582912.0f);
    float t = r * cm_const<float>::ln2, over = cm_fma(-r, cm_const<float>::ln2, t);
    cm_pair<float> e = cm_fast_sum(1.0f, t);
    float rest = cm_fma(r * r, cm_exp2_poly(r), -over);
    r = e.hi + (e.lo + cm_fma(low, e.hi + rest, rest)); /* 2^(r + low) */
    r = cm_of_bits(cm_bits(r) + (cm_bits(shifted) << 23));
    const bool near = cm_abs(p.hi) < 125.0f;
    return near & (cm_bits(x) - 0x800000u < 0x7f000000u) ? r : cm_f32_pow_rare(x, y, r, near);
}

/* ---- f32 ---- */

#define CM_LIBM_F32(fn)                \
    CM_FN float cuda_f32_##fn(float x) \
    {                                  \
        return fn##f(x);               \
    }
#define CM_CORE_F32(fn)                \
    CM_FN float cuda_f32_##fn(float x) \
    {                                  \
        return cm_##fn(x);             \
    }
CM_LIBM_F32(fabs)
CM_LIBM_F32(floor)
CM_LIBM_F32(ceil)
CM_LIBM_F32(trunc)
CM_LIBM_F32(rint)
CM_LIBM_F32(sqrt)
CM_LIBM_F32(log)
CM_LIBM_F32(log1p)
CM_LIBM_F32(log2)
CM_CORE_F32(log10)
CM_CORE_F32(sin)
CM_CORE_F32(cos)
CM_CORE_F32(tan)
CM_CORE_F32(asin)
CM_CORE_F32(acos)
CM_CORE_F32(atan)
CM_CORE_F32(asinh)
CM_CORE_F32(acosh)
CM_CORE_F32(atanh)
#undef CM_LIBM_F32
#undef CM_CORE_F32
CM_FN float cuda_f32_copysign(float x, float y)
{
    return copysignf(x, y);
}
CM_FN int cuda_f32_signbit(float x)
{
    return cm_is_negative(x);
}
CM_FN float cuda_f32_fma(float a, float b, float c)
{
    return fmaf(a, b, c);
}
CM_FN float cuda_f32_nextafter(float x, float y)
{
    return nextafterf(x, y);
}
CM_FN float cuda_f32_fmod(float x, float y)
{
    return fmodf(x, y);
}
CM_FN float cuda_f32_ldexp(float x, int n)
{
    return ldexpf(x, n);
}
CM_FN int cuda_f32_ilogb(float x)
{
    return ilogbf(x);
}
CM_FN float cuda_f32_atan2(float y, float x)
{
    return cm_atan2(y, x);
}
CM_FN float cuda_f32_hypot(float x, float y)
{
    return cm_hypot(x, y);
}
#endif
