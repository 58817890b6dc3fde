/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The algorithms of random numbers that are tried until accepted, which plugin.h and the headers it
 * names describe, worked out anew in long double with the C library's functions. Where a decision
 * hangs on a rounding the two may part, about once in 10^15 numbers. */
#include "tests/conform/samplers.h"

/* ---- the words of an element ---- */

static block words(const place *at, uint32_t t)
{
    return philox(at->counter + ((unsigned __int128)t << 96), at->key);
}

static uint64_t wide(const block *b, int i)
{
    return b->w[2 * i] | (uint64_t)b->w[2 * i + 1] << 32;
}

/* In (0, 1), of 52 bits. */
static long double inner(const block *b, int i)
{
    return ldexpl((long double)(wide(b, i) >> 12) + 0.5L, -52);
}
/* In [0, 1), of 53 bits. */
static long double unit(const block *b)
{
    return ldexpl((long double)(wide(b, 0) >> 11), -53);
}

static long double normal(const block *b)
{
    return sqrtl(-2 * logl(inner(b, 0))) * turn(ldexpl((long double)b->w[2] + 0.5L, -32), false);
}

/* ---- continuous ---- */

/* log of a gamma variate of shape a whose first block is t. */
long double sampler_log_gamma(const place *at, long double a, uint32_t t)
{
    long double d = (a < 1 ? a + 1 : a) - 1 / 3.0L, c = 1 / sqrtl(9 * d), boost = 0;
    if (a < 1) {
        block b = words(at, t + 0x8000);
        boost = logl(inner(&b, 0)) / a;
    }
    for (uint32_t k = 0;; k++) {
        block b = words(at, t + k);
        long double z = normal(&b), v = 1 + c * z, u = ldexpl((long double)b.w[3] + 0.5L, -32);
        if (v > 0 && logl(u) < z * z / 2 + d * (1 - v * v * v + 3 * logl(v)))
            return logl(d) + 3 * logl(v) + boost;
    }
}

long double sampler_beta(const place *at, const double *p)
{
    return 1 / (1 + expl(sampler_log_gamma(at, p[1], 0x10000) - sampler_log_gamma(at, p[0], 0)));
}

/* One try in (a, b), b > 0: false where it is refused. */
static bool try_truncated(const block *block_of, long double a, long double b, long double *x)
{
    if (a < 0.5L && b - a >= 2) {
        *x = normal(block_of);
        return *x >= a && *x <= b;
    }
    long double u = inner(block_of, 0), v = 2 * logl(inner(block_of, 1));
    if (a >= 0.5L) {
        long double y = -log1pl(u * expm1l(-a * (b - a))) / a;
        *x = a + y;
        return v <= -y * y;
    }
    *x = a + u * (b - a);
    return v <= (a > 0 ? a * a : 0) - *x * *x;
}

long double sampler_truncated(const place *at, const double *p)
{
    /* The interval is what f64 makes of it. */
    double scale = p[3], from = (p[0] - p[2]) / scale, to = (p[1] - p[2]) / scale;
    bool turned = to < 0;
    long double a = turned ? -to : from, b = turned ? -from : to, x = 0;
    for (uint32_t k = 0;; k++) {
        block own = words(at, k);
        if (try_truncated(&own, a, b, &x))
            break;
    }
    x = p[2] + (turned ? -scale : scale) * x;
    return x < p[0] ? p[0] : x > p[1] ? p[1] : x;
}

/* ---- counts ---- */

static long double log_factorial(long double k)
{
    return lgammal(k + 1);
}

static long double poisson_log(long double k, long double mean)
{
    return mean == 0 ? (k == 0 ? 0 : -INFINITY) : k * logl(mean) - mean - log_factorial(k);
}

static long double choose_log(long double n, long double k)
{
    return log_factorial(n) - log_factorial(k) - log_factorial(n - k);
}

static long double binomial_log(long double k, long double n, long double p)
{
    if (p == 0)
        return k == 0 ? 0 : -INFINITY;
    return choose_log(n, k) + k * logl(p) + (n - k) * log1pl(-p);
}

/* Of two parameters the first may be unused. */
typedef long double log_fn(long double k, long double a, long double b);
static long double poisson_of(long double k, long double mean, long double unused)
{
    (void)unused;
    return poisson_log(k, mean);
}

/* The least k whose sum of probabilities exceeds u. */
static long double invert(long double u, log_fn *log_of, long double a, long double b,
                          long double most)
{
    long double k = 0, sum = expl(log_of(0, a, b));
    while (u >= sum && k < most) {
        k++;
        sum += expl(log_of(k, a, b));
    }
    return k;
}

