/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Conformance: reductions over any axes, and scans.
 *
 * Expected values are sums and products of exact cells in long double or 128-bit integers. A bound
 * of op.def is in units in the last place of the sum of magnitudes, where an operation sums. */
#include <math.h>
#include "tests/conform/conform.h"

typedef nd_status (*reduce_fn)(const nd_array *, const nd_reduce_opts *, nd_array **);
typedef nd_status (*reduce_into_fn)(const nd_array *, const nd_reduce_opts *, const nd_array *);
typedef nd_status (*scan_fn)(const nd_array *, const nd_scan_opts *, nd_array **);
typedef nd_status (*scan_into_fn)(const nd_array *, const nd_scan_opts *, const nd_array *);

static const struct {
    nd_op op;
    reduce_fn run;
    reduce_into_fn into;
} reductions[] = {
#define ROW(name, DOMAIN, RESULT, ulp, doc) {ND_OP_##name, nd_##name, nd_##name##_into},
#define ND_EXPAND_REDUCE ND_EXPAND_BY(ROW)
#define ND_EXPAND_ARGREDUCE ND_EXPAND_BY(ROW)
#include <ndock/op_expand.h>
#undef ND_EXPAND_REDUCE
#undef ND_EXPAND_ARGREDUCE
};
static const struct {
    nd_op op;
    scan_fn run;
    scan_into_fn into;
} scans[] = {
    {ND_OP_cumulative_sum, nd_cumulative_sum, nd_cumulative_sum_into},
    {ND_OP_cumulative_prod, nd_cumulative_prod, nd_cumulative_prod_into},
};

enum { INTEGRAL = ND_KIND_BOOL | ND_KIND_INT | ND_KIND_UINT };

static int kind_of(nd_dtype dtype)
{
    return nd_dtype_get(dtype)->kind;
}

/* ---- dtypes ---- */

/* What the op computes dtype in: itself, the default float, or 0 where it is not defined. */
static nd_dtype computed_in(const nd_op_info *info, nd_dtype dtype)
{
    if (kind_of(dtype) & info->domain)
        return dtype;
    bool as_float = kind_of(dtype) & INTEGRAL && info->domain & ND_KIND_FLOAT &&
                    !(info->domain & (ND_KIND_INT | ND_KIND_UINT));
    return as_float ? ND_F64 : 0;
}

static nd_dtype result_of(const nd_op_info *info, nd_dtype compute, bool asked)
{
    switch (info->result) {
    case ND_RESULT_BOOL:
        return ND_BOOL;
    case ND_RESULT_INDEX:
        return ND_I64;
    case ND_RESULT_REAL:
        return compute == ND_C64 ? ND_F32 : compute == ND_C128 ? ND_F64 : compute;
    case ND_RESULT_SUM:
        if (asked || !(kind_of(compute) & INTEGRAL))
            return compute;
        return kind_of(compute) == ND_KIND_UINT ? ND_U64 : ND_I64;
    default:
        return compute;
    }
}

/* A dtype to ask for: the same or one that holds the input's values; 0: none. */
static nd_dtype random_wish(const nd_op_info *info, nd_dtype in)
{
    nd_dtype wide = kind_of(in) & INTEGRAL         ? (random_below(2) ? ND_I64 : ND_F64)
                    : kind_of(in) == ND_KIND_FLOAT ? (nd_dtype_size(in) == 2 ? ND_F32 : ND_F64)
                                                   : ND_C128;
    nd_dtype wish = random_below(3) ? wide : in;
    return random_below(4) == 0 && kind_of(wish) & info->domain ? wish : 0;
}

static cell convert(nd_dtype dtype, cell c)
{
    if (!(c.kind & INTEGRAL))
        return c;
    if (kind_of(dtype) == ND_KIND_FLOAT)
        return cell_real(dtype == ND_F64 ? (double)c.i : (float)c.i);
    return kind_of(dtype) == ND_KIND_BOOL ? cell_bool(c.i != 0) : cell_wrap(dtype, c.i);
}

/* ---- expected values of a group of n cells ---- */

typedef struct {
    nd_dtype compute, result;
    double correction;
    cell want;
    long double tolerance;
} expectation;

