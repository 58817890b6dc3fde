/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Class SOLVE: systems of equations by LU, by factors, and triangular ones. */
#include <stdio.h>
#include <string.h>
#include "linalg/lapack.h"

static const ndp_solve *params_of(const lin_call *c)
{
    return c->call->params;
}

/* op(a) as strides and conjugates; its upper triangle is meant where *upper was the lower one and it
 * is transposed. */
static lin_matrix operated(lin_matrix a, int32_t trans, int *upper)
{
    if (trans == NDP_TRANS_N)
        return a;
    *upper = !*upper;
    return trans == NDP_TRANS_T ? lin_transposed(a) : lin_adjoint(a);
}

/* ---- by factors ---- */

static void exchange_back(const lin_context *x, int64_t k, char *b, int64_t n,
                          const int64_t *pivots)
{
    for (int64_t i = n - 1; i >= 0; i--)
        x->leaf->exchange(k, b, n, i, i + 1, pivots);
}

/* p l u x = b, or (p l u)^T x = b. */
static void solve_factored(const lin_call *c, const lin_context *x, char *lu, char *b,
                           const int64_t *pivots)
{
    const int32_t trans = params_of(c)->trans;
    int l_upper = 0, u_upper = 1;
    const lin_matrix l = operated(lin_columns(lu, c->n), trans, &l_upper),
                     u = operated(lin_columns(lu, c->n), trans, &u_upper);
    if (trans == NDP_TRANS_N) {
        x->leaf->exchange(c->k, b, c->n, 0, c->n, pivots);
        lin_triangular(x, c->n, c->k, l, l_upper, 1, b, 1, c->n);
        lin_triangular(x, c->n, c->k, u, u_upper, 0, b, 1, c->n);
    } else {
        lin_triangular(x, c->n, c->k, u, u_upper, 0, b, 1, c->n);
        lin_triangular(x, c->n, c->k, l, l_upper, 1, b, 1, c->n);
        exchange_back(x, c->k, b, c->n, pivots);
    }
}

static int64_t solve_one(const lin_call *c, const lin_context *x, int64_t item, char *slot)
{
    const ndp_call *call = c->call;
    int64_t *pivots = (int64_t *)(void *)(slot + c->place[0]);
    char *b = slot + c->place[1];
    lin_get(x, &call->in[0], item, slot, c->n);
    lin_get(x, &call->in[1], item, b, c->n);
    if (c->lapack)
        lin_lapack_lu(x, c->n, c->n, slot, c->n, pivots);
    else
        lin_lu(x, c->n, c->n, slot, c->n, pivots);
    const int64_t failed = lin_zero_pivot(x, c->n, slot, c->n);
    if (failed && c->check)
        return failed;
    if (c->lapack && c->k > 0 && lin_lapack_serves(x, c->n, c->k))
        lin_lapack_lu_solve(x, c->n, c->k, params_of(c)->trans, slot, pivots, b);
    else
        solve_factored(c, x, slot, b, pivots);
    lin_put(x, b, c->n, &call->out[0], item);
    return failed;
}

static int64_t lu_solve_one(const lin_call *c, const lin_context *x, int64_t item, char *slot)
{
    const ndp_call *call = c->call;
    int64_t *pivots = (int64_t *)(void *)(slot + c->place[0]);
    char *b = slot + c->place[1];
    lin_get(x, &call->in[0], item, slot, c->n);
    lin_get_integers(&call->in[1], item, pivots);
    for (int64_t i = 0; i < c->n; i++)
        if (pivots[i] < 0 || pivots[i] >= c->n)
            pivots[i] = i;
    lin_get(x, &call->in[2], item, b, c->n);
    const int64_t failed = lin_zero_pivot(x, c->n, slot, c->n);
    if (failed && c->check)
        return failed;
    solve_factored(c, x, slot, b, pivots);
    lin_put(x, b, c->n, &call->out[0], item);
    return failed;
}

/* ---- triangular ---- */

static int64_t triangular_one(const lin_call *c, const lin_context *x, int64_t item, char *slot)
{
    const ndp_call *call = c->call;
    const ndp_solve *p = call->params;
    char *b = slot + c->place[1];
    int upper = p->upper != 0;
    lin_get(x, &call->in[0], item, slot, c->n);
    const int64_t failed = p->unit_diagonal ? 0 : lin_zero_pivot(x, c->n, slot, c->n);
    if (failed && c->check)
        return failed;
    lin_matrix a = operated(lin_columns(slot, c->n), p->trans, &upper);
    if (p->right) { /* x op(a) = b is op(a)^T x^T = b^T */
        a = lin_transposed(a);
        lin_get(x, &call->in[1], item, b, c->k);
        lin_triangular(x, c->n, c->k, a, !upper, p->unit_diagonal, b, c->k, 1);
        lin_put(x, b, c->k, &call->out[0], item);
        return failed;
    }
    lin_get(x, &call->in[1], item, b, c->n);
    lin_triangular(x, c->n, c->k, a, upper, p->unit_diagonal, b, 1, c->n);
    lin_put(x, b, c->n, &call->out[0], item);
    return failed;
}

/* ---- the class ---- */

static void plan(lin_call *c, const ndp_call *call)
{
    const ndp_solve *p = call->params;
    const ndp_view *b = &call->out[0];
    lin_begin(c, call, p->check);
    c->n = call->in[0].shape[1];
    c->k = p->right && call->op == NDP_OP_solve_triangular ? b->shape[1] : b->shape[2];
    c->lapack = call->op == NDP_OP_solve && lin_lapack_factors(&c->x, c->n, c->n);
    (void)lin_take(c, c->n * c->n);
    c->place[0] = lin_take_bytes(c, c->n * 8);
    c->place[1] = lin_take(c, c->n * c->k);
    if (c->n > LIN_LU_LEAF)
        lin_take_product(c, c->n, c->n > c->k ? c->n : c->k, c->n);
    const double n = (double)c->n, k = (double)c->k;
    c->work = call->op == NDP_OP_solve ? n * n * (n / 3 + k) : n * n * k;
    c->one = call->op == NDP_OP_solve      ? solve_one
             : call->op == NDP_OP_lu_solve ? lu_solve_one
                                           : triangular_one;
    c->fault = "singular";
    c->pivot = "zero";
}

static const lin_kernel the_kernel = LIN_KERNEL(plan);

static const ndp_kernel *find(const ndp_call *like, char *why, size_t n)
{
    const int32_t dtype = like->in[0].dtype;
    if (lin_type_of(dtype) >= 0 && like->in[like->n_in - 1].dtype == dtype &&
        like->out[0].dtype == dtype)
        return &the_kernel.base;
    snprintf(why, n, "%s is not there for dtype %d", ndp_op_name(like->op), (int)dtype);
    return NULL;
}

const cpu_class cpu_solve = {cpu_domain_dtypes, find};
