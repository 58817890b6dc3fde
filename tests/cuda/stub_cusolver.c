/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A libcusolver.so.12 and libcublas.so.13 that compute in memory of the host (STUB_CUDA_MEMORY=1) by
 * textbook methods in double precision, and count. Work areas are filled before they are used. */
#include <complex.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC visibility push(default)

typedef double complex number;
typedef void *CUstream;
enum { WORK = 1024, HOST = 512, INVALID_VALUE = 3, NO_WORK = 31 };

/* Of all: handles made and destroyed; functions run; those among them that had too small a work area,
 * or no stream; matrices given to each way of an svd. */
struct {
    _Atomic int made, destroyed, runs, without, polar, jacobi;
} stub_solver_counts;

typedef struct {
    int has_stream;
} handle;

#define SOLVER_FN(name, required, parameters) int name parameters;
#define SOLVER_FOUR(field, s, d, c, z, parameters) \
    int s parameters;                              \
    int d parameters;                              \
    int c parameters;                              \
    int z parameters;
#define BLAS_FN SOLVER_FN
#define BLAS_FOUR SOLVER_FOUR
#include "linalg/solver.def"

/* ---- numbers ---- */

static int is_single(int type)
{
    return type == 0 || type == 4;
}

static number get(int type, const void *at, int64_t i)
{
    switch (type) {
    case 0:
        return ((const float *)at)[i];
    case 1:
        return ((const double *)at)[i];
    case 4:
        return (number)((const float complex *)at)[i];
    default:
        return ((const double complex *)at)[i];
    }
}

static void put(int type, void *at, int64_t i, number x)
{
    switch (type) {
    case 0:
        ((float *)at)[i] = (float)creal(x);
        break;
    case 1:
        ((double *)at)[i] = creal(x);
        break;
    case 4:
        ((float complex *)at)[i] = (float complex)x;
        break;
    default:
        ((double complex *)at)[i] = x;
    }
}

/* A copy of a matrix, column after column without gaps; what is stored goes back. */
static number *load(int type, const void *a, int64_t lda, int64_t m, int64_t n)
{
    number *x = malloc((size_t)(m * n + 1) * sizeof *x);
    for (int64_t j = 0; x && j < n; j++)
        for (int64_t i = 0; i < m; i++)
            x[i + j * m] = get(type, a, i + j * lda);
    return x;
}

static void store(int type, void *a, int64_t lda, int64_t m, int64_t n, const number *x)
{
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++)
            put(type, a, i + j * lda, x[i + j * m]);
}

/* ---- what every function does first ---- */

static int begin(const handle *h, void *work, size_t nbytes, void *host, size_t host_bytes)
{
    stub_solver_counts.runs++;
    const int good = h->has_stream && work && nbytes >= WORK && (host_bytes == 0 || host);
    stub_solver_counts.without += !good;
    if (!good)
        return NO_WORK;
    memset(work, 0xff, WORK);
    if (host_bytes)
        memset(host, 0xff, host_bytes);
    return 0;
}

static int sizes(size_t *device, size_t *host, size_t host_bytes)
{
    *device = WORK;
    *host = host_bytes;
    return 0;
}

int cusolverGetVersion(int *version)
{
    *version = 12000;
    return 0;
}

static int make(void **out)
{
    stub_solver_counts.made++;
    *out = calloc(1, sizeof(handle));
    return *out ? 0 : 2;
}

static int drop(void *h)
{
    stub_solver_counts.destroyed++;
    free(h);
    return 0;
}

static int set_stream(void *h)
{
    ((handle *)h)->has_stream = 1;
    return 0;
}

int cusolverDnCreate(void **h)
{
    return make(h);
}
int cusolverDnDestroy(void *h)
{
    return drop(h);
}
int cusolverDnCreateParams(void **p)
{
    return make(p);
}
int cusolverDnDestroyParams(void *p)
{
    return drop(p);
}
int cusolverDnCreateGesvdjInfo(void **p)
{
    return make(p);
}
int cusolverDnDestroyGesvdjInfo(void *p)
{
    return drop(p);
}
int cublasCreate_v2(void **h)
{
    return make(h);
}
int cublasDestroy_v2(void *h)
{
    return drop(h);
}
int cublasGetVersion_v2(void *h, int *version)
{
    (void)h;
    *version = 130000;
    return 0;
}
int cusolverDnSetStream(void *h, CUstream s)
{
    (void)s;
    return set_stream(h);
}
int cublasSetStream_v2(void *h, CUstream s)
{
    (void)s;
    return set_stream(h);
}
int cublasSetWorkspace_v2(void *h, void *work, size_t nbytes)
{
    (void)h;
    stub_solver_counts.without += !work || !nbytes;
    return 0;
}

