/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Conformance: bools whose bytes are not 0 or 1, as memory of others may hold them. Every byte but
 * 0 is true: each operation that reads bools gives for such bytes what it gives for the same truth
 * in bytes of 0 and 1. What merely moves elements may move the byte as it is; every other bool that
 * an operation makes is 0 or 1. */
#include "tests/conform/grid.h"

enum { MOST_RESULTS = 4, MOST_FORMS = 64, LAYOUTS = 3 };
enum { VIEW, SHORT, LONG }; /* LAYOUTS */

/* Bools in bytes of any value, or the same truth in 0 and 1; all of one shape but sorted, which has
 * one dimension. index: positions along the last axis, of the shape of a. */
typedef struct {
    nd_array *a, *b, *mask, *sorted, *index;
} operands;
typedef nd_status run_fn(const nd_op_info *info, int form, const operands *o, nd_array **r);

/* ---- how each class is called; a form is one way to call it ---- */

static nd_status run_unary(const nd_op_info *info, int form, const operands *o, nd_array **r)
{
    const nd_arg arg = nd_array_arg(o->a);
    (void)form;
    return nd_apply(info->op, &arg, 1, NULL, r);
}

static nd_status run_binary(const nd_op_info *info, int form, const operands *o, nd_array **r)
{
    const nd_arg yes = nd_scalar_arg(nd_bool(1));
    const nd_arg args[2] = {form == 2 ? yes : nd_array_arg(o->a),
                            form == 1 ? yes : nd_array_arg(o->b)};
    return nd_apply(info->op, args, 2, NULL, r);
}

/* The last form selects numbers by a mask. */
static nd_status run_ternary(const nd_op_info *info, int form, const operands *o, nd_array **r)
{
    const nd_arg args[3] = {nd_array_arg(o->mask),
                            form ? nd_array_arg(o->index) : nd_array_arg(o->a),
                            form ? nd_scalar_arg(nd_int(-1)) : nd_array_arg(o->b)};
    return nd_apply(info->op, args, 3, NULL, r);
}

/* To each dtype, into an array of its own and into one that is there. */
static nd_status run_copy(const nd_op_info *info, int form, const operands *o, nd_array **r)
{
    nd_dtype to = 1 + form % (ND_DTYPE_END - 1);
    (void)info;
    if (form < ND_DTYPE_END - 1)
        return nd_astype(o->a, to, r);
    nd_status status = nd_zeros_like(o->a, to, r);
    return status == ND_OK ? nd_assign(o->a, *r) : status;
}

static const struct {
    nd_op op;
    nd_status (*run)(const nd_array *a, const nd_reduce_opts *opts, nd_array **out);
} reductions[] = {
#define ROW(name, DOMAIN, RESULT, ulp, doc) {ND_OP_##name, nd_##name},
#define ND_EXPAND_REDUCE ND_EXPAND_BY(ROW)
#define ND_EXPAND_ARGREDUCE ND_EXPAND_BY(ROW)
#include <ndock/op_expand.h>
#undef ND_EXPAND_REDUCE
#undef ND_EXPAND_ARGREDUCE
};

/* All axes, the last, the first; all with a bool as the result. */
static nd_status run_reduce(const nd_op_info *info, int form, const operands *o, nd_array **r)
{
    const int32_t axis = form == 1 ? -1 : 0;
    nd_reduce_opts opts = {.size = sizeof opts};
    if (form == 1 || form == 2) {
        opts.axes = &axis;
        opts.naxes = 1;
    }
    if (form == 3)
        opts.dtype = ND_BOOL;
    for (size_t i = 0; i < sizeof reductions / sizeof *reductions; i++)
        if (reductions[i].op == info->op)
            return reductions[i].run(o->a, &opts, r);
    fail_case("no function for %s is listed in tests/conform/bools.c", info->name);
    return ND_ERR_INTERNAL;
}

static nd_status run_scan(const nd_op_info *info, int form, const operands *o, nd_array **r)
{
    const nd_scan_opts opts = {
        .size = sizeof opts, .axis = form & 1 ? 0 : -1, .dtype = form & 2 ? ND_BOOL : 0};
    return info->op == ND_OP_cumulative_sum ? nd_cumulative_sum(o->a, &opts, r)
                                            : nd_cumulative_prod(o->a, &opts, r);
}

static nd_status run_take(const nd_op_info *info, int form, const operands *o, nd_array **r)
{
    (void)info;
    (void)form;
    return nd_take(o->a, o->index, -1, r);
}

