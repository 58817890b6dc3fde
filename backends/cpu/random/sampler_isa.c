/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The samplers of random_real_tmpl.h, random_count_tmpl.h and random_urn_tmpl.h in batches, built
 * once per SIMD level. First blocks are made side by side; what they refuse is tried again alone. */
#include <math.h>
#include <string.h>
#include "random/sampler.h"
#define ND_FN static inline __attribute__((always_inline))
#include <ndock/random_real_tmpl.h>
#include <ndock/random_urn_tmpl.h>

enum { LANES = PHILOX_LANES };

typedef double geometric_state;

typedef struct { /* the state of an element of its own parameters */
    _Alignas(16) char bytes[CPU_SAMPLER_STATE];
} own_state;

#define FITS(type) _Static_assert(sizeof(type) <= CPU_SAMPLER_STATE, "a state fits")
FITS(ndr_beta);
FITS(ndr_truncated);
FITS(ndr_poisson);
FITS(ndr_binomial);
FITS(ndr_hypergeometric);

/* ---- each op: its state, and one element ---- */

typedef struct {
    ndr_gamma of;
    double scale;
} gamma_state;

static inline void set_gamma(const double *p, void *state)
{
    *(gamma_state *)state = (gamma_state){ndr_gamma_of(p[0]), p[1]};
}
static inline double get_gamma(const void *state, const ndr_place *at, const uint32_t *first)
{
    const gamma_state *s = state;
    return s->scale * ndr_gamma_draw(&s->of, at, first);
}
static inline void set_log_gamma(const double *p, void *state)
{
    *(ndr_gamma *)state = ndr_gamma_of(p[0]);
}
static inline double get_log_gamma(const void *state, const ndr_place *at, const uint32_t *first)
{
    return ndr_log_gamma_draw(state, at, 0, first);
}
static inline void set_beta(const double *p, void *state)
{
    *(ndr_beta *)state = ndr_beta_of(p[0], p[1]);
}
static inline double get_beta(const void *state, const ndr_place *at, const uint32_t *first)
{
    return ndr_beta_draw(state, at, first);
}
static inline void set_truncated(const double *p, void *state)
{
    *(ndr_truncated *)state = ndr_truncated_of(p[0], p[1], p[2], p[3]);
}
static inline double get_truncated(const void *state, const ndr_place *at, const uint32_t *first)
{
    return ndr_truncated_draw(state, at, first);
}
static inline void set_poisson(const double *p, void *state)
{
    *(ndr_poisson *)state = ndr_poisson_of(p[0]);
}
static inline double get_poisson(const void *state, const ndr_place *at, const uint32_t *first)
{
    return ndr_poisson_draw(state, at, first);
}
static inline void set_binomial(const double *p, void *state)
{
    *(ndr_binomial *)state = ndr_binomial_of(p[0], p[1]);
}
static inline double get_binomial(const void *state, const ndr_place *at, const uint32_t *first)
{
    return ndr_binomial_draw(state, at, first);
}
static inline void set_geometric(const double *p, void *state)
{
    *(geometric_state *)state = ndr_geometric_of(p[0]);
}
static inline double get_geometric(const void *state, const ndr_place *at, const uint32_t *first)
{
    (void)at;
    return ndr_geometric_draw(*(const geometric_state *)state, first);
}
static inline void set_hypergeometric(const double *p, void *state)
{
    *(ndr_hypergeometric *)state = ndr_hypergeometric_of(p[0], p[1], p[2]);
}
static inline double get_hypergeometric(const void *state, const ndr_place *at,
                                        const uint32_t *first)
{
    return ndr_hypergeometric_draw(state, at, first);
}

/* ---- batches ---- */

typedef void set_fn(const double *param, void *state);
typedef double get_fn(const void *state, const ndr_place *at, const uint32_t *first);

/* Inlined for each op, set and get with it. */
static inline __attribute__((always_inline)) void each(const cpu_sampler_batch *b,
                                                       const void *state, double *values,
                                                       int n_params, set_fn *set, get_fn *get)
{
    uint32_t words[4 * LANES];
    own_state own;
    double last[CPU_SAMPLER_PARAMS], param[CPU_SAMPLER_PARAMS];
    const size_t nbytes = (size_t)n_params * sizeof *param;
    philox_blocks(b->key, b->counter, b->first, words);
    for (int j = 0; j < b->n; j++) {
        const ndr_place at = ndr_place_of(b->key, b->counter, b->first + (uint64_t)j);
        for (int d = 0; !b->same && d < n_params; d++)
            param[d] = b->param[d][j];
        if (!b->same && (j == 0 || memcmp(param, last, nbytes) != 0)) {
            set(param, own.bytes);
            memcpy(last, param, nbytes);
        }
        values[j] = get(b->same ? state : own.bytes, &at, words + 4 * j);
    }
}

/* Gamma of one shape: the first attempts without their logarithms side by side. */
static void gamma_side_by_side(const cpu_sampler_batch *b, const gamma_state *s, double *values)
{
    uint32_t words[4 * LANES];
    double root[LANES];
    int done[LANES];
    const ndr_gamma of = s->of;
    philox_blocks(b->key, b->counter, b->first, words);
    for (int j = 0; j < LANES; j++)
        done[j] = ndr_gamma_quick(&of, words + 4 * j, &root[j]);
    for (int j = 0; j < b->n; j++)
        if (!done[j]) {
            const ndr_place at = ndr_place_of(b->key, b->counter, b->first + (uint64_t)j);
            root[j] = ndr_gamma_root(&of, &at, 0, words + 4 * j);
        }
    for (int j = 0; j < b->n; j++)
        values[j] = s->scale * (of.d * (root[j] * root[j] * root[j]));
}

static void draw_gamma(const cpu_sampler_batch *b, const void *state, double *values)
{
    const gamma_state *s = state;
    if (b->same && s->of.a >= 1 && ndr_gamma_legal(&s->of))
        gamma_side_by_side(b, s, values);
    else
        each(b, state, values, 2, set_gamma, get_gamma);
}

#define DRAW(name, n_params)                                                               \
    static void draw_##name(const cpu_sampler_batch *b, const void *state, double *values) \
    {                                                                                      \
        each(b, state, values, n_params, set_##name, get_##name);                          \
    }
DRAW(log_gamma, 1)
DRAW(beta, 2)
DRAW(truncated, 4)
DRAW(poisson, 1)
DRAW(binomial, 2)
DRAW(geometric, 1)
DRAW(hypergeometric, 3)

#define ROW(name, n_params) [NDP_OP_random_##name] = {set_##name, draw_##name, n_params}
const cpu_sampler_loops CPU_ISA_FN(cpu_sampler_table) = {
    .op = {ROW(gamma, 2), ROW(log_gamma, 1), ROW(beta, 2), ROW(truncated, 4), ROW(poisson, 1),
           ROW(binomial, 2), ROW(geometric, 1), ROW(hypergeometric, 3)},
};
