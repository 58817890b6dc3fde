/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Conformance: operations registered at run time, over views, broadcasts, scalars and dtypes. */
#include "tests/conform/grid.h"

typedef struct {
    const char *name;
    int n_in, op_class, result;
} kind_of_op;
static const kind_of_op kinds[] = {
    {"conform_one", 1, ND_CLASS_UNARY, ND_RESULT_SAME},
    {"conform_two", 2, ND_CLASS_BINARY, ND_RESULT_SAME},
    {"conform_three", 3, ND_CLASS_TERNARY, ND_RESULT_SAME},
    {"conform_same", 2, ND_CLASS_BINARY, ND_RESULT_BOOL},
    {"conform_part", 1, ND_CLASS_UNARY, ND_RESULT_REAL},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static cell combine_bool(const cell *in, int n)
{
    if (n == 3)
        return in[in[0].i ? 2 : 1];
    return cell_bool(n == 2 ? in[0].i && !in[1].i : !in[0].i);
}

static cell combine_integers(nd_dtype dtype, const cell *in, int n)
{
    return cell_wrap(dtype, n == 3   ? in[0].i - in[1].i + 2 * in[2].i
                            : n == 2 ? in[0].i - 3 * in[1].i
                                     : 7 - in[0].i);
}

/* Nothing here rounds, so that every result is exact in every dtype. */
static cell combine_complex(const cell *in, int n)
{
    if (n == 3)
        return cell_complex(in[0].re < 0 ? in[1].im : in[2].re, -in[0].im);
    return n == 2 ? cell_complex(in[1].im, -in[0].re) : cell_complex(-in[0].im, in[0].re);
}

static cell combine_floats(const cell *in, int n)
{
    if (n == 3)
        return cell_real(in[0].re < 0 ? -in[1].re : in[2].re);
    return cell_real(n == 2 && in[0].re < 0 ? in[1].re : -in[0].re);
}

/* What an op of this kind is to give for operands of dtype. */
static cell combine(const kind_of_op *kind, nd_dtype dtype, const cell *in)
{
    int n = kind->n_in;
    if (kind->result == ND_RESULT_BOOL)
        return cell_bool(in[0].i == in[1].i && in[0].re == in[1].re && in[0].im == in[1].im);
    switch (nd_dtype_get(dtype)->kind) {
    case ND_KIND_BOOL:
        return combine_bool(in, n);
    case ND_KIND_FLOAT:
        return combine_floats(in, n);
    case ND_KIND_COMPLEX:
        return kind->result == ND_RESULT_REAL ? cell_real(-in[0].im) : combine_complex(in, n);
    default:
        return combine_integers(dtype, in, n);
    }
}

static nd_dtype result_dtype(const kind_of_op *kind, nd_dtype dtype)
{
    if (kind->result == ND_RESULT_REAL && dtype >= ND_C64)
        return dtype == ND_C64 ? ND_F32 : ND_F64;
    return kind->result == ND_RESULT_BOOL ? ND_BOOL : dtype;
}

static void compute(void *ctx, nd_dtype dtype, int64_t n, char *const *p, const int64_t *stride)
{
    const kind_of_op *kind = ctx;
    cell in[3];
    for (int64_t i = 0; i < n; i++) {
        for (int k = 0; k < kind->n_in; k++)
            in[k] = cell_read(dtype, p[k + 1] + i * stride[k + 1]);
        cell_write(result_dtype(kind, dtype), combine(kind, dtype, in), p[0] + i * stride[0]);
    }
}

static void check(const kind_of_op *kind, nd_dtype dtype, const mirror *m, const cell *scalar,
                  const nd_array *r)
{
    char *data = fetch(r), text[2][128];
    nd_dtype result = result_dtype(kind, dtype);
    for (int64_t i = 0; data && i < nd_size(r) && !failing(); i++) {
        cell in[3], want, got = cell_read(result, data + (size_t)i * nd_dtype_size(result));
        for (int k = 0; k < kind->n_in; k++)
            in[k] = m[k].array ? mirror_cell(&m[k], nd_ndim(r), nd_shape(r), i) : scalar[k];
        want = combine(kind, dtype, in);
        if (!cell_close(result, got, want, 0, true))
            fail_case("%s of %s: element %lld is %s, not %s", kind->name, nd_dtype_name(dtype),
                      (long long)i, cell_text(got, text[0]), cell_text(want, text[1]));
    }
    free(data);
}

/* A scalar that meets arrays of dtype without changing it, and its value there. */
static cell some_scalar(nd_dtype dtype, nd_arg *arg)
{
    switch (nd_dtype_get(dtype)->kind) {
    case ND_KIND_BOOL:
        *arg = nd_scalar_arg(nd_bool(1));
        return cell_bool(true);
    case ND_KIND_FLOAT:
        *arg = nd_scalar_arg(nd_float(-2.5));
        return cell_real(-2.5L);
    case ND_KIND_COMPLEX:
        *arg = nd_scalar_arg(nd_complex(5, -2.5));
        return cell_complex(5, -2.5L);
    default:
        *arg = nd_scalar_arg(nd_int(5));
        return cell_int(5);
    }
}

static void try_both(nd_op op, const kind_of_op *kind, nd_dtype dtype, const nd_arg *args,
                     const mirror *m, const cell *scalar)
{
    const view_wish writable = {.writable = true};
    nd_dtype result = result_dtype(kind, dtype);
    mirror dst = {0};
    nd_array *r = NULL;
    int n = kind->n_in;
    if (!good(nd_apply(op, args, n, NULL, &r), kind->name))
        return;
    if (nd_dtype_of(r) != result)
        fail_case("%s of %s is %s, not %s", kind->name, nd_dtype_name(dtype),
                  nd_dtype_name(nd_dtype_of(r)), nd_dtype_name(result));
    else
        check(kind, dtype, m, scalar, r);
    if (mirror_shaped(&dst, result, nd_ndim(r), nd_shape(r), &writable) &&
        good(nd_apply_into(op, args, n, NULL, dst.array), "a run-time op into a view")) {
        check(kind, dtype, m, scalar, dst.array);
        if (!mirror_untouched(&dst))
            fail_case("%s wrote beside the destination", kind->name);
    }
    nd_release(r);
    mirror_release(&dst);
}

static void one_case(nd_op op, const kind_of_op *kind, nd_dtype dtype, bool with_scalar)
{
    view_wish wish = any_view;
    mirror m[3] = {{0}};
    cell scalar[3] = {{0}};
    nd_arg args[3] = {{0}};
    bool made = true;
    wish.tame = true;
    for (int k = 0; k < kind->n_in && made; k++) {
        if (k == 1 && with_scalar) {
            scalar[k] = some_scalar(dtype, &args[k]);
            continue;
        }
        made = k == 0 ? mirror_random(&m[k], dtype, &wish)
                      : mirror_like(&m[k], &m[0], dtype, &wish, true);
        args[k] = nd_array_arg(m[k].array);
    }
    if (made)
        try_both(op, kind, dtype, args, m, scalar);
    for (int k = 0; k < kind->n_in; k++)
        mirror_release(&m[k]);
}

/* Every dtype in turn. */
static void works(nd_op op, const kind_of_op *kind)
{
    for (int i = 0; i < run.count && !failing(); i++) {
        if (begin_case((kind - kinds) * FIXED_CASE + i))
            one_case(op, kind, legal_dtype(op, i), kind->n_in > 1 && i % 4 == 0);
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
    wrong(nd_op_register(&info, NULL, ctx, &op), "argument 1", "no function");
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
    wrong(nd_op_register(NULL, compute, ctx, &op), "argument 0", "no description");
}

void conform_runtime_ops(void)
{
    nd_op_info info = {.domain = ND_KIND_BOOL | ND_KIND_INT | ND_KIND_UINT | ND_KIND_FLOAT |
                                 ND_KIND_COMPLEX,
                       .doc = "for the conformance suite"};
    if (!wanted("runtime_ops"))
        return;
    begin_op("runtime_ops");
    good(nd_fallback_set(ND_FALLBACK_ALLOW), "fallback_set"); /* they exist on the CPU alone */
    for (int i = 0; i < KINDS; i++) {
        nd_op op = ND_OP_NONE;
        info.name = kinds[i].name;
        info.op_class = kinds[i].op_class;
        info.result = kinds[i].result;
        if (!good(nd_op_register(&info, compute, (void *)(uintptr_t)&kinds[i], &op), "op_register"))
            continue;
        if (op < ND_OP_RUNTIME || nd_op_find(info.name) != op || !nd_op_get(op) ||
            nd_op_get(op)->op != op || strcmp(nd_op_get(op)->name, info.name) != 0)
            fail_case("%s is not found under its id %d", info.name, (int)op);
        works(op, &kinds[i]);
    }
    bad_registrations(&info, NULL);
    good(nd_fallback_set(run.fallback), "fallback_set");
    end_op();
}
