/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Loops of elementwise, built once per SIMD level. */
#include "cpu.h"