/* Halves are summed in f32 or wider. */
static nd_dtype range_of(nd_dtype dtype)
{
    return nd_dtype_size(dtype) == 2 && kind_of(dtype) == ND_KIND_FLOAT ? ND_F32 : dtype;
}

static long double magnitude(cell c)
{
    return c.kind & INTEGRAL ? 0 : hypotl(c.re, c.im);
}

static bool sum_of(nd_op op, expectation *e, const cell *in, int64_t n, cell *sum)
{
    long double sizes = 0;
    *sum = (cell){.kind = kind_of(e->compute)};
    for (int64_t i = 0; i < n; i++) {
        sum->i = (__int128)((unsigned __int128)sum->i + (unsigned __int128)in[i].i);
        sum->re += in[i].re;
        sum->im += in[i].im;
        sizes += isfinite(magnitude(in[i])) ? magnitude(in[i]) : 0;
    }
    long double n_or_1 = op == ND_OP_mean && n > 0 ? n : 1;
    e->tolerance = op_ulp(op, e->compute) * 1.01L * cell_ulp(e->compute, sizes / n_or_1);
    return kind_of(e->compute) & INTEGRAL || sizes < cell_max(range_of(e->compute)) / 2;
}

static bool expect_sum(nd_op op, expectation *e, const cell *in, int64_t n)
{
    bool safe = sum_of(op, e, in, n, &e->want);
    if (kind_of(e->compute) & INTEGRAL)
        e->want =
            e->result == ND_BOOL ? cell_bool(e->want.i != 0) : cell_wrap(e->result, e->want.i);
    return safe;
}

static bool expect_mean(nd_op op, expectation *e, const cell *in, int64_t n)
{
    bool safe = sum_of(op, e, in, n, &e->want);
    e->want.re /= n;
    e->want.im /= n;
    return safe;
}

/* Left out: products whose order decides whether they overflow or underflow on the way. */
static bool expect_prod(nd_op op, expectation *e, const cell *in, int64_t n)
{
    long double up = 1, down = 1;
    cell p = {.kind = kind_of(e->compute), .i = 1, .re = 1};
    for (int64_t i = 0; i < n; i++) {
        long double re = p.re, size = magnitude(in[i]);
        p.i = cell_wrap(e->result == ND_BOOL ? ND_U8 : e->result, p.i * in[i].i).i;
        p.re = re * in[i].re - (p.kind == ND_KIND_COMPLEX ? p.im * in[i].im : 0);
        p.im = p.kind == ND_KIND_COMPLEX ? re * in[i].im + p.im * in[i].re : 0;
        up *= isfinite(size) && size > 1 ? size : 1;
        down *= size > 0 && size < 1 ? size : 1;
    }
    e->want = p;
    e->want.kind = kind_of(e->result);
    long double size = magnitude(e->want), floor = cell_ulp(range_of(e->compute), 0);
    e->tolerance = op_ulp(op, e->compute) * (long double)(n + 1) * cell_ulp(e->compute, size);
    if (kind_of(e->compute) == ND_KIND_COMPLEX && !(up < 1e15L && down > 1e-15L))
        return false;
    return kind_of(e->compute) & INTEGRAL ||
           (up < cell_max(range_of(e->compute)) / 2 && down > floor * 1e17L);
}

static bool expect_var(nd_op op, expectation *e, const cell *in, int64_t n)
{
    cell mean;
    long double squares = 0, largest = 0, eps = cell_ulp(e->compute, 1);
    (void)sum_of(ND_OP_mean, e, in, n, &mean);
    for (int64_t i = 0; i < n; i++) {
        long double re = in[i].re - mean.re / n, im = in[i].im - mean.im / n;
        squares += re * re + im * im;
        largest = fmaxl(largest, magnitude(in[i]));
    }
    bool defined = (double)n - e->correction > 0;
    long double var = defined ? squares / ((double)n - e->correction) : NAN;
    long double want = op == ND_OP_std ? sqrtl(var) : var;
    long double noise = eps * largest * 0.01L;
    e->want = cell_real(want);
    e->tolerance = op_ulp(op, e->compute) * 1.01L * cell_ulp(e->result, want) +
                   (op == ND_OP_std ? noise : noise * noise);
    bool finite = isfinite(largest),
         tiny = largest < sqrtl(cell_ulp(range_of(e->compute), 0)) * 1e20L;
    long double most = cell_max(range_of(e->compute)) / 4;
    return !finite || ((largest == 0 || !tiny) && squares < most && largest * n < most);
}

