/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Samples: positions with and without replacement, categories, counts of categories, shuffled
 * arrays. */
#include <math.h>
#include "core/ops/sampling.h"

/* ---- weights as integers, whose sums are exact on every device ---- */

nd_array *nd__sampling_table(nd_steps *s, const nd_array *weights)
{
    const int last = weights->ndim - 1;
    const int64_t k = weights->shape[last];
    const nd_scan_opts opts = {.size = sizeof opts, .axis = last};
    int bits = 0;
    nd_array *largest, *q, *sums;
    while (bits < 61 && INT64_C(1) << bits < k)
        bits++;
    nd_array *w = nd__step_cast(s, weights, ND_F64);
    largest = nd__step_reduce(s, nd_max, w, last, true);
    q = nd__step2(s, ND_OP_divide, w, largest);
    q = nd__step_scalar(s, ND_OP_multiply, q, nd_float(ldexp(1, 61 - bits)));
    q = nd__step_cast(s, q, ND_I64);
    ND_STEP(s, sums, nd_cumulative_sum(q, &opts, &sums));
    return sums;
}

nd_status nd__check_weights(const char *op, const nd_array *w, int32_t argument)
{
    nd_steps s;
    ND_RETURN_IF(nd__check_real(op, w, argument));
    if (w->ndim == 0 || w->shape[w->ndim - 1] == 0)
        return nd__fail(ND_ERR_SHAPE, op, argument, "there are no categories along the last axis");
    if (w->size == 0)
        return ND_OK;
    ND_RETURN_IF(nd__steps_begin(&s, op, w, NULL));
    nd_array *wide = nd__step_cast(&s, w, ND_F64);
    nd_array *fine = nd__step2(&s, ND_OP_logical_and,
                               nd__step_scalar(&s, ND_OP_greater_equal, wide, nd_float(0)),
                               nd__step_scalar(&s, ND_OP_less, wide, nd_float(INFINITY)));
    const bool all = nd__step_all(&s, fine);
    nd_array *some = nd__step_reduce(&s, nd_any, wide, w->ndim - 1, false);
    const bool any = nd__step_all(&s, some);
    ND_RETURN_IF(nd__steps_end(&s, op, NULL, NULL));
    if (!all)
        return nd__fail(ND_ERR_ARGUMENT, op, argument,
                        "a weight is negative, infinite or NaN; probabilities are 0 or above");
    return any ? ND_OK
               : nd__fail(ND_ERR_ARGUMENT, op, argument, "all weights of a row are 0; one is not");
}

/* i64 in [0, total) by uniform numbers of f64; total broadcasts to the shape. */
static nd_array *points(nd_steps *s, const nd_array *total, int ndim, const int64_t *shape,
                        const nd_random_key *key)
{
    nd_array *u, *r;
    ND_STEP(s, u, nd_random_uniform(total->storage->device, ND_F64, ndim, shape, key, 0, 1, &u));
    u = nd__step2(s, ND_OP_multiply, u, nd__step_cast(s, total, ND_F64));
    r = nd__step_cast(s, u, ND_I64);
    return nd__step2(s, ND_OP_minimum, r, nd__step_scalar(s, ND_OP_subtract, total, nd_int(1)));
}

/* How many sums are not above the point: the category whose part of [0, total) it is in. */
static nd_array *categories(nd_steps *s, const nd_array *sums, int ndim, const int64_t *shape,
                            const nd_random_key *key)
{
    if (s->status != ND_OK)
        return NULL;
    const int last = sums->ndim - 1;
    nd_array *total = nd__step_at(s, sums, last, sums->shape[last] - 1), *r;
    if (sums->ndim == 1) {
        total = nd__step_reshape(s, total, 0, NULL);
        nd_array *at = s->status == ND_OK ? points(s, total, ndim, shape, key) : NULL;
        ND_STEP(s, r, nd_searchsorted(sums, at, 1, NULL, &r));
        return r;
    }
    total = nd__step_reshape(s, total, last, sums->shape);
    nd_array *at = s->status == ND_OK ? points(s, total, ndim, shape, key) : NULL;
    const int32_t axis[1] = {-1};
    nd_array *column;
    ND_STEP(s, column, nd_expand_dims(at, 1, axis, &column));
    nd_array *below = nd__step2(s, ND_OP_less_equal, sums, column);
    return nd__step_reduce(s, nd_count_nonzero, below, ndim, false);
}

