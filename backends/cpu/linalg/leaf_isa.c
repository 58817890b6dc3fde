/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The leaves of linear algebra, of each dtype. */
#include <float.h>
#include <math.h>
#include <string.h>
#include "linalg/linalg.h"

#define LIN_ROW(name, real_name)                                                              \
    {                                                                                         \
        .move = lin_move_##name, .cholesky = lin_cholesky_##name, .lu = lin_lu_##name,        \
        .triangular = lin_triangular_##name, .reflect = lin_reflect_##name,                   \
        .exchange = lin_exchange_##name, .negate = lin_negate_##name, .one = lin_one_##name,  \
        .is_zero = lin_is_zero_##name, .hermitian = lin_hermitian_##name,                     \
        .hermitian_end = lin_hermitian_end_##name, .reflect_one = lin_reflect_one_##name,     \
        .form_t = lin_form_t_##name, .bidiagonal_left = lin_bidiagonal_left_##name,           \
        .bidiagonal_right = lin_bidiagonal_right_##name,                                      \
        .bidiagonal_end = lin_bidiagonal_end_##name, .add = lin_add_##name,                   \
        .row_of = lin_row_of_##name, .conjugate = lin_conjugate_##name,                       \
        .real_part = lin_real_part_##name, .largest = lin_largest_##name,                     \
        .scale_all = lin_scale_all_##name, .normalize = lin_normalize_##name,                 \
        .tridiagonal = lin_tridiagonal_##real_name, .bidiagonal = lin_bidiagonal_##real_name, \
        .rotate = lin_rotate_##real_name, .sort = lin_sort_##real_name,                       \
    }

#define LIN_R float
#define LIN_RFN(name) name##f
#define LIN_EPS FLT_EPSILON
#define LIN_TINY FLT_MIN
#define LIN_HUGE FLT_MAX
#define LIN_BITS int32_t
#define LIN_MAGNITUDE INT32_MAX
#define LIN_NAME f32
#define LIN_COMPLEX 0
#include "linalg/scalar_tmpl.h"
#include "linalg/leaf_tmpl.h"
#include "linalg/spectral_tmpl.h"
#include "linalg/iterate_tmpl.h"
#include "linalg/undef.h"
#define LIN_NAME c64
#define LIN_COMPLEX 1
#include "linalg/scalar_tmpl.h"
#include "linalg/leaf_tmpl.h"
#include "linalg/spectral_tmpl.h"
#include "linalg/undef.h"
#undef LIN_R
#undef LIN_RFN
#undef LIN_EPS
#undef LIN_TINY
#undef LIN_HUGE
#undef LIN_BITS
#undef LIN_MAGNITUDE
#define LIN_R double
#define LIN_RFN(name) name
#define LIN_EPS DBL_EPSILON
#define LIN_TINY DBL_MIN
#define LIN_HUGE DBL_MAX
#define LIN_BITS int64_t
#define LIN_MAGNITUDE INT64_MAX
#define LIN_NAME f64
#define LIN_COMPLEX 0
#include "linalg/scalar_tmpl.h"
#include "linalg/leaf_tmpl.h"
#include "linalg/spectral_tmpl.h"
#include "linalg/iterate_tmpl.h"
#include "linalg/undef.h"
#define LIN_NAME c128
#define LIN_COMPLEX 1
#include "linalg/scalar_tmpl.h"
#include "linalg/leaf_tmpl.h"
#include "linalg/spectral_tmpl.h"
#include "linalg/undef.h"

const lin_level CPU_ISA_FN(cpu_linalg_leaves) = {[LIN_F32] = LIN_ROW(f32, f32),
                                                 [LIN_F64] = LIN_ROW(f64, f64),
                                                 [LIN_C64] = LIN_ROW(c64, f32),
                                                 [LIN_C128] = LIN_ROW(c128, f64)};
