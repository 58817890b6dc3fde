/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Sums of two numbers (Dekker, Numer. Math. 18, 1971), the constants of each precision, and the
 * polynomials: minimax fits, in 60 digits, of the functions named beside them. */
#ifndef NDOCK_CUDA_MATH_PARTS_CUH
#define NDOCK_CUDA_MATH_PARTS_CUH
#include "math/hw.cuh"

CM_FN float cm_fma(float a, float b, float c)
{
    return fmaf(a, b, c);
}
CM_FN double cm_fma(double a, double b, double c)
{
    return fma(a, b, c);
}
CM_FN float cm_abs(float x)
{
    return fabsf(x);
}
CM_FN double cm_abs(double x)
{
    return fabs(x);
}
CM_FN float cm_sign_of(float x, float y)
{
    return copysignf(x, y);
}
CM_FN double cm_sign_of(double x, double y)
{
    return copysign(x, y);
}
CM_FN float cm_rint(float x)
{
    return rintf(x);
}
CM_FN double cm_rint(double x)
{
    return rint(x);
}
/* 2^k for a normal result. */
CM_FN float cm_power_of_two(float, int k)
{
    return cm_of_bits((uint32_t)(k + 127) << 23);
}
CM_FN double cm_power_of_two(double, int k)
{
    return cm_of_bits((uint64_t)(k + 1023) << 52);
}

/* hi + lo, |lo| about half an ulp of hi or less. */
template <typename R> struct cm_pair {
    R hi, lo;
};
template <typename R> CM_FN cm_pair<R> cm_two(R hi, R lo)
{
    cm_pair<R> p;
    p.hi = hi;
    p.lo = lo;
    return p;
}
/* a + b exactly, for |a| >= |b| or a = 0. */
template <typename R> CM_FN cm_pair<R> cm_fast_sum(R a, R b)
{
    R s = a + b;
    return cm_two(s, b - (s - a));
}
template <typename R> CM_FN cm_pair<R> cm_sum(R a, R b)
{
    R s = a + b, t = s - a;
    return cm_two(s, (a - (s - t)) + (b - t));
}
template <typename R> CM_FN cm_pair<R> cm_product(R a, R b)
{
    R p = a * b;
    return cm_two(p, cm_fma(a, b, -p));
}
template <typename R> CM_FN cm_pair<R> cm_product(cm_pair<R> a, cm_pair<R> b)
{
    R p = a.hi * b.hi;
    return cm_two(p, cm_fma(a.hi, b.hi, -p) + cm_fma(a.hi, b.lo, a.lo * b.hi));
}
template <typename R> CM_FN cm_pair<R> cm_quotient(cm_pair<R> n, cm_pair<R> d)
{
    R r = cm_rcp(d.hi), q = n.hi * r;
    return cm_two(q, (cm_fma(-q, d.hi, n.hi) + cm_fma(-q, d.lo, n.lo)) * r);
}
/* sqrt(0) is 0. */
template <typename R> CM_FN cm_pair<R> cm_root(cm_pair<R> a)
{
    R r = a.hi > 0 ? cm_rsqrt(a.hi) : (R)0, s = a.hi * r;
    return cm_two(s, (cm_fma(-s, s, a.hi) + a.lo) * ((R)0.5 * r));
}

/* Horner's scheme. */
template <typename R, int N> CM_FN R cm_poly(const R (&c)[N], R x)
{
    R p = c[N - 1];
    CM_UNROLL
    for (int i = N - 2; i >= 0; i--)
        p = cm_fma(p, x, c[i]);
    return p;
}

/* Constants: X and what is left of it in X_LOW. */
template <typename R> struct cm_const;
template <> struct cm_const<float> {
    static constexpr float pio2 = 1.57079637f, pio2_low = -4.37113883e-08f,
                           pio2_lowest = -1.71512451e-15f, pio4 = 0.785398185f,
                           pio4_low = -2.18556941e-08f;
    static constexpr float two_over_pi = 0.636619747f, log2e = 1.44269502f, ln2 = 0.693147182f,
                           ln2_low = -1.90465421e-09f;
    /* Few enough bits for exact products with an exponent. */
    static constexpr float ln2_short = 0.693115234375f, ln2_rest = 3.19461849e-05f;
    static constexpr float log10e = 0.434294492f, log10e_low = -1.010305e-08f;
    static constexpr float two_over_ln2 = 2.88539004f, two_over_ln2_low = 3.85192607e-08f;
    static constexpr float third = 0.333333343f, third_low = -9.93410776e-09f;
    static constexpr float trig_max = 131072.0f, exp2_min = -160, exp2_max = 130;
    static constexpr float exp_min = -104.5f, exp_max = 89.0f; /* overflow */
    static constexpr int mantissa = 23;
};
template <> struct cm_const<double> {
    static constexpr double pio2 = 1.5707963267948966, pio2_low = 6.123233995736766e-17,
                            pio2_lowest = -1.4973849048591698e-33, pio4 = 0.78539816339744828,
                            pio4_low = 3.061616997868383e-17;
    static constexpr double two_over_pi = 0.63661977236758138, log2e = 1.4426950408889634,
                            ln2 = 0.69314718055994529, ln2_low = 2.3190468138462996e-17;
    static constexpr double ln2_short = 0x1.62e42fefa2p-1, ln2_rest = 7.3710025651677989e-13;
    static constexpr double two_over_ln2 = 2.8853900817779268,
                            two_over_ln2_low = 4.0710547481862066e-17;
    static constexpr double log10e = 0.43429448190325182, log10e_low = 1.0983196502167651e-17;
    static constexpr double erf0 = 0.12837916709551259, erf1 = -0.37612638903183754;
    static constexpr double third = 0.33333333333333331, third_low = 1.8503717077085941e-17;
    static constexpr double trig_max = 1073741824.0, exp2_min = -1100, exp2_max = 1030;
    static constexpr double exp_min = -746.0, exp_max = 709.9;
    static constexpr int mantissa = 52;
};

