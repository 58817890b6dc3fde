/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The fallback ladder's middle rung: an elementwise operation that a device lacks, made of ones
 * that it has, on the device. Only exact derivations are here, so a derived result has the same
 * bits as a kernel's; what would round differently is staged. */
#include <math.h>
#include "core/run/run.h"

/* How the operands of the step come from those of the operation. */
enum { SAME_ARGS, SWAPPED, TWICE, BEFORE_SCALAR, AFTER_SCALAR, FIRST_TWO };

typedef struct {
    nd_op op;
    int kinds; /* ND_KIND_* for which it is exact */
    nd_op first;
    int form;
    double scalar; /* for BEFORE_SCALAR (op(scalar, a)) and AFTER_SCALAR (op(a, scalar)) */
    nd_op then;    /* second step, in place on the result; ND_OP_NONE: none */
    double with;   /* its second operand; NaN: the operation's own last one */
} rule;

#define REALS (ND_KIND_INT | ND_KIND_UINT | ND_KIND_FLOAT)
#define NUMBERS (REALS | ND_KIND_COMPLEX)
static const rule rules[] = {
    {ND_OP_square, NUMBERS, ND_OP_multiply, TWICE, 0, ND_OP_NONE, 0},
    {ND_OP_negative, ND_KIND_INT | ND_KIND_UINT, ND_OP_subtract, BEFORE_SCALAR, 0, ND_OP_NONE, 0},
    {ND_OP_negative, ND_KIND_FLOAT, ND_OP_subtract, BEFORE_SCALAR, -0.0, ND_OP_NONE, 0},
    {ND_OP_reciprocal, ND_KIND_FLOAT, ND_OP_divide, BEFORE_SCALAR, 1, ND_OP_NONE, 0},
    {ND_OP_relu, REALS, ND_OP_maximum, AFTER_SCALAR, 0, ND_OP_NONE, 0},
    {ND_OP_logical_not, NUMBERS | ND_KIND_BOOL, ND_OP_equal, AFTER_SCALAR, 0, ND_OP_NONE, 0},
    {ND_OP_greater, REALS | ND_KIND_BOOL, ND_OP_less, SWAPPED, 0, ND_OP_NONE, 0},
    {ND_OP_less, REALS | ND_KIND_BOOL, ND_OP_greater, SWAPPED, 0, ND_OP_NONE, 0},
    {ND_OP_greater_equal, REALS | ND_KIND_BOOL, ND_OP_less_equal, SWAPPED, 0, ND_OP_NONE, 0},
    {ND_OP_less_equal, REALS | ND_KIND_BOOL, ND_OP_greater_equal, SWAPPED, 0, ND_OP_NONE, 0},
    {ND_OP_not_equal, NUMBERS | ND_KIND_BOOL, ND_OP_equal, SAME_ARGS, 0, ND_OP_equal, 0},
    {ND_OP_equal, NUMBERS | ND_KIND_BOOL, ND_OP_not_equal, SAME_ARGS, 0, ND_OP_not_equal, 1},
    {ND_OP_clip, REALS, ND_OP_maximum, FIRST_TWO, 0, ND_OP_minimum, NAN},
};

static ndp_scalar scalar_of(nd_dtype dtype, double value)
{
    ndp_scalar s = {.dtype = dtype};
    if (nd__kind(dtype) & (ND_KIND_FLOAT | ND_KIND_COMPLEX))
        s.v.f = value; /* c[0] of a complex one */
    else
        s.v.i = (int64_t)value;
    return s;
}

/* The first step's call: operands picked from the original's. */
static void first_step(const rule *r, const ndp_call *call, ndp_call *step, ndp_view *in,
                       ndp_scalar *scalar)
{
    *step = *call;
    step->op = r->first;
    step->in = in;
    step->params = NULL;
    bool swapped = r->form == SWAPPED, before = r->form == BEFORE_SCALAR;
    in[0] = call->in[swapped];
    in[1] = r->form == TWICE ? call->in[0] : call->in[!swapped && call->n_in > 1];
    step->n_in = 2;
    if (before || r->form == AFTER_SCALAR) {
        *scalar = scalar_of(call->in[0].dtype, r->scalar);
        in[before] = call->in[0];
        in[!before] = nd__scalar_view(scalar, 0, call->out[0].ndim, call->out[0].shape);
        step->scalar = scalar;
        step->n_scalar = 1;
    }
}

static void second_step(const rule *r, const ndp_call *call, ndp_call *step, ndp_view *in,
                        ndp_scalar *scalar)
{
    *step = *call;
    step->op = r->then;
    step->in = in;
    in[0] = call->out[0];
    in[1] = call->in[call->n_in - 1];
    step->n_in = 2;
    if (isnan(r->with))
        return;
    *scalar = scalar_of(call->out[0].dtype, r->with);
    in[1] = nd__scalar_view(scalar, 0, call->out[0].ndim, call->out[0].shape);
    step->scalar = scalar;
    step->n_scalar = 1;
}

nd_status nd__derive(nd_device *dev, const ndp_call *call, bool *done)
{
    ndp_view in[2], in_again[2];
    ndp_scalar scalar, scalar_again;
    ndp_call step, again;
    *done = false;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        const rule *r = &rules[i];
        if (r->op != call->op || call->n_in == 0 || !(nd__kind(call->in[0].dtype) & r->kinds))
            continue;
        first_step(r, call, &step, in, &scalar);
        if (r->then)
            second_step(r, call, &again, in_again, &scalar_again);
        if (!nd__has_kernel(dev, &step) || (r->then && !nd__has_kernel(dev, &again)))
            continue;
        ND_RETURN_IF(nd__run(dev, &step));
        if (r->then)
            ND_RETURN_IF(nd__run(dev, &again));
        nd__count_derived();
        *done = true;
        return ND_OK;
    }
    return ND_OK;
}
