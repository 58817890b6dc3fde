/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Samplers of counts: as random_real_tmpl.h. Counts are integers in f64, exact up to 2^53; a parameter
 * outside of its domain gives NaN. */
#ifndef NDOCK_RANDOM_COUNT_TMPL_H
#define NDOCK_RANDOM_COUNT_TMPL_H
#include <ndock/random_tmpl.h>

/* ---- probabilities ---- */

/* log(n!) - log(sqrt(2 pi n) (n/e)^n): the rest of Stirling's formula, DLMF 5.11.1; below 10 it is
 * log(n!) less the rest, to 17 digits. n >= 1. */
ND_FN double ndr_stirling_rest(double n)
{
    if (n < 10) {
        const double small[10] = {0,
                                  0.081061466795327258,
                                  0.041340695955409294,
                                  0.027677925684998339,
                                  0.020790672103765093,
                                  0.016644691189821192,
                                  0.013876128823070747,
                                  0.011896709945891770,
                                  0.010411265261972096,
                                  0.0092554621827127330};
        return small[(int32_t)n];
    }
    const double r = 1 / n, t = r * r;
    return r *
           (1.0 / 12 - t * (1.0 / 360 - t * (1.0 / 1260 - t * (1.0 / 1680 - t * (1.0 / 1188)))));
}

/* x log(x/m) + m - x without cancellation, x and m > 0. Source: Loader, Fast and accurate
 * computation of binomial probabilities, 2000. */
ND_FN double ndr_deviance(double x, double m)
{
    const double difference = x - m, v = difference / (x + m);
    double sum = difference * v, term = 2 * x * v, odd = 3;
    if (!(v < 0.1 && v > -0.1))
        return x * ndr_log(x / m) + m - x;
    for (; odd < 40; odd += 2) {
        term *= v * v;
        const double next = sum + term / odd;
        if (next == sum)
            break;
        sum = next;
    }
    return sum;
}

#define NDR_TWO_PI 6.283185307179586476925
#define NDR_MOST_COUNT 9007199254740992.0 /* 2^53 */
#define NDR_NEVER 0x1p-60                 /* a probability that a draw of 53 bits does not notice */

/* log of the probability of k >= 0. Source: Loader. */
ND_FN double ndr_poisson_log(double k, double mean)
{
    if (k == 0)
        return -mean;
    return -ndr_stirling_rest(k) - ndr_deviance(k, mean) - 0.5 * ndr_log(NDR_TWO_PI * k);
}

/* The same of n trials, 0 <= k <= n. */
ND_FN double ndr_binomial_log(double k, double n, double p)
{
    if (k == 0)
        return n * ndr_log1p(-p);
    if (k == n)
        return n * ndr_log(p);
    return ndr_stirling_rest(n) - ndr_stirling_rest(k) - ndr_stirling_rest(n - k) -
           ndr_deviance(k, n * p) - ndr_deviance(n - k, n * (1 - p)) -
           0.5 * ndr_log(NDR_TWO_PI * k * ((n - k) / n));
}

/* ---- inversion: the least k whose sum of probabilities 0 ... k exceeds u ----
 * u is ndr_unit of the words 0 and 1. Probabilities come one from another; after the mean the first
 * below NDR_NEVER is not reached. */

/* probability(k + 1)/probability(k) is (n - k) odds / (k + 1), of Poisson's (n 0) odds / (k + 1). */
typedef struct {
    double n, odds, mean, first; /* first: probability(0) */
} ndr_inversion;

ND_FN double ndr_inversion_next(const ndr_inversion *s, double k, double probability)
{
    return probability * ((s->n > 0 ? (s->n - k) * s->odds : s->odds) / (k + 1));
}

ND_FN double ndr_inversion_draw(const ndr_inversion *s, const uint32_t *w)
{
    const double u = ndr_unit(w[0], w[1]);
    double k = 0, probability = s->first, sum = probability;
    while (u >= sum) {
        probability = ndr_inversion_next(s, k, probability);
        if (probability < NDR_NEVER && k + 1 > s->mean)
            break;
        sum += probability;
        k += 1;
    }
    return k;
}

/* ---- rejection from a transformed pair of uniforms ----
 * Source: Hormann, The transformed rejection method for generating Poisson random variables,
 * Insurance: Mathematics and Economics 12 (1993), PTRS; The generation of binomial random variates,
 * J. Stat. Comput. Simul. 46 (1993), BTRS. Attempt k takes block k: u - 1/2 of the words 0 and 1, v of
 * the words 2 and 3, both ndr_open. */
typedef struct {
    double a, b, center, quick; /* quick: below this v every k in the middle is accepted */
    double edge;                /* of 1/2 - |u - 1/2|, below which v above it is refused */
    double shift;               /* what is added to log v before it is compared */
} ndr_hat;

typedef struct {
    double k, v, squared; /* squared: of 1/2 - |u - 1/2| */
    int32_t decided;      /* 1: accepted, -1: refused, 0: by the probability of k */
} ndr_trial;

ND_FN ndr_trial ndr_hat_try(const ndr_hat *h, const uint32_t *w)
{
    const double u = ndr_open(w[0], w[1]) - 0.5, us = 0.5 - (u < 0 ? -u : u);
    ndr_trial r;
    r.v = ndr_open(w[2], w[3]);
    r.k = floor((2 * h->a / us + h->b) * u + h->center);
    r.squared = us * us;
    r.decided = us >= 0.07 && r.v <= h->quick               ? 1
                : !(r.k >= 0) || (us < h->edge && r.v > us) ? -1
                                                            : 0;
    return r;
}

