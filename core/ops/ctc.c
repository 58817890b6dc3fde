/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Connectionist temporal classification: the sums over paths, forward and backward, as rows of
 * logarithms that are moved from one time to the next on the device.
 *
 * Targets are extended by blanks before, between and behind: state 2k+1 is target k. A path goes on
 * from its state, from the one before, or from two before where that skips a blank between two
 * different targets. */
#include <math.h>
#include <ndock/loss.h>
#include "core/ops/neural.h"

typedef struct {
    const char *name;
    nd_ctc_loss_opts o;
    nd_dtype dtype, wide;
    int64_t t, n, classes, targets, states;
} ctc;

/* What all times share. */
typedef struct {
    nd_array *a;       /* (t, n, states): log-probabilities of the states' classes */
    nd_array *classes; /* (n, states), i64 */
    nd_array *skips;   /* (n, states), bool: may come from two before */
    nd_array *lengths; /* of a, (n, 1), i64 */
    nd_array *last;    /* (n, 1), i64: the last state, twice the target's length */
} paths;

static nd_status check_lengths(const ctc *p, const nd_array *a, const nd_array *lengths, int i)
{
    ND_RETURN_IF(nd__check_array(p->name, lengths, i));
    if (!(nd__kind(lengths->dtype) & (ND_KIND_INT | ND_KIND_UINT)))
        return nd__fail(ND_ERR_DTYPE, p->name, i, "argument %d is of dtype %s; it must be integers",
                        i, nd_dtype_name(lengths->dtype));
    ND_RETURN_IF(nd__check_same_device(p->name, a, lengths, 0, i));
    return nd__check_shape_is(p->name, lengths, 1, &p->n, i);
}

/* a is argument `from`. */
static nd_status start(ctc *p, int from, const nd_array *a, const nd_array *y,
                       const nd_array *a_lengths, const nd_array *y_lengths,
                       const nd_ctc_loss_opts *opts)
{
    ND_RETURN_IF(
        nd__read_options(p->name, opts, &p->o, sizeof p->o, NDP_END(nd_ctc_loss_opts, stream)));
    ND_RETURN_IF(nd__check_floating(p->name, a, a, from));
    ND_RETURN_IF(nd__check_array(p->name, y, from + 1));
    if (p->o.reduction < ND_LOSS_MEAN || p->o.reduction > ND_LOSS_NONE)
        return nd__fail(ND_ERR_ARGUMENT, p->name, -1,
                        "%d is no reduction; ND_LOSS_MEAN, _SUM and _NONE are 0 to 2",
                        (int)p->o.reduction);
    if (a->ndim != 3 || y->ndim != 2 || y->shape[0] != a->shape[1])
        return nd__fail(ND_ERR_SHAPE, p->name, from,
                        "log-probabilities and targets do not fit; they are (t, n, classes) and "
                        "(n, s)");
    if (!(nd__kind(y->dtype) & (ND_KIND_INT | ND_KIND_UINT)))
        return nd__fail(ND_ERR_DTYPE, p->name, from + 1,
                        "targets are of dtype %s; they must be integers", nd_dtype_name(y->dtype));
    p->dtype = a->dtype;
    p->wide = nd__wide_of(a->dtype);
    p->t = a->shape[0];
    p->n = a->shape[1];
    p->classes = a->shape[2];
    p->targets = y->shape[1];
    p->states = 2 * p->targets + 1;
    if (p->t == 0 || p->o.blank < 0 || p->o.blank >= p->classes)
        return nd__fail(ND_ERR_ARGUMENT, p->name, -1,
                        "there are %lld times and %lld classes, of which %lld is the blank",
                        (long long)p->t, (long long)p->classes, (long long)p->o.blank);
    ND_RETURN_IF(nd__check_same_device(p->name, a, y, from, from + 1));
    ND_RETURN_IF(check_lengths(p, a, a_lengths, from + 2));
    return check_lengths(p, a, y_lengths, from + 3);
}

static nd_array *filled(nd_steps *s, const nd_array *like, nd_dtype dtype, int64_t rows,
                        int64_t columns, nd_scalar value)
{
    const int64_t shape[2] = {rows, columns};
    nd_array *r;
    ND_STEP(s, r, nd_full(like->storage->device, dtype, 2, shape, value, &r));
    return r;
}

/* The classes of the states: blanks with the targets at odd places, those beyond a line's length as
 * blanks too, whatever they hold. */