/* ---- cholesky: only the named triangle is read and written ---- */

int cusolverDnXpotrf_bufferSize(void *h, void *p, int uplo, int64_t n, int type, void *a,
                                int64_t lda, int compute, size_t *device, size_t *host)
{
    (void)h, (void)p, (void)uplo, (void)n, (void)type, (void)a, (void)lda, (void)compute;
    return sizes(device, host, 0);
}

int cusolverDnXpotrf(void *h, void *p, int uplo, int64_t n, int type, void *a, int64_t lda,
                     int compute, void *device, size_t nd, void *host, size_t nh, int *info)
{
    int r = begin(h, device, nd, host, nh);
    (void)p, (void)compute;
    *info = 0;
    if (r != 0 || lda < n)
        return r ? r : INVALID_VALUE;
#define AT(i, j) (uplo ? (j) + (i)*lda : (i) + (j)*lda)
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = j; i < n; i++) {
            number sum = get(type, a, AT(i, j));
            sum = uplo ? conj(sum) : sum;
            for (int64_t k = 0; k < j; k++) {
                const number x = get(type, a, AT(i, k)), y = get(type, a, AT(j, k));
                sum -= uplo ? conj(x) * y : x * conj(y);
            }
            const number pivot = i == j ? 0 : get(type, a, AT(j, j));
            if (i == j && !(creal(sum) > 0)) {
                *info = (int)j + 1;
                return 0;
            }
            sum = i == j ? sqrt(creal(sum)) : sum / creal(pivot);
            put(type, a, AT(i, j), uplo ? conj(sum) : sum);
        }
#undef AT
    return 0;
}

/* ---- lu ---- */

int cusolverDnXgetrf_bufferSize(void *h, void *p, int64_t m, int64_t n, int type, void *a,
                                int64_t lda, int compute, size_t *device, size_t *host)
{
    (void)h, (void)p, (void)m, (void)n, (void)type, (void)a, (void)lda, (void)compute;
    return sizes(device, host, HOST);
}

static double size_of(number x)
{
    return fabs(creal(x)) + fabs(cimag(x));
}

int cusolverDnXgetrf(void *h, void *p, int64_t m, int64_t n, int type, void *a, int64_t lda,
                     int64_t *pivots, int compute, void *device, size_t nd, void *host, size_t nh,
                     int *info)
{
    int r = begin(h, device, nd, host, nh);
    (void)p, (void)compute;
    *info = 0;
    if (r != 0 || lda < m)
        return r ? r : INVALID_VALUE;
    number *x = load(type, a, lda, m, n);
    for (int64_t j = 0; x && j < m && j < n; j++) {
        int64_t at = j;
        for (int64_t i = j + 1; i < m; i++)
            at = size_of(x[i + j * m]) > size_of(x[at + j * m]) ? i : at;
        pivots[j] = at + 1;
        for (int64_t c = 0; c < n; c++) {
            const number t = x[j + c * m];
            x[j + c * m] = x[at + c * m];
            x[at + c * m] = t;
        }
        if (x[j + j * m] == 0) {
            *info = *info ? *info : (int)j + 1;
            continue;
        }
        for (int64_t i = j + 1; i < m; i++) {
            x[i + j * m] /= x[j + j * m];
            for (int64_t c = j + 1; c < n; c++)
                x[i + c * m] -= x[i + j * m] * x[j + c * m];
        }
    }
    store(type, a, lda, m, n, x);
    free(x);
    return 0;
}

static number turned(const number *a, int64_t n, int trans, int64_t i, int64_t j)
{
    return trans == 0 ? a[i + j * n] : trans == 1 ? a[j + i * n] : conj(a[j + i * n]);
}

/* op(a) x = b in place, of a's triangle. */
static void substitute(const number *a, int64_t n, int upper, int trans, int unit, number *b)
{
    const int up = (upper != 0) != (trans != 0);
    for (int64_t step = 0; step < n; step++) {
        const int64_t p = up ? n - 1 - step : step;
        for (int64_t k = up ? p + 1 : 0; k < (up ? n : p); k++)
            b[p] -= turned(a, n, trans, p, k) * b[k];
        if (!unit)
            b[p] /= turned(a, n, trans, p, p);
    }
}

