/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Singular values by a LAPACK. */
#include "linalg/lapack_calls.h"

typedef void gesdd_fn(const char *, const int64_t *, const int64_t *, void *, const int64_t *,
                      void *, void *, const int64_t *, void *, const int64_t *, void *,
                      const int64_t *, void *, int64_t *, size_t);
typedef void cgesdd_fn(const char *, const int64_t *, const int64_t *, void *, const int64_t *,
                       void *, void *, const int64_t *, void *, const int64_t *, void *,
                       const int64_t *, void *, void *, int64_t *, size_t);

static int64_t call_svd(const lin_context *x, int64_t m, int64_t n, int full, char *a, int64_t lda,
                        char *s, char *u, char *vt, const lin_room *r, char *work, char *rwork,
                        char *iwork)
{
    const int64_t least = m < n ? m : n, ldvt = !u ? 1 : full ? n : least, ldu = u ? m : 1;
    const char *job = !u ? "N" : full ? "A" : "S";
    int64_t info = 0;
    char none[16];
    if (lin_is_complex(x)) {
        ROUTINE(cgesdd_fn, GESDD);
        routine(job, &m, &n, a, &lda, s, u ? u : none, &ldu, u ? vt : none, &ldvt, work, &r->work,
                rwork, iwork, &info, 1);
    } else {
        ROUTINE(gesdd_fn, GESDD);
        routine(job, &m, &n, a, &lda, s, u ? u : none, &ldu, u ? vt : none, &ldvt, work, &r->work,
                iwork, &info, 1);
    }
    return lin_lapack_integer(info);
}

/* rwork by LAPACK's documentation of CGESDD. */
static lin_room svd_room(const lin_context *x, int64_t m, int64_t n, int full, int vectors)
{
    const int64_t least = m < n ? m : n, most = m < n ? n : m;
    const lin_room query = {-1, 0, 0};
    double first[2] = {0, 0}, other[8];
    char *o = (char *)other;
    (void)call_svd(x, m, n, full, o, m, o, vectors ? o : NULL, o, &query, (char *)first, o, o);
    lin_room r = {.work = lin_wanted_work(x, first), .iwork = 8 * least};
    if (lin_is_complex(x)) {
        const int64_t a = 5 * least * least + 5 * least,
                      b = 2 * most * least + 2 * least * least + least;
        r.rwork = vectors ? (a > b ? a : b) : 7 * least;
    }
    return r;
}

int64_t lin_lapack_svd_bytes(const lin_context *x, int64_t m, int64_t n, int full, int vectors)
{
    const lin_room r = svd_room(x, m, n, full, vectors);
    return lin_room_bytes(x, &r);
}

int lin_lapack_svd(const lin_context *x, int64_t m, int64_t n, int full, char *a, int64_t lda,
                   char *s, char *u, char *vt, char *work, int64_t work_bytes)
{
    const lin_room r = svd_room(x, m, n, full, u != NULL);
    (void)work_bytes;
    return call_svd(x, m, n, full, a, lda, s, u, vt, &r, work, lin_rwork_of(x, &r, work),
                    lin_iwork_of(x, &r, work)) == 0;
}
