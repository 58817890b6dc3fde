/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Singular values and eigenvalues of the cuSOLVER that pretends, by rotations. */
#include "tests/cuda/stub_cusolver.h"

/* ---- one-sided rotations: a becomes u diag(s), v of the same ---- */

static void rotate(int64_t m, number *p, number *q, double c, double s, number u)
{
    for (int64_t i = 0; i < m; i++) {
        const number x = p[i], y = q[i];
        p[i] = c * x - s * conj(u) * y;
        q[i] = s * u * x + c * y;
    }
}

static void jacobi(int64_t m, int64_t n, number *a, number *v)
{
    for (int64_t i = 0; i < n * n; i++)
        v[i] = i % (n + 1) == 0;
    for (int sweep = 0, moved = 1; sweep < 60 && moved; sweep++) {
        moved = 0;
        for (int64_t p = 0; p < n; p++)
            for (int64_t q = p + 1; q < n; q++) {
                double app = 0, aqq = 0;
                number apq = 0;
                for (int64_t i = 0; i < m; i++) {
                    app += creal(a[i + p * m] * conj(a[i + p * m]));
                    aqq += creal(a[i + q * m] * conj(a[i + q * m]));
                    apq += conj(a[i + p * m]) * a[i + q * m];
                }
                if (!(cabs(apq) > 1e-15 * sqrt(app * aqq)))
                    continue;
                moved = 1;
                const double zeta = (aqq - app) / (2 * cabs(apq));
                const double t = (zeta < 0 ? -1 : 1) / (fabs(zeta) + hypot(1, zeta));
                const double c = 1 / hypot(1, t);
                rotate(m, a + p * m, a + q * m, c, t * c, apq / cabs(apq));
                rotate(n, v + p * n, v + q * n, c, t * c, apq / cabs(apq));
            }
    }
}

static double column_norm(int64_t m, const number *x)
{
    double sum = 0;
    for (int64_t i = 0; i < m; i++)
        sum += creal(x[i] * conj(x[i]));
    return sqrt(sum);
}

/* Columns n and on of u (m, k): unit vectors less what the columns before have of them. */
static void complete(int64_t m, int64_t n, int64_t k, number *u)
{
    int64_t next = 0;
    for (int64_t j = n; j < k; next++) {
        number *x = u + j * m;
        for (int64_t i = 0; i < m; i++)
            x[i] = i == next;
        for (int turn = 0; turn < 2; turn++)
            for (int64_t c = 0; c < j; c++) {
                number sum = 0;
                for (int64_t i = 0; i < m; i++)
                    sum += conj(u[i + c * m]) * x[i];
                for (int64_t i = 0; i < m; i++)
                    x[i] -= sum * u[i + c * m];
            }
        const double size = column_norm(m, x);
        for (int64_t i = 0; i < m; i++)
            x[i] /= size;
        j += size > 0.1;
    }
}

typedef struct {
    int type, vectors, thin;
    int64_t m, n, lda, ldu, ldv;
    void *a, *s, *u, *v;
} svd_call;

static int svd(const svd_call *c)
{
    const int64_t m = c->m, n = c->n, k = c->thin ? n : m;
    const int real = stub_is_single(c->type) ? 0 : 1;
    if (m < n || c->lda < m || (c->vectors && (c->ldu < m || c->ldv < n)))
        return INVALID_VALUE;
    number *a = stub_load(c->type, c->a, c->lda, m, n), *v = malloc((size_t)(n * n) * sizeof *v),
           *u = calloc((size_t)(m * k), sizeof *u), *w = malloc((size_t)(n * n) * sizeof *w);
    int64_t last = -1;
    jacobi(m, n, a, v);
    for (int64_t j = 0; j < n; j++) {
        int64_t best = -1;
        for (int64_t i = 0; i < n; i++) /* used ones have a column of NaN in v */
            if (!isnan(creal(v[i * n])) &&
                (best < 0 || column_norm(m, a + i * m) > column_norm(m, a + best * m)))
                best = i;
        const double size = column_norm(m, a + best * m);
        stub_put(real, c->s, j, size);
        for (int64_t i = 0; i < m; i++)
            u[i + j * m] = a[i + best * m] / size;
        memcpy(w + j * n, v + best * n, (size_t)n * sizeof *w);
        v[best * n] = NAN;
        last = size > 0 ? j : last;
    }
    if (c->vectors) {
        complete(m, last + 1, k, u);
        stub_store(c->type, c->u, c->ldu, m, k, u);
        stub_store(c->type, c->v, c->ldv, n, n, w);
    }
    for (int64_t j = 0; j < n; j++) /* destroyed */
        for (int64_t i = 0; i < m; i++)
            stub_put(c->type, c->a, i + j * c->lda, NAN);
    free(a);
    free(v);
    free(u);
    free(w);
    return 0;
}