int cusolverDnXgetrs(void *h, void *p, int trans, int64_t n, int64_t sides, int type, const void *a,
                     int64_t lda, const int64_t *pivots, int b_type, void *b, int64_t ldb, int *info)
{
    number *x = load(type, a, lda, n, n), *y = load(b_type, b, ldb, n, sides);
    (void)h, (void)p;
    stub_solver_counts.runs++;
    *info = 0;
    for (int64_t c = 0; x && y && c < sides; c++) {
        number *s = y + c * n;
        for (int64_t i = 0; i < n && trans == 0; i++) {
            const number t = s[i];
            s[i] = s[pivots[i] - 1];
            s[pivots[i] - 1] = t;
        }
        substitute(x, n, trans != 0 ? 1 : 0, trans, trans == 0, s);
        substitute(x, n, trans != 0 ? 0 : 1, trans, trans != 0, s);
        for (int64_t i = n - 1; i >= 0 && trans != 0; i--) {
            const number t = s[i];
            s[i] = s[pivots[i] - 1];
            s[pivots[i] - 1] = t;
        }
    }
    store(b_type, b, ldb, n, sides, y);
    free(x);
    free(y);
    return 0;
}

/* ---- qr ---- */

int cusolverDnXgeqrf_bufferSize(void *h, void *p, int64_t m, int64_t n, int type, void *a,
                                int64_t lda, int tau_type, const void *tau, int compute,
                                size_t *device, size_t *host)
{
    (void)h, (void)p, (void)m, (void)n, (void)type, (void)a, (void)lda, (void)tau_type, (void)tau;
    (void)compute;
    return sizes(device, host, 0);
}

static void reflect(const number *v, number tau, int64_t n, number *x)
{
    number sum = x[0];
    for (int64_t i = 1; i < n; i++)
        sum += conj(v[i]) * x[i];
    x[0] -= tau * sum;
    for (int64_t i = 1; i < n; i++)
        x[i] -= tau * sum * v[i];
}

int cusolverDnXgeqrf(void *h, void *p, int64_t m, int64_t n, int type, void *a, int64_t lda,
                     int tau_type, void *tau, int compute, void *device, size_t nd, void *host,
                     size_t nh, int *info)
{
    int r = begin(h, device, nd, host, nh);
    (void)p, (void)compute;
    *info = 0;
    if (r != 0 || lda < m)
        return r ? r : INVALID_VALUE;
    number *x = load(type, a, lda, m, n);
    for (int64_t j = 0; x && j < m && j < n; j++) {
        number *v = x + j + j * m, t = 0;
        double rest = 0;
        for (int64_t i = 1; i < m - j; i++)
            rest += creal(v[i] * conj(v[i]));
        if (rest != 0 || cimag(v[0]) != 0) {
            const double size = sqrt(rest + creal(v[0] * conj(v[0])));
            const double beta = creal(v[0]) >= 0 ? -size : size;
            t = (beta - v[0]) / beta;
            for (int64_t i = 1; i < m - j; i++)
                v[i] /= v[0] - beta;
            v[0] = beta;
        }
        put(tau_type, tau, j, t);
        for (int64_t c = j + 1; c < n; c++)
            reflect(v, conj(t), m - j, x + j + c * m);
    }
    store(type, a, lda, m, n, x);
    free(x);
    return 0;
}

static int orgqr(int type, handle *h, int m, int n, int k, void *a, int lda, const void *tau,
                 void *work, int elements, int *info)
{
    const size_t size = type == 0 ? 4 : type == 5 ? 16 : 8;
    int r = begin(h, work, (size_t)elements * size, NULL, 0);
    *info = 0;
    if (r != 0 || lda < m || n > m || k > n)
        return r ? r : INVALID_VALUE;
    number *x = load(type, a, lda, m, k), *q = calloc((size_t)m * (size_t)n, sizeof *q);
    for (int j = 0; q && j < n; j++)
        q[j + (int64_t)j * m] = 1;
    for (int j = k - 1; x && q && j >= 0; j--)
        for (int c = 0; c < n; c++)
            reflect(x + j + (int64_t)j * m, get(type, tau, j), m - j, q + j + (int64_t)c * m);
    store(type, a, lda, m, n, q);
    free(x);
    free(q);
    return 0;
}
#define ORGQR(name, type, elements_)                                                              \
    int name##_bufferSize(void *h, int m, int n, int k, const void *a, int lda, const void *tau,  \
                          int *elements)                                                          \
    {                                                                                             \
        (void)h, (void)m, (void)n, (void)k, (void)a, (void)lda, (void)tau;                        \
        *elements = elements_;                                                                    \
        return 0;                                                                                 \
    }                                                                                             \
    int name(void *h, int m, int n, int k, void *a, int lda, const void *tau, void *work,         \
             int elements, int *info)                                                             \
    {                                                                                             \
        return orgqr(type, h, m, n, k, a, lda, tau, work, elements, info);                        \
    }
