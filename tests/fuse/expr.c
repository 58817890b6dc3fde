/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Expressions: values worked out by hand, destinations, the cache and its statistics, errors,
 * threads. */
#include <pthread.h>
#include "tests/ops/values.h"
#include "tests/stream/lab.h"

static void need(nd_status status)
{
    if (status != ND_OK)
        bail(nd_last_error()->message);
}

static nd_expr_stats statistics(void)
{
    nd_expr_stats s = {.size = sizeof s};
    need(nd_expr_statistics(&s));
    return s;
}

/* x*y + 3, results: it and its square. */
static nd_expr *two_results(void)
{
    nd_expr *e;
    int32_t x, y, three, xy, sum, square;
    need(nd_expr_create(&e));
    need(nd_expr_input(e, &x));
    need(nd_expr_input(e, &y));
    need(nd_expr_scalar(e, nd_int(3), &three));
    need(nd_expr_apply(e, ND_OP_multiply, (int32_t[]){x, y}, 2, 0, &xy));
    need(nd_expr_apply(e, ND_OP_add, (int32_t[]){xy, three}, 2, 0, &sum));
    need(nd_expr_apply(e, ND_OP_multiply, (int32_t[]){sum, sum}, 2, 0, &square));
    need(nd_expr_output(e, sum));
    need(nd_expr_output(e, square));
    return e;
}

static void values(void)
{
    nd_expr *e = two_results();
    nd_array *x = row_of(ND_F32, 3, (const double[]){1, 2, 3}),
             *y = row_of(ND_F32, 3, (const double[]){4, 5, -1}), *out[2];
    const nd_arg args[2] = {nd_array_arg(x), nd_array_arg(y)};
    nd_status status = nd_expr_run(e, args, 2, NULL, 2, out);
    is_str(nd_expr_reason(), "", "nothing ran eagerly");
    is_row(status, out[1], ND_F32, 3, (const double[]){49, 169, 0}, "the square");
    is_row(status, out[0], ND_F32, 3, (const double[]){7, 13, 0}, "x*y + 3");
    const nd_arg mixed[2] = {nd_array_arg(x), nd_scalar_arg(nd_float(0.5))};
    status = nd_expr_run(e, mixed, 2, NULL, 2, out);
    is_row(status, out[1], ND_F32, 3, (const double[]){12.25, 16, 20.25}, "with a scalar argument");
    is_row(status, out[0], ND_F32, 3, (const double[]){3.5, 4, 4.5}, "with a scalar argument");
    const nd_expr_opts eager = {.size = sizeof eager, .flags = ND_EXPR_EAGER};
    status = nd_expr_run(e, args, 2, &eager, 2, out);
    has_text(nd_expr_reason(), "ND_EXPR_EAGER", "the reason of an eager run");
    is_row(status, out[1], ND_F32, 3, (const double[]){49, 169, 0}, "eagerly");
    is_row(status, out[0], ND_F32, 3, (const double[]){7, 13, 0}, "eagerly");
    nd_release(x);
    nd_release(y);
    nd_expr_release(e);
}

/* softmax of rows by hand: the values of [0, log 3]. */
static void reductions(void)
{
    const int32_t last = -1;
    const nd_reduce_opts rows = {.size = sizeof rows, .axes = &last, .naxes = 1, .keepdims = 1};
    const int64_t shape[2] = {2, 2};
    nd_expr *e;
    int32_t x, most, less, power, sum, y;
    need(nd_expr_create(&e));
    need(nd_expr_input(e, &x));
    need(nd_expr_reduce(e, ND_OP_max, x, &rows, &most));
    need(nd_expr_apply(e, ND_OP_subtract, (int32_t[]){x, most}, 2, 0, &less));
    need(nd_expr_apply(e, ND_OP_exp, &less, 1, 0, &power));
    need(nd_expr_reduce(e, ND_OP_sum, power, &rows, &sum));
    need(nd_expr_apply(e, ND_OP_divide, (int32_t[]){power, sum}, 2, 0, &y));
    need(nd_expr_output(e, y));
    nd_array *a = values_of(ND_F64, 2, shape, (const double[]){0, log(3), 7, 7}), *r = NULL;
    const nd_arg arg = nd_array_arg(a);
    nd_status status = nd_expr_run(e, &arg, 1, NULL, 1, &r);
    are_values(status, r, ND_F64, 2, shape, (const double[]){0.25, 0.75, 0.5, 0.5}, "softmax");
    status = nd_expr_run_into(e, &arg, 1, NULL, 1, (const nd_array *const *)&a);
    are_values(status, a, ND_F64, 2, shape, (const double[]){0.25, 0.75, 0.5, 0.5}, "in place");
    nd_expr_release(e);
}

