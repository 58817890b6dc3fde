/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Sets, made of sorting, comparing neighbours and selecting: whatever device has those has sets. */
#include "core/ops/set.h"

static const nd_index from_second[1] = {{ND_INDEX_RANGE, 0, 1, ND_END_OPEN, 1}};
static const nd_index to_last_but_one[1] = {{ND_INDEX_RANGE, 0, ND_END_OPEN, -1, 1}};

/* mask[i]: sorted[i] begins a new value. NaN differs from NaN, so each is a value of its own. */
static nd_status first_of_each(const nd_array *sorted, nd_array **mask)
{
    nd_array *left = NULL, *right = NULL, *rest = NULL, *m = NULL;
    nd_status status;
    *mask = NULL;
    ND_GOTO_IF(done, nd_ones_like(sorted, ND_BOOL, &m));
    if (sorted->size > 1) {
        ND_GOTO_IF(done, nd_slice(sorted, from_second, 1, &right));
        ND_GOTO_IF(done, nd_slice(sorted, to_last_but_one, 1, &left));
        ND_GOTO_IF(done, nd_slice(m, from_second, 1, &rest));
        ND_GOTO_IF(done, nd_not_equal_into(right, left, rest));
    }
    *mask = m;
    m = NULL;
done:
    nd_release(left);
    nd_release(right);
    nd_release(rest);
    nd_release(m);
    return status;
}

/* Distances between the places where values begin, the last one to the end. */
nd_status nd__count_runs(const nd_array *mask, nd_array **counts)
{
    nd_array *places = NULL, *flat = NULL, *end = NULL, *next = NULL, *ends = NULL;
    const int64_t one[1] = {1}, all[1] = {-1};
    nd_status status;
    ND_GOTO_IF(done, nd_nonzero(mask, &places));
    ND_GOTO_IF(done, nd_reshape(places, 1, all, &flat));
    ND_GOTO_IF(done, nd_full(mask->storage->device, ND_I64, 1, one, nd_int(mask->size), &end));
    if (flat->size == 0)
        ND_GOTO_IF(done, nd_copy(flat, NULL, counts));
    if (flat->size) {
        ND_GOTO_IF(done, nd_slice(flat, from_second, 1, &next));
        const nd_array *const parts[2] = {next, end};
        ND_GOTO_IF(done, nd_concat(2, parts, 0, &ends));
        ND_GOTO_IF(done, nd_subtract(ends, flat, counts));
    }
done:
    nd_release(places);
    nd_release(flat);
    nd_release(end);
    nd_release(next);
    nd_release(ends);
    return status;
}

/* Number of the value at each sorted place, carried back to where the element came from. */
nd_status nd__number_values(const nd_array *mask, const nd_array *order, int ndim,
                            const int64_t *shape, nd_array **inverse)
{
    nd_array *ordinal = NULL, *number = NULL, *flat = NULL;
    nd_status status;
    ND_GOTO_IF(done, nd_cumulative_sum(mask, NULL, &ordinal));
    ND_GOTO_IF(done, nd_subtract_scalar(ordinal, nd_int(1), &number));
    ND_GOTO_IF(done, nd_empty_like(number, ND_I64, &flat));
    ND_GOTO_IF(done, nd_scatter_into(order, number, 0, ND_SCATTER_SET, flat));
    ND_GOTO_IF(done, nd_reshape(flat, ndim, shape, inverse));
done:
    nd_release(ordinal);
    nd_release(number);
    nd_release(flat);
    return status;
}

static nd_status unique(const nd_array *a, nd_array **values, nd_array **indices,
                        nd_array **inverse, nd_array **counts)
{
    nd_array *flat = NULL, *order = NULL, *sorted = NULL, *mask = NULL;
    const int64_t all[1] = {a ? a->size : 0};
    bool needs_order = indices || inverse;
    nd_status status;
    ND_GOTO_IF(done, nd_reshape_copy(a, 1, all, &flat));
    if (needs_order) {
        ND_GOTO_IF(done, nd_argsort(flat, NULL, &order));
        ND_GOTO_IF(done, nd_take(flat, order, 0, &sorted));
    } else {
        ND_GOTO_IF(done, nd_sort(flat, NULL, &sorted));
    }
    ND_GOTO_IF(done, first_of_each(sorted, &mask));
    if (values)
        ND_GOTO_IF(done, nd_select(sorted, mask, values));
    if (indices)
        ND_GOTO_IF(done, nd_select(order, mask, indices));
    if (inverse)
        ND_GOTO_IF(done, nd__number_values(mask, order, a->ndim, a->shape, inverse));
    if (counts)
        ND_GOTO_IF(done, nd__count_runs(mask, counts));
done:
    nd_release(flat);
    nd_release(order);
    nd_release(sorted);
    nd_release(mask);
    return status;
}