/* log of what the probability is compared with. */
ND_FN double ndr_hat_bound(const ndr_hat *h, const ndr_trial *r)
{
    return ndr_log(r->v) + h->shift - ndr_log(h->a / r->squared + h->b);
}

/* ---- Poisson: inversion for a mean below 10, else PTRS ---- */
typedef struct {
    double mean;
    ndr_inversion inversion;
    ndr_hat hat;
} ndr_poisson;

ND_FN ndr_poisson ndr_poisson_of(double mean)
{
    ndr_poisson s;
    const double b = 0.931 + 2.53 * sqrt(mean);
    s.mean = mean;
    s.inversion.n = 0;
    s.inversion.odds = s.inversion.mean = mean;
    s.inversion.first = ndr_exp(-mean);
    s.hat.a = -0.059 + 0.02483 * b;
    s.hat.b = b;
    s.hat.center = mean + 0.43;
    s.hat.quick = 0.9277 - 3.6224 / (b - 2);
    s.hat.edge = 0.013;
    s.hat.shift = ndr_log(1.1239 + 1.1328 / (b - 3.4));
    return s;
}

ND_FN int ndr_poisson_try(const ndr_poisson *s, const uint32_t *w, double *k)
{
    const ndr_trial r = ndr_hat_try(&s->hat, w);
    *k = r.k;
    return r.decided ? r.decided > 0 : ndr_hat_bound(&s->hat, &r) <= ndr_poisson_log(r.k, s->mean);
}

ND_FN double ndr_poisson_draw(const ndr_poisson *s, const ndr_place *at, const uint32_t *first)
{
    double k;
    uint32_t t = 0;
    ndr_block b;
    if (!(s->mean >= 0 && s->mean <= NDR_MOST_COUNT))
        return ndr_nan();
    if (s->mean < 10)
        return ndr_inversion_draw(&s->inversion, first);
    if (!ndr_poisson_try(s, first, &k))
        do
            b = ndr_block_at(at, ++t);
        while (!ndr_poisson_try(s, b.w, &k) && t < NDR_ATTEMPTS);
    return k;
}

/* ---- binomial: of the rarer outcome; inversion for a mean of it below 10, else BTRS ---- */
typedef struct {
    double n, p, mode; /* p <= 1/2; mode: log of the probability of the likeliest k */
    int32_t swapped, legal;
    ndr_inversion inversion;
    ndr_hat hat;
} ndr_binomial;

ND_FN ndr_binomial ndr_binomial_of(double n, double probability)
{
    ndr_binomial s;
    const double p = probability > 0.5 ? 1 - probability : probability, q = 1 - p;
    const double deviation = sqrt(n * p * q), b = 1.15 + 2.53 * deviation;
    s.n = n;
    s.p = p;
    s.swapped = probability > 0.5;
    s.legal = n >= 0 && n <= NDR_MOST_COUNT && floor(n) == n && p >= 0;
    s.inversion.n = n;
    s.inversion.odds = p / q;
    s.inversion.mean = n * p;
    s.inversion.first = ndr_exp(n * ndr_log1p(-p));
    s.hat.a = -0.0873 + 0.0248 * b + 0.01 * p;
    s.hat.b = b;
    s.hat.center = n * p + 0.5;
    s.hat.quick = 0.92 - 4.2 / b;
    s.hat.edge = 0;
    s.hat.shift = ndr_log((2.83 + 5.1 / b) * deviation);
    s.mode = s.legal && n * p >= 10 ? ndr_binomial_log(floor((n + 1) * p), n, p) : 0;
    return s;
}

ND_FN int ndr_binomial_try(const ndr_binomial *s, const uint32_t *w, double *k)
{
    const ndr_trial r = ndr_hat_try(&s->hat, w);
    *k = r.k;
    if (r.decided || r.k > s->n)
        return r.decided > 0 && r.k <= s->n;
    return ndr_hat_bound(&s->hat, &r) <= ndr_binomial_log(r.k, s->n, s->p) - s->mode;
}

ND_FN double ndr_binomial_draw(const ndr_binomial *s, const ndr_place *at, const uint32_t *first)
{
    double k = 0;
    uint32_t t = 0;
    ndr_block b;
    if (!s->legal)
        return ndr_nan();
    if (s->n * s->p < 10)
        k = s->n > 0 ? ndr_inversion_draw(&s->inversion, first) : 0;
    else if (!ndr_binomial_try(s, first, &k))
        do
            b = ndr_block_at(at, ++t);
        while (!ndr_binomial_try(s, b.w, &k) && t < NDR_ATTEMPTS);
    return s->swapped ? s->n - k : k;
}

/* ---- geometric: the trials up to the first success, by inversion: log(u)/log(1 - p) rounded up, u =
 * ndr_open of the words 0 and 1 ---- */
ND_FN double ndr_geometric_of(double p)
{
    return p > 0 && p <= 1 ? ndr_log1p(-p) : ndr_nan();
}
ND_FN double ndr_geometric_draw(double log_failure, const uint32_t *first)
{
    const double x = ndr_log_normal(ndr_open(first[0], first[1])) / log_failure;
    const double k = floor(x);
    return x != x ? x : k < x ? k + 1 : k < 1 ? 1 : k;
}

#endif