ORGQR(cusolverDnSorgqr, 0, WORK / 4)
ORGQR(cusolverDnDorgqr, 1, WORK / 8)
ORGQR(cusolverDnCungqr, 4, WORK / 8)
ORGQR(cusolverDnZungqr, 5, WORK / 16)

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
    const int real = is_single(c->type) ? 0 : 1;
    if (m < n || c->lda < m || (c->vectors && (c->ldu < m || c->ldv < n)))
        return INVALID_VALUE;
    number *a = load(c->type, c->a, c->lda, m, n), *v = malloc((size_t)(n * n) * sizeof *v),
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
        put(real, c->s, j, size);
        for (int64_t i = 0; i < m; i++)
            u[i + j * m] = a[i + best * m] / size;
        memcpy(w + j * n, v + best * n, (size_t)n * sizeof *w);
        v[best * n] = NAN;
        last = size > 0 ? j : last;
    }
    if (c->vectors) {
        complete(m, last + 1, k, u);
        store(c->type, c->u, c->ldu, m, k, u);
        store(c->type, c->v, c->ldv, n, n, w);
    }
    for (int64_t j = 0; j < n; j++) /* destroyed */
        for (int64_t i = 0; i < m; i++)
            put(c->type, c->a, i + j * c->lda, NAN);
    free(a);
    free(v);
    free(u);
    free(w);
    return 0;
}

static int gesvdj(int type, handle *h, const svd_call *c, void *work, int elements, int *info)
{
    const size_t size = type == 0 ? 4 : type == 5 ? 16 : 8;
    int r = begin(h, work, (size_t)elements * size, NULL, 0);
    stub_solver_counts.jacobi++;
    *info = 0;
    return r ? r : svd(c);
}
#define GESVDJ(name, type, elements_)                                                             \
    int name##_bufferSize(void *h, int vectors, int thin, int m, int n, const void *a, int lda,   \
                          const void *s, const void *u, int ldu, const void *v, int ldv,          \
                          int *elements, void *params)                                            \
    {                                                                                             \
        (void)h, (void)vectors, (void)thin, (void)m, (void)n, (void)a, (void)lda, (void)s;        \
        (void)u, (void)ldu, (void)v, (void)ldv, (void)params;                                     \
        *elements = elements_;                                                                    \
        return 0;                                                                                 \
    }                                                                                             \
    int name(void *h, int vectors, int thin, int m, int n, void *a, int lda, void *s, void *u,    \
             int ldu, void *v, int ldv, void *work, int elements, int *info, void *params)        \
    {                                                                                             \
        const svd_call c = {type, vectors, thin, m, n, lda, ldu, ldv, a, s, u, v};                \
        (void)params;                                                                             \
        return gesvdj(type, h, &c, work, elements, info);                                         \
    }
GESVDJ(cusolverDnSgesvdj, 0, WORK / 4)
GESVDJ(cusolverDnDgesvdj, 1, WORK / 8)
GESVDJ(cusolverDnCgesvdj, 4, WORK / 8)
GESVDJ(cusolverDnZgesvdj, 5, WORK / 16)

int cusolverDnXgesvdp_bufferSize(void *h, void *p, int vectors, int thin, int64_t m, int64_t n,
                                 int type, void *a, int64_t lda, int s_type, const void *s,
                                 int u_type, const void *u, int64_t ldu, int v_type, const void *v,
                                 int64_t ldv, int compute, size_t *device, size_t *host)
{
    (void)h, (void)p, (void)vectors, (void)thin, (void)m, (void)n, (void)type, (void)a, (void)lda;
    (void)s_type, (void)s, (void)u_type, (void)u, (void)ldu, (void)v_type, (void)v, (void)ldv;
    (void)compute;
    return sizes(device, host, HOST);
}

/* STUB_POLAR_MOVES: it says that it has moved values, and they are wrong. */
int cusolverDnXgesvdp(void *h, void *p, int vectors, int thin, int64_t m, int64_t n, int type,
                      void *a, int64_t lda, int s_type, void *s, int u_type, void *u, int64_t ldu,
                      int v_type, void *v, int64_t ldv, int compute, void *device, size_t nd,
                      void *host, size_t nh, int *info, double *moved)
{
    const svd_call c = {type, vectors, thin, m, n, lda, ldu, ldv, a, s, u, v};
    int r = begin(h, device, nd, host, nh);
    (void)p, (void)s_type, (void)u_type, (void)v_type, (void)compute;
    stub_solver_counts.polar++;
    *info = 0;
    r = r ? r : svd(&c);
    *moved = getenv("STUB_POLAR_MOVES") ? 1e-3 : 0;
    for (int64_t i = 0; i < n && *moved != 0; i++)
        put(s_type, s, i, get(s_type, s, i) + *moved);
    return r;
}

