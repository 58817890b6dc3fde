/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Samplers of continuous distributions: one element each, from the blocks at its place alone, the
 * same bits on every device. `first` is block 0 of the place, which callers may make for many
 * elements at once. random_tmpl.h says what the includer defines. */
#ifndef NDOCK_RANDOM_REAL_TMPL_H
#define NDOCK_RANDOM_REAL_TMPL_H
#include <ndock/random_tmpl.h>

/* ---- gamma with scale 1 ----
 * Source: Marsaglia and Tsang, A simple method for generating gamma variables, ACM TOMS 26 (2000):
 * d (1 + c z)^3, d = a - 1/3, c = 1/sqrt(9 d). Attempt k takes block t + k: the words 0 to 2 are z,
 * word 3 decides. For a < 1 it is gamma(a + 1) U^(1/a), U of block t + NDR_BOOST. */
#define NDR_BOOST 0x8000u
#define NDR_SECOND 0x10000u /* t of the second gamma deviate of an element */

typedef struct {
    double a, d, c;
} ndr_gamma;

ND_FN ndr_gamma ndr_gamma_of(double a)
{
    ndr_gamma g;
    g.a = a;
    g.d = (a < 1 ? a + 1 : a) - 1.0 / 3;
    g.c = 1 / sqrt(9 * g.d);
    return g;
}

/* One attempt without its logarithms: *v is the third root of the value over d. */
ND_FN int ndr_gamma_quick(const ndr_gamma *g, const uint32_t *w, double *v)
{
    const double z = ndr_normal(w), t = 1 + g->c * z, square = z * z;
    *v = t;
    return (t > 0) & (ndr_open32(w[3]) < 1 - 0.0331 * (square * square));
}
ND_FN int ndr_gamma_slow(const ndr_gamma *g, const uint32_t *w, double v)
{
    const double z = ndr_normal(w), cube = v * v * v;
    return v > 0 &&
           ndr_log(ndr_open32(w[3])) < 0.5 * (z * z) + g->d * ((1 - cube) + 3 * ndr_log(v));
}

/* The third root, from block t on; first is block t. */
ND_FN double ndr_gamma_root(const ndr_gamma *g, const ndr_place *at, uint32_t t,
                            const uint32_t *first)
{
    double v;
    uint32_t k = 0;
    ndr_block b;
    if (ndr_gamma_quick(g, first, &v) || ndr_gamma_slow(g, first, v))
        return v;
    do
        b = ndr_block_at(at, t + ++k);
    while (!ndr_gamma_quick(g, b.w, &v) && !ndr_gamma_slow(g, b.w, v) && k < NDR_ATTEMPTS);
    return v;
}

/* log(U)/a for a < 1, else 0. */
ND_FN double ndr_gamma_boost(const ndr_gamma *g, const ndr_place *at, uint32_t t)
{
    if (!(g->a < 1))
        return 0;
    const ndr_block b = ndr_block_at(at, t + NDR_BOOST);
    return ndr_log_normal(ndr_open(b.w[0], b.w[1])) / g->a;
}

/* From the third root to the value. */
ND_FN double ndr_gamma_value(const ndr_gamma *g, const ndr_place *at, double v)
{
    const double x = g->d * (v * v * v);
    return g->a < 1 ? x * ndr_exp(ndr_gamma_boost(g, at, 0)) : x;
}

ND_FN int ndr_gamma_legal(const ndr_gamma *g)
{
    return g->a >= 0 && g->a <= 0x1.fffffffffffffp1023;
}

ND_FN double ndr_gamma_draw(const ndr_gamma *g, const ndr_place *at, const uint32_t *first)
{
    if (!ndr_gamma_legal(g))
        return ndr_nan();
    return ndr_gamma_value(g, at, ndr_gamma_root(g, at, 0, first));
}

