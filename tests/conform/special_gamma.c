/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Gamma, beta and zeta functions in long double, for the oracle: gamma functions of libm,
 * recurrences, asymptotic and alternating series. */
#include "tests/conform/special.h"

/* ---- derivatives of gamma ---- */

bool special_is_integer(real x)
{
    return isfinite(x) && rintl(x) == x;
}
real special_gamma_of(real a)
{
    return a < 0 && special_is_integer(a) ? NAN : tgammal(a);
}
/* Around its root by Taylor's series, whose coefficients are mpmath's. */
static real digamma_near_root(real d)
{
    static const real c[] = {
        0.9676722454476211704274L,  -0.4427631689835921060929L,  0.2584997609556510106244L,
        -0.1639427054424065275043L, 0.1078240506912623657572L,   -0.07219956125645471092612L,
        0.04880428816414310722509L, -0.03316112647484735929226L, 0.02259764823221810465962L,
        -0.0154247659049489591388L, 0.01053879161661217538812L,  -0.00720453438635686824097L};
    real r = 0;
    for (int k = 11; k >= 0; k--)
        r = c[k] + r * d;
    return r * d;
}
static real digamma_positive(real x)
{
    const real root = 1.46163214496836234126265954232572132847L;
    const real low = LDBL_MANT_DIG > 64 ? 0 : -1.825709632e-20L; /* of the root */
    real r = 0, v, series;
    if (fabsl(x - root) < 0.02L)
        return digamma_near_root((x - root) - low);
    for (; x < 30; x++)
        r -= 1 / x;
    v = 1 / (x * x);
    series =
        1 / 12.0L - v * (1 / 120.0L -
                         v * (1 / 252.0L -
                              v * (1 / 240.0L - v * (1 / 132.0L - v * (691 / 32760.0L - v / 12)))));
    return r + logl(x) - 0.5L / x - v * series;
}
real special_digamma(real x)
{
    if (x == 0)
        return copysignl(INFINITY, -x);
    if (x > 0)
        return digamma_positive(x);
    return special_is_integer(x) || isinf(x)
               ? NAN
               : digamma_positive(1 - x) - PI * special_cosine(x) / special_sine(x);
}

/* The sum of n!/(x + k)^(n + 1): terms until 60 is passed, and the Euler-Maclaurin formula. sizes:
 * the sum of their magnitudes. */
static real power_sum(real factor, real s, real x, real *sizes)
{
    static const real b[] = {1 / 12.0L,          -1 / 720.0L,
                             1 / 30240.0L,       -1 / 1209600.0L,
                             1 / 47900160.0L,    -691 / 1307674368000.0L,
                             1 / 74724249600.0L, -3617 / 10670622842880000.0L};
    real sum = 0, rest, rising;
    *sizes = 0;
    for (; x < 60 + 2 * s; x++) {
        real term = factor * powl(x, -s);
        sum += term;
        *sizes += fabsl(term);
    }
    rest = factor * powl(x, -s) * (x / (s - 1) + 0.5L);
    rising = factor * powl(x, -s) * s / x;
    for (int j = 0; j < 8; j++) {
        rest += b[j] * rising;
        rising *= (s + 2 * j + 1) * (s + 2 * j + 2) / (x * x);
    }
    *sizes += fabsl(rest);
    return sum + rest;
}
bool special_polygamma(real n, real x, real *r, real *sizes)
{
    *sizes = 0;
    if (isnan(n) || isnan(x) || n < 0 || !special_is_integer(n))
        *r = NAN;
    else if (n == 0)
        *r = special_digamma(x), *sizes = x < 0 ? logl(1 - x) : 0;
    else if (x == INFINITY)
        *r = fmodl(n, 2) == 0 ? -0.0L : 0;
    else if (x <= 0 && (special_is_integer(x) || isinf(x)))
        *r = fmodl(n, 2) == 0 ? -INFINITY : INFINITY;
    else if (n > 1000 || x < -300)
        return false; /* n! or the number of terms is too large for this way */
    else
        *r = power_sum(tgammal(n + 1), n + 1, x, sizes) * (fmodl(n, 2) == 0 ? -1 : 1);
    return true;
}

/* ---- zeta ---- */

