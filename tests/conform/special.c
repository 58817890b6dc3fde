/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What special functions give, in long double by ways of their own: libm's functions, power and
 * asymptotic series, continued fractions, Newton's method, recurrences. No formula of a device is
 * used. */
#include "tests/conform/special.h"

static const real root_half = 0.70710678118654752440084436210484903928L;

real special_sine(real x)
{
    real r = x - 2 * rintl(x / 2), s = fabsl(r) > 0.5L ? copysignl(1, r) - r : r;
    return isfinite(x) ? sinl(PI * s) : NAN;
}
real special_cosine(real x)
{
    return special_sine(x - 2 * rintl(x / 2) + 0.5L);
}

/* ---- parts and activations ---- */

static real fraction_of(real a)
{
    real whole;
    return modfl(a, &whole);
}
static real exponent_of(real a)
{
    int e = 0;
    if (isfinite(a))
        (void)frexpl(a, &e);
    return e;
}
static real mantissa_of(real a)
{
    int e;
    return isfinite(a) ? frexpl(a, &e) : a;
}
static real softplus(real a)
{
    return a > 0 ? a + log1pl(expl(-a)) : log1pl(expl(a));
}
static real hardsigmoid(real a)
{
    return a <= -3 ? 0 : a >= 3 ? 1 : (a + 3) / 6;
}
static real hardswish(real a)
{
    return a <= -3 ? 0 : a >= 3 ? a : a * (a + 3) / 6;
}
static real selu(real a)
{
    const real scale = 1.0507009873554804934193349852946L,
               alpha = 1.6732632423543772848170429916717L;
    return scale * (a > 0 ? a : alpha * expm1l(a));
}
static real logit(real a)
{
    if (!(a >= 0 && a <= 1))
        return NAN;
    return a > 0.25L && a < 0.75L ? 2 * atanhl(2 * a - 1) : logl(a) - log1pl(-a);
}
static real entropy(real a)
{
    return a == 0 ? 0 : a < 0 ? -INFINITY : -a * logl(a);
}

/* ---- error functions ---- */

/* exp(x^2) erfc(x): from 2 on a continued fraction (DLMF 7.9.1), from its end. */
static real erfcx(real x)
{
    real square = x * x, rest = fmal(x, x, -square), f = 0;
    if (x < -107)
        return INFINITY;
    if (x < 2)
        return expl(square) * erfcl(x) * (isfinite(rest) ? 1 + rest : 1);
    for (int k = 200; k > 0; k--)
        f = k / 2.0L / (x + f);
    return 1 / (x + f) / sqrtl(PI);
}
/* The x of erf(x) = y for small y, and of erfc(x) = q for q <= 1/2: Newton's method, on logarithms
 * for the latter. */
static real inverse_of_erf(real y)
{
    real x = y * sqrtl(PI) / 2;
    for (int k = 0; k < 30; k++)
        x -= (erfl(x) - y) * sqrtl(PI) / 2 * expl(x * x);
    return y == 0 ? y : x;
}
static real inverse_of_erfc(real q)
{
    real x = sqrtl(-logl(q));
    for (int k = 0; k < 60 && q > 0; k++)
        x += (logl(erfcl(x)) - logl(q)) * erfcx(x) * sqrtl(PI) / 2;
    return x;
}
static real erfinv(real y)
{
    real a = fabsl(y);
    return a > 1 || isnan(y) ? NAN
           : a <= 0.5L       ? inverse_of_erf(y)
                             : copysignl(inverse_of_erfc(1 - a), y);
}
static real erfcinv(real q)
{
    return !(q >= 0 && q <= 2) ? NAN
           : q < 0.5L          ? inverse_of_erfc(q)
           : q > 1.5L          ? -inverse_of_erfc(2 - q)
                               : inverse_of_erf(1 - q);
}
/* The argument of erfc in two parts, whose second the tail magnifies. */
static real ndtr(real a)
{
    const real root_low = LDBL_MANT_DIG > 64 ? 0 : 1.895032559e-20L; /* what root_half lacks */
    real z = -a * root_half, low = fmal(-a, root_half, -z) - a * root_low;
    real r = erfcl(z) / 2;
    return z > 1 && r != 0 ? r * (1 - 2 * z * low) : r;
}
static real log_ndtr(real a)
{
    return a < 0 ? logl(erfcx(-a * root_half) / 2) - a * a / 2 : log1pl(-ndtr(-a));
}

/* ---- Bessel functions ---- */

/* exp(-x) I_n(x) for x >= 0: the power series (DLMF 10.25.2), or that of 1/x (10.40.1). */
static real bessel(int n, real x, bool scaled)
{
    real term = n ? x / 2 : 1, sum = 0;
    if (x < 50) {
        for (int k = 1; k < 400; k++) {
            sum += term;
            term *= x * x / 4 / ((real)k * (k + n));
        }
        return scaled ? expl(-x) * sum : sum;
    }
    if (isinf(x))
        return scaled ? 0 : x;
    term = 1;
    for (int k = 1; k < 60; k++) {
        sum += term;
        term *= -(4.0L * n * n - (2 * k - 1.0L) * (2 * k - 1)) / (8 * x * k);
    }
    return sum / sqrtl(2 * PI * x) * (scaled ? 1 : expl(x));
}

