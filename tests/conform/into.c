/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Conformance: every function that writes into an array that is there. A destination that lies over
 * an operand, shifted, reversed, strided or transposed, gets what separate copies would give, and
 * nothing beside it is written; a read-only destination is refused and stays as it was. */
#include <math.h>
#include "tests/conform/into.h"

static const nd_dtype dtypes[] = {ND_F32, ND_I64, ND_BOOL, ND_F16, ND_F64, ND_I8, ND_C64};
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

/* Where the destination lies, with an operand dense from `base` on. */
enum { SAME, UP, DOWN, REVERSED, HALFWAY, STRIDED, TRANSPOSED, PLACES };
/* Which operands lie there: all that have its dtype, or one. */
enum { ALL = INTO_OPERANDS, CHOICES };

/* One call: the destination and some operands lie in one storage, `pool`. */
typedef struct {
    const into_entry *e;
    nd_dtype value, result;
    int64_t wide, flat, base, length; /* columns, elements of a table; of the pool */
    dense pool;
    nd_array *storage, *in[INTO_OPERANDS], *dst, *count;
    int64_t stride[2], offset; /* of dst */
} trial;

/* ---- what is called with what ---- */

static bool is_legal(const into_entry *e, nd_dtype dtype)
{
    int kind = nd_dtype_get(dtype)->kind;
    return e->op == ND_OP_copy || e->op == ND_OP_fill || (nd_op_get(e->op)->domain & kind);
}

static nd_dtype result_dtype(const into_entry *e, nd_dtype value)
{
    int kind = nd_dtype_get(value)->kind;
    if (e->op == ND_OP_fft_r2c)
        return value == ND_F64 ? ND_C128 : ND_C64;
    if (e->op == ND_OP_fft_c2r)
        return ND_F32;
    switch (nd_op_get(e->op)->result) {
    case ND_RESULT_REAL:
        return kind == ND_KIND_COMPLEX ? ND_F32 : value;
    case ND_RESULT_BOOL:
        return ND_BOOL;
    case ND_RESULT_INDEX:
        return ND_I64;
    case ND_RESULT_SUM:
        return kind & (ND_KIND_BOOL | ND_KIND_INT) ? ND_I64 : value;
    default:
        return value;
    }
}

static nd_dtype dtype_of(const trial *t, const into_form *f)
{
    return f->role == INTO_INDEX ? ND_I64 : f->role == INTO_MASK ? ND_BOOL : t->value;
}

static int64_t shape_of(const trial *t, const into_form *f, int64_t *shape)
{
    int64_t n = 1;
    for (int d = 0; d < f->ndim; d++) {
        shape[d] = f->shape[d] == INTO_WIDE   ? t->wide
                   : f->shape[d] == INTO_FLAT ? t->flat
                                              : f->shape[d];
        n *= shape[d];
    }
    return n;
}

/* Values that are positions too; as floating ones they are fractions, whose sums are exact. */
static dense some_values(nd_dtype dtype, int64_t n)
{
    dense d = dense_new(dtype, 1, &n);
    const bool floating = cell_kind(dtype) == ND_KIND_FLOAT;
    const bool complex = cell_kind(dtype) == ND_KIND_COMPLEX;
    for (int64_t i = 0; i < n; i++) {
        int64_t x = random_below(dtype == ND_BOOL ? 2 : INTO_ROWS);
        const long double part = (long double)(x + 1) / 8;
        cell_write(dtype,
                   complex    ? cell_complex(part, 1 - part)
                   : floating ? cell_real(part)
                              : cell_int(x),
                   dense_at(&d, i));
    }
    return d;
}

static nd_array *view_at(const nd_array *storage, int ndim, const int64_t *shape,
                         const int64_t *stride, int64_t offset)
{
    nd_array *view = NULL;
    (void)good(nd_as_strided(storage, ndim, shape, stride, offset, &view), "as_strided");
    return view;
}

static void dense_strides(int ndim, const int64_t *shape, int64_t *stride)
{
    for (int64_t d = ndim - 1, step = 1; d >= 0; step *= shape[d--])
        stride[d] = step;
}

