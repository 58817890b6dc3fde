/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Conformance: sort, argsort, topk and searchsorted. */
#include <math.h>
#include "tests/conform/order.h"

/* ---- the order ---- */

static int order_real(long double a, long double b)
{
    return a < b ? -1 : a > b; /* 0 where a NaN takes part */
}

static int nan_class(cell c)
{
    return 2 * (isnan(c.re) != 0) + (isnan(c.im) != 0);
}

int order_of(cell a, cell b)
{
    if (a.i != b.i)
        return a.i < b.i ? -1 : 1;
    if (nan_class(a) != nan_class(b))
        return nan_class(a) < nan_class(b) ? -1 : 1;
    int by_real = order_real(a.re, b.re);
    return by_real ? by_real : order_real(a.im, b.im);
}

/* Merges the sorted halves of position[0 ... n-1]; room is as large. */
static void merge_sort(int64_t n, const cell *values, bool descending, int64_t *position,
                       int64_t *room)
{
    int64_t half = n / 2, i = 0, j = half, k = 0;
    if (n < 2)
        return;
    merge_sort(half, values, descending, position, room);
    merge_sort(n - half, values, descending, position + half, room);
    while (i < half && j < n) {
        int order = order_of(values[position[j]], values[position[i]]);
        bool second_first = descending ? order > 0 : order < 0;
        room[k++] = position[second_first ? j++ : i++];
    }
    while (i < half)
        room[k++] = position[i++];
    while (j < n)
        room[k++] = position[j++];
    memcpy(position, room, (size_t)n * sizeof *room);
}

void order_sort(int64_t n, const cell *values, bool descending, int64_t *position)
{
    int64_t *room = malloc((size_t)(n + 1) * sizeof *room);
    for (int64_t i = 0; i < n; i++)
        position[i] = i;
    if (room)
        merge_sort(n, values, descending, position, room);
    free(room);
}

/* ---- along an axis ---- */

void release_sorted(sorted *s)
{
    dense_release(&s->values);
    dense_release(&s->positions);
}

sorted sort_lanes(const dense *a, int axis, bool descending, int64_t k)
{
    int64_t shape[CASE_NDIM], n = a->shape[axis], inner = 1;
    memcpy(shape, a->shape, (size_t)a->ndim * sizeof *shape);
    shape[axis] = k;
    for (int d = axis + 1; d < a->ndim; d++)
        inner *= a->shape[d];
    sorted s = {dense_new(a->dtype, a->ndim, shape), dense_new(ND_I64, a->ndim, shape)};
    cell *lane = malloc((size_t)(n + 1) * sizeof *lane);
    int64_t *position = malloc((size_t)(n + 1) * sizeof *position);
    int64_t lanes = s.values.size ? s.values.size / k : 0;
    for (int64_t l = 0; l < lanes; l++) {
        int64_t outer = l / inner, first = outer * n * inner + l % inner;
        for (int64_t i = 0; i < n; i++)
            lane[i] = dense_cell(a, first + i * inner);
        order_sort(n, lane, descending, position);
        for (int64_t i = 0; i < k; i++) {
            int64_t at = (outer * k + i) * inner + l % inner;
            dense_put(&s.values, at, a, first + position[i] * inner);
            dense_set(&s.positions, at, position[i]);
        }
    }
    free(lane);
    free(position);
    return s;
}

/* A view to sort; now and then one long lane, where equal values are many. */
static bool sortable(mirror *m, nd_op op, int i, bool writable)
{
    view_wish wish = any_view;
    int64_t shape[2] = {random_below(3000), 1 + random_below(2)};
    wish.least_ndim = 1;
    wish.writable = writable;
    wish.tame = random_below(3) == 0;
    return random_below(25) == 0 ? mirror_shaped(m, legal_dtype(op, i), 2, shape, &wish)
                                 : mirror_random(m, legal_dtype(op, i), &wish);
}