nd_status nd__check_weights_batch(const char *op, const nd_array *w, int ndim, const int64_t *shape,
                                  int32_t argument)
{
    int out_ndim;
    int64_t out[ND_MAX_NDIM];
    ND_RETURN_IF(nd__broadcast(op, 2, (const int[2]){w->ndim - 1, ndim},
                               (const int64_t *const[2]){w->shape, shape}, &out_ndim, out));
    if (out_ndim != ndim || (ndim && memcmp(out, shape, (size_t)ndim * sizeof *out) != 0))
        return nd__fail(ND_ERR_SHAPE, op, argument,
                        "the axes before the last do not broadcast to the shape asked for");
    return ND_OK;
}

nd_status nd_random_categorical(const nd_array *weights, int ndim, const int64_t *shape,
                                const nd_random_key *key, nd_array **out)
{
    nd_steps s;
    int64_t size;
    nd_array *r = NULL;
    ND_OUT("random_categorical", 4, out, NULL);
    ND_NEED("random_categorical", 3, key);
    ND_NEED_LIST("random_categorical", 2, ndim, shape);
    ND_RETURN_IF(nd__check_shape("random_categorical", ND_F64, ndim, shape, &size));
    ND_RETURN_IF(nd__check_weights("random_categorical", weights, 0));
    ND_RETURN_IF(nd__check_weights_batch("random_categorical", weights, ndim, shape, 0));
    ND_RETURN_IF(nd__steps_begin(&s, "random_categorical", weights, NULL));
    nd_array *sums = nd__sampling_table(&s, weights);
    r = categories(&s, sums, ndim, shape, key);
    return nd__steps_end(&s, "random_categorical", r, out);
}

/* ---- choice ---- */

/* The first keys in order; equal ones as they come. */
static nd_array *first_of(nd_steps *s, const nd_array *keys, int64_t count)
{
    nd_array *least = NULL, *r;
    if (s->status != ND_OK)
        return NULL;
    if (count < keys->size / 4) {
        ND_STEP(s, r, nd_topk(keys, count, 0, 1, &least, &r));
        nd_release(least);
        return r;
    }
    ND_STEP(s, r, nd_argsort(keys, NULL, &r));
    return nd__step_part(s, r, 0, 0, count, 1);
}

/* An exponential race: the first to arrive of clocks whose rates are p (Efraimidis and Spirakis,
 * Weighted random sampling with a reservoir, Information Processing Letters 97, 2006). */
static nd_array *race(nd_steps *s, const nd_array *p, const nd_random_key *key)
{
    nd_array *u, *times;
    ND_STEP(s, u, nd_random_uniform(p->storage->device, ND_F64, 1, p->shape, key, 0x1p-54, 1, &u));
    times = nd__step1(s, ND_OP_negative, nd__step1(s, ND_OP_log, u));
    return nd__step2(s, ND_OP_divide, times, nd__step_cast(s, p, ND_F64));
}

typedef struct {
    nd_device *device;
    int64_t n, size;
    const nd_array *p;
    int replace, ndim;
    const int64_t *shape;
    const nd_random_key *key;
} choosing;

static nd_array *choose(nd_steps *s, const choosing *c)
{
    nd_array *r = NULL, *keys;
    if (c->replace && c->p)
        return categories(s, nd__sampling_table(s, c->p), c->ndim, c->shape, c->key);
    if (c->replace) {
        ND_STEP(s, r,
                nd_random_integers(c->device, ND_I64, c->ndim, c->shape, c->key, 0, c->n, &r));
        return r;
    }
    if (c->p) {
        keys = race(s, c->p, c->key);
    } else {
        ndp_random params = {.low = 0, .high = 0}; /* equal bounds: all 64 bits */
        ND_STEP(s, keys, nd_empty(c->device, ND_U64, 1, &c->n, &keys));
        ND_STEP_DO(s, nd__random_run(ND_OP_random_integers, c->key, &params, NULL, 0, keys));
    }
    r = first_of(s, keys, c->size);
    return nd__step_reshape(s, r, c->ndim, c->shape);
}

