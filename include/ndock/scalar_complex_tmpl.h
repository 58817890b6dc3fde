/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Elementwise formulas of the complex dtypes, once: text included once per complex dtype, each time
 * followed by scalar_complex_log_tmpl.h, which has the logarithms, the inverse functions and pow,
 * needs the same macros, and undefines the ND_Z_ ones made here.
 *
 * No include guard, no #include, no _Complex, no bare libm name: the text is C11, C++17, CUDA C++
 * and OpenCL C 1.2 at once. The includer defines, and undefines afterwards:
 *   ND_FN          qualifiers of a function: static inline, static __host__ __device__ ...
 *   ND_R           float or double;  ND_T: a struct type with the members re, im of type ND_R
 *   ND_R_MANT_DIG  24 or 53, as a preprocessor number
 *   ND_BOOL_T      what comparisons return (0 or 1), and the condition of where
 *   ND_NAME(op)    name of a function, such as add_c64; also of the helpers here (make, dd ...)
 *   ND_M(fn)       a function of ND_R: atan atan2 asin acos copysign cos exp expm1 fabs fma hypot
 *                  ilogb ldexp log log10 log1p log2 rint sin sqrt; fma must be correctly rounded
 *   ND_INFINITY ND_NAN_VALUE ND_R_MAX ND_R_MIN (smallest normal) ND_R_EPSILON, of type ND_R
 * It must be compiled without contraction of a*b + c and without any fast-math.
 *
 * ND_NAME(op)(a), (a, b) or where(cond, a, b) returns ND_T; abs, real and imag return ND_R;
 * equal, not_equal, logical_* and is* return ND_BOOL_T.
 *
 * Special values are those of the array API standard 2025.12 (C99 Annex G): infinities, NaNs,
 * signed zeros on both sides of each branch cut. multiply and square are the plain formula, so an
 * infinity may give NaN; divide, reciprocal, sign and pow of infinite or zero operands are NumPy's,
 * except that a NaN always propagates through sign. Between finite operands divide and reciprocal
 * do not overflow or underflow on the way.
 *
 * Kahan, "Branch cuts for complex elementary functions, or much ado about nothing's sign bit"
 * (1987): circular functions by way of their hyperbolic twins; scaling in sqrt. */
#define ND_Z(re, im) ND_NAME(make)((re), (im))
#define ND_Z_FINITE(x) (ND_M(fabs)(x) <= ND_R_MAX)
#define ND_Z_INF(x) (ND_M(fabs)(x) == ND_INFINITY)
#define ND_Z_NAN(x) ((x) != (x))
#define ND_Z_BOTH_FINITE(a) (ND_Z_FINITE((a).re) && ND_Z_FINITE((a).im))
#define ND_Z_K(x) ((ND_R)(x))
#define ND_Z_PI ND_Z_K(3.14159265358979323846)
#define ND_Z_LN2 ND_Z_K(0.69314718055994530942)
#define ND_Z_LOG2E ND_Z_K(1.44269504088896340736)
#define ND_Z_LOG10E ND_Z_K(0.43429448190325182765)
/* X_LO: the constant X minus its rounding to ND_R. SAFE_MIN, SAFE_MAX: 4*sqrt of the smallest
 * normal and sqrt(2^emax)/8. EXP_FAR: exp of less is normal and finite. EXP_END: exp of more is not
 * finite even times the smallest sine. EXP_ONLY: sinh and cosh agree from here on. A quotient needs
 * no care while its operands are within DIV_FAR of 1; DIV_SCALE brings any others there. */
