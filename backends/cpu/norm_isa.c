/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Loops of norm, built once per SIMD level. */
#include "cpu.h"
