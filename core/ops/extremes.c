/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Running extremes, made of steps that double their reach: after the k-th each element is the
 * extreme of the 2^k that end with it (Hillis and Steele, Communications of the ACM 29, 1986). */
#include "core/ops/steps.h"

static nd_status check(const char *op, const nd_array *a, const nd_scan_opts *o, bool given,
                       int *axis)
{
    if (!given && a->ndim != 1)
        return nd__fail(ND_ERR_ARGUMENT, op, 1, "rank %d needs options that name the axis",
                        a->ndim);
    if (o->dtype || o->include_initial)
        return nd__fail(ND_ERR_ARGUMENT, op, 1, "an extreme has no %s",
                        o->dtype ? "dtype but the array's" : "initial element");
    return nd__axis(op, given ? o->axis : 0, a->ndim, axis);
}

static nd_status extend(const char *op, nd_op extreme, const nd_array *r, int axis, int64_t reach)
{
    nd_steps s = {ND_OK};
    nd_array *later = nd__step_part(&s, r, axis, reach, ND_END_OPEN, 1);
    nd_array *earlier = nd__step_part(&s, r, axis, ND_END_OPEN, r->shape[axis] - reach, 1);
    const nd_arg both[2] = {nd_array_arg(later), nd_array_arg(earlier)};
    ND_STEP_DO(&s, nd_apply_into(extreme, both, 2, NULL, later));
    return nd__steps_end(&s, op, NULL, NULL);
}

static nd_status running(const char *op, nd_op extreme, const nd_array *a, const nd_scan_opts *opts,
                         nd_array **out)
{
    nd_scan_opts o;
    nd_steps s;
    int axis;
    *out = NULL;
    ND_RETURN_IF(nd__check_real(op, a, 0));
    ND_RETURN_IF(nd__read_options(op, opts, &o, sizeof o, NDP_END(nd_scan_opts, dtype)));
    ND_RETURN_IF(check(op, a, &o, opts != NULL, &axis));
    ND_RETURN_IF(nd__steps_begin(&s, op, a, opts));
    nd_array *r = nd__step_copy(&s, a);
    for (int64_t reach = 1; a->size && reach < a->shape[axis]; reach *= 2)
        ND_STEP_DO(&s, extend(op, extreme, r, axis, reach));
    return nd__steps_end(&s, op, r, out);
}

nd_status nd_cummax(const nd_array *a, const nd_scan_opts *opts, nd_array **out)
{
    ND_NEED("cummax", 2, out);
    return running("cummax", ND_OP_maximum, a, opts, out);
}

nd_status nd_cummin(const nd_array *a, const nd_scan_opts *opts, nd_array **out)
{
    ND_NEED("cummin", 2, out);
    return running("cummin", ND_OP_minimum, a, opts, out);
}
