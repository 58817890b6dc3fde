/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Conformance: norm. */
#include "tests/conform/conform.h"

void conform_norm(void)
{
}
