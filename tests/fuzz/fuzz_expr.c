/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Fuzz target: building and running expressions. Nodes, operations, dtypes and options are what the
 * bytes say; what runs gives the bits that its operations give one after the other. */
#include "tests/fuzz/fuzz.h"

enum { MOST = 24, ARGS = 4, RESULTS = 3 };

typedef struct {
    fuzz_reader r;
    nd_expr *e;
    nd_array *arg[ARGS];
    int nodes, args, results;
} build;

/* A small array whose elements are the bytes. It has some: operations do not look whether a scalar
 * fits the dtype where there are none, and expressions do. */
static nd_array *some_array(fuzz_reader *r)
{
    static const int64_t shapes[][2] = {{2, 3}, {1, 3}, {2, 1}, {1, 1}, {2, 3}};
    const int64_t *shape = shapes[fuzz_byte(r) % 5];
    const nd_dtype dtype = 1 + fuzz_byte(r) % (ND_DTYPE_END - 1);
    uint8_t bytes[6 * 16];
    nd_array *a = NULL;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = dtype == ND_BOOL ? fuzz_byte(r) & 1 : fuzz_byte(r);
    const nd_layout layout = {.size = sizeof layout, .dtype = dtype, .ndim = 2, .shape = shape};
    return nd_from_host(&layout, bytes, NULL, &a) == ND_OK ? a : NULL;
}

static int32_t some_node(build *b)
{
    return (int32_t)fuzz_number(&b->r, 1, 15);
}

static void add_node(build *b)
{
    int32_t node = -1, from[3] = {some_node(b), some_node(b), some_node(b)};
    const int32_t axes[2] = {(int32_t)fuzz_number(&b->r, 2, 6), 1};
    const nd_reduce_opts opts = {.size = sizeof opts,
                                 .axes = axes,
                                 .naxes = fuzz_byte(&b->r) % 3,
                                 .keepdims = fuzz_byte(&b->r) & 1};
    const nd_op op = (nd_op)fuzz_number(&b->r, 1, 239);
    const nd_dtype dtype = (nd_dtype)fuzz_number(&b->r, 1, 15);
    nd_status status;
    switch (fuzz_byte(&b->r) % 8) {
    case 0:
        status = nd_expr_scalar(b->e, nd_int(fuzz_number(&b->r, 8, 8)), &node);
        break;
    case 1:
        status = nd_expr_cast(b->e, from[0], dtype, &node);
        break;
    case 2:
        status = nd_expr_reduce(b->e, op, from[0], fuzz_byte(&b->r) & 1 ? &opts : NULL, &node);
        break;
    case 3:
        status = nd_expr_output(b->e, from[0]);
        b->results += status == ND_OK;
        return;
    default:
        status = nd_expr_apply(b->e, op, from, fuzz_byte(&b->r) % 5, 0, &node);
    }
    if (status == ND_OK && node != b->nodes++)
        abort();
}

static int same_bits(const nd_array *x, const nd_array *y)
{
    const size_t nbytes = (size_t)nd_size(x) * nd_dtype_size(nd_dtype_of(x));
    char *copy = malloc(2 * nbytes + 1);
    if (!copy || nd_dtype_of(x) != nd_dtype_of(y) || nd_size(x) != nd_size(y) ||
        nd_to_host(x, copy, nbytes) != ND_OK || nd_to_host(y, copy + nbytes, nbytes) != ND_OK)
        abort();
    const int same = memcmp(copy, copy + nbytes, nbytes) == 0;
    free(copy);
    return same;
}

/* Of floating results a NaN may have other bits: those are not compared. */
static void run(build *b)
{
    const nd_expr_opts eager = {.size = sizeof eager, .flags = ND_EXPR_EAGER};
    nd_array *fused[RESULTS] = {NULL}, *plain[RESULTS] = {NULL};
    nd_arg args[ARGS];
    for (int i = 0; i < ARGS; i++)
        args[i] = nd_array_arg(b->arg[i]);
    const int n = b->results < RESULTS ? b->results : RESULTS;
    const nd_status one = nd_expr_run(b->e, args, b->args, &eager, n, plain);
    const nd_status two = nd_expr_run(b->e, args, b->args, NULL, n, fused);
    if ((one == ND_OK) != (two == ND_OK))
        abort();
    for (int i = 0; i < n; i++) {
        if (one == ND_OK && nd_dtype_of(fused[i]) < ND_F16 && !same_bits(fused[i], plain[i]))
            abort();
        fuzz_result(one, plain[i]);
        if (two == ND_OK)
            fuzz_result(two, fused[i]);
        else if (fused[i])
            abort();
    }
    int32_t node;
    if (one == ND_OK && nd_expr_input(b->e, &node) != ND_ERR_STATE) /* it has run */
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    build b = {.r = {data, size}};
    if (nd_expr_create(&b.e) != ND_OK)
        abort();
    b.args = 1 + fuzz_byte(&b.r) % ARGS;
    for (int i = 0; i < b.args; i++) {
        int32_t node;
        b.arg[i] = some_array(&b.r);
        if (!b.arg[i] || nd_expr_input(b.e, &node) != ND_OK || node != b.nodes++)
            abort();
    }
    for (int i = 0; i < MOST && b.r.left; i++)
        add_node(&b);
    run(&b);
    nd_expr_release(b.e);
    nd_release_all(ARGS, b.arg);
    return 0;
}
