/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Embedding, dropout, and mixtures of experts. */
#include <ndock/neural.h>
#include <stdlib.h>
#include "core/ops/neural.h"

static nd_status check_integers(const char *op, const nd_array *a, int32_t argument)
{
    ND_RETURN_IF(nd__check_array(op, a, argument));
    if (nd__kind(a->dtype) & (ND_KIND_INT | ND_KIND_UINT))
        return ND_OK;
    return nd__fail(ND_ERR_DTYPE, op, argument, "indices are of dtype %s; they must be integers",
                    nd_dtype_name(a->dtype));
}

/* ---- dropout ---- */
nd_status nd_dropout(const nd_array *a, double p, const nd_random_key *key, nd_array **out)
{
    nd_steps s;
    ND_NEED("dropout", 2, key);
    ND_OUT("dropout", 3, out, NULL);
    ND_RETURN_IF(nd__check_floating("dropout", a, a, 0));
    if (!(p >= 0 && p < 1))
        return nd__fail(ND_ERR_ARGUMENT, "dropout", 1, "p is %g; it must be in [0, 1)", p);
    ND_RETURN_IF(nd__steps_begin(&s, "dropout", a, NULL));
    const ndp_dropout params = {.size = sizeof params,
                                .p = p,
                                .key = key->key,
                                .counter = {key->counter[0], key->counter[1]}};
    nd_array *r = nd__step_new(&s, a, a->dtype, a->ndim, a->shape);
    nd__step_kernel(&s, ND_OP_dropout, 1, &a, 1, &r, &params);
    return nd__steps_end(&s, "dropout", r, out);
}

/* ---- embedding ---- */
nd_status nd_embedding(const nd_array *indices, const nd_array *weights, nd_array **out)
{
    ND_OUT("embedding", 2, out, NULL);
    ND_RETURN_IF(check_integers("embedding", indices, 0));
    ND_RETURN_IF(nd__check_array("embedding", weights, 1));
    return nd__error_as("embedding", nd_take(weights, indices, 0, out));
}

nd_status nd_embedding_grad(const nd_array *g, const nd_array *indices, int64_t rows,
                            int64_t padding, nd_array **out)
{
    nd_steps s;
    int64_t shape[ND_MAX_NDIM], many[ND_MAX_NDIM];
    nd_array *r;
    ND_OUT("embedding_grad", 4, out, NULL);
    ND_RETURN_IF(nd__check_floating("embedding_grad", g, g, 0));
    ND_RETURN_IF(check_integers("embedding_grad", indices, 1));
    const int own = g->ndim - indices->ndim;
    if (own < 0 || !nd__same_shape(indices->ndim, indices->shape, g->ndim - own, g->shape))
        return nd__fail(ND_ERR_SHAPE, "embedding_grad", 0,
                        "the first axes of the gradient are not those of the indices");
    if (rows < 0)
        return nd__fail(ND_ERR_ARGUMENT, "embedding_grad", 2, "%lld rows", (long long)rows);
    ND_RETURN_IF(nd__steps_begin(&s, "embedding_grad", g, NULL));
    shape[0] = rows;
    many[0] = indices->size;
    memcpy(shape + 1, g->shape + indices->ndim, (size_t)own * sizeof *shape);
    memcpy(many + 1, g->shape + indices->ndim, (size_t)own * sizeof *shape);
    const nd_dtype wide = nd__wide_of(g->dtype);
    ND_STEP(&s, r, nd_zeros(g->storage->device, wide, own + 1, shape, &r));
    nd_array *from = nd__step_reshape(&s, g, own + 1, many);
    nd_array *at = nd__step_flat(&s, indices);
    if (padding >= 0) {
        nd_array *counts = nd__step_scalar(&s, ND_OP_not_equal, at, nd_int(padding));
        from = nd__step_where(&s, nd__step_along(&s, counts, own + 1, 0), nd_array_arg(from),
                              nd_scalar_arg(nd_float(0)));
    }
    from = nd__step_cast(&s, from, wide);
    ND_STEP_DO(&s, nd_index_add_into(at, from, 0, r));
    r = nd__step_cast(&s, r, g->dtype);
    return nd__steps_end(&s, "embedding_grad", r, out);
}

/* ---- mixtures of experts ---- */
typedef struct {
    const char *name;
    nd_dtype dtype, wide;
    int64_t tokens, top, experts, n, k;
} mixture;

static nd_status moe_start(mixture *p, const nd_array *x, const nd_array *weights,
                           const nd_array *experts, const nd_array *scales)
{
    const nd_array *const all[2] = {x, weights};
    for (int i = 0; i < 2; i++)
        ND_RETURN_IF(nd__check_array(p->name, all[i], i));
    ND_RETURN_IF(nd__check_floatings(p->name, 0, 2, all, &p->dtype));
    ND_RETURN_IF(check_integers(p->name, experts, 2));
    ND_RETURN_IF(nd__check_same_device(p->name, x, experts, 0, 2));
    if (x->ndim != 2 || weights->ndim != 3 || experts->ndim != 2 ||
        weights->shape[2] != x->shape[1] || experts->shape[0] != x->shape[0])
        return nd__fail(ND_ERR_SHAPE, p->name, -1,
                        "x, weights and experts do not fit; they are (tokens, k), (experts, n, k) "
                        "and (tokens, top)");
    if (scales) {
        ND_RETURN_IF(nd__check_floating(p->name, x, scales, 3));
        ND_RETURN_IF(nd__check_shape_is(p->name, scales, 2, experts->shape, 3));
    }
    p->tokens = x->shape[0];
    p->k = x->shape[1];
    p->top = experts->shape[1];
    p->experts = weights->shape[0];
    p->n = weights->shape[1];
    p->wide = nd__wide_of(p->dtype);
    return ND_OK;
}

