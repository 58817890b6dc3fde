/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Systems of linear equations: by LU, by factors that are there already, triangular ones; the
 * inverse. */
#include "core/ops/linalg.h"

/* The right sides of n equations, which are argument `argument`: columns, or one without its
 * axis. */
static nd_status take_sides(nd_matrix_operation *p, int place, const nd_array *b, int64_t n,
                            int argument)
{
    nd_operation *of = &p->of;
    char text[ND_SHAPE_TEXT];
    if (b->ndim == 0)
        return nd__fail(ND_ERR_SHAPE, of->name, argument,
                        "the right side, argument %d, has no axes", argument);
    ND_RETURN_IF(nd__operand(of, place, b));
    p->vector = b->ndim == 1;
    if (p->vector) {
        static const int32_t last = -1;
        nd_array *column = NULL;
        ND_RETURN_IF(nd_expand_dims(b, 1, &last, &column));
        nd__operand_take(of, place, column);
    }
    const nd_array *sides = of->in[place];
    const int64_t have = p->params.solve.right ? nd__columns(sides) : nd__rows(sides);
    if (have != n)
        return nd__fail(ND_ERR_SHAPE, of->name, argument,
                        "the right side, argument %d, has shape %s; %lld equations need %lld %s",
                        argument, nd__shape_text(b->ndim, b->shape, text, sizeof text),
                        (long long)n, (long long)n, p->params.solve.right ? "columns" : "rows");
    ND_RETURN_IF(nd__matrix_operand(p, place, 2, true));
    return nd__matrix_result(p, 2, nd__rows(of->in[place]), nd__columns(of->in[place]));
}

/* a, the matrix, and b's dtype: all of the operation but the right side. */
static nd_status begin(nd_matrix_operation *p, nd_op op, const char *name, const nd_array *a,
                       const nd_array *b, int b_argument, const nd_linalg_opts *opts)
{
    nd_dtype common;
    ND_RETURN_IF(nd__matrix_begin(p, op, name, a, opts));
    ND_RETURN_IF(nd__check_array(name, b, b_argument));
    ND_RETURN_IF(nd__check_square(name, a, 0));
    ND_RETURN_IF(nd__promote(name, a->dtype, b->dtype, &common));
    ND_RETURN_IF(nd__linalg_dtypes(name, common, &p->compute, &p->of.result));
    if (p->o.trans < ND_TRANS_N || p->o.trans > ND_TRANS_C)
        return nd__fail(ND_ERR_ARGUMENT, name, -1, "trans is %d; ND_TRANS_N, _T and _C are 0 to 2",
                        (int)p->o.trans);
    p->params.solve =
        (ndp_solve){.size = sizeof p->params.solve, .trans = p->o.trans, .check = !p->o.unchecked};
    return nd__matrix_operand(p, 0, 2, true);
}

/* ---- solve, inv ---- */

static nd_status solve_start(const nd_array *a, const nd_array *b, const nd_linalg_opts *opts,
                             nd_matrix_operation *p)
{
    ND_RETURN_IF(begin(p, ND_OP_solve, "solve", a, b, 1, opts));
    return take_sides(p, 1, b, nd__rows(a), 1);
}

nd_status nd_solve(const nd_array *a, const nd_array *b, const nd_linalg_opts *opts, nd_array **out)
{
    nd_matrix_operation p;
    ND_OUT("solve", 3, out, NULL);
    return nd__into_new(&p.of, solve_start(a, b, opts, &p), out);
}

nd_status nd_solve_into(const nd_array *a, const nd_array *b, const nd_linalg_opts *opts,
                        const nd_array *dst)
{
    nd_matrix_operation p;
    return nd__into(&p.of, solve_start(a, b, opts, &p), dst, 3);
}

static nd_status inv_start(const nd_array *a, const nd_linalg_opts *opts, nd_matrix_operation *p)
{
    nd_array *identity = NULL;
    ND_RETURN_IF(begin(p, ND_OP_solve, "inv", a, a, 0, opts));
    p->params.solve.trans = NDP_TRANS_N;
    ND_RETURN_IF(nd__error_as(
        "inv", nd_eye(p->of.device, p->compute, nd__rows(a), nd__rows(a), 0, &identity)));
    nd__operand_take(&p->of, 1, identity);
    ND_RETURN_IF(nd__matrix_operand(p, 1, 2, true));
    return nd__matrix_result(p, 2, nd__rows(a), nd__rows(a));
}

