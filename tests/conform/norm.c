/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Conformance: row normalisations over any axes, with and without scale and bias. */
#include <float.h>
#include <math.h>
#include "tests/conform/conform.h"

typedef struct {
    const nd_op_info *info;
    mirror in, scale, bias;
    nd_dtype compute;
    nd_norm_opts opts;
    int32_t axes[CASE_NDIM];
    bool normed[CASE_NDIM];
    int64_t weight_shape[CASE_NDIM], rows, count;
    int weight_ndim;
    int64_t *where;     /* position in C order of element j of row i, at i*count + j */
    long double *value; /* the same elements */
} trial;

static int kind_of(nd_dtype dtype)
{
    return nd_dtype_get(dtype)->kind;
}

static long double number(nd_dtype compute, cell c)
{
    if (c.kind == ND_KIND_FLOAT)
        return c.re;
    return compute == ND_F64 ? (double)c.i : (float)c.i;
}

static nd_status call(const trial *t, nd_array **out, const nd_array *dst)
{
    const nd_array *a = t->in.array, *scale = t->scale.array, *bias = t->bias.array;
    const nd_norm_opts *o = &t->opts;
    switch (t->info->op) {
    case ND_OP_softmax:
        return dst ? nd_softmax_into(a, o, dst) : nd_softmax(a, o, out);
    case ND_OP_log_softmax:
        return dst ? nd_log_softmax_into(a, o, dst) : nd_log_softmax(a, o, out);
    case ND_OP_layer_norm:
        return dst ? nd_layer_norm_into(a, scale, bias, o, dst)
                   : nd_layer_norm(a, scale, bias, o, out);
    default:
        return dst ? nd_rms_norm_into(a, scale, o, dst) : nd_rms_norm(a, scale, o, out);
    }
}

/* Some axes by name, or the last few by number, or the last one. */
static void random_axes(trial *t)
{
    int ndim = t->in.ndim, n = 0;
    if (ndim > 0 && random_below(2)) {
        t->opts.naxes = (int32_t)random_below(ndim + 1);
        for (int d = ndim - (t->opts.naxes ? t->opts.naxes : 1); d < ndim; d++)
            t->normed[d] = true;
        return;
    }
    t->opts.axes = t->axes;
    for (int d = ndim - 1; d >= 0; d--) {
        t->normed[d] = random_below(2);
        if (t->normed[d])
            t->axes[n++] = random_below(2) ? d : d - ndim;
    }
    t->opts.naxes = n ? n : ND_NO_AXES;
}

static void group_rows(trial *t)
{
    int64_t row_step[CASE_NDIM], step[CASE_NDIM];
    t->rows = t->count = 1;
    for (int d = t->in.ndim - 1; d >= 0; d--) {
        row_step[d] = t->normed[d] ? 0 : t->rows;
        step[d] = t->normed[d] ? t->count : 0;
        *(t->normed[d] ? &t->count : &t->rows) *= t->in.shape[d];
    }
    for (int d = 0; d < t->in.ndim; d++)
        if (t->normed[d])
            t->weight_shape[t->weight_ndim++] = t->in.shape[d];
    t->where = malloc((size_t)(t->in.size + 1) * sizeof *t->where);
    t->value = malloc((size_t)(t->in.size + 1) * sizeof *t->value);
    for (int64_t i = 0; i < t->in.size; i++) {
        int64_t rest = i, row = 0, at = 0;
        for (int d = t->in.ndim - 1; d >= 0; rest /= t->in.shape[d--]) {
            row += rest % t->in.shape[d] * row_step[d];
            at += rest % t->in.shape[d] * step[d];
        }
        t->where[row * t->count + at] = i;
        t->value[row * t->count + at] =
            number(t->compute, mirror_cell(&t->in, t->in.ndim, t->in.shape, i));
    }
}

/* The row's maximum, NaN if it holds one, and the sum of exp(x - max) over the others. */
static long double exponentials(const long double *x, int64_t n, long double *max)
{
    long double sum = 0;
    int64_t at = 0;
    for (int64_t j = 1; j < n; j++)
        at = isnan(x[j]) || x[j] > x[at] ? j : at;
    *max = x[at];
    for (int64_t j = 0; j < n; j++)
        sum += j == at ? x[j] - x[j] : expl(x[j] - *max); /* 0, or NaN at an infinity */
    return sum;
}

