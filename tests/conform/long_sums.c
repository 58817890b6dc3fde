/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Conformance: sums of many ones. A kernel that adds in the narrow dtype stops where one more is
 * lost in rounding: at 2048 in f16, at 256 in bf16. The results are exact in their dtypes. Variances
 * of many numbers whose first one, or one of every row, lies far from all others. Large matrices by a
 * vector, of small whole numbers. */
#include "tests/conform/grid.h"

typedef struct {
    nd_dtype dtype;
    int64_t ones;
} row;
static const row rows[] = {
    {ND_F16, 30000}, {ND_F16, 2056}, {ND_BF16, 1000}, {ND_BF16, 61440}, {ND_F32, 1 << 20}};

static void is_count(const row *r, nd_status status, const char *what, nd_array *sum, long double n)
{
    char got[128];
    char *bytes = good(status, what) ? fetch(sum) : NULL;
    if (bytes && cell_read(r->dtype, bytes).re != n)
        fail_case("%s of %lld ones in %s is %s, not %.0Lf", what, (long long)r->ones,
                  nd_dtype_name(r->dtype), cell_text(cell_read(r->dtype, bytes), got), n);
    free(bytes);
    nd_release(sum);
}

static void one_row(const row *r)
{
    const nd_reduce_opts first = {.size = sizeof first, .naxes = 1, .axes = (const int32_t[]){0}};
    const int64_t shape[2] = {r->ones, 1}, flat[1] = {r->ones};
    nd_array *a = NULL, *column = NULL, *out = NULL;
    if (good(nd_full(run.device, r->dtype, 1, flat, nd_int(1), &a), "full") &&
        good(nd_reshape(a, 2, shape, &column), "reshape")) {
        nd_status status = nd_sum(a, NULL, &out);
        is_count(r, status, "sum", out, (long double)r->ones);
        out = NULL;
        status = nd_sum(column, &first, &out);
        is_count(r, status, "sum of a column", out, (long double)r->ones);
        out = NULL;
        status = nd_mean(a, NULL, &out);
        is_count(r, status, "mean", out, 1);
    }
    nd_release(a);
    nd_release(column);
}

enum { FAR = 4096, FAR_ROWS = 4, FAR_ROW = 1 << 18 };

/* The variance of n numbers, each 1 or -1, as many of these as of those but for the first of each of
 * so many rows, which is FAR in place of 1. */
static long double far_variance(int64_t n, int64_t far)
{
    const long double sum = (long double)far * (FAR - 1);
    const long double squares = (long double)(n - far) + (long double)far * FAR * FAR;
    return (squares - sum * sum / (long double)n) / (long double)n;
}

static void is_near(nd_status status, nd_array *var, int64_t results, long double want)
{
    float *got = good(status, "var") ? (float *)fetch(var) : NULL;
    for (int64_t i = 0; got && i < results; i++)
        if (!(fabsl((long double)got[i] - want) <= want * 0x1p-23L)) {
            fail_case("variance %lld is %.9g, not %.9Lg", (long long)i, (double)got[i], want);
            break;
        }
    free(got);
    nd_release(var);
}

static void far_elements(void)
{
    const nd_reduce_opts rows_of = {
        .size = sizeof rows_of, .naxes = 1, .axes = (const int32_t[]){1}};
    const nd_layout layout = {.size = sizeof layout,
                              .dtype = ND_F32,
                              .ndim = 2,
                              .shape = (const int64_t[]){FAR_ROWS, FAR_ROW}};
    const int64_t n = FAR_ROWS * FAR_ROW;
    nd_array *a = NULL, *out = NULL;
    float *x = malloc((size_t)n * sizeof *x);
    for (int64_t i = 0; x && i < n; i++)
        x[i] = i % FAR_ROW == 0 ? FAR : i % 2 ? -1 : 1;
    if (x && good(nd_from_host(&layout, x, run.device, &a), "from_host")) {
        nd_status status = nd_var(a, NULL, &out);
        is_near(status, out, 1, far_variance(n, FAR_ROWS));
        out = NULL;
        status = nd_var(a, &rows_of, &out);
        is_near(status, out, FAR_ROWS, far_variance(FAR_ROW, 1));
    }
    nd_release(a);
    free(x);
}

/* So many that they fill the largest GPUs, eight to a multiprocessor, and not in blocks of the same number. */
enum { LINES = 1061 };
static const nd_dtype by_vector[] = {ND_F32, ND_F16, ND_BF16, ND_F64};

/* Of 16 bits four times as long: shorter ones go another way on CUDA. */
static int64_t line_of(nd_dtype dtype)
{
    return nd_dtype_size(dtype) == 2 ? 8192 : 2048;
}

static int64_t factor_of(int64_t i, int64_t j)
{
    return (i + j) % 3 - 1;
}

/* product holds what the matrix's rows give with the vector, of which element j is j % 5 - 2. */
static void is_product(nd_dtype dtype, nd_status status, const char *what, nd_array *product)
{
    char got[128];
    char *bytes = good(status, what) ? fetch(product) : NULL;
    for (int64_t i = 0; bytes && i < LINES; i++) {
        int64_t want = 0;
        for (int64_t j = 0; j < line_of(dtype); j++)
            want += factor_of(i, j) * (j % 5 - 2);
        const cell c = cell_read(dtype, bytes + (size_t)i * nd_dtype_size(dtype));
        if (c.re != (long double)want) {
            fail_case("%s in %s: element %lld is %s, not %lld", what, nd_dtype_name(dtype),
                      (long long)i, cell_text(c, got), (long long)want);
            break;
        }
    }
    free(bytes);
    nd_release(product);
}

static void matrix_by_vector(nd_dtype dtype)
{
    const int64_t line = line_of(dtype);
    dense m = dense_new(dtype, 2, (const int64_t[]){LINES, line});
    dense v = dense_new(dtype, 1, (const int64_t[]){line});
    for (int64_t i = 0; i < m.size; i++)
        cell_write(dtype, cell_real((long double)factor_of(i / line, i % line)), dense_at(&m, i));
    for (int64_t j = 0; j < line; j++)
        cell_write(dtype, cell_real((long double)(j % 5 - 2)), dense_at(&v, j));
    nd_array *a = dense_array(&m), *x = dense_array(&v), *turned = NULL, *out = NULL;
    if (a && x && good(nd_matrix_transpose(a, &turned), "matrix_transpose")) {
        nd_status status = nd_matmul(a, x, NULL, &out);
        is_product(dtype, status, "a matrix by a vector", out);
        out = NULL;
        status = nd_matmul(x, turned, NULL, &out);
        is_product(dtype, status, "a vector by a matrix", out);
    }
    nd_release(a);
    nd_release(x);
    nd_release(turned);
    dense_release(&m);
    dense_release(&v);
}

void conform_long_sums(void)
{
    if (!wanted("long_sums"))
        return;
    begin_op("long_sums");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (begin_case((int64_t)i))
            one_row(&rows[i]);
    if (begin_case((int64_t)(sizeof rows / sizeof *rows)))
        far_elements();
    for (size_t i = 0; i < sizeof by_vector / sizeof *by_vector; i++)
        if (begin_case((int64_t)(sizeof rows / sizeof *rows + 1 + i)))
            matrix_by_vector(by_vector[i]);
    end_op();
}
