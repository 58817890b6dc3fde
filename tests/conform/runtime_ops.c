/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Conformance: operations registered at run time, over views, broadcasts, scalars and dtypes. */
#include "tests/conform/conform.h"

typedef struct {
    int n_in;
} shape_of_op;

static cell combine(nd_dtype dtype, const cell *in, int n)
{
    bool integer = nd_dtype_get(dtype)->kind & (ND_KIND_INT | ND_KIND_UINT);
    __int128 i = n == 3   ? in[0].i - in[1].i + 2 * in[2].i
                 : n == 2 ? in[0].i - 3 * in[1].i
                          : 7 - in[0].i;
    if (integer)
        return cell_wrap(dtype, i);
    long double x = n == 3 ? in[0].re * 4 : n == 2 ? -in[1].re : -in[0].re;
    return cell_real(x);
}

static void store(nd_dtype dtype, cell c, void *element)
{
    float f = (float)c.re;
    double d = (double)c.re;
    int64_t i = (int64_t)c.i;
    if (dtype == ND_F64)
        memcpy(element, &d, sizeof d);
    else if (dtype == ND_F32)
        memcpy(element, &f, sizeof f);
    else
        memcpy(element, &i, nd_dtype_size(dtype)); /* little-endian, as every device here */
}

static void compute(void *ctx, nd_dtype dtype, int64_t n, char *const *p, const int64_t *stride)
{
    const shape_of_op *op = ctx;
    cell in[3];
    for (int64_t i = 0; i < n; i++) {
        for (int k = 0; k < op->n_in; k++)
            in[k] = cell_read(dtype, p[k + 1] + i * stride[k + 1]);
        store(dtype, combine(dtype, in, op->n_in), p[0] + i * stride[0]);
    }
}

static const nd_dtype domain[] = {ND_I8,  ND_I16, ND_I32, ND_I64, ND_U8,
                                  ND_U16, ND_U32, ND_U64, ND_F32, ND_F64};
enum { DOMAIN = sizeof domain / sizeof domain[0] };

static void check(nd_dtype dtype, int n, const mirror *m, const cell *scalar, const nd_array *r)
{
    char *data = fetch(r), text[2][128];
    for (int64_t i = 0; data && i < nd_size(r) && !failing(); i++) {
        cell in[3], want, got = cell_read(dtype, data + (size_t)i * nd_dtype_size(dtype));
        for (int k = 0; k < n; k++)
            in[k] = m[k].array ? mirror_cell(&m[k], nd_ndim(r), nd_shape(r), i) : scalar[k];
        want = combine(dtype, in, n);
        if (!cell_close(dtype, got, want, 0, true))
            fail_case("%d operands of %s: element %lld is %s, not %s", n, nd_dtype_name(dtype),
                      (long long)i, cell_text(got, text[0]), cell_text(want, text[1]));
    }
    free(data);
}

static void one_case(nd_op op, nd_dtype dtype, int n, bool with_scalar)
{
    view_wish wish = any_view, writable = {.writable = true};
    mirror m[3] = {{0}}, dst = {0};
    cell scalar[3] = {{0}};
    nd_arg args[3] = {{0}};
    nd_array *r = NULL;
    wish.tame = true;
    for (int k = 0; k < n; k++) {
        if (k == 1 && with_scalar) {
            bool integer = nd_dtype_get(dtype)->kind & (ND_KIND_INT | ND_KIND_UINT);
            scalar[k] = integer ? cell_int(5) : cell_real(5);
            args[k] = nd_scalar_arg(nd_int(5));
            continue;
        }
        if (k == 0 ? !mirror_random(&m[k], dtype, &wish)
                   : !mirror_like(&m[k], &m[0], dtype, &wish, true))
            goto done;
        args[k] = nd_array_arg(m[k].array);
    }
    if (!good(nd_apply(op, args, n, NULL, &r), "a run-time op"))
        goto done;
    if (nd_dtype_of(r) != dtype)
        fail_case("the result is %s, not %s", nd_dtype_name(nd_dtype_of(r)), nd_dtype_name(dtype));
    else
        check(dtype, n, m, scalar, r);
    if (mirror_shaped(&dst, dtype, nd_ndim(r), nd_shape(r), &writable) &&
        good(nd_apply_into(op, args, n, NULL, dst.array), "a run-time op into a view")) {
        check(dtype, n, m, scalar, dst.array);
        if (!mirror_untouched(&dst))
            fail_case("%d operands: wrote beside the destination", n);
    }
done:
    nd_release(r);
    mirror_release(&dst);
    for (int k = 0; k < n; k++)
        mirror_release(&m[k]);
}