nd_status nd_inv(const nd_array *a, const nd_linalg_opts *opts, nd_array **out)
{
    nd_matrix_operation p;
    ND_OUT("inv", 2, out, NULL);
    return nd__into_new(&p.of, inv_start(a, opts, &p), out);
}

nd_status nd_inv_into(const nd_array *a, const nd_linalg_opts *opts, const nd_array *dst)
{
    nd_matrix_operation p;
    return nd__into(&p.of, inv_start(a, opts, &p), dst, 2);
}

/* ---- triangular systems ---- */

static nd_status triangular_start(const nd_array *a, const nd_array *b, const nd_linalg_opts *opts,
                                  nd_matrix_operation *p)
{
    ND_RETURN_IF(begin(p, ND_OP_solve_triangular, "solve_triangular", a, b, 1, opts));
    p->params.solve.upper = p->o.upper != 0;
    p->params.solve.unit_diagonal = p->o.unit_diagonal != 0;
    p->params.solve.right = p->o.right != 0;
    if (p->o.right && b->ndim < 2)
        return nd__fail(ND_ERR_SHAPE, "solve_triangular", 1,
                        "x a = b needs a matrix b; argument 1 has %d axes", (int)b->ndim);
    return take_sides(p, 1, b, nd__rows(a), 1);
}

nd_status nd_solve_triangular(const nd_array *a, const nd_array *b, const nd_linalg_opts *opts,
                              nd_array **out)
{
    nd_matrix_operation p;
    ND_OUT("solve_triangular", 3, out, NULL);
    return nd__into_new(&p.of, triangular_start(a, b, opts, &p), out);
}

nd_status nd_solve_triangular_into(const nd_array *a, const nd_array *b, const nd_linalg_opts *opts,
                                   const nd_array *dst)
{
    nd_matrix_operation p;
    return nd__into(&p.of, triangular_start(a, b, opts, &p), dst, 3);
}

/* ---- with factors ---- */

static nd_status lu_solve_start(const nd_array *lu, const nd_array *pivots, const nd_array *b,
                                const nd_linalg_opts *opts, nd_matrix_operation *p)
{
    static const char op[] = "lu_solve";
    ND_RETURN_IF(begin(p, ND_OP_lu_solve, op, lu, b, 2, opts));
    ND_RETURN_IF(nd__operand(&p->of, 1, pivots));
    if (pivots->ndim < 1 || pivots->shape[pivots->ndim - 1] != nd__rows(lu))
        return nd__fail(ND_ERR_SHAPE, op, 1, "the pivots of %lld rows have that last extent",
                        (long long)nd__rows(lu));
    if (!(nd__kind(pivots->dtype) & (ND_KIND_INT | ND_KIND_UINT)))
        return nd__fail(ND_ERR_DTYPE, op, 1, "pivots are integers, not %s",
                        nd_dtype_name(pivots->dtype));
    ND_RETURN_IF(nd__operand_cast(&p->of, 1, ND_I64));
    ND_RETURN_IF(nd__matrix_operand(p, 1, 1, false));
    return take_sides(p, 2, b, nd__rows(lu), 2);
}

nd_status nd_lu_solve(const nd_array *lu, const nd_array *pivots, const nd_array *b,
                      const nd_linalg_opts *opts, nd_array **out)
{
    nd_matrix_operation p;
    ND_OUT("lu_solve", 4, out, NULL);
    return nd__into_new(&p.of, lu_solve_start(lu, pivots, b, opts, &p), out);
}

/* The first of the two systems, in the second's terms: upper, u^H (u x) = b; else l (l^H x) = b. */
nd_status nd_cho_solve(const nd_array *l, const nd_array *b, const nd_linalg_opts *opts,
                       nd_array **out)
{
    static const char op[] = "cho_solve";
    nd_linalg_opts o;
    nd_array *half = NULL;
    ND_OUT(op, 3, out, NULL);
    ND_RETURN_IF(nd__linalg_options(op, opts, &o));
    ND_RETURN_IF(nd__check_array(op, l, 0));
    ND_RETURN_IF(nd__check_array(op, b, 1));
    o.size = sizeof o;
    o.unit_diagonal = o.right = 0;
    o.trans = o.upper ? ND_TRANS_C : ND_TRANS_N;
    ND_RETURN_IF(nd__error_as(op, nd_solve_triangular(l, b, &o, &half)));
    o.trans = o.upper ? ND_TRANS_N : ND_TRANS_C;
    nd_status status = nd__error_as(op, nd_solve_triangular(l, half, &o, out));
    nd_release(half);
    return status;
}
