/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Whether two strided sets of bytes meet. */
#include "simulator.h"
