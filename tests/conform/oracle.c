/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Conformance: x. */
#include "tests/conform/conform.h"

void conform_x(void)
{
}