static nd_status run_gather(const nd_op_info *info, int form, const operands *o, nd_array **r)
{
    (void)info;
    (void)form;
    return nd_gather(o->a, o->index, -1, r);
}

static nd_status run_scatter(const nd_op_info *info, int form, const operands *o, nd_array **r)
{
    int mode = info->op == ND_OP_scatter_add   ? ND_SCATTER_ADD
               : info->op == ND_OP_scatter_min ? ND_SCATTER_MIN
               : info->op == ND_OP_scatter_max ? ND_SCATTER_MAX
                                               : ND_SCATTER_SET;
    (void)form;
    return nd_scatter(o->a, o->index, o->b, -1, mode, r);
}

/* Room for all n elements and the count, both zero. */
static nd_status make_room(int64_t n, int64_t columns, nd_dtype dtype, nd_array **r)
{
    const int64_t shape[2] = {n, columns};
    nd_status status = nd_zeros(run.device, dtype, columns ? 2 : 1, shape, &r[0]);
    return status == ND_OK ? nd_zeros(run.device, ND_I64, 0, NULL, &r[1]) : status;
}

/* Bools by a mask, numbers by a mask, into room that is there. */
static nd_status run_compress(const nd_op_info *info, int form, const operands *o, nd_array **r)
{
    (void)info;
    if (form < 2)
        return nd_select(form ? o->index : o->a, o->mask, r);
    nd_status status = make_room(nd_size(o->a), 0, ND_BOOL, r);
    return status == ND_OK ? nd_select_into(o->a, o->mask, r[0], r[1]) : status;
}

static nd_status run_nonzero(const nd_op_info *info, int form, const operands *o, nd_array **r)
{
    (void)info;
    if (form == 0)
        return nd_nonzero(o->a, r);
    nd_status status = make_room(nd_size(o->a), nd_ndim(o->a), ND_I64, r);
    return status == ND_OK ? nd_nonzero_into(o->a, r[0], r[1]) : status;
}

static nd_status run_statistics(int form, const operands *o, nd_array **r)
{
    const double q = form ? 0.25 : 0.5;
    const int32_t axis = nd_ndim(o->a) - 1;
    const nd_quantile_opts opts = {
        .size = sizeof opts, .axes = &axis, .naxes = 1, .method = ND_QUANTILE_LOWER};
    return nd_quantile(o->a, 1, &q, &opts, r);
}

static nd_status run_sort(const nd_op_info *info, int form, const operands *o, nd_array **r)
{
    const nd_sort_opts opts = {.size = sizeof opts, .axis = -1, .descending = form};
    if (info->op == ND_OP_topk)
        return nd_topk(o->a, (nd_shape(o->a)[nd_ndim(o->a) - 1] + 1) / 2, -1, form, &r[0], &r[1]);
    if (info->op == ND_OP_order_statistics)
        return run_statistics(form, o, r);
    const int64_t kth = form * (nd_shape(o->a)[nd_ndim(o->a) - 1] - 1);
    if (info->op == ND_OP_partition)
        return nd_partition(o->a, kth, -1, r);
    if (info->op == ND_OP_argpartition)
        return nd_argpartition(o->a, kth, -1, r);
    return info->op == ND_OP_sort ? nd_sort(o->a, &opts, r) : nd_argsort(o->a, &opts, r);
}

static nd_status run_search(const nd_op_info *info, int form, const operands *o, nd_array **r)
{
    if (info->op == ND_OP_histogram)
        return nd_histogram(o->a, NULL, NULL, form, r, NULL);
    return nd_searchsorted(o->sorted, o->a, form, NULL, r);
}

static nd_status run_count(const nd_op_info *info, int form, const operands *o, nd_array **r)
{
    const int64_t n = nd_size(o->a);
    nd_array *flat = NULL;
    nd_status status = nd_reshape_copy(o->a, 1, &n, &flat);
    (void)info;
    if (status == ND_OK)
        status = nd_bincount(flat, NULL, form, r);
    nd_release(flat);
    return status;
}