/* gelu(a @ b + bias) and the product's column sums, of a (2, 3) and b (3, 2). */
static nd_expr *dense_layer(int shared)
{
    nd_expr *e;
    int32_t a, b, bias, product, sum, y, total;
    need(nd_expr_create(&e));
    need(nd_expr_input(e, &a));
    need(nd_expr_input(e, &b));
    need(nd_expr_input(e, &bias));
    need(nd_expr_matmul(e, a, b, &product));
    need(nd_expr_apply(e, ND_OP_add, (int32_t[]){bias, product}, 2, 0, &sum));
    need(nd_expr_apply(e, ND_OP_relu, &sum, 1, 0, &y));
    need(nd_expr_output(e, y));
    if (shared) { /* the product is read twice */
        need(nd_expr_reduce(e, ND_OP_sum, product, NULL, &total));
        need(nd_expr_output(e, total));
    }
    return e;
}

/* Whether the result has these bytes. */
static int has_bytes(const nd_array *a, const void *bytes, size_t n)
{
    unsigned char room[64];
    need(nd_to_host(a, room, n));
    return memcmp(room, bytes, n) == 0;
}

/* In bf16 1 + 2^-9 is 1, so that a product that is rounded before the bias is added shows. */
static void products(void)
{
    const nd_expr_opts taken = {.size = sizeof taken, .flags = ND_EXPR_EPILOGUES};
    const nd_expr_opts eager = {.size = sizeof eager, .flags = ND_EXPR_EPILOGUES | ND_EXPR_EAGER};
    nd_array *a = values_of(ND_BF16, 2, (const int64_t[]){2, 3},
                            (const double[]){1, 0.001953125, 0, -4, 2, 3}),
             *b =
                 values_of(ND_BF16, 2, (const int64_t[]){3, 2}, (const double[]){1, 2, 1, 1, 1, 0}),
             *bias = row_of(ND_BF16, 2, (const double[]){-1, 1}), *out[2];
    const nd_arg args[3] = {nd_array_arg(a), nd_array_arg(b), nd_array_arg(bias)};
    const uint16_t apart[4] = {0, 0x4040, 0, 0}, whole[4] = {0x3b00, 0x4040, 0, 0};
    nd_expr *layer = dense_layer(0), *shared = dense_layer(1);
    need(nd_expr_run(layer, args, 3, NULL, 1, out));
    ok(has_bytes(out[0], apart, sizeof apart), "a product, a bias and relu, rounded one by one");
    nd_release(out[0]);
    need(nd_expr_run(layer, args, 3, &taken, 1, out));
    ok(has_bytes(out[0], whole, sizeof whole), "as an epilogue, rounded once");
    is_str(nd_expr_reason(), "", "which is as asked for");
    nd_release(out[0]);
    need(nd_expr_run(layer, args, 3, &eager, 1, out));
    ok(has_bytes(out[0], apart, sizeof apart), "not eagerly");
    nd_release(out[0]);
    need(nd_expr_run(shared, args, 3, &taken, 2, out));
    ok(has_bytes(out[0], apart, sizeof apart), "nor where others read the product");
    nd_release(out[0]);
    nd_release(out[1]);
    const nd_arg wrong[3] = {nd_array_arg(a), nd_array_arg(a), nd_array_arg(bias)};
    is_int(nd_expr_run(layer, wrong, 3, &taken, 1, out), ND_ERR_SHAPE, "the product's own error");
    const nd_arg wide[3] = {nd_array_arg(a), nd_array_arg(b), nd_array_arg(b)};
    is_int(nd_expr_run(layer, wide, 3, &taken, 1, out), ND_ERR_SHAPE, "what is no bias is a sum");
    nd_release(a);
    nd_release(b);
    nd_release(bias);
    nd_expr_release(layer);
    nd_expr_release(shared);
}

