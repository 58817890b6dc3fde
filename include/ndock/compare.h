/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Arrays compared as a whole, or to a tolerance. */
#ifndef NDOCK_COMPARE_H
#define NDOCK_COMPARE_H
#include <ndock/base.h>

ND_BEGIN_DECLS

/* bool, of the broadcast shape: |a - b| <= atol + rtol*|b|. Infinities are close to themselves
 * alone; NaN to nothing, with equal_nan nonzero to NaN. Integers are compared as f64. Negative
 * tolerances, and NaN, are ND_ERR_ARGUMENT. */
ND_API ND_MUST_USE nd_status nd_isclose(const nd_array *a, const nd_array *b, double rtol,
                                        double atol, int equal_nan, nd_array **out);
/* Whether all of nd_isclose is true. Waits. */
ND_API ND_MUST_USE nd_status nd_allclose(const nd_array *a, const nd_array *b, double rtol,
                                         double atol, int equal_nan, int32_t *answer);
/* Whether both have one shape and equal elements, whatever their dtypes; with equal_nan nonzero NaN
 * equals NaN. Waits where the shapes are equal. */
ND_API ND_MUST_USE nd_status nd_array_equal(const nd_array *a, const nd_array *b, int equal_nan,
                                            int32_t *answer);
/* The same after broadcasting; shapes that do not broadcast are unequal. */
ND_API ND_MUST_USE nd_status nd_array_equiv(const nd_array *a, const nd_array *b, int32_t *answer);

ND_END_DECLS
#endif
