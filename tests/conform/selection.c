/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Conformance: order statistics and partitions, which need not sort, histograms and counts of integers. */
#include <math.h>
#include "tests/conform/order.h"

/* ---- parts of the order ---- */

/* One lane, in which equal values are many and long ones are not rare. */
static bool one_lane(mirror *m, nd_op op, int i)
{
    view_wish wish = any_view;
    int64_t n = 1 + (random_below(4) ? random_below(300) : random_below(6000));
    wish.tame = random_below(2);
    return mirror_shaped(m, legal_dtype(op, i), 1, &n, &wish);
}

/* The lower median is an element; numbers alone, since any NaN makes NaN of it. */
static void statistics_case(int i)
{
    const double half = 0.5;
    const int32_t axis = 0;
    const nd_quantile_opts opts = {
        .size = sizeof opts, .axes = &axis, .naxes = 1, .method = ND_QUANTILE_LOWER};
    int64_t rows = random_below(3) ? 1 : 1 + random_below(9), n = 1 + random_below(2000 / rows);
    const int64_t shape[2] = {n, rows}, one[2] = {1, rows};
    dense a = dense_random(legal_dtype(ND_OP_order_statistics, i), 2, shape, true);
    mirror m = {0};
    nd_array *r = NULL;
    sorted s = sort_lanes(&a, 0, false, n);
    dense want = dense_new(a.dtype, 2, one);
    for (int64_t row = 0; row < rows; row++)
        dense_put(&want, row, &s.values, (n - 1) / 2 * rows + row);
    if (mirror_of(&m, &a) && good(nd_quantile(m.array, 1, &half, &opts, &r), "quantile"))
        (void)dense_is(&want, r, "the lower median");
    nd_release(r);
    mirror_release(&m);
    release_sorted(&s);
    dense_release(&want);
    dense_release(&a);
}

/* Positions of a lane of n: those before the kth of the order, its equals, those after it. */
static dense parted(const dense *a, int64_t n, int64_t kth)
{
    dense want = dense_new(ND_I64, 1, &n);
    sorted s = sort_lanes(a, 0, false, n);
    const cell pivot = dense_cell(&s.values, kth);
    int64_t at = 0;
    for (int part = -1; part <= 1; part++)
        for (int64_t i = 0; i < n; i++) {
            int order = order_of(dense_cell(a, i), pivot);
            if ((order > 0) - (order < 0) == part)
                dense_set(&want, at++, i);
        }
    release_sorted(&s);
    return want;
}

static void partition_case(int i)
{
    mirror m = {0};
    nd_array *values = NULL, *positions = NULL;
    if (!one_lane(&m, ND_OP_partition, i))
        return;
    const int64_t n = m.shape[0], kth = random_below(n);
    /* Devices without the operations sort. */
    const bool native = nd_device_op_dtypes(run.device, ND_OP_partition) >> m.dtype & 1;
    dense a = dense_of(&m), all = dense_new(a.dtype, 1, &n);
    sorted s = sort_lanes(&a, 0, false, n);
    dense own = native ? parted(&a, n, kth) : dense_new(ND_I64, 1, &n);
    const dense *at = native ? &own : &s.positions;
    for (int64_t k = 0; k < n; k++)
        dense_put(&all, k, &a, dense_cell(at, k).i);
    if (good(nd_partition(m.array, random_below(2) ? kth : kth - n, 0, &values), "partition") &&
        dense_is(&all, values, "partition") &&
        good(nd_argpartition(m.array, kth, 0, &positions), "argpartition"))
        (void)dense_is(at, positions, "argpartition");
    nd_release(values);
    nd_release(positions);
    release_sorted(&s);
    dense_release(&own);
    dense_release(&all);
    dense_release(&a);
    mirror_release(&m);
}

/* ---- counting ---- */

