/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Conformance: arrays from nothing, grids and triangles. */
#include <math.h>
#include "tests/conform/grid.h"

/* ---- triangles ---- */

static void triangle_case(int i)
{
    static const int64_t extremes[] = {INT64_MAX, INT64_MIN, 1000, -1000};
    view_wish wish = any_view;
    mirror m = {0};
    nd_array *r = NULL;
    int64_t index[CASE_NDIM];
    int64_t k = random_below(6) ? random_below(15) - 7 : extremes[random_below(4)];
    bool lower = random_below(2);
    wish.least_ndim = 2;
    if (mirror_random(&m, legal_dtype(ND_OP_where, i), &wish)) {
        dense want = dense_of(&m);
        for (int64_t p = 0; p < want.size; p++) {
            unravel(m.ndim, m.shape, p, index);
            int64_t diagonal = index[m.ndim - 1] - index[m.ndim - 2];
            if (lower ? diagonal > k : diagonal < k)
                memset(dense_at(&want, p), 0, nd_dtype_size(want.dtype));
        }
        if (good(lower ? nd_tril(m.array, k, &r) : nd_triu(m.array, k, &r), "triangle"))
            (void)dense_is(&want, r, lower ? "tril" : "triu");
        dense_release(&want);
    }
    nd_release(r);
    mirror_release(&m);
}

static void eye_case(int i)
{
    nd_dtype dtype = legal_dtype(ND_OP_copy, i);
    const int64_t shape[2] = {random_below(9), random_below(9)};
    int64_t k = random_below(8) ? random_below(19) - 9 : random_below(2) ? INT64_MAX : INT64_MIN;
    dense want = dense_new(dtype, 2, shape);
    nd_array *r = NULL;
    for (int64_t row = 0; row < shape[0]; row++)
        for (int64_t col = 0; col < shape[1]; col++)
            if (col - row == k)
                cell_write(dtype, cell_widened(dtype, cell_int(1)),
                           dense_at(&want, row * shape[1] + col));
    if (good(nd_eye(run.device, dtype, shape[0], shape[1], k, &r), "eye"))
        (void)dense_is(&want, r, "eye");
    nd_release(r);
    dense_release(&want);
}

/* ---- constants ---- */

/* A value that dtype holds exactly. */
static cell constant(nd_dtype dtype, nd_scalar *s)
{
    int64_t i = random_below(cell_whole(dtype));
    switch (cell_kind(dtype)) {
    case ND_KIND_BOOL:
        *s = nd_bool(i & 1);
        return cell_bool(i & 1);
    case ND_KIND_INT:
        *s = nd_int(-i);
        return cell_int(-i);
    case ND_KIND_UINT:
        *s = nd_uint((uint64_t)i);
        return cell_int(i);
    case ND_KIND_FLOAT:
        *s = nd_float(-0.5 * (double)i);
        return cell_real(-0.5L * i);
    default:
        *s = nd_complex(0.5 * (double)i, -(double)i);
        return cell_complex(0.5L * i, -(long double)i);
    }
}

static void expect_all(dense *want, cell value)
{
    for (int64_t p = 0; p < want->size; p++)
        cell_write(want->dtype, value, dense_at(want, p));
}

static void full_case(int i)
{
    mirror like = {0};
    nd_scalar value;
    nd_array *r[6] = {NULL};
    nd_dtype dtype = legal_dtype(ND_OP_fill, i);
    bool same = random_below(2); /* dtype 0: that of the array */
    if (!mirror_random(&like, same ? dtype : legal_dtype(ND_OP_fill, (int)random_below(15)),
                       &any_view))
        return;
    nd_dtype given = same ? 0 : dtype;
    cell c = constant(dtype, &value), one = cell_widened(dtype, cell_int(1));
    dense want = dense_new(dtype, like.ndim, like.shape);
    if (good(nd_ones(run.device, dtype, like.ndim, like.shape, &r[0]), "ones"))
        nd_release(r[0]); /* so that zeros come to memory that held something */
    r[0] = NULL;
    if (good(nd_zeros(run.device, dtype, like.ndim, like.shape, &r[0]), "zeros") &&
        dense_is(&want, r[0], "zeros") &&
        good(nd_zeros_like(like.array, given, &r[1]), "zeros_like"))
        (void)dense_is(&want, r[1], "zeros_like");
    expect_all(&want, one);
    if (good(nd_ones(run.device, dtype, like.ndim, like.shape, &r[2]), "ones") &&
        dense_is(&want, r[2], "ones") && good(nd_ones_like(like.array, given, &r[3]), "ones_like"))
        (void)dense_is(&want, r[3], "ones_like");
    expect_all(&want, c);
    if (good(nd_full(run.device, dtype, like.ndim, like.shape, value, &r[4]), "full") &&
        dense_is(&want, r[4], "full") &&
        good(nd_full_like(like.array, given, value, &r[5]), "full_like"))
        (void)dense_is(&want, r[5], "full_like");
    for (int k = 0; k < 6; k++)
        nd_release(r[k]);
    dense_release(&want);
    mirror_release(&like);
}

