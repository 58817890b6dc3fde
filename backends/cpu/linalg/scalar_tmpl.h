/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * One dtype's arithmetic for the templates of linalg. The includer defines
 *   LIN_NAME     f32 f64 c64 c128: suffix of what is defined here
 *   LIN_R        the real type, and LIN_RFN(f): its function of math.h
 *   LIN_COMPLEX  whether the dtype is complex
 * Products of complex numbers are their four real products: C's own operator looks for infinities,
 * which here make NaN, as in any BLAS. */
#define LIN_FN(name) CPU_CAT(lin_##name, LIN_NAME)
#if LIN_COMPLEX
#define LIN_T LIN_R _Complex
static inline LIN_R LIN_FN(re)(LIN_T a)
{
    return ((const LIN_R *)&a)[0];
}
static inline LIN_R LIN_FN(im)(LIN_T a)
{
    return ((const LIN_R *)&a)[1];
}
static inline LIN_T LIN_FN(make)(LIN_R re, LIN_R im)
{
    LIN_T a;
    ((LIN_R *)&a)[0] = re;
    ((LIN_R *)&a)[1] = im;
    return a;
}
/* Sums in both parts: gcc 12 makes a pair of a*b - c*d and a*d + c*b one fused vfmaddsub, even
 * without contraction. */
static inline LIN_T LIN_FN(times)(LIN_T a, LIN_T b)
{
    const LIN_R ar = LIN_FN(re)(a), ai = LIN_FN(im)(a), br = LIN_FN(re)(b), bi = LIN_FN(im)(b);
    const LIN_R back = -ai;
    return LIN_FN(make)(ar * br + back * bi, ar * bi + ai * br);
}
static inline LIN_T LIN_FN(scaled)(LIN_T a, LIN_R s)
{
    return LIN_FN(make)(LIN_FN(re)(a) * s, LIN_FN(im)(a) * s);
}
static inline LIN_T LIN_FN(conj)(LIN_T a)
{
    return LIN_FN(make)(LIN_FN(re)(a), -LIN_FN(im)(a));
}
/* |re| + |im|, by which LAPACK compares pivots as well */
static inline LIN_R LIN_FN(size)(LIN_T a)
{
    return LIN_RFN(fabs)(LIN_FN(re)(a)) + LIN_RFN(fabs)(LIN_FN(im)(a));
}
#else
#define LIN_T LIN_R
static inline LIN_R LIN_FN(re)(LIN_T a)
{
    return a;
}
static inline LIN_R LIN_FN(im)(LIN_T a)
{
    (void)a;
    return 0;
}
static inline LIN_T LIN_FN(make)(LIN_R re, LIN_R im)
{
    (void)im;
    return re;
}
static inline LIN_T LIN_FN(times)(LIN_T a, LIN_T b)
{
    return a * b;
}
static inline LIN_T LIN_FN(scaled)(LIN_T a, LIN_R s)
{
    return a * s;
}
static inline LIN_T LIN_FN(conj)(LIN_T a)
{
    return a;
}
static inline LIN_R LIN_FN(size)(LIN_T a)
{
    return LIN_RFN(fabs)(a);
}
#endif

/* y -= a x over n elements side by side. */
static inline void LIN_FN(subtract)(int64_t n, LIN_T a, const LIN_T *restrict x, LIN_T *restrict y)
{
#if LIN_COMPLEX
    const LIN_R ar = LIN_FN(re)(a), ai = LIN_FN(im)(a), back = -ai;
    const LIN_R *restrict p = (const LIN_R *)x;
    LIN_R *restrict q = (LIN_R *)y;
    for (int64_t i = 0; i < n; i++) {
        const LIN_R re = p[2 * i], im = p[2 * i + 1];
        q[2 * i] -= ar * re + back * im; /* as in times */
        q[2 * i + 1] -= ar * im + ai * re;
    }
#else
    for (int64_t i = 0; i < n; i++)
        y[i] -= a * x[i];
#endif
}

/* The sum of conj(x) y. Eight sums, which are added in pairs, whatever the vectors' width. */
static inline LIN_T LIN_FN(inner)(int64_t n, const LIN_T *x, const LIN_T *y)
{
    LIN_R re[8] = {0}, im[8] = {0};
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int j = 0; j < 8; j++) {
            const LIN_T p = LIN_FN(times)(LIN_FN(conj)(x[i + j]), y[i + j]);
            re[j] += LIN_FN(re)(p);
            im[j] += LIN_FN(im)(p);
        }
    for (; i < n; i++) {
        const LIN_T p = LIN_FN(times)(LIN_FN(conj)(x[i]), y[i]);
        re[i % 8] += LIN_FN(re)(p);
        im[i % 8] += LIN_FN(im)(p);
    }
    for (int w = 4; w > 0; w /= 2)
        for (int j = 0; j < w; j++) {
            re[j] += re[j + w];
            im[j] += im[j + w];
        }
    return LIN_FN(make)(re[0], im[0]);
}

static inline void LIN_FN(scale)(int64_t n, LIN_T a, LIN_T *x)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = LIN_FN(times)(a, x[i]);
}

/* The 2-norm without undue overflow or underflow: by the sum of squares where that is safe, else of
 * elements scaled by the largest. */
static inline LIN_R LIN_FN(norm)(int64_t n, const LIN_T *x)
{
    const LIN_R sum = LIN_FN(re)(LIN_FN(inner)(n, x, x));
    LIN_R most = 0, scaled = 0;
    if (sum > LIN_TINY / LIN_EPS && sum < LIN_HUGE)
        return LIN_RFN(sqrt)(sum);
    for (int64_t i = 0; i < n; i++) {
        const LIN_R a = LIN_FN(size)(x[i]);
        most = a > most || a != a ? a : most;
        if (a != a)
            return a;
    }
    if (most == 0 || most > LIN_HUGE)
        return most;
    for (int64_t i = 0; i < n; i++) {
        const LIN_R re = LIN_FN(re)(x[i]) / most, im = LIN_FN(im)(x[i]) / most;
        scaled += re * re + im * im;
    }
    return most * LIN_RFN(sqrt)(scaled);
}
