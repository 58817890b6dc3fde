/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Functions of two results, and of a precision of their own, that are made of rows of op.def. The
 * other special functions are nd_erfc, nd_gamma, nd_zeta and so on of op.h, one for each row.
 *
 * Order:   queued on the device's current stream; returns before it has run.
 * Errors:  SHAPE, DTYPE, DEVICE, READONLY, OVERLAP, MEMORY, UNSUPPORTED, ARGUMENT for NULL; the
 *          results are NULL then.
 * Source:  NumPy 2.4: frexp, modf, float_power. */
#ifndef NDOCK_SPECIAL_H
#define NDOCK_SPECIAL_H
#include <ndock/base.h>

ND_BEGIN_DECLS

/* a = mantissa * 2^exponent with |mantissa| in [1/2, 1): the mantissa in a's floating dtype (bool
 * and integers are computed in the default float), the exponent in i32. Zeros, infinities and NaN
 * are their own mantissas, with an exponent of 0. */
ND_API ND_MUST_USE nd_status nd_frexp(const nd_array *a, nd_array **mantissa, nd_array **exponent);
/* a = fraction + whole, both with the sign of a and in its floating dtype (bool and integers are
 * computed in the default float). The fraction of an infinity is zero. */
ND_API ND_MUST_USE nd_status nd_modf(const nd_array *a, nd_array **fraction, nd_array **whole);
/* a raised to b in f64, or in c128 where one of them is complex; broadcast as nd_pow. */
ND_API ND_MUST_USE nd_status nd_float_power(const nd_array *a, const nd_array *b, nd_array **out);
ND_API ND_MUST_USE nd_status nd_float_power_into(const nd_array *a, const nd_array *b,
                                                 const nd_array *dst);
/* nd_ndtr by the name that machine learning has for it. */
ND_API ND_MUST_USE nd_status nd_normcdf(const nd_array *a, nd_array **out);

ND_END_DECLS
#endif
