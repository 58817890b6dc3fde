/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Products of vectors and arrays, composed of multiplications and matrix products. */
#include <stdlib.h>
#include "core/ops/linalg.h"

static nd_array *new_axes(nd_steps *s, const nd_array *a, int n, const int32_t *axes)
{
    nd_array *r;
    ND_STEP(s, r, nd_expand_dims(a, n, axes, &r));
    return r;
}

static nd_array *matmul(nd_steps *s, const nd_array *a, const nd_array *b)
{
    nd_array *r;
    ND_STEP(s, r, nd_matmul(a, b, NULL, &r));
    return r;
}

/* Begins an operation of two arrays. */
static nd_status begin_two(nd_steps *s, const char *op, const nd_array *a, const nd_array *b)
{
    ND_RETURN_IF(nd__check_array(op, a, 0));
    ND_RETURN_IF(nd__check_array(op, b, 1));
    ND_RETURN_IF(nd__check_same_device(op, a, b, 0, 1));
    return nd__steps_begin(s, op, a, NULL);
}

nd_status nd_outer(const nd_array *a, const nd_array *b, nd_array **out)
{
    nd_steps s = {.status = ND_OK};
    ND_OUT("outer", 2, out, NULL);
    ND_RETURN_IF(begin_two(&s, "outer", a, b));
    nd_array *column = nd__step_axis(&s, nd__step_flat(&s, a), -1);
    nd_array *row = nd__step_axis(&s, nd__step_flat(&s, b), 0);
    return nd__steps_end(&s, "outer", nd__step2(&s, ND_OP_multiply, column, row), out);
}

/* The axis moved to the last place; conj: conjugated. */
static nd_array *axis_last(nd_steps *s, const char *op, const nd_array *a, int axis, int argument)
{
    int at = 0;
    if (s->status == ND_OK)
        s->status = nd__axis(op, axis, a->ndim, &at);
    (void)argument;
    return nd__step_moveaxis(s, a, at, -1);
}

/* The extents of both along their last axis are equal. */
static void check_last(nd_steps *s, const char *op, const nd_array *a, const nd_array *b)
{
    if (s->status != ND_OK || a->shape[a->ndim - 1] == b->shape[b->ndim - 1])
        return;
    s->status = nd__fail(ND_ERR_SHAPE, op, 1, "the extents %lld and %lld along the axis differ",
                         (long long)a->shape[a->ndim - 1], (long long)b->shape[b->ndim - 1]);
}

nd_status nd_vecdot(const nd_array *a, const nd_array *b, int axis, nd_array **out)
{
    static const int32_t both[2] = {-2, -1};
    nd_steps s = {.status = ND_OK};
    ND_OUT("vecdot", 3, out, NULL);
    ND_RETURN_IF(begin_two(&s, "vecdot", a, b));
    nd_array *left = axis_last(&s, "vecdot", a, axis, 0),
             *right = axis_last(&s, "vecdot", b, axis, 1);
    nd_array *squeezed;
    check_last(&s, "vecdot", left, right);
    if (s.status == ND_OK && nd__kind(left->dtype) == ND_KIND_COMPLEX)
        left = nd__step1(&s, ND_OP_conj, left);
    nd_array *product = matmul(&s, nd__step_axis(&s, left, -2), nd__step_axis(&s, right, -1));
    ND_STEP(&s, squeezed, nd_squeeze(product, 2, both, &squeezed));
    return nd__steps_end(&s, "vecdot", squeezed, out);
}

/* ---- tensordot ---- */

/* The array with the named axes in one, behind (or before) the others in one; `others` are their
 * extents. */
static nd_array *two_groups(nd_steps *s, const nd_array *a, int n, const int32_t *axes, bool behind,
                            int64_t *others, int *n_others)
{
    int32_t order[ND_MAX_NDIM];
    uint64_t mask = 0;
    int64_t shape[2] = {1, 1};
    nd_array *view;
    int at = behind ? 0 : n;
    if (s->status == ND_OK)
        s->status = nd__axes_mask("tensordot", n, axes, a->ndim, &mask);
    if (s->status != ND_OK)
        return NULL;
    for (int d = 0; d < a->ndim; d++)
        if (!(mask >> d & 1)) {
            others[(*n_others)++] = a->shape[d];
            shape[!behind] *= a->shape[d];
            order[at++] = d;
        }
    for (int i = 0; i < n; i++) {
        const int d = axes[i] < 0 ? axes[i] + a->ndim : axes[i];
        order[behind ? at + i : i] = d;
        shape[behind] *= a->shape[d];
    }
    ND_STEP(s, view, nd_permute(a, a->ndim, order, &view));
    return nd__step_reshape(s, view, 2, shape);
}

