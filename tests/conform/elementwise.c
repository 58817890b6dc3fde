/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Conformance: every elementwise operation, over every legal dtype: new results, scalars, and
 * destinations that are views. */
#include <math.h>
#include "tests/conform/grid.h"

enum { MOST_ARGS = 3 };

typedef struct {
    const nd_op_info *info;
    nd_dtype dtype, result;
    int n;
    mirror in[MOST_ARGS];
    bool is_scalar[MOST_ARGS];
    char scalar[MOST_ARGS][16]; /* its element */
    nd_arg args[MOST_ARGS];
} trial;

static int arity(const nd_op_info *info)
{
    return info->op_class == ND_CLASS_UNARY ? 1 : info->op_class == ND_CLASS_BINARY ? 2 : 3;
}

static nd_dtype result_dtype(const nd_op_info *info, nd_dtype dtype)
{
    if (info->result == ND_RESULT_BOOL)
        return ND_BOOL;
    return info->result == ND_RESULT_REAL && dtype == ND_C64    ? ND_F32
           : info->result == ND_RESULT_REAL && dtype == ND_C128 ? ND_F64
                                                                : dtype;
}

static double ulp_of(const nd_op_info *info, nd_dtype dtype)
{
    switch (dtype) {
    case ND_F16:
    case ND_BF16:
        return info->ulp[0];
    case ND_F32:
        return info->ulp[1];
    case ND_F64:
        return info->ulp[2];
    default:
        return info->ulp[3];
    }
}

static nd_scalar as_scalar(nd_dtype dtype, const void *element)
{
    cell c = cell_read(dtype, element);
    switch (nd_dtype_get(dtype)->kind) {
    case ND_KIND_BOOL:
        return nd_bool((int)c.i);
    case ND_KIND_INT:
        return nd_int((int64_t)c.i);
    case ND_KIND_UINT:
        return nd_uint((uint64_t)c.i);
    case ND_KIND_FLOAT:
        return nd_float((double)c.re);
    default:
        return nd_complex((double)c.re, (double)c.im);
    }
}

static nd_dtype operand_dtype(const trial *t, int i)
{
    return t->info->op == ND_OP_where && i == 0 ? ND_BOOL : t->dtype;
}

/* The full operand of case i: a random view, or now and then one of the shapes that loops over
 * vectors and blocks end badly on. */
static bool make_full(mirror *m, nd_dtype dtype, const view_wish *wish, int i)
{
    static const struct {
        int ndim;
        int64_t shape[4];
    } odd[] = {{0, {0}}, {1, {0}},          {1, {1009}},    {3, {3, 0, 2}},    {1, {4099}},
               {1, {1}}, {3, {17, 19, 23}}, {2, {2, 1025}}, {4, {1, 7, 1, 31}}};
    enum { EVERY = 32 };
    if (i % EVERY != EVERY - 1)
        return mirror_random(m, dtype, wish);
    size_t k = (size_t)(i / EVERY) % (sizeof odd / sizeof *odd);
    return mirror_shaped(m, dtype, odd[k].ndim, odd[k].shape, wish);
}

/* Operands: one full view, the others views that broadcast to it, or scalars. */
static bool make_operands(trial *t, int number)
{
    view_wish wish = any_view;
    int full = (int)random_below(t->n);
    wish.tame = nd_dtype_get(t->dtype)->kind == ND_KIND_COMPLEX;
    if (!make_full(&t->in[full], operand_dtype(t, full), &wish, number))
        return false;
    t->args[full] = nd_array_arg(t->in[full].array);
    for (int i = 0; i < t->n; i++) {
        if (i == full)
            continue;
        t->is_scalar[i] = random_below(5) == 0;
        cell_random(operand_dtype(t, i), wish.tame, t->scalar[i]);
        if (t->is_scalar[i])
            t->args[i] = nd_scalar_arg(as_scalar(operand_dtype(t, i), t->scalar[i]));
        else if (!mirror_like(&t->in[i], &t->in[full], operand_dtype(t, i), &wish, true))
            return false;
        else
            t->args[i] = nd_array_arg(t->in[i].array);
    }
    return true;
}

static cell operand(const trial *t, int i, int ndim, const int64_t *shape, int64_t at)
{
    return t->is_scalar[i] ? cell_read(operand_dtype(t, i), t->scalar[i])
                           : mirror_cell(&t->in[i], ndim, shape, at);
}

