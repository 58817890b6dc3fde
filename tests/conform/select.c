/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Conformance: boolean selection and nonzero, whose result's length depends on data. */
#include "tests/conform/grid.h"

/* Rows that came, and how many there are for a destination of any capacity. */
typedef struct {
    dense rows;
    int64_t count;
} found;

/* Into a destination of another capacity: rows past the count keep their values, the count is that
 * of all. */
static void try_into(const char *name, const found *f,
                     nd_status (*into)(void *, const nd_array *, const nd_array *), void *ctx)
{
    int64_t shape[CASE_NDIM], capacity = f->count + random_below(7) - 3;
    view_wish wish = {.writable = true};
    mirror dst = {0}, count = {0};
    memcpy(shape, f->rows.shape, (size_t)f->rows.ndim * sizeof *shape);
    shape[0] = capacity < 0 ? 0 : capacity;
    int64_t inner = shape_size(f->rows.ndim - 1, shape + 1);
    int64_t kept = f->count < shape[0] ? f->count : shape[0];
    if (mirror_shaped(&dst, f->rows.dtype, f->rows.ndim, shape, &wish) &&
        mirror_shaped(&count, ND_I64, 0, NULL, &wish)) {
        dense want = dense_of(&dst), total = dense_new(ND_I64, 0, NULL);
        memcpy(want.data, f->rows.data, (size_t)(kept * inner) * nd_dtype_size(want.dtype));
        dense_set(&total, 0, f->count);
        if (good(into(ctx, dst.array, count.array), name) && dense_is(&want, dst.array, name) &&
            dense_is(&total, count.array, "count") && !mirror_untouched(&dst))
            fail_case("%s wrote beside the destination", name);
        dense_release(&want);
        dense_release(&total);
    }
    mirror_release(&dst);
    mirror_release(&count);
}

typedef struct {
    const nd_array *a, *mask;
} operands;

static nd_status run_select(void *ctx, const nd_array *dst, const nd_array *count)
{
    const operands *o = ctx;
    return nd_select_into(o->a, o->mask, dst, count);
}

static nd_status run_nonzero(void *ctx, const nd_array *dst, const nd_array *count)
{
    return nd_nonzero_into(((const operands *)ctx)->a, dst, count);
}

/* The rows of a at the true positions of a mask of its leading axes. */
static found selected(const dense *a, const dense *mask)
{
    found f = {.count = 0};
    int64_t shape[CASE_NDIM + 1], at = 0, inner = 1;
    for (int64_t i = 0; i < mask->size; i++)
        f.count += dense_cell(mask, i).i != 0;
    shape[0] = f.count;
    for (int d = mask->ndim; d < a->ndim; d++) {
        shape[d - mask->ndim + 1] = a->shape[d];
        inner *= a->shape[d];
    }
    f.rows = dense_new(a->dtype, a->ndim - mask->ndim + 1, shape);
    for (int64_t i = 0; i < mask->size; i++)
        for (int64_t j = 0; j < inner && dense_cell(mask, i).i; j++)
            dense_put(&f.rows, at++, a, i * inner + j);
    return f;
}

static void select_case(int i)
{
    mirror m = {0}, mask = {0};
    nd_array *r = NULL;
    if (mirror_random(&m, legal_dtype(ND_OP_compress, i), &any_view) &&
        mirror_shaped(&mask, ND_BOOL, (int)random_below(m.ndim + 1), m.shape, &any_view)) {
        dense a = dense_of(&m), where = dense_of(&mask);
        found f = selected(&a, &where);
        operands o = {m.array, mask.array};
        if (good(nd_select(m.array, mask.array, &r), "select") && dense_is(&f.rows, r, "select"))
            try_into("select_into", &f, run_select, &o);
        dense_release(&a);
        dense_release(&where);
        dense_release(&f.rows);
    }
    nd_release(r);
    mirror_release(&m);
    mirror_release(&mask);
}

static bool is_nonzero(cell c)
{
    return c.i != 0 || c.re != 0 || c.im != 0;
}