static nd_array *extended(nd_steps *s, const ctc *p, const nd_array *y, const nd_array *lengths)
{
    const int64_t column[2] = {p->n, 1};
    nd_array *r = filled(s, y, ND_I64, p->n, p->states, nd_int(p->o.blank));
    nd_array *counts = nd__step_reshape(s, nd__step_cast(s, lengths, ND_I64), 2, column);
    nd_array *inside = nd__step2(s, ND_OP_less, nd__step_range(s, y, 0, p->targets), counts);
    nd_array *own = nd__step_where(s, inside, nd_array_arg(nd__step_cast(s, y, ND_I64)),
                                   nd_scalar_arg(nd_int(p->o.blank)));
    if (p->targets > 0) {
        nd_array *odd = nd__step_part(s, r, 1, 1, ND_END_OPEN, 2);
        ND_STEP_DO(s, nd__copy_into(own, odd));
    }
    return r;
}

static paths make_paths(nd_steps *s, const ctc *p, const nd_array *a, const nd_array *y,
                        const nd_array *a_lengths, const nd_array *y_lengths)
{
    const int64_t column[2] = {p->n, 1}, all[3] = {p->t, p->n, p->states};
    paths x = {NULL, NULL, NULL, NULL, NULL};
    x.classes = extended(s, p, y, y_lengths);
    nd_array *at = nd__step_broadcast(s, x.classes, 3, all);
    ND_STEP(s, x.a, nd_gather(a, at, 2, &x.a));
    x.a = nd__step_cast(s, x.a, p->wide);
    x.skips = filled(s, a, ND_BOOL, p->n, p->states, nd_bool(false));
    if (p->targets > 1) {
        nd_array *later = nd__step_part(s, x.classes, 1, 3, ND_END_OPEN, 2);
        nd_array *sooner = nd__step_part(s, x.classes, 1, 1, -2, 2);
        nd_array *differ = nd__step2(s, ND_OP_not_equal, later, sooner);
        nd_array *odd = nd__step_part(s, x.skips, 1, 3, ND_END_OPEN, 2);
        ND_STEP_DO(s, nd__copy_into(differ, odd));
    }
    x.lengths = nd__step_reshape(s, nd__step_cast(s, a_lengths, ND_I64), 2, column);
    x.last = nd__step_reshape(s, nd__step_cast(s, y_lengths, ND_I64), 2, column);
    x.last = nd__step_scalar(s, ND_OP_multiply, x.last, nd_int(2));
    return x;
}

static const double none = -INFINITY;

/* Row (n, states) moved by k states towards the end (k > 0) or the front, -inf coming in. */
static nd_array *moved(nd_steps *s, const ctc *p, const nd_array *row, int64_t k)
{
    const int64_t by = k > 0 ? k : -k, in = by < p->states ? by : p->states;
    nd_array *r, *fill = filled(s, row, p->wide, p->n, in, nd_float(none));
    nd_array *kept = k > 0 ? nd__step_part(s, row, 1, 0, p->states - in, 1)
                           : nd__step_part(s, row, 1, in, ND_END_OPEN, 1);
    const nd_array *const parts[2] = {k > 0 ? fill : kept, k > 0 ? kept : fill};
    ND_STEP(s, r, nd_concat(2, parts, 1, &r));
    return r;
}

static nd_array *log_sum(nd_steps *s, const nd_array *a, const nd_array *b)
{
    return nd__step2(s, ND_OP_logaddexp, a, b);
}

static nd_array *or_none(nd_steps *s, const nd_array *mask, const nd_array *a)
{
    return nd__step_where(s, mask, nd_array_arg(a), nd_scalar_arg(nd_float(none)));
}

/* What a path may come from: the state, the one before and, where that may be, two before. */
static nd_array *from_before(nd_steps *s, const ctc *p, const paths *x, const nd_array *row)
{
    nd_array *two = or_none(s, x->skips, moved(s, p, row, 2));
    return log_sum(s, log_sum(s, row, moved(s, p, row, 1)), two);
}

/* The same in the other direction. */
static nd_array *from_behind(nd_steps *s, const ctc *p, const paths *x, const nd_array *row)
{
    nd_array *two = moved(s, p, or_none(s, x->skips, row), -2);
    return log_sum(s, log_sum(s, row, moved(s, p, row, -1)), two);
}

/* The rows of one time. */
static nd_array *at_time(nd_steps *s, const nd_array *a, int64_t t)
{
    const nd_index at[1] = {nd_at(t)};
    nd_array *r;
    ND_STEP(s, r, nd_slice(a, at, 1, &r));
    return r;
}

/* The states 0 and 1, or those that lie at the end of their line and before it. */
static nd_array *first_states(nd_steps *s, const ctc *p, const nd_array *like)
{
    nd_array *at = nd__step_range(s, like, 0, p->states);
    return nd__step_scalar(s, ND_OP_less, at, nd_int(2));
}

