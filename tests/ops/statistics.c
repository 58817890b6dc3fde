/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Statistics with values worked out by hand: the definitions of quantiles at 1/4 of five elements
 * (Hyndman and Fan 1996, table 1), weighted averages, covariance, histograms, NaN left out. */
#include "tests/ops/values.h"

static const double five[5] = {15, 20, 35, 40, 50};

static void definitions(void)
{
    /* n*q = 1.25: between the first and the second of five. */
    static const struct {
        int method;
        double want;
    } rows[] = {{ND_QUANTILE_INVERTED_CDF, 20},
                {ND_QUANTILE_AVERAGED_INVERTED_CDF, 20},
                {ND_QUANTILE_CLOSEST_OBSERVATION, 15},
                {ND_QUANTILE_INTERPOLATED_INVERTED_CDF, 16.25},
                {ND_QUANTILE_HAZEN, 18.75},
                {ND_QUANTILE_WEIBULL, 17.5},
                {ND_QUANTILE_LINEAR, 20},
                {ND_QUANTILE_MEDIAN_UNBIASED, 15 + 5 * (1.25 + 1.25 / 3 - 1)},
                {ND_QUANTILE_NORMAL_UNBIASED, 15 + 5 * (1.25 + 0.4375 - 1)},
                {ND_QUANTILE_LOWER, 20},
                {ND_QUANTILE_MIDPOINT, 20}};
    const double q[1] = {0.25}, percent[2] = {0, 100};
    nd_array *a = row_of(ND_F64, 5, five), *r = NULL;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const nd_quantile_opts o = {.size = sizeof o, .method = rows[i].method};
        nd_status status = nd_quantile(a, 1, q, &o, &r);
        is_row(status, r, ND_F64, 1, &rows[i].want, "a quarter by its definition");
    }
    nd_status status = nd_percentile(a, 2, percent, NULL, &r);
    is_row(status, r, ND_F64, 2, (const double[]){15, 50}, "the ends");
    is_int(nd_quantile(a, 2, percent, NULL, &r), ND_ERR_ARGUMENT, "100 is no part of one");
    has_text(nd_last_error()->message, "q[1] = 100", "the message says which");
    nd_release(a);
}

static void medians(void)
{
    const double v[6] = {3, NAN, 1, 4, 1, 5};
    const int64_t shape[2] = {2, 3};
    const int32_t axis[1] = {1};
    const nd_reduce_opts o = {.size = sizeof o, .axes = axis, .naxes = 1};
    nd_array *a = values_of(ND_F32, 2, shape, v), *r = NULL, *i = row_of(ND_I8, 4, v + 2);
    nd_status status = nd_median(a, &o, &r);
    is_row(status, r, ND_F32, 2, (const double[]){NAN, 4}, "a row with NaN has no median");
    status = nd_nanmedian(a, &o, &r);
    is_row(status, r, ND_F32, 2, (const double[]){2, 4}, "unless NaN is left out");
    status = nd_median(i, NULL, &r);
    is_number(status, r, ND_F64, 2.5, "of integers the mean of the middle two");
    nd_release(a);
    nd_release(i);
}

static void moments(void)
{
    const double v[4] = {1, NAN, 3, 8}, w[4] = {1, 5, 2, 1}, x[6] = {0, 1, 2, 2, 1, 0};
    const int64_t shape[2] = {2, 3};
    const nd_reduce_opts sample = {.size = sizeof sample, .correction = 1};
    nd_array *a = row_of(ND_F64, 4, v), *weights = row_of(ND_I32, 4, w), *r = NULL, *total = NULL;
    nd_array *m = values_of(ND_I16, 2, shape, x), *b = row_of(ND_F64, 3, x + 3);
    nd_status status = nd_nanmean(a, NULL, &r);
    is_number(status, r, ND_F64, 4, "mean of 1, 3 and 8");
    status = nd_nanvar(a, &sample, &r);
    is_number(status, r, ND_F64, 13, "their variance with correction 1");
    status = nd_nansum(a, NULL, &r);
    is_number(status, r, ND_F64, 12, "their sum");
    status = nd_nanargmax(a, NULL, &r);
    is_number(status, r, ND_I64, 3, "where the largest is");
    status = nd_average(weights, weights, NULL, &r, &total);
    is_number(status, r, ND_F64, 31.0 / 9, "an average");
    is_number(status, total, ND_F64, 9, "and its weight");
    status = nd_cov(m, NULL, &r);
    are_values(status, r, ND_F64, 2, (const int64_t[]){2, 2}, (const double[]){1, -1, -1, 1},
               "covariance");
    status = nd_corrcoef(b, NULL, &r);
    is_number(status, r, ND_F64, 1, "one variable goes with itself");
    status = nd_ptp(m, NULL, &r);
    is_number(status, r, ND_I16, 2, "the range of values");
    nd_release(a);
    nd_release(b);
    nd_release(m);
    nd_release(weights);
}