static void destinations(void)
{
    nd_expr *e = two_results();
    const double zero[4] = {0};
    nd_array *x = row_of(ND_F32, 4, (const double[]){1, 2, 3, 4}), *wide = row_of(ND_F64, 4, zero),
             *other = row_of(ND_F32, 3, zero), *part = NULL;
    const nd_arg args[2] = {nd_array_arg(x), nd_array_arg(x)};
    const nd_array *dst[2] = {x, wide};
    nd_status status = nd_expr_run_into(e, args, 2, NULL, 2, dst);
    is_row(status, nd_retain(x), ND_F32, 4, (const double[]){4, 7, 12, 19}, "over an argument");
    is_row(status, nd_retain(wide), ND_F64, 4, (const double[]){16, 49, 144, 361}, "in f64");
    dst[1] = other;
    is_int(nd_expr_run_into(e, args, 2, NULL, 2, dst), ND_ERR_SHAPE, "another shape");
    is_row(ND_OK, nd_retain(x), ND_F32, 4, (const double[]){4, 7, 12, 19}, "nothing was written");
    nd_index idx = nd_range(0, 4, 1);
    need(nd_slice(x, &idx, 1, &part));
    dst[1] = part;
    is_int(nd_expr_run_into(e, args, 2, NULL, 2, dst), ND_ERR_OVERLAP, "overlapping ones");
    nd_release(part);
    nd_release(x);
    nd_release(wide);
    nd_release(other);
    nd_expr_release(e);
}

/* x[1:] = x[:-1] + 1 as if x had been copied. */
static void overlap(void)
{
    nd_expr *e;
    int32_t x, one, y;
    need(nd_expr_create(&e));
    need(nd_expr_input(e, &x));
    need(nd_expr_scalar(e, nd_int(1), &one));
    need(nd_expr_apply(e, ND_OP_add, (int32_t[]){x, one}, 2, 0, &y));
    need(nd_expr_output(e, y));
    nd_array *a = row_of(ND_I32, 4, (const double[]){1, 2, 3, 4}), *low = NULL, *high = NULL;
    nd_index first = nd_range(0, 3, 1), second = nd_range(1, 4, 1);
    need(nd_slice(a, &first, 1, &low));
    need(nd_slice(a, &second, 1, &high));
    const nd_arg arg = nd_array_arg(low);
    nd_status status = nd_expr_run_into(e, &arg, 1, NULL, 1, (const nd_array *const *)&high);
    is_row(status, a, ND_I32, 4, (const double[]){1, 2, 3, 4}, "shifted by one");
    nd_release(low);
    nd_release(high);
    nd_expr_release(e);
}