static void nonzero_case(int i)
{
    mirror m = {0};
    nd_array *r = NULL;
    if (mirror_random(&m, legal_dtype(ND_OP_nonzero, i), &any_view)) {
        int64_t shape[2] = {0, m.ndim}, index[CASE_NDIM], at = 0;
        dense a = dense_of(&m);
        for (int64_t p = 0; p < a.size; p++)
            shape[0] += is_nonzero(dense_cell(&a, p));
        found f = {dense_new(ND_I64, 2, shape), shape[0]};
        for (int64_t p = 0; p < a.size; p++) {
            unravel(a.ndim, a.shape, p, index);
            for (int d = 0; d < a.ndim && is_nonzero(dense_cell(&a, p)); d++)
                dense_set(&f.rows, at++, index[d]);
        }
        operands o = {m.array, NULL};
        if (m.ndim == 0)
            (void)fails(nd_nonzero(m.array, &r), ND_ERR_SHAPE, "nonzero of a 0-d array");
        else if (good(nd_nonzero(m.array, &r), "nonzero") && dense_is(&f.rows, r, "nonzero"))
            try_into("nonzero_into", &f, run_nonzero, &o);
        dense_release(&a);
        dense_release(&f.rows);
    }
    nd_release(r);
    mirror_release(&m);
}

/* Destination, mask and array in one storage: as if the operands were copied first. */
static void overlap_case(int i)
{
    const int64_t n = 1 + random_below(300), shape[1] = {n}, step[1] = {1}, none[1] = {0};
    dense bits = dense_random(ND_BOOL, 1, shape, true), total = dense_new(ND_I64, 0, none);
    nd_array *a = dense_array(&bits), *flipped = NULL, *count = dense_array(&total), *dst = NULL;
    if (a && count && good(nd_flip(a, 0, NULL, &flipped), "flip") &&
        good(nd_as_strided(a, 1, shape, step, 0, &dst), "as_strided")) {
        dense reversed = dense_copy(&bits), want = dense_copy(&bits);
        for (int64_t k = 0; k < n; k++)
            dense_put(&reversed, k, &bits, n - 1 - k);
        bool swap = i % 2; /* which of the two operands lies the other way round */
        found f = selected(swap ? &reversed : &bits, swap ? &bits : &reversed);
        memcpy(want.data, f.rows.data, (size_t)f.count);
        dense_set(&total, 0, f.count);
        if (good(nd_select_into(swap ? flipped : a, swap ? a : flipped, dst, count), "select") &&
            dense_is(&want, dst, "select into its operands"))
            (void)dense_is(&total, count, "count");
        dense_release(&reversed);
        dense_release(&want);
        dense_release(&f.rows);
    }
    nd_release(a);
    nd_release(flipped);
    nd_release(count);
    nd_release(dst);
    dense_release(&bits);
    dense_release(&total);
}

/* The count is an element of the array that is searched. */
static void count_case(int i)
{
    const int64_t n = 1 + random_below(300), shape[2] = {n, 1};
    dense values = dense_random(ND_I64, 1, shape, true), total = dense_new(ND_I64, 0, shape);
    nd_array *a = dense_array(&values), *count = NULL, *dst = NULL;
    const nd_index at[1] = {nd_at(random_below(n))};
    int64_t found_count = 0;
    (void)i;
    for (int64_t k = 0; k < n; k++)
        found_count += is_nonzero(dense_cell(&values, k));
    dense_set(&total, 0, found_count);
    if (a && good(nd_slice(a, at, 1, &count), "slice") &&
        good(nd_empty(run.device, ND_I64, 2, shape, &dst), "empty") &&
        good(nd_nonzero_into(a, dst, count), "nonzero"))
        (void)dense_is(&total, count, "count in the array");
    nd_release(a);
    nd_release(count);
    nd_release(dst);
    dense_release(&values);
    dense_release(&total);
}

void conform_select(void)
{
    run_cases("select", select_case);
    run_cases("nonzero", nonzero_case);
    run_cases("select_overlap", overlap_case);
    run_cases("nonzero_count", count_case);
}
