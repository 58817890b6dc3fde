/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Conformance: expressions over random views give the bits of their operations one after the other,
 * again with other scalars, which are no part of a compiled loop. What the operations themselves
 * give is checked elsewhere, against the oracle. Skipped where the device compiles nothing. */
#include <math.h>
#include "tests/conform/conform.h"

enum { INPUTS = 3, SCALARS = 2, MOST = 24, RESULTS = 3 };
static const nd_dtype dtypes[] = {ND_F32, ND_F64, ND_F16, ND_BF16, ND_I32};

typedef struct {
    nd_expr *e;
    nd_dtype dtype;
    mirror in[INPUTS];
    nd_arg args[INPUTS + SCALARS];
    int32_t node[MOST];
    int n, n_out;
    char text[1024];
} expression;

/* Operations whose operands and results are of the one dtype, so that any follows any. */
static bool fits(const nd_op_info *op, nd_dtype dtype)
{
    const int kind = dtype == ND_I32 ? ND_KIND_INT : ND_KIND_FLOAT;
    return (op->op_class == ND_CLASS_UNARY || op->op_class == ND_CLASS_BINARY) &&
           op->result == ND_RESULT_SAME && (op->domain & kind);
}

static bool add_op(expression *x)
{
    const nd_op_info *op;
    int32_t from[2];
    do
        op = nd_op_get(1 + (nd_op)random_below(ND_OP_END - 1));
    while (!op || !fits(op, x->dtype));
    const int n = op->op_class == ND_CLASS_UNARY ? 1 : 2;
    for (int i = 0; i < n; i++) /* deep rather than wide; the first is an array's */
        from[i] = random_below(2) ? x->n - 1 : (int32_t)random_below(i ? x->n : INPUTS);
    from[0] = from[0] >= INPUTS && from[0] < INPUTS + SCALARS ? 0 : from[0];
    const size_t at = strlen(x->text);
    snprintf(x->text + at, sizeof x->text - at, " %s(%d, %d)", op->name, from[0],
             n > 1 ? from[1] : -1);
    for (int i = 0; i < n; i++)
        from[i] = x->node[from[i]];
    return good(nd_expr_apply(x->e, op->op, from, n, 0, &x->node[x->n++]), "expr_apply");
}

static void draw_scalars(expression *x)
{
    for (int i = 0; i < SCALARS; i++)
        x->args[INPUTS + i] = nd_scalar_arg(nd_int(random_below(7) - 3));
}

static bool make(expression *x)
{
    const int ops = 2 + (int)random_below(MOST - INPUTS - SCALARS - 1);
    bool made =
        good(nd_expr_create(&x->e), "expr_create") && mirror_random(&x->in[0], x->dtype, &any_view);
    for (int i = 1; i < INPUTS && made; i++)
        made = mirror_like(&x->in[i], &x->in[0], x->dtype, &any_view, true);
    for (int i = 0; i < INPUTS + SCALARS && made; i++) {
        if (i < INPUTS)
            x->args[i] = nd_array_arg(x->in[i].array);
        made = good(nd_expr_input(x->e, &x->node[x->n++]), "expr_input");
    }
    for (int i = 0; i < ops && made; i++)
        made = add_op(x);
    x->n_out = 1 + (int)random_below(RESULTS);
    for (int i = 0; i < x->n_out && made; i++) {
        const int from = i && x->n - 1 - i > INPUTS + SCALARS ? x->n - 1 - i : x->n - 1;
        made = good(nd_expr_output(x->e, x->node[from]), "expr_output");
    }
    return made;
}

/* NaN is NaN, whichever. */
static bool same(nd_dtype dtype, const char *a, const char *b)
{
    if (memcmp(a, b, nd_dtype_size(dtype)) == 0)
        return true;
    return cell_kind(dtype) == ND_KIND_FLOAT && isnan(cell_read(dtype, a).re) &&
           isnan(cell_read(dtype, b).re);
}

static void compare(const expression *x, int result, nd_array *got, nd_array *want)
{
    char *a = fetch(got), *b = fetch(want), text[2][128];
    for (int64_t i = 0; a && b && i < nd_size(want) && !failing(); i++) {
        const size_t at = (size_t)i * nd_dtype_size(x->dtype);
        if (same(x->dtype, a + at, b + at))
            continue;
        fail_case("element %lld of result %d of the program of %s,%s, is %s, and %s by its "
                  "operations one after the other",
                  (long long)i, result, nd_dtype_name(x->dtype), x->text,
                  cell_text(cell_read(x->dtype, a + at), text[0]),
                  cell_text(cell_read(x->dtype, b + at), text[1]));
        break;
    }
    free(a);
    free(b);
}

