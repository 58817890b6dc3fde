/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * scalar_tmpl.h as C++17. */
#include "scalar_tmpl_cases.h"

int main()
{
    return run_cases();
}
