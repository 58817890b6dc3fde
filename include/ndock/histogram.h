/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Histograms and counting. Bins are half-open [edge, next edge) but for the last, which holds its
 * upper edge as well; NaN and what lies outside are in none. Made of other operations, on the
 * device. */
#ifndef NDOCK_HISTOGRAM_H
#define NDOCK_HISTOGRAM_H
#include <ndock/base.h>

ND_BEGIN_DECLS

/* How many bins there are, where nobody says: NumPy's names. auto is the larger number of sturges
 * and fd. */
enum {
    ND_BINS_COUNT = 0, /* as many as `count` says */
    ND_BINS_AUTO = 1,
    ND_BINS_FD = 2, /* Freedman and Diaconis: width 2*IQR/n^(1/3) */
    ND_BINS_DOANE = 3,
    ND_BINS_SCOTT = 4,   /* width (24*sqrt(pi)/n)^(1/3)*std */
    ND_BINS_RICE = 5,    /* 2*n^(1/3) bins */
    ND_BINS_STURGES = 6, /* log2(n) + 1 bins */
    ND_BINS_SQRT = 7     /* sqrt(n) bins */
};
/* The bins along one coordinate. Zeros are the defaults. */
typedef struct {
    uint32_t size;    /* sizeof(nd_bins) */
    int32_t method;   /* ND_BINS_* */
    int64_t count;    /* 0: 10 */
    double low, high; /* of equal bins, where has_range is set; else the extremes of the data,
                              which are waited for */
    int32_t has_range, zero;
    const nd_array
        *edges; /* one dimension, ascending (waited for), instead of all that; NULL: equal
                              bins */
} nd_bins;

/* The edges of a's bins (NULL: the defaults), one more than bins, in a's dtype if that is f32 or
 * f64, else f64; edges that are given, as they are. Equal extremes are widened by 1/2 on each
 * side. Ranges that are not finite, low > high, no bins and descending edges are ND_ERR_ARGUMENT.
 * Waits. */
ND_API ND_MUST_USE nd_status nd_bin_edges(const nd_array *a, const nd_bins *bins, nd_array **out);
/* How many elements of a are in each bin, i64; with weights (a's shape; NULL: none) their sum, in
 * i64, u64, f64 or c128 by the weights' kind. density nonzero: f64, over the total and the widths
 * of the bins. edges (or NULL): as of nd_bin_edges. Waits for what the edges need. */
ND_API ND_MUST_USE nd_status nd_histogram(const nd_array *a, const nd_bins *bins,
                                          const nd_array *weights, int density, nd_array **out,
                                          nd_array **edges);
/* The same of points: sample (points, coordinates), bins and edges with an entry for each
 * coordinate (bins NULL: the defaults; edges NULL: nobody wants them). The result, f64, has an axis
 * for each coordinate. ND_BINS_COUNT alone. Waits. */
ND_API ND_MUST_USE nd_status nd_histogramdd(const nd_array *sample, const nd_bins *bins,
                                            const nd_array *weights, int density, nd_array **out,
                                            nd_array **edges);
/* nd_histogramdd of the points (x[i], y[i]), both of one dimension: two bins, two edges. */
ND_API ND_MUST_USE nd_status nd_histogram2d(const nd_array *x, const nd_array *y,
                                            const nd_bins *bins, const nd_array *weights,
                                            int density, nd_array **out, nd_array **edges);
/* How often each integer 0, 1, ... occurs in a (one dimension), i64; with weights (a's shape; NULL:
 * none) their sum, f64. The result is one longer than the largest element, and at least minlength
 * long. Negative elements are ND_ERR_ARGUMENT. Waits for the extremes. */
ND_API ND_MUST_USE nd_status nd_bincount(const nd_array *a, const nd_array *weights,
                                         int64_t minlength, nd_array **out);
/* The bin of each element, i64: how many of the edges bins (one dimension, ascending or
 * descending) it has passed. right nonzero: an edge belongs to the bin below it. Waits for which
 * way they run. */
ND_API ND_MUST_USE nd_status nd_digitize(const nd_array *a, const nd_array *bins, int right,
                                         nd_array **out);

ND_END_DECLS
#endif