/* ---- eigenvalues: of a Hermitian matrix those of a + b, which is positive, less b ---- */

static int syev(int type, int vectors, int uplo, int64_t n, void *a, int64_t lda, void *w)
{
    const int real = is_single(type) ? 0 : 1;
    number *x = load(type, a, lda, n, n), *v = malloc((size_t)(n * n) * sizeof *v);
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
        put(real, w, j, column_norm(n, x + best * n) - most);
        for (int64_t i = 0; i < n; i++) /* with some sign or phase */
            put(type, a, i + j * lda, vectors ? v[i + best * n] * (j % 2 ? -1 : 1) : NAN);
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
    return sizes(device, host, HOST);
}

int cusolverDnXsyevd(void *h, void *p, int vectors, int uplo, int64_t n, int type, void *a,
                     int64_t lda, int w_type, void *w, int compute, void *device, size_t nd,
                     void *host, size_t nh, int *info)
{
    int r = begin(h, device, nd, host, nh);
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
    int r = begin(h, device, nd, host, nh);
    const int64_t element = type == 0 ? 4 : type == 5 ? 16 : 8, value = is_single(type) ? 4 : 8;
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
    return sizes(device, host, HOST);
}

int cusolverDnXgeev(void *h, void *p, int left, int right, int64_t n, int type, void *a,
                    int64_t lda, int w_type, void *w, int vl_type, void *vl, int64_t ldvl,
                    int vr_type, void *vr, int64_t ldvr, int compute, void *device, size_t nd,
                    void *host, size_t nh, int *info)
{
    int r = begin(h, device, nd, host, nh);
    (void)p, (void)vl_type, (void)vl, (void)ldvl, (void)compute;
    *info = 0;
    if (r != 0 || left || lda < n || (right && ldvr < n) || type < 4 || w_type != type ||
        vr_type != type)
        return r ? r : INVALID_VALUE;
    number *x = load(type, a, lda, n, n), *v = calloc((size_t)(n * n), sizeof *v);
    for (int64_t k = 0; k < n; k++) {
        put(w_type, w, k, x[k + k * n]);
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
        store(vr_type, vr, ldvr, n, n, v);
    free(x);
    free(v);
    return 0;
}

/* ---- cuBLAS ---- */

static int trsm(int type, handle *h, int side, int uplo, int trans, int unit, int m, int n,
                const void *alpha, const void *a, int lda, void *b, int ldb)
{
    const int64_t order = side ? n : m;
    if (!h->has_stream || get(type, alpha, 0) != 1 || lda < order || ldb < m)
        return INVALID_VALUE;
    number *x = load(type, a, lda, order, order), *y = load(type, b, ldb, m, n),
           *line = malloc((size_t)order * sizeof *line);
    stub_solver_counts.runs++;
    for (int64_t k = 0; k < (side ? m : n); k++) { /* x op(a) = b is op(a)^T x^T = b^T */
        for (int64_t i = 0; i < order; i++)
            line[i] = side ? y[k + i * m] : y[i + k * m];
        if (side && trans == 2)
            for (int64_t i = 0; i < order; i++)
                line[i] = conj(line[i]);
        substitute(x, order, uplo, side ? (trans == 0 ? 1 : 0) : trans, unit, line);
        for (int64_t i = 0; i < order; i++)
            y[side ? k + i * m : i + k * m] = side && trans == 2 ? conj(line[i]) : line[i];
    }
    store(type, b, ldb, m, n, y);
    free(x);
    free(y);
    free(line);
    return 0;
}
#define TRSM(name, type)                                                                        \
    int name(void *h, int side, int uplo, int trans, int unit, int m, int n, const void *alpha, \
             const void *a, int lda, void *b, int ldb)                                          \
    {                                                                                           \
        return trsm(type, h, side, uplo, trans, unit, m, n, alpha, a, lda, b, ldb);             \
    }
TRSM(cublasStrsm_v2, 0)
TRSM(cublasDtrsm_v2, 1)
TRSM(cublasCtrsm_v2, 4)
TRSM(cublasZtrsm_v2, 5)
