/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Loops of copy, built once per SIMD level. */
#include "cpu.h"
