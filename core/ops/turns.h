/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Steps of transforms by cosines and sines: what elements are turned by, and their parts. */
#ifndef NDOCK_CORE_TURNS_H
#define NDOCK_CORE_TURNS_H
#include "core/ops/steps.h"

/* factor * exp(i * (first + k*step) * pi), k < count, of the precision of a, on its device. */
nd_array *nd__step_turns(nd_steps *s, const nd_array *a, int64_t count, double first, double step,
                         double factor);
/* A view of the real (0) or imaginary (1) parts of the complex array a. */
nd_array *nd__step_parts(nd_steps *s, const nd_array *a, int which);

#endif