/* ---- ramps ---- */

/* Bounds and step in eighths, so that all arithmetic here is exact. */
typedef struct {
    int64_t start, stop, step;
} eighths;

static int64_t count_before(eighths e)
{
    int64_t n = 0;
    for (int64_t x = e.start; e.step > 0 ? x < e.stop : x > e.stop; x += e.step)
        n++;
    return n;
}

static nd_scalar as_scalar(int64_t eighth_parts, bool whole)
{
    return whole ? nd_int(eighth_parts / 8) : nd_float((double)eighth_parts / 8);
}

static void arange_case(int i)
{
    nd_dtype dtype = legal_dtype(ND_OP_iota, i);
    int kind = nd_dtype_get(dtype)->kind;
    bool integral = kind & (ND_KIND_INT | ND_KIND_UINT), whole = integral || random_below(2);
    int64_t unit = whole ? 8 : 1, least = kind == ND_KIND_UINT ? 0 : -50;
    eighths e = {(least + random_below(100)) * unit, (least + random_below(100)) * unit,
                 (1 + random_below(9)) * unit};
    nd_array *r = NULL;
    if (random_below(3) == 0)
        e.step = -e.step;
    if (random_below(10) == 0)
        e.stop *= kind == ND_KIND_UINT || integral ? 1 : 40; /* long enough for threads' pieces */
    int64_t n = count_before(e);
    bool by_rule = (dtype == ND_I64 || dtype == ND_F64) && integral == whole && random_below(2);
    dense want = dense_new(dtype, 1, &n);
    for (int64_t k = 0; k < n; k++) {
        int64_t x = e.start + k * e.step;
        cell c = integral                  ? cell_int(x / 8)
                 : kind == ND_KIND_COMPLEX ? cell_complex((long double)x / 8, 0)
                                           : cell_real((long double)x / 8);
        cell_write(dtype, c, dense_at(&want, k));
    }
    if (good(nd_arange(run.device, by_rule ? 0 : dtype, as_scalar(e.start, whole),
                       as_scalar(e.stop, whole), as_scalar(e.step, whole), &r),
             "arange"))
        (void)dense_is(&want, r, "arange");
    nd_release(r);
    dense_release(&want);
}

/* The ends of the 64-bit range, and what is refused. */
static void check_arange_limits(void)
{
    nd_array *r = NULL;
    const int64_t three = 3;
    dense want = dense_new(ND_U64, 1, &three);
    (void)begin_case(0);
    for (int k = 0; k < 3; k++) /* 2^64 - 1, then down */
        cell_write(ND_U64, cell_int((__int128)UINT64_MAX - k * 5), dense_at(&want, k));
    if (good(nd_arange(run.device, ND_U64, nd_uint(UINT64_MAX), nd_uint(UINT64_MAX - 11),
                       nd_int(-5), &r),
             "arange"))
        (void)dense_is(&want, r, "arange of u64 downwards");
    nd_release(r);
    r = NULL;
    dense_release(&want);
    want = dense_new(ND_I64, 1, &three);
    for (int k = 0; k < 3; k++)
        cell_write(ND_I64, cell_int((__int128)INT64_MIN + (__int128)k * INT64_MAX),
                   dense_at(&want, k));
    if (good(nd_arange(run.device, 0, nd_int(INT64_MIN), nd_int(INT64_MAX), nd_int(INT64_MAX), &r),
             "arange"))
        (void)dense_is(&want, r, "arange across the range of i64");
    nd_release(r);
    r = NULL;
    dense_release(&want);
    (void)fails(nd_arange(run.device, 0, nd_int(0), nd_int(5), nd_int(0), &r), ND_ERR_ARGUMENT,
                "arange by 0");
    (void)fails(nd_arange(run.device, ND_F32, nd_float(0), nd_float(INFINITY), nd_float(1), &r),
                ND_ERR_ARGUMENT, "arange to infinity");
    (void)fails(nd_arange(run.device, ND_I8, nd_int(0), nd_int(200), nd_int(1), &r),
                ND_ERR_OVERFLOW, "arange of i8 to 200");
    (void)fails(nd_arange(run.device, ND_U8, nd_int(-1), nd_int(5), nd_int(1), &r), ND_ERR_OVERFLOW,
                "arange of u8 from -1");
    (void)fails(nd_arange(run.device, ND_BOOL, nd_int(0), nd_int(2), nd_int(1), &r), ND_ERR_DTYPE,
                "arange of bool");
    (void)fails(nd_arange(run.device, ND_I32, nd_float(0), nd_float(2), nd_float(0.5), &r),
                ND_ERR_DTYPE, "arange of i32 by 0.5");
    nd_release(r);
}

static nd_scalar random_end(bool complex_end, cell *c)
{
    double re = (double)(random_below(2000001) - 1000000) / (random_below(2) ? 1000 : 7);
    double im = complex_end ? (double)random_below(1000) / 9 : 0;
    *c = cell_complex(re, im);
    return complex_end ? nd_complex(re, im) : nd_float(re);
}

