/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Expressions give the bits of their operations called one by one: every elementwise operation in
 * every dtype, every conversion, and random expressions over views and broadcasts, on the devices
 * that NDOCK_TEST_DEVICES names, else on cpu and sim. */
#include "tests/fuse/random_expr.h"

static nd_device *device;
static int tried;

/* A GPU's compiler takes some 100 ms for each loop. */
static int count_of(int n)
{
    return strncmp(nd_device_name(device), "cuda", 4) == 0 ? n / 20
           : getenv("NDOCK_TEST_SLICE")                    ? n / 10 + 1
                                                           : n;
}

/* Up to eight operations of x, b and c, where x = a + b is computed with them: one loop. */
enum { BUNDLE = 8 };
static int try_ops(const nd_op *ops, int n_ops, nd_dtype dtype)
{
    const int64_t shape[2] = {7, 41};
    int outs[BUNDLE], n_out = 0;
    random_expr r;
    random_expr_begin(&r);
    for (int i = 0; i < 3; i++)
        add_input(&r, random_array(dtype, device, i == 2 ? 1 : 2, i == 2 ? shape + 1 : shape));
    add_input(&r, random_array(ND_BOOL, device, 2, shape));
    const int x = add_apply(&r, ND_OP_add, (const int[]){0, 1}, 2) ? r.n - 1 : 0;
    for (int i = 0; i < n_ops; i++) {
        const nd_op_info *op = nd_op_get(ops[i]);
        const int n = op->op_class == ND_CLASS_UNARY ? 1 : op->op_class == ND_CLASS_BINARY ? 2 : 3;
        const int first = op->op == ND_OP_where ? 3 : x;
        if (add_apply(&r, op->op, (const int[]){first, 1, op->op == ND_OP_where ? x : 2}, n))
            outs[n_out++] = r.n - 1;
    }
    const int holds = n_out == 0 || random_expr_holds(&r, outs, n_out);
    tried += n_out;
    random_expr_end(&r);
    return holds;
}

static void every_op(void)
{
    int failed = 0;
    tried = 0;
    for (nd_dtype dtype = 1; dtype < ND_DTYPE_END; dtype++) {
        nd_op ops[BUNDLE];
        int n = 0;
        for (nd_op op = 1; op <= ND_OP_END; op++) {
            const nd_op_info *info = nd_op_get(op);
            if (info && info->op_class <= ND_CLASS_TERNARY)
                ops[n++] = op;
            if (n == BUNDLE || (n && op == ND_OP_END)) {
                failed += !try_ops(ops, n, dtype);
                n = 0;
            }
        }
    }
    ok(tried > 1000 && failed == 0, "%d operations in every dtype, by eights: %d differ on %s",
       tried, failed, nd_device_name(device));
}

/* Of a sum, to every dtype, by eights. */
static void every_cast(void)
{
    const int64_t shape[2] = {5, 33};
    int failed = 0, casts = 0;
    for (nd_dtype from = 1; from < ND_DTYPE_END; from++)
        for (nd_dtype to = 1; to < ND_DTYPE_END;) {
            int outs[BUNDLE], n = 0;
            random_expr r;
            random_expr_begin(&r);
            add_input(&r, random_array(from, device, 2, shape));
            add_apply(&r, ND_OP_add, (const int[]){0, 0}, 2);
            const int x = r.n - 1;
            for (; to < ND_DTYPE_END && n < BUNDLE; to++)
                if (add_cast(&r, to, x))
                    outs[n++] = r.n - 1;
            failed += n && !random_expr_holds(&r, outs, n);
            casts += n;
            random_expr_end(&r);
        }
    ok(casts > 150 && failed == 0, "%d conversions: %d differ on %s", casts, failed,
       nd_device_name(device));
}

static void random_ones(void)
{
    int failed = 0;
    const int n = count_of(600);
    for (int i = 0; i < n && failed < 5; i++) {
        state = (uint64_t)i + 1;
        if (!random_expr_try(device, 3 + i % 24, i % 2)) {
            diag("that was expression %d", i);
            failed++;
        }
    }
    ok(failed == 0, "%d random expressions on %s", n, nd_device_name(device));
    nd_expr_stats s = {.size = sizeof s};
    need(nd_expr_statistics(&s));
    ok(s.fused_runs > (uint64_t)n / 2 || !getenv("NDOCK_TEST_FUSED"),
       "%llu loops ran, %llu compiled, %llu refused", (unsigned long long)s.fused_runs,
       (unsigned long long)s.compiled, (unsigned long long)s.refused);
}

