/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Conformance: reduce. */
#include "tests/conform/conform.h"

void conform_reduce(void)
{
}
