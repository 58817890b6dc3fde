/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A CBLAS opened at run time. */
#include "matmul.h"
