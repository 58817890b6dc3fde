/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Distributions by the rows of distribution.def: what each is, its parameters checked, and which of
 * compose.c and samplers.c makes it. */
#include <math.h>
#include <stdio.h>
#include "core/ops/random.h"

/* How many blocks; the names are distribution.def's. */
enum { VALUES = 1, WIDE, ELEMENTS, TWICE, BOTH };

static const nd_distribution_info infos[ND_DRAW_END] = {
#define ND_DISTRIBUTION(name, params, kind, blocks, parameters, rules, doc) \
    [ND_DRAW_##                                                             \
        name] = {ND_DRAW_##name, params, ND_DRAW_##kind, blocks, #name, parameters, rules, doc},
#include <ndock/distribution.def>
};

/* What errors name. */
static const char *const functions[ND_DRAW_END] = {
#define ND_DISTRIBUTION(name, params, kind, blocks, parameters, rules, doc) \
    [ND_DRAW_##name] = "random_" #name,
#include <ndock/distribution.def>
};

const nd_distribution_info *nd_distribution_get(nd_distribution id)
{
    return id > ND_DRAW_NONE && id < ND_DRAW_END ? &infos[id] : NULL;
}

void nd_random_skip_draw(nd_random_key *key, nd_distribution id, int64_t size, nd_dtype dtype)
{
    const nd_distribution_info *info = nd_distribution_get(id);
    const uint64_t n = size > 0 ? (uint64_t)size : 0;
    if (!key)
        (void)nd__refuse_null("random_skip_draw", 0, "key");
    else if (!info)
        (void)nd__fail(ND_ERR_ARGUMENT, "random_skip_draw", 1, "%d is no distribution", (int)id);
    else
        nd__random_skip_blocks(key, info->blocks == VALUES  ? nd__random_blocks(size, dtype)
                                    : info->blocks == WIDE  ? nd__random_blocks(size, ND_F64)
                                    : info->blocks == TWICE ? 2 * n
                                    : info->blocks == BOTH  ? n + nd__random_blocks(size, ND_F64)
                                                            : n);
}

/* ---- rules ---- */

typedef struct {
    char letter;
    bool whole, above; /* an integer; low itself is not allowed */
    double low, high;
    const char *text;
} rule;

static const rule rules[] = {
    {'r', false, false, -INFINITY, INFINITY, "finite"},
    {'+', false, true, 0, INFINITY, "finite and above 0"},
    {'0', false, false, 0, INFINITY, "finite and not negative"},
    {'x', false, false, -INFINITY, INFINITY, "a number, which may be infinite"},
    {'p', false, false, 0, 1, "a probability, 0 to 1"},
    {'q', false, true, 0, 1, "a probability above 0 and up to 1"},
    {'m', false, false, 0, 0x1p53, "between 0 and 2^53"},
    {'n', true, false, 0, 0x1p53, "an integer from 0 to 2^53"},
    {'g', true, false, 0, 1e9, "an integer from 0 to 10^9"},
};

static const rule *rule_of(const nd_distribution_info *info, int i)
{
    const rule *r = rules;
    while (r->letter != info->rules[i])
        r++;
    return r;
}

/* The i-th word of the parameters' names. */
static void name_of(const nd_distribution_info *info, int i, char name[32])
{
    const char *from = info->parameters;
    for (; i > 0; i--)
        from += strcspn(from, " ") + 1;
    snprintf(name, 32, "%.*s", (int)strcspn(from, " "), from);
}

static bool obeys(const rule *r, double x)
{
    return (r->above ? x > r->low : x >= r->low) && x <= r->high &&
           (r->letter == 'x' || isfinite(x)) && (!r->whole || floor(x) == x);
}

static nd_status refuse(const nd_draw *d, int i, const char *value)
{
    char name[32];
    name_of(d->info, i, name);
    return nd__fail(ND_ERR_ARGUMENT, d->op, d->first + i, "%s is %s; it must be %s", name, value,
                    rule_of(d->info, i)->text);
}

static nd_status check_scalar(const nd_draw *d, int i, nd_arg *a)
{
    char text[32];
    const nd_scalar s = a->scalar;
    const double x = s.kind == ND_F64   ? s.v.f
                     : s.kind == ND_I64 ? (double)s.v.i
                     : s.kind == ND_U64 ? (double)s.v.u
                                        : (double)(s.v.u != 0);
    if (s.kind == ND_C128)
        return nd__fail(ND_ERR_DTYPE, d->op, d->first + i, "a complex parameter has no order");
    a->scalar = nd_float(x);
    snprintf(text, sizeof text, "%.17g", x);
    return obeys(rule_of(d->info, i), x) ? ND_OK : refuse(d, i, text);
}

/* Bool: where a obeys the rule. */
static nd_array *obeying(nd_steps *s, const rule *r, const nd_array *a)
{
    nd_array *high = isinf(r->high) && r->letter != 'x'
                         ? nd__step_scalar(s, ND_OP_less, a, nd_float(INFINITY))
                         : nd__step_scalar(s, ND_OP_less_equal, a, nd_float(r->high));
    const bool above = r->above || r->letter == 'r';
    nd_array *low =
        nd__step_scalar(s, above ? ND_OP_greater : ND_OP_greater_equal, a, nd_float(r->low));
    nd_array *both = nd__step2(s, ND_OP_logical_and, low, high);
    if (r->whole)
        both = nd__step2(s, ND_OP_logical_and, both,
                         nd__step2(s, ND_OP_equal, nd__step1(s, ND_OP_floor, a), a));
    return both;
}

static nd_status check_array(const nd_draw *d, int i, const nd_array *a, const nd_array *dst)
{
    nd_steps s;
    int ndim;
    int64_t shape[ND_MAX_NDIM];
    ND_RETURN_IF(nd__check_real(d->op, a, d->first + i));
    ND_RETURN_IF(nd__check_same_device(d->op, a, dst, d->first + i, d->out));
    ND_RETURN_IF(nd__broadcast(d->op, 2, (const int[2]){a->ndim, dst->ndim},
                               (const int64_t *const[2]){a->shape, dst->shape}, &ndim, shape));
    ND_RETURN_IF(nd__check_dst_shape(d->op, dst, ndim, shape, d->out));
    if (a->size == 0)
        return ND_OK;
    ND_RETURN_IF(nd__steps_begin(&s, d->op, a, NULL));
    const bool all =
        nd__step_all(&s, obeying(&s, rule_of(d->info, i), nd__step_cast(&s, a, ND_F64)));
    ND_RETURN_IF(nd__steps_end(&s, d->op, NULL, NULL));
    return all ? ND_OK : refuse(d, i, "something else in one element of the array");
}

/* ---- what two parameters must be to each other ---- */

/* Whether op(a, b) holds everywhere. */
static bool holds(nd_steps *s, nd_op op, const nd_arg *a, const nd_arg *b)
{
    const nd_arg args[2] = {*a, *b};
    nd_array *r;
    if (!a->array && !b->array)
        return op == ND_OP_less ? a->scalar.v.f < b->scalar.v.f : a->scalar.v.f <= b->scalar.v.f;
    ND_STEP(s, r, nd_apply(op, args, 2, NULL, &r));
    return nd__step_all(s, r) || s->status != ND_OK;
}

/* ngood + nbad */
static nd_arg sum_of(nd_steps *s, const nd_arg *a, const nd_arg *b)
{
    const nd_arg args[2] = {*a, *b};
    nd_array *r;
    if (!a->array && !b->array)
        return nd_scalar_arg(nd_float(a->scalar.v.f + b->scalar.v.f));
    ND_STEP(s, r, nd_apply(ND_OP_add, args, 2, NULL, &r));
    return nd_array_arg(r);
}

static nd_status check_order(const nd_draw *d, const nd_array *dst)
{
    nd_steps s;
    const char *wrong = NULL;
    const nd_arg *p = d->param;
    ND_RETURN_IF(nd__steps_begin(&s, d->op, dst, NULL));
    if (d->info->id == ND_DRAW_triangular &&
        !(holds(&s, ND_OP_less_equal, &p[0], &p[1]) && holds(&s, ND_OP_less_equal, &p[1], &p[2]) &&
          holds(&s, ND_OP_less, &p[0], &p[2])))
        wrong = "left, mode and right are not in order; left <= mode <= right and left < right";
    if (d->info->id == ND_DRAW_truncated_normal && !holds(&s, ND_OP_less_equal, &p[0], &p[1]))
        wrong = "low is above high; low <= high";
    if (d->info->id == ND_DRAW_hypergeometric && s.status == ND_OK) {
        const nd_arg whole = sum_of(&s, &p[0], &p[1]);
        if (s.status == ND_OK && !holds(&s, ND_OP_less_equal, &p[2], &whole))
            wrong = "nsample is more than there are; nsample <= ngood + nbad";
    }
    ND_RETURN_IF(nd__steps_end(&s, d->op, NULL, NULL));
    return wrong ? nd__fail(ND_ERR_ARGUMENT, d->op, d->first, "%s", wrong) : ND_OK;
}

/* ---- drawing ---- */

static nd_status check_dtype(const nd_draw *d, nd_dtype dtype, int32_t argument)
{
    static const int kinds[] = {[ND_DRAW_REAL] = ND_KIND_FLOAT,
                                [ND_DRAW_COUNT] = ND_KIND_INT | ND_KIND_UINT,
                                [ND_DRAW_TRUTH] =
                                    ND_KIND_BOOL | ND_KIND_INT | ND_KIND_UINT | ND_KIND_FLOAT};
    static const char *const texts[] = {[ND_DRAW_REAL] = "a floating dtype",
                                        [ND_DRAW_COUNT] = "an integer dtype",
                                        [ND_DRAW_TRUTH] = "bool, an integer or a floating dtype"};
    ND_RETURN_IF(nd__check_dtype(d->op, dtype));
    if (!(nd__kind(dtype) & kinds[d->info->kind]))
        return nd__fail(ND_ERR_DTYPE, d->op, argument, "no such numbers of %s; ask for %s",
                        nd_dtype_name(dtype), texts[d->info->kind]);
    return ND_OK;
}

static nd_dtype compute_dtype(const nd_array *dst)
{
    return dst->dtype == ND_F64 ? ND_F64 : ND_F32;
}

/* Parameters in the dtype that computes, none in memory that dst overlaps. */
static nd_status own_params(nd_draw *d, nd_dtype dtype, const nd_array *dst)
{
    for (int i = 0; i < d->info->n_params; i++) {
        const nd_array *a = d->param[i].array;
        if (!a || (a->dtype == dtype && !nd__may_overlap(a, dst)))
            continue;
        ND_RETURN_IF(a->dtype == dtype ? nd_copy(a, NULL, &d->owned[i])
                                       : nd__cast(a, dtype, &d->owned[i]));
        d->param[i].array = d->owned[i];
    }
    return ND_OK;
}

static nd_status draw_into(nd_draw *d, const nd_array *dst)
{
    nd_steps s;
    nd_array *x = NULL;
    nd_compose_fn *compose = nd__compositions[d->info->id];
    const nd_dtype dtype = compose ? compute_dtype(dst) : ND_F64;
    ND_RETURN_IF(own_params(d, dtype, dst));
    ND_RETURN_IF(nd__steps_begin(&s, d->op, dst, NULL));
    if (!compose) {
        nd__samplers[d->info->id](&s, d, dst);
    } else if (dst->dtype == dtype) {
        compose(&s, d, dst);
    } else {
        ND_STEP(&s, x, nd_empty(dst->storage->device, dtype, dst->ndim, dst->shape, &x));
        if (x)
            compose(&s, d, x);
        ND_STEP_DO(&s, nd__copy_into(x, dst));
    }
    return nd__steps_end(&s, d->op, NULL, NULL);
}

static nd_status check_params(nd_draw *d, const nd_arg *params, int n, const nd_array *dst)
{
    if (n != d->info->n_params)
        return nd__fail(ND_ERR_ARGUMENT, d->op, d->first, "%d parameters given; there are %d: %s",
                        n, (int)d->info->n_params, d->info->parameters);
    for (int i = 0; i < n; i++) {
        d->param[i] = params[i];
        ND_RETURN_IF(params[i].array ? check_array(d, i, params[i].array, dst)
                                     : check_scalar(d, i, &d->param[i]));
    }
    return dst->size ? check_order(d, dst) : ND_OK;
}

static nd_status draw(nd_draw *d, const nd_arg *params, int n, const nd_array *dst)
{
    ND_RETURN_IF(check_params(d, params, n, dst));
    const nd_status status = dst->size ? draw_into(d, dst) : (nd_status)ND_OK;
    for (int i = 0; i < ND_OPERANDS; i++)
        nd_release(d->owned[i]);
    return status;
}

nd_status nd_random_draw_into(nd_distribution id, const nd_arg *params, int n,
                              const nd_random_key *key, const nd_array *dst)
{
    nd_draw d = {.info = nd_distribution_get(id), .out = 4};
    if (!d.info)
        return nd__fail(ND_ERR_ARGUMENT, "random_draw", 0, "%d is no distribution", (int)id);
    d.op = functions[id];
    ND_NEED(d.op, 1, params);
    ND_NEED(d.op, 3, key);
    ND_RETURN_IF(nd__check_array(d.op, dst, 4));
    ND_RETURN_IF(check_dtype(&d, dst->dtype, 4));
    ND_RETURN_IF(nd__check_writable(d.op, dst, 4));
    d.key = *key;
    return draw(&d, params, n, dst);
}

nd_status nd_random_draw(nd_distribution id, const nd_arg *params, int n, nd_device *device,
                         nd_dtype dtype, int ndim, const int64_t *shape, const nd_random_key *key,
                         nd_array **out)
{
    nd_array *r = NULL;
    nd_draw d = {.info = nd_distribution_get(id), .out = 8};
    if (!d.info)
        return nd__fail(ND_ERR_ARGUMENT, "random_draw", 0, "%d is no distribution", (int)id);
    d.op = functions[id];
    ND_OUT(d.op, 8, out, NULL);
    ND_NEED(d.op, 1, params);
    ND_NEED(d.op, 7, key);
    ND_NEED_LIST(d.op, 6, ndim, shape);
    ND_RETURN_IF(check_dtype(&d, dtype, 4));
    ND_RETURN_IF(nd__empty(d.op, device, dtype, ndim, shape, &r));
    d.key = *key;
    return nd__hand_over(draw(&d, params, n, r), r, out);
}

/* ---- by name, with scalars ---- */

#define HEAD \
    nd_device *device, nd_dtype dtype, int ndim, const int64_t *shape, const nd_random_key *key

static nd_status named(nd_distribution id, const double *values, HEAD, nd_array **out)
{
    const nd_distribution_info *info = nd_distribution_get(id);
    nd_draw d = {.info = info, .op = functions[id], .first = 5, .out = 5 + info->n_params};
    nd_arg params[ND_OPERANDS];
    nd_array *r = NULL;
    ND_OUT(d.op, d.out, out, NULL);
    ND_NEED(d.op, 4, key);
    ND_NEED_LIST(d.op, 3, ndim, shape);
    ND_RETURN_IF(check_dtype(&d, dtype, 1));
    ND_RETURN_IF(nd__empty(d.op, device, dtype, ndim, shape, &r));
    d.key = *key;
    for (int i = 0; i < info->n_params; i++)
        params[i] = nd_scalar_arg(nd_float(values[i]));
    return nd__hand_over(draw(&d, params, info->n_params, r), r, out);
}

#define DRAW_OF(name, ...) \
    named(ND_DRAW_##name, (const double[]){__VA_ARGS__}, device, dtype, ndim, shape, key, out)
#define NAMED_1(name)                                          \
    nd_status nd_random_##name(HEAD, double a, nd_array **out) \
    {                                                          \
        return DRAW_OF(name, a);                               \
    }
#define NAMED_2(name)                                                    \
    nd_status nd_random_##name(HEAD, double a, double b, nd_array **out) \
    {                                                                    \
        return DRAW_OF(name, a, b);                                      \
    }
#define NAMED_3(name)                                                              \
    nd_status nd_random_##name(HEAD, double a, double b, double c, nd_array **out) \
    {                                                                              \
        return DRAW_OF(name, a, b, c);                                             \
    }
#define NAMED_4(name)                                                                        \
    nd_status nd_random_##name(HEAD, double a, double b, double c, double d, nd_array **out) \
    {                                                                                        \
        return DRAW_OF(name, a, b, c, d);                                                    \
    }
#define ND_DISTRIBUTION(name, params, kind, blocks, parameters, rules, doc) NAMED_##params(name)
#include <ndock/distribution.def>