/* The jobs of gesvd that the plug-in may ask for. */
static int has_jobs(int u_job, int vh_job)
{
    return u_job == 'N' ? vh_job == 'N' : (u_job == 'S' || u_job == 'A') && vh_job == 'A';
}

int cusolverDnXgesvd_bufferSize(void *h, void *p, signed char u_job, signed char vh_job, int64_t m,
                                int64_t n, int type, void *a, int64_t lda, int s_type,
                                const void *s, int u_type, const void *u, int64_t ldu, int vh_type,
                                const void *vh, int64_t ldvh, int compute, size_t *device,
                                size_t *host)
{
    (void)h, (void)p, (void)m, (void)n, (void)type, (void)a, (void)lda, (void)s_type, (void)s;
    (void)u_type, (void)u, (void)ldu, (void)vh_type, (void)vh, (void)ldvh, (void)compute;
    return has_jobs(u_job, vh_job) ? stub_sizes(device, host, HOST) : INVALID_VALUE;
}

int cusolverDnXgesvd(void *h, void *p, signed char u_job, signed char vh_job, int64_t m, int64_t n,
                     int type, void *a, int64_t lda, int s_type, void *s, int u_type, void *u,
                     int64_t ldu, int vh_type, void *vh, int64_t ldvh, int compute, void *device,
                     size_t nd, void *host, size_t nh, int *info)
{
    const svd_call c = {type, u_job != 'N', u_job == 'S', m, n, lda, ldu, ldvh, a, s, u, vh};
    int r = stub_begin(h, device, nd, host, nh);
    (void)p, (void)s_type, (void)u_type, (void)compute;
    stub_solver_counts.direct++;
    *info = 0;
    r = r ? r : has_jobs(u_job, vh_job) ? svd(&c) : INVALID_VALUE;
    if (r != 0 || !c.vectors)
        return r;
    number *v = stub_load(vh_type, vh, ldvh, n, n), *w = malloc((size_t)(n * n) * sizeof *w);
    for (int64_t i = 0; i < n * n; i++)
        w[i] = conj(v[i / n + i % n * n]);
    stub_store(vh_type, vh, ldvh, n, n, w);
    free(v);
    free(w);
    return 0;
}

int cusolverDnXgesvdp_bufferSize(void *h, void *p, int vectors, int thin, int64_t m, int64_t n,
                                 int type, void *a, int64_t lda, int s_type, const void *s,
                                 int u_type, const void *u, int64_t ldu, int v_type, const void *v,
                                 int64_t ldv, int compute, size_t *device, size_t *host)
{
    (void)h, (void)p, (void)vectors, (void)thin, (void)m, (void)n, (void)type, (void)a, (void)lda;
    (void)s_type, (void)s, (void)u_type, (void)u, (void)ldu, (void)v_type, (void)v, (void)ldv;
    (void)compute;
    return stub_sizes(device, host, HOST);
}

/* STUB_POLAR_MOVES: it says that it has moved values, and they are wrong. */
int cusolverDnXgesvdp(void *h, void *p, int vectors, int thin, int64_t m, int64_t n, int type,
                      void *a, int64_t lda, int s_type, void *s, int u_type, void *u, int64_t ldu,
                      int v_type, void *v, int64_t ldv, int compute, void *device, size_t nd,
                      void *host, size_t nh, int *info, double *moved)
{
    const svd_call c = {type, vectors, thin, m, n, lda, ldu, ldv, a, s, u, v};
    int r = stub_begin(h, device, nd, host, nh);
    (void)p, (void)s_type, (void)u_type, (void)v_type, (void)compute;
    stub_solver_counts.polar++;
    *info = 0;
    r = r ? r : svd(&c);
    *moved = getenv("STUB_POLAR_MOVES") ? 1e-3 : 0;
    for (int64_t i = 0; i < n && *moved != 0; i++)
        stub_put(s_type, s, i, stub_get(s_type, s, i) + *moved);
    return r;
}

/* ---- eigenvalues: of a Hermitian matrix those of a + b, which is positive, less b ---- */

static int syev(int type, int vectors, int uplo, int64_t n, void *a, int64_t lda, void *w)
{
    const int real = stub_is_single(type) ? 0 : 1;
    number *x = stub_load(type, a, lda, n, n), *v = malloc((size_t)(n * n) * sizeof *v);
    double most = 1;
    if (lda < n)
        return INVALID_VALUE;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++) {
            const int given = i == j || (i > j) == (uplo == 0);
            x[i + j * n] = given ? x[i + j * n] : 0;
        }
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++)
            if (i != j && (i > j) == (uplo == 0))
                x[j + i * n] = conj(x[i + j * n]);
    for (int64_t i = 0; i < n * n; i++)
        most += cabs(x[i]);
    for (int64_t i = 0; i < n; i++)
        x[i + i * n] = creal(x[i + i * n]) + most;
    jacobi(n, n, x, v);
    for (int64_t j = 0; j < n; j++) {
        int64_t best = -1;
        for (int64_t i = 0; i < n; i++)
            if (!isnan(creal(x[i * n])) &&
                (best < 0 || column_norm(n, x + i * n) < column_norm(n, x + best * n)))
                best = i;
        stub_put(real, w, j, column_norm(n, x + best * n) - most);
        for (int64_t i = 0; i < n; i++) /* with some sign or phase */
            stub_put(type, a, i + j * lda, vectors ? v[i + best * n] * (j % 2 ? -1 : 1) : NAN);
        x[best * n] = NAN;
    }
    free(x);
    free(v);
    return 0;
}