static void histograms(void)
{
    const double v[8] = {0, 0.5, 1, 1, 2.5, 4, -1, NAN}, i[6] = {0, 3, 1, 3, 3, 0};
    nd_array *a = row_of(ND_F64, 8, v), *n = row_of(ND_U8, 6, i), *r = NULL, *edges = NULL;
    const nd_bins bins = {.size = sizeof bins, .count = 4, .has_range = 1, .low = 0, .high = 4};
    nd_status status = nd_histogram(a, &bins, NULL, 0, &r, &edges);
    is_row(status, r, ND_I64, 4, (const double[]){2, 2, 1, 1}, "the last bin has its upper edge");
    is_row(status, edges, ND_F64, 5, (const double[]){0, 1, 2, 3, 4}, "edges");
    nd_array *given = row_of(ND_F64, 3, (const double[]){0, 1, 4});
    const nd_bins unequal = {.size = sizeof unequal, .edges = given};
    status = nd_histogram(a, &unequal, NULL, 1, &r, NULL);
    is_row(status, r, ND_F64, 2, (const double[]){2.0 / 6, 4.0 / 18}, "densities");
    status = nd_bincount(n, NULL, 6, &r);
    is_row(status, r, ND_I64, 6, (const double[]){2, 1, 0, 3, 0, 0}, "how often 0, 1, ... occur");
    status = nd_digitize(n, given, 0, &r);
    is_row(status, r, ND_I64, 6, (const double[]){1, 2, 2, 2, 2, 1}, "edges passed");
    is_int(nd_histogram(a, NULL, NULL, 0, &r, NULL), ND_ERR_ARGUMENT, "NaN has no range");
    nd_release(a);
    nd_release(n);
    nd_release(given);
}

static void comparisons(void)
{
    nd_array *a = row_of(ND_F64, 3, (const double[]){1, NAN, INFINITY}), *r = NULL;
    nd_array *b = row_of(ND_F64, 3, (const double[]){1 + 1e-6, NAN, INFINITY});
    int32_t answer = 7;
    nd_status status = nd_isclose(a, b, 1e-5, 0, 0, &r);
    is_row(status, r, ND_BOOL, 3, (const double[]){1, 0, 1}, "close");
    is_int(nd_allclose(a, b, 1e-5, 0, 1, &answer), ND_OK, "all close");
    is_int(answer, 1, "with NaN equal to NaN");
    is_int(nd_array_equal(a, b, 1, &answer), ND_OK, "equal");
    is_int(answer, 0, "they are not");
    nd_release(a);
    nd_release(b);
}

static void parts(void)
{
    const double v[5] = {0, 1, 2, 3, 4};
    nd_array *a = row_of(ND_I32, 5, v), *part[3] = {NULL, NULL, NULL}, *r = NULL;
    is_int(nd_split(a, 2, 0, part), ND_ERR_SHAPE, "5 is no multiple of 2");
    nd_status status = nd_array_split(a, 2, 0, part);
    is_row(status, part[0], ND_I32, 3, v, "the first part is longer");
    is_row(status, part[1], ND_I32, 2, v + 3, "than the second");
    status = nd_split_at(a, 2, (const int64_t[]){1, -1}, 0, part);
    is_row(status, part[0], ND_I32, 1, v, "up to 1");
    is_row(status, part[1], ND_I32, 3, v + 1, "up to the last");
    is_row(status, part[2], ND_I32, 1, v + 4, "the last");
    const nd_array *two[2] = {a, a};
    status = nd_column_stack(2, two, &r);
    are_values(status, r, ND_I32, 2, (const int64_t[]){5, 2},
               (const double[]){0, 0, 1, 1, 2, 2, 3, 3, 4, 4}, "columns");
    nd_release(a);
}

int main(int argc, char **argv)
{
    static const tap_case cases[] = {{"definitions", definitions}, {"medians", medians},
                                     {"moments", moments},         {"histograms", histograms},
                                     {"comparisons", comparisons}, {"parts", parts}};
    return tap_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