#if ND_R_MANT_DIG == 53
#define ND_Z_PI_LO ND_Z_K(1.2246467991473532072e-16)
#define ND_Z_LN2_LO ND_Z_K(2.3190468138462995584e-17)
#define ND_Z_LOG2E_LO ND_Z_K(2.0355273740931033e-17)
#define ND_Z_LOG10E_LO ND_Z_K(1.0983196502167651e-17)
#define ND_Z_SAFE_MIN ND_Z_K(5.9666725849601653e-154)
#define ND_Z_SAFE_MAX ND_Z_K(1.6759759912428246e+153)
#define ND_Z_EXP_FAR ND_Z_K(700)
#define ND_Z_EXP_END ND_Z_K(3000)
#define ND_Z_EXP_ONLY ND_Z_K(22)
#define ND_Z_DIV_FAR 500
#define ND_Z_DIV_SCALE 600
#else
#define ND_Z_PI_LO ND_Z_K(-8.7422776573475858e-08)
#define ND_Z_LN2_LO ND_Z_K(-1.9046542121259336e-09)
#define ND_Z_LOG2E_LO ND_Z_K(1.9259629911782732e-08)
#define ND_Z_LOG10E_LO ND_Z_K(-1.0103050118726e-08)
#define ND_Z_SAFE_MIN ND_Z_K(4.3368086899420177e-19)
#define ND_Z_SAFE_MAX ND_Z_K(2.305843009213694e+18)
#define ND_Z_EXP_FAR ND_Z_K(80)
#define ND_Z_EXP_END ND_Z_K(400)
#define ND_Z_EXP_ONLY ND_Z_K(10)
#define ND_Z_DIV_FAR 60
#define ND_Z_DIV_SCALE 90
#endif

ND_FN ND_T ND_NAME(make)(ND_R re, ND_R im)
{
    ND_T z;
    z.re = re;
    z.im = im;
    return z;
}

/* i times the conjugate: how sin is sinh, and so on, in the swapped plane. */
ND_FN ND_T ND_NAME(swap)(ND_T a)
{
    return ND_Z(a.im, a.re);
}

/* ---- structure, comparison and logic ---- */

ND_FN ND_T ND_NAME(positive)(ND_T a)
{
    return a;
}
ND_FN ND_T ND_NAME(negative)(ND_T a)
{
    return ND_Z(-a.re, -a.im);
}
ND_FN ND_T ND_NAME(conj)(ND_T a)
{
    return ND_Z(a.re, -a.im);
}
ND_FN ND_R ND_NAME(real)(ND_T a)
{
    return a.re;
}
ND_FN ND_R ND_NAME(imag)(ND_T a)
{
    return a.im;
}
ND_FN ND_T ND_NAME(round)(ND_T a)
{
    return ND_Z(ND_M(rint)(a.re), ND_M(rint)(a.im));
}
ND_FN ND_T ND_NAME(where)(ND_BOOL_T cond, ND_T a, ND_T b)
{
    return cond ? a : b;
}
ND_FN ND_BOOL_T ND_NAME(equal)(ND_T a, ND_T b)
{
    return a.re == b.re && a.im == b.im;
}
ND_FN ND_BOOL_T ND_NAME(not_equal)(ND_T a, ND_T b)
{
    return a.re != b.re || a.im != b.im;
}
ND_FN ND_BOOL_T ND_NAME(logical_not)(ND_T a)
{
    return a.re == 0 && a.im == 0;
}
ND_FN ND_BOOL_T ND_NAME(logical_and)(ND_T a, ND_T b)
{
    return !ND_NAME(logical_not)(a) && !ND_NAME(logical_not)(b);
}
ND_FN ND_BOOL_T ND_NAME(logical_or)(ND_T a, ND_T b)
{
    return !ND_NAME(logical_not)(a) || !ND_NAME(logical_not)(b);
}
ND_FN ND_BOOL_T ND_NAME(logical_xor)(ND_T a, ND_T b)
{
    return ND_NAME(logical_not)(a) != ND_NAME(logical_not)(b);
}
ND_FN ND_BOOL_T ND_NAME(isfinite)(ND_T a)
{
    return ND_Z_BOTH_FINITE(a);
}
ND_FN ND_BOOL_T ND_NAME(isinf)(ND_T a)
{
    return ND_Z_INF(a.re) || ND_Z_INF(a.im);
}
ND_FN ND_BOOL_T ND_NAME(isnan)(ND_T a)
{
    return ND_Z_NAN(a.re) || ND_Z_NAN(a.im);
}

/* ---- arithmetic ---- */

ND_FN ND_T ND_NAME(add)(ND_T a, ND_T b)
{
    return ND_Z(a.re + b.re, a.im + b.im);
}
ND_FN ND_T ND_NAME(subtract)(ND_T a, ND_T b)
{
    return ND_Z(a.re - b.re, a.im - b.im);
}
/* A sum in both parts: gcc 12 makes a pair of a*b - c*d and a*d + c*b one fused vfmaddsub, even
 * with -ffp-contract=off, and then the bits would depend on the SIMD level. */