static bool expect_logsumexp(nd_op op, expectation *e, const cell *in, int64_t n)
{
    long double max = -INFINITY, sum = 0;
    bool nan = false;
    for (int64_t i = 0; i < n; i++) {
        nan |= isnan(in[i].re);
        max = in[i].re > max ? in[i].re : max;
    }
    for (int64_t i = 0; i < n && isfinite(max); i++)
        sum += expl(in[i].re - max);
    long double want = nan ? NAN : isfinite(max) ? max + logl(sum) : max;
    long double scale = isfinite(want) ? fmaxl(fmaxl(fabsl(want), fabsl(max)), 1) : 1;
    e->want = cell_real(want);
    e->tolerance = op_ulp(op, e->compute) * 1.01L * cell_ulp(e->compute, scale);
    return true;
}

/* a is to be preferred to b; NaN before everything, the first of equals. zeros: of either sign
 * differ. */
static bool better(cell a, cell b, bool most, bool zeros)
{
    if (a.kind & INTEGRAL)
        return most ? a.i > b.i : a.i < b.i;
    if (isnan(a.re) || isnan(b.re))
        return isnan(a.re) && !isnan(b.re);
    if (zeros && a.re == 0 && b.re == 0)
        return most ? signbit(b.re) && !signbit(a.re) : signbit(a.re) && !signbit(b.re);
    return most ? a.re > b.re : a.re < b.re;
}

static bool expect_extreme(nd_op op, expectation *e, const cell *in, int64_t n)
{
    int64_t at = 0;
    bool most = op == ND_OP_max || op == ND_OP_argmax, value = op == ND_OP_min || op == ND_OP_max;
    for (int64_t i = 1; i < n; i++)
        if (better(in[i], in[at], most, value))
            at = i;
    e->want = value ? in[at] : cell_int(at);
    e->tolerance = 0;
    return n > 0;
}

static bool expect_count(nd_op op, expectation *e, const cell *in, int64_t n)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++)
        count += in[i].kind & INTEGRAL ? in[i].i != 0 : in[i].re != 0 || in[i].im != 0;
    e->want = op == ND_OP_count_nonzero ? cell_int(count)
                                        : cell_bool(op == ND_OP_any ? count > 0 : count == n);
    return true;
}

/* False where the case is left out. */
static bool expect(nd_op op, expectation *e, const cell *in, int64_t n)
{
    switch (op) {
    case ND_OP_sum:
    case ND_OP_cumulative_sum:
        return expect_sum(op, e, in, n);
    case ND_OP_prod:
    case ND_OP_cumulative_prod:
        return expect_prod(op, e, in, n);
    case ND_OP_mean:
        return expect_mean(op, e, in, n);
    case ND_OP_var:
    case ND_OP_std:
        return expect_var(op, e, in, n);
    case ND_OP_logsumexp:
        return expect_logsumexp(op, e, in, n);
    case ND_OP_any:
    case ND_OP_all:
    case ND_OP_count_nonzero:
        return expect_count(op, e, in, n);
    default:
        return expect_extreme(op, e, in, n);
    }
}

/* ---- a case of a reduction ---- */

typedef struct {
    const nd_op_info *info;
    mirror in;
    nd_dtype compute, result;
    nd_reduce_opts opts;
    int32_t axes[CASE_NDIM];
    bool reduced[CASE_NDIM];
    int ndim; /* of the result */
    int64_t shape[CASE_NDIM], n_out, count;
    cell *cells; /* count for each element of the result */
} trial;

