/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Loops over rows of scores, built once per SIMD level. */
#include <math.h>
#include "attention/attention.h"
#include "math/exp.h"
#include "math/vmath.h"
#include "reduce/reduce.h"

enum { LANES = 16 }; /* of a sum along a row */

#define AT_NAME f32
#define AT_T float
#define AT_EXP vm_exp
#include "attention/rows_tmpl.h"

#define AT_NAME f64
#define AT_T double
#define AT_EXP cpu_exp_below
#include "attention/rows_tmpl.h"