ND_FN ND_T ND_NAME(multiply)(ND_T a, ND_T b)
{
    return ND_Z(a.re * b.re + (-a.im) * b.im, a.re * b.im + a.im * b.re);
}
ND_FN ND_T ND_NAME(square)(ND_T a)
{
    return ND_NAME(multiply)(a, a);
}
ND_FN ND_R ND_NAME(abs)(ND_T a)
{
    return ND_M(hypot)(a.re, a.im);
}

/* The larger magnitude of the two parts; NaN parts are passed over unless both are. */
ND_FN ND_R ND_NAME(larger)(ND_T a)
{
    const ND_R x = ND_M(fabs)(a.re), y = ND_M(fabs)(a.im);
    return x < y || ND_Z_NAN(x) ? y : x;
}

/* Minus the exponent by which to scale a, so that its magnitude is neither infinite nor subnormal.
 */
ND_FN int ND_NAME(abs_shift)(ND_T a)
{
    const ND_R m = ND_NAME(larger)(a);
    return m > ND_R_MAX / 2 ? 2 : m < 4 * ND_R_MIN ? -60 : 0;
}

/* The power of two that brings a number of magnitude m near enough to 1 for a quotient. */
ND_FN ND_R ND_NAME(div_scale)(ND_R m)
{
    const ND_R far = ND_M(ldexp)(ND_Z_K(1), ND_Z_DIV_FAR);
    const ND_R up = ND_M(ldexp)(ND_Z_K(1), ND_Z_DIV_SCALE);
    return m > far ? 1 / up : m * far < 1 ? up : ND_Z_K(1);
}

/* (re, im) * sb / sa, of scales from div_scale: first times sb alone unless the two cancel. */
ND_FN ND_T ND_NAME(unscale)(ND_R re, ND_R im, ND_R sa, ND_R sb)
{
    const ND_R s = sa == sb ? ND_Z_K(1) : sb, t = sa == sb ? ND_Z_K(1) : 1 / sa;
    return ND_Z(re * s * t, im * s * t);
}

/* Smith's quotient, as NumPy has it, for what an infinity, a NaN or a zero divisor gives. */
ND_FN ND_T ND_NAME(divide_special)(ND_T a, ND_T b)
{
    const ND_R x = ND_M(fabs)(b.re), y = ND_M(fabs)(b.im);
    ND_R ratio, scale;
    if (x == 0 && y == 0)
        return ND_Z(a.re / x, a.im / x);
    if (!(x >= y)) { /* both by i */
        a = ND_Z(a.im, -a.re);
        b = ND_Z(b.im, -b.re);
    }
    ratio = b.im / b.re;
    scale = 1 / (b.re + b.im * ratio);
    return ND_Z((a.re + a.im * ratio) * scale, (a.im + (-a.re) * ratio) * scale);
}

ND_FN ND_T ND_NAME(divide)(ND_T a, ND_T b)
{
    const ND_R m = ND_NAME(larger)(b);
    const ND_R sa = ND_NAME(div_scale)(ND_NAME(larger)(a)), sb = ND_NAME(div_scale)(m);
    const ND_T p = ND_Z(a.re * sa, a.im * sa), q = ND_Z(b.re * sb, b.im * sb);
    const ND_R d = q.re * q.re + q.im * q.im;
    if (!(m > 0 && ND_Z_BOTH_FINITE(a) && ND_Z_BOTH_FINITE(b)))
        return ND_NAME(divide_special)(a, b);
    return ND_NAME(unscale)((p.re * q.re + p.im * q.im) / d, (p.im * q.re + (-p.re) * q.im) / d, sa,
                            sb);
}

ND_FN ND_T ND_NAME(reciprocal)(ND_T a)
{
    const ND_R m = ND_NAME(larger)(a), s = ND_NAME(div_scale)(m);
    const ND_T q = ND_Z(a.re * s, a.im * s);
    const ND_R d = q.re * q.re + q.im * q.im;
    ND_R ratio;
    if (m > 0 && ND_Z_BOTH_FINITE(a))
        return ND_Z(q.re / d * s, -q.im / d * s);
    if (ND_M(fabs)(a.im) <= ND_M(fabs)(a.re)) {
        ratio = a.im / a.re;
        return ND_Z(1 / (a.re + a.im * ratio), -ratio / (a.re + a.im * ratio));
    }
    ratio = a.re / a.im;
    return ND_Z(ratio / (a.re * ratio + a.im), -1 / (a.re * ratio + a.im));
}