/* By class; no forms: its operations read no bool, or only after a copy to another dtype. */
static const struct {
    run_fn *run;
    int forms;
    bool reads_none;
} classes[ND_CLASS_END] = {
    [ND_CLASS_UNARY] = {run_unary, 1, false},
    [ND_CLASS_BINARY] = {run_binary, 3, false},
    [ND_CLASS_TERNARY] = {run_ternary, 2, false},
    [ND_CLASS_FILL] = {NULL, 0, true},
    [ND_CLASS_COPY] = {run_copy, 2 * (ND_DTYPE_END - 1), false},
    [ND_CLASS_IOTA] = {NULL, 0, true},
    [ND_CLASS_REDUCE] = {run_reduce, 4, false},
    [ND_CLASS_ARGREDUCE] = {run_reduce, 3, false},
    [ND_CLASS_SCAN] = {run_scan, 4, false},
    [ND_CLASS_NORM] = {NULL, 0, true},
    [ND_CLASS_MATMUL] = {NULL, 0, true},
    [ND_CLASS_TAKE] = {run_take, 1, false},
    [ND_CLASS_GATHER] = {run_gather, 1, false},
    [ND_CLASS_SCATTER] = {run_scatter, 1, false},
    [ND_CLASS_COMPRESS] = {run_compress, 3, false},
    [ND_CLASS_NONZERO] = {run_nonzero, 2, false},
    [ND_CLASS_SORT] = {run_sort, 2, false},
    [ND_CLASS_SEARCH] = {run_search, 2, false},
    [ND_CLASS_COUNT] = {run_count, 2, false},
    [ND_CLASS_RANDOM] = {NULL, 0, true},
    [ND_CLASS_FACTOR] = {NULL, 0, true},
    [ND_CLASS_SOLVE] = {NULL, 0, true},
    [ND_CLASS_EIGEN] = {NULL, 0, true},
    [ND_CLASS_SVD] = {NULL, 0, true},
    [ND_CLASS_FFT] = {NULL, 0, true},
};

/* Whether elements may come out as the bytes that went in. */
static bool moves(const nd_op_info *info, int form)
{
    switch (info->op_class) {
    case ND_CLASS_COPY:
        return form >= ND_DTYPE_END - 1; /* assignment; a conversion is one to bool as well */
    case ND_CLASS_TAKE:
    case ND_CLASS_GATHER:
    case ND_CLASS_SCATTER:
    case ND_CLASS_COMPRESS:
    case ND_CLASS_SORT:
        return true;
    case ND_CLASS_TERNARY:
        return info->op == ND_OP_where;
    default:
        return false;
    }
}

/* ---- operands ---- */

static dense some_bools(int ndim, const int64_t *shape)
{
    static const uint8_t bytes[] = {0, 0, 0, 1, 2, 0x80, 0xff, 0xfe};
    dense d = dense_new(ND_BOOL, ndim, shape);
    for (int64_t i = 0; i < d.size; i++)
        d.data[i] = (char)bytes[random_below(sizeof bytes)];
    return d;
}

static dense clean_copy(const dense *d)
{
    dense c = dense_copy(d);
    for (int64_t i = 0; i < c.size; i++)
        c.data[i] = c.data[i] != 0;
    return c;
}

/* The array, as it is or as a view with odd strides; both kinds of bytes get the same view. */
static nd_array *array_of(const dense *d, int layout)
{
    mirror m = {0};
    nd_array *a = NULL;
    if (layout != VIEW)
        return dense_array(d);
    if (mirror_of(&m, d))
        a = nd_retain(m.array);
    mirror_release(&m);
    return a;
}

static bool make_operands(operands *o, const dense *host, const dense *index, int layout)
{
    o->a = array_of(&host[0], layout);
    o->b = array_of(&host[1], layout);
    o->mask = array_of(&host[2], layout);
    o->sorted = array_of(&host[3], layout);
    o->index = array_of(index, layout);
    return o->a && o->b && o->mask && o->sorted && o->index;
}

static void release_operands(operands *o)
{
    nd_release(o->a);
    nd_release(o->b);
    nd_release(o->mask);
    nd_release(o->sorted);
    nd_release(o->index);
}

/* ---- one call with both kinds of bytes ---- */

static void compare(const char *name, const nd_array *got, const nd_array *want, bool moved)
{
    bool same = (got == NULL) == (want == NULL);
    if (got && want) {
        same = nd_dtype_of(got) == nd_dtype_of(want) && nd_ndim(got) == nd_ndim(want);
        for (int d = 0; same && d < nd_ndim(want); d++)
            same = nd_shape(got)[d] == nd_shape(want)[d];
    }
    if (!same)
        fail_case("%s: another shape or dtype than of bytes that are 0 or 1", name);
    if (!same || !got)
        return;
    size_t item = nd_dtype_size(nd_dtype_of(want));
    bool truth = nd_dtype_of(want) == ND_BOOL;
    char *x = fetch(got), *y = fetch(want);
    for (int64_t i = 0; x && y && same && i < nd_size(want); i++) {
        same = truth && moved ? (x[i] != 0) == (y[i] != 0)
                              : memcmp(x + (size_t)i * item, y + (size_t)i * item, item) == 0;
        same &= !truth || moved || (uint8_t)x[i] <= 1;
        if (!same)
            fail_case("%s: element %lld differs from that of bytes that are 0 or 1 (%02x, %02x)",
                      name, (long long)i, (uint8_t)x[(size_t)i * item],
                      (uint8_t)y[(size_t)i * item]);
    }
    free(x);
    free(y);
}

