/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Special functions through the library, on the current device: golden vectors by mpmath within the
 * bounds of op.def, special values, and the functions of two results. */
#include <math.h>
#include <ndock/ndock.h>
#include "tests/tap.h"

typedef struct {
    nd_op op;
    int bits;
    double a, b;
    long double want, scale;
} golden;
static const golden rows[] = {
#define G(op, bits, a, b, want, scale) {ND_OP_##op, bits, a, b, want, scale},
#include "tests/data/special_golden.inc"
};
enum { N_ROWS = sizeof rows / sizeof *rows, MOST = 256 };

/* ---- arrays ---- */

static nd_array *vector(nd_dtype dtype, int64_t n, const double *values)
{
    float narrow[MOST];
    nd_array *a = NULL;
    nd_layout layout = {.size = sizeof layout, .dtype = dtype, .ndim = 1, .shape = &n};
    for (int64_t i = 0; i < n; i++)
        narrow[i] = (float)values[i];
    ok(nd_from_host(&layout, dtype == ND_F32 ? (const void *)narrow : values, NULL, &a) == ND_OK,
       "an array of %d", (int)n);
    return a;
}

static void fetch(const nd_array *a, double *values)
{
    nd_array *wide = NULL;
    if (nd_astype(a, ND_F64, &wide) != ND_OK ||
        nd_to_host(wide, values, (size_t)nd_size(a) * sizeof *values) != ND_OK)
        ok(0, "fetched: %s", nd_last_error()->message);
    nd_release(wide);
}

/* ---- golden vectors ---- */

static long double ulp(int bits, long double x)
{
    const int least = bits == 64 ? -1022 : -126, digits = bits == 64 ? 53 : 24;
    int e = x == 0 ? least : ilogbl(x);
    return ldexpl(1, (e < least ? least : e) - digits + 1);
}

/* In units in the last place; beyond the range of the format the nearest is infinite. */
static double error_of(const golden *g, double got)
{
    long double most = g->bits == 64 ? 0x1.fffffffffffffp1023L : 0x1.fffffep127L;
    long double size = fabsl(g->want) > g->scale ? fabsl(g->want) : g->scale;
    if (isinf(got))
        got = fabsl(g->want) > most * 0.999999L ? (double)g->want : got;
    return isinf(got) && isinf((double)g->want)
               ? 0
               : (double)(fabsl(got - g->want) / ulp(g->bits, size));
}

static void check_op(const golden *first, int n)
{
    const nd_op_info *info = nd_op_get(first->op);
    const nd_dtype dtype = first->bits == 64 ? ND_F64 : ND_F32;
    const double bound = info->ulp[first->bits == 64 ? 2 : 1] + 0.004;
    double a[MOST], b[MOST], got[MOST], worst = 0;
    int at = 0;
    for (int i = 0; i < n; i++) {
        a[i] = first[i].a;
        b[i] = first[i].b;
    }
    nd_array *r = NULL, *x = vector(dtype, n, a), *y = vector(dtype, n, b);
    const nd_arg args[2] = {nd_array_arg(x), nd_array_arg(y)};
    if (ok(nd_apply(info->op, args, info->op_class == ND_CLASS_UNARY ? 1 : 2, NULL, &r) == ND_OK,
           "%s runs", info->name)) {
        fetch(r, got);
        for (int i = 0; i < n; i++) {
            double e = error_of(&first[i], got[i]);
            at = e > worst || isnan(e) ? i : at;
            worst = e > worst || isnan(e) ? e : worst;
        }
        if (!ok(worst <= bound, "%s of f%d: %.2f ulp of %d vectors", info->name, first->bits, worst,
                n))
            diag("%s(%a, %a) is %a, not %La", info->name, a[at], b[at], got[at], first[at].want);
    }
    nd_release(r);
    nd_release(x);
    nd_release(y);
}

static void golden_vectors(void)
{
    for (int i = 0, n; i < N_ROWS; i += n) {
        for (n = 1;
             i + n < N_ROWS && rows[i + n].op == rows[i].op && rows[i + n].bits == rows[i].bits;)
            n++;
        check_op(&rows[i], n);
    }
}

