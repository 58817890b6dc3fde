/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Math functions that loops can vectorise, with the same bits at every SIMD level.
 *
 * vm_X(double) of approx.h serves single precision: it computes in double to about 2^-29 or better, so that
 * rounding to float is within 0.54 ulp, with short polynomials, without branches, fused operations
 * or tables (but for pow.h). Its results outside what float can hold are only as good as that needs. vm_f32_X
 * of single.h and vm_f64_X of double.h are the functions of the two compute types; vm_f64_X is libm but
 * for exp, and except where libm misses the bound of op.def. rint.h rounds to integers. vm_x32_X and vm_x64_X serve ND_X of scalar_tmpl.h.
 *
 * Coefficients: Chebyshev fits in 50 digits of the functions named beside them; those of sin, tanh and
 * the logarithm of floats are minimax fits of the relative error (Lawson's iteration). Range reduction and
 * the forms of log, sinh, asinh ... are the classical ones (Cody and Waite, Software Manual for the
 * Elementary Functions, 1980); erfcx over (z - 3)/(z + 3) follows Shepherd and Laframboise, Math.
 * Comp. 36 (1981). */
#ifndef NDOCK_CPU_VMATH_H
#define NDOCK_CPU_VMATH_H
#include "math/double.h"
#include "math/rint.h"
#include "math/single.h"
#endif
