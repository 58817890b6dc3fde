/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What scalar_tmpl.h and its includer define for one dtype. Deliberately no include guard. */
#undef LIN_FN
#undef LIN_T
#undef LIN_NAME
#undef LIN_COMPLEX
