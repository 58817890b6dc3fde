/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Scaled dot product attention and its gradients. */
#include <math.h>
#include <ndock/attention.h>
#include "core/ops/neural.h"

typedef struct {
    const char *name;
    nd_attention_opts o;
    nd_dtype dtype, wide;
    int leading; /* axes of the result in front of the heads; -1: there is no axis of heads */
    int64_t batch, heads, key_heads, m, n, d, e;
    ndp_attention params;
} attention;

static nd_status read_options(attention *p, const nd_attention_opts *opts)
{
    ND_RETURN_IF(
        nd__read_options(p->name, opts, &p->o, sizeof p->o, NDP_END(nd_attention_opts, stream)));
    if (p->o.causal < ND_CAUSAL_NONE || p->o.causal > ND_CAUSAL_LAST)
        return nd__fail(ND_ERR_ARGUMENT, p->name, -1,
                        "causal is %d; ND_CAUSAL_NONE, _FIRST and _LAST are 0 to 2",
                        (int)p->o.causal);
    if (!(p->o.dropout >= 0 && p->o.dropout < 1))
        return nd__fail(ND_ERR_ARGUMENT, p->name, -1, "dropout %g is no probability below 1",
                        p->o.dropout);
    return isfinite(p->o.scale)
               ? (nd_status)ND_OK
               : nd__fail(ND_ERR_ARGUMENT, p->name, -1, "scale %g is not finite", p->o.scale);
}

static nd_status does_not_fit(const attention *p, const nd_array *q, const nd_array *k,
                              const nd_array *v, int from)
{
    char text[3][ND_SHAPE_TEXT];
    return nd__fail(ND_ERR_SHAPE, p->name, from,
                    "q %s, k %s and v %s do not fit; they are (..., h, m, d), (..., hk, n, d) and "
                    "(..., hk, n, e), h a multiple of hk",
                    nd__shape_text(q->ndim, q->shape, text[0], sizeof text[0]),
                    nd__shape_text(k->ndim, k->shape, text[1], sizeof text[1]),
                    nd__shape_text(v->ndim, v->shape, text[2], sizeof text[2]));
}

/* q is argument `from`, then k and v. */
static nd_status read_shapes(attention *p, const nd_array *q, const nd_array *k, const nd_array *v,
                             int from)
{
    const int rank = q->ndim;
    if (rank < 2 || k->ndim != rank || v->ndim != rank)
        return does_not_fit(p, q, k, v, from);
    p->leading = rank - 3;
    p->batch = 1;
    for (int i = 0; i < p->leading; i++) {
        if (q->shape[i] != k->shape[i] || q->shape[i] != v->shape[i])
            return does_not_fit(p, q, k, v, from);
        p->batch *= q->shape[i];
    }
    p->heads = rank > 2 ? q->shape[rank - 3] : 1;
    p->key_heads = rank > 2 ? k->shape[rank - 3] : 1;
    p->m = q->shape[rank - 2];
    p->d = q->shape[rank - 1];
    p->n = k->shape[rank - 2];
    p->e = v->shape[rank - 1];
    const int64_t value_heads = rank > 2 ? v->shape[rank - 3] : 1;
    if (k->shape[rank - 1] != p->d || v->shape[rank - 2] != p->n || value_heads != p->key_heads ||
        (p->key_heads ? p->heads % p->key_heads != 0 : p->heads != 0))
        return does_not_fit(p, q, k, v, from);
    return ND_OK;
}

static nd_status check_mask(attention *p, const nd_array *q)
{
    const nd_array *mask = p->o.mask;
    if (!mask)
        return ND_OK;
    ND_RETURN_IF(nd__check_array(p->name, mask, -1));
    ND_RETURN_IF(nd__check_same_device(p->name, q, mask, 0, -1));
    if (!(nd__kind(mask->dtype) & (ND_KIND_BOOL | ND_KIND_FLOAT)))
        return nd__fail(ND_ERR_DTYPE, p->name, -1, "the mask is of dtype %s, not bool or floating",
                        nd_dtype_name(mask->dtype));
    return ND_OK;
}