/* n elements, the same few again and again. */
static nd_array *many(nd_dtype dtype, int64_t n)
{
    const int64_t few = 4099, times = (n + few - 1) / few;
    const nd_index first = nd_range(0, n, 1);
    nd_array *a = random_array(dtype, device, 1, &few), *all = NULL, *r = NULL;
    need(nd_tile(a, 1, &times, &all));
    need(nd_slice(all, &first, 1, &r));
    nd_release(a);
    nd_release(all);
    return r;
}

/* 2*a + b*b/a - 1 of so many elements that the result is written past the cache, also where that does
 * not begin on a line of it; a is read from its second element on. */
static void larger_than_cache(void)
{
    static const nd_dtype dtypes[] = {ND_F32, ND_F64, ND_BF16};
    const nd_index behind = nd_range(1, ND_END_OPEN, 1);
    int failed = 0;
    for (int k = 0; k < 3; k++) {
        const int64_t n = ((int64_t)17 << 20) / (int64_t)nd_dtype_size(dtypes[k]), longer = n + 1;
        nd_array *long_a = many(dtypes[k], longer), *a = NULL, *out = NULL;
        nd_array *room = NULL, *dst = NULL;
        random_expr r;
        random_expr_begin(&r);
        need(nd_slice(long_a, &behind, 1, &a));
        add_input(&r, a);
        add_input(&r, many(dtypes[k], n));
        add_scalar(&r, nd_float(2));
        add_scalar(&r, nd_float(1));
        add_apply(&r, ND_OP_multiply, (const int[]){2, 0}, 2);
        add_apply(&r, ND_OP_multiply, (const int[]){1, 1}, 2);
        add_apply(&r, ND_OP_divide, (const int[]){5, 0}, 2);
        add_apply(&r, ND_OP_add, (const int[]){4, 6}, 2);
        add_apply(&r, ND_OP_subtract, (const int[]){7, 3}, 2);
        failed += !random_expr_holds(&r, (const int[]){8}, 1);
        need(nd_empty(device, dtypes[k], 1, &longer, &room));
        need(nd_slice(room, &behind, 1, &dst));
        need(nd_expr_run_into(r.e, r.arg, r.n_args, NULL, 1, (const nd_array *const *)&dst));
        need(nd_copy(dst, NULL, &out));
        failed += !same_arrays(out, r.value[8]);
        nd_release(out);
        nd_release(dst);
        nd_release(room);
        nd_release(long_a);
        random_expr_end(&r);
    }
    ok(failed == 0, "results of 17 MiB: %d differ on %s", failed, nd_device_name(device));
}

/* Rows of which each has many blocks: dense ones, every second of a larger array's, one that all have,
 * one element for each. */
static void long_rows(void)
{
    static const nd_dtype dtypes[] = {ND_F32, ND_F64, ND_F16};
    static const int64_t cols[] = {20011, 1200, 700};
    int failed = 0;
    for (int k = 0; k < 9; k++) {
        const int64_t n = cols[k / 3], rows = k / 3 ? 30 : 3, one = 1;
        const int64_t all = 2 * rows * n, twice[2] = {2 * rows, n};
        const nd_index some[2] = {nd_range(1, ND_END_OPEN, 2), nd_ellipsis()};
        nd_array *flat = many(dtypes[k % 3], all), *wide = NULL, *a = NULL;
        random_expr r;
        random_expr_begin(&r);
        need(nd_reshape(flat, 2, twice, &wide));
        need(nd_slice(wide, some, 2, &a));
        add_input(&r, a);
        add_input(&r, many(dtypes[k % 3], n));
        add_input(&r, random_array(dtypes[k % 3], device, 2, (const int64_t[]){rows, 1}));
        add_input(&r, random_array(dtypes[k % 3], device, 1, &one));
        add_apply(&r, ND_OP_multiply, (const int[]){0, 1}, 2);
        add_apply(&r, ND_OP_add, (const int[]){4, 2}, 2);
        add_apply(&r, ND_OP_divide, (const int[]){5, 3}, 2);
        add_apply(&r, ND_OP_subtract, (const int[]){6, 0}, 2);
        failed += !random_expr_holds(&r, (const int[]){5, 7}, 2);
        nd_release(flat);
        nd_release(wide);
        random_expr_end(&r);
    }
    ok(failed == 0, "rows of up to 20011 elements: %d differ on %s", failed,
       nd_device_name(device));
}

