/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Distributions that are closed formulas of uniform or normal numbers, computed in place on the
 * device. u is in (0, 1): 2^-25 + k 2^-24 (1 - 2^-25) of f32, with 2^-54 and 2^-53 of f64. Sources: the
 * inverses of the distribution functions in distribution.def. */
#include <math.h>
#include "core/ops/random.h"

static void uniform(nd_steps *s, const nd_draw *d, const nd_array *x)
{
    ND_STEP_DO(s, nd_random_uniform_into(&d->key, x->dtype == ND_F64 ? 0x1p-54 : 0x1p-25, 1, x));
}

/* x becomes op(x), op(x, a). */
static void apply(nd_steps *s, nd_op op, const nd_array *x)
{
    const nd_arg args[1] = {nd_array_arg(x)};
    ND_STEP_DO(s, nd_apply_into(op, args, 1, NULL, x));
}
static void with(nd_steps *s, nd_op op, const nd_array *x, nd_arg a)
{
    const nd_arg args[2] = {nd_array_arg(x), a};
    ND_STEP_DO(s, nd_apply_into(op, args, 2, NULL, x));
}
static void with_number(nd_steps *s, nd_op op, const nd_array *x, double a)
{
    with(s, op, x, nd_scalar_arg(nd_float(a)));
}

/* x becomes x * factor * a; in one pass for a scalar. */
static void times(nd_steps *s, const nd_array *x, nd_arg a, double factor)
{
    if (!a.array) {
        with_number(s, ND_OP_multiply, x, a.scalar.v.f * factor);
        return;
    }
    with(s, ND_OP_multiply, x, a);
    if (factor != 1)
        with_number(s, ND_OP_multiply, x, factor);
}

/* x becomes x * factor * scale + loc. */
static void place(nd_steps *s, const nd_array *x, const nd_draw *d, double factor)
{
    const nd_arg loc = d->param[0], scale = d->param[1];
    if (scale.array || scale.scalar.v.f * factor != 1)
        times(s, x, scale, factor);
    if (loc.array || loc.scalar.v.f != 0)
        with(s, ND_OP_add, x, loc);
}

static void exponential(nd_steps *s, const nd_draw *d, const nd_array *x)
{
    uniform(s, d, x);
    apply(s, ND_OP_log, x);
    times(s, x, d->param[0], -1);
}

static void cauchy(nd_steps *s, const nd_draw *d, const nd_array *x)
{
    uniform(s, d, x);
    with_number(s, ND_OP_subtract, x, 0.5);
    with_number(s, ND_OP_multiply, x, 3.14159265358979323846);
    apply(s, ND_OP_tan, x);
    place(s, x, d, 1);
}

/* The sign of t = u - 1/2 times -log(1 - 2 |t|). */
static void laplace(nd_steps *s, const nd_draw *d, const nd_array *x)
{
    uniform(s, d, x);
    with_number(s, ND_OP_subtract, x, 0.5);
    nd_array *t = nd__step_copy(s, x);
    apply(s, ND_OP_abs, x);
    with_number(s, ND_OP_multiply, x, -2);
    apply(s, ND_OP_log1p, x);
    if (t)
        with(s, ND_OP_copysign, x, nd_array_arg(t));
    place(s, x, d, 1);
}

static void logistic(nd_steps *s, const nd_draw *d, const nd_array *x)
{
    uniform(s, d, x);
    nd_array *rest = nd__step_from_scalar(s, ND_OP_subtract, nd_float(1), x);
    if (rest)
        with(s, ND_OP_divide, x, nd_array_arg(rest));
    apply(s, ND_OP_log, x);
    place(s, x, d, 1);
}

static void gumbel(nd_steps *s, const nd_draw *d, const nd_array *x)
{
    uniform(s, d, x);
    apply(s, ND_OP_log, x);
    apply(s, ND_OP_negative, x);
    apply(s, ND_OP_log, x);
    place(s, x, d, -1);
}

