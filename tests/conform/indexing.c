/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Conformance: indexing. */
#include "tests/conform/conform.h"

void conform_indexing(void)
{
}