static nd_status check_pairs(const nd_array *a, const nd_array *b, int n, const int32_t *axes_a,
                             const int32_t *axes_b)
{
    uint64_t mask;
    ND_RETURN_IF(nd__axes_mask("tensordot", n, axes_a, a->ndim, &mask));
    ND_RETURN_IF(nd__axes_mask("tensordot", n, axes_b, b->ndim, &mask));
    for (int i = 0; i < n; i++) {
        const int64_t x = a->shape[axes_a[i] < 0 ? axes_a[i] + a->ndim : axes_a[i]],
                      y = b->shape[axes_b[i] < 0 ? axes_b[i] + b->ndim : axes_b[i]];
        if (x != y)
            return nd__fail(ND_ERR_SHAPE, "tensordot", 3,
                            "axes %d and %d have extents %lld and %lld", (int)axes_a[i],
                            (int)axes_b[i], (long long)x, (long long)y);
    }
    return ND_OK;
}

nd_status nd_tensordot(const nd_array *a, const nd_array *b, int n, const int32_t *axes_a,
                       const int32_t *axes_b, nd_array **out)
{
    nd_steps s = {.status = ND_OK};
    int64_t shape[2 * ND_MAX_NDIM];
    int ndim = 0;
    ND_OUT("tensordot", 5, out, NULL);
    if (n < 0)
        return nd__fail(ND_ERR_ARGUMENT, "tensordot", 2, "%d pairs of axes", n);
    ND_NEED_LIST("tensordot", 3, n, axes_a);
    ND_NEED_LIST("tensordot", 4, n, axes_b);
    ND_RETURN_IF(begin_two(&s, "tensordot", a, b));
    s.status = check_pairs(a, b, n, axes_a, axes_b);
    nd_array *left = two_groups(&s, a, n, axes_a, true, shape, &ndim);
    nd_array *right = two_groups(&s, b, n, axes_b, false, shape, &ndim);
    if (s.status == ND_OK && ndim > ND_MAX_NDIM)
        s.status = nd__fail(ND_ERR_SHAPE, "tensordot", -1, "the result would have %d axes", ndim);
    nd_array *product = matmul(&s, left, right);
    return nd__steps_end(&s, "tensordot", nd__step_reshape(&s, product, ndim, shape), out);
}

/* ---- cross, kron ---- */

nd_status nd_cross(const nd_array *a, const nd_array *b, int axis, nd_array **out)
{
    nd_steps s = {.status = ND_OK};
    nd_array *x[3], *y[3], *part[3] = {NULL}, *joined;
    ND_OUT("cross", 3, out, NULL);
    ND_RETURN_IF(begin_two(&s, "cross", a, b));
    nd_array *left = axis_last(&s, "cross", a, axis, 0),
             *right = axis_last(&s, "cross", b, axis, 1);
    check_last(&s, "cross", left, right);
    if (s.status == ND_OK && left->shape[left->ndim - 1] != 3)
        s.status = nd__fail(ND_ERR_SHAPE, "cross", 0, "the axis has extent %lld; vectors have 3",
                            (long long)left->shape[left->ndim - 1]);
    for (int i = 0; i < 3; i++) {
        x[i] = s.status == ND_OK ? nd__step_at(&s, left, left->ndim - 1, i) : NULL;
        y[i] = s.status == ND_OK ? nd__step_at(&s, right, right->ndim - 1, i) : NULL;
    }
    for (int i = 0; i < 3; i++)
        part[i] = nd__step2(&s, ND_OP_subtract,
                            nd__step2(&s, ND_OP_multiply, x[(i + 1) % 3], y[(i + 2) % 3]),
                            nd__step2(&s, ND_OP_multiply, x[(i + 2) % 3], y[(i + 1) % 3]));
    ND_STEP(&s, joined, nd_concat(3, (const nd_array *const *)part, -1, &joined));
    const int ndim = s.status == ND_OK ? joined->ndim : 1;
    nd_array *r = nd__step_moveaxis(&s, joined, -1,
                                    s.status != ND_OK || axis < 0 ? axis : axis + ndim - a->ndim);
    return nd__steps_end(&s, "cross", r, out);
}

nd_status nd_kron(const nd_array *a, const nd_array *b, nd_array **out)
{
    nd_steps s = {.status = ND_OK};
    int64_t shape[ND_MAX_NDIM];
    int32_t axes_a[ND_MAX_NDIM], axes_b[ND_MAX_NDIM];
    ND_OUT("kron", 2, out, NULL);
    ND_RETURN_IF(begin_two(&s, "kron", a, b));
    const int ndim = a->ndim > b->ndim ? a->ndim : b->ndim, lead_a = ndim - a->ndim,
              lead_b = ndim - b->ndim;
    if (2 * ndim > ND_MAX_NDIM)
        s.status = nd__fail(ND_ERR_SHAPE, "kron", 0, "arrays of %d axes; %d is the most", ndim,
                            ND_MAX_NDIM / 2);
    if (s.status != ND_OK)
        return nd__steps_end(&s, "kron", NULL, out);
    int n_a = 0, n_b = 0;
    for (int d = 0; d < ndim; d++) { /* axes 2 d are a's, 2 d + 1 b's */
        const int64_t x = d < lead_a ? 1 : a->shape[d - lead_a],
                      y = d < lead_b ? 1 : b->shape[d - lead_b];
        if (!nd__mul_size(x, y, &shape[d])) {
            s.status =
                nd__fail(ND_ERR_OVERFLOW, "kron", -1, "axis %d would have more than 2^63", d);
            return nd__steps_end(&s, "kron", NULL, out);
        }
        axes_a[n_a++] = 2 * d + 1;
        axes_b[n_b++] = 2 * d;
        if (d < lead_a)
            axes_a[n_a++] = 2 * d;
        if (d < lead_b)
            axes_b[n_b++] = 2 * d + 1;
    }
    nd_array *product =
        nd__step2(&s, ND_OP_multiply, new_axes(&s, a, n_a, axes_a), new_axes(&s, b, n_b, axes_b));
    return nd__steps_end(&s, "kron", nd__step_reshape(&s, product, ndim, shape), out);
}

