/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The sampler of the hypergeometric distribution; otherwise as random_count_tmpl.h. */
#ifndef NDOCK_RANDOM_URN_TMPL_H
#define NDOCK_RANDOM_URN_TMPL_H
#include <ndock/random_count_tmpl.h>

/* ---- hypergeometric: the good ones of a sample, at most NDR_MOST_GROUP of a kind ----
 * Of the rarer kind, in the sample or in what it leaves, whichever is smaller. Up to 10: by
 * inversion; else by the ratio of uniforms, attempt k by block k. Source: Stadlober, The ratio of
 * uniforms approach for generating discrete random variates, J. Comput. Appl. Math. 31 (1990),
 * HRUE; the constants are 2 sqrt(2/e) and 3 - 2 sqrt(3/e). */
#define NDR_MOST_GROUP 1000000000.0

/* log(k!) */
ND_FN double ndr_log_factorial(double k)
{
    if (k == 0)
        return 0;
    return 0.5 * ndr_log(NDR_TWO_PI * k) + (k * ndr_log(k) - k) + ndr_stirling_rest(k);
}

typedef struct {
    double good, bad, sample;     /* as given */
    double few, many, drawn;      /* the rarer and the other kind; the smaller part */
    double first;                 /* probability(0), for inversion */
    double center, spread, limit; /* of the hat; limit: first k that is never reached */
    double mode;                  /* sum of log factorials at the likeliest k */
    int32_t legal;
} ndr_hypergeometric;

ND_FN double ndr_hypergeometric_log(const ndr_hypergeometric *s, double k)
{
    return ndr_log_factorial(k) + ndr_log_factorial(s->few - k) + ndr_log_factorial(s->drawn - k) +
           ndr_log_factorial(s->many - s->drawn + k);
}

ND_FN int ndr_is_count(double x, double most)
{
    return x >= 0 && x <= most && floor(x) == x;
}

ND_FN void ndr_hypergeometric_hat(ndr_hypergeometric *s)
{
    const double whole = s->few + s->many, share = s->few / whole;
    const double variance = (whole - s->drawn) * s->drawn * share * (1 - share) / (whole - 1);
    const double width = sqrt(variance + 0.5), least = s->drawn < s->few ? s->drawn : s->few;
    s->center = s->drawn * share + 0.5;
    s->spread = 1.7155277699214135 * width + 0.8989161620588988;
    s->limit = floor(s->center + 16 * width);
    s->limit = s->limit < least + 1 ? s->limit : least + 1;
    s->mode = ndr_hypergeometric_log(s, floor((s->drawn + 1) * (s->few + 1) / (whole + 2)));
}

ND_FN ndr_hypergeometric ndr_hypergeometric_of(double good, double bad, double sample)
{
    ndr_hypergeometric s;
    double k;
    s.good = good;
    s.bad = bad;
    s.sample = sample;
    s.legal = ndr_is_count(good, NDR_MOST_GROUP) && ndr_is_count(bad, NDR_MOST_GROUP) &&
              ndr_is_count(sample, good + bad);
    s.few = good < bad ? good : bad;
    s.many = good < bad ? bad : good;
    s.drawn = sample * 2 > good + bad ? good + bad - sample : sample;
    s.first = 1;
    s.center = s.spread = s.limit = s.mode = 0;
    if (s.legal && s.drawn > 10)
        ndr_hypergeometric_hat(&s);
    else if (s.legal)
        for (k = 0; k < s.drawn; k += 1)
            s.first *= (s.many - k) / (s.few + s.many - k);
    return s;
}

ND_FN int ndr_hypergeometric_try(const ndr_hypergeometric *s, const uint32_t *w, double *k)
{
    const double x = ndr_open(w[0], w[1]), y = ndr_open(w[2], w[3]);
    const double at = s->center + s->spread * (y - 0.5) / x;
    if (!(at >= 0 && at < s->limit))
        return 0;
    *k = floor(at);
    const double t = s->mode - ndr_hypergeometric_log(s, *k);
    if (x * (4 - x) - 3 <= t)
        return 1;
    return x * (x - t) < 1 && 2 * ndr_log_normal(x) <= t;
}

ND_FN double ndr_hypergeometric_invert(const ndr_hypergeometric *s, const uint32_t *w)
{
    const double u = ndr_unit(w[0], w[1]);
    double k = 0, probability = s->first, sum = probability;
    while (u >= sum && k < s->drawn && k < s->few) {
        probability *= (s->few - k) * (s->drawn - k) / ((k + 1) * (s->many - s->drawn + k + 1));
        sum += probability;
        k += 1;
    }
    return k;
}

ND_FN double ndr_hypergeometric_draw(const ndr_hypergeometric *s, const ndr_place *at,
                                     const uint32_t *first)
{
    double k = 0;
    uint32_t t = 0;
    ndr_block b;
    if (!s->legal)
        return ndr_nan();
    if (s->drawn <= 10)
        k = ndr_hypergeometric_invert(s, first);
    else if (!ndr_hypergeometric_try(s, first, &k))
        do
            b = ndr_block_at(at, ++t);
        while (!ndr_hypergeometric_try(s, b.w, &k) && t < NDR_ATTEMPTS);
    k = s->good > s->bad ? s->drawn - k : k;
    return s->drawn < s->sample ? s->good - k : k;
}

#endif