static void expect_softmax(const trial *t, const long double *x, long double *want,
                           long double *scale)
{
    long double max, sum = exponentials(x, t->count, &max);
    for (int64_t j = 0; j < t->count; j++) {
        bool soft = t->info->op == ND_OP_softmax;
        want[j] = soft ? expl(x[j] - max) / (1 + sum) : x[j] - max - log1pl(sum);
        scale[j] =
            soft ? want[j] * (1 + fabsl(x[j] - max) / 4) : fmaxl(fabsl(want[j]), fabsl(x[j] - max));
    }
}

static long double weight(const trial *t, const mirror *m, int64_t j, long double fallback)
{
    return m->array ? number(t->compute, mirror_cell(m, m->ndim, m->shape, j)) : fallback;
}

static void expect_norm(const trial *t, const long double *x, long double *want, long double *scale)
{
    bool centred = t->info->op == ND_OP_layer_norm;
    long double mean = 0, squares = 0, sizes = 0, n = t->count;
    for (int64_t j = 0; j < t->count && centred; j++) {
        mean += x[j];
        sizes += fabsl(x[j]) / n;
    }
    mean /= n;
    for (int64_t j = 0; j < t->count; j++)
        squares += (x[j] - mean) * (x[j] - mean);
    long double factor = 1 / sqrtl(squares / n + (t->opts.eps < 0 ? 1e-5 : t->opts.eps));
    for (int64_t j = 0; j < t->count; j++) {
        long double s = weight(t, &t->scale, j, 1), b = weight(t, &t->bias, j, 0);
        want[j] = (x[j] - mean) * factor * s + b;
        scale[j] = (fabsl(x[j]) + sizes) * factor * fabsl(s) + fabsl(b);
    }
}

/* Whether squares of the row leave the range of the dtype, or are all that stands between it and a
 * division by zero. */
static bool ill_conditioned(const trial *t, const long double *x)
{
    long double sum = 0, squares = 0, plain = 0;
    bool centred = t->info->op == ND_OP_layer_norm, wide = t->compute == ND_F64;
    for (int64_t j = 0; j < t->count; j++)
        sum += x[j];
    for (int64_t j = 0; j < t->count; j++) {
        long double d = x[j] - (centred ? sum / t->count : 0);
        squares += d * d;
        plain += isfinite(x[j]) ? x[j] * x[j] : 0;
    }
    if (t->opts.eps == 0 && squares < fmaxl(plain * 1e-12L, wide ? 1e-280L : 1e-30L))
        return true;
    return plain > cell_max(wide ? ND_F64 : ND_F32) / 4;
}

static void check_row(const trial *t, int64_t row, const char *data, nd_dtype dtype)
{
    const long double *x = t->value + row * t->count;
    long double *want = malloc((size_t)t->count * 2 * sizeof *want), *scale = want + t->count;
    char text[2][128];
    bool soft = t->info->op == ND_OP_softmax || t->info->op == ND_OP_log_softmax;
    if (soft)
        expect_softmax(t, x, want, scale);
    else
        expect_norm(t, x, want, scale);
    int64_t checked = soft || !ill_conditioned(t, x) ? t->count : 0;
    for (int64_t j = 0; j < checked && !failing(); j++) {
        const char *element = data + (size_t)t->where[row * t->count + j] * nd_dtype_size(dtype);
        cell got = cell_read(dtype, element), w = cell_real(want[j]);
        double ulp = op_ulp(t->info->op, t->compute) * 1.01;
        /* The factors are applied one after the other: a subnormal product between them is coarse.
         */
        long double coarse = soft ? 0 : fabsl(weight(t, &t->scale, j, 1)) * cell_ulp(t->compute, 0);
        if (!cell_within(t->compute, got, w, ulp * cell_ulp(t->compute, scale[j]) + coarse))
            fail_case("%s in %s of %.9Lg in a row of %lld is %s, not %s (eps %g)", t->info->name,
                      nd_dtype_name(t->compute), x[j], (long long)t->count, cell_text(got, text[0]),
                      cell_text(w, text[1]), t->opts.eps);
    }
    free(want);
}