/* One expert's rows through its matrix, into their part of the result. */
static nd_status one_expert(const nd_array *rows, const nd_array *weights, int64_t expert,
                            int64_t from, int64_t to, const nd_array *products)
{
    nd_steps s = {ND_OK};
    nd_array *matrix, *turned, *in = nd__step_part(&s, rows, 0, from, to, 1);
    nd_array *out = nd__step_part(&s, products, 0, from, to, 1);
    const nd_index at[1] = {nd_at(expert)};
    ND_STEP(&s, matrix, nd_slice(weights, at, 1, &matrix));
    ND_STEP(&s, turned, nd_transpose(matrix, &turned));
    ND_STEP_DO(&s, nd_matmul_into(in, turned, NULL, out));
    return nd__steps_end(&s, "moe", NULL, NULL);
}

/* Products of all rows, which are sorted by expert; counts, of each expert, are the host's. */
static nd_status all_experts(const mixture *p, const nd_array *rows, const nd_array *weights,
                             const int64_t *counts, const nd_array *products)
{
    for (int64_t e = 0, from = 0; e < p->experts; from += counts[e++])
        if (counts[e] > 0)
            ND_RETURN_IF(one_expert(rows, weights, e, from, from + counts[e], products));
    return ND_OK;
}

static void multiply(nd_steps *s, const mixture *p, const nd_array *rows, const nd_array *weights,
                     const nd_array *counts, const nd_array *products)
{
    int64_t *host = malloc(((size_t)p->experts + 1) * sizeof *host);
    if (s->status == ND_OK && !host)
        s->status = nd__fail(ND_ERR_MEMORY, p->name, -1, "no memory for %lld counts",
                             (long long)p->experts);
    ND_STEP_DO(s, nd_to_host(counts, host, (size_t)p->experts * sizeof *host));
    ND_STEP_DO(s, all_experts(p, rows, weights, host, products));
    free(host);
}

/* Products in the order of the sorted rows, put back, scaled and added. */
static nd_array *put_back(nd_steps *s, const mixture *p, nd_array *products, const nd_array *order,
                          const nd_array *scales)
{
    const int64_t shape[3] = {p->tokens, p->top, p->n};
    nd_array *back, *r;
    ND_STEP(s, back, nd_argsort(order, NULL, &back));
    ND_STEP(s, r, nd_take(products, back, 0, &r));
    r = nd__step_cast(s, nd__step_reshape(s, r, 3, shape), p->wide);
    if (scales) {
        const int64_t column[3] = {p->tokens, p->top, 1};
        nd_array *by = nd__step_cast(s, nd__step_reshape(s, scales, 3, column), p->wide);
        r = nd__step2(s, ND_OP_multiply, r, by);
    }
    return nd__step_cast(s, nd__step_sum(s, r, 2, 0), p->dtype);
}

nd_status nd_moe(const nd_array *x, const nd_array *weights, const nd_array *experts,
                 const nd_array *scales, nd_array **out)
{
    mixture p = {.name = "moe"};
    nd_steps s;
    nd_array *order, *counts, *rows, *matrices, *products = NULL;
    ND_OUT(p.name, 4, out, NULL);
    ND_RETURN_IF(moe_start(&p, x, weights, experts, scales));
    ND_RETURN_IF(nd__steps_begin(&s, p.name, x, NULL));
    const int64_t shape[2] = {p.tokens * p.top, p.n};
    nd_array *flat = nd__step_cast(&s, nd__step_flat(&s, experts), ND_I64);

    ND_STEP(&s, counts, nd_bincount(flat, NULL, p.experts, &counts));
    if (s.status == ND_OK && counts->size > p.experts)
        s.status = nd__fail(ND_ERR_INDEX, p.name, 2, "expert %lld is out of range; there are %lld",
                            (long long)counts->size - 1, (long long)p.experts);
    ND_STEP(&s, order, nd_argsort(flat, NULL, &order));
    nd_array *token = nd__step_scalar(&s, ND_OP_floor_divide, order, nd_int(p.top ? p.top : 1));
    nd_array *all = nd__step_cast(&s, x, p.dtype);
    ND_STEP(&s, rows, nd_take(all, token, 0, &rows));
    matrices = nd__step_cast(&s, weights, p.dtype);
    products = nd__step_new(&s, x, p.dtype, 2, shape);
    multiply(&s, &p, rows, matrices, counts, products);
    nd_array *r = put_back(&s, &p, products, order, scales);
    return nd__steps_end(&s, p.name, r, out);
}
