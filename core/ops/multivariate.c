/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Random vectors: counts of categories, probabilities, correlated normal numbers. */
#include "core/ops/sampling.h"

/* ---- multinomial ---- */

/* The probability of each category among itself and those after it, f64, from the running sums. */
static nd_array *shares(nd_steps *s, const nd_array *sums)
{
    const int last = sums->ndim - 1;
    const int64_t k = sums->shape[last];
    nd_array *total = nd__step_at(s, sums, last, k - 1);
    nd_array *before =
        nd__step2(s, ND_OP_multiply, sums, nd__step_scalar(s, ND_OP_multiply, total, nd_int(0)));
    if (s->status != ND_OK)
        return NULL;
    if (k > 1) { /* sums of the categories before each: 0, sums[0], ... */
        nd_array *from = nd__step_part(s, sums, last, 0, k - 1, 1),
                 *to = nd__step_part(s, before, last, 1, ND_END_OPEN, 1);
        ND_STEP_DO(s, nd__copy_into(from, to));
    }
    nd_array *own = nd__step2(s, ND_OP_subtract, sums, before);
    nd_array *rest = nd__step2(s, ND_OP_subtract, total, before);
    rest = nd__step_scalar(s, ND_OP_maximum, rest, nd_int(1)); /* 0 only where own is */
    return nd__step2(s, ND_OP_divide, nd__step_cast(s, own, ND_F64),
                     nd__step_cast(s, rest, ND_F64));
}

/* One category: a binomial of those that are left, which become fewer. */
static nd_status draw_category(const nd_array *share, int64_t at, const nd_random_key *key,
                               nd_array *left, const nd_array *r)
{
    nd_steps s;
    ndp_random params = {0};
    ND_RETURN_IF(nd__steps_begin(&s, "random_multinomial", r, NULL));
    nd_array *p = nd__step_at(&s, share, share->ndim - 1, at);
    p = nd__step_reshape(&s, p, share->ndim - 1, share->shape);
    nd_array *dst = nd__step_at(&s, r, r->ndim - 1, at);
    dst = nd__step_reshape(&s, dst, left->ndim, left->shape);
    const nd_arg args[2] = {nd_array_arg(left), nd_array_arg(p)};
    ND_STEP_DO(&s, nd__random_run(ND_OP_random_binomial, key, &params, args, 2, dst));
    nd_array *drawn = nd__step_cast(&s, dst, ND_F64);
    ND_STEP_DO(&s, nd_subtract_into(left, drawn, left));
    return nd__steps_end(&s, "random_multinomial", NULL, NULL);
}

static nd_array *multinomial(nd_steps *s, int64_t n, const nd_array *p, int ndim,
                             const int64_t *shape, const nd_random_key *key)
{
    nd_random_key next = *key;
    int64_t full[ND_MAX_NDIM];
    nd_array *left, *r, *share = nd__sampling_table(s, p);
    share = s->status == ND_OK ? shares(s, share) : NULL;
    const int64_t k = full[ndim] = p->shape[p->ndim - 1];
    if (ndim)
        memcpy(full, shape, (size_t)ndim * sizeof *full);
    ND_STEP(s, left, nd_full(p->storage->device, ND_F64, ndim, shape, nd_float((double)n), &left));
    ND_STEP(s, r, nd_empty(p->storage->device, ND_I64, ndim + 1, full, &r));
    for (int64_t at = 0; s->status == ND_OK && at < k; at++) {
        ND_STEP_DO(s, draw_category(share, at, &next, left, r));
        nd__random_skip_blocks(&next, (uint64_t)left->size);
    }
    return r;
}

nd_status nd_random_multinomial(int64_t n, const nd_array *p, int ndim, const int64_t *shape,
                                const nd_random_key *key, nd_array **out)
{
    nd_steps s;
    int64_t size;
    nd_array *r = NULL;
    ND_OUT("random_multinomial", 5, out, NULL);
    ND_NEED("random_multinomial", 4, key);
    ND_NEED_LIST("random_multinomial", 3, ndim, shape);
    ND_RETURN_IF(nd__check_shape("random_multinomial", ND_F64, ndim, shape, &size));
    if (n < 0 || n > INT64_C(1) << 53 || ndim >= ND_MAX_NDIM)
        return nd__fail(ND_ERR_ARGUMENT, "random_multinomial", 0,
                        "n is %lld in %d axes; it must be 0 to 2^53, of at most %d", (long long)n,
                        ndim, ND_MAX_NDIM - 1);
    ND_RETURN_IF(nd__check_weights("random_multinomial", p, 1));
    ND_RETURN_IF(nd__check_weights_batch("random_multinomial", p, ndim, shape, 1));
    ND_RETURN_IF(nd__steps_begin(&s, "random_multinomial", p, NULL));
    r = multinomial(&s, n, p, ndim, shape, key);
    return nd__steps_end(&s, "random_multinomial", r, out);
}

/* ---- Dirichlet ---- */

static nd_status check_alpha(const nd_array *alpha)
{
    nd_steps s;
    ND_RETURN_IF(nd__check_weights("random_dirichlet", alpha, 0));
    ND_RETURN_IF(nd__steps_begin(&s, "random_dirichlet", alpha, NULL));
    const bool all = nd__step_all(&s, alpha);
    ND_RETURN_IF(nd__steps_end(&s, "random_dirichlet", NULL, NULL));
    return all ? ND_OK
               : nd__fail(ND_ERR_ARGUMENT, "random_dirichlet", 0,
                          "an alpha is 0; all must be above 0");
}

