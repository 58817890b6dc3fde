/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Conformance: the ends of what is allowed. NaN in sorting and searching, variance down columns
 * that are cut in chunks, steps near 2^63, shapes without elements whose strides do not fit, and
 * read-only arrays without elements. Expected values are written down or summed in long double. */
#include <math.h>
#include "tests/conform/grid.h"

static void group(const char *name, void (*body)(void))
{
    if (!wanted(name))
        return;
    begin_op(name);
    body();
    end_op();
}

/* ---- NaN sorts last ---- */

/* n numbers, every third of them NaN of either sign. */
static dense with_nans(nd_dtype dtype, int64_t n)
{
    dense d = dense_new(dtype, 1, &n);
    for (int64_t i = 0; i < n; i++) {
        long double x = i % 3 ? (long double)random_below(40) - 20 : i % 2 ? NAN : -NAN;
        cell_write(dtype, cell_real(i % 11 == 5 ? INFINITY : x), dense_at(&d, i));
    }
    return d;
}

/* Ascending NaNs come behind infinity, descending before it; in between the order is that of
 * numbers. */
static void check_order(const nd_array *sorted, int64_t nans, bool descending, const char *what)
{
    nd_dtype dtype = nd_dtype_of(sorted);
    char *data = fetch(sorted);
    int64_t n = nd_size(sorted), first = descending ? nans : 0, last = descending ? n : n - nans;
    for (int64_t i = 0; data && i < n; i++) {
        long double x = cell_read(dtype, data + (size_t)i * nd_dtype_size(dtype)).re, before = 0;
        bool number = i >= first && i < last;
        if (i > first && number)
            before = cell_read(dtype, data + (size_t)(i - 1) * nd_dtype_size(dtype)).re;
        if ((isnan(x) != 0) == number ||
            (number && i > first && (descending ? before < x : before > x))) {
            fail_case("%s of %s: element %lld of %lld, %lld of them NaN, is %Lg", what,
                      nd_dtype_name(dtype), (long long)i, (long long)n, (long long)nans, x);
            break;
        }
    }
    free(data);
}

static void sort_nans(nd_dtype dtype, int64_t n, bool descending)
{
    const nd_sort_opts opts = {.size = sizeof opts, .axis = 0, .descending = descending};
    dense d = with_nans(dtype, n);
    nd_array *a = dense_array(&d), *values = NULL, *order = NULL, *taken = NULL, *best = NULL;
    int64_t nans = 0;
    for (int64_t i = 0; i < n; i++)
        nans += isnan(dense_cell(&d, i).re) != 0;
    if (a && good(nd_sort(a, &opts, &values), "sort"))
        check_order(values, nans, descending, "sort");
    if (a && good(nd_argsort(a, &opts, &order), "argsort") &&
        good(nd_take(a, order, 0, &taken), "take"))
        check_order(taken, nans, descending, "argsort");
    if (a && good(nd_topk(a, n, 0, !descending, &best, NULL), "topk"))
        check_order(best, nans, descending, "topk");
    nd_release(a);
    nd_release(values);
    nd_release(order);
    nd_release(taken);
    nd_release(best);
    dense_release(&d);
}

/* Where each value belongs in 1, 2, 2, 3, inf, NaN, NaN: left, right. */
static void search_nans(nd_dtype dtype)
{
    static const long double sorted[7] = {1, 2, 2, 3, INFINITY, NAN, NAN};
    static const struct {
        long double value;
        int64_t at[2];
    } wanted_at[] = {{NAN, {5, 7}}, {-NAN, {5, 7}},     {2, {1, 3}},         {0, {0, 0}},
                     {3, {3, 4}},   {INFINITY, {4, 5}}, {-INFINITY, {0, 0}}, {2.5, {3, 3}}};
    const int64_t n = 7, m = sizeof wanted_at / sizeof *wanted_at;
    dense haystack = dense_new(dtype, 1, &n), needles = dense_new(dtype, 1, &m);
    for (int64_t i = 0; i < n; i++)
        cell_write(dtype, cell_real(sorted[i]), dense_at(&haystack, i));
    for (int64_t i = 0; i < m; i++)
        cell_write(dtype, cell_real(wanted_at[i].value), dense_at(&needles, i));
    nd_array *a = dense_array(&haystack), *v = dense_array(&needles), *r = NULL;
    /* Without NaN in the sorted array all of it comes before a NaN. */
    const nd_index numbers = nd_range(0, 4, 1);
    nd_array *plain = NULL;
    for (int right = 0; a && v && right < 2; right++) {
        dense want = dense_new(ND_I64, 1, &m);
        for (int64_t i = 0; i < m; i++)
            dense_set(&want, i, wanted_at[i].at[right]);
        if (good(nd_searchsorted(a, v, right, NULL, &r), "searchsorted"))
            (void)dense_is(&want, r, right ? "NaN, right" : "NaN, left");
        nd_release(r);
        r = NULL;
        for (int64_t i = 0; i < m; i++)
            dense_set(&want, i, wanted_at[i].at[right] < 4 ? wanted_at[i].at[right] : 4);
        if (good(nd_slice(a, &numbers, 1, &plain), "slice") &&
            good(nd_searchsorted(plain, v, right, NULL, &r), "searchsorted"))
            (void)dense_is(&want, r,
                           right ? "NaN among numbers, right" : "NaN among numbers, left");
        nd_release(plain);
        nd_release(r);
        r = plain = NULL;
        dense_release(&want);
    }
    nd_release(a);
    nd_release(v);
    dense_release(&haystack);
    dense_release(&needles);
}

