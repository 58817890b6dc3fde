/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Transforms by cosines and sines, convolution and correlation from C: options, defaults and
 * errors, by small results that are known exactly. tests/python/test_signal.py has the rest. */
#include <math.h>
#include <ndock/ndock.h>
#include "tests/tap.h"

static nd_device *cpu;

static nd_array *numbers(const double *x, int64_t n)
{
    const nd_layout layout = {.size = sizeof layout, .dtype = ND_F64, .ndim = 1, .shape = &n};
    nd_array *a = NULL;
    if (nd_from_host(&layout, x, cpu, &a) != ND_OK)
        bail("no array");
    return a;
}

/* Whether the status is fine and r, which is released, has those elements. */
static int has(nd_status status, nd_array **result, const double *want, int64_t n)
{
    nd_array *r = *result;
    double got[16] = {0};
    int same = status == ND_OK && r && nd_size(r) == n && nd_dtype_of(r) == ND_F64 &&
               nd_to_host(r, got, (size_t)n * sizeof *got) == ND_OK;
    for (int64_t i = 0; same && i < n; i++)
        same = fabs(got[i] - want[i]) < 1e-14;
    nd_release(r);
    *result = NULL;
    return same;
}
#define ROW(...) ((const double[]){__VA_ARGS__})

static void test_waves(void)
{
    nd_dct_opts o = {.size = sizeof o};
    nd_array *a = numbers(ROW(1, 2, 3), 3), *r = NULL;
    const double root = sqrt(3);
    ok(has(nd_dct(a, NULL, &r), &r, ROW(12, -2 * root, 0), 3), "type 2 without options");
    o.type = 1;
    ok(has(nd_dct(a, &o, &r), &r, ROW(8, -2, 0), 3), "type 1");
    o.type = 3;
    ok(has(nd_dct(a, &o, &r), &r, ROW(4 + 2 * root, -5, 4 - 2 * root), 3), "type 3");
    o.type = 1;
    ok(has(nd_dst(a, &o, &r), &r, ROW(4 + 4 * sqrt(2), -4, 4 * sqrt(2) - 4), 3), "type 1 by sines");
    const int64_t length = 1;
    const int32_t axis = 0;
    o = (nd_dct_opts){
        .size = sizeof o, .axes = &axis, .lengths = &length, .naxes = 1, .norm = ND_FFT_ORTHO};
    ok(has(nd_idct(a, &o, &r), &r, ROW(1), 1), "the inverse of one element, orthogonal");
    o.orthogonalize = -1;
    ok(has(nd_idct(a, &o, &r), &r, ROW(sqrt(0.5)), 1), "and without what makes it so");
    o = (nd_dct_opts){.size = sizeof o, .type = 5};
    is_int(nd_dct(a, &o, &r), ND_ERR_ARGUMENT, "type 5");
    has_text(nd_last_error()->message, "1 to 4", "is named with what there is");
    ok(r == NULL, "no result");
    o = (nd_dct_opts){.size = sizeof o, .norm = 7};
    is_int(nd_idst(a, &o, &r), ND_ERR_ARGUMENT, "norm 7");
    o = (nd_dct_opts){.size = sizeof o, .naxes = 1};
    is_int(nd_idst(a, &o, &r), ND_ERR_ARGUMENT, "naxes without axes");
    const int32_t beyond = 1;
    o = (nd_dct_opts){.size = sizeof o, .axes = &beyond, .naxes = 1};
    is_int(nd_dst(a, &o, &r), ND_ERR_INDEX, "an axis out of range");
    nd_release(a);
}

/* Row i of many is i + 1 times one in place i % LONG; of that, element k is known: by cosines
 * 2 cos(pi k (2 j + 1) / (2 n)), by sines 2 sin(pi (k + 1) (2 j + 1) / (2 n)). */
enum { MANY = 701, LONG = 100 };
static void many_rows(int sines)
{
    static double x[MANY * LONG], got[MANY * LONG];
    const int64_t shape[2] = {MANY, LONG};
    const nd_layout layout = {.size = sizeof layout, .dtype = ND_F64, .ndim = 2, .shape = shape};
    nd_array *a = NULL, *r = NULL;
    double most = 0;
    memset(x, 0, sizeof x);
    for (int i = 0; i < MANY; i++)
        x[i * LONG + i % LONG] = i + 1;
    if (nd_from_host(&layout, x, cpu, &a) != ND_OK)
        bail("no array");
    is_int(sines ? nd_dst(a, NULL, &r) : nd_dct(a, NULL, &r), ND_OK, "many rows");
    is_int(nd_to_host(r, got, sizeof got), ND_OK, "are read");
    for (int i = 0; i < MANY; i++)
        for (int k = 0; k < LONG; k++) {
            const int turns = (k + sines) * (2 * (i % LONG) + 1) % (4 * LONG);
            const double turn = M_PI * turns / (2 * LONG);
            const double want = 2 * (i + 1) * (sines ? sin(turn) : cos(turn));
            most = fmax(most, fabs(got[i * LONG + k] - want) / (i + 1));
        }
    ok(most < 1e-13, "each has what belongs to it");
    nd_release(a);
    nd_release(r);
}
static void test_rows(void)
{
    many_rows(0);
    many_rows(1);
}

static void test_convolution(void)
{
    nd_convolve_opts o = {.size = sizeof o};
    nd_array *a = numbers(ROW(1, 2, 3, 4), 4), *b = numbers(ROW(1, 0, -1), 3), *r = NULL;
    ok(has(nd_convolve(a, b, NULL, &r), &r, ROW(1, 2, 2, 2, -3, -4), 6), "all terms");
    ok(has(nd_correlate(a, b, NULL, &r), &r, ROW(-1, -2, -2, -2, 3, 4), 6), "a correlation");
    for (int method = ND_CONVOLVE_AUTO; method <= ND_CONVOLVE_FFT; method++) {
        o.method = method;
        o.mode = ND_CONVOLVE_SAME;
        ok(has(nd_convolve(a, b, &o, &r), &r, ROW(2, 2, 2, -3), 4), "the middle, method %d",
           method);
        o.mode = ND_CONVOLVE_VALID;
        ok(has(nd_convolve(a, b, &o, &r), &r, ROW(2, 2), 2), "whole sums, method %d", method);
        ok(has(nd_convolve(b, a, &o, &r), &r, ROW(2, 2), 2), "and exchanged");
    }
    o = (nd_convolve_opts){.size = sizeof o, .mode = 3};
    is_int(nd_convolve(a, b, &o, &r), ND_ERR_ARGUMENT, "mode 3");
    o = (nd_convolve_opts){.size = sizeof o, .method = -1};
    is_int(nd_correlate(a, b, &o, &r), ND_ERR_ARGUMENT, "method -1");
    has_text(nd_last_error()->message, "method -1", "is named");
    nd_release(a);
    nd_release(b);
}

int main(int argc, char **argv)
{
    static const tap_case cases[] = {
        {"waves", test_waves}, {"rows", test_rows}, {"convolution", test_convolution}};
    if (nd_device_get("cpu", &cpu) != ND_OK || nd_device_set_current(cpu) != ND_OK)
        return 1;
    return tap_main(argc, argv, cases, 3);
}
