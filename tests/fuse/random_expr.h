/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Random expressions beside the same operations called one by one: what both share is the
 * operations alone, so a difference is the expression's fault. */
#ifndef NDOCK_TESTS_FUSE_RANDOM_EXPR_H
#define NDOCK_TESTS_FUSE_RANDOM_EXPR_H
#include <ndock/ndock.h>
#include "tests/tap.h"

enum { MAX_NODES = 48 };

typedef struct {
    nd_expr *e;
    int n, n_args;
    int32_t node[MAX_NODES];    /* of the expression */
    nd_array *value[MAX_NODES]; /* what the operations gave; NULL: a scalar */
    nd_scalar scalar[MAX_NODES];
    nd_arg arg[MAX_NODES];
    char text[4096];
} random_expr;

static uint64_t state = 1;
__attribute__((unused)) static uint32_t below(uint32_t n)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((state >> 33) % n);
}

static void need(nd_status status)
{
    if (status != ND_OK)
        bail(nd_last_error()->message);
}

__attribute__((unused, format(printf, 2, 3))) static void tell(random_expr *r, const char *fmt, ...)
{
    size_t n = strlen(r->text);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(r->text + n, sizeof r->text - n, fmt, ap);
    va_end(ap);
}

/* Whether values have exponents of every size, as a divisor's and a dividend's. */
static int of_all_sizes;

/* A value that is special now and then. */
static double value_of(void)
{
    static const double special[] = {0,     -0.0,  1,     -1,       0.5,       2,  1e30,
                                     -1e30, 1e-40, 65504, INFINITY, -INFINITY, NAN};
    if (of_all_sizes && below(16))
        return ldexp((double)below(20001) - 10000, (int)below(300) - 160);
    return below(8) ? ((double)below(20001) - 10000) / 1024
                    : special[below(sizeof special / sizeof *special)];
}

/* An array of random values with that shape, as it lies: dense, stepped, turned or transposed. */
static nd_array *random_array(nd_dtype dtype, nd_device *device, int ndim, const int64_t *shape)
{
    int64_t stored[4], size = 1;
    const int way = (int)below(5);
    for (int d = 0; d < ndim; d++)
        size *= stored[d] =
            shape[way == 3 ? ndim - 1 - d : d] * (way == 1 && d == ndim - 1 ? 2 : 1);
    double *v = malloc((size_t)(2 * size + 1) * sizeof *v);
    for (int64_t i = 0; i < 2 * size; i++)
        v[i] = value_of();
    const nd_layout layout = {
        .size = sizeof layout, .dtype = ND_C128, .ndim = ndim, .shape = stored};
    nd_array *wide = NULL, *real = NULL, *a = NULL, *view = NULL, *moved = NULL;
    need(nd_from_host(&layout, v, NULL, &wide));
    free(v);
    const int complex = dtype == ND_C64 || dtype == ND_C128;
    need(complex ? nd_copy(wide, NULL, &real) : nd_real(wide, &real));
    need(nd_astype(real, dtype, &a));
    need(nd_to_device(a, device, &moved));
    nd_index idx[2] = {nd_ellipsis(), nd_range(ND_END_OPEN, ND_END_OPEN, 2)};
    if (way == 1 && ndim)
        need(nd_slice(moved, idx, 2, &view));
    else if (way == 2)
        need(nd_flip(moved, 0, NULL, &view));
    else if (way == 3)
        need(nd_transpose(moved, &view));
    else
        view = nd_retain(moved);
    nd_release(wide);
    nd_release(real);
    nd_release(a);
    nd_release(moved);
    return view;
}

static void add_value(random_expr *r, int32_t node, nd_array *value)
{
    r->node[r->n] = node;
    r->value[r->n++] = value;
}

static void add_input(random_expr *r, nd_array *a)
{
    int32_t node;
    need(nd_expr_input(r->e, &node));
    r->arg[r->n_args++] = nd_array_arg(a);
    tell(r, "%d:input %s; ", r->n, nd_dtype_name(nd_dtype_of(a)));
    add_value(r, node, a);
}

static void add_scalar(random_expr *r, nd_scalar s)
{
    int32_t node;
    if (below(2)) {
        need(nd_expr_scalar(r->e, s, &node));
    } else {
        need(nd_expr_input(r->e, &node));
        r->arg[r->n_args++] = nd_scalar_arg(s);
    }
    r->scalar[r->n] = s;
    tell(r, "%d:scalar; ", r->n);
    add_value(r, node, NULL);
}

