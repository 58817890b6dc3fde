/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Steps of transforms by cosines and sines: what elements are turned by, and their parts. */
#include <stdlib.h>
#include "core/ops/turns.h"
#include "core/plugin/service/service.h"
#include "core/run/workspace.h"

enum { FEW_TURNS = 32, KEPT_MOST = 1 << 20 /* bytes of turns that are kept */ };

/* What tells turns apart, and what they are made of on the device of `like`. */
typedef struct {
    char name[8];
    int64_t count;
    double first, step, factor;
    nd_dtype dtype;
} turns_key;
typedef struct {
    const nd_array *like;
    turns_key key;
} wanted;

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

static nd_array *turns_of(nd_steps *s, const nd_array *a, const turns_key *k)
{
    nd_array *r = k->count < 4 * FEW_TURNS
                      ? unit_turns(s, a, k->count, k->first, k->step, k->factor)
                      : many_turns(s, a, k->count, k->first, k->step, k->factor);
    return nd__step_cast(s, r, k->dtype);
}

static int32_t keep_turns(void *arg, void **value, uint64_t *nbytes)
{
    const wanted *w = arg;
    nd_steps s = {.status = ND_OK};
    *nbytes = (uint64_t)w->key.count * (uint64_t)nd__itemsize(w->key.dtype);
    *value = malloc(*nbytes);
    if (!*value)
        return nd__fail(ND_ERR_MEMORY, "dct", -1, "no memory for %lld roots of unity",
                        (long long)w->key.count);
    const nd_array *r = turns_of(&s, w->like, &w->key);
    ND_STEP_DO(&s, nd_to_host(r, *value, *nbytes));
    const nd_status status = nd__steps_end(&s, "dct", NULL, NULL);
    if (status != ND_OK)
        free(*value);
    return status;
}

/* From the device's plan cache, which keeps them in the host's memory: few of them are copied in a
 * fraction of the time that sines take. */
static nd_array *kept_turns(nd_steps *s, const nd_array *a, const turns_key *key)
{
    wanted w = {.like = a, .key = *key};
    const nd_layout layout = {
        .size = sizeof layout, .dtype = key->dtype, .ndim = 1, .shape = &key->count};
    ndh_plan *use = NULL;
    void *kept = NULL;
    nd_array *r;
    ND_STEP_DO(s, nd__device_plan(a->storage->device, key, sizeof *key, keep_turns, free, &w, &use,
                                  &kept));
    ND_STEP(s, r, nd_from_host(&layout, kept, a->storage->device, &r));
    if (use)
        nd__plan_release(use, NULL);
    return r;
}

nd_array *nd__step_turns(nd_steps *s, const nd_array *a, int64_t count, double first, double step,
                         double factor)
{
    turns_key key;
    if (s->status != ND_OK)
        return NULL;
    memset(&key, 0, sizeof key); /* what is between its members is compared as well */
    memcpy(key.name, "turns", 5);
    key.count = count;
    key.first = first;
    key.step = step;
    key.factor = factor;
    key.dtype = a->dtype == ND_F32 || a->dtype == ND_C64 ? ND_C64 : ND_C128;
    const nd_device *device = a->storage->device;
    if (device->async || nd__is_noted(device) || count > KEPT_MOST / nd__itemsize(key.dtype))
        return turns_of(s, a, &key); /* a capture notes how they are made */
    return kept_turns(s, a, &key);
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
