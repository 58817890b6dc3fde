/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Linear algebra of the GPU, where the conformance suite does not go: matrices that are cuSOLVER's
 * in every way that is chosen for them, and large batches of small ones. Each result is held against
 * what it claims, by products in double precision on the device; nothing is staged. */
#include <math.h>
#include "tests/cuda/gpu.h"

enum { MOST = 256 };
static nd_array *kept[MOST];
static int n_kept;

/* A result, released with the case. */
static nd_array *keep(nd_array *a)
{
    if (n_kept == MOST)
        bail("too many arrays in a case");
    return kept[n_kept++] = a;
}

static void release_all(void)
{
    while (n_kept > 0)
        nd_release(kept[--n_kept]);
}

static nd_array *wide(const nd_array *a)
{
    const int complex = nd_dtype_of(a) == ND_C64 || nd_dtype_of(a) == ND_C128;
    nd_array *r = NULL;
    DO(nd_astype(a, complex ? ND_C128 : ND_F64, &r));
    return keep(r);
}

static nd_array *adjoint(const nd_array *a)
{
    const int32_t order[3] = {0, 2, 1};
    nd_array *turned = NULL, *r = NULL;
    DO(nd_permute(a, 3, order, &turned));
    keep(turned);
    DO(nd_conj(turned, &r));
    return keep(r);
}

static nd_array *product(const nd_array *a, const nd_array *b)
{
    nd_array *r = NULL;
    DO(nd_matmul(a, b, NULL, &r));
    return keep(r);
}

static nd_array *columns_times(const nd_array *a, const nd_array *values)
{
    static const int32_t axis = -2;
    nd_array *row = NULL, *r = NULL;
    DO(nd_expand_dims(values, 1, &axis, &row));
    keep(row);
    DO(nd_multiply(a, row, &r));
    return keep(r);
}

static double norm(const nd_array *a)
{
    nd_array *size = NULL, *square = NULL, *sum = NULL;
    double x = NAN;
    DO(nd_abs(a, &size));
    keep(size);
    DO(nd_multiply(size, size, &square));
    keep(square);
    DO(nd_sum(square, NULL, &sum));
    keep(sum);
    DO(nd_item_f64(sum, &x));
    return sqrt(x);
}

/* |a - b| over |b| of the whole batch; b NULL: the identity. */
static double apart(const nd_array *a, const nd_array *b)
{
    const int64_t n = nd_shape(a)[nd_ndim(a) - 1];
    nd_array *one = NULL, *rest = NULL;
    if (!b) {
        DO(nd_eye(gpu, ND_F64, n, n, 0, &one));
        b = keep(one);
    }
    DO(nd_subtract(a, b, &rest));
    return norm(keep(rest)) / (one ? sqrt((double)n * (double)nd_shape(a)[0]) : norm(b));
}

/* Random matrices (count, m, n); heavy: with a heavy diagonal. */
static nd_array *numbers(nd_dtype dtype, int64_t count, int64_t m, int64_t n, int heavy)
{
    const int parts = dtype == ND_C64 || dtype == ND_C128 ? 2 : 1;
    const int64_t shape[3] = {count, m, n}, size = count * m * n;
    const nd_layout layout = {
        .size = sizeof layout, .dtype = parts == 2 ? ND_C128 : ND_F64, .ndim = 3, .shape = shape};
    double *e = malloc((size_t)(size * parts) * sizeof *e);
    uint64_t state = 20261125;
    nd_array *a = NULL, *r = NULL;
    for (int64_t i = 0; i < size * parts; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
        e[i] = (double)(state >> 40) / (1 << 23) - 1;
    }
    for (int64_t i = 0; i < size && heavy; i++)
        e[i * parts] += i / n % m == i % n ? 4 * sqrt((double)n) : 0;
    DO(nd_from_host(&layout, e, gpu, &a));
    keep(a);
    DO(nd_astype(a, dtype, &r));
    free(e);
    return keep(r);
}

static const struct {
    nd_dtype dtype;
    int64_t count, m, n;
} shapes[] = {
    {ND_F32, 10000, 8, 8},   {ND_F64, 700, 32, 32},  {ND_C64, 900, 5, 5},   {ND_C128, 300, 17, 17},
    {ND_F32, 1, 300, 300},   {ND_F64, 3, 100, 100},  {ND_C64, 2, 70, 70},   {ND_C128, 1, 150, 150},
    {ND_F32, 1, 1100, 1100}, {ND_F64, 1, 600, 600},  {ND_C64, 1, 530, 530}, {ND_F32, 3000, 20, 7},
    {ND_F64, 400, 6, 30},    {ND_F32, 1, 900, 200},  {ND_C64, 1, 60, 300},  {ND_F64, 1, 700, 1300},
    {ND_F32, 300, 64, 64},   {ND_F64, 20, 100, 100}, {ND_C64, 30, 90, 90},  {ND_C128, 10, 50, 50},
    {ND_F32, 40, 128, 128},  {ND_F32, 60, 100, 40},  {ND_F64, 9, 33, 128},  {ND_F64, 5, 128, 128},
    {ND_C128, 3, 111, 111},  {ND_F64, 4, 120, 127},  {ND_F64, 300, 63, 63}};