/* stop - start may be twice the largest, and is rounded itself, divided, and multiplied again:
 * three times half a unit of that. Then the sum is rounded. */
static bool part_close(nd_dtype dtype, long double got, long double want, long double largest)
{
    return fabsl(got - want) <= cell_ulp(dtype, want) + 3 * cell_ulp(ND_F64, largest);
}

/* start + i (stop - start) / parts, to the rounding of the dtype and of f64 at the larger end. */
static bool check_linspace(const dense *got, cell start, cell stop, bool endpoint)
{
    long double most = fmaxl(hypotl(start.re, start.im), hypotl(stop.re, stop.im));
    for (int64_t k = 0; k < got->size; k++) {
        int64_t parts = endpoint ? got->size - 1 : got->size;
        long double part = parts ? (long double)k / parts : 0;
        long double re = start.re + part * (stop.re - start.re);
        long double im = start.im + part * (stop.im - start.im);
        cell c = dense_cell(got, k);
        bool last = endpoint && k == parts && k > 0; /* exactly stop, but for the dtype */
        if (last ? !cell_close(got->dtype, c, c.kind == ND_KIND_COMPLEX ? stop : cell_real(stop.re),
                               0.5, true)
                 : !part_close(got->dtype, c.re, re, most) ||
                       !part_close(got->dtype, c.im, im, most)) {
            fail_case(
                "linspace of %s: element %lld of %lld is (%.20Lg, %.20Lg), not (%.20Lg, %.20Lg)",
                nd_dtype_name(got->dtype), (long long)k, (long long)got->size, c.re, c.im, re, im);
            return false;
        }
    }
    return true;
}

static void linspace_case(int i)
{
    static const nd_dtype dtypes[] = {ND_F16, ND_BF16, ND_F32, ND_F64, ND_C64, ND_C128};
    nd_dtype dtype = dtypes[i % 6];
    bool is_complex = i % 6 > 3, complex_ends = is_complex && random_below(2);
    bool by_rule = (dtype == ND_F64 || (dtype == ND_C128 && complex_ends)) && random_below(2);
    bool endpoint = random_below(2);
    int64_t num = random_below(20) ? random_below(12) : random_below(4000);
    cell start, stop;
    nd_scalar from = random_end(complex_ends, &start), to = random_end(complex_ends, &stop);
    nd_array *r = NULL;
    if (dtype == ND_F16) { /* within its range */
        start.re = from.v.f = fmod(from.v.f, 1000);
        stop.re = to.v.f = fmod(to.v.f, 1000);
    }
    if (good(nd_linspace(run.device, by_rule ? 0 : dtype, from, to, num, endpoint, &r),
             "linspace")) {
        dense got = dense_new(dtype, 1, &num);
        char *data = fetch(r);
        if (data)
            memcpy(got.data, data, (size_t)num * nd_dtype_size(dtype));
        if (dense_is(&got, r, "linspace"))
            (void)check_linspace(&got, start, stop, endpoint);
        dense_release(&got);
        free(data);
    }
    nd_release(r);
}

/* ---- meshgrid ---- */

static void meshgrid_case(int i)
{
    enum { MOST = 4 };
    int n = (int)random_below(MOST + 1), ij = (int)random_below(2);
    mirror m[MOST];
    const nd_array *arrays[MOST];
    nd_array *r[MOST] = {NULL};
    int64_t shape[MOST], index[MOST];
    memset(m, 0, sizeof m);
    for (int k = 0; k < n; k++) {
        int64_t extent = random_below(10) == 0 ? 0 : 1 + random_below(5);
        int at = !ij && n > 1 && k < 2 ? 1 - k : k, ndim = random_below(8) ? 1 : 0;
        if (!mirror_shaped(&m[k], legal_dtype(ND_OP_copy, i + k), ndim, &extent, &any_view))
            return;
        arrays[k] = m[k].array;
        shape[at] = m[k].size;
    }
    if (good(nd_meshgrid(n, arrays, ij, r), "meshgrid"))
        for (int k = 0; k < n; k++) {
            int at = !ij && n > 1 && k < 2 ? 1 - k : k;
            dense a = dense_of(&m[k]), want = dense_new(a.dtype, n, shape);
            for (int64_t p = 0; p < want.size; p++) {
                unravel(n, shape, p, index);
                dense_put(&want, p, &a, index[at]);
            }
            if (dense_is(&want, r[k], "meshgrid") &&
                !(nd_is_readonly(r[k]) && nd_shares_storage(r[k], m[k].array)))
                fail_case("meshgrid gave no read-only view");
            dense_release(&a);
            dense_release(&want);
        }
    for (int k = 0; k < n; k++) {
        nd_release(r[k]);
        mirror_release(&m[k]);
    }
}

void conform_create(void)
{
    run_cases("triangle", triangle_case);
    run_cases("eye", eye_case);
    run_cases("full", full_case);
    run_cases("arange", arange_case);
    if (wanted("arange_limits")) {
        begin_op("arange_limits");
        check_arange_limits();
        end_op();
    }
    run_cases("linspace", linspace_case);
    run_cases("meshgrid", meshgrid_case);
}
