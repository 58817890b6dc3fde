/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Eigenvalues and eigenvectors by a LAPACK. */
#include "linalg/lapack_calls.h"
#include "linalg/spectral.h"

typedef void syevd_fn(const char *, const char *, const int64_t *, void *, const int64_t *, void *,
                      void *, const int64_t *, void *, const int64_t *, int64_t *, size_t, size_t);
typedef void heevd_fn(const char *, const char *, const int64_t *, void *, const int64_t *, void *,
                      void *, const int64_t *, void *, const int64_t *, void *, const int64_t *,
                      int64_t *, size_t, size_t);
typedef void geev_fn(const char *, const char *, const int64_t *, void *, const int64_t *, void *,
                     void *, void *, const int64_t *, void *, const int64_t *, void *,
                     const int64_t *, int64_t *, size_t, size_t);
typedef void cgeev_fn(const char *, const char *, const int64_t *, void *, const int64_t *, void *,
                      void *, const int64_t *, void *, const int64_t *, void *, const int64_t *,
                      void *, int64_t *, size_t, size_t);

/* ---- eigh ---- */

static int64_t call_eigh(const lin_context *x, int64_t n, int vectors, char *a, int64_t lda,
                         char *w, const lin_room *r, char *work, char *rwork, char *iwork)
{
    const char *job = vectors ? "V" : "N";
    int64_t info = 0;
    if (lin_is_complex(x)) {
        ROUTINE(heevd_fn, SYEVD);
        routine(job, "L", &n, a, &lda, w, work, &r->work, rwork, &r->rwork, iwork, &r->iwork, &info,
                1, 1);
    } else {
        ROUTINE(syevd_fn, SYEVD);
        routine(job, "L", &n, a, &lda, w, work, &r->work, iwork, &r->iwork, &info, 1, 1);
    }
    return lin_lapack_integer(info);
}

static lin_room eigh_room(const lin_context *x, int64_t n, int vectors)
{
    const lin_room query = {-1, -1, -1};
    double first[2] = {0, 0}, real[2] = {0, 0};
    int64_t count[2] = {0, 0};
    (void)call_eigh(x, n, vectors, (char *)first, n, (char *)first, &query, (char *)first,
                    (char *)real, (char *)count);
    lin_room r = {lin_wanted_work(x, first), lin_is_complex(x) ? lin_wanted_work(x, real) : 0,
                  lin_lapack_integer(count[0])};
    return r;
}

int64_t lin_lapack_eigh_bytes(const lin_context *x, int64_t n, int vectors)
{
    const lin_room r = eigh_room(x, n, vectors);
    return lin_room_bytes(x, &r);
}

int lin_lapack_eigh(const lin_context *x, int64_t n, int vectors, char *a, int64_t lda, char *w,
                    char *work, int64_t work_bytes)
{
    const lin_room r = eigh_room(x, n, vectors);
    (void)work_bytes;
    return call_eigh(x, n, vectors, a, lda, w, &r, work, lin_rwork_of(x, &r, work),
                     lin_iwork_of(x, &r, work)) == 0;
}

/* ---- eig ---- */

/* w: of real matrices the real parts, then the imaginary ones; v as LAPACK has it. */
static int64_t call_eig(const lin_context *x, int64_t n, char *a, int64_t lda, char *w, char *v,
                        const lin_room *r, char *work, char *rwork)
{
    const char *job = v ? "V" : "N";
    const int64_t one = 1;
    int64_t info = 0;
    char none[16];
    if (lin_is_complex(x)) {
        ROUTINE(cgeev_fn, GEEV);
        routine("N", job, &n, a, &lda, w, none, &one, v ? v : none, v ? &n : &one, work, &r->work,
                rwork, &info, 1, 1);
    } else {
        ROUTINE(geev_fn, GEEV);
        routine("N", job, &n, a, &lda, w, w + n * x->size, none, &one, v ? v : none, v ? &n : &one,
                work, &r->work, &info, 1, 1);
    }
    return lin_lapack_integer(info);
}

static lin_room eig_room(const lin_context *x, int64_t n, int vectors)
{
    const lin_room query = {-1, 0, 0};
    double first[2] = {0, 0}, other[8];
    (void)call_eig(x, n, (char *)other, n, (char *)other, vectors ? (char *)other : NULL, &query,
                   (char *)first, (char *)other);
    return (lin_room){lin_wanted_work(x, first), 2 * n, 0};
}

int64_t lin_lapack_eig_bytes(const lin_context *x, int64_t n, int vectors)
{
    const lin_room r = eig_room(x, n, vectors);
    return lin_room_bytes(x, &r) + (lin_is_complex(x) ? 0 : (n * n * vectors + 2 * n) * x->size);
}

/* Complex vectors of a real matrix: column j and j + 1 are the real and imaginary part of the first
 * of two conjugates. */
static void spread_pairs(const lin_context *x, int64_t n, const char *w, const char *v, char *out_w,
                         char *out_v)
{
    const size_t size = (size_t)x->real;
    char zero[8] = {0};
    for (int64_t j = 0; j < n; j++) {
        memcpy(out_w + 2 * j * x->real, w + j * x->real, size);
        memcpy(out_w + (2 * j + 1) * x->real, w + (n + j) * x->real, size);
    }
    for (int64_t j = 0, next; v && j < n; j = next) {
        const char *im = w + (n + j) * x->real;
        const int pair = memcmp(im, zero, size) != 0 && j + 1 < n;
        next = j + 1 + pair;
        for (int64_t i = 0; i < n; i++)
            for (int64_t k = j; k < next; k++) {
                char *to = out_v + 2 * (i + k * n) * x->real;
                memcpy(to, lin_at(x, v, n, i, j), size);
                memcpy(to + x->real, pair ? lin_at(x, v, n, i, j + 1) : zero, size);
            }
        if (pair) {
            lin_context complex = *x;
            lin_context_complex(&complex);
            complex.leaf->conjugate(n, out_v + 2 * (j + 1) * n * x->real);
        }
    }
}

int lin_lapack_eig(const lin_context *x, int64_t n, char *a, int64_t lda, char *w, char *v,
                   char *work, int64_t work_bytes)
{
    const lin_room r = eig_room(x, n, v != NULL);
    char *own = work + lin_room_bytes(x, &r), *own_w = own, *own_v = own + 2 * n * x->size;
    (void)work_bytes;
    if (lin_is_complex(x))
        return call_eig(x, n, a, lda, w, v, &r, work, lin_rwork_of(x, &r, work)) == 0;
    if (call_eig(x, n, a, lda, own_w, v ? own_v : NULL, &r, work, lin_rwork_of(x, &r, work)))
        return 0;
    spread_pairs(x, n, own_w, v ? own_v : NULL, w, v);
    return 1;
}