static nd_status unique_as(const char *op, const nd_array *a, nd_array **values, nd_array **indices,
                           nd_array **inverse, nd_array **counts)
{
    nd_array **const outs[4] = {values, indices, inverse, counts};
    for (int i = 0; i < 4; i++)
        if (outs[i])
            *outs[i] = NULL;
    ND_RETURN_IF(nd__check_array(op, a, 0));
    nd_status status = nd__error_as(op, unique(a, values, indices, inverse, counts));
    for (int i = 0; i < 4; i++)
        if (status != ND_OK && outs[i]) {
            nd_release(*outs[i]);
            *outs[i] = NULL;
        }
    return status;
}

nd_status nd_unique_all(const nd_array *a, nd_array **values, nd_array **indices,
                        nd_array **inverse, nd_array **counts)
{
    return unique_as("unique_all", a, values, indices, inverse, counts);
}

nd_status nd_unique_counts(const nd_array *a, nd_array **values, nd_array **counts)
{
    return unique_as("unique_counts", a, values, NULL, NULL, counts);
}

nd_status nd_unique_inverse(const nd_array *a, nd_array **values, nd_array **inverse)
{
    return unique_as("unique_inverse", a, values, NULL, inverse, NULL);
}

nd_status nd_unique_values(const nd_array *a, nd_array **values)
{
    return unique_as("unique_values", a, values, NULL, NULL, NULL);
}

/* Where each element would stand in the sorted test values, and whether it is there. */
static nd_status isin_by_search(const nd_array *a, const nd_array *flat, nd_array **out)
{
    nd_array *sorted = NULL, *place = NULL, *clipped = NULL, *found = NULL;
    nd_status status;
    ND_GOTO_IF(done, nd_sort(flat, NULL, &sorted));
    ND_GOTO_IF(done, nd_searchsorted(sorted, a, 0, NULL, &place));
    ND_GOTO_IF(done, nd_minimum_scalar(place, nd_int(sorted->size - 1), &clipped));
    ND_GOTO_IF(done, nd_take(sorted, clipped, 0, &found));
    ND_GOTO_IF(done, nd_equal(found, a, out));
done:
    nd_release(sorted);
    nd_release(place);
    nd_release(clipped);
    nd_release(found);
    return status;
}

/* Complex numbers have no order to search by: one comparison per test value. */
static nd_status isin_by_comparison(const nd_array *a, const nd_array *flat, nd_array **out)
{
    nd_array *hit = NULL, *value = NULL, *any = NULL;
    nd_status status = nd_zeros_like(a, ND_BOOL, &any);
    for (int64_t i = 0; i < flat->size && status == ND_OK; i++) {
        const nd_index at[1] = {nd_at(i)};
        ND_GOTO_IF(done, nd_slice(flat, at, 1, &value));
        ND_GOTO_IF(done, nd_equal(a, value, &hit));
        ND_GOTO_IF(done, nd_logical_or_into(any, hit, any));
        nd_release(value);
        nd_release(hit);
        value = hit = NULL;
    }
done:
    nd_release(value);
    nd_release(hit);
    return nd__hand_over(status, any, out);
}

nd_status nd_isin(const nd_array *a, const nd_array *test, int invert, nd_array **out)
{
    nd_array *wide = NULL, *flat = NULL, *cast = NULL, *in = NULL;
    nd_dtype common;
    nd_status status;
    ND_OUT("isin", 3, out, NULL);
    ND_RETURN_IF(nd__check_array("isin", a, 0));
    ND_RETURN_IF(nd__check_array("isin", test, 1));
    ND_RETURN_IF(nd__check_same_device("isin", a, test, 0, 1));
    ND_RETURN_IF(nd__promote("isin", a->dtype, test->dtype, &common));
    const int64_t all[1] = {test->size};
    ND_GOTO_IF(done, nd__cast(a, common, &wide));
    ND_GOTO_IF(done, nd__cast(test, common, &cast));
    ND_GOTO_IF(done, nd_reshape_copy(cast, 1, all, &flat));
    if (flat->size == 0)
        ND_GOTO_IF(done, nd_zeros_like(a, ND_BOOL, &in));
    else if (nd__kind(common) == ND_KIND_COMPLEX)
        ND_GOTO_IF(done, isin_by_comparison(wide, flat, &in));
    else
        ND_GOTO_IF(done, isin_by_search(wide, flat, &in));
    if (invert)
        ND_GOTO_IF(done, nd_logical_not_into(in, in));
    *out = in;
    in = NULL;
done:
    nd_release(wide);
    nd_release(flat);
    nd_release(cast);
    nd_release(in);
    return status;
}
