/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What scalar.cuh leaves defined for its dtype, so that it can be included for another one. No
 * include guard. */
#undef NDOCK_CUDA_SCALAR_CUH
#undef CUDA_DTYPE
#undef CUDA_COMPOSITE
#undef CUDA_LOGADDEXP_SLOW
#undef CUDA_PART
#undef ND_BITS
#undef ND_FMA
#undef ND_FORMULA_gelu
#undef ND_INFINITY
#undef ND_M
#undef ND_MANT_DIG
#undef ND_MW
#undef ND_MX
#undef ND_NAN_VALUE
#undef ND_NEXTAFTER
#undef ND_R
#undef ND_R_EPSILON
#undef ND_R_MANT_DIG
#undef ND_R_MAX
#undef ND_R_MIN
#undef ND_U
#undef ND_W
#undef ND_W_WIDER
#undef ND_X
#undef ND_X_WIDER