static void check_result(const trial *t, const nd_array *r)
{
    char *data = fetch(r);
    for (int64_t row = 0; data && row < t->rows && t->count && !failing(); row++)
        check_row(t, row, data, nd_dtype_of(r));
    free(data);
}

static void check_into(const trial *t)
{
    const view_wish wish = {.writable = true};
    mirror dst;
    nd_dtype dtype = random_below(5) ? t->compute : ND_F64;
    if (mirror_shaped(&dst, dtype, t->in.ndim, t->in.shape, &wish) &&
        good(call(t, NULL, dst.array), "into")) {
        check_result(t, dst.array);
        if (!mirror_untouched(&dst))
            fail_case("%s_into wrote beside its destination", t->info->name);
    }
    mirror_release(&dst);
    if (t->in.dtype == t->compute && !nd_is_readonly(t->in.array) &&
        good(call(t, NULL, t->in.array), "in place"))
        check_result(t, t->in.array);
}

static bool make_operands(trial *t, nd_dtype dtype)
{
    view_wish wish = any_view, weights = {.tame = true};
    bool weighted = t->info->op == ND_OP_layer_norm || t->info->op == ND_OP_rms_norm;
    t->in.dtype = dtype;
    wish.tame = random_below(2);
    if (!mirror_random(&t->in, dtype, &wish))
        return false;
    random_axes(t);
    t->compute = kind_of(dtype) == ND_KIND_FLOAT ? dtype : ND_F64;
    if (random_below(5) == 0 && kind_of(dtype) == ND_KIND_FLOAT)
        t->compute = t->opts.dtype = nd_dtype_size(dtype) == 2 ? ND_F32 : ND_F64;
    group_rows(t);
    nd_dtype w = t->compute;
    if (weighted && random_below(2) &&
        !mirror_shaped(&t->scale, w, t->weight_ndim, t->weight_shape, &weights))
        return false;
    return !(t->info->op == ND_OP_layer_norm && random_below(2)) ||
           mirror_shaped(&t->bias, w, t->weight_ndim, t->weight_shape, &weights);
}

static void one_case(const nd_op_info *info, nd_dtype dtype)
{
    static const double eps[] = {-1, 0, 1e-5, 1e-3, 1};
    trial t = {.info = info, .opts = {.size = sizeof t.opts, .eps = eps[random_below(5)]}};
    nd_array *r = NULL;
    if (make_operands(&t, dtype) && good(call(&t, &r, NULL), info->name)) {
        if (nd_dtype_of(r) != t.compute || nd_size(r) != t.in.size)
            fail_case("%s of %s gives %s or another size", info->name, nd_dtype_name(dtype),
                      nd_dtype_name(nd_dtype_of(r)));
        else
            check_result(&t, r);
        if (random_below(2))
            check_into(&t);
    }
    nd_release(r);
    free(t.where);
    free(t.value);
    mirror_release(&t.in);
    mirror_release(&t.scale);
    mirror_release(&t.bias);
}

/* Runs softmax or log_softmax over an axis of a dense array: what is in x, which dtype holds. */
static void dense(nd_op op, nd_dtype dtype, int64_t high, int64_t across, const float *x, int axis)
{
    const int64_t shape[2] = {high, across};
    nd_layout layout = {.size = sizeof layout, .dtype = ND_F32, .ndim = 2, .shape = shape};
    trial t = {.info = nd_op_get(op), .compute = dtype, .opts = {.size = sizeof t.opts}};
    nd_array *wide = NULL, *r = NULL;
    t.in = (mirror){.dtype = dtype,
                    .ndim = 2,
                    .shape = {high, across},
                    .stride = {across, 1},
                    .size = high * across};
    t.normed[axis] = true;
    t.axes[0] = axis;
    t.opts.axes = t.axes;
    t.opts.naxes = 1;
    if (good(nd_from_host(&layout, x, run.device, &wide), "from_host") &&
        good(nd_astype(wide, dtype, &t.in.array), "astype") &&
        (t.in.base = fetch(t.in.array)) != NULL) {
        group_rows(&t);
        if (good(call(&t, &r, NULL), t.info->name))
            check_result(&t, r);
    }
    free(t.where);
    free(t.value);
    nd_release(wide);
    nd_release(r);
    mirror_release(&t.in);
}