static void random_axes(trial *t)
{
    bool one_or_all = t->info->op_class == ND_CLASS_ARGREDUCE;
    int ndim = t->in.ndim, mode = (int)random_below(4), n = 0;
    if (mode == 0 || (one_or_all && (mode == 1 || ndim == 0))) {
        memset(t->reduced, 1, sizeof t->reduced);
        return;
    }
    t->opts.axes = t->axes;
    for (int d = 0; d < ndim && mode > 1 && !one_or_all; d++)
        t->reduced[d] = random_below(2);
    if (ndim > 0 && (mode == 2 || one_or_all)) {
        memset(t->reduced, 0, sizeof t->reduced);
        t->reduced[random_below(ndim)] = true;
    }
    for (int d = ndim - 1; d >= 0; d--) /* in any order, and from the end */
        if (t->reduced[d])
            t->axes[n++] = random_below(2) ? d : d - ndim;
    t->opts.naxes = n ? n : ND_NO_AXES;
}

static void group_cells(trial *t)
{
    int64_t step[CASE_NDIM], *filled;
    t->n_out = t->count = 1;
    for (int d = t->in.ndim - 1; d >= 0; d--) {
        step[d] = t->reduced[d] ? 0 : t->n_out;
        *(t->reduced[d] ? &t->count : &t->n_out) *= t->in.shape[d];
    }
    for (int d = 0; d < t->in.ndim; d++)
        if (!t->reduced[d] || t->opts.keepdims)
            t->shape[t->ndim++] = t->reduced[d] ? 1 : t->in.shape[d];
    t->cells = malloc((size_t)(t->n_out * t->count + 1) * sizeof *t->cells);
    filled = calloc((size_t)t->n_out + 1, sizeof *filled);
    for (int64_t i = 0; i < t->in.size; i++) {
        int64_t rest = i, out = 0;
        for (int d = t->in.ndim - 1; d >= 0; rest /= t->in.shape[d--])
            out += rest % t->in.shape[d] * step[d];
        cell c = mirror_cell(&t->in, t->in.ndim, t->in.shape, i);
        t->cells[out * t->count + filled[out]++] = convert(t->compute, c);
    }
    free(filled);
}

static void check_result(const trial *t, const nd_array *r)
{
    char text[2][128], *data = fetch(r);
    nd_dtype dtype = nd_dtype_of(r);
    for (int64_t i = 0; data && i < t->n_out && !failing(); i++) {
        expectation e = {t->compute, t->result, t->opts.correction, {0}, 0};
        cell got = cell_read(dtype, data + (size_t)i * nd_dtype_size(dtype));
        if (!expect(t->info->op, &e, t->cells + i * t->count, t->count))
            continue;
        bool value = t->info->op == ND_OP_min || t->info->op == ND_OP_max;
        if (!cell_within(t->result, got, e.want, e.tolerance) ||
            (value && kind_of(t->result) == ND_KIND_FLOAT &&
             !cell_close(t->result, got, e.want, 0, true)))
            fail_case("%s of %lld %s (in %s) is %s, not %s, at %lld", t->info->name,
                      (long long)t->count, nd_dtype_name(t->in.dtype), nd_dtype_name(t->compute),
                      cell_text(got, text[0]), cell_text(e.want, text[1]), (long long)i);
    }
    free(data);
}

/* Of the result's kind, and as wide or wider. */
static nd_dtype random_destination(nd_dtype result)
{
    if (random_below(4))
        return result;
    return kind_of(result) & INTEGRAL         ? (result == ND_U64 ? ND_U64 : ND_I64)
           : kind_of(result) == ND_KIND_FLOAT ? ND_F64
                                              : ND_C128;
}

static void check_into(const trial *t, reduce_into_fn into)
{
    const view_wish wish = {.writable = true};
    mirror dst;
    nd_dtype dtype = random_destination(t->result);
    if (mirror_shaped(&dst, dtype, t->ndim, t->shape, &wish) &&
        good(into(t->in.array, &t->opts, dst.array), "into")) {
        check_result(t, dst.array);
        if (!mirror_untouched(&dst))
            fail_case("%s_into wrote beside its destination", t->info->name);
    }
    mirror_release(&dst);
}