nd_status nd_random_dirichlet(const nd_array *alpha, nd_dtype dtype, int ndim, const int64_t *shape,
                              const nd_random_key *key, nd_array **out)
{
    nd_steps s;
    ndp_random params = {0};
    int64_t full[ND_MAX_NDIM], size;
    nd_array *x, *r;
    const nd_norm_opts opts = {.size = sizeof opts, .axes = (const int32_t[1]){-1}, .naxes = 1};
    ND_OUT("random_dirichlet", 5, out, NULL);
    ND_NEED("random_dirichlet", 4, key);
    ND_NEED_LIST("random_dirichlet", 3, ndim, shape);
    ND_RETURN_IF(nd__check_shape("random_dirichlet", ND_F64, ndim, shape, &size));
    ND_RETURN_IF(nd__check_dtype("random_dirichlet", dtype));
    if (!(nd__kind(dtype) & ND_KIND_FLOAT) || ndim >= ND_MAX_NDIM)
        return nd__fail(ND_ERR_DTYPE, "random_dirichlet", 1,
                        "no such numbers of %s; ask for f16, bf16, "
                        "f32 or f64, in at most %d axes",
                        nd_dtype_name(dtype), ND_MAX_NDIM - 1);
    ND_RETURN_IF(check_alpha(alpha));
    ND_RETURN_IF(nd__check_weights_batch("random_dirichlet", alpha, ndim, shape, 0));
    ND_RETURN_IF(nd__steps_begin(&s, "random_dirichlet", alpha, NULL));
    full[ndim] = alpha->shape[alpha->ndim - 1];
    if (ndim)
        memcpy(full, shape, (size_t)ndim * sizeof *full);
    const nd_arg args[1] = {nd_array_arg(nd__step_cast(&s, alpha, ND_F64))};
    ND_STEP(&s, x, nd_empty(alpha->storage->device, ND_F64, ndim + 1, full, &x));
    ND_STEP_DO(&s, nd__random_run(ND_OP_random_log_gamma, key, &params, args, 1, x));
    ND_STEP(&s, r, nd_softmax(x, &opts, &r));
    return nd__steps_end(&s, "random_dirichlet", nd__step_cast(&s, r, dtype), out);
}

/* ---- correlated normal numbers ---- */

static nd_status check_moments(const nd_array *mean, const nd_array *cov, nd_dtype dtype, int ndim)
{
    const char *op = "random_multivariate_normal";
    ND_RETURN_IF(nd__check_real(op, mean, 0));
    ND_RETURN_IF(nd__check_real(op, cov, 1));
    ND_RETURN_IF(nd__check_same_device(op, mean, cov, 0, 1));
    if (mean->ndim != 1)
        return nd__fail(ND_ERR_SHAPE, op, 0, "the mean has %d axes; it is a vector", mean->ndim);
    ND_RETURN_IF(nd__check_shape_is(op, cov, 2, (const int64_t[2]){mean->size, mean->size}, 1));
    if ((dtype != ND_F32 && dtype != ND_F64) || ndim >= ND_MAX_NDIM)
        return nd__fail(ND_ERR_DTYPE, op, 2,
                        "no such numbers of %s; ask for f32 or f64, in at "
                        "most %d axes",
                        nd_dtype_name(dtype), ND_MAX_NDIM - 1);
    return ND_OK;
}

nd_status nd_random_multivariate_normal(const nd_array *mean, const nd_array *cov, nd_dtype dtype,
                                        int ndim, const int64_t *shape, const nd_random_key *key,
                                        nd_array **out)
{
    nd_steps s;
    int64_t full[ND_MAX_NDIM], rows[2] = {0, mean ? mean->size : 0};
    nd_array *z, *l, *upper, *x;
    ND_OUT("random_multivariate_normal", 6, out, NULL);
    ND_NEED("random_multivariate_normal", 5, key);
    ND_NEED_LIST("random_multivariate_normal", 4, ndim, shape);
    ND_RETURN_IF(nd__check_dtype("random_multivariate_normal", dtype));
    ND_RETURN_IF(nd__check_shape("random_multivariate_normal", ND_F64, ndim, shape, &rows[0]));
    ND_RETURN_IF(check_moments(mean, cov, dtype, ndim));
    ND_RETURN_IF(nd__steps_begin(&s, "random_multivariate_normal", mean, NULL));
    if (ndim)
        memcpy(full, shape, (size_t)ndim * sizeof *full);
    full[ndim] = mean->size;
    ND_STEP(&s, z, nd_random_normal(mean->storage->device, dtype, ndim + 1, full, key, 0, 1, &z));
    z = nd__step_reshape(&s, z, 2, rows);
    nd_array *own = nd__step_cast(&s, cov, dtype);
    ND_STEP(&s, l, nd_cholesky(own, NULL, &l));
    ND_STEP(&s, upper, nd_matrix_transpose(l, &upper));
    ND_STEP(&s, x, nd_matmul(z, upper, NULL, &x));
    x = nd__step_reshape(&s, x, ndim + 1, full);
    x = nd__step2(&s, ND_OP_add, x, nd__step_cast(&s, mean, dtype));
    return nd__steps_end(&s, "random_multivariate_normal", x, out);
}