/* Arithmetic that goes on with what came before: with arrays, scalars and itself, on either side. */
static void chains(void)
{
    static const nd_dtype dtypes[] = {ND_F32, ND_F64, ND_F16};
    static const nd_op ops[] = {ND_OP_add, ND_OP_subtract, ND_OP_multiply, ND_OP_divide};
    const int n = count_of(300);
    int failed = 0;
    for (int i = 0; i < n && failed < 3; i++) {
        const int64_t size = i % 3 ? 1 + below(200) : 3000 + below(300);
        const nd_dtype dtype = dtypes[i % 7 % 3];
        random_expr r;
        random_expr_begin(&r);
        add_input(&r, random_array(dtype, device, 1, &size));
        add_input(&r, random_array(dtype, device, 1, &size));
        add_scalar(&r, nd_float(value_of()));
        add_scalar(&r, nd_float(1.5));
        add_apply(&r, ops[below(4)], (const int[]){(int)below(2), (int)below(4)}, 2);
        for (int k = (int)below(20); k; k--) {
            const int last = r.n - 1, other = below(6) ? (int)below(4) : last, turn = (int)below(2);
            const int in[2] = {turn ? other : last, turn ? last : other};
            add_apply(&r, ops[below(4)], in, 2);
        }
        failed += !random_expr_holds(&r, (const int[]){r.n - 1, 4}, 1 + (int)below(2));
        random_expr_end(&r);
    }
    ok(failed == 0, "%d chains of arithmetic on %s", n, nd_device_name(device));
}

/* A reduction of the last axis; whether the value can be reduced. */
static int add_row_reduce(random_expr *r, int from, int keepdims)
{
    static nd_status (*const functions[])(const nd_array *, const nd_reduce_opts *, nd_array **) = {
        nd_sum, nd_max, nd_min, nd_prod, nd_mean, nd_var, nd_std};
    static const nd_op ops[] = {ND_OP_sum,  ND_OP_max, ND_OP_min, ND_OP_prod,
                                ND_OP_mean, ND_OP_var, ND_OP_std};
    const int which = (int)below(7);
    const nd_reduce_opts opts = {.size = sizeof opts,
                                 .axes = (const int32_t[]){-1},
                                 .naxes = 1,
                                 .keepdims = keepdims,
                                 .correction = which > 4 ? below(2) : 0};
    nd_array *value = NULL;
    int32_t node;
    need(functions[which](r->value[from], &opts, &value));
    need(nd_expr_reduce(r->e, ops[which], r->node[from], &opts, &node));
    tell(r, "%d:%s %d; ", r->n, nd_op_get(ops[which])->name, from);
    add_value(r, node, value);
    return r->n - 1;
}

/* x - reduction of x, scaled, reduced again ...: every value has the whole shape, or one for each
 * row. */
static int try_rows(nd_dtype dtype, const int64_t *shape, int walks)
{
    static const nd_op ops[] = {ND_OP_subtract, ND_OP_add, ND_OP_multiply, ND_OP_maximum,
                                ND_OP_divide};
    static const nd_op unary[] = {ND_OP_negative, ND_OP_tanh, ND_OP_abs, ND_OP_square};
    const int64_t rows[3] = {shape[0], shape[1], 1};
    random_expr r;
    int outs[3], n_out = 1, x = 0;
    random_expr_begin(&r);
    nd_array *dense = NULL, *any = random_array(dtype, device, 3, shape);
    need(nd_copy(any, NULL, &dense));
    nd_release(any);
    add_input(&r, dense);
    add_input(&r, random_array(dtype, device, 1, shape + 2));
    add_input(&r, random_array(dtype, device, 3, rows));
    for (int i = 0; i < walks; i++) {
        const int of = add_row_reduce(&r, x, 1);
        const int with = below(2) ? x : 0;
        add_apply(&r, ops[below(5)], (const int[]){with, of}, 2);
        add_apply(&r, ops[below(5)], (const int[]){r.n - 1, 1 + (int)below(2)}, 2);
        if (below(2))
            add_apply(&r, unary[below(4)], (const int[]){r.n - 1}, 1);
        x = r.n - 1;
    }
    outs[0] = x;
    if (below(2))
        outs[n_out++] = add_row_reduce(&r, x, 0);
    if (below(3) == 0)
        outs[n_out++] = add_row_reduce(&r, 0, 1);
    const int holds = random_expr_holds(&r, outs, n_out);
    random_expr_end(&r);
    return holds;
}

