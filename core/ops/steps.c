/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Steps of operations that are made of others. */
#include "core/ops/steps.h"

nd_status nd__steps_begin(nd_steps *s, const char *op, const nd_array *a, const void *opts)
{
    s->n = 0;
    ND_RETURN_IF(s->status = nd__check_array(op, a, 0));
    return s->status = nd__scope_of(op, a, opts, &s->scope);
}

void nd__steps_keep(nd_steps *s, nd_array *a)
{
    if (!a)
        return;
    if (s->n < ND_STEPS) {
        s->made[s->n++] = a;
        return;
    }
    nd_release(a);
    s->status = nd__fail(ND_ERR_INTERNAL, "steps", -1, "more than %d steps", ND_STEPS);
}

nd_status nd__steps_end(nd_steps *s, const char *op, nd_array *result, nd_array **out)
{
    if (s->status == ND_OK && out)
        *out = nd_retain(result);
    while (s->n > 0)
        nd_release(s->made[--s->n]);
    nd__scope_leave(&s->scope);
    return nd__error_as(op, s->status);
}

static nd_array *apply(nd_steps *s, nd_op op, const nd_arg *args, int n)
{
    nd_array *r;
    ND_STEP(s, r, nd_apply(op, args, n, NULL, &r));
    return r;
}

nd_array *nd__step1(nd_steps *s, nd_op op, const nd_array *a)
{
    const nd_arg args[1] = {nd_array_arg(a)};
    return apply(s, op, args, 1);
}

nd_array *nd__step2(nd_steps *s, nd_op op, const nd_array *a, const nd_array *b)
{
    const nd_arg args[2] = {nd_array_arg(a), nd_array_arg(b)};
    return apply(s, op, args, 2);
}

nd_array *nd__step_scalar(nd_steps *s, nd_op op, const nd_array *a, nd_scalar b)
{
    const nd_arg args[2] = {nd_array_arg(a), nd_scalar_arg(b)};
    return apply(s, op, args, 2);
}

nd_array *nd__step_from_scalar(nd_steps *s, nd_op op, nd_scalar a, const nd_array *b)
{
    const nd_arg args[2] = {nd_scalar_arg(a), nd_array_arg(b)};
    return apply(s, op, args, 2);
}

nd_array *nd__step3(nd_steps *s, nd_op op, const nd_array *a, const nd_array *b, const nd_array *c)
{
    const nd_arg args[3] = {nd_array_arg(a), nd_array_arg(b), nd_array_arg(c)};
    return apply(s, op, args, 3);
}

nd_array *nd__step_where(nd_steps *s, const nd_array *mask, nd_arg yes, nd_arg no)
{
    const nd_arg args[3] = {nd_array_arg(mask), yes, no};
    return apply(s, ND_OP_where, args, 3);
}

nd_array *nd__step_copy(nd_steps *s, const nd_array *a)
{
    nd_array *r;
    ND_STEP(s, r, nd_copy(a, NULL, &r));
    return r;
}

nd_array *nd__step_cast(nd_steps *s, const nd_array *a, nd_dtype dtype)
{
    nd_array *r;
    ND_STEP(s, r, nd__cast(a, dtype, &r));
    return r;
}

nd_array *nd__step_reshape(nd_steps *s, const nd_array *a, int ndim, const int64_t *shape)
{
    nd_array *r;
    ND_STEP(s, r, nd_reshape_copy(a, ndim, shape, &r));
    return r;
}

nd_array *nd__step_flat(nd_steps *s, const nd_array *a)
{
    nd_array *r;
    ND_STEP(s, r, nd_reshape_copy(a, 1, &a->size, &r));
    return r;
}

nd_array *nd__step_moveaxis(nd_steps *s, const nd_array *a, int from, int to)
{
    const int32_t source[1] = {from}, destination[1] = {to};
    nd_array *r;
    ND_STEP(s, r, nd_moveaxis(a, 1, source, destination, &r));
    return r;
}

nd_array *nd__step_part(nd_steps *s, const nd_array *a, int axis, int64_t start, int64_t stop,
                        int64_t step)
{
    nd_index index[ND_MAX_NDIM];
    nd_array *r;
    for (int d = 0; d < axis; d++)
        index[d] = nd_all_of();
    index[axis] = nd_range(start, stop, step);
    ND_STEP(s, r, nd_slice(a, index, axis + 1, &r));
    return r;
}

nd_array *nd__step_at(nd_steps *s, const nd_array *a, int axis, int64_t at)
{
    nd_array *r;
    ND_STEP(s, r, nd__part(a, axis, at, 1, &r));
    return r;
}

nd_array *nd__step_reduce(nd_steps *s,
                          nd_status (*f)(const nd_array *, const nd_reduce_opts *, nd_array **),
                          const nd_array *a, int axis, bool keepdims)
{
    const int32_t axes[1] = {axis};
    const nd_reduce_opts opts = {
        .size = sizeof opts, .axes = axes, .naxes = 1, .keepdims = keepdims};
    nd_array *r;
    ND_STEP(s, r, f(a, &opts, &r));
    return r;
}

nd_array *nd__step_range(nd_steps *s, const nd_array *a, int64_t start, int64_t stop)
{
    nd_array *r;
    ND_STEP(s, r,
            nd_arange(a->storage->device, ND_I64, nd_int(start), nd_int(stop), nd_int(1), &r));
    return r;
}

static nd_scalar value(nd_steps *s, const nd_array *a)
{
    nd_scalar v = nd_int(0);
    ND_STEP_DO(s, nd__item("item", a, ND_WAIT_SHAPE, &v));
    return v;
}

double nd__step_value(nd_steps *s, const nd_array *a)
{
    const nd_scalar v = value(s, a);
    return v.kind == ND_F64   ? v.v.f
           : v.kind == ND_I64 ? (double)v.v.i
           : v.kind == ND_U64 ? (double)v.v.u
                              : (double)(v.v.u != 0);
}

int64_t nd__step_int(nd_steps *s, const nd_array *a)
{
    const nd_scalar v = value(s, a);
    return v.kind == ND_U64 && v.v.u > INT64_MAX ? INT64_MAX : v.v.i;
}

uint64_t nd__step_unsigned(nd_steps *s, const nd_array *a)
{
    const nd_scalar v = value(s, a);
    return v.v.u;
}

bool nd__step_all(nd_steps *s, const nd_array *a)
{
    nd_array *all;
    ND_STEP(s, all, nd_all(a, NULL, &all));
    return value(s, all).v.u != 0;
}

nd_status nd__check_real(const char *op, const nd_array *a, int32_t argument)
{
    ND_RETURN_IF(nd__check_array(op, a, argument));
    if (nd__kind(a->dtype) & ND_KIND_COMPLEX)
        return nd__fail(ND_ERR_DTYPE, op, argument, "%s has no order; take nd_real or nd_abs of it",
                        nd_dtype_name(a->dtype));
    return ND_OK;
}

nd_dtype nd__floating_of(nd_dtype dtype)
{
    return nd__kind(dtype) & (ND_KIND_FLOAT | ND_KIND_COMPLEX) ? dtype : nd_default_float();
}