ND_FN ND_T ND_NAME(sign)(ND_T a)
{
    const ND_R m = ND_NAME(larger)(a);
    ND_R s, h;
    if (ND_Z_NAN(a.re) || ND_Z_NAN(a.im) || (ND_Z_INF(a.re) && ND_Z_INF(a.im)))
        return ND_Z(ND_NAN_VALUE, ND_NAN_VALUE);
    if (m == ND_INFINITY)
        return ND_Z_INF(a.re) ? ND_Z(ND_M(copysign)(ND_Z_K(1), a.re), 0)
                              : ND_Z(0, ND_M(copysign)(ND_Z_K(1), a.im));
    if (m == 0)
        return ND_Z(0, 0);
    s = ND_M(ldexp)(ND_Z_K(1), -ND_NAME(abs_shift)(a));
    h = ND_M(hypot)(a.re * s, a.im * s);
    return ND_Z(a.re * s / h, a.im * s / h);
}

ND_FN ND_T ND_NAME(sqrt)(ND_T a)
{
    ND_R x = ND_M(fabs)(a.re), y = ND_M(fabs)(a.im), s = 1, t;
    if (y == ND_INFINITY)
        return ND_Z(y, a.im);
    if (x == ND_INFINITY)
        return a.re > 0 ? ND_Z(x, ND_Z_NAN(y) ? y : ND_M(copysign)(ND_Z_K(0), a.im))
                        : ND_Z(ND_Z_NAN(y) ? y : 0, ND_M(copysign)(x, a.im));
    if (ND_Z_NAN(x) || ND_Z_NAN(y))
        return ND_Z(ND_NAN_VALUE, ND_NAN_VALUE);
    if (x == 0 && y == 0)
        return ND_Z(0, a.im);
    /* Scale by an even power of two, so that neither the sum overflows nor hypot is subnormal. */
    if (x > ND_R_MAX / 4 || y > ND_R_MAX / 4)
        s = 4;
    else if (x < 4 * ND_R_MIN && y < 4 * ND_R_MIN)
        s = ND_M(ldexp)(ND_Z_K(1), -30);
    x = x / s / s;
    y = y / s / s;
    t = ND_M(sqrt)((x + ND_M(hypot)(x, y)) / 2);
    x = y / (2 * t) * s;
    t *= s;
    return a.re >= 0 ? ND_Z(t, ND_M(copysign)(x, a.im)) : ND_Z(x, ND_M(copysign)(t, a.im));
}

/* ---- exponentials ---- */

/* e^(x + d) * scale * (c, s) for a tiny d and a scale near 1, with no overflow or underflow on the
 * way: x is reduced by k ln 2, exactly so far as the fma goes, and the result scaled by 2^k. */
ND_FN ND_T ND_NAME(exp_times)(ND_R x, ND_R d, ND_R scale, ND_R c, ND_R s)
{
    ND_R k = 0, e;
    int n, up;
    if (ND_M(fabs)(x) > ND_Z_EXP_FAR) {
        x = x > ND_Z_EXP_END ? ND_Z_EXP_END : x < -ND_Z_EXP_END ? -ND_Z_EXP_END : x;
        k = ND_M(rint)(x * ND_Z_LOG2E);
        x = ND_M(fma)(-k, ND_Z_LN2, x) - k * ND_Z_LN2_LO;
    }
    e = ND_M(exp)(x);
    e = (e + e * d) * scale;
    if (k == 0)
        return ND_Z(e * c, e * s);
    n = (int)k;
    up = n > 0 ? 64
               : 0; /* first a little, so that a subnormal c or s loses nothing in the product */
    c = ND_M(ldexp)(c, up);
    s = ND_M(ldexp)(s, up);
    return ND_Z(ND_M(ldexp)(e * c, n - up), ND_M(ldexp)(e * s, n - up));
}