/* Edges are f64; values of dtypes that it has exactly. */
static void histogram_case(int i)
{
    static const nd_dtype of[] = {ND_F64, ND_F32, ND_F16, ND_BF16, ND_I8,  ND_I16,
                                  ND_I32, ND_U8,  ND_U16, ND_U32,  ND_BOOL};
    int64_t n = 2 + (random_below(3) ? random_below(20) : random_below(300)), bins = n - 1;
    int64_t m = random_below(2) ? random_below(40) : random_below(6000);
    dense unsorted = dense_random(ND_F64, 1, &n, true), counts = dense_new(ND_I64, 1, &bins);
    dense needles = dense_random(of[i % 11], 1, &m, random_below(2));
    sorted s = sort_lanes(&unsorted, 0, false, n);
    dense at = search_positions(&s.values, &needles, true);
    mirror edges = {0}, values = {0};
    nd_array *r = NULL;
    int64_t *count = calloc((size_t)bins, sizeof *count);
    for (int64_t k = 0; count && k < m; k++) {
        int64_t position = dense_cell(&at, k).i;
        bool last = order_of(as_real(dense_cell(&needles, k)), dense_cell(&s.values, bins)) == 0;
        if (last || (position > 0 && position < n))
            count[last ? bins - 1 : position - 1]++;
    }
    for (int64_t k = 0; count && k < bins; k++)
        dense_set(&counts, k, count[k]);
    if (mirror_of(&edges, &s.values) && mirror_of(&values, &needles)) {
        const nd_bins given = {.size = sizeof given, .edges = edges.array};
        if (good(nd_histogram(values.array, &given, NULL, 0, &r, NULL), "histogram"))
            (void)dense_is(&counts, r, "histogram");
    }
    free(count);
    nd_release(r);
    mirror_release(&edges);
    mirror_release(&values);
    release_sorted(&s);
    dense_release(&at);
    dense_release(&counts);
    dense_release(&needles);
    dense_release(&unsorted);
}

/* Weights are integers, so that their sums are exact. */
static void bincount_case(int i)
{
    const nd_dtype dtype = legal_dtype(ND_OP_bincount, i);
    const int64_t m = random_below(2) ? random_below(40) : random_below(6000),
                  wide = random_below(3) ? 1 + random_below(100) : 1 + random_below(3000),
                  room = dtype == ND_BOOL            ? 2
                         : nd_dtype_size(dtype) == 1 ? 128
                                                     : 3000,
                  most = wide < room ? wide : room; /* what the dtype holds */
    const int64_t minlength = random_below(2) ? 0 : random_below(200);
    const bool weighted = random_below(3) == 0;
    dense a = dense_new(dtype, 1, &m), w = dense_new(ND_F64, 1, &m);
    int64_t *sum = calloc(4096, sizeof *sum), length = minlength;
    for (int64_t k = 0; sum && k < m; k++) {
        dense_set(&a, k, random_below(most));
        const int64_t weight = weighted ? random_below(1000) - 500 : 1,
                      v = (int64_t)as_real(dense_cell(&a, k)).re;
        cell_write(ND_F64, cell_real((double)weight), dense_at(&w, k));
        sum[v] += weight;
        length = v + 1 > length ? v + 1 : length;
    }
    dense want = dense_new(weighted ? ND_F64 : ND_I64, 1, &length);
    mirror values = {0}, weights = {0};
    nd_array *r = NULL;
    for (int64_t v = 0; sum && v < length; v++)
        if (weighted)
            cell_write(ND_F64, cell_real((double)sum[v]), dense_at(&want, v));
        else
            dense_set(&want, v, sum[v]);
    if (mirror_of(&values, &a) && mirror_of(&weights, &w) &&
        good(nd_bincount(values.array, weighted ? weights.array : NULL, minlength, &r), "bincount"))
        (void)dense_is(&want, r, "bincount");
    nd_release(r);
    free(sum);
    mirror_release(&values);
    mirror_release(&weights);
    dense_release(&want);
    dense_release(&w);
    dense_release(&a);
}

void conform_selection(void)
{
    run_cases("order_statistics", statistics_case);
    run_cases("partition", partition_case);
    run_cases("histogram", histogram_case);
    run_cases("bincount", bincount_case);
}
