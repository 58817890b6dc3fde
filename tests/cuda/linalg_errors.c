/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Matrices that the CUDA plug-in cannot decompose, or not easily, without a GPU: as in
 * linalg_calls.c the libraries pretend. What is reported, and when; NaN, extremes, deficient
 * ranks; an svd whose values were moved; large batches; what is said where there is no library. */
#include <math.h>
#include <ndock/ndock.h>
#include "tests/cuda/stubs.h"

static nd_device *dev;

/* count matrices (n, n), the identity times its number plus one, and element (i, j) of number 1
 * replaced. */
static nd_array *identities(int64_t count, int64_t n, int64_t i, int64_t j, double value)
{
    const int64_t shape[3] = {count, n, n};
    const nd_layout layout = {.size = sizeof layout, .dtype = ND_F64, .ndim = 3, .shape = shape};
    double *e = calloc((size_t)(count * n * n), sizeof *e);
    nd_array *a = NULL;
    for (int64_t b = 0; b < count; b++)
        for (int64_t k = 0; k < n; k++)
            e[(b * n + k) * n + k] = (double)b + 1;
    if (count > 1)
        e[(n + i) * n + j] = value;
    if (nd_from_host(&layout, e, dev, &a) != ND_OK)
        puts(nd_last_error()->message);
    free(e);
    return a;
}

static void say(const char *what, int64_t n, nd_status called)
{
    const nd_status waited = nd_synchronize(dev);
    printf("%s %d: %s, %s", what, (int)n, nd_status_name(called), nd_status_name(waited));
    if (called != ND_OK || waited != ND_OK)
        printf(": %s", nd_last_error()->message);
    puts(";");
}

static void faults(int64_t n)
{
    const nd_linalg_opts off = {.size = sizeof off, .unchecked = 1};
    nd_array *zero = identities(3, n, 2, 2, 0), *below = identities(3, n, 2, 2, -1), *r[3] = {NULL};
    say("solve", n, nd_solve(zero, below, NULL, &r[0]));
    nd_release(r[0]);
    say("triangular", n, nd_solve_triangular(zero, below, NULL, &r[0]));
    nd_release(r[0]);
    say("cholesky", n, nd_cholesky(below, NULL, &r[0]));
    nd_release(r[0]);
    say("lu_factor", n, nd_lu_factor(zero, NULL, &r[0], &r[1]));
    nd_release(r[0]);
    nd_release(r[1]);
    say("unchecked", n, nd_solve(zero, below, &off, &r[0]));
    nd_release(r[0]);
    nd_release(zero);
    nd_release(below);
}

/* How many of each matrix's numbers are NaN. */
static void count_nan(const char *what, int64_t n, const nd_array *r, int64_t batch)
{
    const int64_t size = nd_size(r);
    double *e = malloc((size_t)size * sizeof *e);
    printf("%s %d:", what, (int)n);
    if (nd_to_host(r, e, (size_t)size * sizeof *e) != ND_OK)
        printf(" %s", nd_last_error()->message);
    for (int64_t b = 0; b < batch; b++) {
        int64_t count = 0;
        for (int64_t i = 0; i < size / batch; i++)
            count += isnan(e[b * (size / batch) + i]) != 0;
        printf(" %s", count == 0 ? "none" : count == size / batch ? "all" : "some");
    }
    puts(";");
    free(e);
}

/* Whether matrix 1 has NaN, and no other. */
static int has_nan(const nd_array *r, int64_t batch)
{
    const int64_t size = nd_size(r);
    double *e = malloc((size_t)size * sizeof *e);
    int in = 0, out = nd_to_host(r, e, (size_t)size * sizeof *e) != ND_OK;
    for (int64_t i = 0; i < size; i++)
        *(i / (size / batch) == 1 ? &in : &out) |= isnan(e[i]) != 0;
    free(e);
    return in && !out;
}