/* exp where a part is infinite or NaN. */
ND_FN ND_T ND_NAME(exp_special)(ND_T a)
{
    const ND_R x = a.re, y = a.im;
    if (y == 0)
        return ND_Z(ND_M(exp)(x), y);
    if (x == -ND_INFINITY)
        return ND_Z_FINITE(y) ? ND_Z(0 * ND_M(cos)(y), 0 * ND_M(sin)(y))
                              : ND_Z(0, ND_M(copysign)(ND_Z_K(0), y));
    if (x == ND_INFINITY)
        return ND_Z_FINITE(y) ? ND_Z(x * ND_M(cos)(y), x * ND_M(sin)(y)) : ND_Z(x, ND_NAN_VALUE);
    return ND_Z(ND_NAN_VALUE, ND_NAN_VALUE);
}

ND_FN ND_T ND_NAME(exp)(ND_T a)
{
    if (!ND_Z_BOTH_FINITE(a))
        return ND_NAME(exp_special)(a);
    return ND_NAME(exp_times)(a.re, 0, 1, ND_M(cos)(a.im), ND_M(sin)(a.im));
}

/* Where e^x cos y is near 1 the real part is expm1(x) cos y - 2 sin(y/2)^2; + 0 since the standard
 * has +0 for both zeros. */
ND_FN ND_T ND_NAME(expm1)(ND_T a)
{
    const ND_T e = ND_NAME(exp)(a);
    ND_R h;
    if (!(e.re > ND_Z_K(0.5) && e.re < 2 && ND_Z_FINITE(a.im)))
        return ND_Z(e.re - 1, e.im);
    h = ND_M(sin)(a.im / 2);
    return ND_Z(ND_M(expm1)(a.re) * ND_M(cos)(a.im) - 2 * h * h + 0, e.im);
}

/* (sinh x, cosh x) for a finite |x| <= EXP_FAR: Taylor's series up to 1, so that small arguments
 * lose nothing, and e^x beyond. */
ND_FN ND_T ND_NAME(sinh_cosh)(ND_R x)
{
    const ND_R w = x * x;
    ND_R s, c, e;
    if (w < 1) {
        s = ND_Z_K(8.2206352466243297e-18) * w + ND_Z_K(2.8114572543455208e-15);
        s = s * w + ND_Z_K(7.6471637318198164e-13);
        s = s * w + ND_Z_K(1.6059043836821613e-10);
        s = s * w + ND_Z_K(2.505210838544172e-08);
        s = s * w + ND_Z_K(2.7557319223985893e-06);
        s = s * w + ND_Z_K(0.00019841269841269841);
        s = s * w + ND_Z_K(0.0083333333333333333);
        s = s * w + ND_Z_K(0.16666666666666667);
        c = ND_Z_K(1.5619206968586225e-16) * w + ND_Z_K(4.7794773323873853e-14);
        c = c * w + ND_Z_K(1.1470745597729725e-11);
        c = c * w + ND_Z_K(2.08767569878681e-09);
        c = c * w + ND_Z_K(2.7557319223985888e-07);
        c = c * w + ND_Z_K(2.4801587301587302e-05);
        c = c * w + ND_Z_K(0.0013888888888888889);
        c = c * w + ND_Z_K(0.041666666666666667);
        return ND_Z(x + x * (w * s), 1 + (w / 2 + w * w * c));
    }
    e = ND_M(exp)(ND_M(fabs)(x));
    s = (e - 1 / e) / 2;
    return ND_Z(ND_M(copysign)(s, x), (e + 1 / e) / 2);
}

ND_FN ND_T ND_NAME(sinh)(ND_T a)
{
    const ND_R x = a.re, y = a.im;
    ND_T h;
    if (ND_Z_BOTH_FINITE(a)) {
        if (ND_M(fabs)(x) > ND_Z_EXP_ONLY) {
            h = ND_NAME(exp_times)(ND_M(fabs)(x), 0, ND_Z_K(0.5), ND_M(cos)(y), ND_M(sin)(y));
            return ND_Z(x < 0 ? -h.re : h.re, h.im);
        }
        h = ND_NAME(sinh_cosh)(x);
        return ND_Z(h.re * ND_M(cos)(y), h.im * ND_M(sin)(y));
    }
    if (y == 0 || (x == 0 && !ND_Z_FINITE(y)))
        return ND_Z(x, y == 0 ? y : ND_NAN_VALUE);
    if (ND_Z_INF(x))
        return ND_Z_FINITE(y) ? ND_Z(x * ND_M(cos)(y), ND_INFINITY * ND_M(sin)(y))
                              : ND_Z(x, ND_NAN_VALUE);
    return ND_Z(ND_NAN_VALUE, ND_NAN_VALUE);
}