/* The operation on earlier values, where it takes them; whether it did. */
static int add_apply(random_expr *r, nd_op op, const int *from, int n)
{
    nd_arg args[3] = {{0}};
    int32_t operands[3], node;
    nd_array *value = NULL;
    for (int i = 0; i < n; i++) {
        args[i] = (nd_arg){.array = r->value[from[i]], .scalar = r->scalar[from[i]]};
        operands[i] = r->node[from[i]];
    }
    if (nd_apply(op, args, n, NULL, &value) != ND_OK)
        return 0;
    need(nd_expr_apply(r->e, op, operands, n, 0, &node));
    tell(r, "%d:%s", r->n, nd_op_get(op)->name);
    for (int i = 0; i < n; i++)
        tell(r, " %d", from[i]);
    tell(r, "; ");
    add_value(r, node, value);
    return 1;
}

static int add_cast(random_expr *r, nd_dtype dtype, int from)
{
    nd_array *value = NULL;
    int32_t node;
    if (!r->value[from] || nd_astype(r->value[from], dtype, &value) != ND_OK)
        return 0;
    need(nd_expr_cast(r->e, r->node[from], dtype, &node));
    tell(r, "%d:%s %d; ", r->n, nd_dtype_name(dtype), from);
    add_value(r, node, value);
    return 1;
}

static int add_reduce(random_expr *r, int from)
{
    static nd_status (*const functions[])(const nd_array *, const nd_reduce_opts *, nd_array **) = {
        nd_sum, nd_max, nd_min, nd_prod, nd_mean, nd_var, nd_argmax, nd_any};
    static const nd_op ops[] = {ND_OP_sum,  ND_OP_max, ND_OP_min,    ND_OP_prod,
                                ND_OP_mean, ND_OP_var, ND_OP_argmax, ND_OP_any};
    const int which = (int)below(8), axis = -1, all = below(3) == 0;
    const nd_reduce_opts opts = {.size = sizeof opts,
                                 .axes = all ? NULL : (const int32_t[]){axis},
                                 .naxes = !all,
                                 .keepdims = (int32_t)below(2)};
    nd_array *value = NULL;
    int32_t node;
    if (!r->value[from] || functions[which](r->value[from], &opts, &value) != ND_OK)
        return 0;
    need(nd_expr_reduce(r->e, ops[which], r->node[from], &opts, &node));
    tell(r, "%d:%s %d; ", r->n, nd_op_get(ops[which])->name, from);
    add_value(r, node, value);
    return 1;
}

static void random_expr_begin(random_expr *r)
{
    memset(r, 0, sizeof *r);
    need(nd_expr_create(&r->e));
}

static void random_expr_end(random_expr *r)
{
    for (int i = 0; i < r->n; i++)
        nd_release(r->value[i]);
    nd_expr_release(r->e);
}

static int same_float(nd_dtype dtype, const void *x, const void *y)
{
    double a = 0, b = 0;
    uint16_t h[2];
    if (dtype == ND_F64) {
        memcpy(&a, x, 8);
        memcpy(&b, y, 8);
        return isnan(a) && isnan(b);
    }
    if (dtype == ND_F32) {
        float f[2];
        memcpy(&f[0], x, 4);
        memcpy(&f[1], y, 4);
        return isnan(f[0]) && isnan(f[1]);
    }
    memcpy(&h[0], x, 2);
    memcpy(&h[1], y, 2);
    const int inf = dtype == ND_F16 ? 0x7c00 : 0x7f80;
    return (h[0] & 0x7fff) > inf && (h[1] & 0x7fff) > inf;
}

/* Bits are the same; a NaN is as good as another, since no operation promises which it gives. */
static int same_elements(nd_dtype dtype, const char *x, const char *y, size_t nbytes)
{
    const int complex = dtype == ND_C64 || dtype == ND_C128;
    const nd_dtype part = dtype == ND_C64 ? ND_F32 : dtype == ND_C128 ? ND_F64 : dtype;
    const size_t n = nd_dtype_size(part);
    const int floating =
        complex || dtype == ND_F16 || dtype == ND_BF16 || dtype == ND_F32 || dtype == ND_F64;
    if (memcmp(x, y, nbytes) == 0)
        return 1;
    for (size_t at = 0; floating && at < nbytes; at += n)
        if (memcmp(x + at, y + at, n) != 0 && !same_float(part, x + at, y + at))
            return 0;
    return floating;
}

