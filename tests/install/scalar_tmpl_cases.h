/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * scalar_tmpl.h on plain libm, for float, double, int32, uint8 and bool, in C99 and in C++17. The
 * expected values are mpmath's, or follow from the rules of op.def. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>

#define ND_FN static inline
#define ND_BOOL_T uint8_t

static inline int signbit_f(float x)
{
    return signbit(x) != 0;
}
static inline int signbit_d(double x)
{
    return signbit(x) != 0;
}

/* ---- float, composite formulas in double ---- */
#define ND_IS_BOOL 0
#define ND_IS_INT 0
#define ND_IS_UINT 0
#define ND_IS_FLOAT 1
#define ND_NAME(op) op##_f32
#define ND_T float
#define signbitf signbit_f
#define ND_M(fn) fn##f
#define ND_W double
#define ND_W_WIDER 1
#define ND_MW(fn) fn
#define ND_X double
#define ND_X_WIDER 1
#define ND_MX(fn) fn
#define ND_MANT_DIG 24
#define ND_NEXTAFTER(a, b) nextafterf(a, b)
#define ND_FMA(a, b, c) fmaf(a, b, c)
#include <ndock/scalar_tmpl.h>
#undef ND_NAME
#undef ND_T
#undef ND_M
#undef ND_W_WIDER
#undef ND_X_WIDER
#undef ND_MANT_DIG
#undef ND_NEXTAFTER
#undef ND_FMA

/* ---- double, nothing wider ---- */
#define signbit_of signbit_d
#define ND_NAME(op) op##_f64
#define ND_T double
#define ND_M(fn) fn##_of
#define fabs_of fabs
#define floor_of floor
#define ceil_of ceil
#define trunc_of trunc
#define rint_of rint
#define sqrt_of sqrt
#define copysign_of copysign
#define fmod_of fmod
#define hypot_of hypot
#define atan2_of atan2
#define pow_of pow
#define exp_of exp
#define expm1_of expm1
#define log_of log
#define log1p_of log1p
#define log2_of log2
#define log10_of log10
#define sin_of sin
#define cos_of cos
#define tan_of tan
#define asin_of asin
#define acos_of acos
#define atan_of atan
#define sinh_of sinh
#define cosh_of cosh
#define tanh_of tanh
#define asinh_of asinh
#define acosh_of acosh
#define atanh_of atanh
#define erf_of erf
#define fma_of fma
#define ND_W_WIDER 0
#define ND_X_WIDER 0
#define ND_MANT_DIG 53
#define ND_NEXTAFTER(a, b) nextafter(a, b)
#define ND_FMA(a, b, c) fma(a, b, c)
#include <ndock/scalar_tmpl.h>
#undef ND_NAME
#undef ND_T
#undef ND_IS_FLOAT

/* ---- int32 ---- */
#define ND_IS_FLOAT 0
#undef ND_IS_INT
#define ND_IS_INT 1
#define ND_NAME(op) op##_i32
#define ND_T int32_t
#define ND_U uint32_t
#define ND_BITS 32
#include <ndock/scalar_tmpl.h>
#undef ND_NAME
#undef ND_T
#undef ND_IS_INT
#undef ND_BITS

/* ---- uint8 ---- */
#define ND_IS_INT 0
#undef ND_IS_UINT
#define ND_IS_UINT 1
#define ND_NAME(op) op##_u8
#define ND_T uint8_t
#define ND_BITS 8
#include <ndock/scalar_tmpl.h>
#undef ND_NAME
#undef ND_IS_UINT

/* ---- bool ---- */
#define ND_IS_UINT 0
#undef ND_IS_BOOL
#define ND_IS_BOOL 1
#define ND_NAME(op) op##_bool
#include <ndock/scalar_tmpl.h>

static int cases, failures;

static void check(int pass, const char *what)
{
    printf("%sok %d - %s\n", pass ? "" : "not ", ++cases, what);
    failures += !pass;
}

static int near(double got, double want, double tolerance)
{
    return fabs(got - want) <= tolerance * fabs(want);
}

static int run_cases(void)
{
    check(near(sigmoid_f32(1), 0.7310585786300049, 1e-7), "sigmoid of 1, float");
    check(near(sigmoid_f64(-1), 0.2689414213699951, 1e-15), "sigmoid of -1, double");
    check(near(gelu_f32(1), 0.8413447460685429, 1e-7), "gelu of 1, float");
    check(near(gelu_f64(-36.5), -2.0238248852723183e-290, 1e-14), "gelu of -36.5, double");
    check(fabs(gelu_f64(-37.838955238793147) + 4.92166302415032834e-312) < 2e-323,
          "gelu of -37.8, double: subnormal, to 4 ulp");
    check(gelu_f64(-1e200) == 0, "gelu of -1e200, double");
    check(gelu_f64(INFINITY) == INFINITY, "gelu of infinity, double");
    check(near(gelu_f64(-30), -1.472014178144456e-196, 1e-14), "gelu of -30, double");
    check(near(gelu_tanh_f64(1), 0.8411919906082768, 1e-15), "gelu_tanh of 1, double");
    check(near(silu_f64(-745), -2.10265129e-321, 2e-3), "silu of -745, double");
    check(near(logaddexp_f64(0, 0), 0.6931471805599453, 1e-15), "logaddexp of 0 and 0, double");
    check(near(logaddexp_f64(-0.7, -0.6863410028083852), -8.277582133894773e-18, 1e-11),
          "logaddexp near its zero");
    check(near(erf_f32(0.5f), 0.5204998778130465, 1e-7), "erf of 0.5, float");
    check(maximum_f64(-0.0, 0.0) == 0 && !signbit_d(maximum_f64(-0.0, 0.0)), "+0 is above -0");
    check(isnan_f64(minimum_f64(1, (double)NAN)) == 1, "NaN propagates");
    check(floor_divide_f32(-1, 3) == -1 && remainder_f32(-1, 3) == 2, "floored division, float");
    check(floor_divide_f64(1, 0.1) == 9, "floor of 1 by slightly more than 0.1");
    check(round_f64(2.5) == 2 && sign_f32(-3) == -1 && relu_f32(-1) == 0, "round, sign, relu");
    check(add_i32(INT32_MAX, 1) == INT32_MIN, "integer addition wraps");
    check(floor_divide_i32(INT32_MIN, -1) == INT32_MIN, "MIN / -1 wraps");
    check(floor_divide_i32(-7, 2) == -4 && remainder_i32(-7, 2) == 1, "floored division, int32");
    check(floor_divide_i32(1, 0) == 0 && remainder_u8(1, 0) == 0, "division by zero gives 0");
    check(bitwise_left_shift_i32(1, 32) == 0 && bitwise_right_shift_i32(-5, 99) == -1,
          "wide shifts");
    check(pow_i32(-3, 3) == -27 && pow_i32(2, -1) == 0 && pow_u8(2, 8) == 0, "integer powers");
    check(multiply_u8(200, 2) == 144, "uint8 multiplication wraps");
    check(add_bool(1, 1) == 1 && multiply_bool(1, 0) == 0 && bitwise_invert_bool(0) == 1, "bool");
    printf("1..%d\n", cases);
    return failures != 0;
}
