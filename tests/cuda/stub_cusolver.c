/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A libcusolver.so.12 and libcublas.so.13 that compute in memory of the host (STUB_CUDA_MEMORY=1)
 * by textbook methods in double precision, and count. Work areas are filled before they are used.
 */
#include "tests/cuda/stub_cusolver.h"

solver_counts stub_solver_counts;

/* ---- numbers ---- */

int stub_is_single(int type)
{
    return type == 0 || type == 4;
}

number stub_get(int type, const void *at, int64_t i)
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

void stub_put(int type, void *at, int64_t i, number x)
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

number *stub_load(int type, const void *a, int64_t lda, int64_t m, int64_t n)
{
    number *x = malloc((size_t)(m * n + 1) * sizeof *x);
    for (int64_t j = 0; x && j < n; j++)
        for (int64_t i = 0; i < m; i++)
            x[i + j * m] = stub_get(type, a, i + j * lda);
    return x;
}

void stub_store(int type, void *a, int64_t lda, int64_t m, int64_t n, const number *x)
{
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++)
            stub_put(type, a, i + j * lda, x[i + j * m]);
}

/* ---- what every function does first ---- */

int stub_begin(const handle *h, void *work, size_t nbytes, void *host, size_t host_bytes)
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

int stub_sizes(size_t *device, size_t *host, size_t host_bytes)
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
    return stub_sizes(device, host, 0);
}

int cusolverDnXpotrf(void *h, void *p, int uplo, int64_t n, int type, void *a, int64_t lda,
                     int compute, void *device, size_t nd, void *host, size_t nh, int *info)
{
    int r = stub_begin(h, device, nd, host, nh);
    (void)p, (void)compute;
    *info = 0;
    if (r != 0 || lda < n)
        return r ? r : INVALID_VALUE;
#define AT(i, j) (uplo ? (j) + (i)*lda : (i) + (j)*lda)
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = j; i < n; i++) {
            number sum = stub_get(type, a, AT(i, j));
            sum = uplo ? conj(sum) : sum;
            for (int64_t k = 0; k < j; k++) {
                const number x = stub_get(type, a, AT(i, k)), y = stub_get(type, a, AT(j, k));
                sum -= uplo ? conj(x) * y : x * conj(y);
            }
            const number pivot = i == j ? 0 : stub_get(type, a, AT(j, j));
            if (i == j && !(creal(sum) > 0)) {
                *info = (int)j + 1;
                return 0;
            }
            sum = i == j ? sqrt(creal(sum)) : sum / creal(pivot);
            stub_put(type, a, AT(i, j), uplo ? conj(sum) : sum);
        }
#undef AT
    return 0;
}

/* ---- lu ---- */

int cusolverDnXgetrf_bufferSize(void *h, void *p, int64_t m, int64_t n, int type, void *a,
                                int64_t lda, int compute, size_t *device, size_t *host)
{
    (void)h, (void)p, (void)m, (void)n, (void)type, (void)a, (void)lda, (void)compute;
    return stub_sizes(device, host, HOST);
}

static double size_of(number x)
{
    return fabs(creal(x)) + fabs(cimag(x));
}

int cusolverDnXgetrf(void *h, void *p, int64_t m, int64_t n, int type, void *a, int64_t lda,
                     int64_t *pivots, int compute, void *device, size_t nd, void *host, size_t nh,
                     int *info)
{
    int r = stub_begin(h, device, nd, host, nh);
    (void)p, (void)compute;
    *info = 0;
    if (r != 0 || lda < m)
        return r ? r : INVALID_VALUE;
    number *x = stub_load(type, a, lda, m, n);
    for (int64_t j = 0; x && j < m && j < n; j++) {
        int64_t at = j;
        for (int64_t i = j + 1; i < m; i++)
            at = size_of(x[i + j * m]) > size_of(x[at + j * m]) ? i : at;
        pivots[j] = at + 1;
        if (isnan(creal(x[at + j * m]))) { /* some versions count it as zero, whatever the pivot */
            *info = *info ? *info : (int)j + 1;
            pivots[j] = 0;
            continue;
        }
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
    stub_store(type, a, lda, m, n, x);
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
                     int64_t lda, const int64_t *pivots, int b_type, void *b, int64_t ldb,
                     int *info)
{
    number *x = stub_load(type, a, lda, n, n), *y = stub_load(b_type, b, ldb, n, sides);
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
    stub_store(b_type, b, ldb, n, sides, y);
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
    return stub_sizes(device, host, 0);
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
    int r = stub_begin(h, device, nd, host, nh);
    (void)p, (void)compute;
    *info = 0;
    if (r != 0 || lda < m)
        return r ? r : INVALID_VALUE;
    number *x = stub_load(type, a, lda, m, n);
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
        stub_put(tau_type, tau, j, t);
        for (int64_t c = j + 1; c < n; c++)
            reflect(v, conj(t), m - j, x + j + c * m);
    }
    stub_store(type, a, lda, m, n, x);
    free(x);
    return 0;
}

