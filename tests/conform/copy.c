/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Conformance: copy. */
#include "tests/conform/conform.h"

void conform_copy(void)
{
}
