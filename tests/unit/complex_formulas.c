/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The complex formulas on plain libm against golden vectors, within the complex bound of op.def;
 * infinities, NaNs and signed zeros exactly. */
#include <float.h>
#include <stdint.h>

#include "tests/tap.h"

typedef struct {
    float re, im;
} z64;
typedef struct {
    double re, im;
} z128;

#define ND_FN __attribute__((unused)) static
#define ND_BOOL_T uint8_t
#define ND_INFINITY ((ND_R)INFINITY)
#define ND_NAN_VALUE ((ND_R)NAN)
#define ND_T z64
#define ND_R float
#define ND_R_MANT_DIG 24
#define ND_R_MAX FLT_MAX
#define ND_R_MIN FLT_MIN
#define ND_R_EPSILON FLT_EPSILON
#define ND_NAME(op) op##_c64
#define ND_M(fn) fn##f
#include "ndock/scalar_complex_tmpl.h"
#include "ndock/scalar_complex_log_tmpl.h"
#undef ND_T
#undef ND_R
#undef ND_R_MANT_DIG
#undef ND_R_MAX
#undef ND_R_MIN
#undef ND_R_EPSILON
#undef ND_NAME
#undef ND_M
#define ND_T z128
#define ND_R double
#define ND_R_MANT_DIG 53
#define ND_R_MAX DBL_MAX
#define ND_R_MIN DBL_MIN
#define ND_R_EPSILON DBL_EPSILON
#define ND_NAME(op) op##_c128
#define ND_M(fn) fn
#include "ndock/scalar_complex_tmpl.h"
#include "ndock/scalar_complex_log_tmpl.h"

enum { /* the complex bound of each row of op.def, in hundredths of an ulp */
#define ULP(half, single_, double_, complex_) ((int)(100 * (complex_)))
#define ND_OP(name, CLASS, DOMAIN, RESULT, ulp, doc) ULP_##name = ulp,
#include "ndock/op.def"
#undef ULP
};

/* The functions of the golden file. */
#define UNARY_OPS(X) \
    X(sqrt)          \
    X(exp)           \
    X(expm1)         \
    X(log)           \
    X(log1p)         \
    X(log2)          \
    X(log10)         \
    X(sin)           \
    X(cos)           \
    X(tan)           \
    X(asin)          \
    X(acos)          \
    X(atan) X(sinh) X(cosh) X(tanh) X(asinh) X(acosh) X(atanh) X(sign) X(square) X(reciprocal)
#define BINARY_OPS(X) X(multiply) X(divide) X(pow)

enum {
#define OP_ID(op) OP_##op,
    UNARY_OPS(OP_ID) BINARY_OPS(OP_ID) N_OPS
};
static const struct {
    const char *name;
    double ulp;
} ops[N_OPS] = {
#define OP_ROW(op) [OP_##op] = {#op, ULP_##op / 100.0},
    UNARY_OPS(OP_ROW) BINARY_OPS(OP_ROW)};

static z64 apply64(int op, z64 a, z64 b)
{
    switch (op) {
#define CASE_UNARY(op) \
    case OP_##op:      \
        return op##_c64(a);
#define CASE_BINARY(op) \
    case OP_##op:       \
        return op##_c64(a, b);
        UNARY_OPS(CASE_UNARY) BINARY_OPS(CASE_BINARY)
    }
    return a;
}

static z128 apply128(int op, z128 a, z128 b)
{
    switch (op) {
#undef CASE_UNARY
#undef CASE_BINARY
#define CASE_UNARY(op) \
    case OP_##op:      \
        return op##_c128(a);
#define CASE_BINARY(op) \
    case OP_##op:       \
        return op##_c128(a, b);
        UNARY_OPS(CASE_UNARY) BINARY_OPS(CASE_BINARY)
    }
    return a;
}

typedef struct {
    int op, bits; /* of the dtype; 0: both */
    double a[4];
    long double want[2];
    int open_sign; /* 1: the real part's sign is not specified; 2: the imaginary part's */
} golden_row;
static const golden_row golden[] = {
#define G(op, bits, a, b, c, d, re, im, open) {OP_##op, bits, {a, b, c, d}, {re, im}, open},
#include "tests/data/complex_golden.inc"
};

/* The unit in the last place of x in a format of so many significand bits. */
static long double ulp_of(long double x, int mant_dig, int min_exp)
{
    int e;
    frexpl(x, &e);
    return ldexpl(1, (x == 0 || e < min_exp ? min_exp : e) - mant_dig);
}

/* A part that is NaN, infinite or zero: the same, with its sign unless that is open. */
static int same_special(long double got, long double want, int open_sign)
{
    if (isnan(want))
        return isnan(got);
    return got == want ? open_sign || signbit(got) == signbit(want) : open_sign && got == -want;
}

/* The error in ulp of the modulus; INFINITY where a special part is not as it must be. */
static double error_of(const golden_row *row, const long double got[2], int bits)
{
    const int mant = bits == 64 ? FLT_MANT_DIG : DBL_MANT_DIG;
    const int min_exp = bits == 64 ? FLT_MIN_EXP : DBL_MIN_EXP;
    int special = 0;
    for (int i = 0; i < 2; i++)
        if (!isfinite(row->want[i]) || (row->want[i] == 0 && row->bits == 0)) {
            special++;
            if (!same_special(got[i], row->want[i], row->open_sign >> i & 1))
                return INFINITY;
        }
    if (special == 2)
        return 0;
    /* Beside an infinity or a NaN the other part is judged alone. */
    const long double d[2] = {isfinite(row->want[0]) ? got[0] - row->want[0] : 0,
                              isfinite(row->want[1]) ? got[1] - row->want[1] : 0};
    const long double w[2] = {isfinite(row->want[0]) ? row->want[0] : 0,
                              isfinite(row->want[1]) ? row->want[1] : 0};
    const double error = (double)(hypotl(d[0], d[1]) / ulp_of(hypotl(w[0], w[1]), mant, min_exp));
    return isnan(error) || (special && row->bits) ? 0 : error;
}

