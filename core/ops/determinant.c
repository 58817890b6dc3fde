/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Determinants, of LU factors. */
#include "core/ops/linalg.h"

typedef struct {
    nd_steps s;
    nd_dtype given;           /* of the caller's matrix, integers counting as the default float */
    nd_array *diagonal, *odd; /* of u; whether an odd number of rows was exchanged */
} factored;

static nd_array *last_axis(nd_steps *s, nd_op op, const nd_array *a)
{
    return nd__step_reduce(s, op == ND_OP_prod ? nd_prod : nd_sum, a, -1, false);
}

/* Begins the steps, which the caller ends also where this fails. */
static void factor(const char *op, const nd_array *a, const nd_linalg_opts *opts, factored *f)
{
    nd_steps *s = &f->s;
    nd_linalg_opts o = {.size = sizeof o, .unchecked = 1}; /* singular matrices have one: zero */
    nd_dtype compute = 0;
    nd_array *lu, *pivots = NULL, *positions;
    *f = (factored){.s = {.status = ND_OK}};
    if (nd__steps_begin(s, op, a, opts) != ND_OK)
        return;
    ND_STEP_DO(s, nd__linalg_options(op, opts, &o));
    o = (nd_linalg_opts){.size = sizeof o, .unchecked = 1};
    ND_STEP_DO(s, nd__check_square(op, a, 0));
    ND_STEP_DO(s, nd__linalg_dtypes(op, a->dtype, &compute, &f->given));
    nd_array *wide = nd__step_cast(s, a, compute);
    ND_STEP(s, lu, nd_lu_factor(wide, &o, &lu, &pivots));
    nd__steps_keep(s, pivots);
    f->diagonal = nd__step_diagonal(s, lu);
    ND_STEP(s, positions, nd_empty_like(pivots, ND_I64, &positions));
    ND_STEP_DO(s, nd__fill_positions(positions));
    nd_array *moved = nd__step2(s, ND_OP_not_equal, pivots, positions);
    nd_array *count = last_axis(s, ND_OP_sum, moved);
    nd_array *odd = nd__step_scalar(s, ND_OP_bitwise_and, count, nd_int(1));
    f->odd = nd__step_cast(s, odd, ND_BOOL);
}

/* Negative where an odd number of rows was exchanged. */
static nd_array *with_sign(factored *f, const nd_array *x)
{
    nd_array *negative = nd__step1(&f->s, ND_OP_negative, x);
    return nd__step_where(&f->s, f->odd, nd_array_arg(negative), nd_array_arg(x));
}

/* The determinant's phase, and the logarithm of its magnitude. */
static nd_array *phase_of(factored *f)
{
    nd_array *phases = nd__step1(&f->s, ND_OP_sign, f->diagonal);
    return with_sign(f, last_axis(&f->s, ND_OP_prod, phases));
}

static nd_array *log_of(factored *f)
{
    nd_array *size = nd__step1(&f->s, ND_OP_abs, f->diagonal);
    return last_axis(&f->s, ND_OP_sum, nd__step1(&f->s, ND_OP_log, size));
}

nd_status nd_slogdet(const nd_array *a, const nd_linalg_opts *opts, nd_array **sign,
                     nd_array **logabsdet)
{
    factored f;
    ND_OUT("slogdet", 2, sign, NULL);
    ND_OUT("slogdet", 3, logabsdet, NULL);
    factor("slogdet", a, opts, &f);
    nd_array *log = nd__step_cast(&f.s, log_of(&f), nd__real_of(f.given));
    nd_array *phase = nd__step_cast(&f.s, phase_of(&f), f.given);
    if (f.s.status == ND_OK)
        *logabsdet = nd_retain(log);
    return nd__steps_end(&f.s, "slogdet", phase, sign);
}

/* The product of the diagonal; where that is zero or not finite, which it may be but for its order
 * of multiplication, by way of the logarithm. */
nd_status nd_det(const nd_array *a, const nd_linalg_opts *opts, nd_array **out)
{
    factored f;
    nd_steps *s = &f.s;
    ND_OUT("det", 2, out, NULL);
    factor("det", a, opts, &f);
    nd_array *direct = with_sign(&f, last_axis(s, ND_OP_prod, f.diagonal));
    nd_array *finite = nd__step1(s, ND_OP_isfinite, direct);
    nd_array *nonzero = nd__step_scalar(s, ND_OP_not_equal, direct, nd_int(0));
    nd_array *good = nd__step2(s, ND_OP_logical_and, finite, nonzero);
    nd_array *size = nd__step1(s, ND_OP_exp, log_of(&f));
    nd_array *far = nd__step2(s, ND_OP_multiply, phase_of(&f), size);
    nd_array *det = nd__step_where(s, good, nd_array_arg(direct), nd_array_arg(far));
    return nd__steps_end(s, "det", nd__step_cast(s, det, f.given), out);
}
