/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A stub of a vendor library, in two versions. */
#define STUB_EXPORT __attribute__((visibility("default")))

STUB_EXPORT int stub_version(void);
int stub_version(void)
{
    return STUB_VERSION;
}
#ifndef STUB_WITHOUT_ADD
STUB_EXPORT int stub_add(int a, int b);
int stub_add(int a, int b)
{
    return a + b;
}
#endif
