/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Comparisons to a tolerance, and of whole arrays. */
#include <math.h>
#include "core/ops/steps.h"

static nd_status begin(nd_steps *s, const char *op, const nd_array *a, const nd_array *b)
{
    ND_RETURN_IF(nd__check_array(op, a, 0));
    ND_RETURN_IF(nd__check_array(op, b, 1));
    return nd__steps_begin(s, op, a, NULL);
}

static nd_array *both_nan(nd_steps *s, const nd_array *a, const nd_array *b)
{
    return nd__step2(s, ND_OP_logical_and, nd__step1(s, ND_OP_isnan, a),
                     nd__step1(s, ND_OP_isnan, b));
}

/* Half precision is compared in single: a difference must not overflow. */
static nd_array *close(nd_steps *s, const char *op, const nd_array *a, const nd_array *b,
                       double rtol, double atol, bool equal_nan)
{
    nd_dtype common = ND_F64;
    ND_STEP_DO(s, nd__promote(op, a->dtype, b->dtype, &common));
    common = nd__floating_of(common);
    common = nd__itemsize(common) == 2 ? ND_F32 : common;
    nd_array *x = nd__step_cast(s, a, common), *y = nd__step_cast(s, b, common);
    nd_array *distance = nd__step1(s, ND_OP_abs, nd__step2(s, ND_OP_subtract, x, y));
    nd_array *room = nd__step1(s, ND_OP_abs, y);
    room = nd__step_scalar(s, ND_OP_multiply, room, nd_float(rtol));
    room = nd__step_scalar(s, ND_OP_add, room, nd_float(atol));
    nd_array *r = nd__step2(s, ND_OP_less_equal, distance, room);
    r = nd__step2(s, ND_OP_logical_and, r, nd__step1(s, ND_OP_isfinite, y));
    r = nd__step2(s, ND_OP_logical_or, r, nd__step2(s, ND_OP_equal, x, y));
    return equal_nan ? nd__step2(s, ND_OP_logical_or, r, both_nan(s, x, y)) : r;
}

static nd_status check_tolerance(const char *op, double rtol, double atol)
{
    if (rtol >= 0 && atol >= 0)
        return ND_OK;
    return nd__fail(ND_ERR_ARGUMENT, op, rtol >= 0 ? 3 : 2,
                    "the tolerances are %g relative, %g absolute; neither is negative", rtol, atol);
}

nd_status nd_isclose(const nd_array *a, const nd_array *b, double rtol, double atol, int equal_nan,
                     nd_array **out)
{
    nd_steps s;
    ND_OUT("isclose", 5, out, NULL);
    ND_RETURN_IF(begin(&s, "isclose", a, b));
    s.status = check_tolerance("isclose", rtol, atol);
    nd_array *r = close(&s, "isclose", a, b, rtol, atol, equal_nan != 0);
    return nd__steps_end(&s, "isclose", r, out);
}

nd_status nd_allclose(const nd_array *a, const nd_array *b, double rtol, double atol, int equal_nan,
                      int32_t *answer)
{
    nd_steps s;
    ND_OUT("allclose", 5, answer, 0);
    ND_RETURN_IF(begin(&s, "allclose", a, b));
    s.status = check_tolerance("allclose", rtol, atol);
    nd_array *r = close(&s, "allclose", a, b, rtol, atol, equal_nan != 0);
    const bool all = nd__step_all(&s, r);
    *answer = s.status == ND_OK && all;
    return nd__steps_end(&s, "allclose", NULL, NULL);
}

static bool all_equal(nd_steps *s, const char *op, const nd_array *a, const nd_array *b,
                      bool equal_nan)
{
    nd_dtype common;
    ND_STEP_DO(s, nd__promote(op, a->dtype, b->dtype, &common));
    nd_array *r = nd__step2(s, ND_OP_equal, a, b);
    if (equal_nan)
        r = nd__step2(s, ND_OP_logical_or, r, both_nan(s, a, b));
    return nd__step_all(s, r);
}

nd_status nd_array_equal(const nd_array *a, const nd_array *b, int equal_nan, int32_t *answer)
{
    nd_steps s;
    ND_OUT("array_equal", 3, answer, 0);
    ND_RETURN_IF(begin(&s, "array_equal", a, b));
    if (nd__same_shape(a->ndim, a->shape, b->ndim, b->shape)) {
        const bool all = all_equal(&s, "array_equal", a, b, equal_nan != 0);
        *answer = s.status == ND_OK && all;
    }
    return nd__steps_end(&s, "array_equal", NULL, NULL);
}

static bool broadcast(const nd_array *a, const nd_array *b)
{
    for (int d = 1; d <= a->ndim && d <= b->ndim; d++) {
        const int64_t m = a->shape[a->ndim - d], n = b->shape[b->ndim - d];
        if (m != n && m != 1 && n != 1)
            return false;
    }
    return true;
}

nd_status nd_array_equiv(const nd_array *a, const nd_array *b, int32_t *answer)
{
    nd_steps s;
    ND_OUT("array_equiv", 2, answer, 0);
    ND_RETURN_IF(begin(&s, "array_equiv", a, b));
    if (broadcast(a, b)) {
        const bool all = all_equal(&s, "array_equiv", a, b, false);
        *answer = s.status == ND_OK && all;
    }
    return nd__steps_end(&s, "array_equiv", NULL, NULL);
}
