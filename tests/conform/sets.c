/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Conformance: the unique functions and isin. */
#include <math.h>
#include "tests/conform/order.h"

/* NaN equals nothing. */
static bool same_value(cell a, cell b)
{
    return a.i == b.i && a.re == b.re && a.im == b.im;
}

typedef struct {
    dense values, indices, inverse, counts;
} distinct;

static void release_distinct(distinct *u)
{
    dense_release(&u->values);
    dense_release(&u->indices);
    dense_release(&u->inverse);
    dense_release(&u->counts);
}

/* Runs of equal elements in the stably sorted array; the first of each stands for it. */
static distinct find_distinct(const dense *a)
{
    distinct u;
    cell *values = malloc((size_t)(a->size + 1) * sizeof *values);
    int64_t *order = malloc((size_t)(a->size + 1) * sizeof *order), found = 0;
    for (int64_t i = 0; i < a->size; i++)
        values[i] = dense_cell(a, i);
    order_sort(a->size, values, false, order);
    for (int64_t i = 0; i < a->size; i++)
        found += i == 0 || !same_value(values[order[i - 1]], values[order[i]]);
    u.values = dense_new(a->dtype, 1, &found);
    u.indices = dense_new(ND_I64, 1, &found);
    u.counts = dense_new(ND_I64, 1, &found);
    u.inverse = dense_new(ND_I64, a->ndim, a->shape);
    for (int64_t i = 0, at = -1; i < a->size; i++) {
        if (i == 0 || !same_value(values[order[i - 1]], values[order[i]])) {
            dense_put(&u.values, ++at, a, order[i]);
            dense_set(&u.indices, at, order[i]);
        }
        dense_set(&u.counts, at, (int64_t)dense_cell(&u.counts, at).i + 1);
        dense_set(&u.inverse, order[i], at);
    }
    free(values);
    free(order);
    return u;
}

static void release_all(nd_array **r)
{
    for (int i = 0; i < 4; i++) {
        nd_release(r[i]);
        r[i] = NULL;
    }
}

/* The four functions, and unique_all with some results left out. */
static void check_unique(const nd_array *a, const distinct *u)
{
    nd_array *r[4] = {NULL};
    if (good(nd_unique_all(a, &r[0], &r[1], &r[2], &r[3]), "unique_all") &&
        dense_is(&u->values, r[0], "unique_all: values") &&
        dense_is(&u->indices, r[1], "unique_all: indices") &&
        dense_is(&u->inverse, r[2], "unique_all: inverse"))
        (void)dense_is(&u->counts, r[3], "unique_all: counts");
    release_all(r);
    if (good(nd_unique_counts(a, &r[0], &r[3]), "unique_counts") &&
        dense_is(&u->values, r[0], "unique_counts: values"))
        (void)dense_is(&u->counts, r[3], "unique_counts: counts");
    release_all(r);
    if (good(nd_unique_inverse(a, &r[0], &r[2]), "unique_inverse") &&
        dense_is(&u->values, r[0], "unique_inverse: values"))
        (void)dense_is(&u->inverse, r[2], "unique_inverse: inverse");
    release_all(r);
    if (good(nd_unique_values(a, &r[0]), "unique_values"))
        (void)dense_is(&u->values, r[0], "unique_values");
    release_all(r);
    if (good(nd_unique_all(a, NULL, &r[1], NULL, NULL), "unique_all"))
        (void)dense_is(&u->indices, r[1], "unique_all: indices alone");
    release_all(r);
}

static void unique_case(int i)
{
    mirror m = {0};
    view_wish wish = any_view;
    wish.tame = random_below(2); /* then many are equal */
    if (mirror_random(&m, legal_dtype(ND_OP_sort, i), &wish)) {
        dense a = dense_of(&m);
        distinct u = find_distinct(&a);
        check_unique(m.array, &u);
        release_distinct(&u);
        dense_release(&a);
    }
    mirror_release(&m);
}

/* Integers, bools and floating values compare as numbers. */
static cell as_number(cell c)
{
    bool whole = c.kind & (ND_KIND_BOOL | ND_KIND_INT | ND_KIND_UINT);
    return whole ? cell_complex((long double)c.i, 0) : cell_complex(c.re, c.im);
}

static void check_isin(const mirror *a, const mirror *test)
{
    nd_array *r = NULL;
    dense in = dense_of(a), of = dense_of(test), want = dense_new(ND_BOOL, a->ndim, a->shape);
    bool invert = random_below(2);
    for (int64_t i = 0; i < in.size; i++) {
        bool found = false;
        for (int64_t j = 0; j < of.size && !found; j++)
            found = same_value(as_number(dense_cell(&in, i)), as_number(dense_cell(&of, j)));
        dense_set(&want, i, found != invert);
    }
    if (good(nd_isin(a->array, test->array, invert, &r), "isin"))
        (void)dense_is(&want, r, invert ? "isin, inverted" : "isin");
    nd_release(r);
    dense_release(&in);
    dense_release(&of);
    dense_release(&want);
}

static void isin_case(int i)
{
    static const nd_dtype pairs[][2] = {{ND_I8, ND_F64},   {ND_F32, ND_U16},  {ND_I16, ND_U8},
                                        {ND_BOOL, ND_I32}, {ND_F16, ND_BF16}, {ND_U8, ND_C64},
                                        {ND_C128, ND_F32}};
    const nd_dtype *pair = pairs[random_below(sizeof pairs / sizeof *pairs)];
    nd_dtype dtype = legal_dtype(ND_OP_equal, i);
    bool mixed = random_below(4) == 0;
    view_wish wish = any_view, few = {.most_ndim = 2, .most_extent = 6};
    mirror a = {0}, test = {0};
    wish.tame = few.tame = random_below(3) != 0;
    if (mirror_random(&a, mixed ? pair[0] : dtype, &wish) &&
        mirror_random(&test, mixed ? pair[1] : dtype, &few))
        check_isin(&a, &test);
    mirror_release(&a);
    mirror_release(&test);
}

void conform_sets(void)
{
    run_cases("unique", unique_case);
    run_cases("isin", isin_case);
}
