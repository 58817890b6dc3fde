/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Singular values and vectors. */
#include "core/ops/linalg.h"

/* Factors of matrices without elements: whole ones are identities. */
static nd_status svd_of_nothing(const nd_matrices *m)
{
    for (int i = 0; i < m->n_out; i += 2)
        if (m->out_axes[i] == 2 && m->out[i]->size)
            ND_RETURN_IF(nd__fill_identity(m->out[i]));
    return ND_OK;
}

static nd_status svd_start(const char *name, const nd_array *a, const nd_linalg_opts *opts,
                           bool vectors, nd_matrices *m)
{
    ND_RETURN_IF(nd__matrices_begin(m, ND_OP_svd, name, a, opts));
    ND_RETURN_IF(nd__check_matrix(name, a, 0));
    ND_RETURN_IF(nd__matrices_dtype(m, a->dtype));
    ND_RETURN_IF(nd__matrices_in(m, a, 2, 0));
    const int64_t rows = nd__rows(a), columns = nd__columns(a), k = rows < columns ? rows : columns;
    if (vectors)
        ND_RETURN_IF(nd__matrices_out(m, m->compute, 2, rows, m->o.full ? rows : k));
    ND_RETURN_IF(nd__matrices_out(m, nd__real_of(m->compute), 1, k, 0));
    if (vectors)
        ND_RETURN_IF(nd__matrices_out(m, m->compute, 2, m->o.full ? columns : k, columns));
    m->params.svd = (ndp_svd){.size = sizeof m->params.svd, .check = !m->o.unchecked};
    return a->size ? nd__matrices_run(m) : svd_of_nothing(m);
}

nd_status nd_svd(const nd_array *a, const nd_linalg_opts *opts, nd_array **u, nd_array **s,
                 nd_array **vh)
{
    nd_matrices m;
    nd_array **const results[ND_MATRICES_OUT] = {u, s, vh};
    ND_OUT("svd", 2, u, NULL);
    ND_OUT("svd", 3, s, NULL);
    ND_OUT("svd", 4, vh, NULL);
    memset(&m, 0, sizeof m);
    return nd__matrices_end(&m, svd_start("svd", a, opts, true, &m), results);
}

nd_status nd_svdvals(const nd_array *a, const nd_linalg_opts *opts, nd_array **s)
{
    nd_matrices m;
    nd_array **const results[ND_MATRICES_OUT] = {s, NULL, NULL};
    ND_OUT("svdvals", 2, s, NULL);
    memset(&m, 0, sizeof m);
    return nd__matrices_end(&m, svd_start("svdvals", a, opts, false, &m), results);
}
