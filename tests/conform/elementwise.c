/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Conformance: elementwise. */
#include "tests/conform/conform.h"

void conform_elementwise(void)
{
}
