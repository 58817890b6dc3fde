/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Eigenvalues and vectors. */
#include "core/ops/linalg.h"

static nd_status eigen_start(nd_op op, const char *name, const nd_array *a,
                             const nd_linalg_opts *opts, bool vectors, nd_matrices *m)
{
    ND_RETURN_IF(nd__matrices_begin(m, op, name, a, opts));
    ND_RETURN_IF(nd__check_square(name, a, 0));
    ND_RETURN_IF(nd__matrices_dtype(m, a->dtype));
    ND_RETURN_IF(nd__matrices_in(m, a, 2, 0));
    const nd_dtype complex = nd__complex_of(m->compute);
    const bool hermitian = op == ND_OP_eigh;
    ND_RETURN_IF(
        nd__matrices_out(m, hermitian ? nd__real_of(m->compute) : complex, 1, nd__rows(a), 0));
    if (vectors)
        ND_RETURN_IF(
            nd__matrices_out(m, hermitian ? m->compute : complex, 2, nd__rows(a), nd__rows(a)));
    m->params.eigen = (ndp_eigen){
        .size = sizeof m->params.eigen, .upper = m->o.upper != 0, .check = !m->o.unchecked};
    return nd__matrices_run(m);
}

/* v NULL: values alone. */
static nd_status eigen(nd_op op, const char *name, const nd_array *a, const nd_linalg_opts *opts,
                       nd_array **w, nd_array **v)
{
    nd_matrices m;
    nd_array **const results[ND_MATRICES_OUT] = {w, v, NULL};
    memset(&m, 0, sizeof m);
    return nd__matrices_end(&m, eigen_start(op, name, a, opts, v != NULL, &m), results);
}

nd_status nd_eigh(const nd_array *a, const nd_linalg_opts *opts, nd_array **w, nd_array **v)
{
    ND_OUT("eigh", 2, w, NULL);
    ND_OUT("eigh", 3, v, NULL);
    return eigen(ND_OP_eigh, "eigh", a, opts, w, v);
}

nd_status nd_eigvalsh(const nd_array *a, const nd_linalg_opts *opts, nd_array **w)
{
    ND_OUT("eigvalsh", 2, w, NULL);
    return eigen(ND_OP_eigh, "eigvalsh", a, opts, w, NULL);
}

nd_status nd_eig(const nd_array *a, const nd_linalg_opts *opts, nd_array **w, nd_array **v)
{
    ND_OUT("eig", 2, w, NULL);
    ND_OUT("eig", 3, v, NULL);
    return eigen(ND_OP_eig, "eig", a, opts, w, v);
}

nd_status nd_eigvals(const nd_array *a, const nd_linalg_opts *opts, nd_array **w)
{
    ND_OUT("eigvals", 2, w, NULL);
    return eigen(ND_OP_eig, "eigvals", a, opts, w, NULL);
}