static nd_sort_opts options(int axis, bool descending)
{
    return (nd_sort_opts){.size = sizeof(nd_sort_opts), .axis = axis, .descending = descending};
}

/* Into a strided destination, and (values) onto itself. */
static void sort_into(const mirror *m, const nd_sort_opts *opts, const sorted *want)
{
    view_wish wish = {.writable = true};
    mirror values = {0}, positions = {0};
    if (mirror_shaped(&values, m->dtype, m->ndim, m->shape, &wish) &&
        mirror_shaped(&positions, ND_I64, m->ndim, m->shape, &wish) &&
        good(nd_sort_into(m->array, opts, values.array), "sort_into") &&
        dense_is(&want->values, values.array, "sort_into") &&
        good(nd_argsort_into(m->array, opts, positions.array), "argsort_into") &&
        dense_is(&want->positions, positions.array, "argsort_into") &&
        !(mirror_untouched(&values) && mirror_untouched(&positions)))
        fail_case("sorting wrote beside the destination");
    if (!nd_is_readonly(m->array) && good(nd_sort_into(m->array, opts, m->array), "in place"))
        (void)dense_is(&want->values, m->array, "sort in place");
    mirror_release(&values);
    mirror_release(&positions);
}

static void sort_case(int i)
{
    mirror m = {0};
    nd_array *values = NULL, *positions = NULL;
    bool descending = random_below(2);
    if (!sortable(&m, ND_OP_sort, i, random_below(2)))
        return;
    int axis = random_below(2) ? m.ndim - 1 : (int)random_below(m.ndim);
    nd_sort_opts opts = options(either_sign(axis, m.ndim), descending);
    bool plain = axis == m.ndim - 1 && !descending && random_below(2); /* by default */
    dense a = dense_of(&m);
    sorted want = sort_lanes(&a, axis, descending, m.shape[axis]);
    if (good(nd_sort(m.array, plain ? NULL : &opts, &values), "sort") &&
        dense_is(&want.values, values, "sort") &&
        good(nd_argsort(m.array, plain ? NULL : &opts, &positions), "argsort") &&
        dense_is(&want.positions, positions, "argsort"))
        sort_into(&m, &opts, &want);
    nd_release(values);
    nd_release(positions);
    release_sorted(&want);
    dense_release(&a);
    mirror_release(&m);
}

static void topk_case(int i)
{
    mirror m = {0};
    nd_array *values = NULL, *positions = NULL;
    if (!sortable(&m, ND_OP_topk, i, false))
        return;
    int axis = (int)random_below(m.ndim), smallest = (int)random_below(2);
    int64_t n = m.shape[axis], k = random_below(8) == 0 ? n : random_below(n + 1);
    dense a = dense_of(&m);
    sorted want = sort_lanes(&a, axis, !smallest, k);
    bool alone = random_below(8) == 0; /* without positions */
    if (good(nd_topk(m.array, k, either_sign(axis, m.ndim), smallest, &values,
                     alone ? NULL : &positions),
             "topk") &&
        dense_is(&want.values, values, "topk") && !alone)
        (void)dense_is(&want.positions, positions, "topk's positions");
    nd_release(values);
    nd_release(positions);
    values = positions = NULL;
    (void)fails(nd_topk(m.array, n + 1, axis, smallest, &values, NULL), ND_ERR_ARGUMENT,
                "topk of more than there are");
    release_sorted(&want);
    dense_release(&a);
    mirror_release(&m);
}

/* ---- searching ---- */

/* Dtypes of the sorted array and of the values; where they differ both convert exactly. */
static void search_dtypes(int i, nd_dtype *haystack, nd_dtype *needles)
{
    static const nd_dtype pairs[][2] = {{ND_I8, ND_F64},   {ND_F32, ND_U16}, {ND_I16, ND_U8},
                                        {ND_BOOL, ND_I32}, {ND_F16, ND_F64}, {ND_F16, ND_BF16},
                                        {ND_U32, ND_I16}};
    const nd_dtype *pair = pairs[random_below(sizeof pairs / sizeof *pairs)];
    bool mixed = random_below(4) == 0;
    *haystack = mixed ? pair[0] : legal_dtype(ND_OP_searchsorted, i);
    *needles = mixed ? pair[1] : *haystack;
}

