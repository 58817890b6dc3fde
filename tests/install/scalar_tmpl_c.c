/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * scalar_tmpl.h as C99. */
#include "scalar_tmpl_cases.h"

int main(void)
{
    return run_cases();
}
