/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Distributions whose elements are drawn by kernels of their own, and what follows from them. */
#include "core/ops/random.h"

static void run(nd_steps *s, nd_op op, const nd_draw *d, const nd_arg *args, int n,
                const nd_array *dst)
{
    ndp_random params = {0};
    ND_STEP_DO(s, nd__random_run(op, &d->key, &params, args, n, dst));
}

/* a times a number. */
static nd_arg scaled(nd_steps *s, nd_arg a, double factor)
{
    return a.array ? nd_array_arg(nd__step_scalar(s, ND_OP_multiply, a.array, nd_float(factor)))
                   : nd_scalar_arg(nd_float(a.scalar.v.f * factor));
}

/* An array of f64 of dst's shape. */
static nd_array *wide_like(nd_steps *s, const nd_array *dst)
{
    nd_array *r;
    ND_STEP(s, r, nd_empty(dst->storage->device, ND_F64, dst->ndim, dst->shape, &r));
    return r;
}

static void gamma_of(nd_steps *s, const nd_draw *d, const nd_array *dst)
{
    run(s, ND_OP_random_gamma, d, d->param, 2, dst);
}
static void beta(nd_steps *s, const nd_draw *d, const nd_array *dst)
{
    run(s, ND_OP_random_beta, d, d->param, 2, dst);
}
static void truncated(nd_steps *s, const nd_draw *d, const nd_array *dst)
{
    run(s, ND_OP_random_truncated, d, d->param, 4, dst);
}
static void poisson(nd_steps *s, const nd_draw *d, const nd_array *dst)
{
    run(s, ND_OP_random_poisson, d, d->param, 1, dst);
}
static void binomial(nd_steps *s, const nd_draw *d, const nd_array *dst)
{
    run(s, ND_OP_random_binomial, d, d->param, 2, dst);
}
static void geometric(nd_steps *s, const nd_draw *d, const nd_array *dst)
{
    run(s, ND_OP_random_geometric, d, d->param, 1, dst);
}
static void hypergeometric(nd_steps *s, const nd_draw *d, const nd_array *dst)
{
    run(s, ND_OP_random_hypergeometric, d, d->param, 3, dst);
}

/* Twice a gamma variate of shape df/2. */
static void chisquare(nd_steps *s, const nd_draw *d, const nd_array *dst)
{
    const nd_arg args[2] = {scaled(s, d->param[0], 0.5), nd_scalar_arg(nd_float(2))};
    run(s, ND_OP_random_gamma, d, args, 2, dst);
}

/* z sqrt((df/2)/g), z normal, g gamma of shape df/2; in f64. */
static void standard_t(nd_steps *s, const nd_draw *d, const nd_array *dst)
{
    nd_draw next = *d;
    nd_array *z = wide_like(s, dst), *g = wide_like(s, dst);
    const nd_arg half = scaled(s, d->param[0], 0.5);
    const nd_arg args[2] = {half, nd_scalar_arg(nd_float(1))};
    if (s->status != ND_OK)
        return;
    ND_STEP_DO(s, nd_random_normal_into(&d->key, 0, 1, z));
    nd_random_skip(&next.key, dst->size, ND_F64);
    run(s, ND_OP_random_gamma, &next, args, 2, g);
    const nd_arg ratio[2] = {half, nd_array_arg(g)};
    ND_STEP_DO(s, nd_apply_into(ND_OP_divide, ratio, 2, NULL, g));
    ND_STEP_DO(s, nd_sqrt_into(g, g));
    ND_STEP_DO(s, nd_multiply_into(z, g, z));
    ND_STEP_DO(s, nd__copy_into(z, dst));
}

/* Poisson of a mean that is a gamma variate of shape n and scale (1 - p)/p. */
static void negative_binomial(nd_steps *s, const nd_draw *d, const nd_array *dst)
{
    nd_draw next = *d;
    const nd_arg p = d->param[1];
    nd_arg args[2] = {d->param[0], nd_scalar_arg(nd_float((1 - p.scalar.v.f) / p.scalar.v.f))};
    if (p.array)
        args[1] = nd_array_arg(
            nd__step2(s, ND_OP_divide,
                      nd__step_from_scalar(s, ND_OP_subtract, nd_float(1), p.array), p.array));
    nd_array *mean = wide_like(s, dst);
    if (s->status != ND_OK)
        return;
    run(s, ND_OP_random_gamma, d, args, 2, mean);
    nd__random_skip_blocks(&next.key, (uint64_t)dst->size);
    const nd_arg means[1] = {nd_array_arg(mean)};
    run(s, ND_OP_random_poisson, &next, means, 1, dst);
}

/* u < p, u uniform of f64. */
static void bernoulli(nd_steps *s, const nd_draw *d, const nd_array *dst)
{
    nd_array *u = wide_like(s, dst);
    if (s->status != ND_OK)
        return;
    ND_STEP_DO(s, nd_random_uniform_into(&d->key, 0, 1, u));
    const nd_arg args[2] = {nd_array_arg(u), d->param[0]};
    ND_STEP_DO(s, nd_apply_into(ND_OP_less, args, 2, NULL, dst));
}

nd_sampler_fn *const nd__samplers[ND_DRAW_END] = {
    [ND_DRAW_gamma] = gamma_of,
    [ND_DRAW_beta] = beta,
    [ND_DRAW_chisquare] = chisquare,
    [ND_DRAW_standard_t] = standard_t,
    [ND_DRAW_truncated_normal] = truncated,
    [ND_DRAW_bernoulli] = bernoulli,
    [ND_DRAW_geometric] = geometric,
    [ND_DRAW_poisson] = poisson,
    [ND_DRAW_binomial] = binomial,
    [ND_DRAW_negative_binomial] = negative_binomial,
    [ND_DRAW_hypergeometric] = hypergeometric,
};