static void rayleigh(nd_steps *s, const nd_draw *d, const nd_array *x)
{
    uniform(s, d, x);
    apply(s, ND_OP_log, x);
    with_number(s, ND_OP_multiply, x, -2);
    apply(s, ND_OP_sqrt, x);
    times(s, x, d->param[0], 1);
}

/* (-log u)^(1/a) */
static void weibull(nd_steps *s, const nd_draw *d, const nd_array *x)
{
    nd_arg power = d->param[0];
    uniform(s, d, x);
    apply(s, ND_OP_log, x);
    apply(s, ND_OP_negative, x);
    power = power.array ? nd_array_arg(nd__step1(s, ND_OP_reciprocal, power.array))
                        : nd_scalar_arg(nd_float(1 / power.scalar.v.f));
    with(s, ND_OP_pow, x, power);
}

/* expm1(-log(u)/a) */
static void pareto(nd_steps *s, const nd_draw *d, const nd_array *x)
{
    uniform(s, d, x);
    apply(s, ND_OP_log, x);
    apply(s, ND_OP_negative, x);
    with(s, ND_OP_divide, x, d->param[0]);
    apply(s, ND_OP_expm1, x);
}

/* A parameter as an array: without axes if it is a scalar. */
static nd_array *param_array(nd_steps *s, const nd_draw *d, int i, const nd_array *x)
{
    nd_array *r;
    if (d->param[i].array)
        return nd_retain((nd_array *)d->param[i].array);
    ND_STEP(s, r, nd_full(x->storage->device, x->dtype, 0, NULL, d->param[i].scalar, &r));
    return nd_retain(r);
}

/* left + sqrt(u (right - left) (mode - left)) below the mode, of the mirrored one above. */
static void triangular(nd_steps *s, const nd_draw *d, const nd_array *x)
{
    nd_array *p[3];
    uniform(s, d, x);
    for (int i = 0; i < 3; i++)
        nd__steps_keep(s, p[i] = param_array(s, d, i, x));
    nd_array *width = nd__step2(s, ND_OP_subtract, p[2], p[0]);
    nd_array *rise = nd__step2(s, ND_OP_subtract, p[1], p[0]);
    nd_array *fall = nd__step2(s, ND_OP_subtract, p[2], p[1]);
    nd_array *left = nd__step2(s, ND_OP_multiply, x, nd__step2(s, ND_OP_multiply, width, rise));
    left = nd__step2(s, ND_OP_add, p[0], nd__step1(s, ND_OP_sqrt, left));
    nd_array *right = nd__step_from_scalar(s, ND_OP_subtract, nd_float(1), x);
    right = nd__step2(s, ND_OP_multiply, right, nd__step2(s, ND_OP_multiply, width, fall));
    right = nd__step2(s, ND_OP_subtract, p[2], nd__step1(s, ND_OP_sqrt, right));
    nd_array *below = nd__step2(s, ND_OP_less, nd__step2(s, ND_OP_multiply, x, width), rise);
    if (s->status == ND_OK)
        s->status = nd_where_into(below, left, right, x);
}

static void lognormal(nd_steps *s, const nd_draw *d, const nd_array *x)
{
    ND_STEP_DO(s, nd_random_normal_into(&d->key, 0, 1, x));
    place(s, x, d, 1);
    apply(s, ND_OP_exp, x);
}

nd_compose_fn *const nd__compositions[ND_DRAW_END] = {
    [ND_DRAW_exponential] = exponential, [ND_DRAW_cauchy] = cauchy,
    [ND_DRAW_laplace] = laplace,         [ND_DRAW_logistic] = logistic,
    [ND_DRAW_gumbel] = gumbel,           [ND_DRAW_rayleigh] = rayleigh,
    [ND_DRAW_weibull] = weibull,         [ND_DRAW_pareto] = pareto,
    [ND_DRAW_triangular] = triangular,   [ND_DRAW_lognormal] = lognormal,
};
