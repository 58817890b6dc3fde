/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Factorisations by a LAPACK: Cholesky, LU and what is solved with it, QR. */
#include "linalg/lapack_calls.h"

typedef void potrf_fn(const char *, const int64_t *, void *, const int64_t *, int64_t *, size_t);
typedef void getrf_fn(const int64_t *, const int64_t *, void *, const int64_t *, void *, int64_t *);
typedef void getrs_fn(const char *, const int64_t *, const int64_t *, const void *, const int64_t *,
                      const void *, void *, const int64_t *, int64_t *, size_t);
typedef void geqrf_fn(const int64_t *, const int64_t *, void *, const int64_t *, void *, void *,
                      const int64_t *, int64_t *);
typedef void orgqr_fn(const int64_t *, const int64_t *, const int64_t *, void *, const int64_t *,
                      const void *, void *, const int64_t *, int64_t *);

int64_t lin_lapack_cholesky(const lin_context *x, int64_t n, char *a, int64_t lda, int upper)
{
    ROUTINE(potrf_fn, POTRF);
    int64_t info = 0;
    routine(upper ? "U" : "L", &n, a, &lda, &info, 1);
    const int64_t failed = lin_lapack_integer(info);
    if (failed <= 0)
        return 0;
    double pivot;
    x->leaf->real_part(lin_at(x, a, lda, failed - 1, failed - 1), &pivot);
    float single;
    memcpy(&single, &pivot, sizeof single);
    return (x->real == 4 ? single != single : pivot != pivot) ? -1 : failed;
}

void lin_lapack_lu(const lin_context *x, int64_t m, int64_t n, char *a, int64_t lda,
                   int64_t *pivots)
{
    ROUTINE(getrf_fn, GETRF);
    int64_t info = 0;
    const int64_t least = m < n ? m : n;
    routine(&m, &n, a, &lda, pivots, &info);
    for (int64_t i = least - 1; i >= 0; i--) { /* narrow ones lie in the first half */
        int32_t narrow;
        memcpy(&narrow, (char *)pivots + i * 4, sizeof narrow);
        pivots[i] = (lin_lapack.wide ? pivots[i] : narrow) - 1;
    }
}

void lin_lapack_lu_solve(const lin_context *x, int64_t n, int64_t k, int32_t trans, const char *lu,
                         int64_t *pivots, char *b)
{
    ROUTINE(getrs_fn, GETRS);
    int64_t info = 0;
    for (int64_t i = 0; i < n; i++) { /* as lin_lapack_lu found them */
        const int64_t wide = pivots[i] + 1;
        const int32_t narrow = (int32_t)wide;
        memcpy((char *)pivots + i * (lin_lapack.wide ? 8 : 4),
               lin_lapack.wide ? (const void *)&wide : &narrow, lin_lapack.wide ? 8 : 4);
    }
    routine(trans == NDP_TRANS_N   ? "N"
            : trans == NDP_TRANS_T ? "T"
                                   : "C",
            &n, &k, lu, &n, pivots, b, &n, &info, 1);
}

/* ---- qr ---- */

int64_t lin_lapack_qr_bytes(const lin_context *x, int64_t m, int64_t n, int64_t k)
{
    const int64_t least = m < n ? m : n, query = -1;
    int64_t info = 0;
    double first[2] = {0, 0};
    {
        ROUTINE(geqrf_fn, GEQRF);
        routine(&m, &n, first, &m, first, first, &query, &info);
    }
    int64_t work = lin_wanted_work(x, first);
    ROUTINE(orgqr_fn, ORGQR);
    routine(&m, &k, &least, first, &m, first, first, &query, &info);
    if (lin_wanted_work(x, first) > work)
        work = lin_wanted_work(x, first);
    return (mm_round_up(least, 8) + work) * x->size;
}

void lin_lapack_qr(const lin_context *x, int64_t m, int64_t n, int64_t k, char *a, int64_t lda,
                   char *q, char *work, int64_t work_bytes)
{
    const int64_t least = m < n ? m : n;
    char *tau = work;
    int64_t info = 0;
    work += mm_round_up(least, 8) * x->size;
    const int64_t lwork = work_bytes / x->size - mm_round_up(least, 8);
    {
        ROUTINE(geqrf_fn, GEQRF);
        routine(&m, &n, a, &lda, tau, work, &lwork, &info);
    }
    if (!q)
        return;
    for (int64_t j = 0; j < least; j++)
        memcpy(lin_at(x, q, m, 0, j), lin_at(x, a, lda, 0, j), (size_t)(m * x->size));
    ROUTINE(orgqr_fn, ORGQR);
    routine(&m, &k, &least, q, &m, tau, work, &lwork, &info);
}