static double bound(int i)
{
    const int single = shapes[i].dtype == ND_F32 || shapes[i].dtype == ND_C64;
    const int64_t longest = shapes[i].m > shapes[i].n ? shapes[i].m : shapes[i].n;
    return 16 * (single ? 1.2e-7 : 2.3e-16) * (double)longest;
}

static void judge(int i, const char *what, double error)
{
    ok(error <= bound(i), "%s", what);
    if (!(error <= bound(i)))
        diag("%lld of %lld x %lld of %s: %g, where %g is allowed", (long long)shapes[i].count,
             (long long)shapes[i].m, (long long)shapes[i].n, nd_dtype_name(shapes[i].dtype), error,
             bound(i));
}

static void check_qr(int i, const nd_array *a)
{
    nd_array *q = NULL, *r = NULL;
    DO(nd_qr(a, NULL, &q, &r));
    q = wide(keep(q));
    r = wide(keep(r));
    judge(i, "q r is a", apart(product(q, r), wide(a)));
    judge(i, "q's columns are orthonormal", apart(product(adjoint(q), q), NULL));
}

static void check_svd(int i, const nd_array *a)
{
    const nd_linalg_opts thin = {.size = sizeof thin};
    nd_array *u = NULL, *s = NULL, *v = NULL, *values = NULL;
    DO(nd_svd(a, &thin, &u, &s, &v));
    keep(u), keep(s), keep(v);
    judge(i, "u s vh is a", apart(product(columns_times(wide(u), wide(s)), wide(v)), wide(a)));
    judge(i, "u's columns are orthonormal", apart(product(adjoint(wide(u)), wide(u)), NULL));
    judge(i, "vh's rows are orthonormal", apart(product(wide(v), adjoint(wide(v))), NULL));
    DO(nd_svdvals(a, NULL, &values));
    judge(i, "values alone are the same", apart(wide(keep(values)), wide(s)));
}

static void check_square(int i, const nd_array *a)
{
    nd_array *l = NULL, *x = NULL, *w = NULL, *v = NULL, *sum = NULL;
    const nd_array *b = numbers(shapes[i].dtype, shapes[i].count, shapes[i].n, 3, 0);
    DO(nd_solve(a, b, NULL, &x));
    judge(i, "a x is b", apart(product(wide(a), wide(keep(x))), wide(b)));
    DO(nd_add(a, adjoint(a), &sum)); /* Hermitian, with a heavy diagonal */
    const nd_array *h = keep(sum);
    DO(nd_cholesky(h, NULL, &l));
    l = wide(keep(l));
    judge(i, "l l^H is a", apart(product(l, adjoint(l)), wide(h)));
    DO(nd_eigh(h, NULL, &w, &v));
    v = wide(keep(v));
    judge(i, "a v is v w", apart(columns_times(v, wide(keep(w))), product(wide(h), v)));
    judge(i, "v's columns are orthonormal", apart(product(adjoint(v), v), NULL));
}

static void claims(void)
{
    nd_fallback_stats before = {0}, after = {0};
    nd_fallback_get(&before);
    for (int i = 0; i < (int)(sizeof shapes / sizeof *shapes); i++) {
        const int square = shapes[i].m == shapes[i].n;
        nd_array *a = numbers(shapes[i].dtype, shapes[i].count, shapes[i].m, shapes[i].n, square);
        check_qr(i, a);
        check_svd(i, a);
        if (square)
            check_square(i, a);
        release_all();
    }
    nd_fallback_get(&after);
    is_int((int)(after.staged_calls - before.staged_calls), 0, "nothing was staged");
}

/* Where cuSOLVER has it. */
static void general_eigenvalues(void)
{
    nd_array *w = NULL, *v = NULL;
    const nd_array *a = numbers(ND_F64, 2, 60, 60, 0);
    setenv("NDOCK_FALLBACK", "error", 1);
    const nd_status status = nd_eig(a, NULL, &w, &v);
    if (status != ND_OK && strstr(nd_last_error()->message, "cusolverDnXgeev")) {
        skip(1, nd_last_error()->message);
    } else {
        DO(status);
        keep(w), keep(v);
        nd_array *complex = NULL;
        DO(nd_astype(a, ND_C128, &complex));
        const double error = apart(columns_times(v, w), product(keep(complex), v));
        ok(error < 1e-12, "a v is v w of any matrix");
        if (!(error < 1e-12))
            diag("%g", error);
    }
    release_all();
}

static void failures(void)
{
    for (int64_t n = 8; n <= 200; n += 96) {
        nd_array *a = numbers(ND_F32, 4, n, n, 1), *zero = NULL, *x = NULL;
        const nd_index row[2] = {nd_at(2), nd_at(n / 2)};
        DO(nd_slice(a, row, 2, &zero));
        DO(nd_fill(zero, nd_float(0)));
        nd_release(zero);
        DO(nd_solve(a, a, NULL, &x));
        keep(x);
        is_int(nd_synchronize(gpu), ND_ERR_LINALG, "a row of zeros is reported");
        has_text(nd_last_error()->message, "matrix 2 of the batch is singular", "with its matrix");
        DO(nd_synchronize(gpu));
        release_all();
    }
}

GPU_MAIN({"claims", claims}, {"eig", general_eigenvalues}, {"failures", failures})
