/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What special.c and special_gamma.c have of each other: special functions in long double. */
#ifndef NDOCK_CONFORM_SPECIAL_H
#define NDOCK_CONFORM_SPECIAL_H
#include <float.h>
#include <math.h>
#include "tests/conform/conform.h"

typedef long double real;
#define PI 3.14159265358979323846264338327950288L

/* sin(pi x) and cos(pi x), reduced exactly. */
real special_sine(real x);
real special_cosine(real x);
bool special_is_integer(real x);
real special_gamma_of(real a);
real special_digamma(real x);
/* False where this way does not do. sizes: the sum of the magnitudes of the terms. */
bool special_polygamma(real n, real x, real *r, real *sizes);
bool special_zeta(real s, real q, real *r, real *sizes);
/* B(a, b), and l the logarithm of its size. */
bool special_beta_of(real a, real b, real *r, real *l);

#endif