static void nan_last(void)
{
    static const nd_dtype dtypes[] = {ND_F16, ND_BF16, ND_F32, ND_F64};
    static const int64_t lengths[] = {1, 2, 7, 40, 300, 1500, 70000};
    for (int d = 0; d < 4; d++) {
        if (begin_case(FIXED_CASE + 1000 + d))
            search_nans(dtypes[d]);
        for (int k = 0; k < 14 && !failing(); k++)
            if (begin_share(FIXED_CASE + 1 + d * 14 + k))
                sort_nans(dtypes[d], lengths[k / 2], k % 2);
    }
}

/* ---- long columns: chunks are joined by their numbers of elements ---- */

/* The second half lies far from the first, so that a wrong weight shows. */
static float column_value(int64_t i, int64_t rows, int64_t column)
{
    return i < rows / 2 ? (float)((i + column) % 7) : 100 + (float)((i * 3 + column) % 5);
}

static void long_column(int64_t rows, int64_t columns, bool transposed)
{
    const int64_t shape[2] = {transposed ? columns : rows, transposed ? rows : columns};
    const int32_t axis = transposed;
    const nd_reduce_opts opts = {.size = sizeof opts, .axes = &axis, .naxes = 1};
    dense d = dense_new(ND_F32, 2, shape), mean = dense_new(ND_F32, 1, &columns),
          var = dense_new(ND_F32, 1, &columns);
    for (int64_t i = 0; i < d.size; i++) {
        int64_t row = transposed ? i % rows : i / columns, c = transposed ? i / rows : i % columns;
        ((float *)d.data)[i] = column_value(row, rows, c);
    }
    for (int64_t c = 0; c < columns; c++) {
        long double sum = 0, squares = 0;
        for (int64_t i = 0; i < rows; i++)
            sum += column_value(i, rows, c);
        for (int64_t i = 0; i < rows; i++) {
            long double x = column_value(i, rows, c) - sum / rows;
            squares += x * x;
        }
        cell_write(ND_F32, cell_real(sum / rows), dense_at(&mean, c));
        cell_write(ND_F32, cell_real(squares / rows), dense_at(&var, c));
    }
    nd_array *a = dense_array(&d), *r = NULL;
    if (a && good(nd_mean(a, &opts, &r), "mean"))
        (void)dense_near(&mean, r, 2, false, "mean of long columns");
    nd_release(r);
    r = NULL;
    if (a && good(nd_var(a, &opts, &r), "var"))
        (void)dense_near(&var, r, 4, false, "var of long columns");
    nd_release(r);
    nd_release(a);
    dense_release(&d);
    dense_release(&mean);
    dense_release(&var);
}

static void long_columns(void)
{
    static const int64_t shapes[][2] = {{300001, 1}, {300001, 4}, {20001, 64}, {9001, 130}};
    for (int k = 0; k < 8; k++)
        if (begin_share(FIXED_CASE + 1 + k))
            long_column(shapes[k / 2][0], shapes[k / 2][1], k % 2);
}

/* ---- steps, and shapes without elements ---- */

/* a[::step] of five elements, and both bounds at the ends of int64. */
static void far_steps(void)
{
    static const struct {
        int64_t start, stop, step, first, count;
        nd_status status;
    } rows[] = {
        {0, 5, INT64_MIN, 0, 0, ND_ERR_ARGUMENT},
        {4, 0, INT64_MIN, 0, 0, ND_ERR_ARGUMENT},
        {ND_END_OPEN, ND_END_OPEN, INT64_MIN, 0, 0, ND_ERR_ARGUMENT},
        {0, 5, 0, 0, 0, ND_ERR_ARGUMENT},
        {ND_END_OPEN, ND_END_OPEN, INT64_MIN + 1, 4, 1, ND_OK},
        {ND_END_OPEN, ND_END_OPEN, INT64_MAX, 0, 1, ND_OK},
        {1, INT64_MAX, INT64_MAX, 1, 1, ND_OK},
        {INT64_MAX, ND_END_OPEN, -1, 4, 5, ND_OK},
        {INT64_MAX, 0, -3, 4, 2, ND_OK},
        {3, 1, INT64_MAX, 0, 0, ND_OK},
        {1, 3, INT64_MIN + 1, 0, 0, ND_OK},
    };
    const int64_t n = 5;
    nd_array *a = NULL;
    if (!begin_case(FIXED_CASE) ||
        !good(nd_arange(run.device, ND_I64, nd_int(0), nd_int(n), nd_int(1), &a), "arange"))
        return;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        const nd_index range = nd_range(rows[k].start, rows[k].stop, rows[k].step);
        nd_array *view = NULL;
        nd_status status = nd_slice(a, &range, 1, &view);
        char *data = status == ND_OK ? fetch(view) : NULL;
        bool as_said = status == rows[k].status;
        if (as_said && status == ND_OK)
            as_said = data && nd_size(view) == rows[k].count &&
                      (rows[k].count == 0 || ((int64_t *)data)[0] == rows[k].first);
        if (!as_said)
            fail_case("a[%lld:%lld:%lld] of five gave %s, %lld elements", (long long)rows[k].start,
                      (long long)rows[k].stop, (long long)rows[k].step, nd_status_name(status),
                      (long long)(view ? nd_size(view) : 0));
        free(data);
        nd_release(view);
    }
    nd_release(a);
}