ND_FN ND_T ND_NAME(cosh)(ND_T a)
{
    const ND_R x = a.re, y = a.im;
    ND_T h;
    if (ND_Z_BOTH_FINITE(a)) {
        if (ND_M(fabs)(x) > ND_Z_EXP_ONLY) {
            h = ND_NAME(exp_times)(ND_M(fabs)(x), 0, ND_Z_K(0.5), ND_M(cos)(y), ND_M(sin)(y));
            return ND_Z(h.re, x < 0 ? -h.im : h.im);
        }
        h = ND_NAME(sinh_cosh)(x);
        return ND_Z(h.im * ND_M(cos)(y), h.re * ND_M(sin)(y));
    }
    if (y == 0)
        return ND_Z(x * x, ND_M(copysign)(ND_Z_K(1), x) * y);
    if (x == 0)
        return ND_Z(ND_NAN_VALUE, x);
    if (ND_Z_INF(x))
        return ND_Z_FINITE(y) ? ND_Z(ND_INFINITY * ND_M(cos)(y), x * ND_M(sin)(y))
                              : ND_Z(ND_INFINITY, ND_NAN_VALUE);
    return ND_Z(ND_NAN_VALUE, ND_NAN_VALUE);
}

/* (sinh x cosh x + i sin y cos y) / (sinh^2 x + cos^2 y) for |x| < 1, by way of the larger square;
 * where sin^2 y is small, the divisor is 1 + sinh^2 x - sin^2 y. */
ND_FN ND_T ND_NAME(tanh_near)(ND_R x, ND_R s, ND_R c)
{
    const ND_T h = ND_NAME(sinh_cosh)(x);
    const int by_cos = ND_M(fabs)(c) >= ND_M(fabs)(h.re);
    const ND_R big = by_cos ? c : h.re, r = (by_cos ? h.re : c) / big;
    ND_R d;
    if (s * s < ND_Z_K(0.25)) {
        d = 1 + (h.re - s) * (h.re + s);
        return ND_Z(h.re * h.im / d, s * c / d);
    }
    d = 1 + r * r;
    return ND_Z(h.im / big * (by_cos ? r : 1) / d, s / big * (by_cos ? 1 : r) / d);
}

/* For |x| >= 1, with e = exp(-2|x|): 1 less what is small, over |1 + e exp(2iy)|^2. */
ND_FN ND_T ND_NAME(tanh)(ND_T a)
{
    const ND_R x = a.re, y = a.im;
    ND_R s, c, d, e;
    if (ND_Z_INF(x)) /* the standard: 1 + 0j for y > 0, where C99 has the sign of sin(2y) */
        return ND_Z(ND_M(copysign)(ND_Z_K(1), x), ND_M(copysign)(ND_Z_K(0), y));
    if (!ND_Z_BOTH_FINITE(a))
        return ND_Z(x == 0 || y == 0 ? x : ND_NAN_VALUE, y == 0 ? y : ND_NAN_VALUE);
    s = ND_M(sin)(y);
    c = ND_M(cos)(y);
    if (ND_M(fabs)(x) < 1)
        return ND_NAME(tanh_near)(x, s, c);
    e = ND_M(exp)(-2 * ND_M(fabs)(x));
    d = 1 + e * (e + 2 * ((c - s) * (c + s)));
    return ND_Z(ND_M(copysign)(1 - 2 * e * (e + (c - s) * (c + s)) / d, x), 4 * (e * s * c) / d);
}

ND_FN ND_T ND_NAME(sin)(ND_T a)
{
    return ND_NAME(swap)(ND_NAME(sinh)(ND_NAME(swap)(a)));
}
ND_FN ND_T ND_NAME(cos)(ND_T a)
{
    return ND_NAME(cosh)(ND_Z(-a.im, a.re));
}
ND_FN ND_T ND_NAME(tan)(ND_T a)
{
    return ND_NAME(swap)(ND_NAME(tanh)(ND_NAME(swap)(a)));
}