static int same_arrays(const nd_array *got, const nd_array *want)
{
    if (nd_dtype_of(got) != nd_dtype_of(want) || nd_ndim(got) != nd_ndim(want) ||
        memcmp(nd_shape(got), nd_shape(want), (size_t)nd_ndim(got) * 8) != 0)
        return 0;
    size_t nbytes = (size_t)nd_size(got) * nd_dtype_size(nd_dtype_of(got));
    char *x = malloc(2 * nbytes + 1);
    need(nd_to_host(got, x, nbytes));
    need(nd_to_host(want, x + nbytes, nbytes));
    const int same = same_elements(nd_dtype_of(got), x, x + nbytes, nbytes);
    free(x);
    return same;
}

static int random_expr_run(random_expr *r, const int *outs, int n_out)
{
    nd_array *got[8] = {NULL};
    if (nd_expr_run(r->e, r->arg, r->n_args, NULL, n_out, got) != ND_OK) {
        diag("%s: %s", r->text, nd_last_error()->message);
        return 0;
    }
    int holds = 1;
    for (int i = 0; i < n_out; i++) {
        if (!same_arrays(got[i], r->value[outs[i]])) {
            diag("value %d differs (%s, reason \"%s\"): %s", outs[i],
                 nd_dtype_name(nd_dtype_of(got[i])), nd_expr_reason(), r->text);
            holds = 0;
        }
        nd_release(got[i]);
    }
    return holds;
}

/* Runs it with these values as its results; whether all are what the operations gave, and again where
 * the steps of the first run are remembered. */
static int random_expr_holds(random_expr *r, const int *outs, int n_out)
{
    for (int i = 0; i < n_out; i++)
        need(nd_expr_output(r->e, r->node[outs[i]]));
    return random_expr_run(r, outs, n_out) && random_expr_run(r, outs, n_out);
}

/* One random expression of up to `steps` operations; whether it holds. */
static int random_expr_try(nd_device *device, int steps, int with_reductions)
{
    static const int64_t shapes[][3] = {{3, 4, 5}, {1, 4, 5}, {3, 1, 5}, {3, 4, 1}, {1, 1, 1}};
    static const int64_t large[][3] = {{2, 40, 33}, {1, 40, 33}, {2, 1, 33}, {2, 40, 1}, {1, 1, 1}};
    const int64_t(*of)[3] = below(6) ? shapes : large;
    const int family = (int)below(4); /* of dtypes that the inputs have */
    random_expr r;
    random_expr_begin(&r);
    for (int i = 0; i < 4; i++) {
        static const nd_dtype kinds[4][4] = {{ND_F32, ND_F32, ND_F16, ND_BF16},
                                             {ND_F16, ND_F16, ND_BF16, ND_BOOL},
                                             {ND_I32, ND_U8, ND_I64, ND_F64},
                                             {ND_C64, ND_F32, ND_C128, ND_I16}};
        const int drop = (int)below(3);
        add_input(&r, random_array(kinds[family][below(4)], device, 3 - drop, of[below(5)] + drop));
    }
    add_scalar(&r, below(2) ? nd_float(value_of()) : nd_int((int64_t)below(5)));
    add_scalar(&r, below(2) ? nd_float(1.5) : nd_bool((int)below(2)));
    for (int tries = 0; tries < 20 * steps && r.n < 6 + steps; tries++) {
        const nd_op_info *op = nd_op_get((nd_op)(1 + below(ND_OP_END - 1)));
        const int recent = r.n > 10 ? r.n - 8 : 0; /* deep trees rather than wide ones */
        int from[3];
        for (int i = 0; i < 3; i++)
            from[i] = below(3) ? recent + (int)below((uint32_t)(r.n - recent))
                               : (int)below((uint32_t)r.n);
        const int n = op->op_class == ND_CLASS_UNARY     ? 1
                      : op->op_class == ND_CLASS_BINARY  ? 2
                      : op->op_class == ND_CLASS_TERNARY ? 3
                                                         : 0;
        if (below(10) == 0)
            add_cast(&r, (nd_dtype)(1 + below(ND_DTYPE_END - 1)), from[0]);
        else if (with_reductions && below(6) == 0)
            add_reduce(&r, from[0]);
        else if (n)
            add_apply(&r, op->op, from, n);
    }
    int outs[3], n_out = 1 + (int)below(3);
    for (int i = 0; i < n_out; i++)
        do
            outs[i] = i == 0 ? r.n - 1 - (int)below(2) : (int)below((uint32_t)r.n);
        while (!r.value[outs[i]]);
    const int holds = random_expr_holds(&r, outs, n_out);
    random_expr_end(&r);
    return holds;
}

#endif