/* Into a part of the input itself. */
static void check_overlap(const trial *t, reduce_into_fn into)
{
    nd_index first[CASE_NDIM];
    nd_array *dst = NULL;
    if (!t->opts.keepdims || t->result != t->in.dtype || nd_is_readonly(t->in.array))
        return;
    for (int d = 0; d < t->in.ndim; d++) {
        if (t->in.shape[d] == 0)
            return;
        first[d] = t->reduced[d] ? nd_range(0, 1, 1) : nd_all_of();
    }
    if (good(nd_slice(t->in.array, first, t->in.ndim, &dst), "slice") &&
        good(into(t->in.array, &t->opts, dst), "overlapping into"))
        check_result(t, dst);
    nd_release(dst);
}

static bool right_type(const char *name, const nd_array *r, nd_dtype dtype, int ndim,
                       const int64_t *shape)
{
    bool same = nd_dtype_of(r) == dtype && nd_ndim(r) == ndim;
    for (int d = 0; same && d < ndim; d++)
        same = nd_shape(r)[d] == shape[d];
    if (!same)
        fail_case("%s gives rank %d of %s, not rank %d of %s, or another shape", name, nd_ndim(r),
                  nd_dtype_name(nd_dtype_of(r)), ndim, nd_dtype_name(dtype));
    return same;
}

static void reduce_case(const nd_op_info *info, nd_dtype dtype, reduce_fn fn, reduce_into_fn into)
{
    trial t = {.info = info, .opts = {.size = sizeof t.opts}};
    view_wish wish = any_view;
    nd_array *r = NULL;
    wish.tame = kind_of(dtype) == ND_KIND_COMPLEX || random_below(2);
    if (mirror_random(&t.in, dtype, &wish)) {
        if (info->op_class == ND_CLASS_REDUCE)
            t.opts.dtype = random_wish(info, dtype);
        t.compute = computed_in(info, t.opts.dtype ? t.opts.dtype : dtype);
        t.result = result_of(info, t.compute, t.opts.dtype != 0);
        t.opts.keepdims = random_below(2);
        t.opts.correction = random_below(2) ? (double)random_below(3) : 0;
        random_axes(&t);
        group_cells(&t);
        bool choice =
            info->op == ND_OP_min || info->op == ND_OP_max || info->op_class == ND_CLASS_ARGREDUCE;
        nd_status status = fn(t.in.array, &t.opts, &r);
        if (choice && t.count == 0 && t.n_out > 0) {
            if (status != ND_ERR_SHAPE || r)
                fail_case("%s of nothing gave %s", info->name, nd_status_name(status));
        } else if (good(status, info->name) &&
                   right_type(info->name, r, t.result, t.ndim, t.shape)) {
            check_result(&t, r);
            check_into(&t, into);
            check_overlap(&t, into);
        }
    }
    nd_release(r);
    free(t.cells);
    mirror_release(&t.in);
}

/* ---- scans ---- */

typedef struct {
    const nd_op_info *info;
    mirror in;
    nd_dtype compute, result;
    nd_scan_opts opts;
    int axis;
    int64_t shape[CASE_NDIM], n_out; /* of the result */
} scan_trial;

/* The cells from the start of the line up to where element i of the result stands. */
static int64_t line_before(const scan_trial *t, int64_t i, cell *line)
{
    int64_t inner = 1, extent = t->shape[t->axis];
    for (int d = t->axis + 1; d < t->in.ndim; d++)
        inner *= t->shape[d];
    int64_t along = i / inner % extent, n = along + !t->opts.include_initial;
    int64_t start = i / inner / extent * t->in.shape[t->axis] * inner + i % inner;
    for (int64_t j = 0; j < n; j++)
        line[j] =
            convert(t->compute, mirror_cell(&t->in, t->in.ndim, t->in.shape, start + j * inner));
    return n;
}