/* ---- special values: SciPy's, or the limit where SciPy 1.17 has none ---- */

static const struct {
    nd_op op;
    double a, b, want;
} special[] = {
    {ND_OP_cbrt, -8, 0, -2},
    {ND_OP_cbrt, -0.0, 0, -0.0},
    {ND_OP_cbrt, -INFINITY, 0, -INFINITY},
    {ND_OP_exp2, -INFINITY, 0, 0},
    {ND_OP_exp2, 10, 0, 1024},
    {ND_OP_exp2, NAN, 0, NAN},
    {ND_OP_exp10, 3, 0, 1000},
    {ND_OP_exp10, 400, 0, INFINITY},
    {ND_OP_exp10, -400, 0, 0},
    {ND_OP_sinc, 0, 0, 1},
    {ND_OP_sinc, -3, 0, 0},
    {ND_OP_sinc, INFINITY, 0, NAN},
    {ND_OP_frexp_mantissa, -12, 0, -0.75},
    {ND_OP_frexp_exponent, -12, 0, 4},
    {ND_OP_frexp_exponent, INFINITY, 0, 0},
    {ND_OP_modf_fraction, -INFINITY, 0, -0.0},
    {ND_OP_modf_fraction, -2.5, 0, -0.5},
    {ND_OP_heaviside, 0, 0.5, 0.5},
    {ND_OP_heaviside, NAN, 1, NAN},
    {ND_OP_ldexp, 3, -2, 0.75},
    {ND_OP_ldexp, 1, 5000, INFINITY},
    {ND_OP_ldexp, 0, INFINITY, 0},
    {ND_OP_erfc, -INFINITY, 0, 2},
    {ND_OP_erfc, INFINITY, 0, 0},
    {ND_OP_erfcx, -INFINITY, 0, INFINITY},
    {ND_OP_erfcx, INFINITY, 0, 0},
    {ND_OP_erfinv, 1, 0, INFINITY},
    {ND_OP_erfinv, -1, 0, -INFINITY},
    {ND_OP_erfinv, 1.5, 0, NAN},
    {ND_OP_erfcinv, 0, 0, INFINITY},
    {ND_OP_erfcinv, 2, 0, -INFINITY},
    {ND_OP_erfcinv, -1, 0, NAN},
    {ND_OP_ndtr, -INFINITY, 0, 0},
    {ND_OP_ndtr, INFINITY, 0, 1},
    {ND_OP_ndtri, 0, 0, -INFINITY},
    {ND_OP_ndtri, 1, 0, INFINITY},
    {ND_OP_ndtri, 0.5, 0, 0},
    {ND_OP_ndtri, 2, 0, NAN},
    {ND_OP_log_ndtr, -INFINITY, 0, -INFINITY},
    {ND_OP_log_ndtr, INFINITY, 0, -0.0},
    {ND_OP_gamma, 0, 0, INFINITY},
    {ND_OP_gamma, -0.0, 0, -INFINITY},
    {ND_OP_gamma, -2, 0, NAN},
    {ND_OP_gamma, -INFINITY, 0, NAN},
    {ND_OP_gamma, INFINITY, 0, INFINITY},
    {ND_OP_gamma, 5, 0, 24},
    {ND_OP_lgamma, 0, 0, INFINITY},
    {ND_OP_lgamma, -3, 0, INFINITY},
    {ND_OP_lgamma, 1, 0, 0},
    {ND_OP_lgamma, 2, 0, 0},
    {ND_OP_lgamma, INFINITY, 0, INFINITY},
    {ND_OP_lgamma, -INFINITY, 0, -INFINITY},
    {ND_OP_digamma, 0, 0, -INFINITY},
    {ND_OP_digamma, -0.0, 0, INFINITY},
    {ND_OP_digamma, -1, 0, NAN},
    {ND_OP_digamma, INFINITY, 0, INFINITY},
    {ND_OP_digamma, -INFINITY, 0, NAN},
    {ND_OP_polygamma, 1, 0, INFINITY},
    {ND_OP_polygamma, 2, -1, -INFINITY},
    {ND_OP_polygamma, -1, 2, NAN},
    {ND_OP_polygamma, 1.5, 2, NAN},
    {ND_OP_polygamma, 1, INFINITY, 0},
    {ND_OP_polygamma, 0, -0.0, INFINITY},
    {ND_OP_zeta, 1, 3, INFINITY},
    {ND_OP_zeta, 0.5, 2, NAN},
    {ND_OP_zeta, 2, -3, INFINITY},
    {ND_OP_zeta, 2.5, -0.5, NAN},
    {ND_OP_zeta, 0, 1, -0.5},
    {ND_OP_zeta, -2, 1, 0},
    {ND_OP_beta, 0, 1, INFINITY},
    {ND_OP_beta, -1, 1, -1},
    {ND_OP_beta, -2, 1, -0.5},
    {ND_OP_beta, -0.5, 0.5, 0},
    {ND_OP_beta, 1, INFINITY, 0},
    {ND_OP_betaln, 0, 1, INFINITY},
    {ND_OP_i0, 0, 0, 1},
    {ND_OP_i0, -INFINITY, 0, INFINITY},
    {ND_OP_i0e, INFINITY, 0, 0},
    {ND_OP_i1, -0.0, 0, -0.0},
    {ND_OP_i1, -INFINITY, 0, -INFINITY},
    {ND_OP_i1e, -INFINITY, 0, -0.0},
    {ND_OP_xlogy, 0, 0, 0},
    {ND_OP_xlogy, 0, NAN, NAN},
    {ND_OP_xlog1py, 0, -1, 0},
    {ND_OP_entr, 0, 0, 0},
    {ND_OP_entr, -1, 0, -INFINITY},
    {ND_OP_logit, 0, 0, -INFINITY},
    {ND_OP_logit, 1, 0, INFINITY},
    {ND_OP_logit, 0.5, 0, 0},
    {ND_OP_logit, 1.5, 0, NAN},
    {ND_OP_softplus, INFINITY, 0, INFINITY},
    {ND_OP_softplus, -INFINITY, 0, 0},
    {ND_OP_hardswish, -INFINITY, 0, 0},
    {ND_OP_hardsigmoid, INFINITY, 0, 1},
    {ND_OP_selu, -0.0, 0, -0.0},
    {ND_OP_celu, -1, 0, NAN},
    {ND_OP_leaky_relu, -2, 0.5, -1},
};