/* They add up to 1, as far as their dtype tells. */
static nd_status check_sum(const nd_array *p)
{
    nd_steps s;
    nd_array *sum;
    const double near = p->dtype == ND_F32 ? 3.5e-4 : nd_dtype_size(p->dtype) < 4 ? 0.04 : 1.5e-8;
    ND_RETURN_IF(nd__steps_begin(&s, "random_choice", p, NULL));
    const nd_array *wide = nd__step_cast(&s, p, ND_F64);
    ND_STEP(&s, sum, nd_sum(wide, NULL, &sum));
    const double x = nd__step_value(&s, sum);
    ND_RETURN_IF(nd__steps_end(&s, "random_choice", NULL, NULL));
    if (fabs(x - 1) > near)
        return nd__fail(ND_ERR_ARGUMENT, "random_choice", 2,
                        "the probabilities add up to %.17g, not 1; divide them by their sum", x);
    return ND_OK;
}

static nd_status check_probabilities(const choosing *c)
{
    nd_steps s;
    nd_array *n;
    ND_RETURN_IF(nd__check_array("random_choice", c->p, 2));
    ND_RETURN_IF(nd__check_shape_is("random_choice", c->p, 1, &c->n, 2));
    ND_RETURN_IF(nd__check_weights("random_choice", c->p, 2));
    ND_RETURN_IF(check_sum(c->p));
    if (c->replace)
        return ND_OK;
    ND_RETURN_IF(nd__steps_begin(&s, "random_choice", c->p, NULL));
    ND_STEP(&s, n, nd_count_nonzero(c->p, NULL, &n));
    const int64_t possible = nd__step_int(&s, n);
    ND_RETURN_IF(nd__steps_end(&s, "random_choice", NULL, NULL));
    if (possible < c->size)
        return nd__fail(ND_ERR_ARGUMENT, "random_choice", 2,
                        "%lld positions asked for without replacement; %lld have a probability "
                        "above 0",
                        (long long)c->size, (long long)possible);
    return ND_OK;
}

static nd_status check_choice(choosing *c)
{
    ND_RETURN_IF(nd__check_shape("random_choice", ND_F64, c->ndim, c->shape, &c->size));
    if (c->n < 0 || (c->n == 0 && c->size > 0))
        return nd__fail(ND_ERR_ARGUMENT, "random_choice", 1,
                        "n is %lld; there is nothing to choose %lld positions of", (long long)c->n,
                        (long long)c->size);
    if (!c->replace && c->size > c->n)
        return nd__fail(ND_ERR_ARGUMENT, "random_choice", 1,
                        "%lld positions of %lld without replacement; ask for fewer, or with "
                        "replacement",
                        (long long)c->size, (long long)c->n);
    return c->p && c->size ? check_probabilities(c) : (nd_status)ND_OK;
}

nd_status nd_random_choice(nd_device *device, int64_t n, const nd_array *p, int replace, int ndim,
                           const int64_t *shape, const nd_random_key *key, nd_array **out)
{
    nd_steps s;
    nd_array *r = NULL;
    nd_status status = ND_OK;
    choosing c = {device, n, 0, p, replace, ndim, shape, key};
    ND_OUT("random_choice", 7, out, NULL);
    ND_NEED("random_choice", 6, key);
    ND_NEED_LIST("random_choice", 5, ndim, shape);
    ND_RETURN_IF(check_choice(&c));
    c.device = p ? p->storage->device : nd__or_current(device, &status);
    ND_RETURN_IF(status);
    if (c.size == 0)
        return nd__error_as("random_choice", nd_empty(c.device, ND_I64, ndim, shape, out));
    s = (nd_steps){.status = ND_OK};
    ND_RETURN_IF(nd__scope_enter("random_choice", c.device, NULL, &s.scope));
    r = choose(&s, &c);
    return nd__steps_end(&s, "random_choice", r, out);
}

/* ---- shuffled arrays ---- */

nd_status nd_random_shuffle(const nd_array *a, int axis, const nd_random_key *key, nd_array **out)
{
    nd_steps s;
    nd_array *order, *r;
    ND_OUT("random_shuffle", 3, out, NULL);
    ND_NEED("random_shuffle", 2, key);
    ND_RETURN_IF(nd__check_array("random_shuffle", a, 0));
    if (a->ndim == 0)
        return nd__fail(ND_ERR_SHAPE, "random_shuffle", 0, "an array without axes has no order");
    ND_RETURN_IF(nd__axis("random_shuffle", axis, a->ndim, &axis));
    ND_RETURN_IF(nd__steps_begin(&s, "random_shuffle", a, NULL));
    ND_STEP(&s, order, nd_random_permutation(a->storage->device, a->shape[axis], key, &order));
    ND_STEP(&s, r, nd_take(a, order, axis, &r));
    return nd__steps_end(&s, "random_shuffle", r, out);
}
