/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Factorisations: Cholesky, LU with partial pivoting, QR. */
#include "core/ops/linalg.h"

static void factor_params(nd_matrix_params *params, const nd_linalg_opts *o)
{
    params->factor =
        (ndp_factor){.size = sizeof params->factor, .upper = o->upper != 0, .check = !o->unchecked};
}

/* ---- cholesky ---- */

static nd_status cholesky_start(const nd_array *a, const nd_linalg_opts *opts,
                                nd_matrix_operation *p)
{
    ND_RETURN_IF(nd__matrix_begin(p, ND_OP_cholesky, "cholesky", a, opts));
    ND_RETURN_IF(nd__check_square("cholesky", a, 0));
    ND_RETURN_IF(nd__linalg_dtypes("cholesky", a->dtype, &p->compute, &p->of.result));
    ND_RETURN_IF(nd__matrix_operand(p, 0, 2, true));
    factor_params(&p->params, &p->o);
    return nd__matrix_result(p, 2, nd__rows(a), nd__rows(a));
}

nd_status nd_cholesky(const nd_array *a, const nd_linalg_opts *opts, nd_array **out)
{
    nd_matrix_operation p;
    ND_OUT("cholesky", 2, out, NULL);
    return nd__into_new(&p.of, cholesky_start(a, opts, &p), out);
}

nd_status nd_cholesky_into(const nd_array *a, const nd_linalg_opts *opts, const nd_array *dst)
{
    nd_matrix_operation p;
    return nd__into(&p.of, cholesky_start(a, opts, &p), dst, 2);
}

/* ---- lu ---- */

/* The packed factors, pivots, and the permutation that they make. */
static nd_status lu_start(const char *name, const nd_array *a, const nd_linalg_opts *opts,
                          bool report, nd_matrices *m)
{
    ND_RETURN_IF(nd__matrices_begin(m, ND_OP_lu, name, a, opts));
    ND_RETURN_IF(nd__check_matrix(name, a, 0));
    ND_RETURN_IF(nd__matrices_dtype(m, a->dtype));
    ND_RETURN_IF(nd__matrices_in(m, a, 2, 0));
    const int64_t rows = nd__rows(a), columns = nd__columns(a);
    ND_RETURN_IF(nd__matrices_out(m, m->compute, 2, rows, columns));
    ND_RETURN_IF(nd__matrices_out(m, ND_I64, 1, rows < columns ? rows : columns, 0));
    ND_RETURN_IF(nd__matrices_out(m, ND_I64, 1, rows, 0));
    factor_params(&m->params, &m->o);
    m->params.factor.check &= report;
    if (rows == 0 || columns > 0)
        return nd__matrices_run(m);
    return nd__fill_positions(m->out[2]); /* no column, so no row changes its place */
}

nd_status nd_lu_factor(const nd_array *a, const nd_linalg_opts *opts, nd_array **lu,
                       nd_array **pivots)
{
    nd_matrices m;
    nd_array **const results[] = {lu, pivots, NULL};
    ND_OUT("lu_factor", 2, lu, NULL);
    ND_OUT("lu_factor", 3, pivots, NULL);
    memset(&m, 0, sizeof m);
    return nd__matrices_end(&m, lu_start("lu_factor", a, opts, true, &m), results);
}

/* The triangles of packed factors: l (rows, k) with ones on its diagonal, u (k, columns). */
static nd_array *lower_factor(nd_steps *s, const nd_array *packed, int64_t k)
{
    nd_array *part = nd__step_corner(s, packed, packed ? nd__rows(packed) : 0, k), *l;
    ND_STEP(s, l, nd_tril(part, -1, &l));
    nd_array *diagonal = nd__step_diagonal(s, l);
    ND_STEP_DO(s, nd_fill(diagonal, nd_int(1)));
    return l;
}

static nd_array *upper_factor(nd_steps *s, const nd_array *packed, int64_t k)
{
    nd_array *part = nd__step_corner(s, packed, k, packed ? nd__columns(packed) : 0), *u;
    ND_STEP(s, u, nd_triu(part, 0, &u));
    return u;
}

/* p with a = p l u: p[i, j] is one where i is perm[j]. */
static nd_array *permutation_matrix(nd_steps *s, const nd_array *perm, nd_dtype dtype)
{
    nd_array *positions = nd__step_range(s, perm, 0, perm->shape[perm->ndim - 1]);
    nd_array *rows = nd__step_axis(s, positions, -1), *columns = nd__step_axis(s, perm, -2);
    return nd__step_cast(s, nd__step2(s, ND_OP_equal, rows, columns), dtype);
}

