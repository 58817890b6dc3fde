/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Which version of the library this is. */
#include "core/base/base.h"

const char *nd_version(void)
{
    return PACKAGE_VERSION;
}