static void dense_rows(nd_op op, nd_dtype dtype, int64_t rows, int64_t n, const float *x)
{
    dense(op, dtype, rows, n, x, 1);
}

/* Columns of n elements: one without any above -inf, one with a NaN, one far apart, the others random. */
static void dense_columns(nd_op op, nd_dtype dtype, int64_t n, int64_t columns)
{
    float *x = malloc((size_t)(n * columns) * sizeof *x);
    for (int64_t i = 0; i < n * columns; i++)
        x[i] = i % columns == 1   ? -INFINITY
               : i % columns == 3 ? (i / columns == n / 2 ? 0 : -84.0f - (float)(i % 37) / 2)
                                  : (float)random_below(2000) / 100 - 10;
    x[2 + columns * (n - 1)] = NAN;
    dense(op, dtype, n, columns, x, 0);
    free(x);
}

/* Some of a row, then all of it, is -inf; long rows. Softmax of nothing but -inf is NaN. */
static void minus_infinity(nd_op op, int64_t n)
{
    float *x = malloc((size_t)(3 * n) * sizeof *x);
    for (int64_t i = 0; i < 3 * n; i++)
        x[i] = i >= 2 * n || (i >= n && i % 3) ? -INFINITY : (float)random_below(2000) / 100 - 10;
    x[n] = 1;
    dense_rows(op, ND_F32, 3, n, x);
    free(x);
}

/* One element outweighs the others, whose exponentials are subnormal numbers of f32 or just above:
 * 0 and -84 ... -102. Then the largest numbers of the dtype beside half of them and their
 * negatives.
 */
static void far_apart(nd_op op, nd_dtype dtype, int64_t n)
{
    float *x = malloc((size_t)(2 * n) * sizeof *x);
    float most = (float)(fminl(cell_max(dtype), FLT_MAX) / 2);
    for (int64_t i = 0; i < n; i++) {
        x[i] = i == n / 3 ? 0 : -84.0f - (float)(i % 37) / 2;
        x[n + i] = i % 3 == 0 ? most : i % 3 == 1 ? most / 2 : -most;
    }
    dense_rows(op, dtype, 2, n, x);
    free(x);
}

/* Long rows and columns; a short run takes a share of them. */
static void long_rows(nd_op op)
{
    static const int64_t whole[] = {64, 1032, 5000, 16384}; /* vectors, of one, few or many warps */
    static const int64_t columns[][2] = {{130, 40}, {1031, 16}, {300, 264}};
    static const nd_dtype dtypes[] = {ND_F16, ND_BF16, ND_F32, ND_F64};
    int64_t id = FIXED_CASE;
    for (int64_t n = 1; n <= 16384; n *= 4)
        if (begin_share(id++))
            minus_infinity(op, n + n % 3);
    for (int i = 0; i < 4; i++)
        if (begin_share(id++))
            minus_infinity(op, whole[i]);
    for (int i = 0; i < 16; i++)
        if (begin_share(id++))
            far_apart(op, dtypes[i % 4], whole[i / 4]);
    for (int i = 0; i < 12; i++)
        if (begin_share(id++))
            dense_columns(op, dtypes[i % 4], columns[i / 4][0], columns[i / 4][1]);
}

void conform_norm(void)
{
    static const nd_op ops[] = {ND_OP_softmax, ND_OP_log_softmax, ND_OP_layer_norm, ND_OP_rms_norm};
    static const nd_dtype legal[] = {ND_F32, ND_F64, ND_F16, ND_BF16, ND_I32, ND_U8, ND_BOOL};
    for (int k = 0; k < 4; k++) {
        const nd_op_info *info = nd_op_get(ops[k]);
        if (!wanted(info->name))
            continue;
        begin_op(info->name);
        for (int i = 0; i < run.count && !failing(); i++) {
            if (begin_case(i))
                one_case(info, legal[i % 7]);
        }
        if (k < 2)
            long_rows(ops[k]);
        end_op();
    }
}