int cusolverDnXsyevd_bufferSize(void *h, void *p, int vectors, int uplo, int64_t n, int type,
                                void *a, int64_t lda, int w_type, const void *w, int compute,
                                size_t *device, size_t *host)
{
    (void)h, (void)p, (void)vectors, (void)uplo, (void)n, (void)type, (void)a, (void)lda;
    (void)w_type, (void)w, (void)compute;
    return stub_sizes(device, host, HOST);
}

int cusolverDnXsyevd(void *h, void *p, int vectors, int uplo, int64_t n, int type, void *a,
                     int64_t lda, int w_type, void *w, int compute, void *device, size_t nd,
                     void *host, size_t nh, int *info)
{
    int r = stub_begin(h, device, nd, host, nh);
    (void)p, (void)w_type, (void)compute;
    *info = 0;
    return r ? r : syev(type, vectors, uplo, n, a, lda, w);
}

int cusolverDnXsyevBatched_bufferSize(void *h, void *p, int vectors, int uplo, int64_t n, int type,
                                      void *a, int64_t lda, int w_type, const void *w, int compute,
                                      size_t *device, size_t *host, int64_t count)
{
    (void)count;
    return cusolverDnXsyevd_bufferSize(h, p, vectors, uplo, n, type, a, lda, w_type, w, compute,
                                       device, host);
}

int cusolverDnXsyevBatched(void *h, void *p, int vectors, int uplo, int64_t n, int type, void *a,
                           int64_t lda, int w_type, void *w, int compute, void *device, size_t nd,
                           void *host, size_t nh, int *info, int64_t count)
{
    int r = stub_begin(h, device, nd, host, nh);
    const int64_t element = type == 0   ? 4
                            : type == 5 ? 16
                                        : 8,
                  value = stub_is_single(type) ? 4 : 8;
    (void)p, (void)w_type, (void)compute;
    for (int64_t i = 0; i < count && r == 0; i++) {
        info[i] = 0;
        r = syev(type, vectors, uplo, n, (char *)a + i * lda * n * element, lda,
                 (char *)w + i * n * value);
    }
    return r;
}

/* ---- of triangular matrices alone: the diagonal, and vectors by substitution ---- */

int cusolverDnXgeev_bufferSize(void *h, void *p, int left, int right, int64_t n, int type, void *a,
                               int64_t lda, int w_type, const void *w, int vl_type, const void *vl,
                               int64_t ldvl, int vr_type, const void *vr, int64_t ldvr, int compute,
                               size_t *device, size_t *host)
{
    (void)h, (void)p, (void)left, (void)right, (void)n, (void)type, (void)a, (void)lda;
    (void)w_type, (void)w, (void)vl_type, (void)vl, (void)ldvl, (void)vr_type, (void)vr;
    (void)ldvr, (void)compute;
    return stub_sizes(device, host, HOST);
}

int cusolverDnXgeev(void *h, void *p, int left, int right, int64_t n, int type, void *a,
                    int64_t lda, int w_type, void *w, int vl_type, void *vl, int64_t ldvl,
                    int vr_type, void *vr, int64_t ldvr, int compute, void *device, size_t nd,
                    void *host, size_t nh, int *info)
{
    int r = stub_begin(h, device, nd, host, nh);
    (void)p, (void)vl_type, (void)vl, (void)ldvl, (void)compute;
    *info = 0;
    if (r != 0 || left || lda < n || (right && ldvr < n) || type < 4 || w_type != type ||
        vr_type != type)
        return r ? r : INVALID_VALUE;
    number *x = stub_load(type, a, lda, n, n), *v = calloc((size_t)(n * n), sizeof *v);
    for (int64_t k = 0; k < n; k++) {
        stub_put(w_type, w, k, x[k + k * n]);
        v[k + k * n] = 1;
        for (int64_t i = k - 1; i >= 0; i--) {
            number sum = 0;
            for (int64_t j = i + 1; j <= k; j++)
                sum += x[i + j * n] * v[j + k * n];
            v[i + k * n] = sum / (x[k + k * n] - x[i + i * n]);
        }
        const double size = column_norm(n, v + k * n);
        for (int64_t i = 0; i < n; i++)
            v[i + k * n] *= (k % 2 ? -1 : I) / size;
    }
    if (right)
        stub_store(vr_type, vr, ldvr, n, n, v);
    free(x);
    free(v);
    return 0;
}