static void run_both(expression *x)
{
    const nd_expr_opts eager = {.size = sizeof eager, .flags = ND_EXPR_EAGER};
    nd_array *got[RESULTS] = {NULL}, *want[RESULTS] = {NULL};
    const int n = INPUTS + SCALARS;
    if (good(nd_expr_run(x->e, x->args, n, &eager, x->n_out, want), "expr_run, eager") &&
        good(nd_expr_run(x->e, x->args, n, NULL, x->n_out, got), "expr_run"))
        for (int i = 0; i < x->n_out; i++)
            compare(x, i, got[i], want[i]);
    nd_release_all(RESULTS, got);
    nd_release_all(RESULTS, want);
}

/* ---- rows ---- */
static bool apply(expression *x, nd_op op, int32_t a, int32_t b)
{
    const int32_t from[2] = {a, b};
    return good(nd_expr_apply(x->e, op, from, b < 0 ? 1 : 2, 0, &x->node[x->n++]), "expr_apply");
}

/* Along the last axis, which is kept. */
static bool reduce(expression *x, nd_op op, int32_t from)
{
    const int32_t axis = -1;
    const nd_reduce_opts opts = {.size = sizeof opts, .axes = &axis, .naxes = 1, .keepdims = 1};
    return good(nd_expr_reduce(x->e, op, from, &opts, &x->node[x->n++]), "expr_reduce");
}

static bool make_dense(mirror *m)
{
    nd_array *dense = NULL;
    if (!good(nd_compact(m->array, &dense), "compact"))
        return false;
    nd_release(m->array);
    m->array = dense;
    return true;
}

/* x less a value of its row, a function of that, and its quotient by a value of its row: softmax and
 * norms are such. The row's value is a result, too. */
static bool make_rows(expression *x)
{
    static const nd_op first[] = {ND_OP_max, ND_OP_mean, ND_OP_min, ND_OP_sum},
                       then[] = {ND_OP_exp, ND_OP_abs, ND_OP_negative},
                       last[] = {ND_OP_sum, ND_OP_mean, ND_OP_max};
    const nd_op op[] = {first[random_below(4)], then[random_below(3)], last[random_below(3)]};
    const int64_t shape[2] = {1 + (int64_t)random_below(50), 20 + (int64_t)random_below(200)};
    snprintf(x->text, sizeof x->text, " %s, %s and %s of rows", nd_op_get(op[0])->name,
             nd_op_get(op[1])->name, nd_op_get(op[2])->name);
    bool made = good(nd_expr_create(&x->e), "expr_create");
    for (int i = 0; i < INPUTS + SCALARS && made; i++) {
        if (i < INPUTS)
            made = mirror_shaped(&x->in[i], x->dtype, 2, shape, &any_view) &&
                   (i || make_dense(&x->in[i]));
        if (i < INPUTS)
            x->args[i] = nd_array_arg(x->in[i].array);
        made = made && good(nd_expr_input(x->e, &x->node[x->n++]), "expr_input");
    }
    const int32_t *node = x->node;
    const int at = x->n;
    x->n_out = 2;
    return made && reduce(x, op[0], node[0]) && apply(x, ND_OP_subtract, node[0], node[at]) &&
           apply(x, op[1], node[at + 1], -1) &&
           apply(x, ND_OP_multiply, node[at + 2], node[INPUTS]) && reduce(x, op[2], node[at + 3]) &&
           apply(x, ND_OP_divide, node[at + 2], node[at + 4]) &&
           apply(x, ND_OP_add, node[at + 5], node[1]) &&
           good(nd_expr_output(x->e, node[at + 6]), "expr_output") &&
           good(nd_expr_output(x->e, node[at + 4]), "expr_output");
}

static void one_case(int i)
{
    expression x = {.dtype = dtypes[i % 5]};
    if (i % 4 == 1 && x.dtype != ND_I32 ? make_rows(&x) : make(&x))
        for (int turn = 0; turn < 2 && !failing(); turn++) {
            draw_scalars(&x);
            run_both(&x);
        }
    for (int k = 0; k < INPUTS; k++)
        mirror_release(&x.in[k]);
    nd_expr_release(x.e);
}

void conform_fused(void)
{
    const void *group = NULL;
    struct ndp_dev *dev;
    if (!wanted("fused"))
        return;
    begin_op("fused");
    if (nd_device_group(run.device, "ndp.fused/1", &group, &dev) != ND_OK || !group)
        skip_op("it has no group ndp.fused/1");
    for (int i = 0; group && i < run.count && !failing(); i++)
        if (begin_case(i))
            one_case(i);
    end_op();
}