/* ---- several matrices ---- */

enum { CHAIN_MOST = ND_STEPS };

/* For matrices i to k: the multiplications that their product takes, and behind which matrix it is
 * best cut. */
typedef struct {
    double cost[CHAIN_MOST][CHAIN_MOST];
    int cut[CHAIN_MOST][CHAIN_MOST];
} chain;

/* By Cormen et al., Introduction to Algorithms, 15.2. extents: rows of the first, then columns of
 * each. */
static void chain_order(int n, const int64_t *extents, chain *c)
{
    for (int i = 0; i < n; i++)
        c->cost[i][i] = 0;
    for (int length = 2; length <= n; length++)
        for (int i = 0; i + length <= n; i++) {
            const int k = i + length - 1;
            for (int at = i; at < k; at++) {
                const double own =
                    c->cost[i][at] + c->cost[at + 1][k] +
                    (double)extents[i] * (double)extents[at + 1] * (double)extents[k + 1];
                if (at > i && own >= c->cost[i][k])
                    continue;
                c->cost[i][k] = own;
                c->cut[i][k] = at;
            }
        }
}

static nd_array *multiply_chain(nd_steps *s, const nd_array *const *a, int i, int k, const chain *c)
{
    if (i == k)
        return (nd_array *)(uintptr_t)a[i];
    nd_array *left = multiply_chain(s, a, i, c->cut[i][k], c);
    nd_array *right = multiply_chain(s, a, c->cut[i][k] + 1, k, c);
    return matmul(s, left, right);
}

nd_status nd_multi_dot(int n, const nd_array *const *arrays, nd_array **out)
{
    nd_steps s = {.status = ND_OK};
    int64_t extents[CHAIN_MOST + 1];
    ND_OUT("multi_dot", 2, out, NULL);
    if (n < 2 || n > CHAIN_MOST)
        return nd__fail(ND_ERR_ARGUMENT, "multi_dot", 0, "%d arrays; 2 to %d are allowed", n,
                        CHAIN_MOST);
    ND_NEED("multi_dot", 1, arrays);
    for (int i = 0; i < n; i++) {
        const bool end = i == 0 || i == n - 1;
        ND_RETURN_IF(nd__check_array("multi_dot", arrays[i], 1));
        const nd_array *a = arrays[i];
        if (a->ndim != 2 && !(end && a->ndim == 1))
            return nd__fail(ND_ERR_SHAPE, "multi_dot", 1,
                            "array %d has %d axes; matrices have two, the first and last may have "
                            "one",
                            i, (int)a->ndim);
        if (i == 0)
            extents[0] = a->ndim == 1 ? 1 : a->shape[0];
        extents[i + 1] = i == n - 1 && a->ndim == 1 ? 1 : a->shape[a->ndim - 1];
    }
    ND_RETURN_IF(nd__steps_begin(&s, "multi_dot", arrays[0], NULL));
    chain *c = malloc(sizeof *c);
    if (!c)
        s.status = nd__fail(ND_ERR_MEMORY, "multi_dot", -1, "no memory for the order");
    else
        chain_order(n, extents, c);
    nd_array *r = c ? multiply_chain(&s, arrays, 0, n - 1, c) : NULL;
    free(c);
    return nd__steps_end(&s, "multi_dot", r, out);
}

/* a to the power of 2 and its powers; 0: the identity. */
nd_status nd_matrix_power(const nd_array *a, int64_t power, nd_array **out)
{
    nd_steps s = {.status = ND_OK};
    nd_array *r = NULL, *square;
    ND_OUT("matrix_power", 2, out, NULL);
    ND_RETURN_IF(nd__check_array("matrix_power", a, 0));
    ND_RETURN_IF(nd__check_square("matrix_power", a, 0));
    ND_RETURN_IF(nd__steps_begin(&s, "matrix_power", a, NULL));
    square = (nd_array *)(uintptr_t)a;
    if (power < 0)
        ND_STEP(&s, square, nd_inv(a, NULL, &square));
    uint64_t left = nd__magnitude(power);
    if (left == 0) {
        ND_STEP(&s, r, nd_empty_like(a, 0, &r));
        ND_STEP_DO(&s, nd__fill_identity(r));
    }
    for (; left && s.status == ND_OK; left >>= 1) {
        if (left & 1)
            r = r ? matmul(&s, r, square) : nd__step_copy(&s, square);
        if (left > 1)
            square = matmul(&s, square, square);
    }
    return nd__steps_end(&s, "matrix_power", r, out);
}