static nd_array *last_states(nd_steps *s, const ctc *p, const paths *x)
{
    nd_array *at = nd__step_range(s, x->last, 0, p->states);
    nd_array *behind = nd__step2(s, ND_OP_subtract, x->last, at); /* 0 or 1 */
    nd_array *low = nd__step_scalar(s, ND_OP_greater_equal, behind, nd_int(0));
    nd_array *high = nd__step_scalar(s, ND_OP_less, behind, nd_int(2));
    return nd__step2(s, ND_OP_logical_and, low, high);
}

/* One time's step of the sums forward: rows[t] from rows[t - 1]. Beyond a line's length its sums
 * stay. */
static nd_status forward_step(const ctc *p, const paths *x, int64_t t, const nd_array *rows)
{
    nd_steps s = {ND_OK};
    nd_array *now = at_time(&s, x->a, t), *r;
    if (t == 0) {
        r = or_none(&s, first_states(&s, p, x->a), now);
    } else {
        nd_array *before = at_time(&s, rows, t - 1);
        r = nd__step2(&s, ND_OP_add, from_before(&s, p, x, before), now);
        nd_array *runs = nd__step_scalar(&s, ND_OP_greater, x->lengths, nd_int(t));
        r = nd__step_where(&s, runs, nd_array_arg(r), nd_array_arg(before));
    }
    ND_STEP_DO(&s, nd__copy_into(r, at_time(&s, rows, t)));
    return nd__steps_end(&s, p->name, NULL, NULL);
}

/* One time's step backward: without that time's own log-probability. */
static nd_status backward_step(const ctc *p, const paths *x, int64_t t, const nd_array *rows)
{
    nd_steps s = {ND_OK};
    nd_array *ends = filled(&s, x->a, p->wide, p->n, p->states, nd_float(none));
    ends =
        nd__step_where(&s, last_states(&s, p, x), nd_scalar_arg(nd_float(0)), nd_array_arg(ends));
    nd_array *r = ends;
    if (t + 1 < p->t) {
        nd_array *next =
            nd__step2(&s, ND_OP_add, at_time(&s, rows, t + 1), at_time(&s, x->a, t + 1));
        nd_array *runs = nd__step_scalar(&s, ND_OP_greater, x->lengths, nd_int(t + 1));
        r = nd__step_where(&s, runs, nd_array_arg(from_behind(&s, p, x, next)), nd_array_arg(ends));
    }
    ND_STEP_DO(&s, nd__copy_into(r, at_time(&s, rows, t)));
    return nd__steps_end(&s, p->name, NULL, NULL);
}

static nd_array *all_forward(nd_steps *s, const ctc *p, const paths *x)
{
    const int64_t shape[3] = {p->t, p->n, p->states};
    nd_array *rows = nd__step_new(s, x->a, p->wide, 3, shape);
    for (int64_t t = 0; t < p->t; t++)
        ND_STEP_DO(s, forward_step(p, x, t, rows));
    return rows;
}

/* Losses of lines, (n). */
static nd_array *losses_of(nd_steps *s, const ctc *p, const paths *x, const nd_array *rows)
{
    const int32_t axis = 1;
    const nd_reduce_opts o = {.size = sizeof o, .axes = &axis, .naxes = 1};
    nd_array *r, *ends = or_none(s, last_states(s, p, x), at_time(s, rows, p->t - 1));
    ND_STEP(s, r, nd_logsumexp(ends, &o, &r));
    return nd__step1(s, ND_OP_negative, r);
}

/* Which losses count, where infinite ones do not. */
static nd_array *zeroed(nd_steps *s, const ctc *p, const nd_array *losses, nd_array *r)
{
    if (!p->o.zero_infinity)
        return r;
    nd_array *finite = nd__step1(s, ND_OP_isfinite, losses);
    return nd__step_where(s, finite, nd_array_arg(r), nd_scalar_arg(nd_float(0)));
}

/* By what the mean divides each loss: its target's length and how many lines there are. */
static nd_array *divisors(nd_steps *s, const ctc *p, const nd_array *y_lengths)
{
    nd_array *r = nd__step_scalar(s, ND_OP_maximum, nd__step_cast(s, y_lengths, ND_I64), nd_int(1));
    return nd__step_scalar(s, ND_OP_multiply, nd__step_cast(s, r, p->wide), nd_float((double)p->n));
}