/* Operand k: in the pool at base, or in memory of its own. */
static nd_array *make_operand(const trial *t, int k, bool in_pool)
{
    int64_t shape[2] = {0}, stride[2] = {0}, n = shape_of(t, &t->e->in[k], shape);
    dense_strides(t->e->in[k].ndim, shape, stride);
    if (in_pool)
        return view_at(t->storage, t->e->in[k].ndim, shape, stride, t->base);
    dense own = some_values(dtype_of(t, &t->e->in[k]), n);
    nd_array *whole = dense_array(&own), *view = NULL;
    if (whole)
        view = view_at(whole, t->e->in[k].ndim, shape, stride, 0);
    nd_release(whole);
    dense_release(&own);
    return view;
}

static nd_array *make_destination(trial *t, int place)
{
    const into_form *f = &t->e->out;
    int64_t shape[2] = {0}, n = shape_of(t, f, shape);
    dense_strides(f->ndim, shape, t->stride);
    t->offset = t->base + (place == UP         ? 1
                           : place == DOWN     ? -1
                           : place == HALFWAY  ? n / 2
                           : place == REVERSED ? n - 1
                                               : 0);
    for (int d = 0; d < f->ndim; d++)
        t->stride[d] *= place == REVERSED ? -1 : place == STRIDED ? 2 : 1;
    if (place == TRANSPOSED && f->ndim == 2) {
        t->stride[0] = 1;
        t->stride[1] = shape[0];
    }
    return view_at(t->storage, f->ndim, shape, t->stride, t->offset);
}

static bool begin_trial(trial *t, const into_entry *e, nd_dtype value, int64_t wide, int choice,
                        int place)
{
    *t = (trial){.e = e, .value = value, .result = result_dtype(e, value), .wide = wide};
    t->flat = INTO_ROWS * wide;
    int64_t most = t->flat > INTO_ROWS * INTO_ROWS ? t->flat : INTO_ROWS * INTO_ROWS;
    t->base = most;
    t->length = 4 * most;
    t->pool = some_values(t->result, t->length);
    t->storage = dense_array(&t->pool);
    bool made = t->storage && good(nd_zeros(run.device, ND_I64, 0, NULL, &t->count), "zeros");
    for (int k = 0; k < e->n_in && made; k++) {
        bool fits = dtype_of(t, &e->in[k]) == t->result;
        t->in[k] = make_operand(t, k, fits && (choice == ALL || choice == k));
        made = t->in[k] != NULL;
    }
    t->dst = made ? make_destination(t, place) : NULL;
    return t->dst != NULL;
}

static void end_trial(trial *t)
{
    for (int k = 0; k < INTO_OPERANDS; k++)
        nd_release(t->in[k]);
    nd_release(t->dst);
    nd_release(t->count);
    nd_release(t->storage);
    dense_release(&t->pool);
}

/* ---- what it gives ---- */

static nd_array *copy_of(const nd_array *a)
{
    nd_array *copy = NULL;
    if (a)
        (void)good(nd_copy(a, NULL, &copy), "copy");
    return copy;
}

/* The same but for the order of additions, which depends on where things lie. */
static bool same_element(nd_dtype dtype, const char *got, const char *want)
{
    if (memcmp(got, want, nd_dtype_size(dtype)) == 0)
        return true;
    cell g = cell_read(dtype, got), w = cell_read(dtype, want);
    const int kind = cell_kind(dtype);
    if (kind == ND_KIND_COMPLEX && (isnan(w.re) || isinf(w.re) || isnan(w.im) || isinf(w.im)))
        return isnan(w.re) || isnan(w.im);
    if (kind == ND_KIND_COMPLEX)
        return hypotl(g.re - w.re, g.im - w.im) <= fmaxl(1, hypotl(w.re, w.im)) * 0x1p-18L;
    if (kind != ND_KIND_FLOAT)
        return false;
    if (isnan(w.re) || isinf(w.re))
        return isnan(w.re) ? isnan(g.re) != 0 : g.re == w.re;
    long double size = fabsl(w.re) > 1 ? fabsl(w.re) : 1;
    return fabsl(g.re - w.re) <= size * (nd_dtype_size(dtype) == 2 ? 0x1p-7L : 0x1p-18L);
}