static void run(const golden_row *row, int bits, long double got[2])
{
    const double *a = row->a;
    if (bits == 64) {
        const z64 r = apply64(row->op, make_c64((float)a[0], (float)a[1]),
                              make_c64((float)a[2], (float)a[3]));
        got[0] = r.re;
        got[1] = r.im;
    } else {
        const z128 r = apply128(row->op, make_c128(a[0], a[1]), make_c128(a[2], a[3]));
        got[0] = r.re;
        got[1] = r.im;
    }
}

/* Every golden row of one function and dtype; where long double is double, the expected values
 * themselves are half an ulp off in each part. */
static void check_op(int op, int bits)
{
    const double slack = bits == 128 && LDBL_MANT_DIG < 64 ? 0.75 : 0;
    double worst = 0;
    int rows = 0, bad = 0;
    for (size_t i = 0; i < sizeof golden / sizeof *golden; i++) {
        const golden_row *row = &golden[i];
        long double got[2];
        if (row->op != op || (row->bits != 0 && row->bits != bits))
            continue;
        run(row, bits, got);
        const double error = error_of(row, got, bits);
        rows++;
        worst = error > worst ? error : worst;
        if (error <= ops[op].ulp + slack)
            continue;
        if (bad++ < 5)
            diag("%s c%d (%a, %a) (%a, %a): got (%La, %La), want (%La, %La), %.3g ulp",
                 ops[op].name, bits, row->a[0], row->a[1], row->a[2], row->a[3], got[0], got[1],
                 row->want[0], row->want[1], error);
    }
    ok(rows >= 40 && bad == 0, "%s c%d: %d rows, worst %.2f of %g ulp", ops[op].name, bits, rows,
       worst, ops[op].ulp);
}

static void golden_vectors(void)
{
    for (int op = 0; op < N_OPS; op++) {
        check_op(op, 64);
        check_op(op, 128);
    }
}

/* hypot is libm's; here only that no magnitude overflows, underflows or loses an infinity. */
static void magnitude(void)
{
    ok(abs_c64(make_c64(3, -4)) == 5 && abs_c128(make_c128(-3, 4)) == 5, "abs(3 - 4i) is 5");
    ok(abs_c128(make_c128(-INFINITY, NAN)) == INFINITY, "abs(-inf + nan i) is inf");
    ok(abs_c64(make_c64(NAN, INFINITY)) == INFINITY, "abs(nan + inf i) is inf");
    ok(abs_c128(make_c128(3e300, 4e300)) > 4.9e300, "abs of 5e300");
    ok(abs_c64(make_c64(3 * 0x1p-148f, 4 * 0x1p-148f)) == 5 * 0x1p-148f, "abs of a subnormal");
    ok(isnan(abs_c64(make_c64(NAN, 1))), "abs(nan + i) is nan");
}

static int is_pair(z128 got, double re, double im)
{
    return same_special(got.re, re, 0) && same_special(got.im, im, 0);
}

static void structure(void)
{
    const z128 a = make_c128(2.5, -0.0), b = make_c128(-3.5, NAN);
    ok(is_pair(positive_c128(a), 2.5, -0.0), "positive");
    ok(is_pair(negative_c128(a), -2.5, 0.0), "negative");
    ok(is_pair(conj_c128(a), 2.5, 0.0), "conj");
    ok(is_pair(round_c128(a), 2, -0.0) && is_pair(round_c128(b), -4, NAN), "round: half to even");
    ok(is_pair(add_c128(a, make_c128(1, 2)), 3.5, 2), "add");
    ok(is_pair(subtract_c128(a, make_c128(1, 2)), 1.5, -2), "subtract");
    ok(is_pair(where_c128(1, a, b), 2.5, -0.0) && is_pair(where_c128(0, a, b), -3.5, NAN), "where");
    ok(real_c128(b) == -3.5 && isnan(imag_c128(b)), "real, imag");
}

static void predicates(void)
{
    const z64 zero = make_c64(0, -0.0f), i = make_c64(0, 1), nan = make_c64(1, NAN),
              inf = make_c64(NAN, -INFINITY);
    ok(equal_c64(zero, make_c64(0, 0)) && !equal_c64(i, zero) && !equal_c64(nan, nan), "equal");
    ok(!not_equal_c64(i, i) && not_equal_c64(i, zero) && not_equal_c64(nan, nan), "not_equal");
    ok(logical_not_c64(zero) && !logical_not_c64(i) && !logical_not_c64(nan), "logical_not");
    ok(logical_and_c64(i, nan) && !logical_and_c64(i, zero), "logical_and");
    ok(logical_or_c64(zero, i) && !logical_or_c64(zero, zero), "logical_or");
    ok(logical_xor_c64(zero, i) && !logical_xor_c64(nan, i), "logical_xor");
    ok(isfinite_c64(i) && !isfinite_c64(nan) && !isfinite_c64(inf), "isfinite");
    ok(isinf_c64(inf) && !isinf_c64(nan) && !isinf_c64(i), "isinf");
    ok(isnan_c64(inf) && isnan_c64(nan) && !isnan_c64(i), "isnan");
}

TAP_MAIN({"golden_vectors", golden_vectors}, {"magnitude", magnitude}, {"structure", structure},
         {"predicates", predicates})
