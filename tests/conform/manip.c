/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Conformance: manip. */
#include "tests/conform/conform.h"

void conform_manip(void)
{
}
