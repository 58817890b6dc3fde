/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Quantiles: sorted rows, and the line between two neighbours. */
#include <math.h>
#include "core/ops/quantile.h"

/* Where quantile q of n sorted elements lies, from 0: (n + longer)*q + shift, by method; Hyndman
 * and Fan, table 1. */
typedef struct {
    double q, longer, shift;
} place;

static place place_of(double q, int method)
{
    switch (method) {
    case ND_QUANTILE_INVERTED_CDF:
    case ND_QUANTILE_AVERAGED_INVERTED_CDF:
    case ND_QUANTILE_INTERPOLATED_INVERTED_CDF:
        return (place){q, 0, -1};
    case ND_QUANTILE_CLOSEST_OBSERVATION:
        return (place){q, 0, -1.5};
    case ND_QUANTILE_HAZEN:
        return (place){q, 0, -0.5};
    case ND_QUANTILE_WEIBULL:
        return (place){q, 0, q - 1};
    case ND_QUANTILE_MEDIAN_UNBIASED:
        return (place){q, 0, 1 / 3.0 + q * (1 - 2 / 3.0) - 1};
    case ND_QUANTILE_NORMAL_UNBIASED:
        return (place){q, 0, 0.375 + q * 0.25 - 1};
    default:
        return (place){q, -1, 0};
    }
}

/* How far from the lower neighbour to the upper one, by the fraction of the place; odd: the lower
 * neighbour's position is. */
static double weight_of(int method, double fraction, bool odd)
{
    switch (method) {
    case ND_QUANTILE_INVERTED_CDF:
    case ND_QUANTILE_HIGHER:
        return fraction > 0;
    case ND_QUANTILE_AVERAGED_INVERTED_CDF:
        return fraction > 0 ? 1 : 0.5;
    case ND_QUANTILE_CLOSEST_OBSERVATION:
        return !(fraction == 0 && odd);
    case ND_QUANTILE_LOWER:
        return 0;
    case ND_QUANTILE_NEAREST:
        return fraction > 0.5 || (fraction == 0.5 && odd);
    case ND_QUANTILE_MIDPOINT:
        return fraction > 0 ? 0.5 : 0;
    default:
        return fraction;
    }
}

bool nd__quantile_picks(int method)
{
    return method == ND_QUANTILE_INVERTED_CDF || method == ND_QUANTILE_CLOSEST_OBSERVATION ||
           method == ND_QUANTILE_LOWER || method == ND_QUANTILE_HIGHER ||
           method == ND_QUANTILE_NEAREST;
}

nd_between nd__quantile_between(int64_t n, double q, int method)
{
    const place p = place_of(q, method);
    const double at = ((double)n + p.longer) * p.q + p.shift, below = floor(at);
    nd_between b;
    b.weight = weight_of(method, at - below, fmod(below, 2) != 0);
    b.low = below < 0 ? 0 : below > (double)(n - 1) ? n - 1 : (int64_t)below;
    b.high = below + 1 < 0 ? 0 : below + 1 > (double)(n - 1) ? n - 1 : (int64_t)below + 1;
    if (b.weight == 0 || b.weight == 1)
        b.low = b.high = b.weight == 0 ? b.low : b.high;
    return b;
}

/* low + (high - low)*weight from the nearer end. Where the difference is infinite, the sum of the
 * parts: infinity itself, or the finite value between two that are far apart. Equal ends, infinite
 * ones too, are the result. */
static nd_array *between(nd_steps *s, const nd_array *low, const nd_array *high, double weight)
{
    const double nearer = weight < 0.5 ? weight : 1 - weight;
    nd_array *step = nd__step2(s, ND_OP_subtract, high, low);
    nd_array *part = nd__step_scalar(s, ND_OP_multiply, step, nd_float(nearer));
    nd_array *r = weight < 0.5 ? nd__step2(s, ND_OP_add, low, part)
                               : nd__step2(s, ND_OP_subtract, high, part);
    nd_array *below = nd__step_scalar(s, ND_OP_multiply, low, nd_float(1 - weight));
    nd_array *above = nd__step_scalar(s, ND_OP_multiply, high, nd_float(weight));
    nd_array *sum = nd__step2(s, ND_OP_add, below, above);
    nd_array *plain = nd__step1(s, ND_OP_isfinite, step);
    r = nd__step_where(s, plain, nd_array_arg(r), nd_array_arg(sum));
    nd_array *same = nd__step2(s, ND_OP_equal, low, high);
    return nd__step_where(s, same, nd_array_arg(low), nd_array_arg(r));
}

nd_array *nd__quantile_of_sorted(nd_steps *s, const nd_array *sorted, const nd_between *b,
                                 nd_dtype compute)
{
    const int axis = sorted ? sorted->ndim - 1 : 0;
    nd_array *low = nd__step_at(s, sorted, axis, b->low);
    low = nd__step_cast(s, low, compute);
    if (b->low == b->high)
        return low;
    nd_array *high = nd__step_at(s, sorted, axis, b->high);
    high = nd__step_cast(s, high, compute);
    return between(s, low, high, b->weight);
}