/* (sin r - r)/r^3 and (cos r - 1 + w/2)/w^2, w = r^2 <= 0.64 */
CM_FN float cm_sin_poly(float w)
{
    const float c[] = {-0.166666672f, 0.00833332911f, -0.000198391877f, 2.71691488e-06f};
    return cm_poly(c, w);
}
CM_FN double cm_sin_poly(double w)
{
    const double c[] = {-0.16666666666666666,   0.0083333333333333211,   -0.00019841269841252177,
                        2.7557319212685346e-06, -2.5052104518562016e-08, 1.605831649271763e-10,
                        -7.5762120354617341e-13};
    return cm_poly(c, w);
}
CM_FN float cm_cos_poly(float w)
{
    const float c[] = {0.0416666679f, -0.00138888834f, 2.4799363e-05f, -2.71973249e-07f};
    return cm_poly(c, w);
}
CM_FN double cm_cos_poly(double w)
{
    const double c[] = {0.041666666666666664,    -0.001388888888888887,  2.4801587301568372e-05,
                        -2.7557319214039667e-07, 2.0876754066626782e-09, -1.1470259452161109e-11,
                        4.7365923580766668e-14};
    return cm_poly(c, w);
}
/* (atan t - t)/t^3, w = t^2 <= tan(pi/8)^2 */
CM_FN float cm_atan_poly(float w)
{
    const float c[] = {-0.333333164f, 0.199984759f, -0.14243561f, 0.105937362f, -0.0607740209f};
    return cm_poly(c, w);
}
CM_FN double cm_atan_poly(double w)
{
    const double c[] = {-0.33333333333333198, 0.19999999999952991,  -0.1428571428013338,
                        0.11111110780119145,  -0.09090897656444169, 0.076920583234022344,
                        -0.06663081565662593, 0.058477188464011912, -0.05038507095857294,
                        0.038043581333001189, -0.017883490958253413};
    return cm_poly(c, w);
}
/* (asin x - x)/x^3 and (asinh x - x)/x^3, w = x^2 <= 1/4 */
CM_FN float cm_asin_poly(float w)
{
    const float c[] = {0.166666597f,  0.0750052258f, 0.0445132926f,
                       0.0318392031f, 0.0143162487f, 0.0376926512f};
    return cm_poly(c, w);
}
CM_FN double cm_asin_poly(double w)
{
    const double c[] = {0.16666666666666763,   0.074999999999701056, 0.044642857175281228,
                        0.030381942675398847,  0.022372215905306678, 0.017351595467023539,
                        0.013981019417473314,  0.01139728203092955,  0.010789403616324215,
                        0.0036717974584230956, 0.021791769458941443, -0.021118550791699293,
                        0.032703452101697526};
    return cm_poly(c, w);
}
CM_FN float cm_asinh_poly(float w)
{
    const float c[] = {-0.166666657f, 0.0749988854f,  -0.0446130596f,
                       0.0300110541f, -0.0199717041f, 0.00915465131f};
    return cm_poly(c, w);
}
CM_FN double cm_asinh_poly(double w)
{
    const double c[] = {-0.1666666666666661,   0.074999999999845343,   -0.044642857127924221,
                        0.030381943720036282,  -0.022372138441387551,  0.017352388147516065,
                        -0.013960243443278696, 0.011513053693520157,   -0.0095344270921832418,
                        0.0074663334673906517, -0.0047485937967845901, 0.001718778047582302};
    return cm_poly(c, w);
}
/* (atanh s - s)/s^3 and its tail after 1/3, w = s^2 <= 0.045 and 0.031 */
CM_FN float cm_atanh_poly(float w)
{
    const float c[] = {0.33333534f, 0.199730992f, 0.152981848f};
    return cm_poly(c, w);
}
CM_FN double cm_atanh_poly(double w)
{
    const double c[] = {0.33333333333333243,  0.20000000000065191,  0.14285714269745384,
                        0.11111113000661477,  0.090907856397019995, 0.076969913886412347,
                        0.065643121713923225, 0.070637385807701625};
    return cm_poly(c, w);
}
CM_FN float cm_atanh_tail(float w)
{
    const float c[] = {0.200000897f, 0.142721936f, 0.117425971f};
    return cm_poly(c, w);
}
CM_FN double cm_atanh_tail(double w)
{
    const double c[] = {0.20000000000001628,  0.14285714284803394,  0.11111111304865512,
                        0.090908881932420957, 0.076935645273593395, 0.066240484286426482,
                        0.06638817516276202};
    return cm_poly(c, w);
}
/* (e^r - 1 - r - r^2/2)/r^3 and (e^r - 1 - r)/r^2, |r| <= 0.348 */
CM_FN float cm_exp_tail(float r)
{
    const float c[] = {0.166665137f, 0.0416661724f, 0.00836959388f, 0.00139525288f};
    return cm_poly(c, r);
}
CM_FN double cm_exp_tail(double r)
{
    const double c[] = {0.16666666666666685,    0.041666666666666727,   0.0083333333333165463,
                        0.0013888888888858098,  0.00019841269897632343, 2.4801587374575761e-05,
                        2.7557233592659652e-06, 2.7557232601282238e-07, 2.511248361430078e-08,
                        2.0927181898533249e-09};
    return cm_poly(c, r);
}
template <typename R> CM_FN R cm_exp_poly(R r)
{
    return cm_fma(r, cm_exp_tail(r), (R)0.5);
}
/* (2^r - 1 - r ln 2)/r^2, |r| <= 0.501 */
CM_FN float cm_exp2_poly(float r)
{
    const float c[] = {0.240226507f, 0.0555032939f, 0.00961800385f, 0.00133998715f,
                       0.000154763882f};
    return cm_poly(c, r);
}
CM_FN double cm_exp2_poly(double r)
{
    const double c[] = {0.2402265069591013,     0.055504108664821736,   0.0096181291075940339,
                        0.0013333558146380383,  0.00015403530457472849, 1.5252733866738965e-05,
                        1.3215435013660922e-06, 1.017804665790648e-07,  7.0738408539000895e-09,
                        4.4573721523216758e-10};
    return cm_poly(c, r);
}
/* exp(t^2/2) Phi(-t) (1 + 1.25 t) over (t - 4)/(t + 4), t >= 0, after its first term; the form is
 * that of Shepherd and Laframboise, Math. Comp. 36 (1981). */