long double sampler_poisson(const place *at, const double *p)
{
    long double mean = p[0], b = 0.931L + 2.53L * sqrtl(mean), a = -0.059L + 0.02483L * b;
    block own = words(at, 0);
    if (mean < 10)
        return invert(unit(&own), poisson_of, mean, 0, 200);
    for (uint32_t t = 1;; own = words(at, t++)) {
        long double u = inner(&own, 0) - 0.5L, v = inner(&own, 1), us = 0.5L - fabsl(u);
        long double k = floorl((2 * a / us + b) * u + mean + 0.43L);
        if (us >= 0.07L && v <= 0.9277L - 3.6224L / (b - 2))
            return k;
        if (k < 0 || (us < 0.013L && v > us))
            continue;
        if (logl(v * (1.1239L + 1.1328L / (b - 3.4L)) / (a / (us * us) + b)) <=
            poisson_log(k, mean))
            return k;
    }
}

static long double rarer(const place *at, long double n, long double p)
{
    long double spread = sqrtl(n * p * (1 - p)), b = 1.15L + 2.53L * spread;
    long double a = -0.0873L + 0.0248L * b + 0.01L * p, mode = floorl((n + 1) * p);
    block own = words(at, 0);
    if (n * p < 10)
        return invert(unit(&own), binomial_log, n, p, n);
    for (uint32_t t = 1;; own = words(at, t++)) {
        long double u = inner(&own, 0) - 0.5L, v = inner(&own, 1), us = 0.5L - fabsl(u);
        long double k = floorl((2 * a / us + b) * u + n * p + 0.5L);
        if (k < 0 || k > n)
            continue;
        if (us >= 0.07L && v <= 0.92L - 4.2L / b)
            return k;
        if (logl(v * (2.83L + 5.1L / b) * spread / (a / (us * us) + b)) <=
            binomial_log(k, n, p) - binomial_log(mode, n, p))
            return k;
    }
}

long double sampler_binomial(const place *at, const double *p)
{
    return p[1] > 0.5 ? p[0] - rarer(at, p[0], 1 - p[1]) : rarer(at, p[0], p[1]);
}

long double sampler_geometric(const place *at, const double *p)
{
    block own = words(at, 0);
    long double k = ceill(logl(inner(&own, 0)) / log1pl(-(long double)p[0]));
    return k < 1 ? 1 : k;
}

/* log of the ways to have k of the few among those drawn. */
static long double urn_log(long double k, long double few, long double many, long double drawn)
{
    return choose_log(few, k) + choose_log(many, drawn - k);
}

static long double few_drawn(const place *at, long double few, long double many, long double drawn)
{
    long double whole = few + many, share = few / whole, sum = 0, k;
    block own = words(at, 0);
    if (drawn <= 10) {
        for (k = 0; k < drawn && k < few; k++) {
            sum += expl(urn_log(k, few, many, drawn) - choose_log(whole, drawn));
            if (unit(&own) < sum)
                break;
        }
        return k;
    }
    long double width = sqrtl((whole - drawn) * drawn * share * (1 - share) / (whole - 1) + 0.5L);
    long double center = drawn * share + 0.5L, mode = floorl((drawn + 1) * (few + 1) / (whole + 2));
    long double spread = 2 * sqrtl(2 / expl(1)) * width + 3 - 2 * sqrtl(3 / expl(1));
    long double limit = fminl(floorl(center + 16 * width), fminl(drawn, few) + 1);
    for (uint32_t t = 1;; own = words(at, t++)) {
        long double x = inner(&own, 0), w = center + spread * (inner(&own, 1) - 0.5L) / x;
        if (w < 0 || w >= limit)
            continue;
        k = floorl(w);
        if (2 * logl(x) <= urn_log(k, few, many, drawn) - urn_log(mode, few, many, drawn))
            return k;
    }
}

long double sampler_hypergeometric(const place *at, const double *p)
{
    double good = p[0], bad = p[1], sample = p[2], whole = good + bad;
    double drawn = sample * 2 > whole ? whole - sample : sample;
    long double k = whole == 0 ? 0 : few_drawn(at, fmin(good, bad), fmax(good, bad), drawn);
    k = good > bad ? drawn - k : k;
    return drawn < sample ? good - k : k;
}

long double sampler_gamma(const place *at, const double *p)
{
    return p[0] == 0 ? 0 : p[1] * expl(sampler_log_gamma(at, p[0], 0));
}