/* Where formula and limit disagree at an infinity, either is right. */
static bool undetermined(nd_op op, cell a)
{
    return (op == ND_OP_gelu || op == ND_OP_gelu_tanh || op == ND_OP_silu || op == ND_OP_mish) &&
           a.kind == ND_KIND_FLOAT && isinf(a.re) && a.re < 0;
}

static void check_element(const trial *t, int ndim, const int64_t *shape, int64_t at,
                          const void *got_bytes)
{
    cell in[MOST_ARGS] = {{0}}, want, got = cell_read(t->result, got_bytes);
    char text[5][128];
    for (int i = 0; i < t->n; i++)
        in[i] = operand(t, i, ndim, shape, at);
    if (undetermined(t->info->op, in[0]) || !oracle(t->info->op, t->dtype, in, &want))
        return;
    bool zeros = nd_dtype_get(t->dtype)->kind == ND_KIND_FLOAT;
    long double scale = zeros ? oracle_scale(t->info->op, in[0].re, in[1].re) : 0;
    if (scale > fabsl(want.re) &&
        cell_within(t->result, got, want,
                    (ulp_of(t->info, t->dtype) + 0.004L) * cell_ulp(t->result, scale)))
        return;
    if (cell_close(t->result, got, want, ulp_of(t->info, t->dtype), zeros))
        return;
    fail_case("%s(%s%s%s%s%s) in %s is %s, not %s", t->info->name, cell_text(in[0], text[0]),
              t->n > 1 ? ", " : "", t->n > 1 ? cell_text(in[1], text[1]) : "", t->n > 2 ? ", " : "",
              t->n > 2 ? cell_text(in[2], text[2]) : "", nd_dtype_name(t->dtype),
              cell_text(got, text[3]), cell_text(want, text[4]));
}

static void check_result(const trial *t, const nd_array *r)
{
    char *data = fetch(r);
    size_t item = nd_dtype_size(t->result);
    for (int64_t i = 0; data && i < nd_size(r) && !failing(); i++)
        check_element(t, nd_ndim(r), nd_shape(r), i, data + (size_t)i * item);
    free(data);
}

/* Into a view of other memory, and (where dtypes allow) in place. */
static void check_into(trial *t, const nd_array *r)
{
    view_wish wish = {.writable = true};
    mirror dst;
    if (mirror_shaped(&dst, t->result, nd_ndim(r), nd_shape(r), &wish) &&
        good(nd_apply_into(t->info->op, t->args, t->n, NULL, dst.array), "apply_into")) {
        check_result(t, dst.array);
        if (!mirror_untouched(&dst))
            fail_case("%s in %s wrote beside its destination", t->info->name,
                      nd_dtype_name(t->dtype));
    }
    mirror_release(&dst);
    mirror *first = &t->in[t->info->op == ND_OP_where];
    if (first->dtype == t->result && first->array && !nd_is_readonly(first->array) &&
        first->ndim == nd_ndim(r) &&
        memcmp(first->shape, nd_shape(r), (size_t)first->ndim * sizeof(int64_t)) == 0 &&
        good(nd_apply_into(t->info->op, t->args, t->n, NULL, first->array), "in place"))
        check_result(t, first->array);
}

static void one_case(const nd_op_info *info, nd_dtype dtype, int number)
{
    trial t = {.info = info, .dtype = dtype, .result = result_dtype(info, dtype), .n = arity(info)};
    const nd_apply_opts opts = {.size = sizeof opts, .dtype = dtype};
    nd_array *r = NULL;
    if (make_operands(&t, number) && good(nd_apply(info->op, t.args, t.n, &opts, &r), info->name)) {
        if (nd_dtype_of(r) != t.result)
            fail_case("%s of %s gives %s, not %s", info->name, nd_dtype_name(dtype),
                      nd_dtype_name(nd_dtype_of(r)), nd_dtype_name(t.result));
        else
            check_result(&t, r);
        if (nd_dtype_of(r) == t.result && random_below(2))
            check_into(&t, r);
    }
    nd_release(r);
    for (int i = 0; i < t.n; i++)
        mirror_release(&t.in[i]);
}