static void nans(int64_t n)
{
    nd_array *a = identities(3, n, 3, 1, NAN), *r[3] = {NULL};
    if (nd_eigh(a, NULL, &r[0], &r[1]) == ND_OK) {
        count_nan("eigh w", n, r[0], 3);
        count_nan("eigh v", n, r[1], 3);
    }
    nd_release(r[0]);
    nd_release(r[1]);
    if (nd_svd(a, NULL, &r[0], &r[1], &r[2]) == ND_OK) {
        count_nan("svd u", n, r[0], 3);
        count_nan("svd s", n, r[1], 3);
        count_nan("svd vh", n, r[2], 3);
    }
    for (int i = 0; i < 3; i++)
        nd_release(r[i]);
    if (nd_cholesky(a, NULL, &r[0]) == ND_OK)
        count_nan("cholesky", n, r[0], 3);
    nd_release(r[0]);
    if (nd_solve(a, a, NULL, &r[0]) == ND_OK)
        count_nan("solve", n, r[0], 3);
    nd_release(r[0]);
    if (nd_lu_factor(a, NULL, &r[0], &r[1]) == ND_OK)
        printf("lu %d: %s\n", (int)n, has_nan(r[0], 3) ? "in its matrix;" : "elsewhere;");
    nd_release(r[0]);
    nd_release(r[1]);
    say("nan", n, ND_OK);
    nd_release(a);
}

/* Row and column i of the outer product of (1, 2, ... n) with itself, times scale; f32. */
static nd_array *outer(nd_dtype dtype, int64_t m, int64_t n, double scale)
{
    const int64_t shape[3] = {1, m, n};
    const nd_layout layout = {.size = sizeof layout, .dtype = dtype, .ndim = 3, .shape = shape};
    double *e = malloc((size_t)(m * n) * sizeof *e);
    nd_array *a = NULL;
    for (int64_t i = 0; i < m * n; i++) {
        const double x = scale * (double)(i / n + 1) * (double)(i % n + 1);
        if (dtype == ND_F64)
            e[i] = x;
        else
            ((float *)e)[i] = (float)x;
    }
    if (nd_from_host(&layout, e, dev, &a) != ND_OK)
        puts(nd_last_error()->message);
    free(e);
    return a;
}

static double sum_of_squares(int64_t n)
{
    return (double)(n * (n + 1) * (2 * n + 1)) / 6;
}

/* Of rank one or zero, of any size of numbers: the value is known, u and v are orthonormal. */
static void deficient(int64_t m, int64_t n, double scale)
{
    const nd_linalg_opts full = {.size = sizeof full, .full = 1};
    nd_array *a = outer(ND_F32, m, n, scale), *r[3] = {NULL};
    float s[64] = {0}, u[64 * 64] = {0};
    const int64_t k = m < n ? m : n;
    double worst = 0;
    if (nd_svd(a, &full, &r[0], &r[1], &r[2]) != ND_OK ||
        nd_to_host(r[1], s, (size_t)k * 4) != ND_OK ||
        nd_to_host(r[0], u, (size_t)(m * m) * 4) != ND_OK)
        puts(nd_last_error()->message);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < m; j++) {
            double sum = i == j ? -1 : 0;
            for (int64_t p = 0; p < m; p++)
                sum += (double)u[p * m + i] * u[p * m + j];
            worst = fmax(worst, isnan(sum) ? 1 : fabs(sum));
        }
    const double right = scale * sqrt(sum_of_squares(m) * sum_of_squares(n));
    const int good = fabs(s[0] - right) <= 1e-5 * right && (k < 2 || s[1] <= 1e-5 * right);
    printf("deficient %d %d: %s, %s;\n", (int)m, (int)n, good ? "value" : "no value",
           worst < 1e-5 ? "orthonormal" : "crooked");
    for (int i = 0; i < 3; i++)
        nd_release(r[i]);
    nd_release(a);
}

/* More matrices than one for each multiprocessor's four warps. */
static void large_batch(void)
{
    enum { COUNT = 701, N = 3 };
    nd_array *a = identities(COUNT, N, 0, 1, 1), *r[2] = {NULL};
    double *e = calloc(COUNT * N * N, sizeof *e);
    int good = 0;
    if (nd_cholesky(a, NULL, &r[0]) == ND_OK && nd_to_host(r[0], e, COUNT * N * N * 8) == ND_OK)
        for (int b = 0; b < COUNT; b++)
            good += fabs(e[b * N * N] - sqrt(b + 1.0)) < 1e-12 && e[b * N * N + 1] == 0;
    printf("large batch: %d;\n", good);
    nd_release(r[0]);
    nd_release(a);
    free(e);
}

