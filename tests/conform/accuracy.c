/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Conformance: how exact long sums and variances are, against the same in long double. */
#include <math.h>
#include "tests/conform/conform.h"

/* Rows by columns of (0, 1) plus offset, or of (-1, 1). */
static nd_array *long_array(nd_dtype dtype, int64_t rows, int64_t columns, bool positive,
                            double offset, double **values)
{
    const int64_t shape[2] = {rows, columns}, n = rows * columns;
    nd_layout layout = {.size = sizeof layout, .dtype = dtype, .ndim = 2, .shape = shape};
    double *v = malloc((size_t)n * sizeof *v);
    float *f = malloc((size_t)n * sizeof *f);
    nd_array *a = NULL;
    for (int64_t i = 0; i < n; i++) {
        double u = (double)(random_bits() >> 11) * 0x1p-53;
        v[i] = offset + (positive ? u : 2 * u - 1);
        f[i] = (float)v[i];
        v[i] = dtype == ND_F32 ? f[i] : v[i];
    }
    (void)good(nd_from_host(&layout, dtype == ND_F32 ? (void *)f : v, run.device, &a), "from_host");
    free(f);
    *values = v;
    return a;
}

/* n sums of count values each, and of their magnitudes, along memory whichever way it lies. */
static void add_up(const double *v, int64_t n, int64_t count, int64_t step_out, int64_t step,
                   long double *sums, long double *sizes)
{
    for (int64_t o = 0; o < n; o++)
        sums[o] = sizes[o] = 0;
    for (int64_t i = 0; i < count && step > step_out && n > 1; i++)
        for (int64_t o = 0; o < n; o++) {
            sums[o] += v[o * step_out + i * step];
            sizes[o] += fabs(v[o * step_out + i * step]);
        }
    for (int64_t o = 0; o < n && !(step > step_out && n > 1); o++) {
        long double sum = 0, size = 0;
        for (int64_t i = 0; i < count; i++) {
            sum += v[o * step_out + i * step];
            size += fabs(v[o * step_out + i * step]);
        }
        sums[o] = sum;
        sizes[o] = size;
    }
}

static void check_long(const char *what, const nd_array *r, const double *v, int64_t n,
                       int64_t count, int64_t step_out, int64_t step, double bound)
{
    char *data = r ? fetch(r) : NULL;
    nd_dtype dtype = r ? nd_dtype_of(r) : ND_F32;
    long double *sums = malloc((size_t)n * 2 * sizeof *sums), *sizes = sums + n;
    if (data)
        add_up(v, n, count, step_out, step, sums, sizes);
    for (int64_t o = 0; data && o < n && !failing(); o++) {
        cell got = cell_read(dtype, data + (size_t)o * nd_dtype_size(dtype));
        if (!(fabsl(got.re - sums[o]) <= bound * sizes[o]))
            fail_case("%s: sum %lld of %lld values is off by %.3Lg of the magnitudes", what,
                      (long long)o, (long long)count, fabsl(got.re - sums[o]) / sizes[o]);
    }
    free(sums);
    free(data);
}

static void sum_accuracy(int64_t rows, int64_t columns, bool positive)
{
    double *v;
    nd_array *a = long_array(ND_F32, rows, columns, positive, 0, &v), *r[3] = {NULL, NULL, NULL};
    for (int axis = 0; a && axis < 3; axis++) {
        const int32_t axes[1] = {axis};
        nd_reduce_opts opts = {
            .size = sizeof opts, .axes = axis < 2 ? axes : NULL, .naxes = axis < 2};
        (void)good(nd_sum(a, &opts, &r[axis]), "sum");
    }
    check_long("over axis 0", r[0], v, columns, rows, 1, columns, 3e-7);
    check_long("over axis 1", r[1], v, rows, columns, columns, 1, 3e-7);
    check_long("over all", r[2], v, 1, rows * columns, 0, 1, 5e-8);
    for (int i = 0; i < 3; i++)
        nd_release(r[i]);
    nd_release(a);
    free(v);
}

static void var_accuracy(nd_dtype dtype, double offset, double bound)
{
    double *v;
    const int64_t n = 1000 * 1003;
    nd_array *a = long_array(dtype, 1000, 1003, true, offset, &v), *r = NULL;
    long double mean = 0, squares = 0;
    nd_scalar got;
    for (int64_t i = 0; i < n; i++)
        mean += v[i] / (long double)n;
    for (int64_t i = 0; i < n; i++)
        squares += (v[i] - mean) * (v[i] - mean);
    if (a && good(nd_var(a, NULL, &r), "var") && good(nd_item(r, &got), "item") &&
        !(fabsl(got.v.f - squares / n) <= bound * (squares / n)))
        fail_case("var of %s around %g is %.17g, not %.17Lg", nd_dtype_name(dtype), offset, got.v.f,
                  squares / n);
    nd_release(r);
    nd_release(a);
    free(v);
}

void conform_accuracy(void)
{
    static const int64_t shapes[][2] = {{1000, 1003}, {1000000, 3}, {7, 1000000}, {3163, 3163}};
    if (wanted("sum_accuracy")) {
        begin_op("sum_accuracy");
        for (int i = 0; i < 8; i++)
            if (begin_share(FIXED_CASE + i))
                sum_accuracy(shapes[i / 2][0], shapes[i / 2][1], i % 2 == 0);
        end_op();
    }
    if (!wanted("var_accuracy"))
        return;
    begin_op("var_accuracy");
    (void)begin_case(0);
    var_accuracy(ND_F64, 1e8, 1e-12);
    var_accuracy(ND_F64, 0, 1e-14);
    var_accuracy(ND_F32, 1e4, 3e-7);
    var_accuracy(ND_F32, 0, 3e-7);
    end_op();
}