nd_status nd_ctc_loss(const nd_array *a, const nd_array *y, const nd_array *a_lengths,
                      const nd_array *y_lengths, const nd_ctc_loss_opts *opts, nd_array **out)
{
    ctc p = {.name = "ctc_loss"};
    nd_steps s;
    ND_OUT(p.name, 5, out, NULL);
    ND_RETURN_IF(nd__check_array(p.name, a, 0));
    ND_RETURN_IF(start(&p, 0, a, y, a_lengths, y_lengths, opts));
    ND_RETURN_IF(nd__steps_begin(&s, p.name, a, opts));
    const paths x = make_paths(&s, &p, a, y, a_lengths, y_lengths);
    nd_array *r = losses_of(&s, &p, &x, all_forward(&s, &p, &x));
    r = zeroed(&s, &p, r, r);
    if (p.o.reduction == ND_LOSS_MEAN)
        r = nd__step2(&s, ND_OP_divide, r, divisors(&s, &p, y_lengths));
    if (p.o.reduction != ND_LOSS_NONE)
        r = nd__step_sum(&s, r, 1, 0);
    return nd__steps_end(&s, p.name, nd__step_cast(&s, r, p.dtype), out);
}

/* g for each line, (n, 1), in the wide dtype. */
static nd_array *spread(nd_steps *s, const ctc *p, const nd_array *g, const nd_array *losses,
                        const nd_array *y_lengths)
{
    const int64_t column[2] = {p->n, 1};
    nd_array *r = nd__step_broadcast(s, nd__step_cast(s, g, p->wide), 1, &p->n);
    if (p->o.reduction == ND_LOSS_MEAN)
        r = nd__step2(s, ND_OP_divide, r, divisors(s, p, y_lengths));
    return nd__step_reshape(s, zeroed(s, p, losses, r), 2, column);
}

/* Minus the share of a line's probability that goes through each state at each time. */
static nd_array *shares(nd_steps *s, const ctc *p, const paths *x, const nd_array *forward,
                        const nd_array *losses)
{
    const int64_t shape[3] = {p->t, p->n, p->states}, column[3] = {1, p->n, 1};
    const int64_t times[3] = {p->t, 1, 1};
    nd_array *backward = nd__step_new(s, x->a, p->wide, 3, shape);
    for (int64_t t = p->t - 1; t >= 0; t--)
        ND_STEP_DO(s, backward_step(p, x, t, backward));
    nd_array *r = nd__step2(s, ND_OP_add, forward, backward);
    r = nd__step2(s, ND_OP_add, r, nd__step_reshape(s, losses, 3, column));
    r = nd__step1(s, ND_OP_negative, nd__step1(s, ND_OP_exp, r));
    nd_array *time = nd__step_reshape(s, nd__step_range(s, x->a, 0, p->t), 3, times);
    nd_array *runs = nd__step2(s, ND_OP_less, time, nd__step_reshape(s, x->lengths, 3, column));
    return nd__step_where(s, runs, nd_array_arg(r), nd_scalar_arg(nd_float(0)));
}

nd_status nd_ctc_loss_grad(const nd_array *g, const nd_array *a, const nd_array *y,
                           const nd_array *a_lengths, const nd_array *y_lengths,
                           const nd_ctc_loss_opts *opts, nd_array **out)
{
    ctc p = {.name = "ctc_loss_grad"};
    nd_steps s;
    nd_array *r;
    ND_OUT(p.name, 6, out, NULL);
    ND_RETURN_IF(nd__check_array(p.name, g, 0));
    ND_RETURN_IF(nd__check_array(p.name, a, 1));
    ND_RETURN_IF(start(&p, 1, a, y, a_lengths, y_lengths, opts));
    ND_RETURN_IF(nd__check_floating(p.name, a, g, 0));
    ND_RETURN_IF(nd__check_shape_is(p.name, g, p.o.reduction == ND_LOSS_NONE, &p.n, 0));
    ND_RETURN_IF(nd__steps_begin(&s, p.name, g, opts));
    const paths x = make_paths(&s, &p, a, y, a_lengths, y_lengths);
    const int64_t all[3] = {p.t, p.n, p.states};
    nd_array *forward = all_forward(&s, &p, &x);
    nd_array *losses = losses_of(&s, &p, &x, forward);
    nd_array *each = shares(&s, &p, &x, forward, losses);
    nd_array *by = spread(&s, &p, g, losses, y_lengths);
    each = nd__step2(&s, ND_OP_multiply, each, by);
    if (p.o.zero_infinity) {
        nd_array *finite = nd__step1(&s, ND_OP_isfinite, losses);
        each = nd__step_where(&s, nd__step_along(&s, finite, 3, 1), nd_array_arg(each),
                              nd_scalar_arg(nd_float(0)));
    }
    ND_STEP(&s, r, nd_zeros(a->storage->device, p.wide, 3, a->shape, &r));
    nd_array *classes = nd__step_broadcast(&s, x.classes, 3, all);
    ND_STEP_DO(&s, nd_scatter_into(classes, each, 2, ND_SCATTER_ADD, r));
    return nd__steps_end(&s, p.name, nd__step_cast(&s, r, p.dtype), out);
}