static int same(double got, double want)
{
    return isnan(want) ? isnan(got) : got == want && !signbit(got) == !signbit(want);
}

static void special_values(void)
{
    for (int dtype = ND_F16; dtype <= ND_F64; dtype++)
        for (size_t i = 0; i < sizeof special / sizeof *special; i++) {
            const nd_op_info *info = nd_op_get(special[i].op);
            const nd_apply_opts opts = {.size = sizeof opts, .dtype = (nd_dtype)dtype};
            nd_array *r = NULL, *a = NULL, *b = NULL;
            double got = 0;
            int made =
                nd_full(NULL, (nd_dtype)dtype, 0, NULL, nd_float(special[i].a), &a) == ND_OK &&
                nd_full(NULL, (nd_dtype)dtype, 0, NULL, nd_float(special[i].b), &b) == ND_OK;
            const nd_arg args[2] = {nd_array_arg(a), nd_array_arg(b)};
            made = made && nd_apply(info->op, args, info->op_class == ND_CLASS_UNARY ? 1 : 2, &opts,
                                    &r) == ND_OK;
            if (made)
                fetch(r, &got);
            if (!made || !same(got, special[i].want))
                ok(0, "%s(%g, %g) of %s is %g, not %g", info->name, special[i].a, special[i].b,
                   nd_dtype_name((nd_dtype)dtype), got, special[i].want);
            nd_release(r);
            nd_release(a);
            nd_release(b);
        }
    ok(1, "special values");
}

/* ---- two results, and f64 ---- */