/* Lengths that devices take in one loop, and others. */
static void rows_in_one(void)
{
    static const int64_t shapes[][3] = {{3, 4, 64},   {1, 2, 1000}, {5, 1, 128},
                                        {70, 64, 32}, {2, 3, 33},   {1, 1, 4096},
                                        {2, 2, 7},    {3, 1, 1},    {1, 3, 2048}};
    static const nd_dtype dtypes[] = {ND_F32, ND_BF16, ND_F16, ND_F64};
    const int slow = strncmp(nd_device_name(device), "cuda", 4) == 0;
    const int n = slow ? 36 : getenv("NDOCK_TEST_SLICE") ? 36 : 180;
    nd_expr_stats before = {.size = sizeof before}, after = before;
    int failed = 0, once = 0, may = 0;
    for (int i = 0; i < n && failed < 5; i++) {
        state = (uint64_t)i + 1;
        need(nd_expr_statistics(&before));
        failed += !try_rows(dtypes[i % 4], shapes[i % 9], 1 + i % 3);
        need(nd_expr_statistics(&after));
        may += shapes[i % 9][2] >= (slow ? 1000 : 32) && shapes[i % 9][2] <= 1000;
        once += shapes[i % 9][2] >= 32 && after.fused_runs - before.fused_runs == 2; /* runs */
    }
    ok(failed == 0, "%d expressions over rows on %s", n, nd_device_name(device));
    ok(once >= may || !after.fused_runs, "%d of them in one loop, %d must be", once, may);
}

/* Quotients of elements of all sizes by one value of each row, given and reduced. */
static int try_quotients(nd_dtype dtype, const int64_t *shape)
{
    const int64_t rows[2] = {shape[0], 1};
    const nd_reduce_opts last = {
        .size = sizeof last, .axes = (const int32_t[]){-1}, .naxes = 1, .keepdims = 1};
    random_expr r;
    int outs[3];
    nd_array *largest = NULL;
    int32_t node;
    random_expr_begin(&r);
    add_input(&r, random_array(dtype, device, 2, shape));
    add_input(&r, random_array(dtype, device, 2, rows));
    need(nd_max(r.value[0], &last, &largest));
    need(nd_expr_reduce(r.e, ND_OP_max, r.node[0], &last, &node));
    add_value(&r, node, largest);
    outs[0] = r.n - 1;
    for (int by = 1; by < 3; by++) {
        add_apply(&r, ND_OP_divide, (const int[]){0, by}, 2);
        outs[by] = r.n - 1;
    }
    const int holds = random_expr_holds(&r, outs, 3);
    random_expr_end(&r);
    return holds;
}

static void quotients(void)
{
    static const nd_dtype dtypes[] = {ND_F32, ND_BF16, ND_F16};
    const int64_t shape[2] = {getenv("NDOCK_TEST_SLICE") ? 64 : 1024, 1024};
    for (int i = 0; i < 3; i++) {
        int failed = 0;
        of_all_sizes = 1;
        for (int k = 0; k < 5; k++) {
            state = (uint64_t)k + 1;
            failed += !try_quotients(dtypes[i], shape);
        }
        of_all_sizes = 0;
        ok(failed == 0, "quotients by rows' values, %s", nd_dtype_name(dtypes[i]));
    }
}

int main(int argc, char **argv)
{
    static const tap_case cases[] = {{"every_op", every_op},       {"every_cast", every_cast},
                                     {"random", random_ones},      {"rows", rows_in_one},
                                     {"large", larger_than_cache}, {"long rows", long_rows},
                                     {"chains", chains},           {"quotients", quotients}};
    char names[256];
    const char *given = getenv("NDOCK_TEST_DEVICES");
    snprintf(names, sizeof names, "%s", given ? given : "cpu sim:0");
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (char *rest = NULL, *name = strtok_r(names, " ", &rest); name;
         name = strtok_r(NULL, " ", &rest)) {
        need(nd_device_get(name, &device));
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
            if (argc < 2 || strcmp(argv[1], cases[i].name) == 0)
                cases[i].run();
    }
    printf("1..%d\n", tap_count);
    return tap_failures != 0;
}