/* Its logarithm, which does not vanish where a is small. */
ND_FN double ndr_log_gamma_draw(const ndr_gamma *g, const ndr_place *at, uint32_t t,
                                const uint32_t *first)
{
    if (!ndr_gamma_legal(g))
        return ndr_nan();
    const double v = ndr_gamma_root(g, at, t, first);
    return ndr_log(g->d) + 3 * ndr_log(v) + ndr_gamma_boost(g, at, t);
}

/* ---- beta: x/(x + y) of two gamma deviates, by their logarithms ---- */
typedef struct {
    ndr_gamma x, y;
} ndr_beta;

ND_FN ndr_beta ndr_beta_of(double a, double b)
{
    ndr_beta s;
    s.x = ndr_gamma_of(a);
    s.y = ndr_gamma_of(b);
    return s;
}

ND_FN double ndr_beta_draw(const ndr_beta *s, const ndr_place *at, const uint32_t *first)
{
    const ndr_block second = ndr_block_at(at, NDR_SECOND);
    const double x = ndr_log_gamma_draw(&s->x, at, 0, first);
    const double y = ndr_log_gamma_draw(&s->y, at, NDR_SECOND, second.w);
    return 1 / (1 + ndr_exp(y - x));
}

/* ---- normal between bounds ----
 * Source: Robert, Simulation of truncated normal variables, Statistics and Computing 5 (1995), with
 * an exponential proposal cut at the upper bound (Chopin, ibid. 21, 2011). In units of the deviation
 * the interval is (a, b), b > 0, for which the sign may have been changed. Attempt k takes block k. */
enum { NDR_BY_NORMAL, NDR_BY_UNIFORM, NDR_BY_TAIL, NDR_BY_NOTHING };

typedef struct {
    double a, b, peak, cut; /* peak: square of the interval's value next to 0 */
    double low, high, loc, scale;
    int32_t by;
} ndr_truncated;

ND_FN ndr_truncated ndr_truncated_of(double low, double high, double loc, double scale)
{
    ndr_truncated s;
    double a = (low - loc) / scale, b = (high - loc) / scale;
    s.low = low;
    s.high = high;
    s.loc = loc;
    s.scale = b < 0 ? -scale : scale;
    if (b < 0) {
        const double from = a;
        a = -b;
        b = -from;
    }
    s.a = a;
    s.b = b;
    s.peak = a > 0 ? a * a : 0;
    s.cut = a >= 0.5 ? ndr_expm1(-a * (b - a)) : 0;
    s.by = !(b - a >= 0 && scale > 0) ? NDR_BY_NOTHING
           : a >= 0.5                 ? NDR_BY_TAIL
           : b - a >= 2               ? NDR_BY_NORMAL
                                      : NDR_BY_UNIFORM;
    return s;
}

/* One attempt. */
ND_FN int ndr_truncated_try(const ndr_truncated *s, const uint32_t *w, double *x)
{
    if (s->by == NDR_BY_NORMAL) {
        *x = ndr_normal(w);
        return *x >= s->a && *x <= s->b;
    }
    const double u = ndr_open(w[0], w[1]), v = ndr_log_normal(ndr_open(w[2], w[3]));
    const double y = s->by == NDR_BY_TAIL ? -ndr_log1p(u * s->cut) / s->a : u * (s->b - s->a);
    *x = s->a + y;
    return 2 * v <= (s->by == NDR_BY_TAIL ? -(y * y) : s->peak - *x * *x);
}

ND_FN double ndr_truncated_draw(const ndr_truncated *s, const ndr_place *at, const uint32_t *first)
{
    double x;
    uint32_t k = 0;
    ndr_block b;
    if (s->by == NDR_BY_NOTHING)
        return ndr_nan();
    if (!ndr_truncated_try(s, first, &x))
        do
            b = ndr_block_at(at, ++k);
        while (!ndr_truncated_try(s, b.w, &x) && k < NDR_ATTEMPTS);
    x = s->loc + s->scale * x;
    return x < s->low ? s->low : x > s->high ? s->high : x;
}

#endif