/* ---- the cache ---- */
static void run_once(nd_expr *e, nd_dtype dtype, int64_t n)
{
    double v[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    nd_array *x = row_of(dtype, n, v), *out[2];
    const nd_arg args[2] = {nd_array_arg(x), nd_array_arg(x)};
    need(nd_expr_run(e, args, 2, NULL, 2, out));
    nd_release_all(2, out);
    nd_release(x);
}

static void cache(void)
{
    nd_expr *e = two_results(), *same = two_results();
    need(nd_expr_cache_clear());
    run_once(e, ND_F32, 4);
    nd_expr_stats s = statistics();
    is_int(s.compiled, 1, "compiled once");
    is_int(s.programs, 1, "and kept");
    run_once(e, ND_F32, 5);
    run_once(same, ND_F32, 6);
    s = statistics();
    is_int(s.misses, 1, "not for other extents, nor for the same operations again");
    is_int(s.hits, 2, "hits are counted");
    run_once(e, ND_F64, 4);
    run_once(e, ND_I32, 4);
    is_int(statistics().compiled, 3, "for other dtypes it is");
    need(nd_expr_cache_set_max(2));
    s = statistics();
    is_int(s.programs, 2, "the least recently used one goes");
    is_int(s.evictions, 1, "which is counted");
    run_once(e, ND_F64, 4);
    is_int(statistics().compiled, 3, "a later one is still there");
    run_once(e, ND_F32, 4);
    is_int(statistics().compiled, 4, "the first is compiled again");
    is_int(nd_expr_cache_set_max(0), ND_ERR_ARGUMENT, "no room at all is refused");
    need(nd_expr_cache_set_max(256));
    need(nd_expr_cache_clear());
    is_int(statistics().programs, 0, "cleared");
    nd_expr_release(e);
    nd_expr_release(same);
}

/* ---- runs like earlier ones ---- */
/* Runs the two results of x and y, and sees whether they are those. */
static void both(nd_expr *e, const nd_array *x, const nd_array *y, double first, double second,
                 const char *what)
{
    const nd_arg args[2] = {nd_array_arg(x), nd_array_arg(y)};
    nd_array *out[2];
    need(nd_expr_run(e, args, 2, NULL, 2, out));
    is_row(ND_OK, out[0], ND_F32, 2, (const double[]){first, second}, what);
    is_row(ND_OK, out[1], ND_F32, 2, (const double[]){first * first, second * second}, what);
}

static void remembered(void)
{
    nd_expr *e = two_results();
    nd_array *x = row_of(ND_F32, 2, (const double[]){1, 2}),
             *y = row_of(ND_F32, 2, (const double[]){5, 7}), *wide, *back;
    const nd_index every_other = nd_range(0, 4, 2),
                   backwards = nd_range(ND_END_OPEN, ND_END_OPEN, -1);
    both(e, x, x, 4, 7, "one array twice");
    both(e, x, x, 4, 7, "again");
    both(e, x, y, 8, 17, "two arrays after one twice");
    both(e, y, x, 8, 17, "the same the other way round");
    both(e, y, y, 28, 52, "another twice");
    nd_array *four = row_of(ND_F32, 4, (const double[]){1, -1, 3, -1});
    need(nd_slice(four, &every_other, 1, &wide));
    need(nd_slice(y, &backwards, 1, &back));
    both(e, wide, back, 10, 18, "other strides");
    both(e, x, y, 8, 17, "and those before");
    nd_expr_stats before = statistics();
    both(e, wide, back, 10, 18, "other strides again");
    is_int(statistics().hits, (int64_t)before.hits + 1, "what is remembered counts as a hit");
    need(nd_expr_cache_clear());
    both(e, x, y, 8, 17, "after its loop was discarded");
    is_int(statistics().compiled, 1, "which is compiled again");
    both(e, x, y, 8, 17, "and remembered");
    is_int(statistics().compiled, 1, "once");
    for (int n = 1; n <= 20; n++)
        run_once(e, ND_F32, 1 + n % 8); /* more than are remembered */
    both(e, x, y, 8, 17, "after many others");
    nd_release(four);
    nd_release(wide);
    nd_release(back);
    nd_release(x);
    nd_release(y);
    nd_expr_release(e);
}

/* The results are an argument, the rows' sums, and x over them: a reduction between loops, or rows. */
static void remembered_with_reductions(void)
{
    nd_expr *e;
    int32_t x, sum, quotient;
    nd_array *a, *out[3];
    const nd_reduce_opts all = {.size = sizeof all, .keepdims = 1};
    need(nd_expr_create(&e));
    need(nd_expr_input(e, &x));
    need(nd_expr_reduce(e, ND_OP_sum, x, &all, &sum));
    need(nd_expr_apply(e, ND_OP_divide, (int32_t[]){x, sum}, 2, 0, &quotient));
    need(nd_expr_output(e, x));
    need(nd_expr_output(e, sum));
    need(nd_expr_output(e, quotient));
    for (int i = 1; i <= 3; i++) {
        a = row_of(ND_F32, 2, (const double[]){i, 3 * i});
        const nd_arg arg = nd_array_arg(a);
        need(nd_expr_run(e, &arg, 1, NULL, 3, out));
        ok(out[0] != a, "the argument is copied");
        is_row(ND_OK, out[0], ND_F32, 2, (const double[]){i, 3 * i}, "the argument");
        is_row(ND_OK, out[1], ND_F32, 1, (const double[]){4 * i}, "its sum");
        is_row(ND_OK, out[2], ND_F32, 2, (const double[]){0.25, 0.75}, "and it over that");
        nd_release(a);
    }
    nd_expr_release(e);
}

/* How many kernels sim runs for x - max(x) along rows, of an array that begins `skipped` elements
 * into its memory. */
static uint64_t kernels_of_rows(sim s, nd_expr *e, int64_t skipped)
{
    nd_array *line, *part, *x, *out;
    enum { LENGTH = 128, COUNT = 4 * LENGTH };
    const int64_t shape[2] = {4, LENGTH};
    const nd_index tail = nd_range(skipped, skipped + COUNT, 1);
    uint64_t n;
    need(nd_arange(s.d, ND_F32, nd_int(0), nd_int(COUNT + 8), nd_int(1), &line));
    need(nd_slice(line, &tail, 1, &part));
    need(nd_reshape(part, 2, shape, &x));
    const nd_arg arg = nd_array_arg(x);
    must(s.c->log_clear(s.dev));
    need(nd_expr_run(e, &arg, 1, NULL, 1, &out));
    n = calls(s, "run");
    float v[COUNT];
    must(nd_to_host(out, v, sizeof v));
    ok(v[0] == 1 - LENGTH && v[LENGTH - 1] == 0 && v[COUNT - 2] == -1,
       "rows less their largest, %d elements on", (int)skipped);
    nd_release(line);
    nd_release(part);
    nd_release(x);
    nd_release(out);
    return n;
}

/* Remembered or not, sim is asked whether it takes rows from where they lie. */
static void rows_elsewhere(void)
{
    nd_expr *e;
    int32_t x, largest, less;
    const nd_reduce_opts rows = {
        .size = sizeof rows, .axes = (const int32_t[]){1}, .naxes = 1, .keepdims = 1};
    need(nd_expr_create(&e));
    need(nd_expr_input(e, &x));
    need(nd_expr_reduce(e, ND_OP_max, x, &rows, &largest));
    need(nd_expr_apply(e, ND_OP_subtract, (int32_t[]){x, largest}, 2, 0, &less));
    need(nd_expr_output(e, less));
    sim s = open_sim(0);
    is_int((int64_t)kernels_of_rows(s, e, 0), 1, "one kernel");
    is_int((int64_t)kernels_of_rows(s, e, 1), 2, "two where it is not taken");
    is_int((int64_t)kernels_of_rows(s, e, 0), 1, "one again");
    is_int((int64_t)kernels_of_rows(s, e, 1), 2, "two again");
    is_int((int64_t)kernels_of_rows(s, e, 4), 1, "one, 16 bytes on");
    nd_expr_release(e);
}

/* ---- errors ---- */
static void building(void)
{
    nd_expr *e = two_results();
    int32_t node, from[2] = {0, 99};
    is_int(nd_expr_apply(e, ND_OP_add, from, 2, 0, &node), ND_ERR_INDEX, "no such operand");
    has_text(nd_last_error()->message, "99 is no node", "says which");
    is_int(nd_expr_apply(e, ND_OP_add, from, 1, 0, &node), ND_ERR_ARGUMENT, "too few operands");
    is_int(nd_expr_apply(e, ND_OP_matmul, from, 2, 0, &node), ND_ERR_ARGUMENT, "not elementwise");
    is_int(nd_expr_reduce(e, ND_OP_add, 0, NULL, &node), ND_ERR_ARGUMENT, "not a reduction");
    is_int(nd_expr_output(e, 2), ND_ERR_ARGUMENT, "a scalar is no result");
    from[0] = from[1] = 2;
    is_int(nd_expr_apply(e, ND_OP_add, from, 2, 0, &node), ND_ERR_ARGUMENT, "scalars alone");
    is_int(node, -1, "no node");
    run_once(e, ND_F32, 2);
    is_int(nd_expr_input(e, &node), ND_ERR_STATE, "it has run");
    nd_expr_release(e);
}

static void running(void)
{
    nd_expr *e = two_results();
    const double v[3] = {1, 2, 3};
    nd_array *x = row_of(ND_F32, 3, v), *y = row_of(ND_F32, 2, v), *u = row_of(ND_U64, 3, v),
             *i = row_of(ND_I64, 3, v), *b = row_of(ND_U8, 3, v), *out[2] = {x, x};
    nd_arg args[2] = {nd_array_arg(x), nd_array_arg(y)};
    is_int(nd_expr_run(e, args, 2, NULL, 2, out), ND_ERR_SHAPE, "shapes");
    is_str(nd_last_error()->op, "multiply", "names the operation");
    ok(!out[0] && !out[1], "no results");
    args[0] = nd_array_arg(u);
    args[1] = nd_array_arg(i);
    is_int(nd_expr_run(e, args, 2, NULL, 2, out), ND_ERR_DTYPE, "u64 with i64");
    args[0] = args[1] = nd_scalar_arg(nd_int(1));
    is_int(nd_expr_run(e, args, 2, NULL, 2, out), ND_ERR_ARGUMENT, "no array");
    is_int(nd_expr_run(e, args, 1, NULL, 2, out), ND_ERR_ARGUMENT, "too few arguments");
    is_int(nd_expr_run(e, args, 2, NULL, 1, out), ND_ERR_ARGUMENT, "too few results");
    args[0] = nd_array_arg(b);
    args[1] = nd_scalar_arg(nd_int(300));
    is_int(nd_expr_run(e, args, 2, NULL, 2, out), ND_ERR_OVERFLOW, "a scalar too large");
    nd_release(x);
    nd_release(y);
    nd_release(u);
    nd_release(i);
    nd_release(b);
    nd_expr_release(e);
}

/* A chain so long that no loop takes it runs eagerly, with a reason. */
static void too_long(void)
{
    nd_expr *e;
    int32_t x, node, sum = -1;
    need(nd_expr_create(&e));
    nd_arg args[20];
    nd_array *one = row_of(ND_F32, 1, (const double[]){1}), *r = NULL;
    for (int i = 0; i < 20; i++) {
        nd_array *a = NULL;
        need(nd_copy(one, NULL, &a));
        args[i] = nd_array_arg(a);
        need(nd_expr_input(e, &x));
        if (sum >= 0)
            need(nd_expr_apply(e, ND_OP_add, (int32_t[]){sum, x}, 2, 0, &node));
        sum = sum < 0 ? x : node;
    }
    need(nd_expr_output(e, sum));
    nd_status status = nd_expr_run(e, args, 20, NULL, 1, &r);
    is_row(status, r, ND_F32, 1, (const double[]){20}, "twenty arrays");
    has_text(nd_expr_reason(), "16 arrays", "says why it was no loop");
    for (int i = 0; i < 20; i++)
        nd_release((nd_array *)args[i].array);
    nd_release(one);
    nd_expr_release(e);
}

/* ---- threads ---- */
static void *crowd(void *expr)
{
    const nd_dtype dtypes[4] = {ND_F32, ND_F64, ND_I32, ND_F16};
    for (int i = 0; i < 200; i++) {
        double v[3] = {i % 7, 2, 3};
        nd_array *x = row_of(dtypes[i % 4], 3, v), *out[2];
        const nd_arg args[2] = {nd_array_arg(x), nd_array_arg(x)};
        nd_scalar first = {0};
        double want = (double)(i % 7) * (i % 7) + 3, got;
        need(nd_expr_run(expr, args, 2, NULL, 2, out));
        nd_array *at = NULL;
        nd_index zero = nd_at(0);
        need(nd_slice(out[0], &zero, 1, &at));
        need(nd_item_f64(at, &got));
        (void)first;
        if (got != want)
            return "wrong";
        nd_release(at);
        nd_release_all(2, out);
        nd_release(x);
    }
    return NULL;
}

static void threads(void)
{
    nd_expr *e = two_results();
    pthread_t t[4];
    int wrong = 0;
    need(nd_expr_cache_clear());
    need(nd_expr_cache_set_max(2)); /* they evict each other's */
    for (int i = 0; i < 4; i++)
        if (pthread_create(&t[i], NULL, crowd, e))
            bail("no thread");
    for (int i = 0; i < 4; i++) {
        void *answer;
        pthread_join(t[i], &answer);
        wrong += answer != NULL;
    }
    is_int(wrong, 0, "four threads, one expression, a cache of two");
    ok(statistics().programs <= 2, "the cache keeps its limit");
    need(nd_expr_cache_set_max(256));
    nd_expr_release(e);
}

TAP_MAIN({"values", values}, {"reductions", reductions}, {"products", products},
         {"destinations", destinations}, {"overlap", overlap}, {"cache", cache},
         {"remembered", remembered}, {"remembered_with_reductions", remembered_with_reductions},
         {"rows_elsewhere", rows_elsewhere}, {"building", building}, {"running", running},
         {"too_long", too_long}, {"threads", threads})