static void call_both(const char *name, const nd_op_info *info, run_fn *call, int form,
                      const operands *raw, const operands *clean)
{
    nd_array *got[MOST_RESULTS] = {NULL}, *want[MOST_RESULTS] = {NULL};
    nd_status status = call(info, form, clean, want), other = call(info, form, raw, got);
    bool bools = !info || (info->domain & ND_KIND_BOOL);
    if (bools && form == 0)
        (void)good(status, name);
    if (status != other)
        fail_case("%s gives %s, and %s of bytes that are 0 or 1", name, nd_status_name(other),
                  nd_status_name(status));
    for (int i = 0; i < MOST_RESULTS; i++) {
        if (status == ND_OK && other == ND_OK)
            compare(name, got[i], want[i], !info || moves(info, form));
        nd_release(got[i]);
        nd_release(want[i]);
    }
}

static void one_case(const char *name, const nd_op_info *info, run_fn *call, int form, int layout)
{
    const int64_t view[3] = {2 + random_below(3), 1 + random_below(40), 1 + random_below(9)};
    const int64_t n = layout == LONG ? 100003 : 900 + random_below(300);
    const int64_t *shape = layout == VIEW ? view : &n;
    int ndim = layout == VIEW ? 3 : 1;
    int64_t extent = shape[ndim - 1], zeros = random_below(50), some = zeros + random_below(50);
    dense host[4] = {some_bools(ndim, shape), some_bools(ndim, shape), some_bools(ndim, shape),
                     some_bools(1, &some)},
          other[4], index = dense_new(ND_I64, ndim, shape);
    operands raw, clean;
    for (int64_t i = 0; i < index.size; i++)
        dense_set(&index, i, random_below(extent));
    for (int64_t i = 0; i < some; i++)
        host[3].data[i] = i < zeros ? 0 : (char)(1 + random_below(255));
    for (int i = 0; i < 4; i++)
        other[i] = clean_copy(&host[i]);
    uint64_t state = run.state;
    bool made = make_operands(&raw, host, &index, layout);
    run.state = state;
    made &= make_operands(&clean, other, &index, layout);
    if (made)
        call_both(name, info, call, form, &raw, &clean);
    release_operands(&raw);
    release_operands(&clean);
    for (int i = 0; i < 4; i++) {
        dense_release(&host[i]);
        dense_release(&other[i]);
    }
    dense_release(&index);
}

/* ---- what is made of several operations ---- */

static nd_status run_unique(const nd_op_info *info, int form, const operands *o, nd_array **r)
{
    (void)info;
    (void)form;
    return nd_unique_all(o->a, &r[0], &r[1], &r[2], &r[3]);
}

static nd_status run_isin(const nd_op_info *info, int form, const operands *o, nd_array **r)
{
    (void)info;
    return nd_isin(o->a, o->sorted, form, r);
}

static void all_forms(const char *name, const nd_op_info *info, run_fn *call, int forms, int id)
{
    for (int form = 0; form < forms; form++)
        for (int layout = 0; layout < LAYOUTS && !failing(); layout++)
            if (!(layout == LONG && form) &&
                begin_share(FIXED_CASE + (id * MOST_FORMS + form) * LAYOUTS + layout))
                one_case(name, info, call, form, layout);
}

void conform_bools(void)
{
    if (!wanted("bool_bytes"))
        return;
    begin_op("bool_bytes");
    for (nd_op op = 1; op < ND_OP_END; op++) {
        const nd_op_info *info = nd_op_get(op);
        if (classes[info->op_class].run)
            all_forms(info->name, info, classes[info->op_class].run, classes[info->op_class].forms,
                      (int)op);
        else if (info->domain & ND_KIND_BOOL && !classes[info->op_class].reads_none)
            fail_case("no case for the class of %s is listed in tests/conform/bools.c", info->name);
    }
    all_forms("unique_all", NULL, run_unique, 1, ND_OP_END);
    all_forms("isin", NULL, run_isin, 2, ND_OP_END + 1);
    end_op();
}