void conform_elementwise(void)
{
    for (nd_op op = 1; op < ND_OP_END; op++) {
        const nd_op_info *info = nd_op_get(op);
        nd_dtype legal[ND_DTYPE_END];
        int n = 0;
        if (info->op_class > ND_CLASS_TERNARY || !wanted(info->name))
            continue;
        for (nd_dtype d = 1; d < ND_DTYPE_END; d++)
            if (nd_op_dtypes(op) >> d & 1)
                legal[n++] = d;
        begin_op(info->name);
        for (int i = 0; i < run.count && !failing(); i++) {
            if (begin_case(i))
                one_case(info, legal[i % n], i);
        }
        end_op();
    }
}

/* ---- special values: every one with every other ---- */
enum { MOST_SPECIAL = 20 };

static int special_floats(nd_dtype dtype, bool tame, cell *out)
{
    const long double max = cell_max(dtype), least = cell_ulp(dtype, 0);
    const long double all[] = {0,        1,         -1,  0.5L, -2,   3,     -0.0L,  2.5L,
                               INFINITY, -INFINITY, NAN, max,  -max, least, -least, 1 / max * 4};
    int n = tame ? 6 : (int)(sizeof all / sizeof *all);
    for (int i = 0; i < n; i++)
        out[i] = cell_real(all[i]);
    return n;
}

static int special_integers(nd_dtype dtype, cell *out)
{
    const int bits = 8 * (int)nd_dtype_size(dtype);
    const __int128 top = (__int128)1 << (bits - 1);
    const __int128 all[] = {0,       1,   -1,      2,       -2,          3,  7,       bits - 1,
                            top - 1, top, top + 1, top - 2, 2 * top - 2, 10, top / 2, top / 2 + 1};
    int n = sizeof all / sizeof *all;
    for (int i = 0; i < n; i++)
        out[i] = cell_wrap(dtype, all[i]); /* of unsigned dtypes some are the same */
    return n;
}

static int special_values(nd_dtype dtype, cell *out)
{
    int kind = nd_dtype_get(dtype)->kind;
    if (kind == ND_KIND_BOOL) {
        out[0] = cell_bool(false);
        out[1] = cell_bool(true);
        return 2;
    }
    if (kind != ND_KIND_COMPLEX)
        return kind == ND_KIND_FLOAT ? special_floats(dtype, false, out)
                                     : special_integers(dtype, out);
    cell part[MOST_SPECIAL]; /* what infinities make of complex numbers nobody agrees on */
    int n = special_floats(dtype == ND_C64 ? ND_F32 : ND_F64, true, part);
    for (int i = 0; i < 3 * n; i++)
        out[i] = cell_complex(part[i % n].re, part[i / n * 2].re);
    return 3 * n;
}

/* All values along an axis of its own. */
static bool special_operand(trial *t, int i)
{
    cell values[MOST_SPECIAL];
    nd_dtype dtype = operand_dtype(t, i);
    int n = special_values(dtype, values);
    int64_t shape[MOST_ARGS] = {1, 1, 1};
    shape[i] = n;
    dense d = dense_new(dtype, t->n, shape);
    for (int k = 0; k < n; k++)
        cell_write(dtype, values[k], dense_at(&d, k));
    bool made = mirror_of(&t->in[i], &d);
    t->args[i] = nd_array_arg(t->in[i].array);
    dense_release(&d);
    return made;
}

static void special_case(const nd_op_info *info, nd_dtype dtype)
{
    trial t = {.info = info, .dtype = dtype, .result = result_dtype(info, dtype), .n = arity(info)};
    const nd_apply_opts opts = {.size = sizeof opts, .dtype = dtype};
    nd_array *r = NULL;
    bool made = true;
    for (int i = 0; i < t.n && made; i++)
        made = special_operand(&t, i);
    if (made && good(nd_apply(info->op, t.args, t.n, &opts, &r), info->name))
        check_result(&t, r);
    nd_release(r);
    for (int i = 0; i < t.n; i++)
        mirror_release(&t.in[i]);
}

void conform_special(void)
{
    if (!wanted("special_values"))
        return;
    begin_op("special_values");
    for (nd_op op = 1; op < ND_OP_END; op++)
        for (nd_dtype d = 1; d < ND_DTYPE_END && nd_op_get(op)->op_class <= ND_CLASS_TERNARY; d++)
            if ((nd_op_dtypes(op) >> d & 1) && !failing() && begin_case(op * 64 + d))
                special_case(nd_op_get(op), d);
    end_op();
}
