/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Conformance: errors. */
#include "tests/conform/conform.h"

void conform_errors(void)
{
}