static void in_place(int64_t n)
{
    nd_array *a = identities(2, n, 2, 1, 1);
    double *e = calloc((size_t)(2 * n * n), sizeof *e);
    const nd_status status = nd_cholesky_into(a, NULL, a);
    if (status != ND_OK || nd_to_host(a, e, (size_t)(2 * n * n) * 8) != ND_OK)
        puts(nd_last_error()->message);
    const double *l = e + n * n; /* of [2 1; 1 2] in rows 1 and 2 */
    printf("in place %d: %s;\n", (int)n,
           fabs(l[2 * n + 1] - sqrt(0.5)) < 1e-12 && fabs(l[2 * n + 2] - sqrt(1.5)) < 1e-12 &&
                   l[n + 2] == 0
               ? "right"
               : "wrong");
    nd_release(a);
    free(e);
}

/* Several blocks have the matrix, of which the first has written when the next one reads: x of
 * a x = 1, in the place of a, which is 2 but for one element beside the diagonal. */
static void solve_in_place(int64_t n)
{
    nd_array *both = identities(2, n, 0, n - 1, 1), *half[2] = {NULL};
    double *e = calloc((size_t)(n * n), sizeof *e), worst = 0;
    nd_status status = ND_OK;
    for (int i = 0; i < 2 && status == ND_OK; i++) {
        const nd_index at = nd_at(i);
        status = nd_slice(both, &at, 1, &half[i]);
    }
    if (status == ND_OK)
        status = nd_solve_into(half[1], half[0], NULL, half[1]);
    if (status != ND_OK || nd_to_host(half[1], e, (size_t)(n * n) * 8) != ND_OK)
        puts(nd_last_error()->message);
    for (int64_t i = 0; i < n * n; i++) {
        const double apart = fabs(e[i] - (i == n - 1 ? -0.25 : i / n == i % n ? 0.5 : 0));
        worst = isnan(apart) ? HUGE_VAL : fmax(worst, apart);
    }
    printf("solve in place: %s;\n", worst == 0 ? "right" : "wrong");
    for (int i = 0; i < 2; i++)
        nd_release(half[i]);
    nd_release(both);
    free(e);
}

typedef struct {
    _Atomic int made, destroyed, runs, without, polar, direct;
} counts;

static void moved(void)
{
    void *library = dlopen("libcusolver.so.12", RTLD_NOW | RTLD_NOLOAD);
    nd_array *a = outer(ND_F64, 40, 35, 1), *s = NULL;
    double got[35] = {0};
    if (nd_svdvals(a, NULL, &s) != ND_OK || nd_to_host(s, got, sizeof got) != ND_OK)
        puts(nd_last_error()->message);
    library = library ? library : dlopen("libcusolver.so.12", RTLD_NOW | RTLD_NOLOAD);
    const counts *c = library ? dlsym(library, "stub_solver_counts") : NULL;
    const double right = sqrt(sum_of_squares(40) * sum_of_squares(35));
    printf("moved: %s; polar %d, direct %d, without work area or stream %d\n",
           fabs(got[0] - right) < 1e-5 * right && fabs(got[3]) < 1e-2 ? "right" : "wrong",
           c ? c->polar : -1, c ? c->direct : -1, c ? c->without : -1);
    nd_release(s);
    nd_release(a);
}

static int look(void)
{
    if (nd_device_get("cuda:0", &dev) != ND_OK) {
        puts(nd_last_error()->message);
        return 1;
    }
    if (getenv("TEST_ONE")) {
        nd_array *a = identities(2, 4, 0, 0, 1), *r = NULL;
        printf("%s: ", nd_status_name(nd_cholesky(a, NULL, &r)));
        puts(nd_last_error()->message);
        return 0;
    }
    if (getenv("TEST_MOVED")) {
        moved();
        return 0;
    }
    for (int64_t n = 4; n <= 40; n += 36) {
        faults(n);
        nans(n);
        in_place(n);
    }
    deficient(5, 5, 1);
    deficient(9, 4, 1e34);
    deficient(4, 9, 1e-36);
    deficient(6, 6, 0);
    deficient(40, 36, 1);
    large_batch();
    solve_in_place(40);
    return 0;
}

