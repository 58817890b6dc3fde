/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Conformance: random. */
#include "tests/conform/conform.h"

void conform_random(void)
{
}
