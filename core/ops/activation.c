/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Derivatives of activations, made of elementwise operations. */
#include <ndock/neural.h>
#include "core/ops/neural.h"

typedef nd_array *slope_fn(nd_steps *s, const nd_array *a, double alpha);

static nd_array *times(nd_steps *s, const nd_array *a, double by)
{
    return nd__step_scalar(s, ND_OP_multiply, a, nd_float(by));
}

static nd_array *plus(nd_steps *s, const nd_array *a, double by)
{
    return nd__step_scalar(s, ND_OP_add, a, nd_float(by));
}

static nd_array *product(nd_steps *s, const nd_array *a, const nd_array *b)
{
    return nd__step2(s, ND_OP_multiply, a, b);
}

static nd_array *sum(nd_steps *s, const nd_array *a, const nd_array *b)
{
    return nd__step2(s, ND_OP_add, a, b);
}

/* 1 - a */
static nd_array *rest(nd_steps *s, const nd_array *a)
{
    return nd__step_from_scalar(s, ND_OP_subtract, nd_float(1), a);
}

/* `above` where a is positive, else what is given; NaN stays. */
static nd_array *by_sign(nd_steps *s, const nd_array *a, double above, nd_arg below)
{
    nd_array *positive = nd__step_scalar(s, ND_OP_greater, a, nd_float(0));
    nd_array *nan = nd__step1(s, ND_OP_isnan, a);
    nd_array *r = nd__step_where(s, positive, nd_scalar_arg(nd_float(above)), below);
    return nd__step_where(s, nan, nd_array_arg(a), nd_array_arg(r));
}

static nd_array *in_type(nd_steps *s, const nd_array *like, nd_array *a)
{
    return s->status == ND_OK ? nd__step_cast(s, a, like->dtype) : NULL;
}

static nd_array *relu(nd_steps *s, const nd_array *a, double alpha)
{
    (void)alpha;
    return in_type(s, a, by_sign(s, a, 1, nd_scalar_arg(nd_float(0))));
}

static nd_array *leaky_relu(nd_steps *s, const nd_array *a, double alpha)
{
    return in_type(s, a, by_sign(s, a, 1, nd_scalar_arg(nd_float(alpha))));
}

/* ndtr(a) + a*exp(-a*a/2)/sqrt(2 pi) */
static nd_array *gelu(nd_steps *s, const nd_array *a, double alpha)
{
    (void)alpha;
    nd_array *density = nd__step1(s, ND_OP_exp, times(s, nd__step1(s, ND_OP_square, a), -0.5));
    density = product(s, a, times(s, density, 0.39894228040143267794));
    return sum(s, nd__step1(s, ND_OP_ndtr, a), density);
}

/* p + a*p*(1 - p)*u', p = sigmoid(u), u = c*(a + 0.044715 a^3), c = 2*sqrt(2/pi) */
static nd_array *gelu_tanh(nd_steps *s, const nd_array *a, double alpha)
{
    const double c = 1.59576912160573071176;
    (void)alpha;
    nd_array *square = nd__step1(s, ND_OP_square, a);
    nd_array *u = product(s, a, plus(s, times(s, square, c * 0.044715), c));
    nd_array *p = nd__step1(s, ND_OP_sigmoid, u);
    nd_array *other = nd__step1(s, ND_OP_sigmoid, nd__step1(s, ND_OP_negative, u));
    nd_array *slope = plus(s, times(s, square, 3 * c * 0.044715), c);
    return sum(s, p, product(s, product(s, p, other), product(s, a, slope)));
}

static nd_array *sigmoid(nd_steps *s, const nd_array *a, double alpha)
{
    (void)alpha;
    nd_array *p = nd__step1(s, ND_OP_sigmoid, a);
    return product(s, p, nd__step1(s, ND_OP_sigmoid, nd__step1(s, ND_OP_negative, a)));
}

/* p*(1 + a*(1 - p)) */
static nd_array *silu(nd_steps *s, const nd_array *a, double alpha)
{
    (void)alpha;
    nd_array *p = nd__step1(s, ND_OP_sigmoid, a);
    nd_array *other = nd__step1(s, ND_OP_sigmoid, nd__step1(s, ND_OP_negative, a));
    return product(s, p, plus(s, product(s, a, other), 1));
}

/* 1/cosh(a)^2 */
static nd_array *tanh_slope(nd_steps *s, const nd_array *a, double alpha)
{
    (void)alpha;
    return nd__step1(s, ND_OP_reciprocal, nd__step1(s, ND_OP_square, nd__step1(s, ND_OP_cosh, a)));
}

static nd_array *softplus(nd_steps *s, const nd_array *a, double alpha)
{
    (void)alpha;
    return nd__step1(s, ND_OP_sigmoid, a);
}