/* ---- by operation ---- */

static bool everyday(nd_op op, real a, real *r)
{
    switch (op) {
    case ND_OP_cbrt:
        *r = cbrtl(a);
        return true;
    case ND_OP_exp2:
        *r = exp2l(a);
        return true;
    case ND_OP_exp10:
        *r = powl(10, a);
        return true;
    case ND_OP_frexp_mantissa:
        *r = mantissa_of(a);
        return true;
    case ND_OP_frexp_exponent:
        *r = exponent_of(a);
        return true;
    case ND_OP_modf_fraction:
        *r = fraction_of(a);
        return true;
    case ND_OP_sinc:
        *r = a == 0 ? 1 : special_is_integer(a) ? 0 : special_sine(a) / (PI * a);
        return true;
    case ND_OP_deg2rad:
        *r = a * (PI / 180);
        return true;
    case ND_OP_rad2deg:
        *r = a * (180 / PI);
        return true;
    case ND_OP_softplus:
        *r = softplus(a);
        return true;
    case ND_OP_mish:
        *r = a * tanhl(softplus(a));
        return true;
    case ND_OP_hardswish:
        *r = hardswish(a);
        return true;
    case ND_OP_hardsigmoid:
        *r = hardsigmoid(a);
        return true;
    case ND_OP_selu:
        *r = selu(a);
        return true;
    case ND_OP_entr:
        *r = entropy(a);
        return true;
    case ND_OP_logit:
        *r = logit(a);
        return true;
    default:
        return false;
    }
}

bool oracle_special_unary(nd_op op, real a, real *r)
{
    switch (op) {
    case ND_OP_erfc:
        *r = erfcl(a);
        return true;
    case ND_OP_erfcx:
        *r = erfcx(a);
        return true;
    case ND_OP_erfinv:
        *r = erfinv(a);
        return true;
    case ND_OP_erfcinv:
        *r = erfcinv(a);
        return true;
    case ND_OP_ndtr:
        *r = ndtr(a);
        return true;
    case ND_OP_ndtri:
        *r = a > 0.5L ? erfcinv(2 * (1 - a)) / root_half : -erfcinv(2 * a) / root_half;
        *r = a == 0.5L ? 0 : *r;
        return true;
    case ND_OP_log_ndtr:
        *r = log_ndtr(a);
        return true;
    case ND_OP_gamma:
        *r = special_gamma_of(a);
        return true;
    case ND_OP_lgamma:
        *r = a == -INFINITY ? a : lgammal(a);
        return true;
    case ND_OP_digamma:
        *r = special_digamma(a);
        return true;
    case ND_OP_i0:
    case ND_OP_i0e:
        *r = bessel(0, fabsl(a), op == ND_OP_i0e);
        return true;
    case ND_OP_i1:
    case ND_OP_i1e:
        *r = copysignl(bessel(1, fabsl(a), op == ND_OP_i1e), a);
        return true;
    default:
        return everyday(op, a, r);
    }
}

static real scaled_by(real a, real b)
{
    return isnan(b)                 ? b
           : a == 0 || !isfinite(a) ? a
                                    : scalbnl(a, (int)fmaxl(-5000, fminl(5000, truncl(b))));
}
static real continuous_elu(real a, real b)
{
    return a > 0 ? a : b == 0 ? NAN : isinf(b) && isfinite(a) ? a : b * expm1l(a / b);
}

bool oracle_special_binary(nd_op op, real a, real b, real *r)
{
    real l;
    switch (op) {
    case ND_OP_fmod:
        *r = fmodl(a, b);
        return true;
    case ND_OP_ldexp:
        *r = scaled_by(a, b);
        return true;
    case ND_OP_heaviside:
        *r = a > 0 ? 1 : a < 0 ? 0 : a == 0 ? b : a;
        return true;
    case ND_OP_leaky_relu:
        *r = a > 0 ? a : a * b;
        return true;
    case ND_OP_celu:
        *r = continuous_elu(a, b);
        return true;
    case ND_OP_xlogy:
        *r = a == 0 && !isnan(b) ? 0 : a * logl(b);
        return true;
    case ND_OP_xlog1py:
        *r = a == 0 && !isnan(b) ? 0 : a * log1pl(b);
        return true;
    case ND_OP_polygamma:
        return special_polygamma(a, b, r, &l);
    case ND_OP_zeta:
        return special_zeta(a, b, r, &l);
    case ND_OP_beta:
        return special_beta_of(a, b, r, &l);
    case ND_OP_betaln: {
        bool known = special_beta_of(a, b, &l, r);
        return known;
    }
    default:
        return false;
    }
}

real oracle_scale(nd_op op, real a, real b)
{
    real r, sizes = 0;
    switch (op) {
    case ND_OP_lgamma:
        return a < 0 ? 1 : 0;
    case ND_OP_digamma:
        return a < 0 ? fmaxl(1, logl(1 - a)) : 0;
    case ND_OP_betaln:
        return 1;
    case ND_OP_polygamma:
        return b < 0 && special_polygamma(a, b, &r, &sizes) ? sizes : 0;
    case ND_OP_zeta:
        return b < 0 && special_zeta(a, b, &r, &sizes) ? sizes : 0;
    default:
        return 0;
    }
}