/* The pool holds what was there, and the wanted elements where the destination lies. */
static void check_pool(const trial *t, const nd_array *want, const char *how)
{
    int64_t shape[2] = {0}, n = shape_of(t, &t->e->out, shape);
    size_t item = nd_dtype_size(t->result);
    char *got = fetch(t->storage), *elements = want ? fetch(want) : NULL, text[2][128];
    for (int64_t i = 0; elements && i < n; i++) {
        int64_t at = t->offset, index[2] = {0};
        unravel(t->e->out.ndim, shape, i, index);
        for (int d = 0; d < t->e->out.ndim; d++)
            at += index[d] * t->stride[d];
        memcpy(dense_at(&t->pool, at), elements + (size_t)i * item, item);
    }
    for (int64_t i = 0; got && i < t->length; i++)
        if (!same_element(t->result, got + (size_t)i * item, dense_at(&t->pool, i))) {
            fail_case("%s of %s, %s: element %lld of the storage is %s, not %s (base %lld)",
                      t->e->name, nd_dtype_name(t->value), how, (long long)i,
                      cell_text(cell_read(t->result, got + (size_t)i * item), text[0]),
                      cell_text(dense_cell(&t->pool, i), text[1]), (long long)t->base);
            break;
        }
    free(got);
    free(elements);
}

static void overlap_case(const into_entry *e, nd_dtype value, int64_t wide, int choice, int place)
{
    static const char *const places[PLACES] = {"the same view", "shifted up", "shifted down",
                                               "reversed",      "halfway",    "strided",
                                               "transposed"};
    trial t;
    if (begin_trial(&t, e, value, wide, choice, place)) {
        nd_array *in[INTO_OPERANDS] = {copy_of(t.in[0]), copy_of(t.in[1]), copy_of(t.in[2])};
        nd_array *dst = copy_of(t.dst), *count = copy_of(t.count);
        if (good(e->call(e, in, dst, count), e->name) &&
            good(e->call(e, t.in, t.dst, t.count), e->name))
            check_pool(&t, dst, places[place]);
        for (int k = 0; k < INTO_OPERANDS; k++)
            nd_release(in[k]);
        nd_release(dst);
        nd_release(count);
    }
    end_trial(&t);
}

static void readonly_case(const into_entry *e, nd_dtype value, int64_t wide)
{
    trial t;
    nd_array *dst = NULL, *count = NULL;
    if (begin_trial(&t, e, value, wide, INTO_OPERANDS + 1, UP) &&
        good(nd_readonly(t.dst, &dst), "readonly") &&
        good(nd_readonly(t.count, &count), "readonly")) {
        nd_status status = e->call(e, t.in, dst, t.count);
        bool nothing = wide == 0 && status == ND_ERR_SHAPE; /* max of no elements */
        if (!nothing)
            (void)fails(status, ND_ERR_READONLY, e->name);
        check_pool(&t, NULL, "read-only");
        if (e->counts)
            (void)fails(e->call(e, t.in, t.dst, count), ND_ERR_READONLY, e->name);
        check_pool(&t, NULL, "with a read-only count");
    }
    nd_release(dst);
    nd_release(count);
    end_trial(&t);
}

/* Whether some operand can lie where the destination does. */
static bool can_overlap(const into_entry *e, nd_dtype value, int choice)
{
    const trial t = {.e = e, .value = value};
    bool any = false;
    for (int k = 0; k < e->n_in; k++)
        any |= (choice == ALL || choice == k) && dtype_of(&t, &e->in[k]) == result_dtype(e, value);
    return any;
}

static void one_entry(const into_entry *e, int64_t id)
{
    static const int64_t widths[] = {3, 64, 700};
    for (int d = 0; d < DTYPES; d++) {
        if (!is_legal(e, dtypes[d]))
            continue;
        for (int w = 0; w < 3; w++)
            for (int choice = 0; choice < CHOICES; choice++)
                for (int place = 0; place < PLACES && !failing(); place++, id++) {
                    bool once = e->n_in == 1 && choice == ALL; /* as its one operand */
                    bool short_of_time = (w == 1 && place != UP && place < REVERSED) ||
                                         (w == 2 && (choice < e->n_in || place % 2 == 0));
                    if (can_overlap(e, dtypes[d], choice) && !once && !short_of_time &&
                        begin_share(id))
                        overlap_case(e, dtypes[d], widths[w], choice, place);
                }
        for (int64_t wide = 0; wide < 4; wide += 3, id++) /* with and without elements */
            if (begin_share(id))
                readonly_case(e, dtypes[d], wide);
    }
}

void conform_into(void)
{
    if (!wanted("into"))
        return;
    begin_op("into");
    for (int i = 0; i < into_entries; i++) {
        may_stage(nd_op_get(into_table[i].op)->name);
        one_entry(&into_table[i], FIXED_CASE + i * 10000);
    }
    end_op();
}