nd_status nd_lu(const nd_array *a, const nd_linalg_opts *opts, nd_array **p, nd_array **l,
                nd_array **u)
{
    nd_matrices m;
    nd_steps s = {.status = ND_OK};
    nd_array *packed = NULL, *perm = NULL, *made[3] = {NULL};
    nd_array **const results[] = {&packed, NULL, &perm};
    ND_OUT("lu", 2, p, NULL);
    ND_OUT("lu", 3, l, NULL);
    ND_OUT("lu", 4, u, NULL);
    memset(&m, 0, sizeof m);
    ND_RETURN_IF(nd__matrices_end(&m, lu_start("lu", a, opts, false, &m), results));
    nd__steps_keep(&s, packed);
    nd__steps_keep(&s, perm);
    const int64_t rows = nd__rows(packed), columns = nd__columns(packed);
    const int64_t k = rows < columns ? rows : columns;
    s.status = nd__scope_of("lu", a, opts, &s.scope);
    made[0] = permutation_matrix(&s, perm, packed->dtype);
    made[1] = lower_factor(&s, packed, k);
    made[2] = upper_factor(&s, packed, k);
    if (s.status == ND_OK) {
        *p = nd_retain(made[0]);
        *l = nd_retain(made[1]);
        *u = nd_retain(made[2]);
    }
    return nd__steps_end(&s, "lu", NULL, NULL);
}

/* ---- qr ---- */

/* Columns of q and rows of r exchange the phases of r's diagonal, which becomes real and at least
 * zero. q NULL: r alone. */
static nd_status normalize(const nd_array *q, const nd_array *r)
{
    const int64_t k = nd__rows(r) < nd__columns(r) ? nd__rows(r) : nd__columns(r);
    nd_steps s = {.status = ND_OK};
    nd_array *phase = nd__step1(&s, ND_OP_sign, nd__step_diagonal(&s, r));
    nd_array *zero = nd__step_scalar(&s, ND_OP_equal, phase, nd_int(0));
    nd_array *kept = nd__step_where(&s, zero, nd_scalar_arg(nd_int(1)), nd_array_arg(phase));
    nd_array *factor = nd__step_axis(&s, nd__step1(&s, ND_OP_conj, kept), -1);
    nd_array *part = nd__step_corner(&s, r, k, nd__columns(r));
    ND_STEP_DO(&s, nd_multiply_into(part, factor, part));
    ND_STEP_DO(&s, nd_add_scalar_into(part, nd_int(0), part)); /* no -0 below the diagonal */
    if (q) {
        factor = nd__step_axis(&s, kept, -2);
        part = nd__step_corner(&s, q, nd__rows(q), k);
        ND_STEP_DO(&s, nd_multiply_into(part, factor, part));
    }
    return nd__steps_end(&s, "qr", NULL, NULL);
}

/* q, where a has no element and so no kernel is called: its columns are orthonormal whatever r,
 * which has no element either, is. */
static nd_status qr_of_nothing(const nd_matrices *m)
{
    return m->n_out == 2 && m->out[0]->size ? nd__fill_identity(m->out[0]) : (nd_status)ND_OK;
}

static nd_status qr_start(const nd_array *a, const nd_linalg_opts *opts, bool with_q,
                          nd_matrices *m)
{
    ND_RETURN_IF(nd__matrices_begin(m, ND_OP_qr, "qr", a, opts));
    ND_RETURN_IF(nd__check_matrix("qr", a, 0));
    ND_RETURN_IF(nd__matrices_dtype(m, a->dtype));
    ND_RETURN_IF(nd__matrices_in(m, a, 2, 0));
    const int64_t rows = nd__rows(a), columns = nd__columns(a);
    const int64_t k = m->o.full || rows < columns ? rows : columns;
    if (with_q)
        ND_RETURN_IF(nd__matrices_out(m, m->compute, 2, rows, k));
    ND_RETURN_IF(nd__matrices_out(m, m->compute, 2, k, columns));
    factor_params(&m->params, &m->o);
    if (a->size == 0)
        return qr_of_nothing(m);
    ND_RETURN_IF(nd__matrices_run(m));
    if (!m->o.normalize)
        return ND_OK;
    return normalize(with_q ? m->out[0] : NULL, m->out[m->n_out - 1]);
}

nd_status nd_qr(const nd_array *a, const nd_linalg_opts *opts, nd_array **q, nd_array **r)
{
    nd_matrices m;
    nd_array **results[3] = {NULL};
    int n = 0;
    if (q)
        *(results[n++] = q) = NULL;
    ND_OUT("qr", 3, r, NULL);
    results[n] = r;
    memset(&m, 0, sizeof m);
    return nd__matrices_end(&m, qr_start(a, opts, q != NULL, &m), results);
}
