/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Everyday functions with values worked out by hand: derivatives of a parabola, an integral, a
 * line through points, slices put in and taken out, sets, positions. */
#include "tests/ops/values.h"

static const double parabola[5] = {0, 1, 4, 9, 16};

static void calculus(void)
{
    nd_array *a = row_of(ND_F64, 5, parabola), *r = NULL;
    nd_array *x = row_of(ND_F64, 5, (const double[]){0, 1, 2, 3, 4});
    nd_array *q = row_of(ND_F64, 3, (const double[]){-1, 2.5, 9});
    nd_array *p = row_of(ND_F64, 3, (const double[]){1, 0, -2});
    nd_status status = nd_gradient(a, 1, NULL, 0, 1, &r);
    is_row(status, r, ND_F64, 5, (const double[]){1, 2, 4, 6, 7}, "central differences of x^2");
    status = nd_gradient(a, 1, x, 0, 2, &r);
    is_row(status, r, ND_F64, 5, (const double[]){0, 2, 4, 6, 8}, "second order is exact");
    status = nd_trapezoid(a, 1, NULL, 0, &r);
    is_number(status, r, ND_F64, 22, "trapezoids below x^2");
    status = nd_interp(q, x, a, NULL, &r);
    is_row(status, r, ND_F64, 3, (const double[]){0, 6.5, 16}, "the line through its points");
    status = nd_polyval(p, x, &r);
    is_row(status, r, ND_F64, 5, (const double[]){-2, -1, 2, 7, 14}, "x^2 - 2");
    status = nd_diff(a, 2, 0, &r);
    is_row(status, r, ND_F64, 3, (const double[]){2, 2, 2}, "second differences");
    status = nd_cummin(q, NULL, &r);
    is_row(status, r, ND_F64, 3, (const double[]){-1, -1, -1}, "running minimum");
    nd_release(a);
    nd_release(x);
    nd_release(q);
    nd_release(p);
}

static void edits(void)
{
    nd_array *a = row_of(ND_I32, 5, parabola), *r = NULL;
    nd_array *at = row_of(ND_I64, 2, (const double[]){-1, 0});
    nd_array *new = row_of(ND_I32, 2, (const double[]){7, 8});
    nd_status status = nd_insert(a, at, new, 0, &r);
    is_row(status, r, ND_I32, 7, (const double[]){8, 0, 1, 4, 9, 7, 16}, "inserted");
    status = nd_delete(a, at, 0, &r);
    is_row(status, r, ND_I32, 3, parabola + 1, "deleted");
    status = nd_put_into(at, new, ND_INDEX_WRAP, a);
    is_int(status, ND_OK, "put");
    status = nd_trim_zeros(a, 1, 1, &r);
    is_row(status, r, ND_I32, 5, (const double[]){8, 1, 4, 9, 7}, "and nothing trimmed");
    nd_release(a);
    nd_release(at);
    nd_release(new);
}

static void sets(void)
{
    const int64_t shape[2] = {3, 2};
    nd_array *a = row_of(ND_I16, 5, (const double[]){5, 1, 5, 3, 1}), *r = NULL, *i = NULL, *j;
    nd_array *b = row_of(ND_I16, 3, (const double[]){3, 9, 5});
    nd_array *m = values_of(ND_I8, 2, shape, (const double[]){1, 2, 1, 0, 1, 2}), *counts = NULL;
    nd_status status = nd_intersect1d(a, b, &r, &i, &j);
    is_row(status, r, ND_I16, 2, (const double[]){3, 5}, "in both");
    is_row(status, i, ND_I64, 2, (const double[]){3, 0}, "where in the first");
    is_row(status, j, ND_I64, 2, (const double[]){0, 2}, "where in the second");
    status = nd_setdiff1d(a, b, &r);
    is_row(status, r, ND_I16, 1, (const double[]){1}, "in the first alone");
    status = nd_setxor1d(a, b, &r);
    is_row(status, r, ND_I16, 2, (const double[]){1, 9}, "in one alone");
    status = nd_unique_axis(m, 0, &r, NULL, NULL, &counts);
    are_values(status, r, ND_I8, 2, (const int64_t[]){2, 2}, (const double[]){1, 0, 1, 2}, "rows");
    is_row(status, counts, ND_I64, 2, (const double[]){1, 2}, "how often");
    nd_release(a);
    nd_release(b);
    nd_release(m);
}

static void positions(void)
{
    const int64_t shape[2] = {2, 3};
    nd_array *at = row_of(ND_I64, 2, (const double[]){5, 1}), *place[2] = {NULL, NULL}, *r = NULL;
    nd_status status = nd_unravel_index(at, 2, shape, place);
    const nd_array *const both[2] = {place[0], place[1]};
    is_int(nd_ravel_multi_index(2, both, shape, ND_INDEX_RAISE, &r), ND_OK, "there and back");
    is_row(ND_OK, r, ND_I64, 2, (const double[]){5, 1}, "the same positions");
    is_row(status, place[0], ND_I64, 2, (const double[]){1, 0}, "rows");
    is_row(status, place[1], ND_I64, 2, (const double[]){2, 1}, "columns");
    is_int(nd_unravel_index(at, 1, shape, place), ND_ERR_INDEX, "5 is not below 2");
    status = nd_one_hot(at, 3, ND_U8, &r);
    are_values(status, r, ND_U8, 2, (const int64_t[]){2, 3}, (const double[]){0, 0, 0, 0, 1, 0},
               "one hot");
    status = nd_vander(at, 3, 0, &r);
    are_values(status, r, ND_I64, 2, (const int64_t[]){2, 3}, (const double[]){25, 5, 1, 1, 1, 1},
               "powers");
    nd_release(at);
}

int main(int argc, char **argv)
{
    static const tap_case cases[] = {
        {"calculus", calculus}, {"edits", edits}, {"sets", sets}, {"positions", positions}};
    return tap_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