static int orgqr(int type, handle *h, int m, int n, int k, void *a, int lda, const void *tau,
                 void *work, int elements, int *info)
{
    const size_t size = type == 0 ? 4 : type == 5 ? 16 : 8;
    int r = stub_begin(h, work, (size_t)elements * size, NULL, 0);
    *info = 0;
    if (r != 0 || lda < m || n > m || k > n)
        return r ? r : INVALID_VALUE;
    number *x = stub_load(type, a, lda, m, k), *q = calloc((size_t)m * (size_t)n, sizeof *q);
    for (int j = 0; q && j < n; j++)
        q[j + (int64_t)j * m] = 1;
    for (int j = k - 1; x && q && j >= 0; j--)
        for (int c = 0; c < n; c++)
            reflect(x + j + (int64_t)j * m, stub_get(type, tau, j), m - j, q + j + (int64_t)c * m);
    stub_store(type, a, lda, m, n, q);
    free(x);
    free(q);
    return 0;
}
#define ORGQR(name, type, elements_)                                                             \
    int name##_bufferSize(void *h, int m, int n, int k, const void *a, int lda, const void *tau, \
                          int *elements)                                                         \
    {                                                                                            \
        (void)h, (void)m, (void)n, (void)k, (void)a, (void)lda, (void)tau;                       \
        *elements = elements_;                                                                   \
        return 0;                                                                                \
    }                                                                                            \
    int name(void *h, int m, int n, int k, void *a, int lda, const void *tau, void *work,        \
             int elements, int *info)                                                            \
    {                                                                                            \
        return orgqr(type, h, m, n, k, a, lda, tau, work, elements, info);                       \
    }
ORGQR(cusolverDnSorgqr, 0, WORK / 4)
ORGQR(cusolverDnDorgqr, 1, WORK / 8)
ORGQR(cusolverDnCungqr, 4, WORK / 8)
ORGQR(cusolverDnZungqr, 5, WORK / 16)

/* ---- cuBLAS ---- */

static int trsm(int type, handle *h, int side, int uplo, int trans, int unit, int m, int n,
                const void *alpha, const void *a, int lda, void *b, int ldb)
{
    const int64_t order = side ? n : m;
    if (!h->has_stream || stub_get(type, alpha, 0) != 1 || lda < order || ldb < m)
        return INVALID_VALUE;
    number *x = stub_load(type, a, lda, order, order), *y = stub_load(type, b, ldb, m, n),
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
    stub_store(type, b, ldb, m, n, y);
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

/* b is taken as it is. */
static int gemm(int type, handle *h, int a_trans, int b_trans, int m, int n, int k,
                const void *alpha, const void *a, int lda, long long a_step, const void *b, int ldb,
                long long b_step, const void *beta, void *c, int ldc, long long c_step, int count)
{
    const int64_t size = type == 0 ? 4 : type == 5 ? 16 : 8, rows = a_trans ? k : m;
    if (!h->has_stream || b_trans != 0 || stub_get(type, alpha, 0) != 1 ||
        stub_get(type, beta, 0) != 0 || lda < rows || ldb < k || ldc < m)
        return INVALID_VALUE;
    stub_solver_counts.runs++;
    for (int64_t i = 0; i < count; i++) {
        number *x =
                   stub_load(type, (const char *)a + i * a_step * size, lda, rows, a_trans ? m : k),
               *y = stub_load(type, (const char *)b + i * b_step * size, ldb, k, n),
               *r = calloc((size_t)m * (size_t)n, sizeof *r);
        for (int64_t e = 0; e < (int64_t)m * n; e++)
            for (int64_t l = 0; l < k; l++) {
                const number f = a_trans ? x[l + e % m * rows] : x[e % m + l * rows];
                r[e] += (a_trans == 2 ? conj(f) : f) * y[l + e / m * k];
            }
        stub_store(type, (char *)c + i * c_step * size, ldc, m, n, r);
        free(x);
        free(y);
        free(r);
    }
    return 0;
}
#define GEMM(name, type)                                                                         \
    int name(void *h, int a_trans, int b_trans, int m, int n, int k, const void *alpha,          \
             const void *a, int lda, long long a_step, const void *b, int ldb, long long b_step, \
             const void *beta, void *c, int ldc, long long c_step, int count)                    \
    {                                                                                            \
        return gemm(type, h, a_trans, b_trans, m, n, k, alpha, a, lda, a_step, b, ldb, b_step,   \
                    beta, c, ldc, c_step, count);                                                \
    }
GEMM(cublasSgemmStridedBatched, 0)
GEMM(cublasDgemmStridedBatched, 1)
GEMM(cublasCgemmStridedBatched, 4)
GEMM(cublasZgemmStridedBatched, 5)