CM_FN double cm_tail_poly(double u)
{
    const double c[] = {-0.078279916271043387,   -0.013595270429283881,  0.053677306901370285,
                        -0.047963497811699424,   0.024543145720194014,   -0.0063798637572753062,
                        -0.00051673233637460493, 0.00091541744464064393, -0.00010664908696524006,
                        -0.00011697854166867945, 2.5404645428896793e-05, 1.8109370381362616e-05,
                        -4.0828409697208631e-06, -3.431216239397095e-06, 4.5407031994595081e-07,
                        7.1302630037566155e-07,  1.4942589437690562e-08, -1.4054105025493861e-07,
                        -2.7629430428235883e-08, 2.1687862217472795e-08, 8.1033468185365926e-09,
                        -1.7910912477964424e-09, -9.6577600404694777e-10};
    return cm_poly(c, u);
}
CM_FN float cm_tail_poly(float u)
{
    const float c[] = {-0.0782798976f,   -0.0135953212f,  0.0536767282f,    -0.0479628295f,
                       0.0245491657f,    -0.00638152938f, -0.000542200811f, 0.000909054943f,
                       -6.19021084e-05f, -9.13359981e-05f};
    return cm_poly(c, u);
}
/* exp(t^2/2) Phi(-t) (1 + t) less 1/2 over t/(t + 4.62) - 0.4, t <= 15: this denominator wants the lowest degree */
CM_FN float cm_tail_rest(float u)
{
    const float c[] = {-0.0152170351f, -0.201914832f, 0.0260028746f, 0.41409409f,  -0.975649059f,
                       1.29699242f,    -1.07709444f,  0.423345357f,  0.151964009f, -0.214697137f};
    return cm_poly(c, u);
}
/* erf(x)/x - 1, w = x^2: for double what follows its terms erf0 + erf1 w, over w^2, w <= 1.5625;
 * for float what follows its first term 0.128..., w <= 1 */
CM_FN double cm_erf_tail(double w)
{
    const double c[] = {0.11283791670955126,     -0.026866170645131245,   0.0052239776254421151,
                        -0.00085483270234451992, 0.00012055332981498311,  -1.4925650347962668e-05,
                        1.6462114096295824e-06,  -1.636583956622593e-07,  1.4807120132023212e-08,
                        -1.2289782460163297e-09, 9.4166161148893619e-11,  -6.675299519539493e-12,
                        4.3104788991684642e-13,  -2.3359521238114899e-14, 7.8970361455024282e-16};
    return cm_poly(c, w);
}
CM_FN float cm_erf_poly(float w)
{
    const float c[] = {0.128379166f,  -0.376126289f,    0.112836242f,    -0.0268556047f,
                       0.0051921932f, -0.000805160787f, 8.06269309e-05f, -3.76584211e-07f};
    return cm_poly(c, w);
}
#endif