/* t + a*(1 - t*t)*sigmoid(a), t = tanh(softplus(a)) */
static nd_array *mish(nd_steps *s, const nd_array *a, double alpha)
{
    (void)alpha;
    nd_array *t = nd__step1(s, ND_OP_tanh, nd__step1(s, ND_OP_softplus, a));
    nd_array *bend =
        product(s, rest(s, nd__step1(s, ND_OP_square, t)), nd__step1(s, ND_OP_sigmoid, a));
    return sum(s, t, product(s, a, bend));
}

/* Inside of (-3, 3] what is given, below 0, above `above`; NaN stays. */
static nd_array *between(nd_steps *s, const nd_array *a, nd_arg inside, double above)
{
    nd_array *low = nd__step_scalar(s, ND_OP_less_equal, a, nd_float(-3));
    nd_array *high = nd__step_scalar(s, ND_OP_greater, a, nd_float(3));
    nd_array *r = nd__step_where(s, high, nd_scalar_arg(nd_float(above)), inside);
    r = nd__step_where(s, low, nd_scalar_arg(nd_float(0)), nd_array_arg(r));
    nd_array *nan = nd__step1(s, ND_OP_isnan, a);
    return nd__step_where(s, nan, nd_array_arg(a), nd_array_arg(r));
}

static nd_array *hardsigmoid(nd_steps *s, const nd_array *a, double alpha)
{
    (void)alpha;
    return in_type(s, a, between(s, a, nd_scalar_arg(nd_float(1.0 / 6)), 0));
}

static nd_array *hardswish(nd_steps *s, const nd_array *a, double alpha)
{
    (void)alpha;
    nd_array *inside = plus(s, times(s, a, 1.0 / 3), 0.5);
    return between(s, a, nd_array_arg(inside), 1);
}

/* above for positive elements, below*exp(a/by) for others, whose exponent is kept from growing. */
static nd_array *exponential(nd_steps *s, const nd_array *a, double above, double below, double by)
{
    nd_array *low = nd__step_scalar(s, ND_OP_minimum, a, nd_float(0));
    nd_array *e = nd__step1(s, ND_OP_exp, nd__step_scalar(s, ND_OP_divide, low, nd_float(by)));
    return by_sign(s, a, above, nd_array_arg(times(s, e, below)));
}

static nd_array *selu(nd_steps *s, const nd_array *a, double alpha)
{
    (void)alpha;
    return exponential(s, a, 1.05070098735548049342, 1.75809934084737685994, 1);
}

static nd_array *elu(nd_steps *s, const nd_array *a, double alpha)
{
    return exponential(s, a, 1, alpha, 1);
}

static nd_array *celu(nd_steps *s, const nd_array *a, double alpha)
{
    return exponential(s, a, 1, 1, alpha);
}

static slope_fn *const slopes[] = {
    [ND_ACT_RELU] = relu,
    [ND_ACT_GELU] = gelu,
    [ND_ACT_GELU_TANH] = gelu_tanh,
    [ND_ACT_SIGMOID] = sigmoid,
    [ND_ACT_SILU] = silu,
    [ND_ACT_TANH] = tanh_slope,
    [ND_ACT_SOFTPLUS] = softplus,
    [ND_ACT_MISH] = mish,
    [ND_ACT_HARDSIGMOID] = hardsigmoid,
    [ND_ACT_HARDSWISH] = hardswish,
    [ND_ACT_SELU] = selu,
    [ND_ACT_LEAKY_RELU] = leaky_relu,
    [ND_ACT_ELU] = elu,
    [ND_ACT_CELU] = celu,
};

nd_status nd_activation_grad(int32_t activation, const nd_array *g, const nd_array *a, double alpha,
                             nd_array **out)
{
    const char *op = "activation_grad";
    const nd_array *const both[2] = {g, a};
    nd_dtype dtype;
    nd_steps s;
    ND_OUT(op, 4, out, NULL);
    if (activation < 0 || (size_t)activation >= sizeof slopes / sizeof *slopes)
        return nd__fail(ND_ERR_ARGUMENT, op, 0, "%d is no activation; ND_ACT_* are 0 to %d",
                        (int)activation, (int)(sizeof slopes / sizeof *slopes) - 1);
    for (int i = 0; i < 2; i++)
        ND_RETURN_IF(nd__check_array(op, both[i], i + 1));
    ND_RETURN_IF(nd__check_floatings(op, 1, 2, both, &dtype));
    ND_RETURN_IF(nd__check_shape_is(op, g, a->ndim, a->shape, 1));
    ND_RETURN_IF(nd__steps_begin(&s, op, g, NULL));
    const nd_dtype wide = nd__wide_of(dtype);
    nd_array *slope = slopes[activation](&s, nd__step_cast(&s, a, wide), alpha);
    nd_array *r = product(&s, nd__step_cast(&s, g, wide), slope);
    return nd__steps_end(&s, op, nd__step_cast(&s, r, dtype), out);
}