static nd_status start(attention *p, const nd_array *q, const nd_array *k, const nd_array *v,
                       const nd_attention_opts *opts, int from)
{
    const nd_array *const all[3] = {q, k, v};
    for (int i = 0; i < 3; i++)
        ND_RETURN_IF(nd__check_array(p->name, all[i], from + i));
    ND_RETURN_IF(read_options(p, opts));
    ND_RETURN_IF(nd__check_floatings(p->name, from, 3, all, &p->dtype));
    ND_RETURN_IF(read_shapes(p, q, k, v, from));
    ND_RETURN_IF(check_mask(p, q));
    p->wide = nd__wide_of(p->dtype);
    p->params = (ndp_attention){.size = sizeof p->params,
                                .has_mask = p->o.mask != NULL,
                                .causal = p->o.causal != ND_CAUSAL_NONE,
                                .diagonal = p->o.causal == ND_CAUSAL_LAST ? p->n - p->m : 0,
                                .scale = p->o.scale != 0 ? p->o.scale
                                         : p->d > 0      ? 1 / sqrt((double)p->d)
                                                         : 1,
                                .dropout = p->o.dropout,
                                .key = p->o.key.key,
                                .counter = {p->o.key.counter[0], p->o.key.counter[1]}};
    return ND_OK;
}

/* Four axes: the leading ones as one. */
static nd_array *with_four(nd_steps *s, const attention *p, const nd_array *a, int64_t heads,
                           int64_t rows, int64_t columns)
{
    const int64_t shape[4] = {p->batch, heads, rows, columns};
    return nd__step_reshape(s, a, 4, shape);
}

static nd_array *make_mask(nd_steps *s, const attention *p, const nd_array *q)
{
    int64_t shape[ND_MAX_NDIM];
    nd_array *mask = (nd_array *)p->o.mask;
    if (!mask || s->status != ND_OK)
        return NULL;
    memcpy(shape, q->shape, (size_t)q->ndim * sizeof *shape);
    shape[q->ndim - 1] = p->n;
    if (mask->dtype != ND_BOOL)
        mask = nd__step_cast(s, mask, p->dtype);
    return with_four(s, p, nd__step_broadcast(s, mask, q->ndim, shape), p->heads, p->m, p->n);
}

static void make_operands(nd_steps *s, const attention *p, const nd_array *q, const nd_array *k,
                          const nd_array *v, const nd_array *in[3])
{
    in[0] = with_four(s, p, nd__step_cast(s, q, p->dtype), p->heads, p->m, p->d);
    in[1] = with_four(s, p, nd__step_cast(s, k, p->dtype), p->key_heads, p->n, p->d);
    in[2] = with_four(s, p, nd__step_cast(s, v, p->dtype), p->key_heads, p->n, p->e);
}

/* An array with `columns` in the place of like's last axis; 0 axes less for -1. */
static nd_array *in_shape_of(nd_steps *s, nd_array *a, const nd_array *like, int64_t columns)
{
    int64_t shape[ND_MAX_NDIM];
    memcpy(shape, like->shape, (size_t)like->ndim * sizeof *shape);
    if (columns >= 0)
        shape[like->ndim - 1] = columns;
    return nd__step_reshape(s, a, like->ndim - (columns < 0), shape);
}

nd_status nd_scaled_dot_product_attention(const nd_array *q, const nd_array *k, const nd_array *v,
                                          const nd_attention_opts *opts, nd_array **out,
                                          nd_array **logsumexp)
{
    attention p = {.name = "scaled_dot_product_attention"};
    nd_steps s;
    const nd_array *in[4];
    if (logsumexp)
        *logsumexp = NULL;
    ND_OUT(p.name, 4, out, NULL);
    ND_RETURN_IF(start(&p, q, k, v, opts, 0));
    ND_RETURN_IF(nd__steps_begin(&s, p.name, q, opts));
    const int64_t shape[4] = {p.batch, p.heads, p.m, p.e};
    nd_array *to[2] = {nd__step_new(&s, q, p.dtype, 4, shape),
                       nd__step_new(&s, q, p.wide, 3, shape)};
    nd_array **const results[2] = {out, logsumexp};
    make_operands(&s, &p, q, k, v, in);
    in[3] = make_mask(&s, &p, q);
    if (s.status == ND_OK && to[1]->size > 0) /* even where v has no columns */
        s.status = nd__run_arrays(ND_OP_attention, p.params.has_mask ? 4 : 3, in, 2, to, &p.params);
    to[0] = in_shape_of(&s, to[0], q, p.e);
    to[1] = in_shape_of(&s, to[1], q, -1);
    return nd__steps_end_all(&s, p.name, 2, to, results);
}