/* Without elements there is no memory, but strides count elements all the same. */
static void no_strides(void)
{
    static const int64_t shapes[][4] = {{(int64_t)1 << 40, (int64_t)1 << 40, 0, 1},
                                        {0, (int64_t)1 << 40, (int64_t)1 << 40, 1},
                                        {(int64_t)1 << 40, 0, 1, (int64_t)1 << 40},
                                        {0, INT64_MAX, 2, 1},
                                        {0, INT64_MAX, 1, 1}};
    static const int64_t none[1] = {0};
    nd_array *empty = NULL, *r = NULL;
    if (!begin_case(FIXED_CASE) || !good(nd_zeros(run.device, ND_F32, 1, none, &empty), "zeros"))
        return;
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        const int64_t *s = shapes[k];
        nd_layout layout = {.size = sizeof layout, .dtype = ND_F32, .ndim = 4, .shape = s};
        (void)fails(nd_empty(run.device, ND_F32, 4, s, &r), ND_ERR_OVERFLOW, "empty");
        (void)fails(nd_zeros(run.device, ND_F32, 4, s, &r), ND_ERR_OVERFLOW, "zeros");
        (void)fails(nd_full(run.device, ND_F32, 4, s, nd_int(1), &r), ND_ERR_OVERFLOW, "full");
        nd_status status = nd_reshape(empty, 4, s, &r); /* the sizes may be told apart first */
        if (status != ND_ERR_OVERFLOW && status != ND_ERR_SHAPE)
            fail_case("reshape gave %s", nd_status_name(status));
        (void)fails(nd_from_host(&layout, "", run.device, &r), ND_ERR_OVERFLOW, "from_host");
    }
    nd_release(empty);
}

/* A read-only array stays one, whether or not it has elements, through every kind of view. */
static void readonly_views(const int64_t *shape)
{
    const nd_index range = nd_all_of();
    const int32_t axes[2] = {1, 0};
    const int64_t flat = shape[0] * shape[1], wide[3] = {4, shape[0], shape[1]};
    nd_array *a = NULL, *r = NULL, *view[8] = {NULL};
    if (good(nd_zeros(run.device, ND_F32, 2, shape, &a), "zeros") &&
        good(nd_readonly(a, &r), "readonly") && good(nd_slice(r, &range, 1, &view[0]), "slice") &&
        good(nd_permute(r, 2, axes, &view[1]), "permute") &&
        good(nd_reshape(r, 1, &flat, &view[2]), "reshape") &&
        good(nd_broadcast_to(r, 3, wide, &view[3]), "broadcast_to") &&
        good(nd_flip(r, 0, NULL, &view[4]), "flip") &&
        good(nd_expand_dims(r, 1, axes, &view[5]), "expand_dims") &&
        good(nd_diagonal(r, 0, 0, 1, &view[6]), "diagonal") &&
        good(nd_as_strided(r, 2, shape, nd_strides(r), 0, &view[7]), "as_strided"))
        for (int k = 0; k < 8; k++) {
            if (!nd_is_readonly(view[k]))
                fail_case("view %d of a read-only array of %lld elements is writable", k,
                          (long long)flat);
            (void)fails(nd_fill(view[k], nd_int(1)), ND_ERR_READONLY, "fill");
        }
    for (int k = 0; k < 8; k++)
        nd_release(view[k]);
    nd_release(r);
    nd_release(a);
}

static void readonly_nothing(void)
{
    static const int64_t shapes[][2] = {{0, 3}, {3, 0}, {0, 0}, {2, 3}};
    for (int k = 0; k < 4; k++)
        if (begin_case(FIXED_CASE + k))
            readonly_views(shapes[k]);
}

void conform_edges(void)
{
    group("nan_last", nan_last);
    group("long_columns", long_columns);
    group("far_steps", far_steps);
    group("no_strides", no_strides);
    group("readonly_nothing", readonly_nothing);
}