/* ---- rows of different lengths: places and weights are arrays ---- */
static nd_array *weights(nd_steps *s, int method, nd_array *fraction, nd_array *below)
{
    const nd_arg one = nd_scalar_arg(nd_float(1)), none = nd_scalar_arg(nd_float(0)),
                 half = nd_scalar_arg(nd_float(0.5));
    nd_array *above = nd__step_scalar(s, ND_OP_greater, fraction, nd_float(0));
    nd_array *odd = nd__step_scalar(s, ND_OP_remainder, below, nd_float(2));
    nd_array *is_half = nd__step_scalar(s, ND_OP_equal, fraction, nd_float(0.5));
    nd_array *tie = nd__step2(s, ND_OP_logical_and, is_half, odd);
    nd_array *more = nd__step_scalar(s, ND_OP_greater, fraction, nd_float(0.5));
    nd_array *even = nd__step1(s, ND_OP_logical_not, odd);
    switch (method) {
    case ND_QUANTILE_INVERTED_CDF:
    case ND_QUANTILE_HIGHER:
        return nd__step_where(s, above, one, none);
    case ND_QUANTILE_AVERAGED_INVERTED_CDF:
        return nd__step_where(s, above, one, half);
    case ND_QUANTILE_CLOSEST_OBSERVATION:
        above = nd__step2(s, ND_OP_logical_or, above, even);
        return nd__step_where(s, above, one, none);
    case ND_QUANTILE_LOWER:
        return nd__step_scalar(s, ND_OP_multiply, fraction, nd_float(0));
    case ND_QUANTILE_NEAREST:
        more = nd__step2(s, ND_OP_logical_or, more, tie);
        return nd__step_where(s, more, one, none);
    case ND_QUANTILE_MIDPOINT:
        return nd__step_where(s, above, half, none);
    default:
        return fraction;
    }
}

/* The elements at position, a column of floats, clipped to what the row has. */
static nd_array *elements(nd_steps *s, const nd_array *sorted, const nd_array *position,
                          const nd_array *last, nd_dtype compute)
{
    nd_array *r;
    nd_array *at = nd__step2(s, ND_OP_minimum, position, last);
    at = nd__step_scalar(s, ND_OP_maximum, at, nd_float(0));
    at = nd__step_cast(s, at, ND_I64);
    ND_STEP(s, r, nd_take_along_axis(sorted, at, -1, &r));
    return nd__step_cast(s, r, compute);
}

/* As `between`, with a weight for each row. */
static nd_array *between_each(nd_steps *s, const nd_array *low, const nd_array *high,
                              const nd_array *weight)
{
    nd_array *same = nd__step2(s, ND_OP_equal, low, high);
    nd_array *whole = nd__step_scalar(s, ND_OP_equal, weight, nd_float(1));
    nd_array *none = nd__step_scalar(s, ND_OP_equal, weight, nd_float(0));
    nd_array *step = nd__step2(s, ND_OP_subtract, high, low);
    nd_array *rest = nd__step_from_scalar(s, ND_OP_subtract, nd_float(1), weight);
    nd_array *up = nd__step2(s, ND_OP_add, low, nd__step2(s, ND_OP_multiply, step, weight));
    nd_array *down = nd__step2(s, ND_OP_subtract, high, nd__step2(s, ND_OP_multiply, step, rest));
    nd_array *sum = nd__step2(s, ND_OP_add, nd__step2(s, ND_OP_multiply, low, rest),
                              nd__step2(s, ND_OP_multiply, high, weight));
    nd_array *near = nd__step_scalar(s, ND_OP_less, weight, nd_float(0.5));
    nd_array *plain = nd__step1(s, ND_OP_isfinite, step);
    nd_array *r = nd__step_where(s, near, nd_array_arg(up), nd_array_arg(down));
    r = nd__step_where(s, plain, nd_array_arg(r), nd_array_arg(sum));
    none = nd__step2(s, ND_OP_logical_or, none, same);
    r = nd__step_where(s, none, nd_array_arg(low), nd_array_arg(r));
    return nd__step_where(s, whole, nd_array_arg(high), nd_array_arg(r));
}

nd_array *nd__quantile_of_counted(nd_steps *s, const nd_array *sorted, const nd_array *count,
                                  double q, int method, nd_dtype compute)
{
    const place p = place_of(q, method);
    nd_array *n = nd__step_cast(s, count, ND_F64);
    nd_array *last = nd__step_scalar(s, ND_OP_subtract, n, nd_float(1));
    nd_array *at = nd__step_scalar(s, ND_OP_add, n, nd_float(p.longer));
    at = nd__step_scalar(s, ND_OP_multiply, at, nd_float(p.q));
    at = nd__step_scalar(s, ND_OP_add, at, nd_float(p.shift));
    nd_array *below = nd__step1(s, ND_OP_floor, at);
    nd_array *fraction = nd__step2(s, ND_OP_subtract, at, below);
    nd_array *weight = weights(s, method, fraction, below);
    nd_array *next = nd__step_scalar(s, ND_OP_add, below, nd_float(1));
    nd_array *low = elements(s, sorted, below, last, compute);
    nd_array *high = elements(s, sorted, next, last, compute);
    weight = nd__step_cast(s, weight, compute);
    nd_array *r = between_each(s, low, high, weight);
    nd_array *empty = nd__step_scalar(s, ND_OP_equal, count, nd_int(0));
    return nd__step_where(s, empty, nd_scalar_arg(nd_float(NAN)), nd_array_arg(r));
}
