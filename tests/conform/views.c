/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Conformance: views. */
#include "tests/conform/conform.h"

void conform_views(void) {}