static void check_scan(const scan_trial *t, const nd_array *r)
{
    char text[2][128], *data = fetch(r);
    nd_dtype dtype = nd_dtype_of(r);
    cell *line = malloc((size_t)(t->shape[t->axis] + 1) * sizeof *line);
    for (int64_t i = 0; data && i < t->n_out && !failing(); i++) {
        expectation e = {t->compute, t->result, 0, {0}, 0};
        cell got = cell_read(dtype, data + (size_t)i * nd_dtype_size(dtype));
        int64_t n = line_before(t, i, line);
        if (expect(t->info->op, &e, line, n) && !cell_within(t->result, got, e.want, e.tolerance))
            fail_case("%s of %lld %s (in %s) is %s, not %s, at %lld", t->info->name, (long long)n,
                      nd_dtype_name(t->in.dtype), nd_dtype_name(t->compute),
                      cell_text(got, text[0]), cell_text(e.want, text[1]), (long long)i);
    }
    free(line);
    free(data);
}

static void check_scan_into(const scan_trial *t, scan_into_fn into)
{
    const view_wish wish = {.writable = true};
    mirror dst;
    if (mirror_shaped(&dst, random_destination(t->result), t->in.ndim, t->shape, &wish) &&
        good(into(t->in.array, &t->opts, dst.array), "into")) {
        check_scan(t, dst.array);
        if (!mirror_untouched(&dst))
            fail_case("%s_into wrote beside its destination", t->info->name);
    }
    mirror_release(&dst);
    bool in_place = t->result == t->in.dtype && !t->opts.include_initial;
    if (in_place && !nd_is_readonly(t->in.array) &&
        good(into(t->in.array, &t->opts, t->in.array), "in place"))
        check_scan(t, t->in.array);
}

static void scan_case(const nd_op_info *info, nd_dtype dtype, scan_fn fn, scan_into_fn into)
{
    scan_trial t = {.info = info, .opts = {.size = sizeof t.opts}, .n_out = 1};
    view_wish wish = any_view;
    nd_array *r = NULL;
    wish.least_ndim = 1;
    wish.tame = kind_of(dtype) == ND_KIND_COMPLEX || random_below(2);
    if (mirror_random(&t.in, dtype, &wish)) {
        t.opts.dtype = random_wish(info, dtype);
        t.compute = computed_in(info, t.opts.dtype ? t.opts.dtype : dtype);
        t.result = result_of(info, t.compute, t.opts.dtype != 0);
        t.axis = (int)random_below(t.in.ndim);
        t.opts.axis = random_below(2) ? t.axis : t.axis - t.in.ndim;
        t.opts.include_initial = random_below(2);
        for (int d = 0; d < t.in.ndim; d++) {
            t.shape[d] = t.in.shape[d] + (d == t.axis && t.opts.include_initial);
            t.n_out *= t.shape[d];
        }
        bool plain = t.in.ndim == 1 && !t.opts.dtype && !t.opts.include_initial;
        const nd_scan_opts *opts = plain && random_below(2) ? NULL : &t.opts;
        if (good(fn(t.in.array, opts, &r), info->name) &&
            right_type(info->name, r, t.result, t.in.ndim, t.shape)) {
            check_scan(&t, r);
            check_scan_into(&t, into);
        }
    }
    nd_release(r);
    mirror_release(&t.in);
}

/* dtypes an op takes, and their number. */
static int dtypes_of(const nd_op_info *info, nd_dtype *legal)
{
    int n = 0;
    for (nd_dtype d = 1; d < ND_DTYPE_END; d++)
        if (computed_in(info, d))
            legal[n++] = d;
    return n;
}

void conform_reduce(void)
{
    const size_t n_reductions = sizeof reductions / sizeof *reductions;
    for (size_t k = 0; k < n_reductions + sizeof scans / sizeof *scans; k++) {
        bool reduces = k < n_reductions;
        size_t s = reduces ? 0 : k - n_reductions;
        const nd_op_info *info = nd_op_get(reduces ? reductions[k].op : scans[s].op);
        nd_dtype legal[ND_DTYPE_END];
        int n = dtypes_of(info, legal);
        if (!wanted(info->name))
            continue;
        begin_op(info->name);
        for (int i = 0; i < run.count && !failing(); i++) {
            if (!begin_case(i))
                continue;
            if (reduces)
                reduce_case(info, legal[i % n], reductions[k].run, reductions[k].into);
            else
                scan_case(info, legal[i % n], scans[s].run, scans[s].into);
        }
        end_op();
    }
}