/* Borwein's alternating series (algorithm 2 of CMS Conf. Proc. 27, 2000), s >= 1/2, s1 = s - 1. */
static real riemann(real s, real s1)
{
    enum { N = 40 };
    real d[N + 1], term = 1.0L / N, sum = 0, all = 0;
    for (int i = 0; i <= N; i++) { /* N (N+i-1)! 4^i / ((N-i)! (2i)!) */
        all += N * term;
        d[i] = all;
        term *= (real)(N + i) * (N - i) * 4 / ((2 * i + 1) * (real)(2 * i + 2));
    }
    for (int k = 0; k < N; k++)
        sum += (k % 2 ? 1 : -1) * (d[k] - all) * powl(k + 1, -s);
    return sum / all / -expm1l(-s1 * 0.69314718055994530941723212145817657L);
}
bool special_zeta(real s, real q, real *r, real *sizes)
{
    *sizes = 0;
    *r = NAN;
    if (isnan(s) || isnan(q))
        return true;
    if (s == 1)
        *r = INFINITY;
    else if (s < 1 && q != 1)
        return true;
    else if (s < 1 && s < -170)
        return false; /* beyond the range of f64, or at a zero */
    else if (s < 0.5L)
        *r = s == 0 ? -0.5L
                    : 2 * powl(2 * PI, s - 1) * special_sine(s / 2) * tgammal(1 - s) *
                              riemann(1 - s, -s) +
                          0.0L;
    else if (s < 1)
        *r = riemann(s, s - 1);
    else if (q <= 0 && (special_is_integer(q) || isinf(q)))
        *r = INFINITY;
    else if (q == INFINITY)
        *r = 0;
    else if (isinf(s))
        *r = q > 1 ? 0 : q == 1 ? 1 : INFINITY;
    else if (q < 0 && !special_is_integer(s))
        return true;
    else if (q < -300 || s > 3000 || q > 1e300L)
        return false; /* as for polygamma */
    else
        *r = power_sum(1, s, q, sizes);
    return true;
}

/* ---- beta ---- */

/* The rest of Stirling's formula for large x. */
static real stirling_rest(real x)
{
    return 1 / (12 * x) - 1 / (360 * x * x * x) + 1 / (1260 * powl(x, 5));
}
/* log of gamma(a)/gamma(a + b), a > 1000. */
static real log_ratio(real a, real b)
{
    return b - b * logl(a) - (a + b - 0.5L) * log1pl(b / a) + stirling_rest(a) -
           stirling_rest(a + b);
}
/* B(a, b) and the logarithm of its size; false where long double does not do. */
bool special_beta_of(real a, real b, real *r, real *l)
{
    real x = fminl(a, b), y = fmaxl(a, b), sum = a + b;
    *r = *l = NAN;
    if (isnan(a) || isnan(b) || x == -INFINITY || (y == INFINITY && x <= 0))
        return true;
    if (y == INFINITY) {
        *r = 0;
        *l = -INFINITY;
        return true;
    }
    if ((x <= 0 && special_is_integer(x)) || (y <= 0 && special_is_integer(y))) {
        bool finite =
            special_is_integer(x) && special_is_integer(y) && y > 0 && x < 0 && 1 - sum > 0;
        if (finite && (x < -400 || !special_beta_of(1 - sum, y, r, l)))
            return false;
        *r = finite ? *r * (fmodl(y, 2) == 0 ? 1 : -1) : INFINITY;
        *l = finite ? *l : INFINITY;
        return true;
    }
    if (x > 1000 || (y > 1000 && x > 0)) {
        *l = (x > 1000 ? log_ratio(y, x) + lgammal(x) : log_ratio(y, x) + logl(tgammal(x)));
        *r = expl(*l);
        return x < 1000 || *r < 1e-400L; /* the logarithm loses bits; the result is then zero */
    }
    if (x < -400 || y > 1000 || (sum - a) - b != 0 || (x < 0 && fabsl(sum) < 1e-3L))
        return false;
    *r = sum == 0 || (sum < 0 && special_is_integer(sum)) ? 0
                                                          : tgammal(a) / tgammal(sum) * tgammal(b);
    *l = logl(fabsl(*r));
    return true;
}