cell as_real(cell c)
{
    return c.kind == ND_KIND_FLOAT ? c : cell_real((long double)c.i);
}

dense search_positions(const dense *haystack, const dense *needles, bool right)
{
    dense want = dense_new(ND_I64, needles->ndim, needles->shape);
    for (int64_t i = 0; i < needles->size; i++) {
        int64_t at = 0;
        for (int64_t j = 0; j < haystack->size; j++) {
            int order = order_of(as_real(dense_cell(haystack, j)), as_real(dense_cell(needles, i)));
            at += right ? order <= 0 : order < 0;
        }
        dense_set(&want, i, at);
    }
    return want;
}

/* Half of the needles are taken from the haystack. */
static dense some_needles(nd_dtype dtype, const dense *haystack)
{
    int64_t shape[3];
    int ndim = (int)random_below(4);
    for (int d = 0; d < ndim; d++)
        shape[d] = random_below(12) == 0 ? 0 : 1 + random_below(6);
    if (ndim == 1 && random_below(8) == 0)
        shape[0] = 100 + random_below(400);
    dense needles = dense_random(dtype, ndim, shape, random_below(2));
    for (int64_t i = 0; i < needles.size; i++)
        if (dtype == haystack->dtype && haystack->size && random_below(2))
            dense_put(&needles, i, haystack, random_below(haystack->size));
    return needles;
}

static void search_case(int i)
{
    int64_t n = random_below(8) == 0 ? random_below(400) : random_below(20);
    nd_dtype from, of;
    search_dtypes(i, &from, &of);
    dense unsorted = dense_random(from, 1, &n, random_below(2));
    sorted s = sort_lanes(&unsorted, 0, false, n);
    dense needles = some_needles(of, &unsorted);
    bool right = random_below(2), with_sorter = random_below(3) == 0;
    mirror haystack = {0}, values = {0}, sorter = {0};
    nd_array *r = NULL;
    if (mirror_of(&haystack, with_sorter ? &unsorted : &s.values) &&
        mirror_of(&sorter, &s.positions) && mirror_of(&values, &needles) &&
        good(nd_searchsorted(haystack.array, values.array, right, with_sorter ? sorter.array : NULL,
                             &r),
             "searchsorted")) {
        dense want = search_positions(&s.values, &needles, right);
        (void)dense_is(&want, r, right ? "searchsorted, right" : "searchsorted, left");
        dense_release(&want);
    }
    nd_release(r);
    mirror_release(&haystack);
    mirror_release(&values);
    mirror_release(&sorter);
    release_sorted(&s);
    dense_release(&unsorted);
    dense_release(&needles);
}

/* A sorter that does not fit the array. */
static void bad_sorter_case(int i)
{
    const int64_t n = 3, shape[1] = {2}, twice[2] = {3, 1};
    dense values = dense_random(ND_F32, 1, &n, true);
    nd_array *a = dense_array(&values), *sorter = NULL, *r = NULL;
    int ndim = i % 3; /* 0-d, too short, 2-d */
    if (a && good(nd_zeros(run.device, ND_I64, ndim, ndim == 1 ? shape : twice, &sorter), "zeros"))
        (void)fails(nd_searchsorted(a, a, 0, sorter, &r), ND_ERR_SHAPE,
                    "a sorter of another shape");
    nd_release(a);
    nd_release(sorter);
    nd_release(r);
    dense_release(&values);
}

void conform_sorting(void)
{
    run_cases("sort", sort_case);
    run_cases("topk", topk_case);
    run_cases("searchsorted", search_case);
    run_cases("searchsorted_sorter", bad_sorter_case);
}