#define ONE "STUB_CUDA_COUNT=1", "STUB_CUDA_WORKS=1", "STUB_CUDA_MEMORY=1"
#define SAYS(word, what)                   \
    do                                     \
        if (!has_text(answer, word, what)) \
            diag("%s", answer);            \
    while (0)

static void failures(void)
{
    ask(MACHINE(ONE, "NDOCK_FALLBACK=error"), NO_NVML);
    for (int n = 4; n <= 40; n += 36) {
        char text[200];
        snprintf(
            text, sizeof text,
            "solve %d: ND_OK, ND_ERR_LINALG: solve: matrix 1 of the batch is singular: pivot 2 of "
            "%d is zero",
            n, n);
        SAYS(text, "a singular matrix is reported when the device is waited for");
        snprintf(text, sizeof text,
                 "triangular %d: ND_OK, ND_ERR_LINALG: solve_triangular: matrix 1", n);
        SAYS(text, "so is a triangular one");
        snprintf(
            text, sizeof text,
            "cholesky %d: ND_OK, ND_ERR_LINALG: cholesky: matrix 1 of the batch is not positive "
            "definite: pivot 2 of %d",
            n, n);
        SAYS(text, "and one that is not positive definite");
        snprintf(text, sizeof text, "lu_factor %d: ND_OK, ND_ERR_LINALG: lu: matrix 1", n);
        SAYS(text, "and by its factors");
        snprintf(text, sizeof text, "unchecked %d: ND_OK, ND_OK;", n);
        SAYS(text, "unless nobody wants to know");
        snprintf(
            text, sizeof text,
            "eigh w %d: none all none;\neigh v %d: none all none;\nsvd u %d: none all none;\nsvd "
            "s %d: none all none;\nsvd vh %d: none all none;\n",
            n, n, n, n, n);
        SAYS(text, "NaN stays in its matrix");
        snprintf(
            text, sizeof text,
            "cholesky %d: none all none;\nsolve %d: none all none;\nlu %d: in its matrix;\nnan "
            "%d: ND_OK, ND_OK;",
            n, n, n, n);
        SAYS(text, "and is no failure");
        snprintf(text, sizeof text, "in place %d: right;", n);
        SAYS(text, "a matrix gives its place to its factor");
    }
    SAYS("large batch: 701;", "several warps in a block");
    SAYS("solve in place: right;", "a matrix gives its place to the solution");
    SAYS("deficient 5 5: value, orthonormal;", "rank one");
    SAYS("deficient 9 4: value, orthonormal;", "of numbers near the largest");
    SAYS("deficient 4 9: value, orthonormal;", "of numbers near the smallest");
    SAYS("deficient 6 6: value, orthonormal;", "rank zero");
    SAYS("deficient 40 36: value, orthonormal;", "rank one, larger");
}

static void moved_values(void)
{
    ask(MACHINE(ONE, "NDOCK_FALLBACK=error", "TEST_MOVED=1", "NDOCK_CUDA_SVD_POLAR=33",
                "STUB_CUDA_SHARED=1024"), /* no block has room for the matrix */
        NO_NVML);
    SAYS("moved: right; polar 1, direct 0, without work area or stream 0", "by the polar factor");
    ask(MACHINE(ONE, "NDOCK_FALLBACK=error", "TEST_MOVED=1", "NDOCK_CUDA_SVD_POLAR=33",
                "STUB_CUDA_SHARED=1024", "STUB_POLAR_MOVES=1"),
        NO_NVML);
    SAYS("moved: right; polar 1, direct 1, without work area or stream 0",
         "values that were moved are found again");
}

static void without_library(void)
{
    ask(MACHINE(ONE, "NDOCK_FALLBACK=error", "TEST_ONE=1"), NO_NVML | NO_CUSOLVER);
    SAYS("libcusolver-13-0", "the error says what to install");
    SAYS("libcusolver.so.12", "and what was looked for");
    ask(MACHINE(ONE, "TEST_ONE=1"), NO_NVML | NO_CUSOLVER);
    SAYS("ND_OK: ", "else the CPU computes it");
}

int main(int argc, char **argv)
{
    static const tap_case cases[] = {
        {"failures", failures}, {"moved values", moved_values}, {"missing", without_library}};
    if (argc > 1 && strcmp(argv[1], "--look") == 0)
        return look();
    return stubs_main(argc, argv, cases, (int)(sizeof cases / sizeof cases[0]));
}