static void two_results(void)
{
    const double v[6] = {0.75, -12, 0, 1e300, -5e-324, INFINITY};
    const double m[6] = {0.75, -0.75, 0, 0x1.7e43c8800759cp-1, -0.5, INFINITY};
    const double e[6] = {0, 4, 0, 997, -1073, 0};
    nd_array *a = vector(ND_F64, 6, v), *first = NULL, *second = NULL;
    double got[6];
    ok(nd_frexp(a, &first, &second) == ND_OK && nd_dtype_of(second) == ND_I32, "frexp");
    fetch(first, got);
    for (int i = 0; i < 6; i++)
        ok(same(got[i], m[i]), "mantissa of %g is %g", v[i], got[i]);
    fetch(second, got);
    for (int i = 0; i < 6; i++)
        ok(got[i] == e[i], "exponent of %g is %g", v[i], got[i]);
    nd_release(first);
    nd_release(second);
    ok(nd_modf(a, &first, &second) == ND_OK, "modf");
    fetch(first, got);
    ok(same(got[0], 0.75) && same(got[1], -0.0) && same(got[4], -5e-324) && same(got[5], 0),
       "fractions");
    fetch(second, got);
    ok(same(got[0], 0) && same(got[1], -12) && same(got[4], -0.0) && same(got[5], INFINITY),
       "wholes");
    nd_release(first);
    nd_release(second);
    ok(nd_frexp(NULL, &first, &second) == ND_ERR_ARGUMENT && !first && !second, "frexp of NULL");
    ok(strncmp(nd_last_error()->message, "frexp", 5) == 0, "said by frexp: %s",
       nd_last_error()->message);
    ok(nd_modf(a, NULL, &second) == ND_ERR_ARGUMENT, "modf without a place for a result");
    nd_release(a);
}

static void integers_in(void)
{
    const int64_t n = 3, values[3] = {-7, 0, 9};
    nd_layout layout = {.size = sizeof layout, .dtype = ND_I64, .ndim = 1, .shape = &n};
    nd_array *a = NULL, *first = NULL, *second = NULL;
    double got[3];
    ok(nd_from_host(&layout, values, NULL, &a) == ND_OK, "integers");
    ok(nd_modf(a, &first, &second) == ND_OK && nd_dtype_of(first) == ND_F64 &&
           nd_dtype_of(second) == ND_F64,
       "modf of integers is in f64");
    fetch(second, got);
    ok(got[0] == -7 && got[2] == 9, "their wholes");
    nd_release(first);
    nd_release(second);
    first = second = NULL;
    ok(nd_float_power(a, a, &first) == ND_OK && nd_dtype_of(first) == ND_F64, "float_power is f64");
    fetch(first, got);
    ok(got[0] == -1 / 823543. && got[1] == 1 && got[2] == 387420489., "its values");
    ok(nd_float_power_into(first, a, first) == ND_OK, "and in place");
    fetch(first, got);
    ok(got[0] == pow(-1 / 823543., -7) && got[1] == 1 && got[2] == pow(387420489., 9),
       "its values");
    ok(nd_float_power_into(a, a, a) == ND_ERR_DTYPE, "not into integers: %s",
       nd_last_error()->message);
    ok(nd_float_power(a, NULL, &second) == ND_ERR_ARGUMENT && !second, "of NULL");
    ok(nd_gamma(a, &second) == ND_OK && nd_dtype_of(second) == ND_F64,
       "gamma of integers is in f64");
    nd_release(second);
    ok(nd_gcd(a, a, &second) == ND_OK && nd_dtype_of(second) == ND_I64, "gcd stays in i64");
    fetch(second, got);
    ok(got[0] == 7 && got[1] == 0 && got[2] == 9, "its values");
    nd_release(second);
    ok(nd_lcm(first, first, &second) == ND_ERR_DTYPE && !second, "lcm of f64: %s",
       nd_last_error()->message);
    nd_release(first);
    nd_release(a);
}

TAP_MAIN({"golden_vectors", golden_vectors}, {"special_values", special_values},
         {"two_results", two_results}, {"integers_in", integers_in})
