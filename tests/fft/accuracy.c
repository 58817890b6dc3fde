/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * How accurate Fourier transforms on the CPU are: the root mean square of the error over that of
 * the result is at most 0.6*eps*sqrt(log2 n), against transforms of twice the precision (exact.h),
 * which are held against golden vectors themselves. A slice of the lengths up to 2,048, all of them
 * when NDOCK_TEST_LONG is set, and some long and prime ones. */
#include <float.h>
#include <ndock/ndock.h>
#include "tests/tap.h"
#include "tests/fft/exact.h"

enum { ALL_UP_TO = 2048, CHUNK = 256 };

/* As golden.py has it. */
static double next_number(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return ((double)(*state >> 40) - 0x1p23) / 0x1p23;
}

static exact_complex *some_numbers(int64_t n)
{
    exact_complex *x = calloc((size_t)n, sizeof *x);
    uint64_t state = (uint64_t)n;
    for (int64_t j = 0; x && j < n; j++) {
        x[j].r.hi = next_number(&state);
        x[j].i.hi = next_number(&state);
    }
    return x;
}

/* ---- the judge ---- */
typedef struct {
    int64_t n, k; /* k below 0: the row names a length */
    double part[4];
} golden;
static const golden rows[] = {
#define GOLDEN(length) {length, -1, {0}},
#define ROW(k, ...) {0, k, {__VA_ARGS__}},
#include "tests/fft/golden.inc"
};

static double relative(exact got, double hi, double lo)
{
    const double size = fabs(hi) > 1e-3 ? fabs(hi) : 1e-3;
    return fabs((got.hi - hi) + (got.lo - lo)) / size;
}

/* Both ways to compute a transform, of which the second is for long primes, against mpmath's. */
static void compare_golden(int by_elements)
{
    exact_complex *x = NULL, *y = NULL;
    double worst = 0;
    int compared = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const golden *g = &rows[i];
        if (g->k < 0) {
            free(x);
            free(y);
            x = some_numbers(g->n);
            y = calloc((size_t)g->n, sizeof *y);
            if (!x || !y ||
                !(by_elements ? exact_elements(x, y, g->n, g->n, 1) : exact_transform(x, y, g->n)))
                break;
            continue;
        }
        worst = fmax(worst, relative(y[g->k].r, g->part[0], g->part[1]));
        worst = fmax(worst, relative(y[g->k].i, g->part[2], g->part[3]));
        compared++;
    }
    free(x);
    free(y);
    is_int(compared, (int)(sizeof rows / sizeof *rows) - 18, "elements of all 18 lengths");
    ok(worst < 1e-26, "the transforms to compare with are those of mpmath to %.0e", worst);
}

static void test_golden(void)
{
    compare_golden(0);
    compare_golden(1);
}

/* ---- errors ---- */

/* n numbers as elements of the dtype, of which real ones have the real parts. */
static void *elements(const exact_complex *x, int64_t n, nd_dtype dtype)
{
    double *wide = malloc((size_t)n * 2 * sizeof *wide);
    float *narrow = malloc((size_t)n * 2 * sizeof *narrow);
    const int step = dtype == ND_C64 || dtype == ND_C128 ? 2 : 1;
    for (int64_t j = 0; j < n; j++) {
        wide[j * step] = x[j].r.hi;
        narrow[j * step] = (float)x[j].r.hi;
        if (step == 2) {
            wide[2 * j + 1] = x[j].i.hi;
            narrow[2 * j + 1] = (float)x[j].i.hi;
        }
    }
    const int is_single = dtype == ND_F32 || dtype == ND_C64;
    free(is_single ? (void *)wide : (void *)narrow);
    return is_single ? (void *)narrow : (void *)wide;
}

/* Every how many elements of a transform of length n one is judged: all of them, but of a long
 * prime, whose exact transform is n sums of n products, a sample. */
static int64_t apart_of(int64_t n)
{
    return n == 104729 || n == 10007 ? 16 : 1;
}

static int exact_results(const exact_complex *x, exact_complex *y, int64_t n, int64_t results)
{
    return apart_of(n) == 1 ? exact_transform(x, y, n)
                            : exact_elements(x, y, n, results, apart_of(n));
}

