/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Statistics beyond the reductions of reduce.h: order statistics, averages, covariance, and
 * reductions that leave NaN out. Made of other operations, on the device: nothing waits unless it
 * says so, and whatever device has those operations has these. Results are new dense arrays. Bool
 * and integers are computed as f64. NULL options are the defaults: all axes, which the result has
 * lost. */
#ifndef NDOCK_STATISTICS_H
#define NDOCK_STATISTICS_H
#include <ndock/base.h>
#include <ndock/reduce.h>

ND_BEGIN_DECLS

/* What a quantile is where it falls between two elements: the nine definitions of Hyndman and Fan
 * (The American Statistician 50, 1996), by NumPy's names, and four more of NumPy's. */
enum {
    ND_QUANTILE_LINEAR = 0, /* definition 7 */
    ND_QUANTILE_INVERTED_CDF = 1,
    ND_QUANTILE_AVERAGED_INVERTED_CDF = 2,
    ND_QUANTILE_CLOSEST_OBSERVATION = 3,
    ND_QUANTILE_INTERPOLATED_INVERTED_CDF = 4,
    ND_QUANTILE_HAZEN = 5,
    ND_QUANTILE_WEIBULL = 6,
    ND_QUANTILE_MEDIAN_UNBIASED = 7, /* definition 8 */
    ND_QUANTILE_NORMAL_UNBIASED = 8, /* definition 9 */
    ND_QUANTILE_LOWER = 9,
    ND_QUANTILE_HIGHER = 10,
    ND_QUANTILE_NEAREST = 11,
    ND_QUANTILE_MIDPOINT = 12
};
typedef struct {
    uint32_t size;  /* sizeof(nd_quantile_opts) */
    nd_dtype dtype; /* 0 */
    nd_stream *stream;
    const int32_t *axes;     /* as in nd_reduce_opts */
    int32_t naxes, keepdims; /* as in nd_reduce_opts */
    int32_t method;          /* ND_QUANTILE_* */
    int32_t ignore_nan;      /* NaN is left out; without it a row with NaN gives NaN */
} nd_quantile_opts;

/* The nq quantiles q (in host memory, each in [0, 1], else ND_ERR_ARGUMENT) over the axes, as a
 * new first axis of the result. dtype: a's if floating, else f64; methods that pick an element
 * keep integers. Complex is ND_ERR_DTYPE. NaN of nothing. */
ND_API ND_MUST_USE nd_status nd_quantile(const nd_array *a, int nq, const double *q,
                                         const nd_quantile_opts *opts, nd_array **out);
/* The same, q in per cent. */
ND_API ND_MUST_USE nd_status nd_percentile(const nd_array *a, int nq, const double *q,
                                           const nd_quantile_opts *opts, nd_array **out);
/* The middle element, or the mean of the two in the middle; NaN where one is among them, or of
 * nothing. */
ND_API ND_MUST_USE nd_status nd_median(const nd_array *a, const nd_reduce_opts *opts,
                                       nd_array **out);

/* sum(a*weights)/sum(weights). weights (NULL: all 1): of a's shape, or one dimension of the extent
 * of the only axis. total (or NULL): the sums of weights, of the result's shape. A sum of 0 divides
 * as IEEE 754 says. */
ND_API ND_MUST_USE nd_status nd_average(const nd_array *a, const nd_array *weights,
                                        const nd_reduce_opts *opts, nd_array **out,
                                        nd_array **total);
/* Largest less smallest; integers wrap, NaN propagates; nothing to choose from is ND_ERR_SHAPE. */
ND_API ND_MUST_USE nd_status nd_ptp(const nd_array *a, const nd_reduce_opts *opts, nd_array **out);

typedef struct {
    uint32_t size;  /* sizeof(nd_cov_opts) */
    nd_dtype dtype; /* computed in; 0: a's, f64 for integers */
    nd_stream *stream;
    int32_t columns;          /* nonzero: variables are columns, observations rows */
    int32_t has_correction;   /* nonzero: the divisor is count - correction, else count - 1 */
    double correction;        /* as of nd_reduce_opts */
    const nd_array *fweights; /* how often each observation occurs, integers; NULL: once */
    const nd_array *aweights; /* how much each weighs; NULL: all the same */
} nd_cov_opts;
/* Covariance matrix of the variables, the rows of a (two dimensions; one is a single variable,
 * whose result has no axes). Complex: a column times the conjugate of the other. Observations that
 * weigh w = fweights*aweights: the mean is weighted, the divisor sum(w) -
 * correction*sum(w*aweights)/sum(w); one that is not positive gives inf or NaN. */
ND_API ND_MUST_USE nd_status nd_cov(const nd_array *a, const nd_cov_opts *opts, nd_array **out);
/* Pearson's correlation coefficients: covariances over the products of standard deviations, clipped
 * to [-1, 1]; correction has no effect. */
ND_API ND_MUST_USE nd_status nd_corrcoef(const nd_array *a, const nd_cov_opts *opts,
                                         nd_array **out);

/* ---- NaN left out; arrays of integers have none ---- */
/* As sum and prod with 0 and 1 in NaN's place. */
ND_API ND_MUST_USE nd_status nd_nansum(const nd_array *a, const nd_reduce_opts *opts,
                                       nd_array **out);
ND_API ND_MUST_USE nd_status nd_nanprod(const nd_array *a, const nd_reduce_opts *opts,
                                        nd_array **out);
/* Over the elements that are numbers; NaN where there is none, and of var and std where their count
 * is not above the correction. */
ND_API ND_MUST_USE nd_status nd_nanmean(const nd_array *a, const nd_reduce_opts *opts,
                                        nd_array **out);
ND_API ND_MUST_USE nd_status nd_nanvar(const nd_array *a, const nd_reduce_opts *opts,
                                       nd_array **out);
ND_API ND_MUST_USE nd_status nd_nanstd(const nd_array *a, const nd_reduce_opts *opts,
                                       nd_array **out);
ND_API ND_MUST_USE nd_status nd_nanmin(const nd_array *a, const nd_reduce_opts *opts,
                                       nd_array **out);
ND_API ND_MUST_USE nd_status nd_nanmax(const nd_array *a, const nd_reduce_opts *opts,
                                       nd_array **out);
ND_API ND_MUST_USE nd_status nd_nanmedian(const nd_array *a, const nd_reduce_opts *opts,
                                          nd_array **out);
/* Positions, i64, as argmin and argmax; only NaN to choose from is ND_ERR_ARGUMENT. Wait for
 * whether there is. */
ND_API ND_MUST_USE nd_status nd_nanargmin(const nd_array *a, const nd_reduce_opts *opts,
                                          nd_array **out);
ND_API ND_MUST_USE nd_status nd_nanargmax(const nd_array *a, const nd_reduce_opts *opts,
                                          nd_array **out);
/* Running sums and products with 0 and 1 in NaN's place; options as of nd_cumulative_sum. */
ND_API ND_MUST_USE nd_status nd_nancumsum(const nd_array *a, const nd_scan_opts *opts,
                                          nd_array **out);
ND_API ND_MUST_USE nd_status nd_nancumprod(const nd_array *a, const nd_scan_opts *opts,
                                           nd_array **out);
/* A copy of a with nan, posinf and neginf in the place of NaN and the infinities, in both parts of
 * complex ones. posinf NaN: the dtype's largest finite value; neginf NaN: its negative. */
ND_API ND_MUST_USE nd_status nd_nan_to_num(const nd_array *a, double nan, double posinf,
                                           double neginf, nd_array **out);

ND_END_DECLS
#endif
