/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Steps of transforms by cosines and sines: what elements are turned by, and their parts. */
#include "core/ops/turns.h"

enum { FEW_TURNS = 32 };

/* factor * exp(i * (first + k*step) * pi), k < count, c128. */
static nd_array *unit_turns(nd_steps *s, const nd_array *a, int64_t count, double first,
                            double step, double factor)
{
    const double pi = 3.14159265358979323846;
    nd_array *r;
    nd_array *k = nd__step_cast(s, nd__step_range(s, a, 0, count), ND_F64);
    k = nd__step_scalar(s, ND_OP_multiply, k, nd_float(step * pi));
    if (first != 0)
        k = nd__step_scalar(s, ND_OP_add, k, nd_float(first * pi));
    ND_STEP(s, r, nd_empty(a->storage->device, ND_C128, 1, &count, &r));
    nd_array *re = nd__step_parts(s, r, 0), *im = nd__step_parts(s, r, 1);
    ND_STEP_DO(s, nd_cos_into(k, re));
    ND_STEP_DO(s, nd_sin_into(k, im));
    return factor == 1 ? r : nd__step_scalar(s, ND_OP_multiply, r, nd_float(factor));
}

/* The same of many: products of so many turns that are FEW_TURNS steps apart and of those between,
 * since a sine takes many times as long as a product. */
static nd_array *many_turns(nd_steps *s, const nd_array *a, int64_t count, double first,
                            double step, double factor)
{
    const int64_t few = count < FEW_TURNS * FEW_TURNS * 4 ? FEW_TURNS : 4 * FEW_TURNS;
    const int64_t blocks = (count + few - 1) / few, all[1] = {-1}, column[2] = {blocks, 1};
    nd_array *far = unit_turns(s, a, blocks, first, step * (double)few, factor);
    nd_array *near = unit_turns(s, a, few, 0, step, 1);
    nd_array *k = nd__step2(s, ND_OP_multiply, nd__step_reshape(s, far, 2, column), near);
    return nd__step_part(s, nd__step_reshape(s, k, 1, all), 0, 0, count, 1);
}

nd_array *nd__step_turns(nd_steps *s, const nd_array *a, int64_t count, double first, double step,
                         double factor)
{
    if (s->status != ND_OK)
        return NULL;
    const nd_dtype dtype = a->dtype == ND_F32 || a->dtype == ND_C64 ? ND_C64 : ND_C128;
    nd_array *k = count < 4 * FEW_TURNS ? unit_turns(s, a, count, first, step, factor)
                                        : many_turns(s, a, count, first, step, factor);
    return nd__step_cast(s, k, dtype);
}

nd_array *nd__step_parts(nd_steps *s, const nd_array *a, int which)
{
    int64_t stride[ND_MAX_NDIM];
    nd_array *r;
    if (s->status != ND_OK)
        return NULL;
    for (int d = 0; d < a->ndim; d++)
        stride[d] = 2 * a->stride[d];
    const nd_dtype dtype = a->dtype == ND_C64 ? ND_F32 : ND_F64;
    ND_STEP(s, r,
            nd__array_new(a->storage, dtype, a->ndim, a->shape, stride, 2 * a->offset + which,
                          false, &r));
    return r;
}