/* ---- gradients ---- */

/* g, out and logsumexp are those of the result. */
static nd_status check_results(const attention *p, const nd_array *g, const nd_array *q,
                               const nd_array *out, const nd_array *logsumexp)
{
    int64_t shape[ND_MAX_NDIM];
    const nd_array *const both[2] = {g, out};
    memcpy(shape, q->shape, (size_t)q->ndim * sizeof *shape);
    shape[q->ndim - 1] = p->e;
    for (int i = 0; i < 2; i++) {
        ND_RETURN_IF(nd__check_floating(p->name, q, both[i], i * 4));
        ND_RETURN_IF(nd__check_shape_is(p->name, both[i], q->ndim, shape, i * 4));
    }
    ND_RETURN_IF(nd__check_floating(p->name, q, logsumexp, 5));
    return nd__check_shape_is(p->name, logsumexp, q->ndim - 1, shape, 5);
}

static nd_array *with_three(nd_steps *s, const attention *p, const nd_array *a)
{
    const int64_t shape[3] = {p->batch, p->heads, p->m};
    return nd__step_reshape(s, nd__step_cast(s, a, p->wide), 3, shape);
}

nd_status nd_scaled_dot_product_attention_grad(const nd_array *g, const nd_array *q,
                                               const nd_array *k, const nd_array *v,
                                               const nd_array *out, const nd_array *logsumexp,
                                               const nd_attention_opts *opts, nd_array **dq,
                                               nd_array **dk, nd_array **dv)
{
    attention p = {.name = "scaled_dot_product_attention_grad"};
    nd_steps s;
    const nd_array *in[7];
    nd_array **const results[3] = {dq, dk, dv};
    for (int i = 0; i < 3; i++)
        if (results[i])
            *results[i] = NULL;
    ND_NEED(p.name, 7, dq);
    ND_NEED(p.name, 8, dk);
    ND_NEED(p.name, 9, dv);
    ND_RETURN_IF(nd__check_array(p.name, g, 0));
    ND_RETURN_IF(start(&p, q, k, v, opts, 1));
    ND_RETURN_IF(check_results(&p, g, q, out, logsumexp));
    ND_RETURN_IF(nd__steps_begin(&s, p.name, g, opts));
    make_operands(&s, &p, q, k, v, in);
    in[3] = with_four(&s, &p, nd__step_cast(&s, g, p.dtype), p.heads, p.m, p.e);
    in[4] = with_three(&s, &p, logsumexp);
    in[5] = with_four(&s, &p, nd__step_cast(&s, out, p.dtype), p.heads, p.m, p.e);
    in[6] = make_mask(&s, &p, q);
    nd_array *r[3];
    for (int i = 0; i < 3; i++)
        r[i] = nd__step_new(&s, q, p.dtype, 4, s.status == ND_OK ? in[i]->shape : NULL);
    if (s.status == ND_OK && (r[0]->size > 0 || r[1]->size > 0 || r[2]->size > 0))
        s.status =
            nd__run_arrays(ND_OP_attention_grad, p.params.has_mask ? 7 : 6, in, 3, r, &p.params);
    const nd_array *const like[3] = {q, k, v};
    for (int i = 0; i < 3; i++)
        r[i] = nd__step_reshape(&s, r[i], like[i]->ndim, like[i]->shape);
    return nd__steps_end_all(&s, p.name, 3, r, results);
}