/* The error of n complex numbers against y, in units of eps*sqrt(log2 length) of their size. */
static double error_of(const void *got, int is_single, const exact_complex *y, int64_t n,
                       int64_t length)
{
    double error = 0, all = 0;
    for (int64_t k = 0; k < n; k += apart_of(length)) {
        double part[2];
        for (int i = 0; i < 2; i++)
            part[i] =
                is_single ? ((const float *)got)[2 * k + i] : ((const double *)got)[2 * k + i];
        const double re = (part[0] - y[k].r.hi) - y[k].r.lo, im = (part[1] - y[k].i.hi) - y[k].i.lo;
        error += re * re + im * im;
        all += y[k].r.hi * y[k].r.hi + y[k].i.hi * y[k].i.hi;
    }
    const double stages = sqrt(length > 2 ? log2((double)length) : 1);
    return sqrt(error / all) / (is_single ? FLT_EPSILON : DBL_EPSILON) / stages;
}

typedef nd_status transform(const nd_array *, const nd_fft_opts *, nd_array **);

/* The error of a transform of length n from the dtype; negative: it failed. */
static double error_from(transform *run, const exact_complex *x, const exact_complex *y, int64_t n,
                         nd_dtype dtype, int64_t results)
{
    const int is_single = dtype == ND_F32 || dtype == ND_C64;
    const nd_layout layout = {.size = sizeof layout, .dtype = dtype, .ndim = 1, .shape = &n};
    void *data = elements(x, n, dtype), *got = malloc((size_t)results * 16);
    nd_array *a = NULL, *r = NULL;
    double error = -1;
    if (nd_from_host(&layout, data, NULL, &a) == ND_OK && run(a, NULL, &r) == ND_OK &&
        nd_to_host(r, got, (size_t)results * (is_single ? 8 : 16)) == ND_OK)
        error = error_of(got, is_single, y, results, n);
    nd_release(a);
    nd_release(r);
    free(data);
    free(got);
    return error;
}

static double worst[4];
static int64_t worst_at[4];

static void keep_worst(int i, double error, int64_t n)
{
    error = error < 0 ? HUGE_VAL : error;
    if (error > worst[i]) {
        worst[i] = error;
        worst_at[i] = n;
    }
}

/* Complex and real transforms of length n in both precisions. */
static void measure(int64_t n)
{
    exact_complex *x = some_numbers(n), *y = calloc((size_t)n, sizeof *y);
    if (x && y && exact_results(x, y, n, n)) {
        keep_worst(0, error_from(nd_fft, x, y, n, ND_C64, n), n);
        keep_worst(1, error_from(nd_fft, x, y, n, ND_C128, n), n);
        for (int64_t j = 0; j < n; j++)
            x[j].i.hi = 0;
        if (exact_results(x, y, n, n / 2 + 1)) {
            keep_worst(2, error_from(nd_rfft, x, y, n, ND_F32, n / 2 + 1), n);
            keep_worst(3, error_from(nd_rfft, x, y, n, ND_F64, n / 2 + 1), n);
        }
    }
    free(x);
    free(y);
}

static void judge(const char *which)
{
    static const char *const names[] = {"c64", "c128", "f32", "f64"};
    for (int i = 0; i < 4; i++) {
        ok(worst[i] > 0 && worst[i] <= 0.6,
           "%s, from %s: the worst error is %.3f of eps*sqrt(log2 n), at n = %lld", which, names[i],
           worst[i], (long long)worst_at[i]);
        worst[i] = 0;
    }
}

static void test_lengths(void)
{
    const int all = getenv("NDOCK_TEST_LONG") != NULL;
    for (int64_t n = 1; n <= ALL_UP_TO; n++)
        if (all || n <= 40 || n % 61 == 0 || n % 127 == 1)
            measure(n);
    judge(all ? "every n up to 2048" : "a slice of n up to 2048");
}

static void test_long(void)
{
    static const int64_t lengths[] = {4096, 6561, 65536, 10007, 100000, 117649, 131072, 371293};
    /* Without the long prime, which takes as long as all others; 61 and 509 are primes as well. */
    const size_t n = getenv("NDOCK_TEST_SLICE") ? 3 : sizeof lengths / sizeof *lengths;
    for (size_t i = 0; i < n; i++)
        measure(lengths[i]);
    if (getenv("NDOCK_TEST_LONG")) {
        measure(104729);
        measure(1 << 20);
        measure(1 << 21);
        measure(3188646);
    }
    judge("long transforms");
}

int main(int argc, char **argv)
{
    nd_device *cpu;
    static const tap_case cases[] = {
        {"golden", test_golden}, {"lengths", test_lengths}, {"long", test_long}};
    if (nd_device_get("cpu", &cpu) != ND_OK || nd_device_set_current(cpu) != ND_OK)
        return 1;
    return tap_main(argc, argv, cases, 3);
}
