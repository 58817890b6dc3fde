/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Conformance: sorting. */
#include "tests/conform/conform.h"

void conform_sorting(void)
{
}
