/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Differences, derivatives, integrals and interpolation of sampled functions, and polynomials. Made
 * of other operations, on the device; nothing waits unless it says so. Integers are computed as
 * f64, but for differences. */
#ifndef NDOCK_CALCULUS_H
#define NDOCK_CALCULUS_H
#include <ndock/base.h>

ND_BEGIN_DECLS

/* a[i + 1] - a[i] along axis, n >= 0 times over; of bool whether they differ. */
ND_API ND_MUST_USE nd_status nd_diff(const nd_array *a, int64_t n, int axis, nd_array **out);
/* Differences of the flattened array, with the flattened before and after (or NULL) around them. */
ND_API ND_MUST_USE nd_status nd_ediff1d(const nd_array *a, const nd_array *before,
                                        const nd_array *after, nd_array **out);
/* Derivative along axis, of a's shape: central differences, second order inside; at the ends of
 * edge_order, 1 or 2. Samples are spacing apart, or at coordinates (one dimension of the axis's
 * extent; NULL: spacing). The axis has at least edge_order + 1 elements. */
ND_API ND_MUST_USE nd_status nd_gradient(const nd_array *a, double spacing,
                                         const nd_array *coordinates, int axis, int edge_order,
                                         nd_array **out);
/* Integral along axis by the trapezoidal rule; samples are spacing apart, or at coordinates (of a's
 * shape, or one dimension of the axis's extent; NULL: spacing). */
ND_API ND_MUST_USE nd_status nd_trapezoid(const nd_array *a, double spacing,
                                          const nd_array *coordinates, int axis, nd_array **out);

typedef struct {
    uint32_t size;  /* sizeof(nd_interp_opts) */
    nd_dtype dtype; /* 0 */
    nd_stream *stream;
    int32_t has_left, has_right; /* nonzero: left and right are set */
    double left, right;          /* below the first and above the last point; else their values */
    double period;               /* of x and the points, which need not ascend then; 0: none */
} nd_interp_opts;
/* The values at x of the line through the points (xp[i], fp[i]), xp ascending, both of one
 * dimension; of x's shape, f64 (c128 for complex fp). */
ND_API ND_MUST_USE nd_status nd_interp(const nd_array *x, const nd_array *xp, const nd_array *fp,
                                       const nd_interp_opts *opts, nd_array **out);
/* The polynomial with the coefficients p (one dimension, the highest power first) at x, by Horner's
 * rule, in the promoted dtype. */
ND_API ND_MUST_USE nd_status nd_polyval(const nd_array *p, const nd_array *x, nd_array **out);
/* The roots of the polynomial with the coefficients p (one dimension, the highest power first), as
 * the eigenvalues of its companion matrix, each as often as its multiplicity, in no order: c64 for
 * f32, c64 and narrower, else c128. Zeros before the first other coefficient are left out, so that
 * a constant has no roots. How many roots there are depends on the values: the host waits. Needs
 * what nd_eigvals needs. */
ND_API ND_MUST_USE nd_status nd_roots(const nd_array *p, nd_array **out);

ND_END_DECLS
#endif
