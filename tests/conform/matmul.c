/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Conformance: matmul. */
#include "tests/conform/conform.h"

void conform_matmul(void)
{
}