static void works(nd_op op, int n)
{
    for (int i = 0; i < run.count && !failing(); i++) {
        begin_case("runtime_op", i);
        one_case(op, domain[i % DOMAIN], n, n > 1 && i % 3 == 0);
    }
}

static void wrong(nd_status status, const char *word, const char *what)
{
    const nd_error *e = nd_last_error();
    if (status != ND_ERR_ARGUMENT || strcmp(e->op, "op_register") != 0 || !strstr(e->message, word))
        fail_case("%s: %s, \"%s\"", what, nd_status_name(status), status ? e->message : "");
}

static void bad_registrations(const nd_op_info *good_info, void *ctx)
{
    nd_op_info info = *good_info;
    nd_op op;
    wrong(nd_op_register(&info, compute, ctx, &op), info.name, "a name twice");
    info.name = "add";
    wrong(nd_op_register(&info, compute, ctx, &op), "add", "the name of a built-in op");
    info.name = "conform_new";
    wrong(nd_op_register(&info, NULL, ctx, &op), "function", "no function");
    info.op_class = ND_CLASS_REDUCE;
    wrong(nd_op_register(&info, compute, ctx, &op), "class 7", "a reduction");
    info.op_class = ND_CLASS_UNARY;
    info.domain = 0;
    wrong(nd_op_register(&info, compute, ctx, &op), "domain", "no domain");
    info.domain = ND_KIND_INT;
    info.result = 99;
    wrong(nd_op_register(&info, compute, ctx, &op), "99", "an unknown result rule");
    info.name = "";
    wrong(nd_op_register(&info, compute, ctx, &op), "name", "no name");
    wrong(nd_op_register(NULL, compute, ctx, &op), "name", "no description");
}

void conform_runtime_ops(void)
{
    static shape_of_op shapes[3] = {{1}, {2}, {3}};
    static const char *const names[3] = {"conform_one", "conform_two", "conform_three"};
    nd_op_info info = {.domain = ND_KIND_INT | ND_KIND_UINT | ND_KIND_FLOAT,
                       .result = ND_RESULT_SAME,
                       .doc = "for the conformance suite"};
    if (!wanted("runtime_ops"))
        return;
    begin_op("runtime_ops");
    good(nd_fallback_set(ND_FALLBACK_ALLOW), "fallback_set"); /* they exist on the CPU alone */
    for (int n = 1; n <= 3; n++) {
        nd_op op = ND_OP_NONE;
        info.name = names[n - 1];
        info.op_class = n == 1 ? ND_CLASS_UNARY : n == 2 ? ND_CLASS_BINARY : ND_CLASS_TERNARY;
        if (!good(nd_op_register(&info, compute, &shapes[n - 1], &op), "op_register"))
            continue;
        if (op < ND_OP_RUNTIME || nd_op_find(info.name) != op || !nd_op_get(op) ||
            nd_op_get(op)->op != op || strcmp(nd_op_get(op)->name, info.name) != 0)
            fail_case("%s is not found under its id %d", info.name, (int)op);
        works(op, n);
    }
    bad_registrations(&info, &shapes[2]);
    end_op();
}
