/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Conformance: sets. */
#include "tests/conform/conform.h"

void conform_sets(void) {}
