/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Conformance: sums of many ones. A kernel that adds in the narrow dtype stops where one more is
 * lost in rounding: at 2048 in f16, at 256 in bf16. The results are exact in their dtypes. */
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

void conform_long_sums(void)
{
    if (!wanted("long_sums"))
        return;
    begin_op("long_sums");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (begin_case((int64_t)i))
            one_row(&rows[i]);
    end_op();
}
